//! HTTP: routes, limits, headers. What a request means is in `read` and `write`.

use std::future::Future;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, header};
use tokio::net::TcpListener;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;
use tracing::{debug, info};

use super::auth::Login;
use super::face::{Datastore, Face};
use super::{App, Problem, Problems, answer, data, discovery, media, query};
use crate::datastore::Store;

/// A request that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(120);

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
            answer::refused(
                Face::Rests,
                media::YANG_JSON,
                &problem.with_status(StatusCode::INTERNAL_SERVER_ERROR).into(),
            )
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
}

fn target<'a>(app: &App, path: &'a str) -> Result<Target<'a>, Problems> {
    let below = |root: &str| path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let json = |value: serde_json::Value| Ok(Target::Text(media::YANG_JSON.name, value.to_string()));
    if let Some(rest) = below("/rests/data") {
        return Ok(Target::Data(Face::Rests, rest));
    }
    if let Some(rest) = below("/restconf/config") {
        return Ok(Target::Data(Face::Legacy(Store::Config), rest));
    }
    if let Some(rest) = below("/restconf/operational") {
        return Ok(Target::Data(Face::Legacy(Store::Operational), rest));
    }
    if let Some(rest) = path.strip_prefix("/rests/ds/") {
        let (name, _) = rest.split_once('/').unwrap_or((rest, ""));
        return Ok(Target::Data(Face::Ds(Datastore::named(name)?), &rest[name.len()..]));
    }
    if let Some(rest) = below("/rests/operations").or_else(|| below("/restconf/operations")) {
        return Ok(Target::Operations(rest));
    }
    match path.strip_suffix('/').unwrap_or(path) {
        "/rests" => json(discovery::root()),
        "/rests/yang-library-version" => {
            json(serde_json::json!({"ietf-restconf:yang-library-version": discovery::LIBRARY}))
        }
        "/restconf/modules" => json(discovery::modules(app.datastore.snapshot().schema)),
        _ => {
            let message = format!("{path} is no resource; data are below /rests/data or /restconf/config");
            Err(Problem::new("invalid-value", message).with_status(StatusCode::NOT_FOUND).into())
        }
    }
}

/// What needs no login.
fn open(app: &App, path: &str) -> Option<Response<Body>> {
    match path {
        "/livez" => Some(answer::text(StatusCode::OK, "text/plain", "alive\n".into())),
        "/readyz" => {
            let waiting = app.readiness.waiting();
            Some(if waiting.is_empty() {
                answer::text(StatusCode::OK, "text/plain", "ready\n".into())
            } else {
                answer::text(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "text/plain",
                    format!("waiting for {}\n", waiting.join(", ")),
                )
            })
        }
        "/.well-known/host-meta" => {
            Some(answer::text(StatusCode::OK, "application/xrd+xml", discovery::HOST_META.into()))
        }
        "/.well-known/host-meta.json" => {
            Some(answer::text(StatusCode::OK, "application/json", discovery::host_meta_json().to_string()))
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
            let mut response = answer::refused(
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
                face,
                media::usual(face),
                &problem.with_status(StatusCode::TOO_MANY_REQUESTS).into(),
            );
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(time.as_secs().max(1)));
            return response;
        }
    };
    let outcome = match target(app, path) {
        Err(problems) => Err(problems),
        Ok(Target::Text(kind, body)) => {
            query::none(parts.uri.query()).and_then(|()| answer::fixed(&parts.method, kind, body))
        }
        Ok(Target::Operations(rest)) => operations(&parts.method, face, rest),
        Ok(Target::Data(face, rest)) => data::handle(app, &user, face, rest, &parts, body).await,
    };
    outcome.unwrap_or_else(|problems| {
        let media = media::of_answer(&parts.headers, face).unwrap_or(media::usual(face));
        answer::refused(face, media, &problems)
    })
}

/// There are no RPCs yet: the list is empty, and calling one leads nowhere.
fn operations(method: &Method, face: Face, rest: &str) -> Result<Response<Body>, Problems> {
    if rest.trim_matches('/').is_empty() {
        let name = if face.is_legacy() { "operations" } else { "ietf-restconf:operations" };
        return answer::fixed(method, media::YANG_JSON.name, serde_json::json!({ name: {} }).to_string());
    }
    Err(Problem::new("operation-not-supported", format!("no RPC {rest}"))
        .with_status(StatusCode::NOT_FOUND)
        .into())
}
