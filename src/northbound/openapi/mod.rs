//! The RESTCONF interface as an OpenAPI 3.1 document, made of the loaded models: every container, list, list entry, RPC and action,
//! with types, patterns, ranges and keys. A pure function; who serves it decides which RPCs there are.

mod paths;
mod schemas;
#[cfg(test)]
mod tests;
mod types;

use serde_json::{Map, Value, json};

use crate::schema::{Schema, SchemaId};

/// The media type of bodies.
const MEDIA: &str = "application/yang-data+json";

/// The document. `operations` are the RPCs and actions that can be invoked.
pub fn document(schema: &Schema, operations: &[SchemaId]) -> Value {
    let mut paths = Map::new();
    let (actions, rpcs): (Vec<SchemaId>, Vec<SchemaId>) =
        operations.iter().partition(|id| schema.node(**id).parent.is_some());
    for id in &schema.roots {
        paths::data(schema, &actions, *id, &mut paths);
    }
    for id in rpcs {
        paths::rpc(schema, id, &mut paths);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Coeus RESTCONF",
            "description": "RFC 8040 on the models that are loaded. Bodies are JSON as RFC 7951 has it; XML is spoken too.",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "servers": [{"url": "/"}],
        "security": [{"basic": []}],
        "paths": paths,
        "components": {
            "schemas": schemas::all(schema, operations),
            "parameters": parameters(),
            "responses": responses(),
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
    })
}

/// A reference to a component.
fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

/// Query parameters of reads (RFC 8040 section 4.8, draft-ietf-netconf-list-pagination-rc section 2.3).
fn parameters() -> Value {
    let query = |name: &str, description: &str, schema: Value| json!({"name": name, "in": "query", "required": false, "description": description, "schema": schema});
    json!({
        "content": query("content", "Configuration, state, or both.", json!({"enum": ["config", "nonconfig", "all"]})),
        "depth": query("depth", "Levels to return.", json!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 65535}, {"const": "unbounded"}]})),
        "fields": query("fields", "What to return, as in a;b(c;d).", json!({"type": "string"})),
        "limit": query("limit", "Most entries of the list to return; Link leads to the next ones.", json!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": u32::MAX}, {"const": "unbounded"}]})),
        "offset": query("offset", "Entries to skip.", json!({"type": "integer", "minimum": 0, "maximum": u32::MAX})),
        "cursor": query("cursor", "Where to go on, as the page before said.", json!({"type": "string"})),
        "direction": query("direction", "Which way to read.", json!({"enum": ["forwards", "backwards"]})),
        "sort-by": query("sort-by", "A leaf of the entry, or a path to one below it; a dot for values of a leaf-list.", json!({"type": "string"})),
        "where": query("where", "An XPath condition on the entry, as in name='a'; prefixes are names of modules.", json!({"type": "string"})),
        "sublist-limit": query("sublist-limit", "Most entries of each list below the resource.", json!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": u32::MAX}, {"const": "unbounded"}]})),
        "with-defaults": query("with-defaults", "How defaults are told (RFC 6243).", json!({"enum": ["report-all", "trim", "explicit", "report-all-tagged"]})),
    })
}

fn responses() -> Value {
    let errors = |description: &str| json!({"description": description, "content": {MEDIA: {"schema": reference("schemas", "errors")}}});
    json!({
        "invalid": errors("The request, or the data that it would make, is wrong; each fault is named with its path."),
        "unauthorized": errors("Log in."),
        "forbidden": errors("This user may not."),
        "missing": errors("There is nothing at this path."),
        "conflict": errors("The data do not go together with what is there, or somebody else was faster."),
        "beyond": errors("The list has fewer entries than are to be skipped."),
        "failed": errors("Preconditions do not hold."),
    })
}
