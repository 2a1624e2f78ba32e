//! What a pod may not send is dropped before anything else, always. Tables 208, 209 and 210.
//!
//! ```text
//! 0 ─► 208 forbidden protocols, source MAC ─► 209 who ARP and neighbour discovery speak of ─► 210 source address ─► 17
//! ```
//! A port's own flows say what it may send; what is left is dropped by one flow a class that all ports of the switch
//! share, so that its counter is the class's. Frames with a VLAN tag end in table 0 already.

mod classes;
mod flows;

use std::net::IpAddr;

use super::key::touched_interfaces;
use super::{Key, Keys, Rendered, Renderer};
use crate::model::{InterfaceId, Model, Touched};
use crate::pipeline::{Flow, Owner};

/// The feature.
pub struct Antispoof;

impl Renderer for Antispoof {
    fn name(&self) -> &'static str {
        "antispoof"
    }

    fn affected(&self, touched: &Touched, _: &Model, keys: &mut Keys) {
        touched_interfaces(touched, keys);
        keys.extend(touched.switches.iter().copied().map(Key::Switch));
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Interface(id) => interface(id, model, out),
            Key::Switch(dpid) if model.switch(*dpid).is_some() => {
                for flow in shared() {
                    out.flow(*dpid, flow);
                }
            }
            _ => {}
        }
    }
}

/// What every switch has, for all its ports together.
pub(super) fn shared() -> Vec<Flow> {
    flows::of_switch()
}

fn interface(id: &InterfaceId, model: &Model, out: &mut Rendered) {
    let Some(interface) = model.interface(id) else { return };
    let Some((identity, lport, attachment)) = interface.plugged() else { return };
    let owner = Owner::new(&identity.name);
    let ipv6 = interface.has_ipv6();
    let any_address = identity.vpn.is_none() && interface.addresses.is_empty();
    let mut own = flows::of_mac(lport, attachment.mac, ipv6 || any_address, &owner);
    let link_local = ipv6.then(|| IpAddr::V6(flows::link_local(attachment.mac)));
    for address in interface.addresses.iter().map(|address| address.ip).chain(link_local) {
        own.extend(flows::of_address(lport, address, &owner));
    }
    for route in &interface.routes {
        own.extend(flows::of_route(lport, route.prefix, &owner));
    }
    if any_address {
        own.extend(flows::of_any_address(lport, &owner));
    }
    if interface.dhcp {
        own.push(flows::of_dhcp(lport, &owner));
    }
    for flow in own {
        out.flow(attachment.dpid, flow);
    }
}
