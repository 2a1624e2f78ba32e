//! Which address the packets of pods have outside: `/coeus-north-south:source-nat`.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::apply::{Model, Work};
use super::read::entries;
use crate::datastore::Snapshot;
use crate::net::Dpid;
use crate::schema::{Fields, Schema, SchemaId, Text, Value};

/// `mode`: node.
const NODE: i32 = 1;
/// Source address where none is configured: the node itself translates once more.
const DEFAULT_SOURCE: Ipv4Addr = Ipv4Addr::new(169, 254, 77, 1);

/// Source address translation at the node. That it is there means that it is on.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SourceNat {
    /// Source addresses by an address of the node.
    pub sources: BTreeMap<IpAddr, Ipv4Addr>,
}

/// Each field is the node of that name.
#[derive(Debug)]
pub struct SourceNatNames {
    pub source_nat: SchemaId,
    mode: SchemaId,
    node: SchemaId,
    source_address: SchemaId,
}

impl SourceNatNames {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn of(schema: &Schema) -> SourceNatNames {
        let id = |leaf: &str| schema.resolve(&format!("/coeus-north-south:source-nat{leaf}"));
        SourceNatNames {
            source_nat: id(""),
            mode: id("/mode"),
            node: id("/node"),
            source_address: id("/node/source-address"),
        }
    }

    /// What is configured; `None`: nothing is translated.
    pub fn read(&self, snapshot: &Snapshot) -> Option<SourceNat> {
        let fields = snapshot.config.input.container(self.source_nat)?;
        (fields.leaf(self.mode) == Some(&Value::Enum(NODE))).then(|| {
            let source = |(address, node): (Text, &Arc<Fields>)| {
                Some((address.parse().ok()?, node.text(self.source_address)?.parse().ok()?))
            };
            SourceNat { sources: entries(fields, self.node).filter_map(source).collect() }
        })
    }
}

impl Model {
    pub(super) fn put_source_nat(&mut self, row: Option<SourceNat>, work: &mut Work) {
        if self.source_nat != row {
            self.source_nat = row;
            work.touched.node_sides.extend(self.switches.keys());
        }
    }

    /// The address that pods of a switch have outside. `None`: they do not get there.
    pub fn source_nat(&self, dpid: Dpid) -> Option<Ipv4Addr> {
        let (nat, _) = self.source_nat.as_ref().zip(self.node_port(dpid))?;
        let own = self.node_side.addresses_of(dpid).find_map(|address| nat.sources.get(&address));
        Some(own.copied().unwrap_or(DEFAULT_SOURCE))
    }
}
