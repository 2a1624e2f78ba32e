//! From a journal to a snapshot, and from a snapshot to a checkpoint.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::core::take_ids;
use super::history::{Entry, Ids, Kind, id_changes};
use super::journal::{Journal, JournalError, Loaded, Record, RecordError};
use super::past::State;
use super::{Edit, IdChange, Operation, Resting, Revision, Snapshot, Store};
use crate::schema::{DataPath, Entries, Node, Parents, Schema, Text, json, reposition, stamp_since, tree};

/// Revisions below this distance may have been used by commits that were not journalled.
pub(super) const SKIP: u64 = 1 << 16;

/// What the journal held.
#[derive(Debug)]
pub struct Recovered {
    /// Input layers only.
    pub snapshot: Snapshot,
    pub ids: Vec<IdChange>,
    /// Numbers that were released and are nobody's now.
    pub resting: Vec<Resting>,
    /// The states before, oldest first, as far as they were asked for and records reach.
    pub(super) past: Vec<Entry>,
    /// The newest revision that the journal knows.
    pub(super) last: u64,
    /// Records behind the checkpoint.
    pub records: usize,
    /// What had to be mended, for the operator.
    pub repairs: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(
        "the stored data do not fit the models: {0}. Start the version that wrote them, export, and import here"
    )]
    Record(#[from] RecordError),
}

/// Replays a journal; with the states after its last `keep` records.
///
/// # Errors
/// When it cannot be read, or holds data that the models do not know. Nothing is changed then.
pub fn recover(
    schema: &'static Schema,
    journal: &mut dyn Journal,
    keep: usize,
) -> Result<Recovered, RecoveryError> {
    replayed(schema, journal.load()?, keep, fresh)
}

/// The first revision that nobody can have used, whatever was not journalled.
///
/// # Errors
/// When there is none behind the last one.
pub(super) fn fresh(last: u64) -> Result<u64, RecordError> {
    if last == 0 {
        return Ok(0);
    }
    let first = (last / SKIP + 1).checked_mul(SKIP);
    first.ok_or_else(|| RecordError { revision: last, reason: "no revision can come after it".into() })
}

/// Replays what was loaded; with the states after its last `keep` records. `start`: the revision of the state, by the last one that was
/// journalled.
///
/// # Errors
/// When it holds data that the models do not know.
pub(super) fn replayed(
    schema: &'static Schema,
    loaded: Loaded,
    keep: usize,
    start: impl Fn(u64) -> Result<u64, RecordError>,
) -> Result<Recovered, RecoveryError> {
    let checkpoint = loaded.checkpoint.as_ref();
    let last = loaded.records.last().map(|(revision, _)| *revision);
    let last = last.or(checkpoint.map(|(revision, _)| *revision)).unwrap_or(0);
    let mut replay = Replay::new(schema, start(last)?);
    let mut past = Vec::new();
    if let Some((revision, parts)) = checkpoint {
        let mut time = 0;
        for part in parts {
            time = replay.record(*revision, part)?.time;
        }
        if loaded.records.len() <= keep {
            past.push(replay.entry(*revision, time, "checkpoint", Kind::Base, 0));
        }
    }
    let passed = loaded.records.len().saturating_sub(keep);
    for (number, (revision, bytes)) in loaded.records.iter().enumerate() {
        let record = replay.record(*revision, bytes)?;
        if number >= passed {
            let kind = kind_of(&record.edits);
            past.push(replay.entry(*revision, record.time, &record.author, kind, bytes.len()));
        }
    }
    replay.stamp();
    let Replay { snapshot, ids, released, .. } = replay;
    let resting = released.into_iter().map(|((pool, id), since)| Resting { pool, id, since }).collect();
    let ids = id_changes(&ids);
    Ok(Recovered {
        snapshot,
        ids,
        resting,
        past,
        last,
        records: loaded.records.len(),
        repairs: loaded.repairs,
    })
}

/// Clients write configuration, actors write facts.
pub(super) fn kind_of(edits: &[Edit]) -> Kind {
    match edits {
        // A milestone: it only keeps the number of its revision from being given again.
        [] => Kind::Base,
        edits if edits.iter().any(|edit| edit.store == Store::Config) => Kind::Client,
        _ => Kind::Fact,
    }
}

/// The state so far. Stamps of an earlier life mean nothing: everything is as of the start.
struct Replay {
    snapshot: Snapshot,
    stamped: Snapshot,
    ids: Ids,
    /// When a number was released last, by pool.
    released: BTreeMap<(Text, u32), SystemTime>,
    previous: Revision,
}

impl Replay {
    fn new(schema: &'static Schema, start: u64) -> Replay {
        let snapshot = Snapshot { revision: Revision(start), ..Snapshot::empty(schema) };
        Replay {
            stamped: snapshot.clone(),
            snapshot,
            ids: Ids::new(),
            released: BTreeMap::new(),
            previous: Revision(0),
        }
    }

