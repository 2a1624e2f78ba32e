//! `odl-nat:external-subnets`: further subnets of external networks.
//!
//! Each is a network of its own that has its wire from the one that it belongs to: with a VPN, neighbours and a gateway of
//! its own. Whoever names the network means its subnets, too.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use ipnetwork::IpNetwork;

use super::super::apply::{Model, Work, replace};
use super::super::ids::Allocator;
use super::{ExternalNetwork, FloatingReason};
use crate::schema::Text;

/// `/odl-nat:external-subnets/subnets`, with what `coeus-external` adds to it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ExternalSubnet {
    /// `external-network-id`.
    pub network: Option<Text>,
    pub subnet: Option<IpNetwork>,
    pub gateway: Option<IpAddr>,
    pub granted: Vec<RangeInclusive<IpAddr>>,
}

impl ExternalSubnet {
    /// As a network on the wire of the one that it belongs to.
    pub fn on(&self, network: &ExternalNetwork) -> ExternalNetwork {
        let mut row = ExternalNetwork {
            kind: network.kind,
            physical: network.physical.clone(),
            vlan: network.vlan,
            granted: self.granted.clone(),
            of: self.network.clone(),
            ..ExternalNetwork::default()
        };
        match self.subnet {
            Some(IpNetwork::V4(subnet)) => row.subnet = Some(subnet),
            Some(IpNetwork::V6(subnet)) => row.subnet_v6 = Some(subnet),
            None => {}
        }
        match self.gateway {
            Some(IpAddr::V4(gateway)) => row.gateway = Some(gateway),
            Some(IpAddr::V6(gateway)) => row.gateway_v6 = Some(gateway),
            None => {}
        }
        row
    }
}

impl Model {
    pub(in super::super) fn put_external_subnet(
        &mut self,
        id: &Text,
        row: Option<ExternalSubnet>,
        allocator: &mut dyn Allocator,
        work: &mut Work,
    ) {
        replace(&mut self.external.subnets, id, row);
        self.settle_subnet(id, allocator, work);
    }

    /// The subnets of a network that looks different.
    pub(super) fn put_subnets_of(&mut self, network: &Text, allocator: &mut dyn Allocator, work: &mut Work) {
        let of_network = |row: &ExternalSubnet| row.network.as_ref() == Some(network);
        let subnets = self.external.subnets.iter().filter(|(_, row)| of_network(row));
        let ids: Vec<Text> = subnets.map(|(id, _)| id.clone()).collect();
        ids.iter().for_each(|id| self.settle_subnet(id, allocator, work));
    }

    /// A subnet is there while its network is. One with the name of a network is none.
    pub(super) fn settle_subnet(&mut self, id: &Text, allocator: &mut dyn Allocator, work: &mut Work) {
        if self.external.networks.get(id).is_some_and(|known| known.of.is_none()) {
            return;
        }
        let row = self.external.subnets.get(id).and_then(|row| {
            let network = self.external.networks.get(row.network.as_ref()?)?;
            network.of.is_none().then(|| row.on(network))
        });
        self.put_granting(id, row, allocator, work);
    }

    /// What grants an address, of a network and its further subnets.
    ///
    /// # Errors
    /// The network is not there, or neither it nor a subnet of it grants the address.
    pub(super) fn granting_of<'a>(
        &'a self,
        network: &'a Text,
        address: IpAddr,
    ) -> Result<(&'a Text, &'a ExternalNetwork), FloatingReason> {
        let networks = &self.external.networks;
        let own = networks.get(network).ok_or_else(|| FloatingReason::NoNetwork(network.clone()))?;
        if own.grants(address) {
            return Ok((network, own));
        }
        let mut subnets = networks.iter().filter(|(_, row)| row.of.as_ref() == Some(network));
        let found = subnets.find(|(_, row)| row.grants(address));
        found.ok_or_else(|| FloatingReason::UngrantedBy(network.clone()))
    }

    /// The network that this is, or is a subnet of.
    pub fn network_behind<'a>(&'a self, id: &'a Text) -> &'a Text {
        self.external.networks.get(id).and_then(|row| row.of.as_ref()).unwrap_or(id)
    }
}
