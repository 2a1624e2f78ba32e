//! The protocol section by section, as laws, and as bytes.

mod bytes;
mod laws;
mod sections;

use std::net::{IpAddr, Ipv6Addr};

use super::{Answer, Duid, Ia, IaKind, IaReply, Kind, Leased, Request, Status, answer};
use crate::dhcp::world::{World, mac};
use crate::dhcp::{Book, Count, Holder};
use crate::model::{AllocationPool, Reservation, ReservedFor};
use crate::net::MacAddr;

const GATEWAY: u16 = 1;
const LEASE: u32 = 86_400;

fn host(last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 1, 0, 0, 0, 0, 0, last)
}

fn elsewhere() -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, 1)
}

fn pool(from: u16, to: u16) -> AllocationPool {
    let (from, to) = (host(from).to_string(), host(to).to_string());
    AllocationPool::plain("blue", "fd00:1::/64", &from, &to, &host(GATEWAY).to_string())
}

fn stateless() -> AllocationPool {
    AllocationPool::plain("blue", "fd00:1::/64", "", "", "")
}

fn kept(last: u16, number: u8) -> Reservation {
    Reservation { address: host(last).into(), client: ReservedFor::Mac(mac(number)) }
}

fn server() -> Duid {
    Duid::of_uuid([7; 16])
}

fn client(port: u8) -> Duid {
    Duid(vec![0, 3, 0, 1, 2, 0, 0, 0, 0, port])
}

/// What clients of this version do.
trait Asks {
    fn configured(&mut self, port: usize, last: u16);
    fn says(&mut self, port: u8, request: &Request) -> Answer;
    fn lease(&mut self, port: u8) -> Option<Ipv6Addr>;
}

impl Asks for World {
    /// A pod that is given its address by its configuration.
    fn configured(&mut self, port: usize, last: u16) {
        self.ports[port - 1].fixed_v6 = Some(host(last));
        self.book.configure(&"blue".into(), None, host(last).into());
    }

    /// What the server says to this port, written into the book.
    fn says(&mut self, port: u8, request: &Request) -> Answer {
        let answer = answer(request, self.port(port), &server(), &self.book, self.now);
        self.take(answer)
    }

    /// Solicits, and takes what is advertised.
    fn lease(&mut self, port: u8) -> Option<Ipv6Addr> {
        let told = told(&self.says(port, &solicit(port)))?;
        let asked = with(request(port), &[told.first()?.address]);
        addresses(&self.says(port, &asked)).first().copied()
    }
}

fn na(iaid: u32, addresses: &[Ipv6Addr]) -> Ia {
    Ia { kind: IaKind::Na, iaid, addresses: addresses.to_vec() }
}

/// A sound message of its kind with one association, number 1.
fn message(port: u8, kind: Kind) -> Request {
    let to_one = matches!(kind, Kind::Request | Kind::Renew | Kind::Release | Kind::Decline);
    let ias = if kind == Kind::InformationRequest { vec![] } else { vec![na(1, &[])] };
    Request {
        kind,
        xid: 0x0102_0304 & 0xff_ffff,
        source: mac(port),
        address: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x100 + u16::from(port)),
        unicast: false,
        client: Some(client(port)),
        server: to_one.then(server),
        ias,
        wanted: None,
        rapid_commit: false,
    }
}

fn solicit(port: u8) -> Request {
    message(port, Kind::Solicit)
}

fn request(port: u8) -> Request {
    message(port, Kind::Request)
}

fn with(request: Request, addresses: &[Ipv6Addr]) -> Request {
    Request { ias: vec![na(1, addresses)], ..request }
}

fn ias(answer: &Answer) -> Vec<IaReply> {
    answer.reply.as_ref().map(|reply| reply.ias.clone()).unwrap_or_default()
}

/// Addresses of the first association with their lifetimes; none without an answer.
fn told(answer: &Answer) -> Option<Vec<Leased>> {
    Some(answer.reply.as_ref()?.ias.first()?.addresses.clone())
}

/// Addresses that are told with a lifetime.
fn addresses(answer: &Answer) -> Vec<Ipv6Addr> {
    let all = ias(answer).into_iter().flat_map(|ia| ia.addresses);
    all.filter(|leased| leased.lifetime > 0).map(|leased| leased.address).collect()
}

/// Kind, status of the message, and statuses of its associations.
fn said(answer: &Answer) -> Option<(Kind, Option<Status>, Vec<Option<Status>>)> {
    let reply = answer.reply.as_ref()?;
    Some((reply.kind, reply.status, reply.ias.iter().map(|ia| ia.status).collect()))
}

fn leased(last: u16, lifetime: u32) -> Leased {
    Leased { address: host(last), lifetime }
}
