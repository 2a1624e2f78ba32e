//! Which of several controllers a switch goes to, worked out by each of them alone: rendezvous hashing. Pure.
//!
//! Each pair of a controller and a switch has a weight that looks random, and a switch goes to the controller with the highest. So the switches
//! are spread evenly, and when a controller goes only its own move, to where they came second.
//! Source: Thaler, Ravishankar, "Using name-based mappings to increase hit rates", 1998.

use crate::net::Dpid;

/// The controllers in the order in which they should have the switch.
pub fn order<'a>(dpid: Dpid, controllers: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = controllers.into_iter().collect();
    all.sort_unstable_by_key(|name| (std::cmp::Reverse(weight(name, dpid)), *name));
    all
}

/// The same in every build: all controllers of a store have to agree.
fn weight(controller: &str, dpid: Dpid) -> u64 {
    // FNV-1a, 64 bits.
    let name = controller
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    mixed(mixed(name) ^ mixed(dpid.0.wrapping_add(0x9e37_79b9_7f4a_7c15)))
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood, 2014): each bit of the result depends on all of the number.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn names(hosts: &std::collections::BTreeSet<u16>) -> Vec<String> {
        hosts.iter().map(|host| format!("tcp:10.0.{}.{}:6653", host >> 8, host & 0xff)).collect()
    }

    fn first(dpid: u64, names: &[String]) -> &str {
        order(Dpid(dpid), names.iter().map(String::as_str))[0]
    }

    proptest! {
        /// Whatever the controllers and however datapaths are numbered, each controller has its share.
        #[test]
        fn switches_are_spread_evenly(
            hosts in proptest::collection::btree_set(any::<u16>(), 2..8),
            start in any::<u64>(),
            step in prop_oneof![Just(1_u64), Just(256), Just(1 << 40), any::<u64>()],
        ) {
            const SWITCHES: u64 = 4000;
            let (names, step) = (names(&hosts), step | 1);
            let mut had: BTreeMap<&str, u64> = BTreeMap::new();
            for number in 0..SWITCHES {
                *had.entry(first(start.wrapping_add(number.wrapping_mul(step)), &names)).or_default() += 1;
            }
            let fair = SWITCHES / names.len() as u64;
            prop_assert_eq!(had.len(), names.len());
            for (name, count) in had {
                prop_assert!(count > fair * 3 / 4 && count < fair * 5 / 4, "{}: {} of about {}", name, count, fair);
            }
        }

        /// A controller that goes moves its own switches only, one that comes takes switches to itself only; the order they are told in
        /// does not matter.
        #[test]
        fn nobody_else_moves(
            hosts in proptest::collection::btree_set(any::<u16>(), 2..8),
            gone in any::<prop::sample::Index>(),
            dpid in any::<u64>(),
        ) {
            let all = names(&hosts);
            let gone = gone.get(&all).clone();
            let left: Vec<String> = all.iter().rev().filter(|name| **name != gone).cloned().collect();
            let (before, after) = (first(dpid, &all), first(dpid, &left));
            prop_assert!(before == gone || before == after);
            let whole = order(Dpid(dpid), all.iter().map(String::as_str));
            let rest: Vec<&str> = whole.into_iter().filter(|name| *name != gone).collect();
            prop_assert_eq!(rest, order(Dpid(dpid), left.iter().map(String::as_str)));
        }
    }
}
