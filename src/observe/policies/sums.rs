//! Counts of flows that come and go, added up so that no sum goes back.
//!
//! What a rule counts is the sum over the switches that have a flow of it. A flow that ends says what it counted ([`Sums::ended`]). One that began
//! anew without a word, because its switch did, is noticed by the next reading: it counted less than it had before ([`Sums::heard`]).

use std::collections::{BTreeMap, BTreeSet};

use crate::net::Dpid;
use crate::renderers::Subject;

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub packets: u64,
    pub bytes: u64,
}

impl Count {
    pub fn is_zero(self) -> bool {
        self == Count::default()
    }
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, more: Count) {
        self.packets = self.packets.saturating_add(more.packets);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

/// What the flows of all switches count, as far as they were heard of.
#[derive(Debug, Default)]
pub struct Sums {
    seen: BTreeMap<Dpid, BTreeMap<Subject, Count>>,
    /// Flows that ended while switches were being asked: an answer may have been given before or after.
    ended: BTreeSet<(Dpid, Subject)>,
}

impl Sums {
    /// Switches are about to be asked.
    pub fn ask(&mut self) {
        self.ended.clear();
    }

    /// A flow has ended with this count, which belongs to what is kept from now on.
    pub fn ended(&mut self, dpid: Dpid, subject: Subject) {
        if let Some(seen) = self.seen.get_mut(&dpid) {
            seen.remove(&subject);
        }
        self.ended.insert((dpid, subject));
    }

    /// What a switch answered. Returns what flows had counted that are no more and did not say so.
    pub fn heard(&mut self, dpid: Dpid, answer: BTreeMap<Subject, Count>) -> Vec<(Subject, Count)> {
        let before = self.seen.remove(&dpid).unwrap_or_default();
        let has_ended = |subject: &Subject| self.ended.contains(&(dpid, *subject));
        let goes_on = |subject: &Subject, before: &Count| {
            let now = answer.get(subject);
            now.is_some_and(|now| now.packets >= before.packets && now.bytes >= before.bytes)
        };
        let lost =
            before.into_iter().filter(|(subject, count)| !has_ended(subject) && !goes_on(subject, count));
        let lost: Vec<(Subject, Count)> = lost.filter(|(_, count)| !count.is_zero()).collect();
        let now = answer.into_iter().filter(|(subject, _)| !has_ended(subject)).collect();
        self.seen.insert(dpid, now);
        lost
    }

    /// What all flows count that are there.
    pub fn totals(&self) -> BTreeMap<Subject, Count> {
        let mut totals: BTreeMap<Subject, Count> = BTreeMap::new();
        for (subject, count) in self.seen.values().flatten() {
            *totals.entry(*subject).or_default() += *count;
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Subject = Subject::Rule(7);

    fn count(packets: u64) -> Count {
        Count { packets, bytes: packets * 100 }
    }

    fn answer(packets: u64) -> BTreeMap<Subject, Count> {
        [(RULE, count(packets))].into()
    }

    /// What is shown: kept and counted.
    struct Shown {
        sums: Sums,
        kept: Count,
    }

    impl Shown {
        fn read(&mut self, answers: &[(u64, u64)]) -> u64 {
            self.sums.ask();
            for (dpid, packets) in answers {
                self.hear(*dpid, *packets);
            }
            self.total()
        }

        fn hear(&mut self, dpid: u64, packets: u64) {
            for (_, lost) in self.sums.heard(Dpid(dpid), answer(packets)) {
                self.kept += lost;
            }
        }

        fn end(&mut self, dpid: u64, packets: u64) {
            self.sums.ended(Dpid(dpid), RULE);
            self.kept += count(packets);
        }

        fn total(&self) -> u64 {
            self.kept.packets + self.sums.totals().get(&RULE).map_or(0, |count| count.packets)
        }
    }

    fn shown() -> Shown {
        Shown { sums: Sums::default(), kept: Count::default() }
    }

    #[test]
    fn switches_are_summed_and_one_that_is_silent_counts_as_it_did() {
        let mut shown = shown();
        assert_eq!(shown.read(&[(1, 3), (2, 4)]), 7);
        assert_eq!(shown.read(&[(1, 5)]), 9);
    }

    #[test]
    fn a_flow_that_ends_leaves_its_count() {
        let mut shown = shown();
        shown.read(&[(1, 3)]);
        shown.end(1, 5);
        assert_eq!(shown.total(), 5);
        assert_eq!(shown.read(&[(1, 2)]), 7, "it came back and counts from nothing");
    }

    #[test]
    fn a_switch_that_begins_anew_leaves_what_was_read_of_it() {
        let mut shown = shown();
        shown.read(&[(1, 30)]);
        assert_eq!(shown.read(&[(1, 2)]), 32);
        shown.sums.ask();
        assert_eq!(shown.sums.heard(Dpid(1), BTreeMap::new()), [(RULE, count(2))], "its flow is not back");
    }

    /// An answer from before the end must not be counted beside it.
    #[test]
    fn an_answer_that_crosses_an_end_is_not_counted_twice() {
        let mut shown = shown();
        shown.read(&[(1, 3)]);
        shown.sums.ask();
        shown.end(1, 5);
        shown.hear(1, 4);
        assert_eq!(shown.total(), 5);
        assert_eq!(shown.read(&[(1, 1)]), 6);
    }
}
