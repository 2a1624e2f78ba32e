//! Instance data: immutable trees that share what did not change.
//!
//! Small things are sorted arrays behind an `Arc`; only long lists are persistent maps, because a map node costs
//! more than a kilobyte however little is in it.

use std::sync::Arc;

use imbl::{OrdMap, Vector};
use smallvec::SmallVec;

use super::ir::SchemaId;
use super::value::Value;

/// The key values of a list entry, in the order of the `key` statement.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key(pub SmallVec<[Value; 1]>);

/// One data node.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Container(Arc<Fields>),
    List(List),
    Leaf(Value),
    LeafList(Arc<[Value]>),
}

/// The children of a container or list entry, sorted by schema id. An absent child has no field.
/// Equality is equality of the data; `modified` does not count.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// Revision of the last change in this subtree; 0 while it is not committed.
    pub modified: u64,
    pub children: Box<[(SchemaId, Node)]>,
}

/// A list: its entries, ordered by key, by the user, or by position.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    pub entries: Entries,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Entries {
    /// Few entries: sorted by key (system-ordered).
    Few(Arc<[(Key, Arc<Fields>)]>),
    /// Many entries, system-ordered.
    Many(OrdMap<Key, Arc<Fields>>),
    /// Ordered by the user.
    User(Vector<(Key, Arc<Fields>)>),
    /// Keyless (operational only).
    Keyless(Vector<Arc<Fields>>),
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        self.children == other.children
    }
}

impl Key {
    pub fn one(value: Value) -> Key {
        Key(SmallVec::from_iter([value]))
    }

    pub fn text(text: impl AsRef<str>) -> Key {
        Key::one(Value::text(text))
    }
}

impl Fields {
    pub fn get(&self, child: SchemaId) -> Option<&Node> {
        let at = self.children.binary_search_by_key(&child, |(id, _)| *id).ok()?;
        Some(&self.children[at].1)
    }

    pub fn leaf(&self, child: SchemaId) -> Option<&Value> {
        if let Some(Node::Leaf(value)) = self.get(child) { Some(value) } else { None }
    }

    pub fn text(&self, child: SchemaId) -> Option<&str> {
        self.leaf(child)?.as_text()
    }

    pub fn list(&self, child: SchemaId) -> Option<&List> {
        if let Some(Node::List(list)) = self.get(child) { Some(list) } else { None }
    }

    pub fn container(&self, child: SchemaId) -> Option<&Arc<Fields>> {
        if let Some(Node::Container(fields)) = self.get(child) { Some(fields) } else { None }
    }

    pub fn leaf_list(&self, child: SchemaId) -> &[Value] {
        if let Some(Node::LeafList(values)) = self.get(child) { values } else { &[] }
    }
}
