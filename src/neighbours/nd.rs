//! Neighbour solicitations and advertisements of IPv6 (RFC 4861), read and written.

use std::net::Ipv6Addr;

use etherparse::{Icmpv6Type, LinkSlice, NetSlice, PacketBuilder, SlicedPacket, TransportSlice};

use crate::net::MacAddr;

/// `type` (sections 4.3 and 4.4).
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// Messages of neighbour discovery come from the link itself: nothing else has this hop limit (section 7.1).
const HOP_LIMIT: u8 = 255;
/// Options that hold a MAC address (section 4.6.1), and their length in units of eight octets.
const SOURCE: u8 = 1;
const TARGET: u8 = 2;
const ONE_UNIT: u8 = 1;
/// Flags of an advertisement: it answers a question; what was known before does not hold any more.
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// Who says where he is: the asker, or who answers. `None`: nobody whom section 7.1 lets speak, or he speaks for another.
pub fn read(frame: &[u8]) -> Option<(Ipv6Addr, MacAddr)> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let Some(LinkSlice::Ethernet2(ethernet)) = packet.link else { return None };
    let Some(NetSlice::Ipv6(ip)) = packet.net else { return None };
    let Some(TransportSlice::Icmpv6(message)) = packet.transport else { return None };
    let header = ip.header();
    let payload = message.payload();
    let sum = message.icmp_type().calc_checksum(header.source(), header.destination(), payload);
    if header.hop_limit() != HOP_LIMIT || message.code_u8() != 0 || sum != Ok(message.checksum()) {
        return None;
    }
    let target: [u8; 16] = payload.get(..16)?.try_into().ok()?;
    let (address, option) = match message.type_u8() {
        SOLICITATION => (header.source_addr(), SOURCE),
        ADVERTISEMENT => (Ipv6Addr::from(target), TARGET),
        _ => return None,
    };
    let options = payload.get(16..)?;
    let is_answer = message.type_u8() == ADVERTISEMENT && message.bytes5to8()[0] & SOLICITED != 0;
    let mac = match options {
        // Who answers may leave the option out (section 4.4). It could only say what the frame says.
        [] if is_answer => MacAddr(ethernet.source()),
        _ => link_layer_address(options, option)?,
    };
    let told = !mac.is_group() && !mac.is_zero() && ethernet.source() == mac.0;
    (told && !address.is_unspecified() && !address.is_multicast()).then_some((address, mac))
}

/// The MAC address in the option of this type.
fn link_layer_address(mut options: &[u8], wanted: u8) -> Option<MacAddr> {
    loop {
        let (kind, units) = (*options.first()?, *options.get(1)?);
        let length = 8 * usize::from(units);
        let body = options.get(2..length)?;
        if (kind, units) == (wanted, ONE_UNIT) {
            return Some(MacAddr(body.try_into().ok()?));
        }
        options = &options[length..];
    }
}

/// "Who has `target`, tell `source`", to all whose addresses end so (section 7.2.2).
pub fn solicitation(mac: MacAddr, source: Ipv6Addr, target: Ipv6Addr) -> Vec<u8> {
    let [.., a, b, c] = target.octets();
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from_be_bytes([b, c]));
    message(mac, source, group, (SOLICITATION, 0), target, SOURCE)
}

/// "I have `address`", to all on the link and unasked (section 7.2.6).
pub fn announcement(mac: MacAddr, address: Ipv6Addr) -> Vec<u8> {
    message(mac, address, ALL_NODES, (ADVERTISEMENT, OVERRIDE), address, TARGET)
}

