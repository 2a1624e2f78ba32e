use dhcproto::v6::{
    DhcpOption, DhcpOptions, IAAddr, IANA, IAPD, IATA, Message, MessageType, ORO, OptionCode, Status as Their,
};
use dhcproto::{Decodable, Decoder, Encodable, Encoder};
use etherparse::{LinkSlice, NetSlice, PacketBuilder, SlicedPacket, TransportSlice};

use super::super::{Opt, Reply, read, write};
use super::*;

const SERVERS: [u8; 16] = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2];

fn envelope(request: &Request, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let to = if request.unicast { host(GATEWAY).octets() } else { SERVERS };
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2(request.source.0, [0x33, 0x33, 0, 1, 0, 2])
        .ipv6(request.address.octets(), to, 1)
        .udp(ports.0, ports.1);
    builder.write(&mut frame, payload).unwrap();
    frame
}

/// A client's frame around anything.
pub fn frame_around(payload: &[u8]) -> Vec<u8> {
    envelope(&solicit(1), (546, 547), payload)
}

/// A client's frame as dhcproto writes it.
pub fn frame_of(request: &Request) -> Vec<u8> {
    let kind = MessageType::from(request.kind as u8);
    let mut message = Message::new_with_id(kind, request.xid.to_be_bytes()[1..].try_into().unwrap());
    let options = message.opts_mut();
    if let Some(client) = &request.client {
        options.insert(DhcpOption::ClientId(client.0.clone()));
    }
    if let Some(server) = &request.server {
        options.insert(DhcpOption::ServerId(server.0.clone()));
    }
    if let Some(codes) = &request.wanted {
        options.insert(DhcpOption::ORO(ORO {
            opts: codes.iter().map(|code| OptionCode::from(*code)).collect(),
        }));
    }
    if request.rapid_commit {
        options.insert(DhcpOption::RapidCommit);
    }
    options.insert(DhcpOption::ElapsedTime(0));
    for ia in &request.ias {
        let mut opts = DhcpOptions::new();
        for address in &ia.addresses {
            let (preferred_life, valid_life) = (100, 200);
            let inner = IAAddr { addr: *address, preferred_life, valid_life, opts: DhcpOptions::new() };
            opts.insert(DhcpOption::IAAddr(inner));
        }
        let id = ia.iaid;
        options.insert(match ia.kind {
            IaKind::Na => DhcpOption::IANA(IANA { id, t1: 0, t2: 0, opts }),
            IaKind::Ta => DhcpOption::IATA(IATA { id, opts }),
            IaKind::Pd => DhcpOption::IAPD(IAPD { id, t1: 0, t2: 0, opts }),
        });
    }
    let mut payload = Vec::new();
    message.encode(&mut Encoder::new(&mut payload)).unwrap();
    envelope(request, (546, 547), &payload)
}

fn wordy() -> Request {
    let addresses = vec![host(3), elsewhere()];
    Request {
        ias: vec![na(7, &addresses), Ia { kind: IaKind::Ta, iaid: 8, addresses: vec![host(4)] }],
        wanted: Some(vec![23, 24]),
        rapid_commit: true,
        ..solicit(1)
    }
}

#[test]
fn section_8_what_another_library_writes_is_read() {
    let pd = Ia { kind: IaKind::Pd, iaid: 9, addresses: vec![] };
    let all = [
        wordy(),
        Request { ias: vec![pd], ..message(2, Kind::Renew) },
        message(1, Kind::InformationRequest),
        Request { unicast: true, ..with(message(3, Kind::Release), &[host(3)]) },
        with(message(3, Kind::Decline), &[host(3)]),
        Request { client: None, ..message(1, Kind::Confirm) },
    ];
    for request in all {
        // Options of one code have no order in dhcproto.
        let mut found = read(&frame_of(&request)).unwrap();
        found.ias.iter_mut().for_each(|ia| ia.addresses.sort());
        assert_eq!(found, request);
    }
}

