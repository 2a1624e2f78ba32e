//! Allocation pools: the rows, how they are read, and what is wrong with them.

mod check;
mod read;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;

use ipnetwork::IpNetwork;

use crate::net::MacAddr;
use crate::schema::Text;

pub use check::PoolFault;
pub(super) use check::check;
pub(super) use read::{PoolNames, network};

/// `/dhcp_allocation_pool:dhcp_allocation_pool/network[network-id]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    pub id: Text,
    /// Sorted by subnet.
    pub pools: Vec<Arc<AllocationPool>>,
}

/// `network[network-id]/allocation-pool[subnet]`. Addresses of the other family than the subnet's are faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationPool {
    /// The network it is of.
    pub network: Text,
    /// The key as it is written.
    pub key: Text,
    pub subnet: IpNetwork,
    pub from: Option<IpAddr>,
    pub to: Option<IpAddr>,
    pub gateway: Option<IpAddr>,
    pub dns: Vec<IpAddr>,
    pub times: Times,
    /// Percent of the range that is low when no more is free.
    pub low_water: u8,
    /// Names of the interfaces whose pods may relay.
    pub relays: Vec<Text>,
    pub options: PoolOptions,
    /// By address.
    pub reservations: Vec<Reservation>,
}

/// Seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub lease: u32,
    pub max: Option<u32>,
    pub renewal: Option<u32>,
    pub rebinding: Option<u32>,
    pub quarantine: u32,
}

/// `allocation-pool/coeus-dhcp:options`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolOptions {
    pub routers: Vec<IpAddr>,
    pub domain: Option<Text>,
    pub search: Vec<Text>,
    pub mtu: Option<u16>,
    pub ntp: Vec<IpAddr>,
    /// Destination and next hop.
    pub routes: Vec<(IpNetwork, IpAddr)>,
    pub next_server: Option<std::net::Ipv4Addr>,
    pub server_name: Option<Text>,
    pub boot_file: Option<Text>,
}

/// `allocation-pool/coeus-dhcp:reservation[address]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    pub address: IpAddr,
    pub client: ReservedFor,
}

/// Whom an address is kept for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum ReservedFor {
    #[error("interface {0}")]
    Interface(Text),
    #[error("mac-address {0}")]
    Mac(MacAddr),
    /// Option 61 in hexadecimal.
    #[error("client-id {0}")]
    ClientId(Text),
    /// The choice is mandatory, so this was not written by anybody.
    #[error("nobody")]
    Nobody,
}

/// An address as a number; those of both families are apart (RFC 4291 section 2.5.5.2).
pub fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().into(),
        IpAddr::V6(address) => address.into(),
    }
}

impl Network {
    /// Does it have pools of IPv4?
    pub fn serves_v4(&self) -> bool {
        self.pools.iter().any(|pool| pool.subnet.is_ipv4())
    }

    /// Does it have pools of IPv6?
    pub fn serves_v6(&self) -> bool {
        self.pools.iter().any(|pool| pool.subnet.is_ipv6())
    }

    /// May the pod behind this interface relay to it?
    pub fn is_relay(&self, interface: &str) -> bool {
        self.pools.iter().any(|pool| pool.is_relay(interface))
    }
}

impl AllocationPool {
    /// A pool of which no more is said.
    #[cfg(test)]
    pub fn plain(network: &str, subnet: &str, from: &str, to: &str, gateway: &str) -> AllocationPool {
        let address = |text: &str| (!text.is_empty()).then(|| text.parse().expect("an address"));
        AllocationPool {
            network: network.into(),
            key: subnet.into(),
            subnet: subnet.parse().expect("a subnet"),
            from: address(from),
            to: address(to),
            gateway: address(gateway),
            dns: Vec::new(),
            times: Times { lease: 86_400, max: None, renewal: None, rebinding: None, quarantine: 600 },
            low_water: 10,
            relays: Vec::new(),
            options: PoolOptions::default(),
            reservations: Vec::new(),
        }
    }

    /// Does it give out addresses, or does it only tell what else there is to know?
    pub fn is_stateful(&self) -> bool {
        self.range().is_some() || !self.reservations.is_empty()
    }

    /// Octets of the largest packet of its pods, as they are told by option 26 and by routers, where tunnels leave `pod_mtu`.
    pub fn mtu(&self, pod_mtu: u16) -> u16 {
        self.options.mtu.unwrap_or(pod_mtu)
    }

    /// First and last address of the range.
    pub fn range(&self) -> Option<(IpAddr, IpAddr)> {
        self.from.zip(self.to)
    }

    /// The server's identity: the gateway, which is always on the link; without one the subnet's first address.
    pub fn server(&self) -> IpAddr {
        self.gateway.unwrap_or_else(|| match self.subnet {
            IpNetwork::V4(subnet) => std::net::Ipv4Addr::from(u32::from(subnet.network()) | 1).into(),
            IpNetwork::V6(subnet) => std::net::Ipv6Addr::from(u128::from(subnet.network()) | 1).into(),
        })
    }

    /// Is it the subnet's own: its network or broadcast address, or in IPv6 the routers' anycast address?
    pub fn is_subnets_own(&self, address: IpAddr) -> bool {
        match (self.subnet, address) {
            (IpNetwork::V4(subnet), IpAddr::V4(address)) => {
                subnet.prefix() < 31 && (address == subnet.network() || address == subnet.broadcast())
            }
            (IpNetwork::V6(subnet), IpAddr::V6(address)) => {
                subnet.prefix() < 127 && address == subnet.network()
            }
            _ => false,
        }
    }

    /// Is it in the range?
    pub fn holds(&self, address: IpAddr) -> bool {
        self.range().is_some_and(|(from, to)| (number(from)..=number(to)).contains(&number(address)))
    }

    /// Whom an address is kept for.
    pub fn reserved(&self, address: IpAddr) -> Option<&ReservedFor> {
        let at = self.reservations.binary_search_by_key(&address, |kept| kept.address).ok()?;
        Some(&self.reservations[at].client)
    }

    /// May the pod behind this interface relay to it?
    pub fn is_relay(&self, interface: &str) -> bool {
        self.relays.iter().any(|relay| **relay == *interface)
    }
}
