//! From JSON scalars and text to values.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::ir::{IdentityId, ModuleId, Schema, Type};
use super::super::path::DataPath;
use super::super::value::Value;
use super::{number, strings};

/// A scalar as JSON has it.
#[derive(Clone, Copy, Debug)]
pub enum Raw<'a> {
    Text(&'a str),
    Uint(u64),
    /// Negative.
    Int(i64),
    /// With a fraction, an exponent, or beyond 64 bits.
    Float(f64),
    Bool(bool),
    Null,
    /// `[null]`, the value of type empty.
    Empty,
}

impl Raw<'_> {
    /// As it would stand in JSON, shortened for messages.
    pub fn shown(&self) -> String {
        match self {
            Raw::Text(text) if text.chars().count() > 64 => {
                format!("{:?}…", text.chars().take(64).collect::<String>())
            }
            Raw::Text(text) => format!("{text:?}"),
            Raw::Uint(number) => number.to_string(),
            Raw::Int(number) => number.to_string(),
            Raw::Float(number) => number.to_string(),
            Raw::Bool(value) => value.to_string(),
            Raw::Null => "null".into(),
            Raw::Empty => "[null]".into(),
        }
    }
}

impl<'a> Raw<'a> {
    /// The characters of the value alone.
    pub fn plain(&self) -> Cow<'a, str> {
        match *self {
            Raw::Text(text) => text.into(),
            _ => self.shown().into(),
        }
    }
}

/// How closely the form must be that of RFC 7951.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rigour {
    Strict,
    /// Quoted numbers and booleans, 64-bit numbers without quotes, identities by prefix or alone.
    Lenient,
    /// There are no JSON types: URLs, predicates, defaults.
    Text,
}

/// The value in canonical form. The error names the value, what is wrong with it and what would do.
pub fn parse_raw(
    schema: &Schema,
    module: ModuleId,
    type_: &Type,
    raw: Raw<'_>,
    rigour: Rigour,
) -> Result<Value, String> {
    let text = || match raw {
        Raw::Text(text) => Ok(text),
        other => Err(format!("{} must be a JSON string", other.shown())),
    };
    match type_ {
        Type::Int { bits, ranges, says } => number::int(*bits, ranges, says, raw, rigour).map(Value::Int),
        Type::Uint { bits, ranges, says } => number::uint(*bits, ranges, says, raw, rigour).map(Value::Uint),
        Type::Decimal64 { fraction_digits, ranges, says } => {
            number::decimal(*fraction_digits, ranges, says, raw, rigour).map(Value::Decimal)
        }
        Type::String { lengths, says, patterns, kind } => {
            strings::string(lengths, says, patterns, *kind, text()?).map(Value::text)
        }
        Type::Boolean => match raw {
            Raw::Bool(value) => Ok(Value::Bool(value)),
            Raw::Text("true") if rigour != Rigour::Strict => Ok(Value::Bool(true)),
            Raw::Text("false") if rigour != Rigour::Strict => Ok(Value::Bool(false)),
            other => Err(format!("{} is not a boolean: send true or false", other.shown())),
        },
        Type::Empty => match raw {
            Raw::Empty => Ok(Value::Empty),
            Raw::Null if rigour == Rigour::Lenient => Ok(Value::Empty),
            Raw::Text("") if rigour != Rigour::Strict => Ok(Value::Empty),
            other => Err(format!("{} is not the value of type empty: send [null]", other.shown())),
        },
        Type::Enumeration(names) => {
            let text = text()?;
            match names.iter().find(|(name, _)| **name == *text) {
                Some((_, value)) => Ok(Value::Enum(*value)),
                None => {
                    Err(format!("{text:?} is not one of {}", listed(names.iter().map(|(name, _)| &**name))))
                }
            }
        }
        Type::Bits(names) => bits(names, text()?),
        Type::Binary { lengths, says } => {
            let text = text()?;
            let bytes = STANDARD.decode(text).map_err(|error| format!("{text:?} is not base64: {error}"))?;
            strings::length(lengths, says, bytes.len() as u64, "bytes")?;
            Ok(Value::text(STANDARD.encode(bytes)))
        }
        Type::IdentityRef(bases) => identity(schema, module, bases, text()?, rigour).map(Value::Identity),
        Type::LeafRef { real, .. } => parse_raw(schema, module, real, raw, rigour),
        Type::InstanceIdentifier { .. } => {
            let text = text()?;
            let path = DataPath::parse_instance_identifier(schema, text)
                .map_err(|error| format!("{text:?} is not an instance-identifier: {}", error.message))?;
            Ok(Value::text(path.display(schema)))
        }
        Type::Union(members) => {
            let mut reasons: Vec<String> = Vec::new();
            for member in members {
                match parse_raw(schema, module, member, raw, rigour) {
                    Ok(value) => return Ok(value),
                    Err(reason) if !reasons.contains(&reason) => reasons.push(reason),
                    Err(_) => {}
                }
            }
            Err(reasons.join("; nor: "))
        }
    }
}

fn bits(names: &[(Arc<str>, u32)], text: &str) -> Result<Value, String> {
    let mut mask = 0u64;
    for word in text.split_ascii_whitespace() {
        let Some((_, position)) = names.iter().find(|(name, _)| **name == *word) else {
            return Err(format!(
                "bit {word:?} is not one of {}",
                listed(names.iter().map(|(name, _)| &**name))
            ));
        };
        let bit = 1u64.checked_shl(*position).ok_or_else(|| format!("bit {word:?} is beyond position 63"))?;
        if mask & bit != 0 {
            return Err(format!("bit {word:?} occurs twice"));
        }
        mask |= bit;
    }
    Ok(Value::Bits(mask))
}

fn identity(
    schema: &Schema,
    module: ModuleId,
    bases: &[IdentityId],
    text: &str,
    rigour: Rigour,
) -> Result<IdentityId, String> {
    let fits = |at: usize| bases.iter().all(|base| schema.identities[at].bases.contains(base));
    let (prefix, name) = match text.split_once(':') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let named = (0..schema.identities.len()).filter(|at| *schema.identities[*at].name == *name && fits(*at));
    let mut fitting = Vec::new();
    for at in named {
        let owner = schema.identities[at].module;
        let of_prefix = |prefix: &str| {
            *schema.module(owner).name == *prefix
                || rigour != Rigour::Strict && *schema.module(owner).prefix == *prefix
        };
        match prefix {
            Some(prefix) if of_prefix(prefix) => return Ok(IdentityId(at as u16)),
            None if owner == module => return Ok(IdentityId(at as u16)),
            None if rigour != Rigour::Strict => fitting.push(at),
            _ => {}
        }
    }
    if let [only] = fitting[..] {
        return Ok(IdentityId(only as u16));
    }
    let known = (0..schema.identities.len()).filter(|at| fits(*at)).map(|at| {
        let identity = &schema.identities[at];
        Cow::from(format!("{}:{}", schema.module(identity.module).name, identity.name))
    });
    Err(format!("{text:?} is not an identity that fits here; known are {}", listed(known)))
}

/// Up to a dozen names, for a message.
fn listed<T: AsRef<str>>(names: impl Iterator<Item = T>) -> String {
    let mut names: Vec<String> = names.map(|name| name.as_ref().to_owned()).collect();
    if names.len() > 12 {
        let more = names.len() - 12;
        names.truncate(12);
        names.push(format!("and {more} more"));
    }
    if names.is_empty() { "(none)".into() } else { names.join(", ") }
}
