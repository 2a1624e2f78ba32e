//! The renderers behind the datastore: reading rows, ids, and holding back what is not durable yet.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::all;
use super::difference::{Changes, State};
use super::ids::POOLS;
use super::key::Key;
use super::nodes::IdNodes;
use super::plan::Plan;
use super::rendered::{AtPlace, Item, Output};
use super::workshop::Workshop;
use crate::datastore::{
    self, Change, Commit, Derived, DerivedEdit, IdChange, IdPools, Question, Refusal, Report, Resting,
    Revision, Snapshot, Store,
};
use crate::model::{Allocator, Model, Pool, Reader};
use crate::net::Dpid;
use crate::pipeline::{Delta, SwitchTables};
use crate::schema::{DataPath, Schema, Text};

/// Takes what changes on the switches, once the revision is durable.
pub type Sink = Box<dyn FnMut(Revision, BTreeMap<Dpid, Delta>) + Send>;

/// The renderers behind the datastore.
pub struct Engine {
    reader: Reader,
    workshop: Workshop,
    pools: IdPools,
    id_nodes: IdNodes,
    /// Taken in, but not yet rendered: what to render, and the ids that changed.
    taken: (Vec<Key>, Vec<IdChange>),
    /// Rendered, but not yet durable: oldest first.
    unpublished: Vec<(Revision, Changes)>,
    sink: Sink,
}

impl Engine {
    pub fn new(schema: &'static Schema, sink: Sink) -> Engine {
        Engine {
            reader: Reader::new(schema),
            workshop: Workshop::new(schema, all(schema)),
            pools: pools(),
            id_nodes: IdNodes::new(schema),
            taken: Default::default(),
            unpublished: Vec::new(),
            sink,
        }
    }

    /// What every switch should hold, as of the last commit rendered. For comparisons and for people.
    pub fn desired(&self) -> BTreeMap<Dpid, SwitchTables> {
        self.workshop.tables()
    }

    /// What every switch should hold, computed from nothing but a snapshot and the ids in force.
    pub fn from_scratch(
        snapshot: &Snapshot,
        ids: &[IdChange],
        now: SystemTime,
    ) -> BTreeMap<Dpid, SwitchTables> {
        let mut engine = Engine::new(snapshot.schema, Box::new(|_, _| {}));
        datastore::Engine::restore(&mut engine, snapshot, ids, now);
        engine.desired()
    }

    /// The rows behind the renderers.
    pub fn model(&self) -> &Model {
        &self.workshop.model
    }

    /// What a key rendered last.
    pub(super) fn output(&self, key: &Key) -> Option<&Output> {
        self.workshop.output(key)
    }

    /// Everything that is rendered now, by key.
    pub(super) fn outputs(&self) -> impl Iterator<Item = (&Key, &Output)> {
        self.workshop.outputs()
    }

    pub(super) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Where a pod is configured.
    pub(super) fn pod_path(&self, uid: &Text) -> DataPath {
        self.reader.pod_path(uid)
    }

    /// What the switches were last told.
    fn published_state(&mut self) -> Vec<Item> {
        let on_switches = self.workshop.items().filter(|item| !matches!(item, Item::Node(_)));
        if self.unpublished.is_empty() {
            return on_switches.collect();
        }
        let mut state: State = on_switches.map(AtPlace).collect();
        for (_, changes) in std::mem::take(&mut self.unpublished).into_iter().rev() {
            changes.undo(&mut state);
        }
        state.into_iter().map(|AtPlace(item)| item).collect()
    }
}

impl datastore::Engine for Engine {
    fn rest(&mut self, resting: &[Resting]) {
        self.pools.rest(resting);
    }

    fn restore(&mut self, snapshot: &Snapshot, ids: &[IdChange], now: SystemTime) -> Derived {
        let published = self.published_state();
        self.workshop.clear();
        self.taken = Default::default();
        let resting = self.pools.resting();
        self.pools = pools();
        self.pools.restore(ids);
        self.pools.rest(&resting);
        let mut at = At { pools: &mut self.pools, now };
        let mut difference = self.workshop.apply(self.reader.all(snapshot), snapshot.revision.0, &mut at);
        self.workshop.model.release_strays(
            ids.iter().filter_map(|change| {
                let pool = POOLS.iter().find(|range| range.name == change.pool)?.pool;
                Some((pool, change.key.as_str().into()))
            }),
            &mut at,
        );
        difference.replace(published);
        let mut changes = difference.finish();
        let mut edits = self.id_nodes.pools();
        edits.extend(self.id_nodes.entries(ids));
        edits.extend(changes.take_edits());
        let ids = self.pools.take_changes();
        edits.extend(self.id_nodes.entries(&ids));
        // Every switch hears of the revision, since all dates are counted from it.
        changes.tell(self.workshop.model.switches().map(|(dpid, _)| dpid));
        self.unpublished.push((snapshot.revision, changes));
        Derived { edits, ids }
    }

