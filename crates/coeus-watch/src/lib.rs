//! Kubernetes as a client of Coeus.
//!
//! What a cluster holds follows from its lists and watches ([`Cluster`]); what the datastore should hold of it follows from that, object by
//! object ([`mapping`]); and what is to be written is the difference to what it holds ([`reconcile`]). All of that is pure. [`feed`] lists and
//! watches, [`writer`] writes.

pub mod cluster;
pub mod entry;
pub mod feed;
pub mod mapping;
pub mod reconcile;
pub mod writer;

pub use cluster::{Cluster, Kind, Name, Object};
pub use entry::{Entries, List, Place};
