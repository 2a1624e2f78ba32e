//! Every statement that constrains data, against libyang (`testing/rules.yang`, compiled as the built-in modules are).

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use proptest::sample::{Index as Pick, select};
use serde_json::{Value as Json, json};
use yang5::context::Context;

use super::super::json::{self as codec, Mode};
use super::super::load::{Texts, context_of, load_from};
use super::super::testing::arbitrary_root;
use super::super::{Fields, Index, Schema, ValidationError, diff, validate, validate_with};
use super::oracle::{agree, mutate};

const TEXTS: &Texts = &[
    ("rules", include_str!("../testing/rules.yang")),
    ("rules-dev", include_str!("../testing/rules-dev.yang")),
];

static RULES: LazyLock<&'static Schema> = LazyLock::new(|| load_from(TEXTS).unwrap());

thread_local! {
    static LIBYANG: Context = context_of(TEXTS).unwrap();
}

fn parsed(document: &Json) -> Fields {
    let text = document.to_string();
    codec::parse(*RULES, None, text.as_bytes(), Mode::Strict)
        .unwrap_or_else(|errors| panic!("{errors}: {text}"))
}

fn faults(document: &Json) -> Vec<ValidationError> {
    let root = parsed(document);
    validate(*RULES, true, &root, &diff(*RULES, &Arc::default(), &root)).err().unwrap_or_default()
}

/// A configuration of one of the containers, so that the others do not get in the way.
fn documents() -> impl Strategy<Value = Json> {
    let whole = arbitrary_root(*RULES, false).prop_map(|root| {
        let mut out = Vec::new();
        codec::write(*RULES, None, &root, &mut out);
        serde_json::from_slice::<Json>(&out).unwrap()
    });
    let names =
        vec!["net", "net", "pick", "must", "must", "ways", "ways", "listed", "listed", "points", "features"];
    (whole, select(names), any::<bool>()).prop_map(|(mut whole, name, alone)| {
        let name = format!("rules:{name}");
        if let Some(members) = whole.as_object_mut() {
            members.retain(|member, _| *member == name || !alone && member == "rules:features");
        }
        // libyang keeps null in anydata differently.
        if let Some(thing) = whole.pointer_mut("/rules:must/thing") {
            *thing = json!({"a": [1]});
        }
        whole
    })
}

/// Few spots, which name one another.
fn spots() -> impl Strategy<Value = Json> {
    let names = || select(vec!["a", "b", "c"]);
    let ends = vec!["", "", "/size", "/name", "/x", "/y", "/by", "/in", "/in/w", "/in/v", "/entry"];
    let member = (0..13usize, names(), select(ends), 1..5u8);
    let spot = (names(), proptest::collection::vec(member, 0..4)).prop_map(|(name, members)| {
        let mut spot = json!({ "name": name });
        for (which, other, end, digit) in members {
            let path = json!(format!("/rules:pointing/spot[name='{other}']{end}"));
            let (member, value) = match which {
                0 => ("size", json!(digit)),
                1 => ("entry", path),
                2 => ("leaf", path),
                3 => ("several", json!([path])),
                4 => ("hop", path),
                5 => ("beside", path),
                6 => ("next", json!(other)),
                // libyang 5 crashes at deref() of a union that is something else.
                7 => ("odd", path),
                8 => ("counted", path),
                9 => ("y", json!(other)),
                10 => ("needs-v", json!(other)),
                11 => ("needs-by", json!(other)),
                _ => ("x", json!(digit)),
            };
            if !(member == "x" && spot.get("y").is_some() || member == "y" && spot.get("x").is_some()) {
                spot[member] = value;
            }
        }
        spot
    });
    proptest::collection::btree_map(names(), spot, 0..4).prop_map(|spots| {
        let spots: Vec<Json> = spots
            .into_iter()
            .map(|(name, mut spot)| {
                spot["name"] = json!(name);
                spot
            })
            .collect();
        json!({"rules:pointing": {"spot": spots}})
    })
}

