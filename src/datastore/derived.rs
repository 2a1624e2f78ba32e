//! Nodes of the derived layers as those who derive them keep them: few bytes beside what the tree holds anyway.

use std::cmp::Ordering;
use std::sync::Arc;

use smallvec::SmallVec;

use super::Store;
use crate::schema::{DataPath, Fields, Key, Kind, Node, Schema, SchemaId, Step, Value};

/// Where derived nodes stand: one node, or entries of one list, which differ by keys that they hold themselves.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    pub store: Store,
    /// The steps above the last.
    pub above: Box<[Step]>,
    /// The schema node of the last step.
    pub node: SchemaId,
    key: KeyedBy,
}

/// Where the key of the last step is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum KeyedBy {
    /// There is none.
    Nothing,
    /// In these leafs of the node, in the order of the `key` statement.
    Leafs(Box<[SchemaId]>),
    /// The node is an entry of a leaf-list: it is its own key.
    Itself,
    /// Here: the node does not hold it.
    Given(Key),
}

/// A node of a derived layer. The datastore and whoever derived it share what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedNode {
    place: Arc<Place>,
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Fields(Fields),
    Other(Arc<Node>),
}

impl Place {
    /// The place of a node at this path.
    pub fn of(schema: &Schema, store: Store, path: DataPath, node: &Node) -> Place {
        let mut steps = path.steps;
        let Some(last) = steps.pop() else {
            return Place { store, above: Box::default(), node: SchemaId(0), key: KeyedBy::Nothing };
        };
        let key = KeyedBy::of(schema, &last, node);
        Place { store, above: steps.into_vec().into(), node: last.node, key }
    }

    /// Whether a node at this path stands here.
    pub fn is_of(&self, schema: &Schema, store: Store, path: &DataPath, node: &Node) -> bool {
        let Some((last, above)) = path.steps.split_last() else { return false };
        self.store == store
            && self.node == last.node
            && *self.above == *above
            && self.key.holds(schema, last, node)
    }

    /// Steps down to the nodes that stand here.
    pub fn depth(&self) -> usize {
        self.above.len() + 1
    }
}

impl KeyedBy {
    fn of(schema: &Schema, last: &Step, node: &Node) -> KeyedBy {
        let Some(key) = &last.key else { return KeyedBy::Nothing };
        let leafs = match (&schema.node(last.node).kind, node) {
            (Kind::List { keys, .. }, Node::Container(_)) => KeyedBy::Leafs(keys.as_slice().into()),
            (Kind::LeafList { .. }, Node::Leaf(_)) => KeyedBy::Itself,
            _ => KeyedBy::Nothing,
        };
        if leafs.is(key, node) { leafs } else { KeyedBy::Given(key.clone()) }
    }

    /// The same as [`KeyedBy::of`] would find.
    fn holds(&self, schema: &Schema, last: &Step, node: &Node) -> bool {
        match (self, &last.key) {
            (KeyedBy::Nothing, key) => key.is_none(),
            (KeyedBy::Given(_), Some(_)) => *self == KeyedBy::of(schema, last, node),
            (_, Some(key)) => self.is(key, node),
            (_, None) => false,
        }
    }

    /// Whether this key is what the node holds.
    fn is(&self, key: &Key, node: &Node) -> bool {
        match (self, node) {
            (KeyedBy::Leafs(leafs), Node::Container(fields)) => {
                leafs.len() == key.values().len()
                    && leafs.iter().zip(key.values()).all(|(leaf, value)| fields.leaf(*leaf) == Some(value))
            }
            (KeyedBy::Itself, Node::Leaf(own)) => key.values() == [own.clone()],
            _ => false,
        }
    }
}

impl DerivedNode {
    /// A node at that place, which must be [that of its path](Place::of).
    pub fn at(place: Arc<Place>, node: Node) -> DerivedNode {
        let content = match node {
            Node::Container(fields) => Content::Fields(fields),
            other => Content::Other(Arc::new(other)),
        };
        DerivedNode { place, content }
    }

    pub fn new(schema: &Schema, store: Store, path: DataPath, node: Node) -> DerivedNode {
        DerivedNode::at(Arc::new(Place::of(schema, store, path, &node)), node)
    }

    pub fn place(&self) -> &Arc<Place> {
        &self.place
    }

    pub fn store(&self) -> Store {
        self.place.store
    }

    /// The steps of its path.
    pub fn steps(&self) -> SmallVec<[Step; 4]> {
        let key = self.key().map(|values| values.into_iter().cloned().collect());
        let last = Step { node: self.place.node, key };
        self.place.above.iter().cloned().chain([last]).collect()
    }

    /// What stands there, stamped with the revision that derived it.
    pub fn node(&self) -> Node {
        match &self.content {
            Content::Fields(fields) => Node::Container(fields.clone()),
            Content::Other(node) => Node::clone(node),
        }
    }

    pub fn fields(&self) -> Option<&Fields> {
        if let Content::Fields(fields) = &self.content { Some(fields) } else { None }
    }

    pub fn fields_mut(&mut self) -> Option<&mut Fields> {
        if let Content::Fields(fields) = &mut self.content { Some(fields) } else { None }
    }

    /// The key values of the last step.
    pub fn key(&self) -> Option<SmallVec<[&Value; 2]>> {
        match (&self.place.key, &self.content) {
            (KeyedBy::Leafs(leafs), Content::Fields(fields)) => {
                Some(leafs.iter().filter_map(|leaf| fields.leaf(*leaf)).collect())
            }
            (KeyedBy::Itself, Content::Other(node)) => Some(node.as_leaf().into_iter().collect()),
            (KeyedBy::Given(key), _) => Some(key.values().iter().collect()),
            _ => None,
        }
    }

    /// Whether one of the two would replace the other.
    pub fn same_path(&self, other: &DerivedNode) -> bool {
        self.place == other.place && self.key() == other.key()
    }

    /// By datastore and path.
    pub fn path_order(&self, other: &DerivedNode) -> Ordering {
        fn values(key: &Key) -> SmallVec<[&Value; 2]> {
            key.values().iter().collect()
        }
        fn steps(node: &DerivedNode) -> impl Iterator<Item = (SchemaId, Option<SmallVec<[&Value; 2]>>)> {
            let above = node.place.above.iter().map(|step| (step.node, step.key.as_ref().map(values)));
            above.chain([(node.place.node, node.key())])
        }
        (self.store() as u8).cmp(&(other.store() as u8)).then_with(|| steps(self).cmp(steps(other)))
    }
}
