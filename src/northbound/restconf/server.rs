//! HTTP: routes, limits, headers. What a request means is in `read` and `write`.

use std::future::Future;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::net::TcpListener;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;
use tracing::{debug, info};

use super::auth::Login;
use super::face::Face;
use super::{App, Problem, Problems, discovery, read, write};
use crate::datastore::Store;

/// A request that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(120);
const YANG_JSON: &str = "application/yang-data+json";

/// Serves until `shutdown` is done, then lets running requests finish.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    app: App,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let router = Router::new()
        .fallback(handle)
        .with_state(app)
        .layer(CatchPanicLayer::custom(|panic: Box<dyn std::any::Any + Send>| {
            let reason = panic.downcast_ref::<String>().map_or("no message", String::as_str);
            tracing::error!(reason, "a request panicked");
            let problem = Problem::new(
                "operation-failed",
                "this request failed inside of the program; please report it",
            );
            refused(Face::Rests, &problem.with_status(StatusCode::INTERNAL_SERVER_ERROR).into())
        }))
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, PATIENCE));
    axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(shutdown)
        .await
}

/// Where a path leads.
enum Target<'a> {
    Data(Face, &'a str),
    Operations(&'a str),
    Text(&'static str, String),
    Nothing,
}

fn target<'a>(app: &App, path: &'a str) -> Target<'a> {
    let below = |root: &str| path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let json = |value: serde_json::Value| Target::Text(YANG_JSON, value.to_string());
    if let Some(rest) = below("/rests/data") {
        return Target::Data(Face::Rests, rest);
    }
    if let Some(rest) = below("/restconf/config") {
        return Target::Data(Face::Legacy(Store::Config), rest);
    }
    if let Some(rest) = below("/restconf/operational") {
        return Target::Data(Face::Legacy(Store::Operational), rest);
    }
    if let Some(rest) = below("/rests/operations") {
        return Target::Operations(rest);
    }
    if let Some(rest) = below("/restconf/operations") {
        return Target::Operations(rest);
    }
    match path.strip_suffix('/').unwrap_or(path) {
        "/rests" => json(discovery::root()),
        "/rests/yang-library-version" => {
            json(serde_json::json!({"ietf-restconf:yang-library-version": discovery::LIBRARY}))
        }
        "/restconf/modules" => json(discovery::modules(app.datastore.snapshot().schema)),
        _ => Target::Nothing,
    }
}

/// What needs no login.
fn open(app: &App, path: &str) -> Option<Response<Body>> {
    match path {
        "/livez" => Some(text(StatusCode::OK, "text/plain", "alive\n".into())),
        "/readyz" => {
            let waiting = app.readiness.waiting();
            Some(if waiting.is_empty() {
                text(StatusCode::OK, "text/plain", "ready\n".into())
            } else {
                text(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "text/plain",
                    format!("waiting for {}\n", waiting.join(", ")),
                )
            })
        }
        "/.well-known/host-meta" => {
            Some(text(StatusCode::OK, "application/xrd+xml", discovery::HOST_META.into()))
        }
        "/.well-known/host-meta.json" => {
            Some(text(StatusCode::OK, "application/json", discovery::host_meta_json().to_string()))
        }
        _ => None,
    }
}

async fn handle(
    State(app): State<App>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Response<Body> {
    let started = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = answer(&app, from, request).await;
    let took_us = started.elapsed().as_micros() as u64;
    if method == Method::GET || method == Method::HEAD || method == Method::OPTIONS {
        debug!(%method, path, status = response.status().as_u16(), took_us, "request");
    } else {
        info!(%method, path, status = response.status().as_u16(), took_us, "request");
    }
    response
}

async fn answer(app: &App, from: SocketAddr, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let face = if path.starts_with("/restconf") { Face::Legacy(Store::Config) } else { Face::Rests };
    if matches!(parts.method, Method::GET | Method::HEAD)
        && let Some(response) = open(app, path)
    {
        return response;
    }
    let login = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let user = match app.users.judge(from.ip(), login, Instant::now()) {
        Login::User(user) => user,
        Login::Challenge => {
            let problem =
                Problem::new("access-denied", "log in with the name admin and its password (Basic)");
            let mut response = refused(face, &problem.with_status(StatusCode::UNAUTHORIZED).into());
            response.headers_mut().insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Basic realm=\"coeus\", charset=\"UTF-8\""),
            );
            return response;
        }
        Login::Wait(time) => {
            let problem = Problem::new("access-denied", "too many wrong passwords from this address; wait");
            let mut response = refused(face, &problem.with_status(StatusCode::TOO_MANY_REQUESTS).into());
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(time.as_secs().max(1)));
            return response;
        }
    };
    let outcome = match target(app, path) {
        Target::Nothing => Err(Problem::new(
            "invalid-value",
            format!("{path} is no resource; data are below /rests/data or /restconf/config"),
        )
        .with_status(StatusCode::NOT_FOUND)
        .into()),
        Target::Text(kind, body) => fixed(&parts.method, kind, body),
        Target::Operations(rest) => operations(&parts.method, face, rest),
        Target::Data(face, rest) => {
            data(app, &user, face, rest, &parts.method, &parts.headers, parts.uri.query(), body).await
        }
    };
    outcome.unwrap_or_else(|problems| refused(face, &problems))
}

