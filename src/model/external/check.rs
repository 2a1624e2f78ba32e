//! External networks and floating addresses that cannot be, found before they are committed.

mod macs;
mod networks;

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::super::apply::Model;
use super::super::rows::{Row, usable};
use super::super::services::Service;
use super::super::source_nat::SourceNat;
use super::napt::ExtRouter;
use super::{ExternalNetwork, ExternalSubnet, FloatingRouter, Mapping, PortMac};
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
    Subnet(Text),
    PortMac(Text),
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
    subnets: BTreeMap<&'a Text, Option<&'a ExternalSubnet>>,
    macs: BTreeMap<&'a Text, Option<&'a PortMac>>,
    /// Networks and their further subnets, as they will be.
    granting: BTreeMap<Text, ExternalNetwork>,
}

impl Coming<'_> {
    /// Whether a commit has nothing to do with addresses outside.
    fn is_empty(&self) -> bool {
        self.networks.is_empty()
            && self.subnets.is_empty()
            && self.routers.is_empty()
            && self.ext_routers.is_empty()
            && self.services.is_empty()
            && self.source_nat.is_none()
    }

    /// Whether a network, or a further subnet of it, will grant an address.
    fn grants(&self, network: &Text, address: IpAddr) -> bool {
        let is_of =
            |(id, row): &(&Text, &ExternalNetwork)| *id == network || row.of.as_ref() == Some(network);
        self.granting.iter().filter(is_of).any(|(_, row)| row.grants(address))
    }

    /// Whether there is such a subnet, and the address is none of those that it grants for this network.
    fn denies(&self, subnet: &Text, network: &Text, address: IpAddr) -> bool {
        let subnet = self.granting.get(subnet).filter(|row| row.of.is_some() && !row.granted.is_empty());
        subnet.is_some_and(|row| row.of.as_ref() != Some(network) || !row.grants(address))
    }
}

