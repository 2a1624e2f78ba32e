//! Who may connect as a switch: mutual TLS, and the identity that a datapath belongs to.
//!
//! ```text
//! connection ─► enter, or dial: TLS with a certificate of our authority ─► identity ─► claim: this datapath is his ─► session
//!                       └► refused ◄────────────────────────────────────────────────┘
//! ```
//! Without TLS there is no identity, and nothing is asked. A datapath belongs to whom the configuration names, else to whoever came with
//! it first (`coeus-switch`). Who is refused is logged, counted and shown.

mod binding;
mod identity;
mod refusals;
mod server;
mod tls;

pub use binding::{Bindings, Verdict};
pub use identity::Identity;
pub use refusals::{Protocol, Reason, Refusals, Refused};
pub use server::Stream;
pub use tls::{Files, Tls, TlsError};

use std::fmt;
use std::sync::Arc;

use crate::datastore::Handle;

/// What is asked of whoever connects. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub struct Admission {
    tls: Option<Arc<Tls>>,
    bound: Option<(Handle, Arc<Bindings>)>,
    refusals: Refusals,
}

impl fmt::Debug for Admission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Admission").field("scheme", &self.scheme()).finish_non_exhaustive()
    }
}

impl Admission {
    /// With TLS, `datastore` says who datapaths belong to.
    pub fn new(tls: Option<Tls>, datastore: &Handle) -> Admission {
        let bindings = Arc::new(Bindings::new(datastore.snapshot().schema));
        Admission {
            tls: tls.map(Arc::new),
            bound: Some((datastore.clone(), bindings)),
            refusals: Refusals::default(),
        }
    }

    /// How switches name the way to us: `ssl` or `tcp`.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "ssl" } else { "tcp" }
    }

    /// Who was refused.
    pub fn refusals(&self) -> &Refusals {
        &self.refusals
    }
}
