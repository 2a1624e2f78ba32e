//! Random data drawn from a schema: right in shape and type, in canonical form; must, when and leafref are not heeded.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::string::string_regex;

use super::super::ir::*;
use super::super::lexical::parse_value;
use super::super::tree::{excludes, leaf_list};
use super::super::{DataPath, Fields, Key, List, Node, Value};

/// A whole datastore; `state`: with config false nodes too.
pub fn arbitrary_root(schema: &'static Schema, state: bool) -> BoxedStrategy<Fields> {
    fields(schema, &schema.roots, &[], state)
}

/// The fields of a container or list entry, keys included.
pub fn arbitrary_fields(schema: &'static Schema, id: SchemaId, state: bool) -> BoxedStrategy<Fields> {
    let keys: &'static [SchemaId] =
        if let Kind::List { keys, .. } = &schema.node(id).kind { keys } else { &[] };
    fields(schema, &schema.node(id).children, keys, state)
}

/// An entry of a list with keys.
pub fn arbitrary_entry(schema: &'static Schema, list: SchemaId, state: bool) -> BoxedStrategy<(Key, Fields)> {
    let Kind::List { keys, .. } = &schema.node(list).kind else { panic!("not a list") };
    arbitrary_fields(schema, list, state)
        .prop_map(|entry| (keys.iter().filter_map(|key| entry.leaf(*key).cloned()).collect(), entry))
        .boxed()
}

/// Any data node.
pub fn arbitrary_node(schema: &'static Schema, id: SchemaId) -> BoxedStrategy<Node> {
    node(schema, id, true)
}

/// Any data node without state below it.
pub fn arbitrary_config_node(schema: &'static Schema, id: SchemaId) -> BoxedStrategy<Node> {
    node(schema, id, false)
}

