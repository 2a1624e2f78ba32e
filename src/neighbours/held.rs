//! Which switch answers for each external address: another one does so only when that one has confirmed that it does not any more.
//! Times are milliseconds of one clock.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::world::At;
use crate::net::Dpid;

/// How long a switch is waited for that is neither there nor lost.
const PATIENCE: u64 = 5_000;

/// What is written down.
#[derive(Debug, Default)]
pub struct Held {
    written: BTreeMap<IpAddr, Dpid>,
    /// Since when an address is nowhere.
    since: BTreeMap<IpAddr, u64>,
}

impl Held {
    pub fn new(written: impl IntoIterator<Item = (IpAddr, Dpid)>) -> Held {
        Held { written: written.into_iter().collect(), since: BTreeMap::new() }
    }

    /// Whether an address is nowhere, and a switch has not confirmed that yet.
    pub fn waits(&self) -> bool {
        !self.since.is_empty()
    }

    /// Takes in where addresses are. Answers what has to be written down: who has an address now, or that nobody has. `is_done`: the switch
    /// has confirmed all that it was told.
    pub fn look(
        &mut self,
        now: u64,
        placed: &BTreeMap<IpAddr, At>,
        is_done: impl Fn(Dpid) -> bool,
    ) -> Vec<(IpAddr, Option<Dpid>)> {
        let mut changes = Vec::new();
        for (address, at) in placed {
            self.since.remove(address);
            if self.written.insert(*address, at.dpid) != Some(at.dpid) {
                changes.push((*address, Some(at.dpid)));
            }
        }
        self.written.retain(|address, holder| {
            if placed.contains_key(address) {
                return true;
            }
            let since = *self.since.entry(*address).or_insert(now);
            let stays = !is_done(*holder) && now < since + PATIENCE;
            if !stays {
                self.since.remove(address);
                changes.push((*address, None));
            }
            stays
        });
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{LportTag, MacAddr, VpnId};

    #[test]
    fn an_address_is_held_until_its_switch_has_confirmed_that_it_went() {
        let (address, one, two) = (IpAddr::from([203, 0, 113, 7]), Dpid(1), Dpid(2));
        let at = |dpid| At {
            network: "n".into(),
            dpid,
            vpn: VpnId(1),
            lport: LportTag(1),
            vlan: None,
            mac: MacAddr([2; 6]),
        };
        let (at_one, at_two) = (BTreeMap::from([(address, at(one))]), BTreeMap::from([(address, at(two))]));
        let nowhere = BTreeMap::new();
        let mut held = Held::default();
        assert_eq!(held.look(1, &at_one, |_| false), [(address, Some(one))]);
        assert_eq!(held.look(2, &at_one, |_| true), []);
        assert_eq!(held.look(3, &nowhere, |_| false), []);
        assert!(held.waits());
        assert_eq!(held.look(4, &nowhere, |dpid| dpid == two), []);
        assert_eq!(held.look(5, &nowhere, |dpid| dpid == one), [(address, None)]);
        assert!(!held.waits());
        assert_eq!(held.look(6, &nowhere, |_| false), []);
        assert_eq!(held.look(7, &at_two, |_| false), [(address, Some(two))]);
        // Who says nothing is not waited for without end; what comes back is not waited for.
        assert_eq!(held.look(8, &nowhere, |_| false), []);
        assert_eq!(held.look(9, &at_two, |_| false), []);
        assert!(!held.waits());
        assert_eq!(held.look(10, &nowhere, |_| false), []);
        assert_eq!(held.look(9 + PATIENCE, &nowhere, |_| false), []);
        assert_eq!(held.look(10 + PATIENCE, &nowhere, |_| false), [(address, None)]);
        // After a restart the first look goes on from what is written; who is lost is overruled by the model.
        let mut held = Held::new([(address, one)]);
        assert_eq!(held.look(1, &at_two, |_| false), [(address, Some(two))]);
    }
}
