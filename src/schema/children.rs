//! The children of a container or list entry. What many nodes have in common is held once for all of them: which children there
//! are, and values that come again and again.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use hashbrown::HashSet;
use smallvec::SmallVec;

use super::data::Node;
use super::ir::SchemaId;
use super::value::Value;

/// Schema ids in ascending order.
type Ids = SmallVec<[SchemaId; 10]>;

/// Child nodes by schema id.
#[derive(Clone, Debug)]
pub struct Children {
    row: Arc<Row>,
    /// Those that are not in the row.
    own: Box<[Node]>,
}

/// What nodes have in common. Two rows are equal if a node could have either.
#[derive(Debug, Default)]
struct Row {
    ids: Ids,
    /// By id.
    places: SmallVec<[Place; 10]>,
}

/// Where a child is.
#[derive(Debug)]
enum Place {
    /// Among the node's own, so many behind the first.
    Own(u32),
    /// Here: all nodes with this row have the same.
    Common(Node),
}

/// Every row that some node has.
#[derive(Default)]
struct Rows {
    rows: HashSet<Arc<Row>>,
    /// How many were left after the last sweep.
    swept: usize,
    /// How many were refused since then.
    refused: usize,
}

static ROWS: LazyLock<RwLock<Rows>> = LazyLock::new(RwLock::default);
static NONE: LazyLock<Arc<Row>> = LazyLock::new(Arc::default);

/// Rows at most. When there are more, nodes whose values nobody else has yet hold them themselves.
const MOST: usize = 32_768;

impl Children {
    /// From children in ascending order.
    pub fn sorted(children: Vec<(SchemaId, Node)>) -> Children {
        Children::sharing(children, &[])
    }

    /// From children in ascending order, of which these are the same in many nodes: short texts, numbers, lists that are
    /// one list and stamped.
    pub fn sharing(children: Vec<(SchemaId, Node)>, common: &[SchemaId]) -> Children {
        debug_assert!(children.is_sorted_by(|(one, _), (other, _)| one < other), "in ascending order");
        if children.is_empty() {
            return Children::default();
        }
        let is_common = |id: SchemaId, node: &Node| is_one_of_few(node) || common.contains(&id);
        let owned = children.iter().filter(|(id, node)| !is_common(*id, node)).count();
        let (mut row, mut own) = (Row::default(), Vec::with_capacity(owned));
        for (id, node) in children {
            row.ids.push(id);
            if is_common(id, &node) {
                row.places.push(Place::Common(node));
            } else {
                row.places.push(Place::Own(own.len() as u32));
                own.push(node);
            }
        }
        match row.held() {
            Ok(row) => Children { row, own: own.into() },
            Err(row) => Children::apart(row, own),
        }
    }

    /// All that they are, in the node itself.
    fn apart(row: Row, own: Vec<Node>) -> Children {
        let mut own = own.into_iter();
        let node = |place| match place {
            Place::Common(node) => Some(node),
            Place::Own(_) => own.next(),
        };
        let all: Box<[Node]> = row.places.into_iter().filter_map(node).collect();
        let places = (0..all.len() as u32).map(Place::Own).collect();
        let row = match (Row { ids: row.ids, places }).held() {
            Ok(row) => row,
            Err(row) => Arc::new(row),
        };
        Children { row, own: all }
    }

    pub fn len(&self) -> usize {
        self.row.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.row.ids.is_empty()
    }

    pub fn get(&self, id: SchemaId) -> Option<&Node> {
        self.row.node(self.row.ids.binary_search(&id).ok()?, &self.own)
    }

    /// To be changed where it is, which is in this node alone.
    pub fn get_mut(&mut self, id: SchemaId) -> Option<&mut Node> {
        let at = self.row.ids.binary_search(&id).ok()?;
        if let Some(Place::Common(_)) = self.row.places.get(at) {
            let row =
                Row { ids: self.row.ids.clone(), places: self.row.places.iter().map(Place::again).collect() };
            *self = Children::apart(row, std::mem::take(&mut self.own).into_vec());
        }
        let Some(Place::Own(own)) = self.row.places.get(at) else { return None };
        self.own.get_mut(*own as usize)
    }

