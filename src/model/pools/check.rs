//! What is wrong with a pool: found before it is committed, said so that it can be mended.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use ipnetwork::IpNetwork;

use super::{AllocationPool, Network, ReservedFor, number};
use crate::model::rows::LINK_LOCAL_GATEWAY;
use crate::schema::Text;

/// Addresses of an IPv4 range at most: a /12. What is wider is a slip of the pen.
const LARGEST_RANGE: u128 = 1 << 20;
/// Shortest prefixes of subnets. Source: no IPv4 block that may be used here is wider than 10.0.0.0/8, no IPv6 block than a registry's /12.
const SHORTEST_V4: u8 = 8;
const SHORTEST_V6: u8 = 12;

/// A pool that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolFault {
    pub network: Text,
    /// Key of the pool.
    pub subnet: Text,
    /// Names pool, reason and what to do.
    pub message: String,
}

/// Looks at the pools of a network that are not as they were before.
///
/// # Errors
/// The first fault.
pub fn check(before: Option<&Network>, network: &Network) -> Result<(), PoolFault> {
    let known = |pool: &AllocationPool| before.is_some_and(|old| old.pools.iter().any(|old| **old == *pool));
    for pool in &network.pools {
        if known(pool) {
            continue;
        }
        let fault = |reason: String| PoolFault {
            network: network.id.clone(),
            subnet: pool.key.clone(),
            message: format!("pool {} of network {}: {reason}", pool.key, network.id),
        };
        single(pool).map_err(fault)?;
        for other in network.pools.iter().filter(|other| !Arc::ptr_eq(other, pool)) {
            overlap(pool, other).map_err(fault)?;
        }
    }
    Ok(())
}

/// What can be said of a pool alone.
fn single(pool: &AllocationPool) -> Result<(), String> {
    width(pool)?;
    let of_the_subnet = |what: &str, address: IpAddr| {
        if pool.subnet.contains(address) {
            Ok(())
        } else {
            Err(format!(
                "{what} {address} is not in the subnet {}; choose one that is, or change the subnet",
                pool.subnet
            ))
        }
    };
    match (pool.from, pool.to) {
        (None, None) => {}
        (Some(_), None) => {
            return Err("it has allocate-from and no allocate-to; give both, or neither".into());
        }
        (None, Some(_)) => {
            return Err("it has allocate-to and no allocate-from; give both, or neither".into());
        }
        (Some(from), Some(to)) => {
            of_the_subnet("allocate-from", from)?;
            of_the_subnet("allocate-to", to)?;
            if number(from) > number(to) {
                return Err(format!("allocate-from {from} is above allocate-to {to}; swap the two"));
            }
            let size = number(to) - number(from) + 1;
            if pool.subnet.is_ipv4() && size > LARGEST_RANGE {
                return Err(format!(
                    "the range {from} to {to} has {size} addresses, more than {LARGEST_RANGE}; narrow it, or make several pools"
                ));
            }
        }
    }
    let link_local = IpAddr::V6(LINK_LOCAL_GATEWAY);
    if let Some(gateway) = pool.gateway.filter(|gateway| pool.subnet.is_ipv4() || *gateway != link_local) {
        of_the_subnet("gateway", gateway)?;
        if pool.holds(gateway) {
            return Err(format!(
                "gateway {gateway} is inside the range of addresses for pods; start the range behind it, or choose another gateway"
            ));
        }
        // The routers' anycast address of IPv6 may stand for one.
        if pool.subnet.is_ipv4() && pool.is_subnets_own(gateway) {
            return Err(format!(
                "gateway {gateway} is the subnet's own address, which no router can have; choose another one"
            ));
        }
    }
    for router in &pool.options.routers {
        of_the_subnet("router", *router)?;
    }
    for (leaf, servers) in [("dns-servers", &pool.dns), ("ntp-server", &pool.options.ntp)] {
        if let Some(server) = servers.iter().find(|server| server.is_ipv4() != pool.subnet.is_ipv4()) {
            let (own, other) = if pool.subnet.is_ipv4() { (4, 6) } else { (6, 4) };
            return Err(format!(
                "{leaf} {server} is an address of IPv{other}, which clients of an IPv{own} pool cannot be told; write it in a pool of IPv{other}"
            ));
        }
    }
    for (destination, next_hop) in &pool.options.routes {
        if destination.is_ipv4() != pool.subnet.is_ipv4() {
            return Err(format!(
                "classless-route {destination} is of another family than the subnet; write it in a pool of its family"
            ));
        }
        if !next_hop.is_unspecified() {
            of_the_subnet(&format!("next-hop of classless-route {destination},"), *next_hop)?;
        }
    }
    times(pool)?;
    reservations(pool, &of_the_subnet)
}

