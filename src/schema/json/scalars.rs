//! Leafs, leaf-lists and anydata.

use std::cell::Cell;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

use super::visit::wrong;
use crate::schema::body::{At, BodyErrorKind, Reader, gathered_values};
use crate::schema::lexical::{Raw, parse_raw};
use crate::schema::{Kind, Node, Type, Value};

/// anydata may be nested so deep.
const MOST_DEPTH: usize = 64;

/// One scalar of a type.
#[derive(Clone, Copy)]
pub struct ScalarVisitor<'a> {
    pub reader: &'a Reader<'a>,
    pub at: &'a At<'a>,
    pub type_: &'a Type,
    /// No empty text or null may stand for its absence.
    pub required: bool,
}

impl<'de> DeserializeSeed<'de> for ScalarVisitor<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Option<Value>, D::Error> {
        json.deserialize_any(self)
    }
}

impl ScalarVisitor<'_> {
    fn read<E: Error>(self, raw: Raw<'_>) -> Result<Option<Value>, E> {
        let reader = self.reader;
        let node = reader.schema.node(self.at.node);
        match parse_raw(reader.schema, node.module, self.type_, raw, reader.rigour()) {
            Ok(value) => Ok(Some(value)),
            Err(_) if self.may_be_absent(raw) => Ok(None),
            Err(reason) => {
                let message = format!("{}: {reason}", node.name);
                reader.value_fault(self.at, BodyErrorKind::InvalidValue, &raw.plain(), message)?;
                Ok(None)
            }
        }
    }

    /// Old clients send "" or null for an optional address or uuid they do not have.
    fn may_be_absent(&self, raw: Raw<'_>) -> bool {
        let empty = match raw {
            Raw::Null => true,
            Raw::Text("") => is_text(self.type_),
            _ => false,
        };
        let optional =
            matches!(self.reader.schema.node(self.at.node).kind, Kind::Leaf { mandatory: false, .. });
        empty && optional && !self.required && self.reader.lenient()
    }

    fn wrong<E: Error>(&self, found: &str) -> Result<Option<Value>, E> {
        let node = self.reader.schema.node(self.at.node);
        let message = format!("{} is a leaf: send one value, not {found}", node.name);
        self.reader.fault(Some(self.at), BodyErrorKind::InvalidValue, message)?;
        Ok(None)
    }
}

fn is_text(type_: &Type) -> bool {
    match type_ {
        Type::String { .. } | Type::Binary { .. } | Type::InstanceIdentifier { .. } => true,
        Type::LeafRef { real, .. } => is_text(real),
        Type::Union(members) => members.iter().all(is_text),
        _ => false,
    }
}

impl<'de> Visitor<'de> for ScalarVisitor<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<Value>, E> {
        self.read(Raw::Text(text))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<Value>, E> {
        self.read(Raw::Uint(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Option<Value>, E> {
        self.read(Raw::Int(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Option<Value>, E> {
        self.read(Raw::Float(number))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Option<Value>, E> {
        self.read(Raw::Bool(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Option<Value>, E> {
        self.read(Raw::Null)
    }

    /// `[null]` is the value of type empty.
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Option<Value>, A::Error> {
        let mut nulls = 0;
        let mut others = false;
        while let Some(element) = seq.next_element_seed(IsNull)? {
            nulls += usize::from(element);
            others |= !element;
        }
        if nulls == 1 && !others { self.read(Raw::Empty) } else { self.wrong("an array") }
    }

    wrong!(object);
}

/// Is it null? Whatever else it is is skipped.
struct IsNull;

impl<'de> DeserializeSeed<'de> for IsNull {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        Ok(Option::<IgnoredAny>::deserialize(json)?.is_none())
    }
}

/// A leaf-list: an array of scalars.
pub struct LeafListVisitor<'a> {
    pub reader: &'a Reader<'a>,
    pub at: &'a At<'a>,
    pub type_: &'a Type,
}

impl LeafListVisitor<'_> {
    fn wrong<E: Error>(&self, found: &str) -> Result<Option<Node>, E> {
        let node = self.reader.schema.node(self.at.node);
        let message = format!("{} is a leaf-list: send an array of values, not {found}", node.name);
        self.reader.fault(Some(self.at), BodyErrorKind::InvalidValue, message)?;
        Ok(None)
    }
}

impl<'de> Visitor<'de> for LeafListVisitor<'_> {
    type Value = Option<Node>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Option<Node>, A::Error> {
        let number = Cell::new(0);
        let at = At { entry: Some(&number), ..*self.at };
        let mut values: Vec<Value> = Vec::new();
        loop {
            number.set(number.get() + 1);
            let seed = ScalarVisitor { reader: self.reader, at: &at, type_: self.type_, required: true };
            let Some(value) = seq.next_element_seed(seed)? else { break };
            values.extend(value);
        }
        gathered_values(self.reader, self.at, values)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<Node>, E> {
        if self.reader.lenient() { Ok(None) } else { self.wrong("null") }
    }

    wrong!(scalars object);
}

/// Any JSON, kept as compact text with members in the order of their names.
pub fn anydata<'de, D: Deserializer<'de>>(
    reader: &Reader<'_>,
    at: &At<'_>,
    json: D,
) -> Result<Option<Node>, D::Error> {
    let value = serde_json::Value::deserialize(json)?;
    if depth(&value) > MOST_DEPTH {
        let message = format!("nested deeper than {MOST_DEPTH} levels; flatten it");
        reader.fault(Some(at), BodyErrorKind::TooBig, message)?;
        return Ok(None);
    }
    Ok(Some(Node::Leaf(Value::text(value.to_string()))))
}

fn depth(value: &serde_json::Value) -> usize {
    let below = match value {
        serde_json::Value::Array(items) => items.iter().map(depth).max(),
        serde_json::Value::Object(members) => members.values().map(depth).max(),
        _ => return 0,
    };
    1 + below.unwrap_or(0)
}
