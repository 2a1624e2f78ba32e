//! What the datastore says: whose port a request came from, which pools are for it, which addresses are configured.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::book::{Book, Entry, Holder};
use super::port::Port;
use crate::datastore::{Change, Snapshot, Store};
use crate::model::{AllocationPool, Lookup, Network, Pod, PodMtu, Reader, Row};
use crate::net::LportTag;
use crate::schema::{Key, Schema, SchemaId, Text, Value, diff};

/// Makes a port's name a holder of one version.
type Whose = fn(Text) -> Holder;

/// The datastore as of the snapshot that was last followed.
pub struct View {
    lookup: Lookup,
    /// Lists of leases of ports, with whose they are.
    leases: [(SchemaId, Whose); 2],
    reader: Reader,
    pod_mtu: PodMtu,
    seen: Arc<Snapshot>,
    networks: BTreeMap<Text, Network>,
}

impl View {
    /// A view that has seen nothing.
    ///
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &'static Schema) -> View {
        let leases: [(SchemaId, Whose); 2] = [
            (schema.resolve("/coeus-dhcp:leases/lease"), Holder::Port),
            (schema.resolve("/coeus-dhcp:leases/ipv6-lease"), Holder::PortV6),
        ];
        View {
            lookup: Lookup::new(schema),
            leases,
            reader: Reader::new(schema),
            pod_mtu: PodMtu::new(schema),
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
            let Some(step) = path.steps.get(1) else { continue };
            let Some((_, holder)) = self.leases.iter().find(|(list, _)| *list == step.node) else { continue };
            let key = step.key.as_ref().map(Key::values);
            if let (Some([Value::Text(interface)]), None) = (key, after) {
                book.write(&Entry::End(holder(interface.clone())));
            }
        }
    }

    /// All pools.
    pub fn pools(&self) -> impl Iterator<Item = &Arc<AllocationPool>> {
        self.networks.values().flat_map(|network| &network.pools)
    }

    /// The interface that holds a logical port tag.
    pub fn interface(&self, tag: LportTag) -> Option<Text> {
        self.lookup.interface(&self.seen, tag)
    }

    /// Does an interface of this name exist?
    pub fn exists(&self, interface: &str) -> bool {
        self.lookup.exists(&self.seen, interface)
    }

    /// What an answer depends on. `None`: no such interface, or its MAC address is not known.
    pub fn port(&self, interface: &Text) -> Option<Port> {
        let found = self.lookup.found(&self.reader, &self.seen, interface)?;
        let pools = found.networks.iter().filter_map(|name| self.networks.get(name));
        let fixed = || found.addresses.iter();
        Some(Port {
            interface: interface.clone(),
            mac: found.mac,
            fixed: fixed().find_map(|address| if let IpAddr::V4(v4) = address { Some(*v4) } else { None }),
            fixed_v6: fixed().find_map(|address| if let IpAddr::V6(v6) = address { Some(*v6) } else { None }),
            mtu: self.pod_mtu.of(&self.seen),
            pools: pools.flat_map(|network| network.pools.iter().cloned()).collect(),
        })
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
