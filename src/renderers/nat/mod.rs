//! What pods send outside: their node's source address, by connection tracking. Tables 26, 44, 46 and 47.
//!
//! ```text
//! 21 no route ─► 26 a pod of this node ─► ct ─► 46 new: ct(commit, source) ─► 47 ─► 220 the node's own port
//! 21 to the source address ─► 44 ─► ct ─► 47 known ─► 21 in the VPN of nodes, to the pod
//! ```
//! One zone and one source address serve all VPNs of a switch: the way back is that of the node to its pods, so a pod
//! gets outside if its node reaches it.

mod flows;

use std::net::IpAddr;

use super::key::{nodes_touched, touched_interfaces};
use super::{Key, Rendered, Renderer};
use crate::model::{InterfaceId, Model, Touched};
use crate::pipeline::Owner;

/// The feature.
pub struct Nat;

impl Renderer for Nat {
    fn name(&self) -> &'static str {
        "nat"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Vec<Key>) {
        touched_interfaces(touched, keys);
        nodes_touched(touched, model, keys);
        for vpn in &touched.vpns {
            super::key::interfaces_of_vpn(vpn, model, keys);
        }
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Interface(id) => interface(id, model, out),
            Key::Switch(dpid) => {
                let Some((source, (lport, port))) = model.source_nat(*dpid).zip(model.node_port(*dpid))
                else {
                    return;
                };
                for flow in flows::of_switch(source, lport, port.mac, &Owner::new("source nat")) {
                    out.flow(*dpid, flow);
                }
            }
            _ => {}
        }
    }
}

/// A pod that its node reaches may send outside.
fn interface(id: &InterfaceId, model: &Model, out: &mut Rendered) {
    let Some(interface) = model.interface(id) else { return };
    let Some((identity, _, attachment)) = interface.plugged() else { return };
    let here = attachment.dpid;
    let vpn = model.vpn_of(identity).and_then(|vpn| vpn.id);
    let (Some(vpn), Some(_)) = (vpn, model.source_nat(here)) else { return };
    for address in interface.addresses.iter().map(|address| address.ip) {
        if let IpAddr::V4(source) = address
            && model.is_on_node(here, address, id)
        {
            out.flow(here, flows::of_pod(vpn, source, &Owner::new(&identity.name)));
        }
    }
}
