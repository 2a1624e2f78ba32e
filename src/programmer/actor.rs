//! The registry of switches that the datastore's thread talks to.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bytes::BytesMut;
use openflow_rs::{CtFlush, Message, MultipartReply, MultipartRequest, PacketOut};
use tokio::sync::{Notify, mpsc, watch};

use super::audit::Pace;
use super::forget;
use super::mandate::Mandate;
use super::report::Status;
use super::task::Task;
use super::timings::Timings;
use super::told::Told;
use crate::datastore::Handle;
use crate::net::Dpid;
use crate::pipeline::{Delta, Held, SwitchTables};
use crate::southbound::openflow::{Connected, SessionClosed, SessionHandle};

/// Why a switch is not connected that was known when the controller started.
pub const NOT_YET: &str = "it has not connected since the controller started";
/// Why a switch is shown as lost whose controller ended.
const LEFT: &str = "the controller that programmed it is gone; another one takes over";

/// What an earlier life of the controller knew of a switch's session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub last: Option<SystemTime>,
    /// When and why it ended, if the controller was there to see it.
    pub lost: Option<(SystemTime, String)>,
}

/// All switches, known or connected.
#[derive(Clone)]
pub struct Programmers {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub told: Mutex<Told>,
    pub slots: Mutex<HashMap<Dpid, Arc<Slot>>>,
    /// The mandate of switches that nothing else is said of.
    pub first: Mutex<Mandate>,
    /// Moves when a session has come or gone.
    pub sessions: watch::Sender<u64>,
    /// Brought up to date before a switch is compared that somebody else may have programmed.
    pub datastore: OnceLock<Handle>,
    /// Told whenever a status changed.
    pub reports: mpsc::Sender<Dpid>,
    pub timings: Timings,
    pub pace: Pace,
}

pub(super) struct Slot {
    pub dpid: Dpid,
    pub desired: Mutex<Desired>,
    pub changed: Notify,
    pub status: Mutex<Status>,
    pub session: Mutex<Option<SessionHandle>>,
    /// The revision that the switch confirmed last.
    pub confirmed: watch::Sender<u64>,
    /// By what right this controller programs it: nothing is compared before it does.
    pub mandate: watch::Sender<Mandate>,
    pub elsewhere: Mutex<Option<Elsewhere>>,
}

/// Where a switch is programmed that another controller owns.
pub(super) struct Elsewhere {
    /// By which election.
    election: u64,
    /// The way to its owner, who sends frames through its pipeline.
    way: mpsc::Sender<(Dpid, PacketOut)>,
}

#[derive(Default)]
pub(super) struct Desired {
    pub tables: Held,
    /// What has changed since the connected task last looked; unused while nobody is connected.
    pub pending: Delta,
    /// Connections that have to be forgotten once that is sent.
    pub forgotten: BTreeSet<CtFlush>,
    pub revision: u64,
    pub listening: bool,
    /// When the oldest change came that the switch has not confirmed; unset while nobody is connected.
    pub since: Option<Instant>,
}