/// RFC 8040 section 7.1: an entry of a leaf-list is named by its value.
#[test]
fn faults_of_leaf_lists_name_the_value() {
    let cases = [
        (
            json!({"rules:net": {"host": [{"name": "a", "friends": ["a", "b"]}]}}),
            vec!["/rules:net/host[name='a']/friends[.='b']"],
        ),
        (
            json!({"rules:must": {"several": [1], "sum": [1, 2, 3]}}),
            vec!["/rules:must/sum[.='1']", "/rules:must/sum[.='2']", "/rules:must/sum[.='3']"],
        ),
        (
            json!({"rules:points": {"many": ["/rules:net/host[name='a']"]}}),
            vec![r#"/rules:points/many[.="/rules:net/host[name='a']"]"#],
        ),
    ];
    for (document, paths) in cases {
        let found = faults(&document);
        let found: Vec<&str> = found.iter().map(|fault| fault.path.as_str()).collect();
        assert_eq!(found, paths, "{document}");
    }
}

fn values() -> Vec<Json> {
    let iid = |text: &str| json!(text);
    vec![
        json!("a"),
        json!("b"),
        json!("e"),
        json!(1),
        json!(2),
        json!(4),
        json!(5),
        json!("1"),
        json!("none"),
        json!({"a": [1]}),
        json!("rules:oval"),
        json!("square"),
        json!([null]),
        json!("0.5"),
        json!("-0.5"),
        json!(["a"]),
        json!([1, 2]),
        json!([1, 2, 3, 4]),
        json!({}),
        iid("/rules:points/target"),
        iid("/rules:points/empty-one"),
        iid("/rules:net/host[name='a']"),
        iid("/rules:net/host[name='a']/peer"),
        iid("/rules:must"),
        iid("/rules:listed/picks[.='a']"),
        iid("/rules:listed/picks[.='c']"),
    ]
}

fn damaged() -> impl Strategy<Value = Json> {
    let mutations = proptest::collection::vec((any::<Pick>(), select(values()), 0..6u8), 0..4);
    (documents(), mutations).prop_map(|(mut document, mutations)| {
        for (at, value, kind) in &mutations {
            mutate(&mut document, at, value, *kind);
        }
        // We take any JSON as anydata.
        if let Some(thing) = document.pointer_mut("/rules:must/thing").filter(|thing| !thing.is_object()) {
            *thing = json!({});
        }
        document
    })
}

fn told(errors: Result<(), Vec<ValidationError>>) -> BTreeSet<(String, String)> {
    errors.err().unwrap_or_default().into_iter().map(|error| (error.path, error.message)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        max_local_rejects: 1_000_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_statement_gets_the_verdict_of_libyang(document in damaged()) {
        LIBYANG.with(|context| agree(*RULES, context, &document))?;
    }

    /// What instance-identifiers name, and what is there by default, read from afar.
    #[test]
    fn what_is_pointed_at_gets_the_verdict_of_libyang(document in spots()) {
        LIBYANG.with(|context| agree(*RULES, context, &document))?;
    }

    /// An index that has gone through other states, refused ones too, finds what looking at everything finds.
    #[test]
    fn a_kept_index_changes_no_verdict(
        documents in prop_oneof![
            proptest::collection::vec(documents(), 1..6),
            proptest::collection::vec(spots(), 4..16),
        ],
    ) {
        let mut index = Index::default();
        let mut stored = Fields::default();
        for document in documents {
            let candidate = parsed(&document);
            let changes = diff(*RULES, &stored, &candidate);
            let kept = validate_with(&mut index, *RULES, &candidate, &changes);
            let fresh = validate(*RULES, true, &candidate, &changes);
            prop_assert_eq!(&kept, &fresh);
            // From a state that held, the edit has all the faults of the whole.
            let whole = validate(*RULES, true, &candidate, &diff(*RULES, &Arc::default(), &candidate));
            let few = |errors: &BTreeSet<_>| errors.len() < 15;
            let (found, all) = (told(fresh), told(whole));
            if few(&found) && few(&all) {
                prop_assert_eq!(found, all, "from {:?}", stored);
            }
            if kept.is_ok() {
                stored = candidate;
            }
        }
    }
}

/// Each expression in `ways` with one leaf and a few rows, so that no other fault hides its verdict; each is met and broken.
#[test]
fn every_kind_of_expression_gets_the_verdict_of_libyang() {
    let rows = [
        json!([]),
        json!([{"id": 1}]),
        json!([{"id": 1, "size": 1, "next": 1, "in": {"size": 3}}]),
        json!([{"id": 2}, {"id": 1, "size": 4, "next": 2}]),
        json!([{"id": 2, "next": 1, "size": 1}, {"id": 1, "size": 1, "in": {"size": 2}}]),
        json!([{"id": 3, "size": 3, "next": 4}, {"id": 4, "next": 3}, {"id": 1, "size": 1, "next": 3}]),
        json!([{"id": 4, "next": 3}, {"id": 3, "in": {"size": 1}}, {"id": 2, "in": {"size": 1}}, {"id": 1}]),
    ];
    let digits = json!([1, 2, 3, 4]);
    let words = json!(["a", "b", "c", "d"]);
    let ways = RULES.child(None, Some("rules"), "ways").unwrap();
    for leaf in RULES.node(ways).children.iter().map(|id| RULES.node(*id).name.to_string()) {
        let values = match leaf.as_str() {
            "row" => continue,
            "match" | "text" | "space" | "cut" | "named" => &words,
            "near" => &json!(["-1.5", "0.5", "1.4", "2.1", "-0.5", "1.5"]),
            "level" => &json!(["low", "mid", "high"]),
            "marks" => &json!(["", "up", "down", "up down"]),
            _ => &digits,
        };
        let mut verdicts = BTreeSet::new();
        for (rows, value) in
            rows.iter().flat_map(|rows| values.as_array().unwrap().iter().map(move |v| (rows, v)))
        {
            let mut document = json!({"rules:ways": {"row": rows, &leaf: value}, "rules:pick": {"two": "a"}});
            // What only two leafs together show.
            if leaf == "both" || leaf == "either" {
                document["rules:ways"]["first"] = rows.pointer("/0/id").cloned().unwrap_or(json!(1));
            }
            LIBYANG.with(|context| agree(*RULES, context, &document)).unwrap();
            let here = format!("/rules:ways/{leaf}");
            verdicts.insert(faults(&document).iter().any(|error| error.path == here));
        }
        assert_eq!(verdicts.len(), 2, "{leaf}: always {verdicts:?}");
    }
}

/// One edit after the other, with a kept index: who is concerned by it, from however far.
#[test]
fn what_an_instance_identifier_names_is_watched() {
    let spot = |name: &str| format!("/rules:pointing/spot[name='{name}']");
    let state = |a: Json, b: Json| {
        let named = |name: &str, mut spot: Json| {
            spot["name"] = json!(name);
            spot
        };
        json!({"rules:pointing": {"spot": [named("a", a), named("b", b)]}})
    };
    let b = |end: &str| json!(spot("b") + end);
    // The pointing spot; what it points at before and after; who is wrong then.
    let cases = [
        // The entry itself: a leaf of it, its default, the whole.
        (json!({"entry": b(""), "size": 3}), json!({"size": 3}), Some(json!({"size": 1})), "entry"),
        (json!({"entry": b(""), "size": 2}), json!({}), Some(json!({"size": 1})), "entry"),
        (json!({"entry": b("")}), json!({}), None, "entry"),
        // A leaf, its sibling.
        (json!({"leaf": b("/name"), "size": 3}), json!({"size": 3}), Some(json!({"size": 1})), "leaf"),
        (json!({"leaf": b("/size"), "size": 3}), json!({"size": 3}), Some(json!({"size": 4})), "leaf"),
        (json!({"leaf": b("/y")}), json!({"y": "a"}), Some(json!({})), "leaf"),
        // A default that goes with its case, or with its condition.
        (json!({"leaf": b("/x")}), json!({}), Some(json!({"y": "a"})), "leaf"),
        (json!({"several": [b("/by")]}), json!({"y": "a"}), Some(json!({})), "several"),
        (json!({"several": [b("/in/w")]}), json!({"y": "a"}), Some(json!({"y": "b"})), "several"),
        (json!({"odd": b("/size")}), json!({"y": "a"}), Some(json!({"y": "b"})), "odd"),
        (json!({"odd": 3}), json!({"size": 3, "y": "a"}), Some(json!({"size": 3, "y": "b"})), "odd"),
        // By two steps, and by a leafref.
        (json!({"hop": b("")}), json!({"entry": b("")}), Some(json!({"entry": b(""), "size": 3})), "hop"),
        (json!({"next": "b", "size": 3}), json!({"size": 3}), Some(json!({"size": 1})), "next"),
        // From what is named upwards, and down to something else.
        (json!({"beside": json!(spot("b")), "y": "c"}), json!({}), Some(json!({})), ""),
    ];
    for (from, before, after, wrong) in cases {
        let mut index = Index::default();
        let mut stored = Fields::default();
        let mut step = |document: &Json| {
            let candidate = parsed(document);
            let told = validate_with(&mut index, *RULES, &candidate, &diff(*RULES, &stored, &candidate));
            stored = candidate;
            told.err().unwrap_or_default().into_iter().map(|error| error.path).collect::<BTreeSet<_>>()
        };
        let gone = json!({"rules:pointing": {"spot": [state(from.clone(), json!({}))["rules:pointing"]["spot"][0]]}});
        assert_eq!(step(&state(from.clone(), before)), BTreeSet::new(), "{from}");
        let found = step(&after.map_or(gone, |after| state(from.clone(), after)));
        let wanted = format!("{}/{wrong}", spot("a"));
        let right =
            found.iter().all(|path| path.starts_with(&wanted)) && found.is_empty() == wrong.is_empty();
        assert!(right, "{from}: {found:?}, and not {wanted}");
    }
    // One that need not lead anywhere leads to nothing then.
    let loose = faults(&json!({"rules:pointing": {"spot": [{"name": "a", "loose": b("")}]}}));
    assert_eq!(loose.len(), 1, "{loose:?}");
    assert_eq!(faults(&json!({"rules:pointing": {"spot": [{"name": "a", "loose": spot("a")}]}})), []);
}

#[test]
fn models_own_messages_are_quoted() {
    let low = json!({"rules:must": {"low": 4, "several": [1], "thing": {}}});
    let errors = faults(&low);
    let error = errors.iter().find(|error| error.path == "/rules:must/low").unwrap();
    assert!(error.message.contains("low is above high"), "{error}");
    assert_eq!(error.app_tag.as_deref(), Some("upside-down"));
    let refused = |leaf: &str, value: Json| {
        let text = json!({"rules:pick": {}, "rules:must": {leaf: value}}).to_string();
        codec::parse(*RULES, None, text.as_bytes(), Mode::Strict).unwrap_err().0.remove(0).message
    };
    assert!(refused("low", json!(5)).contains("one to four, please"));
    assert!(!refused("low", json!("x")).contains("one to four, please"));
    let text = br#"{"rules:pick": {"which": "x"}}"#;
    let errors = codec::parse(*RULES, None, text, Mode::Strict).unwrap_err();
    assert!(errors.to_string().contains("a letter of the first four"), "{errors}");
}

#[test]
fn a_missing_choice_names_its_cases() {
    let errors = faults(&json!({"rules:pick": {"which": "a", "three": [null]}}));
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].message.contains("when-pick") && errors[0].message.contains("a-side, b-side"));
    assert_eq!(errors[0].kind.tags(), ("data-missing", Some("missing-choice")));
    assert_eq!(faults(&json!({"rules:pick": {"three": [null]}})), []);
    assert_eq!(faults(&json!({"rules:pick": {"two": "a"}})).len(), 1);
}

