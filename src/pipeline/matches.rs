//! What a flow may match on, in the words of the pipeline.

use std::net::Ipv4Addr;

use ipnetwork::Ipv4Network;
use openflow_rs::{Field, MatchField};

use super::Metadata;
use crate::net::{ElanTag, LportTag, MacAddr, OfPort, Vni, VpnId};

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

pub fn ipv4() -> MatchField {
    MatchField::exact(Field::EthType, 0x0800_u16)
}

pub fn arp() -> MatchField {
    MatchField::exact(Field::EthType, 0x0806_u16)
}

pub fn arp_request() -> [MatchField; 2] {
    [arp(), MatchField::exact(Field::ArpOp, 1_u16)]
}

pub fn arp_tpa(target: Ipv4Addr) -> MatchField {
    MatchField::exact(Field::ArpTpa, u32::from(target))
}

pub fn arp_spa(sender: Ipv4Addr) -> MatchField {
    MatchField::exact(Field::ArpSpa, u32::from(sender))
}

/// Destination inside a prefix; implies IPv4.
pub fn ip_dst(prefix: Ipv4Network) -> [MatchField; 2] {
    [ipv4(), MatchField::masked(Field::Ipv4Dst, u32::from(prefix.ip()), u32::from(prefix.mask()))]
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

pub fn icmp_echo_request() -> [MatchField; 4] {
    [
        ipv4(),
        MatchField::exact(Field::IpProto, 1_u8),
        MatchField::exact(Field::IcmpType, 8_u8),
        MatchField::exact(Field::IcmpCode, 0_u8),
    ]
}

pub fn tun_id(vni: Vni) -> MatchField {
    MatchField::exact(Field::TunnelId, vni.0)
}

/// The destination port that a broadcast bucket put into `tun_id` (table 55).
pub fn bucket_lport(tag: LportTag) -> MatchField {
    MatchField::exact(Field::TunnelId, tag.0)
}

/// The port a packet leaves through (table 220).
pub fn egress_lport(tag: LportTag) -> MatchField {
    MatchField::exact(Field::Reg6, tag.0 << 8)
}
