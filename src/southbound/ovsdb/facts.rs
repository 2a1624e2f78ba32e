//! What the operational datastore shows of a switch's database, node by node (models network-topology and ovsdb).

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use crate::datastore::{Edit, Snapshot, Store};
use crate::model::{System, Systems};
use crate::net::timestamp;
use crate::ovsdb::{Cache, Row};
use crate::schema::{DataPath, Fields, Key, List, Node, Schema, SchemaId, Value, lexical};

/// Nodes by path: the switch, its bridge, each port. Never nested, so that each can change alone.
pub type Facts = BTreeMap<DataPath, Fields>;

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Liveness {
    pub connected: bool,
    pub peer: String,
    pub since: SystemTime,
    pub seen: SystemTime,
    /// When and why it ended.
    pub lost: Option<(SystemTime, String)>,
}

/// The bridge whose ports are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bridge {
    /// Id of its row.
    pub row: String,
    path: DataPath,
}

/// A port as it is shown.
#[derive(Debug, Clone)]
pub struct Port {
    pub path: DataPath,
    pub fields: Fields,
    /// Id of the interface's row.
    pub interface: String,
}

/// The schema nodes that are written.
#[derive(Debug)]
pub struct Names {
    schema: &'static Schema,
    topology_container: SchemaId,
    topology: SchemaId,
    node: SchemaId,
    port: SchemaId,
    switches: SchemaId,
    switch: SchemaId,
    switch_dpid: SchemaId,
    switch_connected: SchemaId,
    /// Finds switches that have left, and those that stand in the way of a new database.
    pub systems: Systems,
}

const NODE: &str = "/network-topology:network-topology/topology/node";

impl Names {
    pub fn new(schema: &'static Schema) -> Names {
        Names {
            schema,
            topology_container: schema.resolve("/network-topology:network-topology"),
            topology: schema.resolve("/network-topology:network-topology/topology"),
            node: schema.resolve(NODE),
            port: schema.resolve(&format!("{NODE}/termination-point")),
            switches: schema.resolve("/coeus-status:switches"),
            switch: schema.resolve("/coeus-status:switches/switch"),
            switch_dpid: schema.resolve("/coeus-status:switches/switch/dpid"),
            switch_connected: schema.resolve("/coeus-status:switches/switch/ovsdb-connected"),
            systems: Systems::new(schema),
        }
    }

    fn node_path(&self, id: &str) -> DataPath {
        DataPath::root()
            .child(self.topology_container)
            .entry(self.topology, Key::text("ovsdb:1"))
            .entry(self.node, Key::text(id))
    }

    fn below(&self, parent: &str, name: &str) -> SchemaId {
        self.schema.resolve(&format!("{parent}/{name}"))
    }

    /// A leaf, if the text is a value of its type.
    fn leaf(&self, parent: &str, name: &str, text: &str) -> Option<(SchemaId, Node)> {
        let id = self.below(parent, name);
        let value = lexical::parse_value(self.schema, id, text).ok()?;
        Some((id, Node::Leaf(value)))
    }

    /// A map as a list of key and value.
    fn map(
        &self,
        parent: &str,
        list: &str,
        key: &str,
        value: &str,
        map: &BTreeMap<&str, &str>,
    ) -> Option<(SchemaId, Node)> {
        let id = self.below(parent, list);
        let (key, value) =
            (self.below(parent, &format!("{list}/{key}")), self.below(parent, &format!("{list}/{value}")));
        let entry = |(k, v): (&&str, &&str)| {
            let fields = vec![(key, Node::Leaf(Value::text(*k))), (value, Node::Leaf(Value::text(*v)))];
            (Key::text(*k), Fields::of(fields))
        };
        (!map.is_empty()).then(|| (id, Node::List(List::of(self.schema, id, map.iter().map(entry)))))
    }

