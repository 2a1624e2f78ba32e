//! Laws of selections, on random data of the sample schema.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;
use crate::schema::json;
use crate::schema::testing::{arbitrary_root, sample};
use crate::schema::{DataPath, Node};

fn shown(root: &Fields, selection: &Selection) -> Json {
    let schema = sample();
    let path = DataPath::root();
    let view = Selected::new(schema, selection, &path, root, None);
    let mut out = Vec::new();
    json::write_view(schema, &path, &Node::Container(root.clone()), &view, &mut out, None);
    serde_json::from_slice(&out).unwrap()
}

fn whole(root: &Fields) -> Json {
    let mut out = Vec::new();
    json::write_resource(sample(), &DataPath::root(), &Node::Container(root.clone()), &mut out);
    serde_json::from_slice(&out).unwrap()
}

/// The values of all leafs by their path, metadata left out.
fn leafs(json: &Json, path: String, found: &mut BTreeMap<String, Json>) {
    match json {
        Json::Object(members) => {
            for (name, value) in members.iter().filter(|(name, _)| !name.starts_with('@')) {
                leafs(value, format!("{path}/{name}"), found);
            }
        }
        Json::Array(items) if items.iter().any(Json::is_object) => {
            items.iter().enumerate().for_each(|(at, item)| leafs(item, format!("{path}[{at}]"), found));
        }
        value => {
            found.insert(path, value.clone());
        }
    }
}

fn leafs_of(json: &Json) -> BTreeMap<String, Json> {
    let mut found = BTreeMap::new();
    leafs(json, String::new(), &mut found);
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A selection of everything shows everything: unbounded depth, or all top-level fields.
    #[test]
    fn everything_is_everything(root in arbitrary_root(sample(), true)) {
        prop_assert_eq!(shown(&root, &Selection::default()), whole(&root));
        let deep = Selection { depth: Some(u16::MAX), ..Selection::default() };
        prop_assert_eq!(shown(&root, &deep), whole(&root));
        let names: Vec<String> = sample()
            .roots
            .iter()
            .map(|id| format!("{}:{}", sample().module(sample().node(*id).module).name, sample().node(*id).name))
            .collect();
        let fields = FieldTree::parse(sample(), None, &names.join(";"), false).unwrap();
        prop_assert_eq!(shown(&root, &Selection { fields: Some(fields), ..Selection::default() }), whole(&root));
    }

    /// More depth never shows less, and nothing that is not there.
    #[test]
    fn more_depth_shows_more(root in arbitrary_root(sample(), true), depth in 1_u16..8) {
        let at = |depth| leafs_of(&shown(&root, &Selection { depth: Some(depth), ..Selection::default() }));
        let (less, more, all) = (at(depth), at(depth + 1), leafs_of(&whole(&root)));
        let empty = |value: &Json| value.as_object().is_some_and(serde_json::Map::is_empty);
        for (path, value) in less.iter().filter(|(_, value)| !empty(value)) {
            prop_assert_eq!(more.get(path), Some(value));
        }
        for (path, value) in more.iter().filter(|(_, value)| !empty(value)) {
            prop_assert_eq!(all.get(path), Some(value));
        }
    }

    /// Trimmed data with their defaults put back are those of report-all; report-all is explicit data and more.
    #[test]
    fn modes_of_defaults_differ_in_defaults_only(root in arbitrary_root(sample(), true)) {
        let at = |defaults| leafs_of(&shown(&root, &Selection { defaults, ..Selection::default() }));
        let (all, trimmed, explicit) = (at(WithDefaults::ReportAll), at(WithDefaults::Trim), at(WithDefaults::Explicit));
        for (path, value) in trimmed.iter() {
            prop_assert_eq!(explicit.get(path), Some(value));
        }
        for (path, value) in explicit.iter() {
            prop_assert_eq!(all.get(path), Some(value));
        }
        for (path, value) in all.iter().filter(|(path, _)| !trimmed.contains_key(*path)) {
            prop_assert!(path.ends_with("/enabled") && *value == Json::Bool(true), "{} {}", path, value);
        }
        prop_assert_eq!(at(WithDefaults::ReportAllTagged), all);
    }
}
