//! A node together with its ancestors: what XPath walks on, since nodes do not know their parents.

use std::collections::HashMap;
use std::sync::LazyLock;

use smallvec::SmallVec;

use super::super::data::{Key, Node};
use super::super::fields::Fields;
use super::super::ir::{Kind, Schema, SchemaId};
use super::super::path::{DataPath, Step};
use super::super::tree::NodeRef;

/// What an absent non-presence container looks like.
static EMPTY: LazyLock<Fields> = LazyLock::new(Fields::default);

#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub id: SchemaId,
    pub key: Option<&'a Key>,
    pub node: NodeRef<'a>,
}

/// A place in a tree; no frames: the root.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    pub root: &'a Fields,
    pub frames: SmallVec<[Frame<'a>; 6]>,
}

impl<'a> Place<'a> {
    pub fn root(root: &'a Fields) -> Place<'a> {
        Place { root, frames: SmallVec::new() }
    }

    /// The place that a path names, as far down as there is something.
    pub fn at(root: &'a Fields, path: &DataPath) -> Place<'a> {
        let mut place = Place::root(root);
        for step in &path.steps {
            let Some(node) = place.fields().and_then(|fields| fields.get(step.node)) else { break };
            let frame = match (&step.key, node) {
                (Some(key), Node::List(list)) => match list.get_key_value(key) {
                    Some((key, entry)) => {
                        Frame { id: step.node, key: Some(key), node: NodeRef::Fields(entry) }
                    }
                    None => break,
                },
                (Some(key), Node::LeafList(values)) => {
                    let held = key.values().first().and_then(|value| values.get(value));
                    let Some(value) = held else { break };
                    Frame { id: step.node, key: None, node: NodeRef::Leaf(value) }
                }
                (_, node) => Frame { id: step.node, key: None, node: node.into() },
            };
            place.frames.push(frame);
        }
        place
    }

    pub fn node(&self) -> NodeRef<'a> {
        self.frames.last().map_or(NodeRef::Fields(self.root), |frame| frame.node)
    }

    pub fn id(&self) -> Option<SchemaId> {
        self.frames.last().map(|frame| frame.id)
    }

    pub fn fields(&self) -> Option<&'a Fields> {
        if let NodeRef::Fields(fields) = self.node() { Some(fields) } else { None }
    }

    pub fn parent(&self) -> Option<Place<'a>> {
        let (_, above) = self.frames.split_last()?;
        Some(Place { root: self.root, frames: above.iter().copied().collect() })
    }

    pub fn with(&self, frame: Frame<'a>) -> Place<'a> {
        let mut place = self.clone();
        place.frames.push(frame);
        place
    }

    /// All instances of a child that are there.
    pub fn present(&self, id: SchemaId) -> Vec<Place<'a>> {
        let frame = |key, node| self.with(Frame { id, key, node });
        match self.fields().and_then(|fields| fields.get(id)) {
            Some(Node::List(list)) => {
                list.iter().map(|(key, entry)| frame(Some(key), NodeRef::Fields(entry))).collect()
            }
            Some(Node::LeafList(values)) => {
                values.iter().map(|value| frame(None, NodeRef::Leaf(value))).collect()
            }
            Some(node) => vec![frame(None, node.into())],
            None => Vec::new(),
        }
    }

    /// The places of a child that is there without having been set: a leaf or the values of a leaf-list with a default, a
    /// non-presence container.
    pub fn implied(
        &self,
        schema: &Schema,
        id: SchemaId,
        defaults: &'a HashMap<SchemaId, Node>,
    ) -> Vec<Place<'a>> {
        let place = |node| self.with(Frame { id, key: None, node });
        match (&schema.node(id).kind, defaults.get(&id)) {
            (Kind::Container { presence: false }, _) => vec![place(NodeRef::Fields(&EMPTY))],
            (_, Some(Node::Leaf(value))) => vec![place(NodeRef::Leaf(value))],
            (_, Some(Node::LeafList(values))) => {
                values.iter().map(|value| place(NodeRef::Leaf(value))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A place for a child that may not be there, as `when` on absent nodes needs it.
    pub fn imagined(&self, id: SchemaId) -> Place<'a> {
        let node = self.fields().and_then(|fields| fields.get(id));
        let node = node.map_or(NodeRef::Fields(&EMPTY), NodeRef::from);
        self.with(Frame { id, key: None, node })
    }

    pub fn path(&self) -> DataPath {
        let step = |frame: &Frame<'_>| Step { node: frame.id, key: frame.key.cloned() };
        DataPath { steps: self.frames.iter().map(step).collect() }
    }
}
