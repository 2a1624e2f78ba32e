//! RESTCONF: RFC 8040 at `/rests`, and OpenDaylight's older root at `/restconf/{config,operational,operations}`.
//!
//! Both are faces of the same resources. A write is one transaction; a read is one snapshot. The strict face takes JSON to the
//! letter of RFC 7951, the older one takes what OpenDaylight's clients have always sent.

mod answer;
mod bounds;
mod codec;
mod conditions;
mod data;
mod discovery;
mod door;
mod error;
mod face;
mod gzip;
mod media;
mod monitoring;
mod operations;
mod paging;
mod patch;
mod query;
mod read;
mod relay;
mod routes;
mod server;
mod stream;
mod wait;
mod way;
mod write;

pub use door::{Door, link};
pub use error::{Problem, Problems};
pub(in crate::northbound) use face::{Datastore, Face};
pub use media::Encoding;
pub use monitoring::announce;
pub use operations::{Call, Operations, Outcome};
pub(in crate::northbound) use query::pairs;
pub use relay::{Active, Relay};
pub(in crate::northbound) use relay::{host, is_tls};
pub use server::{Inside, serve};
pub use wait::Switches;

use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{Method, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tower_http::timeout::TimeoutError;

use crate::accounts::Accounts;
use crate::audit::Audit;
use crate::datastore::{Handle, Snapshot};
use crate::northbound::http::Limits;
use crate::schema::DataPath;

/// What others serve beside data and operations. They are asked first, once it is known who asks.
pub trait Resource: Send + Sync {
    /// `None`: the request is not theirs. The datastore of `app` has the rights of the user.
    fn answer(&self, app: &App, user: &str, parts: &mut Parts) -> Option<Result<Response<Body>, Problems>>;
}

/// What a request works with: the datastore in the name of who asks, and what all requests share, which is set before the first one.
#[derive(Clone)]
pub struct App {
    pub datastore: Handle,
    shared: Arc<Shared>,
}

/// What the requests share.
#[derive(Clone)]
pub struct Shared {
    pub accounts: Arc<Accounts>,
    pub readiness: Readiness,
    pub operations: Arc<Operations>,
    pub audit: Arc<Audit>,
    pub resources: Vec<Arc<dyn Resource>>,
    pub limits: Limits,
    /// What only switches know, put into a snapshot for one reader.
    pub live: Option<Live>,
    /// How far the switches are; `None`: nobody programs any.
    pub switches: Option<Arc<dyn Switches>>,
    /// Is told of each answer.
    pub answered: Option<Answered>,
    /// Other controllers share the store; `None`: there are none.
    pub relay: Option<Relay>,
    /// Where they come with what is no request.
    pub door: Door,
}

/// Puts state into a snapshot that a read of this path asks for. `None`: it asks for none.
pub type Live = Arc<
    dyn Fn(Arc<Snapshot>, DataPath) -> Pin<Box<dyn Future<Output = Option<Arc<Snapshot>>> + Send>>
        + Send
        + Sync,
>;

/// Path and method of a request, the status of its answer, and how long that took.
pub type Answered = Arc<dyn Fn(&str, &Method, StatusCode, Duration) + Send + Sync>;

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl DerefMut for App {
    /// For who sets it up: what was cloned before keeps what it had.
    fn deref_mut(&mut self) -> &mut Shared {
        Arc::make_mut(&mut self.shared)
    }
}

impl App {
    pub fn new(datastore: Handle, accounts: Accounts) -> App {
        let shared = Shared {
            accounts: Arc::new(accounts),
            readiness: Readiness::default(),
            operations: Arc::default(),
            audit: Arc::new(Audit::untold()),
            resources: Vec::new(),
            limits: Limits::default(),
            live: None,
            switches: None,
            answered: None,
            relay: None,
            door: Door::default(),
        };
        App { datastore, shared: Arc::new(shared) }
    }

    /// The same with the datastore in another name.
    fn with(&self, datastore: Handle) -> App {
        App { datastore, shared: self.shared.clone() }
    }

    /// The whole body of a request, if it is not too long.
    async fn whole(&self, body: Body) -> Result<Bytes, Problems> {
        match Limited::new(body, self.limits.body).collect().await {
            Ok(collected) => {
                let body = collected.to_bytes();
                bounds::nesting(&body, &self.limits)?;
                Ok(body)
            }
            Err(error) if error.downcast_ref::<LengthLimitError>().is_some() => {
                let message = format!("the body is longer than {} bytes; send it in parts", self.limits.body);
                Err(Problem::new("too-big", message).into())
            }
            Err(error) if is_timeout(&*error) => {
                let message = format!("the body stopped for {} s; send it faster", self.limits.body_seconds);
                let problem = Problem::new("operation-failed", message);
                Err(problem.with_status(StatusCode::REQUEST_TIMEOUT).into())
            }
            Err(error) => {
                Err(Problem::new("malformed-message", format!("the body ended early: {error}")).into())
            }
        }
    }
}

fn is_timeout(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source())
        .any(<dyn std::error::Error>::is::<TimeoutError>)
}

/// What the program still waits for before it is ready, in words for people.
#[derive(Clone, Default)]
pub struct Readiness {
    waiting: Arc<Mutex<Vec<&'static str>>>,
}

impl Readiness {
    pub fn wait_for(&self, what: &'static str) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    pub fn done(&self, what: &'static str) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).retain(|waiting| *waiting != what);
    }

    pub fn waiting(&self) -> Vec<&'static str> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