    /// The switch and its bridge, without ports; and the bridge's row once the switch has made the bridge.
    pub fn nodes(&self, cache: &Cache, bridge_name: &str, peer: &str) -> (Facts, Option<Bridge>) {
        let mut facts = Facts::new();
        let Some((root, open_vswitch)) = cache.rows("Open_vSwitch").next() else { return (facts, None) };
        let switch = format!("ovsdb://uuid/{root}");
        let fields = [
            self.leaf(NODE, "node-id", &switch),
            self.leaf(NODE, "ovsdb:ovs-version", open_vswitch.text("ovs_version").unwrap_or("unknown")),
            self.map(
                NODE,
                "ovsdb:openvswitch-other-configs",
                "other-config-key",
                "other-config-value",
                &open_vswitch.map("other_config"),
            ),
            self.map(
                NODE,
                "ovsdb:openvswitch-external-ids",
                "external-id-key",
                "external-id-value",
                &open_vswitch.map("external_ids"),
            ),
            self.connection(peer),
        ];
        facts.insert(self.node_path(&switch), gathered(fields));
        let Some((id, bridge)) = cache.named("Bridge", bridge_name) else { return (facts, None) };
        // The datapath id appears only once the switch has made the bridge.
        let Some(dpid) = bridge.text("datapath_id").filter(|dpid| dpid.len() == 16) else {
            return (facts, None);
        };
        let bridge_node = format!("{switch}/bridge/{bridge_name}");
        let dpid: Vec<String> =
            dpid.as_bytes().chunks(2).map(|pair| String::from_utf8_lossy(pair).into_owned()).collect();
        let fail_mode = match bridge.text("fail_mode") {
            Some("secure") => "ovsdb:ovsdb-fail-mode-secure",
            _ => "ovsdb:ovsdb-fail-mode-standalone",
        };
        let managed_by = format!(
            "/network-topology:network-topology/topology[topology-id='ovsdb:1']/node[node-id='{switch}']"
        );
        let fields = [
            self.leaf(NODE, "node-id", &bridge_node),
            self.leaf(NODE, "ovsdb:bridge-name", bridge_name),
            self.leaf(NODE, "ovsdb:bridge-uuid", id),
            self.leaf(NODE, "ovsdb:datapath-id", &dpid.join(":")),
            self.leaf(NODE, "ovsdb:fail-mode", fail_mode),
            self.leaf(NODE, "ovsdb:managed-by", &managed_by),
        ];
        let path = self.node_path(&bridge_node);
        facts.insert(path.clone(), gathered(fields));
        (facts, Some(Bridge { row: id.to_owned(), path }))
    }

    /// A port of the bridge, by the id of its row; with the interface that stands for it (of a bond: the first).
    pub fn port(&self, cache: &Cache, bridge: &Bridge, id: &str) -> Option<Port> {
        if !cache.row("Bridge", &bridge.row)?.refers("ports", id) {
            return None;
        }
        let port = cache.row("Port", id)?;
        let (name, interface) = (port.text("name")?, port.references("interfaces").next()?);
        let fields = self.port_fields(name, interface, cache.row("Interface", interface)?);
        let path = bridge.path.clone().entry(self.port, Key::text(name));
        Some(Port { path, fields, interface: interface.to_owned() })
    }

    fn connection(&self, peer: &str) -> Option<(SchemaId, Node)> {
        let address: std::net::SocketAddr = peer.parse().ok()?;
        let parent = format!("{NODE}/ovsdb:connection-info");
        let fields = [self.leaf(&parent, "remote-ip", &address.ip().to_string())];
        Some((self.below(NODE, "ovsdb:connection-info"), Node::Container(gathered(fields))))
    }

    fn port_fields(&self, name: &str, id: &str, row: &Row) -> Fields {
        let port = format!("{NODE}/termination-point");
        let kind = match row.text("type").unwrap_or_default() {
            "" => "system",
            kind => kind,
        };
        let ofport = row
            .number("ofport")
            .filter(|ofport| (1..0xffff_ff00).contains(ofport))
            .map(|ofport| ofport.to_string());
        gathered([
            self.leaf(&port, "tp-id", name),
            self.leaf(&port, "ovsdb:name", name),
            self.leaf(&port, "ovsdb:interface-uuid", id),
            self.leaf(&port, "ovsdb:interface-type", &format!("ovsdb:interface-type-{kind}")),
            ofport.and_then(|ofport| self.leaf(&port, "ovsdb:ofport", &ofport)),
            self.map(
                &port,
                "ovsdb:interface-external-ids",
                "external-id-key",
                "external-id-value",
                &row.map("external_ids"),
            ),
            self.map(&port, "ovsdb:options", "option", "value", &row.map("options")),
        ])
    }