    fn record(&mut self, revision: u64, bytes: &[u8]) -> Result<Record<'static>, RecordError> {
        let record = Record::from_bytes(self.snapshot.schema, revision, bytes)?;
        for edit in record.edits.iter() {
            replay(&mut self.snapshot, edit).map_err(|reason| RecordError { revision, reason })?;
        }
        for change in record.ids.iter() {
            match change.id {
                Some(id) => {
                    self.released.remove(&(change.pool.clone(), id));
                }
                None => {
                    // The record has whole seconds: no number is to rest for less than it should.
                    let time = UNIX_EPOCH + Duration::from_secs(record.time + 1);
                    let id = self.ids.get(&(change.pool.clone(), change.key.clone())).copied();
                    self.released.extend(id.map(|id| ((change.pool.clone(), id), time)));
                }
            }
        }
        take_ids(&mut self.ids, &record.ids);
        Ok(record)
    }

    /// Stamps what was not stamped yet; what is kept of the past shares it then.
    fn stamp(&mut self) {
        let revision = self.snapshot.revision.0;
        for store in [Store::Config, Store::Operational] {
            let before = &self.stamped.layers(store).input;
            let layers = self.snapshot.layers_mut(store);
            layers.input = stamp_since(before, &layers.input, revision);
        }
        self.stamped = self.snapshot.clone();
    }

    fn entry(&mut self, revision: u64, time: u64, author: &str, kind: Kind, bytes: usize) -> Entry {
        self.stamp();
        let revision = Revision(revision);
        let previous = std::mem::replace(&mut self.previous, revision);
        Entry {
            revision,
            previous,
            time: UNIX_EPOCH + Duration::from_secs(time),
            author: author.into(),
            kind,
            is_earlier: true,
            state: State::kept(Arc::new(Snapshot { revision, ..self.snapshot.clone() }), self.ids.clone()),
            bytes,
        }
    }
}

/// Applies an edit that was valid when it was written.
fn replay(snapshot: &mut Snapshot, edit: &Edit) -> Result<(), String> {
    let schema = snapshot.schema;
    let layers = snapshot.layers_mut(edit.store);
    let node = || edit.node.clone().ok_or_else(|| "an edit without its value".to_owned());
    let edited = match edit.operation {
        Operation::Create | Operation::Replace => {
            tree::put(&mut layers.input, schema, &edit.path, node()?, Parents::Create)
        }
        Operation::Merge => tree::merge(&mut layers.input, schema, &edit.path, node()?, Parents::Create),
        Operation::Delete | Operation::Remove => {
            tree::remove(&mut layers.input, schema, &edit.path).map(drop)
        }
        Operation::Move => Ok(()),
    };
    edited.map_err(|error| error.to_string())?;
    match &edit.position {
        Some(position) => {
            reposition(&mut layers.input, schema, &edit.path, position).map_err(|error| error.to_string())
        }
        None => Ok(()),
    }
}

/// Entries of one list that go into one part: parts stay around a megabyte.
const ENTRIES: usize = 1000;

/// The input layers and allocations as the parts of a checkpoint: records that, replayed, give the same state. `time` is
/// that of the state, in seconds since 1970.
pub fn checkpoint_parts(snapshot: &Snapshot, ids: &[IdChange], time: u64) -> Vec<Vec<u8>> {
    let schema = snapshot.schema;
    let record = |edits: Vec<Edit>, ids: Vec<IdChange>| {
        let (revision, author) = (snapshot.revision.0, "checkpoint".into());
        let record = Record { revision, author, time, edits: edits.into(), ids: ids.into() };
        record.to_bytes(schema)
    };
    let mut parts = vec![record(Vec::new(), ids.to_vec())];
    for store in [Store::Config, Store::Operational] {
        for (id, node) in &snapshot.layers(store).input {
            let path = DataPath::root().child(*id);
            let mut edits = Vec::new();
            spread(store, path, node, &mut edits, &mut |edits| parts.push(record(edits, Vec::new())));
            if !edits.is_empty() {
                parts.push(record(edits, Vec::new()));
            }
        }
    }
    parts
}

/// Cuts a top-level node into edits: containers of long lists entry by entry, everything else whole.
fn spread(store: Store, path: DataPath, node: &Node, edits: &mut Vec<Edit>, full: &mut dyn FnMut(Vec<Edit>)) {
    let mut add = |path: DataPath, node: Node| {
        edits.push(Edit::merge(store, path, node));
        if edits.len() >= ENTRIES {
            full(std::mem::take(edits));
        }
    };
    let Node::Container(fields) = node else { return add(path, node.clone()) };
    for (id, child) in fields.iter() {
        match child {
            Node::List(list) if list.len() > ENTRIES && !matches!(list.entries(), Entries::Keyless(_)) => {
                for (key, entry) in list {
                    add(path.clone().entry(*id, key.clone()), Node::Container(entry.clone()));
                }
            }
            child => add(path.clone().child(*id), child.clone()),
        }
    }
}

/// Whether a checkpoint is worth its while: so many records make a start slow.
pub fn wants_checkpoint(records: usize) -> bool {
    records > 20_000
}

/// Used where JSON of a whole store is wanted, as in tests and hashes.
pub fn to_json(snapshot: &Snapshot, store: Store) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(node) = snapshot.read(store, &DataPath::root()) {
        json::write_resource(snapshot.schema, &DataPath::root(), &node, &mut out);
    }
    out
}