fn message(
    mac: MacAddr,
    source: Ipv6Addr,
    group: Ipv6Addr,
    (kind, flags): (u8, u8),
    target: Ipv6Addr,
    option: u8,
) -> Vec<u8> {
    // RFC 2464 section 7.
    let [.., a, b, c, d] = group.octets();
    let kind = Icmpv6Type::Unknown { type_u8: kind, code_u8: 0, bytes5to8: [flags, 0, 0, 0] };
    let builder = PacketBuilder::ethernet2(mac.0, [0x33, 0x33, a, b, c, d])
        .ipv6(source.octets(), group.octets(), HOP_LIMIT)
        .icmpv6(kind);
    let mut rest = target.octets().to_vec();
    rest.extend([option, ONE_UNIT]);
    rest.extend(mac.0);
    let mut frame = Vec::with_capacity(builder.size(rest.len()));
    builder.write(&mut frame, &rest).expect("a vector takes all, and a message of 32 octets is not too long");
    frame
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAC: MacAddr = MacAddr([2, 0xc6, 0, 0, 0, 7]);

    fn address(text: &str) -> Ipv6Addr {
        text.parse().unwrap()
    }

    fn solicited() -> Vec<u8> {
        solicitation(MAC, address("2001:db8:113::7"), address("2001:db8:113::1:2345"))
    }

    #[test]
    fn who_asks_is_there() {
        let frame = solicited();
        assert_eq!(read(&frame), Some((address("2001:db8:113::7"), MAC)));
        assert_eq!(frame[..6], [0x33, 0x33, 0xff, 1, 0x23, 0x45]);
        assert_eq!(frame[38..54], address("ff02::1:ff01:2345").octets());
        assert_eq!(frame.len(), 86);
    }

    #[test]
    fn who_announces_himself_is_there() {
        let frame = announcement(MAC, address("2001:db8:113::7"));
        assert_eq!(read(&frame), Some((address("2001:db8:113::7"), MAC)));
        assert_eq!(frame[..6], [0x33, 0x33, 0, 0, 0, 1]);
        // Not an answer, and in the place of what was known.
        assert_eq!(frame[58], OVERRIDE);
    }

    /// What another option says before does not matter (a nonce, RFC 3971).
    #[test]
    fn other_options_are_passed_over() {
        let option = [[1, 1, 2, 0xc6, 0, 0, 0, 7], [14, 1, 9, 9, 9, 9, 9, 9]];
        let both = [option[1], option[0]].concat();
        assert_eq!(link_layer_address(&both, SOURCE), Some(MAC));
        assert_eq!(link_layer_address(&both, TARGET), None);
        assert_eq!(link_layer_address(&[14, 0, 0, 0], SOURCE), None);
    }

    #[test]
    fn who_speaks_for_another_or_from_afar_tells_nothing() {
        let changed = |at: usize, value: u8| {
            let mut frame = solicited();
            frame[at] = value;
            read(&frame)
        };
        assert_eq!(changed(11, 8), None, "another's MAC address");
        assert_eq!(changed(21, 254), None, "a router passed it on");
        assert_eq!(changed(57, 0), None, "its checksum is wrong");
        let nobody = solicitation(MAC, Ipv6Addr::UNSPECIFIED, address("2001:db8:113::1"));
        assert_eq!(read(&nobody), None, "who looks whether an address is free has none");
    }

    /// An answer to `2001:db8:113::7` that says nothing but the target.
    fn without_option(flags: u8) -> Vec<u8> {
        let (target, asker) = (address("2001:db8:113::1"), address("2001:db8:113::7"));
        let kind = Icmpv6Type::Unknown { type_u8: ADVERTISEMENT, code_u8: 0, bytes5to8: [flags, 0, 0, 0] };
        let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], MAC.0)
            .ipv6(target.octets(), asker.octets(), HOP_LIMIT)
            .icmpv6(kind);
        let mut frame = Vec::new();
        builder.write(&mut frame, &target.octets()).unwrap();
        frame
    }

    #[test]
    fn who_answers_without_the_option_is_where_his_frame_comes_from() {
        let told = Some((address("2001:db8:113::1"), MacAddr([2, 0, 0, 0, 0, 1])));
        assert_eq!(read(&without_option(SOLICITED | OVERRIDE)), told);
        assert_eq!(read(&without_option(SOLICITED)), told);
        assert_eq!(read(&without_option(OVERRIDE)), None, "nobody asked");
        let mut from_group = without_option(SOLICITED);
        from_group[6] = 3;
        assert_eq!(read(&from_group), None);
        // Who asks says where he is, or does not want to be known.
        let mut asks = solicited();
        asks.truncate(78);
        assert_eq!(read(&asks), None);
    }

    proptest! {
        #[test]
        fn no_frame_panics(changes in prop::collection::vec((0_usize..86, any::<u8>()), 0..6), length in 0_usize..=86) {
            let mut frame = solicited();
            for (at, value) in changes {
                frame[at] = value;
            }
            frame.truncate(length);
            let _ = read(&frame);
        }
    }
}