fn node(schema: &'static Schema, id: SchemaId, state: bool) -> BoxedStrategy<Node> {
    match &schema.node(id).kind {
        Kind::Container { .. } => arbitrary_fields(schema, id, state).prop_map(Node::Container).boxed(),
        Kind::List { .. } => {
            // Now and then more entries than a short list holds.
            let many = prop_oneof![8 => 1..4usize, 1 => 15..20usize];
            let entry = arbitrary_entry(schema, id, state);
            many.prop_flat_map(move |count| proptest::collection::vec(entry.clone(), count))
                .prop_map(move |entries| Node::List(List::of(schema, id, entries)))
                .boxed()
        }
        Kind::Leaf { .. } => arbitrary_value(schema, id).prop_map(Node::Leaf).boxed(),
        Kind::LeafList { .. } => proptest::collection::vec(arbitrary_value(schema, id), 1..4)
            .prop_map(move |values| {
                let mut seen = std::collections::HashSet::new();
                let distinct = values.into_iter().filter(|value| seen.insert(value.clone())).collect();
                leaf_list(schema, id, distinct)
            })
            .boxed(),
        _ => select(vec![r#"{"a":[1,"x",null]}"#, "[]", "\"text\"", "1.5"])
            .prop_map(|json| Node::Leaf(Value::text(json)))
            .boxed(),
    }
}

fn fields(
    schema: &'static Schema,
    children: &'static [SchemaId],
    keys: &'static [SchemaId],
    state: bool,
) -> BoxedStrategy<Fields> {
    let child = |id: &SchemaId| -> BoxedStrategy<Option<(SchemaId, Node)>> {
        let id = *id;
        let made = node(schema, id, state).prop_map(move |node| Some((id, node)));
        if keys.contains(&id) { made.boxed() } else { prop_oneof![Just(None), made].boxed() }
    };
    let wanted = children.iter().filter(|id| state || schema.node(**id).config);
    let all: Vec<_> = wanted.map(child).collect();
    all.prop_map(move |children| {
        let mut kept: Vec<(SchemaId, Node)> = Vec::new();
        for (id, node) in children.into_iter().flatten() {
            let empty = matches!((&node, &schema.node(id).kind),
                (Node::Container(fields), Kind::Container { presence: false }) if fields.is_empty());
            if !empty && !kept.iter().any(|(other, _)| excludes(schema, id, *other)) {
                kept.push((id, node));
            }
        }
        Fields::of(kept)
    })
    .boxed()
}

/// A value for a leaf, in canonical form.
pub fn arbitrary_value(schema: &'static Schema, leaf: SchemaId) -> BoxedStrategy<Value> {
    let (Kind::Leaf { type_, .. } | Kind::LeafList { type_, .. }) = &schema.node(leaf).kind else {
        panic!("not a leaf")
    };
    let texts = texts(schema, type_);
    texts.prop_filter_map("a text of the type", move |text| parse_value(schema, leaf, &text).ok()).boxed()
}

/// Texts that are probably of the type.
fn texts(schema: &'static Schema, type_: &'static Type) -> BoxedStrategy<String> {
    match type_ {
        Type::Int { ranges, .. } => {
            select(ranges.clone()).prop_flat_map(|range| range).prop_map(|number| number.to_string()).boxed()
        }
        Type::Uint { ranges, .. } => {
            select(ranges.clone()).prop_flat_map(|range| range).prop_map(|number| number.to_string()).boxed()
        }
        Type::Decimal64 { .. } => {
            (-99i32..100, 0u8..10).prop_map(|(whole, tenth)| format!("{whole}.{tenth}")).boxed()
        }
        Type::String { patterns, kind, lengths, .. } => strings(patterns, *kind, lengths),
        Type::Boolean => select(vec!["true".to_owned(), "false".to_owned()]).boxed(),
        Type::Empty => Just(String::new()).boxed(),
        Type::Enumeration(names) => {
            select(names.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>()).boxed()
        }
        Type::Bits(names) => {
            let names: Vec<String> = names.iter().map(|(name, _)| name.to_string()).collect();
            let count = names.len();
            proptest::sample::subsequence(names, 0..=count).prop_map(|names| names.join(" ")).boxed()
        }
        Type::Binary { .. } => select(vec!["".to_owned(), "AAEC".to_owned(), "/+8=".to_owned()]).boxed(),
        Type::IdentityRef(bases) => {
            let fits =
                schema.identities.iter().filter(|one| bases.iter().all(|base| one.bases.contains(base)));
            let names = fits.map(|one| format!("{}:{}", schema.module(one.module).name, one.name));
            select(names.collect::<Vec<_>>()).boxed()
        }
        Type::LeafRef { real, .. } => texts(schema, real),
        Type::InstanceIdentifier { .. } => {
            let top =
                schema.roots.iter().filter(|id| matches!(schema.node(**id).kind, Kind::Container { .. }));
            let containers = top.map(|id| DataPath::root().child(*id).display(schema));
            select(containers.collect::<Vec<_>>()).boxed()
        }
        Type::Union(members) => {
            let members: Vec<_> = members.iter().map(|member| texts(schema, member)).collect();
            proptest::strategy::Union::new(members).boxed()
        }
    }
}

fn strings(
    patterns: &'static [Pattern],
    kind: StringKind,
    lengths: &[std::ops::RangeInclusive<u64>],
) -> BoxedStrategy<String> {
    let v4 = any::<u32>().prop_map(|bits| Ipv4Addr::from(bits).to_string());
    let v6 = any::<u128>().prop_map(|bits| Ipv6Addr::from(bits | (0xffff << 112)).to_string());
    match kind {
        StringKind::Ipv4Address => return v4.boxed(),
        StringKind::Ipv6Address => return v6.boxed(),
        StringKind::Ipv4Prefix => return (v4, 0..=32u8).prop_map(|(a, bits)| format!("{a}/{bits}")).boxed(),
        StringKind::Ipv6Prefix => return (v6, 0..=128u8).prop_map(|(a, bits)| format!("{a}/{bits}")).boxed(),
        StringKind::Plain | StringKind::LowerCase => {}
    }
    let positive = patterns.iter().find(|pattern| !pattern.inverted);
    if let Some(pattern) = positive
        && let Ok(strategy) = string_regex(pattern.expression.text())
    {
        return strategy.prop_map(|text| text.chars().take(200).collect()).boxed();
    }
    match lengths.first() {
        Some(range) => {
            let (least, most) = (*range.start(), (*range.end()).min(*range.start() + 8));
            string_regex(&format!("[a-z0-9]{{{least},{most}}}")).expect("a pattern").boxed()
        }
        None => prop_oneof![
            "[a-z0-9-]{0,12}",
            r#"[ -~\t\nà-ÿ一-丏😀,/%:="'\\\[\]]{0,8}"#,
            select(vec![
                "".to_owned(),
                "a,b".to_owned(),
                "a/b".to_owned(),
                "100%".to_owned(),
                "é".to_owned()
            ]),
        ]
        .boxed(),
    }
}
