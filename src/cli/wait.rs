//! Waiting until the switches have what the datastore says.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::nouns::{entries, state};
use super::output::Waiting;
use super::table::plain;
use super::{Client, Failure};

/// Waits until every pod that is plugged in is programmed, and says what it waits for.
///
/// # Errors
/// [`Failure::TimedOut`] with what is still missing; [`Failure::Failed`] when a switch refused something.
pub fn programmed(client: &Client, patience: Duration) -> Result<(), Failure> {
    let end = Instant::now() + patience;
    let waiting = Waiting::new("waiting for the switches");
    loop {
        let objects = client.data_if_any("coeus-status:objects")?;
        let switches = client.data_if_any("coeus-status:switches")?;
        let objects = entries(&objects, "coeus-status:objects", "object");
        let missing = missing(&objects, &switches)?;
        if missing.is_empty() {
            return Ok(());
        }
        let text = format!("waiting for {}", missing.join(", "));
        if Instant::now() >= end {
            return Err(Failure::TimedOut(format!(
                "after {} s still {text}; `coeus doctor` says more",
                patience.as_secs()
            )));
        }
        waiting.say(&text);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What is not programmed yet though it could be: at most three names and a count.
fn missing(objects: &[Value], switches: &Value) -> Result<Vec<String>, Failure> {
    let name = |object: &Value| object.get("name").map(plain).unwrap_or_default();
    let mut behind = Vec::new();
    for object in objects {
        match state(object, switches).as_str() {
            "failed" => {
                let reason = object.get("reason").map(plain).unwrap_or_default();
                return Err(Failure::Failed(format!("{}: its switch refused it: {reason}", name(object))));
            }
            "desired" => behind.push(name(object)),
            _ => {}
        }
    }
    let more = behind.len().saturating_sub(3);
    behind.truncate(3);
    if more > 0 {
        behind.push(format!("and {more} more"));
    }
    Ok(behind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_what_is_behind_and_stops_at_a_refusal() {
        let pod = |name: &str, state: &str| json!({"name": name, "state": state, "switch": "a", "desired-revision": "5", "reason": ["too big"]});
        let switches =
            json!({"coeus-status:switches": {"switch": [{"dpid": "a", "programmed-revision": "4"}]}});
        let pods: Vec<_> = ["p1", "p2", "p3", "p4", "p5"].iter().map(|name| pod(name, "desired")).collect();
        assert_eq!(missing(&pods, &switches).unwrap(), ["p1", "p2", "p3", "and 2 more"]);
        assert_eq!(missing(&[pod("p", "pending")], &switches).unwrap(), [""; 0]);
        let refused = missing(&[pod("p", "failed")], &switches).unwrap_err();
        assert_eq!((refused.code(), refused.to_string().contains("too big")), (1, true));
    }
}
