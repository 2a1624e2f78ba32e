//! Editing, merging, layers, differences, stamps.

use std::sync::Arc;

use super::super::json::{self, Mode};
use super::super::testing::sample;
use super::super::{
    DataPath, Entries, Fields, Key, Node, NodeRef, Parents, TreeError, diff, get_merged, merge_layers, stamp,
    stamp_since, tree,
};

fn path(text: &str) -> DataPath {
    DataPath::parse_rfc8040(sample(), text).unwrap()
}

fn node(at: &str, body: &str) -> Node {
    json::parse_resource(sample(), &path(at), body.as_bytes(), Mode::Strict).unwrap()
}

fn try_put(root: &Fields, at: &DataPath, node: Node, parents: Parents) -> Result<Fields, TreeError> {
    let mut root = root.clone();
    tree::put(&mut root, sample(), at, node, parents)?;
    Ok(root)
}

fn put(root: &Fields, at: &str, body: &str) -> Fields {
    try_put(root, &path(at), node(at, body), Parents::Require).unwrap()
}

fn merge(root: &Fields, at: &str, body: &str) -> Fields {
    let mut root = root.clone();
    tree::merge(&mut root, sample(), &path(at), node(at, body), Parents::Require).unwrap();
    root
}

fn remove(root: &Fields, at: &DataPath) -> Fields {
    let mut root = root.clone();
    tree::remove(&mut root, sample(), at).unwrap();
    root
}

fn json(root: &Fields) -> String {
    let mut out = Vec::new();
    json::write(sample(), None, root, &mut out);
    String::from_utf8(out).unwrap()
}

fn of(body: &str) -> Fields {
    json::parse(sample(), None, body.as_bytes(), Mode::Strict).unwrap()
}

