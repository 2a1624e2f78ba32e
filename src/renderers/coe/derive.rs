//! The derived nodes, one function for each kind of key.

use super::super::Rendered;
use super::super::nodes::{Build, shared};
use super::Coe;
use crate::datastore::Store;
use crate::model::{Address, Identity, Interface, InterfaceId, Model, NetworkType};
use crate::net::{Dpid, VpnId};
use crate::schema::{Text, Value};

/// `l2vlan-mode`: trunk. Source: odl-interface.
const TRUNK: i32 = 3;
/// The same: trunk-member.
const TRUNK_MEMBER: i32 = 4;
/// `type` of a VPN instance: l3. Source: l3vpn.
const L3: i32 = 0;
/// `associated-subnet-type`. Source: l3vpn.
const V4_SUBNET: i32 = 0;
const V6_SUBNET: i32 = 1;
const V4_AND_V6_SUBNETS: i32 = 3;
/// `adjacency_type`: primary-adjacency. Source: odl-l3vpn.
const PRIMARY_ADJACENCY: i32 = 0;

impl Coe {
    /// A pod without interfaces has nothing else to carry its status.
    pub(super) fn pod(&self, uid: &str, model: &Model, out: &mut Rendered) {
        if let Some(pod) = model.pod(uid)
            && pod.interfaces.is_empty()
        {
            self.status.bare_pod(pod, out);
        }
    }

    pub(super) fn interface(&self, id: &InterfaceId, model: &Model, out: &mut Rendered) {
        let Some(interface) = model.interface(id) else { return };
        self.status.interface(model, interface, out);
        // What was written by hand is there already.
        let Some(identity) = interface.identity.as_ref().filter(|_| !id.is_hand_made()) else { return };
        self.ietf_interface(interface, identity, out);
        self.elan_interface(interface, identity, out);
        self.vpn_interface(interface, identity, out);
        let (path, build) = self.names.pod_identifier.entry([text(&identity.name)]);
        let pod = format!("/pod:coe/pods[uid='{}']", id.pod);
        out.node(Store::Operational, path, build.leaf(self.names.pod_uuid, Value::text(pod)).node());
    }

    fn ietf_interface(&self, interface: &Interface, identity: &Identity, out: &mut Rendered) {
        let names = &self.names;
        let (path, build) = names.interface.entry([text(&identity.name)]);
        let port = interface.attachment.as_ref().map(|attachment| text(&attachment.port));
        let vlan = interface.attachment.as_ref().and_then(|attachment| attachment.vlan);
        let mode = if vlan.is_some() { TRUNK_MEMBER } else { TRUNK };
        let node = build
            .leaf_if(names.interface_type, names.l2vlan.map(Value::Identity))
            .leaf(names.enabled, Value::Bool(true))
            .leaf(names.l2vlan_mode, Value::Enum(mode))
            .leaf_if(names.parent_interface, port)
            .leaf_if(names.vlan_id, vlan.map(|id| Value::Uint(id.into())));
        out.node(Store::Config, path, node.node());
    }

    fn elan_interface(&self, interface: &Interface, identity: &Identity, out: &mut Rendered) {
        let names = &self.names;
        let (path, mut build) = names.elan_interface.entry([text(&identity.name)]);
        build = build.leaf(names.elan_instance_name, text(&identity.elan)).shares([names.elan_instance_name]);
        if let Some(mac) = &interface.mac_text {
            let address = interface.first_address().map(|address| text(&address.text));
            let entry = |entry: Build| entry.leaf_if(names.ip_prefix, address);
            build = build.child(names.static_mac_entries.only([text(mac)], entry));
        }
        out.node(Store::Config, path, build.node());
    }

