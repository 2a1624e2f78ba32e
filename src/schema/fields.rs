//! A container or list entry: its children, and when something in it changed last. A copy is a pointer.
//!
//! What stands in a node's memory: a counter, its row (which children there are, and what many nodes have in common), when it
//! changed, and those of its children that are its own.

use std::fmt;
use std::sync::{Arc, LazyLock};

use triomphe::ThinArc;

use super::data::{List, Node};
use super::ir::SchemaId;
use super::row::{Row, is_one_of_few};
use super::value::{Text, Value};

/// The children of a container or list entry, sorted by schema id. An absent child has no field.
/// Equality is equality of the data; when they changed does not count. Copies share memory until one of them is edited.
#[derive(Clone)]
pub struct Fields(ThinArc<Head, Node>);

/// What stands before a node's own children.
#[derive(Clone)]
struct Head {
    row: Arc<Row>,
    /// Revision of the last change in this subtree; 0 while it is not committed.
    modified: u64,
}

/// A node without children: there is one.
static NOTHING: LazyLock<Fields> = LazyLock::new(|| Fields::with(Row::of_own(&[]), Vec::new(), 0));

impl Fields {
    /// From children in any order; the later of two for one schema node wins.
    pub fn of(children: Vec<(SchemaId, Node)>) -> Fields {
        Fields::sharing(children, &[])
    }

    /// The same; those children are the same in many nodes: short texts, numbers, lists that are one list and stamped.
    pub fn sharing(mut children: Vec<(SchemaId, Node)>, common: &[SchemaId]) -> Fields {
        if !children.is_sorted_by(|(one, _), (other, _)| one < other) {
            children.sort_by_key(|(id, _)| *id);
            children.reverse();
            children.dedup_by_key(|(id, _)| *id);
            children.reverse();
        }
        Fields::sorted(children, common, 0)
    }

    /// From children in ascending order, of a node that changed at this revision.
    pub(super) fn sorted(children: Vec<(SchemaId, Node)>, common: &[SchemaId], modified: u64) -> Fields {
        if children.is_empty() && modified == 0 {
            return Fields::default();
        }
        Fields::with(Row::of(&children, common), children, modified)
    }

    /// Of children as this row has them.
    fn with(row: Arc<Row>, mut children: Vec<(SchemaId, Node)>, modified: u64) -> Fields {
        if row.own() < children.len() {
            let mut at = 0..;
            children.retain(|_| at.next().is_some_and(|at| row.own_at(at).is_some()));
        }
        let own = children.into_iter().map(|(_, node)| node);
        Fields(ThinArc::from_header_and_iter(Head { row, modified }, own))
    }

    /// The same data with another date.
    pub fn dated(mut self, revision: u64) -> Fields {
        self.set_modified(revision);
        self
    }

    /// Revision of the last change in this subtree; 0 while it is not committed.
    pub fn modified(&self) -> u64 {
        self.0.header.header.modified
    }

    /// The same memory: true only if nothing can differ.
    pub fn ptr_eq(&self, other: &Fields) -> bool {
        self.0.as_ptr() == other.0.as_ptr()
    }

    pub fn len(&self) -> usize {
        self.row().ids().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, child: SchemaId) -> Option<&Node> {
        let row = self.row();
        row.node(row.find(child).ok()?, &self.0.slice)
    }

    pub fn leaf(&self, child: SchemaId) -> Option<&Value> {
        if let Some(Node::Leaf(value)) = self.get(child) { Some(value) } else { None }
    }

    /// Whether a boolean leaf is there and says so.
    pub fn is_true(&self, child: SchemaId) -> bool {
        self.leaf(child) == Some(&Value::Bool(true))
    }

    /// The text of a leaf, to be held elsewhere too.
    pub fn shared_text(&self, child: SchemaId) -> Option<&Text> {
        if let Value::Text(text) = self.leaf(child)? { Some(text) } else { None }
    }

