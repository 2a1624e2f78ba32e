//! The candidates of all users, so many and no older than the limits say.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::{Candidate, CandidateError, Resolution, merge};
use crate::datastore::Snapshot;

/// Bounds on candidates; each has its error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Users who have one at a time.
    pub candidates: usize,
    /// Edits of one.
    pub edits: usize,
    /// Bytes of what the edits of one brought.
    pub bytes: usize,
    /// One that lies untouched for so long is dropped.
    pub idle: Duration,
}

/// Users whose candidates were dropped are remembered until they have heard of it, at most so many.
const REMEMBERED: usize = 1024;

impl Default for Limits {
    fn default() -> Limits {
        Limits { candidates: 64, edits: 10_000, bytes: 64 << 20, idle: Duration::from_secs(3600) }
    }
}

#[derive(Debug)]
enum Slot {
    Open(Arc<Candidate>),
    /// It lay too long; since then.
    Dropped(SystemTime),
}

/// The candidates by the names of their users.
#[derive(Debug, Default)]
pub struct Candidates {
    limits: Limits,
    slots: Mutex<BTreeMap<Arc<str>, Slot>>,
}

impl Candidates {
    pub fn new(limits: Limits) -> Candidates {
        Candidates { limits, slots: Mutex::default() }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The candidate of a user, if he has one.
    ///
    /// # Errors
    /// When he had one that was dropped, and does not know yet.
    pub fn of(&self, user: &str, now: SystemTime) -> Result<Option<Arc<Candidate>>, CandidateError> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        self.tidy(&mut slots, now);
        match slots.get(user) {
            None => Ok(None),
            Some(Slot::Open(candidate)) => Ok(Some(candidate.clone())),
            Some(Slot::Dropped(_)) => Err(CandidateError::Expired(self.limits.idle.as_secs())),
        }
    }

    /// Puts `next` in the place of `known`. False: somebody else was quicker.
    ///
    /// # Errors
    /// When there are too many.
    pub(super) fn replace(
        &self,
        user: &Arc<str>,
        known: Option<&Arc<Candidate>>,
        next: Candidate,
    ) -> Result<bool, CandidateError> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let same = match (slots.get(user), known) {
            (None, None) => true,
            (Some(Slot::Open(present)), Some(known)) => Arc::ptr_eq(present, known),
            _ => false,
        };
        if !same {
            return Ok(false);
        }
        let open = slots.values().filter(|slot| matches!(slot, Slot::Open(_))).count();
        if known.is_none() && open >= self.limits.candidates {
            return Err(CandidateError::TooMany(open));
        }
        slots.insert(user.clone(), Slot::Open(Arc::new(next)));
        Ok(true)
    }

    /// Throws the candidate of a user away; also what is remembered of one that was dropped. `None`: there was neither.
    pub(super) fn discard(&self, user: &str, now: SystemTime) -> Option<Option<Arc<Candidate>>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        self.tidy(&mut slots, now);
        match slots.remove(user)? {
            Slot::Open(candidate) => Some(Some(candidate)),
            Slot::Dropped(_) => Some(None),
        }
    }

    /// A candidate was committed: it is gone. What its user edited meanwhile stays, as edits of what is there now.
    pub(super) fn committed(
        &self,
        user: &Arc<str>,
        committed: &Arc<Candidate>,
        present: &Arc<Snapshot>,
        now: SystemTime,
    ) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Slot::Open(newer)) = slots.get(user) else { return };
        if Arc::ptr_eq(newer, committed) {
            slots.remove(user);
            return;
        }
        let rest = merge::merge(&committed.state, &newer.state, present, Resolution::Ignore);
        if rest.as_ref().is_ok_and(Vec::is_empty) {
            slots.remove(user);
            return;
        }
        let since = Candidate { base: committed.state.clone(), ..(**newer).clone() };
        if let Ok(next) = since.updated(present.clone(), Resolution::Ignore, now) {
            slots.insert(user.clone(), Slot::Open(Arc::new(next)));
        }
    }

    /// Drops what lay too long.
    fn tidy(&self, slots: &mut BTreeMap<Arc<str>, Slot>, now: SystemTime) {
        for slot in slots.values_mut() {
            if let Slot::Open(candidate) = slot
                && now.duration_since(candidate.touched).is_ok_and(|idle| idle > self.limits.idle)
            {
                *slot = Slot::Dropped(now);
            }
        }
        let dropped = |slot: &Slot| if let Slot::Dropped(since) = slot { Some(*since) } else { None };
        if slots.values().filter_map(dropped).count() > REMEMBERED {
            let oldest = slots.values().filter_map(dropped).min();
            slots.retain(|_, slot| dropped(slot).is_none() || dropped(slot) != oldest);
        }
    }
}
