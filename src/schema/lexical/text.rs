//! From values to text.

use std::borrow::Cow;

use super::super::ir::{ModuleId, Schema, Type};
use super::super::value::Value;
use super::number::decimal_text;

/// How a value stands in JSON (RFC 7951 section 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonForm {
    /// In quotes.
    String,
    /// As it is: numbers up to 32 bits, booleans.
    Bare,
    /// `[null]`.
    Empty,
}

impl JsonForm {
    /// The form of this value of this type.
    pub fn of(schema: &Schema, type_: &Type, value: &Value) -> JsonForm {
        match (value, type_holding(schema, type_, value)) {
            (Value::Bool(_), _) => JsonForm::Bare,
            (Value::Empty, _) => JsonForm::Empty,
            (Value::Int(_) | Value::Uint(_), Some(Type::Int { bits, .. } | Type::Uint { bits, .. }))
                if *bits < 64 =>
            {
                JsonForm::Bare
            }
            _ => JsonForm::String,
        }
    }
}

/// The canonical text. `module` is that of the leaf: identities of other modules are qualified by theirs.
pub fn text_of<'a>(schema: &'a Schema, module: ModuleId, type_: &'a Type, value: &'a Value) -> Cow<'a, str> {
    match value {
        Value::Text(text) => Cow::Borrowed(text),
        Value::Int(number) => Cow::Owned(number.to_string()),
        Value::Uint(number) => Cow::Owned(number.to_string()),
        Value::Bool(true) => Cow::Borrowed("true"),
        Value::Bool(false) => Cow::Borrowed("false"),
        Value::Empty => Cow::Borrowed(""),
        Value::Enum(number) => match type_holding(schema, type_, value) {
            Some(Type::Enumeration(names)) => {
                let name = names.iter().find(|(_, value)| value == number);
                name.map_or_else(|| Cow::Owned(number.to_string()), |(name, _)| Cow::Borrowed(&**name))
            }
            _ => Cow::Owned(number.to_string()),
        },
        Value::Bits(mask) => match type_holding(schema, type_, value) {
            Some(Type::Bits(names)) => {
                let set = |position: u32| mask.checked_shr(position).is_some_and(|rest| rest & 1 == 1);
                let set: Vec<&str> =
                    names.iter().filter(|(_, at)| set(*at)).map(|(name, _)| &**name).collect();
                Cow::Owned(set.join(" "))
            }
            _ => Cow::Owned(mask.to_string()),
        },
        Value::Identity(id) => match schema.identities.get(usize::from(id.0)) {
            Some(identity) if identity.module == module => Cow::Borrowed(&identity.name),
            Some(identity) => {
                Cow::Owned(format!("{}:{}", schema.module(identity.module).name, identity.name))
            }
            None => Cow::Borrowed(""),
        },
        Value::Decimal(number) => match type_holding(schema, type_, value) {
            Some(Type::Decimal64 { fraction_digits, .. }) => {
                Cow::Owned(decimal_text(*number, *fraction_digits))
            }
            _ => Cow::Owned(number.to_string()),
        },
    }
}

/// The type proper that holds the value: behind leafrefs, and the first fitting member of a union.
pub fn type_holding<'a>(schema: &Schema, type_: &'a Type, value: &Value) -> Option<&'a Type> {
    match type_ {
        Type::LeafRef { real, .. } => type_holding(schema, real, value),
        Type::Union(members) => members.iter().find_map(|type_| type_holding(schema, type_, value)),
        other => holds(schema, other, value).then_some(other),
    }
}

/// Could this value be of this type? (Text is not matched against patterns.)
pub fn holds(schema: &Schema, type_: &Type, value: &Value) -> bool {
    match (type_, value) {
        (Type::Int { ranges, .. }, Value::Int(number)) => ranges.iter().any(|range| range.contains(number)),
        (Type::Uint { ranges, .. }, Value::Uint(number)) => ranges.iter().any(|range| range.contains(number)),
        (Type::Decimal64 { ranges, .. }, Value::Decimal(number)) => {
            ranges.iter().any(|range| range.contains(number))
        }
        (Type::String { .. } | Type::Binary { .. } | Type::InstanceIdentifier { .. }, Value::Text(_)) => true,
        (Type::Boolean, Value::Bool(_)) | (Type::Empty, Value::Empty) => true,
        (Type::Enumeration(names), Value::Enum(number)) => names.iter().any(|(_, value)| value == number),
        (Type::Bits(names), Value::Bits(mask)) => {
            let known =
                names.iter().filter_map(|(_, at)| 1u64.checked_shl(*at)).fold(0, |all, bit| all | bit);
            mask & !known == 0
        }
        (Type::IdentityRef(bases), Value::Identity(id)) => schema
            .identities
            .get(usize::from(id.0))
            .is_some_and(|identity| bases.iter().all(|base| identity.bases.contains(base))),
        (Type::LeafRef { real, .. }, value) => holds(schema, real, value),
        (Type::Union(members), value) => members.iter().any(|type_| holds(schema, type_, value)),
        _ => false,
    }
}
