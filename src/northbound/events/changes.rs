//! From two snapshots to the edits that lead from one to the other, of what a reader sees: several layers as one tree.
//!
//! The layers are compared by pointer first, so the cost follows the commit. The law: the edits, carried out one after the other
//! on what was there before, give what is there after.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::source::{Layers, Source, covers, value};
use crate::datastore::Snapshot;
use crate::schema::{
    DataPath, Entries, Fields, Key, Kind, Node, NodeRef, Schema, SchemaId, Value, Values, diff, tree,
    user_ordered,
};

/// What happens to a node (RFC 8072 names).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Create,
    Replace,
    Delete,
    /// The entry goes to the end of its list, which the user orders.
    MoveLast,
}

/// One edit. `node` is given for create and replace.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    pub action: Action,
    pub path: DataPath,
    pub node: Option<Node>,
}

/// The edits that make of parts of `before` the same parts of `after`: what goes first, then what comes, then moves. No part is
/// inside of another.
pub fn changes(
    schema: &Schema,
    source: Source,
    parts: &[DataPath],
    before: &Snapshot,
    after: &Snapshot,
) -> Vec<Change> {
    let (old, new) = (source.layers(before), source.layers(after));
    let mut places: BTreeMap<DataPath, bool> = BTreeMap::new();
    for (old, new) in old.iter().zip(&new) {
        for (path, a, b) in diff(schema, old, new) {
            let entry = path.steps.last().is_some_and(|step| step.key.is_some());
            let whole = entry && (a.is_none() || b.is_none());
            if let Some(part) = parts.iter().find(|part| covers(part, &path)) {
                let appears = whole && b.is_some();
                if appears && let Some(list) = ordered_list(schema, &path).filter(|list| covers(part, list)) {
                    places.entry(list).or_default();
                }
                *places.entry(path).or_default() |= whole;
            } else {
                for part in parts.iter().filter(|part| path.is_prefix_of(part)) {
                    *places.entry(part.clone()).or_default() |= whole;
                }
            }
        }
    }
    let mut walk = Walk { schema, old, new, found: Found::default() };
    let mut done: Option<&DataPath> = None;
    for (path, whole) in &places {
        if done.is_some_and(|done| covers(done, path)) || walk.found.is_settled(path) {
            continue;
        }
        walk.place(path, *whole);
        if *whole {
            done = Some(path);
        }
    }
    walk.found.all()
}

/// The list of an entry, where the user orders it.
fn ordered_list(schema: &Schema, path: &DataPath) -> Option<DataPath> {
    let id = path.last_node().filter(|id| user_ordered(schema, *id))?;
    Some(path.parent()?.child(id))
}

#[derive(Default)]
struct Found {
    gone: Vec<Change>,
    come: Vec<Change>,
    moved: Vec<Change>,
    /// What is told as a whole: nothing below it is told again.
    settled: BTreeSet<DataPath>,
}

impl Found {
    fn is_settled(&self, path: &DataPath) -> bool {
        let above = |length: usize| DataPath { steps: path.steps[..length].iter().cloned().collect() };
        !self.settled.is_empty() && (0..=path.steps.len()).any(|length| self.settled.contains(&above(length)))
    }

    fn all(self) -> Vec<Change> {
        let Found { gone, come, moved, settled } = self;
        let below = |path: &DataPath| settled.iter().any(|whole| whole != path && whole.is_prefix_of(path));
        let mut all: Vec<Change> = gone.into_iter().chain(come).chain(moved).collect();
        all.retain(|change| !below(&change.path));
        all
    }
}

struct Walk<'a> {
    schema: &'a Schema,
    old: Layers<'a>,
    new: Layers<'a>,
    found: Found,
}

type Sides<'a> = SmallVec<[&'a Fields; 4]>;

