//! `fibEntries` and `vpn-instance-op-data`: the routes of each VPN, and where its interfaces are.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ipnetwork::IpNetwork;

use super::super::key::{interfaces_of_vpn, touched_interfaces};
use super::super::nodes::{Build, InnerList, ListAt, Made, shared};
use super::super::{Key, Keys, Rendered, Renderer};
use crate::datastore::Store;
use crate::model::{Attachment, Interface, Model, Touched, Vpn};
use crate::net::VpnId;
use crate::schema::{List, Node, Schema, SchemaId, Text, Value};

/// `encap-type`: vxlan. Source: odl-fib.
const VXLAN: i32 = 1;
/// `origin` of a route to a pod: local; of one behind it: static. Source: netvirt, `RouteOrigin`.
const LOCAL: &str = "l";
const STATIC: &str = "s";

/// The feature's derived nodes that tell of routes.
pub struct Routes {
    tables: ListAt,
    entries: InnerList,
    local: Value,
    behind: Value,
    origin_leaf: SchemaId,
    encap_type: SchemaId,
    l3vni: SchemaId,
    gateway_mac: SchemaId,
    route_paths: InnerList,
    /// By endpoint.
    next_hops: Made<Ipv4Addr, (SchemaId, Node)>,
    vpns: ListAt,
    vpn_id: SchemaId,
    vpn_name: SchemaId,
    vpn_l3vni: SchemaId,
    ipv4_configured: SchemaId,
    ipv6_configured: SchemaId,
    switches: InnerList,
    interfaces: InnerList,
}

impl Routes {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> Routes {
        const TABLE: &str = "/odl-fib:fibEntries/vrfTables";
        const VPN: &str = "/odl-l3vpn:vpn-instance-op-data/vpn-instance-op-data-entry";
        let route = |leaf: &str| schema.resolve(&format!("{TABLE}/vrfEntry/{leaf}"));
        let vpn = |leaf: &str| schema.resolve(&format!("{VPN}/{leaf}"));
        Routes {
            tables: ListAt::new(schema, TABLE),
            entries: InnerList::new(schema, &format!("{TABLE}/vrfEntry")),
            local: Value::text(LOCAL),
            behind: Value::text(STATIC),
            origin_leaf: route("origin"),
            encap_type: route("encap-type"),
            l3vni: route("l3vni"),
            gateway_mac: route("gateway_mac_address"),
            route_paths: InnerList::new(schema, &format!("{TABLE}/vrfEntry/route-paths")),
            next_hops: Made::default(),
            vpns: ListAt::new(schema, VPN),
            vpn_id: vpn("vpn-id"),
            vpn_name: vpn("vpn-instance-name"),
            vpn_l3vni: vpn("l3vni"),
            ipv4_configured: vpn("ipv4-configured"),
            ipv6_configured: vpn("ipv6-configured"),
            switches: InnerList::new(schema, &format!("{VPN}/vpn-to-dpn-list")),
            interfaces: InnerList::new(schema, &format!("{VPN}/vpn-to-dpn-list/vpn-interfaces")),
        }
    }

    /// The VPN itself. What stands in it is rendered apart, and what may come late is a node of its own, so that
    /// it does not replace that.
    fn vpn(&self, name: &str, model: &Model, out: &mut Rendered) {
        let Some(vpn) = model.vpn(name) else { return };
        let (Some(VpnId(id)), Some(rd)) = (vpn.id, &vpn.rd) else { return };
        let rd = || Value::Text(rd.clone());
        let (path, build) = self.tables.entry([rd()]);
        out.node(Store::Config, path, build.node());
        let (path, build) = self.vpns.entry([rd()]);
        let l3vni = path.clone().child(self.vpn_l3vni);
        let ipv6_configured = path.clone().child(self.ipv6_configured);
        let node = build
            .leaf(self.vpn_id, Value::Uint(id.into()))
            .leaf(self.vpn_name, Value::text(name))
            .leaf(self.ipv4_configured, Value::Bool(true));
        out.node(Store::Operational, path, node.node());
        if !vpn.ipv6.is_empty() {
            out.node(Store::Operational, ipv6_configured, Node::Leaf(Value::Bool(true)));
        }
        if let Some(vni) = vpn.l3_vni {
            out.node(Store::Operational, l3vni, Node::Leaf(Value::Uint(vni.0.into())));
        }
    }

