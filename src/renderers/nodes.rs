//! Building nodes of the derived layers.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;

use super::ids::POOLS;
use crate::datastore::{DerivedEdit, DerivedNode, IdChange, Store};
use crate::schema::{
    DataPath, Entries, Fields, Key, Kind, List, Node, Schema, SchemaId, Text, Value, Values,
};

/// A list and the path to it.
#[derive(Clone, Debug)]
pub(super) struct ListAt {
    parent: DataPath,
    list: SchemaId,
    key: Vec<SchemaId>,
}

impl ListAt {
    /// The list at a path such as `/elan:elan-instances/elan-instance`, outside other lists.
    ///
    /// # Panics
    /// When the models have no such list.
    pub fn new(schema: &Schema, path: &str) -> ListAt {
        let list = schema.resolve(path);
        ListAt { parent: DataPath::of_node(schema, schema.node(list).parent), list, key: keys(schema, list) }
    }

    /// The path of an entry, and a builder that holds its key leafs.
    pub fn entry<const N: usize>(&self, key: [Value; N]) -> (DataPath, Build) {
        entry(self.parent.clone(), self.list, &self.key, key)
    }

    /// The path of an entry of a list within an entry of this one.
    pub fn inner<const N: usize>(&self, key: [Value; N]) -> DataPath {
        self.parent.clone().entry(self.list, Key::from_iter(key))
    }
}

/// A list within a list.
#[derive(Clone, Debug)]
pub(super) struct InnerList {
    list: SchemaId,
    key: Vec<SchemaId>,
}

impl InnerList {
    pub fn new(schema: &Schema, path: &str) -> InnerList {
        let list = schema.resolve(path);
        InnerList { list, key: keys(schema, list) }
    }

    /// An entry below the entry at `parent`.
    pub fn entry<const N: usize>(&self, parent: DataPath, key: [Value; N]) -> (DataPath, Build) {
        entry(parent, self.list, &self.key, key)
    }

    /// The list with one entry, as a child of a node that is built.
    pub fn only<const N: usize>(
        &self,
        key: [Value; N],
        rest: impl FnOnce(Build) -> Build,
    ) -> (SchemaId, Node) {
        let (_, build) = entry(DataPath::root(), self.list, &self.key, key.clone());
        let entry = (Key::from_iter(key), rest(build).fields());
        (self.list, Node::List(Entries::One(entry).into()))
    }
}

impl InnerList {
    /// The list with these entries, as a child of a node that is built.
    pub fn each<const N: usize>(
        &self,
        entries: impl IntoIterator<Item = ([Value; N], impl FnOnce(Build) -> Build)>,
    ) -> (SchemaId, Node) {
        let built = entries.into_iter().map(|(key, rest)| {
            let (_, build) = entry(DataPath::root(), self.list, &self.key, key.clone());
            (Key::from_iter(key), rest(build).fields())
        });
        (self.list, Node::List(List::system_ordered(built.collect())))
    }
}

/// Children of an entry, as a rule.
const CHILDREN: usize = 12;

fn entry<const N: usize>(
    parent: DataPath,
    list: SchemaId,
    leafs: &[SchemaId],
    key: [Value; N],
) -> (DataPath, Build) {
    let mut children = Vec::with_capacity(CHILDREN);
    children.extend(leafs.iter().copied().zip(key.iter().cloned().map(Node::Leaf)));
    (parent.entry(list, Key::from_iter(key)), Build { children, common: SmallVec::new() })
}

fn keys(schema: &Schema, list: SchemaId) -> Vec<SchemaId> {
    match &schema.node(list).kind {
        Kind::List { keys, .. } => keys.clone(),
        _ => Vec::new(),
    }
}

/// A container or list entry under construction.
#[derive(Debug, Default)]
pub(super) struct Build {
    children: Vec<(SchemaId, Node)>,
    /// Those that are the same in many nodes.
    common: SmallVec<[SchemaId; 4]>,
}

impl Build {
    pub fn leaf(self, leaf: SchemaId, value: Value) -> Build {
        self.child((leaf, Node::Leaf(value)))
    }

    pub fn leaf_if(self, leaf: SchemaId, value: Option<Value>) -> Build {
        match value {
            Some(value) => self.leaf(leaf, value),
            None => self,
        }
    }

    /// A leaf of text that others hold, too.
    pub fn text_if(self, leaf: SchemaId, text: &Option<Text>) -> Build {
        self.leaf_if(leaf, text.clone().map(Value::Text))
    }

    pub fn leaf_list(self, leaf_list: SchemaId, values: impl IntoIterator<Item = Value>) -> Build {
        let values: Values = values.into_iter().collect();
        if values.is_empty() { self } else { self.child((leaf_list, Node::LeafList(values))) }
    }