    pub fn text(&self, child: SchemaId) -> Option<&str> {
        self.leaf(child)?.as_text()
    }

    pub fn list(&self, child: SchemaId) -> Option<&List> {
        if let Some(Node::List(list)) = self.get(child) { Some(list) } else { None }
    }

    pub fn container(&self, child: SchemaId) -> Option<&Fields> {
        if let Some(Node::Container(fields)) = self.get(child) { Some(fields) } else { None }
    }

    pub fn leaf_list(&self, child: SchemaId) -> impl Iterator<Item = &Value> {
        let values = if let Some(Node::LeafList(values)) = self.get(child) { Some(values) } else { None };
        values.into_iter().flatten()
    }

    /// In ascending order.
    pub fn iter(&self) -> Iter<'_> {
        Iter { fields: self, left: 0..self.len() }
    }

    fn row(&self) -> &Row {
        self.shared_row()
    }

    fn shared_row(&self) -> &Arc<Row> {
        &self.0.header.header.row
    }
}

impl Fields {
    /// Sets this child (`None`: takes it out). Nothing else is touched: see `tree::put` for the rules.
    pub fn set(&mut self, child: SchemaId, node: Option<Node>) {
        let found = self.row().find(child);
        match (found, node) {
            (Err(_), None) => {}
            (Ok(at), Some(node)) => match self.row().own_at(at) {
                Some(own) if !is_one_of_few(&node) => {
                    self.change(own, |held| *held = node);
                }
                _ => self.rebuild(&[child], |all| {
                    all.retain(|(id, _)| *id != child);
                    all.insert(at, (child, node));
                }),
            },
            (Ok(_), None) => self.rebuild(&[child], |all| all.retain(|(id, _)| *id != child)),
            (Err(at), Some(node)) => self.rebuild(&[], |all| all.insert(at, (child, node))),
        }
    }

    /// Changes a child where it is, which is in this node alone from then on.
    pub fn edit<R>(&mut self, child: SchemaId, change: impl FnOnce(&mut Node) -> R) -> Option<R> {
        let at = self.row().find(child).ok()?;
        if let Some(own) = self.row().own_at(at) {
            return self.change(own, change);
        }
        // Nobody changes a row: what was common becomes the node's own.
        let all = self.take();
        *self = Fields::with(Row::of_own(&all), all, self.modified());
        self.change(at, change)
    }

    /// Changes those that this node holds itself: what many have in common changes in none of them.
    pub(super) fn edit_own(&mut self, mut change: impl FnMut(SchemaId, &mut Node)) {
        self.own();
        let row = self.shared_row().clone();
        let mut ids = row.ids().iter().enumerate().filter(|(at, _)| row.own_at(*at).is_some());
        self.0.with_arc_mut(|arc| {
            let nodes = triomphe::Arc::get_mut(arc).map(|inner| inner.slice_mut());
            for (node, (_, id)) in nodes.into_iter().flatten().zip(&mut ids) {
                change(*id, node);
            }
        });
    }

    pub(super) fn set_modified(&mut self, revision: u64) {
        if self.modified() == revision {
            return;
        }
        self.own();
        self.0.with_arc_mut(|arc| {
            if let Some(inner) = triomphe::Arc::get_mut(arc) {
                inner.header_mut().modified = revision;
            }
        });
    }

    /// Changes one of its own.
    fn change<R>(&mut self, own: usize, change: impl FnOnce(&mut Node) -> R) -> Option<R> {
        self.own();
        self.0.with_arc_mut(|arc| triomphe::Arc::get_mut(arc)?.slice_mut().get_mut(own).map(change))
    }

    /// Makes it anew of other children; those that were common stay so, without these.
    fn rebuild(&mut self, without: &[SchemaId], change: impl FnOnce(&mut Vec<(SchemaId, Node)>)) {
        let common: Vec<SchemaId> =
            self.row().common().map(|(id, _)| id).filter(|id| !without.contains(id)).collect();
        let mut all = self.take();
        change(&mut all);
        *self = Fields::sorted(all, &common, self.modified());
    }

