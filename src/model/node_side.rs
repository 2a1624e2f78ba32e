//! A node and its pods: the addresses that pods reach their node at, and the pods that a node reaches.
//!
//! The node has one port on its switch and one way to all its pods, whatever their namespaces. Of two pods on a node that
//! have one address in different VPNs, it reaches the first.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::apply::{Model, Work, insert_member, remove_from, remove_member};
use super::claims::Claim;
use super::interface::{Interface, InterfaceId};
use super::members::Members;
use super::rows::usable;
use super::spans::NodePort;
use super::status::Reason;
use crate::net::{Dpid, LportTag, VpnId};
use crate::schema::{Map, Text};

/// The VPN that nodes send into: every pod of the node is in it. No pool gives out its id.
pub const NODE_VPN: VpnId = VpnId(1);

/// Key of the logical port tag that the own ports of all nodes share.
pub const NODE_LPORT_KEY: &str = "node port";

/// Addresses of nodes and of pods on them, by switch.
#[derive(Debug, Default)]
pub(super) struct NodeSide {
    addresses: BTreeMap<Dpid, BTreeSet<IpAddr>>,
    switches: BTreeMap<IpAddr, BTreeSet<Dpid>>,
    /// Attached interfaces of VPNs by switch and address.
    pods: Map<(Dpid, IpAddr), Members<InterfaceId>>,
}

impl NodeSide {
    /// The addresses of a switch's node.
    pub fn addresses_of(&self, dpid: Dpid) -> impl Iterator<Item = IpAddr> {
        self.addresses.get(&dpid).into_iter().flatten().copied()
    }
}

impl Model {
    /// The own port of a switch's node and its logical port tag.
    pub fn node_port(&self, dpid: Dpid) -> Option<(LportTag, NodePort)> {
        Some((*self.uplink_lports.get(NODE_LPORT_KEY)?, self.switches.get(&dpid)?.node?))
    }

    /// All addresses of a switch's node.
    pub fn addresses_of_node(&self, dpid: Dpid) -> impl Iterator<Item = IpAddr> {
        self.node_side.addresses_of(dpid)
    }

    /// The addresses at which pods of a VPN reach the node they are on: not those that an interface of the VPN has.
    pub fn node_addresses(&self, dpid: Dpid, vpn: &Text) -> impl Iterator<Item = IpAddr> + use<'_> {
        let vpn = vpn.clone();
        let all = self.node_side.addresses_of(dpid);
        all.filter(move |address| self.claims.owner(&Claim::Address(vpn.clone(), *address)).is_none())
    }

    /// Whether the node of a switch reaches this interface by this address of it.
    pub fn is_on_node(&self, dpid: Dpid, address: IpAddr, id: &InterfaceId) -> bool {
        self.node_side.pods.get(&(dpid, address)).and_then(Members::first) == Some(id)
    }

    /// Whom the node reaches instead of this interface, if so.
    pub fn node_reason(&self, interface: &Interface) -> Option<Reason> {
        let (_, _, attachment) = interface.plugged()?;
        self.switch(attachment.dpid)?.node?;
        interface.addresses.iter().find_map(|address| {
            let first = self.node_side.pods.get(&(attachment.dpid, address.ip))?.first()?;
            let identity = self.interface(first)?.identity.as_ref()?;
            let owner = identity.name.clone();
            (*first != interface.id).then_some(Reason::NodeReachesOther { address: address.ip, owner })
        })
    }

    pub fn switches_of_node_address(&self, address: IpAddr) -> impl Iterator<Item = Dpid> {
        self.node_side.switches.get(&address).into_iter().flatten().copied()
    }

    /// Works out the addresses of a switch's node: the one that its tunnels end at, and those of the Kubernetes node there.
    pub(super) fn settle_node_addresses(&mut self, dpid: Dpid, work: &mut Work) {
        let local = self.switches.get(&dpid).and_then(|switch| switch.local_ip).map(IpAddr::V4);
        let internal =
            local.into_iter().flat_map(|local| self.nodes_at(local)).filter_map(|node| node.internal);
        let after: BTreeSet<IpAddr> = internal.chain(local).filter(|address| usable(*address)).collect();
        let before = self.node_side.addresses.remove(&dpid).unwrap_or_default();
        for address in before.difference(&after) {
            remove_from(&mut self.node_side.switches, address, &dpid);
        }
        for address in after.difference(&before) {
            self.node_side.switches.entry(*address).or_default().insert(dpid);
        }
        // Of several with one address the first counts.
        let moved = before.symmetric_difference(&after);
        self.mark_node_sources(moved.clone().copied(), work);
        let beside = moved.flat_map(|address| self.switches_of_node_address(*address)).collect::<Vec<_>>();
        work.touched.node_sides.extend(beside);
        if before != after {
            work.touched.node_sides.insert(dpid);
            self.mark_host_ports_on(dpid, work);
        }
        if !after.is_empty() {
            self.node_side.addresses.insert(dpid, after);
        }
    }

    /// Notes which addresses are on which node.
    pub(super) fn note_on_node(&mut self, before: Option<&Interface>, after: &Interface, work: &mut Work) {
        let places = |interface: &Interface| -> BTreeSet<(Dpid, IpAddr)> {
            let plugged = interface.plugged().filter(|(identity, ..)| identity.vpn.is_some());
            let Some((_, _, attachment)) = plugged else { return BTreeSet::new() };
            interface.addresses.iter().map(|address| (attachment.dpid, address.ip)).collect()
        };
        let (was, is) = (before.map(places).unwrap_or_default(), places(after));
        // Who is not reached is told who is, by name.
        let name = |interface: &Interface| interface.identity.as_ref().map(|identity| identity.name.clone());
        if before.and_then(name) != name(after) {
            let beside = was.intersection(&is).filter_map(|place| self.node_side.pods.get(place));
            work.touched.interfaces.extend(beside.flat_map(Members::iter).cloned());
        }
        let mut moved = Vec::new();
        for place in was.symmetric_difference(&is) {
            let pods = &mut self.node_side.pods;
            let first = pods.get(place).and_then(Members::first).cloned();
            if is.contains(place) {
                insert_member(pods, place, after.id.clone());
            } else {
                remove_member(pods, place, &after.id);
            }
            let members = pods.get(place).into_iter().flat_map(Members::iter);
            if members.clone().next() != first.as_ref() {
                let all: Vec<InterfaceId> = members.cloned().chain(first).collect();
                work.touched.interfaces.extend(all.iter().cloned());
                moved.push((place.1, all));
            }
        }
        for (address, ids) in moved {
            self.mark_reached(address, &ids, work);
        }
    }
}
