//! What many nodes have in common, held once for all of them: which children there are, and values that come again and again.

use std::cell::RefCell;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use hashbrown::{DefaultHashBuilder, HashTable};
use smallvec::SmallVec;

use super::data::Node;
use super::ir::SchemaId;
use super::value::Value;

/// What nodes have in common. As long as somebody has a row there is no other one like it.
#[derive(Debug)]
pub(super) struct Row {
    hash: u64,
    /// In ascending order.
    ids: SmallVec<[SchemaId; 10]>,
    /// By id.
    places: SmallVec<[Place; 10]>,
    /// How many are the nodes' own.
    own: usize,
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
    rows: HashTable<Arc<Row>>,
    /// How many were left after the last sweep.
    swept: usize,
    /// How many were refused since then.
    refused: usize,
}

static ROWS: LazyLock<RwLock<Rows>> = LazyLock::new(RwLock::default);
static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

/// Rows at most. When there are more, nodes whose values nobody else has yet hold them themselves.
pub(super) const MOST: usize = 32_768;

/// Rows that a thread has asked for lately, each where its hash puts it: nodes of few kinds are made again and again.
const LATELY: usize = 256;

thread_local! {
    static SEEN: RefCell<Box<[Option<Arc<Row>>]>> = RefCell::new((0..LATELY).map(|_| None).collect());
}

/// Children as they are asked for, and which of them are the same in many nodes.
struct Wanted<'a> {
    children: &'a [(SchemaId, Node)],
    common: SmallVec<[bool; 32]>,
}

impl Row {
    /// The row of nodes that have these children, in ascending order, of which these are the same in many. Where there are too
    /// many rows to have one more with values of its own, it is one without.
    pub fn of(children: &[(SchemaId, Node)], common: &[SchemaId]) -> Arc<Row> {
        debug_assert!(children.is_sorted_by(|(one, _), (other, _)| one < other), "in ascending order");
        let is_common = |(id, node): &(SchemaId, Node)| is_one_of_few(node) || common.contains(id);
        let wanted = Wanted { children, common: children.iter().map(is_common).collect() };
        wanted.row().unwrap_or_else(|| Row::of_own(children))
    }

    /// The row of nodes that have these children, in ascending order, all of them their own.
    pub fn of_own(children: &[(SchemaId, Node)]) -> Arc<Row> {
        let wanted = Wanted { children, common: SmallVec::from_elem(false, children.len()) };
        wanted.row().unwrap_or_else(|| Arc::new(wanted.made(wanted.hash())))
    }

    pub fn ids(&self) -> &[SchemaId] {
        &self.ids
    }

    /// How many are the nodes' own.
    pub fn own(&self) -> usize {
        self.own
    }

    /// The place of this child.
    pub fn find(&self, id: SchemaId) -> Result<usize, usize> {
        self.ids.binary_search(&id)
    }

    /// The child at a place, of a node with these of its own.
    pub fn node<'a>(&'a self, at: usize, own: &'a [Node]) -> Option<&'a Node> {
        match self.places.get(at)? {
            Place::Own(at) => own.get(*at as usize),
            Place::Common(node) => Some(node),
        }
    }

    /// Which of the node's own is at a place; `None`: all nodes have the same.
    pub fn own_at(&self, at: usize) -> Option<usize> {
        match self.places.get(at)? {
            Place::Own(own) => Some(*own as usize),
            Place::Common(_) => None,
        }
    }

    /// Those that are the same in all nodes.
    pub fn common(&self) -> impl Iterator<Item = (SchemaId, &Node)> {
        self.ids.iter().zip(&self.places).filter_map(|(id, place)| match place {
            Place::Common(node) => Some((*id, node)),
            Place::Own(_) => None,
        })
    }
}

/// Values of types that have few.
pub(super) fn is_one_of_few(node: &Node) -> bool {
    matches!(node, Node::Leaf(Value::Bool(_) | Value::Empty | Value::Enum(_) | Value::Identity(_)))
}

impl Wanted<'_> {
    /// The one row that is like this, but none where there are too many to have one more with values of its own.
    fn row(&self) -> Option<Arc<Row>> {
        let hash = self.hash();
        SEEN.with_borrow_mut(|seen| {
            let seen = seen.get_mut(hash as usize % LATELY)?;
            if !seen.as_ref().is_some_and(|row| self.is(row)) {
                *seen = Some(self.held(hash)?);
            }
            seen.clone()
        })
    }

    fn held(&self, hash: u64) -> Option<Arc<Row>> {
        let same = |row: &Arc<Row>| self.is(row);
        if let Some(known) = ROWS.read().unwrap_or_else(PoisonError::into_inner).rows.find(hash, same) {
            return Some(known.clone());
        }
        let mut held = ROWS.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = held.rows.find(hash, same) {
            return Some(known.clone());
        }
        // Rows that nobody has are forgotten, once they may be half of all or once they keep others out.
        if held.rows.len() > 2 * held.swept + 1024 || held.refused >= MOST / 8 {
            held.rows.retain(|row| Arc::strong_count(row) > 1);
            (held.swept, held.refused) = (held.rows.len(), 0);
        }
        if held.rows.len() >= MOST && self.common.contains(&true) {
            held.refused += 1;
            return None;
        }
        let row = Arc::new(self.made(hash));
        held.rows.insert_unique(hash, row.clone(), |row| row.hash);
        Some(row)
    }

    fn made(&self, hash: u64) -> Row {
        let mut own = 0;
        let place = |((_, node), common): (&(SchemaId, Node), &bool)| {
            if *common {
                return Place::Common(node.clone());
            }
            own += 1;
            Place::Own(own - 1)
        };
        let places = self.children.iter().zip(&self.common).map(place).collect();
        let ids = self.children.iter().map(|(id, _)| *id).collect();
        Row { hash, ids, places, own: own as usize }
    }

    fn hash(&self) -> u64 {
        let mut state = HASHER.build_hasher();
        for ((id, node), common) in self.children.iter().zip(&self.common) {
            id.hash(&mut state);
            match node {
                _ if !common => 0_u8.hash(&mut state),
                Node::Leaf(value) => value.hash(&mut state),
                Node::LeafList(values) => values.iter().for_each(|value| value.hash(&mut state)),
                Node::List(_) | Node::Container(_) => 1_u8.hash(&mut state),
            }
        }
        state.finish()
    }

    /// Leafs and leaf-lists are compared by what they say; of all else only one and the same is the same.
    fn is(&self, row: &Row) -> bool {
        let same = |node: &Node, common: bool, place: &Place| match (place, node) {
            (Place::Own(_), _) => !common,
            _ if !common => false,
            (Place::Common(Node::Leaf(one)), Node::Leaf(other)) => one == other,
            (Place::Common(Node::LeafList(one)), Node::LeafList(other)) => one == other,
            (Place::Common(Node::List(one)), Node::List(other)) => one.ptr_eq(other),
            (Place::Common(Node::Container(one)), Node::Container(other)) => one.ptr_eq(other),
            _ => false,
        };
        let wanted = self.children.iter().zip(&self.common);
        row.ids.len() == self.children.len()
            && wanted
                .zip(row.ids.iter().zip(&row.places))
                .all(|(((id, node), common), (other, place))| id == other && same(node, *common, place))
    }
}
