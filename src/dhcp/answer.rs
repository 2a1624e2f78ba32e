//! What a server says (RFC 2131 section 4.3), for a port whose MAC is known.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use dhcproto::v4::MessageType;
use ipnetwork::Ipv4Network;

use crate::net::MacAddr;

/// Seconds that a lease lasts (as netvirt's).
pub const LEASE: u64 = 86_400;
/// Seconds for which an offered address is kept.
const OFFER: u64 = 60;
/// Seconds for which a declined address is not given out.
const QUARANTINE: u64 = 600;

/// A client's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub kind: MessageType,
    pub xid: u32,
    /// The broadcast flag.
    pub broadcast: bool,
    /// Ethernet source of the frame and hardware address in the message.
    pub source: MacAddr,
    pub chaddr: MacAddr,
    pub ciaddr: Ipv4Addr,
    /// Option 50.
    pub requested: Option<Ipv4Addr>,
    /// Option 54.
    pub server: Option<Ipv4Addr>,
    /// Option 61, in hexadecimal.
    pub client_id: Option<String>,
}

/// `allocation-pool` with the network it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    pub network: String,
    pub subnet: Ipv4Network,
    pub from: Ipv4Addr,
    pub to: Ipv4Addr,
    pub gateway: Option<Ipv4Addr>,
    pub dns: Vec<Ipv4Addr>,
}

/// What is known of the port that a request came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    pub interface: String,
    pub mac: MacAddr,
    /// The address that the pod's own JSON gives it.
    pub fixed: Option<Ipv4Addr>,
    pub lease: Option<Lease>,
    /// Pools of its networks, by subnet.
    pub pools: Vec<Pool>,
    /// Addresses that others hold.
    pub taken: BTreeSet<Ipv4Addr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    Offered,
    Bound,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub interface: String,
    pub mac: MacAddr,
    pub client_id: Option<String>,
    pub address: Ipv4Addr,
    pub network: String,
    pub subnet: Ipv4Network,
    pub state: LeaseState,
    /// Seconds since 1970.
    pub expires: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseEdit {
    Put(Lease),
    Drop { interface: String },
    Quarantine { address: Ipv4Addr, until: u64 },
}

/// What has happened, as the counters name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Count {
    Discover,
    Offer,
    Request,
    Ack,
    Nak,
    Release,
    Decline,
    Inform,
    Malformed,
    Foreign,
    Exhausted,
}

/// The configuration that goes with an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub subnet: Ipv4Network,
    pub gateway: Option<Ipv4Addr>,
    pub dns: Vec<Ipv4Addr>,
    /// Seconds; `None` in the answer to INFORM.
    pub lease: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub kind: MessageType,
    pub server: Ipv4Addr,
    /// Unspecified in NAK and in the answer to INFORM.
    pub address: Ipv4Addr,
    /// Nothing in NAK.
    pub offer: Option<Offer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    pub reply: Option<Reply>,
    pub edits: Vec<LeaseEdit>,
    pub counts: Vec<Count>,
}

impl Answer {
    fn counted(counts: impl Into<Vec<Count>>) -> Answer {
        Answer { counts: counts.into(), ..Answer::default() }
    }
}

impl Pool {
    /// The server's identity: the gateway, which is always on the link; without one the subnet's first address.
    fn server(&self) -> Ipv4Addr {
        self.gateway.unwrap_or_else(|| Ipv4Addr::from(u32::from(self.subnet.network()).wrapping_add(1)))
    }

    fn holds(&self, address: Ipv4Addr) -> bool {
        (self.from..=self.to).contains(&address)
    }

    /// Usable for a client: in the range, and neither the gateway's nor the subnet's own.
    fn usable(&self, address: Ipv4Addr) -> bool {
        self.holds(address)
            && self.subnet.contains(address)
            && address != self.server()
            && (self.subnet.prefix() > 30
                || address != self.subnet.network() && address != self.subnet.broadcast())
    }

    fn lowest_free(&self, taken: &BTreeSet<Ipv4Addr>) -> Option<Ipv4Addr> {
        (u32::from(self.from)..=u32::from(self.to))
            .map(Ipv4Addr::from)
            .find(|address| self.usable(*address) && !taken.contains(address))
    }
}

