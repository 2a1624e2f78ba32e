//! States that are made again when somebody looks at them.
//!
//! A commit that edits the trees where they are leaves nothing of the state before. What it did is kept instead: the same
//! edits on the last state that was kept whole give the same state again, to the last stamp.

use std::sync::{Arc, OnceLock};

use super::core::{apply_edit, derive, take_ids};
use super::history::Ids;
use super::{DerivedEdit, Edit, IdChange, Revision, Snapshot};

/// A state, whole or as the steps that lead to it.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "the small one is rare: the last state that was kept whole")]
pub(super) enum State {
    Kept(Whole),
    /// The state that a commit led to, and its trees once somebody has asked for them.
    Behind {
        before: Arc<State>,
        done: Done,
        made: OnceLock<Whole>,
    },
}

/// The trees and the allocations in force.
#[derive(Clone, Debug)]
pub(super) struct Whole {
    pub snapshot: Arc<Snapshot>,
    pub ids: Ids,
}

/// What a commit of one edit did.
#[derive(Debug)]
pub(super) struct Done {
    pub revision: Revision,
    pub edit: Edit,
    pub derived: Arc<[DerivedEdit]>,
    pub ids: Vec<IdChange>,
}

impl State {
    pub fn kept(snapshot: Arc<Snapshot>, ids: Ids) -> Arc<State> {
        Arc::new(State::Kept(Whole { snapshot, ids }))
    }

    /// The state behind another one.
    pub fn after(before: Arc<State>, done: Done) -> Arc<State> {
        Arc::new(State::Behind { before, done, made: OnceLock::new() })
    }

    /// Whether it is the state that a commit with this revision led to, as the way that leads there.
    pub fn is_behind(&self, revision: Revision) -> bool {
        matches!(self, State::Behind { done, .. } if done.revision == revision)
    }

    /// The whole state. It is made from the nearest one that is there, and kept.
    pub fn whole(&self) -> &Whole {
        let made = match self {
            State::Kept(whole) => return whole,
            State::Behind { made, .. } => made,
        };
        made.get_or_init(|| {
            let (mut at, mut steps) = (self, Vec::new());
            let nearest = loop {
                match at {
                    State::Kept(whole) => break whole,
                    State::Behind { before, done, made } => {
                        if let Some(whole) = made.get() {
                            break whole;
                        }
                        steps.push(done);
                        at = before;
                    }
                }
            };
            let (mut snapshot, mut ids) = (Snapshot::clone(&nearest.snapshot), nearest.ids.clone());
            steps.into_iter().rev().for_each(|done| done.again(&mut snapshot, &mut ids));
            Whole { snapshot: Arc::new(snapshot), ids }
        })
    }
}

impl Done {
    /// Does it again.
    fn again(&self, snapshot: &mut Snapshot, ids: &mut Ids) {
        if let Err(error) = apply_edit(snapshot, &self.edit, self.revision.0) {
            tracing::error!(%error, revision = self.revision.0, "a commit cannot be done again");
        }
        snapshot.revision = self.revision;
        derive(snapshot, &self.derived, self.revision.0);
        take_ids(ids, &self.ids);
    }
}
