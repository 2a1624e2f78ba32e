//! Which addresses are at which switch: a switch has the `pod-cidr` of its node as its prefix, so that one route leads
//! to all pods there.
//!
//! A prefix is exact or it is none. It belongs to the one switch whose tunnel address is an address of the one node that
//! has it, and no other node's `pod-cidr` overlaps it. Otherwise each pod has a route of its own, and says why.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnetwork::IpNetwork;

use super::apply::{Model, Work, remove_from, replace};
use super::rows::{K8sNode, usable};
use super::status::Reason;
use crate::net::Dpid;
use crate::schema::Text;

/// Prefixes of nodes and switches.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    /// Nodes by prefix.
    nodes: BTreeMap<IpNetwork, BTreeSet<Text>>,
    /// Switches by tunnel address.
    switches: BTreeMap<IpAddr, BTreeSet<Dpid>>,
    /// What the switches of nodes with a prefix have, or why they have none.
    of: BTreeMap<Dpid, Result<IpNetwork, Reason>>,
}

impl Prefixes {
    /// Nodes whose prefix shares an address with this one, those with the very same first.
    fn overlapping(&self, prefix: IpNetwork) -> impl Iterator<Item = &Text> {
        // Two prefixes overlap only if one holds the other.
        let within = self.nodes.range(prefix..).take_while(move |(other, _)| prefix.contains(other.ip()));
        let around =
            (0..prefix.prefix()).filter_map(move |length| self.nodes.get_key_value(&cut(prefix, length)?));
        within.chain(around).flat_map(|(_, nodes)| nodes)
    }

    /// The node whose prefix holds all of this one.
    pub fn holder(&self, prefix: IpNetwork) -> Option<&Text> {
        let around = (0..=prefix.prefix()).rev().filter_map(|length| self.nodes.get(&cut(prefix, length)?));
        around.flatten().next()
    }

    fn at(&self, address: IpAddr) -> impl Iterator<Item = Dpid> {
        self.switches.get(&address).into_iter().flatten().copied()
    }
}

impl Model {
    /// The prefix of a switch: others reach its pods that have an address in it by one route.
    pub fn prefix(&self, dpid: Dpid) -> Option<IpNetwork> {
        self.prefixes.of.get(&dpid)?.as_ref().ok().copied()
    }

    /// Whether the route to a switch leads to this address there.
    pub fn is_covered(&self, dpid: Dpid, address: IpAddr) -> bool {
        self.prefix(dpid).is_some_and(|prefix| prefix.contains(address))
    }

    /// Whether the route to a switch leads to all of a prefix there.
    pub fn is_all_covered(&self, dpid: Dpid, destination: IpNetwork) -> bool {
        let holds =
            |prefix: IpNetwork| prefix.prefix() <= destination.prefix() && prefix.contains(destination.ip());
        self.prefix(dpid).is_some_and(holds)
    }

    /// Why a switch has no prefix although its node has a `pod-cidr`.
    pub(super) fn no_prefix(&self, dpid: Dpid) -> Option<&Reason> {
        self.prefixes.of.get(&dpid)?.as_ref().err()
    }

    /// Takes in that a node's row changed.
    pub(super) fn move_prefix(&mut self, before: Option<&K8sNode>, uid: &Text, work: &mut Work) {
        let after = self.nodes.get(uid);
        for node in [before, after].into_iter().flatten() {
            work.dirty_endpoints.extend(node.addresses());
            self.mark_node_sources(node.addresses(), work);
        }
        let (was, is) = (before.and_then(prefix_of), after.and_then(prefix_of));
        if was == is {
            return;
        }
        for prefix in [was, is].into_iter().flatten() {
            self.mark_routes_in(prefix, work);
            self.mark_node_sources_in(prefix, work);
            let neighbours = self.prefixes.overlapping(prefix).filter_map(|uid| self.nodes.get(uid));
            work.dirty_endpoints.extend(neighbours.flat_map(K8sNode::addresses));
        }
        if let Some(prefix) = was {
            remove_from(&mut self.prefixes.nodes, &prefix, uid);
        }
        if let Some(prefix) = is {
            self.prefixes.nodes.entry(prefix).or_default().insert(uid.clone());
        }
        self.mark_outside(work);
    }

