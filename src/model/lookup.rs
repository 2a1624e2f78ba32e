//! What stands behind a logical port: found by the tag that a punted packet carries.

use std::net::IpAddr;

use super::read::Reader;
use crate::datastore::{Snapshot, Store};
use crate::net::{LportTag, MacAddr};
use crate::schema::{Fields, Key, Schema, SchemaId, Text, Value};

/// The schema nodes that are read.
pub struct Lookup {
    if_indexes: SchemaId,
    if_index: SchemaId,
    interface_name: SchemaId,
    objects: SchemaId,
    object: SchemaId,
    pod_uid: SchemaId,
    namespace: SchemaId,
    mac_address: SchemaId,
    elan_interfaces: SchemaId,
    elan_interface: SchemaId,
    elan_instance_name: SchemaId,
}

/// An interface, as far as its configuration matters to who answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub mac: MacAddr,
    /// Addresses that the pod's own configuration gives it.
    pub addresses: Box<[IpAddr]>,
    /// Networks whose pools are for it: its own first, then its ELAN's and its namespace's.
    pub networks: Vec<Text>,
}

impl Lookup {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> Lookup {
        let id = |path: &str| schema.resolve(path);
        Lookup {
            if_indexes: id("/odl-interface-meta:if-indexes-interface-map"),
            if_index: id("/odl-interface-meta:if-indexes-interface-map/if-index-interface"),
            interface_name: id(
                "/odl-interface-meta:if-indexes-interface-map/if-index-interface/interface-name",
            ),
            objects: id("/coeus-status:objects"),
            object: id("/coeus-status:objects/object"),
            pod_uid: id("/coeus-status:objects/object/pod-uid"),
            namespace: id("/coeus-status:objects/object/namespace"),
            mac_address: id("/coeus-status:objects/object/mac-address"),
            elan_interfaces: id("/elan:elan-interfaces"),
            elan_interface: id("/elan:elan-interfaces/elan-interface"),
            elan_instance_name: id("/elan:elan-interfaces/elan-interface/elan-instance-name"),
        }
    }

    /// The interface that holds a logical port tag.
    pub fn interface(&self, snapshot: &Snapshot, tag: LportTag) -> Option<Text> {
        let key = Key::one(Value::Int(i64::from(tag.0)));
        let entry = snapshot.entry(Store::Operational, self.if_indexes, self.if_index, key)?;
        entry.text(self.interface_name).map(Text::from)
    }

    /// Does an interface of this name exist?
    pub fn exists(&self, snapshot: &Snapshot, interface: &str) -> bool {
        self.object(snapshot, interface).is_some()
    }

    fn object(&self, snapshot: &Snapshot, interface: &str) -> Option<Fields> {
        snapshot.entry(Store::Operational, self.objects, self.object, Key::text(interface))
    }

    /// `None`: no such interface, or its MAC address is not known.
    pub fn found(&self, reader: &Reader, snapshot: &Snapshot, interface: &str) -> Option<Found> {
        let object = self.object(snapshot, interface)?;
        let mac = object.text(self.mac_address)?.parse().ok()?;
        let pod = object.text(self.pod_uid).and_then(|uid| reader.pod(snapshot, uid));
        let row = pod.as_ref().and_then(|pod| pod.interface_named(interface));
        let key = Key::text(interface);
        let elan = snapshot.entry(Store::Config, self.elan_interfaces, self.elan_interface, key);
        let elan = elan.as_ref().and_then(|entry| entry.text(self.elan_instance_name));
        let network = row.and_then(|row| row.network_id.as_deref());
        let mut networks: Vec<Text> = Vec::new();
        for name in [network, elan, object.text(self.namespace)].into_iter().flatten() {
            if !networks.iter().any(|known| **known == *name) {
                networks.push(name.into());
            }
        }
        Some(Found { mac, addresses: row.map(|row| row.addresses.clone()).unwrap_or_default(), networks })
    }
}
