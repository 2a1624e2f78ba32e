//! Routes that several interfaces carry: a select group spreads connections over them.
//!
//! ```text
//! 21 ─► group ─► a port here: MAC, 220
//!              └ the switch of another port: tunnel ─► 36 ─► 21 there, to the ports of that switch alone
//! ```
//! A group has [`SLOTS`] buckets, however many interfaces there are. Each is of the interface that has the highest hash together with the
//! bucket's number (highest random weight), on all switches alike. So an interface that goes leaves its buckets to the others, and
//! none of theirs is another's afterwards: connections that it did not carry stay where they are.

use std::collections::BTreeSet;

use ipnetwork::IpNetwork;
use xxhash_rust::xxh3::xxh3_64;

use super::super::Rendered;
use super::super::recipes::through_tunnel;
use super::flows;
use crate::model::{Interface, Model, Remote, Vpn};
use crate::net::{Dpid, LportTag, MacAddr, Vni, VpnId};
use crate::pipeline::actions::{clear_in_port, egress_to, group, resubmit, set_eth_dst};
use crate::pipeline::{Action, EGRESS_DISPATCHER, Group, Owner, owners, route_groups};
use crate::schema::Text;

/// Buckets of a group: the switch spreads its hash over them evenly, as a power of two that it takes (up to 256).
const SLOTS: u32 = 64;

/// How one interface is reached from a switch.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Here(LportTag, MacAddr),
    There(Vni, MacAddr, Remote),
}

impl Way {
    fn actions(self) -> Vec<Action> {
        match self {
            Way::Here(lport, mac) => {
                vec![set_eth_dst(mac), clear_in_port(), egress_to(lport), resubmit(EGRESS_DISPATCHER)]
            }
            Way::There(vni, gateway, remote) => {
                let tunnel = through_tunnel(vni, remote);
                [set_eth_dst(gateway)].into_iter().chain(tunnel).collect()
            }
        }
    }
}

/// A route of a VPN and its number, on all switches that have it or import it.
pub(super) fn route(
    (name, vpn): (&Text, &Vpn),
    (destination, number): (IpNetwork, u32),
    carriers: &[&Interface],
    model: &Model,
    out: &mut Rendered,
) {
    let importers = model.importers(name).into_iter();
    let importing = importers.filter(|importer| model.sees(importer, name, destination));
    let all = importing.filter_map(|importer| model.vpn(importer)).chain([vpn]);
    let seen_in: Vec<(VpnId, MacAddr, &Vpn)> =
        all.filter_map(|seen_in| Some((seen_in.id?, seen_in.gateway_mac()?, seen_in))).collect();
    let owner: Owner<owners::Vpn> = Owner::new(name);
    // Switches from which it looks alike.
    let mut alike: Vec<(Vec<Option<Way>>, Vec<Dpid>)> = Vec::new();
    let switches: BTreeSet<Dpid> =
        seen_in.iter().flat_map(|(.., seen_in)| seen_in.members.keys().copied()).collect();
    for dpid in switches {
        let ways: Vec<_> = carriers.iter().map(|carrier| way(carrier, vpn, dpid, model)).collect();
        match alike.iter_mut().find(|(known, _)| *known == ways) {
            Some((_, on)) => on.push(dpid),
            None => alike.push((ways, vec![dpid])),
        }
    }
    for (ways, on) in alike {
        let named = carriers
            .iter()
            .zip(ways)
            .filter_map(|(carrier, way)| Some((&*carrier.identity.as_ref()?.name, way?)));
        let all: Vec<(&str, Way)> = named.collect();
        let here: Vec<(&str, Way)> =
            all.iter().filter(|(_, way)| matches!(way, Way::Here(..))).copied().collect();
        // Not what came through a tunnel leads into one.
        let cases = if here.len() == all.len() {
            vec![(None, all, route_groups::all(number))]
        } else {
            vec![
                (Some(false), all, route_groups::all(number)),
                (Some(true), here, route_groups::here(number)),
            ]
        };
        for (from_tunnel, ways, id) in cases.into_iter().filter(|(_, ways, _)| !ways.is_empty()) {
            let onwards = if let [(_, only)] = &ways[..] {
                only.actions()
            } else {
                let buckets = Group::select(id).buckets(slots(&ways).map(Way::actions));
                out.shared_group(on.iter().copied(), buckets.owned_by(&owner));
                vec![group(id)]
            };
            for (vpn, gateway, seen_in) in &seen_in {
                let on = on.iter().copied().filter(|dpid| seen_in.members.contains_key(dpid));
                let way = (from_tunnel, *gateway, onwards.clone());
                out.shared_flow(on, flows::route_spread(*vpn, destination, way, &owner));
            }
        }
    }
}

fn way(carrier: &Interface, vpn: &Vpn, from: Dpid, model: &Model) -> Option<Way> {
    let (_, lport, attachment) = carrier.plugged()?;
    if attachment.dpid == from {
        return Some(Way::Here(lport, attachment.mac));
    }
    Some(Way::There(vpn.l3_vni?, vpn.gateway_mac()?, model.remote(from, attachment.dpid)?))
}

/// Whose each bucket is.
fn slots<'a>(ways: &'a [(&str, Way)]) -> impl Iterator<Item = Way> + 'a {
    (0..SLOTS).filter_map(|slot| {
        let weight = |(name, _): &&(&str, Way)| xxh3_64(format!("{slot} {name}").as_bytes());
        ways.iter().max_by_key(weight).map(|(_, way)| *way)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of four goes: its buckets go to the others, about evenly, and no other bucket moves.
    #[test]
    fn who_goes_leaves_his_buckets_to_the_others() {
        let names = ["c1", "c2", "c3", "c4"];
        let of = |names: &[&'static str]| -> Vec<u32> {
            let ways: Vec<(&str, Way)> = names
                .iter()
                .map(|name| (*name, Way::Here(LportTag(u32::from(name.as_bytes()[1])), MacAddr([0; 6]))))
                .collect();
            slots(&ways).map(|way| if let Way::Here(lport, _) = way { lport.0 } else { 0 }).collect()
        };
        let (four, three) = (of(&names), of(&names[..3]));
        assert_eq!(four.len(), SLOTS as usize);
        let gone = u32::from(b'4');
        for (before, after) in four.iter().zip(&three) {
            assert!(*before == gone || before == after);
        }
        for name in [b'1', b'2', b'3', b'4'] {
            let share = four.iter().filter(|owner| **owner == u32::from(name)).count();
            assert!((8..=26).contains(&share), "{share} of {SLOTS}");
        }
    }
}
