//! Services: an address and port that stand for pods, wherever those are. Tables 29 to 35.
//!
//! ```text
//! client     210 ─► 30 service's address ─► ct 10 ─► 31 new: group ─► ct(commit, endpoint) ─┐
//!                                                    known: translated ──────────────────┴► 17 … 19 ─► 33
//!            33 endpoint elsewhere ─► tunnel ─► 36 ─► 33          33 endpoint here: remembered in 11 ─► 220
//! endpoint   210 ─► 30 from a port that serves ─► ct 11 ─► 32 an answer ─► 17 … 19 ─► 33 ─► tunnel, or 21 ─► 220
//! client     220 an answer ─► ct 10: from the service's address ─► 34 ─► 220 ─► port
//! node       30 a node's address and a host port ─► ct 10 ─► 31 new: the pod that has it …
//! outside    25 address of an external network ─► ct 10 ─► 31 …        30 a node's address ─► 38 node port ─► ct 10 ─► 31 …
//!            33 an answer ─► 21 to nobody here ─► ct 10 ─► 37 by the network, or by the node
//! ```
//! The client's switch chooses the endpoint and knows the connection (zone 10); the endpoint's switch remembers where a
//! request came from (zone 11), so an answer needs no route to its client. Between nodes requests and answers have a VXLAN
//! network identifier each, since the two pods may be in different VPNs. A pod that asks itself through its service gets
//! the request from 169.254.77.2 (zone 12). What a pod sends to another directly is none of this.

mod client;
mod derive;
mod flows;
mod host_port;
mod parts;

pub use derive::ServiceStates;

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::key::{floating_touched, touched_interfaces};
use super::zones::{NODE_PORTS_V4, NODE_PORTS_V6};
use super::{Key, Keys, Rendered, Renderer};
use crate::model::{InterfaceId, Model, Touched};
use crate::net::{Dpid, Transport};
use crate::pipeline::Owner;

/// The feature's flows and groups.
pub struct Services;

impl Renderer for Services {
    fn name(&self) -> &'static str {
        "service"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        touched_interfaces(touched, keys);
        services_touched(touched, model, keys);
        keys.extend(touched.endpoints.iter().copied().map(Key::Endpoint));
        keys.extend(touched.switches.iter().copied().map(Key::Switch));
        floating_touched(touched, keys);
        keys.extend(touched.node_sides.iter().copied().map(Key::Switch));
        let nodes = touched.switches.is_empty() && touched.node_sides.is_empty();
        if !nodes && model.has_node_ports() {
            // Each switch knows the addresses of all nodes.
            keys.extend(model.switches().map(|(dpid, _)| Key::Switch(dpid)));
        }
        // Each switch has a way to each endpoint.
        if !touched.switches.is_empty() || !touched.node_sides.is_empty() || !touched.vpns.is_empty() {
            keys.extend(model.endpoints().map(Key::Endpoint));
        }
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Switch(dpid) => of_switch(*dpid, model, out),
            Key::Interface(id) => stranger(id, model, out),
            Key::Service(uid) => {
                client::service(uid, model, out);
                host_port::host_ports(uid, model, out);
            }
            Key::Floating(address) => answers(*address, model, out),
            Key::Endpoint(address) => endpoint(*address, model, out),
            _ => {}
        }
    }
}

/// Services that may look different: all, where switches came or went.
fn services_touched(touched: &Touched, model: &Model, keys: &mut Keys) {
    keys.extend(touched.cluster_services.iter().cloned().map(Key::Service));
    if !touched.switches.is_empty() {
        keys.extend(model.services().chain(model.host_port_names()).cloned().map(Key::Service));
    }
}

fn of_switch(dpid: Dpid, model: &Model, out: &mut Rendered) {
    if model.switch(dpid).is_none() {
        return;
    }
    node_ports(dpid, model, out);
    let owner = Owner::new("switch");
    for flow in flows::of_switch(&owner) {
        out.flow(dpid, flow);
    }
    if let Some((tunnel, _)) = model.tunnel(dpid) {
        out.meter(dpid, flows::refusals(tunnel.0, &owner));
        for flow in flows::answers_elsewhere(tunnel, &owner) {
            out.flow(dpid, flow);
        }
    }
}

