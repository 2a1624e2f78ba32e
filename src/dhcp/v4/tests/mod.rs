//! The protocol state by state, as laws, and as bytes.

mod bytes;
mod laws;
mod states;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::{Answer, Kind, Opt, Request, answer};
use crate::dhcp::{Book, Port};
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

fn mac(number: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, number])
}

fn kept(last: u8, number: u8) -> Reservation {
    Reservation { address: host(last).into(), client: ReservedFor::Mac(mac(number)) }
}

/// A server with ports `blue:p1`, `blue:p2`, …, whose MAC addresses end in the same number.
struct World {
    ports: Vec<Port>,
    book: Book,
    now: u64,
}

impl World {
    fn new(ports: u8, pools: Vec<AllocationPool>) -> World {
        let pools: Vec<_> = pools.into_iter().map(Arc::new).collect();
        let port = |number: u8| Port {
            interface: format!("blue:p{number}").into(),
            mac: mac(number),
            fixed: None,
            fixed_v6: None,
            pools: pools.clone(),
        };
        World { ports: (1..=ports).map(port).collect(), book: Book::default(), now: 1000 }
    }

    fn pools(&mut self, pools: Vec<AllocationPool>) {
        let pools: Vec<_> = pools.into_iter().map(Arc::new).collect();
        self.ports.iter_mut().for_each(|port| port.pools = pools.clone());
    }

    /// A pod that is given its address by its configuration.
    fn configured(&mut self, port: usize, last: u8) {
        self.ports[port - 1].fixed = Some(host(last));
        self.book.configure(&"blue".into(), None, host(last).into());
    }

    fn passes(&mut self, seconds: u64) {
        self.now += seconds;
        for entry in self.book.due(self.now) {
            self.book.write(&entry);
        }
    }

    /// What the server says to this port, written into the book.
    fn says(&mut self, port: usize, request: &Request) -> Answer {
        let answer = answer(request, &self.ports[port - 1], &self.book, self.now);
        answer.entries.iter().for_each(|entry| self.book.write(entry));
        answer
    }

    fn held(&self) -> Vec<(Text, IpAddr)> {
        self.book.leases().map(|lease| (lease.interface.clone(), lease.address)).collect()
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
