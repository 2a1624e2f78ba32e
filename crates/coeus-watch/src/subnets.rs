//! Subnets of nodes, out of one of the cluster: for clusters that give their nodes none (kube-controller-manager without `--allocate-node-cidrs`).

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::allocate::{address, number, subnet};

/// So many bits may tell the nodes apart, as kube-controller-manager has it.
const MOST: u8 = 16;

/// A range of addresses that is shared out among nodes, in parts of one size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subnets {
    first: IpAddr,
    last: IpAddr,
    /// Length of a node's prefix.
    length: u8,
}

impl Subnets {
    /// `length`: that of a node's prefix; without it 24 of IPv4 and 64 of IPv6.
    ///
    /// # Errors
    /// What is wrong with it, in words for people.
    pub fn new(cidr: &str, length: Option<u8>) -> Result<Subnets, String> {
        let (first, last, own) =
            subnet(cidr).ok_or_else(|| format!("{cidr} is no range of addresses, such as 10.244.0.0/16"))?;
        if !cidr.starts_with(&format!("{first}/")) {
            return Err(format!("{cidr} is an address; the range is {first}/{own}"));
        }
        let length = length.unwrap_or(if first.is_ipv4() { 24 } else { 64 });
        // A node needs its network, a gateway, a pod and the broadcast address.
        let longest = if first.is_ipv4() { 30 } else { 126 };
        let shortest = own..=own.saturating_add(MOST).min(longest);
        if !shortest.contains(&length) {
            return Err(format!(
                "nodes cannot have a /{length} of {cidr}; they may have /{} to /{}",
                shortest.start(),
                shortest.end()
            ));
        }
        Ok(Subnets { first, last, length })
    }

    fn shift(&self) -> u32 {
        (if self.first.is_ipv4() { 32 } else { 128 }) - u32::from(self.length)
    }

    /// The parts that another subnet has addresses of.
    pub fn parts_of(&self, cidr: &str) -> BTreeSet<u128> {
        let Some((first, last, _)) =
            subnet(cidr).filter(|(first, ..)| first.is_ipv4() == self.first.is_ipv4())
        else {
            return BTreeSet::new();
        };
        let (first, last) = (first.max(self.first), last.min(self.last));
        let part = |of: IpAddr| (number(of) - number(self.first)) >> self.shift();
        if first > last { BTreeSet::new() } else { (part(first)..=part(last)).collect() }
    }

    /// A node's subnet, which is taken then: the one that it has, if that is a part of the range that nobody else has, else the first that is free.
    pub fn choose(&self, has: Option<&str>, taken: &mut BTreeSet<u128>) -> Option<String> {
        let kept = has.and_then(|has| {
            let parts = self.parts_of(has);
            let part = parts.first().copied()?;
            (self.text(part) == has && taken.insert(part)).then_some(part)
        });
        let count = ((number(self.last) - number(self.first)) >> self.shift()) + 1;
        let part = kept.or_else(|| (0..count).find(|part| taken.insert(*part)))?;
        Some(self.text(part))
    }

    fn text(&self, part: u128) -> String {
        format!("{}/{}", address(number(self.first) + (part << self.shift()), self.first), self.length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_range_that_cannot_be_shared_out_is_told() {
        for (cidr, length, why) in [
            ("10.244.0.1/16", None, "the range is 10.244.0.0/16"),
            ("10.244.0.0", None, "no range"),
            ("10.244.0.0/16", Some(12), "/16 to /30"),
            ("10.0.0.0/8", Some(26), "/8 to /24"),
            ("10.244.1.0/28", None, "/28 to /30"),
            ("fd00:244::/48", Some(80), "/48 to /64"),
        ] {
            assert!(Subnets::new(cidr, length).unwrap_err().contains(why), "{cidr}");
        }
        assert!(Subnets::new("fd00:244::/48", None).is_ok());
    }

    #[test]
    fn a_node_keeps_its_subnet_and_a_new_one_gets_the_first_that_is_free() {
        let subnets = Subnets::new("10.244.0.0/22", Some(24)).unwrap();
        let mut taken = subnets.parts_of("10.244.0.128/25");
        assert_eq!(subnets.choose(Some("10.244.2.0/24"), &mut taken).as_deref(), Some("10.244.2.0/24"));
        assert_eq!(subnets.choose(None, &mut taken).as_deref(), Some("10.244.1.0/24"));
        // Of another size, of another range, or another's: a new one.
        assert_eq!(subnets.choose(Some("10.244.3.0/25"), &mut taken).as_deref(), Some("10.244.3.0/24"));
        assert_eq!(subnets.choose(Some("10.9.0.0/24"), &mut taken), None, "all are taken");
        assert!(subnets.parts_of("10.245.0.0/24").is_empty() && subnets.parts_of("fd00::/64").is_empty());
        let v6 = Subnets::new("fd00:244::/48", None).unwrap();
        let mut taken = v6.parts_of("fd00:244::/64");
        assert_eq!(v6.choose(None, &mut taken).as_deref(), Some("fd00:244:0:1::/64"));
    }

    proptest! {
        /// Whatever nodes had, no two get the same, each is of the range, and who may keep his does.
        #[test]
        fn no_two_nodes_share(had in prop::collection::vec(prop::option::of(0_u8..12), 0..12), foreign in 0_u8..8) {
            let subnets = Subnets::new("10.244.0.0/21", Some(24)).unwrap();
            let mut taken = subnets.parts_of(&format!("10.244.{foreign}.0/24"));
            let mut given = BTreeSet::new();
            for part in had {
                let has = part.map(|part| format!("10.244.{part}.0/24"));
                let may_keep = part.is_some_and(|part| part < 8 && part != foreign)
                    && has.as_ref().is_some_and(|has| !given.contains(has));
                match subnets.choose(has.as_deref(), &mut taken) {
                    None => prop_assert_eq!(given.len(), 7),
                    Some(got) => {
                        prop_assert!(!may_keep || has.as_ref() == Some(&got));
                        prop_assert_ne!(&got, &format!("10.244.{}.0/24", foreign));
                        prop_assert_eq!(subnets.parts_of(&got).len(), 1);
                        prop_assert!(given.insert(got));
                    }
                }
            }
        }
    }
}
