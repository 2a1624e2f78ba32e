//! Routing within a namespace: every switch is the gateway.
//!
//! ```text
//! 19 to the gateway's MAC ─► 21 ─► pod here: TTL, MACs, 220
//!                                 ├ prefix behind a pod (extra route): the same, to its port, or to one of several by a group
//!                                 ├ prefix of a switch: TTL, the VPN's own VNI, tunnel ─► 36 ─► 21 there
//!                                 ├ pod elsewhere that no prefix covers: the same, by its address
//!                                 ├ IPv6 that no route leads to, of an interface with an Internet VPN: 21 in that VPN
//!                                 ├ gateway address: echo answered
//!                                 └ the node of this switch: MACs, its own port (and from there, in a VPN of its own, to any pod here)
//! ```
//! Tables 19 and 21. Both ends route, so a packet between nodes loses two from its TTL. A pod's own route is longer than
//! any prefix, so it leads to where the pod is, whatever prefix its address lies in.

mod derive;
mod flows;
mod next_hops;
mod node;
mod outside;
mod routes;
mod spread;

pub use derive::Prefixes;
pub use next_hops::NextHopStates;
pub use routes::Routes;

use super::key::{
    floating_touched, gateways_of_vpn, interfaces_of_vpn, nodes_touched, outsiders_of_vpn, prefixes_reached,
    touched_interfaces, vpns_respanned,
};
use super::{Key, Keys, Rendered, Renderer};
use crate::model::{InterfaceId, Model, Touched};
use crate::net::Dpid;
use crate::pipeline::Owner;

/// The feature's flows.
pub struct Vpns;

impl Vpns {
    /// The route to one interface: here, on every switch of its VPN that no prefix leads here, and on those of VPNs that
    /// import its routes.
    fn interface(&self, id: &InterfaceId, model: &Model, out: &mut Rendered) {
        let Some(interface) = model.interface(id) else { return };
        node::to_pod(interface, model, out);
        let Some((identity, lport, attachment)) = interface.plugged() else { return };
        let (Some(name), Some(vpn)) = (&identity.vpn, model.vpn_of(identity)) else { return };
        let here = attachment.dpid;
        let owner = Owner::new(&identity.name);
        let internet = identity.internet.as_ref().and_then(|name| model.vpn(name));
        if let (Some(from), Some(internet)) = (vpn.id, internet.and_then(|internet| internet.id)) {
            out.flow(here, flows::to_internet(from, lport, internet, &owner));
        }
        let importers = model.importers(name);
        for destination in interface.destinations() {
            let carriers =
                if interface.routes.is_empty() { Vec::new() } else { model.carriers(name, destination) };
            // Others carry it: he does not answer.
            if !carriers.is_empty() && carriers.iter().all(|carrier| carrier.id != *id) {
                continue;
            }
            if let [first, _, ..] = &carriers[..]
                && let Some(number) = model.route_number(name, destination)
            {
                if first.id == *id {
                    spread::route((name, vpn), (destination, number), &carriers, model, out);
                }
                continue;
            }
            let importing = importers.iter().filter(|importer| model.sees(importer, name, destination));
            let importing = importing.filter_map(|importer| model.vpn(importer)).map(|vpn| (vpn, false));
            let by_prefix = model.is_all_covered(here, destination);
            let internet = interface.internet_of(destination).and_then(|name| model.vpn(name));
            let own = [Some(vpn), internet].into_iter().flatten().map(|vpn| (vpn, by_prefix));
            for (seen_in, by_prefix) in importing.chain(own) {
                let (Some(id), Some(gateway)) = (seen_in.id, seen_in.gateway_mac()) else { continue };
                if seen_in.members.contains_key(&here) {
                    let route = flows::route_local(id, destination, gateway, attachment.mac, lport, &owner);
                    out.flow(here, route);
                }
                let way = vpn.l3_vni.zip(model.endpoint(here)).filter(|_| !by_prefix);
                if let Some((vni, remote)) = way {
                    let others = seen_in.members.keys().copied();
                    let others = others.filter(|dpid| *dpid != here && model.has_tunnel(*dpid));
                    let route = flows::route_remote(id, destination, gateway, vni, remote, &owner);
                    out.shared_flow(others, route);
                }
            }
        }
    }

