//! HTTP below RESTCONF: connections, TLS, and what a client may cost us before it has said who it is.

mod limits;
pub(in crate::northbound) mod pinned;
mod server;
mod takeover;
pub mod tls;

pub use limits::{LimitError, Limits};
pub use server::{Peer, Transport, serve};
pub use takeover::{Raw, Takeover};
