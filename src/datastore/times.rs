//! When revisions came about, for `Last-Modified` and its conditions.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Revision;

/// Seconds with commits that are remembered. What is older counts as of the oldest of them: late, never early, so that
/// nobody takes a changed resource for an unchanged one.
const REMEMBERED: usize = 4096;

/// For each second with commits its last revision, oldest first; never empty.
#[derive(Debug)]
pub struct Times {
    seconds: VecDeque<(u64, Revision)>,
}

impl Times {
    /// Everything up to `revision` counts as of the start.
    pub fn new(revision: Revision, now: SystemTime) -> Times {
        Times { seconds: VecDeque::from([(seconds(now), revision)]) }
    }

    /// Revisions come in order. A clock that goes back does not take them along.
    pub fn add(&mut self, revision: Revision, now: SystemTime) {
        let now = seconds(now);
        match self.seconds.back_mut() {
            Some((last, newest)) if now <= *last => *newest = revision.max(*newest),
            _ => self.seconds.push_back((now, revision)),
        }
        if self.seconds.len() > REMEMBERED {
            self.seconds.pop_front();
        }
    }

    /// When a revision came about, to the second.
    pub fn of(&self, revision: Revision) -> SystemTime {
        let at = self.seconds.partition_point(|(_, last)| *last < revision);
        let at = at.min(self.seconds.len().saturating_sub(1));
        UNIX_EPOCH + Duration::from_secs(self.seconds.get(at).map_or(0, |(second, _)| *second))
    }

    /// The last revision that had come about in the second of `time`.
    pub fn until(&self, time: SystemTime) -> Revision {
        let at = self.seconds.partition_point(|(second, _)| *second <= seconds(time));
        match at.checked_sub(1).and_then(|at| self.seconds.get(at)) {
            Some((_, revision)) => *revision,
            None => Revision(0),
        }
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(second)
    }

    #[test]
    fn revisions_have_the_second_of_their_commit() {
        let mut times = Times::new(Revision(10), at(100));
        for (revision, second) in [(11, 100), (12, 105), (13, 105), (14, 104), (15, 200)] {
            times.add(Revision(revision), at(second));
        }
        for (revision, second) in [(3, 100), (10, 100), (11, 100), (12, 105), (14, 105), (15, 200), (99, 200)]
        {
            assert_eq!(times.of(Revision(revision)), at(second), "revision {revision}");
        }
        for (second, revision) in [(99, 0), (100, 11), (104, 11), (105, 14), (199, 14), (200, 15), (999, 15)]
        {
            assert_eq!(times.until(at(second)), Revision(revision), "second {second}");
        }
    }

    #[test]
    fn what_is_forgotten_counts_as_newer_never_as_older() {
        let mut times = Times::new(Revision(0), at(0));
        for number in 1..=2 * REMEMBERED as u64 {
            times.add(Revision(number), at(number));
        }
        assert_eq!(times.seconds.len(), REMEMBERED);
        assert!(times.of(Revision(1)) > at(1));
        assert_eq!(times.until(at(1)), Revision(0));
    }
}
