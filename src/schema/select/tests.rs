//! What each selection shows, on the models of `testing/lab.yang`.

use std::sync::LazyLock;

use super::*;
use crate::schema::json::{self, Mode};
use crate::schema::{DataPath, Schema, load, tree};

fn lab() -> &'static Schema {
    static LAB: LazyLock<&'static Schema> =
        LazyLock::new(|| load::load_from(&[("lab", include_str!("../testing/lab.yang"))]).unwrap());
    *LAB
}

fn data() -> Fields {
    let text = br#"{"lab:lab":{"title":"a","speed":100,"mode":"slow","order":["z","a"],
        "item":[{"name":"one","value":7,"note":"n","inner":{"deep":"d"},"part":[{"id":1,"text":"t"}]},{"name":"two","value":8}],
        "pair":[{"first":"x","second":"y","value":"v"}]}}"#;
    json::parse(lab(), None, text, Mode::Strict).unwrap()
}

/// What a selection shows of the resource at a path.
fn shown(path: &str, depth: Option<u16>, fields: Option<&str>, defaults: WithDefaults) -> serde_json::Value {
    let schema = lab();
    let (root, path) = (data(), DataPath::parse_rfc8040(schema, path).unwrap());
    let fields = fields.map(|text| FieldTree::parse(schema, path.last_node(), text, false).unwrap());
    let selection = Selection { depth, fields, defaults, sublist_limit: None };
    let view = Selected::new(schema, &selection, &path, &root, None);
    let mut out = Vec::new();
    let node = tree::get(&root, &path).unwrap();
    assert!(json::write_view(schema, &path, &node, &view, &mut out, None));
    serde_json::from_slice(&out).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&out)))
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn depth_cuts_below_so_many_levels_and_keeps_keys() {
    for (path, depth, wanted) in [
        ("", 1, r#"{"ietf-restconf:data":{}}"#),
        ("", 2, r#"{"ietf-restconf:data":{"lab:lab":{}}}"#),
        ("lab:lab", 1, r#"{"lab:lab":{}}"#),
        (
            "lab:lab",
            2,
            r#"{"lab:lab":{"title":"a","speed":100,"mode":"slow","order":["z","a"],
                "item":[{"name":"one"},{"name":"two"}],"pair":[{"first":"x","second":"y"}]}}"#,
        ),
        ("lab:lab/item=one", 1, r#"{"lab:item":[{"name":"one"}]}"#),
        (
            "lab:lab/item=one",
            2,
            r#"{"lab:item":[{"name":"one","value":7,"note":"n","inner":{},"part":[{"id":1}]}]}"#,
        ),
        ("lab:lab/item", 1, r#"{"lab:item":[{"name":"one"},{"name":"two"}]}"#),
        ("lab:lab/title", 1, r#"{"lab:title":"a"}"#),
    ] {
        assert_eq!(
            shown(path, Some(depth), None, WithDefaults::Explicit),
            json(wanted),
            "{path} depth {depth}"
        );
    }
}

#[test]
fn fields_shows_what_is_named_with_the_keys_on_the_way() {
    for (path, fields, wanted) in [
        ("lab:lab", "title", r#"{"lab:lab":{"title":"a"}}"#),
        ("lab:lab", "title;mode", r#"{"lab:lab":{"title":"a","mode":"slow"}}"#),
        ("lab:lab", "lab:title", r#"{"lab:lab":{"title":"a"}}"#),
        ("lab:lab", "item/note", r#"{"lab:lab":{"item":[{"name":"one","note":"n"},{"name":"two"}]}}"#),
        (
            "lab:lab",
            "item(note;part(text));title",
            r#"{"lab:lab":{"title":"a","item":[{"name":"one","note":"n","part":[{"id":1,"text":"t"}]},{"name":"two"}]}}"#,
        ),
        (
            "lab:lab",
            "item/inner/deep;item/note",
            r#"{"lab:lab":{"item":[{"name":"one","note":"n","inner":{"deep":"d"}},{"name":"two"}]}}"#,
        ),
        (
            "lab:lab",
            "item/inner;item/inner/deep",
            r#"{"lab:lab":{"item":[{"name":"one","inner":{"deep":"d"}},{"name":"two"}]}}"#,
        ),
        ("lab:lab/item=one", "inner(deep)", r#"{"lab:item":[{"name":"one","inner":{"deep":"d"}}]}"#),
        ("lab:lab/item", "value", r#"{"lab:item":[{"name":"one","value":7},{"name":"two","value":8}]}"#),
        ("", "lab:lab/title", r#"{"ietf-restconf:data":{"lab:lab":{"title":"a"}}}"#),
    ] {
        assert_eq!(shown(path, None, Some(fields), WithDefaults::Explicit), json(wanted), "{path} {fields}");
    }
}

#[test]
fn depth_counts_from_what_fields_names() {
    let at = |depth| shown("lab:lab", Some(depth), Some("item"), WithDefaults::Explicit);
    assert_eq!(at(1), json(r#"{"lab:lab":{"item":[{"name":"one"},{"name":"two"}]}}"#));
    let two = r#"{"lab:lab":{"item":[{"name":"one","value":7,"note":"n","inner":{},"part":[{"id":1}]},{"name":"two","value":8}]}}"#;
    assert_eq!(at(2), json(two));
}

#[test]
fn names_that_lead_nowhere_are_refused() {
    let lab_lab = lab().resolve("/lab:lab");
    for text in [
        "",
        ";",
        "title;",
        "title/x",
        "item(",
        "item()",
        "item(note",
        "item)",
        "x:title",
        "nothing",
        "/title",
        "item//note",
        "item(note)x",
    ] {
        assert!(FieldTree::parse(lab(), Some(lab_lab), text, false).is_err(), "{text}");
    }
    assert!(FieldTree::parse(lab(), None, "lab", false).is_err(), "the top level wants modules");
    let deep = format!("{}name{}", "item(".repeat(1000), ")".repeat(1000));
    assert!(FieldTree::parse(lab(), Some(lab_lab), &deep, false).is_err());
}

#[test]
fn each_mode_of_defaults_shows_what_rfc_6243_says() {
    let at = |defaults| {
        shown("lab:lab", Some(3), Some("title;speed;boost;limits;extras;port;tls-port;item(value)"), defaults)
    };
    assert_eq!(
        at(WithDefaults::Explicit),
        json(
            r#"{"lab:lab":{"title":"a","speed":100,"item":[{"name":"one","value":7},{"name":"two","value":8}]}}"#
        )
    );
    assert_eq!(
        at(WithDefaults::Trim),
        json(r#"{"lab:lab":{"title":"a","item":[{"name":"one"},{"name":"two","value":8}]}}"#)
    );
    assert_eq!(
        at(WithDefaults::ReportAll),
        json(
            r#"{"lab:lab":{"title":"a","speed":100,"limits":{"low":1},"port":80,
            "item":[{"name":"one","value":7},{"name":"two","value":8}]}}"#
        )
    );
    assert_eq!(
        at(WithDefaults::ReportAllTagged),
        json(
            r#"{"lab:lab":{"title":"a","speed":100,
            "limits":{"low":1,"@low":{"ietf-netconf-with-defaults:default":true}},
            "port":80,"@port":{"ietf-netconf-with-defaults:default":true},
            "item":[{"name":"one","value":7},{"name":"two","value":8}]}}"#
        )
    );
}

#[test]
fn defaults_of_leaf_lists_are_whole() {
    let at = |text: &str, defaults| {
        let root = json::parse(lab(), None, text.as_bytes(), Mode::Strict).unwrap();
        let fields = FieldTree::parse(lab(), None, "lab:lab(colours;turns;suite)", false).unwrap();
        let selection = Selection { fields: Some(fields), defaults, ..Selection::default() };
        let view = Selected::new(lab(), &selection, &DataPath::root(), &root, None);
        let mut out = Vec::new();
        let node = Node::Container(root.clone());
        json::write_view(lab(), &DataPath::root(), &node, &view, &mut out, None);
        serde_json::from_slice::<serde_json::Value>(&out).unwrap()["ietf-restconf:data"]["lab:lab"].take()
    };
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let all = json(r#"{"colours":["green","red"],"turns":[2,1]}"#);
    assert_eq!(at("{}", WithDefaults::ReportAll), all, "in the order of the system, and of the model");
    let mark = r#"{"ietf-netconf-with-defaults:default":true}"#;
    let tagged = format!(
        r#"{{"colours":["green","red"],"@colours":[{mark},{mark}],"turns":[2,1],"@turns":[{mark},{mark}]}}"#
    );
    assert_eq!(at("{}", WithDefaults::ReportAllTagged), json(&tagged));
    let set = r#"{"lab:lab":{"colours":["red"],"turns":[2,1],"key":"k","suite":["new"]}}"#;
    let explicit = json(r#"{"colours":["red"],"turns":[2,1],"suite":["new"]}"#);
    assert_eq!(at(set, WithDefaults::Explicit), explicit);
    assert_eq!(at(set, WithDefaults::ReportAll), explicit, "one value, and none of the defaults is in use");
    assert_eq!(at(set, WithDefaults::Trim), json(r#"{"colours":["red"],"suite":["new"]}"#));
    let turned = r#"{"lab:lab":{"turns":[1,2]}}"#;
    assert_eq!(at(turned, WithDefaults::Trim), json(r#"{"turns":[1,2]}"#), "another order is no default");
}

#[test]
fn a_default_is_in_use_where_its_parent_case_and_when_allow() {
    let schema = lab();
    let parse = |text: &str| json::parse(schema, None, text.as_bytes(), Mode::Strict).unwrap();
    for (text, path, wanted) in [
        ("{}", "lab:lab/speed", true),
        ("{}", "lab:lab/limits/low", true),
        ("{}", "lab:lab/limits/high", false),
        ("{}", "lab:lab/extras/colour", false),
        (r#"{"lab:lab":{"extras":{"size":1}}}"#, "lab:lab/extras/colour", true),
        ("{}", "lab:lab/item=x/value", false),
        (r#"{"lab:lab":{"item":[{"name":"x"}]}}"#, "lab:lab/item=x/value", true),
        ("{}", "lab:lab/boost", false),
        (r#"{"lab:lab":{"mode":"slow"}}"#, "lab:lab/boost", false),
        (r#"{"lab:lab":{"mode":"fast"}}"#, "lab:lab/boost", true),
        ("{}", "lab:lab/port", true),
        ("{}", "lab:lab/tls-port", false),
        (r#"{"lab:lab":{"key":"k"}}"#, "lab:lab/port", false),
        (r#"{"lab:lab":{"key":"k"}}"#, "lab:lab/tls-port", true),
        ("{}", "lab:lab/title", false),
        ("{}", "lab:lab/colours", true),
        ("{}", "lab:lab/colours=red", true),
        ("{}", "lab:lab/colours=blue", false),
        (r#"{"lab:lab":{"colours":["blue"]}}"#, "lab:lab/colours=red", false),
        ("{}", "lab:lab/ways", false),
        (r#"{"lab:lab":{"mode":"fast"}}"#, "lab:lab/ways", true),
        ("{}", "lab:lab/suite", false),
        (r#"{"lab:lab":{"key":"k"}}"#, "lab:lab/suite", true),
        ("{}", "lab:lab/tag", false),
    ] {
        let path = DataPath::parse_rfc8040(schema, path).unwrap();
        let found = default_in_use(schema, &parse(text), &path);
        assert_eq!(found.is_some(), wanted, "{text} {}", path.display(schema));
    }
}

#[test]
fn pages_follow_each_other_without_gap_or_repetition() {
    let schema = lab();
    let names = |node: &Node| -> Vec<String> {
        let list = node.as_list().unwrap();
        list.iter().map(|(key, _)| key.values()[0].as_text().unwrap().to_owned()).collect()
    };
    for count in [0, 1, 5, 16, 17, 40] {
        let entries: Vec<_> =
            (0..count).map(|at| serde_json::json!({"name": format!("{at:03}"), "value": at % 7})).collect();
        let body = serde_json::json!({"lab:lab": {"title": "t", "item": entries}}).to_string();
        let root = json::parse(schema, None, body.as_bytes(), Mode::Strict).unwrap();
        let path = DataPath::parse_rfc8040(schema, "lab:lab/item").unwrap();
        let Some(list) = tree::get(&root, &path) else {
            assert_eq!(count, 0);
            continue;
        };
        for direction in [Direction::Forwards, Direction::Backwards] {
            let (mut page, mut all) = (Page { limit: Some(7), direction, ..Page::default() }, Vec::new());
            loop {
                let part = page.of(schema, &root, &path, &list).unwrap();
                all.extend(names(&part.node));
                assert_eq!(part.remaining, count - all.len());
                match part.next {
                    Some(next) => page.cursor = Some(next),
                    None => break,
                }
            }
            let mut wanted = names(&list);
            if direction == Direction::Backwards {
                wanted.reverse();
            }
            assert_eq!(all, wanted, "{count} {direction:?}");
        }
        let offset = Page { offset: count + 1, ..Page::default() };
        assert_eq!(
            offset.of(schema, &root, &path, &list),
            Err(PageError::OffsetOutOfRange { offset: count + 1, length: count })
        );
        let by_value = SortBy::Leaf(vec![schema.resolve("/lab:lab/item/value")]);
        let sorted = Page { sort_by: Some(by_value), ..Page::default() };
        let part = sorted.of(schema, &root, &path, &list).unwrap();
        let values: Vec<u64> = part
            .node
            .as_list()
            .unwrap()
            .iter()
            .map(|(key, _)| key.values()[0].as_text().unwrap().parse::<u64>().unwrap() % 7)
            .collect();
        assert!(values.is_sorted(), "{values:?}");
    }
}
