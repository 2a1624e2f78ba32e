//! The models of `yang/`: the specification's own bodies, what the watcher sends, and random data of every model.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value as Json;

use super::super::json::{self, Mode};
use super::super::lexical::type_of;
use super::super::testing::{arbitrary_config_node, arbitrary_node};
use super::super::{
    DataPath, Fields, Kind, Node, Parents, Pattern, SchemaId, Type, builtin, diff, tree, validate,
};
use super::super::{load, xml};
use super::oracle::{agree, mutate, odd_values};

/// PUTs a body at an old-style URL, as an old client does; what is stored, as a strict client sees it.
fn put_legacy(url: &str, body: &str) -> String {
    let schema = builtin();
    let path = DataPath::parse_legacy(schema, url).unwrap_or_else(|error| panic!("{url}: {error}"));
    let node = json::parse_resource(schema, &path, body.as_bytes(), Mode::Lenient)
        .unwrap_or_else(|errors| panic!("{url}: {errors}"));
    let before = Fields::default();
    let mut root = before.clone();
    tree::put(&mut root, schema, &path, node, Parents::Require).unwrap();
    let changes = diff(schema, &before, &root);
    assert_eq!(validate(schema, true, &root, &changes), Ok(()));
    let mut out = Vec::new();
    json::write(schema, None, &root, &mut out);
    assert_eq!(json::parse(schema, None, &out, Mode::Strict).as_ref(), Ok(&root));
    String::from_utf8(out).unwrap()
}

