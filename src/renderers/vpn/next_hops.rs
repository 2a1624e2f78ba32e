//! `coeus-next-hop:next-hops`: who shares a route, and whether he answers.

use super::super::key::touched_interfaces;
use super::super::nodes::ListAt;
use super::super::{Key, Keys, Rendered, Renderer};
use crate::datastore::Store;
use crate::model::{Model, Touched};
use crate::schema::{Schema, SchemaId, Value};

/// `state`, in the order of the model.
const ANSWERING: i32 = 0;
const SILENT: i32 = 1;

/// The feature's derived nodes that tell of next hops.
pub struct NextHopStates {
    next_hop: ListAt,
    state: SchemaId,
    route: SchemaId,
    vpn: SchemaId,
    switch: SchemaId,
    lport_tag: SchemaId,
    asker_address: SchemaId,
    asker_mac: SchemaId,
}

impl NextHopStates {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> NextHopStates {
        const LIST: &str = "/coeus-next-hop:next-hops/next-hop";
        let leaf = |leaf: &str| schema.resolve(&format!("{LIST}/{leaf}"));
        NextHopStates {
            next_hop: ListAt::new(schema, LIST),
            state: leaf("state"),
            route: leaf("route"),
            vpn: leaf("vpn-instance-name"),
            switch: leaf("switch"),
            lport_tag: leaf("lport-tag"),
            asker_address: leaf("asker-address"),
            asker_mac: leaf("asker-mac"),
        }
    }
}

impl Renderer for NextHopStates {
    fn name(&self) -> &'static str {
        "vpn"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        touched_interfaces(touched, keys);
        for name in &touched.vpns {
            super::super::key::interfaces_of_vpn(name, model, keys);
        }
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        let Key::Interface(id) = key else { return };
        let Some(interface) = model.interface(id).filter(|interface| !interface.routes.is_empty()) else {
            return;
        };
        let Some((identity, lport, attachment)) = interface.plugged() else { return };
        let Some(gateway) = model.vpn_of(identity).and_then(|vpn| vpn.gateway_mac()) else { return };
        for (address, routes) in model.shared_hops(interface) {
            let key = [Value::Text(identity.name.clone()), Value::text(address.to_string())];
            let (path, build) = self.next_hop.entry(key);
            let silent = model.is_silent_hop(&identity.name, address);
            let asker = interface.asker_of(address);
            let build = build
                .leaf(self.state, Value::Enum(if silent { SILENT } else { ANSWERING }))
                .leaf_list(self.route, routes.iter().map(|route| Value::text(route.to_string())))
                .leaf_if(self.vpn, identity.vpn.clone().map(Value::Text))
                .leaf(self.switch, Value::text(attachment.dpid.to_string()))
                .leaf(self.lport_tag, Value::Uint(lport.0.into()))
                .leaf_if(self.asker_address, asker.map(|asker| Value::text(asker.to_string())))
                .leaf(self.asker_mac, Value::text(gateway.to_string()));
            out.node(Store::Operational, path, build.node());
        }
    }
}