    /// Sets this child; `None`: takes it out.
    pub fn set(&mut self, id: SchemaId, node: Option<Node>) {
        let found = self.row.ids.binary_search(&id);
        let node = match (found, node) {
            (Err(_), None) => return,
            (Ok(at), Some(node)) => match self.row.places.get(at) {
                Some(Place::Own(own)) if !is_one_of_few(&node) => {
                    self.own[*own as usize] = node;
                    return;
                }
                _ => Some(node),
            },
            (_, node) => node,
        };
        let mut own = std::mem::take(&mut self.own).into_vec().into_iter();
        let (mut all, mut common) = (Vec::with_capacity(self.len() + 1), SmallVec::<[SchemaId; 10]>::new());
        for (other, place) in self.row.ids.iter().zip(&self.row.places) {
            let held = match place {
                Place::Own(_) => own.next(),
                Place::Common(held) => {
                    common.extend(Some(*other).filter(|other| *other != id));
                    Some(held.clone())
                }
            };
            all.extend(held.map(|held| (*other, held)));
        }
        match (found, node) {
            (Ok(at), Some(node)) => all[at].1 = node,
            (Ok(at), None) => drop(all.remove(at)),
            (Err(at), Some(node)) => all.insert(at, (id, node)),
            (Err(_), None) => {}
        }
        *self = Children::sharing(all, &common);
    }

    pub fn iter(&self) -> Iter<'_> {
        Iter { children: self, left: 0..self.len() }
    }

    /// Those that this node holds itself: what many have in common changes in none of them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&SchemaId, &mut Node)> {
        let places = self.row.ids.iter().zip(&self.row.places);
        places.filter(|(_, place)| matches!(place, Place::Own(_))).map(|(id, _)| id).zip(&mut self.own)
    }
}

/// Values of types that have few.
fn is_one_of_few(node: &Node) -> bool {
    matches!(node, Node::Leaf(Value::Bool(_) | Value::Empty | Value::Enum(_) | Value::Identity(_)))
}

impl Row {
    /// The child at a place of this row, of a node with these of its own.
    fn node<'a>(&'a self, at: usize, own: &'a [Node]) -> Option<&'a Node> {
        match self.places.get(at)? {
            Place::Own(at) => own.get(*at as usize),
            Place::Common(node) => Some(node),
        }
    }

    /// The one row that is like this; or this, where there are too many to have one more with values of its own.
    fn held(self) -> Result<Arc<Row>, Row> {
        if let Some(known) = ROWS.read().unwrap_or_else(PoisonError::into_inner).rows.get(&self) {
            return Ok(known.clone());
        }
        let mut held = ROWS.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = held.rows.get(&self) {
            return Ok(known.clone());
        }
        // Rows that nobody has are forgotten, once they may be half of all or once they keep others out.
        if held.rows.len() > 2 * held.swept + 1024 || held.refused >= MOST / 8 {
            held.rows.retain(|row| Arc::strong_count(row) > 1);
            (held.swept, held.refused) = (held.rows.len(), 0);
        }
        if held.rows.len() >= MOST && self.places.iter().any(|place| matches!(place, Place::Common(_))) {
            held.refused += 1;
            return Err(self);
        }
        let row = Arc::new(self);
        held.rows.insert(row.clone());
        Ok(row)
    }
}

impl Place {
    fn again(&self) -> Place {
        match self {
            Place::Own(at) => Place::Own(*at),
            Place::Common(node) => Place::Common(node.clone()),
        }
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        self.ids == other.ids && self.places == other.places
    }
}

impl Eq for Row {}

impl Hash for Row {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ids.hash(state);
        self.places.hash(state);
    }
}

/// Leafs and leaf-lists are compared by what they say; of all else only one and the same is the same.
impl PartialEq for Place {
    fn eq(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Own(one), Place::Own(other)) => one == other,
            (Place::Common(one), Place::Common(other)) => match (one, other) {
                (Node::Leaf(one), Node::Leaf(other)) => one == other,
                (Node::LeafList(one), Node::LeafList(other)) => one == other,
                (Node::List(one), Node::List(other)) => one.ptr_eq(other),
                (Node::Container(one), Node::Container(other)) => Arc::ptr_eq(one, other),
                _ => false,
            },
            _ => false,
        }
    }
}

impl Eq for Place {}

