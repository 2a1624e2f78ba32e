//! `coeus watch`: what changes, as it changes.

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::Value;

use super::connect::with_query;
use super::{Client, Failure};

/// `coeus watch`.
#[derive(clap::Args, Debug, Clone)]
pub struct Watch {
    /// The resource, as in RFC 8040: `pod:coe/pods=UID`; several as in XPath: `/pod:coe/pods[uid='UID']`; without one, everything
    #[arg(conflicts_with = "kube")]
    pub path: Vec<String>,
    /// config, nonconfig or all
    #[arg(long, conflicts_with = "kube")]
    pub content: Option<String>,
    /// Begin with the changes since this revision instead of the present state
    #[arg(long, value_name = "REVISION", conflicts_with = "kube")]
    pub from: Option<u64>,
    #[arg(short, long, value_enum, default_value = "text", conflicts_with = "kube")]
    pub output: Lines,
    #[command(flatten)]
    pub kube: super::kube::Kube,
    /// Serve /metrics, /livez and /readyz there, without a password
    #[arg(long, value_name = "ADDRESS:PORT", requires = "kube", help_heading = "Kubernetes")]
    pub metrics: Option<std::net::SocketAddr>,
}

/// `-o` of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Lines {
    /// A line for each edit: revision, operation, place, value
    Text,
    /// A line for each event, as RFC 8641 has it
    Json,
}

/// Prints events until the stream ends or nobody reads what is printed.
///
/// # Errors
/// When the controller refuses, or ends the stream.
pub fn watch(client: &Client, asked: &Watch) -> Result<(), Failure> {
    let mut query = Vec::new();
    query.extend(asked.content.iter().map(|content| ("content", content.clone())));
    query.extend(asked.from.iter().map(|from| ("start-revision", from.to_string())));
    let resource = match &asked.path[..] {
        [] => "/rests/data".to_owned(),
        [one] if !one.starts_with('/') => format!("/rests/data/{one}"),
        several => {
            query.push(("filter", several.join(" | ")));
            "/rests/data".to_owned()
        }
    };
    let target = with_query(&resource, &query);
    let (status, mut body) = client.stream(&target, &[("Accept", "text/event-stream")])?;
    let what = format!("watch {}", asked.path.join(" "));
    if status != 200 {
        let mut text = Vec::new();
        body.read_to_end(&mut text).map_err(|error| Failure::Unreachable(error.to_string()))?;
        return Err(Failure::of_answer(&what, status, &text));
    }
    let mut data = String::new();
    for line in BufReader::new(body).lines() {
        let line = line.map_err(|error| Failure::Unreachable(format!("{what}: {error}; watch again")))?;
        if line == "event: incomplete" {
            // It was cut off; why is said by the next one.
            data.clear();
        } else if let Some(more) = line.strip_prefix("data: ") {
            data.push_str(more);
        } else if line.is_empty() && !data.is_empty() {
            let event: Value = serde_json::from_str(&std::mem::take(&mut data))
                .map_err(|error| Failure::Failed(format!("{what}: an event is not JSON: {error}")))?;
            let told = &event["ietf-restconf:notification"];
            let text = match asked.output {
                Lines::Json => format!("{told}\n"),
                Lines::Text => text(told),
            };
            match std::io::stdout().write_all(text.as_bytes()) {
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
                outcome => outcome.map_err(|error| Failure::Failed(error.to_string()))?,
            }
            if let Some(end) = told.get("ietf-subscribed-notifications:subscription-terminated") {
                let message =
                    end["coeus-events:message"].as_str().unwrap_or("the controller ended the stream");
                let revision = end["coeus-events:revision"].as_str().unwrap_or("0");
                return Err(Failure::Failed(format!(
                    "{what}: {message}; go on with coeus watch {} --from {revision}",
                    asked.path.join(" ")
                )));
            }
        }
    }
    Err(Failure::Unreachable(format!("{what}: the connection ended; watch again")))
}

/// An event as lines for people.
fn text(told: &Value) -> String {
    let revision = |told: &Value| told["coeus-events:revision"].as_str().unwrap_or("-").to_owned();
    if let Some(update) = told.get("ietf-yang-push:push-update") {
        return format!("{}\tis\t/\t{}\n", revision(update), update["datastore-contents"]);
    }
    let Some(change) = told.get("ietf-yang-push:push-change-update") else { return String::new() };
    let edits = change["datastore-changes"]["yang-patch"]["edit"].as_array();
    let line = |edit: &Value| {
        let word = |name: &str| edit[name].as_str().unwrap_or("-").to_owned();
        let value = edit.get("value").map(|value| format!("\t{value}")).unwrap_or_default();
        format!("{}\t{}\t{}{value}\n", revision(change), word("operation"), word("target"))
    };
    edits.into_iter().flatten().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_edit_is_a_line() {
        let edits = json!([
            {"edit-id": "1", "operation": "delete", "target": "/pod:coe/pods=a"},
            {"edit-id": "2", "operation": "replace", "target": "/pod:coe/pods=b/name", "value": {"pod:name": "x"}},
        ]);
        let change =
            json!({"coeus-events:revision": "12", "datastore-changes": {"yang-patch": {"edit": edits}}});
        assert_eq!(
            text(&json!({"ietf-yang-push:push-change-update": change})),
            "12\tdelete\t/pod:coe/pods=a\n12\treplace\t/pod:coe/pods=b/name\t{\"pod:name\":\"x\"}\n"
        );
        let update = json!({"coeus-events:revision": "3", "datastore-contents": {}});
        assert_eq!(text(&json!({"ietf-yang-push:push-update": update})), "3\tis\t/\t{}\n");
    }
}
