//! Adds up what switches count for policies.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use openflow_rs::{Match, MultipartReply, MultipartRequest};
use tokio::sync::{mpsc, oneshot};
use tracing::{debug, warn};

use super::kept::{Kept, Names, Place};
use super::ledger::Ledger;
use super::shape::{self, Report};
use super::sums::{Count, Sums};
use crate::datastore::{Handle, Snapshot, Transaction};
use crate::model::{Lookup, Reader};
use crate::net::Dpid;
use crate::pipeline::{COOKIE_MARK, COUNTED, is_ours};
use crate::programmer::Programmers;
use crate::renderers::{Engine, Subject};
use crate::schema::{DataPath, Node, Parents, tree};
use crate::southbound::openflow::FlowEnded;

/// Readers that wait.
const READERS: usize = 64;
/// How long a switch has to answer; then it counts as it did.
const PATIENCE: Duration = Duration::from_secs(2);
/// Ends that come closer together than this are written down as one.
const PAUSE: Duration = Duration::from_millis(300);

type Reply = oneshot::Sender<Option<Node>>;

/// The way to the sums. Cheap to clone.
#[derive(Clone)]
pub struct PolicyCounts(mpsc::Sender<Reply>);

/// The counting, not yet begun.
pub struct Counting {
    datastore: Handle,
    programmers: Programmers,
    ended: mpsc::Receiver<FlowEnded>,
    readers: mpsc::Receiver<Reply>,
    /// How old an answer may be.
    age: Duration,
    names: Names,
    reader: Reader,
    lookup: Lookup,
    sums: Sums,
    kept: Kept,
    known: Option<(Instant, Node)>,
}

impl PolicyCounts {
    /// The snapshot with the sums, where the path asks for them. `None`: it does not.
    pub async fn fill(&self, snapshot: Arc<Snapshot>, path: &DataPath) -> Option<Arc<Snapshot>> {
        let counters = snapshot.schema.resolve("/coeus-policy:counters");
        if path.steps.first()?.node != counters {
            return None;
        }
        let (reply, answer) = oneshot::channel();
        self.0.send(reply).await.ok()?;
        let node = answer.await.ok()??;
        let mut filled = (*snapshot).clone();
        let at = DataPath::root().child(counters);
        let put = tree::put(&mut filled.operational.input, snapshot.schema, &at, node, Parents::Create);
        put.inspect_err(|error| warn!(%error, "counters of policies could not be shown")).ok()?;
        Some(Arc::new(filled))
    }
}

/// Prepares the counting. `ended`: flows that are counted and that switches have no more; `age`: how old an answer may be.
pub fn counting(
    datastore: Handle,
    programmers: Programmers,
    ended: mpsc::Receiver<FlowEnded>,
    age: Duration,
) -> (PolicyCounts, Counting) {
    let (asks, readers) = mpsc::channel(READERS);
    let snapshot = datastore.snapshot();
    let names = Names::new(snapshot.schema);
    let kept = Kept::recovered(&names, &snapshot);
    let lookup = Lookup::new(snapshot.schema);
    let (reader, sums) = (Reader::new(snapshot.schema), Sums::default());
    let counting = Counting {
        datastore,
        programmers,
        ended,
        readers,
        age,
        names,
        reader,
        lookup,
        sums,
        kept,
        known: None,
    };
    (PolicyCounts(asks), counting)
}

impl Counting {
    /// Counts until nobody asks any more.
    pub async fn run(mut self) {
        loop {
            tokio::select! {
                Some(ended) = self.ended.recv() => {
                    tokio::time::sleep(PAUSE).await;
                    let mut batch = vec![ended];
                    batch.extend(self.more());
                    // Of what was denied the snapshot knows all that is needed.
                    let ledger = match batch.iter().any(|ended| matches!(subject(ended), Some(Subject::Rule(_)))) {
                        true => Some(self.ledger().await),
                        false => None,
                    };
                    self.take(batch, ledger.as_ref());
                    self.write_down(ledger.as_ref()).await;
                }
                reader = self.readers.recv() => {
                    let Some(reader) = reader else { return };
                    // Who asked may be gone.
                    let _ = reader.send(self.node().await);
                }
            }
        }
    }

    async fn ledger(&self) -> Ledger {
        let counted = self.datastore.ask(|engine: &Engine| engine.counted()).await.unwrap_or_default();
        Ledger::new(counted, &self.reader, &self.datastore.snapshot())
    }

