//! The rows as they are written: one struct for each kind of list entry that matters to forwarding.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnetwork::IpNetwork;

use super::asks::Asks;
use super::external::{ExtRouter, ExternalNetwork, ExternalSubnet, FloatingRouter, PortMac};
use super::policies::{AclRow, Namespace, PolicyRow};
use super::pools::Network;
use super::services::{Service, ServiceEndpoints, ServicePool};
use super::source_nat::SourceNat;
use super::underlay::Segment;
use crate::net::{Dpid, MacAddr, OfPort, UnderlayMtu, Vni};
use crate::policy::{Labels, NamedPort};
use crate::schema::Text;

/// `/pod:coe/pods[uid]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    pub uid: Text,
    pub name: Option<Text>,
    /// `network-NS`.
    pub namespace: Option<Text>,
    /// `host-ip-address`: the node that runs the pod.
    pub host: Option<IpAddr>,
    /// `port-mac-address`; an empty string counts as absent.
    pub mac: Option<MacAddr>,
    /// `port-mac-address` as written, where it is no address.
    pub bad_mac: Option<Text>,
    /// Sorted by uid.
    pub interfaces: Vec<PodInterface>,
    /// `coeus-policy:label`.
    pub labels: Labels,
    /// `coeus-policy:named-port`.
    pub ports: Box<[NamedPort]>,
}

/// `/pod:coe/pods[uid]/interface[uid]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodInterface {
    pub uid: Text,
    /// `ip-address` first, then `coeus-pod:secondary-ip-address`; each once.
    pub addresses: Box<[IpAddr]>,
    pub network_id: Option<Text>,
    pub network_type: NetworkType,
    pub segmentation_id: Option<u32>,
    /// `coeus-pod:trunk`.
    pub trunk: Option<SubPort>,
    /// What else it asks for, if it does.
    pub asks: Option<Arc<Asks>>,
}

/// Which frames of a port that several interfaces share are one's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubPort {
    /// The port: its `external_ids:iface-id`, or its name.
    pub trunk: Text,
    /// The tag of its frames there (IEEE 802.1Q), 1 to 4094.
    pub vlan: u16,
    pub mac: Option<MacAddr>,
}

/// `network-type` of a pod interface: what carries its frames to other switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum NetworkType {
    Flat,
    Vlan,
    #[default]
    Vxlan,
    Gre,
}

impl fmt::Display for NetworkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NetworkType::Flat => "FLAT",
            NetworkType::Vlan => "VLAN",
            NetworkType::Vxlan => "VXLAN",
            NetworkType::Gre => "GRE",
        })
    }
}

/// Where a port of an integration bridge leads, if not to a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// A VXLAN port with `options:remote_ip=flow`: the one tunnel port of its switch for most networks.
    Tunnel,
    /// The same for Geneve, where that is the overlay.
    Geneve,
    /// The same for GRE.
    Gre,
    /// A patch port to the bridge of a physical network: `external_ids:coeus-physical-network`.
    Physical(Text),
    /// The node's own port, with this MAC address: `external_ids:coeus-node-port` and `attached-mac`.
    Node(MacAddr),
}

/// `/k8s-node:k8s-nodes-info/k8s-nodes[uid]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct K8sNode {
    pub uid: Text,
    pub internal: Option<IpAddr>,
    pub external: Option<IpAddr>,
    /// `pod-cidr`, where it is a prefix.
    pub pod_cidr: Option<IpNetwork>,
    /// `pod-cidr`, where it is none.
    pub bad_cidr: Option<Text>,
}

/// DHCP leases: the addresses an interface was given, of each version one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Interface name, `<namespace>:<pod>`.
    pub interface: Text,
    pub v4: Option<Ipv4Addr>,
    pub v6: Option<Ipv6Addr>,
}

impl Lease {
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.v4.map(IpAddr::V4).into_iter().chain(self.v6.map(IpAddr::V6))
    }
}

