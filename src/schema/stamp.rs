//! Marks what a commit changed with its revision.

use std::sync::Arc;

use super::data::{Entries, Fields, Key, List, Node};
use super::map::DiffItem;
use super::path::DataPath;

/// `root` with `modified` set on everything above `path`, on what stands there, and on the uncommitted (zero) parts
/// of what is below it.
pub fn stamp(root: &Arc<Fields>, path: &DataPath, revision: u64) -> Arc<Fields> {
    let mut root = root.clone();
    let mut at = &mut root;
    for step in &path.steps {
        let fields = Arc::make_mut(at);
        fields.modified = revision;
        let Some(found) = fields.children.get_mut(step.node) else { return root };
        at = match (found, &step.key) {
            (Node::Container(inner), None) => inner,
            (Node::List(list), Some(key)) => match list.get_mut(key) {
                Some(entry) => entry,
                None => return root,
            },
            (Node::List(list), None) => {
                fresh_entries(list, revision);
                return root;
            }
            _ => return root,
        };
    }
    Arc::make_mut(at).modified = revision;
    fresh_children(at, revision);
    root
}

/// `after` with `modified` set wherever it is not the very memory of `before`. The cost follows the edit.
pub fn stamp_since(before: &Arc<Fields>, after: &Arc<Fields>, revision: u64) -> Arc<Fields> {
    let mut after = after.clone();
    since(before, &mut after, revision);
    after
}

/// The same for one node, where it stands in place of another.
pub(super) fn stamp_node_since(before: Option<&Node>, after: &mut Node, revision: u64) {
    match (before, after) {
        (Some(Node::Container(old)), Node::Container(new)) => since(old, new, revision),
        (Some(Node::List(old)), Node::List(new)) => since_list(old, new, revision),
        (_, after) => stamp_fresh(after, revision),
    }
}

fn since(before: &Arc<Fields>, after: &mut Arc<Fields>, revision: u64) {
    if Arc::ptr_eq(before, after) {
        return;
    }
    let fields = Arc::make_mut(after);
    fields.modified = revision;
    for (id, node) in fields.children.iter_mut() {
        stamp_node_since(before.get(*id), node, revision);
    }
}

fn since_list(before: &List, after: &mut List, revision: u64) {
    if before.ptr_eq(after) {
        return;
    }
    let changed: Vec<Key> = match (before.entries(), after.entries()) {
        (_, Entries::Keyless(_)) => return fresh_entries(after, revision),
        (Entries::Many(old), Entries::Many(new)) => old
            .diff(new)
            .filter_map(|item| match item {
                DiffItem::Add(key, _) | DiffItem::Update { new: (key, _), .. } => Some(key.clone()),
                DiffItem::Remove(..) => None,
            })
            .collect(),
        _ => after
            .iter()
            .filter(|(key, entry)| !before.get(key).is_some_and(|old| Arc::ptr_eq(old, entry)))
            .map(|(key, _)| key.clone())
            .collect(),
    };
    for key in changed {
        if let Some(entry) = after.get_mut(&key) {
            match before.get(&key) {
                Some(old) => since(old, entry, revision),
                None => fresh(entry, revision),
            }
        }
    }
}

/// Stamps a node that is not committed yet.
pub fn stamp_fresh(node: &mut Node, revision: u64) {
    match node {
        Node::Container(fields) => fresh(fields, revision),
        Node::List(list) => fresh_entries(list, revision),
        Node::Leaf(_) | Node::LeafList(_) => {}
    }
}

/// Stamps a subtree that is not committed yet; stops where it already is.
fn fresh(fields: &mut Arc<Fields>, revision: u64) {
    if fields.modified == 0 {
        Arc::make_mut(fields).modified = revision;
        fresh_children(fields, revision);
    }
}

fn fresh_children(fields: &mut Arc<Fields>, revision: u64) {
    let inner = |node: &Node| matches!(node, Node::Container(_) | Node::List(_));
    if !fields.children.iter().any(|(_, node)| inner(node)) {
        return;
    }
    for (_, node) in Arc::make_mut(fields).children.iter_mut() {
        match node {
            Node::Container(inner) => fresh(inner, revision),
            Node::List(list) => fresh_entries(list, revision),
            Node::Leaf(_) | Node::LeafList(_) => {}
        }
    }
}

fn fresh_entries(list: &mut List, revision: u64) {
    if list.iter().all(|(_, entry)| entry.modified != 0) {
        return;
    }
    match Arc::make_mut(&mut list.0) {
        Entries::Few(entries) | Entries::User(entries) => {
            entries.iter_mut().for_each(|(_, entry)| fresh(entry, revision));
        }
        Entries::Keyless(entries) => entries.iter_mut().for_each(|entry| fresh(entry, revision)),
        Entries::Many(entries) => {
            let keys: Vec<Key> =
                entries.iter().filter(|(_, entry)| entry.modified == 0).map(|(key, _)| key.clone()).collect();
            for key in keys {
                if let Some(entry) = entries.get_mut(&key) {
                    fresh(entry, revision);
                }
            }
        }
    }
}
