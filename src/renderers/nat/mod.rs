//! What pods send outside: with an address of their own there, or their node's source address, by connection tracking. Tables 25 to 28, 44, 46 and 47.
//!
//! ```text
//! 21 no route ─► 26 a pod of this node ─► ct ─► 46 new: ct(commit, source) ─► 47 ─► 220 the node's own port
//! 21 to the source address ─► 44 ─► ct ─► 47 known ─► 21 in the VPN of nodes, to the pod
//! ```
//! Pods with a floating address are reached there, too; both ways are flows, and nothing is tracked:
//! ```text
//! 0 for its MAC ─► 25 address ─► 27 ─► 21 to the pod
//! 21 no route ─► 26 address ─► 28 MAC ─► 21 in the VPN of the external network
//! ```
//! A service with ports has all its endpoints there:
//! ```text
//! 0 for its MAC ─► 25 address and port ─► ct ─► 31 as a pod's request
//! ```
//! Pods of a VPN that is a router share an address of it, at the switch that has that:
//! ```text
//! 21 no route ─► tunnel ─► 21 there ─► 26 a pod of the VPN ─► ct ─► 46 new: ct(commit, source) ─► 47 ─► 21 in the VPN of the external network
//! 0 for its MAC ─► 25 ─► 44 ─► ct ─► 47 known ─► 21 to the pod, wherever it is
//! ```
//! One zone and one source address serve all other VPNs of a switch: the way back is that of the node to its pods, so a pod
//! gets outside if its node reaches it. IPv6 goes the same ways; by an external network, if the node has an address there.

mod derive;
mod floating;
mod flows;
mod sources;

pub use derive::FloatingStates;
pub use sources::SourceStates;

use super::key::{floating_touched, nodes_touched, touched_interfaces};
use super::{Key, Keys, Rendered, Renderer};
use crate::model::{InterfaceId, Model, Source, Touched};
use crate::pipeline::Owner;

/// The feature.
pub struct Nat;

impl Renderer for Nat {
    fn name(&self) -> &'static str {
        "nat"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        touched_interfaces(touched, keys);
        nodes_touched(touched, model, keys);
        floating_touched(touched, keys);
        for vpn in &touched.vpns {
            super::key::interfaces_of_vpn(vpn, model, keys);
        }
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Interface(id) => interface(id, model, out),
            Key::Switch(dpid) => {
                let owner = Owner::new("source nat");
                let flows = match (model.source_nat(*dpid), model.node_port(*dpid)) {
                    (Some(Source::Outside(outlets)), _) => flows::by_network(&outlets, &owner),
                    (Some(Source::Node(sources)), Some((lport, port))) => {
                        flows::of_switch(sources, lport, port.mac, &owner)
                    }
                    _ => return,
                };
                flows.into_iter().for_each(|flow| out.flow(*dpid, flow));
            }
            Key::Floating(address) => {
                let Some(Ok(outlet)) = model.outside(*address) else { return };
                let service = model.balanced_at(*address);
                for port in service.into_iter().flat_map(|service| &service.ports) {
                    out.flow(outlet.dpid, floating::to_service(&outlet, port.transport, port.number));
                }
                match model.floating(*address) {
                    Some(Ok(found)) => {
                        floating::flows(&found).into_iter().for_each(|flow| out.flow(outlet.dpid, flow));
                    }
                    _ if service.is_some() => {}
                    _ => {
                        out.flow(outlet.dpid, floating::shared(&outlet));
                        if let Some(napt) = model.napt_of(*address) {
                            out.flow(outlet.dpid, floating::back(&napt));
                            flows::of_vpn(&napt).into_iter().for_each(|flow| out.flow(outlet.dpid, flow));
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

/// A pod of a VPN with addresses outside sends there with one of those, at the switch that has it; another, if its node reaches it,
/// with what its node has.
fn interface(id: &InterfaceId, model: &Model, out: &mut Rendered) {
    let Some(interface) = model.interface(id) else { return };
    let Some((identity, _, attachment)) = interface.plugged() else { return };
    let here = attachment.dpid;
    let Some(vpn) = model.vpn_of(identity).and_then(|vpn| vpn.id) else { return };
    let (owner, source) = (Owner::new(&identity.name), model.source_nat(here));
    for address in interface.addresses.iter().map(|address| address.ip) {
        let napt = identity.vpn.as_ref().and_then(|router| model.napt(router, here, address.is_ipv4()));
        if let Some(napt) = napt {
            out.flow(napt.outlet.dpid, flows::of_pod(vpn, address, napt.zone, &owner));
        } else if source.as_ref().is_some_and(|source| source.leads_out(address))
            && model.is_on_node(here, address, id)
        {
            out.flow(here, flows::of_pod(vpn, address, flows::ZONE, &owner));
        }
    }
}
