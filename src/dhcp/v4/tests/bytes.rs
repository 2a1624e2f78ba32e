use dhcproto::v4::{DhcpOption, Message, MessageType, Opcode, OptionCode};
use dhcproto::{Decodable, Decoder, Encodable, Encoder};
use etherparse::{LinkSlice, NetSlice, PacketBuilder, SlicedPacket, TransportSlice};

use super::super::{Reply, read, write};
use super::*;

/// A client's or relay agent's frame, options after those of dhcproto as they are.
fn frame(giaddr: Ipv4Addr, ports: (u16, u16), options: Vec<DhcpOption>, raw: &[u8]) -> Vec<u8> {
    let mut message = Message::new_with_id(7, NOBODY, NOBODY, NOBODY, giaddr, &MAC.0);
    for option in options {
        message.opts_mut().insert(option);
    }
    let mut payload = Vec::new();
    message.encode(&mut Encoder::new(&mut payload)).unwrap();
    // dhcproto writes the end only behind options.
    if payload.len() > 240 {
        assert_eq!(payload.pop(), Some(255));
    }
    payload.extend_from_slice(raw);
    payload.push(255);
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2(MAC.0, [0xff; 6]).ipv4([0; 4], [255; 4], 64).udp(ports.0, ports.1);
    builder.write(&mut frame, &payload).unwrap();
    frame
}

fn discovering() -> Vec<u8> {
    let options = vec![
        DhcpOption::MessageType(MessageType::Discover),
        DhcpOption::ClientIdentifier(vec![1, 2, 0, 0, 0, 0, 1]),
        DhcpOption::ParameterRequestList(vec![OptionCode::SubnetMask, OptionCode::Unknown(249)]),
        DhcpOption::MaxMessageSize(1500),
    ];
    frame(NOBODY, (68, 67), options, &[])
}

/// MAC address, IP address, UDP port, and the message as it is read back.
fn unpacked(frame: &[u8]) -> (MacAddr, Ipv4Addr, u16, Message, Vec<u8>) {
    let packet = SlicedPacket::from_ethernet(frame).unwrap();
    let Some(LinkSlice::Ethernet2(ethernet)) = packet.link else { panic!("not Ethernet") };
    let Some(NetSlice::Ipv4(ip)) = packet.net else { panic!("not IPv4") };
    let Some(TransportSlice::Udp(udp)) = packet.transport else { panic!("not UDP") };
    let message = Message::decode(&mut Decoder::new(udp.payload())).unwrap();
    let to = ip.header().destination_addr();
    (MacAddr(ethernet.destination()), to, udp.destination_port(), message, udp.payload().to_vec())
}

fn reply(kind: Kind, address: Ipv4Addr) -> Reply {
    Reply {
        kind,
        server: GATEWAY,
        address,
        next_server: host(8),
        server_name: Some("boot".into()),
        boot_file: Some("kernel".into()),
        options: vec![Opt::seconds(51, 100), Opt::addresses(3, &[GATEWAY])],
    }
}

#[test]
fn a_request_is_read() {
    let request = read(&discovering()).unwrap();
    assert_eq!((request.kind, request.xid, request.chaddr), (Kind::Discover, 7, MAC));
    assert_eq!(request.client_id().as_deref(), Some("01020000000001"));
    assert_eq!(request.wanted, Some(vec![1, 249]));
    assert_eq!(request.max_size, Some(1500));
    assert_eq!(read(&frame(NOBODY, (68, 68), vec![], &[])), None, "not to a server");
    assert_eq!(read(&frame(NOBODY, (68, 67), vec![], &[])), None, "BOOTP");
}

#[test]
fn a_reply_reads_back_with_what_is_echoed() {
    let request = read(&discovering()).unwrap();
    let (.., message, payload) = unpacked(&write(&request, &reply(Kind::Offer, host(3))).unwrap());
    assert_eq!((message.opcode(), message.xid(), message.hlen()), (Opcode::BootReply, 7, 6));
    assert_eq!((message.yiaddr(), message.siaddr()), (host(3), host(8)));
    assert_eq!(message.sname().map(|name| &name[..4]), Some(&b"boot"[..]));
    assert_eq!(message.opts().get(OptionCode::Router), Some(&DhcpOption::Router(vec![GATEWAY])));
    let id = DhcpOption::ClientIdentifier(vec![1, 2, 0, 0, 0, 0, 1]);
    assert_eq!(message.opts().get(OptionCode::ClientIdentifier), Some(&id), "RFC 6842");
    assert!(payload.len() >= 300);
}

