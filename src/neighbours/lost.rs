//! Which switches have been away for so long that others take over their addresses, and the endpoints of others are asked. Times are milliseconds of one clock.

use std::collections::{BTreeMap, BTreeSet};

use crate::net::Dpid;

/// So long a switch may be away. Its session ends at once when Open vSwitch does, and within its own patience when the node does.
const AWAY: u64 = 3_000;
/// The same after the start: Open vSwitch tries again every eight seconds at most (`max_backoff` in ovs-vswitchd.conf.db(5)).
const STARTING: u64 = 20_000;

/// Who is away, since when, and who is written down as lost.
#[derive(Debug, Default)]
pub struct Lost {
    away: BTreeMap<Dpid, u64>,
    written: BTreeSet<Dpid>,
}

impl Lost {
    pub fn new(written: impl IntoIterator<Item = Dpid>) -> Lost {
        Lost { away: BTreeMap::new(), written: written.into_iter().collect() }
    }

    /// Takes in who is there. Answers whose state has to be written down: lost, or back. Who comes back has first
    /// to have what it should have now, so that it gives up what others took over.
    pub fn look(
        &mut self,
        now: u64,
        known: &BTreeSet<Dpid>,
        connected: &BTreeSet<Dpid>,
        settled: impl Fn(Dpid) -> bool,
    ) -> Vec<(Dpid, bool)> {
        self.away.retain(|dpid, _| known.contains(dpid) && !connected.contains(dpid));
        let mut changes = Vec::new();
        for dpid in known.difference(connected) {
            let since = *self.away.entry(*dpid).or_insert(now);
            if now >= STARTING && since + AWAY <= now && self.written.insert(*dpid) {
                changes.push((*dpid, true));
            }
        }
        let is_back = |dpid: &&Dpid| !known.contains(dpid) || connected.contains(dpid) && settled(**dpid);
        let back: Vec<Dpid> = self.written.iter().filter(is_back).copied().collect();
        for dpid in back {
            self.written.remove(&dpid);
            changes.push((dpid, false));
        }
        changes
    }

    /// Whether a switch is written down as lost.
    pub fn has(&self, dpid: Dpid) -> bool {
        self.written.contains(&dpid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_away_for_long_is_lost_until_it_has_what_it_should() {
        let (one, two) = (Dpid(1), Dpid(2));
        let known = BTreeSet::from([one, two]);
        let both = known.clone();
        let second = BTreeSet::from([two]);
        let mut lost = Lost::default();
        // After the start everybody gets the time to come.
        assert_eq!(lost.look(1, &known, &second, |_| true), []);
        assert_eq!(lost.look(19_000, &known, &second, |_| true), []);
        assert_eq!(lost.look(19_500, &known, &both, |_| true), []);
        assert_eq!(lost.look(30_000, &known, &second, |_| true), []);
        assert_eq!(lost.look(32_999, &known, &second, |_| true), []);
        assert!(!lost.has(one));
        assert_eq!(lost.look(33_000, &known, &second, |_| true), [(one, true)]);
        assert!(lost.has(one) && !lost.has(two));
        assert_eq!(lost.look(33_250, &known, &second, |_| true), []);
        assert_eq!(lost.look(34_000, &known, &both, |_| false), []);
        assert_eq!(lost.look(34_250, &known, &both, |_| true), [(one, false)]);
        // A short absence is none; who is not known any more is not lost either.
        assert_eq!(lost.look(40_000, &known, &second, |_| true), []);
        assert_eq!(lost.look(41_000, &known, &both, |_| true), []);
        assert_eq!(Lost::new([one]).look(42_000, &second, &second, |_| true), [(one, false)]);
    }
}