#[test]
fn section_7_2_other_ports_senders_and_versions_are_not_read() {
    let payload = [1, 0, 0, 1];
    assert!(read(&frame_around(&payload)).is_some());
    for ports in [(547, 547), (546, 546), (546, 67)] {
        assert_eq!(read(&envelope(&solicit(1), ports, &payload)), None);
    }
    let nobody = Request { address: Ipv6Addr::UNSPECIFIED, ..solicit(1) };
    assert_eq!(read(&envelope(&nobody, (546, 547), &payload)), None);
    let many = Request { address: Ipv6Addr::from(SERVERS), ..solicit(1) };
    assert_eq!(read(&envelope(&many, (546, 547), &payload)), None);
}

#[test]
fn section_21_what_is_cut_off_or_too_much_is_not_read() {
    let read_whole = |payload: &[u8]| read(&frame_around(payload));
    assert!(read_whole(&[1, 0, 0, 1]).is_some());
    let bad: [&[u8]; 9] = [
        &[],
        &[1, 0, 0],
        &[12, 0, 0, 1],                                              // of a relay agent
        &[1, 0, 0, 1, 0],                                            // half an option
        &[1, 0, 0, 1, 0, 14, 0, 1],                                  // shorter than it says
        &[1, 0, 0, 1, 0, 1, 0, 2, 0, 3],                             // a DUID of a type and nothing
        &[1, 0, 0, 1, 0, 3, 0, 11, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], // IA_NA without T2
        &[1, 0, 0, 1, 0, 4, 0, 8, 0, 0, 0, 1, 0, 5, 0, 0],           // an address without octets
        &[1, 0, 0, 1, 0, 4, 0, 6, 0, 0, 0, 1, 0, 5],                 // half an option inside
    ];
    for payload in bad {
        assert_eq!(read_whole(payload), None, "{payload:?}");
    }
    let long = [&[1, 0, 0, 1, 0, 1, 0, 131][..], &[0; 131]].concat();
    assert_eq!(read_whole(&long), None, "no DUID is so long");
    let many = |number: u32| Request { ias: (0..number).map(|iaid| na(iaid, &[])).collect(), ..solicit(1) };
    assert!(read(&frame_of(&many(8))).is_some());
    assert_eq!(read(&frame_of(&many(9))), None);
    let full = with(solicit(1), &vec![host(3); 17]);
    assert_eq!(read(&frame_of(&full)), None);
}

/// From which address to which, ports, and the message as dhcproto reads it.
fn unpacked(frame: &[u8]) -> (MacAddr, Ipv6Addr, Ipv6Addr, (u16, u16), Message) {
    let packet = SlicedPacket::from_ethernet(frame).unwrap();
    let Some(LinkSlice::Ethernet2(ethernet)) = packet.link else { panic!("not Ethernet") };
    let Some(NetSlice::Ipv6(ip)) = &packet.net else { panic!("not IPv6") };
    let Some(TransportSlice::Udp(udp)) = packet.transport else { panic!("not UDP") };
    let header = ip.header();
    let sum = udp.to_header().calc_checksum_ipv6_raw(header.source(), header.destination(), udp.payload());
    assert_eq!(sum, Ok(udp.checksum()), "UDP over IPv6 has a checksum");
    let message = Message::decode(&mut Decoder::new(udp.payload())).unwrap();
    let ports = (udp.source_port(), udp.destination_port());
    (MacAddr(ethernet.destination()), header.source_addr(), header.destination_addr(), ports, message)
}