/// The integration bridge of one Open vSwitch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// `ovsdb://uuid/…/bridge/br-int`.
    pub node_id: Text,
    pub dpid: Dpid,
    /// `other_config:local_ip` of the Open vSwitch: the address its tunnels end at.
    pub local_ip: Option<Ipv4Addr>,
    /// `other_config:underlay_mtu` of the Open vSwitch, or what it is where nobody says.
    pub underlay_mtu: UnderlayMtu,
}

/// What was written by hand about the interface of one name: `/ietf-interfaces:interfaces/interface`,
/// `/elan:elan-interfaces/elan-interface` and `/l3vpn:vpn-interfaces/vpn-interface`, as netvirt has them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HandMade {
    pub name: Text,
    /// There is an ietf interface of that name.
    pub exists: bool,
    /// `enabled` is false.
    pub is_disabled: bool,
    /// `parent-interface`: the name of the port that carries it.
    pub parent: Option<Text>,
    /// `l2vlan-mode` is trunk-member: frames with `vlan-id` on the parent's port are its own, and no others.
    pub is_member: bool,
    /// `vlan-id`, where it is one that frames may have.
    pub vlan: Option<u16>,
    pub elan: Option<Text>,
    /// `vpn-instance-names`, or the older leaf `vpn-instance-name`.
    pub vpns: Vec<Text>,
    /// Those of them that are said to be the Internet VPN of its IPv6 addresses, where there is another.
    pub internet: Vec<Text>,
    /// Of the only static MAC entry, else of the first primary adjacency that has one.
    pub mac: Option<MacAddr>,
    pub addresses: Vec<WantedAddress>,
    /// Adjacencies that are no addresses of its own: extra routes.
    pub routes: Vec<WantedRoute>,
    /// `ip_address` of adjacencies that is no address, nor a prefix that could be routed.
    pub bad_adjacencies: Vec<Text>,
}

/// A prefix behind an interface: an adjacency that is an extra route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedRoute {
    /// Its host bits are cleared.
    pub prefix: IpNetwork,
    /// `next-hop-ip-list`: addresses of the interface. Empty: its port, whatever it is called.
    pub next_hops: Vec<IpAddr>,
    /// `mac_address`.
    pub mac: Option<MacAddr>,
}

/// An address that an interface is configured with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedAddress {
    pub ip: IpAddr,
    /// The router that is configured with it.
    pub gateway: Option<IpAddr>,
}

/// `/elan:elan-instances/elan-instance`, written by hand.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ElanInstance {
    /// `segmentation-id` of an ELAN that tunnels carry.
    pub vni: Option<Vni>,
    /// `segment-type`; of FLAT and VLAN with `segmentation-id` and `physical-network-name`.
    pub segment: Segment,
}

/// `/l3vpn:vpn-instances/vpn-instance`, written by hand.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct VpnInstance {
    /// The first `route-distinguisher`.
    pub rd: Option<Text>,
    /// `l3vni`, where it is one.
    pub l3_vni: Option<Vni>,
    /// Route targets of `vpnTargets`.
    pub imports: BTreeSet<Text>,
    pub exports: BTreeSet<Text>,
}

/// Names one port: its bridge's node id and its own name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId {
    pub node_id: Text,
    pub name: Text,
}

/// A termination point of an integration bridge that has an OpenFlow port number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    pub id: PortId,
    pub ofport: OfPort,
    /// `external_ids:iface-id`: the interface name it belongs to.
    pub iface_id: Option<Text>,
    /// `external_ids:attached-mac`.
    pub attached_mac: Option<MacAddr>,
    /// The same as it is written there, if that is how it is shown.
    pub mac_text: Option<Text>,
    pub beyond: Option<Beyond>,
}

