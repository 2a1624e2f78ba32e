//! Leaf values as text and back: RFC 7950 section 9, RFC 7951 section 6.

use super::ir::{Kind, Schema, SchemaId, Type};
use super::value::Value;

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

/// A value in the text form of its type; `leaf` gives type and module.
pub fn value_text(schema: &Schema, leaf: SchemaId, value: &Value) -> String {
    todo!("{schema:?} {leaf:?} {value:?}")
}

/// Text (of a URL, or of a value predicate) as a value of the type of `leaf`, in canonical form.
pub fn parse_value(schema: &Schema, leaf: SchemaId, text: &str) -> Result<Value, String> {
    todo!("{schema:?} {leaf:?} {text:?}")
}

/// Key value number `position` of a list entry or leaf-list entry, as text.
pub(super) fn key_text(schema: &Schema, node: SchemaId, position: usize, value: &Value) -> String {
    value_text(schema, key_leafs(schema, node).get(position).copied().unwrap_or(node), value)
}

pub(super) fn percent_encode(_text: &str, _out: &mut String) {
    todo!()
}
