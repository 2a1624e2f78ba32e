//! Responses as they go out.

use axum::body::Body;
use axum::http::{HeaderValue, Method, Response, StatusCode, header};

use super::face::Face;
use super::media::{self, Media};
use super::{Problem, Problems};
use crate::schema::Schema;

pub fn text(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A resource that always says the same.
///
/// # Errors
/// 405 for everything but reading it.
pub fn fixed(method: &Method, kind: &'static str, body: Vec<u8>) -> Result<Response<Body>, Problems> {
    const METHODS: &str = "GET, HEAD, OPTIONS";
    match *method {
        Method::GET => Ok(text(StatusCode::OK, kind, body)),
        Method::HEAD => {
            let length = body.len();
            let mut response = text(StatusCode::OK, kind, Vec::new());
            response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
            Ok(response)
        }
        Method::OPTIONS => Ok(allow(METHODS)),
        _ => Err(not_allowed(method, METHODS)),
    }
}

/// The answer to OPTIONS (RFC 8040 section 4.1).
pub fn allow(methods: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    if let Ok(methods) = HeaderValue::from_str(methods) {
        response.headers_mut().insert(header::ALLOW, methods);
    }
    if methods.contains("PATCH") {
        response.headers_mut().insert("accept-patch", HeaderValue::from_static(media::ACCEPT_PATCH));
    }
    response
}

pub fn not_allowed(method: &Method, methods: &'static str) -> Problems {
    let message = format!("{method} is not possible here; possible are {methods}");
    Problem::new("operation-not-supported", message).with_allow(methods).into()
}

/// The errors of a request, in the media type that the client asked for.
pub fn refused(schema: &Schema, face: Face, media: Media, problems: &Problems) -> Response<Body> {
    let mut response = Response::new(Body::from(problems.body(schema, face, media.encoding)));
    *response.status_mut() = problems.status();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media.name));
    if problems.status() == StatusCode::METHOD_NOT_ALLOWED {
        let methods = problems.0.iter().find_map(|problem| problem.allow).unwrap_or("GET, HEAD, OPTIONS");
        headers.insert(header::ALLOW, HeaderValue::from_static(methods));
    }
    if problems.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        headers.insert("accept-patch", HeaderValue::from_static(media::ACCEPT_PATCH));
    }
    response
}
