//! Laws, on random data drawn from the sample schema.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::json::{self, Mode};
use super::super::size::heap_size;
use super::super::testing::{arbitrary_entry, arbitrary_root, sample};
use super::super::{
    DataPath, Fields, Key, Kind, Node, NodeRef, Parents, Schema, diff, get_merged, merge_layers, stamp_since,
    tree, validate,
};

fn written(schema: &Schema, root: &Fields) -> Vec<u8> {
    let mut out = Vec::new();
    json::write(schema, None, root, &mut out);
    out
}

fn parsed(text: &[u8], mode: Mode) -> Fields {
    json::parse(sample(), None, text, mode)
        .unwrap_or_else(|errors| panic!("{errors}: {}", text.escape_ascii()))
}

/// All paths of list entries, containers and leafs below.
fn paths(at: &DataPath, fields: &Fields, found: &mut Vec<DataPath>) {
    for (id, node) in fields.iter() {
        let here = at.clone().child(*id);
        match node {
            Node::Container(inner) => paths(&here, inner, found),
            Node::List(list) => {
                for (key, entry) in list.iter().filter(|(key, _)| !key.is_empty()) {
                    let entry_at = at.clone().entry(*id, key.clone());
                    found.push(entry_at.clone());
                    paths(&entry_at, entry, found);
                }
            }
            Node::LeafList(values) => {
                found.extend(values.iter().map(|value| at.clone().entry(*id, Key::one(value.clone()))));
            }
            Node::Leaf(_) => {}
        }
        found.push(here);
    }
}

