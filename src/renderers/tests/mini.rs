//! The smallest datastore that an engine can live in: two trees, no journal.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use super::super::Engine;
use crate::datastore::{
    Change, Commit, Derived, Engine as _, IdChange, Layers, Refusal, Revision, Snapshot, Store,
};
use crate::net::Dpid;
use crate::pipeline::{Delta, SwitchTables};
use crate::schema::json::{self, Mode};
use crate::schema::{DataPath, Fields, Node, Parents, Text, builtin, diff, get_merged, tree};

type Heard = Arc<Mutex<Vec<(Revision, Vec<Dpid>)>>>;
type Told = Arc<Mutex<BTreeMap<Dpid, SwitchTables>>>;

pub struct Mini {
    pub snapshot: Snapshot,
    pub engine: Engine,
    pub ids: BTreeMap<(Text, Text), u32>,
    /// What the switches were told.
    pub told: Told,
    /// Which switches heard of which revision.
    pub heard: Heard,
    /// Whether commits are made public at once.
    pub publishing: bool,
}

impl Mini {
    pub fn new() -> Mini {
        let schema = builtin();
        let told = Told::default();
        let switches = told.clone();
        let heard = Heard::default();
        let hears = heard.clone();
        let sink = move |revision: Revision, deltas: BTreeMap<Dpid, Delta>| {
            hears.lock().unwrap().push((revision, deltas.keys().copied().collect()));
            let mut switches = switches.lock().unwrap();
            for (dpid, delta) in deltas {
                switches.entry(dpid).or_default().apply(&delta);
            }
            switches.retain(|_, tables| *tables != SwitchTables::default());
        };
        let snapshot = Snapshot {
            revision: Revision(0),
            schema,
            config: Layers::default(),
            operational: Layers::default(),
        };
        let mut mini = Mini {
            snapshot,
            engine: Engine::new(schema, Box::new(sink)),
            ids: BTreeMap::new(),
            told,
            heard,
            publishing: true,
        };
        mini.restore();
        mini
    }

    /// As after a restart: derived layers are empty, ids and input are what they were.
    pub fn restore(&mut self) {
        self.snapshot.config.derived = Fields::default();
        self.snapshot.operational.derived = Fields::default();
        let ids = self.held();
        let derived = self.engine.restore(&self.snapshot, &ids, self.now());
        self.take(derived);
        self.engine.published(self.snapshot.revision);
    }

    pub fn held(&self) -> Vec<IdChange> {
        let held = self.ids.iter();
        held.map(|((pool, key), id)| IdChange { pool: pool.clone(), key: key.clone(), id: Some(*id) })
            .collect()
    }

    /// A minute passes between commits, so that released ids have rested.
    pub fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(60) * u32::try_from(self.snapshot.revision.0).unwrap()
    }

    pub fn put(&mut self, store: Store, path: &str, body: &str) -> Result<(), Refusal> {
        let path = self.path(path);
        let node = json::parse_resource(self.snapshot.schema, &path, body.as_bytes(), Mode::Lenient).unwrap();
        self.edit(store, &path, Some(node))
    }

    pub fn delete(&mut self, store: Store, path: &str) -> Result<(), Refusal> {
        self.edit(store, &self.path(path), None)
    }

    fn edit(&mut self, store: Store, path: &DataPath, node: Option<Node>) -> Result<(), Refusal> {
        let schema = self.snapshot.schema;
        let mut after = self.snapshot.clone();
        after.revision = Revision(self.snapshot.revision.0 + 1);
        let input = &mut layers(&mut after, store).input;
        match node {
            Some(node) => tree::put(input, schema, path, node, Parents::Create).unwrap(),
            None => drop(tree::remove(input, schema, path).unwrap()),
        }
        let before = self.snapshot.clone();
        let changes = |store, a: &Fields, b: &Fields| {
            let change = move |(path, before, after)| Change { store, path, before, after };
            diff(schema, a, b).into_iter().map(change).collect::<Vec<_>>()
        };
        let mut all = changes(Store::Config, &before.config.input, &after.config.input);
        all.extend(changes(Store::Operational, &before.operational.input, &after.operational.input));
        let now = self.now();
        let commit = Commit { revision: after.revision, after: &after, changes: &all, now };
        self.engine.check(&commit)?;
        let ids = self.engine.take(&commit);
        let derived = Derived { edits: self.engine.render(&commit), ids };
        self.snapshot = after.clone();
        self.take(derived);
        if self.publishing {
            self.engine.published(self.snapshot.revision);
        }
        Ok(())
    }

    fn take(&mut self, derived: Derived) {
        for change in derived.ids {
            match change.id {
                Some(id) => self.ids.insert((change.pool, change.key), id),
                None => self.ids.remove(&(change.pool, change.key)),
            };
        }
        let schema = self.snapshot.schema;
        for edit in derived.edits {
            let layer = &mut layers(&mut self.snapshot, edit.at().store()).derived;
            tree::set(layer, schema, &edit.at().steps(), edit.node(), 1).unwrap();
        }
    }

    /// What a client reads, as JSON; empty where there is nothing.
    pub fn get(&self, store: Store, path: &str) -> String {
        let path = self.path(path);
        let mut snapshot = self.snapshot.clone();
        let layers = layers(&mut snapshot, store);
        let Some(node) = get_merged(&layers.input, &layers.derived, &path) else { return String::new() };
        let mut text = Vec::new();
        json::write_resource(self.snapshot.schema, &path, &node, &mut text);
        String::from_utf8(text).unwrap()
    }

    fn path(&self, path: &str) -> DataPath {
        DataPath::parse_rfc8040(self.snapshot.schema, path).unwrap()
    }
}

fn layers(snapshot: &mut Snapshot, store: Store) -> &mut Layers {
    match store {
        Store::Config => &mut snapshot.config,
        Store::Operational => &mut snapshot.operational,
    }
}