fn fixed(method: &Method, kind: &'static str, body: String) -> Result<Response<Body>, Problems> {
    match *method {
        Method::GET => Ok(text(StatusCode::OK, kind, body)),
        Method::HEAD => Ok(text(StatusCode::OK, kind, String::new())),
        Method::OPTIONS => Ok(allow("GET, HEAD, OPTIONS")),
        _ => Err(not_allowed(method)),
    }
}

/// There are no RPCs yet: the list is empty, and calling one leads nowhere.
fn operations(method: &Method, face: Face, rest: &str) -> Result<Response<Body>, Problems> {
    if rest.trim_matches('/').is_empty() {
        let name = if face == Face::Rests { "ietf-restconf:operations" } else { "operations" };
        return fixed(method, YANG_JSON, serde_json::json!({ name: {} }).to_string());
    }
    Err(Problem::new("operation-not-supported", format!("no RPC {rest}"))
        .with_status(StatusCode::NOT_FOUND)
        .into())
}

#[expect(clippy::too_many_arguments, reason = "the parts of one request")]
async fn data(
    app: &App,
    user: &str,
    face: Face,
    raw: &str,
    method: &Method,
    headers: &HeaderMap,
    query: Option<&str>,
    body: Body,
) -> Result<Response<Body>, Problems> {
    let snapshot = app.datastore.snapshot();
    let path = face.path(snapshot.schema, raw)?;
    let write_method = match *method {
        Method::GET | Method::HEAD => {
            acceptable(headers)?;
            let found = read::read(&snapshot, face, &path, read::content(face, query)?)?;
            let length = found.body.len();
            let body = if *method == Method::HEAD { Body::empty() } else { Body::from(found.body) };
            let mut response = Response::new(body);
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, kind(face));
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            if let Ok(etag) = HeaderValue::from_str(&found.etag) {
                headers.insert(header::ETAG, etag);
            }
            return Ok(response);
        }
        Method::OPTIONS => return Ok(allow(face.methods(path.steps.is_empty()))),
        Method::POST => write::Method::Post,
        Method::PUT => write::Method::Put,
        Method::PATCH => write::Method::Patch,
        Method::DELETE => write::Method::Delete,
        _ => return Err(not_allowed(method)),
    };
    read::no_parameters(query)?;
    let body =
        if write_method == write::Method::Delete { Bytes::new() } else { taken(app, headers, body).await? };
    let written = write::write(app, user, face, write_method, path, &body).await?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = written.status;
    if let Some(location) = written.location.and_then(|location| HeaderValue::from_str(&location).ok()) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// The body of a write, if it is JSON and not too long.
async fn taken(app: &App, headers: &HeaderMap, body: Body) -> Result<Bytes, Problems> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or(YANG_JSON);
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if !matches!(kind.as_str(), YANG_JSON | "application/json" | "application/yang.data+json" | "text/json") {
        let message = format!("{kind} is not understood here; send {YANG_JSON} or application/json");
        return Err(Problem::new("invalid-value", message)
            .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
            .into());
    }
    match Limited::new(body, app.body_limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.downcast_ref::<LengthLimitError>().is_some() => {
            let message = format!("the body is longer than {} bytes; send it in parts", app.body_limit);
            Err(Problem::new("too-big", message).into())
        }
        Err(error) => Err(Problem::new("malformed-message", format!("the body ended early: {error}")).into()),
    }
}

fn acceptable(headers: &HeaderMap) -> Result<(), Problems> {
    let Some(accept) = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()) else {
        return Ok(());
    };
    let served =
        ["*/*", "application/*", YANG_JSON, "application/json", "application/yang.data+json", "text/json"];
    let wanted = |one: &str| {
        let mut parts = one.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        served.contains(&kind.as_str())
            && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    };
    if accept.trim().is_empty() || accept.split(',').any(wanted) {
        return Ok(());
    }
    let problem = Problem::new(
        "invalid-value",
        format!("only {YANG_JSON} and application/json are served, not {accept}"),
    );
    Err(problem.with_status(StatusCode::NOT_ACCEPTABLE).into())
}

fn not_allowed(method: &Method) -> Problems {
    Problem::new("operation-not-supported", format!("{method} is not possible here; OPTIONS tells what is"))
        .into()
}

fn kind(face: Face) -> HeaderValue {
    HeaderValue::from_static(if face == Face::Rests { YANG_JSON } else { "application/json" })
}

fn allow(methods: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    if methods.contains("PATCH") {
        response
            .headers_mut()
            .insert("accept-patch", HeaderValue::from_static("application/yang-data+json, application/json"));
    }
    response
}

fn text(status: StatusCode, kind: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn refused(face: Face, problems: &Problems) -> Response<Body> {
    let mut response = Response::new(Body::from(problems.body(face)));
    *response.status_mut() = problems.status();
    response.headers_mut().insert(header::CONTENT_TYPE, kind(face));
    if problems.status() == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD, OPTIONS"));
    }
    response
}