impl Port {
    /// The pool and address that this port has or may have now; a wish is granted where it can be.
    fn choice(&self, wish: Option<Ipv4Addr>, now: u64) -> Option<(&Pool, Ipv4Addr)> {
        if let Some(fixed) = self.fixed {
            let pool = self.pools.iter().find(|pool| pool.subnet.contains(fixed)).or(self.pools.first())?;
            return Some((pool, fixed));
        }
        if let Some((pool, lease)) = self.current(now) {
            return Some((pool, lease.address));
        }
        let free = |address: &Ipv4Addr| !self.taken.contains(address);
        let last = self.lease.as_ref().map(|lease| lease.address);
        for wanted in [wish, last].into_iter().flatten() {
            if let Some(pool) = self.pools.iter().find(|pool| pool.usable(wanted) && free(&wanted)) {
                return Some((pool, wanted));
            }
        }
        self.pools.iter().find_map(|pool| Some((pool, pool.lowest_free(&self.taken)?)))
    }

    /// The lease in force, if its pool still has the address.
    fn current(&self, now: u64) -> Option<(&Pool, &Lease)> {
        let lease = self.lease.as_ref().filter(|lease| lease.expires > now)?;
        let pool = self.pools.iter().find(|pool| pool.usable(lease.address))?;
        Some((pool, lease))
    }
}

/// Answers a request. `now` is in seconds since 1970.
pub fn answer(request: &Request, port: &Port, now: u64) -> Answer {
    if request.chaddr != port.mac || request.source != port.mac {
        return Answer::counted([Count::Foreign]);
    }
    match request.kind {
        MessageType::Discover => discover(request, port, now),
        MessageType::Request => request_of(request, port, now),
        MessageType::Release => release(request, port),
        MessageType::Decline => decline(request, port, now),
        MessageType::Inform => inform(request, port),
        _ => Answer::counted([Count::Malformed]),
    }
}

fn lease(
    request: &Request,
    port: &Port,
    pool: &Pool,
    address: Ipv4Addr,
    state: LeaseState,
    expires: u64,
) -> LeaseEdit {
    LeaseEdit::Put(Lease {
        interface: port.interface.clone(),
        mac: port.mac,
        client_id: request.client_id.clone(),
        address,
        network: pool.network.clone(),
        subnet: pool.subnet,
        state,
        expires,
    })
}

fn reply(kind: MessageType, pool: &Pool, address: Ipv4Addr, lease: Option<u64>) -> Reply {
    let offer = Offer { subnet: pool.subnet, gateway: pool.gateway, dns: pool.dns.clone(), lease };
    Reply { kind, server: pool.server(), address, offer: Some(offer) }
}

fn discover(request: &Request, port: &Port, now: u64) -> Answer {
    let Some((pool, address)) = port.choice(request.requested, now) else {
        return Answer::counted([Count::Discover, Count::Exhausted]);
    };
    // A client that holds a lease keeps it while it asks again.
    let held = port.current(now).is_some_and(|(_, lease)| lease.state == LeaseState::Bound);
    let keep = (!held).then(|| lease(request, port, pool, address, LeaseState::Offered, now + OFFER));
    Answer {
        reply: Some(reply(MessageType::Offer, pool, address, Some(LEASE))),
        edits: keep.into_iter().collect(),
        counts: vec![Count::Discover, Count::Offer],
    }
}

fn request_of(request: &Request, port: &Port, now: u64) -> Answer {
    let wanted = request.requested.unwrap_or(request.ciaddr);
    let ours = |server: Ipv4Addr| port.pools.iter().any(|pool| pool.server() == server);
    if request.server.is_some_and(|server| !ours(server)) {
        // It took another server's offer; what we offered is free again.
        let offered = port.lease.as_ref().is_some_and(|lease| lease.state == LeaseState::Offered);
        let drop = offered.then(|| LeaseEdit::Drop { interface: port.interface.clone() });
        return Answer {
            edits: drop.into_iter().collect(),
            counts: vec![Count::Request, Count::Foreign],
            reply: None,
        };
    }
    match port.choice(Some(wanted), now) {
        Some((pool, address)) if address == wanted && !wanted.is_unspecified() => Answer {
            reply: Some(reply(MessageType::Ack, pool, address, Some(LEASE))),
            edits: vec![lease(request, port, pool, address, LeaseState::Bound, now + LEASE)],
            counts: vec![Count::Request, Count::Ack],
        },
        // One port, one server: what this port may not have, nobody else gives it.
        _ => {
            let server = port.pools.first().map_or(Ipv4Addr::UNSPECIFIED, Pool::server);
            let refusal =
                Reply { kind: MessageType::Nak, server, address: Ipv4Addr::UNSPECIFIED, offer: None };
            Answer { reply: Some(refusal), edits: Vec::new(), counts: vec![Count::Request, Count::Nak] }
        }
    }
}

