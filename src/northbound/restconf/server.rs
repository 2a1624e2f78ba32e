//! HTTP: routes, limits, headers. What a request means is in `read` and `write`.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, header};
use tokio::net::TcpListener;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;
use tracing::{debug, info};

use super::auth::Login;
use super::face::Face;
use super::routes::{self, Target};
use super::{App, Problem, answer, bounds, data, media, operations, query};
use crate::datastore::Store;
use crate::northbound::http::{self, Peer};

/// Serves until `shutdown` is done, then lets running requests finish. Without `tls` it is plain HTTP.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    app: App,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let schema = app.datastore.snapshot().schema;
    let limits = app.limits.clone();
    let router = Router::new()
        .fallback(handle)
        .with_state(app)
        .layer(CatchPanicLayer::custom(move |panic: Box<dyn std::any::Any + Send>| {
            let reason = panic.downcast_ref::<String>().map_or("no message", String::as_str);
            tracing::error!(reason, "a request panicked");
            let problem = Problem::new(
                "operation-failed",
                "this request failed inside of the program; please report it",
            );
            answer::refused(
                schema,
                Face::Rests,
                media::YANG_JSON,
                &problem.with_status(StatusCode::INTERNAL_SERVER_ERROR).into(),
            )
        }))
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, limits.request_time()));
    http::serve(listener, tls, router, limits, shutdown).await;
}

async fn handle(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    request: Request<Body>,
) -> Response<Body> {
    let started = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = answer(&app, &peer, request).await;
    let took_us = started.elapsed().as_micros() as u64;
    if method == Method::GET || method == Method::HEAD || method == Method::OPTIONS {
        debug!(%method, path, status = response.status().as_u16(), took_us, "request");
    } else {
        info!(%method, path, status = response.status().as_u16(), took_us, "request");
    }
    response
}

async fn answer(app: &App, peer: &Peer, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let schema = app.datastore.snapshot().schema;
    let face = if path.starts_with("/restconf") { Face::Legacy(Store::Config) } else { Face::Rests };
    if matches!(parts.method, Method::GET | Method::HEAD)
        && let Some(response) = routes::open(app, path)
    {
        return response;
    }
    if let Err(problems) = bounds::head(&parts, &app.limits) {
        return answer::refused(schema, face, media::usual(face), &problems);
    }
    let login = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let user = match app.users.judge(peer.address.ip(), login, Instant::now()) {
        Login::User(user) => user,
        Login::Challenge => {
            let problem =
                Problem::new("access-denied", "log in with the name admin and its password (Basic)");
            let mut response = answer::refused(
                schema,
                face,
                media::usual(face),
                &problem.with_status(StatusCode::UNAUTHORIZED).into(),
            );
            response.headers_mut().insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Basic realm=\"coeus\", charset=\"UTF-8\""),
            );
            return response;
        }
        Login::Wait(time) => {
            let problem = Problem::new("access-denied", "too many wrong passwords from this address; wait");
            let mut response = answer::refused(
                schema,
                face,
                media::usual(face),
                &problem.with_status(StatusCode::TOO_MANY_REQUESTS).into(),
            );
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(time.as_secs().max(1)));
            return response;
        }
    };
    let outcome = match routes::target(app, path) {
        Err(problems) => Err(problems),
        Ok(Target::Data(face, rest)) => data::handle(app, &user, face, rest, &parts, body).await,
        Ok(Target::Operation(rest)) => operations::rpc(app, &user, face, rest, &parts, body).await,
        Ok(Target::Document(document)) => query::none(parts.uri.query()).and_then(|()| {
            let media = media::of_answer(&parts.headers, face)?;
            let text = document.write(schema, &app.operations, media.encoding);
            answer::fixed(&parts.method, media.name, text)
        }),
        Ok(Target::Json(value)) => query::none(parts.uri.query())
            .and_then(|()| answer::fixed(&parts.method, "application/json", value.to_string().into_bytes())),
    };
    outcome.unwrap_or_else(|problems| {
        let media = media::of_answer(&parts.headers, face).unwrap_or(media::usual(face));
        answer::refused(schema, face, media, &problems)
    })
}
