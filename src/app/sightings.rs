//! When switches were seen last, and why they were lost: kept over a restart of the controller.
//!
//! What sessions report ends with the process. Of that, what somebody asks who comes after a restart is written down: at once (within
//! [`LOOK`]) when a session ends, every [`KEEP`] for those that are up, and when the controller stops. A controller that is killed
//! loses the last few minutes of `last-seen`, and no reason that is older than a few seconds.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use tracing::warn;

use crate::datastore::{Edit, Handle, Snapshot, Store, Transaction};
use crate::net::{Dpid, parse_timestamp};
use crate::programmer::{NOT_YET, Seen, is_known};
use crate::schema::{DataPath, Fields, Key, Node, Schema, SchemaId, Value};
use crate::southbound::ovsdb;

/// Between two looks at which sessions have ended.
const LOOK: Duration = Duration::from_secs(5);
/// Looks after which what is written down of sessions that are up is brought up to date: ten minutes.
const KEEP: u64 = 120;

/// What is known of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sighting {
    peer: Option<String>,
    seen: Option<String>,
    /// When and why it ended; `None`: it was up when this was written.
    loss: Option<(String, String)>,
}

/// Both sessions of a switch: OpenFlow, OVSDB.
type Both = [Option<Sighting>; 2];

/// The leafs of one kind of session in one list.
struct SessionNames {
    container: SchemaId,
    connected: SchemaId,
    peer: SchemaId,
    seen: SchemaId,
    loss: SchemaId,
    loss_time: SchemaId,
    loss_reason: SchemaId,
}

impl SessionNames {
    fn new(schema: &Schema, container: &str) -> SessionNames {
        let id = |name: &str| schema.resolve(&format!("{container}/{name}"));
        SessionNames {
            container: schema.resolve(container),
            connected: id("connected"),
            peer: id("peer"),
            seen: id("last-seen"),
            loss: id("last-loss"),
            loss_time: id("last-loss/time"),
            loss_reason: id("last-loss/reason"),
        }
    }

    fn read(&self, entry: &Fields) -> Option<Sighting> {
        let session = entry.container(self.container)?;
        let text = |fields: &Fields, leaf| fields.text(leaf).map(str::to_owned);
        let is_up = session.is_true(self.connected);
        let loss = session.container(self.loss).filter(|_| !is_up);
        let loss = loss.and_then(|loss| text(loss, self.loss_time).zip(text(loss, self.loss_reason)));
        Some(Sighting { peer: text(session, self.peer), seen: text(session, self.seen), loss })
    }

    fn write(&self, sighting: &Sighting) -> (SchemaId, Node) {
        let leaf = |id, text: &String| (id, Node::Leaf(Value::text(text)));
        let mut fields = vec![(self.connected, Node::Leaf(Value::Bool(sighting.loss.is_none())))];
        fields.extend(sighting.peer.as_ref().map(|peer| leaf(self.peer, peer)));
        fields.extend(sighting.seen.as_ref().map(|seen| leaf(self.seen, seen)));
        if let Some((time, reason)) = &sighting.loss {
            let loss = vec![leaf(self.loss_time, time), leaf(self.loss_reason, reason)];
            fields.push((self.loss, Fields::of(loss).into()));
        }
        (self.container, Fields::of(fields).into())
    }
}

/// A list of switches with both of their sessions.
struct ListNames {
    top: SchemaId,
    list: SchemaId,
    dpid: SchemaId,
    sessions: [SessionNames; 2],
}

impl ListNames {
    fn new(schema: &Schema, top: &str, list: &str) -> ListNames {
        let path = format!("{top}/{list}");
        let session = |name: &str| SessionNames::new(schema, &format!("{path}/{name}"));
        ListNames {
            top: schema.resolve(top),
            list: schema.resolve(&path),
            dpid: schema.resolve(&format!("{path}/dpid")),
            sessions: [session("openflow-session"), session("ovsdb-session")],
        }
    }

    fn path(&self, dpid: Dpid) -> DataPath {
        DataPath::root().child(self.top).entry(self.list, Key::text(dpid.to_string()))
    }

    fn read(&self, snapshot: &Snapshot) -> BTreeMap<Dpid, Both> {
        let top = snapshot.read(Store::Operational, &DataPath::root().child(self.top));
        let entries = top.as_ref().and_then(Node::fields).and_then(|top| top.list(self.list));
        let read = |(key, entry): (&Key, &Fields)| {
            let [Value::Text(dpid)] = key.values() else { return None };
            Some((dpid.parse().ok()?, self.sessions.each_ref().map(|names| names.read(entry))))
        };
        entries.into_iter().flatten().filter_map(read).collect()
    }
}

/// Reads what sessions report, and writes it down.
pub struct Sightings {
    reported: ListNames,
    kept: ListNames,
}