#[test]
fn what_vanishes_is_missed_by_those_that_point_at_it() {
    let host = |name: &str, more: Json| {
        let mut host = json!({"name": name});
        host.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        host
    };
    let before = parsed(&json!({
        "rules:net": {"host": [host("a", json!({"peer": "b"})), host("b", json!({"serial": 2})), host("c", json!({"either": 2}))]},
        "rules:points": {"at": "/rules:net/host[name='b']/serial", "many": ["/rules:net/host[name='b']"]},
    }));
    assert_eq!(
        told(validate(*RULES, true, &before, &diff(*RULES, &Arc::default(), &before))),
        BTreeSet::new()
    );
    let after = parsed(&json!({
        "rules:net": {"host": [host("a", json!({"peer": "b"})), host("c", json!({"either": 2}))]},
        "rules:points": {"at": "/rules:net/host[name='b']/serial", "many": ["/rules:net/host[name='b']"]},
    }));
    let errors = told(validate(*RULES, true, &after, &diff(*RULES, &before, &after)));
    let paths: Vec<&str> = errors.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/rules:net/host[name='a']/peer",
            "/rules:net/host[name='c']/either",
            "/rules:points/at",
            r#"/rules:points/many[.="/rules:net/host[name='b']"]"#
        ]
    );
}
