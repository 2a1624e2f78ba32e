//! Which address a pod can have, and what it has to know beside it: pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use coeus_cni::Prefix;
use coeus_watch::allocate::Range;
use ipnetwork::IpNetwork;

/// The router of an IPv6 pod for which nothing else is configured (docs/guide: it is answered by the switch).
const LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);

/// An allocation pool of a network, as far as a pod is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    pub subnet: IpNetwork,
    pub gateway: Option<IpAddr>,
    pub mtu: Option<u32>,
    pub dns: Vec<String>,
    pub domain: Option<String>,
}

/// What is configured that bears on the addresses of one pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Pools of the pod's networks, best first.
    pub pools: Vec<Pool>,
    /// `pod-cidr` of the node.
    pub cidr: Option<IpNetwork>,
    /// What of them is for pods, the node's before the networks'.
    pub ranges: Vec<Range>,
    /// The largest packet of a pod whose pool says nothing of it.
    pub mtu: u32,
}

/// What goes with an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    pub address: Prefix,
    pub gateway: Option<IpAddr>,
}

impl Plan {
    /// Length and gateway of an address, by the rules by which the controller finds its gateway: the pool that holds it, the node's
    /// range, the first of a pool without a gateway, the first of its /24, and fe80::1.
    pub fn terms(&self, address: IpAddr, asked: Option<u8>) -> Terms {
        let pools = || self.pools.iter().filter(|pool| pool.subnet.contains(address));
        let cidr = self.cidr.filter(|cidr| cidr.contains(address));
        let pool = pools().find(|pool| pool.gateway.is_some());
        let said = pool.and_then(|pool| pool.gateway).or_else(|| cidr.and_then(|cidr| first(&cidr)));
        let gateway = said.or_else(|| match address {
            IpAddr::V4(v4) => {
                let of_its_24 = Ipv4Addr::from_bits((v4.to_bits() & !0xff) | 1);
                let of_pool = pools().find_map(|pool| match pool.subnet {
                    IpNetwork::V4(subnet) => Some(Ipv4Addr::from_bits(subnet.network().to_bits() | 1)),
                    IpNetwork::V6(_) => None,
                });
                Some(IpAddr::V4(of_pool.unwrap_or(of_its_24)))
            }
            IpAddr::V6(_) => Some(IpAddr::V6(LINK_LOCAL)),
        });
        let known =
            pools().next().map(|pool| pool.subnet.prefix()).or_else(|| cidr.map(|cidr| cidr.prefix()));
        let usual = if address.is_ipv4() { 24 } else { 64 };
        let length = asked.or(known).unwrap_or(usual);
        Terms { address: Prefix { address, length }, gateway: gateway.filter(|gateway| *gateway != address) }
    }

    /// The first pool that holds one of the addresses.
    pub fn pool_of(&self, addresses: &[IpAddr]) -> Option<&Pool> {
        self.pools.iter().find(|pool| addresses.iter().any(|address| pool.subnet.contains(*address)))
    }

    /// Adds what the node or a network has for pods; a network counts for a version of which nothing is there yet.
    pub fn extend(&mut self, ranges: Vec<Range>) {
        let has = |is_v4: bool| self.ranges.iter().any(|range| range.from.is_ipv4() == is_v4);
        let (v4, v6) = (has(true), has(false));
        self.ranges.extend(ranges.into_iter().filter(|range| if range.from.is_ipv4() { !v4 } else { !v6 }));
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

fn address(bits: u128, is_v4: bool) -> IpAddr {
    match u32::try_from(bits) {
        Ok(bits) if is_v4 => IpAddr::V4(bits.into()),
        _ => IpAddr::V6(bits.into()),
    }
}

fn first(network: &IpNetwork) -> Option<IpAddr> {
    let has_room = network.prefix() < if network.is_ipv4() { 31 } else { 127 };
    has_room.then(|| address(bits(network.network()) + 1, network.is_ipv4()))
}

#[cfg(test)]
mod tests {
    use coeus_watch::allocate;

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn pool(subnet: &str, gateway: Option<&str>) -> Pool {
        Pool {
            subnet: subnet.parse().unwrap(),
            gateway: gateway.map(ip),
            mtu: None,
            dns: Vec::new(),
            domain: None,
        }
    }

    #[test]
    fn an_address_has_its_length_and_its_gateway() {
        let plan = Plan {
            pools: vec![
                pool("10.1.0.0/16", Some("10.1.0.9")),
                pool("10.2.0.0/16", None),
                pool("10.8.16.0/20", None),
                pool("fd00:1::/80", None),
            ],
            cidr: "10.2.3.0/25".parse().ok(),
            ..Plan::default()
        };
        for (address, asked, wanted, gateway) in [
            ("10.1.2.3", None, "10.1.2.3/16", Some("10.1.0.9")),
            ("10.1.0.9", None, "10.1.0.9/16", None),
            ("10.2.3.4", None, "10.2.3.4/16", Some("10.2.3.1")),
            ("10.2.9.4", None, "10.2.9.4/16", Some("10.2.0.1")),
            ("10.8.17.4", None, "10.8.17.4/20", Some("10.8.16.1")),
            ("10.8.16.1", None, "10.8.16.1/20", None),
            ("10.2.3.4", Some(32), "10.2.3.4/32", Some("10.2.3.1")),
            ("10.9.9.9", None, "10.9.9.9/24", Some("10.9.9.1")),
            ("fd00:1::5", None, "fd00:1::5/80", Some("fe80::1")),
            ("fd00:2::5", None, "fd00:2::5/64", Some("fe80::1")),
        ] {
            let terms = plan.terms(ip(address), asked);
            assert_eq!(
                (terms.address.to_string().as_str(), terms.gateway),
                (wanted, gateway.map(ip)),
                "{address}"
            );
        }
    }

    #[test]
    fn a_node_s_own_range_comes_before_those_of_networks() {
        let mut plan = Plan::default();
        plan.extend(allocate::of_cidr("10.2.3.0/29").into_iter().collect());
        plan.extend(["10.1.0.0/24", "fd00::/64"].into_iter().filter_map(allocate::of_cidr).collect());
        plan.extend(allocate::of_cidr("fd01::/64").into_iter().collect());
        let first: Vec<String> = plan.ranges.iter().map(|range| range.from.to_string()).collect();
        assert_eq!(first, ["10.2.3.2", "fd00::2"]);
    }

    #[test]
    fn odd_networks_have_their_terms() {
        for cidr in ["10.0.0.0/31", "10.0.0.0/32", "fd00::1/128", "0.0.0.0/0"] {
            let plan = Plan { cidr: cidr.parse().ok(), ..Plan::default() };
            let terms = plan.terms(ip("10.0.0.0"), None);
            assert!(terms.gateway.is_some_and(|gateway| gateway != terms.address.address), "{cidr}");
        }
    }
}