    fn check(&self, candidate: &Commit<'_>) -> Result<(), Refusal> {
        let rows = self.reader.changed(candidate.changes, candidate.after);
        self.workshop.model.check_pools(&rows).map_err(|fault| Refusal {
            path: self.reader.pool_path(&fault.network, &fault.subnet),
            tag: "invalid-value",
            message: fault.message,
        })?;
        self.workshop.model.check_external(&rows).map_err(|fault| Refusal {
            path: self.reader.external_path(&fault.at),
            tag: if fault.in_use { "in-use" } else { "invalid-value" },
            message: fault.message,
        })?;
        self.workshop.model.check_policies(&rows).map_err(|fault| Refusal {
            path: self.reader.policy_path(&fault.at),
            tag: "invalid-value",
            message: fault.message,
        })?;
        self.workshop.model.check_services(&rows).map_err(|fault| Refusal {
            path: self.reader.service_path(&fault.subject),
            tag: if fault.in_use { "in-use" } else { "invalid-value" },
            message: fault.message,
        })?;
        self.workshop.model.check_vpns(&rows).map_err(|fault| Refusal {
            path: self.reader.path(&fault.claimer),
            tag: "invalid-value",
            message: fault.message,
        })?;
        self.workshop.model.check(&rows).map_err(|conflict| Refusal {
            path: self.reader.path(&conflict.claimer),
            tag: "in-use",
            message: conflict.message,
        })?;
        self.check_derived(candidate)
    }

    fn origin(&self, store: Store, path: &DataPath) -> Option<String> {
        self.said_behind(store, path)
    }

    fn take(&mut self, commit: &Commit<'_>) -> Vec<IdChange> {
        let mut at = At { pools: &mut self.pools, now: commit.now };
        let rows = self.reader.changed(commit.changes, commit.after);
        let keys = self.workshop.take(rows, &mut at);
        let ids = self.pools.take_changes();
        self.taken = (keys, ids.clone());
        ids
    }

    fn follow(&mut self, commit: &Commit<'_>, ids: &[IdChange]) -> Vec<IdChange> {
        let mut given = Given { pools: &mut self.pools, ids, now: commit.now };
        let rows = self.reader.changed(commit.changes, commit.after);
        let keys = self.workshop.take(rows, &mut given);
        let ids = self.pools.take_changes();
        self.taken = (keys, ids.clone());
        ids
    }

    fn render(&mut self, commit: &Commit<'_>) -> Vec<DerivedEdit> {
        let (keys, ids) = std::mem::take(&mut self.taken);
        let mut changes = self.workshop.render(keys, commit.revision.0).finish();
        let mut edits = changes.take_edits();
        edits.extend(self.id_nodes.entries(&ids));
        if !changes.is_empty() {
            self.unpublished.push((commit.revision, changes));
        }
        edits
    }

    fn plan(&mut self, commit: &Commit<'_>, before: &Snapshot) -> (Derived, Report) {
        let pools = self.pools.clone();
        self.workshop.remember();
        let mut at = At { pools: &mut self.pools, now: commit.now };
        let rows = self.reader.changed(commit.changes, commit.after);
        let mut changes = self.workshop.apply(rows, commit.revision.0, &mut at).finish();
        let plan = Plan::new(&changes);
        let mut edits = changes.take_edits();
        let ids = self.pools.take_changes();
        edits.extend(self.id_nodes.entries(&ids));

        self.pools = pools;
        let back: Vec<Change> = commit.changes.iter().map(Change::reversed).collect();
        let rows = self.reader.changed(&back, before);
        self.workshop.forget(rows, &mut Held { pools: &self.pools });
        (Derived { edits, ids }, Box::new(plan))
    }

    fn ask(&self, question: Question) {
        question(self);
    }

    fn published(&mut self, revision: Revision) {
        let count = self.unpublished.iter().take_while(|(rendered, _)| *rendered <= revision).count();
        for (revision, changes) in self.unpublished.drain(..count) {
            (self.sink)(revision, changes.deltas());
        }
    }
}

fn pools() -> IdPools {
    IdPools::new(POOLS.iter().map(|range| (range.name, range.first..=range.last)))
}

/// The pools as they were: who had a number has it, and nobody else gets one.
struct Held<'a> {
    pools: &'a IdPools,
}

impl Allocator for Held<'_> {
    fn allocate(&mut self, pool: Pool, key: &str) -> Option<u32> {
        self.pools.get(pool.range().name, key)
    }

    fn release(&mut self, _: Pool, _: &str) {}
}

/// The pools, whose numbers somebody else has given out.
struct Given<'a> {
    pools: &'a mut IdPools,
    ids: &'a [IdChange],
    now: SystemTime,
}

impl Allocator for Given<'_> {
    fn allocate(&mut self, pool: Pool, key: &str) -> Option<u32> {
        let name = pool.range().name;
        let is_it = |change: &&IdChange| change.pool == name && change.key == key;
        let given = self.ids.iter().rev().find(is_it).and_then(|change| change.id);
        match given {
            Some(id) => Some(self.pools.give(name, key, id)),
            None => self.pools.allocate(name, key, self.now).ok(),
        }
    }

    fn release(&mut self, pool: Pool, key: &str) {
        self.pools.release(pool.range().name, key, self.now);
    }
}

/// The pools at one moment, as the model asks them.
struct At<'a> {
    pools: &'a mut IdPools,
    now: SystemTime,
}

impl Allocator for At<'_> {
    fn allocate(&mut self, pool: Pool, key: &str) -> Option<u32> {
        self.pools.allocate(pool.range().name, key, self.now).ok()
    }

    fn release(&mut self, pool: Pool, key: &str) {
        self.pools.release(pool.range().name, key, self.now);
    }
}
