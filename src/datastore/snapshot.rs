use super::{Layers, Revision, Snapshot, Store};
use crate::schema::{DataPath, Fields, Key, Node, Schema, SchemaId, get_merged, merge_layers, tree};

impl Snapshot {
    pub fn empty(schema: &'static Schema) -> Snapshot {
        Snapshot { revision: Revision(0), schema, config: Layers::default(), operational: Layers::default() }
    }

    pub fn layers(&self, store: Store) -> &Layers {
        match store {
            Store::Config => &self.config,
            Store::Operational => &self.operational,
        }
    }

    pub(super) fn layers_mut(&mut self, store: Store) -> &mut Layers {
        match store {
            Store::Config => &mut self.config,
            Store::Operational => &mut self.operational,
        }
    }

    /// What stands at a path, written or derived. The empty path is the whole store.
    pub fn read(&self, store: Store, path: &DataPath) -> Option<Node> {
        let layers = self.layers(store);
        if path.steps.is_empty() {
            return Some(Node::Container(merge_layers(&layers.input, &layers.derived)));
        }
        get_merged(&layers.input, &layers.derived, path)
    }

    /// The entry of a list below a top-level container, written or derived.
    pub fn entry(&self, store: Store, container: SchemaId, list: SchemaId, key: Key) -> Option<Fields> {
        match self.read(store, &DataPath::root().child(container).entry(list, key)) {
            Some(Node::Container(fields)) => Some(fields),
            _ => None,
        }
    }

    /// What was written at a path; derived data are left out.
    pub fn written(&self, store: Store, path: &DataPath) -> Option<Node> {
        tree::get(&self.layers(store).input, path)
    }
}
