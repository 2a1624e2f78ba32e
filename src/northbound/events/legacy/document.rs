//! OpenDaylight's `data-changed-notification`, in its XML and in the JSON that it makes of that.

use serde_json::json;
use serde_json::value::RawValue;

use super::super::changes::{Action, Change};
use super::super::document::{Moment, time};
use super::Watched;
use crate::northbound::restconf::Encoding;
use crate::schema::{Schema, json as codec, xml};

const NOTIFICATION: &str = "urn:ietf:params:xml:ns:netconf:notification:1.0";
const REMOTE: &str = "urn:opendaylight:params:xml:ns:yang:controller:md:sal:remote";

/// The document of the changes that are in scope; `None` if none is.
pub fn document(schema: &Schema, watched: &Watched, at: Moment, changes: &[Change]) -> Option<String> {
    let base = watched.path.steps.len();
    let told: Vec<(&Change, &str)> = changes
        .iter()
        .filter(|change| watched.scope.reaches(change.path.steps.len().saturating_sub(base)))
        .filter_map(|change| Some((change, operation(change.action)?)))
        .collect();
    if told.is_empty() {
        return None;
    }
    Some(match watched.encoding {
        Encoding::Json => as_json(schema, at, &told),
        Encoding::Xml => as_xml(schema, at, &told),
    })
}

/// OpenDaylight has no word for a move.
fn operation(action: Action) -> Option<&'static str> {
    match action {
        Action::Create => Some("created"),
        Action::Replace => Some("updated"),
        Action::Delete => Some("deleted"),
        Action::MoveLast => None,
    }
}

fn as_json(schema: &Schema, at: Moment, told: &[(&Change, &str)]) -> String {
    let event = |(change, operation): &(&Change, &str)| {
        let mut event = json!({"path": change.path.display(schema), "operation": operation});
        if let Some(node) = &change.node {
            let mut text = Vec::new();
            codec::write_resource(schema, &change.path, node, &mut text);
            let data: Option<&RawValue> = serde_json::from_slice(&text).ok();
            event["data"] = data.and_then(|data| serde_json::to_value(data).ok()).unwrap_or_default();
        }
        event
    };
    let events: Vec<serde_json::Value> = told.iter().map(event).collect();
    json!({"notification": {
        "xmlns": NOTIFICATION,
        "eventTime": time(at.time),
        "data-changed-notification": {"xmlns": REMOTE, "data-change-event": events},
    }})
    .to_string()
}

fn as_xml(schema: &Schema, at: Moment, told: &[(&Change, &str)]) -> String {
    let mut out = Vec::new();
    let mut writer = xml::Writer::new(schema, &mut out);
    writer.start(Some(NOTIFICATION), "notification");
    writer.leaf("eventTime", &time(at.time));
    writer.start(Some(REMOTE), "data-changed-notification");
    for (change, operation) in told {
        writer.start(None, "data-change-event");
        writer.path("path", &change.path.display(schema));
        writer.leaf("operation", operation);
        if let Some(node) = &change.node {
            writer.start(None, "data");
            if let Some(id) = change.path.last_node() {
                writer.resource(id, node);
            }
            writer.end("data");
        }
        writer.end("data-change-event");
    }
    writer.end("data-changed-notification");
    writer.end("notification");
    String::from_utf8_lossy(&out).into_owned()
}
