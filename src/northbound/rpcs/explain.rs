//! From flows to configuration and back.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{Asked, behind, plan};
use crate::datastore::{Edit, Operation, Store, Transaction};
use crate::northbound::restconf::{Problem, Problems};
use crate::renderers::{Engine, FlowQuery};
use crate::schema::{DataPath, Schema};

/// Flows, and objects of each, that one answer shows.
const SHOWN: usize = 100;

pub async fn flow(asked: Asked) -> Result<Value, Problems> {
    let schema = asked.call.datastore.snapshot().schema;
    let cookie = asked.text("cookie").map(|text| {
        let digits = text.trim_start_matches("0x");
        u64::from_str_radix(digits, 16).map_err(|_| {
            let message = format!("cookie {text:?}: write hexadecimal digits, as ovs-ofctl prints them");
            Problems::from(Problem::new("invalid-value", message))
        })
    });
    let query = FlowQuery {
        dpid: asked.text("dpid").map(str::to_owned),
        table: asked.number("table").and_then(|table| u8::try_from(table).ok()),
        cookie: cookie.transpose()?,
        text: asked.text("match").map(str::to_owned),
    };
    if query == FlowQuery::default() {
        let message = "nothing to look for: give dpid, table, cookie or match";
        return Err(Problem::new("missing-element", message).into());
    }
    let found = asked.call.datastore.ask(move |engine: &Engine| engine.explain_flows(&query, SHOWN)).await;
    let (count, found) = found.ok_or_else(no_network)?;
    let flows: Vec<Value> = found
        .iter()
        .enumerate()
        .map(|(number, found)| {
            let shown = &found.paths[..found.paths.len().min(SHOWN)];
            json!({
                "number": number + 1,
                "dpid": found.dpid.to_string(),
                "line": found.flow.to_string(),
                "feature": found.flow.owner.feature(),
                "key": found.flow.owner.key(),
                "objects": found.paths.len(),
                "object": behind::objects(schema, asked.call.datastore.history(), shown),
            })
        })
        .collect();
    Ok(json!({ "flows": count, "flow": flows }))
}

pub async fn object(asked: Asked) -> Result<Value, Problems> {
    let snapshot = asked.call.datastore.snapshot();
    let path = path(snapshot.schema, &asked)?;
    let of = path.clone();
    let found = asked.call.datastore.ask(move |engine: &Engine| engine.caused_by(&of)).await;
    match found.ok_or_else(no_network)? {
        Some(caused) => {
            let mut out = plan::of(snapshot.schema, &caused);
            out["revision"] = json!(snapshot.revision.0.to_string());
            Ok(out)
        }
        None => removal(&asked, path).await,
    }
}

pub async fn impact(asked: Asked) -> Result<Value, Problems> {
    let schema = asked.call.datastore.snapshot().schema;
    let path = path(schema, &asked)?;
    removal(&asked, path).await
}

/// What deleting this would do.
async fn removal(asked: &Asked, path: DataPath) -> Result<Value, Problems> {
    let edit = Edit::new(Store::Config, Operation::Delete, path, None);
    let planned = asked.call.datastore.plan(Transaction::new(&asked.call.user, vec![edit])).await?;
    Ok(plan::json(&planned))
}

fn path(schema: &Schema, asked: &Asked) -> Result<DataPath, Problems> {
    let text = asked.text("path").unwrap_or_default();
    let path =
        DataPath::parse_rfc8040(schema, text.trim_start_matches("/rests/data").trim_start_matches('/'))?;
    if path.steps.is_empty() {
        return Err(Problem::new("invalid-value", "name an object, as in pod:coe/pods=UID").into());
    }
    Ok(path)
}

pub fn no_network() -> Problems {
    let problem = Problem::new("operation-failed", "no renderer answers; the controller is stopping");
    problem.with_status(StatusCode::SERVICE_UNAVAILABLE).into()
}