#[test]
fn containers_appear_and_vanish_by_themselves() {
    let root = put(&Arc::default(), "test:coe/settings/level", r#"{"test:level":5}"#);
    assert_eq!(json(&root), r#"{"test:coe":{"settings":{"level":5}}}"#);
    let gone = remove(&root, &path("test:coe/settings/level"));
    assert!(gone.is_empty());
    let same = remove(&root, &path("test:nodes"));
    assert!(same.ptr_eq(&root));
    let presence = put(&Arc::default(), "test:strict", r#"{"test:strict":{}}"#);
    assert_eq!(json(&presence), r#"{"test:strict":{}}"#);
    assert!(put(&root, "test:coe", r#"{"test:coe":{}}"#).is_empty());
}

#[test]
fn absent_parents_are_required_or_created() {
    let at = path("test:nodes/node=a/address");
    let address = node("test:nodes/node=a/address", r#"{"test:address":"1.2.3.4"}"#);
    let error = try_put(&Arc::default(), &at, address.clone(), Parents::Require).unwrap_err();
    assert!(
        matches!(&error, TreeError::ParentMissing { parent, .. } if parent == "/test:nodes/node[name='a']")
    );
    let root = try_put(&Arc::default(), &at, address, Parents::Create).unwrap();
    assert_eq!(json(&root), r#"{"test:nodes":{"node":[{"name":"a","address":"1.2.3.4"}]}}"#);
}

#[test]
fn keys_cannot_be_changed_or_removed_alone() {
    let root = of(r#"{"test:nodes":{"node":[{"name":"a"}]}}"#);
    let at = path("test:nodes/node=a/name");
    assert!(matches!(tree::remove(&mut root.clone(), sample(), &at), Err(TreeError::KeyLeaf { .. })));
    let other = Node::Leaf(super::super::Value::text("b"));
    let changed = try_put(&root, &at, other, Parents::Require);
    assert!(matches!(changed, Err(TreeError::KeyMismatch { .. })));
    let wrong = node("test:nodes/node=b", r#"{"test:node":[{"name":"b"}]}"#);
    let misplaced = try_put(&root, &path("test:nodes/node=a"), wrong, Parents::Require);
    assert!(matches!(misplaced, Err(TreeError::KeyMismatch { .. })));
    let leaf = Node::Leaf(super::super::Value::Bool(true));
    assert!(matches!(
        try_put(&root, &path("test:nodes"), leaf, Parents::Require),
        Err(TreeError::Shape { .. })
    ));
}

#[test]
fn one_case_of_a_choice_makes_the_others_give_way() {
    let uid = "11111111-2222-3333-4444-555555555555";
    let pod = format!("test:coe/pods={uid}");
    let root =
        put(&Arc::default(), &pod, &format!(r#"{{"test:pods":[{{"uid":"{uid}","v6":"x","scope":"y"}}]}}"#));
    let root = put(&root, &format!("{pod}/v4"), r#"{"test:v4":"z"}"#);
    assert_eq!(json(&root), format!(r#"{{"test:coe":{{"pods":[{{"uid":"{uid}","v4":"z"}}]}}}}"#));
    let root = merge(&root, &pod, &format!(r#"{{"test:pods":[{{"uid":"{uid}","scope":"s"}}]}}"#));
    assert_eq!(json(&root), format!(r#"{{"test:coe":{{"pods":[{{"uid":"{uid}","scope":"s"}}]}}}}"#));
}

#[test]
fn merge_unites_and_replaces_positional_lists_as_a_whole() {
    let root = of(r#"{"test:nodes":{"node":[{"name":"a","address":"1.1.1.1"},{"name":"b"}]},
        "test:rule":[{"index":1,"protocol":"x"},{"index":2}],"test:strict":{"needed":"n","some":[2,1]}}"#);
    let root = merge(
        &root,
        "test:nodes",
        r#"{"test:nodes":{"node":[{"name":"b","address":"2.2.2.2"},{"name":"c"}]}}"#,
    );
    let root = merge(&root, "test:rule", r#"{"test:rule":[{"protocol":"y"}]}"#);
    let root = merge(&root, "test:strict", r#"{"test:strict":{"some":[3,1]}}"#);
    assert_eq!(
        json(&root),
        concat!(
            r#"{"test:nodes":{"node":[{"name":"a","address":"1.1.1.1"},{"name":"b","address":"2.2.2.2"},{"name":"c"}]},"#,
            r#""test:rule":[{"index":1,"protocol":"y"}],"test:strict":{"needed":"n","some":[1,2,3]}}"#
        )
    );
}

#[test]
fn lists_change_form_at_sixteen_entries_and_back() {
    let mut root = Fields::default();
    let list = path("test:nodes/node");
    let form = |root: &Fields| match tree::get_ref(root, &list) {
        Some(NodeRef::List(list)) => (list.len(), matches!(list.entries(), Entries::Many(_))),
        _ => (0, false),
    };
    for number in 0..40 {
        let at = format!("test:nodes/node=n{number}");
        root = put(&root, &at, &format!(r#"{{"test:node":[{{"name":"n{number}"}}]}}"#));
        assert_eq!(form(&root), (number + 1, number + 1 > 16));
    }
    for number in 0..40 {
        root = remove(&root, &path(&format!("test:nodes/node=n{number}")));
        assert_eq!(form(&root), (39 - number, 39 - number > 16));
    }
    assert!(root.is_empty());
}

#[test]
fn leaf_list_entries_come_and_go() {
    let root = put(&Arc::default(), "test:strict", r#"{"test:strict":{"needed":"x","some":[1]}}"#);
    let root = put(&root, "test:strict/some=7", r#"{"test:some":[7]}"#);
    assert_eq!(json(&root), r#"{"test:strict":{"needed":"x","some":[1,7]}}"#);
    let at = path("test:strict/some=1");
    assert!(tree::get(&root, &at).is_some());
    let root = remove(&root, &at);
    assert!(tree::get(&root, &at).is_none());
    assert_eq!(json(&root), r#"{"test:strict":{"needed":"x","some":[7]}}"#);
}

#[test]
fn layers_are_one_view_in_which_input_wins() {
    let input = of(r#"{"test:nodes":{"node":[{"name":"a","address":"1.1.1.1"}]}}"#);
    let derived = of(
        r#"{"test:nodes":{"node":[{"name":"a","address":"9.9.9.9","tcp-port":1},{"name":"z"}]},"test:strict":{}}"#,
    );
    let merged = merge_layers(&input, &derived);
    let all = concat!(
        r#"{"test:nodes":{"node":[{"name":"a","address":"1.1.1.1","tcp-port":1},{"name":"z"}]},"#,
        r#""test:strict":{}}"#
    );
    assert_eq!(json(&merged), all);
    for at in
        ["test:nodes", "test:nodes/node=a", "test:nodes/node=z", "test:nodes/node=a/address", "test:coe", ""]
    {
        assert_eq!(get_merged(&input, &derived, &path(at)), tree::get(&merged, &path(at)), "{at}");
    }
    let NodeRef::Fields(shared) = tree::get_ref(&merged, &path("test:strict")).unwrap() else { panic!() };
    let NodeRef::Fields(origin) = tree::get_ref(&derived, &path("test:strict")).unwrap() else { panic!() };
    assert!(shared.ptr_eq(origin));
}

#[test]
fn differences_are_the_deepest_entries() {
    let shown = |before: &Fields, after: &Fields| -> Vec<(String, bool, bool)> {
        let found = diff(sample(), before, after).into_iter();
        found.map(|(path, a, b)| (path.display(sample()), a.is_some(), b.is_some())).collect()
    };
    let uid = |digit: u8| format!("{digit}1111111-2222-3333-4444-555555555555");
    let pod = |digit: u8| format!("/test:coe/pods[uid='{}']", uid(digit));
    let one = of(&format!(
        r#"{{"test:coe":{{"pods":[{{"uid":"{}","interface":[{{"uid":"{}"}}]}}]}}}}"#,
        uid(1),
        uid(5)
    ));
    assert_eq!(shown(&Arc::default(), &one), [(pod(1), false, true)]);
    assert_eq!(shown(&one, &Arc::default()), [(pod(1), true, false)]);
    let at = format!("test:coe/pods={}/interface={}/ip-address", uid(1), uid(5));
    let deep = put(&one, &at, r#"{"test:ip-address":"1.1.1.1"}"#);
    let interface = format!("{}/interface[uid='{}']", pod(1), uid(5));
    assert_eq!(shown(&one, &deep), [(interface.clone(), true, true)]);
    let both = put(&deep, &format!("test:coe/pods={}/name", uid(1)), r#"{"test:name":"n"}"#);
    assert_eq!(shown(&one, &both), [(pod(1), true, true), (interface, true, true)]);
    let settings = put(&one, "test:coe/settings/level", r#"{"test:level":1}"#);
    assert_eq!(shown(&one, &settings), [("/test:coe".into(), true, true)]);
    assert_eq!(
        shown(&one, &put(&one, "test:strict", r#"{"test:strict":{}}"#)),
        [("/test:strict".into(), false, true)]
    );
    let acl = of(r#"{"test:acl":[{"name":"a"},{"name":"b"}]}"#);
    let turned = of(r#"{"test:acl":[{"name":"b"},{"name":"a"}]}"#);
    assert_eq!(shown(&acl, &turned), [("/test:acl".into(), true, true)]);
}

#[test]
fn stamps_mark_the_way_to_what_changed_and_nothing_else() {
    let one = of(r#"{"test:nodes":{"node":[{"name":"a"},{"name":"b"}]},"test:strict":{"needed":"x"}}"#);
    let first = stamp_since(&Arc::default(), &one, 5);
    let modified = |root: &Fields, at: &str| match tree::get_ref(root, &path(at)) {
        Some(NodeRef::Fields(fields)) => fields.modified(),
        _ => 0,
    };
    for at in ["", "test:nodes", "test:nodes/node=a", "test:strict"] {
        assert_eq!(modified(&first, at), 5, "{at}");
    }
    let edited = put(&first, "test:nodes/node=a/address", r#"{"test:address":"1.1.1.1"}"#);
    let stamped = [
        stamp_since(&first, &edited, 6),
        stamp(&edited, &path("test:nodes/node=a/address"), 6),
        stamp(&edited, &path("test:nodes/node=a"), 6),
    ];
    for second in stamped {
        for (at, revision) in [
            ("", 6),
            ("test:nodes", 6),
            ("test:nodes/node=a", 6),
            ("test:nodes/node=b", 5),
            ("test:strict", 5),
        ] {
            assert_eq!(modified(&second, at), revision, "{at}");
        }
    }
    let key = Key::text("a");
    assert_eq!(first.len(), 2);
    assert_eq!(key.values().len(), 1);
}
