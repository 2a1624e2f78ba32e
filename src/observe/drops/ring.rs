//! The last packets that were stopped, as `coeus-policy:drop-log` shows them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use futures_util::future::join_all;
use openflow_rs::{MultipartReply, MultipartRequest};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use serde_json::{Map, Value, json};

use super::packet::{Headers, Reason};
use crate::datastore::Snapshot;
use crate::net::{Dpid, timestamp};
use crate::policy::Direction;
use crate::programmer::Programmers;
use crate::schema::{DataPath, Parents, Text, json as yang_json, tree};

/// Packets that are remembered.
const REMEMBERED: usize = 256;
/// Meters of logging have numbers from here (`renderers::policy`).
const METERS: std::ops::RangeInclusive<u32> = 1 << 17..=(1 << 18) - 1;

/// A packet that was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    pub time: SystemTime,
    pub switch: Dpid,
    pub interface: Text,
    pub direction: Direction,
    pub headers: Headers,
    /// Bytes of the whole frame.
    pub length: usize,
    pub reason: Reason,
    /// Ids of the policies that select the interface and are about this direction.
    pub policies: Vec<Text>,
}

/// The last packets. Cheap to clone.
#[derive(Clone)]
pub struct DropLog {
    programmers: Programmers,
    ring: Arc<Mutex<Ring>>,
    logged: Family<[(&'static str, String); 1], Counter>,
}

#[derive(Debug, Default)]
struct Ring {
    /// Packets ever, by which each has its number.
    count: u64,
    last: VecDeque<(u64, Stopped)>,
}

impl Ring {
    fn push(&mut self, stopped: Stopped) {
        self.count += 1;
        self.last.push_back((self.count, stopped));
        if self.last.len() > REMEMBERED {
            self.last.pop_front();
        }
    }

    fn shape(&self, suppressed: u64) -> Value {
        json!({
            "logged": self.count.to_string(),
            "suppressed": suppressed.to_string(),
            "packet": self.last.iter().map(|(number, stopped)| shape(*number, stopped)).collect::<Vec<_>>(),
        })
    }
}

fn shape(number: u64, stopped: &Stopped) -> Value {
    let Stopped { time, switch, interface, direction, headers, length, reason, policies } = stopped;
    let mut entry: Map<String, Value> = [
        ("number", json!(number.to_string())),
        ("time", json!(timestamp(*time))),
        ("switch", json!(switch.to_string())),
        ("interface", json!(&**interface)),
        ("direction", json!(direction.to_string())),
        ("reason", json!(reason.to_string())),
        ("source", json!(headers.source.to_string())),
        ("destination", json!(headers.destination.to_string())),
        ("protocol", json!(headers.protocol_name())),
        ("length", json!(length)),
        ("policy", json!(policies.iter().map(|id| &**id).collect::<Vec<_>>())),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    if let Some((source, destination)) = headers.ports {
        entry.insert("source-port".into(), json!(source));
        entry.insert("destination-port".into(), json!(destination));
    }
    Value::Object(entry)
}

impl DropLog {
    pub fn new(programmers: Programmers) -> DropLog {
        DropLog { programmers, ring: Arc::default(), logged: Family::default() }
    }

    /// Shows how much was logged.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "coeus_policy_drops_logged",
            "Packets that policies stopped and that were logged, by direction",
            self.logged.clone(),
        );
    }

    pub(super) fn push(&self, stopped: Stopped) {
        self.logged.get_or_create(&[("direction", stopped.direction.to_string())]).inc();
        self.ring().push(stopped);
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The snapshot with the last packets, where the path asks for them. `None`: it does not.
    pub async fn fill(&self, snapshot: Arc<Snapshot>, path: &DataPath) -> Option<Arc<Snapshot>> {
        let schema = snapshot.schema;
        let log = schema.resolve("/coeus-policy:drop-log");
        if path.steps.first()?.node != log {
            return None;
        }
        let asked = self.programmers.live().into_iter().map(|dpid| self.suppressed(dpid));
        let suppressed = join_all(asked).await.into_iter().sum();
        let body = json!({ "coeus-policy:drop-log": self.ring().shape(suppressed) }).to_string();
        let at = DataPath::root().child(log);
        let node = yang_json::parse_resource(schema, &at, body.as_bytes(), yang_json::Mode::Lenient);
        let node =
            node.inspect_err(|errors| tracing::warn!(%errors, "the log of drops does not fit its model"));
        let mut filled = (*snapshot).clone();
        let put = tree::put(&mut filled.operational.input, schema, &at, node.ok()?, Parents::Create);
        put.inspect_err(|error| tracing::warn!(%error, "the log of drops could not be shown")).ok()?;
        Some(Arc::new(filled))
    }

    /// What the meters of a switch kept back.
    async fn suppressed(&self, dpid: Dpid) -> u64 {
        let answer = self.programmers.ask(dpid, MultipartRequest::MeterStats).await.unwrap_or_default();
        let mut by_meter: BTreeMap<u32, u64> = BTreeMap::new();
        for reply in answer {
            let MultipartReply::MeterStats(meters) = reply else { continue };
            for meter in meters.into_iter().filter(|meter| METERS.contains(&meter.meter)) {
                by_meter.insert(meter.meter, meter.bands.iter().map(|band| band.packets).sum());
            }
        }
        by_meter.into_values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(port: u16) -> Stopped {
        let ends: [std::net::IpAddr; 2] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
        let headers =
            Headers { source: ends[0], destination: ends[1], protocol: 6, ports: Some((40_000, port)) };
        Stopped {
            time: SystemTime::UNIX_EPOCH,
            switch: Dpid(1),
            interface: "blue:p1".into(),
            direction: Direction::Ingress,
            headers,
            length: 74,
            reason: Reason::NoRule,
            policies: vec!["11111111-2222-4333-8444-555555555555".into()],
        }
    }

    #[test]
    fn the_last_are_remembered_under_numbers_that_go_on() {
        let mut ring = Ring::default();
        for port in 0..=u16::try_from(REMEMBERED).unwrap() {
            ring.push(stopped(port));
        }
        assert_eq!((ring.count, ring.last.len()), (REMEMBERED as u64 + 1, REMEMBERED));
        assert_eq!(ring.last.front().map(|(number, _)| *number), Some(2));
    }

    #[test]
    fn it_fits_its_model() {
        let schema = crate::schema::builtin();
        let mut ring = Ring::default();
        ring.push(stopped(80));
        ring.push(Stopped {
            headers: Headers { ports: None, protocol: 1, ..stopped(0).headers },
            ..stopped(0)
        });
        let body = json!({ "coeus-policy:drop-log": ring.shape(7) }).to_string();
        let at = DataPath::root().child(schema.resolve("/coeus-policy:drop-log"));
        let parsed = yang_json::parse_resource(schema, &at, body.as_bytes(), yang_json::Mode::Strict);
        assert!(parsed.is_ok(), "{:?}", parsed.err());
    }
}
