//! The children of a container or list entry. Which there are is held once for all nodes with the same ones.

use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use hashbrown::HashSet;
use smallvec::SmallVec;

use super::data::Node;
use super::ir::SchemaId;

/// Schema ids in ascending order.
type Ids = SmallVec<[SchemaId; 10]>;

/// Child nodes by schema id.
#[derive(Clone, Debug)]
pub struct Children {
    ids: Arc<Ids>,
    nodes: Box<[Node]>,
}

/// Every row of ids that some node has.
#[derive(Default)]
struct Rows {
    rows: HashSet<Arc<Ids>>,
    /// How many were left after the last sweep.
    swept: usize,
}

static ROWS: LazyLock<RwLock<Rows>> = LazyLock::new(RwLock::default);
static NONE: LazyLock<Arc<Ids>> = LazyLock::new(Arc::default);

impl Children {
    /// From children in ascending order.
    pub fn sorted(children: Vec<(SchemaId, Node)>) -> Children {
        debug_assert!(children.is_sorted_by(|(one, _), (other, _)| one < other), "in ascending order");
        let ids: Ids = children.iter().map(|(id, _)| *id).collect();
        Children { ids: row(ids), nodes: children.into_iter().map(|(_, node)| node).collect() }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn get(&self, id: SchemaId) -> Option<&Node> {
        self.nodes.get(self.ids.binary_search(&id).ok()?)
    }

    pub fn get_mut(&mut self, id: SchemaId) -> Option<&mut Node> {
        self.nodes.get_mut(self.ids.binary_search(&id).ok()?)
    }

    /// Sets this child; `None`: takes it out.
    pub fn set(&mut self, id: SchemaId, node: Option<Node>) {
        match (self.ids.binary_search(&id), node) {
            (Ok(at), Some(node)) => self.nodes[at] = node,
            (Err(_), None) => {}
            (Ok(at), None) => self.edit(|ids, nodes| {
                ids.remove(at);
                nodes.remove(at);
            }),
            (Err(at), Some(node)) => self.edit(|ids, nodes| {
                nodes.reserve_exact(1);
                nodes.insert(at, node);
                ids.insert(at, id);
            }),
        }
    }

    /// A change of which children there are.
    fn edit(&mut self, change: impl FnOnce(&mut Ids, &mut Vec<Node>)) {
        let mut ids = Ids::clone(&self.ids);
        let mut nodes = std::mem::take(&mut self.nodes).into_vec();
        change(&mut ids, &mut nodes);
        (self.ids, self.nodes) = (row(ids), nodes.into_boxed_slice());
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&SchemaId, &Node)> + Clone {
        self.ids.iter().zip(&self.nodes)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&SchemaId, &mut Node)> {
        self.ids.iter().zip(&mut self.nodes)
    }
}

/// The one row with these ids.
fn row(ids: Ids) -> Arc<Ids> {
    if ids.is_empty() {
        return NONE.clone();
    }
    if let Some(known) = ROWS.read().unwrap_or_else(PoisonError::into_inner).rows.get(&ids) {
        return known.clone();
    }
    let mut held = ROWS.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = held.rows.get(&ids) {
        return known.clone();
    }
    // Rows that nobody has are forgotten, once they may be half of all.
    if held.rows.len() > 2 * held.swept + 1024 {
        held.rows.retain(|row| Arc::strong_count(row) > 1);
        held.swept = held.rows.len();
    }
    let row = Arc::new(ids);
    held.rows.insert(row.clone());
    row
}

impl Default for Children {
    fn default() -> Children {
        Children { ids: NONE.clone(), nodes: Box::default() }
    }
}

impl PartialEq for Children {
    fn eq(&self, other: &Children) -> bool {
        (Arc::ptr_eq(&self.ids, &other.ids) || self.ids == other.ids) && self.nodes == other.nodes
    }
}

impl Eq for Children {}

impl<'a> IntoIterator for &'a Children {
    type Item = (&'a SchemaId, &'a Node);
    type IntoIter = std::iter::Zip<std::slice::Iter<'a, SchemaId>, std::slice::Iter<'a, Node>>;

    fn into_iter(self) -> Self::IntoIter {
        self.ids.iter().zip(&self.nodes)
    }
}

impl<'a> IntoIterator for &'a mut Children {
    type Item = (&'a SchemaId, &'a mut Node);
    type IntoIter = std::iter::Zip<std::slice::Iter<'a, SchemaId>, std::slice::IterMut<'a, Node>>;

    fn into_iter(self) -> Self::IntoIter {
        self.ids.iter().zip(&mut self.nodes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::value::Value;
    use super::*;

    proptest! {
        /// Edited one by one, they are a map; equal ones hold one row of ids.
        #[test]
        fn edited_one_by_one_they_are_a_map(edits in prop::collection::vec((0_u32..24, 0_u64..3), 0..80)) {
            let (mut children, mut model) = (Children::default(), BTreeMap::new());
            for (id, value) in edits {
                let node = (value > 0).then_some(Node::Leaf(Value::Uint(value)));
                children.set(SchemaId(id), node.clone());
                match node {
                    Some(node) => model.insert(SchemaId(id), node),
                    None => model.remove(&SchemaId(id)),
                };
                prop_assert!(children.iter().eq(model.iter()));
                prop_assert_eq!(children.get(SchemaId(id)), model.get(&SchemaId(id)));
                let again = Children::sorted(model.clone().into_iter().collect());
                prop_assert!(Arc::ptr_eq(&again.ids, &children.ids));
                prop_assert_eq!(again, children.clone());
            }
        }
    }
}
