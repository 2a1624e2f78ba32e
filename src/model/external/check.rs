//! External networks and floating addresses that cannot be, found before they are committed.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use super::super::apply::Model;
use super::super::rows::{NetworkType, Row, usable, usable_v4};
use super::super::services::Service;
use super::super::source_nat::SourceNat;
use super::{ExternalNetwork, FloatingRouter, Mapping};
use crate::schema::Text;

/// Somebody asks for what cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloatingFault {
    pub at: FaultPlace,
    /// Somebody else has it; otherwise it is nobody's to have.
    pub in_use: bool,
    /// Names object, reason and what to do.
    pub message: String,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultPlace {
    Network(Text),
    Router(Text),
    Service(Text),
    SourceNat,
}

/// The rows of a commit, where they differ from the model.
#[derive(Default)]
struct Coming<'a> {
    networks: BTreeMap<&'a Text, Option<&'a ExternalNetwork>>,
    routers: BTreeMap<&'a Text, Option<&'a FloatingRouter>>,
    services: BTreeMap<&'a Text, Option<&'a Service>>,
    source_nat: Option<Option<&'a SourceNat>>,
}

impl Model {
    /// Looks for external networks and addresses of them that cannot be, among what changes.
    ///
    /// # Errors
    /// The first fault.
    pub fn check_external(&self, rows: &[Row]) -> Result<(), FloatingFault> {
        let mut coming = Coming::default();
        for row in rows {
            match row {
                Row::ExternalNetwork(id, row) => drop(coming.networks.insert(id, row.as_ref())),
                Row::FloatingRouter(id, row) => drop(coming.routers.insert(id, row.as_ref())),
                Row::SourceNat(row) => coming.source_nat = Some(row.as_ref()),
                Row::Service(uid, row) => drop(coming.services.insert(uid, row.as_ref())),
                _ => {}
            }
        }
        for (id, row) in &coming.networks {
            row.map_or(Ok(()), |row| self.check_network(id, row, &coming))?;
        }
        for (id, row) in &coming.routers {
            row.map_or(Ok(()), |row| self.check_router(id, row, &coming))?;
        }
        for (uid, row) in &coming.services {
            row.map_or(Ok(()), |row| self.check_exposed(uid, row, &coming))?;
        }
        coming.source_nat.flatten().map_or(Ok(()), |row| self.check_shared(row, &coming))
    }

    /// Addresses that the pods of a node share are granted, and each is one node's.
    fn check_shared(&self, row: &SourceNat, coming: &Coming<'_>) -> Result<(), FloatingFault> {
        let fault = |in_use, what: String| {
            Err(FloatingFault { at: FaultPlace::SourceNat, in_use, message: format!("source-nat: {what}") })
        };
        let v4 = row.sources.iter().map(|(node, source)| (node, IpAddr::V4(*source)));
        let v6 = row.sources_v6.iter().map(|(node, source)| (node, IpAddr::V6(*source)));
        if let Some((node, source)) = v4.chain(v6).find(|(_, source)| !usable(*source)) {
            let next = "choose a unicast address that is routed to the node";
            return fault(false, format!("nobody can come from {source} of node {node}; {next}"));
        }
        let Some(network) = &row.network else { return Ok(()) };
        if let Some((node, source)) = row.sources_v6.first_key_value() {
            let next = "leave it out, or use mode node";
            return fault(
                false,
                format!(
                    "ipv6-source-address {source} of node {node}: external networks are IPv4 only; {next}"
                ),
            );
        }
        let Some((_, granting)) = self.coming_networks(coming).find(|(id, _)| *id == network) else {
            let next = "write it to /odl-nat:external-networks first, and name it in external-network";
            return fault(false, format!("external network {network:?} does not exist; {next}"));
        };
        for (node, source) in &row.sources {
            if !granting.grants(*source) {
                let next = "have it granted (coeus-external:granted), or choose one that is";
                return fault(
                    false,
                    format!(
                        "source-address {source} of node {node} is outside the granted ranges of network {network}; {next}"
                    ),
                );
            }
            let other = row.sources.iter().find(|(other, address)| *address == source && *other != node);
            let other = other.map(|(other, _)| format!("node {other}"));
            let beside = || self.owner_beside(*source, &FaultPlace::SourceNat, coming);
            if let Some(owner) = other.or_else(beside) {
                let next = "choose another one";
                return fault(
                    true,
                    format!("source-address {source} of node {node} is that of {owner}; {next}"),
                );
            }
        }
        Ok(())
    }

