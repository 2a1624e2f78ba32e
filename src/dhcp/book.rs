//! Who holds which address: leases, offers, configured addresses, and those that rest. Both IP versions.
//!
//! It answers from what it keeps: one request costs the same among ten pods and leases as among a hundred thousand.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use ipnetwork::IpNetwork;

use super::spans::Spans;
use crate::model::{AllocationPool, number};
use crate::net::MacAddr;
use crate::schema::Text;

/// Who may hold one address of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holder {
    /// A port, by its interface's name.
    Port(Text),
    /// The same port as a client of DHCPv6.
    PortV6(Text),
    /// A client behind a relay agent: network, and option 61 or the hardware address in hexadecimal.
    Relayed { network: Text, client: Text },
}

/// An address that a client has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub holder: Holder,
    /// The interface it was asked for through: the holder's own or the relay agent's.
    pub interface: Text,
    pub mac: MacAddr,
    /// Option 61, or the client's DUID, in hexadecimal.
    pub client_id: Option<String>,
    /// The identity association of DHCPv6.
    pub iaid: Option<u32>,
    pub address: IpAddr,
    pub network: Text,
    /// Key of the pool.
    pub subnet: Text,
    /// Seconds since 1970.
    pub expires: u64,
}

/// An address that was offered and is not asked for yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    pub holder: Holder,
    pub interface: Text,
    pub address: IpAddr,
    pub network: Text,
    pub subnet: Text,
    pub until: u64,
}

/// What changes in the book. Leases and rests are made durable, offers are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Bind(Lease),
    /// Ends a lease.
    End(Holder),
    Offer(Offered),
    /// Takes an offer back.
    Withdraw(Holder),
    /// The address rests until then.
    Rest {
        network: Text,
        address: IpAddr,
        until: u64,
    },
    /// It has rested.
    Wake {
        network: Text,
        address: IpAddr,
    },
}

/// Where one address may be in use once only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Space {
    Namespace(Text),
    /// The network of a pool.
    Network(Text),
}

/// When something ends by itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Lease(Holder),
    Offer(Holder),
    Rest(Text, IpAddr),
}

#[derive(Debug, Default)]
pub struct Book {
    leases: BTreeMap<Holder, Lease>,
    offers: HashMap<Holder, Offered>,
    resting: BTreeMap<(Text, IpAddr), u64>,
    /// What a holder had before: it gets that again where it is free.
    earlier: HashMap<Holder, IpAddr>,
    used: HashMap<Space, Spans>,
    ends: BTreeSet<(u64, End)>,
    /// Leases and offers by network and pool.
    of_pools: HashMap<(Text, Text), Tally>,
}

/// How much of a pool is in use.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    pub leases: u64,
    pub offers: u64,
}

/// The namespace of an interface: what is before the colon of its name.
pub fn namespace(interface: &str) -> &str {
    interface.split_once(':').map_or(interface, |(namespace, _)| namespace)
}

impl Holder {
    /// Is it the port of this interface?
    pub fn is_port(&self, interface: &str) -> bool {
        matches!(self, Holder::Port(name) | Holder::PortV6(name) if **name == *interface)
    }
}

impl Book {
    pub fn lease(&self, holder: &Holder) -> Option<&Lease> {
        self.leases.get(holder)
    }

    pub fn offer(&self, holder: &Holder) -> Option<&Offered> {
        self.offers.get(holder)
    }

