//! Who asks, which pools are for it, and which address it may have. Both IP versions.

use std::net::IpAddr;

use super::book::{Book, Holder, Lease};
use crate::model::{AllocationPool, ReservedFor};
use crate::net::MacAddr;
use crate::schema::Text;

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