    /// Networks as they will be.
    fn coming_networks<'a>(
        &'a self,
        coming: &'a Coming<'a>,
    ) -> impl Iterator<Item = (&'a Text, &'a ExternalNetwork)> {
        let known = self.external.networks.iter().filter(|(id, _)| !coming.networks.contains_key(id));
        known.chain(coming.networks.iter().filter_map(|(id, row)| Some((*id, (*row)?))))
    }

    fn check_network(
        &self,
        id: &Text,
        row: &ExternalNetwork,
        coming: &Coming<'_>,
    ) -> Result<(), FloatingFault> {
        let fault = |in_use, what: String| {
            let message = format!("external network {id}: {what}");
            Err(FloatingFault { at: FaultPlace::Network(id.clone()), in_use, message })
        };
        match (row.kind, row.vlan) {
            (Some(kind @ (NetworkType::Vxlan | NetworkType::Gre)), _) => {
                return fault(
                    false,
                    format!("provider-network-type {kind} leads nowhere outside; it is FLAT or VLAN"),
                );
            }
            (Some(NetworkType::Vlan), None) => {
                let next = "give coeus-external:segmentation-id";
                return fault(false, format!("provider-network-type VLAN needs a VLAN id; {next}"));
            }
            (Some(NetworkType::Flat), Some(vlan)) => {
                let next = "leave coeus-external:segmentation-id out, or make it VLAN";
                return fault(
                    false,
                    format!("provider-network-type FLAT has no VLAN id, and {vlan} is given; {next}"),
                );
            }
            _ => {}
        }
        if let (Some(gateway), Some(subnet)) = (row.gateway, row.subnet)
            && !subnet.contains(gateway)
        {
            return fault(
                false,
                format!("gateway {gateway} is outside subnet {subnet}; it could not be asked for"),
            );
        }
        if let Some(gateway) = row.gateway.filter(|gateway| row.grants(*gateway)) {
            return fault(false, format!("gateway {gateway} is in a granted range; leave it out of that"));
        }
        for range in &row.granted {
            let (first, last) = (range.start(), range.end());
            if first > last {
                return fault(false, format!("granted range {first} to {last} ends before it starts"));
            }
            if !usable_v4(*first) || !usable_v4(*last) {
                return fault(
                    false,
                    format!("granted range {first} to {last} holds addresses that nobody may have"),
                );
            }
            let overlaps = |other: &ExternalNetwork| {
                other.granted.iter().any(|other| other.start() <= last && first <= other.end())
            };
            let mut others = self.coming_networks(coming).filter(|(other, _)| *other != id);
            if let Some((other, _)) = others.find(|(_, other)| overlaps(other)) {
                return fault(
                    true,
                    format!("granted range {first} to {last} overlaps one of external network {other}"),
                );
            }
        }
        Ok(())
    }

    fn check_router(
        &self,
        id: &Text,
        row: &FloatingRouter,
        coming: &Coming<'_>,
    ) -> Result<(), FloatingFault> {
        let fault = |in_use, what: String| {
            let message = format!("floating-ip-info of router {id}: {what}");
            Err(FloatingFault { at: FaultPlace::Router(id.clone()), in_use, message })
        };
        if let Some(what) = row.faults.first() {
            return fault(false, what.to_string());
        }
        let before = self.external.routers.get(id);
        for (number, mapping) in row.mappings.iter().enumerate() {
            let Mapping { external, port, internal } = mapping;
            let is_old = before
                .is_some_and(|before| before.network == row.network && before.mappings.contains(mapping));
            if let Some(other) = row.mappings[..number].iter().find(|other| other.external == *external) {
                let of = (&other.port, other.internal);
                return fault(true, taken(*external, port, *internal, &format!("port {} ({})", of.0, of.1)));
            }
            if is_old {
                continue;
            }
            let mut networks = self.coming_networks(coming);
            let granting = match &row.network {
                Some(named) => match networks.find(|(id, _)| *id == named) {
                    None => {
                        let next = "write it to /odl-nat:external-networks first";
                        return fault(false, format!("external network {named} does not exist; {next}"));
                    }
                    Some((_, network)) => network.grants(*external),
                },
                None => networks.any(|(_, network)| network.grants(*external)),
            };
            if !granting {
                let by = row.network.as_ref().map_or("any network".to_owned(), |id| format!("network {id}"));
                return fault(
                    false,
                    format!(
                        "external-ip {external} of port {port} is outside the granted ranges of {by}; \
                         have it granted (coeus-external:granted), or choose one that is"
                    ),
                );
            }
            if let Some(owner) = self.owner_beside(*external, &FaultPlace::Router(id.clone()), coming) {
                return fault(true, taken(*external, port, *internal, &owner));
            }
        }
        Ok(())
    }

    /// Two services cannot have one address that a network grants.
    fn check_exposed(&self, uid: &Text, row: &Service, coming: &Coming<'_>) -> Result<(), FloatingFault> {
        let before = self.service(uid);
        for address in &row.outside {
            let is_old = before.is_some_and(|before| before.outside.contains(address));
            let is_granted = self.coming_networks(coming).any(|(_, network)| network.grants(*address));
            if is_old || !is_granted {
                continue;
            }
            let at = FaultPlace::Service(uid.clone());
            if let Some(owner) = self.owner_beside(*address, &at, coming) {
                let message = format!(
                    "{}: external address {address} is that of {owner}; choose another one",
                    row.said()
                );
                return Err(FloatingFault { at, in_use: true, message });
            }
        }
        Ok(())
    }

    /// Who else will have an address outside, in words.
    fn owner_beside(&self, address: Ipv4Addr, this: &FaultPlace, coming: &Coming<'_>) -> Option<String> {
        let known = self.external.routers.iter().filter(|(id, _)| !coming.routers.contains_key(id));
        let routers = known.chain(coming.routers.iter().filter_map(|(id, row)| Some((*id, (*row)?))));
        let mut routers = routers.filter(|(id, _)| FaultPlace::Router((*id).clone()) != *this);
        let of_router = routers.find_map(|(id, row)| {
            let mapping = row.mappings.iter().find(|mapping| mapping.external == address)?;
            Some(format!("port {} ({}) of router {id}", mapping.port, mapping.internal))
        });
        let known = self.exposed().filter(|service| !coming.services.contains_key(&service.uid));
        let services = known.chain(coming.services.values().copied().flatten());
        let mut services = services.filter(|service| FaultPlace::Service(service.uid.clone()) != *this);
        let service = || services.find(|service| service.outside.contains(&address)).map(Service::said);
        let known = self.source_nat.as_ref();
        let nat = coming.source_nat.unwrap_or(known).filter(|nat| nat.network.is_some());
        let shared = || {
            let mut nodes = nat.filter(|_| *this != FaultPlace::SourceNat)?.sources.iter();
            let (node, _) = nodes.find(|(_, source)| **source == address)?;
            Some(format!("the pods of node {node} (source-nat)"))
        };
        of_router.or_else(service).or_else(shared)
    }
}

fn taken(external: Ipv4Addr, port: &str, internal: Ipv4Addr, owner: &str) -> String {
    format!(
        "external-ip {external} for port {port} ({internal}) is that of {owner}; choose another one, or take it away there first"
    )
}
