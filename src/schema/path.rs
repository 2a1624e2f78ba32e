use smallvec::SmallVec;

use super::data::Key;
use super::ir::SchemaId;

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

    pub fn child(mut self, node: SchemaId) -> DataPath {
        self.steps.push(Step { node, key: None });
        self
    }

    pub fn entry(mut self, list: SchemaId, key: Key) -> DataPath {
        self.steps.push(Step { node: list, key: Some(key) });
        self
    }
}
