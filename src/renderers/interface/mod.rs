//! Ports become logical ports, and logical ports ports again.
//!
//! ```text
//! in_port ─► 0 lport ─► 208 anti-spoofing ─► 17 dispatcher ─► dhcp 60 · l3vpn 19 · elan 43        reg6 ─► 220 ─► output
//!            ├ sub-port, by its VLAN on a port that several share (as above)
//!            ├ tunnel port ─► 36
//!            ├ port to a physical network, by VLAN ─► 51; for a floating address ─► 25, 81
//!            └ the node's own port ─► 17
//! ```
//! Tables 0, 17 and 220; derived: `interfaces-state`, the services of table 17, the switches' inventory.

mod derive;
mod flows;
mod inventory;
mod services;
mod services_egress;

pub use derive::InterfaceStates;
pub(super) use flows::tagged_frames;
pub use inventory::Inventory;
pub use services::Services;
use services_egress::services_egress;

use super::key::touched_interfaces;
use super::{Key, Keys, Rendered, Renderer};
use crate::model::{Model, Touched};
use crate::pipeline::Owner;

/// The feature's flows.
pub struct Interfaces;

impl Renderer for Interfaces {
    fn name(&self) -> &'static str {
        "interface"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        touched_interfaces(touched, keys);
        keys.extend(touched.switches.iter().copied().map(Key::Switch));
        super::key::underlay_neighbours(touched, model, keys);
        super::key::floating_touched(touched, keys);
        for vpn in &touched.vpns {
            super::key::interfaces_of_vpn(vpn, model, keys);
        }
        for elan in &touched.elans {
            super::key::interfaces_of_elan(elan, model, keys);
        }
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Interface(id) => {
                let Some(interface) = model.interface(id) else { return };
                let Some((identity, lport, attachment)) = interface.plugged() else { return };
                let Some(elan) = model.elan(&identity.elan).and_then(|elan| elan.tag) else { return };
                let Some(vpn) = flows::routing(identity, model) else { return };
                let owner = Owner::new(&identity.name);
                let limits = interface.limits.as_deref().copied().unwrap_or_default();
                for limit in [limits.from_pod, limits.to_pod].into_iter().flatten() {
                    out.meter(attachment.dpid, flows::meter(limit, &owner));
                }
                out.flow(attachment.dpid, flows::ingress(attachment, lport, limits.from_pod, &owner));
                let extras = flows::Extras::of(interface, model);
                if extras.punts() || !model.shared_hops(interface).is_empty() {
                    out.meter(attachment.dpid, flows::punts(lport, &owner));
                }
                for flow in flows::dispatch(lport, elan, vpn, extras, &owner) {
                    out.flow(attachment.dpid, flow);
                }
                let leave = match attachment.vlan {
                    Some(vlan) => flows::egress_tagged(lport, attachment.ofport, vlan, limits.to_pod, &owner),
                    None => flows::egress(lport, attachment.ofport, limits.to_pod, &owner),
                };
                out.flow(attachment.dpid, leave);
                if extras.policed {
                    out.flow(attachment.dpid, flows::egress_policy(lport, elan, &owner));
                }
            }
            Key::Switch(dpid) => {
                if model.switch(*dpid).is_some() {
                    out.flow(*dpid, tagged_frames());
                    for flow in services_egress() {
                        out.flow(*dpid, flow);
                    }
                }
                for (lport, tunnel) in model.tunnel(*dpid).into_iter().chain(model.gre(*dpid)) {
                    let owner = Owner::new(format!("tunnel {dpid}"));
                    out.flow(*dpid, flows::tunnel_ingress(tunnel.ofport, lport, &owner));
                    out.flow(*dpid, flows::egress(lport, tunnel.ofport, None, &owner));
                }
                if let Some((lport, port)) = model.node_port(*dpid) {
                    let owner = Owner::new(format!("node port {dpid}"));
                    out.flow(*dpid, flows::node_ingress(port.ofport, lport, &owner));
                    for flow in flows::node_dispatch(lport, &owner) {
                        out.flow(*dpid, flow);
                    }
                    out.flow(*dpid, flows::egress(lport, port.ofport, None, &owner));
                }
                for (network, lport, ofport) in model.uplinks(*dpid) {
                    let owner = Owner::new(format!("physical network {network} {dpid}"));
                    out.flow(*dpid, flows::egress(lport, ofport, None, &owner));
                    out.flow(*dpid, flows::requests_from_outside(lport, &owner));
                    out.meter(*dpid, flows::outside_punts(lport, &owner));
                }
            }
            Key::Floating(address) => {
                let Some(Ok(floating)) = model.outside(*address) else { return };
                let dpid = floating.dpid;
                for flow in flows::for_floating(&floating, &super::recipes::floating_owner(*address)) {
                    out.flow(dpid, flow);
                }
            }
            Key::ElanOnSwitch(name, dpid) => {
                let Some(elan) = model.elan(name).filter(|elan| elan.members.contains_key(dpid)) else {
                    return;
                };
                if let (Some(tag), Some(Ok(uplink))) = (elan.tag, model.uplink(name, *dpid)) {
                    out.flow(*dpid, flows::from_outside(tag, &uplink, &Owner::new(name)));
                }
            }
            _ => {}
        }
    }
}
