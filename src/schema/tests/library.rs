//! The documents that tell which modules there are.

use std::sync::Arc;

use super::super::load::load_from;
use super::super::xml;
use super::super::{Fields, Node, builtin, json};

fn library() -> serde_json::Value {
    let nodes = builtin().library(Some("https://h/rests/modules")).unwrap();
    let children = nodes.iter().filter_map(|(path, node)| Some((path.last_node()?, node.clone())));
    let mut out = Vec::new();
    json::write(builtin(), None, &Fields::of(children.collect()), &mut out);
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn every_module_is_listed_and_its_text_can_be_had() {
    let schema = builtin();
    let library = library();
    let set = &library["ietf-yang-library:yang-library"]["module-set"][0];
    let modules = set["module"].as_array().unwrap();
    for (name, text) in super::super::load::modules() {
        let listed = modules.iter().find(|module| module["name"] == *name);
        let listed = listed.unwrap_or_else(|| panic!("{name} is not listed"));
        let location =
            listed["location"][0].as_str().unwrap().strip_prefix("https://h/rests/modules/").unwrap();
        assert_eq!(schema.source_named(location), Some(*text), "{location}");
        assert_eq!(schema.source(name, None), Some(*text));
    }
    let imported = set["import-only-module"].as_array().cloned().unwrap_or_default();
    let inet = modules.iter().chain(&imported).find(|module| module["name"] == "ietf-inet-types").unwrap();
    let text = schema.source("ietf-inet-types", inet["revision"].as_str()).unwrap();
    assert!(text.contains("typedef ipv4-address"));
    assert_eq!(schema.source("ietf-inet-types", Some("1999-01-01")), None);
    assert_eq!(schema.source_named("nobody@2020-01-01.yang"), None);
    let older = library["ietf-yang-library:modules-state"]["module"].as_array().unwrap();
    assert_eq!(older.len(), modules.len() + imported.len());
    assert!(modules.iter().chain(&imported).all(|module| module["name"] != "yang"));
}

#[test]
fn the_content_id_changes_with_the_content_only() {
    let with = |text: &'static str| load_from(&[("m", text)]).unwrap().content_id();
    let one = with("module m { namespace 'urn:m'; prefix m; leaf a { type string; } }");
    assert_eq!(one, with("module m { namespace 'urn:m'; prefix m; leaf a { type string; } }"));
    assert_ne!(one, with("module m { namespace 'urn:m'; prefix m; leaf b { type string; } }"));
    assert_eq!(builtin().content_id().len(), 16);
}

#[test]
fn features_and_deviations_are_told() {
    let schema = load_from(&[
        ("rules", include_str!("../testing/rules.yang")),
        ("rules-dev", include_str!("../testing/rules-dev.yang")),
    ])
    .unwrap();
    let rules = schema.modules.iter().find(|module| &*module.name == "rules").unwrap();
    assert_eq!(rules.features, [Arc::from("on"), Arc::from("also-on")]);
    assert_eq!(rules.deviated_by, [Arc::from("rules-dev")]);
}

#[test]
fn the_library_can_be_written_as_xml() {
    for (path, node) in builtin().library(Some("https://h/rests/modules")).unwrap() {
        let mut out = Vec::new();
        xml::write_resource(builtin(), &path, &node, &mut out).unwrap();
        assert_eq!(xml::parse_resource(builtin(), &path, &out), Ok(Node::clone(&node)));
    }
}
