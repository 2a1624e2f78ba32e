//! Who refers to what, and which rows must be unique: brought from one state of the tree to the next by what differs, so
//! that a check costs what the edit costs and not what the lists hold.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::data::{Key, Node};
use super::super::diff::diff;
use super::super::fields::Fields;
use super::super::ir::{Kind, Schema, SchemaId};
use super::super::path::DataPath;
use super::super::rules::Rules;
use super::super::value::{Text, Value};

/// Kept by whoever validates one change after the other, for one store. Starts empty; it holds values only of leafs that
/// `leafref`, `instance-identifier` (with require-instance) or `unique` are about.
#[derive(Debug, Default)]
pub struct Index {
    /// What the index is of: the state without what nothing in it is about. Lists that others are about stay alone, so that they
    /// can be edited where they are.
    root: Fields,
    /// The places that hold a value, for the leafs in [`Rules::indexed`].
    holders: HashMap<(SchemaId, Value), HashSet<DataPath>>,
    /// The entries of a list that have the same values of a `unique` statement.
    rows: HashMap<Row, HashSet<Key>>,
    /// The leafs that hold an instance-identifier, by its text.
    pointers: BTreeMap<Text, HashSet<DataPath>>,
    /// Of leafs that rules follow, the places that hold an instance-identifier, by what is so many steps above what it names.
    named_below: HashMap<(SchemaId, usize, DataPath), HashSet<DataPath>>,
}

/// A list, the number of a `unique` statement of it, and values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Row {
    pub list: DataPath,
    pub number: usize,
    pub values: Vec<Value>,
}

/// In or out of the index.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    In,
    Out,
}

fn turn<K: std::hash::Hash + Eq, T: std::hash::Hash + Eq>(
    map: &mut HashMap<K, HashSet<T>>,
    key: K,
    item: T,
    turn: Turn,
) {
    if turn == Turn::In {
        map.entry(key).or_default().insert(item);
    } else if let Some(set) = map.get_mut(&key) {
        set.remove(&item);
        if set.is_empty() {
            map.remove(&key);
        }
    }
}

impl Index {
    /// Moves on to another state.
    pub(super) fn advance(&mut self, schema: &Schema, rules: &Rules, root: &Fields) {
        let root = leading(rules, root);
        let changes = diff(schema, &self.root, &root);
        self.root = root;
        let mut walk = Walk { schema, rules, index: self };
        for (path, before, after) in &changes {
            let is_entry = path.steps.last().is_some_and(|step| step.key.is_some());
            let whole = is_entry && (before.is_none() || after.is_none());
            for (node, turn) in [(before, Turn::Out), (after, Turn::In)] {
                match node {
                    Some(Node::Container(fields)) if is_entry => walk.entry(path, fields, whole, turn),
                    Some(Node::Container(fields)) => walk.fields(path, fields, false, turn),
                    // The entries of lists are changes of their own.
                    Some(Node::List(_)) | None => {}
                    Some(node) => walk.leafs(path, node, turn),
                }
            }
        }
    }

    /// The places that hold this value of a leaf.
    pub(super) fn holders(&self, leaf: SchemaId, value: &Value) -> impl Iterator<Item = &DataPath> {
        self.holders.get(&(leaf, value.clone())).into_iter().flatten()
    }

    /// Another entry than this one with the same row.
    pub(super) fn twin(&self, row: &Row, key: &Key) -> Option<&Key> {
        self.rows.get(row)?.iter().filter(|other| *other != key).min()
    }

    /// The leafs with an instance-identifier that leads to this path or into it.
    pub(super) fn pointing_into<'i>(&'i self, path: &'i str) -> impl Iterator<Item = &'i DataPath> {
        let below = move |text: &str| {
            text.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '[']))
        };
        let range =
            self.pointers.range::<str, _>((std::ops::Bound::Included(path), std::ops::Bound::Unbounded));
        range
            .take_while(move |(text, _)| text.starts_with(path))
            .filter(move |(text, _)| below(text))
            .flat_map(|(_, places)| places)
    }

    /// The places of such a leaf that name something exactly `climb` steps below a path (or, at the root, up to so many).
    pub(super) fn naming_below(
        &self,
        leaf: SchemaId,
        climb: usize,
        path: &DataPath,
    ) -> impl Iterator<Item = &DataPath> {
        self.named_below.get(&(leaf, climb, path.clone())).into_iter().flatten()
    }
}

