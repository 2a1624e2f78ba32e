//! What becomes of the identity associations of a message.

use std::net::{IpAddr, Ipv6Addr};

use super::message::{Ia, IaKind, IaReply, Kind, Leased, Request, Status};
use super::options;
use crate::dhcp::book::{Book, Entry, Lease};
use crate::dhcp::client::Client;
use crate::model::AllocationPool;

/// One request with all that its answer depends on.
pub struct Question<'a> {
    pub request: &'a Request,
    pub client: Client<'a>,
    pub book: &'a Book,
    pub now: u64,
}

/// Associations answered, and what is written down for it.
#[derive(Default)]
pub struct Outcome<'a> {
    pub ias: Vec<IaReply>,
    pub entries: Vec<Entry>,
    /// Where the address is from that the client has now.
    pub pool: Option<&'a AllocationPool>,
    /// Something was asked for and not given.
    pub refused: bool,
}

impl Outcome<'_> {
    pub fn refuse(&mut self, ia: &Ia, status: Status) {
        self.refused = true;
        self.ias.push(IaReply { status: Some(status), ..blank(ia) });
    }
}

fn blank(ia: &Ia) -> IaReply {
    IaReply { kind: ia.kind, iaid: ia.iaid, times: (0, 0), addresses: Vec::new(), status: None }
}

/// Addresses that are the client's no more.
fn stale(addresses: &[Ipv6Addr], but: Option<IpAddr>) -> impl Iterator<Item = Leased> {
    let gone = addresses.iter().filter(move |address| but != Some(IpAddr::V6(**address)));
    gone.map(|address| Leased { address: *address, lifetime: 0 })
}

