//! What a programmer can say of its switch, and how that looks in the datastore.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::audit::Drift;
use crate::datastore::{Edit, Snapshot, Store};
use crate::net::{Dpid, timestamp};
use crate::schema::{DataPath, Fields, Key, List, Node, Schema, Value, Values, lexical};

/// Something that a switch refused and that is still wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Feature and key of who asked.
    pub owner: String,
    /// The key alone: for most flows the name of an interface.
    pub key: String,
    pub subject: String,
    pub message: String,
}

/// The state of one switch's programming. Counters run since the start of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub connected: bool,
    pub peer: String,
    /// When it connected or was lost.
    pub since: Option<SystemTime>,
    pub last_seen: Option<SystemTime>,
    /// When and why it was lost last.
    pub lost: Option<(SystemTime, String)>,
    /// The switch has confirmed everything up to this revision.
    pub programmed: u64,
    pub flows: usize,
    pub groups: usize,
    pub meters: usize,
    pub foreign_flows: usize,
    pub flow_mods: u64,
    pub group_mods: u64,
    pub meter_mods: u64,
    pub bundles: u64,
    pub barriers: u64,
    pub connects: u64,
    pub failures: Vec<Failure>,
    pub drift: Drift,
}

/// Failures shown at most: enough to see the pattern.
const SHOWN: usize = 32;

impl Status {
    /// The edits that show this state under `coeus-status:switches`.
    pub fn edits(&self, schema: &Schema, dpid: Dpid) -> Vec<Edit> {
        const BASE: &str = "/coeus-status:switches/switch";
        let leaf = |name: &str| schema.resolve(&format!("{BASE}/{name}"));
        let list = schema.resolve(BASE);
        let path = DataPath::root()
            .child(schema.resolve("/coeus-status:switches"))
            .entry(list, Key::text(dpid.to_string()));
        let mut fields = vec![
            (leaf("dpid"), Value::text(dpid.to_string())),
            (leaf("connected"), Value::Bool(self.connected)),
            (leaf("programmed-revision"), Value::Uint(self.programmed)),
            (leaf("desired-flows"), Value::Uint(self.flows as u64)),
            (leaf("desired-groups"), Value::Uint(self.groups as u64)),
            (leaf("desired-meters"), Value::Uint(self.meters as u64)),
            (leaf("foreign-flows"), Value::Uint(self.foreign_flows as u64)),
            (leaf("flow-mods"), Value::Uint(self.flow_mods)),
            (leaf("group-mods"), Value::Uint(self.group_mods)),
            (leaf("meter-mods"), Value::Uint(self.meter_mods)),
            (leaf("bundles"), Value::Uint(self.bundles)),
            (leaf("barriers"), Value::Uint(self.barriers)),
            (leaf("connects"), Value::Uint(self.connects)),
        ];
        if !self.peer.is_empty() {
            fields.push((leaf("peer"), Value::text(&self.peer)));
        }
        let mut fields: Vec<_> = fields.into_iter().map(|(id, value)| (id, Node::Leaf(value))).collect();
        fields.push((leaf("openflow-session"), self.session(schema)));
        fields.push((leaf("drift"), self.drifted(schema)));
        let node = Fields::of(fields);
        let errors = path.clone().child(leaf("error"));
        let subjects = path.clone().child(leaf("drift")).child(leaf("drift/subject"));
        let mut edits = vec![
            Edit::remove(Store::Operational, subjects),
            Edit::merge(Store::Operational, path, node.into()),
            Edit::remove(Store::Operational, errors.clone()),
        ];
        if !self.failures.is_empty() {
            let entry = |(number, failure): (usize, &Failure)| {
                let number = Value::Uint(number as u64 + 1);
                let fields = [
                    (leaf("error/number"), Node::Leaf(number.clone())),
                    (leaf("error/owner"), Node::Leaf(Value::text(&failure.owner))),
                    (leaf("error/subject"), Node::Leaf(Value::text(&failure.subject))),
                    (leaf("error/message"), Node::Leaf(Value::text(&failure.message))),
                ];
                (Key::one(number), Fields::of(fields.into()))
            };
            let entries = self.failures.iter().take(SHOWN).enumerate().map(entry);
            let list = List::of(schema, leaf("error"), entries);
            edits.push(Edit::put(Store::Operational, errors, Node::List(list)));
        }
        edits.extend(self.inventory(schema, dpid));
        edits
    }

    /// `drift`: what was found changed by somebody else.
    fn drifted(&self, schema: &Schema) -> Node {
        let leaf = |name: &str| schema.resolve(&format!("/coeus-status:switches/switch/drift/{name}"));
        let mut fields = vec![(leaf("mended"), Node::Leaf(Value::Uint(self.drift.mended)))];
        fields.extend(self.drift.last.map(|last| (leaf("last"), Node::Leaf(Value::text(timestamp(last))))));
        if !self.drift.subjects.is_empty() {
            let subjects: Values = self.drift.subjects.iter().map(Value::text).collect();
            fields.push((leaf("subject"), Node::LeafList(subjects)));
        }
        Fields::of(fields).into()
    }

