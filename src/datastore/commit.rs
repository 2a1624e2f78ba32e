//! What passes between the datastore and the renderers, who run inside the commit.

use std::any::Any;
use std::time::SystemTime;

use super::{DerivedNode, Revision, Snapshot, Store};
use crate::schema::{DataPath, Node, Text};

/// One difference between two snapshots' input layers: the deepest list entry (or, outside lists, the top-level
/// container) in which something differs. A created or removed entry is reported once, as a whole; an entry whose
/// nested lists changed is reported by those entries, and itself only if its other fields changed.
#[derive(Clone, Debug)]
pub struct Change {
    pub store: Store,
    pub path: DataPath,
    pub before: Option<Node>,
    pub after: Option<Node>,
}

impl Change {
    /// The way back.
    pub fn reversed(&self) -> Change {
        Change {
            store: self.store,
            path: self.path.clone(),
            before: self.after.clone(),
            after: self.before.clone(),
        }
    }
}

/// A commit on its way: the candidate before validation by the engine, the fact afterwards.
#[derive(Debug)]
pub struct Commit<'a> {
    pub revision: Revision,
    pub after: &'a Snapshot,
    pub changes: &'a [Change],
    pub now: SystemTime,
}

/// A rule across objects that the candidate breaks (a second pod with the same address): becomes 409.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The object that is refused.
    pub path: DataPath,
    /// RFC 8040 error-tag, usually `in-use`.
    pub tag: &'static str,
    /// Names object, reason, owner and next step.
    pub message: String,
}

/// What happens to a node of a derived layer. Parents appear and vanish by themselves.
#[derive(Clone, Debug)]
pub enum DerivedEdit {
    Put(DerivedNode),
    Gone(DerivedNode),
}

impl DerivedEdit {
    pub fn at(&self) -> &DerivedNode {
        match self {
            DerivedEdit::Put(node) | DerivedEdit::Gone(node) => node,
        }
    }

    /// The node that is put.
    pub fn node(&self) -> Option<Node> {
        if let DerivedEdit::Put(derived) = self { Some(derived.node()) } else { None }
    }
}

/// An id taken from or given back to a named pool; journalled with the commit that caused it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdChange {
    pub pool: Text,
    pub key: Text,
    /// `Some`: allocated; `None`: released.
    pub id: Option<u32>,
}

/// What the engine made of a commit.
#[derive(Clone, Debug, Default)]
pub struct Derived {
    pub edits: Vec<DerivedEdit>,
    pub ids: Vec<IdChange>,
}

/// What an engine says of a commit that was planned.
pub type Report = Box<dyn Any + Send>;

/// A question about the engine's state; the engine passes what it is made of.
pub type Question = Box<dyn FnOnce(&dyn Any) + Send>;

/// The renderers as the datastore sees them. Called from one thread, in commit order.
pub trait Engine: Send {
    /// Released numbers of an earlier life, before [`Engine::restore`]: they rest on.
    fn rest(&mut self, _: &[super::Resting]) {}

    /// Called once after recovery, before the first commit: compute everything from the snapshot's input layers.
    /// `ids` are all allocations in force. Called again if a commit that was rendered could not be made durable.
    fn restore(&mut self, snapshot: &Snapshot, ids: &[IdChange], now: SystemTime) -> Derived;

    /// Refuses a candidate that breaks a rule across objects. Must not change anything.
    fn check(&self, candidate: &Commit<'_>) -> Result<(), Refusal>;

    /// Whose configuration a derived node at, above or below this path follows from, as it is spoken of in a sentence; `None`:
    /// nobody's in particular.
    fn origin(&self, _: Store, _: &DataPath) -> Option<String> {
        None
    }

    /// Takes the commit in. What it takes and gives back of ids is certain then, and nothing can refuse it any more.
    fn take(&mut self, commit: &Commit<'_>) -> Vec<IdChange>;

    /// The same of a commit that another controller has carried out: what it took of ids is given. Returns what it takes and gives back
    /// here, which is the same if both are alike.
    fn follow(&mut self, commit: &Commit<'_>, _: &[IdChange]) -> Vec<IdChange> {
        self.take(commit)
    }

    /// Renders what the commit that was taken in last touches. Flows are held back until [`Engine::published`].
    fn render(&mut self, commit: &Commit<'_>) -> Vec<DerivedEdit>;

    /// What [`Engine::take`] and [`Engine::render`] would answer, and a report of what it would do, in a form that the engine and those who ask it
    /// agree on. Afterwards everything is as it was with `before`, the present state.
    fn plan(&mut self, commit: &Commit<'_>, before: &Snapshot) -> (Derived, Report);

    /// Has a question answered about what is rendered now.
    fn ask(&self, question: Question);

    /// The commits up to this revision are durable and visible: hand the flows to the programmers.
    fn published(&mut self, revision: Revision);
}
