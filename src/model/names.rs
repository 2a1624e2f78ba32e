//! Schema ids of the nodes that the model reads, looked up once.

use super::asks::AskNames;
use super::external::ExternalNames;
use super::netvirt::NetvirtNames;
use super::next_hops::NextHopNames;
use super::policies::{AclNames, PolicyNames};
use super::pools::PoolNames;
use super::services::ServiceNames;
use super::source_nat::SourceNatNames;
use crate::schema::{IdentityId, Schema, SchemaId};

/// Each field is the node of that name; the struct it is in, the list or container it stands below.
#[derive(Debug)]
pub struct Names {
    pub pod: PodNames,
    pub node: NodeNames,
    pub pool: PoolNames,
    pub lease: LeaseNames,
    pub topology: TopologyNames,
    pub netvirt: NetvirtNames,
    pub source_nat: SourceNatNames,
    pub external: ExternalNames,
    pub next_hop: NextHopNames,
    pub policy: PolicyNames,
    pub acl: AclNames,
    pub service: ServiceNames,
}

/// `/pod:coe/pods`.
#[derive(Debug)]
pub struct PodNames {
    pub coe: SchemaId,
    pub pods: SchemaId,
    pub name: SchemaId,
    pub host_ip_address: SchemaId,
    pub network_ns: SchemaId,
    pub port_mac_address: SchemaId,
    pub interface: SchemaId,
    pub ip_address: SchemaId,
    pub secondary_ip_address: SchemaId,
    pub network_id: SchemaId,
    pub network_type: SchemaId,
    pub segmentation_id: SchemaId,
    pub trunk: SchemaId,
    pub trunk_parent: SchemaId,
    pub trunk_vlan: SchemaId,
    pub trunk_mac: SchemaId,
    pub asks: AskNames,
}

/// `/k8s-node:k8s-nodes-info/k8s-nodes`.
#[derive(Debug)]
pub struct NodeNames {
    pub k8s_nodes_info: SchemaId,
    pub k8s_nodes: SchemaId,
    pub internal_ip_address: SchemaId,
    pub external_ip_address: SchemaId,
    pub pod_cidr: SchemaId,
}

/// `/coeus-dhcp:leases/lease` and `ipv6-lease`.
#[derive(Debug)]
pub struct LeaseNames {
    pub leases: SchemaId,
    pub lease: SchemaId,
    pub address: SchemaId,
    pub state: SchemaId,
    pub ipv6_lease: SchemaId,
    pub ipv6_address: SchemaId,
}

/// `/network-topology:network-topology/topology/node`, as OVSDB fills it.
#[derive(Debug)]
pub struct TopologyNames {
    pub network_topology: SchemaId,
    pub topology: SchemaId,
    pub node: SchemaId,
    pub datapath_id: SchemaId,
    pub other_configs: SchemaId,
    pub other_config_value: SchemaId,
    pub termination_point: SchemaId,
    pub ofport: SchemaId,
    pub interface_type: SchemaId,
    pub external_ids: SchemaId,
    pub external_id_value: SchemaId,
    pub options: SchemaId,
    pub option_value: SchemaId,
    /// `ovsdb:interface-type-vxlan`.
    pub vxlan: Option<IdentityId>,
    pub geneve: Option<IdentityId>,
    pub gre: Option<IdentityId>,
    pub patch: Option<IdentityId>,
    pub internal: Option<IdentityId>,
}

impl Names {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn of(schema: &Schema) -> Names {
        let id = |path: &str| schema.resolve(path);
        let pod = |leaf: &str| id(&format!("/pod:coe/pods{leaf}"));
        let node = |leaf: &str| id(&format!("/k8s-node:k8s-nodes-info/k8s-nodes{leaf}"));
        let lease = |leaf: &str| id(&format!("/coeus-dhcp:leases/lease{leaf}"));
        let bridge = |leaf: &str| id(&format!("/network-topology:network-topology/topology/node{leaf}"));
        let port = |leaf: &str| bridge(&format!("/termination-point{leaf}"));
        Names {
            pod: PodNames {
                coe: id("/pod:coe"),
                pods: pod(""),
                name: pod("/name"),
                host_ip_address: pod("/host-ip-address"),
                network_ns: pod("/network-NS"),
                port_mac_address: pod("/port-mac-address"),
                interface: pod("/interface"),
                ip_address: pod("/interface/ip-address"),
                secondary_ip_address: pod("/interface/coeus-pod:secondary-ip-address"),
                network_id: pod("/interface/network-id"),
                network_type: pod("/interface/network-type"),
                segmentation_id: pod("/interface/segmentation-id"),
                trunk: pod("/interface/coeus-pod:trunk"),
                trunk_parent: pod("/interface/coeus-pod:trunk/parent-interface"),
                trunk_vlan: pod("/interface/coeus-pod:trunk/vlan-id"),
                trunk_mac: pod("/interface/coeus-pod:trunk/mac-address"),
                asks: AskNames::of(schema),
            },
            node: NodeNames {
                k8s_nodes_info: id("/k8s-node:k8s-nodes-info"),
                k8s_nodes: node(""),
                internal_ip_address: node("/internal-ip-address"),
                external_ip_address: node("/external-ip-address"),
                pod_cidr: node("/pod-cidr"),
            },
            pool: PoolNames::of(schema),
            lease: LeaseNames {
                leases: id("/coeus-dhcp:leases"),
                lease: lease(""),
                address: lease("/address"),
                state: lease("/state"),
                ipv6_lease: id("/coeus-dhcp:leases/ipv6-lease"),
                ipv6_address: id("/coeus-dhcp:leases/ipv6-lease/address"),
            },
            topology: TopologyNames {
                network_topology: id("/network-topology:network-topology"),
                topology: id("/network-topology:network-topology/topology"),
                node: bridge(""),
                datapath_id: bridge("/ovsdb:datapath-id"),
                other_configs: bridge("/ovsdb:openvswitch-other-configs"),
                other_config_value: bridge("/ovsdb:openvswitch-other-configs/other-config-value"),
                termination_point: port(""),
                ofport: port("/ovsdb:ofport"),
                interface_type: port("/ovsdb:interface-type"),
                external_ids: port("/ovsdb:interface-external-ids"),
                external_id_value: port("/ovsdb:interface-external-ids/external-id-value"),
                options: port("/ovsdb:options"),
                option_value: port("/ovsdb:options/value"),
                vxlan: identity(schema, "ovsdb", "interface-type-vxlan"),
                geneve: identity(schema, "ovsdb", "interface-type-geneve"),
                gre: identity(schema, "ovsdb", "interface-type-gre"),
                patch: identity(schema, "ovsdb", "interface-type-patch"),
                internal: identity(schema, "ovsdb", "interface-type-internal"),
            },
            netvirt: NetvirtNames::of(schema),
            source_nat: SourceNatNames::of(schema),
            external: ExternalNames::of(schema),
            next_hop: NextHopNames::of(schema),
            policy: PolicyNames::of(schema),
            acl: AclNames::of(schema),
            service: ServiceNames::of(schema),
        }
    }
}

/// The identity of that name in that module.
pub fn identity(schema: &Schema, module: &str, name: &str) -> Option<IdentityId> {
    let at = schema
        .identities
        .iter()
        .position(|identity| &*identity.name == name && &*schema.module(identity.module).name == module)?;
    u16::try_from(at).ok().map(IdentityId)
}
