//! The Open vSwitches that the operational datastore knows of, whole: to find one by any of its names, and to forget it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::read::{INTEGRATION_BRIDGE, OVSDB_TOPOLOGY};
use crate::datastore::{Edit, Snapshot, Store};
use crate::net::Dpid;
use crate::schema::{DataPath, Fields, Key, Node, Schema, SchemaId, Text, Value};

/// One Open vSwitch: the node of its database and those of its bridges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// `ovsdb://uuid/` and the UUID of its database.
    pub node_id: Text,
    /// Node ids of its bridges.
    pub bridges: BTreeSet<Text>,
    /// Of its integration bridge.
    pub dpid: Option<Dpid>,
    /// `other_config:local_ip`.
    pub local_ip: Option<IpAddr>,
}

/// Reads and forgets systems in the trees of one schema.
#[derive(Debug)]
pub struct Systems {
    topologies: SchemaId,
    topology: SchemaId,
    node: SchemaId,
    datapath_id: SchemaId,
    other_configs: SchemaId,
    other_config_value: SchemaId,
    switches: SchemaId,
    switch: SchemaId,
    departed: SchemaId,
    departed_node: SchemaId,
    departed_id: SchemaId,
    departed_dpid: SchemaId,
    departed_ip: SchemaId,
    departed_time: SchemaId,
}

impl Systems {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> Systems {
        let topology = |leaf: &str| schema.resolve(&format!("/network-topology:network-topology{leaf}"));
        let departed = |leaf: &str| schema.resolve(&format!("/coeus-node:departed{leaf}"));
        Systems {
            topologies: topology(""),
            topology: topology("/topology"),
            node: topology("/topology/node"),
            datapath_id: topology("/topology/node/ovsdb:datapath-id"),
            other_configs: topology("/topology/node/ovsdb:openvswitch-other-configs"),
            other_config_value: topology("/topology/node/ovsdb:openvswitch-other-configs/other-config-value"),
            switches: schema.resolve("/coeus-status:switches"),
            switch: schema.resolve("/coeus-status:switches/switch"),
            departed: departed(""),
            departed_node: departed("/node"),
            departed_id: departed("/node/node-id"),
            departed_dpid: departed("/node/dpid"),
            departed_ip: departed("/node/local-ip"),
            departed_time: departed("/node/time"),
        }
    }

    /// All of them, by node id. Costs in proportion to their number.
    pub fn all(&self, snapshot: &Snapshot) -> Vec<System> {
        let ovsdb = snapshot
            .operational
            .input
            .container(self.topologies)
            .and_then(|all| all.list(self.topology))
            .and_then(|all| all.get(&Key::text(OVSDB_TOPOLOGY)));
        let mut found: BTreeMap<Text, System> = BTreeMap::new();
        for (key, fields) in ovsdb.and_then(|ovsdb| ovsdb.list(self.node)).into_iter().flatten() {
            let [Value::Text(id)] = key.values() else { continue };
            let root: Text = id.split_once("/bridge/").map_or(id.clone(), |(root, _)| root.into());
            let system = found.entry(root.clone()).or_insert_with(|| System {
                node_id: root.clone(),
                bridges: BTreeSet::new(),
                dpid: None,
                local_ip: None,
            });
            match id.split_once("/bridge/") {
                None => system.local_ip = self.local_ip(fields),
                Some((_, bridge)) => {
                    system.bridges.insert(id.clone());
                    if bridge == INTEGRATION_BRIDGE {
                        system.dpid = fields.text(self.datapath_id).and_then(|text| text.parse().ok());
                    }
                }
            }
        }
        found.into_values().collect()
    }

    fn local_ip(&self, fields: &Fields) -> Option<IpAddr> {
        let entry = fields.list(self.other_configs)?.get(&Key::text("local_ip"))?;
        entry.text(self.other_config_value)?.parse().ok()
    }

