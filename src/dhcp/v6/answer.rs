//! What a server says (RFC 8415 section 18.3).

use std::net::IpAddr;
use std::sync::Arc;

use super::associations::{Outcome, Question};
use super::message::{Duid, Kind, Opt, Reply, Request, Status};
use super::options;
use crate::dhcp::book::{Book, Holder};
use crate::dhcp::client::Client;
use crate::dhcp::count::Count;
use crate::dhcp::port::Port;
use crate::model::AllocationPool;

/// What a request leads to.
pub type Answer = crate::dhcp::answer::Answer<Reply>;

/// Answers a request. `server` is our own identifier, `now` is in seconds since 1970.
pub fn answer(request: &Request, port: &Port, server: &Duid, book: &Book, now: u64) -> Answer {
    if request.source != port.mac {
        return Answer::counted([Count::Foreign]);
    }
    if let Some(count) = fault(request, server) {
        return Answer::counted([count]);
    }
    let pools = port.pools.iter().map(Arc::as_ref);
    let client = Client {
        holder: Holder::PortV6(port.interface.clone()),
        interface: &port.interface,
        mac: port.mac,
        id: request.client.as_ref().map(Duid::to_string),
        fixed: port.fixed_v6.map(IpAddr::V6),
        // What is behind a relay agent is another link than the pods'.
        pools: pools.filter(|pool| pool.subnet.is_ipv6() && pool.relays.is_empty()).collect(),
    };
    let server = Server { server, question: Question { request, client, book, now } };
    let mut answer = server.answer();
    if let Some(count) = asked(request.kind) {
        answer.counts.insert(0, count);
    }
    answer
}

/// Messages that are discarded (section 16).
fn fault(request: &Request, server: &Duid) -> Option<Count> {
    use Kind::{
        Advertise, Confirm, Decline, InformationRequest, Rebind, Reconfigure, Release, Renew, Reply, Request,
        Solicit,
    };
    let to_one = match request.kind {
        Solicit | Confirm | Rebind => false,
        Request | Renew | Release | Decline => true,
        // Its server identifier may be there or not; associations have no place in it (16.12).
        InformationRequest if request.unicast || !request.ias.is_empty() => return Some(Count::Malformed),
        InformationRequest => {
            let other = request.server.as_ref().is_some_and(|id| id != server);
            return other.then_some(Count::Foreign);
        }
        Advertise | Reply | Reconfigure => return Some(Count::Malformed),
    };
    let sound =
        request.client.is_some() && request.server.is_some() == to_one && (to_one || !request.unicast);
    if !sound {
        return Some(Count::Malformed);
    }
    (to_one && request.server.as_ref() != Some(server)).then_some(Count::Foreign)
}

fn asked(kind: Kind) -> Option<Count> {
    Some(match kind {
        Kind::Solicit => Count::Solicit,
        Kind::Request => Count::Request,
        Kind::Confirm => Count::Confirm,
        Kind::Renew => Count::Renew,
        Kind::Rebind => Count::Rebind,
        Kind::Release => Count::Release,
        Kind::Decline => Count::Decline,
        Kind::InformationRequest => Count::Inform,
        Kind::Advertise | Kind::Reply | Kind::Reconfigure => return None,
    })
}

/// The server, and what it is asked.
struct Server<'a> {
    server: &'a Duid,
    question: Question<'a>,
}

