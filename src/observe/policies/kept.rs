//! What flows counted that are no more, by what they counted for: `coeus-policy:counters/kept`.

use std::collections::{BTreeMap, BTreeSet};

use super::sums::Count;
use crate::datastore::{Edit, Snapshot, Store};
use crate::policy::Direction;
use crate::schema::{DataPath, Fields, Key, Node, Schema, SchemaId, Text, Value};

/// What is counted for, by names that mean the same after a restart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A rule, by its path in the configuration.
    Rule(Text),
    /// What was denied to an interface.
    Denied(Text, Direction),
}

/// The schema nodes.
pub struct Names {
    pub counters: SchemaId,
    kept: SchemaId,
    rule: SchemaId,
    path: SchemaId,
    interface: SchemaId,
    name: SchemaId,
    direction: SchemaId,
    /// Packets and bytes, of rules and of interfaces.
    counts: [[SchemaId; 2]; 2],
}

/// Counts that are kept, and those of them that are not written down yet.
#[derive(Debug, Default)]
pub struct Kept {
    counts: BTreeMap<Place, Count>,
    changed: BTreeSet<Place>,
}

/// Value of the leaf `direction`.
const INGRESS: i32 = 0;
const EGRESS: i32 = 1;

impl Names {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> Names {
        let id = |path: &str| schema.resolve(&format!("/coeus-policy:counters{path}"));
        let counts = |list: &str| ["packets", "bytes"].map(|leaf| id(&format!("/kept/{list}/{leaf}")));
        Names {
            counters: id(""),
            kept: id("/kept"),
            rule: id("/kept/rule"),
            path: id("/kept/rule/path"),
            interface: id("/kept/interface"),
            name: id("/kept/interface/name"),
            direction: id("/kept/interface/direction"),
            counts: [counts("rule"), counts("interface")],
        }
    }

    fn read(&self, snapshot: &Snapshot) -> BTreeMap<Place, Count> {
        let counters = snapshot.operational.input.container(self.counters);
        let Some(kept) = counters.and_then(|counters| counters.container(self.kept)) else {
            return BTreeMap::new();
        };
        let count = |fields: &Fields, [packets, bytes]: [SchemaId; 2]| Count {
            packets: fields.leaf(packets).and_then(Value::as_uint).unwrap_or_default(),
            bytes: fields.leaf(bytes).and_then(Value::as_uint).unwrap_or_default(),
        };
        let rules = kept.list(self.rule).into_iter().flatten().filter_map(|(key, fields)| {
            let [Value::Text(path)] = key.values() else { return None };
            Some((Place::Rule(path.clone()), count(fields, self.counts[0])))
        });
        let denied = kept.list(self.interface).into_iter().flatten().filter_map(|(key, fields)| {
            let [Value::Text(name), Value::Enum(direction)] = key.values() else { return None };
            let direction = if *direction == INGRESS { Direction::Ingress } else { Direction::Egress };
            Some((Place::Denied(name.clone(), direction), count(fields, self.counts[1])))
        });
        rules.chain(denied).collect()
    }

    fn edit(&self, place: &Place, count: Option<Count>) -> Edit {
        let at = DataPath::root().child(self.counters).child(self.kept);
        let (at, key, [packets, bytes]) = match place {
            Place::Rule(path) => {
                let value = Value::Text(path.clone());
                (at.entry(self.rule, Key::one(value.clone())), vec![(self.path, value)], self.counts[0])
            }
            Place::Denied(name, direction) => {
                let direction = Value::Enum(if *direction == Direction::Ingress { INGRESS } else { EGRESS });
                let values = [Value::Text(name.clone()), direction];
                let at = at.entry(self.interface, values.iter().cloned().collect::<Key>());
                (at, [self.name, self.direction].into_iter().zip(values).collect(), self.counts[1])
            }
        };
        let Some(count) = count else { return Edit::remove(Store::Operational, at) };
        let counts = [(packets, Value::Uint(count.packets)), (bytes, Value::Uint(count.bytes))];
        let leafs = key.into_iter().chain(counts).map(|(id, value)| (id, Node::Leaf(value)));
        Edit::put(Store::Operational, at, Fields::of(leafs.collect()).into())
    }
}

impl Kept {
    /// As an earlier life of the controller left it.
    pub fn recovered(names: &Names, snapshot: &Snapshot) -> Kept {
        Kept { counts: names.read(snapshot), changed: BTreeSet::new() }
    }

    pub fn add(&mut self, place: Place, count: Count) {
        if !count.is_zero() {
            *self.counts.entry(place.clone()).or_default() += count;
            self.changed.insert(place);
        }
    }

    pub fn get(&self, place: &Place) -> Count {
        self.counts.get(place).copied().unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Place, &Count)> {
        self.counts.iter()
    }

    /// Forgets what is no longer there to be counted for.
    pub fn retain(&mut self, is_there: impl Fn(&Place) -> bool) {
        let gone = self.counts.extract_if(.., |place, _| !is_there(place));
        self.changed.extend(gone.map(|(place, _)| place));
    }

    /// The edits that write down what has changed since the last time.
    pub fn edits(&self, names: &Names) -> Vec<Edit> {
        self.changed.iter().map(|place| names.edit(place, self.counts.get(place).copied())).collect()
    }

    /// They are written down.
    pub fn written(&mut self) {
        self.changed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datastore::{Layers, Operation, Revision};
    use crate::schema::{Parents, builtin, tree};

    fn applied(snapshot: &mut Snapshot, edits: Vec<Edit>) {
        let input = &mut snapshot.operational.input;
        for edit in edits {
            match (edit.operation, edit.node) {
                (Operation::Replace, Some(node)) => {
                    tree::put(input, snapshot.schema, &edit.path, node, Parents::Create).unwrap();
                }
                (Operation::Remove, None) => drop(tree::remove(input, snapshot.schema, &edit.path).unwrap()),
                (other, _) => panic!("{other:?}"),
            }
        }
    }

    /// The next life of the controller knows what this one wrote down, and nothing of what it forgot.
    #[test]
    fn what_is_written_down_is_recovered() {
        let schema = builtin();
        let names = Names::new(schema);
        let (config, operational) = (Layers::default(), Layers::default());
        let mut snapshot = Snapshot { revision: Revision(1), schema, config, operational };
        let rule =
            Place::Rule("k8s:k8s/network-policies/network-policy=1/network-policy-spec/ingress=1".into());
        let denied = |direction| Place::Denied("blue:p1".into(), direction);
        let places = [rule, denied(Direction::Ingress), denied(Direction::Egress)];
        let mut kept = Kept::default();
        for (packets, place) in (1..).zip(&places) {
            kept.add(place.clone(), Count { packets, bytes: packets * 60 });
        }
        kept.add(denied(Direction::Egress), Count::default());
        applied(&mut snapshot, kept.edits(&names));
        kept.written();
        assert!(kept.edits(&names).is_empty());
        let recovered = Kept::recovered(&names, &snapshot);
        assert_eq!(recovered.counts, kept.counts);
        assert_eq!(recovered.get(&places[2]), Count { packets: 3, bytes: 180 });
        kept.retain(|place| *place != places[1]);
        applied(&mut snapshot, kept.edits(&names));
        assert_eq!(Kept::recovered(&names, &snapshot).counts, kept.counts);
        assert_eq!(kept.get(&places[1]), Count::default());
    }
}