    /// The edit that shows the state of a switch's session. `None`: its datapath id is none.
    pub fn session(&self, dpid: &str, state: &Liveness) -> Option<Edit> {
        const SESSION: &str = "/coeus-status:switches/switch/ovsdb-session";
        let id = lexical::parse_value(self.schema, self.switch_dpid, dpid).ok()?;
        let path = DataPath::root().child(self.switches).entry(self.switch, Key::one(id.clone()));
        let text = |name: &str, time: SystemTime| self.leaf(SESSION, name, &timestamp(time));
        let loss = state.lost.as_ref().map(|(time, reason)| {
            let parent = format!("{SESSION}/last-loss");
            let fields =
                [self.leaf(&parent, "time", &timestamp(*time)), self.leaf(&parent, "reason", reason)];
            (self.below(SESSION, "last-loss"), Node::Container(gathered(fields)))
        });
        let said = Value::Bool(state.connected);
        let session = [
            Some((self.below(SESSION, "connected"), Node::Leaf(said.clone()))),
            self.leaf(SESSION, "peer", &state.peer),
            text("since", state.since),
            text("last-seen", state.seen),
            loss,
        ];
        let fields = vec![
            (self.switch_dpid, Node::Leaf(id)),
            (self.switch_connected, Node::Leaf(said)),
            (self.schema.resolve(SESSION), Node::Container(gathered(session))),
        ];
        Some(Edit::merge(Store::Operational, path, Fields::of(fields).into()))
    }

    /// What the database says of itself, as the store would show it.
    pub fn system(&self, cache: &Cache, bridge_name: &str) -> Option<System> {
        let (root, open_vswitch) = cache.rows("Open_vSwitch").next()?;
        let dpid = cache.named("Bridge", bridge_name).and_then(|(_, row)| row.text("datapath_id"));
        let local_ip = open_vswitch.map("other_config").get("local_ip").and_then(|text| text.parse().ok());
        Some(System {
            node_id: format!("ovsdb://uuid/{root}").into(),
            bridges: BTreeSet::new(),
            dpid: dpid.and_then(|dpid| dpid.parse().ok()),
            local_ip,
        })
    }

    /// The datapath id that the store knows of a bridge, if it is still the bridge of that row.
    pub fn datapath_of(
        &self,
        snapshot: &Snapshot,
        root: &str,
        bridge_name: &str,
        row: &str,
    ) -> Option<String> {
        let path = self.node_path(&format!("ovsdb://uuid/{root}/bridge/{bridge_name}"));
        let Some(Node::Container(node)) = snapshot.written(Store::Operational, &path) else { return None };
        let said = |name: &str| node.text(self.below(NODE, name));
        let same = said("ovsdb:bridge-uuid") == Some(row);
        said("ovsdb:datapath-id").filter(|_| same).map(|dpid| dpid.replace(':', ""))
    }

    /// What the store shows of a switch, in the same form.
    pub fn stored(&self, snapshot: &Snapshot, root: &str, bridge_name: &str) -> Facts {
        let mut facts = Facts::new();
        let switch = format!("ovsdb://uuid/{root}");
        for id in [switch.clone(), format!("{switch}/bridge/{bridge_name}")] {
            let path = self.node_path(&id);
            let Some(Node::Container(node)) = snapshot.written(Store::Operational, &path) else { continue };
            let mut own = node.clone();
            own.set(self.port, None);
            if let Some(ports) = node.list(self.port) {
                for (key, port) in ports {
                    facts.insert(path.clone().entry(self.port, key.clone()), port.clone());
                }
            }
            facts.insert(path, own);
        }
        facts
    }

    /// The edits that lead from one state to another. A node is merged so that its ports stay.
    pub fn edits(&self, old: &Facts, new: &Facts) -> Vec<Edit> {
        let mut edits = Vec::new();
        for (path, fields) in new {
            match old.get(path) {
                Some(held) if held == fields => {}
                Some(held) if path.last_node() == Some(self.node) => {
                    self.replace_fields(path, held, fields, &mut edits)
                }
                _ => edits.push(Edit::put(Store::Operational, path.clone(), Node::Container(fields.clone()))),
            }
        }
        // Children before parents do not matter: removing what is gone already is no error.
        edits.extend(
            old.keys()
                .filter(|path| !new.contains_key(path))
                .map(|path| Edit::remove(Store::Operational, path.clone())),
        );
        edits
    }

    /// Replaces a node's own fields and leaves its ports alone.
    fn replace_fields(&self, path: &DataPath, held: &Fields, fields: &Fields, edits: &mut Vec<Edit>) {
        for (id, node) in fields.iter() {
            if held.get(*id) != Some(node) {
                edits.push(Edit::put(Store::Operational, path.clone().child(*id), node.clone()));
            }
        }
        let gone = held.iter().filter(|(id, _)| fields.get(**id).is_none() && **id != self.port);
        edits.extend(gone.map(|(id, _)| Edit::remove(Store::Operational, path.clone().child(*id))));
    }
}

fn gathered(fields: impl IntoIterator<Item = Option<(SchemaId, Node)>>) -> Fields {
    Fields::of(fields.into_iter().flatten().collect())
}