    /// The edits after which nothing is known of a system and its bridges.
    pub fn forget(&self, system: &System) -> Vec<Edit> {
        let topology =
            DataPath::root().child(self.topologies).entry(self.topology, Key::text(OVSDB_TOPOLOGY));
        let path = |id: &Text| topology.clone().entry(self.node, Key::one(Value::Text(id.clone())));
        let ids = system.bridges.iter().chain([&system.node_id]);
        ids.map(|id| Edit::remove(Store::Operational, path(id))).collect()
    }

    /// The edit after which nothing is reported of a switch. For a passing transaction.
    pub fn forget_report(&self, dpid: Dpid) -> Edit {
        let path = DataPath::root().child(self.switches).entry(self.switch, Key::text(dpid.to_string()));
        Edit::remove(Store::Operational, path)
    }

    fn departed_path(&self, node_id: &str) -> DataPath {
        DataPath::root().child(self.departed).entry(self.departed_node, Key::text(node_id))
    }

    /// Whether a system has left and not joined again.
    pub fn is_departed(&self, snapshot: &Snapshot, node_id: &str) -> bool {
        let departed = snapshot.operational.input.container(self.departed);
        let nodes = departed.and_then(|departed| departed.list(self.departed_node));
        nodes.is_some_and(|nodes| nodes.get(&Key::text(node_id)).is_some())
    }

    /// Systems that have left. Their bridges are not known any more.
    pub fn departed(&self, snapshot: &Snapshot) -> Vec<System> {
        let departed = snapshot.operational.input.container(self.departed);
        let nodes = departed.and_then(|departed| departed.list(self.departed_node));
        let read = |(key, fields): (&Key, &Fields)| {
            let [Value::Text(id)] = key.values() else { return None };
            Some(System {
                node_id: id.clone(),
                bridges: BTreeSet::new(),
                dpid: fields.text(self.departed_dpid).and_then(|text| text.parse().ok()),
                local_ip: fields.text(self.departed_ip).and_then(|text| text.parse().ok()),
            })
        };
        nodes.into_iter().flatten().filter_map(read).collect()
    }

    /// Writes down that a system has left.
    pub fn depart(&self, system: &System, time: &str) -> Edit {
        let mut fields = vec![
            (self.departed_id, Node::Leaf(Value::Text(system.node_id.clone()))),
            (self.departed_time, Node::Leaf(Value::text(time))),
        ];
        let dpid = system.dpid.map(|dpid| (self.departed_dpid, dpid.to_string()));
        let address = system.local_ip.map(|address| (self.departed_ip, address.to_string()));
        fields.extend(
            [dpid, address].into_iter().flatten().map(|(id, text)| (id, Node::Leaf(Value::text(text)))),
        );
        Edit::put(Store::Operational, self.departed_path(&system.node_id), Fields::of(fields).into())
    }

    /// Lets a system that has left come back.
    pub fn readmit(&self, node_id: &str) -> Edit {
        Edit::remove(Store::Operational, self.departed_path(node_id))
    }
}

impl System {
    /// The UUID of its database.
    fn uuid(&self) -> &str {
        self.node_id.rsplit('/').next().unwrap_or_default()
    }

    /// Whether this is one of its names: node ids, UUID, datapath id, tunnel address.
    pub fn is_called(&self, name: &str) -> bool {
        let is_dpid = |dpid: Dpid| name.parse() == Ok(dpid);
        *self.node_id == *name
            || self.uuid() == name
            || self.bridges.contains(name)
            || self.dpid.is_some_and(is_dpid)
            || self.local_ip.is_some_and(|address| name.parse() == Ok(address))
    }

    /// Whether both stand for one node: a database made anew has another UUID, but the same bridge or tunnel address.
    pub fn is_same_node(&self, other: &System) -> bool {
        let same_dpid = self.dpid.is_some() && self.dpid == other.dpid;
        same_dpid || (self.local_ip.is_some() && self.local_ip == other.local_ip)
    }
}