    /// The route to all that is in the prefix of a switch, on a share of the other switches of the VPN.
    fn prefix(&self, name: &str, to: Dpid, share: u8, model: &Model, out: &mut Rendered) {
        let Some(vpn) = model.vpn(name).filter(|vpn| vpn.members.contains_key(&to)) else { return };
        let (Some(id), Some(gateway), Some(vni)) = (vpn.id, vpn.gateway_mac(), vpn.l3_vni) else { return };
        let (Some(prefix), Some(remote)) = (model.prefix(to), model.endpoint(to)) else { return };
        let others = vpn.share(share).filter(|dpid| *dpid != to && model.has_tunnel(*dpid));
        let route = flows::route_remote(id, prefix, gateway, vni, remote, &Owner::new(name));
        out.shared_flow(others, route);
    }
}

impl Renderer for Vpns {
    fn name(&self) -> &'static str {
        "vpn"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        touched_interfaces(touched, keys);
        nodes_touched(touched, model, keys);
        keys.extend(touched.switches.iter().copied().map(Key::Switch));
        keys.extend(touched.vpn_spans.iter().cloned().map(|(vpn, dpid)| Key::VpnOnSwitch(vpn, dpid)));
        keys.extend(touched.gateways.iter().cloned().map(|(vpn, address)| Key::Gateway(vpn, address)));
        for name in &touched.vpns {
            interfaces_of_vpn(name, model, keys);
            gateways_of_vpn(name, model, keys);
            let members = model.vpn(name).into_iter().flat_map(|vpn| vpn.members.keys());
            keys.extend(members.map(|dpid| Key::VpnOnSwitch(name.clone(), *dpid)));
        }
        for name in vpns_respanned(touched, model) {
            outsiders_of_vpn(name, model, keys);
            model.exporters(name).into_iter().for_each(|other| interfaces_of_vpn(other, model, keys));
        }
        // Whose tunnel moved is reached elsewhere.
        for dpid in &touched.switches {
            keys.extend(model.interfaces_on(*dpid).into_iter().flatten().cloned().map(Key::Interface));
        }
        for name in touched.prefixes.iter().flat_map(|dpid| model.vpns_on(*dpid)) {
            gateways_of_vpn(name, model, keys);
        }
        prefixes_reached(touched, model, keys);
        floating_touched(touched, keys);
        let external = touched.external.iter().cloned();
        keys.extend(external.map(|(network, dpid)| Key::External(network, dpid)));
        let neighbours = touched.neighbours.iter().cloned();
        keys.extend(neighbours.map(|(network, address)| Key::Neighbour(network, address)));
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Interface(id) => self.interface(id, model, out),
            Key::VpnOnSwitch(name, dpid) => {
                let Some(vpn) = model.vpn(name).filter(|vpn| vpn.members.contains_key(dpid)) else { return };
                if let (Some(id), Some(gateway)) = (vpn.id, vpn.gateway_mac()) {
                    out.flow(*dpid, flows::gateway_mac(id, gateway, &Owner::new(name)));
                    node::to_node(name, id, *dpid, model, out);
                }
            }
            Key::Floating(address) => outside::floating(*address, model, out),
            Key::External(network, dpid) => outside::network(network, *dpid, model, out),
            Key::Neighbour(network, address) => outside::neighbour(network, *address, model, out),
            Key::Prefix(name, to, share) => self.prefix(name, *to, *share, model, out),
            Key::Gateway(name, address) if model.is_gateway(name, *address) => {
                let Some(vpn) = model.vpn(name) else { return };
                if let Some(id) = vpn.id {
                    let owner = Owner::new(name);
                    let switches = model.switches_of_gateway(name, *address);
                    out.shared_flow(switches.clone(), flows::echo(id, *address, &owner));
                    let sought = switches.filter(|dpid| model.is_covered(*dpid, *address));
                    out.shared_flow(sought, flows::echo_to_remote(id, *address, &owner));
                }
            }
            Key::Switch(dpid) if model.switch(*dpid).is_some() => {
                let owner = Owner::new("switch");
                out.flow(*dpid, flows::arp_is_not_routed(&owner));
                node::answers_outside(*dpid, model, out);
                for flow in flows::services_apart(&owner) {
                    out.flow(*dpid, flow);
                }
                node::of_switch(*dpid, model, out);
                for flow in flows::expired(&owner).into_iter().chain(flows::of_the_link(&owner)) {
                    out.flow(*dpid, flow);
                }
            }
            _ => {}
        }
    }
}
