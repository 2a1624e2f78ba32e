//! Events over HTTP: which GETs are answered with a stream.

use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, StatusCode, header};

use super::actor::Registry;
use super::feed::{Feed, Order, Stream};
use super::legacy;
use super::request;
use super::source::Source;
use super::stream::{self, Seat};
use crate::datastore::Store;
use crate::northbound::restconf::{App, Datastore, Encoding, Face, Problem, Problems, Resource, pairs};

/// The resources of events.
pub struct Server {
    pub registry: Registry,
}

impl Resource for Server {
    fn answer(&self, app: &App, user: &str, parts: &mut Parts) -> Option<Result<Response<Body>, Problems>> {
        let path = parts.uri.path();
        if let Some(name) = path.strip_prefix("/streams/").or(path.strip_prefix("/rests/streams/")) {
            return Some(self.only_get(parts, |server| server.stream(app, user, name, parts)));
        }
        if let Some(id) = path.strip_prefix("/rests/subscriptions/") {
            return Some(self.only_get(parts, |server| server.subscription(app, user, id, parts)));
        }
        if path.starts_with("/restconf/streams/") {
            return legacy::server::answer(&self.registry, app, user, parts);
        }
        if parts.method == Method::GET && request::wants_events(&parts.headers) {
            let (face, rest) = data_face(path)?;
            return Some(self.data(app, user, face, rest, parts));
        }
        None
    }
}

/// The face of a data resource, and the path below its root.
fn data_face(path: &str) -> Option<(Face, &str)> {
    let below = |root: &str| path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    if let Some(rest) = below("/rests/data") {
        return Some((Face::Rests, rest));
    }
    if let Some(rest) = below("/restconf/config") {
        return Some((Face::Legacy(Store::Config), rest));
    }
    if let Some(rest) = below("/restconf/operational") {
        return Some((Face::Legacy(Store::Operational), rest));
    }
    let rest = path.strip_prefix("/rests/ds/")?;
    let (name, _) = rest.split_once('/').unwrap_or((rest, ""));
    Some((Face::Ds(Datastore::named(name).ok()?), &rest[name.len()..]))
}

impl Server {
    fn only_get(
        &self,
        parts: &Parts,
        get: impl FnOnce(&Server) -> Result<Response<Body>, Problems>,
    ) -> Result<Response<Body>, Problems> {
        const METHODS: &str = "GET, HEAD, OPTIONS";
        match parts.method {
            Method::GET if !request::takes_events(&parts.headers) => {
                let message = "events come as text/event-stream; accept that";
                Err(Problem::new("invalid-value", message).with_status(StatusCode::NOT_ACCEPTABLE).into())
            }
            Method::GET => get(self),
            Method::HEAD => Ok(headed(Body::empty())),
            Method::OPTIONS => {
                let mut response = Response::new(Body::empty());
                response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(METHODS));
                Ok(response)
            }
            _ => {
                let message = format!("{} is not possible here; possible are {METHODS}", parts.method);
                Err(Problem::new("operation-not-supported", message).with_allow(METHODS).into())
            }
        }
    }

    fn stream(&self, app: &App, user: &str, name: &str, parts: &Parts) -> Result<Response<Body>, Problems> {
        let (name, encoding) = match name.strip_suffix("-JSON") {
            Some(name) => (name, Encoding::Json),
            None => (name, Encoding::Xml),
        };
        let stream = Stream::named(name).ok_or_else(|| {
            let names = Stream::ALL.map(Stream::name).join(" and ");
            let shown: String = name.chars().take(64).collect();
            let message = format!("there is no stream {shown:?}; there are {names}, each also with -JSON");
            Problem::new("invalid-value", message).with_status(StatusCode::NOT_FOUND)
        })?;
        let schema = self.registry.datastore.schema();
        let query = pairs(parts.uri.query())?;
        self.open(app, user, request::stream(schema, stream, encoding, &query, &parts.headers)?)
    }

    fn data(
        &self,
        app: &App,
        user: &str,
        face: Face,
        rest: &str,
        parts: &Parts,
    ) -> Result<Response<Body>, Problems> {
        let schema = self.registry.datastore.schema();
        let source = match face {
            Face::Rests | Face::Ds(Datastore::Operational) => Source::Operational,
            Face::Ds(Datastore::Running) => Source::Running,
            Face::Ds(_) | Face::Legacy(Store::Config) => Source::Intended,
            Face::Legacy(Store::Operational) => Source::State,
        };
        let path = face.path(schema, rest)?;
        let query = pairs(parts.uri.query())?;
        let chooses = face == Face::Rests;
        self.open(app, user, request::data(schema, source, path, chooses, &query, &parts.headers)?)
    }

    /// A stream that ends with its connection.
    fn open(&self, app: &App, user: &str, order: Order) -> Result<Response<Body>, Problems> {
        let slot = self.registry.slot(user)?;
        let feed = Feed::start(&app.datastore, order, None)?;
        Ok(headed(stream::body(&self.registry, feed, Seat::Slot { _room: slot })))
    }

    fn subscription(
        &self,
        app: &App,
        user: &str,
        id: &str,
        parts: &Parts,
    ) -> Result<Response<Body>, Problems> {
        let id: u32 = id.parse().map_err(|_| {
            let message =
                "a subscription is named by its number, as the answer to establish-subscription has it";
            Problem::new("invalid-value", message).with_status(StatusCode::NOT_FOUND)
        })?;
        if let Some((name, _)) = pairs(parts.uri.query())?.first() {
            return Err(
                Problem::new("invalid-value", format!("query parameter {name:?} is not known here")).into()
            );
        }
        let reading = self.registry.read(id, user)?;
        let mut order = Order::clone(&reading.signal.borrow().order);
        if let Some(start) = request::resumed(&parts.headers)? {
            order.start = start;
        }
        let feed = Feed::start(&app.datastore, order, Some(id))?;
        Ok(headed(stream::body(&self.registry, feed, Seat::Subscription(reading))))
    }
}

fn headed(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies that collect answers would hold events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The resources, as the server of RESTCONF takes them.
pub fn resource(registry: &Registry) -> Arc<dyn Resource> {
    Arc::new(Server { registry: registry.clone() })
}
