//! RESTCONF: RFC 8040 at `/rests`, and OpenDaylight's older root at `/restconf/{config,operational,operations}`.
//!
//! Both are faces of the same resources. A write is one transaction; a read is one snapshot. The strict face takes JSON to the
//! letter of RFC 7951, the older one takes what OpenDaylight's clients have always sent.

mod answer;
mod auth;
mod conditions;
mod data;
mod discovery;
mod error;
mod face;
mod media;
mod patch;
mod query;
mod read;
mod server;
mod stream;
mod write;

pub use auth::{FirstStart, Users, UsersError};
pub use error::{Problem, Problems};
pub use server::serve;

use std::sync::{Arc, Mutex, PoisonError};

use crate::datastore::Handle;

/// What the requests share.
#[derive(Clone)]
pub struct App {
    pub datastore: Handle,
    pub users: Arc<Users>,
    pub readiness: Readiness,
    /// Longest body taken, in bytes.
    pub body_limit: usize,
}

impl App {
    pub fn new(datastore: Handle, users: Users) -> App {
        App { datastore, users: Arc::new(users), readiness: Readiness::default(), body_limit: 64 << 20 }
    }
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
