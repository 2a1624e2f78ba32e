//! When all links hear of their routers unasked.

use std::time::Duration;

/// Advertisements at the start of a router that come soon after each other (RFC 4861 sections 6.2.4 and 10).
const INITIAL: u32 = 3;
const INITIAL_PAUSE: Duration = Duration::from_secs(16);
/// Between two others: the default of section 6.2.1, and a fifteenth of what one holds.
const PAUSE: Duration = Duration::from_secs(600);

/// How long to wait for the next advertisement, one after the other.
#[derive(Debug)]
pub struct Schedule {
    initial_pause: Duration,
    pause: Duration,
    sent: u32,
}

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule::with(INITIAL_PAUSE, PAUSE)
    }
}

impl Schedule {
    /// With other pauses between the first advertisements, and between all after them.
    pub fn with(initial_pause: Duration, pause: Duration) -> Schedule {
        Schedule { initial_pause, pause, sent: 0 }
    }

    /// The pause before the next one. The first is due at once: the controller may have been away for long.
    pub fn pause(&mut self) -> Duration {
        let pause = match self.sent {
            0 => Duration::ZERO,
            sent if sent < INITIAL => self.initial_pause,
            _ => self.pause,
        };
        self.sent = self.sent.saturating_add(1);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::LIFETIME;
    use super::*;

    #[test]
    fn three_come_soon_and_the_rest_long_before_a_router_is_forgotten() {
        let mut schedule = Schedule::default();
        let pauses: Vec<u64> = (0..6).map(|_| schedule.pause().as_secs()).collect();
        assert_eq!(pauses, [0, 16, 16, 600, 600, 600]);
        // Three may be lost (section 6.2.1: the lifetime is thrice the longest pause by default).
        let most = pauses.into_iter().max().unwrap();
        assert!(most * 4 <= u64::from(LIFETIME), "{most} s");
    }
}
