//! Rules across nodes, checked in proportion to the edit.

use std::sync::Arc;

use super::super::ValidationErrorKind::{self, *};
use super::super::json::{self, Mode};
use super::super::testing::{Builder, sample};
use super::super::{DataPath, Fields, Parents, diff, tree, validate};

fn path(text: &str) -> DataPath {
    DataPath::parse_rfc8040(sample(), text).unwrap()
}

fn put(root: &Fields, at: &str, body: &str) -> Fields {
    let at = path(at);
    let node = json::parse_resource(sample(), &at, body.as_bytes(), Mode::Strict).unwrap();
    let mut root = root.clone();
    tree::put(&mut root, sample(), &at, node, Parents::Require).unwrap();
    root
}

fn remove(root: &Fields, at: &str) -> Fields {
    let mut root = root.clone();
    tree::remove(&mut root, sample(), &path(at)).unwrap();
    root
}

/// Kinds and paths of what is wrong with going from `before` to `after`.
fn faults(before: &Fields, after: &Fields) -> Vec<(ValidationErrorKind, String)> {
    match validate(sample(), true, after, &diff(sample(), before, after)) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.into_iter().map(|error| (error.kind, error.path)).collect(),
    }
}

/// Two nodes, the first referring to the second.
fn two_nodes() -> Fields {
    let body = r#"{"test:nodes":{"node":[{"name":"a","address":"10.0.0.1","peer":"b"},{"name":"b"}]}}"#;
    let root = put(&Arc::default(), "test:nodes", body);
    assert_eq!(faults(&Arc::default(), &root), []);
    root
}

