//! HTTP: routes, limits, headers. What a request means is in `read` and `write`.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody as _};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use futures_util::FutureExt as _;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::{debug, info};

use super::door;
use super::face::Face;
use super::relay::{self, Way};
use super::routes::{self, Target};
use super::{App, Problem, Problems, answer, bounds, data, media, operations, query};
use crate::access::Identity;
use crate::accounts::Login;
use crate::datastore::Store;
use crate::northbound::http::{self, Peer};

/// Passwords that are looked at at a time: each takes some ten milliseconds and 19 MiB.
static VERIFYING: Semaphore = Semaphore::const_new(2);

/// Serves until `shutdown` is done, then lets running requests finish. Without `tls` it is plain HTTP.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    app: App,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let limits = app.limits.clone();
    let app = Arc::new(app);
    let answer = move |peer, request| guarded(app.clone(), peer, request);
    http::serve(listener, tls, answer, limits, shutdown).await;
}

/// An answer in any case: in time, also to a request that meets a fault of ours.
async fn guarded(app: Arc<App>, peer: Peer, request: Request<Body>) -> Response<Body> {
    let is_head = request.method() == Method::HEAD;
    let mut answered = pin!(AssertUnwindSafe(handle(&app, &peer, request)).catch_unwind());
    // Most reads wait for nobody, and need no clock.
    let outcome = match poll_fn(|context| Poll::Ready(answered.as_mut().poll(context))).await {
        Poll::Ready(outcome) => Ok(outcome),
        Poll::Pending => timeout(app.limits.request_time(), answered).await,
    };
    let mut response = match outcome {
        Ok(Ok(response)) => response,
        Ok(Err(panic)) => {
            let reason = panic.downcast_ref::<String>().map_or("no message", String::as_str);
            tracing::error!(reason, "a request panicked");
            let problem = Problem::new(
                "operation-failed",
                "this request failed inside of the program; please report it",
            );
            let problem = problem.with_status(StatusCode::INTERNAL_SERVER_ERROR).into();
            answer::refused(app.datastore.schema(), Face::Rests, media::YANG_JSON, &problem)
        }
        Err(_) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::REQUEST_TIMEOUT;
            response
        }
    };
    if is_head {
        let length = response.body().size_hint().exact();
        if let Some(length) = length.filter(|_| !response.headers().contains_key(header::CONTENT_LENGTH)) {
            response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        *response.body_mut() = Body::empty();
    }
    response
}

async fn handle(app: &App, peer: &Peer, request: Request<Body>) -> Response<Body> {
    let started = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = answer(app, peer, request).await;
    let took = started.elapsed();
    if let Some(answered) = &app.answered {
        answered(&path, &method, response.status(), took);
    }
    let took_us = took.as_micros() as u64;
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
    let schema = app.datastore.schema();
    let face = if path.starts_with("/restconf") { Face::Legacy(Store::Config) } else { Face::Rests };
    if matches!(parts.method, Method::GET | Method::HEAD)
        && let Some(response) = routes::open(app, path)
    {
        return response;
    }
    if let Err(problems) = bounds::head(&parts, &app.limits) {
        return answer::refused(schema, face, media::usual(face), &problems);
    }
    if path == door::PATH {
        return app.door.answer(&parts);
    }
    let user = match login(app, peer, &parts.headers).await {
        Ok(user) => user,
        Err(refusal) => return refusal.answer(app, face),
    };
    let app = &app.with(app.datastore.as_user(user.clone(), Some(peer.address), app.audit.clone()));
    let Some(relay) = &app.relay else { return act(app, &user.name, face, parts, body).await };
    let media = media::of_errors(&parts.headers, face);
    let outcome = match relay.way(app, &parts).await {
        Ok(Way::Here) => Ok(act(app, &user.name, face, parts, body).await),
        Ok(Way::HereIfActive) => {
            let response = act(app, &user.name, face, parts, body).await;
            relay.holds().map(|()| response)
        }
        Ok(Way::To(active)) => Box::pin(relay::send(app, &active, parts, body)).await,
        Err(problems) => Err(problems),
    };
    outcome.unwrap_or_else(|problems| {
        let mut response = answer::refused(schema, face, media, &problems);
        relay::retry(&mut response);
        response
    })
}