/// A network or a further subnet, by its id.
fn said(id: &Text, coming: &Coming<'_>) -> String {
    let is_subnet = coming.granting.get(id).is_some_and(|row| row.of.is_some());
    format!("external {} {id}", if is_subnet { "subnet" } else { "network" })
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
                Row::ExternalSubnet(id, row) => drop(coming.subnets.insert(id, row.as_ref())),
                Row::PortMac(id, row) => drop(coming.macs.insert(id, row.as_ref())),
                Row::FloatingRouter(id, row) => drop(coming.routers.insert(id, row.as_ref())),
                Row::ExtRouter(name, row) => drop(coming.ext_routers.insert(name, row.as_ref())),
                Row::SourceNat(row) => coming.source_nat = Some(row.as_ref()),
                Row::Service(uid, row) => drop(coming.services.insert(uid, row.as_ref())),
                _ => {}
            }
        }
        coming.granting = self.coming_granting(&coming);
        for (id, row) in &coming.networks {
            row.map_or(Ok(()), |row| self.check_network(id, row, &coming))?;
        }
        for (id, row) in overlaid(&self.external.subnets, &coming.subnets) {
            let comes = coming.subnets.contains_key(id)
                || row.network.as_ref().is_some_and(|network| coming.networks.contains_key(network));
            let is_old = self.external.subnets.get(id) == Some(row);
            if comes {
                self.check_subnet(id, row, is_old, &coming)?;
            }
        }
        for (id, row) in &coming.macs {
            row.map_or(Ok(()), |row| self.check_port_mac(id, row, &coming))?;
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
        if !coming.granting.contains_key(network) {
            let next = "write it to /odl-nat:external-networks first, and name it in external-network";
            return fault(false, format!("external network {network:?} does not exist; {next}"));
        }
        for (node, source) in row.all() {
            let leaf = if source.is_ipv4() { "source-address" } else { "ipv6-source-address" };
            if !coming.grants(network, source) {
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
        if !coming.granting.contains_key(network) {
            let next = "write it to /odl-nat:external-networks first";
            return fault(false, format!("external network {network} does not exist; {next}"));
        }
        for address in fresh {
            if !coming.grants(network, *address) {
                let next = "have it granted (coeus-external:granted), or choose one that is";
                return fault(
                    false,
                    format!(
                        "external-ip {address} is outside the granted ranges of network {network}; {next}"
                    ),
                );
            }
            // The id of a subnet that nobody wrote down is a name and no more.
            let mut written = row.subnets.iter().filter(|(of, _)| of == address);
            if let Some((_, subnet)) = written.find(|(_, id)| coming.denies(id, network, *address)) {
                let next = "name the subnet that grants it, or leave that subnet out of external-subnets";
                return fault(
                    false,
                    format!(
                        "external-ip {address} is none that subnet {subnet} of network {network} grants; {next}"
                    ),
                );
            }
            if let Some(owner) = self.owner_beside(*address, &FaultPlace::ExtRouter(name.clone()), coming) {
                return fault(true, format!("external-ip {address} is that of {owner}; choose another one"));
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
            let Mapping { external, port, internal, .. } = mapping;
            let is_old = before
                .is_some_and(|before| before.network == row.network && before.mappings.contains(mapping));
            if let Some(other) = row.mappings[..number].iter().find(|other| other.external == *external) {
                let of = (&other.port, other.internal);
                return fault(true, taken(*external, port, *internal, &format!("port {} ({})", of.0, of.1)));
            }
            if is_old {
                continue;
            }
            if let Some(named) = row.network.as_ref().filter(|named| !coming.granting.contains_key(*named)) {
                let next = "write it to /odl-nat:external-networks first";
                return fault(false, format!("external network {named} does not exist; {next}"));
            }
            let granting = match &row.network {
                Some(named) => coming.grants(named, *external),
                None => coming.granting.values().any(|network| network.grants(*external)),
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
            if let Some((router, other)) = self.with_same_id(mapping, coming) {
                let of = (other.external, &other.port);
                let next = "each floating address has an id of its own";
                return fault(
                    true,
                    format!(
                        "external-id of {external} for port {port} is that of {} for port {} of router {router}; {next}",
                        of.0, of.1
                    ),
                );
            }
        }
        Ok(())
    }

    /// Another address with the same `external-id`: its MAC address could be either's.
    fn with_same_id<'a>(
        &'a self,
        mapping: &Mapping,
        coming: &'a Coming<'a>,
    ) -> Option<(&'a Text, &'a Mapping)> {
        mapping.id.as_ref()?;
        let routers = overlaid(&self.external.routers, &coming.routers);
        let mut all = routers.flat_map(|(id, row)| row.mappings.iter().map(move |other| (id, other)));
        all.find(|(_, other)| other.id == mapping.id && other.external != mapping.external)
    }

    /// Two services cannot have one address that a network grants; none can have one that is on the link of a network which does not
    /// grant it. What is elsewhere, or was given by somebody else, is others' business.
    fn check_exposed(&self, uid: &Text, row: &Service, coming: &Coming<'_>) -> Result<(), FloatingFault> {
        let before = self.service(uid);
        for address in &row.outside {
            let is_old = before.is_some_and(|before| before.outside.contains(address));
            if is_old {
                continue;
            }
            let at = FaultPlace::Service(uid.clone());
            if !coming.granting.values().any(|network| network.grants(*address)) {
                let mut networks = coming.granting.iter().filter(|_| !row.reported.contains(address));
                let Some((network, _)) = networks.find(|(_, network)| network.is_on_link(*address)) else {
                    continue;
                };
                let message = format!(
                    "{}: external address {address} is outside the granted ranges of {}, on whose link it is; \
                     have it granted (coeus-external:granted), or choose one that is",
                    row.said(),
                    said(network, coming)
                );
                return Err(FloatingFault { at, in_use: false, message });
            }
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

fn taken(external: IpAddr, port: &str, internal: IpAddr, owner: &str) -> String {
    format!(
        "external-ip {external} for port {port} ({internal}) is that of {owner}; choose another one, or take it away there first"
    )
}
