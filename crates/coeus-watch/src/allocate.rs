//! Addresses for pods that nobody else gives one: out of their node's podCIDRs, else out of the DHCP pools of their namespace's network.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use k8s_openapi::api::core::v1::Node;
use serde_json::Value;

use crate::value::{items, member};

/// Addresses of one subnet that pods may have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Range {
    pub from: IpAddr,
    pub to: IpAddr,
    /// Length of the subnet's prefix.
    pub length: u8,
    /// Not free: the gateway or the server, the subnet's own addresses, reservations.
    pub kept: Vec<IpAddr>,
}

impl Range {
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.from.is_ipv4()
            && self.from <= address
            && address <= self.to
            && !self.kept.contains(&address)
    }
}

/// The ranges of a node: without the subnet's own address, the first one, which is the gateway, and the broadcast address of IPv4.
pub fn of_node(node: &Node) -> Vec<Range> {
    let spec = node.spec.as_ref();
    let several = spec.and_then(|spec| spec.pod_cidrs.as_ref()).into_iter().flatten();
    let mut cidrs: Vec<_> = several.chain(spec.and_then(|spec| spec.pod_cidr.as_ref())).collect();
    cidrs.dedup();
    let mut found: Vec<Range> = Vec::new();
    for range in cidrs.into_iter().filter_map(|cidr| of_cidr(cidr)) {
        if !found.contains(&range) {
            found.push(range);
        }
    }
    found
}

/// The range of one `podCIDR`; `None`: it is none, or has no room.
pub fn of_cidr(text: &str) -> Option<Range> {
    let (first, last, length) = subnet(text)?;
    let last = if first.is_ipv4() { number(last).checked_sub(1)? } else { number(last) };
    let from = number(first).checked_add(2)?;
    (from <= last).then(|| Range {
        from: address(from, first),
        to: address(last, first),
        length,
        kept: Vec::new(),
    })
}

/// The ranges of a network's pools, in their order; `pools` is `dhcp_allocation_pool` or its list of networks.
pub fn of_pools(pools: &Value, network: &str) -> Vec<Range> {
    let container = member(pools, "dhcp_allocation_pool").unwrap_or(pools);
    let networks = items(container, "network").iter();
    let own = networks.filter(|entry| member(entry, "network-id").and_then(Value::as_str) == Some(network));
    own.flat_map(|network| items(network, "allocation-pool")).filter_map(of_pool).collect()
}

fn of_pool(pool: &Value) -> Option<Range> {
    // What only others may have is not for pods.
    if !items(pool, "relay-agent").is_empty() {
        return None;
    }
    let ip = |value: &Value, name: &str| member(value, name)?.as_str()?.parse::<IpAddr>().ok();
    let (first, last, length) = subnet(member(pool, "subnet")?.as_str()?)?;
    let reserved = items(pool, "reservation").iter().filter_map(|entry| ip(entry, "address"));
    // Without a gateway the DHCP server has the subnet's first address. No pod has the subnet's own ones.
    let server = ip(pool, "gateway").unwrap_or_else(|| address(number(first) | 1, first));
    let own = match (first.is_ipv4(), length) {
        (true, ..31) => vec![first, last],
        (false, ..127) => vec![first],
        _ => Vec::new(),
    };
    let kept = reserved.chain([server]).chain(own).collect();
    let (from, to) = (ip(pool, "allocate-from")?, ip(pool, "allocate-to")?);
    (from.is_ipv4() == to.is_ipv4()).then_some(Range { from, to, length, kept })
}

/// The MTU that the pool of an address says.
pub fn mtu_of_pools(pools: &Value, network: &str, of: IpAddr) -> Option<u64> {
    let container = member(pools, "dhcp_allocation_pool").unwrap_or(pools);
    let networks = items(container, "network").iter();
    let own = networks.filter(|entry| member(entry, "network-id").and_then(Value::as_str) == Some(network));
    let holds = |pool: &&Value| {
        let subnet = member(pool, "subnet").and_then(Value::as_str).and_then(subnet);
        subnet.is_some_and(|(first, last, _)| first.is_ipv4() == of.is_ipv4() && first <= of && of <= last)
    };
    let pool = own.flat_map(|network| items(network, "allocation-pool")).find(holds)?;
    member(member(pool, "options")?, "mtu")?.as_u64()
}

