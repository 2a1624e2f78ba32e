//! history, diff and rollback: the revisions that the controller keeps.

use serde_json::{Value, json};

use super::output::{Format, print, show};
use super::plan;
use super::table::plain;
use super::{Client, Failure, Table};

const MODULE: &str = "coeus-history";

/// `coeus history`: what was written when, and by whom.
pub fn history(client: &Client, limit: u32, all: bool, output: Format) -> Result<(), Failure> {
    let found = client.call(MODULE, "list-revisions", json!({ "limit": limit, "clients-only": !all }))?;
    show(&found, output, |found| {
        let mut table = Table::new(["REVISION", "TIME", "AUTHOR", "KIND"]);
        for revision in found.get("revision").and_then(Value::as_array).into_iter().flatten() {
            let cell = |name: &str| revision.get(name).map(plain).unwrap_or_default();
            table.row([cell("number"), cell("time"), cell("author"), cell("kind")]);
        }
        table
    })
}

/// `coeus diff`: a YANG Patch that `coeus patch ''` takes.
pub fn diff(client: &Client, from: u64, to: Option<u64>, output: Format) -> Result<(), Failure> {
    let mut input = json!({ "from": from.to_string() });
    if let Some(to) = to {
        input["to"] = json!(to.to_string());
    }
    let found = client.call(MODULE, "diff", input)?;
    let patch = found.get("patch").cloned().unwrap_or_default();
    show(&patch, output, edits)
}

/// The edits of a YANG Patch, a line each.
pub fn edits(patch: &Value) -> Table {
    let mut table = Table::new(["OPERATION", "TARGET", "VALUE"]);
    let edits = patch.get("ietf-yang-patch:yang-patch").and_then(|patch| patch.get("edit"));
    for edit in edits.and_then(Value::as_array).into_iter().flatten() {
        let cell = |name: &str| edit.get(name).map(plain).unwrap_or_default();
        table.row([cell("operation"), cell("target"), cell("value")]);
    }
    table
}

/// `coeus rollback`.
pub fn rollback(client: &Client, to: u64, dry_run: bool, output: Format) -> Result<(), Failure> {
    let done = client.call(MODULE, "rollback", json!({ "to": to.to_string(), "dry-run": dry_run }))?;
    if dry_run {
        return plan::show_plan(done.get("plan").unwrap_or(&Value::Null), output);
    }
    let cell = |name: &str| done.get(name).map(plain).unwrap_or_default();
    match output {
        Format::Table | Format::Wide => match cell("committed").as_str() {
            "" => print(format!("nothing differs from revision {to}\n")),
            revision => {
                print(format!("back at revision {to}: {} edits, revision {revision}\n", cell("edits")))
            }
        },
        _ => show(&done, output, Table::of),
    }
}

/// `coeus confirm` and `coeus cancel`: what becomes of a commit that waits to be confirmed.
pub fn decide(client: &Client, rpc: &str, id: Option<&str>) -> Result<(), Failure> {
    let done = client.call(MODULE, rpc, id.map_or(json!({}), |id| json!({ "id": id })))?;
    let revision = done.get("committed").map(plain).unwrap_or_default();
    let what = if rpc == "confirm-commit" { "it stays" } else { "it was taken back" };
    print(format!("{what}; revision {revision}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edits_of_a_patch_are_listed() {
        let patch = json!({"ietf-yang-patch:yang-patch": {"patch-id": "p", "edit": [
            {"edit-id": "1", "operation": "remove", "target": "/pod:coe"},
            {"edit-id": "2", "operation": "replace", "target": "/x:y", "value": {"x:y": 1}}]}});
        let table = edits(&patch);
        assert_eq!(table.rows, [["remove", "/pod:coe", ""], ["replace", "/x:y", r#"{"x:y":1}"#]]);
    }
}
