//! OVSDB values (RFC 7047 section 5.1): a set of one may stand bare, a map is a list of pairs behind a tag.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The elements of a set, or the one bare element.
pub fn set_of(value: &Value) -> Vec<&Value> {
    match value.as_array().map(Vec::as_slice) {
        Some([tag, Value::Array(elements)]) if tag == "set" => elements.iter().collect(),
        _ => vec![value],
    }
}

/// The only element of an optional column.
pub fn optional(value: &Value) -> Option<&Value> {
    set_of(value).into_iter().next()
}

pub fn strings(value: &Value) -> Vec<String> {
    set_of(value).into_iter().filter_map(|element| element.as_str().map(str::to_owned)).collect()
}

/// The pairs of a map of strings.
pub fn map_of(value: &Value) -> BTreeMap<String, String> {
    let pair = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
    match value.as_array().map(Vec::as_slice) {
        Some([tag, Value::Array(pairs)]) if tag == "map" => pairs.iter().filter_map(pair).collect(),
        _ => BTreeMap::new(),
    }
}

/// The ids in a column of references.
pub fn uuids(value: &Value) -> Vec<String> {
    let id = |element: &Value| match element.as_array().map(Vec::as_slice) {
        Some([tag, Value::String(id)]) if tag == "uuid" => Some(id.clone()),
        _ => None,
    };
    set_of(value).into_iter().filter_map(id).collect()
}

pub fn uuid(id: &str) -> Value {
    json!(["uuid", id])
}

/// Refers to a row that the same transaction inserts.
pub fn named_uuid(name: &str) -> Value {
    json!(["named-uuid", name])
}

pub fn set(elements: impl IntoIterator<Item = Value>) -> Value {
    json!(["set", elements.into_iter().collect::<Vec<_>>()])
}

pub fn map<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    json!(["map", pairs.into_iter().map(|(key, value)| json!([key, value])).collect::<Vec<_>>()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_maps_and_references_are_read_in_all_their_spellings() {
        assert_eq!(strings(&json!("a")), ["a"]);
        assert_eq!(strings(&json!(["set", ["a", "b"]])), ["a", "b"]);
        assert_eq!(optional(&json!(["set", []])), None);
        assert_eq!(uuids(&json!(["uuid", "x"])), ["x"]);
        assert_eq!(uuids(&json!(["set", [["uuid", "x"], ["uuid", "y"]]])), ["x", "y"]);
        assert_eq!(map_of(&map([("k", "v")])), BTreeMap::from([("k".to_owned(), "v".to_owned())]));
        assert!(map_of(&json!(7)).is_empty());
    }
}