    /// Takes in that a switch has another tunnel address, or none.
    pub(super) fn move_endpoint(
        &mut self,
        dpid: Dpid,
        before: Option<IpAddr>,
        after: Option<IpAddr>,
        work: &mut Work,
    ) {
        if before == after {
            return;
        }
        if let Some(address) = before {
            remove_from(&mut self.prefixes.switches, &address, &dpid);
        }
        if let Some(address) = after {
            self.prefixes.switches.entry(address).or_default().insert(dpid);
        }
        work.dirty_endpoints.extend([before, after].into_iter().flatten());
        work.dirty_prefixes.insert(dpid);
    }

    /// Works out the prefixes of the switches that the marked addresses bear on, and marks the interfaces there.
    pub(super) fn settle_prefixes(&mut self, work: &mut Work) {
        for address in std::mem::take(&mut work.dirty_endpoints) {
            work.dirty_prefixes.extend(self.prefixes.at(address));
            for node in self.nodes_at(address) {
                let beside = node.addresses().flat_map(|address| self.prefixes.at(address));
                work.dirty_prefixes.extend(beside);
            }
        }
        for dpid in std::mem::take(&mut work.dirty_prefixes) {
            self.settle_node_addresses(dpid, work);
            let after = self.work_out_prefix(dpid);
            if self.prefixes.of.get(&dpid) == after.as_ref() {
                continue;
            }
            replace(&mut self.prefixes.of, &dpid, after);
            work.touched.prefixes.insert(dpid);
            let here = self.interfaces_on.get(&dpid).into_iter().flatten().cloned();
            work.touched.interfaces.extend(here.clone());
            work.dirty.extend(here);
        }
    }

    pub(super) fn nodes_at(&self, address: IpAddr) -> impl Iterator<Item = &K8sNode> {
        let uids = self.nodes_by_address.get(&address).into_iter().flatten();
        uids.filter_map(|uid| self.nodes.get(uid))
    }

    fn work_out_prefix(&self, dpid: Dpid) -> Option<Result<IpNetwork, Reason>> {
        let local = IpAddr::V4(self.switches.get(&dpid)?.local_ip?);
        let Some((node, prefix)) = self.nodes_at(local).find_map(|node| Some((node, prefix_of(node)?)))
        else {
            let bad = |node: &K8sNode| {
                Some(Reason::BadPodCidr { cidr: node.bad_cidr.clone()?, node: node.uid.clone() })
            };
            return self.nodes_at(local).find_map(bad).map(Err);
        };
        let other = self.nodes_at(local).find(|other| other.uid != node.uid);
        if let Some(other) = other {
            let (node, other) = (node.uid.clone(), other.uid.clone());
            return Some(Err(Reason::TwoNodes { address: local, node, other }));
        }
        let mut switches = node.addresses().flat_map(|address| self.prefixes.at(address));
        if let Some(other) = switches.find(|other| *other != dpid) {
            return Some(Err(Reason::TwoSwitches { node: node.uid.clone(), other }));
        }
        if let Some(other) = self.prefixes.overlapping(prefix).find(|uid| **uid != node.uid) {
            let (node, other) = (node.uid.clone(), other.clone());
            return Some(Err(Reason::CidrOverlaps { cidr: prefix, node, other }));
        }
        Some(Ok(prefix))
    }
}

/// What a node's `pod-cidr` says of where addresses are, its host bits cleared. A prefix of all bits is no better than the
/// route of its one pod, and one that starts where no pod can be is a mistake.
fn prefix_of(node: &K8sNode) -> Option<IpNetwork> {
    let cidr = node.pod_cidr?;
    let bits = if cidr.is_ipv4() { 32 } else { 128 };
    cut(cidr, cidr.prefix()).filter(|prefix| prefix.prefix() < bits && usable(prefix.ip()))
}

/// The first so many bits of a prefix.
fn cut(prefix: IpNetwork, length: u8) -> Option<IpNetwork> {
    let cut = IpNetwork::new(prefix.ip(), length).ok()?;
    IpNetwork::new(cut.network(), length).ok()
}
