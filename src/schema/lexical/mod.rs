//! Leaf values as text and back: RFC 7950 section 9, RFC 7951 section 6.
//!
//! [`parse_value`] and [`value_text`] are for URLs, predicates and messages; JSON goes through [`parse_raw`].

mod number;
mod scalar;
mod strings;
mod text;

use super::data::Node;
use super::ir::{Kind, Schema, SchemaId, Type};
use super::tree;
use super::value::Value;

pub(super) use scalar::{Raw, Rigour, parse_raw};
pub(super) use text::{JsonForm, text_of, type_holding};

/// The key leafs of a list; empty for everything else.
pub fn key_leafs(schema: &Schema, id: SchemaId) -> &[SchemaId] {
    if let Kind::List { keys, .. } = &schema.node(id).kind { keys } else { &[] }
}

/// The type of a leaf or leaf-list.
pub fn type_of(schema: &Schema, id: SchemaId) -> Option<&Type> {
    match &schema.node(id).kind {
        Kind::Leaf { type_, .. } | Kind::LeafList { type_, .. } => Some(type_),
        _ => None,
    }
}

/// A value in the canonical text of its type; `leaf` gives type and module.
pub fn value_text(schema: &Schema, leaf: SchemaId, value: &Value) -> String {
    match type_of(schema, leaf) {
        Some(type_) => text_of(schema, schema.node(leaf).module, type_, value).into_owned(),
        None => value.as_text().unwrap_or_default().to_owned(),
    }
}

/// Text (of a URL, or of a predicate) as a value of the type of `leaf`, in canonical form. The error says what is
/// wrong with the text, without saying where.
pub fn parse_value(schema: &Schema, leaf: SchemaId, text: &str) -> Result<Value, String> {
    let node = schema.node(leaf);
    match type_of(schema, leaf) {
        Some(type_) => parse_raw(schema, node.module, type_, Raw::Text(text), Rigour::Text),
        None => Err(format!("{} is not a leaf, so it has no value", node.name)),
    }
}

/// What a leaf or leaf-list is where it is absent, if its model gives one.
pub fn default_value(schema: &Schema, leaf: SchemaId) -> Option<Node> {
    match &schema.node(leaf).kind {
        Kind::Leaf { default: Some(text), .. } => parse_value(schema, leaf, text).ok().map(Node::Leaf),
        Kind::LeafList { defaults, .. } if !defaults.is_empty() => {
            let values = defaults.iter().map(|text| parse_value(schema, leaf, text).ok());
            Some(tree::leaf_list(schema, leaf, values.collect::<Option<Vec<Value>>>()?))
        }
        _ => None,
    }
}

/// Key value number `position` of a list entry or leaf-list entry, as text.
pub(super) fn key_text(schema: &Schema, node: SchemaId, position: usize, value: &Value) -> String {
    value_text(schema, key_leafs(schema, node).get(position).copied().unwrap_or(node), value)
}
