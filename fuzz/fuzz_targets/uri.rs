//! Resource identifiers of both roots, and instance-identifiers: no panic, and what is understood is written back as it was meant.
//! The same text as the condition of a page: no panic, and a page of entries that are there.
#![no_main]

use std::sync::{Arc, LazyLock};

use coeus::schema::select::{Condition, Page};
use coeus::schema::{DataPath, Fields, Kind, builtin, json, tree};
use libfuzzer_sys::fuzz_target;

const PODS: &str = r#"{"pod:coe":{"pods":[
    {"uid":"00000000-0000-4000-8000-000000000001","name":"web","network-NS":"blue","interface":[
        {"uid":"00000000-0000-4000-8000-000000000001","ip-address":"10.0.0.1","network-type":"VXLAN"}]},
    {"uid":"00000000-0000-4000-8000-000000000002","host-ip-address":"192.0.2.1"}]}}"#;

static ROOT: LazyLock<Fields> =
    LazyLock::new(|| json::parse(builtin(), None, PODS.as_bytes(), json::Mode::Strict).unwrap());

fn page(text: &str) {
    let schema = builtin();
    let Ok(condition) = Condition::parse(schema, schema.resolve("/pod:coe/pods"), text) else { return };
    let path = DataPath::parse_rfc8040(schema, "pod:coe/pods").unwrap();
    let node = tree::get(&ROOT, &path).unwrap();
    let page = Page { condition: Some(condition), ..Page::default() };
    if let Ok(part) = page.of(schema, &ROOT, &path, &node) {
        assert!(part.node.as_list().is_some_and(|list| list.len() <= 2), "{text:?}");
    }
}

fuzz_target!(|text: &str| {
    page(text);
    let schema = builtin();
    for path in [
        DataPath::parse_rfc8040(schema, text),
        DataPath::parse_legacy(schema, text),
        DataPath::parse_instance_identifier(schema, text),
    ]
    .into_iter()
    .flatten()
    {
        let again = DataPath::parse_rfc8040(schema, &path.to_rfc8040(schema));
        assert_eq!(again.as_ref(), Ok(&path), "{text:?}");
        // An instance-identifier names one instance, so no list as a whole.
        let lists = |kind: &Kind| matches!(kind, Kind::List { .. } | Kind::LeafList { .. });
        let whole = path.steps.iter().any(|step| step.key.is_none() && lists(&schema.node(step.node).kind));
        if !whole && !path.steps.is_empty() {
            let again = DataPath::parse_instance_identifier(schema, &path.display(schema));
            assert_eq!(again.as_ref(), Ok(&path), "{text:?}");
        }
    }
});