impl Sightings {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> Sightings {
        Sightings {
            reported: ListNames::new(schema, "/coeus-status:switches", "switch"),
            kept: ListNames::new(schema, "/coeus-status:sightings", "sighting"),
        }
    }

    /// What is written down of the OpenFlow sessions of switches, for their programmers.
    pub fn of_openflow(&self, snapshot: &Snapshot) -> BTreeMap<Dpid, Seen> {
        let kept = self.kept.read(snapshot).into_iter();
        kept.filter_map(|(dpid, [openflow, _])| Some((dpid, seen(&openflow?)))).collect()
    }

    /// Edits that show the OVSDB sessions of known switches as they were, for a passing transaction: nobody is connected yet.
    pub fn of_ovsdb(&self, snapshot: &Snapshot, names: &ovsdb::Names, now: SystemTime) -> Vec<Edit> {
        let known = self.kept.read(snapshot).into_iter().filter(|(dpid, _)| is_known(snapshot, *dpid));
        let shown = known.filter_map(|(dpid, [_, ovsdb])| {
            let sighting = ovsdb?;
            let Seen { last, lost } = seen(&sighting);
            let lost = lost.unwrap_or_else(|| (now, NOT_YET.to_owned()));
            let state = ovsdb::Liveness {
                connected: false,
                peer: sighting.peer.unwrap_or_default(),
                since: lost.0,
                seen: last?,
                lost: Some(lost),
            };
            names.session(&dpid.to_string(), &state)
        });
        shown.collect()
    }

    /// Edits after which what is written down is as it should be: sessions that ended, and `all` that has changed since.
    fn due(&self, snapshot: &Snapshot, all: bool) -> Vec<Edit> {
        let kept = self.kept.read(snapshot);
        let mut edits = Vec::new();
        for (dpid, reported) in self.reported.read(snapshot) {
            if !is_known(snapshot, dpid) {
                continue;
            }
            let before = kept.get(&dpid);
            let held = |number: usize| before.and_then(|both| both[number].as_ref());
            let mut after: Both = reported;
            for (number, sighting) in after.iter_mut().enumerate() {
                // It says no more than what is written down already.
                let is_news =
                    |sighting: &Sighting| sighting.loss.as_ref().is_none_or(|(_, reason)| reason != NOT_YET);
                if !sighting.as_ref().is_some_and(is_news) {
                    *sighting = held(number).cloned();
                }
            }
            let loss = |sighting: Option<&Sighting>| sighting.map(|one| one.loss.clone());
            let ended = (0..after.len()).any(|number| loss(held(number)) != loss(after[number].as_ref()));
            if (all || ended) && before != Some(&after) && after != Both::default() {
                let mut fields = vec![(self.kept.dpid, Node::Leaf(Value::text(dpid.to_string())))];
                let sessions = self.kept.sessions.iter().zip(&after);
                fields.extend(sessions.filter_map(|(names, sighting)| Some(names.write(sighting.as_ref()?))));
                edits.push(Edit::put(Store::Operational, self.kept.path(dpid), Fields::of(fields).into()));
            }
        }
        let gone = kept.keys().filter(|dpid| !is_known(snapshot, **dpid));
        edits.extend(gone.map(|dpid| Edit::remove(Store::Operational, self.kept.path(*dpid))));
        edits
    }

    /// Writes down what is due.
    pub async fn keep(&self, datastore: &Handle, all: bool) {
        let edits = self.due(&datastore.snapshot(), all);
        if !edits.is_empty()
            && let Err(error) = datastore.commit(Transaction::new("sightings", edits)).await
        {
            warn!(%error, "when switches were seen last could not be written down");
        }
    }

    /// Writes down what is due, for ever.
    pub async fn run(self, datastore: Handle) {
        for look in 1.. {
            tokio::time::sleep(LOOK).await;
            self.keep(&datastore, look % KEEP == 0).await;
        }
    }
}