    fn interface(&self, interface: &Interface, model: &Model, out: &mut Rendered) {
        let Some((identity, _, attachment)) = interface.plugged() else { return };
        let (Some(name), Some(vpn)) = (&identity.vpn, model.vpn_of(identity)) else { return };
        let Some(rd) = vpn.rd.clone().map(Value::Text) else { return };
        let dpid = Value::Uint(attachment.dpid.0);
        let (path, _) = self.switches.entry(self.vpns.inner([rd.clone()]), [dpid]);
        let (path, build) = self.interfaces.entry(path, [Value::Text(identity.name.clone())]);
        out.node(Store::Operational, path, build.node());
        let importers: Vec<_> = model.importers(name).into_iter().collect();
        let own = interface.addresses.iter().map(|own| (IpNetwork::from(own.ip), &own.prefix, &self.local));
        let behind = interface.routes.iter().map(|route| (route.prefix, &route.text, &self.behind));
        for (destination, text, origin) in own.chain(behind) {
            // What several carry is told of once.
            let carriers =
                if interface.routes.is_empty() { Vec::new() } else { model.carriers(name, destination) };
            let attachments: Vec<&Attachment> = match &carriers[..] {
                [first, ..] if first.id != interface.id => continue,
                [_, _, ..] => carriers.iter().filter_map(|carrier| carrier.attachment.as_ref()).collect(),
                _ => vec![attachment],
            };
            let internet = interface.internet_of(destination).and_then(|name| model.vpn(name));
            for seen_in in [Some(vpn), internet].into_iter().flatten() {
                self.route((text, origin), seen_in, vpn, &attachments, model, out);
            }
            for importer in importers.iter().filter(|importer| model.sees(importer, name, destination)) {
                if let Some(importer) = model.vpn(importer) {
                    self.route((text, origin), importer, vpn, &attachments, model, out);
                }
            }
        }
    }

    /// A route of a VPN (its prefix and its origin), as another (or the same) sees it.
    fn route(
        &self,
        (prefix, origin): (&Text, &Value),
        seen_in: &Vpn,
        vpn: &Vpn,
        attachments: &[&Attachment],
        model: &Model,
        out: &mut Rendered,
    ) {
        let Some(rd) = seen_in.rd.clone().map(Value::Text) else { return };
        let prefix = Value::Text(prefix.clone());
        let (path, mut build) = self.entries.entry(self.tables.inner([rd]), [prefix]);
        build = build
            .leaf(self.origin_leaf, origin.clone())
            .leaf(self.encap_type, Value::Enum(VXLAN))
            .leaf_if(self.l3vni, vpn.l3_vni.map(|vni| Value::Uint(vni.0.into())))
            .text_if(self.gateway_mac, &seen_in.gateway_mac_text);
        let endpoint = |at: &&Attachment| model.switch(at.dpid)?.local_ip;
        let endpoints: BTreeSet<Ipv4Addr> = attachments.iter().filter_map(endpoint).collect();
        let mut endpoints = endpoints.into_iter();
        match (endpoints.next(), endpoints.len()) {
            (None, _) => {}
            (Some(endpoint), 0) => {
                let next_hop = self.next_hop(endpoint);
                build = build.shares([next_hop.0]).child(next_hop);
            }
            (Some(first), _) => {
                let all = [first].into_iter().chain(endpoints).take(List::FEW);
                let entry = |endpoint: Ipv4Addr| ([Value::text(endpoint.to_string())], |entry: Build| entry);
                build = build.child(self.route_paths.each(all.map(entry)));
            }
        }
        build = build.shares([self.origin_leaf, self.l3vni, self.gateway_mac]);
        out.node(Store::Config, path, build.node());
    }

    /// The next hop is the tunnel endpoint of the pod's node: all routes to a node alone share it.
    fn next_hop(&self, endpoint: Ipv4Addr) -> (SchemaId, Node) {
        let make = || shared(self.route_paths.only([Value::text(endpoint.to_string())], |next_hop| next_hop));
        self.next_hops.of(endpoint, make)
    }
}

impl Renderer for Routes {
    fn name(&self) -> &'static str {
        "vpn"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        touched_interfaces(touched, keys);
        keys.extend(touched.vpn_spans.iter().cloned().map(|(vpn, dpid)| Key::VpnOnSwitch(vpn, dpid)));
        for vpn in &touched.vpns {
            interfaces_of_vpn(vpn, model, keys);
            model.exporters(vpn).into_iter().for_each(|other| interfaces_of_vpn(other, model, keys));
            keys.insert(Key::Vpn(vpn.clone()));
            let members = model.vpn(vpn).into_iter().flat_map(|vpn| vpn.members.keys());
            keys.extend(members.map(|dpid| Key::VpnOnSwitch(vpn.clone(), *dpid)));
        }
        for dpid in &touched.switches {
            keys.extend(model.interfaces_on(*dpid).into_iter().flatten().cloned().map(Key::Interface));
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
            Key::VpnOnSwitch(name, dpid) => {
                let Some(vpn) = model.vpn(name).filter(|vpn| vpn.members.contains_key(dpid)) else { return };
                if let Some(rd) = vpn.rd.clone() {
                    let vpn = self.vpns.inner([Value::Text(rd)]);
                    let (path, build) = self.switches.entry(vpn, [Value::Uint(dpid.0)]);
                    out.node(Store::Operational, path, build.node());
                }
            }
            _ => {}
        }
    }
}
