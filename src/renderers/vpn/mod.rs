//! Routing within a namespace: every switch is the gateway.
//!
//! ```text
//! 19 to the gateway's MAC ─► 21 ─► pod here: TTL, MACs, 220
//!                                 ├ pod elsewhere: TTL, the VPN's own VNI, tunnel ─► 36 ─► 21 there
//!                                 └ gateway address: echo answered
//! ```
//! Tables 19 and 21. Both ends route, so a packet between nodes loses two from its TTL.

mod derive;
mod flows;
mod routes;

pub use derive::Prefixes;
pub use routes::Routes;

use super::key::{gateways_of_vpn, interfaces_of_vpn, touched_interfaces, vpns_respanned};
use super::{Key, Rendered, Renderer};
use crate::model::{InterfaceId, Model, Touched};
use crate::pipeline::Owner;

/// The feature's flows.
pub struct Vpns;

impl Vpns {
    /// The route to one interface, on every switch of its VPN and of those that import its routes.
    fn interface(&self, id: &InterfaceId, model: &Model, out: &mut Rendered) {
        let Some(interface) = model.interface(id) else { return };
        let Some((identity, lport, attachment)) = interface.plugged() else { return };
        let (Some(name), Some(vpn)) = (&identity.vpn, model.vpn_of(identity)) else { return };
        let here = attachment.dpid;
        let owner = Owner::new(&identity.name);
        let importers = model.importers(name);
        for address in interface.addresses.iter().map(|address| address.ip) {
            let seen = importers.iter().filter(|importer| model.sees(importer, name, address));
            for seen_in in seen.filter_map(|importer| model.vpn(importer)).chain([vpn]) {
                let (Some(id), Some(gateway)) = (seen_in.id, seen_in.gateway_mac()) else { continue };
                for dpid in seen_in.members.keys() {
                    if *dpid == here {
                        let flow = flows::route_local(id, address, gateway, attachment.mac, lport, &owner);
                        out.flow(here, flow);
                    } else if let (Some(vni), Some(remote)) = (vpn.l3_vni, model.remote(*dpid, here)) {
                        out.flow(*dpid, flows::route_remote(id, address, gateway, vni, remote, &owner));
                    }
                }
            }
        }
    }
}

impl Renderer for Vpns {
    fn name(&self) -> &'static str {
        "vpn"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Vec<Key>) {
        touched_interfaces(touched, keys);
        keys.extend(touched.switches.iter().copied().map(Key::Switch));
        keys.extend(touched.vpn_spans.iter().cloned().map(|(vpn, dpid)| Key::VpnOnSwitch(vpn, dpid)));
        keys.extend(touched.gateways.iter().cloned().map(|(vpn, address)| Key::Gateway(vpn, address)));
        for name in vpns_respanned(touched, model) {
            interfaces_of_vpn(name, model, keys);
            model.exporters(name).into_iter().for_each(|other| interfaces_of_vpn(other, model, keys));
            gateways_of_vpn(name, model, keys);
            let members = model.vpn(name).into_iter().flat_map(|vpn| vpn.members.keys());
            keys.extend(members.map(|dpid| Key::VpnOnSwitch(name.clone(), *dpid)));
        }
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Interface(id) => self.interface(id, model, out),
            Key::VpnOnSwitch(name, dpid) => {
                let Some(vpn) = model.vpn(name).filter(|vpn| vpn.members.contains_key(dpid)) else { return };
                if let (Some(id), Some(gateway)) = (vpn.id, vpn.gateway_mac()) {
                    out.flow(*dpid, flows::gateway_mac(id, gateway, &Owner::new(name)));
                }
            }
            Key::Gateway(name, address) if model.is_gateway(name, *address) => {
                let Some(vpn) = model.vpn(name) else { return };
                if let Some(id) = vpn.id {
                    let echo = flows::echo(id, *address, &Owner::new(name));
                    out.shared_flow(vpn.members.keys().copied(), echo);
                }
            }
            Key::Switch(dpid) if model.switch(*dpid).is_some() => {
                let owner = Owner::new("switch");
                out.flow(*dpid, flows::arp_is_not_routed(&owner));
                for flow in flows::expired(&owner) {
                    out.flow(*dpid, flow);
                }
            }
            _ => {}
        }
    }
}