impl<'a> Question<'a> {
    /// Gives addresses to those that ask for some (sections 18.3.1 and 18.3.2). `durable`: they are leased, not offered.
    pub fn assign(&self, durable: bool) -> Outcome<'a> {
        let mut outcome = Outcome::default();
        let ours = self.request.ias.iter().position(|ia| self.lease_of(ia).is_some());
        let first = || self.request.ias.iter().position(|ia| ia.kind == IaKind::Na);
        let chosen = ours.or_else(first);
        for (at, ia) in self.request.ias.iter().enumerate() {
            if ia.kind == IaKind::Pd {
                outcome.refuse(ia, Status::NoPrefixAvail);
            } else if self.request.kind == Kind::Request && !self.is_on_link(&ia.addresses) {
                outcome.refuse(ia, Status::NotOnLink);
            } else if let Some((pool, address)) = self.choice(ia).filter(|_| Some(at) == chosen) {
                if durable {
                    outcome.entries.push(self.bind(ia, pool, address));
                } else if !self.client.holds(self.book, address.into(), self.now) {
                    outcome.entries.push(self.client.offer(pool, address.into(), self.now));
                }
                outcome.pool = Some(pool);
                outcome.ias.push(given(ia, pool, address, pool.times.lease));
            } else {
                outcome.refuse(ia, Status::NoAddrsAvail);
            }
        }
        outcome
    }

    /// Lets associations go on (sections 18.3.4 and 18.3.5).
    pub fn extend(&self, rebinding: bool) -> Outcome<'a> {
        let mut outcome = Outcome::default();
        for ia in &self.request.ias {
            match self.lease_of(ia) {
                Some(lease) => self.extend_one(ia, lease, &mut outcome),
                None if ia.kind == IaKind::Pd => outcome.refuse(ia, Status::NoPrefixAvail),
                // Who asks all servers hears what cannot be right on this link, whoever gave it.
                None if rebinding && !self.is_on_link(&ia.addresses) => {
                    let addresses = stale(&ia.addresses, None).collect();
                    outcome.refused = true;
                    outcome.ias.push(IaReply { addresses, ..blank(ia) });
                }
                None => outcome.refuse(ia, Status::NoBinding),
            }
        }
        outcome
    }

    fn extend_one(&self, ia: &Ia, lease: &Lease, outcome: &mut Outcome<'a>) {
        let IpAddr::V6(address) = lease.address else { return };
        let pool = self.client.pool_of(lease.address);
        let fits = |pool: &AllocationPool| match self.client.fixed {
            Some(fixed) => fixed == lease.address,
            None => self.client.may_keep(self.book, pool, lease.address),
        };
        let lasts = |pool: &AllocationPool| {
            self.client.fixed.is_none() && self.client.outlasts(self.book, pool, lease, self.now)
        };
        let (mut reply, now_has) = match pool {
            Some(pool) if fits(pool) => {
                outcome.entries.push(self.bind(ia, pool, address));
                (given(ia, pool, address, pool.times.lease), (pool, lease.address))
            }
            // The pool no longer has it: it lasts as long as was promised, and no longer.
            Some(pool) if lasts(pool) => {
                let left = u32::try_from(lease.expires - self.now).unwrap_or(u32::MAX);
                (given(ia, pool, address, left), (pool, lease.address))
            }
            // It is not the client's any more; where there is another one, it comes with the same answer.
            _ => match self.choice(ia) {
                Some((pool, other)) => {
                    outcome.entries.push(self.bind(ia, pool, other));
                    let mut reply = given(ia, pool, other, pool.times.lease);
                    if other != address && !ia.addresses.contains(&address) {
                        reply.addresses.push(Leased { address, lifetime: 0 });
                    }
                    (reply, (pool, IpAddr::V6(other)))
                }
                None => {
                    outcome.entries.push(Entry::End(lease.holder.clone()));
                    outcome.refused = true;
                    let own = if ia.addresses.contains(&address) { &[][..] } else { &[address][..] };
                    let addresses = stale(&ia.addresses, None).chain(stale(own, None)).collect();
                    outcome.ias.push(IaReply { addresses, ..blank(ia) });
                    return;
                }
            },
        };
        let (pool, has) = now_has;
        reply.addresses.extend(stale(&ia.addresses, Some(has)));
        outcome.pool = Some(pool);
        outcome.ias.push(reply);
    }

    /// Ends what the client gives back (section 18.3.7), or found in use (18.3.8): then it rests.
    pub fn give_back(&self, rests: bool) -> Outcome<'a> {
        let mut outcome = Outcome::default();
        for ia in &self.request.ias {
            let Some(lease) = self.lease_of(ia) else {
                outcome.refuse(ia, Status::NoBinding);
                continue;
            };
            // Only its own address: nobody may make others' unusable.
            let named = ia.addresses.iter().any(|address| IpAddr::V6(*address) == lease.address);
            if !named {
                continue;
            }
            outcome.entries.push(Entry::End(lease.holder.clone()));
            if rests {
                outcome.entries.extend(self.client.rest(lease.address, self.now));
            }
        }
        outcome
    }

    /// Are all of them addresses of this link, as far as its pools say?
    pub fn is_on_link(&self, addresses: &[Ipv6Addr]) -> bool {
        addresses.iter().all(|address| self.client.pool_of(IpAddr::V6(*address)).is_some())
    }

    /// The lease of this association: of this client and with this number.
    fn lease_of(&self, ia: &Ia) -> Option<&'a Lease> {
        let lease = self.client.lease(self.book, self.now)?;
        let same = lease.iaid == Some(ia.iaid) && lease.client_id == self.client.id;
        (ia.kind == IaKind::Na && same).then_some(lease)
    }

    fn choice(&self, ia: &Ia) -> Option<(&'a AllocationPool, Ipv6Addr)> {
        let wish = ia.addresses.first().map(|address| IpAddr::V6(*address));
        match self.client.choice(self.book, wish, self.now)? {
            (pool, IpAddr::V6(address)) => Some((pool, address)),
            _ => None,
        }
    }

    fn bind(&self, ia: &Ia, pool: &AllocationPool, address: Ipv6Addr) -> Entry {
        self.client.bind(pool, address.into(), Some(ia.iaid), pool.times.lease, self.now)
    }
}

fn given(ia: &Ia, pool: &AllocationPool, address: Ipv6Addr, lifetime: u32) -> IaReply {
    let times = options::renewal(&pool.times, lifetime);
    IaReply { times, addresses: vec![Leased { address, lifetime }], ..blank(ia) }
}