    fn vpn_interface(&self, interface: &Interface, identity: &Identity, out: &mut Rendered) {
        let names = &self.names;
        let Some(vpn) = &identity.vpn else { return };
        let (path, mut build) = names.vpn_interface.entry([text(&identity.name)]);
        let ipv4 = interface.addresses.iter().any(|address| address.ip.is_ipv4());
        let ipv6 = interface.addresses.iter().any(|address| address.ip.is_ipv6());
        let subnet_type = match (ipv4, ipv6) {
            (_, false) => V4_SUBNET,
            (false, true) => V6_SUBNET,
            (true, true) => V4_AND_V6_SUBNETS,
        };
        let membership = || {
            let fill = |entry: Build| entry.leaf(names.associated_subnet_type, Value::Enum(subnet_type));
            shared(names.vpn_instance_names.only([text(vpn)], fill))
        };
        let membership = self.memberships.of((vpn.clone(), subnet_type), membership);
        build = build
            .shares([membership.0, names.vpn_interface_dpn])
            .child(membership)
            .leaf(names.router_interface, Value::Bool(false));
        if let Some(attachment) = &interface.attachment {
            let Dpid(dpid) = attachment.dpid;
            build = build.leaf(names.vpn_interface_dpn, Value::Uint(dpid));
        }
        let adjacency = |address: &Address| {
            let (mac, gateway) = (interface.mac_text.clone(), address.gateway_text.clone());
            let fill = move |entry: Build| {
                entry
                    .text_if(names.adjacency_mac, &mac)
                    .leaf(names.adjacency_type, Value::Enum(PRIMARY_ADJACENCY))
                    .text_if(names.subnet_gateway_ip, &gateway)
                    .shares([names.subnet_gateway_ip])
            };
            ([text(&address.prefix)], fill)
        };
        if !interface.addresses.is_empty() {
            build = build.child(names.adjacency.each(interface.addresses.iter().map(adjacency)));
        }
        out.node(Store::Config, path, build.node());
    }

    pub(super) fn elan(&self, name: &Text, model: &Model, out: &mut Rendered) {
        let names = &self.names;
        let Some(elan) = model.elan(name) else { return };
        let segment = elan.segment();
        let segment_type = match segment.kind {
            NetworkType::Flat => names.segment_types[0],
            NetworkType::Vlan => names.segment_types[1],
            NetworkType::Vxlan => names.segment_types[2],
            NetworkType::Gre => names.segment_types[3],
        };
        let vni = elan.vni.map(|vni| vni.0);
        let segmentation_id = if segment.is_physical() { segment.id } else { vni };
        let tag = elan.tag.map(|tag| Value::Uint(tag.0.into()));
        let (path, build) = names.elan_instance.entry([text(name)]);
        let node = build
            .leaf_if(names.elan_tag, tag.clone())
            .leaf_if(names.segment_type, segment_type.map(Value::Identity))
            .leaf_if(names.segmentation_id, segmentation_id.map(|id| Value::Uint(id.into())))
            .leaf(names.external, Value::Bool(false));
        out.node(Store::Config, path, node.node());
        let (path, build) = names.elan_state.entry([text(name)]);
        out.node(Store::Operational, path, build.node());
        if let Some(tag) = tag {
            let (path, build) = names.elan_tag_name.entry([tag]);
            out.node(Store::Operational, path, build.leaf(names.elan_tag_name_name, text(name)).node());
        }
    }

    pub(super) fn vpn(&self, name: &Text, model: &Model, out: &mut Rendered) {
        let names = &self.names;
        let Some(vpn) = model.vpn(name) else { return };
        let distinguisher = vpn.rd.clone().map(Value::Text);
        let (path, build) = names.vpn_instance.entry([text(name)]);
        let family = Build::default().leaf_list(names.route_distinguisher, distinguisher.clone());
        let family6 = Build::default().leaf_list(names.ipv6_route_distinguisher, distinguisher.clone());
        let node = build
            .leaf(names.vpn_type, Value::Enum(L3))
            .leaf_if(names.l3vni, vpn.l3_vni.map(|vni| Value::Uint(vni.0.into())))
            .container(names.ipv4_family, family);
        let node = if vpn.ipv6.is_empty() { node } else { node.container(names.ipv6_family, family6) };
        out.node(Store::Config, path, node.node());
        let (Some(VpnId(id)), Some(distinguisher)) = (vpn.id, distinguisher) else { return };
        let (path, build) = names.name_to_vpn_id.entry([text(name)]);
        let node = build
            .leaf(names.name_to_vpn_id_id, Value::Uint(id.into()))
            .leaf(names.name_to_vpn_id_vrf, distinguisher.clone());
        out.node(Store::Config, path, node.node());
        let (path, build) = names.vpn_id_to_name.entry([Value::Uint(id.into())]);
        let node = build
            .leaf(names.vpn_id_to_name_name, text(name))
            .leaf(names.vpn_id_to_name_vrf, distinguisher)
            .leaf(names.vpn_id_to_name_external, Value::Bool(true));
        out.node(Store::Config, path, node.node());
    }
}

fn text(text: &Text) -> Value {
    Value::Text(text.clone())
}
