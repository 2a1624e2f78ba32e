//! Patience with those who guess: refused logins are counted by address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Addresses remembered at most; those with the oldest window are forgotten first.
const REMEMBERED: usize = 4096;

pub struct Throttle {
    /// Refused logins that are answered within a window; more wait.
    pub tries: u32,
    pub window: Duration,
    failures: Mutex<HashMap<IpAddr, (u32, Instant)>>,
    /// As many as there are addresses in `failures`: none, nearly always.
    remembered: AtomicUsize,
}

impl Throttle {
    pub fn new(tries: u32, window: Duration) -> Throttle {
        Throttle { tries, window, failures: Mutex::default(), remembered: AtomicUsize::new(0) }
    }

    /// How long an address has to wait, if it has to.
    pub fn wait(&self, from: IpAddr, now: Instant) -> Option<Duration> {
        if self.remembered.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, since) = failures.get(&from)?;
        let passed = now.saturating_duration_since(*since);
        (passed < self.window && *count >= self.tries).then(|| self.window - passed)
    }

    /// Whether an address that has to wait is to be told of in records: once a window.
    pub fn is_news(&self, from: IpAddr) -> bool {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((count, _)) = failures.get_mut(&from) else { return false };
        let news = *count == self.tries;
        *count = count.saturating_add(1);
        news
    }

    /// Counts a refused login.
    pub fn failed(&self, from: IpAddr, now: Instant) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = |since: &Instant| now.saturating_duration_since(*since);
        if failures.len() >= REMEMBERED && !failures.contains_key(&from) {
            failures.retain(|_, (_, since)| passed(since) < self.window);
            let oldest = failures.iter().min_by_key(|(_, (_, since))| *since).map(|(address, _)| *address);
            if let Some(oldest) = oldest.filter(|_| failures.len() >= REMEMBERED) {
                failures.remove(&oldest);
            }
        }
        let entry = failures.entry(from).or_insert((0, now));
        if passed(&entry.1) >= self.window {
            *entry = (0, now);
        }
        entry.0 += 1;
        self.remembered.store(failures.len(), Ordering::Relaxed);
    }

    /// A login that worked clears what was before.
    pub fn worked(&self, from: IpAddr) {
        if self.remembered.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.remove(&from);
        self.remembered.store(failures.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guessing_is_slowed_down_for_one_address_only() {
        let throttle = Throttle::new(3, Duration::from_secs(60));
        let (from, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let now = Instant::now();
        (0..3).for_each(|_| throttle.failed(from, now));
        assert_eq!([0; 2].map(|_| throttle.is_news(from)), [true, false]);
        assert_eq!(throttle.wait(from, now + Duration::from_secs(20)), Some(Duration::from_secs(40)));
        assert_eq!(throttle.wait(other, now), None);
        assert_eq!(throttle.wait(from, now + throttle.window), None);
        throttle.failed(other, now);
        throttle.worked(other);
        throttle.failed(other, now);
        throttle.failed(other, now);
        assert_eq!(throttle.wait(other, now), None, "a login that works clears the count");
    }

    #[test]
    fn memory_is_bounded_and_the_newest_are_remembered() {
        let throttle = Throttle::new(1, Duration::from_secs(60));
        let now = Instant::now();
        for number in 0..10_000_u32 {
            throttle.failed(IpAddr::from(number.to_be_bytes()), now + Duration::from_millis(number.into()));
        }
        assert_eq!(throttle.failures.lock().unwrap().len(), REMEMBERED);
        let last = IpAddr::from(9_999_u32.to_be_bytes());
        assert!(throttle.wait(last, now + Duration::from_secs(10)).is_some());
    }
}