impl Desired {
    /// Nobody looks any more: changes are not collected.
    pub fn rest(&mut self) {
        (self.listening, self.since) = (false, None);
        self.pending = Delta::default();
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Programmers {
    /// `reports` gets the id of a switch whenever its [`Status`] changed; when it is full, reports are joined. Switches are looked at again
    /// every so often; with no time in between when they connect only.
    pub fn new(reports: mpsc::Sender<Dpid>, audits: Duration) -> Programmers {
        Programmers {
            inner: Arc::new(Inner {
                told: Mutex::default(),
                slots: Mutex::default(),
                first: Mutex::default(),
                sessions: watch::channel(0).0,
                datastore: OnceLock::new(),
                reports,
                timings: Timings::default(),
                pace: Pace::new(audits),
            }),
        }
    }

    /// How long switches take.
    pub fn timings(&self) -> &Timings {
        &self.inner.timings
    }

    /// Takes what changed. Never blocks: the change joins what has not been sent yet.
    pub fn apply(&self, revision: u64, deltas: BTreeMap<Dpid, Delta>) {
        let mut told = Vec::new();
        for (dpid, mut delta) in deltas {
            let slot = self.slot(dpid);
            let mut desired = locked(&slot.desired);
            let is_news = !delta.only_rebinds();
            let forgotten = forget::by_change(&desired.tables.groups, &delta);
            desired.tables.apply(&mut delta);
            if !is_news {
                continue;
            }
            told.push(dpid);
            desired.revision = revision;
            if desired.listening {
                desired.pending.merge(delta);
                desired.since.get_or_insert_with(Instant::now);
                desired.forgotten.extend(forgotten);
            }
            drop(desired);
            slot.changed.notify_one();
        }
        locked(&self.inner.told).add(revision, told.into_iter());
    }

    /// The desired state is complete; from now on all switches are made to match it.
    pub fn open_gate(&self, mandate: Mandate, seen: BTreeMap<Dpid, Seen>) {
        let slots = locked(&self.inner.slots);
        *locked(&self.inner.first) = mandate;
        for slot in slots.values() {
            slot.mandate.send_replace(mandate);
        }
        drop(slots);
        self.show_away(seen);
    }

    /// Switches are shared out: what is said of each. Of others nothing is known.
    pub fn share(&self, mandates: &BTreeMap<Dpid, Mandate>) {
        for slot in locked(&self.inner.slots).values() {
            let mandate = mandates.get(&slot.dpid).copied().unwrap_or_default();
            slot.mandate.send_if_modified(|now| std::mem::replace(now, mandate) != mandate);
        }
    }

    /// This one is brought up to date before a switch is compared that somebody else may have programmed.
    pub fn follow(&self, datastore: Handle) {
        let _ = self.inner.datastore.set(datastore);
    }

    /// Switches that are known and not there are shown so, with what an earlier life of the controller wrote down of their sessions.
    pub fn show_away(&self, mut seen: BTreeMap<Dpid, Seen>) {
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
            let before = seen.remove(&slot.dpid).unwrap_or_default();
            let lost = before.lost.unwrap_or_else(|| (now, NOT_YET.to_owned()));
            status.since = Some(lost.0);
            status.last_seen = before.last;
            status.lost = Some(lost);
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

    /// Switches that are connected to who programs them.
    pub fn live(&self) -> Vec<Dpid> {
        self.those(|slot| locked(&slot.status).connected)
    }

    /// Switches with a session here, programmed from here or not.
    pub fn sessions(&self) -> Vec<Dpid> {
        self.those(|slot| locked(&slot.session).is_some())
    }

    /// Switches that this controller programs.
    pub fn ours(&self) -> Vec<Dpid> {
        self.those(|slot| slot.mandate.borrow().is_ours())
    }

    fn those(&self, is_one: impl Fn(&Slot) -> bool) -> Vec<Dpid> {
        let slots = locked(&self.inner.slots);
        slots.values().filter(|slot| is_one(slot)).map(|slot| slot.dpid).collect()
    }

    /// Moves whenever a session has come or gone.
    pub fn came_or_went(&self) -> watch::Receiver<u64> {
        self.inner.sessions.subscribe()
    }

    /// Whether this controller programs a switch.
    pub fn is_ours(&self, dpid: Dpid) -> bool {
        self.slot(dpid).mandate.borrow().is_ours()
    }

    /// What an owner of a switch tells of it, and by which election it is that. `None`: another controller has more to say.
    pub fn owned(&self, dpid: Dpid) -> Option<(u64, Status)> {
        let Mandate::Elected(election) = *self.slot(dpid).mandate.borrow() else { return None };
        Some((election, self.status(dpid)))
    }

    /// What the owner of a switch told of it, and the way to that one. Who was elected before it is not listened to.
    pub fn told_of(&self, dpid: Dpid, election: u64, status: Status, way: &mpsc::Sender<(Dpid, PacketOut)>) {
        let slot = self.slot(dpid);
        if matches!(*slot.mandate.borrow(), Mandate::Elected(ours) if ours > election) {
            return;
        }
        let mut elsewhere = locked(&slot.elsewhere);
        if elsewhere.as_ref().is_some_and(|known| known.election > election) {
            return;
        }
        *elsewhere = Some(Elsewhere { election, way: way.clone() });
        let programmed = status.programmed;
        *locked(&slot.status) = status;
        drop(elsewhere);
        slot.confirmed.send_replace(programmed);
        let _ = self.inner.reports.try_send(dpid);
    }

    /// The owner by this election owns the switch no more, and nobody has told anything since.
    pub fn left(&self, dpid: Dpid, election: u64) {
        let slot = self.slot(dpid);
        let elsewhere = locked(&slot.elsewhere);
        if elsewhere.as_ref().is_none_or(|known| known.election != election)
            || slot.mandate.borrow().is_ours()
        {
            return;
        }
        let mut status = locked(&slot.status);
        if status.connected {
            let now = SystemTime::now();
            status.connected = false;
            status.since = Some(now);
            status.lost = Some((now, LEFT.to_owned()));
            let _ = self.inner.reports.try_send(dpid);
        }
    }

    pub fn switches(&self) -> Vec<Dpid> {
        locked(&self.inner.slots).keys().copied().collect()
    }

    /// Switches that are to hold anything: not those that have left for good.
    pub fn wanted(&self) -> Vec<Dpid> {
        self.those(|slot| locked(&slot.desired).tables.flow_count() > 0)
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
        let slot = self.slot(dpid);
        if !slot.mandate.borrow().is_ours() {
            let way = locked(&slot.elsewhere).as_ref().map(|known| known.way.clone()).ok_or(SessionClosed)?;
            return way.try_send((dpid, packet)).map_err(|_| SessionClosed);
        }
        let session = locked(&slot.session).clone().ok_or(SessionClosed)?;
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
        self.inner.sessions.send_modify(|count| *count += 1);
        let task = Task::new(slot, self.inner.clone(), switch);
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
                mandate: watch::channel(*locked(&self.inner.first)).0,
                elsewhere: Mutex::default(),
            })
        };
        locked(&self.inner.slots).entry(dpid).or_insert_with(fresh).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{ELAN_DMAC, Flow, Owner, owners};

    #[tokio::test]
    async fn a_switch_that_was_known_before_is_shown_as_lost() {
        let (reports, mut reported) = mpsc::channel(4);
        let programmers = Programmers::new(reports, Duration::ZERO);
        let owner = Owner::<owners::Elan>::new("e");
        let mut delta = Delta::default();
        delta.put_flow(Arc::new(Flow::table(ELAN_DMAC).priority(20).matching([]).owned_by(&owner)));
        programmers.apply(1, [(Dpid(7), delta), (Dpid(8), Delta::default())].into());
        programmers.open_gate(Mandate::Alone, BTreeMap::new());
        assert_eq!(reported.recv().await, Some(Dpid(7)));
        assert!(reported.try_recv().is_err(), "of the other nothing is known");
        let status = programmers.status(Dpid(7));
        assert_eq!((status.connected, status.flows), (false, 1));
        assert_eq!(status.lost.map(|(_, reason)| reason).as_deref(), Some(NOT_YET));
        // In the next life more is known.
        let lost = (SystemTime::UNIX_EPOCH, "no answer to an echo request".to_owned());
        let seen = Seen { last: Some(SystemTime::UNIX_EPOCH), lost: Some(lost.clone()) };
        programmers.open_gate(Mandate::Alone, [(Dpid(7), seen)].into());
        let status = programmers.status(Dpid(7));
        assert_eq!((status.last_seen, status.lost), (Some(SystemTime::UNIX_EPOCH), Some(lost)));
    }

    fn told(programmed: u64) -> Status {
        Status { connected: true, programmed, ..Status::default() }
    }

    #[tokio::test]
    async fn what_owners_tell_counts_by_their_elections() {
        let (reports, mut reported) = mpsc::channel(16);
        let programmers = Programmers::new(reports, Duration::ZERO);
        let (way, mut frames) = mpsc::channel(1);
        let (dpid, confirmed) = (Dpid(7), programmers.confirmed(Dpid(7)));
        let frame = PacketOut { in_port: 1, actions: Vec::new(), frame: vec![1] };
        assert!(programmers.packet_out(dpid, frame.clone()).await.is_err(), "nobody owns it");

        programmers.told_of(dpid, 5, told(11), &way);
        assert_eq!((reported.recv().await, *confirmed.borrow()), (Some(dpid), 11));
        programmers.told_of(dpid, 4, told(99), &way);
        assert_eq!(
            (programmers.status(dpid).programmed, *confirmed.borrow()),
            (11, 11),
            "that one was before"
        );
        programmers.packet_out(dpid, frame.clone()).await.unwrap();
        assert_eq!(frames.recv().await, Some((dpid, frame.clone())));
        assert_eq!(programmers.live(), [dpid]);

        // That the owner is gone says nothing of the next one, in whatever order it is heard.
        programmers.told_of(dpid, 6, told(12), &way);
        programmers.left(dpid, 5);
        assert!(programmers.status(dpid).connected);
        programmers.left(dpid, 6);
        let status = programmers.status(dpid);
        assert_eq!((status.connected, status.lost.map(|(_, reason)| reason).as_deref()), (false, Some(LEFT)));
        assert!(programmers.live().is_empty());

        // Now it is ours, and who owned it before has nothing to say any more.
        programmers.share(&[(dpid, Mandate::Elected(8))].into());
        programmers.told_of(dpid, 7, told(99), &way);
        assert_eq!((programmers.status(dpid).programmed, programmers.ours()), (12, vec![dpid]));
        assert!(programmers.owned(dpid).is_some_and(|(election, _)| election == 8));
        assert!(programmers.packet_out(dpid, frame).await.is_err(), "it has no session");
        programmers.share(&BTreeMap::new());
        assert!(programmers.ours().is_empty() && programmers.owned(dpid).is_none());
    }
}
