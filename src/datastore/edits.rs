//! From the difference of two states to the edits that lead from one to the other.

use std::sync::Arc;

use super::{Edit, Operation, Store};
use crate::schema::{
    DataPath, Entries, Fields, Key, Kind, List, Node, Position, Schema, SchemaId, Values, diff, user_ordered,
};

/// The edits that make `after` of `before`: whole list entries that come and go, else single leafs. None asks for what is there
/// or is not there to be so (they replace and remove), and what is moved goes to the end of its list, one after the other.
pub fn edits_between(schema: &Schema, store: Store, before: &Fields, after: &Fields) -> Vec<Edit> {
    let mut between = Between { schema, store, edits: Vec::new() };
    let mut moves = Vec::new();
    for (path, before, after) in diff(schema, before, after) {
        between.node(&path, before.as_ref(), after.as_ref(), &mut moves);
    }
    // An entry has to be there before it gets its place.
    between.edits.extend(moves);
    between.edits
}

struct Between<'a> {
    schema: &'a Schema,
    store: Store,
    edits: Vec<Edit>,
}

impl Between<'_> {
    fn node(&mut self, at: &DataPath, before: Option<&Node>, after: Option<&Node>, moves: &mut Vec<Edit>) {
        match (before, after) {
            (Some(Node::Container(a)), Some(Node::Container(b))) => self.fields(at, a, b, moves),
            (a, Some(Node::LeafList(b))) => {
                let none = Values::default();
                self.values(at, if let Some(Node::LeafList(a)) = a { a } else { &none }, b, moves);
            }
            (Some(Node::List(a)), Some(Node::List(b))) if !is_keyless(a) && !is_keyless(b) => {
                self.places(at, a.iter().map(|(key, _)| key), b.iter().map(|(key, _)| key), moves);
            }
            (_, Some(node)) => {
                if before != after {
                    self.edits.push(Edit::put(self.store, at.clone(), node.clone()));
                }
            }
            (Some(_), None) => self.edits.push(Edit::remove(self.store, at.clone())),
            (None, None) => {}
        }
    }

    /// What is not in lists with keys: their entries are differences of their own.
    fn fields(&mut self, at: &DataPath, before: &Fields, after: &Fields, moves: &mut Vec<Edit>) {
        let mut ids: Vec<SchemaId> = before.iter().chain(after.iter()).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        // What goes, goes first: of two cases of a choice the one that comes would be taken away again.
        ids.sort_by_key(|id| after.get(*id).is_some());
        for id in ids {
            let (a, b) = (before.get(id), after.get(id));
            let path = at.clone().child(id);
            match &self.schema.node(id).kind {
                Kind::Container { presence: false } => {
                    let empty = Arc::default();
                    let (a, b) = (a.and_then(Node::fields), b.and_then(Node::fields));
                    self.fields(&path, a.unwrap_or(&empty), b.unwrap_or(&empty), moves);
                }
                Kind::List { keys, .. } if !keys.is_empty() => {
                    if let (Some(Node::List(a)), Some(Node::List(b))) = (a, b)
                        && user_ordered(self.schema, id)
                    {
                        self.places(&path, a.iter().map(|(key, _)| key), b.iter().map(|(key, _)| key), moves);
                    }
                }
                _ => self.node(&path, a, b, moves),
            }
        }
    }

    fn values(&mut self, at: &DataPath, before: &Values, after: &Values, moves: &mut Vec<Edit>) {
        if before == after {
            return;
        }
        let Some((parent, id)) = at.parent().zip(at.last_node()) else { return };
        let entry = |value| parent.clone().entry(id, Key::one(value));
        for value in before.iter().filter(|value| !after.contains(value)) {
            self.edits.push(Edit::remove(self.store, entry(value.clone())));
        }
        for value in after.iter().filter(|value| !before.contains(value)) {
            self.edits.push(Edit::put(self.store, entry(value.clone()), Node::Leaf(value.clone())));
        }
        if user_ordered(self.schema, id) {
            let key = |value: &crate::schema::Value| Key::one(value.clone());
            let (a, b): (Vec<Key>, Vec<Key>) =
                (before.iter().map(key).collect(), after.iter().map(key).collect());
            self.places(at, a.iter(), b.iter(), moves);
        }
    }

    /// Moves, if the entries do not fall into their places by themselves.
    fn places<'k>(
        &self,
        list: &DataPath,
        before: impl Iterator<Item = &'k Key>,
        after: impl Iterator<Item = &'k Key>,
        moves: &mut Vec<Edit>,
    ) {
        let (before, after): (Vec<&Key>, Vec<&Key>) = (before.collect(), after.collect());
        let kept = before.iter().filter(|key| after.contains(key));
        let added = after.iter().filter(|key| !before.contains(key));
        if kept.chain(added).eq(&after) {
            return;
        }
        let Some((parent, id)) = list.parent().zip(list.last_node()) else { return };
        for key in after {
            let path = parent.clone().entry(id, key.clone());
            moves.push(Edit {
                position: Some(Position::Last),
                ..Edit::new(self.store, Operation::Move, path, None)
            });
        }
    }
}

fn is_keyless(list: &List) -> bool {
    matches!(list.entries(), Entries::Keyless(_))
}
