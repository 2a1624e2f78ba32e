//! Paths and what can be done there.

use serde_json::{Map, Value, json};

use super::schemas::{member, name, value};
use super::{MEDIA, reference, types};
use crate::schema::{Kind, Schema, SchemaId};

/// A place on the way down: the path so far, and the parameters in it.
#[derive(Clone)]
struct Place {
    path: String,
    parameters: Vec<Value>,
}

/// The resources of a top-level node and all below it, and these actions on them.
pub fn data(schema: &Schema, actions: &[SchemaId], root: SchemaId, paths: &mut Map<String, Value>) {
    let top = Place { path: "/rests/data".into(), parameters: Vec::new() };
    below(schema, actions, root, &top, paths);
}

/// An RPC.
pub fn rpc(schema: &Schema, id: SchemaId, paths: &mut Map<String, Value>) {
    let path = format!("/rests/operations/{}", member(schema, id));
    paths.insert(path, json!({ "post": call(schema, id) }));
}

/// How an RPC or action is invoked.
fn call(schema: &Schema, id: SchemaId) -> Value {
    let node = schema.node(id);
    let module = &schema.module(node.module).name;
    let framed = |part: &str, id: Option<SchemaId>| {
        let content = id.map_or(json!({}), |id| reference("schemas", &name(schema, id)));
        json!({"type": "object", "properties": {format!("{module}:{part}"): content}, "additionalProperties": false})
    };
    let mut operation = json!({
        "operationId": format!("call.{}", name(schema, id)),
        "tags": [&**module],
        "requestBody": {"content": {MEDIA: {"schema": framed("input", schema.input(id))}}},
        "responses": answers(&[
            ("200", json!({"description": "Done.", "content": {MEDIA: {"schema": framed("output", schema.output(id))}}})),
            ("204", json!({"description": "Done; there is nothing to say."})),
        ]),
    });
    if let Some(description) = &node.description {
        operation["description"] = json!(&**description);
    }
    operation
}

fn below(schema: &Schema, actions: &[SchemaId], id: SchemaId, above: &Place, paths: &mut Map<String, Value>) {
    let node = schema.node(id);
    let mut place = above.clone();
    place.path = format!("{}/{}", above.path, member(schema, id));
    match &node.kind {
        Kind::Container { .. } => {
            let methods = if node.config { WRITABLE } else { &["get"] };
            insert(schema, id, &place, "", methods, paths);
        }
        Kind::List { keys, .. } => {
            insert(schema, id, &place, ".all", &["get"], paths);
            if keys.is_empty() {
                return;
            }
            let mut names = Vec::new();
            for key in keys {
                let leaf = schema.node(*key);
                let parameter = format!("{}-{}-{}", node.name, leaf.name, place.parameters.len() + 1);
                let schema_of = match &leaf.kind {
                    Kind::Leaf { type_, .. } => types::of(schema, type_),
                    _ => json!({"type": "string"}),
                };
                place
                    .parameters
                    .push(json!({"name": &parameter, "in": "path", "required": true, "schema": schema_of}));
                names.push(format!("{{{parameter}}}"));
            }
            place.path = format!("{}={}", place.path, names.join(","));
            let methods = if node.config { WRITABLE } else { &["get"] };
            insert(schema, id, &place, "", methods, paths);
        }
        _ => return,
    }
    for id in actions.iter().filter(|action| schema.node(**action).parent == Some(id)) {
        let mut item = json!({ "post": call(schema, *id) });
        if !place.parameters.is_empty() {
            item["parameters"] = json!(place.parameters);
        }
        paths.insert(format!("{}/{}", place.path, member(schema, *id)), item);
    }
    for child in &node.children {
        below(schema, actions, *child, &place, paths);
    }
}

/// Query parameters of all reads.
const READ: &[&str] = &["content", "depth", "fields", "sublist-limit", "with-defaults"];

/// Query parameters of reads of whole lists; where entries have no names, there is no cursor.
const PAGES: &[&str] = &["cursor", "limit", "offset", "direction", "sort-by", "where"];

