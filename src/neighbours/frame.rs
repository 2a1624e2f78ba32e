//! ARP messages read and written, and whom a packet was for.

use std::net::Ipv4Addr;

use crate::net::MacAddr;

const ARP: [u8; 2] = [0x08, 0x06];
const IPV4: [u8; 2] = [0x08, 0x00];
/// `ar$hrd` Ethernet, `ar$pro` IPv4, and the lengths of their addresses.
const ETHERNET_AND_IPV4: [u8; 6] = [0, 1, 0x08, 0, 6, 4];
const REQUEST: [u8; 2] = [0, 1];
/// Octets before what Ethernet carries.
const HEADER: usize = 14;

/// What a punted frame tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// Somebody is there.
    Here { address: Ipv4Addr, mac: MacAddr },
    /// A packet from a floating address was for somebody who is not known.
    Wanted { source: Ipv4Addr, target: Ipv4Addr },
}

/// Reads a punted frame. `None`: it tells nothing.
pub fn read(frame: &[u8]) -> Option<Told> {
    let kind = frame.get(12..HEADER)?;
    let rest = frame.get(HEADER..)?;
    let address = |at: usize| {
        let octets: [u8; 4] = rest.get(at..at + 4)?.try_into().ok()?;
        Some(Ipv4Addr::from(octets))
    };
    if kind == ARP {
        if rest.get(..6)? != ETHERNET_AND_IPV4 {
            return None;
        }
        let mac = MacAddr(rest.get(8..14)?.try_into().ok()?);
        let address = address(14)?;
        let told = !mac.is_group() && !mac.is_zero() && frame.get(6..12)? == mac.0;
        return (told && !address.is_unspecified()).then_some(Told::Here { address, mac });
    }
    if kind != IPV4 || rest.first()? >> 4 != 4 {
        return None;
    }
    Some(Told::Wanted { source: address(12)?, target: address(16)? })
}

/// "Who has `target`, tell `source`"; with both the same, an announcement (RFC 5227 section 3).
pub fn request(mac: MacAddr, source: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
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
        let (source, target) = ("203.0.113.7".parse().unwrap(), "203.0.113.1".parse().unwrap());
        let frame = request(MAC, source, target);
        assert_eq!(read(&frame), Some(Told::Here { address: source, mac: MAC }));
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

    proptest! {
        #[test]
        fn no_frame_panics(frame in prop::collection::vec(any::<u8>(), 0..80), kind in 0..3) {
            let mut frame = frame;
            if let (Some(place), 0..2) = (frame.get_mut(12..14), kind) {
                place.copy_from_slice(if kind == 0 { &ARP } else { &IPV4 });
            }
            let _ = read(&frame);
        }
    }
}
