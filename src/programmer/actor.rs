//! One task a switch, and the registry that the datastore's thread talks to.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use openflow_rs::{
    BundleControl, BundleFlags, Message, MultipartReply, MultipartRequest, PacketOut, error_name,
};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

use super::diff::{Actual, Item, ItemId, plan, plan_delta};
use super::report::{Failure, Status};
use super::told::Told;
use super::{send, warm};
use crate::net::Dpid;
use crate::pipeline::{Delta, FlowChange, FlowKey, Held, SwitchTables};
use crate::southbound::openflow::{Connected, Incoming, SessionClosed, SessionHandle};

/// Messages of one bundle; much larger ones stall the switch.
const BUNDLE: usize = 9_000;
/// Bytes handed to the session at once.
const CHUNK: usize = 48 << 10;
/// Longest wait for an answer of the switch.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause before refused items are sent again; it doubles up to [`RETRY_AT_MOST`] while nothing gets better.
const RETRY: Duration = Duration::from_secs(10);
const RETRY_AT_MOST: Duration = Duration::from_secs(300);
/// Why a switch is not connected that was known when the controller started.
const NOT_YET: &str = "it has not connected since the controller started";
/// An alarm that is not wanted.
const NEVER: Duration = Duration::from_secs(365 * 86_400);

/// All switches, known or connected.
#[derive(Clone)]
pub struct Programmers {
    inner: Arc<Inner>,
}

struct Inner {
    told: Mutex<Told>,
    slots: Mutex<HashMap<Dpid, Arc<Slot>>>,
    /// Opens when the desired state is complete: nothing is compared before.
    gate: watch::Sender<bool>,
    /// Told whenever a status changed.
    reports: mpsc::Sender<Dpid>,
}

struct Slot {
    dpid: Dpid,
    desired: Mutex<Desired>,
    changed: Notify,
    status: Mutex<Status>,
    session: Mutex<Option<SessionHandle>>,
    /// The revision that the switch confirmed last.
    confirmed: watch::Sender<u64>,
}

