//! What a flow may match on, in the words of the pipeline.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnetwork::{IpNetwork, Ipv4Network, Ipv6Network};
use openflow_rs::{Field, MatchField};

use super::Metadata;
use super::ServiceWay;
use crate::net::{ElanTag, LportTag, MacAddr, OfPort, Transport, Vni, VpnId};

/// A VLAN tag is there. Source: OpenFlow 1.3, OFPVID_PRESENT.
pub(super) const TAGGED: u16 = 0x1000;

fn metadata(part: Metadata) -> MatchField {
    MatchField::masked(Field::Metadata, part.value, part.mask)
}

pub fn in_port(port: OfPort) -> MatchField {
    MatchField::exact(Field::InPort, port.0)
}

/// Frames without a VLAN tag.
pub fn untagged() -> MatchField {
    MatchField::exact(Field::VlanVid, 0_u16)
}

/// Frames with this VLAN id (IEEE 802.1Q).
pub fn vlan(id: u16) -> MatchField {
    MatchField::exact(Field::VlanVid, TAGGED | id)
}

/// Frames with a VLAN tag, whatever it says.
pub fn tagged() -> MatchField {
    MatchField::masked(Field::VlanVid, TAGGED, TAGGED)
}

/// The logical port a packet came from.
pub fn lport(tag: LportTag) -> MatchField {
    metadata(Metadata::new().lport(tag))
}

/// Which bound service comes next (table 17).
pub fn service_index(index: u8) -> MatchField {
    metadata(Metadata::new().service_index(index))
}

pub fn elan_tag(tag: ElanTag) -> MatchField {
    metadata(Metadata::new().elan(tag))
}

pub fn vpn_id(id: VpnId) -> MatchField {
    metadata(Metadata::new().vpn(id))
}

/// Whether a packet came through the tunnel.
pub fn split_horizon(from_tunnel: bool) -> MatchField {
    metadata(Metadata::new().split_horizon(from_tunnel))
}

pub fn eth_src(mac: MacAddr) -> MatchField {
    MatchField::exact(Field::EthSrc, mac.to_u64())
}

pub fn eth_dst(mac: MacAddr) -> MatchField {
    MatchField::exact(Field::EthDst, mac.to_u64())
}

pub fn eth_dst_masked(mac: MacAddr, mask: MacAddr) -> MatchField {
    MatchField::masked(Field::EthDst, mac.to_u64(), mask.to_u64())
}

pub fn eth_type(kind: u16) -> MatchField {
    MatchField::exact(Field::EthType, kind)
}

pub fn ipv4() -> MatchField {
    MatchField::exact(Field::EthType, 0x0800_u16)
}

pub fn ipv6() -> MatchField {
    MatchField::exact(Field::EthType, 0x86dd_u16)
}

pub fn arp() -> MatchField {
    MatchField::exact(Field::EthType, 0x0806_u16)
}

pub fn arp_request() -> [MatchField; 2] {
    [arp(), MatchField::exact(Field::ArpOp, 1_u16)]
}

pub fn arp_reply() -> [MatchField; 2] {
    [arp(), MatchField::exact(Field::ArpOp, 2_u16)]
}

pub fn arp_tpa(target: Ipv4Addr) -> MatchField {
    MatchField::exact(Field::ArpTpa, u32::from(target))
}

pub fn arp_tpa_in(prefix: Ipv4Network) -> MatchField {
    ipv4_masked(Field::ArpTpa, prefix)
}

pub fn arp_spa(sender: Ipv4Addr) -> MatchField {
    MatchField::exact(Field::ArpSpa, u32::from(sender))
}

pub fn arp_sha(sender: MacAddr) -> MatchField {
    MatchField::exact(Field::ArpSha, sender.to_u64())
}

pub fn ipv4_src(source: Ipv4Addr) -> [MatchField; 2] {
    [ipv4(), MatchField::exact(Field::Ipv4Src, u32::from(source))]
}

/// Packets of the version that an address is of.
pub fn ip_version_of(address: IpAddr) -> MatchField {
    if address.is_ipv4() { ipv4() } else { ipv6() }
}

/// One destination address, of either version.
pub fn ip_host(address: IpAddr) -> [MatchField; 2] {
    match address {
        IpAddr::V4(address) => [ipv4(), MatchField::exact(Field::Ipv4Dst, u32::from(address))],
        IpAddr::V6(address) => [ipv6(), MatchField::exact(Field::Ipv6Dst, u128::from(address))],
    }
}

