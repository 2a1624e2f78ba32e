//! What only one may have: a name, an address in its VPN, a MAC in its ELAN, a port number of its switch.
//!
//! Configuration that claims a thing twice is refused before it gets here. Facts that nobody can refuse (ports,
//! leases, data of an older version) may still collide: the lowest claimant has it and the others wait.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::net::IpAddr;

use ipnetwork::IpNetwork;

use super::interface::InterfaceId;
use super::netvirt::is_host;
use crate::net::{Dpid, MacAddr, Transport};
use crate::schema::{Map, Text};

/// A thing that only one interface may have.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Claim {
    /// An interface name.
    Name(Text),
    /// An address within a VPN.
    Address(Text, IpAddr),
    /// A prefix of more than one address within a VPN; see [`Claim::destination`].
    Route(Text, IpNetwork),
    /// A MAC address within an ELAN.
    Mac(Text, MacAddr),
    /// An OpenFlow port of a switch: all its frames, or with a tag the sub-port of that VLAN.
    Port(Dpid, u32, Option<u16>),
    /// A VLAN of a trunk, by the trunk's name.
    Tag(Text, u16),
    /// A port of a node.
    HostPort(HostPlace, Transport, u16),
}

/// Where a node is asked for one of its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostPlace {
    /// At one of its addresses.
    Address(IpAddr),
    /// Where the node of this switch hands over what it got at any of them, of one IP version.
    HandedOver { dpid: Dpid, is_v6: bool },
}

impl Claim {
    /// What is routed in a VPN: one address, whether it is an interface's own or behind it, or a whole prefix.
    pub fn destination(vpn: &Text, prefix: IpNetwork) -> Claim {
        if is_host(prefix) {
            Claim::Address(vpn.clone(), prefix.ip())
        } else {
            Claim::Route(vpn.clone(), prefix)
        }
    }
}

/// How strongly something is claimed, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Strength {
    /// Configured as one's own.
    Own,
    /// To be routed to: what several ask for they share.
    Route,
    Leased,
}

/// Who claims, and how strongly.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Claimant {
    pub strength: Strength,
    pub interface: InterfaceId,
}

/// All claims. Most things are claimed once.
#[derive(Debug, Default)]
pub struct Claims {
    first: Map<Claim, Claimant>,
    /// Claimants beyond the first.
    others: BTreeMap<Claim, BTreeSet<Claimant>>,
}

impl Claims {
    /// Who has it.
    pub fn owner(&self, claim: &Claim) -> Option<&InterfaceId> {
        self.first.get(claim).map(|claimant| &claimant.interface)
    }

    /// The claim that counts.
    pub fn first(&self, claim: &Claim) -> Option<&Claimant> {
        self.first.get(claim)
    }

    /// All that it is routed to, if it is: in order.
    pub fn sharing(&self, claim: &Claim) -> impl Iterator<Item = &InterfaceId> {
        let first = self.first.get(claim).filter(|first| first.strength == Strength::Route);
        let others = first.and_then(|_| self.others.get(claim)).into_iter().flatten();
        let all = first.into_iter().chain(others.filter(|other| other.strength == Strength::Route));
        all.map(|claimant| &claimant.interface)
    }

    /// Who would like to have it, beside its owner.
    pub fn others(&self, claim: &Claim) -> impl Iterator<Item = &InterfaceId> {
        self.others.get(claim).into_iter().flatten().map(|claimant| &claimant.interface)
    }

    /// Adds a claim. Answers who lost the thing by it, if anybody.
    pub fn add(&mut self, claim: Claim, claimant: Claimant) -> Option<InterfaceId> {
        // As a rule nobody has it: then one search is enough.
        let first = self.first.insert(claim.clone(), claimant.clone()).filter(|first| *first != claimant)?;
        let (later, lost) = if claimant < first {
            (first.clone(), Some(first.interface))
        } else {
            self.first.insert(claim.clone(), first);
            (claimant, None)
        };
        self.others.entry(claim).or_default().insert(later);
        lost
    }

    /// Takes a claim back. Answers who has the thing now and had it not before, if anybody.
    pub fn remove(&mut self, claim: &Claim, claimant: &Claimant) -> Option<InterfaceId> {
        let was_first = self.first.get(claim) == Some(claimant);
        let Some(others) = self.others.get_mut(claim) else {
            if was_first {
                self.first.remove(claim);
            }
            return None;
        };
        let heir = if was_first { others.pop_first() } else { None };
        others.remove(claimant);
        if others.is_empty() {
            self.others.remove(claim);
        }
        let heir = heir?;
        self.first.insert(claim.clone(), heir.clone());
        Some(heir.interface)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimant(leased: bool, pod: &str) -> Claimant {
        by(if leased { Strength::Leased } else { Strength::Own }, pod)
    }

    fn by(strength: Strength, pod: &str) -> Claimant {
        Claimant { strength, interface: InterfaceId { pod: pod.into(), uid: pod.into() } }
    }

    #[test]
    fn the_lowest_claimant_has_it_whatever_the_order() {
        let claim = || Claim::Name("a".into());
        let mut claims = Claims::default();
        assert_eq!(claims.add(claim(), claimant(false, "b")), None);
        assert_eq!(claims.add(claim(), claimant(false, "c")), None);
        let loser = claims.add(claim(), claimant(false, "a"));
        assert_eq!(loser, Some(claimant(false, "b").interface));
        assert_eq!(claims.remove(&claim(), &claimant(false, "c")), None);
        assert_eq!(claims.remove(&claim(), &claimant(false, "a")), loser);
        assert_eq!(claims.remove(&claim(), &claimant(false, "b")), None);
        assert!(claims.first.is_empty() && claims.others.is_empty());
    }

    #[test]
    fn routes_are_shared_unless_it_is_somebodys_own() {
        let claim = || Claim::Address("corp".into(), IpAddr::from([10, 0, 0, 1]));
        let mut claims = Claims::default();
        for claimant in [by(Strength::Route, "b"), by(Strength::Leased, "a"), by(Strength::Route, "a")] {
            claims.add(claim(), claimant);
        }
        let sharing = |claims: &Claims| -> Vec<String> {
            claims.sharing(&claim()).map(|id| id.uid.to_string()).collect()
        };
        assert_eq!(sharing(&claims), ["a", "b"]);
        claims.add(claim(), by(Strength::Own, "z"));
        assert_eq!(sharing(&claims), [""; 0]);
        claims.remove(&claim(), &by(Strength::Own, "z"));
        claims.remove(&claim(), &by(Strength::Route, "a"));
        assert_eq!(sharing(&claims), ["b"]);
    }

    #[test]
    fn a_configured_address_comes_before_a_leased_one() {
        let claim = || Claim::Address("blue".into(), IpAddr::from([10, 0, 0, 1]));
        let mut claims = Claims::default();
        claims.add(claim(), claimant(true, "a"));
        claims.add(claim(), claimant(false, "b"));
        assert_eq!(claims.owner(&claim()), Some(&claimant(false, "b").interface));
    }
}
