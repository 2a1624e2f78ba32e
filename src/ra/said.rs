//! What a router says of a link beside itself, as the pools of its networks have it.

use ipnetwork::{IpNetwork, Ipv6Network};

use crate::model::Network;

/// No link of IPv6 carries less (RFC 8200 section 5), and no host heeds less.
const LEAST_MTU: u16 = 1280;
/// Prefixes of one advertisement: so it fits into every link's packets.
const MOST_PREFIXES: usize = 16;

/// Flags and options of an advertisement (RFC 4861 section 4.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    /// The M flag: addresses come by DHCPv6.
    pub managed: bool,
    /// The O flag: other things to know come by DHCPv6.
    pub other: bool,
    pub mtu: u16,
    /// What is on the link.
    pub prefixes: Vec<Ipv6Network>,
}

impl Said {
    /// A pool that gives addresses sets M, and any pool O, since all of them are asked by the same protocol. Tunnels leave
    /// `pod_mtu` octets.
    pub fn of<'a>(networks: impl IntoIterator<Item = &'a Network>, pod_mtu: u16) -> Said {
        let mut said = Said { managed: false, other: false, mtu: pod_mtu, prefixes: Vec::new() };
        let mut mtu: Option<u16> = None;
        // What is behind a relay agent is another link.
        let pools = networks.into_iter().flat_map(|network| &network.pools);
        for pool in pools.filter(|pool| pool.relays.is_empty()) {
            let IpNetwork::V6(subnet) = pool.subnet else { continue };
            said.managed |= pool.is_stateful();
            said.other = true;
            mtu = Some(mtu.unwrap_or(u16::MAX).min(pool.mtu(pod_mtu)));
            if said.prefixes.len() < MOST_PREFIXES && !said.prefixes.contains(&subnet) {
                said.prefixes.push(subnet);
            }
        }
        said.mtu = mtu.unwrap_or(pod_mtu).max(LEAST_MTU);
        said
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::AllocationPool;

    fn network(pools: Vec<AllocationPool>) -> Network {
        Network { id: "blue".into(), pools: pools.into_iter().map(Arc::new).collect() }
    }

    #[test]
    fn a_pool_with_addresses_manages_them_and_one_without_tells_the_rest() {
        let plain = |subnet, from, to| AllocationPool::plain("blue", subnet, from, to, "");
        let flags = |pools| {
            let said = Said::of(&[network(pools)], 1450);
            (said.managed, said.other, said.prefixes.len())
        };
        let stateful = || plain("fd00:1::/64", "fd00:1::10", "fd00:1::20");
        let stateless = || plain("fd00:2::/64", "", "");
        assert_eq!(flags(vec![]), (false, false, 0));
        assert_eq!(flags(vec![plain("10.0.0.0/24", "10.0.0.3", "10.0.0.9")]), (false, false, 0), "IPv4");
        assert_eq!(flags(vec![stateless()]), (false, true, 1));
        assert_eq!(flags(vec![stateful(), stateless(), stateful()]), (true, true, 2));
        let relayed = AllocationPool { relays: vec!["blue:r".into()], ..stateful() };
        assert_eq!(flags(vec![relayed]), (false, false, 0));
    }

    #[test]
    fn the_mtu_is_that_of_option_26_and_never_below_what_ipv6_needs() {
        let said = |mtu| {
            let mut pool = AllocationPool::plain("blue", "fd00:1::/64", "", "", "");
            pool.options.mtu = mtu;
            assert_eq!(pool.mtu(8950), mtu.unwrap_or(8950));
            Said::of(&[network(vec![pool])], 8950).mtu
        };
        assert_eq!((said(None), said(Some(1400)), said(Some(600))), (8950, 1400, 1280));
        assert_eq!(Said::of(&[network(vec![])], 8950).mtu, 8950, "no pool");
    }
}
