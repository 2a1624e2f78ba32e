//! The revisions of the last while: their states are kept, since old trees share almost everything with new ones.
//!
//! Commits that last and passing reports are kept apart, so that many reports push no commit out. The writer adds under a
//! lock that is held for a few pointers; readers take pointers out and look at them without it.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use super::core::changes;
use super::past::State;
use super::{Change, IdChange, Revision, Snapshot};
use crate::schema::{Map, Text};

/// How much is kept. What breaks either limit goes; the newest revision always stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Commits that last. Among 10,000 pods one costs around 50 KiB.
    pub revisions: usize,
    pub age: Duration,
}

/// States of passing reports (counters, connections) that are kept so that followers see them one by one.
const PASSING: usize = 128;
/// Records that a start replays for the sake of the past, in bytes: older ones go into the checkpoint.
const REPLAYED: usize = 64 << 20;

impl Default for Limits {
    fn default() -> Limits {
        Limits { revisions: 500, age: Duration::from_secs(7 * 24 * 3600) }
    }
}

/// What a revision came about by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A transaction that wrote configuration: a client's.
    Client,
    /// Durable facts: ports, switches, leases.
    Fact,
    /// A report that does not outlive the process.
    Passing,
    /// A state without a transaction of its own: that of a checkpoint, or of the start of the process, which has what was
    /// written before it.
    Base,
}

/// A revision and its state.
#[derive(Clone, Debug)]
pub struct Entry {
    pub revision: Revision,
    /// The revision before, kept or not.
    pub previous: Revision,
    pub time: SystemTime,
    pub author: Arc<str>,
    pub kind: Kind,
    /// Before the last start: derived data are not known.
    pub is_earlier: bool,
    pub(super) state: Arc<State>,
    /// Length of its record in the journal, in bytes; 0: it has none.
    pub(super) bytes: usize,
}

/// Allocations in force, by pool and key.
pub(super) type Ids = Map<(Text, Text), u32>;

impl Entry {
    /// Both layers; of an earlier life (see [`Entry::is_earlier`]) what was written only. It may have to be made first, as the
    /// commits of a group leave none behind.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.state.whole().snapshot
    }
}

/// The revision is not known (any more).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    #[error(
        "revision {} is too old: the oldest that is kept is {}; start from the present state, or keep more (history-revisions, history-seconds)",
        asked.0, oldest.0
    )]
    TooOld { asked: Revision, oldest: Revision },
    #[error("there is no revision {} yet; the newest is {}", asked.0, newest.0)]
    Future { asked: Revision, newest: Revision },
}

/// The kept revisions.
#[derive(Debug)]
pub struct History {
    rings: RwLock<Rings>,
    limits: Limits,
}

#[derive(Debug, Default)]
struct Rings {
    /// Oldest first; never empty once the datastore runs.
    lasting: VecDeque<Arc<Entry>>,
    passing: VecDeque<Arc<Entry>>,
}

