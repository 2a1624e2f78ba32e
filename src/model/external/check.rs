//! External networks and floating addresses that cannot be, found before they are committed.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::super::apply::Model;
use super::super::rows::{NetworkType, Row, usable};
use super::super::services::Service;
use super::super::source_nat::SourceNat;
use super::napt::ExtRouter;
use super::rows::last_octets;
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
    ExtRouter(Text),
}

/// The rows of a commit, where they differ from the model.
#[derive(Default)]
struct Coming<'a> {
    networks: BTreeMap<&'a Text, Option<&'a ExternalNetwork>>,
    routers: BTreeMap<&'a Text, Option<&'a FloatingRouter>>,
    ext_routers: BTreeMap<&'a Text, Option<&'a ExtRouter>>,
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
                Row::ExtRouter(name, row) => drop(coming.ext_routers.insert(name, row.as_ref())),
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
        for (name, row) in &coming.ext_routers {
            row.map_or(Ok(()), |row| self.check_ext_router(name, row, &coming))?;
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
        if let Some((node, source)) = row.all().find(|(_, source)| !usable(*source)) {
            let next = "choose a unicast address that is routed to the node";
            return fault(false, format!("nobody can come from {source} of node {node}; {next}"));
        }
        let Some(network) = &row.network else { return Ok(()) };
        let Some((_, granting)) = self.coming_networks(coming).find(|(id, _)| *id == network) else {
            let next = "write it to /odl-nat:external-networks first, and name it in external-network";
            return fault(false, format!("external network {network:?} does not exist; {next}"));
        };
        for (node, source) in row.all() {
            let leaf = if source.is_ipv4() { "source-address" } else { "ipv6-source-address" };
            if !granting.grants(source) {
                let next = "have it granted (coeus-external:granted), or choose one that is";
                return fault(
                    false,
                    format!(
                        "{leaf} {source} of node {node} is outside the granted ranges of network {network}; {next}"
                    ),
                );
            }
            let other = row.all().find(|(other, address)| *address == source && *other != node);
            let other = other.map(|(other, _)| format!("node {other}"));
            let beside = || self.owner_beside(source, &FaultPlace::SourceNat, coming);
            if let Some(owner) = other.or_else(beside) {
                let next = "choose another one";
                return fault(true, format!("{leaf} {source} of node {node} is that of {owner}; {next}"));
            }
        }
        Ok(())
    }

    /// Addresses that the pods of a VPN share are granted, and nobody else's.
    fn check_ext_router(
        &self,
        name: &Text,
        row: &ExtRouter,
        coming: &Coming<'_>,
    ) -> Result<(), FloatingFault> {
        let fault = |in_use, what: String| {
            let message = format!("ext-routers: router {name}: {what}");
            Err(FloatingFault { at: FaultPlace::ExtRouter(name.clone()), in_use, message })
        };
        if let Some(text) = row.faults.first() {
            return fault(false, format!("external-ips: {text:?} is no address"));
        }
        let before = self.external.ext_routers.get(name);
        let is_old = |address: &&IpAddr| {
            before.is_some_and(|before| before.network == row.network && before.addresses.contains(*address))
        };
        let mut fresh = row.addresses.iter().filter(|address| !is_old(address)).peekable();
        if fresh.peek().is_none() {
            return Ok(());
        }
        let Some(network) = &row.network else {
            return fault(
                false,
                "network-id is missing; name the network that external-ips are of".to_owned(),
            );
        };
        let Some((_, granting)) = self.coming_networks(coming).find(|(id, _)| *id == network) else {
            let next = "write it to /odl-nat:external-networks first";
            return fault(false, format!("external network {network} does not exist; {next}"));
        };
        for address in fresh {
            if !granting.grants(*address) {
                let next = "have it granted (coeus-external:granted), or choose one that is";
                return fault(
                    false,
                    format!(
                        "external-ip {address} is outside the granted ranges of network {network}; {next}"
                    ),
                );
            }
            if let Some(owner) = self.owner_beside(*address, &FaultPlace::ExtRouter(name.clone()), coming) {
                return fault(true, format!("external-ip {address} is that of {owner}; choose another one"));
            }
        }
        Ok(())
    }

    /// Networks as they will be.
    fn coming_networks<'a>(
        &'a self,
        coming: &'a Coming<'a>,
    ) -> impl Iterator<Item = (&'a Text, &'a ExternalNetwork)> {
        overlaid(&self.external.networks, &coming.networks)
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
        if let (Some(gateway), Some(subnet)) = (row.gateway_v6, row.subnet_v6)
            && !subnet.contains(gateway)
            && !gateway.is_unicast_link_local()
        {
            return fault(
                false,
                format!(
                    "ipv6-gateway {gateway} is outside ipv6-subnet {subnet}, and is not link-local; it could not be asked for"
                ),
            );
        }
        for range in &row.granted {
            self.check_granted(id, row, range, coming)?;
        }
        if let Some(gateway) = row.gateways().find(|gateway| row.grants(*gateway)) {
            return fault(false, format!("gateway {gateway} is in a granted range; leave it out of that"));
        }
        Ok(())
    }

    fn check_granted(
        &self,
        id: &Text,
        row: &ExternalNetwork,
        range: &RangeInclusive<IpAddr>,
        coming: &Coming<'_>,
    ) -> Result<(), FloatingFault> {
        let (first, last) = (range.start(), range.end());
        let fault = |in_use, what: &str| {
            let message = format!("external network {id}: granted range {first} to {last} {what}");
            Err(FloatingFault { at: FaultPlace::Network(id.clone()), in_use, message })
        };
        if first.is_ipv4() != last.is_ipv4() {
            return fault(false, "begins with one IP version and ends with the other");
        }
        if first > last {
            return fault(false, "ends before it starts");
        }
        if !usable(*first) || !usable(*last) {
            return fault(false, "holds addresses that nobody may have");
        }
        let Some(span) = last_octets_of(range) else {
            let next = "make it one of a /96 at most";
            return fault(
                false,
                &format!(
                    "holds addresses with the same last four octets, which MAC addresses are made of; {next}"
                ),
            );
        };
        let overlaps = |other: &ExternalNetwork| {
            other.granted.iter().any(|other| other.start() <= last && first <= other.end())
        };
        let others = || self.coming_networks(coming).filter(|(other, _)| *other != id);
        if let Some((other, _)) = others().find(|(_, other)| overlaps(other)) {
            return fault(true, &format!("overlaps one of external network {other}"));
        }
        // On one wire MAC addresses have to differ.
        let of_wire =
            others().filter(|(_, other)| (&other.physical, other.vlan) == (&row.physical, row.vlan));
        let of_wire = of_wire.flat_map(|(other, row)| row.granted.iter().map(move |range| (other, range)));
        let own = row.granted.iter().filter(|other| *other != range).map(|range| (id, range));
        let same = |other: &RangeInclusive<IpAddr>| {
            let both = span.as_ref().zip(last_octets_of(other).flatten());
            both.is_some_and(|(span, other)| span.start() <= other.end() && other.start() <= span.end())
        };
        if let Some((other, range)) = own.chain(of_wire).find(|(_, other)| same(other)) {
            let (from, to) = (range.start(), range.end());
            return fault(
                false,
                &format!(
                    "has last four octets, which MAC addresses are made of, that {from} to {to} of external network {other} has, too; choose others"
                ),
            );
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
    fn owner_beside(&self, address: IpAddr, this: &FaultPlace, coming: &Coming<'_>) -> Option<String> {
        let routers = overlaid(&self.external.routers, &coming.routers);
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
            let nat = nat.filter(|_| *this != FaultPlace::SourceNat)?;
            let (node, _) = nat.all().find(|(_, source)| *source == address)?;
            Some(format!("the pods of node {node} (source-nat)"))
        };
        let ext_routers = overlaid(&self.external.ext_routers, &coming.ext_routers);
        let mut ext_routers = ext_routers.filter(|(name, _)| FaultPlace::ExtRouter((*name).clone()) != *this);
        let napt = || {
            let (name, _) = ext_routers.find(|(_, row)| row.addresses.contains(&address))?;
            Some(format!("the pods of router {name} (ext-routers)"))
        };
        of_router.or_else(service).or_else(shared).or_else(napt)
    }
}

