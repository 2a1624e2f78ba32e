//! Which switches the last revisions told something.

use std::collections::VecDeque;

use crate::net::Dpid;

/// Revisions, and switches of all of them together, that are remembered at most.
const REVISIONS: usize = 4096;
const SWITCHES: usize = 1 << 16;

#[derive(Debug, Default)]
pub struct Told {
    /// In the order of their numbers.
    revisions: VecDeque<(u64, Box<[Dpid]>)>,
    switches: usize,
    /// The newest that was forgotten.
    forgotten: u64,
}

impl Told {
    /// Remembers a revision, newer than all before.
    pub fn add(&mut self, revision: u64, switches: impl Iterator<Item = Dpid>) {
        let switches: Box<[Dpid]> = switches.collect();
        self.switches += switches.len();
        self.revisions.push_back((revision, switches));
        while self.revisions.len() > REVISIONS || (self.switches > SWITCHES && self.revisions.len() > 1) {
            if let Some((revision, switches)) = self.revisions.pop_front() {
                self.switches -= switches.len();
                self.forgotten = revision;
            }
        }
    }

    /// The switches of a revision. `None`: that is forgotten.
    pub fn of(&self, revision: u64) -> Option<Vec<Dpid>> {
        if revision <= self.forgotten {
            return None;
        }
        let at = self.revisions.binary_search_by_key(&revision, |(number, _)| *number);
        Some(at.map_or_else(|_| Vec::new(), |at| self.revisions[at].1.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dpids(count: u64) -> impl Iterator<Item = Dpid> {
        (1..=count).map(Dpid)
    }

    #[test]
    fn a_revision_names_its_switches_until_it_is_forgotten() {
        let mut told = Told::default();
        told.add(3, dpids(2));
        told.add(5, dpids(1));
        assert_eq!(told.of(3), Some(vec![Dpid(1), Dpid(2)]));
        assert_eq!(told.of(4), Some(vec![]));
        assert_eq!(told.of(9), Some(vec![]));
        for revision in 6..6 + REVISIONS as u64 {
            told.add(revision, dpids(1));
        }
        assert_eq!((told.of(5), told.of(6)), (None, Some(vec![Dpid(1)])));
        assert_eq!(told.revisions.len(), REVISIONS);
    }

    #[test]
    fn many_switches_are_not_remembered_for_long() {
        let mut told = Told::default();
        told.add(1, dpids(SWITCHES as u64));
        told.add(2, dpids(1));
        assert_eq!((told.of(1), told.of(2)), (None, Some(vec![Dpid(1)])));
        told.add(3, dpids(SWITCHES as u64 + 1));
        assert_eq!(told.of(3).unwrap().len(), SWITCHES + 1);
    }
}
