//! Our verdicts against libyang's, on the sample schema written as YANG (`testing/test.yang`).

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value as Json, json};
use yang5::context::{Context, ContextFlags};
use yang5::data::{Data, DataFormat, DataParserFlags, DataPrinterFlags, DataTree, DataValidationFlags};

use super::super::json::{self, Mode};
use super::super::testing::{arbitrary_root, sample};
use super::super::{DataPath, Fields, Parents, Schema, ValidationErrorKind, diff, tree, validate};

fn context() -> Context {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("test.yang"), include_str!("../testing/test.yang")).unwrap();
    std::fs::write(dir.path().join("aug.yang"), include_str!("../testing/aug.yang")).unwrap();
    let mut context = Context::new(ContextFlags::NO_YANGLIBRARY).unwrap();
    context.set_searchdir(dir.path()).unwrap();
    context.load_module("test", None, &[]).unwrap();
    context.load_module("aug", None, &[]).unwrap();
    context
}

/// What libyang makes of a configuration: its own rendering, or its complaint.
fn libyang(context: &Context, text: &str) -> Result<Json, String> {
    let flags = DataParserFlags::STRICT | DataParserFlags::NO_STATE;
    let tree = DataTree::parse_string(context, text, DataFormat::JSON, flags, DataValidationFlags::PRESENT)
        .map_err(|error| format!("{error:?}"))?;
    let flags = DataPrinterFlags::WITH_SIBLINGS | DataPrinterFlags::SHRINK;
    let printed = tree.print_string(DataFormat::JSON, flags).map_err(|error| format!("{error:?}"))?;
    Ok(serde_json::from_str(&printed).unwrap_or(Json::Null))
}

/// What we make of it.
fn ours(schema: &Schema, text: &str) -> Result<Json, String> {
    let before = Fields::default();
    let root =
        json::parse(schema, None, text.as_bytes(), Mode::Strict).map_err(|errors| errors.to_string())?;
    validate(schema, true, &root, &diff(schema, &before, &root)).map_err(|errors| format!("{errors:?}"))?;
    let mut out = Vec::new();
    json::write(schema, None, &root, &mut out);
    Ok(serde_json::from_slice(&out).unwrap())
}

/// libyang keeps system-ordered lists as they came, or sorted; we sort them. Order is compared in other laws.
pub(super) fn unordered(json: &Json) -> Json {
    match json {
        Json::Array(items) => {
            let mut items: Vec<Json> = items.iter().map(unordered).collect();
            items.sort_by_key(Json::to_string);
            Json::Array(items)
        }
        Json::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), unordered(value))).collect()
        }
        other => other.clone(),
    }
}

pub(super) fn agree(schema: &Schema, context: &Context, document: &Json) -> Result<(), TestCaseError> {
    let text = document.to_string();
    match (ours(schema, &text), libyang(context, &text)) {
        (Ok(one), Ok(other)) => prop_assert_eq!(unordered(&one), unordered(&other), "{}", text),
        (Err(_), Err(_)) => {}
        // Positions stand in for keys with us.
        (Ok(_), Err(reason)) if reason.contains("is missing its key") => {}
        // A mandatory leaf in a top-level container without presence: libyang asks for it with any other data of the
        // module. We ask for it when something of the container is there, else no store could be empty.
        (Ok(_), Err(reason)) if reason.contains("Mandatory node") && elsewhere(document, &reason) => {}
        // We look at configuration alone; libyang asks for the mandatory state beside it.
        (Ok(_), Err(reason)) if reason.contains("Mandatory node") && is_state(schema, &reason) => {}
        // libyang knows this type by name and reads it; with us the access rules do, when they are written (`access`).
        (Ok(_), Err(reason)) if reason.contains("Invalid node-instance-identifier") => {}
        (Ok(_), Err(reason)) => prop_assert!(false, "we take what libyang refuses ({reason}): {text}"),
        (Err(reason), Ok(_)) => prop_assert!(false, "we refuse ({reason}) what libyang takes: {text}"),
    }
    Ok(())
}

/// Does libyang complain of a node that is state wherever it is found?
fn is_state(schema: &Schema, reason: &str) -> bool {
    let name = reason
        .split("Mandatory node")
        .nth(1)
        .and_then(|rest| rest.split(['"', '\\']).find(|part| part.len() > 1));
    let mut named =
        schema.nodes.iter().filter(|node| name.is_some_and(|name| &*node.name == name)).peekable();
    named.peek().is_some() && named.all(|node| !node.config)
}