/// The containers and lists of a tree that lead to what the index is about.
fn leading(rules: &Rules, fields: &Fields) -> Fields {
    let children = fields.iter().filter(|(id, _)| rules.leading.contains(*id));
    let children = children.map(|(id, node)| match node {
        Node::Container(inner) => (*id, Node::Container(leading(rules, inner))),
        node => (*id, node.clone()),
    });
    Fields::of(children.collect())
}

struct Walk<'a> {
    schema: &'a Schema,
    rules: &'a Rules,
    index: &'a mut Index,
}

impl Walk<'_> {
    /// An entry and what is below it; `whole`: the entries of its lists too.
    fn entry(&mut self, path: &DataPath, fields: &Fields, whole: bool, way: Turn) {
        if let Some(step) = path.steps.last()
            && let (Kind::List { unique, .. }, Some(key)) = (&self.schema.node(step.node).kind, &step.key)
        {
            for (number, paths) in unique.iter().enumerate() {
                if let Some(values) = row(self.rules, fields, paths) {
                    let list = path.parent().unwrap_or_default().child(step.node);
                    turn(&mut self.index.rows, Row { list, number, values }, key.clone(), way);
                }
            }
        }
        self.fields(path, fields, whole, way);
    }

    fn fields(&mut self, path: &DataPath, fields: &Fields, whole: bool, way: Turn) {
        for (id, node) in fields.iter() {
            if !self.schema.node(*id).config {
                continue;
            }
            match node {
                Node::Container(inner) => self.fields(&path.clone().child(*id), inner, whole, way),
                Node::List(list) if whole => {
                    for (key, entry) in list {
                        self.entry(&path.clone().entry(*id, key.clone()), entry, true, way);
                    }
                }
                Node::List(_) => {}
                node if self.rules.indexed.contains(id) => self.leafs(&path.clone().child(*id), node, way),
                _ => {}
            }
        }
    }

    /// A leaf or leaf-list at its path.
    fn leafs(&mut self, path: &DataPath, node: &Node, way: Turn) {
        let Some(id) = path.last_node().filter(|id| self.rules.indexed.contains(id)) else { return };
        match node {
            Node::Leaf(value) => self.leaf(id, value, path.clone(), way),
            Node::LeafList(values) => {
                let above = path.parent().unwrap_or_default();
                for value in values.iter() {
                    self.leaf(id, value, above.clone().entry(id, Key::one(value.clone())), way);
                }
            }
            _ => {}
        }
    }

    fn leaf(&mut self, id: SchemaId, value: &Value, path: DataPath, way: Turn) {
        if self.rules.points(id)
            && let Value::Text(text) = value
        {
            let places = self.index.pointers.entry(text.clone()).or_default();
            if way == Turn::In {
                places.insert(path.clone());
            } else {
                places.remove(&path);
            }
            if places.is_empty() {
                self.index.pointers.remove(text);
            }
            if let Some(climbs) = self.rules.climbs.get(&id)
                && let Ok(named) = DataPath::parse_instance_identifier(self.schema, text)
            {
                for climb in climbs {
                    let mut above = named.clone();
                    above.steps.truncate(above.steps.len().saturating_sub(*climb));
                    turn(&mut self.index.named_below, (id, *climb, above), path.clone(), way);
                }
            }
        }
        turn(&mut self.index.holders, (id, value.clone()), path, way);
    }
}

/// The values of a `unique` statement; `None` if one of them is not there (RFC 7950 section 7.8.3).
pub(super) fn row(rules: &Rules, entry: &Fields, paths: &[Vec<SchemaId>]) -> Option<Vec<Value>> {
    paths.iter().map(|path| at_chain(rules, entry, path).cloned()).collect()
}

/// The leaf at the end of a chain of schema ids, or its default.
pub(super) fn at_chain<'a>(rules: &'a Rules, entry: &'a Fields, chain: &[SchemaId]) -> Option<&'a Value> {
    let (leaf, above) = chain.split_last()?;
    let mut fields = Some(entry);
    for step in above {
        fields = fields.and_then(|fields| fields.container(*step));
    }
    fields.and_then(|fields| fields.leaf(*leaf)).or_else(|| rules.default_leaf(*leaf))
}