/// One address of each version that the ranges have: the one that is wished for if it may be had, else the lowest free one of the first range that has one.
///
/// # Errors
/// What is missing, in words for people.
pub fn choose(ranges: &[Range], taken: &BTreeSet<IpAddr>, wished: &[IpAddr]) -> Result<Vec<IpAddr>, String> {
    if ranges.is_empty() {
        return Err("no address can be given: its node has no podCIDR, and its namespace's network no pool; give one of them".into());
    }
    let mut chosen = Vec::new();
    for is_v4 in [true, false] {
        let own: Vec<_> = ranges.iter().filter(|range| range.from.is_ipv4() == is_v4).collect();
        let may_be =
            |address: &&IpAddr| !taken.contains(address) && own.iter().any(|range| range.contains(**address));
        let found = wished.iter().find(may_be).copied();
        match found.or_else(|| own.iter().find_map(|range| lowest(range, taken))) {
            Some(address) => chosen.push(address),
            None if own.is_empty() => {}
            None => {
                let full: Vec<_> =
                    own.iter().map(|range| format!("{} to {}", range.from, range.to)).collect();
                return Err(format!("no address is free in {}", full.join(", ")));
            }
        }
    }
    Ok(chosen)
}

fn lowest(range: &Range, taken: &BTreeSet<IpAddr>) -> Option<IpAddr> {
    if range.to < range.from {
        return None;
    }
    let mut free = number(range.from);
    let mut used: Vec<_> =
        taken.range(range.from..=range.to).chain(&range.kept).map(|one| number(*one)).collect();
    used.sort_unstable();
    for used in used {
        if used == free {
            free = free.checked_add(1)?;
        } else if used > free {
            break;
        }
    }
    (free <= number(range.to)).then(|| address(free, range.from))
}

/// First and last address, and the length of the prefix.
pub(crate) fn subnet(text: &str) -> Option<(IpAddr, IpAddr, u8)> {
    let (first, length) = text.split_once('/')?;
    let (first, length): (IpAddr, u8) = (first.parse().ok()?, length.parse().ok()?);
    let bits: u32 = if first.is_ipv4() { 32 } else { 128 };
    let host = bits_below(bits.checked_sub(u32::from(length))?);
    let low = number(first) & !host;
    Some((address(low, first), address(low | host, first), length))
}

fn bits_below(count: u32) -> u128 {
    1_u128.checked_shl(count).map_or(u128::MAX, |bit| bit - 1)
}

pub(crate) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

/// The address of a number, of the version of another.
pub(crate) fn address(number: u128, like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::from(u32::try_from(number).unwrap_or(u32::MAX)).into(),
        IpAddr::V6(_) => Ipv6Addr::from(number).into(),
    }
}