fn seen(sighting: &Sighting) -> Seen {
    let lost = sighting.loss.as_ref();
    Seen {
        last: sighting.seen.as_deref().and_then(parse_timestamp),
        lost: lost.and_then(|(time, reason)| Some((parse_timestamp(time)?, reason.clone()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datastore::Core;
    use crate::net::timestamp;
    use crate::programmer::Status;
    use crate::renderers::Engine;
    use crate::schema::{builtin, json};

    const DPID: Dpid = Dpid(1);
    const SWITCH: &str = r#"{"network-topology:topology":[{"topology-id":"ovsdb:1","node":[
        {"node-id":"ovsdb://uuid/a/bridge/br-int","ovsdb:datapath-id":"00:00:00:00:00:00:00:01"}]}]}"#;

    struct Life {
        core: Core,
        sightings: Sightings,
        names: ovsdb::Names,
    }

    impl Life {
        fn of(snapshot: Snapshot) -> Life {
            let engine = Engine::new(builtin(), Box::new(|_, _| {}));
            Life {
                core: Core::new(snapshot, &[], Box::new(engine), SystemTime::UNIX_EPOCH),
                sightings: Sightings::new(builtin()),
                names: ovsdb::Names::new(builtin()),
            }
        }

        /// The next life: what was not durable is gone.
        fn again(self) -> Life {
            let mut snapshot = self.core.snapshot().clone();
            snapshot.config.derived = crate::schema::Fields::default();
            snapshot.operational.derived = crate::schema::Fields::default();
            Life::of(snapshot)
        }

        fn apply(&mut self, transaction: &Transaction) {
            self.core.apply(transaction, SystemTime::UNIX_EPOCH).unwrap();
        }

        /// Both sessions report the same.
        fn reports(&mut self, seen: u64, lost: Option<(u64, &str)>) {
            let lost = lost.map(|(at, reason)| (second(at), reason.to_owned()));
            let (connected, peer) = (lost.is_none(), "192.0.2.7:41000".to_owned());
            let status = Status {
                connected,
                peer: peer.clone(),
                last_seen: Some(second(seen)),
                lost: lost.clone(),
                ..Status::default()
            };
            let mut edits = status.edits(builtin(), DPID);
            let state = ovsdb::Liveness { connected, peer, since: second(0), seen: second(seen), lost };
            edits.extend(self.names.session(&DPID.to_string(), &state));
            self.apply(&Transaction::passing("test", edits));
        }

        /// Writes down what is due; answers how many edits that were.
        fn keeps(&mut self, all: bool) -> usize {
            let edits = self.sightings.due(self.core.snapshot(), all);
            let number = edits.len();
            if number > 0 {
                self.apply(&Transaction::new("test", edits));
            }
            number
        }

        fn known(&self) -> Option<Seen> {
            self.sightings.of_openflow(self.core.snapshot()).remove(&DPID)
        }
    }

    fn second(number: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(number)
    }

    fn topology(life: &mut Life, body: Option<&str>) {
        let path = DataPath::parse_rfc8040(builtin(), "network-topology:network-topology/topology=ovsdb%3A1")
            .unwrap();
        let edit = match body {
            Some(body) => {
                let node =
                    json::parse_resource(builtin(), &path, body.as_bytes(), json::Mode::Lenient).unwrap();
                Edit::put(Store::Operational, path, node)
            }
            None => Edit::remove(Store::Operational, path),
        };
        life.apply(&Transaction::new("test", vec![edit]));
    }

    #[test]
    fn what_is_known_of_a_switch_outlives_the_controller() {
        let mut life = Life::of(Snapshot::empty(builtin()));
        topology(&mut life, Some(SWITCH));
        life.reports(10, None);
        assert_eq!((life.keeps(false), life.keeps(false)), (1, 0), "once, and nothing more to say");
        life.reports(70, None);
        assert_eq!((life.keeps(false), life.keeps(true)), (0, 1), "a switch that is up can wait");
        let lost = (80, "no answer to an echo request");
        life.reports(75, Some(lost));
        assert_eq!((life.keeps(false), life.keeps(true)), (1, 0), "a loss is written at once");

        let mut life = life.again();
        let seen = Seen { last: Some(second(75)), lost: Some((second(80), lost.1.to_owned())) };
        assert_eq!(life.known(), Some(seen.clone()));
        let shown = life.sightings.of_ovsdb(life.core.snapshot(), &life.names, second(200));
        life.apply(&Transaction::passing("test", shown));
        let [_, ovsdb] = &life.sightings.reported.read(life.core.snapshot())[&DPID];
        let peer = Some("192.0.2.7:41000".to_owned());
        let time = |number| timestamp(second(number));
        let loss = Some((time(80), lost.1.to_owned()));
        assert_eq!(*ovsdb, Some(Sighting { peer, seen: Some(time(75)), loss }));
        // That it has not come back says less than why it went.
        life.reports(75, Some((200, NOT_YET)));
        assert_eq!((life.keeps(true), life.known()), (0, Some(seen)));
        life.reports(300, None);
        assert_eq!(life.keeps(false), 1, "it is back");
        // Of a switch that was up to the end nobody saw a loss.
        let life = life.again();
        assert_eq!(life.known(), Some(Seen { last: Some(second(300)), lost: None }));
        let shown = life.sightings.of_ovsdb(life.core.snapshot(), &life.names, second(400));
        assert_eq!(shown.len(), 1);
    }

    #[test]
    fn nothing_is_kept_of_a_switch_that_is_no_more() {
        let mut life = Life::of(Snapshot::empty(builtin()));
        life.reports(10, None);
        assert_eq!(life.keeps(true), 0, "nobody knows it");
        topology(&mut life, Some(SWITCH));
        assert_eq!(life.keeps(true), 1);
        topology(&mut life, None);
        assert_eq!((life.keeps(false), life.known()), (1, None));
    }
}
