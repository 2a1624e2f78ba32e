//! What a server says (RFC 2131 section 4.3).

use std::net::{IpAddr, Ipv4Addr};

use super::client::client;
use super::message::{Kind, Opt, Reply, Request};
use super::options;
use crate::dhcp::book::{Book, Entry, Lease};
use crate::dhcp::client::Client;
use crate::dhcp::count::Count;
use crate::dhcp::port::Port;
use crate::model::AllocationPool;

/// What a request leads to.
pub type Answer = crate::dhcp::answer::Answer<Reply>;

/// What a REQUEST is (RFC 2131 section 4.3.2).
enum State {
    /// It takes the offer of a server.
    Selecting { server: Ipv4Addr, wanted: Ipv4Addr },
    /// It has started again and would like to keep its address.
    InitReboot(Ipv4Addr),
    /// Renewing or rebinding: it uses its address.
    Extending(Ipv4Addr),
}

impl State {
    fn of(request: &Request) -> Option<State> {
        let in_use = !request.ciaddr.is_unspecified();
        match (request.server, request.requested) {
            (Some(server), Some(wanted)) => Some(State::Selecting { server, wanted }),
            (None, _) if in_use => Some(State::Extending(request.ciaddr)),
            (None, Some(wanted)) => Some(State::InitReboot(wanted)),
            _ => None,
        }
    }
}

/// One request with all that its answer depends on.
struct Question<'a> {
    request: &'a Request,
    client: Client<'a>,
    /// What the client's link carries where its pool does not say.
    mtu: u16,
    book: &'a Book,
    now: u64,
}

/// Answers a request. `now` is in seconds since 1970.
pub fn answer(request: &Request, port: &Port, book: &Book, now: u64) -> Answer {
    let Some(client) = client(request, port) else { return Answer::counted([Count::Foreign]) };
    let question = Question { request, client, mtu: port.mtu, book, now };
    match request.kind {
        Kind::Discover => question.discover(),
        Kind::Request => question.request(),
        Kind::Release => question.release(),
        Kind::Decline => question.decline(),
        Kind::Inform => question.inform(),
        _ => Answer::counted([Count::Malformed]),
    }
}

