//! Ethernet frames to requests, replies to Ethernet frames.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};

use super::message::{Kind, Opt, Reply, Request};
use crate::dhcp::SERVER_MAC;
use crate::net::MacAddr;

const BROADCAST: MacAddr = MacAddr([0xff; 6]);
const SERVER: u16 = 67;
const CLIENT: u16 = 68;
/// Octets of a message before its options: the fixed fields and the cookie (RFC 2131 section 2).
const FIXED: usize = 240;
const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// Octets of the shortest message (BOOTP, RFC 951).
const SHORTEST: usize = 300;
/// Octets of the IP datagram that every client takes (RFC 2131 section 2), and of its headers.
const EVERY_CLIENT: u16 = 576;
const HEADERS: usize = 28;
/// `op`, and `htype` with `hlen`.
const REQUEST: u8 = 1;
const REPLY: u8 = 2;
const ETHERNET: [u8; 2] = [1, 6];
/// The bit in the first octet of `flags`.
const BROADCAST_FLAG: u8 = 0x80;
/// Codes of options (RFC 2132; 82: RFC 3046).
const PAD: u8 = 0;
const REQUESTED_ADDRESS: u8 = 50;
const LEASE_TIME: u8 = 51;
const MESSAGE_TYPE: u8 = 53;
const SERVER_ID: u8 = 54;
const PARAMETER_REQUEST_LIST: u8 = 55;
const MAX_MESSAGE_SIZE: u8 = 57;
const CLIENT_ID: u8 = 61;
const RELAY_INFO: u8 = 82;
const END: u8 = 255;
const TTL: u8 = 64;

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
    if !matches!(udp.source_port(), CLIENT | SERVER) || udp.destination_port() != SERVER {
        return None;
    }
    message(source, udp.payload())
}

/// Reads a message. Written by hand: it comes from anybody, and the library that knows DHCP panics at some of them.
fn message(source: MacAddr, payload: &[u8]) -> Option<Request> {
    let (fixed, options) = payload.split_at_checked(FIXED)?;
    let word = |at: usize| -> Option<[u8; 4]> { fixed.get(at..at + 4)?.try_into().ok() };
    if fixed.first() != Some(&REQUEST) || fixed.get(1..3)? != ETHERNET || word(236)? != COOKIE {
        return None;
    }
    let options = Options::of(options);
    Some(Request {
        kind: Kind::of(*options.get(MESSAGE_TYPE)?.first()?)?,
        xid: u32::from_be_bytes(word(4)?),
        broadcast: fixed.get(10)? & BROADCAST_FLAG != 0,
        source,
        ciaddr: word(12)?.into(),
        giaddr: word(24)?.into(),
        chaddr: MacAddr(fixed.get(28..34)?.try_into().ok()?),
        requested: options.octets::<4>(REQUESTED_ADDRESS).map(Ipv4Addr::from),
        server: options.octets::<4>(SERVER_ID).map(Ipv4Addr::from),
        time: options.octets(LEASE_TIME).map(u32::from_be_bytes),
        client_id: options.get(CLIENT_ID).cloned(),
        wanted: options.get(PARAMETER_REQUEST_LIST).cloned(),
        max_size: options.octets(MAX_MESSAGE_SIZE).map(u16::from_be_bytes),
        relay_info: options.get(RELAY_INFO).cloned(),
    })
}

/// Options by code. Those that come several times are parts of one (RFC 3396).
struct Options(BTreeMap<u8, Vec<u8>>);

impl Options {
    /// Reads up to the end, or to what cannot be read.
    fn of(mut rest: &[u8]) -> Options {
        let mut all: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        loop {
            match rest {
                [PAD, more @ ..] => rest = more,
                [END, ..] => return Options(all),
                [code, length, more @ ..] => {
                    let Some((data, more)) = more.split_at_checked(usize::from(*length)) else {
                        return Options(all);
                    };
                    all.entry(*code).or_default().extend_from_slice(data);
                    rest = more;
                }
                _ => return Options(all),
            }
        }
    }

    fn get(&self, code: u8) -> Option<&Vec<u8>> {
        self.0.get(&code)
    }