pub(super) fn all_paths(root: &Fields) -> Vec<DataPath> {
    let mut found = Vec::new();
    paths(&DataPath::root(), root, &mut found);
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Reading what was written gives the same tree in both modes, and writing that the same text.
    #[test]
    fn writing_and_reading_are_inverse(root in arbitrary_root(sample(), true)) {
        let text = written(sample(), &root);
        for mode in [Mode::Strict, Mode::Lenient] {
            let again = parsed(&text, mode);
            prop_assert_eq!(&again, &root);
            prop_assert_eq!(written(sample(), &again), text.clone());
        }
        let standard: serde_json::Value = serde_json::from_slice(&text).unwrap();
        prop_assert!(standard.is_object());
    }

    /// A path says the same in all its forms, and leads to the same node, framed and read again.
    #[test]
    fn paths_and_resources_survive_the_round_trip(root in arbitrary_root(sample(), true)) {
        for path in all_paths(&root).into_iter().take(60) {
            let uri = path.to_rfc8040(sample());
            prop_assert_eq!(DataPath::parse_rfc8040(sample(), &uri), Ok(path.clone()));
            let legacy = uri.replace(['=', ','], "/");
            let empty_tail = legacy.ends_with('/');
            if !empty_tail {
                prop_assert_eq!(DataPath::parse_legacy(sample(), &legacy), Ok(path.clone()));
            }
            let shown = path.display(sample());
            let whole_list = path.steps.last().is_some_and(|step| {
                let kind = &sample().node(step.node).kind;
                step.key.is_none() && matches!(kind, Kind::List { .. } | Kind::LeafList { .. })
            });
            let both_quotes = shown.contains('\'') && shown.contains('"');
            if !both_quotes && !whole_list {
                prop_assert_eq!(DataPath::parse_instance_identifier(sample(), &shown), Ok(path.clone()));
            }
            let node = tree::get(&root, &path).expect("the path is of this tree");
            let mut text = Vec::new();
            json::write_resource(sample(), &path, &node, &mut text);
            let again = json::parse_resource(sample(), &path, &text, Mode::Strict);
            prop_assert_eq!(again, Ok(node));
        }
    }

    /// Applying the differences to the one gives the other; none are found between equals.
    #[test]
    fn differences_lead_from_before_to_after(
        before in arbitrary_root(sample(), true),
        after in arbitrary_root(sample(), true),
    ) {
        prop_assert!(diff(sample(), &before, &before.clone()).is_empty());
        prop_assert!(diff(sample(), &before, &before.clone().dated(77)).is_empty());
        let changes = diff(sample(), &before, &after);
        let mut root = before.clone();
        for (path, was, is) in &changes {
            prop_assert_eq!(&tree::get(&before, path), was);
            prop_assert_eq!(&tree::get(&after, path), is);
            match is {
                Some(node) => tree::put(&mut root, sample(), path, node.clone(), Parents::Create).unwrap(),
                None => drop(tree::remove(&mut root, sample(), path).unwrap()),
            }
        }
        prop_assert_eq!(written(sample(), &root), written(sample(), &after));
        let stamped = stamp_since(&before, &after, 7);
        prop_assert_eq!(&stamped, &after);
    }

    /// Edits of entries do what they do to a plain map, and only to the tree they return.
    #[test]
    fn entry_edits_agree_with_a_plain_map(
        edits in proptest::collection::vec(
            (0..4u8, arbitrary_entry(sample(), sample().resolve("/test:pairs/pair"), true)), 1..60),
    ) {
        let schema = sample();
        let list = schema.resolve("/test:pairs/pair");
        let at = |key: &Key| DataPath::root().child(schema.resolve("/test:pairs")).entry(list, key.clone());
        let value = schema.resolve("/test:pairs/pair/value");
        let mut model: BTreeMap<Key, Fields> = BTreeMap::new();
        let mut root = Fields::default();
        for (kind, (key, entry)) in edits {
            let before = (root.clone(), written(schema, &root));
            match kind {
                0 => {
                    tree::remove(&mut root, schema, &at(&key)).unwrap();
                    model.remove(&key);
                }
                1 => {
                    tree::merge(&mut root, schema, &at(&key), Node::Container(entry.clone()), Parents::Require).unwrap();
                    let kept = model.get(&key).and_then(|old| old.get(value)).cloned();
                    let fresh = entry.get(value).cloned().or(kept);
                    let mut united = entry.clone();
                    united.set(value, fresh);
                    model.insert(key, united);
                }
                _ => {
                    tree::put(&mut root, schema, &at(&key), Node::Container(entry.clone()), Parents::Require).unwrap();
                    model.insert(key, entry);
                }
            }
            prop_assert_eq!(written(schema, &before.0), before.1);
            let all = DataPath::root().child(schema.resolve("/test:pairs")).child(list);
            let entries: Vec<_> = match tree::get_ref(&root, &all) {
                Some(NodeRef::List(list)) => list.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect(),
                _ => Vec::new(),
            };
            prop_assert_eq!(entries, model.clone().into_iter().collect::<Vec<_>>());
        }
    }

    /// Reading one path of two layers is reading it in their union.
    #[test]
    fn layers_read_alike_in_part_and_whole(
        input in arbitrary_root(sample(), true),
        derived in arbitrary_root(sample(), true),
    ) {
        let merged = merge_layers(&input, &derived);
        for path in all_paths(&merged).into_iter().take(80) {
            prop_assert_eq!(get_merged(&input, &derived, &path), tree::get(&merged, &path));
        }
        prop_assert_eq!(&merge_layers(&merged, &derived), &merged);
    }

    /// Putting a tree piece by piece, or merging it over nothing or itself, gives the tree.
    #[test]
    fn merging_is_idempotent(root in arbitrary_root(sample(), true)) {
        let whole = DataPath::root();
        let node = Node::Container(root.clone());
        let mut once = Fields::default();
        tree::merge(&mut once, sample(), &whole, node.clone(), Parents::Require).unwrap();
        let mut twice = once.clone();
        tree::merge(&mut twice, sample(), &whole, node, Parents::Require).unwrap();
        prop_assert_eq!(written(sample(), &once), written(sample(), &root));
        prop_assert_eq!(written(sample(), &twice), written(sample(), &root));
        prop_assert!(heap_size(&Node::Container(root)) > 0);
    }

    /// Whatever bytes come, there is an answer; what is accepted can be validated and written and read again.
    #[test]
    fn damaged_bodies_and_paths_are_answered(
        root in arbitrary_root(sample(), true),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..6),
        target in any::<prop::sample::Index>(),
    ) {
        let all = all_paths(&root);
        let path = if all.is_empty() { DataPath::root() } else { target.get(&all).clone() };
        let mut text = Vec::new();
        let node = tree::get(&root, &path).expect("the path is of this tree");
        json::write_resource(sample(), &path, &node, &mut text);
        let mut uri = path.to_rfc8040(sample()).into_bytes();
        for (at, byte, kind) in cuts {
            for bytes in [&mut text, &mut uri] {
                if bytes.is_empty() { continue; }
                let at = at.index(bytes.len());
                match kind {
                    0 => bytes[at] = byte,
                    1 => { bytes.remove(at); }
                    2 => bytes.insert(at, byte % 128),
                    _ => bytes.truncate(at),
                }
            }
        }
        for mode in [Mode::Strict, Mode::Lenient] {
            if let Ok(node) = json::parse_resource(sample(), &path, &text, mode) {
                let mut again = Vec::new();
                json::write_resource(sample(), &path, &node, &mut again);
                prop_assert!(json::parse_resource(sample(), &path, &again, Mode::Strict).is_ok());
                let mut after = root.clone();
                let put = tree::put(&mut after, sample(), &path, node, Parents::Require);
                if put.is_ok() {
                    let _ = validate(sample(), true, &after, &diff(sample(), &root, &after));
                }
            }
            let parent = path.parent().unwrap_or_default();
            let _ = json::parse_child(sample(), &parent, &text, mode);
            let _ = json::parse_input(sample(), &DataPath::root().child(sample().rpcs[0]), &text, mode);
        }
        let uri = String::from_utf8_lossy(&uri);
        if let Ok(path) = DataPath::parse_rfc8040(sample(), &uri) {
            prop_assert_eq!(DataPath::parse_rfc8040(sample(), &path.to_rfc8040(sample())), Ok(path));
        }
        let _ = DataPath::parse_legacy(sample(), &uri);
        let _ = DataPath::parse_instance_identifier(sample(), &uri);
    }
}
