//! Floating addresses and where they are, as the operational datastore tells.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::datastore::Snapshot;
use crate::model::{ExternalNetwork, Reader};
use crate::net::{Dpid, LportTag, MacAddr, VpnId};
use crate::schema::{Fields, Schema, SchemaId, Text, Value};

/// A floating address that is somewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct At {
    /// Or the further subnet of one.
    pub network: Text,
    pub dpid: Dpid,
    /// The VPN that stands for the network.
    pub vpn: VpnId,
    /// The port to the network.
    pub lport: LportTag,
    pub vlan: Option<u16>,
    /// What its switch answers with.
    pub mac: MacAddr,
}

/// What was seen last.
pub struct World {
    addresses: SchemaId,
    address: SchemaId,
    network: SchemaId,
    subnet: SchemaId,
    mac: SchemaId,
    switch: SchemaId,
    vpn: SchemaId,
    lport: SchemaId,
    vlan: SchemaId,
    services: SchemaId,
    reader: Reader,
    seen: Option<Fields>,
    pub placed: BTreeMap<IpAddr, At>,
    /// Networks that have such addresses.
    pub networks: BTreeMap<Text, ExternalNetwork>,
    /// Whether there are services, whose endpoints may be on switches that are lost.
    pub has_services: bool,
}

impl World {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> World {
        let leaf = |name: &str| {
            schema.resolve(&format!("/coeus-external:floating-addresses/floating-address/{name}"))
        };
        World {
            addresses: schema.resolve("/coeus-external:floating-addresses"),
            address: schema.resolve("/coeus-external:floating-addresses/floating-address"),
            network: leaf("network-id"),
            subnet: leaf("subnet-id"),
            mac: leaf("mac-address"),
            switch: leaf("switch"),
            vpn: leaf("vpn-id"),
            lport: leaf("lport-tag"),
            vlan: leaf("vlan-id"),
            services: schema.resolve("/service:service-information"),
            reader: Reader::new(schema),
            seen: None,
            placed: BTreeMap::new(),
            networks: BTreeMap::new(),
            has_services: false,
        }
    }

    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Takes in how things are now. Answers the addresses that came, or are elsewhere now, or have another MAC address.
    pub fn follow(&mut self, snapshot: &Snapshot) -> Vec<IpAddr> {
        let now = snapshot.operational.derived.container(self.addresses);
        let same = match (&self.seen, now) {
            (Some(seen), Some(now)) => seen.ptr_eq(now),
            (seen, now) => seen.is_none() && now.is_none(),
        };
        let mut moved = Vec::new();
        if !same {
            self.seen = now.cloned();
            let list = now.and_then(|all| all.list(self.address));
            let placed: BTreeMap<IpAddr, At> = list
                .into_iter()
                .flatten()
                .filter_map(|(key, entry)| Some((address(key)?, self.at(entry)?)))
                .collect();
            let is_there = |address: &IpAddr, at: &At| {
                self.placed.get(address).is_some_and(|known| (known.dpid, known.mac) == (at.dpid, at.mac))
            };
            moved.extend(
                placed.iter().filter(|(address, at)| !is_there(address, at)).map(|(address, _)| *address),
            );
            self.placed = placed;
        }
        self.has_services = snapshot.config.input.container(self.services).is_some();
        // The network may be written anew while its addresses stay.
        let ids: Vec<Text> = self.placed.values().map(|at| at.network.clone()).collect();
        self.networks = ids
            .into_iter()
            .filter_map(|id| Some((id.clone(), self.reader.external_network(snapshot, &id)?)))
            .collect();
        moved
    }

    /// The network that a VPN stands for.
    pub fn network_of(&self, vpn: VpnId) -> Option<&Text> {
        self.placed.values().find(|at| at.vpn == vpn).map(|at| &at.network)
    }

    /// In whose name somebody on a network is asked for: this address, or the first of the network that is of his IP version.
    pub fn asker(&self, network: &str, target: IpAddr, by: Option<IpAddr>) -> Option<(IpAddr, &At)> {
        let of_network =
            |(address, at): &(&IpAddr, &At)| *at.network == *network && address.is_ipv4() == target.is_ipv4();
        let mut askers = self.placed.iter().filter(of_network);
        let wanted = by.and_then(|by| askers.clone().find(|(address, _)| **address == by));
        wanted.or_else(|| askers.next()).map(|(address, at)| (*address, at))
    }

    fn at(&self, entry: &Fields) -> Option<At> {
        let number =
            |leaf| entry.leaf(leaf).and_then(Value::as_uint).and_then(|number| u32::try_from(number).ok());
        Some(At {
            network: entry.shared_text(self.subnet).or_else(|| entry.shared_text(self.network))?.clone(),
            mac: entry.text(self.mac)?.parse().ok()?,
            dpid: entry.text(self.switch)?.parse().ok()?,
            vpn: VpnId(number(self.vpn)?),
            lport: LportTag(number(self.lport)?),
            vlan: number(self.vlan).and_then(|id| u16::try_from(id).ok()),
        })
    }
}

fn address(key: &crate::schema::Key) -> Option<IpAddr> {
    let [Value::Text(address)] = key.values() else { return None };
    address.parse().ok()
}
