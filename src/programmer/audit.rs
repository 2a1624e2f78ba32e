//! Looking again: while a switch is connected, what it holds is read back from time to time, and what somebody else has changed of ours is
//! mended. Flows of others are counted and left alone.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use tracing::warn;

use super::actor::{Inner, locked};
use super::task::{End, Task};

/// Reading back takes this part of one processor at most, all switches together.
const SHARE: u32 = 50;
/// Whoever could not look because something was on its way does so again after this.
const SOON: Duration = Duration::from_millis(200);
/// Objects that are named of what was mended last.
const SHOWN: usize = 8;

/// What was found changed on a switch, since the start of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// Flows, groups and meters that were put right.
    pub mended: u64,
    pub last: Option<SystemTime>,
    /// Some of what was put right last.
    pub subjects: Vec<String>,
}

/// When switches are looked at.
#[derive(Debug)]
pub(super) struct Pace {
    /// Between two looks at one switch.
    every: Option<Duration>,
    /// Nobody looks before. Two at a time would not be faster.
    next: Mutex<Instant>,
}

impl Pace {
    /// `every` of nothing: switches are read back when they connect only.
    pub fn new(every: Duration) -> Pace {
        Pace { every: Some(every).filter(|every| !every.is_zero()), next: Mutex::new(Instant::now()) }
    }

    /// After which time a switch is looked at; `None`: never.
    pub fn every(&self) -> Option<Duration> {
        self.every
    }

    /// Takes the turn, for as long as a look may last; or how long to wait for it.
    fn turn(&self, now: Instant) -> Result<(), Duration> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        match next.checked_duration_since(now).filter(|wait| !wait.is_zero()) {
            Some(wait) => Err(wait),
            None => {
                *next = now + super::delivery::PATIENCE;
                Ok(())
            }
        }
    }

    /// Gives the turn back: the longer the look took, the later is the next one.
    fn done(&self, now: Instant, took: Duration) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = now + took * SHARE;
    }
}

/// A turn that is given back however the look ends.
struct Look<'a> {
    inner: &'a Inner,
    since: Instant,
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        self.inner.pace.done(Instant::now(), self.since.elapsed());
    }
}

impl Task {
    /// Looks whether the switch holds what it was told; after which time to look again.
    pub(super) async fn look_again(&mut self) -> Result<Duration, End> {
        let Some(every) = self.inner.pace.every() else { return Ok(SOON) };
        // What is on its way is no drift.
        if self.is_behind() {
            return Ok(SOON);
        }
        let inner = self.inner.clone();
        let since = Instant::now();
        if let Err(wait) = inner.pace.turn(since) {
            return Ok(wait.max(SOON));
        }
        let look = Look { inner: &inner, since };
        let glance = self.glance().await?;
        let foreign = glance.rest.foreign_flows;
        if locked(&self.slot.status).foreign_flows != foreign {
            self.report(|status, _| status.foreign_flows = foreign);
        }
        if self.is_behind() {
            return Ok(SOON);
        }
        if glance.is(&locked(&self.slot.desired).tables) {
            return Ok(every);
        }
        drop(glance);
        let actual = self.read_back().await?;
        let mending = {
            let desired = locked(&self.slot.desired);
            // What came meanwhile was not sent, and is not missing.
            if desired.pending.is_empty() { Some(self.compare(&desired, &actual)) } else { None }
        };
        let Some(mut mending) = mending else { return Ok(SOON) };
        // What the switch refuses is not there either.
        mending.items.retain(|item| !self.failed.contains_key(&item.id()));
        drop(look);
        if mending.items.is_empty() {
            return Ok(every);
        }
        let subjects: Vec<String> = mending.items.iter().take(SHOWN).map(|item| item.describe().1).collect();
        let mended = mending.items.len() as u64;
        warn!(switch = %self.slot.dpid, mended, first = subjects.first(), "somebody else has changed what the switch holds; it is put right");
        self.groups = actual.groups.keys().copied().collect();
        self.meters = actual.meters.keys().copied().collect();
        self.mend(mending).await?;
        self.report(|status, _| {
            status.drift.mended += mended;
            status.drift.last = Some(SystemTime::now());
            status.drift.subjects = subjects;
        });
        Ok(every)
    }

    fn is_behind(&self) -> bool {
        let desired = locked(&self.slot.desired);
        !desired.pending.is_empty() || desired.revision > *self.slot.confirmed.borrow()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_take_a_small_part_of_the_time_and_one_at_a_time() {
        let pace = Pace::new(Duration::from_secs(5));
        let start = Instant::now() + Duration::from_secs(1);
        assert_eq!(pace.turn(start), Ok(()));
        assert!(pace.turn(start).is_err(), "somebody looks");
        pace.done(start, Duration::from_millis(10));
        assert_eq!(pace.turn(start), Err(Duration::from_millis(500)));
        assert_eq!(pace.turn(start + Duration::from_millis(500)), Ok(()));
        assert_eq!(Pace::new(Duration::ZERO).every(), None);
    }
}