/// Rows as they will be: those that are known, but for those that come.
fn overlaid<'a, R>(
    known: &'a BTreeMap<Text, R>,
    coming: &'a BTreeMap<&'a Text, Option<&'a R>>,
) -> impl Iterator<Item = (&'a Text, &'a R)> {
    let known = known.iter().filter(|(id, _)| !coming.contains_key(id));
    known.chain(coming.iter().filter_map(|(id, row)| Some((*id, (*row)?))))
}

/// The last four octets of the addresses of a range of IPv6, of whose MAC addresses they are part (`Some(None)`: it is not of
/// IPv6). `None`: some have the same.
#[expect(clippy::option_option, reason = "a range of IPv4 is another thing than one that cannot be")]
fn last_octets_of(range: &RangeInclusive<IpAddr>) -> Option<Option<RangeInclusive<u32>>> {
    let (IpAddr::V6(first), IpAddr::V6(last)) = (*range.start(), *range.end()) else { return Some(None) };
    let is_one = first.to_bits() >> 32 == last.to_bits() >> 32;
    is_one.then(|| Some(last_octets(first)..=last_octets(last)))
}

fn taken(external: IpAddr, port: &str, internal: IpAddr, owner: &str) -> String {
    format!(
        "external-ip {external} for port {port} ({internal}) is that of {owner}; choose another one, or take it away there first"
    )
}
