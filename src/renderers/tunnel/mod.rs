//! What comes out of a tunnel: its VNI says which ELAN or which VPN it belongs to. Table 36.

mod derive;
mod flows;

pub use derive::TunnelStates;

use super::{Key, Keys, Rendered, Renderer};
use crate::model::{Model, Touched};
use crate::pipeline::Owner;

/// The feature's flows.
pub struct Tunnels;

impl Renderer for Tunnels {
    fn name(&self) -> &'static str {
        "tunnel"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        keys.extend(touched.elan_spans.iter().cloned().map(|(elan, dpid)| Key::ElanOnSwitch(elan, dpid)));
        keys.extend(touched.vpn_spans.iter().cloned().map(|(vpn, dpid)| Key::VpnOnSwitch(vpn, dpid)));
        keys.extend(touched.switches.iter().copied().map(Key::Switch));
        for name in &touched.elans {
            let members = model.elan(name).into_iter().flat_map(|elan| elan.members.keys());
            keys.extend(members.map(|dpid| Key::ElanOnSwitch(name.clone(), *dpid)));
        }
        for name in &touched.vpns {
            let members = model.vpn(name).into_iter().flat_map(|vpn| vpn.members.keys());
            keys.extend(members.map(|dpid| Key::VpnOnSwitch(name.clone(), *dpid)));
        }
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::ElanOnSwitch(name, dpid) => {
                let Some(elan) = model.elan(name).filter(|elan| elan.members.contains_key(dpid)) else {
                    return;
                };
                if let (Some(tag), Some(vni)) = (elan.tag, elan.vni) {
                    out.flow(*dpid, flows::into_elan(vni, tag, &Owner::new(name)));
                }
            }
            Key::VpnOnSwitch(name, dpid) => {
                let Some(vpn) = model.vpn(name).filter(|vpn| vpn.members.contains_key(dpid)) else { return };
                if let (Some(id), Some(vni)) = (vpn.id, vpn.l3_vni) {
                    out.flow(*dpid, flows::into_vpn(vni, id, &Owner::new(name)));
                }
            }
            Key::Switch(dpid) if model.tunnel(*dpid).is_some() => {
                for flow in flows::into_services(&Owner::new("services")) {
                    out.flow(*dpid, flow);
                }
            }
            _ => {}
        }
    }
}