fn width(pool: &AllocationPool) -> Result<(), String> {
    let shortest = if pool.subnet.is_ipv4() { SHORTEST_V4 } else { SHORTEST_V6 };
    if pool.subnet.prefix() < shortest {
        return Err(format!(
            "the subnet is wider than a /{shortest}; write the prefix of the link that pods are on"
        ));
    }
    let network = match pool.subnet {
        IpNetwork::V4(subnet) => IpAddr::V4(subnet.network()),
        IpNetwork::V6(subnet) => IpAddr::V6(subnet.network()),
    };
    if network.is_multicast() || network.is_loopback() {
        return Err("the subnet is no unicast network that pods can have; choose another one".into());
    }
    Ok(())
}

fn times(pool: &AllocationPool) -> Result<(), String> {
    let times = pool.times;
    if let Some(max) = times.max.filter(|max| *max < times.lease) {
        return Err(format!(
            "max-lease-time {max} is less than lease-time {}; raise it, or lower lease-time",
            times.lease
        ));
    }
    let rebinding = times.rebinding.unwrap_or(times.lease);
    if rebinding > times.lease {
        return Err(format!(
            "rebinding-time {rebinding} is longer than lease-time {}; lower it",
            times.lease
        ));
    }
    match times.renewal {
        Some(renewal) if renewal > rebinding => Err(format!(
            "renewal-time {renewal} is longer than {rebinding}, where rebinding or the end of the lease comes; lower it"
        )),
        _ => Ok(()),
    }
}

fn reservations(
    pool: &AllocationPool,
    of_the_subnet: &dyn Fn(&str, IpAddr) -> Result<(), String>,
) -> Result<(), String> {
    let mut seen: BTreeMap<&ReservedFor, IpAddr> = BTreeMap::new();
    for kept in &pool.reservations {
        of_the_subnet("reservation", kept.address)?;
        if kept.address == pool.server() {
            return Err(format!("reservation {} is the gateway's address; choose another one", kept.address));
        }
        if pool.is_subnets_own(kept.address) {
            return Err(format!(
                "reservation {} is the subnet's own address, which no pod can have; choose another one",
                kept.address
            ));
        }
        if let Some(other) = seen.insert(&kept.client, kept.address) {
            return Err(format!(
                "{} has two reservations, {other} and {}; remove one of them",
                kept.client, kept.address
            ));
        }
    }
    Ok(())
}

/// Two pools of one network give out the same address.
fn overlap(pool: &AllocationPool, other: &AllocationPool) -> Result<(), String> {
    if let (Some((from, to)), Some((start, end))) = (pool.range(), other.range())
        && number(from) <= number(end)
        && number(start) <= number(to)
    {
        return Err(format!(
            "its range {from} to {to} overlaps with {start} to {end} of pool {}; make the two disjoint",
            other.key
        ));
    }
    for (pool, other) in [(pool, other), (other, pool)] {
        let gives = |gateway: &IpAddr| pool.holds(*gateway) || pool.reserved(*gateway).is_some();
        if let Some(gateway) = other.gateway.filter(gives) {
            return Err(format!(
                "gateway {gateway} of pool {} is among the addresses for pods of pool {}; narrow these, or choose another gateway",
                other.key, pool.key
            ));
        }
    }
    let twice =
        |kept: &&super::Reservation| other.holds(kept.address) || other.reserved(kept.address).is_some();
    match pool.reservations.iter().find(twice) {
        Some(kept) => Err(format!(
            "reservation {} is also in pool {}; keep it in one of the two",
            kept.address, other.key
        )),
        None => Ok(()),
    }
}
