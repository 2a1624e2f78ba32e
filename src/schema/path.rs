use std::fmt::Write as _;

use smallvec::SmallVec;

use super::data::Key;
use super::ir::{Schema, SchemaId};
use super::lexical;
use super::uri;

/// Where a data node is: from the root of a datastore downwards. Empty: the datastore itself.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct DataPath {
    pub steps: SmallVec<[Step; 4]>,
}

/// One step: a schema node, and for a list entry its key (for a leaf-list entry its value as the only key part).
/// A list step without a key names the whole list.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Step {
    pub node: SchemaId,
    pub key: Option<Key>,
}

impl DataPath {
    pub fn root() -> DataPath {
        DataPath::default()
    }

    /// The path of a node that has no list above it; of the datastore itself, if there is none.
    pub fn of_node(schema: &Schema, node: Option<SchemaId>) -> DataPath {
        let way = node.map(|node| schema.way_to(node)).unwrap_or_default();
        way.into_iter().fold(DataPath::root(), DataPath::child)
    }

    pub fn child(mut self, node: SchemaId) -> DataPath {
        self.steps.push(Step { node, key: None });
        self
    }

    pub fn entry(mut self, list: SchemaId, key: Key) -> DataPath {
        self.steps.push(Step { node: list, key: Some(key) });
        self
    }

    /// The path without its last step; `None` for the root.
    pub fn parent(&self) -> Option<DataPath> {
        let (_, above) = self.steps.split_last()?;
        Some(DataPath { steps: above.iter().cloned().collect() })
    }

    /// This path with the steps of `below` after it.
    pub fn joined(mut self, below: DataPath) -> DataPath {
        self.steps.extend(below.steps);
        self
    }

    /// The schema node at the end; `None` for the root.
    pub fn last_node(&self) -> Option<SchemaId> {
        self.steps.last().map(|step| step.node)
    }

    /// True if this path is `other` or leads to it.
    pub fn is_prefix_of(&self, other: &DataPath) -> bool {
        other.steps.starts_with(&self.steps)
    }

    /// As an instance-identifier of RFC 7951: `/pod:coe/pods[uid='…']`. A leaf-list entry is `[.='…']`.
    pub fn display(&self, schema: &Schema) -> String {
        let mut text = String::new();
        for (at, step) in self.steps.iter().enumerate() {
            text.push('/');
            self.push_name(schema, at, &mut text);
            let keys = lexical::key_leafs(schema, step.node);
            for (position, value) in step.key.iter().flat_map(|key| key.values()).enumerate() {
                let name = keys.get(position).map_or(".", |leaf| &*schema.node(*leaf).name);
                let value = lexical::key_text(schema, step.node, position, value);
                let quote = if value.contains('\'') { '"' } else { '\'' };
                let _ = write!(text, "[{name}={quote}{value}{quote}]");
            }
        }
        if text.is_empty() { "/".into() } else { text }
    }

    /// As the resource identifier of RFC 8040, without a leading slash: `pod:coe/pods=…/interface=…`.
    pub fn to_rfc8040(&self, schema: &Schema) -> String {
        self.written(schema, '=', ',')
    }

    /// As OpenDaylight's older root spells it, without a leading slash: `pod:coe/pods/…/interface/…`.
    pub fn to_legacy(&self, schema: &Schema) -> String {
        self.written(schema, '/', '/')
    }

    /// The steps with a slash between them; what stands before the first value of a key, and between its values.
    fn written(&self, schema: &Schema, before_key: char, between: char) -> String {
        let mut text = String::new();
        for (at, step) in self.steps.iter().enumerate() {
            if at > 0 {
                text.push('/');
            }
            self.push_name(schema, at, &mut text);
            for (position, value) in step.key.iter().flat_map(|key| key.values()).enumerate() {
                text.push(if position == 0 { before_key } else { between });
                uri::percent_encode(&lexical::key_text(schema, step.node, position, value), &mut text);
            }
        }
        text
    }

    /// The name of a step, with its module where that is not the module of the step above.
    fn push_name(&self, schema: &Schema, at: usize, text: &mut String) {
        let node = schema.node(self.steps[at].node);
        if at == 0 || schema.node(self.steps[at - 1].node).module != node.module {
            text.push_str(&schema.module(node.module).name);
            text.push(':');
        }
        text.push_str(&node.name);
    }
}
