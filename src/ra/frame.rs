//! Solicitations read, advertisements written.

use std::net::Ipv6Addr;

use etherparse::{Icmpv6Type, NetSlice, PacketBuilder, SlicedPacket, TransportSlice};

use super::said::Said;
use crate::model::LINK_LOCAL_GATEWAY;
use crate::net::MacAddr;

/// Seconds that the router holds unless it is heard of again: the most that RFC 4861 section 6.2.1 allows.
pub const LIFETIME: u16 = 9000;
/// Messages of neighbour discovery come from the link itself: nothing else has this hop limit (section 3.1).
const HOP_LIMIT: u8 = 255;
const SOLICITATION: u8 = 133;
const ADVERTISEMENT: u8 = 134;
/// What hosts put into their own packets.
const CURRENT_HOP_LIMIT: u8 = 64;
/// Options (section 4.6).
const SOURCE_LINK_LAYER_ADDRESS: u8 = 1;
const PREFIX: u8 = 3;
const MTU: u8 = 5;
/// Flags of the message: managed, other.
const M: u8 = 0x80;
const O: u8 = 0x40;
/// Flag of a prefix: it is on the link. That hosts may make addresses of it is never said: the network would not know such an
/// address and drop what is sent from it.
const ON_LINK: u8 = 0x80;
/// Seconds that a prefix holds: defaults of section 6.2.1.
const VALID: u32 = 2_592_000;
const PREFERRED: u32 = 604_800;

/// Whom an advertisement is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asker {
    mac: MacAddr,
    address: Ipv6Addr,
}

/// Everybody on the link.
pub const ALL_NODES: Asker =
    Asker { mac: MacAddr([0x33, 0x33, 0, 0, 0, 1]), address: Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1) };

/// Reads a punted frame. `None`: not a solicitation that section 6.1.1 lets pass. An asker without an address yet is
/// answered to everybody.
pub fn read(frame: &[u8]) -> Option<Asker> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let mac = match packet.link? {
        etherparse::LinkSlice::Ethernet2(ethernet) => MacAddr(ethernet.source()),
        _ => return None,
    };
    let Some(NetSlice::Ipv6(ip)) = packet.net else { return None };
    let Some(TransportSlice::Icmpv6(message)) = packet.transport else { return None };
    let header = ip.header();
    if header.hop_limit() != HOP_LIMIT || (message.type_u8(), message.code_u8()) != (SOLICITATION, 0) {
        return None;
    }
    let address = header.source_addr();
    if address.is_unspecified() {
        return Some(ALL_NODES);
    }
    (!address.is_multicast() && !mac.is_group()).then_some(Asker { mac, address })
}