/// What can be done with a container or list entry of configuration.
const WRITABLE: &[&str] = &["get", "post", "put", "patch", "delete"];

/// What can be created in a data resource with POST: one of its children (RFC 8040 section 4.4.1).
fn children(schema: &Schema, id: SchemaId) -> Vec<Value> {
    let node = schema.node(id);
    let keys = if let Kind::List { keys, .. } = &node.kind { &keys[..] } else { &[] };
    let config = |child: &&SchemaId| schema.node(**child).config && !keys.contains(child);
    let one = |child: &SchemaId| {
        let node = schema.node(*child);
        let name = format!("{}:{}", schema.module(node.module).name, node.name);
        let mut value = value(schema, *child);
        if matches!(node.kind, Kind::List { .. }) {
            value["minItems"] = json!(1);
            value["maxItems"] = json!(1);
        }
        json!({
            "type": "object", "required": [&name], "properties": {&name: value}, "additionalProperties": false,
        })
    };
    node.children.iter().filter(config).map(one).collect()
}

fn insert(
    schema: &Schema,
    id: SchemaId,
    place: &Place,
    suffix: &str,
    methods: &[&str],
    paths: &mut Map<String, Value>,
) {
    let node = schema.node(id);
    let module = &schema.module(node.module).name;
    let framed = json!({
        "type": "object",
        "required": [format!("{module}:{}", node.name)],
        "properties": {format!("{module}:{}", node.name): value(schema, id)},
        "additionalProperties": false,
    });
    let mut item = json!({});
    if !place.parameters.is_empty() {
        item["parameters"] = json!(place.parameters);
    }
    for method in methods {
        let mut operation = json!({
            "operationId": format!("{method}.{}{suffix}", name(schema, id)),
            "tags": [&**module],
        });
        let content = json!({ MEDIA: {"schema": framed} });
        operation["responses"] = match *method {
            "get" => {
                let keyless = matches!(&node.kind, Kind::List { keys, .. } if keys.is_empty());
                let pages = if suffix.is_empty() { &[][..] } else { &PAGES[usize::from(keyless)..] };
                let names = READ.iter().chain(pages);
                operation["parameters"] = names.map(|name| reference("parameters", name)).collect();
                let mut all = answers(&[("200", json!({"description": "The data.", "content": content}))]);
                if !suffix.is_empty() {
                    all["416"] = reference("responses", "beyond");
                }
                all
            }
            "post" => {
                let children = children(schema, id);
                if children.is_empty() {
                    continue;
                }
                let content = json!({ MEDIA: {"schema": {"oneOf": children}} });
                operation["requestBody"] = json!({"required": true, "content": content});
                let location = json!({"Location": {"schema": {"type": "string"}}});
                answers(&[("201", json!({"description": "Created in it.", "headers": location}))])
            }
            "put" => {
                operation["requestBody"] = json!({"required": true, "content": content});
                answers(&[
                    ("201", json!({"description": "Created."})),
                    ("204", json!({"description": "Replaced."})),
                ])
            }
            "patch" => {
                operation["requestBody"] = json!({"required": true, "content": content});
                answers(&[
                    ("200", json!({"description": "Merged."})),
                    ("204", json!({"description": "Merged."})),
                ])
            }
            _ => answers(&[("204", json!({"description": "Gone."}))]),
        };
        if let Some(description) = &node.description {
            operation["description"] = json!(&**description);
        }
        item[*method] = operation;
    }
    paths.insert(place.path.clone(), item);
}

/// Good answers, and the bad ones that every resource may give.
fn answers(good: &[(&str, Value)]) -> Value {
    let mut all = json!({
        "400": reference("responses", "invalid"),
        "401": reference("responses", "unauthorized"),
        "403": reference("responses", "forbidden"),
        "404": reference("responses", "missing"),
        "409": reference("responses", "conflict"),
        "412": reference("responses", "failed"),
    });
    for (status, answer) in good {
        all[*status] = answer.clone();
    }
    all
}