#[test]
fn replies_go_where_section_4_1_says() {
    let plain = read(&discovering()).unwrap();
    let flagged = Request { broadcast: true, ..plain.clone() };
    let renewing = Request { ciaddr: host(3), ..plain.clone() };
    let relayed = Request { giaddr: host(1), source: mac(9), ..plain.clone() };
    let everybody = (MacAddr([0xff; 6]), Ipv4Addr::BROADCAST, 68);
    let table = [
        (&plain, Kind::Offer, (MAC, host(3), 68)),
        (&flagged, Kind::Offer, everybody),
        (&renewing, Kind::Ack, (MAC, host(3), 68)),
        (&renewing, Kind::Nak, everybody),
        (&relayed, Kind::Offer, (mac(9), host(1), 67)),
        (&relayed, Kind::Nak, (mac(9), host(1), 67)),
    ];
    for (request, kind, (mac, address, port)) in table {
        let (to_mac, to, to_port, message, _) = unpacked(&write(request, &reply(kind, host(3))).unwrap());
        assert_eq!((to_mac, to, to_port), (mac, address, port), "{kind:?}");
        let relayed_nak = request.is_relayed() && kind == Kind::Nak;
        assert_eq!(message.flags().broadcast(), request.broadcast || relayed_nak);
        assert_eq!(message.giaddr(), request.giaddr);
    }
}

#[test]
fn what_the_relay_agent_said_comes_back_last_and_unchanged() {
    let info = [82, 9, 151, 3, 1, 2, 3, 1, 2, 7, 8];
    let sent = frame(host(1), (67, 67), vec![DhcpOption::MessageType(MessageType::Discover)], &info);
    let request = read(&sent).unwrap();
    assert_eq!(request.relay_info.as_deref(), Some(&info[2..]));
    let (.., payload) = unpacked(&write(&request, &reply(Kind::Offer, host(3))).unwrap());
    let options = &payload[..=payload.iter().rposition(|byte| *byte == 255).unwrap()];
    assert!(options.ends_with(&[&info[..], &[255]].concat()), "{options:?}");
}

#[test]
fn what_does_not_fit_is_left_out() {
    let request = Request { max_size: None, ..read(&discovering()).unwrap() };
    let many: Vec<_> = (0..60).map(host).collect();
    let options =
        vec![Opt::addresses(42, &many), Opt::new(15, vec![b'a'; 200]), Opt::new(26, 1400_u16.to_be_bytes())];
    let big = Reply { options, ..reply(Kind::Ack, host(3)) };
    let (.., message, payload) = unpacked(&write(&request, &big).unwrap());
    assert!(payload.len() <= 576 - 28, "{}", payload.len());
    assert!(message.opts().get(OptionCode::NtpServers).is_some());
    assert!(message.opts().get(OptionCode::DomainName).is_none());
    assert!(message.opts().get(OptionCode::InterfaceMtu).is_some());
}

#[test]
fn mutated_frames_never_panic() {
    let relayed =
        frame(host(1), (67, 67), vec![DhcpOption::MessageType(MessageType::Request)], &[82, 3, 5, 1, 1]);
    let mut world = World::new(1, vec![AllocationPool { relays: vec!["blue:p1".into()], ..pool(3, 50) }]);
    let mut state = 1_u64;
    for round in 0..30_000 {
        let mut frame = if round % 2 == 0 { discovering() } else { relayed.clone() };
        for _ in 0..3 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % frame.len();
            frame[at] = (state >> 20) as u8;
        }
        if state >> 60 == 0 {
            frame.truncate(1 + (state >> 40) as usize % frame.len());
        }
        if let Some(request) = read(&frame) {
            let answer = world.says(1, &request);
            if let Some(reply) = answer.reply {
                assert!(write(&request, &reply).is_some());
            }
        }
    }
}
