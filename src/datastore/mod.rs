//! The datastore: config and operational trees, transactions, revisions, the journal behind them.
//!
//! Each store is two layers: what was written (`input`, journalled) and what the renderers derived from it
//! (recomputed, never journalled). Reads see the two merged.

pub mod actor;
mod allowed;
mod candidate;
mod checkpoint;
mod commit;
mod core;
mod derived;
mod edits;
mod error;
mod follow;
mod handle;
mod history;
mod ids;
mod in_place;
pub mod journal;
mod past;
mod precondition;
mod readers;
mod recovery;
mod scribe;
mod snapshot;
#[cfg(test)]
mod tests;
mod times;
mod timings;
mod worker;

pub use self::core::{Committed, Core, Planned, edited, is_passing_module};
pub use candidate::{Candidate, CandidateError, Candidates, Limits as CandidateLimits, Proposal, Resolution};
pub use commit::{Change, Commit, Derived, DerivedEdit, Engine, IdChange, Question, Refusal, Report};
pub use derived::{DerivedNode, Place};
pub use edits::edits_between;
pub use error::DatastoreError;
pub use handle::Handle;
pub use history::{Cursor, Entry, History, HistoryError, Kind, Limits, Step};
pub use ids::{IdPools, PoolExhausted, Resting};
pub use precondition::{Precondition, Stamp, Wanted};
pub use recovery::{Recovered, RecoveryError, checkpoint_parts, recover, to_json, wants_checkpoint};
pub use timings::Timings;

use std::sync::Arc;

use crate::access::Identity;
use crate::schema::{DataPath, Fields, Node, Position, Schema};

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
    /// Brings an entry of a list that the user orders to [`Edit::position`].
    Move,
}

impl Operation {
    const ALL: [Operation; 6] = [
        Operation::Create,
        Operation::Replace,
        Operation::Merge,
        Operation::Delete,
        Operation::Remove,
        Operation::Move,
    ];

    /// As in a YANG Patch, and in the journal.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Create => "create",
            Operation::Replace => "replace",
            Operation::Merge => "merge",
            Operation::Delete => "delete",
            Operation::Remove => "remove",
            Operation::Move => "move",
        }
    }

    /// The way back.
    pub fn named(name: &str) -> Option<Operation> {
        Operation::ALL.into_iter().find(|operation| operation.name() == name)
    }
}

/// One edit of a transaction. `node` is given for create, replace and merge.
#[derive(Clone, Debug)]
pub struct Edit {
    pub store: Store,
    pub operation: Operation,
    pub path: DataPath,
    pub node: Option<Node>,
    /// Where an entry of a list that the user orders goes; `None`: new ones to the end, others stay.
    pub position: Option<Position>,
}

/// Edits that happen together or not at all.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Set when the edits were computed from a snapshot: what they touch must not have changed since.
    pub base: Option<Revision>,
    pub edits: Vec<Edit>,
    /// What must hold in the newest state; not looked at in passing transactions.
    pub preconditions: Vec<Precondition>,
    /// Who asks: a user name, or an actor such as `ovsdb` or `dhcp`.
    pub author: Arc<str>,
    /// The user whose rights bound it; `None` for actors of the program. [`Handle::as_user`] sets it.
    pub user: Option<Arc<Identity>>,
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
    pub input: Fields,
    pub derived: Fields,
}

impl Edit {
    pub fn new(store: Store, operation: Operation, path: DataPath, node: Option<Node>) -> Edit {
        Edit { store, operation, path, node, position: None }
    }

    pub fn put(store: Store, path: DataPath, node: Node) -> Edit {
        Edit::new(store, Operation::Replace, path, Some(node))
    }

    pub fn merge(store: Store, path: DataPath, node: Node) -> Edit {
        Edit::new(store, Operation::Merge, path, Some(node))
    }

    /// Takes away what is there, content with nothing there.
    pub fn remove(store: Store, path: DataPath) -> Edit {
        Edit::new(store, Operation::Remove, path, None)
    }
}

impl Transaction {
    /// Edits that are journalled, made from no particular snapshot.
    pub fn new(author: impl AsRef<str>, edits: Vec<Edit>) -> Transaction {
        Transaction {
            base: None,
            edits,
            preconditions: Vec::new(),
            author: Arc::from(author.as_ref()),
            user: None,
            durable: true,
        }
    }

    /// The same on conditions.
    #[must_use]
    pub fn if_all(self, preconditions: Vec<Precondition>) -> Transaction {
        Transaction { preconditions, ..self }
    }

    /// Edits that need not outlive the process.
    pub fn passing(author: impl AsRef<str>, edits: Vec<Edit>) -> Transaction {
        Transaction { durable: false, ..Transaction::new(author, edits) }
    }
}

/// Derives nothing: a datastore without a network.
#[derive(Debug, Default)]
pub struct NullEngine;

impl Engine for NullEngine {
    fn restore(&mut self, _: &Snapshot, _: &[IdChange], _: std::time::SystemTime) -> Derived {
        Derived::default()
    }

    fn check(&self, _: &Commit<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    fn take(&mut self, _: &Commit<'_>) -> Vec<IdChange> {
        Vec::new()
    }

    fn render(&mut self, _: &Commit<'_>) -> Vec<DerivedEdit> {
        Vec::new()
    }

    fn published(&mut self, _: Revision) {}

    fn plan(&mut self, _: &Commit<'_>, _: &Snapshot) -> (Derived, Report) {
        (Derived::default(), Box::new(()))
    }

    fn ask(&self, _: Question) {}
}
