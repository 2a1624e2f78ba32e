//! `tunnels_state`: one entry a switch, since one flow-based port serves all remote switches.

use super::super::nodes::{Build, ListAt};
use super::super::{Key, Rendered, Renderer};
use crate::datastore::Store;
use crate::model::{Model, Touched, identity};
use crate::net::Dpid;
use crate::schema::{IdentityId, Schema, SchemaId, Value};

/// `oper-state`: up. Source: itm-state, `tunnel-oper-status`.
const UP: i32 = 0;

/// The feature's derived nodes.
pub struct TunnelStates {
    tunnel: ListAt,
    oper_state: SchemaId,
    src_info: SchemaId,
    tep_device_type: SchemaId,
    tep_device_id: SchemaId,
    tep_ip: SchemaId,
    transport_type: SchemaId,
    port_number: SchemaId,
    if_index: SchemaId,
    vxlan: Option<IdentityId>,
    internal: Option<IdentityId>,
}

impl TunnelStates {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> TunnelStates {
        let id = |leaf: &str| schema.resolve(&format!("/itm-state:tunnels_state/state-tunnel-list/{leaf}"));
        TunnelStates {
            tunnel: ListAt::new(schema, "/itm-state:tunnels_state/state-tunnel-list"),
            oper_state: id("oper-state"),
            src_info: id("src-info"),
            tep_device_type: id("src-info/tep-device-type"),
            tep_device_id: id("src-info/tep-device-id"),
            tep_ip: id("src-info/tep-ip"),
            transport_type: id("transport-type"),
            port_number: id("port-number"),
            if_index: id("if-index"),
            vxlan: identity(schema, "odl-interface", "tunnel-type-vxlan"),
            internal: identity(schema, "itm-state", "tep-type-internal"),
        }
    }

    /// The tunnel port of a switch, once it has one and an address.
    fn tunnel_state(&self, dpid: Dpid, model: &Model, out: &mut Rendered) {
        let Some((lport, port)) = model.tunnel(dpid) else { return };
        let Some(address) = model.switch(dpid).and_then(|switch| switch.local_ip) else { return };
        let (path, build) = self.tunnel.entry([Value::text(format!("{}:{}", dpid.node_id(), port.name))]);
        let source = Build::default()
            .leaf_if(self.tep_device_type, self.internal.map(Value::Identity))
            .leaf(self.tep_device_id, Value::text(dpid.0.to_string()))
            .leaf(self.tep_ip, Value::text(address.to_string()));
        let node = build
            .leaf(self.oper_state, Value::Enum(UP))
            .container(self.src_info, source)
            .leaf_if(self.transport_type, self.vxlan.map(Value::Identity))
            .leaf(self.port_number, Value::text(port.ofport.to_string()))
            .leaf(self.if_index, Value::Uint(lport.0.into()));
        out.node(Store::Operational, path, node.node());
    }
}

impl Renderer for TunnelStates {
    fn name(&self) -> &'static str {
        "tunnel"
    }

    fn affected(&self, touched: &Touched, _: &Model, keys: &mut Vec<Key>) {
        keys.extend(touched.switches.iter().copied().map(Key::Switch));
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        if let Key::Switch(dpid) = key {
            self.tunnel_state(*dpid, model, out);
        }
    }
}