    /// `openflow-session`: whether the switch is there, since when, and why it was lost.
    fn session(&self, schema: &Schema) -> Node {
        const SESSION: &str = "/coeus-status:switches/switch/openflow-session";
        let leaf = |name: &str| schema.resolve(&format!("{SESSION}/{name}"));
        let time = |time: SystemTime| Node::Leaf(Value::text(timestamp(time)));
        let mut fields = vec![(leaf("connected"), Node::Leaf(Value::Bool(self.connected)))];
        if !self.peer.is_empty() {
            fields.push((leaf("peer"), Node::Leaf(Value::text(&self.peer))));
        }
        fields.extend(self.since.map(|since| (leaf("since"), time(since))));
        fields.extend(self.last_seen.map(|seen| (leaf("last-seen"), time(seen))));
        if let Some((at, reason)) = &self.lost {
            let loss = vec![
                (leaf("last-loss/time"), time(*at)),
                (leaf("last-loss/reason"), Node::Leaf(Value::text(reason))),
            ];
            fields.push((leaf("last-loss"), Fields::of(loss).into()));
        }
        Fields::of(fields).into()
    }

    /// OpenDaylight's inventory says from where a switch that is connected speaks OpenFlow.
    fn inventory(&self, schema: &Schema, dpid: Dpid) -> Vec<Edit> {
        const NODE: &str = "/opendaylight-inventory:nodes/node";
        let leaf = |name: &str| schema.resolve(&format!("{NODE}/{name}"));
        let id = dpid.node_id();
        let path = DataPath::root()
            .child(schema.resolve("/opendaylight-inventory:nodes"))
            .entry(schema.resolve(NODE), Key::text(&id));
        let (address, port) =
            (leaf("flow-node-inventory:ip-address"), leaf("flow-node-inventory:port-number"));
        let peer: Option<SocketAddr> = self.peer.parse().ok().filter(|_| self.connected);
        let Some(peer) = peer else {
            return [address, port]
                .map(|leaf| Edit::remove(Store::Operational, path.clone().child(leaf)))
                .into();
        };
        let fields = vec![
            (leaf("id"), Node::Leaf(Value::text(id))),
            (address, Node::Leaf(Value::text(peer.ip().to_string()))),
            (port, Node::Leaf(Value::Uint(peer.port().into()))),
        ];
        vec![Edit::merge(Store::Operational, path, Fields::of(fields).into())]
    }
}

/// The edits after which a switch is as if it had never connected.
pub fn forgotten(schema: &Schema, dpid: Dpid) -> Vec<Edit> {
    let entry = |top: &str, list: &str, key: String| {
        let path = DataPath::root().child(schema.resolve(top));
        Edit::remove(Store::Operational, path.entry(schema.resolve(&format!("{top}/{list}")), Key::text(key)))
    };
    vec![
        entry("/coeus-status:switches", "switch", dpid.to_string()),
        entry("/opendaylight-inventory:nodes", "node", dpid.node_id()),
    ]
}

/// Whether the model has the switch: its database told of it, and it has not left.
pub fn is_known(snapshot: &Snapshot, dpid: Dpid) -> bool {
    const SWITCH: &str = "/odl-interface-meta:dpn-to-interface-list/dpn-to-interface";
    let top = DataPath::root().child(snapshot.schema.resolve("/odl-interface-meta:dpn-to-interface-list"));
    let path = top.entry(snapshot.schema.resolve(SWITCH), Key::one(Value::Uint(dpid.0)));
    snapshot.read(Store::Operational, &path).is_some()
}

/// Marks the objects whose flows a switch refused, and clears the mark of those that are well again. `marked` remembers which.
pub fn object_edits(
    schema: &Schema,
    snapshot: &Snapshot,
    failures: &[Failure],
    marked: &mut BTreeSet<String>,
) -> Vec<Edit> {
    const BASE: &str = "/coeus-status:objects/object";
    let leaf = |name: &str| schema.resolve(&format!("{BASE}/{name}"));
    let path = |name: &str| {
        DataPath::root()
            .child(schema.resolve("/coeus-status:objects"))
            .entry(schema.resolve(BASE), Key::text(name))
    };
    let is_object = |name: &str| snapshot.read(Store::Operational, &path(name)).is_some();
    let set = |name: &str, state: &str| {
        let value = lexical::parse_value(schema, leaf("state"), state).ok()?;
        Some(Edit::put(Store::Operational, path(name).child(leaf("state")), Node::Leaf(value)))
    };
    let mut edits = Vec::new();
    let failed: BTreeMap<&str, &Failure> =
        failures.iter().map(|failure| (failure.key.as_str(), failure)).collect();
    for (name, failure) in failed.iter().filter(|(name, _)| is_object(name)) {
        let reason: Values =
            [Value::text(format!("{}: {}", failure.message, failure.subject))].into_iter().collect();
        edits.extend(set(name, "failed"));
        edits.push(Edit::put(Store::Operational, path(name).child(leaf("reason")), Node::LeafList(reason)));
        marked.insert((*name).to_owned());
    }
    let well: Vec<String> =
        marked.iter().filter(|name| !failed.contains_key(name.as_str())).cloned().collect();
    for name in well {
        marked.remove(&name);
        if is_object(&name) {
            edits.extend(set(&name, "desired"));
            edits.push(Edit::remove(Store::Operational, path(&name).child(leaf("reason"))));
        }
    }
    edits
}
