//! What a programmer can say of its switch, and how that looks in the datastore.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::datastore::{Edit, Snapshot, Store};
use crate::net::Dpid;
use crate::schema::{DataPath, Fields, Key, List, Node, Schema, Value, Values, lexical};

/// Something that a switch refused and that is still wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Feature and key of who asked.
    pub owner: String,
    /// The key alone: for most flows the name of an interface.
    pub key: String,
    pub subject: String,
    pub message: String,
}

/// The state of one switch's programming. Counters run since the start of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub connected: bool,
    pub peer: String,
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
    pub connects: u64,
    pub failures: Vec<Failure>,
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
            (leaf("connects"), Value::Uint(self.connects)),
        ];
        if !self.peer.is_empty() {
            fields.push((leaf("peer"), Value::text(&self.peer)));
        }
        let node = Fields::of(fields.into_iter().map(|(id, value)| (id, Node::Leaf(value))).collect());
        let errors = path.clone().child(leaf("error"));
        let mut edits = vec![
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
                (Key::one(number), Arc::new(Fields::of(fields.into())))
            };
            let entries = self.failures.iter().take(SHOWN).enumerate().map(entry);
            let list = List::of(schema, leaf("error"), entries);
            edits.push(Edit::put(Store::Operational, errors, Node::List(list)));
        }
        edits
    }
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