/// All destination addresses of a prefix.
pub fn ip_prefix(prefix: IpNetwork) -> Vec<MatchField> {
    address_in(prefix, Field::Ipv4Dst, Field::Ipv6Dst)
}

/// All source addresses of a prefix.
pub fn ip_src_prefix(prefix: IpNetwork) -> Vec<MatchField> {
    address_in(prefix, Field::Ipv4Src, Field::Ipv6Src)
}

/// The version alone where the prefix has no bits: a switch forgets a condition that says nothing.
fn address_in(prefix: IpNetwork, v4: Field, v6: Field) -> Vec<MatchField> {
    let (version, within) = match prefix {
        IpNetwork::V4(prefix) => (ipv4(), ipv4_masked(v4, prefix)),
        IpNetwork::V6(prefix) => (ipv6(), ipv6_masked(v6, prefix)),
    };
    if prefix.prefix() == 0 { vec![version] } else { vec![version, within] }
}

fn ipv4_masked(field: Field, prefix: Ipv4Network) -> MatchField {
    MatchField::masked(field, u32::from(prefix.network()), u32::from(prefix.mask()))
}

fn ipv6_masked(field: Field, prefix: Ipv6Network) -> MatchField {
    MatchField::masked(field, u128::from(prefix.network()), u128::from(prefix.mask()))
}

pub fn ip_ttl(ttl: u8) -> MatchField {
    MatchField::exact(Field::IpTtl, ttl)
}

pub fn udp(source: u16, destination: u16) -> [MatchField; 4] {
    [
        ipv4(),
        MatchField::exact(Field::IpProto, 17_u8),
        MatchField::exact(Field::UdpSrc, source),
        MatchField::exact(Field::UdpDst, destination),
    ]
}

/// The same for IPv6.
pub fn udp_v6(source: u16, destination: u16) -> [MatchField; 4] {
    let [_, protocol, source, destination] = udp(source, destination);
    [ipv6(), protocol, source, destination]
}

/// To a UDP port, from any.
pub fn udp_to(destination: u16) -> [MatchField; 3] {
    [ipv4(), MatchField::exact(Field::IpProto, 17_u8), MatchField::exact(Field::UdpDst, destination)]
}

/// The same for IPv6.
pub fn udp_v6_to(destination: u16) -> [MatchField; 3] {
    [ipv6(), MatchField::exact(Field::IpProto, 17_u8), MatchField::exact(Field::UdpDst, destination)]
}

/// What a client without an address sends (RFC 2131 section 4.1).
pub fn dhcp_request() -> Vec<MatchField> {
    let addresses = [
        MatchField::exact(Field::Ipv4Src, u32::from(Ipv4Addr::UNSPECIFIED)),
        MatchField::exact(Field::Ipv4Dst, u32::from(Ipv4Addr::BROADCAST)),
    ];
    udp(68, 67).into_iter().chain(addresses).collect()
}

pub fn icmp_echo_request() -> [MatchField; 4] {
    [
        ipv4(),
        MatchField::exact(Field::IpProto, 1_u8),
        MatchField::exact(Field::IcmpType, 8_u8),
        MatchField::exact(Field::IcmpCode, 0_u8),
    ]
}

/// An ICMPv6 message of this type, code 0.
pub fn icmpv6(kind: u8) -> [MatchField; 4] {
    [
        ipv6(),
        MatchField::exact(Field::IpProto, 58_u8),
        MatchField::exact(Field::Icmpv6Type, kind),
        MatchField::exact(Field::Icmpv6Code, 0_u8),
    ]
}

/// First fragments: what stands behind their IPv6 headers must begin in them (RFC 7112). Source: ovs-fields(7), `ip_frag`.
fn first_fragment() -> MatchField {
    MatchField::exact(Field::IpFrag, 1_u8)
}

/// IPv6 packets in which a switch finds no protocol above IPv6, though one may be behind what it sees. Open vSwitch by itself
/// takes a chain of headers that ends too soon for protocol 0, which stands in no packet that is whole; the kernel takes it
/// for 59, "no next header".
pub fn hidden_protocols() -> [Vec<MatchField>; 2] {
    let protocol = |number: u8| MatchField::exact(Field::IpProto, number);
    [vec![ipv6(), protocol(0)], vec![ipv6(), protocol(59), first_fragment()]]
}

/// Fragments behind the first one, which have no transport header.
pub fn later_fragment() -> MatchField {
    MatchField::exact(Field::IpFrag, 3_u8)
}

