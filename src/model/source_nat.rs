//! Which address the packets of pods have outside: `/coeus-north-south:source-nat`.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::apply::{Model, Work};
use super::external::Outlet;
use super::read::entries;
use crate::datastore::Snapshot;
use crate::net::Dpid;
use crate::schema::{Fields, Schema, SchemaId, Text, Value};

/// `mode`.
const NODE: i32 = 1;
const EXTERNAL_NETWORK: i32 = 2;
/// Source addresses where none is configured: the node itself translates once more. IPv4: link-local (RFC 3927); IPv6: unique
/// local (RFC 4193), since no router forwards what is link-local.
const DEFAULT_SOURCE: Ipv4Addr = Ipv4Addr::new(169, 254, 77, 1);
const DEFAULT_SOURCE_V6: Ipv6Addr = Ipv6Addr::new(0xfdc0, 0xe5, 0x4d, 0, 0, 0, 0, 1);

/// Source address translation at the node. That it is there means that it is on.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SourceNat {
    /// The external network that packets leave to; `None`: the node forwards them.
    pub network: Option<Text>,
    /// Source addresses by an address of the node.
    pub sources: BTreeMap<IpAddr, Ipv4Addr>,
    /// The same of IPv6.
    pub sources_v6: BTreeMap<IpAddr, Ipv6Addr>,
}

/// How pods of a switch get outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// With these addresses, by their node.
    Node(NodeSources),
    /// With addresses of an external network, at most one a version, straight there.
    Outside(Vec<Outlet>),
}

/// What a node's pods come from outside, by version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSources {
    pub v4: Ipv4Addr,
    pub v6: Ipv6Addr,
}

impl Source {
    /// Whether there is an address outside for what is from this one.
    pub fn leads_out(&self, from: IpAddr) -> bool {
        match self {
            Source::Node(_) => true,
            Source::Outside(outlets) => {
                outlets.iter().any(|outlet| outlet.external.is_ipv4() == from.is_ipv4())
            }
        }
    }
}

impl NodeSources {
    pub fn both(self) -> [IpAddr; 2] {
        [self.v4.into(), self.v6.into()]
    }
}

/// Each field is the node of that name.
#[derive(Debug)]
pub struct SourceNatNames {
    pub source_nat: SchemaId,
    mode: SchemaId,
    external_network: SchemaId,
    node: SchemaId,
    source_address: SchemaId,
    ipv6_source_address: SchemaId,
}

impl SourceNatNames {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn of(schema: &Schema) -> SourceNatNames {
        let id = |leaf: &str| schema.resolve(&format!("/coeus-north-south:source-nat{leaf}"));
        SourceNatNames {
            source_nat: id(""),
            mode: id("/mode"),
            external_network: id("/external-network"),
            node: id("/node"),
            source_address: id("/node/source-address"),
            ipv6_source_address: id("/node/ipv6-source-address"),
        }
    }

    /// What is configured; `None`: nothing is translated.
    pub fn read(&self, snapshot: &Snapshot) -> Option<SourceNat> {
        let fields = snapshot.config.input.container(self.source_nat)?;
        let network = match fields.leaf(self.mode) {
            Some(Value::Enum(NODE)) => Some(None),
            // Without a name it is none that exists, and says so.
            Some(Value::Enum(EXTERNAL_NETWORK)) => {
                Some(Some(fields.shared_text(self.external_network).cloned().unwrap_or_default()))
            }
            _ => None,
        };
        network.map(|network| {
            let v4 = |(address, node): (Text, &Fields)| {
                Some((address.parse().ok()?, node.text(self.source_address)?.parse().ok()?))
            };
            let v6 = |(address, node): (Text, &Fields)| {
                Some((address.parse().ok()?, node.text(self.ipv6_source_address)?.parse().ok()?))
            };
            let nodes = || entries(fields, self.node);
            SourceNat {
                network,
                sources: nodes().filter_map(v4).collect(),
                sources_v6: nodes().filter_map(v6).collect(),
            }
        })
    }
}

impl SourceNat {
    /// All source addresses, each with an address of its node.
    pub fn all(&self) -> impl Iterator<Item = (IpAddr, IpAddr)> {
        let v4 = self.sources.iter().map(|(node, source)| (*node, IpAddr::V4(*source)));
        v4.chain(self.sources_v6.iter().map(|(node, source)| (*node, IpAddr::V6(*source))))
    }
}

impl Model {
    pub(super) fn put_source_nat(&mut self, row: Option<SourceNat>, work: &mut Work) {
        if self.source_nat != row {
            work.dirty_floating.extend(self.shared_addresses());
            work.touched.node_sources.extend(self.source_nat.iter().flat_map(SourceNat::nodes));
            self.source_nat = row;
            work.dirty_floating.extend(self.shared_addresses());
            work.touched.node_sources.extend(self.source_nat.iter().flat_map(SourceNat::nodes));
            work.touched.node_sides.extend(self.switches.keys());
        }
    }

    /// How pods of a switch get outside. `None`: they do not get there.
    pub fn source_nat(&self, dpid: Dpid) -> Option<Source> {
        let nat = self.source_nat.as_ref()?;
        let addresses = || self.node_side.addresses_of(dpid);
        let own = addresses().find_map(|address| nat.sources.get(&address)).copied();
        let own_v6 = addresses().find_map(|address| nat.sources_v6.get(&address)).copied();
        if nat.network.is_some() {
            let own = own.map(IpAddr::V4).into_iter().chain(own_v6.map(IpAddr::V6));
            let outlets = own.filter_map(|source| self.outside(source)?.ok());
            let outlets: Vec<Outlet> = outlets
                .filter(|outlet| outlet.dpid == dpid && self.floating(outlet.external).is_none())
                .collect();
            return (!outlets.is_empty()).then_some(Source::Outside(outlets));
        }
        self.node_port(dpid)?;
        let (v4, v6) = (own.unwrap_or(DEFAULT_SOURCE), own_v6.unwrap_or(DEFAULT_SOURCE_V6));
        Some(Source::Node(NodeSources { v4, v6 }))
    }

    /// Addresses of external networks that the pods of a node share.
    pub(super) fn shared_addresses(&self) -> impl Iterator<Item = IpAddr> + use<'_> {
        let outside = self.source_nat.iter().filter(|nat| nat.network.is_some());
        outside.flat_map(SourceNat::all).map(|(_, source)| source)
    }

    /// The network that a shared address is of, and the switch of its node: of two nodes with one address the first.
    pub(super) fn shared_at(&self, address: IpAddr) -> Option<(&Text, Option<Dpid>)> {
        let nat = self.source_nat.as_ref()?;
        let (node, _) = nat.all().find(|(_, source)| *source == address)?;
        Some((nat.network.as_ref()?, self.switches_of_node_address(node).next()))
    }
}
