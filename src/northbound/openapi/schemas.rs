//! A component for each container, list entry, input and output.

use serde_json::{Map, Value, json};

use super::{reference, types};
use crate::schema::{Kind, Schema, SchemaId};

/// All components, `errors` (RFC 8040 section 7.1) among them.
pub fn all(schema: &Schema, operations: &[SchemaId]) -> Value {
    let mut found = Map::new();
    let mut waiting: Vec<SchemaId> = schema.roots.clone();
    let parts = |id: &SchemaId| schema.input(*id).into_iter().chain(schema.output(*id));
    waiting.extend(operations.iter().flat_map(parts));
    while let Some(id) = waiting.pop() {
        let node = schema.node(id);
        if is_object(&node.kind) {
            found.insert(name(schema, id), object(schema, id));
            waiting.extend(&node.children);
        }
    }
    found.insert("errors".into(), errors());
    Value::Object(found)
}

fn is_object(kind: &Kind) -> bool {
    matches!(kind, Kind::Container { .. } | Kind::List { .. } | Kind::Input | Kind::Output)
}

/// The name of a node's component: module and path, with the modules of augments.
pub fn name(schema: &Schema, id: SchemaId) -> String {
    let node = schema.node(id);
    match node.parent {
        None => format!("{}.{}", schema.module(node.module).name, node.name),
        Some(parent) => format!("{}.{}", name(schema, parent), member(schema, id).replace(':', "_")),
    }
}

/// The name of a member, with its module where that is another than the parent's.
pub fn member(schema: &Schema, id: SchemaId) -> String {
    let node = schema.node(id);
    match node.parent.map(|parent| schema.node(parent).module) {
        Some(module) if module == node.module => node.name.to_string(),
        _ => format!("{}:{}", schema.module(node.module).name, node.name),
    }
}

/// The value of a node as it stands in its parent.
pub fn value(schema: &Schema, id: SchemaId) -> Value {
    let node = schema.node(id);
    let mut json = match &node.kind {
        Kind::Leaf { type_, default, .. } => {
            let mut json = types::of(schema, type_);
            if let (Some(default), true) = (default, json["type"] == "string") {
                json["default"] = json!(&**default);
            }
            json
        }
        Kind::LeafList { type_, min, max, .. } => {
            let mut json = array(types::of(schema, type_), *min, *max);
            if node.config {
                json["uniqueItems"] = json!(true);
            }
            json
        }
        Kind::List { min, max, .. } => array(reference("schemas", &name(schema, id)), *min, *max),
        Kind::Any { .. } => json!({}),
        _ => return reference("schemas", &name(schema, id)),
    };
    if let Some(description) = &node.description {
        json["description"] = json!(&**description);
    }
    json
}

fn array(items: Value, min: u32, max: u32) -> Value {
    let mut json = json!({"type": "array", "items": items});
    if min > 0 {
        json["minItems"] = json!(min);
    }
    if max < u32::MAX {
        json["maxItems"] = json!(max);
    }
    json
}

fn object(schema: &Schema, id: SchemaId) -> Value {
    let node = schema.node(id);
    let mut properties = Map::new();
    let mut required = Vec::new();
    for child in &node.children {
        let below = schema.node(*child);
        let keys: &[SchemaId] =
            if let Kind::List { keys, positional: false, .. } = &node.kind { keys } else { &[] };
        let mandatory =
            matches!(below.kind, Kind::Leaf { mandatory: true, .. } | Kind::Any { mandatory: true });
        if keys.contains(child) || mandatory && below.cases.is_empty() && below.whens.is_empty() {
            required.push(member(schema, *child));
        }
        properties.insert(member(schema, *child), value(schema, *child));
    }
    let mut json = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        json["required"] = json!(required);
    }
    if let Some(description) = &node.description {
        json["description"] = json!(&**description);
    }
    json
}

fn errors() -> Value {
    let text = || json!({"type": "string"});
    json!({
        "type": "object",
        "required": ["ietf-restconf:errors"],
        "properties": {"ietf-restconf:errors": {
            "type": "object",
            "properties": {"error": {"type": "array", "items": {
                "type": "object",
                "required": ["error-type", "error-tag"],
                "properties": {
                    "error-type": {"enum": ["transport", "rpc", "protocol", "application"]},
                    "error-tag": text(),
                    "error-app-tag": text(),
                    "error-path": text(),
                    "error-message": text(),
                    "error-info": {},
                },
            }}},
        }},
    })
}
