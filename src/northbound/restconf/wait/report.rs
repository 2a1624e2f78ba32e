//! What is said of a write that waited.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use super::super::media;
use crate::net::Dpid;

/// Says how a write that waited ended, also where the body is something else.
const PROGRAMMED: HeaderName = HeaderName::from_static("coeus-programmed");
/// Objects named at most.
const SHOWN: usize = 100;

/// How far something is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    Programmed,
    Pending,
    Failed,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Programmed => "programmed",
            State::Pending => "pending",
            State::Failed => "failed",
        }
    }
}

/// A switch that the write concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchReport {
    pub state: State,
    /// From the arrival of the write to the confirmation.
    pub latency: Option<Duration>,
    /// Why it has not confirmed, or what it refused.
    pub reasons: Vec<String>,
}

/// An object that is not programmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectReport {
    pub name: String,
    pub state: State,
    pub reasons: Vec<String>,
}

/// How far the switches were when the wait ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub revision: u64,
    pub switches: BTreeMap<Dpid, SwitchReport>,
    pub objects: Vec<ObjectReport>,
}

impl Report {
    pub fn state(&self) -> State {
        let switches = self.switches.values().map(|switch| switch.state);
        switches.chain(self.objects.iter().map(|object| object.state)).max().unwrap_or(State::Programmed)
    }

    fn json(&self) -> Value {
        let switch = |(dpid, switch): (&Dpid, &SwitchReport)| {
            let mut shown = json!({ "dpid": dpid.to_string(), "state": switch.state.name() });
            if let Some(latency) = switch.latency {
                shown["latency"] = json!(latency.as_micros().to_string());
            }
            if !switch.reasons.is_empty() {
                shown["reason"] = json!(switch.reasons);
            }
            shown
        };
        let object = |object: &ObjectReport| json!({ "name": object.name, "state": object.state.name(), "reason": object.reasons });
        let mut shown = json!({
            "revision": self.revision.to_string(),
            "state": self.state().name(),
            "switch": self.switches.iter().map(switch).collect::<Vec<_>>(),
        });
        if !self.objects.is_empty() {
            shown["objects"] = json!(self.objects.len());
            shown["object"] = self.objects.iter().take(SHOWN).map(object).collect();
        }
        json!({ "coeus-status:programmed": shown })
    }

    /// Puts it into the answer to a write: into a header, and into the body where there is none. What is not programmed is
    /// accepted only (202).
    pub fn tell(&self, response: &mut Response<Body>, is_bodiless: bool) {
        let state = self.state();
        if state != State::Programmed {
            *response.status_mut() = StatusCode::ACCEPTED;
        } else if response.status() == StatusCode::NO_CONTENT {
            *response.status_mut() = StatusCode::OK;
        }
        response.headers_mut().insert(PROGRAMMED, HeaderValue::from_static(state.name()));
        if is_bodiless {
            *response.body_mut() = Body::from(self.json().to_string());
            let kind = HeaderValue::from_static(media::YANG_JSON.name);
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(states: &[State]) -> Report {
        let switch = |state| SwitchReport { state, latency: None, reasons: Vec::new() };
        let switches = (1..).map(Dpid).zip(states.iter().map(|state| switch(*state))).collect();
        Report { revision: 7, switches, objects: Vec::new() }
    }

    #[test]
    fn the_worst_counts() {
        use State::{Failed, Pending, Programmed};
        for (states, worst) in [
            (&[][..], Programmed),
            (&[Programmed, Programmed][..], Programmed),
            (&[Programmed, Pending][..], Pending),
            (&[Failed, Pending][..], Failed),
        ] {
            assert_eq!(report(states).state(), worst);
        }
        let object = ObjectReport { name: "blue:p1".into(), state: Pending, reasons: vec!["no port".into()] };
        assert_eq!(Report { objects: vec![object], ..report(&[Programmed]) }.state(), Pending);
    }

    #[test]
    fn an_answer_without_a_body_gets_one_and_keeps_what_it_said() {
        for (state, before, after) in [
            (State::Programmed, StatusCode::NO_CONTENT, StatusCode::OK),
            (State::Programmed, StatusCode::CREATED, StatusCode::CREATED),
            (State::Pending, StatusCode::CREATED, StatusCode::ACCEPTED),
            (State::Failed, StatusCode::OK, StatusCode::ACCEPTED),
        ] {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = before;
            report(&[state]).tell(&mut response, true);
            assert_eq!(response.status(), after);
            assert_eq!(response.headers()["coeus-programmed"], state.name());
        }
    }
}