/// The addresses of a switch's node, where node ports and host ports are asked for: those that nodes know by all switches, and that of this one by
/// which it hands over what it got from others.
fn node_ports(dpid: Dpid, model: &Model, out: &mut Rendered) {
    if !model.is_asked_at_nodes() || model.switch(dpid).is_none() {
        return;
    }
    let owner = Owner::new("node ports");
    let own: Vec<IpAddr> = model.addresses_of_node(dpid).collect();
    let has_node_ports = model.has_node_ports();
    let first = |address: &IpAddr| model.switches_of_node_address(*address).next() == Some(dpid);
    for address in own.iter().copied().filter(|address| has_node_ports && first(address)) {
        out.shared_flow(model.switches().map(|(dpid, _)| dpid), flows::to_node(address, &owner));
    }
    let Some((lport, port)) = model.node_port(dpid) else { return };
    let handed = [IpAddr::V4(NODE_PORTS_V4), IpAddr::V6(NODE_PORTS_V6)];
    for address in handed.into_iter().filter(|_| has_node_ports) {
        out.flow(dpid, flows::to_node(address, &owner));
    }
    for address in handed.into_iter().chain(own) {
        out.flow(dpid, flows::answer_by_node(address, port.mac, lport, &owner));
    }
}

/// The way back of those who ask a service at an address outside.
fn answers(address: IpAddr, model: &Model, out: &mut Rendered) {
    if model.balanced_at(address).is_some()
        && let Some(Ok(outlet)) = model.outside(address)
    {
        out.flow(outlet.dpid, flows::answer_by_network(&outlet));
    }
}

/// The meter of a switch's refusals has the number of its tunnel port, which punts nothing itself.
fn refusals_of(dpid: Dpid, model: &Model) -> Option<u32> {
    model.tunnel(dpid).map(|(tunnel, _)| tunnel.0)
}

/// A pod whose node reaches another one at its address gets no answers there, so it does not ask either.
fn stranger(id: &InterfaceId, model: &Model, out: &mut Rendered) {
    let Some(interface) = model.interface(id) else { return };
    let Some((identity, lport, attachment)) = interface.plugged() else { return };
    if identity.vpn.is_none() {
        return;
    }
    for address in interface.addresses.iter().map(|address| address.ip) {
        if !model.is_on_node(attachment.dpid, address, id) {
            out.flow(attachment.dpid, flows::stranger(lport, address, &Owner::new(&identity.name)));
        }
    }
}

/// The endpoint's side: what one address serves on its switch, and the way to it from all others.
fn endpoint(address: IpAddr, model: &Model, out: &mut Rendered) {
    let Some((id, serving)) = model.serving_at(address) else { return };
    if id.is_outside() {
        return outside(address, &serving, model, out);
    }
    let Some((identity, lport, attachment)) = model.interface(id).and_then(|interface| interface.plugged())
    else {
        return;
    };
    let here = attachment.dpid;
    let Some(gateway) = model.vpn_of(identity).and_then(|vpn| vpn.gateway_mac()) else { return };
    let owner = Owner::new(&identity.name);
    for (transport, port) in serving {
        out.flow(here, flows::from_endpoint(address, transport, port, &owner));
    }
    for flow in flows::to_endpoint(address, gateway, attachment.mac, lport, &owner) {
        out.flow(here, flow);
    }
    if let Some(remote) = model.endpoint(here) {
        let others = model.switches().map(|(dpid, _)| dpid);
        let others = others.filter(|dpid| *dpid != here && model.has_tunnel(*dpid));
        out.shared_flow(others, flows::to_endpoint_elsewhere(address, remote, &owner));
    }
}

/// A host outside: requests go on as if the client had asked it, and what comes from it by the node may be an answer.
fn outside(address: IpAddr, serving: &BTreeSet<(Transport, u16)>, model: &Model, out: &mut Rendered) {
    let owner = Owner::new(address.to_string());
    out.shared_flow(model.switches().map(|(dpid, _)| dpid), flows::to_outside(address, &owner));
    for (dpid, _) in model.switches() {
        let Some((node, _)) = model.node_port(dpid) else { continue };
        for (transport, port) in serving {
            out.flow(dpid, flows::from_outside(node, address, *transport, *port, &owner));
        }
    }
}
