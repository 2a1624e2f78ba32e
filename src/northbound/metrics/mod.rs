//! `/metrics` in the text format of OpenMetrics 1.0, which Prometheus reads.
//!
//! Requests and commits are counted as they happen. What only switches know they are asked for, and all else is read from one
//! snapshot of the datastore, when somebody reads, so that nobody pays for numbers that nobody reads. Names follow the conventions of Prometheus: `coeus_…`,
//! base units, `_total` for what only grows.

mod process;
mod state;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use futures_util::stream;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::restconf::{App, Problem, Problems, Resource};
use crate::datastore::Handle;

/// What is answered. Source: OpenMetrics 1.0, "Content Type".
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// With which a page ends. Source: OpenMetrics 1.0, "Overall Structure".
const END: &str = "# EOF\n";

/// The root that a request is below, and its method.
type Asked = [(&'static str, &'static str); 2];
/// The same, and the status of the answer.
type Answered = (Asked, [(&'static str, u32); 1]);

/// Makes a page of numbers that have to be asked for, in the same format, with names of its own.
pub type Asking = Box<dyn Fn() -> Pin<Box<dyn Future<Output = String> + Send>> + Send + Sync>;

/// All numbers of one controller.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    requests: Family<Answered, Counter>,
    took: Family<Asked, Histogram, fn() -> Histogram>,
    asking: Arc<Asking>,
    behind: Arc<OnceLock<Box<dyn Fn() -> String + Send + Sync>>>,
}

/// From 0.1 ms to 26 s, each four times the one before.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(1e-4, 4.0, 10))
}

impl Metrics {
    /// `asking` asks for those of switches, and does not take long; `more` registers the numbers of others.
    pub fn new(datastore: &Handle, asking: Asking, more: impl FnOnce(&mut Registry)) -> Metrics {
        let requests = Family::default();
        let took = Family::new_with_constructor(seconds as fn() -> Histogram);
        let mut registry = Registry::default();
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        registry.register("coeus_build", "The program that runs", Info::new(version));
        registry.register(
            "coeus_http_requests",
            "Requests answered, by the root they are below, method and status",
            requests.clone(),
        );
        registry.register_with_unit(
            "coeus_http_request_duration",
            "Time to the head of an answer, by root and method",
            Unit::Seconds,
            took.clone(),
        );
        datastore.timings().register(&mut registry);
        more(&mut registry);
        registry.register_collector(Box::new(state::State::new(datastore.clone())));
        registry.register_collector(Box::new(process::Process));
        let (registry, asking) = (Arc::new(registry), Arc::new(asking));
        Metrics { registry, requests, took, asking, behind: Arc::default() }
    }

    /// Counts an answer.
    pub fn answered(&self, path: &str, method: &Method, status: StatusCode, took: Duration) {
        let asked = [("root", root(path)), ("method", known(method))];
        self.took.get_or_create(&asked).observe(took.as_secs_f64());
        self.requests.get_or_create(&(asked, [("status", status.as_u16().into())])).inc();
    }

    /// Has the numbers of another part behind these: a page in the same format, with names of its own. The first one asked for stays.
    pub fn also(&self, page: impl Fn() -> String + Send + Sync + 'static) {
        let _ = self.behind.set(Box::new(page));
    }

    /// The page.
    pub async fn text(&self) -> String {
        let asked = (self.asking)().await;
        let mut text = String::new();
        // Writing to a string does not fail; what a collector could not say is missing.
        if encode(&mut text, &self.registry).is_err() {
            tracing::warn!("the metrics are not complete");
        }
        for page in std::iter::once(asked).chain(self.behind.get().map(|page| page())) {
            text.truncate(text.trim_end_matches(END).len());
            text.push_str(&page);
        }
        text
    }

    /// The same as a body that comes when the switches have answered.
    fn body(&self) -> Body {
        let metrics = self.clone();
        Body::from_stream(stream::once(async move { Ok::<_, Infallible>(Bytes::from(metrics.text().await)) }))
    }
}

impl Resource for Metrics {
    fn answer(&self, _: &App, _: &str, parts: &mut Parts) -> Option<Result<Response<Body>, Problems>> {
        if parts.uri.path() != "/metrics" {
            return None;
        }
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            let problem = Problem::new("operation-not-supported", "metrics are read with GET");
            return Some(Err(problem.with_allow("GET, HEAD").into()));
        }
        let body = if parts.method == Method::HEAD { Body::empty() } else { self.body() };
        let mut response = Response::new(body);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Some(Ok(response))
    }
}

/// What a path is below: few names, whatever clients ask for.
fn root(path: &str) -> &'static str {
    const ROOTS: [&str; 14] = [
        "/rests/data",
        "/rests/ds",
        "/rests/operations",
        "/rests/streams",
        "/rests/subscriptions",
        "/rests",
        "/restconf/config",
        "/restconf/operational",
        "/restconf/operations",
        "/restconf",
        "/metrics",
        "/livez",
        "/readyz",
        "/openapi.json",
    ];
    let below =
        |root: &&str| path.strip_prefix(*root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    ROOTS.iter().find(|root| below(root)).copied().unwrap_or("other")
}

/// A method of HTTP's own; clients may invent others.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::PUT => "PUT",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_few_whatever_clients_ask() {
        assert_eq!(root("/rests/data/pod:coe/pods=1"), "/rests/data");
        assert_eq!(root("/rests/database"), "/rests");
        assert_eq!(root("/restconf/operational"), "/restconf/operational");
        assert_eq!(root("/x"), "other");
        assert_eq!(known(&Method::from_bytes(b"BREW").unwrap()), "other");
    }
}