impl<'a> Walk<'a> {
    /// Compares what stands at a path; `whole`: with the entries of the lists below it.
    fn place(&mut self, path: &DataPath, whole: bool) {
        let (old, new) = (self.old.clone(), self.new.clone());
        let Some(step) = path.steps.last() else {
            return self.fields(path, &old, &new, whole);
        };
        let is_fields = match &self.schema.node(step.node).kind {
            Kind::Container { .. } => true,
            Kind::List { .. } => step.key.is_some(),
            _ => false,
        };
        if is_fields {
            let sides = |layers: &Layers<'a>| -> Sides<'a> {
                layers
                    .iter()
                    .filter_map(|layer| match tree::get_ref(layer, path) {
                        Some(NodeRef::Fields(fields)) => Some(fields),
                        _ => None,
                    })
                    .collect()
            };
            let (a, b) = (sides(&old), sides(&new));
            return self.object(path, &a, &b, whole);
        }
        let above = path.parent().unwrap_or_default();
        let (a, b) = (value(&old, path), value(&new, path));
        if step.key.is_some() {
            return self.single(path, a, b);
        }
        self.child(&above, step.node, a, b, whole);
    }

    /// A container or list entry.
    fn object(&mut self, path: &DataPath, a: &[&'a Fields], b: &[&'a Fields], whole: bool) {
        let stands_alone = path.steps.last().is_some_and(|step| {
            step.key.is_some()
                || matches!(self.schema.node(step.node).kind, Kind::Container { presence: true })
        });
        match (stands_alone, a.is_empty(), b.is_empty()) {
            (true, true, true) => {}
            (true, true, false) => self.come(Action::Create, path),
            (true, false, true) => {
                self.found.gone.push(Change { action: Action::Delete, path: path.clone(), node: None });
                self.found.settled.insert(path.clone());
            }
            _ => self.fields(path, a, b, whole),
        }
    }

