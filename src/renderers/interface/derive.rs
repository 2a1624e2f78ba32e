//! `interfaces-state` and the map from logical port tags to names.

use super::super::key::touched_interfaces;
use super::super::nodes::ListAt;
use super::super::{Key, Keys, Rendered, Renderer};
use crate::datastore::Store;
use crate::model::{Interface, Model, Touched, identity};
use crate::schema::{IdentityId, Schema, SchemaId, Text, Value};

/// `admin-status` and `oper-status`: up. Source: ietf-interfaces.
const UP: i32 = 0;

/// The feature's derived nodes.
pub struct InterfaceStates {
    state: ListAt,
    interface_type: SchemaId,
    admin_status: SchemaId,
    oper_status: SchemaId,
    if_index: SchemaId,
    phys_address: SchemaId,
    lower_layer_if: SchemaId,
    l2vlan: Option<IdentityId>,
    if_index_interface: ListAt,
    interface_name: SchemaId,
}

impl InterfaceStates {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> InterfaceStates {
        let id = |leaf: &str| schema.resolve(&format!("/ietf-interfaces:interfaces-state/interface/{leaf}"));
        InterfaceStates {
            state: ListAt::new(schema, "/ietf-interfaces:interfaces-state/interface"),
            interface_type: id("type"),
            admin_status: id("admin-status"),
            oper_status: id("oper-status"),
            if_index: id("if-index"),
            phys_address: id("phys-address"),
            lower_layer_if: id("lower-layer-if"),
            l2vlan: identity(schema, "iana-if-type", "l2vlan"),
            if_index_interface: ListAt::new(
                schema,
                "/odl-interface-meta:if-indexes-interface-map/if-index-interface",
            ),
            interface_name: schema
                .resolve("/odl-interface-meta:if-indexes-interface-map/if-index-interface/interface-name"),
        }
    }

    /// The interface is plugged in.
    fn state(&self, interface: &Interface, out: &mut Rendered) {
        let Some((identity, lport, attachment)) = interface.plugged() else { return };
        let name = |name: &Text| Value::Text(name.clone());
        let index = Value::Int(lport.0.into());
        let port = format!("{}:{}", attachment.dpid.node_id(), attachment.ofport);
        let (path, build) = self.state.entry([name(&identity.name)]);
        let node = build
            .leaf_if(self.interface_type, self.l2vlan.map(Value::Identity))
            .leaf(self.admin_status, Value::Enum(UP))
            .leaf(self.oper_status, Value::Enum(UP))
            .leaf(self.if_index, index.clone())
            .text_if(self.phys_address, &interface.mac_text)
            .leaf_list(self.lower_layer_if, [Value::text(port)]);
        out.node(Store::Operational, path, node.node());
        let (path, build) = self.if_index_interface.entry([index]);
        out.node(Store::Operational, path, build.leaf(self.interface_name, name(&identity.name)).node());
    }
}

impl Renderer for InterfaceStates {
    fn name(&self) -> &'static str {
        "interface"
    }

    fn affected(&self, touched: &Touched, _: &Model, keys: &mut Keys) {
        touched_interfaces(touched, keys);
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        let Key::Interface(id) = key else { return };
        if let Some(interface) = model.interface(id) {
            self.state(interface, out);
        }
    }
}
