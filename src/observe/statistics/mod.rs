//! Counters of switches below `opendaylight-inventory:nodes`, asked for when somebody reads them.
//!
//! Nothing is polled, journalled or kept: a read of the operational inventory asks the switches it names, and sees
//! their answers in a snapshot of its own. A switch is asked at most once within [`Statistics::age`], whoever reads.
//! A read of one node also gets its flows; a read of all gets tables, groups, meters and ports.

mod node;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use openflow_rs::{MultipartReply, MultipartRequest};

use crate::datastore::{Snapshot, Store};
use crate::net::Dpid;
use crate::programmer::Programmers;
use crate::schema::{DataPath, Key, Node, Parents, tree};

/// Reads counters.
#[derive(Clone)]
pub struct Statistics {
    programmers: Programmers,
    /// How old counters may be.
    age: Duration,
    known: Arc<Mutex<HashMap<(Dpid, bool), Known>>>,
}

/// What a switch answered, as it is shown.
struct Known {
    since: Instant,
    node: Node,
}

impl Statistics {
    pub fn new(programmers: Programmers, age: Duration) -> Statistics {
        Statistics { programmers, age, known: Arc::default() }
    }

    /// The snapshot with counters where the path asks for them. `None`: it does not.
    pub async fn fill(&self, snapshot: Arc<Snapshot>, path: &DataPath) -> Option<Arc<Snapshot>> {
        let schema = snapshot.schema;
        let nodes = schema.resolve("/opendaylight-inventory:nodes");
        let node = schema.resolve("/opendaylight-inventory:nodes/node");
        if path.steps.first()?.node != nodes {
            return None;
        }
        let named = path.steps.get(1).and_then(|step| step.key.as_ref());
        let switches: Vec<(Dpid, DataPath)> = self
            .programmers
            .switches()
            .into_iter()
            .filter_map(|dpid| {
                let key = Key::text(dpid.node_id());
                let wanted = named.is_none_or(|named| *named == key);
                let at = DataPath::root().child(nodes).entry(node, key);
                // Of a node that is not there, or may not be seen, there is nothing to show.
                (wanted && snapshot.read(Store::Operational, &at).is_some()).then_some((dpid, at))
            })
            .collect();
        let flows = named.is_some();
        let asked = switches.iter().map(|(dpid, at)| self.of(*dpid, flows, &snapshot, at));
        let mut filled = (*snapshot).clone();
        for (answer, (_, at)) in join_all(asked).await.into_iter().zip(&switches) {
            if let Some(found) = answer
                && let Err(error) =
                    tree::put(&mut filled.operational.input, schema, at, found, Parents::Create)
            {
                tracing::warn!(%error, "counters could not be shown");
            }
        }
        Some(Arc::new(filled))
    }

    /// What is known of a switch, asked for again if that is too old. `None`: it does not answer.
    async fn of(&self, dpid: Dpid, flows: bool, snapshot: &Snapshot, at: &DataPath) -> Option<Node> {
        if let Some(node) = self.recent(dpid, flows) {
            return Some(node);
        }
        let mut requests = vec![
            MultipartRequest::Description,
            MultipartRequest::Table,
            MultipartRequest::GroupDesc,
            MultipartRequest::GroupStats,
            MultipartRequest::MeterStats,
            MultipartRequest::PortStats,
        ];
        if flows {
            requests.push(MultipartRequest::all_flows());
        }
        let mut answers: Vec<MultipartReply> = Vec::new();
        for request in requests {
            // A switch without meters refuses to tell of them; the others count.
            answers.extend(self.programmers.ask(dpid, request).await.unwrap_or_default());
        }
        if answers.is_empty() {
            return None;
        }
        let node = node::of(snapshot.schema, at, dpid, answers)?;
        let known = Known { since: Instant::now(), node: node.clone() };
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert((dpid, flows), known);
        Some(node)
    }

    fn recent(&self, dpid: Dpid, flows: bool) -> Option<Node> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, known| known.since.elapsed() < self.age);
        known.get(&(dpid, flows)).map(|known| known.node.clone())
    }
}
