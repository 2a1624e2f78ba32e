//! ARP answered by the switch. Tables 43 and 81.
//!
//! A request goes from 43 to 81. There the switch answers for the gateway and for every pod of the asker's VPN: with
//! the pod's own MAC within its ELAN, with the gateway's MAC otherwise (proxy: the packet will be routed). A pod that
//! asks for its own address hears no answer, so that duplicate detection works. For the pods of another switch that are
//! in its prefix, one flow answers. An endpoint of a service is answered whomever it asks for: a client of another namespace may
//! seem to be on its link. What nobody answers is flooded. On a
//! physical network (FLAT, VLAN) the switch answers for pods of the ELAN alone: the gateway and all others are outside.

mod flows;

use std::net::IpAddr;

use ipnetwork::IpNetwork;

use super::key::{answers_touched, floating_touched};
use super::recipes::floating_owner;
use super::{Key, Keys, Rendered, Renderer};
use crate::model::{InterfaceId, Model, NODE_VPN, Touched, gateway_mac};
use crate::pipeline::Owner;

/// The feature.
pub struct Arp;

impl Renderer for Arp {
    fn name(&self) -> &'static str {
        "arp"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        answers_touched(touched, model, keys);
        floating_touched(touched, keys);
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Interface(id) => interface(id, model, out),
            Key::Gateway(name, address) if model.is_gateway(name, *address) => {
                let IpAddr::V4(address) = address else { return };
                let Some(vpn) = model.vpn(name) else { return };
                if let (Some(id), Some(mac)) = (vpn.id, vpn.gateway_mac()) {
                    let answer = flows::answer_for_gateway(id, *address, mac, &Owner::new(name));
                    out.shared_flow(model.switches_of_gateway(name, IpAddr::V4(*address)), answer);
                }
            }
            Key::Prefix(name, to, share) => {
                let Some(vpn) = model.vpn(name).filter(|vpn| vpn.members.contains_key(to)) else { return };
                let Some(IpNetwork::V4(prefix)) = model.prefix(*to) else { return };
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
            Key::Floating(IpAddr::V4(address)) => {
                let Some(Ok(floating)) = model.outside(IpAddr::V4(*address)) else { return };
                for flow in flows::floating(&floating, *address, &floating_owner(IpAddr::V4(*address))) {
                    out.flow(floating.dpid, flow);
                }
            }
            Key::Endpoint(IpAddr::V4(address)) => {
                let Some(id) = model.server_at(IpAddr::V4(*address)) else { return };
                let plugged = model.interface(id).and_then(|interface| interface.plugged());
                let Some((identity, lport, attachment)) = plugged else { return };
                if let Some(gateway) = model.vpn_of(identity).and_then(|vpn| vpn.gateway_mac()) {
                    let owner = Owner::new(&identity.name);
                    let answer = flows::answer_endpoint(lport, *address, gateway, &owner);
                    out.flow(attachment.dpid, answer);
                }
            }
            Key::Switch(dpid) if model.switch(*dpid).is_some() => {
                out.flow(*dpid, flows::requests(&Owner::new("switch")));
                if model.node_port(*dpid).is_some() {
                    let owner = Owner::new("node port");
                    out.flow(*dpid, flows::answer_node(NODE_VPN, gateway_mac(NODE_VPN), &owner));
                }
            }
            _ => {}
        }
    }
}

/// Answers for one pod, wherever somebody of its VPN may ask.
fn interface(id: &InterfaceId, model: &Model, out: &mut Rendered) {
    let Some(interface) = model.interface(id) else { return };
    let Some((identity, lport, attachment)) = interface.plugged() else { return };
    let Some(elan) = model.elan(&identity.elan) else { return };
    let Some(tag) = elan.tag else { return };
    // Who is in an ELAN only is asked himself: his address is nobody else's business.
    let Some(vpn) = model.vpn_of(identity) else { return };
    let (Some(vpn_id), Some(gateway)) = (vpn.id, vpn.gateway_mac()) else { return };
    let owner = Owner::new(&identity.name);
    for (hop, _) in model.shared_hops(interface) {
        if let IpAddr::V4(hop) = hop {
            out.flow(attachment.dpid, flows::next_hop_answers(lport, hop, gateway, &owner));
        }
    }
    for address in &interface.addresses {
        let IpAddr::V4(address) = address.ip else { continue };
        out.flow(attachment.dpid, flows::own_address(lport, address, &owner));
        let own_elan = flows::answer_in_elan((tag, vpn_id), address, attachment.mac, &owner);
        out.shared_flow(elan.members.keys().copied(), own_elan);
        let proxy = flows::answer_as_proxy(vpn_id, address, gateway, &owner);
        let here = attachment.dpid;
        if model.is_covered(here, IpAddr::V4(address)) {
            out.flow(here, proxy);
        } else {
            out.shared_flow(vpn.members.keys().copied(), proxy);
        }
    }
}
