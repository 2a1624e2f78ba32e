//! The nodes that are derived, looked up once.

use super::super::nodes::{InnerList, ListAt};
use crate::model::identity;
use crate::schema::{IdentityId, Schema, SchemaId};

/// Lists by their names, leafs by list and name.
pub(super) struct Names {
    pub elan_instance: ListAt,
    pub elan_tag: SchemaId,
    pub segment_type: SchemaId,
    pub segmentation_id: SchemaId,
    pub external: SchemaId,
    /// Identities for FLAT, VLAN, VXLAN, GRE.
    pub segment_types: [Option<IdentityId>; 4],

    pub elan_interface: ListAt,
    pub elan_instance_name: SchemaId,
    pub static_mac_entries: InnerList,
    pub ip_prefix: SchemaId,

    pub elan_tag_name: ListAt,
    pub elan_tag_name_name: SchemaId,
    pub elan_state: ListAt,

    pub vpn_instance: ListAt,
    pub vpn_type: SchemaId,
    pub l3vni: SchemaId,
    pub ipv4_family: SchemaId,
    pub route_distinguisher: SchemaId,
    pub ipv6_family: SchemaId,
    pub ipv6_route_distinguisher: SchemaId,

    pub vpn_interface: ListAt,
    pub vpn_instance_names: InnerList,
    pub associated_subnet_type: SchemaId,
    pub vpn_interface_dpn: SchemaId,
    pub router_interface: SchemaId,
    pub adjacency: InnerList,
    pub adjacency_mac: SchemaId,
    pub adjacency_type: SchemaId,
    pub subnet_gateway_ip: SchemaId,

    pub name_to_vpn_id: ListAt,
    pub name_to_vpn_id_id: SchemaId,
    pub name_to_vpn_id_vrf: SchemaId,
    pub vpn_id_to_name: ListAt,
    pub vpn_id_to_name_name: SchemaId,
    pub vpn_id_to_name_vrf: SchemaId,
    pub vpn_id_to_name_external: SchemaId,

    pub interface: ListAt,
    pub interface_type: SchemaId,
    pub enabled: SchemaId,
    pub l2vlan_mode: SchemaId,
    pub vlan_id: SchemaId,
    pub parent_interface: SchemaId,
    pub l2vlan: Option<IdentityId>,

    pub pod_identifier: ListAt,
    pub pod_uuid: SchemaId,
}

impl Names {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn of(schema: &Schema) -> Names {
        let list = |path: &str| ListAt::new(schema, path);
        let inner = |path: &str| InnerList::new(schema, path);
        let id = |path: &str| schema.resolve(path);
        let segment = |kind: &str| identity(schema, "elan", &format!("segment-type-{kind}"));
        Names {
            elan_instance: list("/elan:elan-instances/elan-instance"),
            elan_tag: id("/elan:elan-instances/elan-instance/elan-tag"),
            segment_type: id("/elan:elan-instances/elan-instance/segment-type"),
            segmentation_id: id("/elan:elan-instances/elan-instance/segmentation-id"),
            external: id("/elan:elan-instances/elan-instance/external"),
            segment_types: [segment("flat"), segment("vlan"), segment("vxlan"), segment("gre")],

            elan_interface: list("/elan:elan-interfaces/elan-interface"),
            elan_instance_name: id("/elan:elan-interfaces/elan-interface/elan-instance-name"),
            static_mac_entries: inner("/elan:elan-interfaces/elan-interface/static-mac-entries"),
            ip_prefix: id("/elan:elan-interfaces/elan-interface/static-mac-entries/ip-prefix"),

            elan_tag_name: list("/elan:elan-tag-name-map/elan-tag-name"),
            elan_tag_name_name: id("/elan:elan-tag-name-map/elan-tag-name/name"),
            elan_state: list("/elan:elan-state/elan"),

            vpn_instance: list("/l3vpn:vpn-instances/vpn-instance"),
            vpn_type: id("/l3vpn:vpn-instances/vpn-instance/type"),
            l3vni: id("/l3vpn:vpn-instances/vpn-instance/l3vni"),
            ipv4_family: id("/l3vpn:vpn-instances/vpn-instance/ipv4-family"),
            route_distinguisher: id("/l3vpn:vpn-instances/vpn-instance/ipv4-family/route-distinguisher"),
            ipv6_family: id("/l3vpn:vpn-instances/vpn-instance/ipv6-family"),
            ipv6_route_distinguisher: id("/l3vpn:vpn-instances/vpn-instance/ipv6-family/route-distinguisher"),

            vpn_interface: list("/l3vpn:vpn-interfaces/vpn-interface"),
            vpn_instance_names: inner("/l3vpn:vpn-interfaces/vpn-interface/vpn-instance-names"),
            associated_subnet_type: id(
                "/l3vpn:vpn-interfaces/vpn-interface/vpn-instance-names/associated-subnet-type",
            ),
            vpn_interface_dpn: id("/l3vpn:vpn-interfaces/vpn-interface/dpn-id"),
            router_interface: id("/l3vpn:vpn-interfaces/vpn-interface/router-interface"),
            adjacency: inner("/l3vpn:vpn-interfaces/vpn-interface/odl-l3vpn:adjacency"),
            adjacency_mac: id("/l3vpn:vpn-interfaces/vpn-interface/odl-l3vpn:adjacency/mac_address"),
            adjacency_type: id("/l3vpn:vpn-interfaces/vpn-interface/odl-l3vpn:adjacency/adjacency_type"),
            subnet_gateway_ip: id(
                "/l3vpn:vpn-interfaces/vpn-interface/odl-l3vpn:adjacency/subnet_gateway_ip",
            ),

            name_to_vpn_id: list("/odl-l3vpn:vpn-instance-to-vpn-id/vpn-instance"),
            name_to_vpn_id_id: id("/odl-l3vpn:vpn-instance-to-vpn-id/vpn-instance/vpn-id"),
            name_to_vpn_id_vrf: id("/odl-l3vpn:vpn-instance-to-vpn-id/vpn-instance/vrf-id"),
            vpn_id_to_name: list("/odl-l3vpn:vpn-id-to-vpn-instance/vpn-ids"),
            vpn_id_to_name_name: id("/odl-l3vpn:vpn-id-to-vpn-instance/vpn-ids/vpn-instance-name"),
            vpn_id_to_name_vrf: id("/odl-l3vpn:vpn-id-to-vpn-instance/vpn-ids/vrf-id"),
            vpn_id_to_name_external: id("/odl-l3vpn:vpn-id-to-vpn-instance/vpn-ids/external-vpn"),

            interface: list("/ietf-interfaces:interfaces/interface"),
            interface_type: id("/ietf-interfaces:interfaces/interface/type"),
            enabled: id("/ietf-interfaces:interfaces/interface/enabled"),
            l2vlan_mode: id("/ietf-interfaces:interfaces/interface/odl-interface:l2vlan-mode"),
            vlan_id: id("/ietf-interfaces:interfaces/interface/odl-interface:vlan-id"),
            parent_interface: id("/ietf-interfaces:interfaces/interface/odl-interface:parent-interface"),
            l2vlan: identity(schema, "iana-if-type", "l2vlan"),

            pod_identifier: list("/pod-meta:podidentifier-info/pod-identifier"),
            pod_uuid: id("/pod-meta:podidentifier-info/pod-identifier/pod-uuid"),
        }
    }
}
