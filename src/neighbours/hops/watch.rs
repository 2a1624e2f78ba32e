//! Who is asked when, and who does not answer. Times are milliseconds of one clock.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::schema::Text;

/// An address of an interface.
pub type Hop = (Text, IpAddr);

/// How often next hops are asked, and when they count as silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Between two questions.
    pub interval: u64,
    /// Questions in a row without an answer.
    pub misses: u32,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    due: u64,
    /// A question is out.
    waits: bool,
    missed: u32,
}

/// What has to be done now.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Due {
    pub ask: Vec<Hop>,
    /// Who is to be written down as silent, or no more.
    pub changed: Vec<(Hop, bool)>,
}

#[derive(Debug, Default)]
pub struct Watch {
    asked: BTreeMap<Hop, Asked>,
    silent: BTreeSet<Hop>,
}

impl Watch {
    /// Who is written down as silent.
    pub fn new(silent: impl IntoIterator<Item = Hop>) -> Watch {
        Watch { asked: BTreeMap::new(), silent: silent.into_iter().collect() }
    }

    /// Takes in who shares a route now.
    pub fn look<'a>(&mut self, now: u64, hops: impl IntoIterator<Item = &'a Hop>, pace: Pace) -> Due {
        let hops: BTreeSet<&Hop> = hops.into_iter().collect();
        self.asked.retain(|hop, _| hops.contains(hop));
        let mut due = Due::default();
        self.silent.retain(|hop| {
            let stays = hops.contains(hop);
            if !stays {
                due.changed.push((hop.clone(), false));
            }
            stays
        });
        for hop in hops {
            let fresh = Asked { due: now, waits: false, missed: 0 };
            let asked = self.asked.entry(hop.clone()).or_insert(fresh);
            // A shorter interval counts at once.
            asked.due = asked.due.min(now + pace.interval);
            if asked.due > now {
                continue;
            }
            if asked.waits {
                asked.missed = asked.missed.saturating_add(1);
                asked.waits = false;
            }
            if asked.missed >= pace.misses && self.silent.insert(hop.clone()) {
                due.changed.push((hop.clone(), true));
            }
            asked.due = now + pace.interval;
            due.ask.push(hop.clone());
        }
        due
    }

    /// The question is on its way: one that could not be sent is not held against anybody.
    pub fn sent(&mut self, hop: &Hop) {
        if let Some(asked) = self.asked.get_mut(hop) {
            asked.waits = true;
        }
    }

    /// He answers. Whether he was silent until now.
    pub fn heard(&mut self, hop: &Hop) -> bool {
        if let Some(asked) = self.asked.get_mut(hop) {
            (asked.waits, asked.missed) = (false, 0);
        }
        self.silent.remove(hop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { interval: 1_000, misses: 3 };

    fn hop(name: &str) -> Hop {
        (name.into(), "10.50.0.11".parse().unwrap())
    }

    /// Looks, and sends what is due.
    fn step(watch: &mut Watch, now: u64, hops: &[Hop]) -> (usize, Vec<(Hop, bool)>) {
        let due = watch.look(now, hops, PACE);
        due.ask.iter().for_each(|hop| watch.sent(hop));
        (due.ask.len(), due.changed)
    }

    #[test]
    fn who_does_not_answer_three_times_is_silent_until_he_does() {
        let (mut watch, hops) = (Watch::default(), [hop("c1")]);
        let silent = (hop("c1"), true);
        let steps = [
            (0, 1, vec![]),
            (500, 0, vec![]),
            (1_000, 1, vec![]),
            (2_000, 1, vec![]),
            (3_000, 1, vec![silent.clone()]),
            (4_000, 1, vec![]),
        ];
        for (now, asked, changed) in steps {
            assert_eq!(step(&mut watch, now, &hops), (asked, changed), "at {now}");
        }
        assert!(watch.heard(&hops[0]));
        assert!(!watch.heard(&hops[0]));
        // It takes three again.
        for (now, changed) in [(5_000, vec![]), (6_000, vec![]), (7_000, vec![]), (8_000, vec![silent])] {
            assert_eq!(step(&mut watch, now, &hops).1, changed, "at {now}");
        }
    }

    #[test]
    fn an_answer_now_and_then_is_enough() {
        let (mut watch, hops) = (Watch::default(), [hop("c1")]);
        for second in 0..60 {
            assert_eq!(step(&mut watch, second * 1_000, &hops).1, []);
            if second % 3 == 2 {
                watch.heard(&hops[0]);
            }
        }
    }

    #[test]
    fn what_was_not_sent_is_not_missed() {
        let (mut watch, hops) = (Watch::default(), [hop("c1")]);
        for second in 0..20 {
            let due = watch.look(second * 1_000, &hops, PACE);
            assert_eq!((due.ask.len(), due.changed.len()), (1, 0));
        }
    }

    #[test]
    fn who_shares_no_route_is_forgotten() {
        let mut watch = Watch::new([hop("c1"), hop("c2")]);
        assert_eq!(step(&mut watch, 0, &[hop("c1")]), (1, vec![(hop("c2"), false)]));
        assert_eq!(step(&mut watch, 10, &[]), (0, vec![(hop("c1"), false)]));
        assert!(!watch.heard(&hop("c1")));
    }

    #[test]
    fn a_shorter_interval_counts_at_once() {
        let (mut watch, hops) = (Watch::default(), [hop("c1")]);
        let slow = Pace { interval: 3_600_000, misses: 3 };
        assert_eq!(watch.look(0, &hops, slow).ask.len(), 1);
        assert_eq!(watch.look(10, &hops, PACE).ask.len(), 0);
        assert_eq!(watch.look(1_010, &hops, PACE).ask.len(), 1);
    }
}
