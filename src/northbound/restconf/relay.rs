//! Several controllers on one store: which requests this one answers itself, and how the others come to the active one.
//!
//! What is in the log is read here, after everything has been carried out that was durable when the question came. Writes, operations, and
//! what only the active controller knows go there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use futures_util::StreamExt as _;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use super::face::{Datastore, Face};
use super::routes::{self, Target};
use super::{App, Problem, Problems, conditions, query};
use crate::datastore::{Store, is_passing_module};
use crate::northbound::http::{Raw, Takeover, Transport, pinned};
use crate::schema::DataPath;

/// Says that a request was sent on already, and by what its client came: `https` or `http`.
const RELAYED: HeaderName = HeaderName::from_static("coeus-relayed");
/// `local`: an answer from what is here, which may be behind.
const READ: HeaderName = HeaderName::from_static("coeus-read");
/// How long is waited for the store before a read is refused.
const STORE: Duration = Duration::from_secs(3);
const CONNECT: Duration = Duration::from_secs(2);
/// When to ask again: a change of the active controller takes a few seconds.
const AGAIN: u64 = 1;

/// The active controller, as others reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Active {
    pub name: String,
    /// `HOST:PORT` of its RESTCONF over TLS; empty: it is not told.
    pub address: String,
    /// SHA-256 of its certificate, as hexadecimal pairs with colons.
    pub fingerprint: String,
    /// By which it knows the other controllers.
    pub secret: String,
}

/// What this controller is.
#[derive(Clone)]
enum Role {
    /// It follows the active one, if there is one.
    Follower(Option<Active>),
    /// It is the active one, as long as this says so.
    Active(Arc<dyn Fn() -> bool + Send + Sync>),
}

/// Which controller is the active one, as far as this one knows.
#[derive(Clone)]
pub struct Relay(Arc<Mutex<Role>>);

impl Default for Relay {
    fn default() -> Relay {
        Relay(Arc::new(Mutex::new(Role::Follower(None))))
    }
}

/// What becomes of a request.
pub(super) enum Way {
    /// It is answered here.
    Here,
    /// The same, and the answer counts only if this is still the active controller afterwards.
    HereIfActive,
    To(Active),
}

impl Relay {
    /// Another controller is the active one, or nobody.
    pub fn follow(&self, active: Option<Active>) {
        self.set(Role::Follower(active));
    }

    /// This one is, as long as `holds` says so.
    pub fn lead(&self, holds: Arc<dyn Fn() -> bool + Send + Sync>) {
        self.set(Role::Active(holds));
    }

    /// The active controller, if that is another one and told.
    pub fn active(&self) -> Option<Active> {
        match self.role() {
            Role::Follower(active) => active.filter(|active| !active.address.is_empty()),
            Role::Active(_) => None,
        }
    }

    /// In words for `/readyz`; `None`: it is the active one.
    pub fn following(&self) -> Option<String> {
        match self.role() {
            Role::Active(_) => None,
            Role::Follower(Some(active)) => Some(format!("following {}\n", active.name)),
            Role::Follower(None) => Some("following; no controller is the active one now\n".into()),
        }
    }

    fn set(&self, role: Role) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = role;
    }

    fn role(&self) -> Role {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether an answer that was made by the active controller is that of the active one still.
    pub(super) fn holds(&self) -> Result<(), Problems> {
        match self.role() {
            Role::Active(holds) if holds() => Ok(()),
            _ => Err(unavailable("this controller is not the active one any more; ask again")),
        }
    }

    /// Where a request is answered. What is read here is brought up to date first.
    pub(super) async fn way(&self, app: &App, parts: &Parts) -> Result<Way, Problems> {
        let is_read = matches!(parts.method, Method::GET | Method::HEAD);
        let active = match self.role() {
            Role::Active(_) => return Ok(if is_read { Way::HereIfActive } else { Way::Here }),
            Role::Follower(active) => active,
        };
        if parts.method == Method::OPTIONS {
            return Ok(Way::Here);
        }
        if is_read && is_in_log(app, parts) {
            if parts.headers.get(READ).is_none_or(|how| how != "local") {
                match timeout(STORE, app.datastore.catch_up()).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => return Err(unavailable(&format!("{error}; {LOCAL}"))),
                    Err(_) => return Err(unavailable(&format!("the store does not answer; {LOCAL}"))),
                }
            }
            return Ok(Way::Here);
        }
        if parts.headers.contains_key(RELAYED) {
            return Err(unavailable("this controller is not the active one; ask again"));
        }
        active.filter(|active| !active.address.is_empty()).map(Way::To).ok_or_else(|| {
            unavailable("no controller is the active one now: nothing was written, and what only that one knows cannot be read; ask again")
        })
    }
}

