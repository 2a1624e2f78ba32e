//! Why an interface is not, or not wholly, on a switch: sentences for the operator.

use std::net::{IpAddr, Ipv4Addr};

use ipnetwork::IpNetwork;

use super::rows::NetworkType;
use crate::net::{Dpid, MacAddr, Transport};
use crate::schema::Text;

/// The part of a port that is meant.
fn tagged(vlan: Option<u16>) -> String {
    vlan.map_or_else(String::new, |vlan| format!(", VLAN {vlan},"))
}

/// One thing an interface waits for, or that should be known about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("the pod has no interface")]
    NoInterface,
    #[error("the pod has no name")]
    NoName,
    #[error("the pod has no network-NS (namespace)")]
    NoNamespace,
    #[error("the pod has no host-ip-address, so it belongs to no node")]
    NoHost,
    #[error("{what} {text:?} contains ':', which separates namespace and pod in an interface name")]
    Colon { what: &'static str, text: Text },
    #[error("interface name {name} belongs to {owner}")]
    NameTaken { name: Text, owner: Text },
    #[error("no switch has a port with external_ids:iface-id={name}")]
    NoPort { name: Text },
    #[error("no port of any switch is called {port} (parent-interface) or has external_ids:iface-id={name}")]
    NoParent { port: Text, name: Text },
    #[error(
        "no port of any switch has external_ids:iface-id={trunk} or is called so, and it is to be a sub-port there"
    )]
    NoTrunkPort { trunk: Text },
    #[error("it is a trunk-member without parent-interface, or without a vlan-id from 1 to 4094")]
    NoTrunk,
    #[error("VLAN {vlan} of trunk {trunk} is that of {owner}")]
    TagTaken { trunk: Text, vlan: u16, owner: Text },
    #[error("there is no elan-interface of this name, so it is in no network")]
    NoElanInterface,
    #[error("there is no ietf interface of this name, only its service configuration")]
    NoInterfaceByHand,
    #[error("the interface is not enabled")]
    Disabled,
    #[error("the interface is in more than one vpn-instance; the first by name is used")]
    SeveralVpns,
    #[error("OpenFlow port {ofport} of switch {switch}{} is also that of port {owner}", tagged(*vlan))]
    PortTaken { switch: Dpid, ofport: u32, vlan: Option<u16>, owner: Text },
    #[error(
        "no MAC address: the pod has no port-mac-address and its port no external_ids:attached-mac; a sub-port has none but trunk/mac-address"
    )]
    NoMac,
    #[error("port-mac-address {0:?} is not a unicast MAC address")]
    BadMac(Text),
    #[error("MAC address {mac} is in use by {owner} in ELAN {elan}")]
    MacTaken { mac: MacAddr, owner: Text, elan: Text },
    #[error("no address yet: none is configured, and no DHCP lease is recorded")]
    NoAddress,
    #[error("address {0} cannot be given to a pod")]
    UnusableAddress(IpAddr),
    #[error("address {address} is in use by {owner} in VPN {vpn}")]
    AddressTaken { address: IpAddr, owner: Text, vpn: Text },
    #[error("adjacency {0:?}: ip_address or next hop is no address, or no prefix that can be routed")]
    BadAdjacency(Text),
    #[error("{prefix} is not routed by its next hop {next_hop}: no interface of the VPN has that address")]
    NextHopNobodys { prefix: IpNetwork, next_hop: IpAddr },
    #[error("{prefix} is not routed here: its mac_address {mac} is not that of this interface's port")]
    NextHopMac { prefix: IpNetwork, mac: MacAddr },
    #[error(
        "{prefix} is not routed here: it is within the pod-cidr of node {node}; route single addresses of it"
    )]
    RouteInPodCidr { prefix: IpNetwork, node: Text },
    #[error("pool of {0} is used up")]
    PoolExhausted(&'static str),
    #[error("gateway {0} is assumed: no allocation pool and no pod-cidr holds the address")]
    AssumedGateway(IpAddr),
    #[error(
        "address {0} is the gateway of its subnet, so other pods there are routed nowhere; choose another one"
    )]
    IsGateway(IpAddr),
    #[error("switch {0} has no other_config:local_ip, so other nodes cannot be reached")]
    NoTunnelAddress(Dpid),
    #[error("switch {0} has no tunnel port yet, so other nodes cannot be reached")]
    NoTunnelPort(Dpid),
    #[error(
        "switch {0} leads to no physical network: set other_config:provider_mappings=NETWORK:BRIDGE in its \
         Open_vSwitch table, with a bridge that exists"
    )]
    NoPhysicalNetwork(Dpid),
    #[error(
        "switch {0} does not lead to physical network {1}: add {1}:BRIDGE to other_config:provider_mappings of its \
         Open_vSwitch table"
    )]
    NotThatNetwork(Dpid, Text),
    #[error("switch {0} leads to several physical networks ({1}): name one in network-id")]
    SeveralPhysicalNetworks(Dpid, Text),
    #[error("segmentation-id {0} is no VLAN: 1 to 4094")]
    BadVlan(u32),
    #[error("physical network {network}, VLAN {vlan} (0: untagged) belongs to ELAN {owner} on this switch")]
    SegmentTaken { network: Text, vlan: u16, owner: Text },
    #[error(
        "switch {0} has no GRE port: Open vSwitch there could not make one (column error of its Interface table), \
         or GRE is switched off"
    )]
    NoGrePort(Dpid),
    #[error(
        "ELAN {elan} is a network of type {kind}, as its first interface asks for; this one asks for something else"
    )]
    OtherNetworkType { elan: Text, kind: NetworkType },
    #[error("its node reaches {owner} at {address}, not this pod: they have one address in different VPNs")]
    NodeReachesOther { address: IpAddr, owner: Text },
    #[error(
        "its port is on switch {switch}, the node at {at}, and its host-ip-address {host} is another node's: plug it in there, \
         or correct host-ip-address; where both are one node's, write both to that node's entry in k8s-nodes-info"
    )]
    PortElsewhere { switch: Dpid, at: Ipv4Addr, host: IpAddr },
    #[error("more than one port has external_ids:iface-id={name}; that of switch {switch} is used")]
    SeveralPorts { name: Text, switch: Dpid },
    #[error(
        "pod-cidr {cidr} of node {node} overlaps that of node {other}, so other nodes need a route to each pod"
    )]
    CidrOverlaps { cidr: IpNetwork, node: Text, other: Text },
    #[error(
        "pod-cidr {cidr:?} of node {node} is no prefix that pods can have, so other nodes need a route to each pod"
    )]
    BadPodCidr { cidr: Text, node: Text },
    #[error("nodes {node} and {other} both have address {address}, so other nodes need a route to each pod")]
    TwoNodes { address: IpAddr, node: Text, other: Text },
    #[error(
        "endpoints {endpoints} have no port for {transport} port {port}: neither its name nor its target-port"
    )]
    NoTargetPort { transport: Transport, port: u16, endpoints: Text },
    #[error("endpoint {address} is no pod's address in namespace {vpn}")]
    NoSuchEndpoint { address: IpAddr, vpn: Text },
    #[error("endpoint {pod}: there is no such pod, or it has no interface")]
    NoSuchPod { pod: Text },
    #[error(
        "{transport} port {port} has a target-port by name, which pods named by uid do not tell; write its number"
    )]
    NamedTarget { transport: Transport, port: u16 },
    #[error(
        "{transport} port {port} has {count} endpoints of one IP version, of which the first {most} take part"
    )]
    TooManyEndpoints { transport: Transport, port: u16, count: usize, most: usize },
    #[error("endpoint {address} is not plugged in yet")]
    EndpointWaits { address: IpAddr },
    #[error(
        "endpoint {address} is not reached: another pod has the address, in another namespace, and comes first"
    )]
    EndpointHidden { address: IpAddr },
    #[error(
        "{count} endpoints of {transport} port {port} are on switch {dpid}, which is lost: connections from elsewhere go to the others"
    )]
    EndpointsLost { transport: Transport, port: u16, count: usize, dpid: Dpid },
    #[error(
        "all endpoints of {transport} port {port} of one IP version are on switches that are lost: they are asked all the same"
    )]
    AllEndpointsLost { transport: Transport, port: u16 },
    #[error("host port {transport} {port} at {address} is that of {owner}")]
    HostPortTaken { transport: Transport, port: u16, address: Text, owner: Text },
    #[error("host port {transport} {port} is a node port of service {service}")]
    HostPortOfService { transport: Transport, port: u16, service: Text },
    #[error("host port {transport} {port} at {address}: that is no address of its node")]
    HostPortElsewhere { transport: Transport, port: u16, address: IpAddr },
    #[error(
        "no node has address {node}: it is no internal-ip-address in k8s-nodes-info of a node whose switch is known, and no \
         other_config:local_ip of a switch"
    )]
    SourceOfNobody { node: IpAddr },
    #[error("switch {0} has no port of its node (coeus0), by which pods get outside")]
    NoNodePort(Dpid),
    #[error(
        "source address {address} is {owner}'s own, and a kernel drops what comes in from its own address: choose one that is \
         routed to the node and that it has not"
    )]
    SourceIsNodes { address: IpAddr, owner: Text },
    #[error(
        "source address {address} is within the pod-cidr of node {node}, so answers may go to a pod: choose one outside of it"
    )]
    SourceInPodCidr { address: IpAddr, node: Text },
    #[error("switch {other} has an address of node {node}, too, so other nodes need a route to each pod")]
    TwoSwitches { node: Text, other: Dpid },
}