    /// What is shown now.
    async fn node(&mut self) -> Option<Node> {
        if let Some((since, node)) = &self.known
            && since.elapsed() < self.age
        {
            return Some(node.clone());
        }
        let ledger = self.ledger().await;
        self.sums.ask();
        let switches = &ledger.counted.switches;
        let answers = join_all(switches.iter().map(|dpid| self.ask(*dpid))).await;
        // What ended before a switch answered was said before the answer.
        let batch = self.more();
        self.take(batch, Some(&ledger));
        let mut silent = BTreeSet::new();
        for (dpid, answer) in switches.iter().zip(answers) {
            let Some(answer) = answer else {
                silent.insert(*dpid);
                continue;
            };
            for (subject, count) in self.sums.heard(*dpid, answer) {
                self.keep(subject, count, Some(&ledger));
            }
        }
        self.write_down(Some(&ledger)).await;
        let schema = self.datastore.snapshot().schema;
        let totals = self.sums.totals();
        let report = Report { ledger: &ledger, totals: &totals, kept: &self.kept, silent: &silent };
        let node = shape::node(schema, &DataPath::root().child(self.names.counters), &report)?;
        self.known = Some((Instant::now(), node.clone()));
        Some(node)
    }

    /// What a switch counts. `None`: it does not answer in time.
    async fn ask(&self, dpid: Dpid) -> Option<BTreeMap<Subject, Count>> {
        let mark = COOKIE_MARK << 56 | COUNTED;
        let mask = 0xff << 56;
        let request =
            MultipartRequest::Flow { table: 0xff, cookie: mark, cookie_mask: mask, match_: Match::new() };
        let answer = tokio::time::timeout(PATIENCE, self.programmers.ask(dpid, request)).await.ok()??;
        let mut counts: BTreeMap<Subject, Count> = BTreeMap::new();
        for reply in answer {
            let MultipartReply::Flow(flows) = reply else { continue };
            for flow in flows {
                if let Some(subject) = Subject::of(flow.table, &flow.match_) {
                    *counts.entry(subject).or_default() += Count { packets: flow.packets, bytes: flow.bytes };
                }
            }
        }
        Some(counts)
    }

    /// What else has ended by now.
    fn more(&mut self) -> Vec<FlowEnded> {
        std::iter::from_fn(|| self.ended.try_recv().ok()).collect()
    }

    fn take(&mut self, batch: Vec<FlowEnded>, ledger: Option<&Ledger>) {
        for ended in batch {
            let Some(subject) = subject(&ended) else { continue };
            let FlowEnded { dpid, flow } = ended;
            debug!(switch = %dpid, table = flow.table, packets = flow.packets, "a counted flow has ended");
            self.sums.ended(dpid, subject);
            self.keep(subject, Count { packets: flow.packets, bytes: flow.bytes }, ledger);
        }
    }

    /// Keeps what flows counted that are no more, if there still is what they counted for.
    fn keep(&mut self, subject: Subject, count: Count, ledger: Option<&Ledger>) {
        let place = match subject {
            Subject::Rule(id) => ledger.and_then(|ledger| ledger.place(id).cloned()),
            Subject::Denied(direction, lport) => {
                let name = self.lookup.interface(&self.datastore.snapshot(), lport);
                name.map(|name| Place::Denied(name, direction))
            }
        };
        if let Some(place) = place {
            self.kept.add(place, count);
        }
    }

    /// Has the journal know what is kept, and forgets what is no longer there: of rules, if it is known which there are.
    async fn write_down(&mut self, ledger: Option<&Ledger>) {
        let snapshot = self.datastore.snapshot();
        let rules = ledger.map(Ledger::rules);
        self.kept.retain(|place| match place {
            Place::Rule(_) => rules.as_ref().is_none_or(|rules| rules.contains(place)),
            Place::Denied(interface, _) => self.lookup.exists(&snapshot, interface),
        });
        let edits = self.kept.edits(&self.names);
        if edits.is_empty() {
            return;
        }
        self.known = None;
        match self.datastore.commit(Transaction::new("policy", edits)).await {
            Ok(_) => self.kept.written(),
            Err(error) => warn!(%error, "counts of policies could not be written down yet"),
        }
    }
}

/// What a flow counted that has ended; `None`: nothing of policies.
fn subject(FlowEnded { flow, .. }: &FlowEnded) -> Option<Subject> {
    let is_counted = is_ours(flow.cookie) && flow.cookie & COUNTED != 0;
    Subject::of(flow.table, &flow.match_).filter(|_| is_counted)
}
