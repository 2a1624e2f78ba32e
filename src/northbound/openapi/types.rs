//! YANG types as JSON Schema, in the encoding of RFC 7951.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use crate::schema::{Schema, Type};

/// The schema of one value.
pub fn of(schema: &Schema, type_: &Type) -> Value {
    match type_ {
        Type::Int { bits: 64, .. } => json!({"type": "string", "pattern": "^-?[0-9]{1,19}$"}),
        Type::Uint { bits: 64, .. } => json!({"type": "string", "pattern": "^[0-9]{1,20}$"}),
        Type::Int { ranges, .. } => numbers(ranges),
        Type::Uint { ranges, .. } => numbers(ranges),
        Type::Decimal64 { fraction_digits, .. } => {
            json!({"type": "string", "pattern": format!("^-?[0-9]{{1,18}}([.][0-9]{{1,{fraction_digits}}})?$")})
        }
        Type::String { lengths, patterns, .. } => {
            let mut all: Vec<Value> = Vec::new();
            for pattern in patterns {
                let told = json!({ "pattern": format!("^(?:{})$", pattern.expression.text()) });
                all.push(if pattern.inverted { json!({ "not": told }) } else { told });
            }
            let mut json = json!({"type": "string"});
            if let [range] = &lengths[..] {
                bounds(&mut json, "minLength", "maxLength", range);
            }
            match (all.pop(), all.is_empty()) {
                (None, _) => {}
                (Some(only), true) if only.get("pattern").is_some() => {
                    json["pattern"] = only["pattern"].clone()
                }
                (Some(last), _) => {
                    all.push(last);
                    json["allOf"] = Value::Array(all);
                }
            }
            json
        }
        Type::Boolean => json!({"type": "boolean"}),
        Type::Empty => json!({"type": "array", "items": {"type": "null"}, "minItems": 1, "maxItems": 1}),
        Type::Enumeration(names) => {
            json!({"type": "string", "enum": names.iter().map(|(name, _)| &**name).collect::<Vec<_>>()})
        }
        Type::Bits(names) => {
            let names: Vec<&str> = names.iter().map(|(name, _)| &**name).collect();
            json!({"type": "string", "description": format!("Any of these, between blanks: {}", names.join(" "))})
        }
        Type::Binary { .. } => json!({"type": "string", "contentEncoding": "base64"}),
        Type::IdentityRef(bases) => {
            let fits =
                schema.identities.iter().filter(|one| bases.iter().all(|base| one.bases.contains(base)));
            let names = fits.flat_map(|one| {
                [format!("{}:{}", schema.module(one.module).name, one.name), one.name.to_string()]
            });
            json!({"type": "string", "enum": names.collect::<Vec<_>>()})
        }
        Type::LeafRef { real, .. } => of(schema, real),
        Type::InstanceIdentifier { .. } => json!({"type": "string", "pattern": "^/"}),
        Type::Union(members) => {
            json!({"anyOf": members.iter().map(|member| of(schema, member)).collect::<Vec<_>>()})
        }
    }
}

fn numbers<T: Copy + Into<i128>>(ranges: &[RangeInclusive<T>]) -> Value {
    let one = |range: &RangeInclusive<T>| {
        // Numbers of up to 32 bits fit.
        let (least, most): (i128, i128) = ((*range.start()).into(), (*range.end()).into());
        json!({"type": "integer", "minimum": least as i64, "maximum": most as i64})
    };
    match ranges {
        [range] => one(range),
        ranges => json!({"anyOf": ranges.iter().map(one).collect::<Vec<_>>()}),
    }
}

fn bounds(json: &mut Value, least: &str, most: &str, range: &RangeInclusive<u64>) {
    if *range.start() > 0 {
        json[least] = json!(range.start());
    }
    if *range.end() < u64::from(u32::MAX) {
        json[most] = json!(range.end());
    }
}
