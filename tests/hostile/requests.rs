//! Resource identifiers and conditions as requests name them, and YANG Patches through a running server.

use std::sync::{LazyLock, OnceLock};

use coeus::schema::select::{Condition, Page};
use coeus::schema::{DataPath, Fields, Kind, builtin, json, tree};

use super::support::Server;

const PODS: &str = r#"{"pod:coe":{"pods":[
    {"uid":"00000000-0000-4000-8000-000000000001","name":"web","network-NS":"blue","interface":[
        {"uid":"00000000-0000-4000-8000-000000000001","ip-address":"10.0.0.1","network-type":"VXLAN"}]},
    {"uid":"00000000-0000-4000-8000-000000000002","host-ip-address":"192.0.2.1"}]}}"#;

static ROOT: LazyLock<Fields> =
    LazyLock::new(|| json::parse(builtin(), None, PODS.as_bytes(), json::Mode::Strict).unwrap());

/// What is understood is written back as it was meant; as the condition of a page, it makes one of entries that are there.
pub fn uri(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
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
}

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

/// Never a 5xx, and a refused patch leaves the store as it was.
pub fn patch(bytes: &[u8]) {
    static SERVER: OnceLock<Server> = OnceLock::new();
    let Ok(body) = std::str::from_utf8(bytes) else { return };
    let server = SERVER.get_or_init(Server::start);
    let before = server.state();
    let kind = "Content-Type: application/yang-patch+json\r\n";
    let answer = server.with(kind, "PATCH", "/rests/data/pod:coe", body);
    assert!((200..500).contains(&answer.status), "{} {}", answer.status, answer.body);
    if answer.status >= 400 {
        assert_eq!(server.state(), before, "refused, but something changed");
    }
}
