//! `prefix-to-interface` and `vpn-interface-op-data`.

use std::net::IpAddr;

use super::super::key::{interfaces_of_vpn, touched_interfaces};
use super::super::nodes::{Build, InnerList, ListAt};
use super::super::{Key, Keys, Rendered, Renderer};
use crate::datastore::Store;
use crate::model::{Interface, Model, Touched};
use crate::net::VpnId;
use crate::schema::{Schema, SchemaId, Text, Value};

/// `adjacency_type`. Source: odl-l3vpn.
const PRIMARY_ADJACENCY: i32 = 0;
const EXTRA_ROUTE: i32 = 2;

/// The feature's derived nodes.
pub struct Prefixes {
    vpn_ids: ListAt,
    prefixes: InnerList,
    prefix_dpn: SchemaId,
    prefix_interface: SchemaId,
    op_data: ListAt,
    op_data_vpn: SchemaId,
    dpn_id: SchemaId,
    gateway_mac: SchemaId,
    lport_tag: SchemaId,
    adjacency: InnerList,
    adjacency_mac: SchemaId,
    adjacency_type: SchemaId,
    adjacency_gateway: SchemaId,
    next_hops: SchemaId,
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
            op_data_vpn: op_data("vpn-instance-name"),
            dpn_id: op_data("dpn-id"),
            gateway_mac: op_data("gateway-mac-address"),
            lport_tag: op_data("lport-tag"),
            adjacency: InnerList::new(schema, &format!("{OP_DATA}/adjacency")),
            adjacency_mac: op_data("adjacency/mac_address"),
            adjacency_type: op_data("adjacency/adjacency_type"),
            adjacency_gateway: op_data("adjacency/subnet_gateway_ip"),
            next_hops: op_data("adjacency/next-hop-ip-list"),
        }
    }

    /// The entry that holds a VPN's prefixes.
    fn vpn(&self, name: &str, model: &Model, out: &mut Rendered) {
        if let Some(VpnId(id)) = model.vpn(name).and_then(|vpn| vpn.id) {
            let (path, build) = self.vpn_ids.entry([Value::Uint(id.into())]);
            out.node(Store::Operational, path, build.node());
        }
    }

    /// Which interface an address of a VPN belongs to, where that is, and who its router is.
    fn interface(&self, interface: &Interface, model: &Model, out: &mut Rendered) {
        let Some((identity, lport, attachment)) = interface.plugged() else { return };
        if interface.addresses.is_empty() {
            return;
        }
        let (Some(name_of_vpn), Some(vpn)) = (&identity.vpn, model.vpn_of(identity)) else { return };
        let Some(VpnId(id)) = vpn.id else { return };
        let name = || Value::Text(identity.name.clone());
        let dpid = || Value::Uint(attachment.dpid.0);
        let prefixes = self.vpn_ids.inner([Value::Uint(id.into())]);
        for address in &interface.addresses {
            let prefix = Value::Text(address.prefix.clone());
            let (path, build) = self.prefixes.entry(prefixes.clone(), [prefix]);
            let node = build.leaf(self.prefix_dpn, dpid()).leaf(self.prefix_interface, name());
            let node = node.shares([self.prefix_dpn]);
            out.node(Store::Operational, path, node.node());
        }
        let (path, build) = self.op_data.entry([name(), Value::Text(name_of_vpn.clone())]);
        let adjacency = |kind: i32, gateway: &Option<Text>, next_hops: &[IpAddr]| {
            Build::default()
                .text_if(self.adjacency_mac, &interface.mac_text)
                .leaf(self.adjacency_type, Value::Enum(kind))
                .text_if(self.adjacency_gateway, gateway)
                .shares([self.adjacency_gateway])
                .leaf_list(self.next_hops, next_hops.iter().map(|hop| Value::text(hop.to_string())))
        };
        let own = interface.addresses.iter();
        let own = own.map(|own| (&own.prefix, adjacency(PRIMARY_ADJACENCY, &own.gateway_text, &[])));
        let behind = interface.routes.iter();
        let behind = behind.map(|route| (&route.text, adjacency(EXTRA_ROUTE, &None, &route.next_hops)));
        let adjacency = self.adjacency.each(own.chain(behind).map(|(prefix, content)| {
            ([Value::Text(prefix.clone())], move |entry: Build| entry.with(content))
        }));
        let node = build
            .leaf(self.dpn_id, dpid())
            .text_if(self.gateway_mac, &vpn.gateway_mac_text)
            .leaf(self.lport_tag, Value::Uint(lport.0.into()))
            .child(adjacency)
            .shares([self.op_data_vpn, self.dpn_id, self.gateway_mac]);
        out.node(Store::Operational, path, node.node());
    }
}

impl Renderer for Prefixes {
    fn name(&self) -> &'static str {
        "vpn"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        touched_interfaces(touched, keys);
        for vpn in &touched.vpns {
            interfaces_of_vpn(vpn, model, keys);
            keys.insert(Key::Vpn(vpn.clone()));
        }
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Interface(id) => {
                if let Some(interface) = model.interface(id) {
                    self.interface(interface, model, out);
                }
            }
            Key::Vpn(name) => self.vpn(name, model, out),
            _ => {}
        }
    }
}
