//! Where services get addresses from that have none: `/coeus-service:service-pool`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnetwork::{IpNetwork, Ipv4Network, Ipv6Network};

use super::super::apply::{Model, Work};
use super::{Service, ServiceNames};
use crate::schema::{Fields, Text};

/// The prefixes; at least one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServicePool {
    pub v4: Option<Ipv4Network>,
    pub v6: Option<Ipv6Network>,
}

impl ServiceNames {
    /// What is configured; `None`: nobody gets an address.
    pub fn pool(&self, fields: &Fields) -> Option<ServicePool> {
        let pool = ServicePool {
            v4: fields.text(self.ipv4_prefix).and_then(|text| text.parse().ok()),
            v6: fields.text(self.ipv6_prefix).and_then(|text| text.parse().ok()),
        };
        (pool.v4.is_some() || pool.v6.is_some()).then_some(pool)
    }
}

impl ServicePool {
    /// The addresses that go with a number: that many behind the first of each prefix, if it is so long.
    pub fn addresses(self, number: u32) -> impl Iterator<Item = IpAddr> {
        let v4 = self.v4.and_then(|prefix| {
            let address = u32::from(prefix.network()).checked_add(number)?;
            Some(IpAddr::V4(Ipv4Addr::from(address))).filter(|_| address < u32::from(prefix.broadcast()))
        });
        let v6 = self.v6.and_then(|prefix| {
            let address = u128::from(prefix.network()).checked_add(number.into())?;
            let address = Ipv6Addr::from(address);
            prefix.contains(address).then_some(IpAddr::V6(address))
        });
        v4.into_iter().chain(v6)
    }

    pub fn contains(self, address: IpAddr) -> bool {
        let mut prefixes = self.v4.map(IpNetwork::V4).into_iter().chain(self.v6.map(IpNetwork::V6));
        prefixes.any(|prefix| prefix.contains(address))
    }
}

impl Service {
    /// Whether it gets an address from the pool, if there is one.
    pub fn wants_address(&self) -> bool {
        !self.headless && self.addresses.is_empty()
    }
}

impl Model {
    pub(in super::super) fn put_service_pool(&mut self, row: Option<ServicePool>, work: &mut Work) {
        let services = &mut self.services;
        if services.pool != row {
            services.pool = row;
            let wanting = services.rows.values().filter(|service| service.wants_address());
            work.dirty_cluster_services.extend(wanting.map(|service| service.uid.clone()));
        }
    }

    /// Addresses that a service has from the pool.
    pub(super) fn pooled(&self, uid: &str) -> impl Iterator<Item = IpAddr> {
        let services = &self.services;
        let number = services.pool.zip(services.pooled.get(uid).copied());
        number.into_iter().flat_map(|(pool, number)| pool.addresses(number))
    }

    /// The service that has an address from the pool.
    pub(super) fn pooled_owner(&self, address: IpAddr) -> Option<&Service> {
        let holds = |uid: &&Text| self.pooled(uid).any(|own| own == address);
        let uid = self.services.pooled.keys().find(holds)?;
        self.services.rows.get(uid)
    }

    /// Whether a service needs its number in the pool of addresses.
    pub(in super::super) fn needs_service_address(&self, uid: &Text) -> bool {
        let wants = self.services.rows.get(uid).is_some_and(Service::wants_address);
        wants && self.services.pool.is_some()
    }

    /// The number of each service that has an address from the pool.
    pub fn pooled_services(&self) -> impl Iterator<Item = (&Text, u32)> {
        self.services.pooled.iter().map(|(uid, number)| (uid, *number))
    }
}
