//! Ethernet frames to requests, replies to Ethernet frames.

use std::net::Ipv4Addr;

use dhcproto::v4::{DhcpOption, Flags, Message, MessageType, Opcode, OptionCode};
use dhcproto::{Decodable, Decoder, Encodable, Encoder};
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};

use super::answer::{Reply, Request};
use crate::net::MacAddr;

/// Source of all replies: a locally administered address of ours. Clients talk to the server's IP address, not to this.
const SERVER_MAC: MacAddr = MacAddr([0x02, 0xc0, 0xe5, 0, 0, 0]);
/// What pods may send so that it fits into VXLAN on a 1500-byte underlay.
const MTU: u16 = 1450;
const SERVER: u16 = 67;
const CLIENT: u16 = 68;

/// Reads a punted frame. `None`: not a request of a DHCP client.
pub fn read(frame: &[u8]) -> Option<Request> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let source = match packet.link? {
        etherparse::LinkSlice::Ethernet2(ethernet) => MacAddr(ethernet.source()),
        _ => return None,
    };
    if !matches!(packet.net, Some(NetSlice::Ipv4(_))) {
        return None;
    }
    let Some(TransportSlice::Udp(udp)) = packet.transport else { return None };
    if (udp.source_port(), udp.destination_port()) != (CLIENT, SERVER) {
        return None;
    }
    let message = Message::decode(&mut Decoder::new(udp.payload())).ok()?;
    if message.opcode() != Opcode::BootRequest || message.hlen() != 6 {
        return None;
    }
    let chaddr = MacAddr(message.chaddr().get(..6)?.try_into().ok()?);
    let options = message.opts();
    let DhcpOption::MessageType(kind) = options.get(OptionCode::MessageType)? else { return None };
    let address = |code| match options.get(code) {
        Some(DhcpOption::RequestedIpAddress(address) | DhcpOption::ServerIdentifier(address)) => {
            Some(*address)
        }
        _ => None,
    };
    let client_id = match options.get(OptionCode::ClientIdentifier) {
        Some(DhcpOption::ClientIdentifier(id)) => Some(id.iter().map(|byte| format!("{byte:02x}")).collect()),
        _ => None,
    };
    Some(Request {
        kind: *kind,
        xid: message.xid(),
        broadcast: message.flags().broadcast(),
        source,
        chaddr,
        ciaddr: message.ciaddr(),
        requested: address(OptionCode::RequestedIpAddress),
        server: address(OptionCode::ServerIdentifier),
        client_id,
    })
}

/// The whole frame of a reply. `None`: it cannot be encoded, which no reply of ours should be.
pub fn write(request: &Request, reply: &Reply) -> Option<Vec<u8>> {
    let mut message = Message::new_with_id(
        request.xid,
        request.ciaddr,
        reply.address,
        Ipv4Addr::UNSPECIFIED,
        Ipv4Addr::UNSPECIFIED,
        &request.chaddr.0,
    );
    message.set_opcode(Opcode::BootReply);
    if request.broadcast {
        message.set_flags(Flags::default().set_broadcast());
    }
    let options = message.opts_mut();
    options.insert(DhcpOption::MessageType(reply.kind));
    options.insert(DhcpOption::ServerIdentifier(reply.server));
    if let Some(offer) = &reply.offer {
        options.insert(DhcpOption::SubnetMask(offer.subnet.mask()));
        options.insert(DhcpOption::BroadcastAddr(offer.subnet.broadcast()));
        options.insert(DhcpOption::InterfaceMtu(MTU));
        if let Some(gateway) = offer.gateway {
            options.insert(DhcpOption::Router(vec![gateway]));
        }
        if !offer.dns.is_empty() {
            options.insert(DhcpOption::DomainNameServer(offer.dns.clone()));
        }
        if let Some(lease) = offer.lease {
            let seconds = u32::try_from(lease).unwrap_or(u32::MAX);
            options.insert(DhcpOption::AddressLeaseTime(seconds));
            options.insert(DhcpOption::Renewal(seconds / 2));
            options.insert(DhcpOption::Rebinding(seconds / 8 * 7));
        }
    }
    let mut payload = Vec::new();
    message.encode(&mut Encoder::new(&mut payload)).ok()?;
    // A client that has its address is answered there; one that has none yet hears broadcasts only (section 4.1).
    let known = !request.ciaddr.is_unspecified() && reply.kind != MessageType::Nak;
    let (mac, address) =
        if known { (request.chaddr, request.ciaddr) } else { (request.chaddr, Ipv4Addr::BROADCAST) };
    let builder = PacketBuilder::ethernet2(SERVER_MAC.0, mac.0)
        .ipv4(reply.server.octets(), address.octets(), 64)
        .udp(SERVER, CLIENT);
    let mut frame = Vec::with_capacity(builder.size(payload.len()));
    builder.write(&mut frame, &payload).ok()?;
    Some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dhcp::answer::Offer;

    fn discover() -> Vec<u8> {
        let mut message = Message::new_with_id(
            7,
            Ipv4Addr::UNSPECIFIED,
            Ipv4Addr::UNSPECIFIED,
            Ipv4Addr::UNSPECIFIED,
            Ipv4Addr::UNSPECIFIED,
            &[2, 0, 0, 0, 0, 1],
        );
        message.opts_mut().insert(DhcpOption::MessageType(MessageType::Discover));
        message.opts_mut().insert(DhcpOption::ClientIdentifier(vec![1, 2, 0, 0, 0, 0, 1]));
        let mut payload = Vec::new();
        message.encode(&mut Encoder::new(&mut payload)).unwrap();
        let mut frame = Vec::new();
        let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [0xff; 6])
            .ipv4([0; 4], [255; 4], 64)
            .udp(CLIENT, SERVER);
        builder.write(&mut frame, &payload).unwrap();
        frame
    }

    #[test]
    fn a_request_is_read_and_its_reply_reads_back() {
        let request = read(&discover()).unwrap();
        assert_eq!(
            (request.kind, request.xid, request.chaddr),
            (MessageType::Discover, 7, MacAddr([2, 0, 0, 0, 0, 1]))
        );
        assert_eq!(request.client_id.as_deref(), Some("01020000000001"));
        let offer = Offer {
            subnet: "192.168.10.0/24".parse().unwrap(),
            gateway: Some([192, 168, 10, 2].into()),
            dns: vec![],
            lease: Some(100),
        };
        let reply = Reply {
            kind: MessageType::Offer,
            server: [192, 168, 10, 2].into(),
            address: [192, 168, 10, 3].into(),
            offer: Some(offer),
        };
        let frame = write(&request, &reply).unwrap();
        let packet = SlicedPacket::from_ethernet(&frame).unwrap();
        let Some(TransportSlice::Udp(udp)) = packet.transport else { panic!("a reply is UDP") };
        let message = Message::decode(&mut Decoder::new(udp.payload())).unwrap();
        assert_eq!(
            (message.opcode(), message.xid(), message.yiaddr()),
            (Opcode::BootReply, 7, [192, 168, 10, 3].into())
        );
        assert_eq!(message.opts().get(OptionCode::Renewal), Some(&DhcpOption::Renewal(50)));
        assert_eq!(
            message.opts().get(OptionCode::Router),
            Some(&DhcpOption::Router(vec![[192, 168, 10, 2].into()]))
        );
    }

    #[test]
    fn mutated_frames_never_panic() {
        let good = discover();
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