impl History {
    pub(super) fn new(limits: Limits) -> History {
        History { rings: RwLock::default(), limits }
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Adds revisions in their order, and returns what is beyond the limits: the last holder of an old tree takes its time to drop
    /// it.
    pub(super) fn add(&self, entries: impl IntoIterator<Item = Entry>, now: SystemTime) -> Vec<Arc<Entry>> {
        let mut gone = Vec::new();
        let mut rings = self.rings.write().unwrap_or_else(PoisonError::into_inner);
        for entry in entries {
            let ring = if entry.kind == Kind::Passing { &mut rings.passing } else { &mut rings.lasting };
            ring.push_back(Arc::new(entry));
        }
        let limits = self.limits;
        let too_old = |entry: &Entry| now.duration_since(entry.time).is_ok_and(|age| age > limits.age);
        while rings.lasting.len() > limits.revisions.max(1)
            || (rings.lasting.len() > 1 && rings.lasting.front().is_some_and(|entry| too_old(entry)))
        {
            gone.extend(rings.lasting.pop_front());
        }
        let oldest = rings.lasting.front().map_or(Revision(0), |entry| entry.revision);
        while rings.passing.len() > PASSING
            || rings.passing.front().is_some_and(|entry| entry.revision < oldest)
        {
            gone.extend(rings.passing.pop_front());
        }
        gone
    }

    /// All that is kept, oldest first.
    pub fn list(&self) -> Vec<Arc<Entry>> {
        self.after(None)
    }

    /// What is kept behind a revision, oldest first; `None`: everything.
    fn after(&self, revision: Option<Revision>) -> Vec<Arc<Entry>> {
        let rings = self.rings.read().unwrap_or_else(PoisonError::into_inner);
        let behind = |ring: &VecDeque<Arc<Entry>>| -> Vec<Arc<Entry>> {
            let first = ring.partition_point(|entry| Some(entry.revision) <= revision);
            ring.range(first..).cloned().collect()
        };
        let mut all = behind(&rings.lasting);
        all.extend(behind(&rings.passing));
        drop(rings);
        all.sort_by_key(|entry| entry.revision);
        all
    }

    /// The newest kept revision that is not newer than this one. What was written is exactly that of the revision asked
    /// for; of what passing reports showed, some may be older.
    ///
    /// # Errors
    /// When it is older than everything that is kept, or does not exist yet.
    pub fn at(&self, revision: Revision) -> Result<Arc<Entry>, HistoryError> {
        let rings = self.rings.read().unwrap_or_else(PoisonError::into_inner);
        let find = |ring: &VecDeque<Arc<Entry>>| {
            let behind = ring.partition_point(|entry| entry.revision <= revision);
            behind.checked_sub(1).and_then(|at| ring.get(at)).cloned()
        };
        let newest = rings.lasting.back().into_iter().chain(rings.passing.back());
        let newest = newest.map(|entry| entry.revision).max().unwrap_or_default();
        if revision > newest {
            return Err(HistoryError::Future { asked: revision, newest });
        }
        let found = find(&rings.lasting).into_iter().chain(find(&rings.passing));
        found.max_by_key(|entry| entry.revision).ok_or_else(|| HistoryError::TooOld {
            asked: revision,
            oldest: rings.lasting.front().map_or(newest, |entry| entry.revision),
        })
    }

    /// What was written between two revisions, either of which may be the later one.
    ///
    /// # Errors
    /// As [`History::at`].
    pub fn changes(&self, from: Revision, to: Revision) -> Result<Vec<Change>, HistoryError> {
        Ok(changes(self.at(from)?.snapshot(), self.at(to)?.snapshot()))
    }

    /// Follows the revisions behind `from`, without a gap.
    ///
    /// # Errors
    /// As [`History::at`].
    pub fn follow(&self, from: Revision) -> Result<Cursor, HistoryError> {
        Ok(Cursor { last: self.at(from)? })
    }

    /// The state that a checkpoint is made of: the oldest whose followers a start can replay.
    pub(super) fn checkpoint_base(&self) -> Option<Arc<Entry>> {
        let rings = self.rings.read().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = 0;
        let mut base = rings.lasting.back();
        for entry in rings.lasting.iter().rev() {
            base = Some(entry);
            bytes += entry.bytes;
            if bytes > REPLAYED {
                break;
            }
        }
        base.cloned()
    }

    /// Kept revisions behind this one that have a record in the journal.
    pub(super) fn records_after(&self, revision: Revision) -> usize {
        let rings = self.rings.read().unwrap_or_else(PoisonError::into_inner);
        rings.lasting.iter().filter(|entry| entry.revision > revision && entry.bytes > 0).count()
    }
}

/// How far a follower is. It holds the state it is at, so that what comes next can always be told exactly.
#[derive(Clone, Debug)]
pub struct Cursor {
    last: Arc<Entry>,
}

/// From one revision to the next one that is kept.
#[derive(Clone, Debug)]
pub struct Step {
    pub before: Arc<Entry>,
    pub after: Arc<Entry>,
}

impl Step {
    /// Revisions between the two are not kept any more: their changes are all in this step, under the author of the last.
    pub fn is_gathered(&self) -> bool {
        self.after.previous != self.before.revision
    }

    /// What was written.
    pub fn changes(&self) -> Vec<Change> {
        changes(self.before.snapshot(), self.after.snapshot())
    }
}

impl Cursor {
    /// Where the follower is.
    pub fn at(&self) -> &Arc<Entry> {
        &self.last
    }

    /// The steps to the newest revision, at most `limit` of them. Empty: nothing is new.
    pub fn advance(&mut self, history: &History, limit: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        for after in history.after(Some(self.last.revision)).into_iter().take(limit) {
            let before = std::mem::replace(&mut self.last, after.clone());
            steps.push(Step { before, after });
        }
        steps
    }
}

pub(super) fn id_changes(ids: &Ids) -> Vec<IdChange> {
    let change = |((pool, key), id): (&(Text, Text), &u32)| IdChange {
        pool: pool.clone(),
        key: key.clone(),
        id: Some(*id),
    };
    ids.iter().map(change).collect()
}
