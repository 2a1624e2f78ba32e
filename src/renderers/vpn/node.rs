//! The node and its pods, by the node's own port.
//!
//! What the node sends is in a VPN of its own, which has a route to every pod on the switch; each VPN of the switch has one
//! to the node. Nothing of it goes through a tunnel: a node reaches its own pods, and pods their own node.

use std::net::IpAddr;

use openflow_rs::MatchField;

use super::super::Rendered;
use super::super::zones::CLIENTS;
use super::flows;
use crate::model::{Interface, Model, NODE_VPN, Source, gateway_mac};
use crate::net::{Dpid, LportTag, MacAddr, VpnId};
use crate::pipeline::actions::{dec_ttl, egress_to, resubmit, set_eth_dst, set_eth_src, track};
use crate::pipeline::matches::{
    ip_host, ip_src_host, ip_version_of, ipv4, ipv6, service_way, split_horizon, vpn_id,
};
use crate::pipeline::{
    Action, EGRESS_DISPATCHER, FIB, Flow, INBOUND_NAPT, Owner, PSNAT, SERVICE_OUTSIDE, ServiceWay, owners,
};
use crate::schema::Text;

type Owned = Owner<owners::Vpn>;

/// What the node sends to its gateway is routed.
pub(super) fn of_switch(dpid: Dpid, model: &Model, out: &mut Rendered) {
    if let Some((lport, port)) = model.node_port(dpid) {
        let owner = Owner::new("node port");
        for address in model.node_addresses(dpid, &Text::new()) {
            out.flow(dpid, answer_to_node(address, port.mac, lport, &owner));
        }
        out.flow(dpid, flows::gateway_mac(NODE_VPN, gateway_mac(NODE_VPN), &owner));
        if let Some(Source::Node(sources)) = model.source_nat(dpid) {
            for source in sources.both() {
                out.flow(dpid, from_outside(source, &owner));
                out.flow(dpid, hairpin(source, &owner));
            }
        }
    }
}

/// Answers of services to whom no route leads: he asked from outside, by an external network or by this node.
pub(super) fn answers_outside(dpid: Dpid, model: &Model, out: &mut Rendered) {
    if model.node_port(dpid).is_none() && model.uplinks(dpid).next().is_none() {
        return;
    }
    for version in [ipv4(), ipv6()] {
        let draft = Flow::table(FIB).priority(flows::OUTSIDE);
        let draft = draft.matching([vpn_id(NODE_VPN), service_way(ServiceWay::Answer), version]);
        out.flow(dpid, draft.then([track(CLIENTS, SERVICE_OUTSIDE)]).owned_by(&Owner::new("services")));
    }
}

/// From the node to one pod; answers of services come the same way.
pub(super) fn to_pod(interface: &Interface, model: &Model, out: &mut Rendered) {
    let Some((identity, lport, attachment)) = interface.plugged() else { return };
    let here = attachment.dpid;
    let gateway = model.vpn_of(identity).and_then(|vpn| vpn.gateway_mac());
    let Some(gateway) = gateway else { return };
    let owner = Owner::new(&identity.name);
    let reached = |address: &IpAddr| model.is_on_node(here, *address, &interface.id);
    for address in interface.addresses.iter().map(|address| address.ip).filter(reached) {
        out.flow(here, flows::route_local(NODE_VPN, address.into(), gateway, attachment.mac, lport, &owner));
    }
}

/// From the pods of a VPN on a switch to its node.
pub(super) fn to_node(name: &Text, vpn: VpnId, dpid: Dpid, model: &Model, out: &mut Rendered) {
    let owner = Owner::new(name);
    if let Some((lport, port)) = model.node_port(dpid) {
        for address in model.node_addresses(dpid, name) {
            out.flow(dpid, route_to_node(vpn, address, port.mac, lport, &owner));
        }
    }
    // A VPN that is a router has ways of its own.
    let goes = |is_v4: bool| model.napt(name, dpid, is_v4).is_none();
    match model.source_nat(dpid) {
        Some(Source::Node(_)) => {
            for (version, is_v4) in [(ipv4(), true), (ipv6(), false)] {
                if goes(is_v4) {
                    out.flow(dpid, to_outside(vpn, version, Some(dec_ttl()), &owner));
                }
            }
        }
        // The VPN of an external network counts the hop itself.
        Some(Source::Outside(outlets)) => {
            for outlet in outlets.into_iter().filter(|outlet| goes(outlet.external.is_ipv4())) {
                out.flow(dpid, to_outside(vpn, ip_version_of(outlet.external), None, &owner));
            }
        }
        None => {}
    }
}

/// Not for what came through a tunnel: the node has no way back there.
fn route_to_node(vpn: VpnId, address: IpAddr, node: MacAddr, lport: LportTag, owner: &Owned) -> Flow {
    Flow::table(FIB)
        .priority(flows::longest(address.into()))
        .matching([vpn_id(vpn), split_horizon(false)])
        .matching(ip_host(address))
        .then([dec_ttl(), set_eth_src(gateway_mac(NODE_VPN)), set_eth_dst(node), egress_to(lport)])
        .then([resubmit(EGRESS_DISPATCHER)])
        .owned_by(owner)
}

/// Answers of services to the node itself, from here or from another node.
fn answer_to_node(address: IpAddr, node: MacAddr, lport: LportTag, owner: &Owned) -> Flow {
    Flow::table(FIB)
        .priority(flows::longest(address.into()))
        .matching([vpn_id(NODE_VPN), service_way(ServiceWay::Answer)])
        .matching(ip_host(address))
        .then([dec_ttl(), set_eth_src(gateway_mac(NODE_VPN)), set_eth_dst(node), egress_to(lport)])
        .then([resubmit(EGRESS_DISPATCHER)])
        .owned_by(owner)
}

/// What no route leads to is for outside. Not what came through a tunnel: that was for a pod here.
fn to_outside(vpn: VpnId, version: MatchField, hop: Option<Action>, owner: &Owned) -> Flow {
    Flow::table(FIB)
        .priority(flows::OUTSIDE)
        .matching([vpn_id(vpn), split_horizon(false), version])
        .then(hop)
        .goto(PSNAT)
        .owned_by(owner)
}

/// Answers from outside, once: what is translated is not for this address any more.
fn from_outside(source: IpAddr, owner: &Owned) -> Flow {
    Flow::table(FIB)
        .priority(flows::longest(source.into()))
        .matching([vpn_id(NODE_VPN), split_horizon(false)])
        .matching(ip_host(source))
        .goto(INBOUND_NAPT)
        .owned_by(owner)
}

/// A pod's packet that its node would hand to another pod: namespaces are no outside of each other.
fn hairpin(source: IpAddr, owner: &Owned) -> Flow {
    let priority = if source.is_ipv4() { flows::HAIRPIN } else { flows::HAIRPIN_V6 };
    let draft = Flow::table(FIB).priority(priority).matching([vpn_id(NODE_VPN)]);
    draft.matching(ip_src_host(source)).owned_by(owner)
}