/// The whole frame of an advertisement: this is the router, its MAC address, what fits into the tunnels, where addresses
/// come from, and what is on the link.
pub fn write(to: Asker, gateway: MacAddr, said: &Said) -> Option<Vec<u8>> {
    let [high, low] = LIFETIME.to_be_bytes();
    let flags = if said.managed { M } else { 0 } | if said.other { O } else { 0 };
    let kind = Icmpv6Type::Unknown {
        type_u8: ADVERTISEMENT,
        code_u8: 0,
        bytes5to8: [CURRENT_HOP_LIMIT, flags, high, low],
    };
    // Reachable time and retransmission timer: unspecified.
    let mut rest = vec![0; 8];
    rest.extend([SOURCE_LINK_LAYER_ADDRESS, 1]);
    rest.extend(gateway.0);
    rest.extend([MTU, 1, 0, 0]);
    rest.extend(u32::from(said.mtu).to_be_bytes());
    for prefix in &said.prefixes {
        rest.extend([PREFIX, 4, prefix.prefix(), ON_LINK]);
        rest.extend(VALID.to_be_bytes());
        rest.extend(PREFERRED.to_be_bytes());
        rest.extend([0; 4]);
        rest.extend(prefix.network().octets());
    }
    let builder = PacketBuilder::ethernet2(gateway.0, to.mac.0)
        .ipv6(LINK_LOCAL_GATEWAY.octets(), to.address.octets(), HOP_LIMIT)
        .icmpv6(kind);
    let mut frame = Vec::with_capacity(builder.size(rest.len()));
    builder.write(&mut frame, &rest).ok()?;
    Some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    fn solicitation(source: &str, hop_limit: u8, kind: u8) -> Vec<u8> {
        let source: Ipv6Addr = source.parse().unwrap();
        let message = Icmpv6Type::Unknown { type_u8: kind, code_u8: 0, bytes5to8: [0; 4] };
        let mut frame = Vec::new();
        PacketBuilder::ethernet2(POD.0, [0x33, 0x33, 0, 0, 0, 2])
            .ipv6(source.octets(), [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2], hop_limit)
            .icmpv6(message)
            .write(&mut frame, &[1, 1, 2, 0, 0, 0, 0, 1])
            .unwrap();
        frame
    }

    #[test]
    fn who_asks_is_answered_and_who_has_no_address_with_everybody() {
        let asker = read(&solicitation("fe80::5", 255, 133));
        assert_eq!(asker, Some(Asker { mac: POD, address: "fe80::5".parse().unwrap() }));
        assert_eq!(read(&solicitation("::", 255, 133)), Some(ALL_NODES));
    }

    #[test]
    fn what_was_routed_or_is_no_solicitation_is_not_answered() {
        assert_eq!(read(&solicitation("fe80::5", 254, 133)), None);
        assert_eq!(read(&solicitation("fe80::5", 255, 134)), None);
        assert_eq!(read(&solicitation("ff02::5", 255, 133)), None);
    }

    #[test]
    fn an_advertisement_says_router_lifetime_address_and_mtu() {
        let gateway = MacAddr([2, 0xc0, 0xe5, 1, 0x86, 0xa0]);
        let said = Said { managed: false, other: false, mtu: 1450, prefixes: Vec::new() };
        let frame = write(ALL_NODES, gateway, &said).unwrap();
        let packet = SlicedPacket::from_ethernet(&frame).unwrap();
        let Some(NetSlice::Ipv6(ip)) = &packet.net else { panic!("it is IPv6") };
        assert_eq!(ip.header().source_addr(), LINK_LOCAL_GATEWAY);
        assert_eq!(ip.header().hop_limit(), 255);
        let Some(TransportSlice::Icmpv6(message)) = packet.transport else { panic!("it is ICMPv6") };
        let sum = message.icmp_type().calc_checksum(
            ip.header().source(),
            ip.header().destination(),
            message.payload(),
        );
        assert_eq!(sum, Ok(message.checksum()));
        let bytes = message.slice();
        assert_eq!((bytes[0], bytes[5], &bytes[6..8]), (134, 0, &LIFETIME.to_be_bytes()[..]));
        assert_eq!(&bytes[16..24], [1, 1, 2, 0xc0, 0xe5, 1, 0x86, 0xa0]);
        assert_eq!(&bytes[24..], [5, 1, 0, 0, 0, 0, 0x05, 0xaa]);
    }

    #[test]
    fn prefixes_are_on_the_link_and_no_host_makes_addresses_of_them() {
        let prefixes = vec!["fd00:1::/64".parse().unwrap()];
        for (managed, flags) in [(true, 0xc0), (false, 0x40)] {
            let said = Said { managed, other: true, mtu: 1400, prefixes: prefixes.clone() };
            let frame = write(ALL_NODES, POD, &said).unwrap();
            // Ethernet and IPv6 headers are before it.
            let message = &frame[14 + 40..];
            assert_eq!(message[5], flags);
            assert_eq!(&message[24..32], [5, 1, 0, 0, 0, 0, 0x05, 0x78]);
            let option = &message[32..];
            assert_eq!(option.len(), 32);
            // On the link, and not autonomous (section 4.6.2).
            assert_eq!(&option[..4], [3, 4, 64, 0x80]);
            assert_eq!(&option[4..12], [0, 0x27, 0x8d, 0, 0, 0x09, 0x3a, 0x80]);
            assert_eq!(&option[16..21], [0xfd, 0, 0, 1, 0]);
        }
    }

    #[test]
    fn cut_and_mutated_frames_never_panic() {
        let good = solicitation("fe80::5", 255, 133);
        let mut state = 1_u64;
        for _ in 0..20_000 {
            let mut frame = good.clone();
            for _ in 0..3 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (state >> 33) as usize % frame.len();
                frame[at] = (state >> 20) as u8;
            }
            frame.truncate(1 + (state >> 40) as usize % frame.len());
            let _ = read(&frame);
        }
    }
}