    pub fn earlier(&self, holder: &Holder) -> Option<IpAddr> {
        self.earlier.get(holder).copied()
    }

    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.leases.values()
    }

    pub fn tally(&self, pool: &AllocationPool) -> Tally {
        self.of_pools.get(&(pool.network.clone(), pool.key.clone())).copied().unwrap_or_default()
    }

    /// A pod was given this address by its configuration.
    pub fn configure(&mut self, namespace: &Text, network: Option<&Text>, address: IpAddr) {
        for space in spaces(namespace, network) {
            self.used.entry(space).or_default().add(number(address));
        }
    }

    /// The reverse of [`Book::configure`].
    pub fn deconfigure(&mut self, namespace: &Text, network: Option<&Text>, address: IpAddr) {
        for space in spaces(namespace, network) {
            self.free(space, address);
        }
    }

    fn free(&mut self, space: Space, address: IpAddr) {
        if let Some(spans) = self.used.get_mut(&space) {
            spans.remove(number(address));
            if spans.is_empty() {
                self.used.remove(&space);
            }
        }
    }

    /// Does anybody else than this holder have the address, or does it rest?
    pub fn is_taken(&self, pool: &AllocationPool, interface: &str, holder: &Holder, address: IpAddr) -> bool {
        let lease = self.leases.get(holder).map(|lease| (lease.address, &lease.network, &lease.interface));
        let offer = self.offers.get(holder).map(|offer| (offer.address, &offer.network, &offer.interface));
        let of_holder = |counts: &dyn Fn(&Text, &Text) -> bool| -> u32 {
            let own = [lease, offer].into_iter().flatten();
            own.map(|(own, network, through)| u32::from(own == address && counts(network, through))).sum()
        };
        let here: Text = namespace(interface).into();
        let in_namespace = of_holder(&|_, through| *namespace(through) == *here);
        let in_network = of_holder(&|network, _| *network == pool.network);
        self.count(&Space::Namespace(here), address) > in_namespace
            || self.count(&Space::Network(pool.network.clone()), address) > in_network
    }

    fn count(&self, space: &Space, address: IpAddr) -> u32 {
        self.used.get(space).map_or(0, |spans| spans.count(number(address)))
    }

    /// The first address of the pool's range that nobody has, rests or is kept for somebody.
    pub fn lowest_free(&self, pool: &AllocationPool, interface: &str) -> Option<IpAddr> {
        let (from, to) = pool.range()?;
        let spaces = [Space::Namespace(namespace(interface).into()), Space::Network(pool.network.clone())];
        let used = spaces.map(|space| self.used.get(&space));
        let mut next = number(from);
        while next <= number(to) {
            let mut gap = next;
            for spans in used.into_iter().flatten() {
                gap = spans.gap(gap)?;
            }
            if gap == next {
                let address = address(next, from);
                if is_for_anybody(pool, address) {
                    return Some(address);
                }
                gap = next.checked_add(1)?;
            }
            next = gap;
        }
        None
    }

    /// Addresses of the range for clients that have none kept, and how many of them are free. Looks at the pool's network and at the
    /// namespace of the same name; what else is in use is found when it would be given out.
    pub fn room(&self, pool: &AllocationPool) -> (u128, u128) {
        let Some((from, to)) = pool.range() else { return (0, 0) };
        let (first, last) = (number(from), number(to));
        let kept = pool.reservations.iter().map(|kept| kept.address);
        let mut special: BTreeSet<IpAddr> = kept.chain([pool.server()]).collect();
        special.insert(match pool.subnet {
            IpNetwork::V4(subnet) => subnet.network().into(),
            IpNetwork::V6(subnet) => subnet.network().into(),
        });
        if let IpNetwork::V4(subnet) = pool.subnet {
            special.insert(subnet.broadcast().into());
        }
        special.retain(|address| pool.holds(*address) && !is_for_anybody(pool, *address));
        let size = last - first + 1 - special.len() as u128;
        let spaces = [Space::Network(pool.network.clone()), Space::Namespace(pool.network.clone())];
        let used = spaces.iter().filter_map(|space| self.used.get(space)).map(|spans| {
            let of_special = special.iter().filter(|address| spans.count(number(**address)) > 0).count();
            spans.within(first, last) - of_special as u128
        });
        (size, size - used.max().unwrap_or(0))
    }

    /// Writes an entry down.
    pub fn write(&mut self, entry: &Entry) {
        match entry {
            Entry::Bind(lease) => {
                self.end(&lease.holder);
                self.withdraw(&lease.holder);
                self.earlier.remove(&lease.holder);
                self.occupy(&lease.interface, &lease.network, lease.address);
                self.ends.insert((lease.expires, End::Lease(lease.holder.clone())));
                self.tallied(&lease.network, &lease.subnet).leases += 1;
                self.leases.insert(lease.holder.clone(), lease.clone());
            }
            Entry::End(holder) => {
                if let Some(lease) = self.end(holder) {
                    self.earlier.insert(holder.clone(), lease.address);
                }
            }
            Entry::Offer(offer) => {
                self.withdraw(&offer.holder);
                self.occupy(&offer.interface, &offer.network, offer.address);
                self.ends.insert((offer.until, End::Offer(offer.holder.clone())));
                self.tallied(&offer.network, &offer.subnet).offers += 1;
                self.offers.insert(offer.holder.clone(), offer.clone());
            }
            Entry::Withdraw(holder) => self.withdraw(holder),
            Entry::Rest { network, address, until } => {
                self.wake(network, *address);
                self.used.entry(Space::Network(network.clone())).or_default().add(number(*address));
                self.ends.insert((*until, End::Rest(network.clone(), *address)));
                self.resting.insert((network.clone(), *address), *until);
            }
            Entry::Wake { network, address } => self.wake(network, *address),
        }
    }

    /// Forgets what a holder that is gone had before.
    pub fn forget(&mut self, holder: &Holder) {
        self.earlier.remove(holder);
    }

    /// What has run out by now.
    pub fn due(&self, now: u64) -> Vec<Entry> {
        let ended = self.ends.iter().take_while(|(at, _)| *at <= now);
        ended
            .map(|(_, end)| match end {
                End::Lease(holder) => Entry::End(holder.clone()),
                End::Offer(holder) => Entry::Withdraw(holder.clone()),
                End::Rest(network, address) => Entry::Wake { network: network.clone(), address: *address },
            })
            .collect()
    }

    fn tallied(&mut self, network: &Text, subnet: &Text) -> &mut Tally {
        self.of_pools.entry((network.clone(), subnet.clone())).or_default()
    }

    fn occupy(&mut self, interface: &str, network: &Text, address: IpAddr) {
        for space in spaces(&namespace(interface).into(), Some(network)) {
            self.used.entry(space).or_default().add(number(address));
        }
    }

    fn vacate(&mut self, interface: &str, network: &Text, address: IpAddr) {
        for space in spaces(&namespace(interface).into(), Some(network)) {
            self.free(space, address);
        }
    }

    fn end(&mut self, holder: &Holder) -> Option<Lease> {
        let lease = self.leases.remove(holder)?;
        self.ends.remove(&(lease.expires, End::Lease(holder.clone())));
        self.vacate(&lease.interface, &lease.network, lease.address);
        self.tallied(&lease.network, &lease.subnet).leases -= 1;
        Some(lease)
    }

    fn withdraw(&mut self, holder: &Holder) {
        if let Some(offer) = self.offers.remove(holder) {
            self.ends.remove(&(offer.until, End::Offer(holder.clone())));
            self.vacate(&offer.interface, &offer.network, offer.address);
            self.tallied(&offer.network, &offer.subnet).offers -= 1;
        }
    }

    fn wake(&mut self, network: &Text, address: IpAddr) {
        if let Some(until) = self.resting.remove(&(network.clone(), address)) {
            self.ends.remove(&(until, End::Rest(network.clone(), address)));
            self.free(Space::Network(network.clone()), address);
        }
    }
}

/// May whoever asks first have it?
fn is_for_anybody(pool: &AllocationPool, address: IpAddr) -> bool {
    pool.subnet.contains(address)
        && address != pool.server()
        && !pool.is_subnets_own(address)
        && pool.reserved(address).is_none()
}

/// A number as an address of the family of `like`.
fn address(number: u128, like: IpAddr) -> IpAddr {
    let address = std::net::Ipv6Addr::from(number);
    match like {
        IpAddr::V4(_) => address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4),
        IpAddr::V6(_) => IpAddr::V6(address),
    }
}

fn spaces(namespace: &Text, network: Option<&Text>) -> impl Iterator<Item = Space> + use<> {
    let network = network.cloned().map(Space::Network);
    [Some(Space::Namespace(namespace.clone())), network].into_iter().flatten()
}