impl Hash for Place {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Place::Common(Node::Leaf(value)) => value.hash(state),
            Place::Common(Node::LeafList(values)) => values.iter().for_each(|value| value.hash(state)),
            Place::Common(Node::List(_) | Node::Container(_)) => 1_u8.hash(state),
            Place::Own(_) => 0_u8.hash(state),
        }
    }
}

impl Default for Children {
    fn default() -> Children {
        Children { row: NONE.clone(), own: Box::default() }
    }
}

impl PartialEq for Children {
    fn eq(&self, other: &Children) -> bool {
        if Arc::ptr_eq(&self.row, &other.row) {
            return self.own == other.own;
        }
        self.row.ids == other.row.ids && self.iter().eq(other.iter())
    }
}

impl Eq for Children {}

/// Iterates over [`Children`].
#[derive(Clone)]
pub struct Iter<'a> {
    children: &'a Children,
    left: std::ops::Range<usize>,
}

impl<'a> Iter<'a> {
    fn at(&self, at: usize) -> Option<(&'a SchemaId, &'a Node)> {
        let row = &self.children.row;
        Some((row.ids.get(at)?, row.node(at, &self.children.own)?))
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a SchemaId, &'a Node);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.left.next()?;
        self.at(at)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let at = self.left.next_back()?;
        self.at(at)
    }
}

impl<'a> IntoIterator for &'a Children {
    type Item = (&'a SchemaId, &'a Node);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Values of both kinds: of types with few, and of others.
    fn node(value: u64) -> Node {
        Node::Leaf(if value > 3 { Value::Bool(value > 4) } else { Value::Uint(value) })
    }

    proptest! {
        /// Edited one by one, they are a map, whatever they share; equal ones hold one row of ids.
        #[test]
        fn edited_one_by_one_they_are_a_map(
            edits in prop::collection::vec((0_u32..24, 0_u64..6, any::<bool>()), 0..80),
            common in prop::collection::vec((0_u32..24).prop_map(SchemaId), 0..12),
        ) {
            let (mut children, mut model) = (Children::default(), BTreeMap::new());
            for (id, value, in_place) in edits {
                let id = SchemaId(id);
                let node = (value > 0).then(|| node(value));
                if in_place && let (Some(held), Some(node)) = (children.get_mut(id), &node) {
                    *held = node.clone();
                    model.insert(id, node.clone());
                } else {
                    children.set(id, node.clone());
                    match node {
                        Some(node) => model.insert(id, node),
                        None => model.remove(&id),
                    };
                }
                prop_assert!(children.iter().eq(model.iter()));
                prop_assert!(children.iter().rev().eq(model.iter().rev()));
                prop_assert_eq!((children.len(), children.get(id)), (model.len(), model.get(&id)));
                let all: Vec<_> = model.clone().into_iter().collect();
                let again = Children::sorted(all.clone());
                let is_plain = !all.iter().any(|(_, node)| is_one_of_few(node));
                prop_assert!(!is_plain || Arc::ptr_eq(&again.row, &Children::sorted(all.clone()).row));
                prop_assert_eq!(&again, &children);
                let shared = Children::sharing(all, &common);
                prop_assert_eq!(&shared, &children);
                if value % 2 == 0 {
                    children = shared;
                }
            }
        }
    }

    #[test]
    fn nodes_whose_values_nobody_shares_hold_them_themselves() {
        let (key, common) = (SchemaId(1), SchemaId(2));
        let of = |number: u64| {
            let leafs = [(key, Value::Uint(number)), (common, Value::Uint(number))];
            Children::sharing(leafs.map(|(id, value)| (id, Node::Leaf(value))).into(), &[common])
        };
        let all: Vec<Children> = (0..2 * MOST as u64).map(of).collect();
        let rows = all.iter().filter(|children| children.own.len() == 1).count();
        assert!(rows > MOST / 2 && rows <= MOST, "{rows}");
        assert!(all.iter().enumerate().all(|(number, children)| {
            children.get(common) == Some(&Node::Leaf(Value::Uint(number as u64)))
        }));
        // Those that are gone make room.
        drop(all);
        let others = 3 * MOST as u64..4 * MOST as u64;
        let all: Vec<Children> = others.map(of).collect();
        let rows = all.iter().filter(|children| children.own.len() == 1).count();
        assert!(rows > MOST / 2, "{rows}");
    }
}