/// What becomes of a request of somebody who is known.
async fn act(app: &App, user: &str, face: Face, mut parts: Parts, body: Body) -> Response<Body> {
    let schema = app.datastore.schema();
    let refused = |parts: &Parts, problems: Problems| {
        let media = media::of_errors(&parts.headers, face);
        answer::refused(schema, face, media, &problems)
    };
    if let Some(outcome) = app.resources.iter().find_map(|resource| resource.answer(app, user, &mut parts)) {
        return outcome.unwrap_or_else(|problems| refused(&parts, problems));
    }
    let path = parts.uri.path();
    let outcome = match routes::target(app, path) {
        Err(problems) => Err(problems),
        Ok(Target::Data(face, rest)) => data::handle(app, user, face, rest, &parts, body).await,
        Ok(Target::Operation(rest)) => Box::pin(operations::rpc(app, user, face, rest, &parts, body)).await,
        Ok(Target::Document(document)) => query::none(parts.uri.query()).and_then(|()| {
            let media = media::of_answer(&parts.headers, face)?;
            let text = document.write(schema, &app.operations, media.encoding);
            answer::fixed(&parts.method, media.name, text)
        }),
        Ok(Target::Module(text)) => query::none(parts.uri.query())
            .and_then(|()| answer::fixed(&parts.method, "application/yang", text.as_bytes().to_vec())),
        Ok(Target::Json(value)) => query::none(parts.uri.query())
            .and_then(|()| answer::fixed(&parts.method, "application/json", value.to_string().into_bytes())),
    };
    outcome.unwrap_or_else(|problems| refused(&parts, problems))
}

/// Requests that another part of the program makes in a user's name: bound, judged and recorded as those that come over the network.
#[derive(Clone)]
pub struct Inside {
    app: App,
    user: Arc<Identity>,
}

impl Inside {
    pub fn new(app: &App, user: Identity) -> Inside {
        let user = Arc::new(user);
        let datastore = app.datastore.as_user(user.clone(), None, app.audit.clone());
        Inside { app: app.with(datastore), user }
    }

    /// Below `/rests`.
    pub async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        act(&self.app, &self.user.name, Face::Rests, parts, body).await
    }
}

/// Why somebody is not let in.
enum Refusal {
    Challenge,
    Wait(Duration),
}

async fn login(app: &App, peer: &Peer, headers: &HeaderMap) -> Result<Arc<Identity>, Refusal> {
    let header = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
    let mut login = app.accounts.judge(peer.address.ip(), &peer.names, header, Instant::now());
    if let Login::Check(check) = login {
        let Ok(_permit) = VERIFYING.acquire().await else { return Err(Refusal::Challenge) };
        let accounts = app.accounts.clone();
        let checked = tokio::task::spawn_blocking(move || accounts.check(check, Instant::now())).await;
        login = checked.unwrap_or(Login::Challenge(None));
    }
    let refused = |name: Option<&str>, reason| app.audit.refused(name, peer.address, reason);
    match login {
        Login::User(user) => Ok(user),
        Login::Wait(time) => {
            if app.accounts.throttle.is_news(peer.address.ip()) {
                refused(None, "too many refused logins; the next ones are not recorded until it is over");
            }
            Err(Refusal::Wait(time))
        }
        Login::Challenge(name) => {
            if header.is_some() || !peer.names.is_empty() {
                let name = name.as_deref().or(peer.names.first().map(String::as_str));
                refused(name, "wrong or unknown credentials");
            }
            Err(Refusal::Challenge)
        }
        Login::Check(_) => Err(Refusal::Challenge),
    }
}

impl Refusal {
    fn answer(&self, app: &App, face: Face) -> Response<Body> {
        let (status, message) = match self {
            Refusal::Challenge => (
                StatusCode::UNAUTHORIZED,
                "log in: with name and password (Basic), a token (Bearer) or a certificate",
            ),
            Refusal::Wait(_) => {
                (StatusCode::TOO_MANY_REQUESTS, "too many refused logins from this address; wait")
            }
        };
        let problem = Problem::new("access-denied", message).with_status(status);
        let schema = app.datastore.schema();
        let mut response = answer::refused(schema, face, media::usual(face), &problem.into());
        let headers = response.headers_mut();
        match self {
            Refusal::Challenge => {
                for challenge in ["Basic realm=\"coeus\", charset=\"UTF-8\"", "Bearer realm=\"coeus\""] {
                    headers.append(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
                }
            }
            Refusal::Wait(time) => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(time.as_secs().max(1)));
            }
        }
        response
    }
}
