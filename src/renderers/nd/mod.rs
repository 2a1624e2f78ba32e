//! Neighbour discovery (RFC 4861) answered by the switch. Tables 45 and 82.
//!
//! ```text
//! 45 solicitation ─► type, flags, MAC ─► 82 addresses, option ─► 220 back to the asker
//!    router solicitation ─► controller (metered) ─► advertisement
//! ```
//! Who answers is as with ARP: the pod's own MAC within its ELAN, the gateway's for the gateway and for pods of other
//! ELANs; one flow answers for all in the prefix of another switch. A pod that asks for its own address hears no answer,
//! so that duplicate detection works; what nobody answers goes on through the dispatcher and is flooded. On a physical
//! network (FLAT, VLAN) the switch answers for pods of the ELAN alone, and routers are asked outside. An answer takes
//! two tables, because Open vSwitch sets the target's link-layer address only where the flow has matched the type of an
//! advertisement. For an address of an external network the one switch that has it answers; who asks and who answers there is told to
//! the controller.

mod flows;

use std::net::IpAddr;

use ipnetwork::IpNetwork;

use super::key::{answers_touched, floating_touched};
use super::recipes::floating_owner;
use super::{Key, Keys, Rendered, Renderer};
use crate::model::{InterfaceId, Model, NODE_VPN, Touched, gateway_mac};
use crate::pipeline::Owner;

/// The feature.
pub struct Nd;

impl Renderer for Nd {
    fn name(&self) -> &'static str {
        "nd"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        answers_touched(touched, model, keys);
        floating_touched(touched, keys);
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Interface(id) => interface(id, model, out),
            Key::Gateway(name, IpAddr::V6(address)) if model.is_gateway(name, IpAddr::V6(*address)) => {
                let Some(vpn) = model.vpn(name) else { return };
                if let (Some(id), Some(mac)) = (vpn.id, vpn.gateway_mac()) {
                    let answer = flows::answer_for_gateway(id, *address, mac, &Owner::new(name));
                    out.shared_flow(model.switches_of_gateway(name, IpAddr::V6(*address)), answer);
                }
            }
            Key::Prefix(name, to, share) => {
                let Some(vpn) = model.vpn(name).filter(|vpn| vpn.members.contains_key(to)) else { return };
                let Some(IpNetwork::V6(prefix)) = model.prefix(*to) else { return };
                if let (Some(id), Some(mac)) = (vpn.id, vpn.gateway_mac()) {
                    let answer = flows::answer_for_prefix(id, prefix, mac, &Owner::new(name));
                    out.shared_flow(vpn.share(*share).filter(|dpid| dpid != to), answer);
                }
            }
            Key::ElanOnSwitch(name, dpid) => {
                let elan = model.elan(name).filter(|elan| elan.members.contains_key(dpid));
                if let Some(tag) = elan.filter(|elan| elan.segment().is_physical()).and_then(|elan| elan.tag)
                {
                    out.flow(*dpid, flows::on_the_wire(tag, &Owner::new(name)));
                }
            }
            Key::Floating(IpAddr::V6(address)) => {
                let Some(Ok(floating)) = model.outside(IpAddr::V6(*address)) else { return };
                for flow in flows::floating(&floating, *address, &floating_owner(IpAddr::V6(*address))) {
                    out.flow(floating.dpid, flow);
                }
            }
            Key::Endpoint(IpAddr::V6(address)) => {
                let Some(id) = model.server_at(IpAddr::V6(*address)) else { return };
                let plugged = model.interface(id).and_then(|interface| interface.plugged());
                let Some((identity, lport, attachment)) = plugged else { return };
                if let Some(gateway) = model.vpn_of(identity).and_then(|vpn| vpn.gateway_mac()) {
                    let owner = Owner::new(&identity.name);
                    let answer = flows::answer_endpoint(lport, *address, gateway, &owner);
                    out.flow(attachment.dpid, answer);
                }
            }
            Key::Switch(dpid) if model.switch(*dpid).is_some() => {
                if model.node_port(*dpid).is_some() {
                    let owner = Owner::new("node port");
                    for flow in flows::answer_node(NODE_VPN, gateway_mac(NODE_VPN), &owner) {
                        out.flow(*dpid, flow);
                    }
                }
                for flow in flows::responder(&Owner::new("switch")) {
                    out.flow(*dpid, flow);
                }
            }
            _ => {}
        }
    }
}

/// Answers for one pod, wherever somebody of its VPN may ask, and its own questions.
fn interface(id: &InterfaceId, model: &Model, out: &mut Rendered) {
    let Some(interface) = model.interface(id).filter(|interface| interface.has_ipv6()) else { return };
    let Some((identity, lport, attachment)) = interface.plugged() else { return };
    let Some(elan) = model.elan(&identity.elan) else { return };
    let Some(tag) = elan.tag else { return };
    // Who is in an ELAN only is asked himself: his address is nobody else's business.
    let Some(vpn) = model.vpn_of(identity) else { return };
    let (Some(vpn_id), Some(gateway)) = (vpn.id, vpn.gateway_mac()) else { return };
    let owner = Owner::new(&identity.name);
    // On a physical network the routers are outside.
    if !elan.segment().is_physical() {
        out.flow(attachment.dpid, flows::solicitation(lport, &owner));
    }
    for (hop, _) in model.shared_hops(interface) {
        if let IpAddr::V6(hop) = hop {
            out.flow(attachment.dpid, flows::next_hop_answers(lport, hop, &owner));
        }
    }
    for address in &interface.addresses {
        let IpAddr::V6(address) = address.ip else { continue };
        out.flow(attachment.dpid, flows::own_address(lport, address, &owner));
        let own_elan = flows::answer_in_elan((tag, vpn_id), address, attachment.mac, &owner);
        out.shared_flow(elan.members.keys().copied(), own_elan);
        let proxy = flows::answer_as_proxy(vpn_id, address, gateway, &owner);
        let here = attachment.dpid;
        if model.is_covered(here, IpAddr::V6(address)) {
            out.flow(here, proxy);
        } else {
            out.shared_flow(vpn.members.keys().copied(), proxy);
        }
    }
}
