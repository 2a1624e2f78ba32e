//! How large packets of pods may be: what the narrowest way between nodes leaves.
//!
//! No switch tells a sender that its packet is too big for a tunnel, and all on a link have one MTU (RFC 4861 section 6.2.1), so
//! it is one for all: the least of all nodes that have a tunnel address.

use std::collections::BTreeMap;

use super::apply::Model;
use super::spans::Switch;
use crate::datastore::{Snapshot, Store};
use crate::net::UnderlayMtu;
use crate::schema::{DataPath, Node, Schema, SchemaId, Value};

/// How many nodes have links of each size.
#[derive(Debug, Default)]
pub(super) struct Underlay(BTreeMap<UnderlayMtu, usize>);

impl Underlay {
    /// Whether the least is another.
    pub fn replace(&mut self, before: Option<&Switch>, after: Option<&Switch>) -> bool {
        let least = self.least();
        let of =
            |switch: Option<&Switch>| switch.filter(|one| one.local_ip.is_some()).map(|one| one.underlay_mtu);
        if let Some(mtu) = of(after) {
            *self.0.entry(mtu).or_default() += 1;
        }
        if let Some(mtu) = of(before) {
            let left = self.0.get_mut(&mtu).map_or(0, |number| {
                *number -= 1;
                *number
            });
            if left == 0 {
                self.0.remove(&mtu);
            }
        }
        self.least() != least
    }

    fn least(&self) -> Option<UnderlayMtu> {
        self.0.first_key_value().map(|(mtu, _)| *mtu)
    }
}

impl Model {
    /// The narrowest of the links between nodes. `None`: no node has a tunnel address.
    pub fn underlay_mtu(&self) -> Option<UnderlayMtu> {
        self.underlay.least()
    }
}

/// Reads what pods are told from where it is derived to.
#[derive(Debug)]
pub struct PodMtu {
    path: DataPath,
}

impl PodMtu {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> PodMtu {
        let leaf: SchemaId = schema.resolve("/coeus-tunnel:underlay/pod-mtu");
        PodMtu { path: DataPath::of_node(schema, Some(leaf)) }
    }

    /// Octets of the largest IP packet that a pod can send to another node.
    pub fn of(&self, snapshot: &Snapshot) -> u16 {
        let told = match snapshot.read(Store::Operational, &self.path) {
            Some(Node::Leaf(Value::Uint(octets))) => u16::try_from(octets).ok(),
            _ => None,
        };
        told.unwrap_or(UnderlayMtu::default().within_tunnels())
    }
}