const LOCAL: &str = "whether this is the newest state cannot be told; ask again, or send coeus-read: local for what is known here";

fn unavailable(message: &str) -> Problems {
    Problem::new("operation-failed", message).with_status(StatusCode::SERVICE_UNAVAILABLE).into()
}

/// When a request that could not be answered is worth repeating.
pub(super) fn retry(response: &mut Response<Body>) {
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().entry(header::RETRY_AFTER).or_insert(HeaderValue::from(AGAIN));
    }
}

/// Whether what is read follows from the log, wherever it is read.
fn is_in_log(app: &App, parts: &Parts) -> bool {
    let schema = app.datastore.schema();
    let path = parts.uri.path();
    if path == "/metrics" {
        return true;
    }
    match routes::target(app, path) {
        Ok(Target::Data(face, raw)) => {
            let Ok(path) = face.path(schema, raw) else { return true };
            match face {
                Face::Legacy(Store::Config) | Face::Ds(Datastore::Running | Datastore::Intended) => true,
                Face::Ds(Datastore::Candidate) => false,
                _ if asks_for_config(face, parts) => true,
                _ => path.steps.first().is_some_and(|top| !is_passing_module(schema, top.node)),
            }
        }
        Ok(Target::Operation(_)) => false,
        Ok(Target::Document(_) | Target::Json(_) | Target::Module(_)) => true,
        Err(_) => !path.contains("/streams"),
    }
}

fn asks_for_config(face: Face, parts: &Parts) -> bool {
    let pairs = query::pairs(parts.uri.query()).unwrap_or_default();
    face == Face::Rests && pairs.iter().any(|(name, value)| name == "content" && value == "config")
}

/// Has the active controller answer.
///
/// # Errors
/// 503 when it cannot be reached, or does not answer.
pub(super) async fn send(
    app: &App,
    active: &Active,
    parts: Parts,
    body: Body,
) -> Result<Response<Body>, Problems> {
    let takeover = Takeover::for_websocket(&parts).cloned();
    let transport = parts.extensions.get::<Arc<Transport>>().cloned();
    let mut request = relayed(app, parts, body).await?;
    if takeover.is_some() {
        for (name, value) in [(header::CONNECTION, "upgrade"), (header::UPGRADE, "websocket")] {
            request.headers_mut().insert(name, HeaderValue::from_static(value));
        }
    }
    let away = |reason: String| {
        unavailable(&format!(
            "the active controller ({}) cannot be reached: {reason}; nothing was done, ask again",
            active.name
        ))
    };
    let stream = match timeout(CONNECT, connect(active)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(away(error.to_string())),
        Err(_) => return Err(away("no answer".into())),
    };
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| away(error.to_string()))?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a connection to the active controller ended");
        }
    });
    let patience = app.limits.request_time().saturating_sub(Duration::from_secs(1));
    match timeout(patience, sender.send_request(request)).await {
        Ok(Ok(response)) if response.status() == StatusCode::SWITCHING_PROTOCOLS => takeover
            .map(|takeover| switched(&takeover, response))
            .ok_or_else(|| lost(active, "it changed to a protocol that nobody asked for")),
        Ok(Ok(response)) => {
            let (mut parts, body) = response.into_parts();
            without_hops(&mut parts.headers);
            let body = match transport.filter(|_| is_stream(&parts.headers)) {
                Some(transport) => while_open(body, &transport),
                None => Body::new(body),
            };
            Ok(Response::from_parts(parts, body))
        }
        Ok(Err(error)) => Err(lost(active, &error.to_string())),
        Err(_) => Err(lost(active, "it took too long")),
    }
}

/// Server-sent events: they have no end of their own.
fn is_stream(headers: &HeaderMap) -> bool {
    let is_stream = |kind: &HeaderValue| kind.as_bytes().starts_with(b"text/event-stream");
    headers.get(header::CONTENT_TYPE).is_some_and(is_stream)
}

/// A body that ends when this program does. A client takes no notice of an event that was begun, and asks for it elsewhere.
fn while_open(body: Incoming, transport: &Transport) -> Body {
    let mut closing = transport.closing.clone();
    let closed = Box::pin(async move { drop(closing.changed().await) });
    Body::from_stream(Body::new(body).into_data_stream().take_until(closed))
}