    /// All children, taken out if nobody else has them. What is left is to be replaced.
    fn take(&mut self) -> Vec<(SchemaId, Node)> {
        let is_shared = self.is_shared();
        let row = self.shared_row().clone();
        let mut all = Vec::with_capacity(row.ids().len() + 1);
        if is_shared {
            all.extend(self.iter().map(|(id, node)| (*id, node.clone())));
            return all;
        }
        self.0.with_arc_mut(|arc| {
            let Some(inner) = triomphe::Arc::get_mut(arc) else { return };
            for (at, id) in row.ids().iter().enumerate() {
                let node = match row.own_at(at).map(|own| inner.slice_mut().get_mut(own)) {
                    Some(own) => own.map(|own| std::mem::replace(own, Node::Leaf(Value::Empty))),
                    None => row.node(at, &[]).cloned(),
                };
                all.extend(node.map(|node| (*id, node)));
            }
        });
        all
    }

    /// Others have it, too.
    fn is_shared(&self) -> bool {
        ThinArc::strong_count(&self.0) != 1
    }

    /// Makes it a node that nobody else has.
    fn own(&mut self) {
        if self.is_shared() {
            let own = self.0.slice.iter().cloned();
            *self = Fields(ThinArc::from_header_and_iter(self.0.header.header.clone(), own));
        }
    }
}

impl Default for Fields {
    fn default() -> Fields {
        NOTHING.clone()
    }
}

impl PartialEq for Fields {
    fn eq(&self, other: &Fields) -> bool {
        if self.ptr_eq(other) {
            return true;
        }
        if Arc::ptr_eq(self.shared_row(), other.shared_row()) {
            return self.0.slice == other.0.slice;
        }
        self.row().ids() == other.row().ids() && self.iter().eq(other.iter())
    }
}

impl Eq for Fields {}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entry(&"modified", &self.modified()).entries(self).finish()
    }
}

impl From<Fields> for Node {
    fn from(fields: Fields) -> Node {
        Node::Container(fields)
    }
}

/// Iterates over the children of a node.
#[derive(Clone)]
pub struct Iter<'a> {
    fields: &'a Fields,
    left: std::ops::Range<usize>,
}

