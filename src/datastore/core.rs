//! One transaction after the other, as a pure step from snapshot to snapshot.

use std::collections::VecDeque;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use super::history::{Ids, id_changes};
use super::past::State;
use super::{
    Change, Commit, DatastoreError, DerivedEdit, Edit, Engine, IdChange, Layers, Operation, Question, Report,
    Revision, Snapshot, Store, Transaction,
};
use crate::access::{Gatekeeper, Grants};
use crate::schema::{
    DataPath, Fields, Index, Kind, Node, Parents, Schema, SchemaId, diff, merge_layers, reposition,
    stamp_since, tree, validate_with,
};

/// Modules with state that is not journalled: it is known to the controller that writes, and to none that follows.
const PASSING: [&str; 10] = [
    "coeus-candidate",
    "coeus-dhcp",
    "coeus-policy",
    "coeus-status",
    "coeus-switch",
    "ietf-netconf-acm",
    "ietf-restconf-monitoring",
    "ietf-subscribed-notifications",
    "ietf-yang-push",
    "opendaylight-inventory",
];

/// Whether there may be state below a top-level node that is not journalled.
pub fn is_passing_module(schema: &Schema, top: SchemaId) -> bool {
    PASSING.contains(&schema.module(schema.node(top).module).name.as_ref())
}

/// Changed paths kept for conflict detection. An edit based on something older is a conflict.
const REMEMBERED: usize = 16_384;

/// The state that transactions work on: ahead of what is published until the journal has it.
pub struct Core {
    pub(super) snapshot: Snapshot,
    /// The same state, as the past keeps it: what to return to when a commit fails half way.
    pub(super) state: Arc<State>,
    pub(super) engine: Box<dyn Engine>,
    /// What the last commit derived, where it does not stand in the trees yet.
    pub(super) unsettled: Option<Arc<[DerivedEdit]>>,
    /// Allocations in force, by pool and key.
    pub(super) ids: Ids,
    /// Those that no commit took or gave back but a start, which found that they were needed or not: no record has them yet.
    pub(super) untold: Vec<IdChange>,
    recent: VecDeque<(u64, Store, Trail)>,
    /// Of the configuration that was validated last, committed or not.
    index: Index,
    /// Highest revision whose changes `recent` no longer holds.
    forgotten: u64,
    pub(super) access: Arc<Gatekeeper>,
}

/// A point to return to when the journal refuses a batch.
#[derive(Clone)]
pub struct Mark(Arc<State>);

/// What a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    pub revision: Revision,
    /// For each edit: whether there was nothing at its path before.
    pub created: Vec<bool>,
    /// False when everything was so already; then there is no new revision.
    pub changed: bool,
    /// Allocations and releases that the commit caused.
    pub(super) ids: Vec<IdChange>,
}

impl Committed {
    pub(super) fn of(revision: Revision, created: Vec<bool>, changed: bool) -> Committed {
        Committed { revision, created, changed, ids: Vec::new() }
    }
}

/// What a transaction would do.
pub struct Planned {
    /// The state that it was planned from.
    pub before: Snapshot,
    /// The state it would lead to, derived data included.
    pub after: Snapshot,
    /// As in [`Committed`].
    pub created: Vec<bool>,
    pub report: Report,
}

/// Told of a transaction that will be carried out whatever comes, before it is: its revision, and how ids change.
pub(super) type Decided<'a> = &'a mut dyn FnMut(Revision, &[IdChange]);

/// A transaction on its way, before the engine has seen it.
struct Prepared {
    before: Snapshot,
    /// Stamped with the revision it would be.
    after: Snapshot,
    created: Vec<bool>,
    /// Empty: everything is so already.
    changes: Vec<Change>,
}

