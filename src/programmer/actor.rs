//! The registry of switches that the datastore's thread talks to.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
use crate::net::Dpid;
use crate::pipeline::{Delta, Held, SwitchTables};
use crate::southbound::openflow::{Connected, SessionClosed, SessionHandle};

/// Why a switch is not connected that was known when the controller started.
pub const NOT_YET: &str = "it has not connected since the controller started";

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
    /// Opens when the desired state is complete and this controller is the one to program switches: nothing is compared before.
    pub gate: watch::Sender<Option<Mandate>>,
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
                gate: watch::channel(None).0,
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

    /// The desired state is complete; from now on switches are made to match it. Those that are known and not there yet are
    /// shown so, with what an earlier life of the controller wrote down of their sessions.
    pub fn open_gate(&self, mandate: Mandate, mut seen: BTreeMap<Dpid, Seen>) {
        self.inner.gate.send_replace(Some(mandate));
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
}
