//! The protocol state by state, as laws, and as bytes.

mod bytes;
mod laws;
mod states;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::{Answer, Kind, Opt, Request, answer};
use crate::dhcp::world::{World, mac};
use crate::model::{AllocationPool, PoolOptions, Reservation, ReservedFor, Times};
use crate::net::MacAddr;
use crate::schema::Text;

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 168, 10, 2);
const NOBODY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
const LEASE: u64 = 86_400;

fn host(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 168, 10, last)
}

fn pool(from: u8, to: u8) -> AllocationPool {
    let (from, to) = (host(from).to_string(), host(to).to_string());
    AllocationPool::plain("blue", "192.168.10.0/24", &from, &to, &GATEWAY.to_string())
}

fn kept(last: u8, number: u8) -> Reservation {
    Reservation { address: host(last).into(), client: ReservedFor::Mac(mac(number)) }
}

/// What clients of this version do.
trait Asks {
    fn configured(&mut self, port: usize, last: u8);
    fn says(&mut self, port: u8, request: &Request) -> Answer;
}

impl Asks for World {
    /// A pod that is given its address by its configuration.
    fn configured(&mut self, port: usize, last: u8) {
        self.ports[port - 1].fixed = Some(host(last));
        self.book.configure(&"blue".into(), None, host(last).into());
    }

    /// What the server says to this port, written into the book.
    fn says(&mut self, port: u8, request: &Request) -> Answer {
        let answer = answer(request, self.port(port), &self.book, self.now);
        self.take(answer)
    }
}

fn message(port: u8, kind: Kind) -> Request {
    Request {
        kind,
        xid: 7,
        broadcast: false,
        source: mac(port),
        chaddr: mac(port),
        ciaddr: NOBODY,
        giaddr: NOBODY,
        requested: None,
        server: None,
        time: None,
        client_id: None,
        wanted: None,
        max_size: None,
        relay_info: None,
    }
}

fn discover(port: u8) -> Request {
    message(port, Kind::Discover)
}

fn selecting(port: u8, last: u8) -> Request {
    Request { requested: Some(host(last)), server: Some(GATEWAY), ..message(port, Kind::Request) }
}

fn rebooting(port: u8, wanted: Ipv4Addr) -> Request {
    Request { requested: Some(wanted), ..message(port, Kind::Request) }
}

fn renewing(port: u8, last: u8) -> Request {
    Request { ciaddr: host(last), ..message(port, Kind::Request) }
}

fn told(answer: &Answer) -> Option<(Kind, Ipv4Addr)> {
    answer.reply.as_ref().map(|reply| (reply.kind, reply.address))
}

fn offer(last: u8) -> Option<(Kind, Ipv4Addr)> {
    Some((Kind::Offer, host(last)))
}

fn ack(last: u8) -> Option<(Kind, Ipv4Addr)> {
    Some((Kind::Ack, host(last)))
}

const NAK: Option<(Kind, Ipv4Addr)> = Some((Kind::Nak, NOBODY));
