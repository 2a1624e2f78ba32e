//! What a change touches: the nodes and paths by which rules elsewhere may read it. With what is written go defaults and
//! non-presence containers, which come and go by cases and conditions (RFC 7950 sections 7.5.1, 7.6.1 and 7.9.3).

use std::collections::HashSet;
use std::sync::Arc;

use super::super::data::Node;
use super::super::diff::{Difference, pairs};
use super::super::fields::Fields;
use super::super::ir::{Kind, SchemaId};
use super::super::path::DataPath;
use super::Validator;

impl Validator<'_> {
    /// The schema nodes in which two states of one context differ (`whole`: lists in it are new or gone too).
    pub(super) fn touched(&self, a: &Fields, b: &Fields, whole: bool, found: &mut HashSet<SchemaId>) {
        if self.rules.readers.is_empty() || a.ptr_eq(b) {
            return;
        }
        let empty = Arc::default();
        for (id, x, y) in pairs(a, b) {
            match (x, y) {
                (Some(Node::Container(x)), Some(Node::Container(y))) => self.touched(x, y, whole, found),
                (Some(Node::Container(one)), None) | (None, Some(Node::Container(one))) => {
                    found.insert(id);
                    self.touched(one, &empty, whole, found);
                }
                (Some(Node::List(one)), None) | (None, Some(Node::List(one))) if whole => {
                    found.insert(id);
                    one.iter().for_each(|(_, entry)| self.touched(entry, &empty, true, found));
                }
                (Some(Node::List(_)), _) | (_, Some(Node::List(_))) => {}
                (x, y) if x != y => {
                    found.insert(id);
                }
                _ => {}
            }
            if x.is_some() != y.is_some() {
                self.alternatives(id).for_each(|other| self.implied_below(other, found));
            }
        }
    }

    /// The paths of what differs, each as far up as all of it came, went or got another value. Nothing where no
    /// instance-identifiers may lead there.
    pub(super) fn changed_paths(&self, (path, before, after): &Difference) -> Vec<DataPath> {
        let mut found = Vec::new();
        if self.rules.pointers {
            match (before, after) {
                (Some(Node::Container(a)), Some(Node::Container(b))) => self.paths(path, a, b, &mut found),
                _ => found.push(path.clone()),
            }
        }
        found
    }

    fn paths(&self, at: &DataPath, a: &Fields, b: &Fields, found: &mut Vec<DataPath>) {
        if a.ptr_eq(b) {
            return;
        }
        for (id, x, y) in pairs(a, b) {
            match (x, y) {
                (Some(Node::Container(x)), Some(Node::Container(y))) => {
                    self.paths(&at.clone().child(id), x, y, found);
                }
                // Their entries are changes of their own.
                (Some(Node::List(_)), _) | (_, Some(Node::List(_))) => {}
                (x, y) if x != y => found.push(at.clone().child(id)),
                _ => {}
            }
            if x.is_some() != y.is_some() {
                found.extend(self.alternatives(id).map(|other| at.clone().child(other)));
            }
        }
    }

    /// A node that is there by default, or not, came or went with its condition.
    pub(super) fn come_or_gone(&mut self, path: &DataPath) {
        let mut touched = HashSet::new();
        if let Some(node) = path.last_node() {
            self.implied_below(node, &mut touched);
        }
        let changed = [path.clone()];
        self.readers(path, &touched, &changed);
        self.changed.extend(changed);
    }

    /// Can this node be there without being written?
    pub(super) fn may_be_implied(&self, id: SchemaId) -> bool {
        let container = matches!(self.schema.node(id).kind, Kind::Container { presence: false });
        container || self.rules.default_of(id).is_some()
    }

    /// Those nodes of other cases of the same choice that are there where those are chosen.
    fn alternatives(&self, id: SchemaId) -> impl Iterator<Item = SchemaId> {
        let node = self.schema.node(id);
        let siblings = node.parent.filter(|_| !node.cases.is_empty());
        let siblings = siblings.map_or(&[][..], |parent| &self.schema.node(parent).children);
        let others = siblings.iter().copied().filter(move |other| *other != id);
        others.filter(move |other| {
            self.schema
                .node(*other)
                .cases
                .iter()
                .any(|case| node.cases.iter().any(|own| own.choice == case.choice))
                && self.may_be_implied(*other)
        })
    }

    /// A node, and what is there with it.
    fn implied_below(&self, id: SchemaId, found: &mut HashSet<SchemaId>) {
        found.insert(id);
        if matches!(self.schema.node(id).kind, Kind::Container { presence: false }) {
            let children = self.schema.node(id).children.iter().copied();
            children
                .filter(|child| self.may_be_implied(*child))
                .for_each(|child| self.implied_below(child, found));
        }
    }
}