impl Core {
    /// Starts from recovered input layers; derives everything from them.
    pub fn new(snapshot: Snapshot, ids: &[IdChange], engine: Box<dyn Engine>, now: SystemTime) -> Core {
        let forgotten = snapshot.revision.0;
        let mut in_force = Ids::new();
        take_ids(&mut in_force, ids);
        let mut core = Core {
            state: State::kept(Arc::new(snapshot.clone()), in_force.clone()),
            snapshot,
            engine,
            unsettled: None,
            ids: in_force,
            untold: Vec::new(),
            recent: VecDeque::new(),
            index: Index::default(),
            forgotten,
            access: Arc::default(),
        };
        core.restore(now);
        core
    }

    /// The newest state, durable or not.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub fn mark(&self) -> Mark {
        Mark(self.state.clone())
    }

    /// Keeps the present state whole.
    pub(super) fn keep(&mut self) -> &Arc<Snapshot> {
        if matches!(*self.state, State::Behind { .. }) {
            self.state = State::kept(Arc::new(self.snapshot.clone()), self.ids.clone());
        }
        &self.state.whole().snapshot
    }

    /// Goes back to the last state that was reached, from whatever a commit left of it.
    pub(super) fn take_back(&mut self) {
        self.unsettled = None;
        let whole = self.state.whole();
        self.snapshot = Snapshot::clone(&whole.snapshot);
        self.ids = whole.ids.clone();
    }

    /// Forgets everything since the mark. The engine computes everything anew.
    pub fn roll_back(&mut self, mark: Mark, now: SystemTime) {
        self.state = mark.0;
        self.restore(now);
    }

    /// Takes what a record says of ids: it is said later than what a start did with the same ones.
    pub(super) fn take_told(&mut self, ids: &[IdChange]) {
        if !self.untold.is_empty() {
            let is_same = |one: &IdChange, told: &IdChange| one.pool == told.pool && one.key == told.key;
            self.untold.retain(|one| !ids.iter().any(|told| is_same(one, told)));
        }
        take_ids(&mut self.ids, ids);
    }

    /// All allocations in force.
    pub fn ids(&self) -> Vec<IdChange> {
        id_changes(&self.ids)
    }

    pub fn published(&mut self) {
        self.engine.published(self.snapshot.revision);
    }

    pub(super) fn restore(&mut self, now: SystemTime) {
        self.take_back();
        for store in [Store::Config, Store::Operational] {
            self.snapshot.layers_mut(store).derived = Fields::default();
        }
        let ids = self.ids();
        let derived = self.engine.restore(&self.snapshot, &ids, now);
        let revision = self.snapshot.revision.0;
        take_ids(&mut self.ids, &derived.ids);
        self.untold.extend(derived.ids);
        derive_all(&mut self.snapshot, &derived.edits, revision);
        self.state = State::kept(Arc::new(self.snapshot.clone()), self.ids.clone());
    }

    /// Carries one transaction out, or leaves everything as it was.
    ///
    /// # Errors
    /// Whatever makes the transaction impossible, with the path concerned.
    pub fn apply(&mut self, transaction: &Transaction, now: SystemTime) -> Result<Committed, DatastoreError> {
        let outcome = self.apply_unsettled(transaction, now, &mut |_, _| ());
        self.settle(now);
        outcome
    }

    /// The same, but what is derived does not stand in the trees before [`Core::settle`]: switches need not wait for that. And
    /// `decided` is told of a durable transaction before it is rendered: the journal need not wait for that.
    pub(super) fn apply_unsettled(
        &mut self,
        transaction: &Transaction,
        now: SystemTime,
        decided: Decided<'_>,
    ) -> Result<Committed, DatastoreError> {
        self.settle(now);
        let outcome = if !transaction.durable {
            self.apply_passing(transaction)
        } else if let Some(place) = self.in_place(&transaction.edits) {
            self.apply_in_place(transaction, place, now, decided)
        } else {
            self.apply_to_copy(transaction, now, decided)
        };
        outcome.map_err(|error| self.with_origin(error, &transaction.edits))
    }

    /// Puts what the last commit derived into the trees; true if that was still to be done.
    pub(super) fn settle(&mut self, now: SystemTime) -> bool {
        let Some(edits) = self.unsettled.take() else { return false };
        let revision = self.snapshot.revision.0;
        let snapshot = &mut self.snapshot;
        let outcome = catch_unwind(AssertUnwindSafe(|| derive(snapshot, &edits, revision)));
        if !self.state.is_behind(self.snapshot.revision) {
            self.state = State::kept(Arc::new(self.snapshot.clone()), self.ids.clone());
        }
        if outcome.is_err() {
            self.derive_anew(now);
        }
        true
    }

    /// The same error; that a node is derived is told with whom it is derived of.
    pub(super) fn with_origin(&self, error: DatastoreError, edits: &[Edit]) -> DatastoreError {
        match (error, edits) {
            (DatastoreError::AtEdit { number, error }, _) => {
                let edit = edits.get(number).map(std::slice::from_ref).unwrap_or_default();
                DatastoreError::AtEdit { number, error: Box::new(self.with_origin(*error, edit)) }
            }
            (DatastoreError::DerivedOwned { path, owner }, [edit]) => {
                let owner = self.engine.origin(edit.store, &edit.path).unwrap_or(owner);
                DatastoreError::DerivedOwned { path, owner }
            }
            (error, _) => error,
        }
    }

    /// The same for any durable transaction: the state before stays beside the candidate.
    pub(super) fn apply_to_copy(
        &mut self,
        transaction: &Transaction,
        now: SystemTime,
        decided: Decided<'_>,
    ) -> Result<Committed, DatastoreError> {
        let Prepared { before, after, created, changes } = self.prepare(transaction)?;
        if changes.is_empty() {
            return Ok(Committed::of(before.revision, created, false));
        }
        let revision = after.revision;
        let commit = Commit { revision, after: &after, changes: &changes, now };
        let ids = self.ask_engine(&commit, now, |engine, commit| engine.take(commit))?;
        decided(revision, &ids);
        let derived = self.render(&commit);
        self.remember(revision, &changes);
        self.take_told(&ids);
        self.snapshot = after;
        match derived {
            Some(edits) => self.unsettled = Some(edits),
            None => self.derive_anew(now),
        }
        Ok(Committed { revision, created, changed: true, ids })
    }

    /// What a durable transaction would do; everything stays as it is.
    ///
    /// # Errors
    /// As [`Core::apply`] would have.
    pub fn plan(&mut self, transaction: &Transaction, now: SystemTime) -> Result<Planned, DatastoreError> {
        let prepared = self.prepare(transaction);
        let prepared = prepared.map_err(|error| self.with_origin(error, &transaction.edits))?;
        let Prepared { before, mut after, created, changes } = prepared;
        let revision = after.revision;
        let commit = Commit { revision, after: &after, changes: &changes, now };
        let (derived, report) =
            self.ask_engine(&commit, now, |engine, commit| engine.plan(commit, &before))?;
        derive(&mut after, &derived.edits, revision.0);
        Ok(Planned { before, after, created, report })
    }

    /// Has the engine answer a question.
    pub fn ask(&self, question: Question) {
        self.engine.ask(question);
    }

    /// Refuses what cannot be carried out in the present state, whatever it leads to. Returns what the user may do; `None`:
    /// everything.
    pub(super) fn may_apply(&self, transaction: &Transaction) -> Result<Option<Arc<Grants>>, DatastoreError> {
        let grants = self.grants(transaction);
        self.bound(grants.as_deref()).may_try(self.snapshot.schema, transaction)?;
        self.conflicts(transaction)?;
        match transaction.preconditions.iter().find(|wanted| !wanted.holds(&self.snapshot)) {
            Some(broken) => Err(DatastoreError::Precondition { path: self.path(&broken.path) }),
            None => Ok(grants),
        }
    }

    /// The candidate state, validated but for what the engine checks.
    fn prepare(&mut self, transaction: &Transaction) -> Result<Prepared, DatastoreError> {
        let grants = self.may_apply(transaction)?;
        let before = self.snapshot.clone();
        let (mut after, created) = edited(&before, &transaction.edits)?;
        let changes = changes(&before, &after);
        if !changes.is_empty() {
            self.bound(grants.as_deref()).may_change(after.schema, &changes)?;
            Core::rules_hold(Core::access_rules(&before).as_ref(), &after)?;
            self.validate(&after, &changes)?;
            after.revision = Revision(before.revision.0 + 1);
            for store in [Store::Config, Store::Operational] {
                let old = &before.layers(store).input;
                let new = after.layers_mut(store);
                new.input = stamp_since(old, &new.input, before.revision.0 + 1);
            }
        }
        Ok(Prepared { before, after, created, changes })
    }

    /// What need not outlive the process goes into the derived layer: it is neither journalled nor rendered from. A
    /// rolled back batch takes it along; its writers report again.
    fn apply_passing(&mut self, transaction: &Transaction) -> Result<Committed, DatastoreError> {
        self.may_pass(transaction)?;
        debug_assert!(
            transaction
                .edits
                .iter()
                .filter_map(|edit| edit.path.steps.first())
                .all(|top| is_passing_module(self.snapshot.schema, top.node)),
            "a report in a module that is not known for them; see PASSING"
        );
        let mut after = self.snapshot.clone();
        for edit in &transaction.edits {
            let schema = after.schema;
            let layers = after.layers_mut(edit.store);
            let derived = &mut layers.derived;
            match (&edit.node, edit.operation) {
                (Some(node), Operation::Merge) => {
                    tree::merge(derived, schema, &edit.path, node.clone(), Parents::Create)?;
                }
                (Some(node), _) => tree::put(derived, schema, &edit.path, node.clone(), Parents::Create)?,
                (None, _) => drop(tree::remove(derived, schema, &edit.path)?),
            }
        }
        after.revision.0 += 1;
        for store in [Store::Config, Store::Operational] {
            let old = &self.snapshot.layers(store).derived;
            let revision = after.revision.0;
            let layers = after.layers_mut(store);
            layers.derived = stamp_since(old, &layers.derived, revision);
        }
        self.snapshot = after;
        self.state = State::kept(Arc::new(self.snapshot.clone()), self.ids.clone());
        let created = vec![false; transaction.edits.len()];
        Ok(Committed::of(self.snapshot.revision, created, true))
    }

    fn path(&self, path: &DataPath) -> String {
        path.display(self.snapshot.schema)
    }

    /// Fails when something at, above or below an edited path changed after the revision the edits were made from.
    fn conflicts(&self, transaction: &Transaction) -> Result<(), DatastoreError> {
        let Some(read) = transaction.base.filter(|base| *base < self.snapshot.revision) else {
            return Ok(());
        };
        for edit in &transaction.edits {
            let edited = trail(&edit.path);
            let related = |(at, store, changed): &(u64, Store, Trail)| {
                *at > read.0
                    && *store == edit.store
                    && (changed.starts_with(&edited) || edited.starts_with(changed))
            };
            if read.0 < self.forgotten || self.recent.iter().rev().any(related) {
                return Err(DatastoreError::Conflict { path: self.path(&edit.path), read });
            }
        }
        Ok(())
    }

    pub(super) fn remember(&mut self, revision: Revision, changes: &[Change]) {
        let changed = |change: &Change| (revision.0, change.store, trail(&change.path));
        self.recent.extend(changes.iter().map(changed));
        while self.recent.len() > REMEMBERED {
            if let Some((revision, ..)) = self.recent.pop_front() {
                self.forgotten = revision;
            }
        }
    }

    /// What is observed is not constrained (RFC 8342 section 5.3), so only configuration is looked at.
    pub(super) fn validate(&mut self, after: &Snapshot, changes: &[Change]) -> Result<(), DatastoreError> {
        let configured = changes.iter().filter(|change| change.store == Store::Config);
        let changes: Vec<_> = configured
            .map(|change| (change.path.clone(), change.before.clone(), change.after.clone()))
            .collect();
        if changes.is_empty() {
            return Ok(());
        }
        let layers = after.layers(Store::Config);
        let merged = merge_layers(&layers.input, &layers.derived);
        validate_with(&mut self.index, after.schema, &merged, &changes).map_err(DatastoreError::Invalid)
    }

    /// Has the engine check a commit, and then do something with it. A panic costs this transaction, not the process.
    pub(super) fn ask_engine<T>(
        &mut self,
        commit: &Commit<'_>,
        now: SystemTime,
        question: impl FnOnce(&mut dyn Engine, &Commit<'_>) -> T,
    ) -> Result<T, DatastoreError> {
        let engine = &mut *self.engine;
        let outcome = catch_unwind(AssertUnwindSafe(|| -> Result<T, super::Refusal> {
            engine.check(commit)?;
            Ok(question(engine, commit))
        }));
        match outcome {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(refusal)) => {
                let path = self.path(&refusal.path);
                Err(DatastoreError::refused(refusal, path))
            }
            Err(panic) => {
                let reason = panic
                    .downcast_ref::<String>()
                    .cloned()
                    .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
                    .unwrap_or_else(|| "a panic without a message".into());
                tracing::error!(
                    reason,
                    revision = commit.revision.0,
                    "the engine panicked; the transaction is refused"
                );
                self.restore(now);
                Err(DatastoreError::Rendering { reason })
            }
        }
    }

    /// What the engine derives of a commit that it has taken in. `None`: it panicked.
    pub(super) fn render(&mut self, commit: &Commit<'_>) -> Option<Arc<[DerivedEdit]>> {
        let engine = &mut *self.engine;
        catch_unwind(AssertUnwindSafe(|| engine.render(commit).into())).ok()
    }

    /// Has everything derived anew from the present state, which stands.
    pub(super) fn derive_anew(&mut self, now: SystemTime) {
        let revision = self.snapshot.revision;
        tracing::error!(revision = revision.0, "the engine panicked; everything is derived anew");
        self.unsettled = None;
        self.state = State::kept(Arc::new(self.snapshot.clone()), self.ids.clone());
        if catch_unwind(AssertUnwindSafe(|| self.restore(now))).is_err() {
            tracing::error!(
                revision = revision.0,
                "that failed, too: what is derived is not to be relied on; restart the controller"
            );
        }
    }
}

