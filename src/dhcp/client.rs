//! Who asks, which pools are for it, and which address it may have. Both IP versions.

use std::net::IpAddr;

use super::book::{Book, Entry, Holder, Lease, Offered};
use crate::model::{AllocationPool, ReservedFor};
use crate::net::MacAddr;
use crate::schema::Text;

/// Seconds for which an offered address is kept.
const OFFER: u64 = 60;
/// Less than so many seconds of a lease that is not renewed are not worth an answer.
const LAST: u64 = 10;

/// Who asks.
pub struct Client<'a> {
    pub holder: Holder,
    /// Its own interface, or that of its relay agent.
    pub interface: &'a Text,
    pub mac: MacAddr,
    pub id: Option<String>,
    /// The address that its pod's configuration gives it.
    pub fixed: Option<IpAddr>,
    /// Pools that are for it, best first.
    pub pools: Vec<&'a AllocationPool>,
}

impl<'a> Client<'a> {
    /// Its lease, as long as it lasts.
    pub fn lease<'b>(&self, book: &'b Book, now: u64) -> Option<&'b Lease> {
        book.lease(&self.holder).filter(|lease| lease.expires > now)
    }

    /// Whether this is the address that it has.
    pub fn holds(&self, book: &Book, address: IpAddr, now: u64) -> bool {
        self.lease(book, now).is_some_and(|lease| lease.address == address)
    }

    /// Keeps an address of a pool for it until it asks for it.
    pub fn offer(&self, pool: &AllocationPool, address: IpAddr, now: u64) -> Entry {
        Entry::Offer(Offered {
            holder: self.holder.clone(),
            interface: self.interface.clone(),
            address,
            network: pool.network.clone(),
            subnet: pool.key.clone(),
            until: now + OFFER,
        })
    }

    /// Gives it an address of a pool for so many seconds, in this association of DHCPv6.
    pub fn bind(
        &self,
        pool: &AllocationPool,
        address: IpAddr,
        iaid: Option<u32>,
        seconds: u32,
        now: u64,
    ) -> Entry {
        Entry::Bind(Lease {
            holder: self.holder.clone(),
            interface: self.interface.clone(),
            mac: self.mac,
            client_id: self.id.clone(),
            iaid,
            address,
            network: pool.network.clone(),
            subnet: pool.key.clone(),
            expires: now + u64::from(seconds),
        })
    }

    /// Gives an address of its pools to nobody for a while: it was found in use.
    pub fn rest(&self, address: IpAddr, now: u64) -> Option<Entry> {
        let pool = self.pool_of(address)?;
        let until = now + u64::from(pool.times.quarantine);
        Some(Entry::Rest { network: pool.network.clone(), address, until })
    }

    /// Does a lease that is not renewed last long enough to be spoken of?
    pub fn outlasts(&self, book: &Book, pool: &AllocationPool, lease: &Lease, now: u64) -> bool {
        !self.is_taken(book, pool, lease.address) && lease.expires >= now + LAST
    }

    /// The pool on whose link an address is; of several the one that gives it out.
    pub fn pool_of(&self, address: IpAddr) -> Option<&'a AllocationPool> {
        let on_link = || self.pools.iter().filter(|pool| pool.subnet.contains(address));
        let gives = |pool: &&&AllocationPool| pool.holds(address) || pool.reserved(address).is_some();
        on_link().find(gives).or_else(|| on_link().next()).copied()
    }

    pub fn is_server(&self, address: IpAddr) -> bool {
        self.pools.iter().any(|pool| pool.server() == address)
    }

    /// The address that is kept for it, and its pool.
    pub fn kept(&self) -> Option<(&'a AllocationPool, IpAddr)> {
        self.pools.iter().find_map(|pool| {
            let kept = pool.reservations.iter().find(|kept| self.is(&kept.client))?;
            Some((*pool, kept.address))
        })
    }

    fn is(&self, client: &ReservedFor) -> bool {
        match client {
            ReservedFor::Interface(name) => self.holder.is_port(name),
            ReservedFor::Mac(mac) => self.mac == *mac,
            ReservedFor::ClientId(id) => self.id.as_deref() == Some(id),
            ReservedFor::Nobody => false,
        }
    }

    /// May it have this address for as long as it likes: the pool gives it, to this client, and nobody else has it?
    pub fn may_keep(&self, book: &Book, pool: &AllocationPool, address: IpAddr) -> bool {
        let for_it = match pool.reserved(address) {
            Some(client) => self.is(client),
            None => {
                pool.holds(address) && self.kept().is_none_or(|(_, kept)| self.is_taken(book, pool, kept))
            }
        };
        for_it
            && pool.subnet.contains(address)
            && address != pool.server()
            && !pool.is_subnets_own(address)
            && !self.is_taken(book, pool, address)
    }

    pub fn is_taken(&self, book: &Book, pool: &AllocationPool, address: IpAddr) -> bool {
        book.is_taken(pool, self.interface, &self.holder, address)
    }

    /// The pool and address to offer: what it has, else what it had, else what it asks for, else the lowest that is free
    /// (RFC 2131 section 4.3.1).
    pub fn choice(
        &self,
        book: &Book,
        wish: Option<IpAddr>,
        now: u64,
    ) -> Option<(&'a AllocationPool, IpAddr)> {
        if let Some(fixed) = self.fixed {
            return Some((self.pool_of(fixed)?, fixed));
        }
        let kept = self.kept().map(|(_, address)| address);
        let held = self.lease(book, now).map(|lease| lease.address);
        let offered = book.offer(&self.holder).map(|offer| offer.address);
        let known = [kept, held, offered, book.earlier(&self.holder), wish];
        let known = known.into_iter().flatten().find_map(|address| {
            let pool = self.pool_of(address)?;
            self.may_keep(book, pool, address).then_some((pool, address))
        });
        known.or_else(|| {
            self.pools.iter().find_map(|pool| Some((*pool, book.lowest_free(pool, self.interface)?)))
        })
    }
}
