//! Candidates (RFC 8342 section 5.1.2): a user edits a copy of the running configuration over several requests, and one of them
//! makes a transaction of it, or throws it away.
//!
//! ```text
//! running ──┬── others commit ──────────────► running        edits of both: three-way, by path
//!           └── base ── edit ── edit ──► state ──┘ commit: what differs between base and state, if nobody else changed that
//! ```
//!
//! A candidate is a state of its own, not validated but for types: it may be invalid until it is committed. It lives in memory
//! alone, as its user does not: see [`Limits`].

mod handle;
mod merge;
mod shelf;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use handle::Proposal;
pub use merge::Resolution;
pub use shelf::{Candidates, Limits};

use super::allowed::Bound;
use super::core::changes;
use super::{Committed, DatastoreError, Edit, Revision, Snapshot, Store, Transaction, edited};
use crate::schema::{heap_size, stamp_since};

/// Why a candidate cannot be edited or committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CandidateError {
    #[error("there is no candidate; the first write to /rests/ds/ietf-datastores:candidate opens one")]
    None,
    #[error(
        "the candidate lay untouched for {0} s and was dropped, with everything in it; call discard-candidate, then begin anew (limit candidate-seconds)"
    )]
    Expired(u64),
    #[error("{0} users have candidates, as many as there may be; commit or discard one (limit candidates)")]
    TooMany(usize),
    #[error(
        "the candidate would have more than {0} edits; commit what there is, or discard it (limit candidate-edits)"
    )]
    TooManyEdits(usize),
    #[error(
        "the edits of the candidate would hold more than {0} bytes; commit what there is, or discard it (limit candidate-bytes)"
    )]
    TooLong(usize),
    /// Paths that others changed as well, at least one.
    #[error(
        "{} was changed by others since revision {}; call update-candidate, or discard-candidate and begin anew",
        paths.first().map_or("the configuration", String::as_str), base.0
    )]
    Conflict { paths: Vec<String>, base: Revision },
}

/// What one user edits.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The running configuration that it was made of.
    base: Arc<Snapshot>,
    /// The base with the edits. Its revision is no commit's: see [`after`].
    state: Arc<Snapshot>,
    opened: SystemTime,
    touched: SystemTime,
    /// Edits so far, and bytes of what they brought.
    edits: usize,
    bytes: usize,
}

impl Candidate {
    pub fn new(base: Arc<Snapshot>, now: SystemTime) -> Candidate {
        Candidate { state: base.clone(), base, opened: now, touched: now, edits: 0, bytes: 0 }
    }

    /// The revision that it was made of.
    pub fn base(&self) -> &Arc<Snapshot> {
        &self.base
    }

    pub fn state(&self) -> &Arc<Snapshot> {
        &self.state
    }

    pub fn opened(&self) -> SystemTime {
        self.opened
    }

    /// The edits that lead from the base to the candidate.
    pub fn edits(&self) -> Vec<Edit> {
        merge::between(&self.base, &self.state)
    }

    /// The candidate with a transaction carried out in it.
    ///
    /// # Errors
    /// When an edit is impossible, a precondition does not hold, or the user may not do that; then nothing of it happened.
    fn edited(
        &self,
        transaction: &Transaction,
        bound: &Bound<'_>,
        limits: &Limits,
        now: SystemTime,
    ) -> Result<(Candidate, Committed), DatastoreError> {
        let before = &self.state;
        bound.may_try(before.schema, transaction)?;
        if let Some(broken) = transaction.preconditions.iter().find(|wanted| !wanted.holds(before)) {
            let path = broken.path.display(before.schema);
            return Err(DatastoreError::Precondition { path });
        }
        if let Some(edit) = transaction.edits.iter().find(|edit| edit.store != Store::Config) {
            return Err(DatastoreError::Missing { path: edit.path.display(before.schema) });
        }
        let (mut state, created) = edited(before, &transaction.edits)?;
        let changes = changes(before, &state);
        let edits = self.edits + transaction.edits.len();
        let brought = transaction.edits.iter().filter_map(|edit| edit.node.as_ref()).map(heap_size);
        let bytes = self.bytes + brought.sum::<usize>();
        if edits > limits.edits {
            return Err(CandidateError::TooManyEdits(limits.edits).into());
        }
        if bytes > limits.bytes {
            return Err(CandidateError::TooLong(limits.bytes).into());
        }
        if changes.is_empty() {
            let next = Candidate { touched: now, ..self.clone() };
            return Ok((next, Committed::of(before.revision, created, false)));
        }
        bound.may_change(before.schema, &changes)?;
        state.revision = after(before.revision, now);
        state.config.input = stamp_since(&before.config.input, &state.config.input, state.revision.0);
        let committed = Committed::of(state.revision, created, true);
        let next = Candidate { state: Arc::new(state), touched: now, edits, bytes, ..self.clone() };
        Ok((next, committed))
    }

    /// The edits that bring what was edited here into the newest configuration, whatever else others changed there.
    ///
    /// # Errors
    /// When others changed the same.
    pub fn onto(&self, present: &Snapshot) -> Result<Vec<Edit>, DatastoreError> {
        merge::merge(&self.base, &self.state, present, Resolution::Revert)
    }

    /// The same edits in a copy of the newest configuration.
    ///
    /// # Errors
    /// When others changed the same, and the resolution does not say who wins.
    fn updated(
        &self,
        present: Arc<Snapshot>,
        resolution: Resolution,
        now: SystemTime,
    ) -> Result<Candidate, DatastoreError> {
        let edits = merge::merge(&self.base, &self.state, &present, resolution)?;
        let (mut state, _) = edited(&present, &edits)?;
        state.revision = after(self.state.revision, now);
        state.config.input = stamp_since(&present.config.input, &state.config.input, state.revision.0);
        Ok(Candidate { base: present, state: Arc::new(state), touched: now, ..self.clone() })
    }
}

/// Revisions of candidates are times in nanoseconds since 1970: far from those of commits, and no two candidates share one, so that an
/// entity-tag means one state of one of them.
pub(super) fn after(last: Revision, now: SystemTime) -> Revision {
    let nanoseconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let nanoseconds = u64::try_from(nanoseconds).unwrap_or(u64::MAX).max(FIRST);
    Revision(nanoseconds.max(last.0 + 1))
}

/// No commit has a revision as high as this.
const FIRST: u64 = 1 << 60;

/// When a revision of a candidate came about; `None`: it is a commit's.
pub(super) fn time_of(revision: Revision) -> Option<SystemTime> {
    let after = UNIX_EPOCH.checked_add(Duration::from_nanos(revision.0))?;
    (revision.0 >= FIRST).then_some(after)
}