/// First fragments in which UDP or ICMPv6 should begin and do not: their ports and types read as zero.
pub fn hidden_transports() -> [Vec<MatchField>; 2] {
    let [version, icmpv6, kind, _] = icmpv6(0);
    [
        udp_v6_to(0).into_iter().chain([first_fragment()]).collect(),
        vec![version, icmpv6, kind, first_fragment()],
    ]
}

pub fn icmpv6_echo_request() -> [MatchField; 4] {
    icmpv6(128)
}

pub fn router_solicitation() -> [MatchField; 4] {
    icmpv6(133)
}

pub fn neighbour_solicitation() -> [MatchField; 4] {
    icmpv6(135)
}

pub fn neighbour_advertisement() -> [MatchField; 4] {
    icmpv6(136)
}

/// Neighbour solicitations and advertisements.
pub fn any_nd() -> [[MatchField; 4]; 2] {
    [neighbour_solicitation(), neighbour_advertisement()]
}

/// The asker's link-layer address; zero where the solicitation has none.
pub fn nd_sll(mac: MacAddr) -> MatchField {
    MatchField::exact(Field::NdSll, mac.to_u64())
}

/// The target's link-layer address; zero where the advertisement has none.
pub fn nd_tll(mac: MacAddr) -> MatchField {
    MatchField::exact(Field::NdTll, mac.to_u64())
}

/// The address that is asked for, or told of.
pub fn nd_target(target: Ipv6Addr) -> MatchField {
    MatchField::exact(Field::NdTarget, u128::from(target))
}

pub fn nd_target_in(prefix: Ipv6Network) -> MatchField {
    ipv6_masked(Field::NdTarget, prefix)
}

/// Any link-local target (fe80::/10).
pub fn nd_target_link_local() -> MatchField {
    MatchField::masked(Field::NdTarget, 0xfe80_u128 << 112, 0xffc0_u128 << 112)
}

pub fn ipv6_dst(destination: Ipv6Addr) -> MatchField {
    MatchField::exact(Field::Ipv6Dst, u128::from(destination))
}

pub fn ipv6_src(source: Ipv6Addr) -> MatchField {
    MatchField::exact(Field::Ipv6Src, u128::from(source))
}

/// Any link-local source (fe80::/10).
pub fn ipv6_src_link_local() -> [MatchField; 2] {
    [ipv6(), MatchField::masked(Field::Ipv6Src, 0xfe80_u128 << 112, 0xffc0_u128 << 112)]
}

/// Link-local sources, link-local destinations, and groups: what no router forwards (RFC 4291 section 2.5.6, and 2.7 as far as no
/// groups are routed).
pub fn ipv6_of_the_link() -> [[MatchField; 2]; 3] {
    let link_local = (0xfe80_u128 << 112, 0xffc0_u128 << 112);
    let groups = (0xff_u128 << 120, 0xff_u128 << 120);
    [(Field::Ipv6Src, link_local), (Field::Ipv6Dst, link_local), (Field::Ipv6Dst, groups)]
        .map(|(field, (value, mask))| [ipv6(), MatchField::masked(field, value, mask)])
}

/// Bits of `ct_state`. Source: ovs-fields(7).
const NEW: u32 = 1;
const ESTABLISHED: u32 = 2;
const RELATED: u32 = 4;
const TRACKED: u32 = 0x20;

const REPLY: u32 = 8;

/// The first packet of a connection.
pub fn ct_new() -> MatchField {
    MatchField::masked(Field::CtState, NEW | TRACKED, NEW | TRACKED)
}

/// Packets of a connection that is known, and errors that are about one.
pub fn ct_known() -> [MatchField; 2] {
    [ESTABLISHED, RELATED].map(|state| MatchField::masked(Field::CtState, state | TRACKED, state | TRACKED))
}

/// Packets of a connection that is known, in either direction.
pub fn ct_established() -> MatchField {
    MatchField::masked(Field::CtState, ESTABLISHED | TRACKED, ESTABLISHED | TRACKED)
}

/// Answers within a connection that is known.
pub fn ct_reply() -> MatchField {
    let answer = ESTABLISHED | REPLY | TRACKED;
    MatchField::masked(Field::CtState, answer, answer)
}

pub fn tun_id(vni: Vni) -> MatchField {
    MatchField::exact(Field::TunnelId, vni.0)
}

/// The destination port that a broadcast bucket put into `tun_id` (table 55).
pub fn bucket_lport(tag: LportTag) -> MatchField {
    MatchField::exact(Field::TunnelId, tag.0)
}

