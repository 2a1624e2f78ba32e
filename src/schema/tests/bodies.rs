//! Framing, lists and keys, faults of bodies.

use super::super::json::{self, Mode};
use super::super::testing::sample;
use super::super::{BodyErrorKind, BodyErrors};
use super::super::{DataPath, Node};

const UID: &str = "11111111-2222-3333-4444-555555555555";

fn path(text: &str) -> DataPath {
    DataPath::parse_rfc8040(sample(), text).unwrap()
}

fn resource(mode: Mode, target: &str, body: &str) -> Result<String, BodyErrors> {
    let target = path(target);
    let node = json::parse_resource(sample(), &target, body.as_bytes(), mode)?;
    Ok(written(&target, &node))
}

fn child(mode: Mode, parent: &str, body: &str) -> Result<(String, String), BodyErrors> {
    let (at, node) = json::parse_child(sample(), &path(parent), body.as_bytes(), mode)?;
    Ok((at.to_rfc8040(sample()), written(&at, &node)))
}

fn written(path: &DataPath, node: &Node) -> String {
    let mut out = Vec::new();
    json::write_resource(sample(), path, node, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn put_bodies_repeat_the_resource() {
    let pods = format!("test:coe/pods={UID}");
    let cases = [
        ("test:coe", format!(r#"{{"test:coe":{{"pods":[{{"uid":"{UID}"}}]}}}}"#)),
        ("test:coe", r#"{"test:coe":{}}"#.into()),
        (&pods, format!(r#"{{"test:pods":[{{"uid":"{UID}","name":"a"}}]}}"#)),
        ("test:coe/settings/level", r#"{"test:level":5}"#.into()),
        ("test:nodes/node", r#"{"test:node":[{"name":"a"},{"name":"b"}]}"#.into()),
        ("test:strict", r#"{"test:strict":{"needed":"x","some":[1,2]}}"#.into()),
        ("test:coe/any", r#"{"test:any":{"a":[1,{"b":null}],"z":"x"}}"#.into()),
        ("", r#"{"ietf-restconf:data":{"test:strict":{"needed":"x"}}}"#.into()),
        ("test:acl", r#"{"test:acl":[{"name":"z"},{"name":"a"}]}"#.into()),
        (
            "test:state",
            r#"{"test:state":{"sample":[{"at":"2"},{"at":"1"},{"at":"1"}],"log":["b","a","b"]}}"#.into(),
        ),
    ];
    for (target, body) in &cases {
        assert_eq!(resource(Mode::Strict, target, body).as_ref(), Ok(body));
        assert_eq!(resource(Mode::Lenient, target, body).as_ref(), Ok(body));
    }
    let entry = format!("{pods}/tags=x");
    assert_eq!(resource(Mode::Strict, &entry, r#"{"test:tags":["x"]}"#).unwrap(), r#"{"test:tags":["x"]}"#);
    assert!(resource(Mode::Strict, &entry, r#"{"test:tags":["y"]}"#).is_err());
}

#[test]
fn lenient_put_bodies_may_be_the_children_alone_and_bare_of_modules() {
    let coe = format!(r#"{{"test:coe":{{"pods":[{{"uid":"{UID}"}}]}}}}"#);
    let pods = format!("test:coe/pods={UID}");
    let pod = format!(r#"{{"test:pods":[{{"uid":"{UID}","name":"a"}}]}}"#);
    let cases = [
        ("test:coe", format!(r#"{{"test:pods":[{{"test:uid":"{}"}}]}}"#, UID.to_uppercase()), &coe),
        ("test:coe", format!(r#"{{"pods":[{{"uid":"{UID}"}}]}}"#), &coe),
        ("test:coe", format!(r#"{{"coe":{{"t:pods":[{{"uid":"{UID}"}}]}}}}"#), &coe),
        (&pods, format!(r#"{{"pods":[{{"uid":"{UID}","name":"a"}}]}}"#), &pod),
        (&pods, r#"{"pods":[{"name":"a"}]}"#.to_owned(), &pod),
        (&pods, format!(r#"{{"uid":"{UID}","name":"a"}}"#), &pod),
        (&pods, r#"{"name":"a"}"#.to_owned(), &pod),
    ];
    for (target, body, expected) in cases {
        assert_eq!(resource(Mode::Lenient, target, &body).as_ref(), Ok(expected), "{body}");
        assert!(resource(Mode::Strict, target, &body).is_err() || body.contains("test:uid"), "{body}");
    }
    let datastore = r#"{"ietf-restconf:data":{"test:strict":{"needed":"x"}}}"#;
    assert_eq!(resource(Mode::Lenient, "", r#"{"strict":{"needed":"x"}}"#).as_deref(), Ok(datastore));
}

#[test]
fn post_bodies_name_one_child() {
    let schema = sample();
    let (at, body) = child(Mode::Strict, "test:nodes", r#"{"test:node":[{"name":"a/b"}]}"#).unwrap();
    assert_eq!((at.as_str(), body.as_str()), ("test:nodes/node=a%2Fb", r#"{"test:node":[{"name":"a/b"}]}"#));
    let (at, _) = child(Mode::Strict, "", r#"{"test:strict":{"needed":"x"}}"#).unwrap();
    assert_eq!(at, "test:strict");
    let (at, _) = child(Mode::Lenient, "test:nodes", r#"{"node":[{"name":"a"}]}"#).unwrap();
    assert_eq!(at, "test:nodes/node=a");
    let (at, _) = child(Mode::Strict, &format!("test:coe/pods={UID}"), r#"{"test:tags":["x"]}"#).unwrap();
    assert!(at.ends_with("/tags=x"));
    for wrong in [
        r#"{"node":[{"name":"a"}]}"#,
        r#"{"test:node":[{"name":"a"},{"name":"b"}]}"#,
        r#"{"test:node":[]}"#,
        r#"{"test:node":[{"name":"a"}],"test:x":1}"#,
        "{}",
        "[]",
        "null",
        "",
    ] {
        assert!(child(Mode::Strict, "test:nodes", wrong).is_err(), "{wrong}");
    }
    let rpc = &DataPath::root().child(schema.rpcs[0]);
    let input = json::parse_input(schema, rpc, br#"{"test:input":{"hard":true}}"#, Mode::Strict).unwrap();
    assert_eq!(input.len(), 1);
    assert!(json::parse_input(schema, rpc, b" ", Mode::Strict).unwrap().is_empty());
    assert!(json::parse_input(schema, rpc, br#"{"input":{"hard":"true"}}"#, Mode::Lenient).is_ok());
    assert!(json::parse_input(schema, rpc, br#"{"input":{"hard":true}}"#, Mode::Strict).is_err());
}

#[test]
fn positions_become_the_keys_of_positional_lists() {
    let body = r#"{"test:rule":[{"protocol":"a"},{"protocol":"b"}]}"#;
    let expected = r#"{"test:rule":[{"index":1,"protocol":"a"},{"index":2,"protocol":"b"}]}"#;
    assert_eq!(resource(Mode::Lenient, "test:rule", body).as_deref(), Ok(expected));
    assert_eq!(resource(Mode::Strict, "test:rule", body).as_deref(), Ok(expected));
    let clash = r#"{"test:rule":[{"protocol":"a"},{"index":1}]}"#;
    assert_eq!(resource(Mode::Lenient, "test:rule", clash).unwrap_err().0[0].kind, BodyErrorKind::Duplicate);
}

#[test]
fn faulty_bodies_are_refused_with_kind_and_path() {
    use BodyErrorKind::*;
    let deep = format!(r#"{{"test:any":{}1{}}}"#, "[".repeat(100), "]".repeat(100));
    let deeper = format!(r#"{{"test:coe":{{"any":{}{}}}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let unknown = format!(r#"{{"test:coe":{{"x":{}{}}}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let cases: Vec<(&str, &str, BodyErrorKind, &str)> = vec![
        ("test:coe", "", MalformedMessage, "/"),
        ("test:coe", "{", MalformedMessage, "/"),
        ("test:coe", "[]", MalformedMessage, "/"),
        ("test:coe", "null", MalformedMessage, "/"),
        ("test:coe", "5", MalformedMessage, "/"),
        ("test:coe", "{}", MissingElement, "/"),
        ("test:coe", r#"{"test:coe":{}} x"#, MalformedMessage, "/"),
        ("test:coe", r#"{"test:coe":{},}"#, MalformedMessage, "/"),
        ("test:coe", r#"{"test:coe":{}, "test:nodes":{}}"#, BadElement, "/"),
        ("test:coe", r#"{"test:nodes":{}}"#, UnknownElement, "/"),
        ("test:coe", r#"{"coe":{}}"#, UnknownElement, "/"),
        ("test:coe", r#"{"tests:coe":{}}"#, UnknownNamespace, "/"),
        ("test:coe", r#"{"test:coe":{"pod":[]}}"#, UnknownElement, "/test:coe"),
        ("test:coe", r#"{"test:coe":{"x:pods":[]}}"#, UnknownNamespace, "/test:coe"),
        ("test:coe", r#"{"test:coe":[]}"#, InvalidValue, "/test:coe"),
        ("test:coe", r#"{"test:coe":{"pods":{}}}"#, InvalidValue, "/test:coe/pods"),
        ("test:coe", r#"{"test:coe":{"pods":[{"name":"x"}]}}"#, MissingElement, "/test:coe/pods[1]"),
        ("test:coe", r#"{"test:coe":{"pods":[5]}}"#, InvalidValue, "/test:coe/pods[1]"),
        ("test:coe", r#"{"test:coe":{"settings":{"level":256}}}"#, InvalidValue, "/test:coe/settings/level"),
        ("test:coe/any", &deep, TooBig, "/test:coe/any"),
        ("test:coe", &deeper, TooBig, "/"),
        ("test:coe", &unknown, UnknownElement, "/test:coe"),
        ("test:nodes/node=a", r#"{"test:node":[{"name":"b"}]}"#, InvalidValue, "/test:nodes/node[name='b']"),
        ("test:nodes/node=a", r#"{"test:node":[]}"#, BadElement, "/test:nodes/node"),
        (
            "test:nodes/node=a",
            r#"{"test:node":[{"name":"a"},{"name":"b"}]}"#,
            InvalidValue,
            "/test:nodes/node[name='b']",
        ),
        ("test:nodes/node", r#"{"test:node":[{"name":"a"},{"name":"a"}]}"#, Duplicate, "/test:nodes/node"),
        ("", r#"{"test:coe":{}}"#, UnknownElement, "/"),
        (
            "test:nodes/node=a",
            r#"{"test:node":[{"name":"a","address":"x"}]}"#,
            InvalidValue,
            "/test:nodes/node[name='a']/address",
        ),
    ];
    for (target, body, kind, at) in cases {
        let errors = resource(Mode::Strict, target, body).expect_err(body);
        assert_eq!((errors.0[0].kind, errors.0[0].path.as_str()), (kind, at), "{:.80} {errors}", body);
    }
    assert!(
        json::parse_resource(sample(), &path("test:coe"), b"{\"test:coe\":{\"any\":\"\xff\"}}", Mode::Strict)
            .is_err()
    );
}

/// RFC 8040 section 7.1: error-path is an instance-identifier, in which an entry of a leaf-list is `[.='value']`.
#[test]
fn faults_of_leaf_lists_name_the_value() {
    use BodyErrorKind::*;
    let strict = |some: &str| format!(r#"{{"test:strict":{{"needed":"x","some":{some}}}}}"#);
    let long = "9".repeat(300);
    let cases = [
        ("test:strict", strict("[1,256]"), InvalidValue, "/test:strict/some[.='256']"),
        ("test:strict", strict("[-1]"), InvalidValue, "/test:strict/some[.='-1']"),
        ("test:strict", strict("[1.5]"), InvalidValue, "/test:strict/some[.='1.5']"),
        ("test:strict", strict("[true]"), InvalidValue, "/test:strict/some[.='true']"),
        ("test:strict", strict("[null]"), InvalidValue, "/test:strict/some[.='null']"),
        ("test:strict", strict(r#"[1,"it's"]"#), InvalidValue, r#"/test:strict/some[.="it's"]"#),
        ("test:strict", strict(r#"[1,"a/b]["]"#), InvalidValue, "/test:strict/some[.='a/b][']"),
        // What cannot be quoted, or is long, has its position.
        ("test:strict", strict(r#"[1,"'\""]"#), InvalidValue, "/test:strict/some[2]"),
        ("test:strict", strict(&format!(r#"[1,2,"{long}"]"#)), InvalidValue, "/test:strict/some[3]"),
        ("test:strict", strict("[1,[2]]"), InvalidValue, "/test:strict/some[2]"),
        ("test:strict", strict("[3,2,3]"), Duplicate, "/test:strict/some[.='3']"),
        ("test:strict", strict("3"), InvalidValue, "/test:strict/some"),
        ("test:strict/some", r#"{"test:some":[300]}"#.into(), InvalidValue, "/test:strict/some[.='300']"),
        ("test:strict/some=7", r#"{"test:some":[300]}"#.into(), InvalidValue, "/test:strict/some[.='300']"),
        ("test:strict/some=7", r#"{"test:some":[8]}"#.into(), InvalidValue, "/test:strict/some[.='7']"),
    ];
    for (target, body, kind, at) in cases {
        let errors = resource(Mode::Strict, target, &body).expect_err(&body);
        assert_eq!((errors.0[0].kind, errors.0[0].path.as_str()), (kind, at), "{body:.120} {errors}");
    }
    let errors = child(Mode::Strict, "test:strict", r#"{"test:some":["no"]}"#).unwrap_err();
    assert_eq!(errors.0[0].path, "/test:strict/some[.='no']");
}

#[test]
fn all_faults_are_named_up_to_twenty() {
    let entry = r#"{"name":"x","address":"1","tcp-port":-1}"#;
    let one = format!(r#"{{"test:nodes":{{"node":[{entry}]}}}}"#);
    let errors = resource(Mode::Strict, "test:nodes", &one).unwrap_err();
    let paths: Vec<&str> = errors.0.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(paths, ["/test:nodes/node[name='x']/address", "/test:nodes/node[name='x']/tcp-port"]);
    let many = format!(r#"{{"test:nodes":{{"node":[{}]}}}}"#, vec![entry; 50].join(","));
    assert_eq!(resource(Mode::Strict, "test:nodes", &many).unwrap_err().0.len(), 20);
}
