use std::collections::BTreeSet;

use serde_json::Value;

use super::document;
use crate::schema::{Schema, builtin, load_with};

fn whole() -> Value {
    document(builtin(), &builtin().rpcs)
}

/// Calls `see` with every object of the document.
fn objects<'a>(json: &'a Value, see: &mut impl FnMut(&'a serde_json::Map<String, Value>)) {
    match json {
        Value::Object(members) => {
            see(members);
            members.values().for_each(|value| objects(value, see));
        }
        Value::Array(items) => items.iter().for_each(|item| objects(item, see)),
        _ => {}
    }
}

#[test]
fn every_reference_resolves() {
    let document = whole();
    let mut count = 0;
    objects(&document, &mut |members| {
        if let Some(Value::String(reference)) = members.get("$ref") {
            count += 1;
            let pointer = reference.strip_prefix('#').expect("references stay in the document");
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    });
    assert!(count > 1000, "{count}");
}

#[test]
fn operation_ids_are_unique_and_path_parameters_declared() {
    let document = whole();
    let mut ids = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let declared: BTreeSet<&str> = item["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        let used: BTreeSet<&str> =
            path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect();
        assert_eq!(declared, used, "{path}");
        for (method, operation) in item.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters")
        {
            assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{method} {path}");
            assert!(operation["responses"].as_object().unwrap().len() > 4, "{method} {path}");
        }
    }
    assert!(ids.len() > 300, "{}", ids.len());
}

#[test]
fn types_keys_and_methods_come_over() {
    let document = whole();
    let pod = &document["components"]["schemas"]["pod.coe.pods"];
    assert_eq!(pod["required"], serde_json::json!(["uid"]));
    assert!(pod["properties"]["uid"]["pattern"].as_str().is_some_and(|pattern| pattern.contains("{8}")));
    let interface = &document["components"]["schemas"]["pod.coe.pods.interface"];
    assert_eq!(interface["properties"]["network-type"]["enum"][0], "FLAT");
    assert_eq!(interface["properties"]["segmentation-id"]["maximum"], u32::MAX);
    let entry = &document["paths"]["/rests/data/pod:coe/pods={pods-uid-1}"];
    assert!(["get", "post", "put", "patch", "delete"].iter().all(|method| entry[method].is_object()));
    let state = &document["paths"]["/rests/data/ietf-interfaces:interfaces-state"];
    assert!(state["get"].is_object() && state["put"].is_null());
    let augmented = &document["components"]["schemas"]["ietf-interfaces.interfaces.interface"]["properties"];
    assert!(augmented["odl-interface:parent-interface"].is_object());
    assert_eq!(document["security"][0]["basic"], serde_json::json!([]));
}

#[test]
fn children_can_be_posted_and_actions_invoked() {
    let document = whole();
    let post = &document["paths"]["/rests/data/pod:coe"]["post"];
    let choices = post["requestBody"]["content"]["application/yang-data+json"]["schema"]["oneOf"].as_array();
    let pods = choices.unwrap().iter().find(|choice| choice["required"][0] == "pod:pods").unwrap();
    assert_eq!(pods["properties"]["pod:pods"]["maxItems"], 1);
    assert!(post["responses"]["201"]["headers"]["Location"].is_object());
    let entry = &document["paths"]["/rests/data/pod:coe/pods={pods-uid-1}"]["post"];
    assert!(!entry["requestBody"].to_string().contains("pod:uid"), "a key comes with its entry");

    let text = include_str!("../../schema/testing/lab.yang");
    let lab: &'static Schema = load_with(&[("lab", text)]).unwrap();
    let document = super::document(lab, &lab.actions);
    let action = &document["paths"]["/rests/data/lab:lab/item={item-name-1}/reset"];
    assert_eq!(action["parameters"][0]["name"], "item-name-1");
    let input = action["post"]["requestBody"]["content"]["application/yang-data+json"]["schema"].clone();
    assert!(input["properties"]["lab:input"]["$ref"].is_string(), "{input}");
}
