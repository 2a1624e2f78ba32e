//! DHCP requests of ports that an allocation pool serves come to the controller, metered. Table 60.

mod flows;

use super::key::touched_interfaces;
use super::{Key, Keys, Rendered, Renderer};
use crate::model::{Model, Touched};
use crate::pipeline::Owner;

/// The feature.
pub struct Dhcp;

impl Renderer for Dhcp {
    fn name(&self) -> &'static str {
        "dhcp"
    }

    fn affected(&self, touched: &Touched, _: &Model, keys: &mut Keys) {
        touched_interfaces(touched, keys);
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        let Key::Interface(id) = key else { return };
        let Some(interface) = model.interface(id) else { return };
        let Some((identity, lport, attachment)) = interface.plugged() else { return };
        let owner = Owner::new(&identity.name);
        if interface.dhcp {
            out.flow(attachment.dpid, flows::punt(lport, &owner));
        }
        if interface.dhcp_v6 {
            out.flow(attachment.dpid, flows::punt_v6(lport, &owner));
        }
        if interface.dhcp && interface.relays {
            out.flow(attachment.dpid, flows::punt_relayed(lport, &owner));
        }
    }
}