fn release(request: &Request, port: &Port) -> Answer {
    let held = port.lease.as_ref().is_some_and(|lease| lease.address == request.ciaddr);
    let drop = held.then(|| LeaseEdit::Drop { interface: port.interface.clone() });
    Answer { edits: drop.into_iter().collect(), counts: vec![Count::Release], reply: None }
}

fn decline(request: &Request, port: &Port, now: u64) -> Answer {
    let mut answer = Answer::counted([Count::Decline]);
    // Only its own address: nobody may make others' unusable.
    if let Some(lease) = port.lease.as_ref().filter(|lease| Some(lease.address) == request.requested) {
        answer.edits.push(LeaseEdit::Drop { interface: port.interface.clone() });
        answer.edits.push(LeaseEdit::Quarantine { address: lease.address, until: now + QUARANTINE });
    }
    answer
}

fn inform(request: &Request, port: &Port) -> Answer {
    let Some(pool) = port.pools.iter().find(|pool| pool.subnet.contains(request.ciaddr)) else {
        return Answer::counted([Count::Inform]);
    };
    let reply = reply(MessageType::Ack, pool, Ipv4Addr::UNSPECIFIED, None);
    Answer { reply: Some(reply), edits: Vec::new(), counts: vec![Count::Inform, Count::Ack] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    fn pool(from: u8, to: u8) -> Pool {
        let address = |last| Ipv4Addr::new(192, 168, 10, last);
        Pool {
            network: "blue".into(),
            subnet: "192.168.10.0/24".parse().unwrap(),
            from: address(from),
            to: address(to),
            gateway: Some(address(2)),
            dns: vec![],
        }
    }

    fn port(from: u8, to: u8) -> Port {
        Port {
            interface: "blue:p".into(),
            mac: MAC,
            fixed: None,
            lease: None,
            pools: vec![pool(from, to)],
            taken: BTreeSet::new(),
        }
    }

    fn message(kind: MessageType) -> Request {
        Request {
            kind,
            xid: 7,
            broadcast: false,
            source: MAC,
            chaddr: MAC,
            ciaddr: Ipv4Addr::UNSPECIFIED,
            requested: None,
            server: None,
            client_id: None,
        }
    }

    fn take(port: &mut Port, answer: &Answer) {
        for edit in &answer.edits {
            match edit {
                LeaseEdit::Put(lease) => port.lease = Some(lease.clone()),
                LeaseEdit::Drop { .. } => port.lease = None,
                LeaseEdit::Quarantine { address, .. } => drop(port.taken.insert(*address)),
            }
        }
    }

    fn kinds(answer: &Answer) -> Option<(MessageType, Ipv4Addr)> {
        answer.reply.as_ref().map(|reply| (reply.kind, reply.address))
    }

    const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 168, 10, 2);

    #[test]
    fn discover_request_renew_release() {
        let mut port = port(1, 50);
        let first = Ipv4Addr::new(192, 168, 10, 1);
        let offer = answer(&message(MessageType::Discover), &port, 0);
        assert_eq!(kinds(&offer), Some((MessageType::Offer, first)));
        take(&mut port, &offer);
        let ask = Request { requested: Some(first), server: Some(GATEWAY), ..message(MessageType::Request) };
        let ack = answer(&ask, &port, 1);
        assert_eq!(kinds(&ack), Some((MessageType::Ack, first)));
        take(&mut port, &ack);
        assert_eq!(
            port.lease.as_ref().map(|lease| (lease.state, lease.expires)),
            Some((LeaseState::Bound, 1 + LEASE))
        );
        let renew = answer(&Request { ciaddr: first, ..message(MessageType::Request) }, &port, 1000);
        assert_eq!(kinds(&renew), Some((MessageType::Ack, first)));
        take(&mut port, &renew);
        let release = answer(&Request { ciaddr: first, ..message(MessageType::Release) }, &port, 2000);
        assert_eq!(kinds(&release), None);
        take(&mut port, &release);
        assert_eq!(port.lease, None);
    }

    #[test]
    fn the_gateway_and_the_subnets_own_addresses_are_never_given() {
        let mut port = port(0, 3);
        for expected in [1, 3] {
            let (_, address) = kinds(&answer(&message(MessageType::Discover), &port, 0)).unwrap();
            assert_eq!(address.octets()[3], expected);
            port.taken.insert(address);
        }
        let none = answer(&message(MessageType::Discover), &port, 0);
        assert_eq!((kinds(&none), none.counts), (None, vec![Count::Discover, Count::Exhausted]));
    }

    #[test]
    fn a_wish_is_granted_when_the_address_is_free() {
        let mut port = port(3, 50);
        let wish = Ipv4Addr::new(192, 168, 10, 20);
        let ask = Request { requested: Some(wish), ..message(MessageType::Discover) };
        assert_eq!(kinds(&answer(&ask, &port, 0)), Some((MessageType::Offer, wish)));
        port.taken.insert(wish);
        assert_eq!(
            kinds(&answer(&ask, &port, 0)),
            Some((MessageType::Offer, Ipv4Addr::new(192, 168, 10, 3)))
        );
    }

    #[test]
    fn a_pods_own_address_is_handed_out_and_nothing_else() {
        let fixed = Ipv4Addr::new(192, 168, 10, 77);
        let port = Port { fixed: Some(fixed), ..port(3, 50) };
        assert_eq!(
            kinds(&answer(&message(MessageType::Discover), &port, 0)),
            Some((MessageType::Offer, fixed))
        );
        let other =
            Request { requested: Some(Ipv4Addr::new(192, 168, 10, 3)), ..message(MessageType::Request) };
        assert_eq!(kinds(&answer(&other, &port, 0)), Some((MessageType::Nak, Ipv4Addr::UNSPECIFIED)));
    }

    #[test]
    fn foreign_requests_are_counted_and_not_answered() {
        let port = port(3, 50);
        let other_mac = Request { chaddr: MacAddr([2, 0, 0, 0, 0, 9]), ..message(MessageType::Discover) };
        assert_eq!(answer(&other_mac, &port, 0), Answer::counted([Count::Foreign]));
        let other_server =
            Request { server: Some(Ipv4Addr::new(10, 0, 0, 1)), ..message(MessageType::Request) };
        let answered = answer(&other_server, &port, 0);
        assert_eq!((kinds(&answered), answered.counts), (None, vec![Count::Request, Count::Foreign]));
    }

    #[test]
    fn a_declined_address_rests() {
        let mut port = port(3, 50);
        let offer = answer(&message(MessageType::Discover), &port, 0);
        take(&mut port, &offer);
        let address = port.lease.as_ref().map(|lease| lease.address);
        let declined = answer(&Request { requested: address, ..message(MessageType::Decline) }, &port, 0);
        take(&mut port, &declined);
        assert_ne!(kinds(&answer(&message(MessageType::Discover), &port, 0)).map(|(_, next)| next), address);
    }

    #[test]
    fn inform_gets_options_but_no_address() {
        let inform = Request { ciaddr: Ipv4Addr::new(192, 168, 10, 9), ..message(MessageType::Inform) };
        let answered = answer(&inform, &port(3, 50), 0);
        let reply = answered.reply.unwrap();
        assert_eq!(
            (reply.address, reply.offer.map(|offer| offer.lease)),
            (Ipv4Addr::UNSPECIFIED, Some(None))
        );
    }

    proptest! {
        /// Whatever two clients do, they never hold the same address, and never the gateway's.
        #[test]
        fn no_two_ports_hold_one_address(steps in prop::collection::vec((0_usize..2, 0_usize..5, prop::option::of(0_u8..8), 0_u64..200_000), 0..60)) {
            let mut ports = [port(0, 5), port(0, 5)];
            ports[1].mac = MacAddr([2, 0, 0, 0, 0, 2]);
            let mut now = 0;
            for (who, kind, wish, passed) in steps {
                now += passed;
                let other = ports[1 - who].lease.clone().filter(|lease| lease.expires > now).map(|lease| lease.address);
                ports[who].taken = other.into_iter().collect();
                let kind = [MessageType::Discover, MessageType::Request, MessageType::Release, MessageType::Decline, MessageType::Request][kind];
                let wish = wish.map(|last| Ipv4Addr::new(192, 168, 10, last));
                let mac = ports[who].mac;
                let held = ports[who].lease.as_ref().map_or(Ipv4Addr::UNSPECIFIED, |lease| lease.address);
                let ask = Request { kind, source: mac, chaddr: mac, requested: wish, ciaddr: held, ..message(kind) };
                let answered = answer(&ask, &ports[who], now);
                take(&mut ports[who], &answered);
                let held: Vec<_> = ports.iter().filter_map(|port| port.lease.as_ref()).filter(|lease| lease.expires > now).map(|lease| lease.address).collect();
                prop_assert!(held.len() < 2 || held[0] != held[1]);
                prop_assert!(!held.contains(&GATEWAY));
            }
        }
    }
}
