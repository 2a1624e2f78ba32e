//! What the datastore says: whose port a request came from, which pools are for it, which addresses are configured.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::book::{Book, Entry, Holder};
use super::port::Port;
use crate::datastore::{Change, Snapshot, Store};
use crate::model::{AllocationPool, Network, Pod, Reader, Row};
use crate::net::LportTag;
use crate::schema::{DataPath, Fields, Key, Node, Schema, SchemaId, Text, Value, diff};

/// The schema nodes that are read directly.
struct Names {
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
    lease: SchemaId,
}

/// The datastore as of the snapshot that was last followed.
pub struct View {
    names: Names,
    reader: Reader,
    seen: Arc<Snapshot>,
    networks: BTreeMap<Text, Network>,
}

impl View {
    /// A view that has seen nothing.
    ///
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &'static Schema) -> View {
        let id = |path: &str| schema.resolve(path);
        let names = Names {
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
            lease: id("/coeus-dhcp:leases/lease"),
        };
        View {
            names,
            reader: Reader::new(schema),
            seen: Arc::new(Snapshot::empty(schema)),
            networks: BTreeMap::new(),
        }
    }

    /// Takes in what changed since the last time; the cost follows the change. Answers names of interfaces that may be gone.
    pub fn follow(&mut self, now: Arc<Snapshot>, book: &mut Book) -> Vec<Text> {
        let differences = diff(now.schema, &self.seen.config.input, &now.config.input);
        let changes: Vec<Change> = differences
            .into_iter()
            .map(|(path, before, after)| Change { store: Store::Config, path, before, after })
            .collect();
        let mut gone = Vec::new();
        for row in self.reader.changed(&changes, &self.seen) {
            if let Row::Pod(_, Some(pod)) = row {
                configured(&pod, |namespace, network, address| book.deconfigure(namespace, network, address));
                gone.extend(pod.names());
            }
        }
        for row in self.reader.changed(&changes, &now) {
            match row {
                Row::Pod(_, Some(pod)) => {
                    configured(&pod, |namespace, network, address| {
                        book.configure(namespace, network, address);
                    });
                }
                Row::Network(id, network) => {
                    self.networks.remove(&id);
                    self.networks.extend(network.map(|network| (id, network)));
                }
                _ => {}
            }
        }
        self.take_away(&now, book);
        self.seen = now;
        gone
    }

    /// Ends leases that somebody else took out of the datastore, as a node does that leaves.
    fn take_away(&self, now: &Snapshot, book: &mut Book) {
        for (path, _, after) in diff(now.schema, &self.seen.operational.input, &now.operational.input) {
            let Some(step) = path.steps.get(1).filter(|step| step.node == self.names.lease) else { continue };
            let key = step.key.as_ref().map(Key::values);
            if let (Some([Value::Text(interface)]), None) = (key, after) {
                book.write(&Entry::End(Holder::Port(interface.clone())));
            }
        }
    }

    /// All pools.
    pub fn pools(&self) -> impl Iterator<Item = &Arc<AllocationPool>> {
        self.networks.values().flat_map(|network| &network.pools)
    }

    /// The interface that holds a logical port tag.
    pub fn interface(&self, tag: LportTag) -> Option<Text> {
        let names = &self.names;
        let key = Key::one(Value::Int(i64::from(tag.0)));
        let entry = self.entry(Store::Operational, names.if_indexes, names.if_index, key)?;
        entry.text(names.interface_name).map(Text::from)
    }

    /// Does an interface of this name exist?
    pub fn exists(&self, interface: &str) -> bool {
        self.object(interface).is_some()
    }

    fn object(&self, interface: &str) -> Option<Arc<Fields>> {
        let names = &self.names;
        self.entry(Store::Operational, names.objects, names.object, Key::text(interface))
    }

    /// What an answer depends on. `None`: no such interface, or its MAC address is not known.
    pub fn port(&self, interface: &Text) -> Option<Port> {
        let names = &self.names;
        let object = self.object(interface)?;
        let mac = object.text(names.mac_address)?.parse().ok()?;
        let pod = object.text(names.pod_uid).and_then(|uid| self.reader.pod(&self.seen, uid));
        let row = pod.as_ref().and_then(|pod| pod.interface_named(interface));
        let elan =
            self.entry(Store::Config, names.elan_interfaces, names.elan_interface, Key::text(interface));
        let elan = elan.as_ref().and_then(|entry| entry.text(names.elan_instance_name));
        let network = row.and_then(|row| row.network_id.as_deref());
        let mut networks: Vec<&str> = Vec::new();
        for name in [network, elan, object.text(names.namespace)].into_iter().flatten() {
            if !networks.contains(&name) {
                networks.push(name);
            }
        }
        let pools = networks.into_iter().filter_map(|name| self.networks.get(name));
        let fixed = || row.into_iter().flat_map(|row| row.addresses.iter());
        Some(Port {
            interface: interface.clone(),
            mac,
            fixed: fixed().find_map(|address| if let IpAddr::V4(v4) = address { Some(*v4) } else { None }),
            pools: pools.flat_map(|network| network.pools.iter().cloned()).collect(),
        })
    }

    /// The entry of a list below a top-level container.
    fn entry(&self, store: Store, container: SchemaId, list: SchemaId, key: Key) -> Option<Arc<Fields>> {
        let path = DataPath::root().child(container).entry(list, key);
        if let Some(Node::Container(fields)) = self.seen.read(store, &path) { Some(fields) } else { None }
    }
}

/// Addresses that a pod's configuration gives its interfaces, each with namespace and network.
fn configured(pod: &Pod, mut each: impl FnMut(&Text, Option<&Text>, IpAddr)) {
    let Some(namespace) = &pod.namespace else { return };
    for row in &pod.interfaces {
        for address in &row.addresses {
            each(namespace, row.network_id.as_ref(), *address);
        }
    }
}
