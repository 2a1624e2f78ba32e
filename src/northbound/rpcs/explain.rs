//! From flows to configuration and back.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::pool::Pools;
use super::{Asked, behind, plan};
use crate::datastore::{Edit, Operation, Store, Transaction};
use crate::northbound::restconf::{Problem, Problems};
use crate::renderers::{Engine, FlowQuery};
use crate::schema::{DataPath, Schema};

/// Flows, and objects of each, that one answer shows.
const SHOWN: usize = 100;
/// Flows that a list has where nobody says how many.
const LISTED: usize = 1000;

/// The flows that an input asks about.
fn query(asked: &Asked) -> Result<FlowQuery, Problems> {
    let cookie = asked.text("cookie").map(|text| {
        let digits = text.trim_start_matches("0x");
        u64::from_str_radix(digits, 16).map_err(|_| {
            let message = format!("cookie {text:?}: write hexadecimal digits, as ovs-ofctl prints them");
            Problems::from(Problem::new("invalid-value", message))
        })
    });
    Ok(FlowQuery {
        dpid: asked.text("dpid").map(str::to_owned),
        table: asked.number("table").and_then(|table| u8::try_from(table).ok()),
        cookie: cookie.transpose()?,
        text: asked.text("match").map(str::to_owned),
    })
}

/// Flows that switches should hold, without what is behind them.
pub async fn list(asked: Asked) -> Result<Value, Problems> {
    let query = query(&asked)?;
    let limit = asked.number("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(LISTED);
    let found = asked.call.datastore.ask(move |engine: &Engine| engine.list_flows(&query, limit)).await;
    let (count, found) = found.ok_or_else(no_network)?;
    let flows = found.iter().enumerate().map(|(number, (dpid, flow))| {
        json!({
            "number": number + 1,
            "dpid": dpid.to_string(),
            "table": flow.table,
            "priority": flow.priority,
            "cookie": format!("{:#x}", flow.cookie),
            "owner": flow.owner.to_string(),
            "line": flow.to_string(),
        })
    });
    Ok(json!({ "flows": count, "flow": flows.collect::<Vec<_>>() }))
}

pub async fn flow(asked: Asked) -> Result<Value, Problems> {
    let schema = asked.call.datastore.schema();
    let query = query(&asked)?;
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
    if let Some(pools) = Pools::named(snapshot.schema, &path)
        && snapshot.read(Store::Config, &path).is_some()
    {
        return pools.explain(&asked).await;
    }
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
    let schema = asked.call.datastore.schema();
    let path = path(schema, &asked)?;
    removal(&asked, path).await
}

/// What deleting this would do.
async fn removal(asked: &Asked, path: DataPath) -> Result<Value, Problems> {
    let edit = Edit::new(Store::Config, Operation::Delete, path, None);
    let planned = asked.call.datastore.plan(Transaction::new(&asked.call.user, vec![edit])).await?;
    Ok(plan::json(&planned))
}

/// A path as in a URL, or with conditions for keys, as errors and notifications write it.
fn path(schema: &Schema, asked: &Asked) -> Result<DataPath, Problems> {
    let text = asked.text("path").unwrap_or_default();
    let path = if text.starts_with('/') && text.contains("='") {
        DataPath::parse_instance_identifier(schema, text)?
    } else {
        DataPath::parse_rfc8040(schema, text.trim_start_matches("/rests/data").trim_start_matches('/'))?
    };
    if path.steps.is_empty() {
        return Err(Problem::new("invalid-value", "name an object, as in pod:coe/pods=UID").into());
    }
    Ok(path)
}

pub fn no_network() -> Problems {
    let problem = Problem::new("operation-failed", "no renderer answers; the controller is stopping");
    problem.with_status(StatusCode::SERVICE_UNAVAILABLE).into()
}