#[test]
fn the_three_bodies_of_the_specification_are_taken_as_they_stand() {
    let dhcp = r#"{"dhcp_allocation_pool:network":[{"dhcp_allocation_pool:allocation-pool":[{"dhcp_allocation_pool:subnet":"192.168.10.0/24","dhcp_allocation_pool:allocate-to":"192.168.10.50","dhcp_allocation_pool:gateway":"192.168.10.2","dhcp_allocation_pool:allocate-from":"192.168.10.3"}],"dhcp_allocation_pool:network-id":"pod-namespace"}]}"#;
    let stored = put_legacy("dhcp_allocation_pool:dhcp_allocation_pool/", dhcp);
    assert!(stored.contains(r#""subnet":"192.168.10.0/24""#), "{stored}");
    let pod = r#"{"pod:pods":[{"pod:version":"Some version","pod:uid":"AC092D9B-E9Eb-BAE2-eEd8-74Aca2B7Fa9C","pod:interface":[{"pod:uid":"7bA91A3A-f17E-2eBB-eDec-3BBBEa27DCa7","pod:ip-address":"0.147.0.7","pod:network-id":"fBAD80df-B0B4-0580-8D14-11FcaCED2ac6","pod:network-type":"FLAT","pod:segmentation-id":"0"}]}]}"#;
    let stored = put_legacy("pod:coe", pod);
    assert!(stored.contains(r#""uid":"ac092d9b-e9eb-bae2-eed8-74aca2b7fa9c""#), "{stored}");
    assert!(stored.contains(r#""segmentation-id":0"#), "{stored}");
    let service = r#"{"service:service-information":{"service:services":[{"service:uid":"EeafFFB7-D9Fc-aAeD-FBc9-8Af8BFaacDD9","service:cluster-ip-address":"5.21.5.0","service:endpoints":["AFbcF0EB-Fc3f-acea-A438-5CFDfCEfbcb0"]}]}}"#;
    let stored = put_legacy("service:service-information", service);
    assert!(stored.contains(r#""endpoints":["afbcf0eb-fc3f-acea-a438-5cfdfcefbcb0"]"#), "{stored}");
}

/// They are compiled when a value is first held against them, which is too late to learn that one cannot be.
#[test]
fn every_pattern_of_the_models_can_be_compiled() {
    fn patterns(type_: &Type) -> Vec<&Pattern> {
        match type_ {
            Type::String { patterns, .. } => patterns.iter().collect(),
            Type::Union(members) => members.iter().flat_map(patterns).collect(),
            Type::LeafRef { real, .. } => patterns(real),
            _ => Vec::new(),
        }
    }
    let schema = builtin();
    let mut found = BTreeMap::new();
    for pattern in schema.nodes.iter().filter_map(|node| type_of(schema, node.id)).flat_map(patterns) {
        let held = pattern.expression.is_match("x");
        assert!(held.is_ok(), "{}: {held:?}", pattern.expression.text());
        found.insert(pattern.expression.text(), held.ok());
    }
    assert!(found.len() > 15, "{found:?}");
}

#[test]
fn the_watcher_and_its_odd_values_are_understood() {
    let uid = "AC092D9B-E9EB-BAE2-EED8-74ACA2B7FA9C";
    let body = format!(
        r#"{{"pods":[{{"uid":"{uid}","name":"p","port-mac-address":"","host-ip-address":"10.0.0.1","interface":[{{"uid":"{uid}","ip-address":""}}]}}]}}"#
    );
    assert!(put_legacy(&format!("pod:coe/pods/{uid}"), &body).contains(r#""name":"p""#));
    let body = format!(r#"{{"services":[{{"uid":"{uid}","cluster-ip-address":""}}]}}"#);
    let stored = put_legacy(&format!("service:service-information/services/{uid}"), &body);
    assert!(!stored.contains("cluster-ip-address"), "{stored}");
}

#[test]
fn one_more_pod_is_one_difference_small_in_memory() {
    let uid = "ac092d9b-e9eb-bae2-eed8-74aca2b7fa9c";
    let body = format!(
        r#"{{"pods":[{{"uid":"{uid}","name":"pod-number-12345","host-ip-address":"192.168.100.100",
        "port-mac-address":"02:00:00:00:00:01","network-NS":"a-namespace","interface":[{{"uid":"{uid}",
        "ip-address":"10.11.12.13","network-id":"{uid}","network-type":"VXLAN","segmentation-id":7}}]}}]}}"#
    );
    let schema = builtin();
    let path = DataPath::parse_legacy(schema, &format!("pod:coe/pods/{uid}")).unwrap();
    let node = json::parse_resource(schema, &path, body.as_bytes(), Mode::Lenient).unwrap();
    assert!(super::super::heap_size(&node) < 2048);
    let mut root = Fields::default();
    tree::put(&mut root, schema, &path, node.clone(), Parents::Require).unwrap();
    assert_eq!(diff(schema, &Fields::default(), &root), [(path, None, Some(node))]);
}

/// Random documents a model.
const CASES: u32 = 24;

/// Top-level data nodes.
fn roots(config: bool) -> Vec<SchemaId> {
    let schema = builtin();
    let fits = |id: &SchemaId| {
        let node = schema.node(*id);
        (node.config || !config) && matches!(node.kind, Kind::Container { .. } | Kind::List { .. })
    };
    schema.roots.iter().copied().filter(fits).collect()
}

fn written(id: SchemaId, node: &Node) -> Vec<u8> {
    let mut out = Vec::new();
    json::write(builtin(), None, &Fields::of(vec![(id, node.clone())]), &mut out);
    out
}

#[test]
fn random_data_of_every_model_survive_the_round_trip() {
    let schema = builtin();
    for id in roots(false) {
        let mut runner = TestRunner::new(Config {
            cases: 4,
            failure_persistence: None,
            max_local_rejects: 1_000_000,
            ..Config::default()
        });
        let outcome = runner.run(&arbitrary_node(schema, id), |node| {
            let text = written(id, &node);
            for mode in [Mode::Strict, Mode::Lenient] {
                let again = json::parse(schema, None, &text, mode);
                let again = again.map_err(|errors| TestCaseError::fail(errors.to_string()))?;
                prop_assert_eq!(written(id, again.get(id).unwrap_or(&node)), text.clone());
            }
            // A union may take a text for another member than JSON does, so what counts is what XML says.
            let as_xml = |fields: &Fields| {
                let mut out = Vec::new();
                xml::write(schema, None, fields, &mut out);
                out
            };
            let stored = json::parse(schema, None, &text, Mode::Strict).expect("read above");
            let xml_text = as_xml(&stored);
            let again = xml::parse(schema, None, &xml_text);
            let again = again.map_err(|errors| TestCaseError::fail(errors.to_string()))?;
            prop_assert_eq!(as_xml(&again).escape_ascii().to_string(), xml_text.escape_ascii().to_string());
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{}: {error}", schema.node(id).name));
    }
}

#[test]
fn random_data_of_every_model_get_the_verdict_of_libyang() {
    let schema = builtin();
    let context = load::context().unwrap();
    for id in roots(true) {
        let mut runner = TestRunner::new(Config {
            cases: CASES,
            failure_persistence: None,
            max_local_rejects: 1_000_000,
            ..Config::default()
        });
        let mutation = (any::<Index>(), select(odd_values()), 0..6u8);
        let mutations = proptest::collection::vec(mutation, 0..3);
        let outcome = runner.run(&(arbitrary_config_node(schema, id), mutations), |(node, mutations)| {
            let mut document: Json = serde_json::from_slice(&written(id, &node)).unwrap();
            for (at, value, kind) in &mutations {
                mutate(&mut document, at, value, *kind);
            }
            agree(schema, &context, &document)
        });
        outcome.unwrap_or_else(|error| panic!("{}: {error}", schema.node(id).name));
    }
}