#[test]
fn a_leafref_needs_its_target_and_keeps_it() {
    let root = two_nodes();
    let dangling = put(&root, "test:nodes/node=c", r#"{"test:node":[{"name":"c","peer":"x"}]}"#);
    assert_eq!(faults(&root, &dangling), [(LeafrefDangling, "/test:nodes/node[name='c']/peer".into())]);
    let orphan = remove(&root, "test:nodes/node=b");
    assert_eq!(faults(&root, &orphan), [(LeafrefDangling, "/test:nodes/node[name='a']/peer".into())]);
    assert_eq!(faults(&root, &remove(&orphan, "test:nodes/node=a")), []);
    assert_eq!(faults(&root, &remove(&root, "test:nodes/node=a")), []);
}

#[test]
fn unique_and_max_elements_hold_for_the_list_around_an_entry() {
    let root = two_nodes();
    let twin = put(&root, "test:nodes/node=b/address", r#"{"test:address":"10.0.0.1"}"#);
    assert_eq!(faults(&root, &twin), [(NotUnique, "/test:nodes/node[name='b']".into())]);
    let mut full = root.clone();
    for name in ["c", "d", "e", "f", "g"] {
        let body = format!(r#"{{"test:node":[{{"name":"{name}"}}]}}"#);
        full = put(&full, &format!("test:nodes/node={name}"), &body);
    }
    assert_eq!(faults(&root, &full).first().unwrap().0, TooMany);
    assert_eq!(
        faults(&full, &remove(&full, "test:nodes/node=g"))
            .iter()
            .filter(|(kind, _)| *kind == TooMany)
            .count(),
        0
    );
}

#[test]
fn must_is_checked_where_it_stands_and_where_it_is_read() {
    let root = two_nodes();
    let loopback = put(&root, "test:nodes/node=b/address", r#"{"test:address":"127.0.0.1"}"#);
    let errors = validate(sample(), true, &loopback, &diff(sample(), &root, &loopback)).unwrap_err();
    assert_eq!((errors[0].kind, errors[0].path.as_str()), (Must, "/test:nodes/node[name='b']/address"));
    assert_eq!(errors[0].app_tag.as_deref(), Some("no"));
    assert!(errors[0].message.contains("the sample says no"));
    // The must on an address counts the nodes: a fifth one breaks it far from the edit.
    let mut five = root.clone();
    for name in ["c", "d", "e"] {
        let body = format!(r#"{{"test:node":[{{"name":"{name}"}}]}}"#);
        five = put(&five, &format!("test:nodes/node={name}"), &body);
    }
    assert_eq!(faults(&root, &five), [(Must, "/test:nodes/node[name='a']/address".into())]);
    // A role needs an address of its own or of the peer.
    let role = r#"{"test:node":[{"name":"b","role":"tcp","peer":"a"}]}"#;
    let with_role = put(&root, "test:nodes/node=b", role);
    assert_eq!(faults(&root, &with_role), []);
    let without = remove(&with_role, "test:nodes/node=a/address");
    assert_eq!(faults(&with_role, &without), [(Must, "/test:nodes/node[name='b']/role".into())]);
}

#[test]
fn when_decides_what_may_be_present() {
    let root = two_nodes();
    let body = |role: &str, port: &str| {
        format!(r#"{{"test:node":[{{"name":"a","address":"10.0.0.1","role":"{role}","{port}":1}}]}}"#)
    };
    let with = |role, port| put(&root, "test:nodes/node=a", &body(role, port));
    assert_eq!(faults(&root, &with("tcp", "tcp-port")), []);
    assert_eq!(faults(&root, &with("aug:udp", "udp-port")), []);
    assert_eq!(faults(&root, &with("aug:udp-lite", "udp-port")), []);
    assert_eq!(
        faults(&root, &with("aug:udp", "tcp-port")),
        [(When, "/test:nodes/node[name='a']/tcp-port".into())]
    );
    assert_eq!(
        faults(&root, &with("tcp", "udp-port")),
        [(When, "/test:nodes/node[name='a']/udp-port".into())]
    );
}

#[test]
fn mandatory_and_min_elements_are_missed() {
    let root = put(&Arc::default(), "test:strict", r#"{"test:strict":{}}"#);
    let missing = [(Mandatory, "/test:strict/needed".into()), (TooFew, "/test:strict/some".into())];
    assert_eq!(faults(&Arc::default(), &root), missing);
    let whole = put(&Arc::default(), "test:strict", r#"{"test:strict":{"needed":"x","some":[1]}}"#);
    assert_eq!(faults(&Arc::default(), &whole), []);
    assert_eq!(faults(&whole, &remove(&whole, "test:strict/needed")), missing[..1]);
    let three = put(&whole, "test:strict/some", r#"{"test:some":[1,2,3]}"#);
    assert_eq!(faults(&whole, &three), [(TooMany, "/test:strict/some".into())]);
    assert_eq!(faults(&whole, &remove(&whole, "test:strict")), []);
}

#[test]
fn state_is_not_configuration() {
    let root = put(&Arc::default(), "test:state", r#"{"test:state":{"log":["x"]}}"#);
    assert_eq!(faults(&Arc::default(), &root), [(NotConfig, "/test:state".into())]);
    assert_eq!(validate(sample(), false, &root, &diff(sample(), &Arc::default(), &root)), Ok(()));
}

#[test]
fn expressions_that_cannot_be_are_refused_at_load() {
    let wrong = [
        "//y",
        "following::x",
        "'a' | x",
        "nowhere",
        "../../..",
        "x[",
        "x = ",
        "'open",
        "count('x')",
        "sum(1)",
        "not()",
        "substring('a')",
        "derived-from(x, 'no-such')",
        "x y",
        "1 +",
        "x div",
        "1[1]",
        "('a')/x",
        "@x",
        "$x",
        "lang('en')",
        "re-match(x, '[')",
        "re-match(x, name())",
        "deref(x)",
        "deref('x')",
    ];
    for condition in wrong {
        let mut builder = Builder::new();
        let module = builder.module("m", "m");
        let top = builder.container(None, module, "top");
        builder.leaf(top, "x", super::super::Type::Boolean);
        builder.must(top, condition);
        let error = builder.refused();
        assert_eq!((error.module.as_str(), error.node.as_str()), ("m", "top"), "{condition}");
        assert_eq!(error.expression, condition);
    }
}

#[test]
fn conditions_are_evaluated_as_xpath_says() {
    let holds = |condition: &str| {
        let mut builder = Builder::new();
        let module = builder.module("m", "m");
        let top = builder.container(None, module, "top");
        let range = Type::Uint { bits: 8, ranges: vec![0..=255], says: None };
        use super::super::Type;
        let n = builder.leaf(top, "n", range);
        let name = builder.leaf(top, "name", Type::Boolean);
        builder.leaf(top, "absent", Type::Boolean);
        builder.must(top, condition);
        let schema = builder.build();
        let _ = (n, name);
        let body = br#"{"m:top":{"n":7,"name":true}}"#;
        let root = json::parse(schema, None, body, Mode::Strict).unwrap();
        validate(schema, true, &root, &diff(schema, &Arc::default(), &root)).is_ok()
    };
    for condition in [
        "n",
        "n = 7",
        "n = '7'",
        "n != 8",
        "n > 6 and n >= 7",
        "n < 8 or absent",
        "not(absent)",
        "count(n) = 1",
        "count(absent) = 0",
        "name = 'true'",
        "true()",
        "not(false())",
        "contains(name, 'ru')",
        "'a' = 'a'",
        "starts-with(name, 'tr')",
        "string-length(name) = 4",
        "boolean(n)",
        "number(n) <= 7",
        "string(n) = '7'",
        "(n = 1 or n = 7) and name",
        "/m:top/m:n = 7",
        "./n = 7",
        "../top/n = 7",
        "current()/n = 7",
        "n[. = 7]",
        "n[1] and not(n[2]) and n[last()] and n[position() = 1]",
        "n + 1 = 8 and n - 1 = 6 and n * 2 = 14 and n div 2 = 3.5 and n mod 4 = 3",
        "2 + 3 * 2 = 8 and (2 + 3) * 2 = 10 and - - n = 7 and -n < 0",
        "1 div 0 > 1000 and not(0 div 0 = 0 div 0)",
        "//n = 7 and .//n and //top//n and count(//*) = 3",
        "/* and * and */.. and m:*",
        "count(n | name | n) = 2 and (n | name)[2] = 'true'",
        "child::n/parent::top/self::node()/descendant::name and count(*[self::n]) = 1",
        "count(n/ancestor::node()) = 2 and count(n/ancestor-or-self::*) = 2 and n/ancestor::*[1]/name",
        "re-match(n, '[0-9]') and not(re-match(n, '[0-6]')) and not(re-match('77', '7'))",
        "name(n) = 'm:n' and local-name() = 'top' and namespace-uri(n) = 'urn:m'",
        "string(1 div 2) = '0.5' and concat(n, '-', 1) = '7-1' and number('1e3') != number('1e3')",
        "substring('abc', 2) = 'bc' and substring-after('a=b', '=') = 'b' and sum(n | absent) = 7",
    ] {
        assert!(holds(condition), "{condition}");
    }
    for condition in [
        "n[2]",
        "//absent",
        "0",
        "n - 7",
        "* > 7",
        "..//absent | absent",
        "absent",
        "n = 8",
        "n != 7",
        "not(n)",
        "absent = 'x'",
        "absent != 'x'",
        "n > 7",
        "false()",
        "''",
    ] {
        assert!(!holds(condition), "{condition}");
    }
}