#[test]
fn section_18_3_10_a_reply_reads_back_elsewhere_and_goes_where_it_was_asked() {
    let asked = wordy();
    let addresses = vec![leased(3, 1000), leased(4, 0)];
    let one = IaReply { kind: IaKind::Na, iaid: 7, times: (500, 800), addresses, status: None };
    let status = Some(Status::NoAddrsAvail);
    let two = IaReply { kind: IaKind::Ta, iaid: 8, times: (0, 0), addresses: vec![], status };
    let dns = Opt { code: 23, data: host(0x53).octets().to_vec() };
    let names = Opt { code: 24, data: crate::dhcp::names::names(&["blue.example".into()]) };
    let reply = Reply {
        kind: Kind::Reply,
        server: server(),
        status: Some(Status::Success),
        ias: vec![one, two],
        rapid_commit: true,
        options: vec![dns, names],
    };
    let (mac, from, to, ports, message) = unpacked(&write(&asked, &reply).unwrap());
    assert_eq!((mac, from, to), (asked.source, "fe80::1".parse().unwrap(), asked.address));
    assert_eq!(ports, (547, 546));
    assert_eq!((message.msg_type(), message.xid_num()), (MessageType::Reply, asked.xid));
    let options = message.opts();
    assert_eq!(options.get(OptionCode::ClientId), Some(&DhcpOption::ClientId(client(1).0)));
    assert_eq!(options.get(OptionCode::ServerId), Some(&DhcpOption::ServerId(server().0)));
    assert!(options.get(OptionCode::RapidCommit).is_some());
    let Some(DhcpOption::StatusCode(code)) = options.get(OptionCode::StatusCode) else { panic!() };
    assert_eq!((code.status, code.msg.as_str()), (Their::Success, Status::Success.said()));
    let Some(DhcpOption::IANA(ia)) = options.get(OptionCode::IANA) else { panic!("no IA_NA") };
    assert_eq!((ia.id, ia.t1, ia.t2), (7, 500, 800));
    let lifetimes = ia.opts.iter().filter_map(|option| match option {
        DhcpOption::IAAddr(address) => Some((address.addr, address.preferred_life, address.valid_life)),
        _ => None,
    });
    assert_eq!(lifetimes.collect::<Vec<_>>(), [(host(3), 1000, 1000), (host(4), 0, 0)]);
    let Some(DhcpOption::IATA(ia)) = options.get(OptionCode::IATA) else { panic!("no IA_TA") };
    let Some(DhcpOption::StatusCode(code)) = ia.opts.get(OptionCode::StatusCode) else { panic!("no status") };
    assert_eq!((ia.id, code.status), (8, Their::NoAddrsAvail));
    let servers = options.get(OptionCode::DomainNameServers);
    assert_eq!(servers, Some(&DhcpOption::DomainNameServers(vec![host(0x53)])));
    let Some(DhcpOption::DomainSearchList(list)) = options.get(OptionCode::DomainSearchList) else {
        panic!()
    };
    assert_eq!(list[0].to_string().trim_end_matches('.'), "blue.example");
}

#[test]
fn what_does_not_fit_is_left_out() {
    let big = Opt { code: 23, data: vec![0; 16 * 100] };
    let small = Opt { code: 24, data: crate::dhcp::names::names(&["blue.example".into()]) };
    let blank = answer(
        &message(1, Kind::InformationRequest),
        &World::new(1, vec![stateless()]).ports[0],
        &server(),
        &Book::default(),
        0,
    );
    let reply = Reply { options: vec![big, small], ..blank.reply.unwrap() };
    let (.., message) = unpacked(&write(&message(1, Kind::InformationRequest), &reply).unwrap());
    assert!(message.opts().get(OptionCode::DomainNameServers).is_none());
    assert!(message.opts().get(OptionCode::DomainSearchList).is_some());
}

#[test]
fn section_11_a_duid_is_written_and_read_back() {
    for duid in [server(), client(3)] {
        assert_eq!(Duid::parse(&duid.to_string()), Some(duid));
    }
    assert_eq!(server().0.len(), 18, "type 4 and a UUID (RFC 6355)");
    for bad in ["", "0", "00", "zz0000", "0001"] {
        assert_eq!(Duid::parse(bad), None, "{bad}");
    }
}
