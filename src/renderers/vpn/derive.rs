//! `prefix-to-interface` and `vpn-interface-op-data`.

use std::net::Ipv4Addr;

use super::super::key::{interfaces_of_vpn, touched_interfaces};
use super::super::nodes::{InnerList, ListAt};
use super::super::{Key, Rendered, Renderer};
use crate::datastore::Store;
use crate::model::{Attachment, Identity, Interface, Model, Touched};
use crate::net::{LportTag, MacAddr, VpnId};
use crate::schema::{Schema, SchemaId, Value};

/// `adjacency_type`: primary-adjacency. Source: odl-l3vpn.
const PRIMARY_ADJACENCY: i32 = 0;

/// The feature's derived nodes.
pub struct Prefixes {
    vpn_ids: ListAt,
    prefixes: InnerList,
    prefix_dpn: SchemaId,
    prefix_interface: SchemaId,
    op_data: ListAt,
    dpn_id: SchemaId,
    gateway_mac: SchemaId,
    lport_tag: SchemaId,
    adjacency: InnerList,
    adjacency_mac: SchemaId,
    adjacency_type: SchemaId,
    adjacency_gateway: SchemaId,
}

impl Prefixes {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> Prefixes {
        const PREFIXES: &str = "/odl-l3vpn:prefix-to-interface/vpn-ids/prefixes";
        const OP_DATA: &str = "/odl-l3vpn:vpn-interface-op-data/vpn-interface-op-data-entry";
        let prefix = |leaf: &str| schema.resolve(&format!("{PREFIXES}/{leaf}"));
        let op_data = |leaf: &str| schema.resolve(&format!("{OP_DATA}/{leaf}"));
        Prefixes {
            vpn_ids: ListAt::new(schema, "/odl-l3vpn:prefix-to-interface/vpn-ids"),
            prefixes: InnerList::new(schema, PREFIXES),
            prefix_dpn: prefix("dpnId"),
            prefix_interface: prefix("vpn-interface-name"),
            op_data: ListAt::new(schema, OP_DATA),
            dpn_id: op_data("dpn-id"),
            gateway_mac: op_data("gateway-mac-address"),
            lport_tag: op_data("lport-tag"),
            adjacency: InnerList::new(schema, &format!("{OP_DATA}/adjacency")),
            adjacency_mac: op_data("adjacency/mac_address"),
            adjacency_type: op_data("adjacency/adjacency_type"),
            adjacency_gateway: op_data("adjacency/subnet_gateway_ip"),
        }
    }

    /// The entry that holds a VPN's prefixes.
    fn vpn(&self, name: &str, model: &Model, out: &mut Rendered) {
        if let Some(VpnId(id)) = model.vpn(name).and_then(|vpn| vpn.id) {
            let (path, build) = self.vpn_ids.entry([Value::Uint(id.into())]);
            out.node(Store::Operational, path, build.node());
        }
    }

    /// Which interface an address of a VPN belongs to.
    fn prefix(
        &self,
        vpn: VpnId,
        address: Ipv4Addr,
        identity: &Identity,
        attachment: &Attachment,
        out: &mut Rendered,
    ) {
        let vpn = self.vpn_ids.inner([Value::Uint(vpn.0.into())]);
        let (path, build) = self.prefixes.entry(vpn, [prefix(address)]);
        let node = build
            .leaf(self.prefix_dpn, Value::Uint(attachment.dpid.0))
            .leaf(self.prefix_interface, Value::Text(identity.name.clone()));
        out.node(Store::Operational, path, node.node());
    }

    /// Where an interface is, and who its router is.
    fn interface(
        &self,
        interface: &Interface,
        identity: &Identity,
        lport: LportTag,
        attachment: &Attachment,
        gateway_mac: MacAddr,
        out: &mut Rendered,
    ) {
        let key = [Value::Text(identity.name.clone()), Value::Text(identity.vpn.clone())];
        let (path, mut build) = self.op_data.entry(key);
        build = build
            .leaf(self.dpn_id, Value::Uint(attachment.dpid.0))
            .leaf(self.gateway_mac, Value::text(gateway_mac.to_string()))
            .leaf(self.lport_tag, Value::Uint(lport.0.into()));
        if let Some(address) = interface.address {
            let gateway = interface.gateway.map(|gateway| Value::text(gateway.address.to_string()));
            build = build.child(self.adjacency.only([prefix(address)], |entry| {
                entry
                    .leaf(self.adjacency_mac, Value::text(attachment.mac.to_string()))
                    .leaf(self.adjacency_type, Value::Enum(PRIMARY_ADJACENCY))
                    .leaf_if(self.adjacency_gateway, gateway)
            }));
        }
        out.node(Store::Operational, path, build.node());
    }
}

impl Renderer for Prefixes {
    fn name(&self) -> &'static str {
        "vpn"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Vec<Key>) {
        touched_interfaces(touched, keys);
        for vpn in &touched.vpns {
            interfaces_of_vpn(vpn, model, keys);
            keys.push(Key::Vpn(vpn.clone()));
        }
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        let id = match key {
            Key::Interface(id) => id,
            Key::Vpn(name) => return self.vpn(name, model, out),
            _ => return,
        };
        let Some(interface) = model.interface(id) else { return };
        let (Some((identity, lport, attachment)), Some(address)) = (interface.plugged(), interface.address)
        else {
            return;
        };
        let Some(vpn) = model.vpn(&identity.vpn) else { return };
        if let (Some(id), Some(gateway)) = (vpn.id, vpn.gateway_mac()) {
            self.prefix(id, address, identity, attachment, out);
            self.interface(interface, identity, lport, attachment, gateway, out);
        }
    }
}

fn prefix(address: Ipv4Addr) -> Value {
    Value::text(format!("{address}/32"))
}