/// A row as it is now, under its key; `None` where it is gone or says nothing that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    Pod(Text, Option<Pod>),
    K8sNode(Text, Option<K8sNode>),
    Network(Text, Option<Network>),
    /// By interface name.
    Lease(Text, Option<Lease>),
    /// By node id.
    Bridge(Text, Option<Bridge>),
    Port(PortId, Option<Port>),
    /// By interface name.
    HandMade(Text, Option<HandMade>),
    /// By name, those written by hand.
    ElanInstance(Text, Option<ElanInstance>),
    VpnInstance(Text, Option<VpnInstance>),
    /// By uid.
    Service(Text, Option<Service>),
    ServiceEndpoints(Text, Option<ServiceEndpoints>),
    /// There is one of each.
    ServicePool(Option<ServicePool>),
    SourceNat(Option<SourceNat>),
    /// By id.
    ExternalNetwork(Text, Option<ExternalNetwork>),
    /// By id, those of `external-subnets`.
    ExternalSubnet(Text, Option<ExternalSubnet>),
    /// By `floating-ip-id`.
    PortMac(Text, Option<PortMac>),
    /// By `router-id`.
    FloatingRouter(Text, Option<FloatingRouter>),
    /// By `router-name`.
    ExtRouter(Text, Option<ExtRouter>),
    /// Somebody on an external network.
    Neighbour(Text, IpAddr, Option<MacAddr>),
    /// Whether a switch was away for long.
    Lost(Dpid, bool),
    /// The switch that may still answer for an external address.
    Held(IpAddr, Option<Dpid>),
    /// Whether next hops that share a route are watched.
    Watched(bool),
    /// Whether a next hop, by interface and address, was found silent.
    Silent(Text, IpAddr, bool),
    /// By uuid.
    Policy(Text, Option<Arc<PolicyRow>>),
    /// By name.
    Namespace(Text, Option<Namespace>),
    Acl(Text, Option<Arc<AclRow>>),
    /// By interface name: the groups that it is in by its access lists.
    Bound(Text, Option<BTreeSet<Text>>),
}

/// Whether a pod or tunnel may have this address: none of 0/8 (RFC 1122), 127/8 and above 224/3.
pub fn usable_v4(address: Ipv4Addr) -> bool {
    let [first, ..] = address.octets();
    !matches!(first, 0 | 127 | 224..=255)
}

/// Whether a pod may have this address: of IPv6, global and unique local unicast. Link-local addresses are not given
/// to pods: each makes its own (RFC 4862), and no router forwards them.
pub fn usable(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => usable_v4(address),
        IpAddr::V6(address) => {
            let other = address.is_unspecified() || address.is_loopback() || address.is_multicast();
            !other && !address.is_unicast_link_local() && address.to_ipv4_mapped().is_none()
        }
    }
}

/// Whether addresses of this prefix may be behind an interface: no prefix of loopback, multicast, link-local or reserved
/// addresses. The prefix of no bits is the default route.
pub fn routable(prefix: IpNetwork) -> bool {
    match prefix {
        // 0.0.0.0/1 is half of all; 0/8 is nobody's.
        IpNetwork::V4(prefix) => {
            usable_v4(prefix.ip()) || (prefix.ip().octets()[0] == 0 && prefix.prefix() < 8)
        }
        IpNetwork::V6(prefix) => prefix.prefix() == 0 || usable(prefix.ip().into()),
    }
}

/// The router's own address on every link of a VPN: what router advertisements come from (RFC 4861 section 4.2), and
/// what an IPv6 address routes through that no pool and no node's range holds.
pub const LINK_LOCAL_GATEWAY: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);

impl Pod {
    pub fn interface(&self, uid: &str) -> Option<&PodInterface> {
        self.interfaces.iter().find(|interface| &*interface.uid == uid)
    }

    /// The interface that has this name.
    pub fn interface_named(&self, name: &str) -> Option<&PodInterface> {
        self.interfaces
            .iter()
            .find(|row| super::wanted::full_name(self, row).is_ok_and(|full| *full == *name))
    }

    /// Names of its interfaces, where they have any.
    pub fn names(&self) -> impl Iterator<Item = Text> {
        self.interfaces.iter().filter_map(|row| super::wanted::full_name(self, row).ok())
    }

    /// The interface that carries the pod's own name: the one with the pod's uid, else the lowest uid.
    pub fn primary(&self) -> Option<&PodInterface> {
        self.interface(&self.uid).or_else(|| self.interfaces.first())
    }
}

impl K8sNode {
    pub fn has_address(&self, address: IpAddr) -> bool {
        self.addresses().any(|own| own == address)
    }

    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        [self.internal, self.external].into_iter().flatten()
    }
}
