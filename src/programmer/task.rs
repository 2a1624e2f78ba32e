//! The task of one switch that is connected: reads it back, keeps it as it should be, and reports.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use openflow_rs::{CtFlush, Message, error_name};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{info, warn};

use super::actor::{Desired, Inner, Slot, locked};
use super::diff::{Actual, Item, ItemId, plan, plan_delta};
use super::forget;
use super::mandate::{Mandate, displaced, is_slave};
use super::policed;
use super::report::{Failure, Status};
use super::warm;
use crate::pipeline::{ANTISPOOF_ADDRESS, Delta, Flow, FlowChange, FlowKey, PSNAT};
use crate::southbound::openflow::{Connected, Incoming, SessionClosed, SessionHandle};

/// Pause before refused items are sent again; it doubles up to [`RETRY_AT_MOST`] while nothing gets better.
const RETRY: Duration = Duration::from_secs(10);
const RETRY_AT_MOST: Duration = Duration::from_secs(300);
/// Before a datastore that cannot be brought up to date is asked again.
const AGAIN: Duration = Duration::from_millis(500);
/// An alarm that is not wanted.
const NEVER: Duration = Duration::from_secs(365 * 86_400);

/// Why a task ends.
#[derive(Debug, thiserror::Error)]
pub(super) enum End {
    #[error("{0}")]
    Closed(String),
    #[error("the switch did not answer {0}")]
    Silent(&'static str),
    /// Another controller programs the switch.
    #[error("{0}")]
    Displaced(String),
    #[error(transparent)]
    Session(#[from] SessionClosed),
}

/// What leads from what a switch holds to what it should.
pub(super) struct Mending {
    pub items: Vec<Item>,
    forgotten: Vec<CtFlush>,
    getting_out: BTreeSet<CtFlush>,
    tunnels: Vec<Arc<Flow>>,
    revision: u64,
    /// Flows that it should hold.
    wanted: usize,
}

pub(super) struct Task {
    pub slot: Arc<Slot>,
    pub inner: Arc<Inner>,
    pub session: SessionHandle,
    pub replies: mpsc::Receiver<Incoming>,
    pub peer: String,
    pub groups: BTreeSet<u32>,
    pub meters: BTreeSet<u32>,
    pub failed: BTreeMap<ItemId, Failure>,
    /// Tunnel endpoints that were warmed in this session.
    pub endpoints: BTreeMap<u32, u64>,
    pub bundle: u32,
    /// Connections to forget once more, and when.
    pub again: Vec<(std::time::Instant, CtFlush)>,
    /// Answers that came while bytes were being sent.
    pub early: VecDeque<Incoming>,
    /// The status tells of this session.
    pub is_shown: bool,
}

impl Task {
    pub fn new(slot: Arc<Slot>, inner: Arc<Inner>, switch: Connected) -> Task {
        Task {
            slot,
            inner,
            session: switch.session,
            replies: switch.replies,
            peer: switch.peer.to_string(),
            groups: BTreeSet::new(),
            meters: BTreeSet::new(),
            failed: BTreeMap::new(),
            endpoints: BTreeMap::new(),
            bundle: 0,
            again: Vec::new(),
            early: VecDeque::new(),
            is_shown: false,
        }
    }

    /// Until the session ends.
    pub async fn run(mut self) {
        let dpid = self.slot.dpid;
        info!(switch = %dpid, peer = self.peer, "switch connected");
        let mut mandates = self.slot.mandate.subscribe();
        let end = loop {
            let mandate = *mandates.borrow_and_update();
            let outcome = match mandate {
                Mandate::Waiting => self.stand_by(&mut mandates).await,
                Mandate::Other(generation) => match self.leave_to(generation).await {
                    Ok(()) => self.stand_by(&mut mandates).await,
                    Err(end) => Err(end),
                },
                Mandate::Alone | Mandate::Elected(_) => {
                    self.begin();
                    self.serve(mandate, &mut mandates).await
                }
            };
            match outcome {
                Ok(()) => self.pause(),
                Err(end) => break end,
            }
        };
        if let End::Displaced(reason) = &end {
            warn!(switch = %dpid, reason, "this controller does not program the switch any more");
        }
        info!(switch = %dpid, reason = %end, "switch lost");
        self.finish(&end.to_string());
    }

    /// The switch is this controller's to program.
    fn begin(&mut self) {
        self.is_shown = true;
        self.report(|status, task| {
            status.connected = true;
            status.connects += 1;
            status.since = Some(SystemTime::now());
            status.peer.clone_from(&task.peer);
        });
    }

    /// It is not any more: what is to be sent is found out when it is again.
    fn pause(&mut self) {
        self.is_shown = false;
        self.failed.clear();
        self.again.clear();
        let mut desired = locked(&self.slot.desired);
        if self.is_current() {
            desired.rest();
        }
    }

    /// Gives the slot back, unless a newer session has taken it over already.
    fn finish(&mut self, reason: &str) {
        // Both locks, so that it cannot do so in between.
        let mut desired = locked(&self.slot.desired);
        if !self.is_current() {
            return;
        }
        *locked(&self.slot.session) = None;
        desired.rest();
        drop(desired);
        self.inner.sessions.send_modify(|count| *count += 1);
        if self.is_shown {
            self.report(|status, task| {
                let now = SystemTime::now();
                status.connected = false;
                status.since = Some(now);
                status.last_seen = Some(task.session.heard());
                status.lost = Some((now, reason.to_owned()));
            });
        }
    }

    /// Holds the session until the mandate is another one.
    async fn stand_by(&mut self, mandates: &mut watch::Receiver<Mandate>) -> Result<(), End> {
        loop {
            tokio::select! {
                changed = mandates.changed() => return changed.map_err(|_| End::Closed("stopped".into())),
                incoming = self.replies.recv() => self.unasked(incoming)?,
            }
        }
    }

    /// Whether no newer session of the switch has taken over.
    fn is_current(&self) -> bool {
        locked(&self.slot.session).as_ref().is_some_and(|current| current.is_same(&self.session))
    }

    /// Programs the switch until that is somebody else's.
    async fn serve(&mut self, mandate: Mandate, mandates: &mut watch::Receiver<Mandate>) -> Result<(), End> {
        self.claim(mandate).await?;
        if !self.know_all(mandates).await? {
            return Ok(());
        }
        let actual = self.read_back().await?;
        self.groups = actual.groups.keys().copied().collect();
        self.meters = actual.meters.keys().copied().collect();
        let mending = {
            let mut desired = locked(&self.slot.desired);
            if !self.is_current() {
                return Err(End::Closed("a newer session took its place".into()));
            }
            desired.listening = true;
            desired.pending = Delta::default();
            desired.since = None;
            desired.forgotten.clear();
            self.compare(&desired, &actual)
        };
        let (held, wanted, messages) = (actual.flows.len(), mending.wanted, mending.items.len());
        info!(switch = %self.slot.dpid, held, wanted, messages, "read back");
        self.report(|status, _| status.foreign_flows = actual.foreign_flows);
        drop(actual);
        self.mend(mending).await?;
        let mut look = Instant::now() + self.inner.pace.every().unwrap_or(NEVER);
        let mut pause = RETRY;
        let alarm = sleep(if self.failed.is_empty() { NEVER } else { pause });
        tokio::pin!(alarm);
        loop {
            let slot = self.slot.clone();
            let failed_before = self.failed.len();
            let again = self.again.iter().map(|(at, _)| *at).min();
            tokio::select! {
                changed = mandates.changed() => return changed.map_err(|_| End::Closed("stopped".into())),
                () = slot.changed.notified() => self.catch_up().await?,
                () = &mut alarm => {
                    self.retry().await?;
                    pause = if self.failed.len() < failed_before { RETRY } else { (pause * 2).min(RETRY_AT_MOST) };
                    alarm.as_mut().reset(Instant::now() + if self.failed.is_empty() { NEVER } else { pause });
                }
                () = sleep_until(again.map_or_else(Instant::now, Instant::from_std)), if again.is_some() => self.forget_again().await?,
                () = sleep_until(look) => look = Instant::now() + self.look_again().await?,
                incoming = self.replies.recv() => self.unasked(incoming)?,
            }
            // Other traffic must not put a retry off; something newly refused gets an early one.
            if self.failed.len() > failed_before {
                pause = RETRY;
                let soon = Instant::now() + pause;
                if soon < alarm.deadline() {
                    alarm.as_mut().reset(soon);
                }
            }
        }
    }

    /// Waits until all is known that the one before could have programmed: it sent nothing that was not durable, and from the claim on it
    /// is refused. Answers whether the switch is ours still.
    async fn know_all(&mut self, mandates: &mut watch::Receiver<Mandate>) -> Result<bool, End> {
        let Some(datastore) = self.inner.datastore.get().cloned() else { return Ok(true) };
        loop {
            tokio::select! {
                known = datastore.catch_up() => match known {
                    Ok(_) => return Ok(true),
                    Err(error) => {
                        warn!(switch = %self.slot.dpid, %error, "what is written cannot be read; nothing is sent before");
                        sleep(AGAIN).await;
                    }
                },
                changed = mandates.changed() => {
                    return changed.map(|()| false).map_err(|_| End::Closed("stopped".into()));
                }
            }
        }
    }

    /// What it takes to make right what the switch holds.
    pub(super) fn compare(&self, desired: &Desired, actual: &Actual) -> Mending {
        let held = &desired.tables;
        let ways_out: Vec<_> = held.flows().filter(|flow| flow.table == PSNAT.id()).collect();
        let mut forgotten = forget::by_comparison(&held.groups, actual);
        forgotten.extend(forget::by_flows(ways_out.iter().map(AsRef::as_ref), actual));
        Mending {
            items: plan(held, actual),
            forgotten,
            getting_out: forget::sources(ways_out.iter().map(AsRef::as_ref)),
            tunnels: held.flows().filter(|flow| warm::endpoint(flow).is_some()).collect(),
            revision: desired.revision,
            wanted: held.flow_count(),
        }
    }

    pub(super) async fn mend(&mut self, mending: Mending) -> Result<(), End> {
        self.deliver(mending.items).await?;
        self.forget(mending.forgotten, &mending.getting_out).await?;
        self.warm(mending.tunnels.iter().map(AsRef::as_ref)).await?;
        self.confirmed(mending.revision);
        Ok(())
    }

    /// Sends what has changed since the last time.
    async fn catch_up(&mut self) -> Result<(), End> {
        let (delta, forgotten, revision, since) = {
            let mut desired = locked(&self.slot.desired);
            if !self.is_current() {
                // What has changed is for the task of the newer session.
                self.slot.changed.notify_one();
                return Err(End::Closed("a newer session took its place".into()));
            }
            let forgotten = std::mem::take(&mut desired.forgotten);
            (std::mem::take(&mut desired.pending), forgotten, desired.revision, desired.since.take())
        };
        if delta.is_empty() && *self.slot.confirmed.borrow() >= revision {
            return Ok(());
        }
        let items = plan_delta(&delta, &self.groups, &self.meters);
        self.deliver(items).await?;
        let getting_out = forget::sources(delta.flows.iter().filter_map(FlowChange::put).map(AsRef::as_ref));
        self.forget(forgotten, &getting_out).await?;
        let ports = policed::newly_policed(delta.flows.iter().filter_map(FlowChange::put).map(AsRef::as_ref));
        if !ports.is_empty() {
            let held: Vec<_> = {
                let desired = locked(&self.slot.desired);
                desired.tables.flows().filter(|flow| flow.table == ANTISPOOF_ADDRESS.id()).collect()
            };
            self.forget_later(policed::flushes(held.iter().map(AsRef::as_ref), &ports));
        }
        if let Some(since) = since {
            self.inner.timings.confirmed(since.elapsed());
        }
        self.warm(delta.flows.iter().filter_map(FlowChange::put).map(AsRef::as_ref)).await?;
        self.confirmed(revision);
        Ok(())
    }

    /// Sends refused items that are still wanted once more.
    async fn retry(&mut self) -> Result<(), End> {
        let mut delta = Delta::default();
        {
            let desired = locked(&self.slot.desired);
            for id in self.failed.keys() {
                match id {
                    ItemId::Flow(FlowKey(refused)) => delta.remove_flow(refused.clone()),
                    ItemId::Group(id) => {
                        drop(delta.groups.insert(*id, desired.tables.groups.get(id).cloned()))
                    }
                    ItemId::Meter(id) => {
                        drop(delta.meters.insert(*id, desired.tables.meters.get(id).cloned()))
                    }
                }
            }
            if !delta.flows.is_empty() {
                let wanted = desired.tables.flows().filter(|flow| delta.flows.contains(flow));
                wanted.collect::<Vec<_>>().into_iter().for_each(|flow| delta.put_flow(flow));
            }
        }
        let items = plan_delta(&delta, &self.groups, &self.meters);
        self.failed.clear();
        self.deliver(items).await?;
        let revision = locked(&self.slot.desired).revision;
        self.confirmed(revision);
        Ok(())
    }

    fn unasked(&self, incoming: Option<Incoming>) -> Result<(), End> {
        match incoming {
            None => Err(End::Closed("the session ended".into())),
            Some(Incoming::Closed { reason }) => Err(End::Closed(reason)),
            Some(Incoming::Message { message: Message::Error(error), .. })
                if is_slave(&error) && self.is_shown =>
            {
                Err(displaced())
            }
            Some(Incoming::Message { message: Message::Error(error), .. }) => {
                warn!(switch = %self.slot.dpid, error = error_name(error.kind, error.code), "the switch complains");
                Ok(())
            }
            Some(Incoming::Message { .. }) => Ok(()),
        }
    }

    /// Makes the datapath look new tunnel endpoints up before pods need them.
    async fn warm<'a>(&mut self, flows: impl Iterator<Item = &'a crate::pipeline::Flow>) -> Result<(), End> {
        for packet in warm::new_endpoints(flows, &mut self.endpoints) {
            let mut bytes = BytesMut::new();
            Message::PacketOut(packet).encode(self.session.xids(1), &mut bytes);
            self.session.send(bytes.freeze()).await?;
        }
        Ok(())
    }

    fn confirmed(&self, revision: u64) {
        self.report(|status, task| {
            let desired = locked(&task.slot.desired);
            status.programmed = revision;
            status.flows = desired.tables.flow_count();
            status.groups = desired.tables.groups.len();
            status.meters = desired.tables.meters.len();
            status.failures = task.failed.values().cloned().collect();
        });
        self.slot.confirmed.send_replace(revision);
    }

    pub(super) fn report(&self, change: impl FnOnce(&mut Status, &Task)) {
        change(&mut locked(&self.slot.status), self);
        // A full queue holds a report that will read the newest status anyway.
        let _ = self.inner.reports.try_send(self.slot.dpid);
    }
}