    pub fn child(mut self, child: (SchemaId, Node)) -> Build {
        self.children.push(child);
        self
    }

    /// These children follow from a switch or a network: they are the same in many nodes, and held once.
    pub fn shares<const N: usize>(mut self, common: [SchemaId; N]) -> Build {
        self.common.extend(common);
        self
    }

    /// With all that the other one has.
    pub fn with(mut self, other: Build) -> Build {
        self.children.extend(other.children);
        self.common.extend(other.common);
        self
    }

    pub fn container(self, container: SchemaId, content: Build) -> Build {
        self.child((container, content.node()))
    }

    pub fn fields(self) -> Fields {
        Fields::sharing(self.children, &self.common)
    }

    pub fn node(self) -> Node {
        Node::Container(self.fields())
    }
}

/// Parts of nodes that are the same in many, each made once. What is made follows from the key alone.
pub(super) struct Made<K, V> {
    made: Mutex<BTreeMap<K, V>>,
}

impl<K, V> Default for Made<K, V> {
    fn default() -> Self {
        Made { made: Mutex::default() }
    }
}

impl<K: Ord, V: Clone> Made<K, V> {
    /// Parts that are remembered at most. When there are more, they are made again.
    const MOST: usize = 16_384;

    pub fn of(&self, key: K, make: impl FnOnce() -> V) -> V {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= Self::MOST && !made.contains_key(&key) {
            made.clear();
        }
        made.entry(key).or_insert_with(make).clone()
    }
}

/// Revision of what many nodes share: it is as old as the program, so that no commit copies it to stamp it.
const ALWAYS: u64 = 1;

/// A short list that is the same in many nodes, held once for all.
pub(super) fn shared((list, node): (SchemaId, Node)) -> (SchemaId, Node) {
    let Node::List(all) = &node else { return (list, node) };
    if !matches!(all.entries(), Entries::One(_) | Entries::Few(_)) {
        return (list, node);
    }
    let always = |(key, fields): (&Key, &Fields)| (key.clone(), fields.clone().dated(ALWAYS));
    (list, Node::List(List::system_ordered(all.iter().map(always).collect())))
}

/// The id pools as `/id-manager:id-pools` shows them.
pub(super) struct IdNodes {
    schema: &'static Schema,
    pool: ListAt,
    entries: InnerList,
    id_value: SchemaId,
    block_size: SchemaId,
    available: SchemaId,
    start: SchemaId,
    end: SchemaId,
}

impl IdNodes {
    pub fn new(schema: &'static Schema) -> IdNodes {
        let id = |leaf: &str| schema.resolve(&format!("/id-manager:id-pools/id-pool/{leaf}"));
        IdNodes {
            schema,
            pool: ListAt::new(schema, "/id-manager:id-pools/id-pool"),
            entries: InnerList::new(schema, "/id-manager:id-pools/id-pool/id-entries"),
            id_value: id("id-entries/id-value"),
            block_size: id("block-size"),
            available: id("available-ids-holder"),
            start: id("available-ids-holder/start"),
            end: id("available-ids-holder/end"),
        }
    }

    /// The pools themselves, without entries.
    pub fn pools(&self) -> Vec<DerivedEdit> {
        let edit = |range: &super::PoolRange| {
            let (path, build) = self.pool.entry([Value::text(range.name)]);
            let holder = Build::default()
                .leaf(self.start, Value::Uint(range.first.into()))
                .leaf(self.end, Value::Uint(range.last.into()));
            let node = build.leaf(self.block_size, Value::Uint(1)).container(self.available, holder).node();
            DerivedEdit::Put(derived(self.schema, path, node))
        };
        POOLS.iter().map(edit).collect()
    }

    /// Entries that came and went.
    pub fn entries(&self, changes: &[IdChange]) -> Vec<DerivedEdit> {
        let edit = |change: &IdChange| {
            let pool = self.pool.inner([Value::Text(change.pool.clone())]);
            let (path, build) = self.entries.entry(pool, [Value::Text(change.key.clone())]);
            match change.id {
                Some(id) => {
                    let node = build.leaf_list(self.id_value, [Value::Uint(id.into())]).node();
                    DerivedEdit::Put(derived(self.schema, path, node))
                }
                None => DerivedEdit::Gone(derived(self.schema, path, build.node())),
            }
        };
        changes
            .iter()
            .filter(|change| POOLS.iter().any(|range| range.name == change.pool))
            .map(edit)
            .collect()
    }
}

fn derived(schema: &Schema, path: DataPath, node: Node) -> DerivedNode {
    DerivedNode::new(schema, Store::Operational, path, node)
}
