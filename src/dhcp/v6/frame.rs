//! Ethernet frames to requests, replies to Ethernet frames.

use std::net::Ipv6Addr;

use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};

use super::message::{Duid, Ia, IaKind, IaReply, Kind, Reply, Request, Status};
use crate::dhcp::SERVER_MAC;
use crate::model::LINK_LOCAL_GATEWAY;
use crate::net::MacAddr;

/// UDP ports (RFC 8415 section 7.2).
const CLIENT: u16 = 546;
const SERVER: u16 = 547;
/// Codes of options (section 21).
const CLIENT_ID: u16 = 1;
const SERVER_ID: u16 = 2;
const IA_NA: u16 = 3;
const IA_TA: u16 = 4;
const IA_ADDRESS: u16 = 5;
const OPTION_REQUEST: u16 = 6;
const STATUS: u16 = 13;
const RAPID_COMMIT: u16 = 14;
const IA_PD: u16 = 25;
/// Associations of a message, and addresses of all of them, that are answered at most: so no answer outgrows a packet, and no
/// client has more than one address here anyway.
const MAX_IAS: usize = 8;
const MAX_ADDRESSES: usize = 16;
/// Octets of a message in a packet that every link carries (RFC 8200 section 5), without IPv6 and UDP headers.
const EVERY_LINK: usize = 1280 - 40 - 8;
const HOP_LIMIT: u8 = 64;

/// Reads a punted frame. `None`: not a message that a client may send.
pub fn read(frame: &[u8]) -> Option<Request> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let source = match packet.link? {
        etherparse::LinkSlice::Ethernet2(ethernet) => MacAddr(ethernet.source()),
        _ => return None,
    };
    let Some(NetSlice::Ipv6(ip)) = packet.net else { return None };
    let Some(TransportSlice::Udp(udp)) = packet.transport else { return None };
    if (udp.source_port(), udp.destination_port()) != (CLIENT, SERVER) {
        return None;
    }
    let (address, to) = (ip.header().source_addr(), ip.header().destination_addr());
    if address.is_unspecified() || address.is_multicast() || source.is_group() {
        return None;
    }
    let blank = Request {
        kind: Kind::Solicit,
        xid: 0,
        source,
        address,
        unicast: !to.is_multicast(),
        client: None,
        server: None,
        ias: Vec::new(),
        wanted: None,
        rapid_commit: false,
    };
    message(blank, udp.payload())
}

/// Reads a message into a request of which the envelope is known. Written by hand, as that of IPv4 is.
fn message(mut request: Request, payload: &[u8]) -> Option<Request> {
    let [kind, a, b, c, rest @ ..] = payload else { return None };
    request.kind = Kind::of(*kind)?;
    request.xid = u32::from_be_bytes([0, *a, *b, *c]);
    for option in Options(rest) {
        let (code, data) = option?;
        match code {
            // Of what may come only once the first counts.
            CLIENT_ID if request.client.is_none() => request.client = Some(Duid::of(data)?),
            SERVER_ID if request.server.is_none() => request.server = Some(Duid::of(data)?),
            OPTION_REQUEST => {
                let codes = request.wanted.get_or_insert_default();
                codes.extend(data.chunks_exact(2).map(|code| u16::from_be_bytes([code[0], code[1]])));
            }
            RAPID_COMMIT => request.rapid_commit = true,
            IA_NA => request.ias.push(association(IaKind::Na, data, 8)?),
            IA_TA => request.ias.push(association(IaKind::Ta, data, 0)?),
            IA_PD => request.ias.push(association(IaKind::Pd, data, 8)?),
            _ => {}
        }
    }
    let addresses: usize = request.ias.iter().map(|ia| ia.addresses.len()).sum();
    (request.ias.len() <= MAX_IAS && addresses <= MAX_ADDRESSES).then_some(request)
}

