//! The RPC, the stream, and the handshake of its websocket (RFC 6455 section 4.2).

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::super::actor::Registry;
use super::super::filter::subtree;
use super::super::notify::Maker;
use super::super::request::Input;
use super::super::source::Source;
use super::stream;
use super::{Scope, Watched};
use crate::datastore::Revision;
use crate::northbound::http::Takeover;
use crate::northbound::restconf::{
    App, Call, Encoding, Operations, Outcome, Problem, Problems, host, is_tls, pairs,
};
use crate::schema::{Fields, Schema};

const STREAM: &str = "/restconf/streams/stream/";
const SOCKET: &str = "/restconf/streams/websocket/";

/// Has the RPC answered.
pub fn register(operations: &mut Operations, schema: &'static Schema) {
    if let Some(id) = schema.rpc("sal-remote", "create-data-change-event-subscription") {
        operations.on(id, move |call: Call| async move { create(schema, &call) });
    }
}

fn create(schema: &'static Schema, call: &Call) -> Outcome {
    let rpc = call.path.last_node();
    let Some((of, output)) = rpc.and_then(|rpc| Some((schema.input(rpc)?, schema.output(rpc)?))) else {
        return Ok(Fields::default());
    };
    let input = Input { schema, of, fields: &call.input };
    let Some(path) = input.text("path") else {
        return Err(Problem::new("missing-element", "say which path is to be watched").into());
    };
    let path = subtree(schema, &path)?;
    let source = match input.text("datastore").as_deref() {
        Some("OPERATIONAL") => Source::State,
        _ => Source::Intended,
    };
    let scope = match input.text("scope").as_deref() {
        Some("SUBTREE") => Scope::Subtree,
        Some("ONE") => Scope::One,
        _ => Scope::Base,
    };
    let encoding = match input.text("notification-output-type").as_deref() {
        Some("JSON") => Encoding::Json,
        _ => Encoding::Xml,
    };
    let name = Watched { source, path, scope, encoding }.name(schema);
    Ok(Maker::new(schema, output).leaf("stream-name", &name).fields())
}

/// Answers a GET on a stream or its websocket; `None`: it is neither.
pub fn answer(
    registry: &Registry,
    app: &App,
    user: &str,
    parts: &mut Parts,
) -> Option<Result<Response<Body>, Problems>> {
    let path = parts.uri.path().to_owned();
    let (name, is_socket) = match path.strip_prefix(SOCKET) {
        Some(name) => (name, true),
        None => (path.strip_prefix(STREAM)?, false),
    };
    let schema = registry.datastore.schema();
    let Some(watched) = Watched::named(schema, name) else {
        let message =
            "there is no such stream; take the name that create-data-change-event-subscription gives";
        return Some(Err(Problem::new("invalid-value", message).with_status(StatusCode::NOT_FOUND).into()));
    };
    if parts.method != Method::GET {
        let message = format!("{} is not possible here; possible is GET", parts.method);
        return Some(Err(Problem::new("operation-not-supported", message).with_allow("GET").into()));
    }
    if is_socket {
        return Some(socket(registry, app, user, parts, watched));
    }
    let scheme = if is_tls(parts) { "wss" } else { "ws" };
    // What happens until the websocket is there is told through it.
    let revision = registry.datastore.snapshot().revision.0;
    let location = format!("{scheme}://{}{SOCKET}{name}?start-revision={revision}", host(parts));
    let mut response = Response::new(Body::from(serde_json::json!({ "location": location }).to_string()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Ok(location) = HeaderValue::from_str(&location) {
        headers.insert(header::LOCATION, location);
    }
    Some(Ok(response))
}

fn socket(
    registry: &Registry,
    app: &App,
    user: &str,
    parts: &mut Parts,
    watched: Watched,
) -> Result<Response<Body>, Problems> {
    let key = parts.headers.get(header::SEC_WEBSOCKET_KEY).cloned();
    let (Some(key), Some(takeover)) = (key, Takeover::for_websocket(parts).cloned()) else {
        let message = "this is a websocket: connect with a websocket client, over HTTP/1.1";
        return Err(Problem::new("invalid-value", message).with_status(StatusCode::UPGRADE_REQUIRED).into());
    };
    let mut from = registry.datastore.snapshot().revision;
    for (name, value) in pairs(parts.uri.query())? {
        let number = value.parse().ok().filter(|_| name == "start-revision");
        let wrong =
            || Problem::new("invalid-value", format!("query parameter {name:?}: say start-revision=NUMBER"));
        from = Revision(number.ok_or_else(wrong)?);
    }
    let cursor =
        registry.datastore.history().follow(from).map_err(|error| {
            Problem::new("invalid-value", error.to_string()).with_status(StatusCode::GONE)
        })?;
    let slot = registry.slot(user)?;
    let (registry, datastore) = (registry.clone(), app.datastore.clone());
    takeover
        .leave(Box::new(move |raw| Box::pin(stream::run(registry, datastore, watched, cursor, slot, raw))));
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    Ok(response)
}
