//! Kubernetes as a client of Coeus.
//!
//! What a cluster holds follows from its lists and watches ([`Cluster`]); what the datastore should hold of it follows from that, object by
//! object ([`mapping`]); and what is to be written is the difference to what it holds ([`reconcile`]). Which of several watchers writes is decided by
//! a lease ([`lease`]), which addresses pods and which subnets nodes get that have none by what is free ([`allocate`], [`subnets`]), and what the cluster hears of its pods by what it says of
//! them already ([`report`]). All of that is pure. [`client`] finds the cluster, [`feed`] lists and watches, [`elect`] holds the lease, [`writer`] writes, [`answer`] tells the cluster; [`tally`] counts it, and
//! [`page`] shows that.

pub mod allocate;
pub mod amend;
pub mod answer;
pub mod client;
pub mod cluster;
pub mod elect;
pub mod entry;
pub mod feed;
pub mod lease;
pub mod mapping;
pub mod page;
pub mod reconcile;
pub mod report;
pub mod subnets;
pub mod tally;
mod value;
pub mod writer;

pub use cluster::{Cluster, Kind, Name, Object};
pub use entry::{Entries, List, Place, uuid};
