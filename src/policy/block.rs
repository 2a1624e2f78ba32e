//! `ipBlock`: a prefix without some prefixes inside of it.

use std::net::IpAddr;

use ipnetwork::{IpNetwork, Ipv4Network, Ipv6Network};

/// Addresses of a prefix, those of the exceptions left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// Its host bits are cleared.
    pub cidr: IpNetwork,
    /// Each within the prefix.
    pub except: Vec<IpNetwork>,
}

impl Block {
    pub fn contains(&self, address: IpAddr) -> bool {
        self.cidr.contains(address) && !self.except.iter().any(|hole| hole.contains(address))
    }

    /// The fewest prefixes that together hold exactly its addresses: for each hole at most one a bit.
    pub fn prefixes(&self) -> Vec<IpNetwork> {
        let mut found = Vec::new();
        let holes: Vec<IpNetwork> =
            self.except.iter().filter(|hole| meet(self.cidr, **hole)).copied().collect();
        cut(self.cidr, &holes, &mut found);
        found
    }
}

fn cut(prefix: IpNetwork, holes: &[IpNetwork], found: &mut Vec<IpNetwork>) {
    if holes.is_empty() {
        return found.push(prefix);
    }
    if holes.iter().any(|hole| hole.prefix() <= prefix.prefix()) {
        return;
    }
    for half in halves(prefix) {
        let inside: Vec<IpNetwork> = holes.iter().filter(|hole| meet(half, **hole)).copied().collect();
        cut(half, &inside, found);
    }
}

/// One of the two holds the other.
fn meet(one: IpNetwork, other: IpNetwork) -> bool {
    one.contains(other.network()) || other.contains(one.network())
}

/// The two prefixes that a prefix with bits left is made of.
fn halves(prefix: IpNetwork) -> Vec<IpNetwork> {
    let bits = prefix.prefix() + 1;
    match prefix {
        IpNetwork::V4(prefix) if bits <= 32 => {
            let first = u32::from(prefix.network());
            let halves = [first, first | 1 << (32 - bits)];
            halves.into_iter().filter_map(|at| Some(Ipv4Network::new(at.into(), bits).ok()?.into())).collect()
        }
        IpNetwork::V6(prefix) if bits <= 128 => {
            let first = u128::from(prefix.network());
            let halves = [first, first | 1 << (128 - bits)];
            halves.into_iter().filter_map(|at| Some(Ipv6Network::new(at.into(), bits).ok()?.into())).collect()
        }
        _ => Vec::new(),
    }
}
