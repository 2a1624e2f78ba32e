//! Tells the neighbours of a container where its addresses are now. The switch answers who asks; but who knows an address by the MAC address
//! of an earlier sandbox does not ask before his own entry is old.
#![allow(unsafe_code, reason = "an address of a packet socket (packet(7)) is a structure of its own")]

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use coeus_cni::Prefix;
use rustix::net::addr::SocketAddrStorage;
use rustix::net::{AddressFamily, SendFlags, SocketAddrAny, SocketFlags, SocketType, sendto, socket_with};

use super::link;
use super::netlink::Netlink;

/// RFC 5227 section 1.1: ANNOUNCE_NUM is 2. RFC 4861 section 10: RETRANS_TIMER is 1 s, MAX_NEIGHBOR_ADVERTISEMENT 3. Each goes to every pod
/// of the network.
const PAUSE: Duration = Duration::from_secs(1);

const EVERYBODY: [u8; 6] = [0xff; 6];
const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86dd;
/// ff02::1 and its MAC address (RFC 2464 section 7).
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const ALL_NODES_MAC: [u8; 6] = [0x33, 0x33, 0, 0, 0, 1];
const ICMPV6: u8 = 58;

/// `struct sockaddr_ll` (packet(7)).
#[repr(C)]
struct LinkLayer {
    family: u16,
    protocol: u16,
    index: i32,
    hardware: u16,
    kind: u8,
    length: u8,
    address: [u8; 8],
}

/// What is said, and by which device.
struct Announcement {
    socket: OwnedFd,
    to: SocketAddrAny,
    frames: Vec<Vec<u8>>,
}

/// Sends an ARP announcement or an unsolicited neighbour advertisement for each address, now and once more; to be run in the container's
/// namespace. Nobody acknowledges it, and one may be lost.
///
/// # Errors
/// What the kernel says the first time.
pub fn announce(interface: &str, addresses: &[Prefix]) -> io::Result<()> {
    let said = Announcement::new(interface, addresses)?;
    said.send()?;
    let again = move || {
        std::thread::sleep(PAUSE);
        // Who is gone meanwhile has no neighbours.
        let _ = said.send();
    };
    std::thread::Builder::new().name("announcement".into()).spawn(again).map(drop)
}

impl Announcement {
    fn new(interface: &str, addresses: &[Prefix]) -> io::Result<Announcement> {
        let device = link::device(&mut Netlink::open()?, interface)?;
        let device = device.ok_or_else(|| io::Error::other(format!("{interface} has gone")))?;
        let mac: [u8; 6] =
            link::octets(&device.mac)?.try_into().map_err(|_| io::Error::other("no MAC address"))?;
        let frame = |one: &Prefix| match one.address {
            IpAddr::V4(address) => announcement(mac, address),
            IpAddr::V6(address) => advertisement(mac, address),
        };
        Ok(Announcement {
            // Of no protocol: it hears nothing.
            socket: socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)?,
            to: address(i32::try_from(device.index).map_err(io::Error::other)?),
            frames: addresses.iter().map(frame).collect(),
        })
    }

    fn send(&self) -> io::Result<()> {
        for frame in &self.frames {
            sendto(&self.socket, frame, SendFlags::empty(), &self.to)?;
        }
        Ok(())
    }
}

/// By which device a frame goes.
fn address(index: i32) -> SocketAddrAny {
    let family = AddressFamily::PACKET.as_raw();
    let own = LinkLayer { family, protocol: 0, index, hardware: 0, kind: 0, length: 0, address: [0; 8] };
    let mut storage = SocketAddrStorage::zeroed();
    // SAFETY: the storage is larger than any address, and a LinkLayer is what addresses of this family are.
    unsafe {
        (&raw mut storage).cast::<LinkLayer>().write(own);
        SocketAddrAny::read(&raw const storage, size_of::<LinkLayer>() as u32)
    }
}

fn frame(to: [u8; 6], from: [u8; 6], kind: u16, payload: &[u8]) -> Vec<u8> {
    [&to, &from, &kind.to_be_bytes()[..], payload].concat()
}

/// An ARP announcement (RFC 5227 section 3): a request for one's own address.
fn announcement(mac: [u8; 6], address: Ipv4Addr) -> Vec<u8> {
    let kinds = [0, 1, 8, 0, 6, 4, 0, 1];
    let octets = address.octets();
    frame(EVERYBODY, mac, ARP, &[&kinds[..], &mac, &octets, &[0; 6], &octets].concat())
}

/// An unsolicited neighbour advertisement (RFC 4861 section 7.2.6) that replaces what is known.
fn advertisement(mac: [u8; 6], address: Ipv6Addr) -> Vec<u8> {
    const OVERRIDE: u8 = 0x20;
    let mut message = [&[136, 0, 0, 0, OVERRIDE, 0, 0, 0][..], &address.octets(), &[2, 1], &mac].concat();
    let length = message.len() as u16;
    let sum = checksum(&[
        &address.octets(),
        &ALL_NODES.octets(),
        &u32::from(length).to_be_bytes(),
        &[0, 0, 0, ICMPV6],
        &message,
    ]);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let head = [&[0x60, 0, 0, 0][..], &length.to_be_bytes(), &[ICMPV6, 255]].concat();
    let packet = [&head[..], &address.octets(), &ALL_NODES.octets(), &message].concat();
    frame(ALL_NODES_MAC, mac, IPV6, &packet)
}

/// The Internet's checksum (RFC 1071) of parts that are of even lengths.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks_exact(2));
    let mut sum: u32 = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use etherparse::{Icmpv6Type, NetSlice, SlicedPacket, TransportSlice};

    use super::*;

    const MAC: [u8; 6] = [0x0a, 0, 0, 0, 0, 0x2a];

    #[test]
    fn an_announcement_asks_for_its_own_address() {
        let frame = announcement(MAC, Ipv4Addr::new(10, 11, 1, 50));
        let wanted = "ffffffffffff0a000000002a0806000108000604000\
                      10a000000002a0a0b01320000000000000a0b0132";
        let text: String = frame.iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!(text, wanted);
    }

    #[test]
    fn an_advertisement_replaces_what_is_known_and_has_a_checksum() {
        let address: Ipv6Addr = "fd00:6::50".parse().unwrap();
        let frame = advertisement(MAC, address);
        let packet = SlicedPacket::from_ethernet(&frame).unwrap();
        let Some(NetSlice::Ipv6(ip)) = &packet.net else { panic!("no IPv6") };
        assert_eq!((ip.header().source_addr(), ip.header().hop_limit()), (address, 255));
        let Some(TransportSlice::Icmpv6(message)) = &packet.transport else { panic!("no ICMPv6") };
        assert!(message.is_checksum_valid(ip.header().source(), ip.header().destination()));
        let Icmpv6Type::NeighborAdvertisement(header) = message.icmp_type() else {
            panic!("no advertisement")
        };
        assert!(header.r#override && !header.solicited && !header.router);
        assert_eq!(&message.payload()[..16], address.octets());
        assert_eq!(&message.payload()[16..], [&[2, 1][..], &MAC].concat());
    }
}
