//! External networks and their further subnets that cannot be.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use super::super::super::apply::Model;
use super::super::super::rows::{NetworkType, usable};
use super::super::rows::last_octets;
use super::super::{ExternalNetwork, ExternalSubnet};
use super::{Coming, FaultPlace, FloatingFault, overlaid, said};
use crate::schema::Text;

impl Model {
    /// Networks and their further subnets, as they will be.
    pub(super) fn coming_granting(&self, coming: &Coming<'_>) -> BTreeMap<Text, ExternalNetwork> {
        if coming.is_empty() {
            return BTreeMap::new();
        }
        let known = self.external.networks.iter().filter(|(_, row)| row.of.is_none());
        let known = known.filter(|(id, _)| !coming.networks.contains_key(id));
        let networks = known.map(|(id, row)| (id.clone(), row.clone()));
        let fresh = coming.networks.iter().filter_map(|(id, row)| Some(((*id).clone(), (*row)?.clone())));
        let networks: BTreeMap<Text, ExternalNetwork> = networks.chain(fresh).collect();
        let subnets = overlaid(&self.external.subnets, &coming.subnets);
        let subnets = subnets.filter_map(|(id, row)| {
            let network = networks.get(row.network.as_ref()?)?;
            (!networks.contains_key(id)).then(|| (id.clone(), row.on(network)))
        });
        let subnets: Vec<(Text, ExternalNetwork)> = subnets.collect();
        networks.into_iter().chain(subnets).collect()
    }

    /// A network is what others name, and no further subnet of one.
    pub(super) fn check_network(
        &self,
        id: &Text,
        row: &ExternalNetwork,
        coming: &Coming<'_>,
    ) -> Result<(), FloatingFault> {
        let at = FaultPlace::Network(id.clone());
        let fault = |in_use, what: String| {
            let message = format!("external network {id}: {what}");
            Err(FloatingFault { at: at.clone(), in_use, message })
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
        self.check_granting(&at, id, row, coming)
    }

    /// What a network, or a further subnet of one, says of its addresses.
    pub(super) fn check_granting(
        &self,
        at: &FaultPlace,
        id: &Text,
        row: &ExternalNetwork,
        coming: &Coming<'_>,
    ) -> Result<(), FloatingFault> {
        let fault = |in_use, what: String| {
            let message = format!("{}: {what}", said(id, coming));
            Err(FloatingFault { at: at.clone(), in_use, message })
        };
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
            check_granted(at, id, row, range, coming)?;
        }
        if let Some(gateway) = row.gateways().find(|gateway| row.grants(*gateway)) {
            return fault(false, format!("gateway {gateway} is in a granted range; leave it out of that"));
        }
        Ok(())
    }

    /// A further subnet of a network. One that says nothing of its addresses is stored, whatever it belongs to.
    pub(super) fn check_subnet(
        &self,
        id: &Text,
        row: &ExternalSubnet,
        is_old: bool,
        coming: &Coming<'_>,
    ) -> Result<(), FloatingFault> {
        let at = FaultPlace::Subnet(id.clone());
        let fault = |what: String| {
            let message = format!("external subnet {id}: {what}");
            Err(FloatingFault { at: at.clone(), in_use: false, message })
        };
        if row.subnet.is_none() && row.gateway.is_none() && row.granted.is_empty() {
            return Ok(());
        }
        let network = |id: &Text| coming.granting.get(id).filter(|row| row.of.is_none());
        if network(id).is_some() {
            return fault("has the id of an external network; choose another one".to_owned());
        }
        match row.network.as_ref().map(|named| (named, network(named))) {
            Some((_, Some(network))) => {
                self.check_granting(&at, id, &row.on(network), coming)?;
                let is_v4 = row.subnet.map(|subnet| subnet.is_ipv4());
                let other = |address: &IpAddr| is_v4.is_some_and(|is_v4| address.is_ipv4() != is_v4);
                let mut addresses = row.granted.iter().map(RangeInclusive::start).chain(&row.gateway);
                match addresses.find(|address| other(address)) {
                    Some(address) => fault(format!(
                        "{address} is of another IP version than its subnet; each version has a subnet of its own"
                    )),
                    None => Ok(()),
                }
            }
            // It may lose its network later; its addresses then say what they wait for.
            _ if is_old => Ok(()),
            Some((named, None)) => fault(format!(
                "external-network-id {named} is no external network; write that to /odl-nat:external-networks first"
            )),
            None => {
                fault("external-network-id is missing; name the network that it is a subnet of".to_owned())
            }
        }
    }
}

fn check_granted(
    at: &FaultPlace,
    id: &Text,
    row: &ExternalNetwork,
    range: &RangeInclusive<IpAddr>,
    coming: &Coming<'_>,
) -> Result<(), FloatingFault> {
    let (first, last) = (range.start(), range.end());
    let fault = |in_use, what: &str| {
        let message = format!("{}: granted range {first} to {last} {what}", said(id, coming));
        Err(FloatingFault { at: at.clone(), in_use, message })
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
    let others = || coming.granting.iter().filter(|(other, _)| *other != id);
    if let Some((other, _)) = others().find(|(_, other)| overlaps(other)) {
        return fault(true, &format!("overlaps one of {}", said(other, coming)));
    }
    // On one wire MAC addresses have to differ.
    let of_wire = others().filter(|(_, other)| (&other.physical, other.vlan) == (&row.physical, row.vlan));
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
                "has last four octets, which MAC addresses are made of, that {from} to {to} of {} has, too; choose others",
                said(other, coming)
            ),
        );
    }
    Ok(())
}

/// The last four octets of the addresses of a range of IPv6, of whose MAC addresses they are part (`Some(None)`: it is not of
/// IPv6). `None`: some have the same.
#[expect(clippy::option_option, reason = "a range of IPv4 is another thing than one that cannot be")]
fn last_octets_of(range: &RangeInclusive<IpAddr>) -> Option<Option<RangeInclusive<u32>>> {
    let (IpAddr::V6(first), IpAddr::V6(last)) = (*range.start(), *range.end()) else { return Some(None) };
    let is_one = first.to_bits() >> 32 == last.to_bits() >> 32;
    is_one.then(|| Some(last_octets(first)..=last_octets(last)))
}
