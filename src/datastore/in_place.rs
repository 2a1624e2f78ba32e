//! Commits of one edit within a list that is there already: the trees are edited where they are, so that the commits of a group
//! copy what they share once and not each for itself.

use std::time::SystemTime;

use super::core::{Decided, apply_edit};
use super::past::{Done, State};
use super::{
    Change, Commit, Committed, Core, DatastoreError, Edit, IdChange, Operation, Revision, Snapshot,
    Transaction,
};
use crate::schema::{DataPath, Entries, Fields, Node, NodeRef, diff_entry, tree};

/// How ids changed, and all that was done unless the engine panicked.
type Carried = (Vec<IdChange>, Option<Done>);

impl Core {
    /// The only edit and the list entry at or above it, if it can be carried out in place: the list is there, so
    /// nothing but this entry will differ.
    pub(super) fn in_place<'t>(&self, edits: &'t [Edit]) -> Option<(&'t Edit, DataPath)> {
        let [edit] = edits else { return None };
        if edit.operation == Operation::Move || edit.position.is_some() {
            return None;
        }
        let mut at = &self.snapshot.layers(edit.store).input;
        let mut entry = None;
        for (number, step) in edit.path.steps.iter().enumerate() {
            match (at.get(step.node), &step.key) {
                (Some(Node::Container(inner)), None) => at = inner,
                (Some(Node::List(list)), Some(key)) if !matches!(list.entries(), Entries::Keyless(_)) => {
                    entry = Some(number);
                    let Some(inner) = list.get(key) else { break };
                    at = inner;
                }
                _ => break,
            }
        }
        Some((edit, DataPath { steps: edit.path.steps[..=entry?].into() }))
    }

    /// Carries such a transaction out, or leaves everything as it was.
    pub(super) fn apply_in_place(
        &mut self,
        transaction: &Transaction,
        (edit, entry): (&Edit, DataPath),
        now: SystemTime,
        decided: Decided<'_>,
    ) -> Result<Committed, DatastoreError> {
        let grants = self.may_apply(transaction)?;
        let before = self.snapshot.revision;
        let unchanged = |created| Committed::of(before, vec![created], false);
        if edit.operation == Operation::Replace && self.is_so_already(edit) {
            return Ok(unchanged(false));
        }
        let outcome = self.carry_out(grants.as_deref(), edit, &entry, now, decided);
        match outcome {
            Ok((created, Some((ids, done)))) => {
                match done {
                    Some(done) => self.state = State::after(self.state.clone(), done),
                    None => self.derive_anew(now),
                }
                Ok(Committed { revision: self.snapshot.revision, created: vec![created], changed: true, ids })
            }
            Ok((created, None)) => {
                self.take_back();
                Ok(unchanged(created))
            }
            Err(error) => {
                self.take_back();
                Err(error)
            }
        }
    }

    fn is_so_already(&self, edit: &Edit) -> bool {
        let there = tree::get_ref(&self.snapshot.layers(edit.store).input, &edit.path);
        there.is_some_and(|there| edit.node.as_ref() == Some(&there.to_node()))
    }

    /// Edits the present state. Returns whether nothing was there, and what was done. Whoever gets an error, or nothing that was
    /// done, has to take it back.
    fn carry_out(
        &mut self,
        grants: Option<&crate::access::Grants>,
        edit: &Edit,
        entry: &DataPath,
        now: SystemTime,
        decided: Decided<'_>,
    ) -> Result<(bool, Option<Carried>), DatastoreError> {
        let revision = Revision(self.snapshot.revision.0 + 1);
        let schema = self.snapshot.schema;
        let rules = Core::access_rules(&self.snapshot);
        let old = entry_at(&self.snapshot, edit, entry);
        // Out of `self`, so that nothing but the trees of the past shares it.
        let mut after = std::mem::replace(&mut self.snapshot, Snapshot::empty(schema));
        let created = apply_edit(&mut after, edit, revision.0)?;
        let new = entry_at(&after, edit, entry);
        let changes: Vec<Change> = diff_entry(schema, entry, old.as_ref(), new.as_ref())
            .into_iter()
            .map(|(path, before, after)| Change { store: edit.store, path, before, after })
            .collect();
        if changes.is_empty() {
            return Ok((created, None));
        }
        self.bound(grants).may_change(schema, &changes)?;
        Core::rules_hold(rules.as_ref(), &after)?;
        self.validate(&after, &changes)?;
        after.revision = revision;
        let commit = Commit { revision, after: &after, changes: &changes, now };
        let ids = self.ask_engine(&commit, now, |engine, commit| engine.take(commit))?;
        decided(revision, &ids);
        let derived = self.render(&commit);
        self.remember(revision, &changes);
        self.take_told(&ids);
        self.snapshot = after;
        self.unsettled = derived.clone();
        let done = derived.map(|derived| Done { revision, edit: edit.clone(), derived, ids: ids.clone() });
        Ok((created, Some((ids, done))))
    }
}

pub(super) fn entry_at(snapshot: &Snapshot, edit: &Edit, entry: &DataPath) -> Option<Fields> {
    match tree::get_ref(&snapshot.layers(edit.store).input, entry) {
        Some(NodeRef::Fields(fields)) => Some(fields.clone()),
        _ => None,
    }
}