impl<'a> Iter<'a> {
    fn at(&self, at: usize) -> Option<(&'a SchemaId, &'a Node)> {
        let row = self.fields.row();
        Some((row.ids().get(at)?, row.node(at, &self.fields.0.slice)?))
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

impl<'a> IntoIterator for &'a Fields {
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

    use super::super::row::MOST;
    use super::*;

    /// Values of both kinds: of types with few, and of others.
    fn node(value: u64) -> Node {
        Node::Leaf(if value > 3 { Value::Bool(value > 4) } else { Value::Uint(value) })
    }

    proptest! {
        /// Edited one by one, they are a map, whatever they share and whoever holds them; equal ones hold one row of ids.
        #[test]
        fn edited_one_by_one_they_are_a_map(
            edits in prop::collection::vec((0_u32..24, 0_u64..6, any::<bool>(), any::<bool>()), 0..80),
            common in prop::collection::vec((0_u32..24).prop_map(SchemaId), 0..12),
        ) {
            let (mut fields, mut model) = (Fields::default(), BTreeMap::new());
            let mut kept: Vec<(Fields, BTreeMap<SchemaId, Node>)> = Vec::new();
            for (date, (id, value, in_place, copied)) in (1..).zip(edits) {
                let id = SchemaId(id);
                let node = (value > 0).then(|| node(value));
                if copied {
                    kept.push((fields.clone(), model.clone()));
                }
                fields.set_modified(date);
                let place = node.clone().filter(|_| in_place);
                if let Some(node) = &place && fields.edit(id, |held| *held = node.clone()).is_some() {
                    model.insert(id, node.clone());
                } else {
                    fields.set(id, node.clone());
                    match node {
                        Some(node) => model.insert(id, node),
                        None => model.remove(&id),
                    };
                }
                prop_assert_eq!(fields.modified(), date);
                prop_assert!(fields.iter().eq(model.iter()));
                prop_assert!(fields.iter().rev().eq(model.iter().rev()));
                prop_assert_eq!((fields.len(), fields.get(id)), (model.len(), model.get(&id)));
                let all: Vec<_> = model.clone().into_iter().collect();
                let again = Fields::of(all.clone());
                let is_plain = !all.iter().any(|(_, node)| is_one_of_few(node));
                prop_assert!(!is_plain || Arc::ptr_eq(again.shared_row(), Fields::of(all.clone()).shared_row()));
                prop_assert_eq!(&again, &fields);
                let shared = Fields::sharing(all, &common);
                prop_assert_eq!(&shared, &fields);
                if value % 2 == 0 {
                    fields = shared;
                }
            }
            // What was copied before stays as it was.
            for (fields, model) in &kept {
                prop_assert!(fields.iter().eq(model.iter()));
            }
        }

        /// What many have in common stays what it was in the others; what is a node's own is changed where it is.
        #[test]
        fn what_is_own_is_edited_and_what_is_common_is_not(
            values in prop::collection::btree_map((0_u32..24).prop_map(SchemaId), 1_u64..6, 0..20),
            copied: bool,
        ) {
            let all: Vec<_> = values.into_iter().map(|(id, value)| (id, node(value))).collect();
            let mut fields = Fields::of(all.clone());
            let copy = copied.then(|| fields.clone());
            // Which these are depends on how many rows there are, which other tests have as well.
            let common: BTreeMap<SchemaId, Node> =
                fields.row().common().map(|(id, node)| (id, node.clone())).collect();
            prop_assert!(common.values().all(is_one_of_few));
            fields.edit_own(|id, held| {
                assert_eq!(all.iter().find(|(other, _)| *other == id), Some(&(id, held.clone())));
                *held = Node::Leaf(Value::Uint(77));
            });
            let changed = |(id, _): &(SchemaId, Node)| {
                (*id, common.get(id).unwrap_or(&Node::Leaf(Value::Uint(77))).clone())
            };
            prop_assert_eq!(&fields, &Fields::of(all.iter().map(changed).collect()));
            prop_assert!(copy.is_none_or(|copy| copy == Fields::of(all)));
        }
    }

    #[test]
    fn of_two_for_one_schema_node_the_later_wins() {
        let of = |leafs: &[(u32, u64)]| {
            Fields::of(leafs.iter().map(|(id, value)| (SchemaId(*id), node(*value))).collect())
        };
        assert_eq!(of(&[(3, 1), (1, 2), (3, 2), (1, 5)]), of(&[(1, 5), (3, 2)]));
    }

    #[test]
    fn nodes_whose_values_nobody_shares_hold_them_themselves() {
        let (key, common) = (SchemaId(1), SchemaId(2));
        let of = |number: u64| {
            let leafs = [(key, Value::Uint(number)), (common, Value::Uint(number))];
            Fields::sharing(leafs.map(|(id, value)| (id, Node::Leaf(value))).into(), &[common])
        };
        let shares = |all: &[Fields]| all.iter().filter(|fields| fields.row().own() == 1).count();
        let all: Vec<Fields> = (0..2 * MOST as u64).map(of).collect();
        let rows = shares(&all);
        assert!(rows > MOST / 2 && rows <= MOST, "{rows}");
        assert!(
            all.iter().enumerate().all(|(number, fields)| {
                fields.get(common) == Some(&Node::Leaf(Value::Uint(number as u64)))
            })
        );
        // Those that are gone make room.
        drop(all);
        let all: Vec<Fields> = (3 * MOST as u64..4 * MOST as u64).map(of).collect();
        let rows = shares(&all);
        assert!(rows > MOST / 2, "{rows}");
    }
}
