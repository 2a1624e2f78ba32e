//! The wait itself: for the switches that a revision told something, and for the objects that it wrote.

use std::collections::BTreeMap;
use std::future::pending;
use std::time::{Duration, Instant};

use futures_util::future::select_all;
use tokio::sync::watch;
use tokio::time::{sleep_until, timeout_at};

use super::super::App;
use super::report::{ObjectReport, Report, State, SwitchReport};
use super::{Wait, Written};
use crate::datastore::{Committed, Handle, Revision, Store};
use crate::net::Dpid;
use crate::renderers::Engine;
use crate::schema::{Fields, Key, Text, Value};

/// Objects are looked at again after such a pause at the least: what is waited for mostly comes soon, and what does not may take long.
const PAUSE: Duration = Duration::from_millis(1);
const PAUSE_AT_MOST: Duration = Duration::from_millis(20);
/// `state` of an object, in the order of the model.
const PENDING: i32 = 0;
const FAILED: i32 = 2;

/// How far the switches are, told by who programs them.
pub trait Switches: Send + Sync {
    /// The switches that a revision told something.
    fn told(&self, revision: u64) -> Vec<Dpid>;
    /// The revision up to which a switch has confirmed everything, now and from now on.
    fn confirmed(&self, dpid: Dpid) -> watch::Receiver<u64>;
    /// Why a switch confirms nothing; `None`: it is connected.
    fn absence(&self, dpid: Dpid) -> Option<String>;
    /// What a switch refused and should still have: the object that it is for, and what happened.
    fn refused(&self, dpid: Dpid) -> Vec<(String, String)>;
}

/// One object as the datastore shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Object {
    /// Something is missing.
    Pending(Vec<String>),
    Failed(Vec<String>),
    /// A switch has it as soon as it has confirmed this revision.
    Desired(Dpid, u64),
    /// There is none, or it may not be read: nothing to wait for.
    Gone,
}

/// Waits until what was committed is programmed. `started`: when the write came.
pub async fn watched(
    app: &App,
    switches: &dyn Switches,
    wait: Wait,
    written: &Written,
    committed: &Committed,
    started: Instant,
) -> Report {
    let end = (started + wait.patience).into();
    let mut waits = Waits { switches, revision: committed.revision, started, told: BTreeMap::new() };
    if committed.changed {
        for dpid in switches.told(committed.revision.0) {
            waits.wants(dpid, committed.revision.0);
        }
    }
    let mut revisions = app.datastore.revisions();
    let mut pause = PAUSE;
    let objects = loop {
        revisions.borrow_and_update();
        let objects = objects(&app.datastore, written).await;
        let mut is_open = false;
        for object in objects.values() {
            match object {
                Object::Desired(dpid, revision) => waits.wants(*dpid, *revision),
                Object::Pending(_) => is_open = true,
                Object::Failed(_) | Object::Gone => {}
            }
        }
        if timeout_at(end, waits.all_confirmed()).await.is_err() || !is_open {
            break objects;
        }
        let soon = tokio::time::Instant::now() + pause;
        pause = (pause * 2).min(PAUSE_AT_MOST);
        if timeout_at(end, revisions.changed()).await.is_err() {
            break objects;
        }
        sleep_until(soon.min(end)).await;
    };
    waits.report(&objects)
}

/// A switch that is waited for.
struct Told {
    /// What it has to confirm.
    revision: u64,
    latency: Option<Duration>,
}

struct Waits<'a> {
    switches: &'a dyn Switches,
    revision: Revision,
    started: Instant,
    told: BTreeMap<Dpid, Told>,
}

impl Waits<'_> {
    fn wants(&mut self, dpid: Dpid, revision: u64) {
        let told = self.told.entry(dpid).or_insert(Told { revision, latency: None });
        if revision > told.revision {
            (told.revision, told.latency) = (revision, None);
        }
    }

    async fn all_confirmed(&mut self) {
        let open = self.told.iter_mut().filter(|(_, told)| told.latency.is_none());
        let mut open: Vec<(&mut Told, watch::Receiver<u64>)> =
            open.map(|(dpid, told)| (told, self.switches.confirmed(*dpid))).collect();
        loop {
            open.retain_mut(|(told, confirmed)| {
                let is_open = *confirmed.borrow_and_update() < told.revision;
                if !is_open {
                    told.latency = Some(self.started.elapsed());
                }
                is_open
            });
            if open.is_empty() {
                return;
            }
            let changes = open.iter_mut().map(|(_, confirmed)| Box::pin(confirmed.changed()));
            if select_all(changes).await.0.is_err() {
                // The program ends.
                pending::<()>().await;
            }
        }
    }

    fn report(self, objects: &BTreeMap<Text, Object>) -> Report {
        let switch = |(dpid, told): (&Dpid, &Told)| {
            let refused = self.switches.refused(*dpid);
            // It may refuse what others wrote; that is told, too.
            let is_ours = |(key, _): &(String, String)| objects.contains_key(key.as_str());
            let state = if refused.iter().any(is_ours) { State::Failed } else { State::Programmed };
            let (state, reasons) = match told.latency {
                Some(_) => (state, refused.into_iter().map(|(_, reason)| reason).collect()),
                None => {
                    let reason = self.switches.absence(*dpid);
                    let reason = reason.unwrap_or_else(|| "it has not confirmed yet".into());
                    (State::Pending, vec![reason])
                }
            };
            (*dpid, SwitchReport { state, latency: told.latency, reasons })
        };
        let object = |(name, object): (&Text, &Object)| {
            let (state, reasons) = match object {
                Object::Pending(reasons) => (State::Pending, reasons),
                Object::Failed(reasons) => (State::Failed, reasons),
                Object::Desired(..) | Object::Gone => return None,
            };
            Some(ObjectReport { name: name.to_string(), state, reasons: reasons.clone() })
        };
        Report {
            revision: self.revision.0,
            switches: self.told.iter().map(switch).collect(),
            objects: objects.iter().filter_map(object).collect(),
        }
    }
}

/// The objects of what was written, as the user sees them now.
async fn objects(datastore: &Handle, written: &Written) -> BTreeMap<Text, Object> {
    if written.is_empty() {
        return BTreeMap::new();
    }
    let of = written.clone();
    let names = datastore.ask(move |engine: &Engine| of.objects(engine.model())).await.unwrap_or_default();
    let snapshot = datastore.snapshot();
    let schema = snapshot.schema;
    let (top, list) =
        (schema.resolve("/coeus-status:objects"), schema.resolve("/coeus-status:objects/object"));
    let leaf = |name: &str| schema.resolve(&format!("/coeus-status:objects/object/{name}"));
    let (state, reason) = (leaf("state"), leaf("reason"));
    let (switch, desired) = (leaf("switch"), leaf("desired-revision"));
    let object = |fields: &Fields| {
        let said = || fields.leaf_list(reason).filter_map(Value::as_text).map(str::to_owned).collect();
        match fields.leaf(state) {
            Some(Value::Enum(PENDING)) => Object::Pending(said()),
            Some(Value::Enum(FAILED)) => Object::Failed(said()),
            _ => {
                let dpid = fields.text(switch).and_then(|dpid| dpid.parse().ok());
                let revision = fields.leaf(desired).and_then(Value::as_uint);
                dpid.zip(revision).map_or(Object::Gone, |(dpid, revision)| Object::Desired(dpid, revision))
            }
        }
    };
    let found = names.into_iter().map(|name| {
        let entry = snapshot.entry(Store::Operational, top, list, Key::text(&name));
        let found = entry.map_or(Object::Gone, |fields| object(&fields));
        (name, found)
    });
    found.collect()
}
