//! Which of several controllers a switch goes to, worked out by each of them alone: rendezvous hashing. Pure.

use crate::net::Dpid;

/// The controllers in the order in which they should have the switch.
pub fn order<'a>(dpid: Dpid, controllers: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = controllers.into_iter().collect();
    all.sort_unstable_by_key(|name| (std::cmp::Reverse(dpid.weight(name.as_bytes())), *name));
    all
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
