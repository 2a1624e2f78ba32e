//! Services: an address and port that stand for pods, wherever those are. Tables 29 to 35.
//!
//! ```text
//! client     210 ─► 30 service's address ─► ct 10 ─► 31 new: group ─► ct(commit, endpoint) ─┐
//!                                                    known: translated ──────────────────┴► 17 … 19 ─► 33
//!            33 endpoint elsewhere ─► tunnel ─► 36 ─► 33          33 endpoint here: remembered in 11 ─► 220
//! endpoint   210 ─► 30 from a port that serves ─► ct 11 ─► 32 an answer ─► 17 … 19 ─► 33 ─► tunnel, or 21 ─► 220
//! client     220 an answer ─► ct 10: from the service's address ─► 34 ─► 220 ─► port
//! ```
//! The client's switch chooses the endpoint and knows the connection (zone 10); the endpoint's switch remembers where a
//! request came from (zone 11), so an answer needs no route to its client. Between nodes requests and answers have a VXLAN
//! network identifier each, since the two pods may be in different VPNs. A pod that asks itself through its service gets
//! the request from 169.254.77.2 (zone 12). What a pod sends to another directly is none of this.

mod derive;
mod flows;

pub use derive::ServiceStates;

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::key::touched_interfaces;
use super::zones::CLIENTS;
use super::{Key, Rendered, Renderer};
use crate::model::{InterfaceId, Model, Touched};
use crate::net::{Dpid, Transport};
use crate::pipeline::{Owner, owners, service_groups};

/// The feature's flows and groups.
pub struct Services;

impl Renderer for Services {
    fn name(&self) -> &'static str {
        "service"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Vec<Key>) {
        touched_interfaces(touched, keys);
        services_touched(touched, model, keys);
        keys.extend(touched.endpoints.iter().copied().map(Key::Endpoint));
        keys.extend(touched.switches.iter().copied().map(Key::Switch));
        // Each switch has a way to each endpoint.
        if !touched.switches.is_empty() || !touched.node_sides.is_empty() || !touched.vpns.is_empty() {
            keys.extend(model.endpoints().map(Key::Endpoint));
        }
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Switch(dpid) => of_switch(*dpid, model, out),
            Key::Interface(id) => stranger(id, model, out),
            Key::Service(uid) => service(uid, model, out),
            Key::Endpoint(address) => endpoint(*address, model, out),
            _ => {}
        }
    }
}

/// Services that may look different: all, where switches came or went.
fn services_touched(touched: &Touched, model: &Model, keys: &mut Vec<Key>) {
    keys.extend(touched.cluster_services.iter().cloned().map(Key::Service));
    if !touched.switches.is_empty() {
        keys.extend(model.services().cloned().map(Key::Service));
    }
}

fn of_switch(dpid: Dpid, model: &Model, out: &mut Rendered) {
    if model.switch(dpid).is_none() {
        return;
    }
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

/// The client's side, the same on all switches.
fn service(uid: &str, model: &Model, out: &mut Rendered) {
    let Some(service) = model.service(uid) else { return };
    let owner = Owner::new(uid);
    let switches: Vec<Dpid> = model.switches().map(|(dpid, _)| dpid).collect();
    for served in model.served_ports(service) {
        for ipv6 in [false, true] {
            let addresses = model.service_addresses(service).filter(|address| address.is_ipv6() == ipv6);
            let addresses: Vec<IpAddr> = addresses.collect();
            if let (Some(number), false) = (served.number, addresses.is_empty()) {
                let endpoints: Vec<_> =
                    served.endpoints.iter().copied().filter(|(ip, _)| ip.is_ipv6() == ipv6).collect();
                let port = Port {
                    transport: served.port.transport,
                    number: served.port.number,
                    group: service_groups::of_port(number, ipv6),
                    affinity: service.affinity,
                };
                port.render(&addresses, &endpoints, &switches, model, &owner, out);
            }
        }
    }
}

/// A port of a service, for one IP version.
struct Port {
    transport: Transport,
    number: u16,
    group: u32,
    /// Seconds.
    affinity: Option<u16>,
}

impl Port {
    fn render(
        &self,
        addresses: &[IpAddr],
        endpoints: &[(IpAddr, u16)],
        switches: &[Dpid],
        model: &Model,
        owner: &Owner<owners::Service>,
        out: &mut Rendered,
    ) {
        let mut all = |flow| out.shared_flow(switches.iter().copied(), flow);
        let numbered = flows::numbered(endpoints);
        for address in addresses {
            let destination = (*address, self.transport, self.number);
            all(flows::to_service(destination, owner));
            match self.affinity {
                _ if endpoints.is_empty() => {}
                None => all(flows::new_connection(destination, self.group, owner)),
                Some(seconds) => {
                    all(flows::new_session(destination, owner));
                    all(flows::choose(destination, self.group, owner));
                    for (number, endpoint) in &numbered {
                        all(flows::chosen(destination, *number, *endpoint, seconds, owner));
                    }
                }
            }
        }
        if endpoints.is_empty() {
            for (dpid, meter) in switches.iter().filter_map(|dpid| Some((*dpid, refusals_of(*dpid, model)?)))
            {
                for address in addresses {
                    let destination = (*address, self.transport, self.number);
                    out.flow(dpid, flows::refuse(destination, meter, owner));
                }
            }
            return;
        }
        let group = match self.affinity {
            None => flows::balance(self.group, endpoints),
            Some(_) => flows::balance_sessions(self.group, numbered.keys().copied()),
        };
        let destinations = addresses.iter().map(|address| (*address, self.number));
        let group = group.balancing(CLIENTS, self.transport, destinations, endpoints.iter().copied());
        out.shared_group(switches.iter().copied(), group.owned_by(owner));
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
