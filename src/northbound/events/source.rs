//! Which trees a reader looks at, as one.

use smallvec::SmallVec;

use crate::datastore::{Snapshot, Store};
use crate::schema::{DataPath, Fields, Node, NodeRef, Parents, Schema, TreeError, merge_layers, tree};

/// What is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// `running` of RFC 8342: what was written.
    Running,
    /// `intended`: that, and the configuration that follows from it.
    Intended,
    /// The operational store alone, as OpenDaylight's clients know it.
    State,
    /// `operational`: everything in use.
    Operational,
}

/// The layers of a source; where several have a leaf, the first one counts.
pub type Layers<'a> = SmallVec<[&'a Fields; 4]>;

impl Source {
    /// The name of the datastore, as an identity; the store alone has none.
    pub fn identity(self) -> Option<&'static str> {
        match self {
            Source::Running => Some("ietf-datastores:running"),
            Source::Intended => Some("ietf-datastores:intended"),
            Source::State => None,
            Source::Operational => Some("ietf-datastores:operational"),
        }
    }

    pub fn layers(self, snapshot: &Snapshot) -> Layers<'_> {
        let (config, state) = (snapshot.layers(Store::Config), snapshot.layers(Store::Operational));
        let mut layers = Layers::new();
        match self {
            Source::Running => layers.push(&config.input),
            Source::Intended => layers.extend([&config.input, &config.derived]),
            Source::State => layers.extend([&state.input, &state.derived]),
            Source::Operational => {
                layers.extend([&config.input, &config.derived, &state.input, &state.derived]);
            }
        }
        layers
    }

    /// What stands at a path.
    pub fn read(self, snapshot: &Snapshot, path: &DataPath) -> Option<Node> {
        value(&self.layers(snapshot), path)
    }

    /// The same of several places in a tree that holds nothing else: what the datastore would be with these parts only.
    ///
    /// # Errors
    /// When a path is none of the model.
    pub fn alone(
        self,
        schema: &Schema,
        snapshot: &Snapshot,
        parts: &[DataPath],
    ) -> Result<Fields, TreeError> {
        let mut root = Fields::default();
        for path in parts {
            if let Some(node) = self.read(snapshot, path) {
                tree::put(&mut root, schema, path, node, Parents::Create)?;
            }
        }
        Ok(root)
    }
}

/// What several layers hold at a path, as one node.
pub fn value(layers: &[&Fields], path: &DataPath) -> Option<Node> {
    let mut found = layers.iter().filter_map(|layer| tree::get_ref(layer, path).map(NodeRef::to_node));
    let first = found.next()?;
    let Some(id) = path.last_node() else {
        return Some(found.fold(first, |first, next| match (&first, &next) {
            (Node::Container(a), Node::Container(b)) => Node::Container(merge_layers(a, b)),
            _ => first,
        }));
    };
    let alone = |node: Node| Fields::of(vec![(id, node)]);
    Some(found.fold(first, |first, next| {
        let united = merge_layers(&alone(first.clone()), &alone(next));
        united.get(id).cloned().unwrap_or(first)
    }))
}

/// Does `part` lead to `path` or below it? A list without a key leads to all of its entries.
pub fn covers(part: &DataPath, path: &DataPath) -> bool {
    let Some((last, above)) = part.steps.split_last() else { return true };
    path.steps.starts_with(above)
        && path
            .steps
            .get(above.len())
            .is_some_and(|step| step.node == last.node && (last.key.is_none() || last.key == step.key))
}
