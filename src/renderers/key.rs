use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use hashbrown::HashSet;

use crate::model::{Chunk, InterfaceId, Model, PolicyItem, SHARES, Touched, share_of};
use crate::net::{Dpid, OfPort};
use crate::schema::Text;

/// A thing that a renderer renders on its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    Pod(Text),
    Interface(InterfaceId),
    Elan(Text),
    Vpn(Text),
    Switch(Dpid),
    ElanOnSwitch(Text, Dpid),
    VpnOnSwitch(Text, Dpid),
    Chunk(Chunk),
    /// A router address of a VPN.
    Gateway(Text, IpAddr),
    /// The way to the prefix of a switch, on one share of the switches of a VPN.
    Prefix(Text, Dpid, u8),
    /// An address outside that leads to an interface.
    Floating(IpAddr),
    /// A node that has source addresses of its own, by its address in the configuration.
    NodeSource(IpAddr),
    /// An external network on a switch that has addresses of it.
    External(Text, Dpid),
    /// Somebody on an external network.
    Neighbour(Text, IpAddr),
    /// By uid.
    Service(Text),
    /// From one switch to another.
    Tunnel(Dpid, Dpid),
    /// The links between all nodes.
    Underlay,
    /// An address at which something is served.
    Endpoint(IpAddr),
    /// A port number of a bridge, by the bridge's node id.
    PortNumber(Text, OfPort),
    /// What policies have on a switch.
    Policy(Dpid, PolicyItem),
    /// What is told of a policy, by its id.
    PolicyState(Text),
}

/// Keys to render anew, each of them once: several renderers ask for the same ones.
pub type Keys = HashSet<Key>;

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Pod(uid) => write!(f, "pod {uid}"),
            Key::Interface(id) => write!(f, "interface {id}"),
            Key::Elan(name) => write!(f, "elan {name}"),
            Key::Vpn(name) => write!(f, "vpn {name}"),
            Key::Switch(dpid) => write!(f, "switch {dpid}"),
            Key::ElanOnSwitch(name, dpid) => write!(f, "elan {name} on {dpid}"),
            Key::VpnOnSwitch(name, dpid) => write!(f, "vpn {name} on {dpid}"),
            Key::Chunk(chunk) => write!(f, "chunk {} of elan {} on {}", chunk.number, chunk.elan, chunk.dpid),
            Key::Gateway(vpn, address) => write!(f, "gateway {address} of vpn {vpn}"),
            Key::Prefix(vpn, to, share) => write!(f, "prefix of {to} in vpn {vpn}, share {share}"),
            Key::Floating(address) => write!(f, "floating address {address}"),
            Key::NodeSource(address) => write!(f, "source addresses of node {address}"),
            Key::External(network, dpid) => write!(f, "external network {network} on {dpid}"),
            Key::Neighbour(network, address) => {
                write!(f, "neighbour {address} on external network {network}")
            }
            Key::Service(uid) => write!(f, "service {uid}"),
            Key::Tunnel(from, to) => write!(f, "tunnel from {from} to {to}"),
            Key::Underlay => f.write_str("links between nodes"),
            Key::Endpoint(address) => write!(f, "endpoint {address}"),
            Key::PortNumber(node_id, number) => write!(f, "port {number} of {node_id}"),
            Key::PolicyState(id) => write!(f, "policy {id}"),
            Key::Policy(dpid, item) => write!(f, "policy on {dpid}: {item:?}"),
        }
    }
}

/// Whatever answers of neighbours and gateways may look different, of either IP version: the responders have the same rules.
pub(super) fn answers_touched(touched: &Touched, model: &Model, keys: &mut Keys) {
    touched_interfaces(touched, keys);
    keys.extend(touched.switches.iter().copied().map(Key::Switch));
    keys.extend(touched.gateways.iter().cloned().map(|(vpn, address)| Key::Gateway(vpn, address)));
    underlay_neighbours(touched, model, keys);
    for name in elans_respanned(touched, model) {
        interfaces_of_elan(name, model, keys);
    }
    for name in &touched.vpns {
        interfaces_of_vpn(name, model, keys);
        gateways_of_vpn(name, model, keys);
    }
    for name in vpns_respanned(touched, model) {
        outsiders_of_vpn(name, model, keys);
    }
    prefixes_reached(touched, model, keys);
}

/// Switches whose nodes stand differently towards their pods, with the VPNs and interfaces there.
pub(super) fn nodes_touched(touched: &Touched, model: &Model, keys: &mut Keys) {
    for dpid in touched.switches.iter().chain(&touched.node_sides) {
        keys.insert(Key::Switch(*dpid));
        keys.extend(model.vpns_on(*dpid).map(|vpn| Key::VpnOnSwitch(vpn.clone(), *dpid)));
        keys.extend(model.interfaces_on(*dpid).into_iter().flatten().cloned().map(Key::Interface));
    }
}

/// Every floating address that may lead elsewhere.
pub(super) fn floating_touched(touched: &Touched, keys: &mut Keys) {
    keys.extend(touched.floating.iter().copied().map(Key::Floating));
}