/// Does libyang complain of a top-level node that the document does not have, or has empty?
fn elsewhere(document: &Json, reason: &str) -> bool {
    let members = document.as_object().into_iter().flatten();
    let mut there = members.filter(|(_, value)| **value != json!({}));
    !there.any(|(name, _)| reason.contains(&format!("Some(\"/{name}")))
}

fn written(root: &Fields) -> Json {
    let mut out = Vec::new();
    json::write(sample(), None, root, &mut out);
    serde_json::from_slice(&out).unwrap()
}

/// Nodes with few names and addresses, so that every rule between them is met and broken.
pub(super) fn nodes() -> impl Strategy<Value = Json> {
    let name = || select(vec!["a", "b", "c", "d", "e"]);
    let maybe = |values: Vec<Json>| prop_oneof![Just(None), select(values).prop_map(Some)];
    let addresses = vec![json!("10.0.0.1"), json!("10.0.0.2"), json!("10.0.0.3"), json!("127.0.0.1")];
    let node = (
        name(),
        maybe(addresses),
        prop_oneof![2 => Just(None), 1 => name().prop_map(|name| Some(json!(name)))],
        maybe(vec![json!("tcp"), json!("aug:udp"), json!("aug:udp-lite")]),
        prop_oneof![3 => Just(None), 1 => Just(Some(json!(5)))],
        prop_oneof![3 => Just(None), 1 => Just(Some(json!(7)))],
    );
    let node = node.prop_map(|(name, address, peer, role, tcp, udp)| {
        let all =
            [("address", address), ("peer", peer), ("role", role), ("tcp-port", tcp), ("udp-port", udp)];
        let mut node = json!({ "name": name });
        all.into_iter().for_each(|(name, value)| {
            if let Some(value) = value {
                node[name] = value;
            }
        });
        node
    });
    proptest::collection::vec(node, 1..5).prop_map(|nodes| json!({ "test:nodes": { "node": nodes } }))
}

/// Changes one thing somewhere below.
pub(super) fn mutate(json: &mut Json, at: &Index, value: &Json, kind: u8) {
    fn places(json: &Json, here: &str, found: &mut Vec<String>) {
        match json {
            Json::Object(members) => {
                for (name, value) in members {
                    let here = format!("{here}/{}", name.replace('~', "~0").replace('/', "~1"));
                    found.push(here.clone());
                    // The inside of anydata is nobody's business.
                    if name != "any" {
                        places(value, &here, found);
                    }
                }
            }
            Json::Array(items) => {
                for (number, value) in items.iter().enumerate() {
                    let here = format!("{here}/{number}");
                    found.push(here.clone());
                    places(value, &here, found);
                }
            }
            _ => {}
        }
    }
    let mut all = Vec::new();
    places(json, "", &mut all);
    if all.is_empty() {
        return;
    }
    let place = at.get(&all).clone();
    let (above, name) = place.rsplit_once('/').unwrap();
    match (kind, json.pointer_mut(above).unwrap()) {
        (0, Json::Object(members)) => {
            members.remove(name);
        }
        (0, Json::Array(items)) => {
            items.remove(name.parse().unwrap());
        }
        (1, Json::Array(items)) => {
            let twin = items[name.parse::<usize>().unwrap()].clone();
            items.push(twin);
        }
        (1, Json::Object(members)) => {
            members.insert("nobody".into(), value.clone());
        }
        _ => *json.pointer_mut(&place).unwrap() = value.clone(),
    }
}

pub(super) fn odd_values() -> Vec<Json> {
    vec![
        json!(""),
        json!("x"),
        json!("-1"),
        json!(-1),
        json!(0),
        json!(6),
        json!(256),
        json!(70000),
        json!(4294967296u64),
        json!("7"),
        json!(true),
        json!("true"),
        json!(null),
        json!([null]),
        json!("10.0.0.1"),
        json!("10.0.0.300"),
        json!("10.1.2.3/8"),
        json!("::1"),
        json!("2001:db8::/32"),
        json!("tcp"),
        json!("aug:udp"),
        json!("test:tcp"),
        json!("transport"),
        json!("99999999999999999999"),
        json!(1.5),
        json!("1.5"),
        json!("1.555"),
        json!({}),
        json!([]),
        json!([1, 2]),
        json!(["a", "a"]),
        json!("up"),
        json!("up last"),
        json!("FLAT"),
        json!("AAEC"),
        json!("tooolong"),
        json!("11111111-2222-3333-4444-555555555555"),
        json!("00:11:22:33:44:55"),
        json!("/test:nodes"),
        json!("/nobody:x"),
        json!([{"name": "a"}]),
        json!("\u{7}"),
        json!("é😀"),
    ]
}

