//! `coeus-external:floating-addresses`: how far each floating address is; `odl-nat:napt-switches`: where pods of routers are translated.

use std::net::IpAddr;

use super::super::key::floating_touched;
use super::super::nodes::ListAt;
use super::super::{Key, Keys, Rendered, Renderer};
use crate::datastore::Store;
use crate::model::{Model, Outlet, Touched};
use crate::schema::{Schema, SchemaId, Value};

/// `state`, in the order of the model.
const PENDING: i32 = 0;
const DESIRED: i32 = 1;

/// The feature's derived nodes.
pub struct FloatingStates {
    address: ListAt,
    state: SchemaId,
    reason: SchemaId,
    network: SchemaId,
    subnet: SchemaId,
    port: SchemaId,
    internal: SchemaId,
    router: SchemaId,
    mac: SchemaId,
    switch: SchemaId,
    vpn_id: SchemaId,
    lport_tag: SchemaId,
    vlan_id: SchemaId,
    napt: ListAt,
    napt_dpid: SchemaId,
    napt_on: SchemaId,
}

impl FloatingStates {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> FloatingStates {
        const LIST: &str = "/coeus-external:floating-addresses/floating-address";
        const NAPT: &str = "/odl-nat:napt-switches/router-to-napt-switch";
        let leaf = |leaf: &str| schema.resolve(&format!("{LIST}/{leaf}"));
        FloatingStates {
            address: ListAt::new(schema, LIST),
            state: leaf("state"),
            reason: leaf("reason"),
            network: leaf("network-id"),
            subnet: leaf("subnet-id"),
            port: leaf("port-name"),
            internal: leaf("internal-ip"),
            router: leaf("router-name"),
            mac: leaf("mac-address"),
            switch: leaf("switch"),
            vpn_id: leaf("vpn-id"),
            lport_tag: leaf("lport-tag"),
            vlan_id: leaf("vlan-id"),
            napt: ListAt::new(schema, NAPT),
            napt_dpid: schema.resolve(&format!("{NAPT}/primary-switch-id")),
            napt_on: schema.resolve(&format!("{NAPT}/enable-snat")),
        }
    }

    /// The switch where pods of a router are translated: of several addresses, that of the first which is somewhere.
    fn napt_switch(&self, address: IpAddr, model: &Model, out: &mut Rendered) {
        let Some(name) = model.router_at(address) else { return };
        if let Some((first, dpid)) = model.napt_switch(name)
            && first == address
        {
            let (path, build) = self.napt.entry([Value::Text(name.clone())]);
            let build = build.leaf(self.napt_dpid, Value::Uint(dpid.0)).leaf(self.napt_on, Value::Bool(true));
            out.node(Store::Operational, path, build.node());
        }
    }

    fn address(&self, address: IpAddr, model: &Model, out: &mut Rendered) {
        let Some(found) = model.outside(address) else { return };
        let (path, build) = self.address.entry([Value::text(address.to_string())]);
        // What the pods of a node or a VPN share is no interface's.
        let wish = model.floating_wish(address);
        let build = build
            .leaf_if(self.port, wish.map(|(port, _)| Value::Text(port.clone())))
            .leaf_if(self.router, model.router_at(address).map(|name| Value::Text(name.clone())))
            .leaf_if(self.internal, wish.map(|(_, internal)| Value::text(internal.to_string())));
        let build = match found {
            Ok(floating) => build
                .leaf(self.state, Value::Enum(DESIRED))
                .leaf(self.network, Value::Text(model.network_behind(&floating.network).clone()))
                .leaf_if(self.subnet, subnet(&floating, model))
                .leaf(self.mac, Value::text(floating.mac.to_string()))
                .leaf(self.switch, Value::text(floating.dpid.to_string()))
                .leaf(self.vpn_id, Value::Uint(floating.outside.0.into()))
                .leaf(self.lport_tag, Value::Uint(floating.uplink.lport.0.into()))
                .leaf_if(self.vlan_id, floating.uplink.vlan.map(|id| Value::Uint(id.into()))),
            Err(reason) => {
                let state = build.leaf(self.state, Value::Enum(PENDING));
                state.leaf(self.reason, Value::text(reason.to_string()))
            }
        };
        out.node(Store::Operational, path, build.node());
    }
}

/// The further subnet that grants an address, unless the network itself does.
fn subnet(outlet: &Outlet, model: &Model) -> Option<Value> {
    let is_subnet = model.network_behind(&outlet.network) != &outlet.network;
    is_subnet.then(|| Value::Text(outlet.network.clone()))
}

impl Renderer for FloatingStates {
    fn name(&self) -> &'static str {
        "nat"
    }

    fn affected(&self, touched: &Touched, _: &Model, keys: &mut Keys) {
        floating_touched(touched, keys);
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        if let Key::Floating(address) = key {
            self.address(*address, model, out);
            self.napt_switch(*address, model, out);
        }
    }
}