impl Server<'_> {
    fn answer(&self) -> Answer {
        let (request, question) = (self.question.request, &self.question);
        if request.unicast {
            // Nobody was told an address of ours to send to (section 18.4).
            return self.status(Status::UseMulticast);
        }
        match request.kind {
            Kind::Solicit => self.solicit(),
            Kind::Request => self.reply(question.assign(true)),
            Kind::Renew => self.reply(question.extend(false)),
            Kind::Rebind => self.reply(question.extend(true)),
            Kind::Confirm => self.confirm(),
            Kind::Release => self.given_back(question.give_back(false)),
            Kind::Decline => self.given_back(question.give_back(true)),
            Kind::InformationRequest => self.inform(),
            Kind::Advertise | Kind::Reply | Kind::Reconfigure => Answer::counted([Count::Malformed]),
        }
    }

    /// Section 18.3.1. Who would commit at once is believed if there is an address for it.
    fn solicit(&self) -> Answer {
        if self.question.request.rapid_commit {
            let leased = self.question.assign(true);
            if leased.pool.is_some() {
                let mut answer = self.reply(leased);
                if let Some(reply) = &mut answer.reply {
                    reply.rapid_commit = true;
                }
                return answer;
            }
        }
        let offered = self.question.assign(false);
        if self.question.client.pools.is_empty() {
            return Answer::counted([Count::Unserved]);
        }
        let mut answer = self.say(Kind::Advertise, offered);
        if let Some(reply) = &mut answer.reply
            && reply.ias.iter().any(|ia| !ia.addresses.is_empty())
        {
            let data = vec![options::MOST_PREFERRED];
            reply.options.insert(0, Opt { code: options::PREFERENCE, data });
        }
        answer
    }

    fn reply(&self, outcome: Outcome<'_>) -> Answer {
        self.say(Kind::Reply, outcome)
    }

    fn say(&self, kind: Kind, outcome: Outcome<'_>) -> Answer {
        let mut counts = vec![if kind == Kind::Advertise { Count::Advertise } else { Count::Reply }];
        if outcome.ias.iter().any(|ia| ia.status == Some(Status::NoAddrsAvail)) && outcome.pool.is_none() {
            counts.push(self.why_nothing());
        } else if outcome.refused {
            counts.push(Count::Refused);
        }
        let told = outcome.pool.or_else(|| self.question.client.pools.first().copied());
        let reply = Reply { ias: outcome.ias, ..self.blank(kind, told) };
        Answer { reply: Some(reply), entries: outcome.entries, counts }
    }

    fn why_nothing(&self) -> Count {
        let client = &self.question.client;
        let gives = |pool: &&AllocationPool| pool.is_stateful();
        let served = match client.fixed {
            Some(fixed) => client.pool_of(fixed).is_some(),
            None => client.pools.iter().any(gives),
        };
        if served { Count::Exhausted } else { Count::Unserved }
    }

    /// Section 18.3.3: whether the client is still on its link. Without an address, or without anything known of the link,
    /// there is nothing to say.
    fn confirm(&self) -> Answer {
        let ias = &self.question.request.ias;
        let addresses: Vec<_> = ias.iter().flat_map(|ia| ia.addresses.iter().copied()).collect();
        if self.question.client.pools.is_empty() {
            Answer::counted([Count::Unserved])
        } else if addresses.is_empty() {
            Answer::counted([Count::Unknown])
        } else if self.question.is_on_link(&addresses) {
            self.status(Status::Success)
        } else {
            self.status(Status::NotOnLink)
        }
    }

    fn given_back(&self, outcome: Outcome<'_>) -> Answer {
        let mut answer = self.status(Status::Success);
        answer.counts.extend(outcome.refused.then_some(Count::Refused));
        answer.entries = outcome.entries;
        if let Some(reply) = &mut answer.reply {
            reply.ias = outcome.ias;
        }
        answer
    }

    /// Section 18.3.6: options and no address. The client's own pool says them, where it has one.
    fn inform(&self) -> Answer {
        let client = &self.question.client;
        let held = client.lease(self.question.book, self.question.now).map(|lease| lease.address);
        let own = client.fixed.or(held).and_then(|address| client.pool_of(address));
        let Some(pool) = own.or_else(|| client.pools.first().copied()) else {
            return Answer::counted([Count::Unserved]);
        };
        Answer { reply: Some(self.blank(Kind::Reply, Some(pool))), ..Answer::counted([Count::Reply]) }
    }

    /// A reply about the whole message.
    fn status(&self, status: Status) -> Answer {
        let mut counts = vec![Count::Reply];
        counts.extend((status != Status::Success).then_some(Count::Refused));
        let reply = Reply { status: Some(status), ..self.blank(Kind::Reply, None) };
        Answer { reply: Some(reply), ..Answer::counted(counts) }
    }

    fn blank(&self, kind: Kind, told: Option<&AllocationPool>) -> Reply {
        Reply {
            kind,
            server: self.server.clone(),
            status: None,
            ias: Vec::new(),
            rapid_commit: false,
            options: told.map(|pool| options::wanted(pool, self.question.request)).unwrap_or_default(),
        }
    }
}
