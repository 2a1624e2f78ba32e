//! Where operational data come from: RFC 8342 section 5.3.4, shown as RFC 8527 section 3.2.2 asks.

use super::super::data::Key;
use super::super::fields::Fields;
use super::super::ir::SchemaId;
use super::super::tree::NodeRef;

/// The identities of ietf-origin that occur here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Configured.
    Intended,
    /// Made by renderers out of configuration and facts.
    System,
    /// Seen on switches and in protocols.
    Learned,
    /// From a `default` statement.
    Default,
}

impl Origin {
    pub fn name(self) -> &'static str {
        match self {
            Origin::Intended => "ietf-origin:intended",
            Origin::System => "ietf-origin:system",
            Origin::Learned => "ietf-origin:learned",
            Origin::Default => "ietf-origin:default",
        }
    }
}

/// The same place in each of the trees that a view was united from; the first that has a node is its origin.
#[derive(Clone, Copy, Debug)]
pub struct Origins<'a> {
    places: [(Origin, Option<NodeRef<'a>>); 4],
}

impl<'a> Origins<'a> {
    /// From the four trees, in the order of their precedence.
    pub fn new(trees: [(Origin, &'a Fields); 4]) -> Origins<'a> {
        Origins { places: trees.map(|(origin, root)| (origin, Some(NodeRef::Fields(root)))) }
    }

    pub fn child(self, id: SchemaId) -> Origins<'a> {
        self.map(|node| match node {
            NodeRef::Fields(fields) => fields.get(id).map(NodeRef::from),
            _ => None,
        })
    }

    pub fn entry(self, key: &Key) -> Origins<'a> {
        self.map(|node| match node {
            NodeRef::List(list) => list.get(key).map(NodeRef::Fields),
            _ => None,
        })
    }

    /// Nothing has it: the schema's default.
    pub fn origin(&self) -> Origin {
        let found = self.places.iter().find(|(_, node)| node.is_some());
        found.map_or(Origin::Default, |(origin, _)| *origin)
    }

    fn map(self, step: impl Fn(NodeRef<'a>) -> Option<NodeRef<'a>>) -> Origins<'a> {
        Origins { places: self.places.map(|(origin, node)| (origin, node.and_then(&step))) }
    }
}