/// The answer behind which no HTTP comes: bytes are passed on both ways, until either side or this program ends it.
fn switched(takeover: &Takeover, mut response: Response<Incoming>) -> Response<Body> {
    let there = hyper::upgrade::on(&mut response);
    takeover.leave(Box::new(|raw| {
        Box::pin(async move {
            let Ok(there) = there.await else { return };
            let (Raw { mut io, read, mut closing }, mut there) = (raw, TokioIo::new(there));
            let passed = async {
                there.write_all(&read).await?;
                copy_bidirectional(&mut io, &mut there).await
            };
            tokio::select! {
                _ = passed => {}
                _ = closing.changed() => {}
            }
        })
    }));
    response.map(|_| Body::empty())
}

/// Whether the client has come by TLS, to whichever controller.
pub(in crate::northbound) fn is_tls(parts: &Parts) -> bool {
    match parts.headers.get(RELAYED).map(HeaderValue::as_bytes) {
        Some(b"https") => true,
        Some(b"http") => false,
        _ => is_encrypted(parts),
    }
}

/// How the client names this server, with the port; `scheme` and `://` go before it.
pub(in crate::northbound) fn host(parts: &Parts) -> &str {
    // HTTP/2 says it in the target (RFC 9113 section 8.3.1).
    let named = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    named.or(parts.uri.authority().map(Authority::as_str)).unwrap_or("127.0.0.1")
}

/// The same as the beginning of a URL.
pub(in crate::northbound) fn origin(parts: &Parts) -> String {
    format!("{}://{}", if is_tls(parts) { "https" } else { "http" }, host(parts))
}

/// Whether the request has come here by TLS.
pub(super) fn is_encrypted(parts: &Parts) -> bool {
    parts.extensions.get::<Arc<Transport>>().is_some_and(|transport| transport.is_tls)
}

fn lost(active: &Active, reason: &str) -> Problems {
    unavailable(&format!(
        "the active controller ({}) has not answered: {reason}; whether something was done is not known, read before you ask again",
        active.name
    ))
}

/// The request as it is sent on: with the client's credentials, and its conditions in words that hold there as here.
async fn relayed(app: &App, mut parts: Parts, body: Body) -> Result<Request<Body>, Problems> {
    if let Some(tag) = same_condition(app, &parts).await {
        parts.headers.insert(header::IF_MATCH, tag);
    }
    without_hops(&mut parts.headers);
    parts.headers.remove(header::EXPECT);
    let came = HeaderValue::from_static(if is_tls(&parts) { "https" } else { "http" });
    parts.headers.insert(RELAYED, came);
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
    if let Some(host) = parts.uri.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok()) {
        parts.headers.entry(header::HOST).or_insert(host);
    }
    parts.headers.entry(header::HOST).or_insert(HeaderValue::from_static("coeus"));
    let mut request = Request::builder().method(parts.method).uri(target).body(body).map_err(|error| {
        Problems::from(Problem::new("malformed-message", format!("the request cannot be sent on: {error}")))
    })?;
    *request.headers_mut() = parts.headers;
    Ok(request)
}

/// A tag of here that holds, as "not changed since": the same state may have another tag there.
async fn same_condition(app: &App, parts: &Parts) -> Option<HeaderValue> {
    if !parts.headers.contains_key(header::IF_MATCH) {
        return None;
    }
    timeout(STORE, app.datastore.catch_up()).await.ok()?.ok()?;
    let (snapshot, running) = (app.datastore.snapshot(), app.datastore.running());
    let Ok(Target::Data(face, raw)) = routes::target(app, parts.uri.path()) else { return None };
    let path: DataPath = face.path(snapshot.schema, raw).ok()?;
    let wanted = conditions::of_write(&parts.headers, &app.datastore, face, &path).ok()?;
    let holds = !wanted.is_empty() && wanted.iter().all(|wanted| wanted.holds(&running));
    let is_tag = parts.headers.get(header::IF_MATCH).is_some_and(|tags| tags != "*");
    (holds && is_tag).then(|| HeaderValue::from_str(&conditions::since(running.revision)).ok())?
}

/// Takes away what is of one connection (RFC 9110 section 7.6.1).
fn without_hops(headers: &mut HeaderMap) {
    for name in
        ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"]
    {
        headers.remove(name);
    }
}

pub(super) async fn connect(active: &Active) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(&active.address).await?;
    let _ = stream.set_nodelay(true);
    pinned::connect(stream, &active.fingerprint).await
}
