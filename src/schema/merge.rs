//! Uniting trees: the `merge` edit, and the view of two layers as one.

use super::data::{Entries, List, Node};
use super::fields::Fields;
use super::ir::{Kind, Schema, SchemaId};
use super::path::DataPath;
use super::tree::{excludes, get_ref, leaf_list};

/// `new` laid over `old`, where both stand at `id` (`None`: the root). See [`super::tree::merge`] for the rules.
pub(super) fn merge_nodes(schema: &Schema, id: Option<SchemaId>, old: &Node, new: &Node) -> Node {
    match (old, new) {
        (Node::Container(a), Node::Container(b)) => Node::Container(merge_fields(schema, a, b)),
        (Node::List(a), Node::List(b)) => match b.entries() {
            Entries::Keyless(_) => new.clone(),
            _ if id.is_some_and(|id| matches!(schema.node(id).kind, Kind::List { positional: true, .. })) => {
                new.clone()
            }
            _ => {
                let mut list = a.clone();
                for (key, entry) in b {
                    let entry = match a.get(key) {
                        Some(old) => merge_fields(schema, old, entry),
                        None => entry.clone(),
                    };
                    list.insert(key.clone(), entry);
                }
                Node::List(list)
            }
        },
        (Node::LeafList(a), Node::LeafList(b)) => match id {
            Some(id) => {
                let fresh = b.iter().filter(|value| !a.contains(value));
                leaf_list(schema, id, a.iter().chain(fresh).cloned().collect())
            }
            None => new.clone(),
        },
        _ => new.clone(),
    }
}

fn merge_fields(schema: &Schema, old: &Fields, new: &Fields) -> Fields {
    if old.ptr_eq(new) {
        return old.clone();
    }
    let gives_way = |id: SchemaId| {
        !schema.node(id).cases.is_empty() && new.iter().any(|(other, _)| excludes(schema, *other, id))
    };
    let kept = |id: SchemaId, node: &Node| (!gives_way(id)).then(|| node.clone());
    unite(old, new, kept, |id, a, b| merge_nodes(schema, Some(id), a, b))
}

/// Joins two sorted rows of fields.
fn unite(
    a: &Fields,
    b: &Fields,
    only_a: impl Fn(SchemaId, &Node) -> Option<Node>,
    both: impl Fn(SchemaId, &Node, &Node) -> Node,
) -> Fields {
    let mut children = Vec::with_capacity(a.len() + b.len());
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    loop {
        match (left.peek(), right.peek()) {
            (Some(x), Some(y)) if x.0 == y.0 => {
                children.push((*x.0, both(*x.0, x.1, y.1)));
                left.next();
                right.next();
            }
            (Some(x), y) if y.is_none_or(|y| x.0 < y.0) => {
                children.extend(only_a(*x.0, x.1).map(|node| (*x.0, node)));
                left.next();
            }
            (_, Some(y)) => {
                children.push((*y.0, y.1.clone()));
                right.next();
            }
            (_, None) => break,
        }
    }
    Fields::sorted(children, &[], a.modified().max(b.modified()))
}

/// The two layers of a store as one tree. What only one side has is shared with it; where both have a leaf or a
/// leaf-list, `input` wins. `modified` is the later of the two.
pub fn merge_layers(input: &Fields, derived: &Fields) -> Fields {
    if derived.is_empty() || input.ptr_eq(derived) {
        return input.clone();
    }
    if input.is_empty() {
        return derived.clone();
    }
    unite(input, derived, |_, node| Some(node.clone()), |_, a, b| layer_nodes(a, b))
}

fn layer_nodes(input: &Node, derived: &Node) -> Node {
    match (input, derived) {
        (Node::Container(a), Node::Container(b)) => Node::Container(merge_layers(a, b)),
        (Node::List(a), Node::List(b)) => Node::List(layer_lists(a, b)),
        _ => input.clone(),
    }
}

/// Lays the shorter list into the longer one, so that the longer one is shared.
fn layer_lists(input: &List, derived: &List) -> List {
    if matches!(input.entries(), Entries::Keyless(_)) {
        return input.clone();
    }
    let user_ordered = matches!(input.entries(), Entries::User(_));
    let input_is_base = user_ordered || input.len() >= derived.len();
    let (mut list, other) = if input_is_base { (input.clone(), derived) } else { (derived.clone(), input) };
    for (key, entry) in other {
        let united = match list.get(key) {
            Some(base) if input_is_base => merge_layers(base, entry),
            Some(base) => merge_layers(entry, base),
            None => entry.clone(),
        };
        list.insert(key.clone(), united);
    }
    list
}

/// What stands at `path` in the union of the two layers, without building the rest of it.
pub fn get_merged(input: &Fields, derived: &Fields, path: &DataPath) -> Option<Node> {
    match (get_ref(input, path), get_ref(derived, path)) {
        (Some(a), Some(b)) => Some(layer_nodes(&a.to_node(), &b.to_node())),
        (Some(only), None) | (None, Some(only)) => Some(only.to_node()),
        (None, None) => None,
    }
}