/// An association: its number, `times` octets of times, options.
fn association(kind: IaKind, data: &[u8], times: usize) -> Option<Ia> {
    let (iaid, rest) = data.split_first_chunk::<4>()?;
    let mut addresses = Vec::new();
    for option in Options(rest.get(times..)?) {
        let (code, data) = option?;
        if code == IA_ADDRESS {
            // The client's wishes for lifetimes follow; the pool decides them.
            let octets: [u8; 16] = data.get(..24)?.first_chunk().copied()?;
            addresses.push(Ipv6Addr::from(octets));
        }
    }
    Some(Ia { kind, iaid: u32::from_be_bytes(*iaid), addresses })
}

/// Options one after the other; one that is cut off comes as `None`.
struct Options<'a>(&'a [u8]);

impl<'a> Iterator for Options<'a> {
    type Item = Option<(u16, &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let whole = std::mem::take(&mut self.0);
        let [a, b, c, d, rest @ ..] = whole else { return Some(None) };
        let length = usize::from(u16::from_be_bytes([*c, *d]));
        let Some((data, rest)) = rest.split_at_checked(length) else { return Some(None) };
        self.0 = rest;
        Some(Some((u16::from_be_bytes([*a, *b]), data)))
    }
}

/// The whole frame of a reply, from the link's router to where the request came from (section 18.3.10). `None`: it cannot be
/// encoded, which no reply of ours should be.
pub fn write(request: &Request, reply: &Reply) -> Option<Vec<u8>> {
    let payload = payload(request, reply)?;
    let builder = PacketBuilder::ethernet2(SERVER_MAC.0, request.source.0)
        .ipv6(LINK_LOCAL_GATEWAY.octets(), request.address.octets(), HOP_LIMIT)
        .udp(SERVER, CLIENT);
    let mut frame = Vec::with_capacity(builder.size(payload.len()));
    builder.write(&mut frame, &payload).ok()?;
    Some(frame)
}

fn payload(request: &Request, reply: &Reply) -> Option<Vec<u8>> {
    let [_, a, b, c] = request.xid.to_be_bytes();
    let mut payload = vec![reply.kind as u8, a, b, c];
    if let Some(client) = &request.client {
        push(&mut payload, CLIENT_ID, &client.0)?;
    }
    push(&mut payload, SERVER_ID, &reply.server.0)?;
    if reply.rapid_commit {
        push(&mut payload, RAPID_COMMIT, &[])?;
    }
    if let Some(status) = reply.status {
        push_status(&mut payload, status)?;
    }
    for ia in &reply.ias {
        push(&mut payload, ia.kind as u16, &written(ia)?)?;
    }
    for option in &reply.options {
        let before = payload.len();
        // What does not fit is left out; the list is in the order of what matters.
        if push(&mut payload, option.code, &option.data).is_none() || payload.len() > EVERY_LINK {
            payload.truncate(before);
        }
    }
    Some(payload)
}

fn written(ia: &IaReply) -> Option<Vec<u8>> {
    let mut data = ia.iaid.to_be_bytes().to_vec();
    if ia.kind != IaKind::Ta {
        data.extend(ia.times.0.to_be_bytes());
        data.extend(ia.times.1.to_be_bytes());
    }
    for leased in &ia.addresses {
        let mut address = leased.address.octets().to_vec();
        // Preferred for as long as valid: nothing better comes before it ends.
        address.extend(leased.lifetime.to_be_bytes());
        address.extend(leased.lifetime.to_be_bytes());
        push(&mut data, IA_ADDRESS, &address)?;
    }
    if let Some(status) = ia.status {
        push_status(&mut data, status)?;
    }
    Some(data)
}

fn push_status(to: &mut Vec<u8>, status: Status) -> Option<()> {
    let data = [&(status as u16).to_be_bytes(), status.said().as_bytes()].concat();
    push(to, STATUS, &data)
}

/// Appends an option; `None`: its data are too long for its length.
fn push(to: &mut Vec<u8>, code: u16, data: &[u8]) -> Option<()> {
    let length = u16::try_from(data.len()).ok()?;
    to.extend(code.to_be_bytes());
    to.extend(length.to_be_bytes());
    to.extend_from_slice(data);
    Some(())
}