/// A path as a hash of each step: all that it takes to see that one begins with the other.
type Trail = Box<[u64]>;

fn trail(path: &DataPath) -> Trail {
    path.steps.iter().map(|step| BuildHasherDefault::<DefaultHasher>::default().hash_one(step)).collect()
}

/// Puts what the engine derived into the derived layers. Of however many edits that is work for one thread: the switches were told of
/// them at the same time, and need the other processors.
pub(super) fn derive(after: &mut Snapshot, edits: &[DerivedEdit], revision: u64) {
    let Snapshot { schema, config, operational, .. } = after;
    put_derived(config, schema, Store::Config, edits, revision);
    put_derived(operational, schema, Store::Operational, edits, revision);
}

/// The same at a start, when nobody has been told of anything: the two stores have trees of their own, so that they are shared out.
fn derive_all(after: &mut Snapshot, edits: &[DerivedEdit], revision: u64) {
    let Snapshot { schema, config, operational, .. } = after;
    let schema: &Schema = schema;
    thread::scope(|scope| {
        scope.spawn(|| put_derived(config, schema, Store::Config, edits, revision));
        put_derived(operational, schema, Store::Operational, edits, revision);
    });
}

fn put_derived(layers: &mut Layers, schema: &Schema, store: Store, edits: &[DerivedEdit], revision: u64) {
    for edit in edits.iter().filter(|edit| edit.at().store() == store) {
        let steps = edit.at().steps();
        if let Err(error) = tree::set(&mut layers.derived, schema, &steps, edit.node(), revision) {
            let path = DataPath { steps }.display(schema);
            tracing::error!(%error, path, "a derived node does not fit its model");
        }
    }
}