/// Every touched interface.
pub(super) fn touched_interfaces(touched: &Touched, keys: &mut Keys) {
    keys.extend(touched.interfaces.iter().cloned().map(Key::Interface));
}

/// ELANs that stand differently towards other switches: their span, ids, or a switch in it changed.
pub(super) fn elans_respanned<'a>(touched: &'a Touched, model: &'a Model) -> impl Iterator<Item = &'a Text> {
    let spans = touched.elan_spans.iter().map(|(name, _)| name);
    spans.chain(&touched.elans).chain(touched.switches.iter().flat_map(|dpid| model.elans_on(*dpid)))
}

/// VPNs that stand differently towards other switches: their span, ids, or a switch in it changed.
pub(super) fn vpns_respanned<'a>(touched: &'a Touched, model: &'a Model) -> impl Iterator<Item = &'a Text> {
    let spans = touched.vpn_spans.iter().map(|(name, _)| name);
    spans.chain(&touched.vpns).chain(touched.switches.iter().flat_map(|dpid| model.vpns_on(*dpid)))
}

/// ELANs of other kinds than VXLAN, with their interfaces, on the switches where something changed that they may share: a
/// port to a physical network, or a place in it.
pub(super) fn underlay_neighbours(touched: &Touched, model: &Model, keys: &mut Keys) {
    let changed = touched.elans.iter().flat_map(|name| switches_of(name, model));
    let spans = touched.elan_spans.iter().map(|(_, dpid)| dpid);
    let switches: BTreeSet<Dpid> = changed.chain(spans).chain(&touched.switches).copied().collect();
    for dpid in switches {
        for name in model.elans_on(dpid).filter(|name| !model.is_overlay(name)) {
            keys.insert(Key::ElanOnSwitch(name.clone(), dpid));
            let members = model.elan(name).and_then(|elan| elan.members.get(&dpid));
            keys.extend(
                members.into_iter().flat_map(|members| members.values().cloned().map(Key::Interface)),
            );
        }
    }
    for name in &touched.elans {
        interfaces_of_elan(name, model, keys);
        keys.extend(switches_of(name, model).map(|dpid| Key::ElanOnSwitch(name.clone(), *dpid)));
    }
    keys.extend(touched.elan_spans.iter().cloned().map(|(name, dpid)| Key::ElanOnSwitch(name, dpid)));
}

/// The switches that an ELAN has attached interfaces on.
fn switches_of<'a>(name: &str, model: &'a Model) -> impl Iterator<Item = &'a Dpid> + use<'a> {
    model.elan(name).into_iter().flat_map(|elan| elan.members.keys())
}

/// All interfaces of an ELAN.
pub(super) fn interfaces_of_elan(name: &str, model: &Model, keys: &mut Keys) {
    keys.extend(
        model.elan(name).into_iter().flat_map(|elan| elan.interfaces.keys().cloned().map(Key::Interface)),
    );
}

/// All interfaces of a VPN.
pub(super) fn interfaces_of_vpn(name: &str, model: &Model, keys: &mut Keys) {
    keys.extend(
        model.vpn(name).into_iter().flat_map(|vpn| vpn.interfaces.iter().cloned().map(Key::Interface)),
    );
}

/// Interfaces of a VPN that other switches reach each by its own address.
pub(super) fn outsiders_of_vpn(name: &str, model: &Model, keys: &mut Keys) {
    keys.extend(model.vpn(name).into_iter().flat_map(|vpn| vpn.outside.iter().cloned().map(Key::Interface)));
}

/// Ways to prefixes that may look different: to what a switch has, and from a switch to what others have.
pub(super) fn prefixes_reached(touched: &Touched, model: &Model, keys: &mut Keys) {
    let mut to = |vpn: &Text, dpid: Dpid| {
        keys.extend((0..SHARES).map(|share| Key::Prefix(vpn.clone(), dpid, share)));
    };
    touched.vpn_spans.iter().for_each(|(vpn, dpid)| to(vpn, *dpid));
    for dpid in touched.prefixes.iter().chain(&touched.switches) {
        model.vpns_on(*dpid).for_each(|vpn| to(vpn, *dpid));
    }
    for vpn in &touched.vpns {
        members_of_vpn(vpn, model).for_each(|dpid| to(vpn, dpid));
    }
    let mut from = |vpn: &Text, dpid: Dpid| {
        let share = share_of(dpid);
        keys.extend(members_of_vpn(vpn, model).map(|to| Key::Prefix(vpn.clone(), to, share)));
    };
    touched.vpn_spans.iter().for_each(|(vpn, dpid)| from(vpn, *dpid));
    for dpid in &touched.switches {
        model.vpns_on(*dpid).for_each(|vpn| from(vpn, *dpid));
    }
}

fn members_of_vpn<'a>(name: &str, model: &'a Model) -> impl Iterator<Item = Dpid> + use<'a> {
    model.vpn(name).into_iter().flat_map(|vpn| vpn.members.keys().copied())
}

/// All gateways of a VPN.
pub(super) fn gateways_of_vpn(name: &Text, model: &Model, keys: &mut Keys) {
    keys.extend(model.gateways(name).map(|address| Key::Gateway(name.clone(), address)));
}