thread_local! {
    pub(super) static LIBYANG: Context = context();
}

/// A configuration without the parts that `nodes` draws better, and without what the oracle does not know
/// (positions for keys) or keeps differently (null inside anydata).
pub(super) fn plain_root() -> impl Strategy<Value = Json> {
    arbitrary_root(sample(), false).prop_map(|root| {
        let mut json = written(&root);
        let top = json.as_object_mut().unwrap();
        top.remove("test:nodes");
        top.remove("test:rule");
        if let Some(coe) = top.get_mut("test:coe").and_then(Json::as_object_mut) {
            coe.remove("any");
        }
        let pods = json.pointer_mut("/test:coe/pods").and_then(Json::as_array_mut);
        pods.into_iter().flatten().for_each(|pod| {
            pod.as_object_mut().unwrap().remove("aug:extra");
        });
        json
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Data right in shape: same verdict, same canonical rendering.
    #[test]
    fn random_documents_get_the_verdict_of_libyang(document in plain_root()) {
        LIBYANG.with(|context| agree(sample(), context, &document))?;
    }

    /// Rules between nodes: leafref, unique, must, when.
    #[test]
    fn random_references_get_the_verdict_of_libyang(document in nodes()) {
        LIBYANG.with(|context| agree(sample(), context, &document))?;
    }

    /// What validation finds by looking at the edit is what it finds by looking at everything.
    #[test]
    fn validating_an_edit_is_validating_the_whole(
        first in nodes(),
        second in nodes(),
        gone in proptest::collection::vec(select(vec!["a", "b", "c", "d", "e"]), 0..3),
    ) {
        let schema = sample();
        let node = |name: &str| DataPath::parse_rfc8040(schema, &format!("test:nodes/node={name}")).unwrap();
        let put = |root: &Fields, json: &Json| {
            let at = node(json["name"].as_str().unwrap());
            let body = json!({ "test:node": [json] }).to_string();
            let entry = json::parse_resource(schema, &at, body.as_bytes(), Mode::Strict).unwrap();
            let mut root = root.clone();
            tree::put(&mut root, schema, &at, entry, Parents::Require).unwrap();
            root
        };
        let each = |document: &Json| document["test:nodes"]["node"].as_array().unwrap().clone();
        let found = |before: &Fields, after: &Fields| -> BTreeSet<(String, String)> {
            let errors = validate(schema, true, after, &diff(schema, before, after)).err().unwrap_or_default();
            // Which of two twins is named depends on which was touched.
            let named = errors.into_iter().map(|error| match error.kind {
                ValidationErrorKind::NotUnique => ("twins".into(), "twins".into()),
                _ => (error.path, error.message),
            });
            named.collect()
        };
        let nothing = Fields::default();
        let mut before = nothing.clone();
        for json in each(&first) {
            let more = put(&before, &json);
            if found(&nothing, &more).is_empty() {
                before = more;
            }
        }
        let mut after = each(&second).iter().fold(before.clone(), |root, json| put(&root, json));
        for name in gone {
            tree::remove(&mut after, schema, &node(name)).unwrap();
        }
        prop_assert_eq!(found(&before, &after), found(&nothing, &after));
    }

    /// Documents with one thing wrong, or not.
    #[test]
    fn mutated_documents_get_the_verdict_of_libyang(
        document in prop_oneof![4 => plain_root(), 1 => nodes()],
        mutations in proptest::collection::vec((any::<Index>(), select(odd_values()), 0..6u8), 1..3),
    ) {
        let mut document = document;
        for (at, value, kind) in &mutations {
            mutate(&mut document, at, value, *kind);
        }
        LIBYANG.with(|context| agree(sample(), context, &document))?;
    }
}

#[test]
fn the_oracle_knows_right_from_wrong() {
    LIBYANG.with(|context| {
        assert!(libyang(context, r#"{"test:strict":{"needed":"x","some":[1]}}"#).is_ok());
        assert!(libyang(context, r#"{"test:strict":{"some":[1]}}"#).is_err());
    });
}