pub(super) fn take_ids(ids: &mut Ids, changes: &[IdChange]) {
    for change in changes {
        let key = (change.pool.clone(), change.key.clone());
        match change.id {
            Some(id) => ids.insert(key, id),
            None => ids.remove(&key),
        };
    }
}

/// The state after these edits of the input layers, neither validated nor rendered; and for each edit, whether there was nothing
/// at its path before.
///
/// # Errors
/// When one of them is impossible.
pub fn edited(before: &Snapshot, edits: &[Edit]) -> Result<(Snapshot, Vec<bool>), DatastoreError> {
    let mut after = before.clone();
    let mut created = Vec::with_capacity(edits.len());
    for (number, edit) in edits.iter().enumerate() {
        created.push(apply_edit(&mut after, edit, 0).map_err(|error| match edits.len() {
            1 => error,
            _ => DatastoreError::AtEdit { number, error: Box::new(error) },
        })?);
    }
    Ok((after, created))
}

/// Applies one edit to the input layer, and stamps what changes with a revision (0: not yet). True: there was nothing before.
pub(super) fn apply_edit(after: &mut Snapshot, edit: &Edit, revision: u64) -> Result<bool, DatastoreError> {
    let schema = after.schema;
    let layers = after.layers_mut(edit.store);
    let there = edit.path.steps.is_empty() || tree::get_ref(&layers.input, &edit.path).is_some();
    let derived = !edit.path.steps.is_empty() && tree::get_ref(&layers.derived, &edit.path).is_some();
    let missing = || DatastoreError::Missing { path: edit.path.display(schema) };
    let implicit = is_implicit(schema, edit);
    match edit.operation {
        Operation::Create if there || implicit => {
            return Err(DatastoreError::Exists { path: edit.path.display(schema) });
        }
        Operation::Delete if !there && derived => {
            let owner = "what was configured".to_owned();
            return Err(DatastoreError::DerivedOwned { path: edit.path.display(schema), owner });
        }
        Operation::Delete | Operation::Move if !there => return Err(missing()),
        _ => {}
    }
    // What actors observe comes in any order, and what is derived may be added to.
    let parent_derived =
        edit.path.parent().is_some_and(|parent| tree::get_ref(&layers.derived, &parent).is_some());
    let parents =
        if edit.store == Store::Operational || parent_derived { Parents::Create } else { Parents::Require };
    let node = || edit.node.clone().ok_or_else(missing);
    let input = &mut layers.input;
    match edit.operation {
        Operation::Create | Operation::Replace => {
            tree::put_at(input, schema, &edit.path, node()?, parents, revision)?;
        }
        Operation::Merge => tree::merge_at(input, schema, &edit.path, node()?, parents, revision)?,
        Operation::Delete | Operation::Remove => tree::set(input, schema, &edit.path.steps, None, revision)?,
        Operation::Move => {}
    }
    if let Some(position) = &edit.position {
        reposition(input, schema, &edit.path, position)?;
    }
    Ok(!there && !implicit)
}

/// Whether what is put is an empty container without presence: it is there whenever its parent is, so nothing is created
/// (RFC 7950 section 7.5.1).
fn is_implicit(schema: &Schema, edit: &Edit) -> bool {
    let kind = edit.path.last_node().map(|id| &schema.node(id).kind);
    let is_empty = matches!(&edit.node, Some(Node::Container(fields)) if fields.is_empty());
    is_empty && matches!(kind, Some(Kind::Container { presence: false }))
}

pub(super) fn changes(before: &Snapshot, after: &Snapshot) -> Vec<Change> {
    let of = |store: Store| {
        let found = diff(before.schema, &before.layers(store).input, &after.layers(store).input);
        found.into_iter().map(move |(path, before, after)| Change { store, path, before, after })
    };
    of(Store::Config).chain(of(Store::Operational)).collect()
}
