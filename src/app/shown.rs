//! What the controller shows of itself in the operational datastore: switches, refused accesses, refused switches.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use tracing::warn;

use crate::datastore::{Edit, Handle, Store, Transaction};
use crate::net::Dpid;
use crate::programmer::{Programmers, forgotten, is_known, object_edits};
use crate::schema::{DataPath, Node, Value};
use crate::southbound::admission;

/// Status changes that come closer together than this are shown as one.
const REPORT_PAUSE: Duration = Duration::from_millis(20);
/// How often it is shown when connected switches were heard last.
const SEEN_PAUSE: Duration = Duration::from_secs(60);
/// Counts of refused accesses are shown so often.
const DENIALS_PAUSE: Duration = Duration::from_millis(500);
/// Refused switches are shown so often.
const REFUSALS_PAUSE: Duration = Duration::from_secs(1);

/// Shows in the operational datastore how far each switch is.
pub async fn status(programmers: Programmers, mut reported: mpsc::Receiver<Dpid>, datastore: Handle) {
    let mut marked = BTreeMap::new();
    let mut seen = tokio::time::interval(SEEN_PAUSE);
    loop {
        let mut switches = BTreeSet::new();
        tokio::select! {
            first = reported.recv() => match first {
                Some(first) => drop(switches.insert(first)),
                None => return,
            },
            // When they were heard last, all in one step.
            _ = seen.tick() => switches.extend(programmers.live()),
        }
        if switches.is_empty() {
            continue;
        }
        tokio::time::sleep(REPORT_PAUSE).await;
        while let Ok(next) = reported.try_recv() {
            switches.insert(next);
        }
        let snapshot = datastore.snapshot();
        let mut edits = Vec::new();
        for dpid in switches {
            let status = programmers.status(dpid);
            if !status.connected && !is_known(&snapshot, dpid) {
                edits.extend(forgotten(snapshot.schema, dpid));
                marked.remove(&dpid);
                continue;
            }
            edits.extend(status.edits(snapshot.schema, dpid));
            let marked = marked.entry(dpid).or_default();
            edits.extend(object_edits(snapshot.schema, &snapshot, &status.failures, marked));
        }
        if let Err(error) = datastore.commit(Transaction::passing("programmer", edits)).await {
            warn!(%error, "the state of switches could not be shown");
        }
    }
}

/// Shows in the operational datastore how often access was refused (RFC 8341 section 3.5).
pub async fn denials(datastore: Handle) {
    let schema = datastore.snapshot().schema;
    let Some(nacm) = schema.child(None, Some("ietf-netconf-acm"), "nacm") else { return };
    let mut shown = None;
    loop {
        let counts = datastore.denials().counts();
        if shown != Some(counts) {
            let leaf = |(name, count): (&str, u32)| {
                let leaf = schema.child(Some(nacm), None, name)?;
                let path = DataPath::root().child(nacm).child(leaf);
                Some(Edit::put(Store::Operational, path, Node::Leaf(Value::Uint(count.into()))))
            };
            let edits = counts.into_iter().filter_map(leaf).collect();
            match datastore.commit(Transaction::passing("access", edits)).await {
                Ok(_) => shown = Some(counts),
                Err(error) => warn!(%error, "refused accesses could not be counted"),
            }
        }
        tokio::time::sleep(DENIALS_PAUSE).await;
    }
}

/// Shows in the operational datastore which switches were refused.
pub async fn refusals(refusals: admission::Refusals, datastore: Handle) {
    let schema = datastore.snapshot().schema;
    loop {
        if let Some(edit) = refusals.due(schema, SystemTime::now())
            && let Err(error) = datastore.commit(Transaction::passing("admission", vec![edit])).await
        {
            warn!(%error, "refused switches could not be shown");
        }
        tokio::time::sleep(REFUSALS_PAUSE).await;
    }
}