    /// An option of exactly so many octets.
    fn octets<const N: usize>(&self, code: u8) -> Option<[u8; N]> {
        self.get(code)?.as_slice().try_into().ok()
    }
}

/// The whole frame of a reply. `None`: it cannot be encoded, which no reply of ours should be.
pub fn write(request: &Request, reply: &Reply) -> Option<Vec<u8>> {
    let payload = payload(request, reply)?;
    let (mac, address) = to(request, reply);
    let port = if request.is_relayed() { SERVER } else { CLIENT };
    let builder = PacketBuilder::ethernet2(SERVER_MAC.0, mac.0)
        .ipv4(reply.server.octets(), address.octets(), TTL)
        .udp(SERVER, port);
    let mut frame = Vec::with_capacity(builder.size(payload.len()));
    builder.write(&mut frame, &payload).ok()?;
    Some(frame)
}

/// Where a reply goes (RFC 2131 section 4.1).
fn to(request: &Request, reply: &Reply) -> (MacAddr, Ipv4Addr) {
    if request.is_relayed() {
        (request.source, request.giaddr)
    } else if reply.kind == Kind::Nak {
        (BROADCAST, Ipv4Addr::BROADCAST)
    } else if !request.ciaddr.is_unspecified() {
        // By the source, since a renewal may have come through a relay agent that routes it.
        (request.source, request.ciaddr)
    } else if request.broadcast {
        (BROADCAST, Ipv4Addr::BROADCAST)
    } else {
        (request.chaddr, reply.address)
    }
}

fn payload(request: &Request, reply: &Reply) -> Option<Vec<u8>> {
    let ciaddr = if reply.kind == Kind::Ack { request.ciaddr } else { Ipv4Addr::UNSPECIFIED };
    // A relay agent has to broadcast a NAK: the client's address is wrong (section 4.3.2).
    let broadcast = request.broadcast || request.is_relayed() && reply.kind == Kind::Nak;
    let mut payload = vec![REPLY, ETHERNET[0], ETHERNET[1], 0];
    payload.extend(request.xid.to_be_bytes());
    payload.extend([0, 0, if broadcast { BROADCAST_FLAG } else { 0 }, 0]);
    for address in [ciaddr, reply.address, reply.next_server, request.giaddr] {
        payload.extend(address.octets());
    }
    payload.extend(request.chaddr.0);
    payload.resize(44, 0);
    for (text, end) in [(&reply.server_name, 108), (&reply.boot_file, 236)] {
        payload.extend_from_slice(text.as_deref().unwrap_or_default().as_bytes());
        payload.resize(end, 0);
    }
    payload.extend(COOKIE);

    push(&mut payload, &Opt::new(MESSAGE_TYPE, [reply.kind as u8]));
    push(&mut payload, &Opt::addresses(SERVER_ID, &[reply.server]));
    // RFC 6842: what the client said of itself comes back; RFC 3046: so does what the relay agent said, last.
    if let Some(id) = &request.client_id {
        push(&mut payload, &Opt::new(CLIENT_ID, id.clone()));
    }
    let mut last = Vec::new();
    if let Some(info) = &request.relay_info {
        push(&mut last, &Opt::new(RELAY_INFO, info.clone()));
    }
    last.push(END);
    let size = request.max_size.unwrap_or(EVERY_CLIENT).max(EVERY_CLIENT);
    let room = usize::from(size).saturating_sub(HEADERS + last.len());
    for option in &reply.options {
        let before = payload.len();
        push(&mut payload, option);
        // What does not fit is left out; the list is in the order of what matters.
        if payload.len() > room {
            payload.truncate(before);
        }
    }
    payload.extend(last);
    payload.resize(payload.len().max(SHORTEST), PAD);
    Some(payload)
}

/// Appends an option, in parts where it is long (RFC 3396).
fn push(to: &mut Vec<u8>, option: &Opt) {
    for part in option.data.chunks(usize::from(u8::MAX)) {
        to.extend([option.code, part.len() as u8]);
        to.extend_from_slice(part);
    }
}