    fn fields(&mut self, path: &DataPath, a: &[&'a Fields], b: &[&'a Fields], whole: bool) {
        if a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.ptr_eq(b)) {
            return;
        }
        let children = a.iter().chain(b).flat_map(|fields| fields.iter());
        let ids: BTreeSet<SchemaId> = children.map(|(id, _)| *id).collect();
        for id in ids {
            match &self.schema.node(id).kind {
                Kind::Container { .. } => {
                    let inner = |side: &[&'a Fields]| -> Sides<'a> {
                        side.iter().filter_map(|fields| fields.container(id)).collect()
                    };
                    self.object(&path.clone().child(id), &inner(a), &inner(b), whole);
                }
                Kind::List { keys, .. } if !keys.is_empty() => self.list(path, id, a, b, whole),
                _ => {
                    let held = |side: &[&'a Fields]| side.iter().find_map(|fields| fields.get(id)).cloned();
                    self.child(path, id, held(a), held(b), whole);
                }
            }
        }
    }

    fn list(&mut self, path: &DataPath, id: SchemaId, a: &[&'a Fields], b: &[&'a Fields], whole: bool) {
        if whole {
            let keys = a.iter().chain(b).filter_map(|fields| fields.list(id)).flatten();
            let keys: BTreeSet<&Key> = keys.map(|(key, _)| key).collect();
            for key in keys {
                let entries = |side: &[&'a Fields]| -> Sides<'a> {
                    side.iter().filter_map(|fields| fields.list(id)?.get(key)).collect()
                };
                self.object(&path.clone().entry(id, key.clone()), &entries(a), &entries(b), true);
            }
        }
        let is_ordered = |side: &[&'a Fields]| {
            let mut lists = side.iter().filter_map(|fields| fields.list(id));
            lists.any(|list| matches!(list.entries(), Entries::User(_)))
        };
        if is_ordered(a) || is_ordered(b) {
            let at = path.clone().child(id);
            self.order(path, id, value(&self.old, &at), value(&self.new, &at));
        }
    }

    /// A leaf, leaf-list or whole list below `above`.
    fn child(&mut self, above: &DataPath, id: SchemaId, a: Option<Node>, b: Option<Node>, whole: bool) {
        if a == b {
            return;
        }
        match &self.schema.node(id).kind {
            Kind::LeafList { .. } => self.leaf_list(above, id, a, b),
            Kind::List { keys, .. } if keys.is_empty() => self.come(Action::Replace, above),
            Kind::List { .. } => {
                if whole {
                    self.entries(above, id, &a, &b);
                }
                self.order(above, id, a, b);
            }
            _ => self.single(&above.clone().child(id), a, b),
        }
    }

    /// The entries of a whole list of which some layer made or lost everything above it.
    fn entries(&mut self, above: &DataPath, id: SchemaId, a: &Option<Node>, b: &Option<Node>) {
        let keys = [a, b].into_iter().flatten().filter_map(Node::as_list).flat_map(|list| list.iter());
        let keys: BTreeSet<Key> = keys.map(|(key, _)| key.clone()).collect();
        for key in keys {
            let path = above.clone().entry(id, key);
            if !self.found.is_settled(&path) {
                self.place(&path, true);
            }
        }
    }

    fn leaf_list(&mut self, above: &DataPath, id: SchemaId, a: Option<Node>, b: Option<Node>) {
        let values = |node: Option<Node>| match node {
            Some(Node::LeafList(values)) => values,
            _ => Values::default(),
        };
        let (a, b) = (values(a), values(b));
        let repeats = |values: &Values| values.iter().collect::<BTreeSet<&Value>>().len() != values.len();
        let kept = a.iter().filter(|value| b.contains(value));
        let in_place = kept.chain(b.iter().filter(|value| !a.contains(value))).eq(b.iter());
        let sorted = |values: &Values| values.iter().is_sorted();
        let system = self.schema.node(id).config && !user_ordered(self.schema, id);
        if repeats(&a)
            || repeats(&b)
            || !(in_place || user_ordered(self.schema, id) || (system && sorted(&b)))
        {
            // Entries that nobody can name or place: the node around them is told as a whole.
            return self.come(Action::Replace, above);
        }
        let entry = |value: &Value| above.clone().entry(id, Key::one(value.clone()));
        for value in a.iter().filter(|value| !b.contains(value)) {
            self.found.gone.push(Change { action: Action::Delete, path: entry(value), node: None });
        }
        for value in b.iter().filter(|value| !a.contains(value)) {
            let node = Some(Node::Leaf(value.clone()));
            self.found.come.push(Change { action: Action::Create, path: entry(value), node });
        }
        if !in_place && !system {
            for value in b.iter() {
                self.found.moved.push(Change { action: Action::MoveLast, path: entry(value), node: None });
            }
        }
    }

    /// Moves, where the entries of a list that the user orders do not fall into their places by themselves: those that come are
    /// told in the order of their keys.
    fn order(&mut self, above: &DataPath, id: SchemaId, a: Option<Node>, b: Option<Node>) {
        let Some(Node::List(b)) = b else { return };
        if !matches!(b.entries(), Entries::User(_)) {
            return;
        }
        let a = a.as_ref().and_then(Node::as_list);
        let was = |key: &Key| a.is_some_and(|list| list.get(key).is_some());
        let mut added: Vec<&Key> = b.iter().map(|(key, _)| key).filter(|key| !was(key)).collect();
        added.sort();
        let kept = a.into_iter().flat_map(|list| list.iter()).map(|(key, _)| key);
        let kept = kept.filter(|key| b.get(key).is_some());
        if !kept.chain(added).eq(b.iter().map(|(key, _)| key)) {
            self.moves(above, id, b.iter().map(|(key, _)| key));
        }
    }

    fn moves<'k>(&mut self, above: &DataPath, id: SchemaId, keys: impl Iterator<Item = &'k Key>) {
        if !user_ordered(self.schema, id) {
            return self.come(Action::Replace, above);
        }
        for key in keys {
            let path = above.clone().entry(id, key.clone());
            self.found.moved.push(Change { action: Action::MoveLast, path, node: None });
        }
    }

    fn single(&mut self, path: &DataPath, a: Option<Node>, b: Option<Node>) {
        match (a, b) {
            (None, Some(node)) => {
                self.found.come.push(Change { action: Action::Create, path: path.clone(), node: Some(node) });
            }
            (Some(a), Some(b)) if a != b => {
                self.found.come.push(Change { action: Action::Replace, path: path.clone(), node: Some(b) });
            }
            (Some(_), None) => {
                self.found.gone.push(Change { action: Action::Delete, path: path.clone(), node: None });
            }
            _ => {}
        }
    }

    /// Tells the node at a path as a whole.
    fn come(&mut self, action: Action, path: &DataPath) {
        if self.found.is_settled(path) {
            return;
        }
        let node = value(&self.new, path).unwrap_or_else(|| Node::Container(Fields::default()));
        self.found.come.push(Change { action, path: path.clone(), node: Some(node) });
        self.found.settled.insert(path.clone());
    }
}
