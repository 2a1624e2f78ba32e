//! What must hold at the moment in which a transaction is carried out, so that nobody overwrites what he has not seen.

use super::{Revision, Snapshot, Store};
use crate::schema::{DataPath, Kind, NodeRef, Schema, tree};

/// When a resource last changed: what an entity-tag is made of. Equal stamps mean equal data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Stamp {
    /// In what was written; 0 if nothing of it was.
    pub input: Revision,
    /// In what follows from it; 0 if nothing does.
    pub derived: Revision,
}

impl Stamp {
    pub fn latest(self) -> Revision {
        self.input.max(self.derived)
    }
}

/// A condition on one resource (RFC 9110 section 13.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precondition {
    pub store: Store,
    pub path: DataPath,
    /// Derived data do not count: the resource shows what was written only.
    pub written_only: bool,
    pub wanted: Wanted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// There is something.
    Present,
    /// There is nothing.
    Absent,
    /// It is as one of these stamps says.
    One(Vec<Stamp>),
    /// It is not as any of these stamps says.
    None(Vec<Stamp>),
    /// It did not change after this revision.
    Unchanged(Revision),
}

impl Precondition {
    pub fn holds(&self, snapshot: &Snapshot) -> bool {
        let stamp = if self.written_only {
            snapshot.stamp_of_written(self.store, &self.path)
        } else {
            snapshot.stamp(self.store, &self.path)
        };
        match (&self.wanted, stamp) {
            (Wanted::Present, stamp) => stamp.is_some(),
            (Wanted::Absent, stamp) => stamp.is_none(),
            (Wanted::One(stamps), Some(stamp)) => stamps.contains(&stamp),
            (Wanted::None(stamps), Some(stamp)) => !stamps.contains(&stamp),
            (Wanted::Unchanged(revision), Some(stamp)) => stamp.latest() <= *revision,
            (Wanted::One(_), None) => false,
            (Wanted::None(_) | Wanted::Unchanged(_), None) => true,
        }
    }
}

impl Snapshot {
    /// The same of what was written alone, as if nothing followed from it.
    pub fn stamp_of_written(&self, store: Store, path: &DataPath) -> Option<Stamp> {
        let there = path.steps.is_empty() || tree::get_ref(&self.layers(store).input, path).is_some();
        let stamp = self.stamp(store, path).filter(|_| there)?;
        Some(Stamp { derived: Revision(0), ..stamp })
    }

    /// When what stands at the path last changed; leafs, leaf-lists and lists have the stamp of what holds them.
    /// `None`: nothing is there.
    pub fn stamp(&self, store: Store, path: &DataPath) -> Option<Stamp> {
        let layers = self.layers(store);
        let there = [&layers.input, &layers.derived].map(|root| tree::get_ref(root, path));
        if !path.steps.is_empty() && there.iter().all(Option::is_none) {
            return None;
        }
        let stamped = match holder(self.schema, path) {
            Some(holder) => [&layers.input, &layers.derived].map(|root| tree::get_ref(root, &holder)),
            None => there,
        };
        let [input, derived] = stamped.map(|fields| match fields {
            Some(NodeRef::Fields(fields)) => Revision(fields.modified()),
            _ => Revision(0),
        });
        Some(Stamp { input, derived })
    }
}

/// The container or entry around a node that bears no stamp itself.
fn holder(schema: &Schema, path: &DataPath) -> Option<DataPath> {
    let last = path.steps.last()?;
    match (&schema.node(last.node).kind, &last.key) {
        (Kind::Container { .. }, _) | (Kind::List { .. }, Some(_)) => None,
        _ => path.parent(),
    }
}
