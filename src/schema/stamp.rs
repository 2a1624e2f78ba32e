//! Marks what a commit changed with its revision.

use triomphe::Arc;

use super::data::{Entries, Key, List, Node};
use super::fields::Fields;
use super::map::DiffItem;
use super::path::{DataPath, Step};

/// `root` with the revision set on everything above `path`, on what stands there, and on the uncommitted (zero) parts
/// of what is below it.
pub fn stamp(root: &Fields, path: &DataPath, revision: u64) -> Fields {
    let mut root = root.clone();
    way(&mut root, &path.steps, revision);
    root
}

fn way(fields: &mut Fields, steps: &[Step], revision: u64) {
    fields.set_modified(revision);
    let Some((step, rest)) = steps.split_first() else { return fresh_children(fields, revision) };
    fields.edit(step.node, |found| match (found, &step.key) {
        (Node::Container(inner), None) => way(inner, rest, revision),
        (Node::List(list), Some(key)) => {
            if let Some(entry) = list.get_mut(key) {
                way(entry, rest, revision);
            }
        }
        (Node::List(list), None) => fresh_entries(list, revision),
        _ => {}
    });
}

/// `after` with the revision set wherever it is not the very memory of `before`. The cost follows the edit.
pub fn stamp_since(before: &Fields, after: &Fields, revision: u64) -> Fields {
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

fn since(before: &Fields, after: &mut Fields, revision: u64) {
    if before.ptr_eq(after) {
        return;
    }
    after.set_modified(revision);
    after.edit_own(|id, node| stamp_node_since(before.get(id), node, revision));
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
            .filter(|(key, entry)| !before.get(key).is_some_and(|old| old.ptr_eq(entry)))
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
fn fresh(fields: &mut Fields, revision: u64) {
    if fields.modified() == 0 {
        fields.set_modified(revision);
        fresh_children(fields, revision);
    }
}

fn fresh_children(fields: &mut Fields, revision: u64) {
    let inner = |node: &Node| matches!(node, Node::Container(_) | Node::List(_));
    if fields.iter().any(|(_, node)| inner(node)) {
        fields.edit_own(|_, node| stamp_fresh(node, revision));
    }
}

fn fresh_entries(list: &mut List, revision: u64) {
    if list.iter().all(|(_, entry)| entry.modified() != 0) {
        return;
    }
    match Arc::make_mut(&mut list.0) {
        Entries::One((_, entry)) => fresh(entry, revision),
        Entries::Few(entries) | Entries::User(entries) => {
            entries.iter_mut().for_each(|(_, entry)| fresh(entry, revision));
        }
        Entries::Keyless(entries) => entries.iter_mut().for_each(|entry| fresh(entry, revision)),
        Entries::Many(entries) => {
            let keys: Vec<Key> = entries
                .iter()
                .filter(|(_, entry)| entry.modified() == 0)
                .map(|(key, _)| key.clone())
                .collect();
            for key in keys {
                if let Some(entry) = entries.get_mut(&key) {
                    fresh(entry, revision);
                }
            }
        }
    }
}
