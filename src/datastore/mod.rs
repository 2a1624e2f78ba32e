//! The datastore: config and operational trees, transactions, revisions, the journal behind them.
//!
//! Each store is two layers: what was written (`input`, journalled) and what the renderers derived from it
//! (recomputed, never journalled). Reads see the two merged.

mod commit;

pub use commit::{Change, Commit, Derived, DerivedEdit, Engine, IdChange, Refusal};

use std::sync::Arc;

use crate::schema::{DataPath, Fields, Node, Schema};

/// Which datastore (RFC 8342 terms: running and operational).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Store {
    Config,
    Operational,
}

/// Number of a commit: grows by at least one with each, and never repeats, also across restarts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Revision(pub u64);

/// What to do at a path (RFC 8072 names).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Fails with [`DatastoreError::Exists`] where there is something.
    Create,
    /// Puts the node in place of whatever was there.
    Replace,
    /// Unites the node with what is there.
    Merge,
    /// Fails with [`DatastoreError::Missing`] where there is nothing.
    Delete,
    /// As delete, but content with nothing there.
    Remove,
}

/// One edit of a transaction. `node` is given for create, replace and merge.
#[derive(Clone, Debug)]
pub struct Edit {
    pub store: Store,
    pub operation: Operation,
    pub path: DataPath,
    pub node: Option<Node>,
}

/// Edits that happen together or not at all.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Set when the edits were computed from a snapshot: what they touch must not have changed since.
    pub base: Option<Revision>,
    pub edits: Vec<Edit>,
    /// Who asks: a user name, or an actor such as `ovsdb` or `dhcp`.
    pub author: Arc<str>,
    /// False for what need not outlive the process (counters, connection state): it is not journalled.
    pub durable: bool,
}

/// The state of both stores at one revision. Cheap to clone and to keep.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub revision: Revision,
    pub schema: &'static Schema,
    pub config: Layers,
    pub operational: Layers,
}

/// One store: what was written and what was derived.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    pub input: Arc<Fields>,
    pub derived: Arc<Fields>,
}