/// The port a packet leaves through (table 220), whatever was done with it before.
pub fn egress_lport(tag: LportTag) -> MatchField {
    MatchField::masked(Field::Reg6, tag.0 << 8, 0x0fff_ff00_u32)
}

/// The same while this service of table 220 is the last one done; 0: none is.
pub fn egress_lport_after(index: u8, tag: LportTag) -> MatchField {
    MatchField::masked(Field::Reg6, u32::from(index) << 28 | tag.0 << 8, 0xffff_ff00_u32)
}

/// A conjunction holds.
pub fn conjunction_holds(id: u32) -> MatchField {
    MatchField::exact(Field::ConjId, id)
}

/// A packet with a state of connection tracking in which these bits of [`ct`] are set and those are not.
pub fn ct_state(set: u32, clear: u32) -> MatchField {
    MatchField::masked(Field::CtState, set | TRACKED, set | clear | TRACKED)
}

/// Bits of `ct_state` for [`ct_state`]. Source: ovs-fields(7).
pub mod ct {
    pub const NEW: u32 = super::NEW;
    pub const RELATED: u32 = super::RELATED;
    pub const REPLY: u32 = 8;
    pub const INVALID: u32 = 0x10;
    pub const TRACKED: u32 = super::TRACKED;
}

/// A bit of its connection's mark is set.
pub fn ct_mark_bit(bit: u16) -> MatchField {
    MatchField::masked(Field::CtMark, 1_u32 << bit, 1_u32 << bit)
}

/// TCP packets that begin no connection.
pub fn tcp_without_syn() -> [MatchField; 2] {
    [MatchField::exact(Field::IpProto, 6_u8), MatchField::masked(Field::TcpFlags, 0_u8, 2_u8)]
}

/// Destination ports of a transport protocol (its IANA number) that agree with a value in the bits of a mask.
pub fn transport_to(protocol: u8, value: u16, mask: u16) -> Vec<MatchField> {
    let field = match protocol {
        6 => Field::TcpDst,
        17 => Field::UdpDst,
        _ => Field::SctpDst,
    };
    let port = (mask != 0).then(|| MatchField::masked(field, value, mask));
    [MatchField::exact(Field::IpProto, protocol)].into_iter().chain(port).collect()
}

/// Which egress service comes next (table 220).
pub fn egress_service(index: u8) -> MatchField {
    MatchField::masked(Field::Reg6, u32::from(index) << 28, 0xf_u32 << 28)
}

/// What a packet is to a service.
pub fn service_way(way: ServiceWay) -> MatchField {
    MatchField::masked(Field::Reg7, way as u32, ServiceWay::MASK)
}

/// Whether a packet came from outside, by an external network or the node's own port.
pub fn is_from_outside(yes: bool) -> MatchField {
    MatchField::masked(Field::Reg7, u32::from(yes) << 2, 4_u32)
}

/// A request for a node port.
pub fn for_node_port() -> MatchField {
    MatchField::masked(Field::Reg7, 8_u32, 8_u32)
}

/// The client that an answer is for is on this switch.
pub fn client_is_here() -> MatchField {
    MatchField::exact(Field::Reg8, 0_u32)
}

/// The endpoint that was chosen, by its number.
pub fn chosen_endpoint(number: u32) -> MatchField {
    MatchField::exact(Field::Reg9, number)
}

/// One source address, of either version.
pub fn ip_src_host(address: IpAddr) -> [MatchField; 2] {
    match address {
        IpAddr::V4(address) => ipv4_src(address),
        IpAddr::V6(address) => [ipv6(), ipv6_src(address)],
    }
}

/// To a port of a transport protocol, of either IP version; the version is matched by the address.
pub fn port_to(transport: Transport, port: u16) -> [MatchField; 2] {
    let field = match transport {
        Transport::Tcp => Field::TcpDst,
        Transport::Udp => Field::UdpDst,
        Transport::Sctp => Field::SctpDst,
    };
    [MatchField::exact(Field::IpProto, transport.number()), MatchField::exact(field, port)]
}

/// From a port of a transport protocol.
pub fn port_from(transport: Transport, port: u16) -> [MatchField; 2] {
    let field = match transport {
        Transport::Tcp => Field::TcpSrc,
        Transport::Udp => Field::UdpSrc,
        Transport::Sctp => Field::SctpSrc,
    };
    [MatchField::exact(Field::IpProto, transport.number()), MatchField::exact(field, port)]
}