impl Question<'_> {
    fn discover(&self) -> Answer {
        let Some((pool, address)) = self.choice() else {
            return Answer::counted([Count::Discover, self.why_nothing()]);
        };
        let held = self.client.holds(self.book, address, self.now);
        let offer = (!held).then(|| self.client.offer(pool, address, self.now));
        let time = options::granted(&pool.times, self.request.time);
        Answer {
            reply: Some(self.reply(Kind::Offer, pool, address, Some(time))),
            entries: offer.into_iter().collect(),
            counts: vec![Count::Discover, Count::Offer],
        }
    }

    fn choice(&self) -> Option<(&AllocationPool, IpAddr)> {
        self.client.choice(self.book, self.request.requested.map(IpAddr::V4), self.now)
    }

    fn why_nothing(&self) -> Count {
        let served = match self.client.fixed {
            Some(fixed) => self.client.pool_of(fixed).is_some(),
            None => !self.client.pools.is_empty(),
        };
        if served { Count::Exhausted } else { Count::Unserved }
    }

    fn request(&self) -> Answer {
        let mut answer = match State::of(self.request) {
            None => return Answer::counted([Count::Malformed]),
            Some(State::Selecting { server, .. }) if !self.client.is_server(server.into()) => {
                // It took another server's offer; what we offered is free again.
                let offered = self.book.offer(&self.client.holder);
                let entries = offered.map(|offer| Entry::Withdraw(offer.holder.clone()));
                Answer { entries: entries.into_iter().collect(), ..Answer::counted([Count::Foreign]) }
            }
            Some(State::Selecting { wanted, .. }) => match self.free(wanted.into()) {
                Some(pool) => self.bind(pool, wanted.into()),
                None => self.extend(wanted),
            },
            Some(State::InitReboot(wanted)) => self.init_reboot(wanted),
            Some(State::Extending(address)) => self.extend(address),
        };
        answer.counts.insert(0, Count::Request);
        answer
    }

    /// The pool that may give this address to a client that has none of its own.
    fn free(&self, address: IpAddr) -> Option<&AllocationPool> {
        let pool = self.client.pool_of(address).filter(|_| self.client.fixed.is_none())?;
        self.client.may_keep(self.book, pool, address).then_some(pool)
    }

    /// Section 4.3.2: on the wrong link NAK, with nothing known silence.
    fn init_reboot(&self, wanted: Ipv4Addr) -> Answer {
        let wrong_link = self.client.pool_of(wanted.into()).is_none();
        let known = self.client.fixed.is_some()
            || self.client.lease(self.book, self.now).is_some()
            || self.client.kept().is_some();
        if wrong_link || known { self.extend(wanted) } else { Answer::counted([Count::Unknown]) }
    }

    /// A client that says which address it has.
    fn extend(&self, address: Ipv4Addr) -> Answer {
        let address = IpAddr::V4(address);
        let Some(pool) = self.client.pool_of(address) else {
            return self.nak(format!("{address} is not of this link"));
        };
        if let Some(fixed) = self.client.fixed {
            return if fixed == address {
                self.bind(pool, address)
            } else {
                self.nak(format!("this pod's address is {fixed}"))
            };
        }
        let lease = self.client.lease(self.book, self.now).filter(|lease| lease.address == address);
        let kept = self.client.kept().is_some_and(|(_, kept)| kept == address);
        if lease.is_none() && !kept {
            return self.nak(format!("{address} is not this client's"));
        }
        if self.client.may_keep(self.book, pool, address) {
            return self.bind(pool, address);
        }
        match lease {
            // The pool no longer has it: it lasts as long as was promised, and no longer.
            Some(lease) if self.client.outlasts(self.book, pool, lease, self.now) => self.remind(pool, lease),
            _ => self.nak(format!("{address} is not given out any more")),
        }
    }

    fn bind(&self, pool: &AllocationPool, address: IpAddr) -> Answer {
        let time = options::granted(&pool.times, self.request.time);
        Answer {
            reply: Some(self.reply(Kind::Ack, pool, address, Some(time))),
            entries: vec![self.client.bind(pool, address, None, time, self.now)],
            counts: vec![Count::Ack],
        }
    }

    fn remind(&self, pool: &AllocationPool, lease: &Lease) -> Answer {
        let left = u32::try_from(lease.expires - self.now).unwrap_or(u32::MAX);
        Answer {
            reply: Some(self.reply(Kind::Ack, pool, lease.address, Some(left))),
            ..Answer::counted([Count::Ack])
        }
    }

    fn release(&self) -> Answer {
        let mut answer = Answer::counted([Count::Release]);
        if let Some(lease) = self.book.lease(&self.client.holder)
            && lease.address == IpAddr::V4(self.request.ciaddr)
        {
            answer.entries.push(Entry::End(lease.holder.clone()));
        }
        answer
    }

    fn decline(&self) -> Answer {
        let mut answer = Answer::counted([Count::Decline]);
        let holder = &self.client.holder;
        let declined = self.request.requested.map(IpAddr::V4);
        // Only its own address: nobody may make others' unusable.
        if let Some(lease) = self.book.lease(holder).filter(|lease| Some(lease.address) == declined) {
            answer.entries.push(Entry::End(holder.clone()));
            answer.entries.extend(self.client.rest(lease.address, self.now));
        } else if let Some(offer) = self.book.offer(holder).filter(|offer| Some(offer.address) == declined) {
            answer.entries.push(Entry::Withdraw(holder.clone()));
            answer.entries.extend(self.client.rest(offer.address, self.now));
        }
        answer
    }

    /// Section 4.3.5: options and neither an address nor times.
    fn inform(&self) -> Answer {
        let Some(pool) = self.client.pool_of(self.request.ciaddr.into()) else {
            return Answer::counted([Count::Inform, Count::Unserved]);
        };
        let reply = self.reply(Kind::Ack, pool, IpAddr::V4(Ipv4Addr::UNSPECIFIED), None);
        Answer { reply: Some(reply), ..Answer::counted([Count::Inform, Count::Ack]) }
    }

    fn nak(&self, reason: String) -> Answer {
        // The client takes a NAK of the server that it knows, or of any when it comes back.
        let known = self.request.server.filter(|server| self.client.is_server((*server).into()));
        let first = || self.client.pools.first().and_then(|pool| v4(pool.server()));
        let refusal = Reply {
            kind: Kind::Nak,
            server: known.or_else(first).unwrap_or(Ipv4Addr::UNSPECIFIED),
            address: Ipv4Addr::UNSPECIFIED,
            next_server: Ipv4Addr::UNSPECIFIED,
            server_name: None,
            boot_file: None,
            options: vec![Opt::new(options::MESSAGE, reason)],
        };
        Answer { reply: Some(refusal), ..Answer::counted([Count::Nak]) }
    }

    fn reply(&self, kind: Kind, pool: &AllocationPool, address: IpAddr, time: Option<u32>) -> Reply {
        let mut all = time.map(|time| options::times(&pool.times, time)).unwrap_or_default();
        all.extend(options::wanted(pool, self.mtu, self.request));
        Reply {
            kind,
            server: v4(pool.server()).unwrap_or(Ipv4Addr::UNSPECIFIED),
            address: v4(address).unwrap_or(Ipv4Addr::UNSPECIFIED),
            next_server: pool.options.next_server.unwrap_or(Ipv4Addr::UNSPECIFIED),
            server_name: pool.options.server_name.clone(),
            boot_file: pool.options.boot_file.clone(),
            options: all,
        }
    }
}

fn v4(address: IpAddr) -> Option<Ipv4Addr> {
    if let IpAddr::V4(address) = address { Some(address) } else { None }
}