#[derive(Default)]
struct Desired {
    tables: Held,
    /// What has changed since the connected task last looked; unused while nobody is connected.
    pending: Delta,
    revision: u64,
    listening: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Programmers {
    /// `reports` gets the id of a switch whenever its [`Status`] changed; when it is full, reports are joined.
    pub fn new(reports: mpsc::Sender<Dpid>) -> Programmers {
        Programmers {
            inner: Arc::new(Inner {
                told: Mutex::default(),
                slots: Mutex::default(),
                gate: watch::channel(false).0,
                reports,
            }),
        }
    }

    /// Takes what changed. Never blocks: the change joins what has not been sent yet.
    pub fn apply(&self, revision: u64, deltas: BTreeMap<Dpid, Delta>) {
        let mut told = Vec::new();
        for (dpid, mut delta) in deltas {
            let slot = self.slot(dpid);
            let mut desired = locked(&slot.desired);
            let is_news = !delta.only_rebinds();
            desired.tables.apply(&mut delta);
            if !is_news {
                continue;
            }
            told.push(dpid);
            desired.revision = revision;
            if desired.listening {
                desired.pending.merge(delta);
            }
            drop(desired);
            slot.changed.notify_one();
        }
        locked(&self.inner.told).add(revision, told.into_iter());
    }

    /// The desired state is complete; from now on switches are made to match it. Those that are known and not there yet are
    /// shown so: what was known of their sessions went with the controller's earlier life.
    pub fn open_gate(&self) {
        self.inner.gate.send_replace(true);
        let now = SystemTime::now();
        let slots: Vec<_> = locked(&self.inner.slots).values().cloned().collect();
        for slot in slots {
            let (flows, groups, meters) = {
                let tables = &locked(&slot.desired).tables;
                (tables.flow_count(), tables.groups.len(), tables.meters.len())
            };
            if flows == 0 || locked(&slot.session).is_some() {
                continue;
            }
            let mut status = locked(&slot.status);
            (status.flows, status.groups, status.meters) = (flows, groups, meters);
            status.since = Some(now);
            status.lost = Some((now, NOT_YET.to_owned()));
            drop(status);
            let _ = self.inner.reports.try_send(slot.dpid);
        }
    }

    /// What a switch should hold.
    pub fn desired(&self, dpid: Dpid) -> SwitchTables {
        locked(&self.slot(dpid).desired).tables.tables()
    }

    /// The switches that a revision told something. One that is long gone counts as if it had told all.
    pub fn told(&self, revision: u64) -> Vec<Dpid> {
        let told = locked(&self.inner.told).of(revision);
        told.unwrap_or_else(|| self.switches())
    }

    /// Whether something is desired of a switch that it has not confirmed.
    pub fn pending(&self, dpid: Dpid) -> bool {
        let slot = self.slot(dpid);
        let revision = locked(&slot.desired).revision;
        locked(&slot.status).programmed < revision
    }

    /// The revision up to which a switch has confirmed everything, now and from now on.
    pub fn confirmed(&self, dpid: Dpid) -> watch::Receiver<u64> {
        self.slot(dpid).confirmed.subscribe()
    }

    pub fn status(&self, dpid: Dpid) -> Status {
        let slot = self.slot(dpid);
        let mut status = locked(&slot.status).clone();
        if let Some(session) = &*locked(&slot.session) {
            status.last_seen = Some(session.heard());
        }
        status
    }

    /// Switches with a session.
    pub fn live(&self) -> Vec<Dpid> {
        let slots = locked(&self.inner.slots);
        slots.values().filter(|slot| locked(&slot.session).is_some()).map(|slot| slot.dpid).collect()
    }

    pub fn switches(&self) -> Vec<Dpid> {
        locked(&self.inner.slots).keys().copied().collect()
    }

    /// Asks a switch something beside its programming. `None`: it is not connected, or does not answer.
    pub async fn ask(&self, dpid: Dpid, request: MultipartRequest) -> Option<Vec<MultipartReply>> {
        let session = locked(&self.slot(dpid).session).clone()?;
        session.ask(request).await
    }

    /// Sends a frame through a switch's pipeline.
    ///
    /// # Errors
    /// When the switch is not connected.
    pub async fn packet_out(&self, dpid: Dpid, packet: PacketOut) -> Result<(), SessionClosed> {
        let session = locked(&self.slot(dpid).session).clone().ok_or(SessionClosed)?;
        let mut bytes = BytesMut::new();
        Message::PacketOut(packet).encode(session.xids(1), &mut bytes);
        session.send(bytes.freeze()).await
    }

    /// Takes over a switch that has connected; an older session of it ends.
    pub fn connected(&self, switch: Connected) {
        let slot = self.slot(switch.dpid);
        *locked(&slot.session) = Some(switch.session.clone());
        // The task of an older session notices that it has been replaced.
        slot.changed.notify_waiters();
        let task = Task {
            slot,
            inner: self.inner.clone(),
            session: switch.session,
            replies: switch.replies,
            peer: switch.peer.to_string(),
            groups: BTreeSet::new(),
            meters: BTreeSet::new(),
            failed: BTreeMap::new(),
            endpoints: BTreeMap::new(),
            bundle: 0,
            early: VecDeque::new(),
        };
        tokio::spawn(task.run());
    }

    fn slot(&self, dpid: Dpid) -> Arc<Slot> {
        let fresh = || {
            Arc::new(Slot {
                dpid,
                desired: Mutex::default(),
                changed: Notify::new(),
                status: Mutex::default(),
                session: Mutex::default(),
                confirmed: watch::channel(0).0,
            })
        };
        locked(&self.inner.slots).entry(dpid).or_insert_with(fresh).clone()
    }
}

/// Why a task ends.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error("{0}")]
    Closed(String),
    #[error("the switch did not answer {0}")]
    Silent(&'static str),
    #[error(transparent)]
    Session(#[from] SessionClosed),
}

struct Task {
    slot: Arc<Slot>,
    inner: Arc<Inner>,
    session: SessionHandle,
    replies: mpsc::Receiver<Incoming>,
    peer: String,
    groups: BTreeSet<u32>,
    meters: BTreeSet<u32>,
    failed: BTreeMap<ItemId, Failure>,
    /// Tunnel endpoints that were warmed in this session.
    endpoints: BTreeMap<u32, u64>,
    bundle: u32,
    /// Answers that came while bytes were being sent.
    early: VecDeque<Incoming>,
}

impl Task {
    async fn run(mut self) {
        let dpid = self.slot.dpid;
        info!(switch = %dpid, peer = self.peer, "switch connected");
        self.report(|status, task| {
            status.connected = true;
            status.connects += 1;
            status.since = Some(SystemTime::now());
            status.peer.clone_from(&task.peer);
        });
        let end = match self.serve().await {
            Ok(()) => "stopped".to_owned(),
            Err(end) => end.to_string(),
        };
        info!(switch = %dpid, reason = end, "switch lost");
        // A newer session may have taken the slot over already; both locks, so that it cannot do so in between.
        let mut desired = locked(&self.slot.desired);
        if self.is_current() {
            *locked(&self.slot.session) = None;
            desired.listening = false;
            desired.pending = Delta::default();
            drop(desired);
            self.report(|status, task| {
                let now = SystemTime::now();
                status.connected = false;
                status.since = Some(now);
                status.last_seen = Some(task.session.heard());
                status.lost = Some((now, end));
            });
        }
    }

    /// Whether no newer session of the switch has taken over.
    fn is_current(&self) -> bool {
        locked(&self.slot.session).as_ref().is_some_and(|current| current.is_same(&self.session))
    }

    async fn serve(&mut self) -> Result<(), End> {
        let mut gate = self.inner.gate.subscribe();
        if gate.wait_for(|open| *open).await.is_err() {
            return Ok(());
        }
        let actual = self.read_back().await?;
        self.groups = actual.groups.keys().copied().collect();
        self.meters = actual.meters.keys().copied().collect();
        let (items, revision, wanted, tunnels) = {
            let mut desired = locked(&self.slot.desired);
            if !self.is_current() {
                return Err(End::Closed("a newer session took its place".into()));
            }
            desired.listening = true;
            desired.pending = Delta::default();
            let held = &desired.tables;
            let tunnels: Vec<_> = held.flows().filter(|flow| warm::endpoint(flow).is_some()).collect();
            (plan(held, &actual), desired.revision, held.flow_count(), tunnels)
        };
        info!(switch = %self.slot.dpid, held = actual.flows.len(), wanted, messages = items.len(), "read back");
        self.report(|status, _| status.foreign_flows = actual.foreign_flows);
        self.deliver(items).await?;
        self.warm(tunnels.iter().map(AsRef::as_ref)).await?;
        drop(tunnels);
        self.confirmed(revision);
        let mut pause = RETRY;
        let alarm = sleep(if self.failed.is_empty() { NEVER } else { pause });
        tokio::pin!(alarm);
        loop {
            let slot = self.slot.clone();
            let failed_before = self.failed.len();
            tokio::select! {
                () = slot.changed.notified() => self.catch_up().await?,
                () = &mut alarm => {
                    self.retry().await?;
                    pause = if self.failed.len() < failed_before { RETRY } else { (pause * 2).min(RETRY_AT_MOST) };
                    alarm.as_mut().reset(Instant::now() + if self.failed.is_empty() { NEVER } else { pause });
                }
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

    /// Sends what has changed since the last time.
    async fn catch_up(&mut self) -> Result<(), End> {
        let (delta, revision) = {
            let mut desired = locked(&self.slot.desired);
            if !self.is_current() {
                // What has changed is for the task of the newer session.
                self.slot.changed.notify_one();
                return Err(End::Closed("a newer session took its place".into()));
            }
            (std::mem::take(&mut desired.pending), desired.revision)
        };
        if delta.is_empty() && *self.slot.confirmed.borrow() >= revision {
            return Ok(());
        }
        let items = plan_delta(&delta, &self.groups, &self.meters);
        self.deliver(items).await?;
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
            Some(Incoming::Message { message: Message::Error(error), .. }) => {
                warn!(switch = %self.slot.dpid, error = error_name(error.kind, error.code), "the switch complains");
                Ok(())
            }
            Some(Incoming::Message { .. }) => Ok(()),
        }
    }

    /// Hands over what is encoded, if it is more than `least` bytes. Answers are taken meanwhile: a switch that cannot get rid of
    /// them stops reading.
    async fn push(&mut self, bytes: &mut BytesMut, least: usize) -> Result<(), End> {
        if bytes.len() <= least {
            return Ok(());
        }
        let full = Bytes::from(std::mem::replace(bytes, BytesMut::with_capacity(CHUNK + 4096)));
        loop {
            tokio::select! {
                biased;
                sent = self.session.send(full.clone()) => return Ok(sent?),
                answer = self.replies.recv() => match answer {
                    Some(answer) => self.early.push_back(answer),
                    None => return Err(End::Closed("the session ended".into())),
                },
            }
        }
    }

    /// The next message that answers something.
    async fn reply(&mut self, to: &'static str) -> Result<(u32, Message), End> {
        let next = async {
            match self.early.pop_front() {
                Some(early) => Some(early),
                None => self.replies.recv().await,
            }
        };
        match timeout(PATIENCE, next).await {
            Err(_) => Err(End::Silent(to)),
            Ok(Some(Incoming::Message { xid, message })) => Ok((xid, message)),
            Ok(Some(Incoming::Closed { reason })) => Err(End::Closed(reason)),
            Ok(None) => Err(End::Closed("the session ended".into())),
        }
    }

    /// What the switch holds.
    async fn read_back(&mut self) -> Result<Actual, End> {
        let mut actual = Actual::default();
        for request in
            [MultipartRequest::all_flows(), MultipartRequest::GroupDesc, MultipartRequest::MeterConfig]
        {
            let xid = self.session.xids(1);
            let mut bytes = BytesMut::new();
            Message::MultipartRequest(request).encode(xid, &mut bytes);
            self.session.send(bytes.freeze()).await?;
            loop {
                match self.reply("a multipart request").await? {
                    (answered, Message::MultipartReply { more, body }) if answered == xid => {
                        match body {
                            MultipartReply::Flow(flows) => actual.add_flows(flows),
                            MultipartReply::GroupDesc(groups) => actual.add_groups(groups),
                            MultipartReply::MeterConfig(meters) => actual.add_meters(meters),
                            _ => {}
                        }
                        if !more {
                            break;
                        }
                    }
                    (answered, Message::Error(error)) if answered == xid => {
                        warn!(switch = %self.slot.dpid, error = error_name(error.kind, error.code), "cannot be read back");
                        break;
                    }
                    _ => {}
                }
            }
        }
        Ok(actual)
    }

    /// Sends items in order and waits until the switch has confirmed or refused each.
    async fn deliver(&mut self, items: Vec<Item>) -> Result<(), End> {
        if items.is_empty() {
            return Ok(());
        }
        debug!(switch = %self.slot.dpid, messages = items.len(), "programming");
        let bundled = items.iter().position(|item| !item.is_meter()).unwrap_or(items.len());
        let end = items.iter().rposition(|item| !item.is_meter()).map_or(bundled, |last| last + 1);
        let mut out = BytesMut::with_capacity(CHUNK + 4096);
        // What needs the meters follows them at once: the switch takes up one message after the other, and answers so.
        let mut before = Some(self.send_each(&items[..bundled], &mut out).await?);
        let (mut waiting, mut left) = (None, Vec::new());
        for part in items[bundled..end].chunks(BUNDLE) {
            let sent = self.send_bundle(part, &mut out).await?;
            self.push(&mut out, 0).await?;
            if let Some(first) = before.take() {
                self.settle_each(&items[..bundled], first).await?;
            }
            if let Some((earlier, sent)) = waiting.replace((part, sent)) {
                left.extend(self.settle_bundle(earlier, sent).await?);
            }
        }
        if let Some((last, sent)) = waiting {
            left.extend(self.settle_bundle(last, sent).await?);
        }
        // One by one, only what is wrong stays out.
        self.one_by_one(&left).await?;
        if let Some(first) = before {
            self.push(&mut out, 0).await?;
            self.settle_each(&items[..bundled], first).await?;
        }
        self.one_by_one(&items[end..]).await
    }

    /// Sends one atomic bundle, but for the last bytes. Returns its first transaction id.
    async fn send_bundle(&mut self, items: &[Item], out: &mut BytesMut) -> Result<u32, End> {
        self.bundle = self.bundle.wrapping_add(1);
        let bundle = self.bundle;
        let first = self.session.xids(items.len() as u32 + 2);
        let commit = first + items.len() as u32 + 1;
        let control = |control| Message::BundleControl { bundle, control, flags: BundleFlags::BOTH };
        control(BundleControl::OpenRequest).encode(first, out);
        for (number, item) in items.iter().enumerate() {
            send::encode_bundled(item, bundle, first + 1 + number as u32, out);
            self.push(out, CHUNK).await?;
        }
        control(BundleControl::CommitRequest).encode(commit, out);
        Ok(first)
    }

    /// Waits for the end of a bundle. Returns what did not get in: all, if the switch refused the commit; or what it would not even
    /// take into the bundle, since Open vSwitch commits the rest then.
    async fn settle_bundle(&mut self, items: &[Item], first: u32) -> Result<Vec<Item>, End> {
        let commit = first + items.len() as u32 + 1;
        let mut refused = BTreeMap::new();
        let committed = loop {
            match self.reply("a bundle").await? {
                (xid, Message::BundleControl { control: BundleControl::CommitReply, .. })
                    if xid == commit =>
                {
                    break true;
                }
                (xid, Message::Error(error)) if (first..=commit).contains(&xid) => {
                    refused.insert(xid, error_name(error.kind, error.code));
                    if xid == commit {
                        break false;
                    }
                }
                _ => {}
            }
        };
        self.count(items, true);
        if let Some(error) = refused.values().next() {
            warn!(switch = %self.slot.dpid, error, messages = items.len(), committed, "a bundle was refused; sending what is missing one by one");
        }
        let mut left = Vec::new();
        for (xid, item) in (first + 1..).zip(items) {
            if committed && !refused.contains_key(&xid) {
                self.hold(item);
            } else {
                left.push(item.clone());
            }
        }
        Ok(left)
    }

    /// Single messages and a barrier; each may be refused by itself.
    async fn one_by_one(&mut self, items: &[Item]) -> Result<(), End> {
        let mut out = BytesMut::new();
        let first = self.send_each(items, &mut out).await?;
        self.push(&mut out, 0).await?;
        self.settle_each(items, first).await
    }

    /// Sends single messages and a barrier, but for the last bytes. Returns the first transaction id.
    async fn send_each(&mut self, items: &[Item], out: &mut BytesMut) -> Result<u32, End> {
        if items.is_empty() {
            return Ok(0);
        }
        let first = self.session.xids(items.len() as u32 + 1);
        for (number, item) in items.iter().enumerate() {
            send::encode(item, first + number as u32, out);
            self.push(out, CHUNK).await?;
        }
        Message::BarrierRequest.encode(first + items.len() as u32, out);
        Ok(first)
    }

    /// Waits for the barrier behind single messages.
    async fn settle_each(&mut self, items: &[Item], first: u32) -> Result<(), End> {
        if items.is_empty() {
            return Ok(());
        }
        let barrier = first + items.len() as u32;
        let mut refused = BTreeMap::new();
        loop {
            match self.reply("a barrier").await? {
                (xid, Message::BarrierReply) if xid == barrier => break,
                (xid, Message::Error(error)) if (first..barrier).contains(&xid) => {
                    refused.insert((xid - first) as usize, error_name(error.kind, error.code));
                }
                _ => {}
            }
        }
        self.count(items, false);
        locked(&self.slot.status).barriers += 1;
        for (number, item) in items.iter().enumerate() {
            match refused.remove(&number) {
                None => self.hold(item),
                Some(message) => {
                    let (owner, subject) = item.describe();
                    let key = owner.map(|owner| owner.key().to_owned()).unwrap_or_default();
                    let owner = owner.map_or_else(|| "nobody any more".to_owned(), ToString::to_string);
                    warn!(switch = %self.slot.dpid, owner, subject, message, "refused by the switch");
                    self.failed.insert(item.id(), Failure { owner, key, subject, message });
                }
            }
        }
        Ok(())
    }

    /// Remembers what the switch has confirmed.
    fn hold(&mut self, item: &Item) {
        self.failed.remove(&item.id());
        match item {
            Item::GroupPut { group, .. } => drop(self.groups.insert(group.id)),
            Item::GroupGone(id) => drop(self.groups.remove(id)),
            Item::MeterPut { meter, .. } => drop(self.meters.insert(meter.id)),
            Item::MeterGone(id) => drop(self.meters.remove(id)),
            Item::FlowPut(_) | Item::FlowGone(_) => {}
        }
    }

    fn count(&self, items: &[Item], bundle: bool) {
        let mut status = locked(&self.slot.status);
        status.bundles += u64::from(bundle);
        for item in items {
            match item {
                Item::FlowPut(_) | Item::FlowGone(_) => status.flow_mods += 1,
                Item::GroupPut { .. } | Item::GroupGone(_) => status.group_mods += 1,
                Item::MeterPut { .. } | Item::MeterGone(_) => status.meter_mods += 1,
            }
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

    fn report(&self, change: impl FnOnce(&mut Status, &Task)) {
        change(&mut locked(&self.slot.status), self);
        // A full queue holds a report that will read the newest status anyway.
        let _ = self.inner.reports.try_send(self.slot.dpid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{ELAN_DMAC, Flow, Owner, owners};

    #[tokio::test]
    async fn a_switch_that_was_known_before_is_shown_as_lost() {
        let (reports, mut reported) = mpsc::channel(4);
        let programmers = Programmers::new(reports);
        let owner = Owner::<owners::Elan>::new("e");
        let mut delta = Delta::default();
        delta.put_flow(Arc::new(Flow::table(ELAN_DMAC).priority(20).matching([]).owned_by(&owner)));
        programmers.apply(1, [(Dpid(7), delta), (Dpid(8), Delta::default())].into());
        programmers.open_gate();
        assert_eq!(reported.recv().await, Some(Dpid(7)));
        assert!(reported.try_recv().is_err(), "of the other nothing is known");
        let status = programmers.status(Dpid(7));
        assert_eq!((status.connected, status.flows), (false, 1));
        assert_eq!(status.lost.map(|(_, reason)| reason).as_deref(), Some(NOT_YET));
    }
}