/// A pod's MAC address: locally administered (IEEE 802 section 8.4), and as random as its uid is.
pub fn mac(uid: &str) -> String {
    let digits: Vec<char> = uid.chars().filter(char::is_ascii_hexdigit).take(10).collect();
    let octets = digits.chunks(2).map(|pair| pair.iter().collect::<String>().to_ascii_lowercase());
    std::iter::once("0a".to_owned()).chain(octets).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn node(cidrs: &[&str]) -> Vec<Range> {
        let read = json!({"metadata": {"name": "n1"}, "spec": {"podCIDR": cidrs.first(), "podCIDRs": cidrs}});
        of_node(&serde_json::from_value(read).unwrap())
    }

    fn pools() -> Value {
        json!({"dhcp_allocation_pool:dhcp_allocation_pool": {"network": [
            {"network-id": "red", "allocation-pool": [{"subnet": "10.9.0.0/24", "allocate-from": "10.9.0.5", "allocate-to": "10.9.0.6"}]},
            {"network-id": "blue", "allocation-pool": [
                {"subnet": "10.1.0.0/24", "allocate-from": "10.1.0.1", "allocate-to": "10.1.0.4", "gateway": "10.1.0.1",
                 "coeus-dhcp:reservation": [{"address": "10.1.0.2"}], "coeus-dhcp:options": {"mtu": 1400}},
                {"subnet": "10.2.0.0/24", "allocate-from": "10.2.0.9", "allocate-to": "10.2.0.9"},
                {"subnet": "10.3.0.0/24", "allocate-from": "10.3.0.9", "allocate-to": "10.3.0.9", "coeus-dhcp:relay-agent": ["x"]},
                {"subnet": "fd00::/64", "allocate-from": "fd00::3", "allocate-to": "fd00::4"}, {"subnet": "fd01::/64"}]}]}})
    }

    #[test]
    fn which_address_a_pod_gets() {
        type Texts<'a> = &'a [&'a str];
        type Case<'a> = (&'a str, Vec<Range>, Texts<'a>, Texts<'a>, Result<Texts<'a>, &'a str>);
        let both: &[&str] = &["10.1.0.0/29", "fd00:1::/64"];
        let blue = of_pools(&pools(), "blue");
        let whole = json!({"network": [{"network-id": "open", "allocation-pool": [
            {"subnet": "10.4.0.0/30", "allocate-from": "10.4.0.0", "allocate-to": "10.4.0.3"},
            {"subnet": "fd04::/64", "allocate-from": "fd04::", "allocate-to": "fd04::9"}]}]});
        let cases: [Case; 13] = [
            (
                "neither the server's nor the subnet's own",
                of_pools(&whole, "open"),
                &[],
                &["10.4.0.0", "10.4.0.1", "10.4.0.3", "fd04::", "fd04::1"],
                Ok(&["10.4.0.2", "fd04::2"]),
            ),
            ("the lowest of both", node(both), &[], &[], Ok(&["10.1.0.2", "fd00:1::2"])),
            ("the lowest free", node(both), &["10.1.0.2", "10.1.0.4"], &[], Ok(&["10.1.0.3", "fd00:1::2"])),
            ("what it had", node(both), &[], &["fd00:1::9", "10.1.0.5"], Ok(&["10.1.0.5", "fd00:1::9"])),
            ("not the gateway", node(both), &[], &["10.1.0.1", "10.1.0.7"], Ok(&["10.1.0.2", "fd00:1::2"])),
            (
                "not what another has",
                node(both),
                &["10.1.0.5"],
                &["10.1.0.5"],
                Ok(&["10.1.0.2", "fd00:1::2"]),
            ),
            ("not another node's", node(both), &[], &["10.2.0.5"], Ok(&["10.1.0.2", "fd00:1::2"])),
            (
                "full",
                node(&["10.1.0.0/30"]),
                &["10.1.0.2"],
                &[],
                Err("no address is free in 10.1.0.2 to 10.1.0.2"),
            ),
            (
                "one version alone does not do",
                node(&["10.1.0.0/30", "fd00:1::/64"]),
                &["10.1.0.2"],
                &[],
                Err("no address is free in 10.1.0.2 to 10.1.0.2"),
            ),
            ("too small", node(&["10.1.0.0/31"]), &[], &[], Err("no address can be given")),
            ("a pool without gateway and reservations", blue.clone(), &[], &[], Ok(&["10.1.0.3", "fd00::3"])),
            ("the next pool", blue.clone(), &["10.1.0.3", "10.1.0.4"], &[], Ok(&["10.2.0.9", "fd00::3"])),
            (
                "full pools",
                blue,
                &["10.1.0.3", "10.1.0.4", "10.2.0.9"],
                &[],
                Err("no address is free in 10.1.0.1 to 10.1.0.4, 10.2.0.9 to 10.2.0.9"),
            ),
        ];
        for (what, ranges, taken, wished, given) in cases {
            let taken = ips(taken).into_iter().collect();
            match (choose(&ranges, &taken, &ips(wished)), given) {
                (Ok(chosen), Ok(given)) => assert_eq!(chosen, ips(given), "{what}"),
                (Err(reason), Err(given)) => assert!(reason.starts_with(given), "{what}: {reason}"),
                (chosen, given) => panic!("{what}: {chosen:?} instead of {given:?}"),
            }
        }
    }

    #[test]
    fn a_pool_may_say_the_mtu() {
        let of = |address: &str| mtu_of_pools(&pools(), "blue", address.parse().unwrap());
        assert_eq!((of("10.1.0.200"), of("10.2.0.9"), of("192.0.2.1")), (Some(1400), None, None));
    }

    #[test]
    fn a_mac_address_is_of_one_station_and_made_here() {
        assert_eq!(mac("Aabbccdd-ee00-4000-8000-000000000001"), "0a:aa:bb:cc:dd:ee");
    }

    proptest! {
        /// Nobody gets what another has, and nobody goes without while there is one.
        #[test]
        fn addresses_are_given_once(length in 24..31_u8, pods in 1..80_usize, gone in prop::collection::vec(0..80_usize, 0..40)) {
            let ranges = node(&[&format!("10.1.0.0/{length}")]);
            let room = (1_usize << (32 - length)) - 3;
            let (mut taken, mut held) = (BTreeSet::new(), Vec::new());
            for step in 0..pods {
                match choose(&ranges, &taken, &[]) {
                    Ok(chosen) => {
                        prop_assert!(taken.insert(chosen[0]));
                        held.push(chosen[0]);
                    }
                    Err(_) => prop_assert_eq!(taken.len(), room),
                }
                if gone.contains(&step) && let Some(one) = held.pop() {
                    taken.remove(&one);
                }
            }
            prop_assert!(taken.len() <= room);
        }
    }
}
