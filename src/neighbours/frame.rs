//! What punted frames tell, and questions and announcements of either IP version.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::nd;
use crate::net::MacAddr;

const ARP: [u8; 2] = [0x08, 0x06];
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// `ar$hrd` Ethernet, `ar$pro` IPv4, and the lengths of their addresses.
const ETHERNET_AND_IPV4: [u8; 6] = [0, 1, 0x08, 0, 6, 4];
const REQUEST: [u8; 2] = [0, 1];
/// Octets before what Ethernet carries.
const HEADER: usize = 14;
/// `next header` of ICMPv6, and the types of messages about neighbours (RFC 4861 section 4).
const ICMPV6: u8 = 58;
const NEIGHBOURS: std::ops::RangeInclusive<u8> = 133..=137;

/// What a punted frame tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// Somebody is there.
    Here { address: IpAddr, mac: MacAddr },
    /// A packet from a floating address was for somebody who is not known.
    Wanted { source: IpAddr, target: IpAddr },
}

/// Reads a punted frame. `None`: it tells nothing.
pub fn read(frame: &[u8]) -> Option<Told> {
    let kind: [u8; 2] = frame.get(12..HEADER)?.try_into().ok()?;
    let rest = frame.get(HEADER..)?;
    match kind {
        ARP => arp(frame, rest),
        IPV4 => {
            let address = |at| Some(IpAddr::V4(v4_at(rest, at)?));
            let wanted = || Some(Told::Wanted { source: address(12)?, target: address(16)? });
            (rest.first()? >> 4 == 4).then(wanted)?
        }
        IPV6 => {
            if rest.first()? >> 4 != 6 {
                return None;
            }
            if *rest.get(6)? == ICMPV6 && NEIGHBOURS.contains(rest.get(40)?) {
                let (address, mac) = nd::read(frame)?;
                return Some(Told::Here { address: IpAddr::V6(address), mac });
            }
            let address = |at: usize| {
                let octets: [u8; 16] = rest.get(at..at + 16)?.try_into().ok()?;
                Some(IpAddr::V6(Ipv6Addr::from(octets)))
            };
            Some(Told::Wanted { source: address(8)?, target: address(24)? })
        }
        _ => None,
    }
}

fn v4_at(bytes: &[u8], at: usize) -> Option<Ipv4Addr> {
    let octets: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(Ipv4Addr::from(octets))
}

/// An ARP message (RFC 826).
fn arp(frame: &[u8], rest: &[u8]) -> Option<Told> {
    if rest.get(..6)? != ETHERNET_AND_IPV4 {
        return None;
    }
    let mac = MacAddr(rest.get(8..14)?.try_into().ok()?);
    let address = v4_at(rest, 14)?;
    let told = !mac.is_group() && !mac.is_zero() && frame.get(6..12)? == mac.0;
    (told && !address.is_unspecified()).then_some(Told::Here { address: IpAddr::V4(address), mac })
}

/// "Who has `target`, tell `source`". `None`: the two are of different IP versions.
pub fn question(mac: MacAddr, source: IpAddr, target: IpAddr) -> Option<Vec<u8>> {
    match (source, target) {
        (IpAddr::V4(source), IpAddr::V4(target)) => Some(request(mac, source, target)),
        (IpAddr::V6(source), IpAddr::V6(target)) => Some(nd::solicitation(mac, source, target)),
        _ => None,
    }
}

/// "I have `address`".
pub fn announcement(mac: MacAddr, address: IpAddr) -> Vec<u8> {
    match address {
        // RFC 5227 section 3.
        IpAddr::V4(address) => request(mac, address, address),
        IpAddr::V6(address) => nd::announcement(mac, address),
    }
}

fn request(mac: MacAddr, source: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEADER + 28);
    frame.extend(MacAddr::BROADCAST.0);
    frame.extend(mac.0);
    frame.extend(ARP);
    frame.extend(ETHERNET_AND_IPV4);
    frame.extend(REQUEST);
    frame.extend(mac.0);
    frame.extend(source.octets());
    frame.extend([0; 6]);
    frame.extend(target.octets());
    frame
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAC: MacAddr = MacAddr([2, 0xc0, 203, 0, 113, 7]);

    #[test]
    fn who_asks_is_there() {
        let (source, target): (Ipv4Addr, _) =
            ("203.0.113.7".parse().unwrap(), "203.0.113.1".parse().unwrap());
        let frame = request(MAC, source, target);
        assert_eq!(read(&frame), Some(Told::Here { address: source.into(), mac: MAC }));
        assert_eq!((frame.len(), &frame[38..42]), (42, &[203, 0, 113, 1][..]));
    }

    #[test]
    fn who_speaks_for_another_or_has_no_address_tells_nothing() {
        let address = "203.0.113.7".parse().unwrap();
        let mut forged = request(MAC, address, address);
        forged[11] = 8;
        assert_eq!(read(&forged), None);
        assert_eq!(read(&request(MAC, Ipv4Addr::UNSPECIFIED, address)), None);
    }

    #[test]
    fn a_packet_tells_whom_it_is_for() {
        let mut frame = request(MAC, Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED);
        frame[12..14].copy_from_slice(&IPV4);
        frame[14] = 0x45;
        frame[26..30].copy_from_slice(&[203, 0, 113, 7]);
        frame[30..34].copy_from_slice(&[203, 0, 113, 9]);
        let (source, target) = ("203.0.113.7".parse().unwrap(), "203.0.113.9".parse().unwrap());
        assert_eq!(read(&frame), Some(Told::Wanted { source, target }));
    }

    /// Of IPv6, too, unless it is about neighbours.
    #[test]
    fn a_packet_of_ipv6_tells_whom_it_is_for() {
        let (source, target) = ("2001:db8:113::7".parse().unwrap(), "2001:db8:113::9".parse().unwrap());
        let mut frame = question(MAC, source, target).unwrap();
        assert_eq!(read(&frame), Some(Told::Here { address: source, mac: MAC }));
        // An echo request to somebody, of which only the beginning came.
        frame[54] = 128;
        frame.truncate(64);
        let IpAddr::V6(group) = "ff02::1:ff00:9".parse().unwrap() else { unreachable!() };
        assert_eq!(read(&frame), Some(Told::Wanted { source, target: group.into() }));
        frame[14] = 0x45;
        assert_eq!(read(&frame), None);
        assert_eq!(question(MAC, source, "203.0.113.1".parse().unwrap()), None);
    }

    proptest! {
        #[test]
        fn no_frame_panics(frame in prop::collection::vec(any::<u8>(), 0..80), kind in 0_usize..4) {
            let mut frame = frame;
            if let (Some(place), Some(kind)) = (frame.get_mut(12..14), [ARP, IPV4, IPV6].get(kind)) {
                place.copy_from_slice(kind);
            }
            let _ = read(&frame);
        }
    }
}
