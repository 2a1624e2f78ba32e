//! A plan as JSON, in the shape of the grouping `coeus-explain:plan`.

use serde_json::{Map, Value, json};

use crate::datastore::{Planned, Store};
use crate::pipeline::{Flow, Group, Meter, OwnerName};
use crate::renderers::{Plan, Planned as Thing};
use crate::schema::{DataPath, Schema};

/// What a transaction would do. Without a network behind the datastore: nothing but the revision.
pub fn json(planned: &Planned) -> Value {
    let mut out = match planned.report.downcast_ref::<Plan>() {
        Some(plan) => of(planned.before.schema, plan),
        None => json!({}),
    };
    out["revision"] = json!(planned.before.revision.0.to_string());
    out
}

/// Flows, groups, meters and nodes of a plan.
pub fn of(schema: &Schema, plan: &Plan) -> Value {
    let mut lines = Vec::new();
    let switches: Vec<Value> = plan
        .switches
        .iter()
        .map(|(dpid, switch)| {
            let name = dpid.to_string();
            let flows = things(&name, &switch.flows, &mut lines, |flow: &Flow| {
                let place = json!({ "table": flow.table, "cookie": format!("{:#x}", flow.cookie) });
                (place, &flow.owner)
            });
            let groups = things(&name, &switch.groups, &mut lines, |group: &Group| {
                (json!({ "id": group.id }), &group.owner)
            });
            let meters = things(&name, &switch.meters, &mut lines, |meter: &Meter| {
                (json!({ "id": meter.id }), &meter.owner)
            });
            json!({ "dpid": name, "flow": flows, "group": groups, "meter": meters })
        })
        .collect();
    let nodes: Vec<Value> = plan
        .nodes
        .iter()
        .enumerate()
        .filter_map(|(number, thing)| {
            let node = thing.after.as_ref().or(thing.before.as_ref())?;
            let path = DataPath { steps: node.steps() };
            Some(json!({
                "number": number + 1,
                "operation": operation(thing),
                "datastore": if node.store() == Store::Config { "config" } else { "operational" },
                "path": format!("/{}", path.to_rfc8040(schema)),
            }))
        })
        .collect();
    json!({ "switch": switches, "node": nodes, "line": lines })
}

fn things<T: std::fmt::Display>(
    dpid: &str,
    things: &[Thing<std::sync::Arc<T>>],
    lines: &mut Vec<String>,
    place: impl Fn(&T) -> (Value, &OwnerName),
) -> Vec<Value> {
    let mut out = Vec::new();
    for (number, thing) in things.iter().enumerate() {
        let Some(some) = thing.after.as_ref().or(thing.before.as_ref()) else { continue };
        let (place, owner) = place(some);
        let mut members = Map::new();
        members.insert("number".into(), json!(number + 1));
        members.insert("operation".into(), json!(operation(thing)));
        if let Value::Object(place) = place {
            members.extend(place);
        }
        members.insert("owner".into(), json!(owner.to_string()));
        for (name, sign, side) in [("before", '-', &thing.before), ("after", '+', &thing.after)] {
            if let Some(side) = side {
                members.insert(name.into(), json!(side.to_string()));
                lines.push(format!("{dpid} {sign} {side}"));
            }
        }
        out.push(Value::Object(members));
    }
    out
}

fn operation<T>(thing: &Thing<T>) -> &'static str {
    match (&thing.before, &thing.after) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    }
}
