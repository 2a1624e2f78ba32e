//! A set of numbers that knows its gaps: the next free address costs the same in a full pool as in an empty one.

use std::collections::{BTreeMap, HashMap};

/// How often each number was added. Runs of numbers that are there are kept as one.
#[derive(Debug, Default, Clone)]
pub struct Spans {
    /// First number to last, runs that neither touch nor overlap.
    runs: BTreeMap<u128, u128>,
    /// How often beyond once.
    more: HashMap<u128, u32>,
}

impl Spans {
    fn run(&self, number: u128) -> Option<(u128, u128)> {
        let (start, end) = self.runs.range(..=number).next_back()?;
        (*end >= number).then_some((*start, *end))
    }

    /// How often a number is there.
    pub fn count(&self, number: u128) -> u32 {
        match self.run(number) {
            Some(_) => 1 + self.more.get(&number).copied().unwrap_or(0),
            None => 0,
        }
    }

    /// The first number from here on that is not there. `None`: there is none.
    pub fn gap(&self, from: u128) -> Option<u128> {
        match self.run(from) {
            Some((_, end)) => end.checked_add(1),
            None => Some(from),
        }
    }

    /// How many numbers of a range are there. Costs in proportion to the runs.
    pub fn within(&self, first: u128, last: u128) -> u128 {
        let begun = self.run(first).map_or(0, |(_, end)| end.min(last) - first + 1);
        let inside = self.runs.range((std::ops::Bound::Excluded(first), std::ops::Bound::Included(last)));
        begun + inside.map(|(start, end)| end.min(&last) - start + 1).sum::<u128>()
    }

    pub fn add(&mut self, number: u128) {
        if self.run(number).is_some() {
            *self.more.entry(number).or_default() += 1;
            return;
        }
        let before = number.checked_sub(1).and_then(|left| self.run(left));
        let end = number.checked_add(1).and_then(|right| self.runs.remove(&right)).unwrap_or(number);
        self.runs.insert(before.map_or(number, |(start, _)| start), end);
    }

    /// Takes a number out once; one that is not there is no error.
    pub fn remove(&mut self, number: u128) {
        if let Some(more) = self.more.get_mut(&number) {
            *more -= 1;
            if *more == 0 {
                self.more.remove(&number);
            }
            return;
        }
        let Some((start, end)) = self.run(number) else { return };
        self.runs.remove(&start);
        if start < number {
            self.runs.insert(start, number - 1);
        }
        if number < end {
            self.runs.insert(number + 1, end);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// It is the multiset that it says it is.
        #[test]
        fn as_a_plain_map_would(steps in prop::collection::vec((any::<bool>(), 0_u128..24), 0..120)) {
            let (mut spans, mut plain) = (Spans::default(), BTreeMap::<u128, u32>::new());
            for (add, number) in steps {
                if add {
                    spans.add(number);
                    *plain.entry(number).or_default() += 1;
                } else {
                    spans.remove(number);
                    if let Some(count) = plain.get_mut(&number) {
                        *count -= 1;
                    }
                    plain.retain(|_, count| *count > 0);
                }
                for number in 0..24 {
                    prop_assert_eq!(spans.count(number), plain.get(&number).copied().unwrap_or(0));
                    prop_assert_eq!(spans.gap(number), (number..).find(|free| !plain.contains_key(free)));
                    for last in number..24 {
                        prop_assert_eq!(spans.within(number, last), plain.range(number..=last).count() as u128);
                    }
                }
                prop_assert_eq!(spans.is_empty(), plain.is_empty());
            }
        }
    }

    #[test]
    fn the_last_number_of_all_has_no_next() {
        let mut spans = Spans::default();
        spans.add(u128::MAX);
        spans.add(u128::MAX - 1);
        assert_eq!(spans.gap(u128::MAX - 1), None);
        spans.remove(u128::MAX);
        assert_eq!(spans.gap(u128::MAX - 1), Some(u128::MAX));
    }
}
