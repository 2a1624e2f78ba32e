//! Edits as a YANG Patch of the datastore (RFC 8072 section 2.1), and back.

use serde_json::{Value, json};

use crate::datastore::{Edit, Operation, Store};
use crate::schema::{DataPath, Position, Schema, json as yang_json};

/// Edits as made by [`crate::datastore::edits_between`]: what is moved goes to the end of its list.
pub fn yang_patch(schema: &Schema, name: &str, edits: &[Edit]) -> Value {
    let edit = |(number, edit): (usize, &Edit)| {
        let mut out = json!({
            "edit-id": (number + 1).to_string(),
            "operation": edit.operation.name(),
            "target": format!("/{}", edit.path.to_rfc8040(schema)),
        });
        if let Some(node) = &edit.node {
            let mut text = Vec::new();
            yang_json::write_resource(schema, &edit.path, node, &mut text);
            out["value"] = serde_json::from_slice(&text).unwrap_or_default();
        }
        if edit.position.is_some() {
            out["where"] = json!("last");
        }
        out
    };
    let edits: Vec<Value> = edits.iter().enumerate().map(edit).collect();
    json!({ "ietf-yang-patch:yang-patch": { "patch-id": name, "edit": edits } })
}

/// The edits of a patch that [`yang_patch`] wrote.
///
/// # Errors
/// Says which edit does not fit the models (any more).
pub fn edits(schema: &Schema, patch: &Value) -> Result<Vec<Edit>, String> {
    let list = patch["ietf-yang-patch:yang-patch"]["edit"].as_array();
    list.into_iter().flatten().map(|edit| read(schema, edit)).collect()
}

fn read(schema: &Schema, edit: &Value) -> Result<Edit, String> {
    let text = |name: &str| edit[name].as_str().unwrap_or_default();
    let target = text("target");
    let path = DataPath::parse_rfc8040(schema, target.trim_start_matches('/'))
        .map_err(|error| format!("{target}: {error}"))?;
    let operation = Operation::named(text("operation"));
    let operation = operation.ok_or_else(|| format!("{target}: no operation"))?;
    let node = match edit.get("value") {
        Some(value) => {
            let value = value.to_string();
            let node = yang_json::parse_resource(schema, &path, value.as_bytes(), yang_json::Mode::Strict);
            Some(node.map_err(|errors| format!("{target}: {errors}"))?)
        }
        None => None,
    };
    let position = edit.get("where").map(|_| Position::Last);
    Ok(Edit { position, ..Edit::new(Store::Config, operation, path, node) })
}
