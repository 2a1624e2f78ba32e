//! From a journal to a snapshot, and from a snapshot to a checkpoint.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::journal::{Journal, JournalError, Record, RecordError};
use super::{Edit, IdChange, Operation, Revision, Snapshot, Store};
use crate::schema::{DataPath, Entries, Node, Parents, Schema, json, reposition, stamp_since, tree};

/// Revisions below this distance may have been used by commits that were not journalled.
const SKIP: u64 = 1 << 16;

/// What the journal held.
#[derive(Debug)]
pub struct Recovered {
    /// Input layers only.
    pub snapshot: Snapshot,
    pub ids: Vec<IdChange>,
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

/// Replays a journal.
///
/// # Errors
/// When it cannot be read, or holds data that the models do not know. Nothing is changed then.
pub fn recover(schema: &'static Schema, journal: &mut dyn Journal) -> Result<Recovered, RecoveryError> {
    let loaded = journal.load()?;
    let mut snapshot = Snapshot::empty(schema);
    let mut ids: BTreeMap<(String, String), u32> = BTreeMap::new();
    let mut last = 0;
    let parts =
        loaded.checkpoint.iter().flat_map(|(revision, parts)| parts.iter().map(|part| (*revision, part)));
    for (revision, bytes) in parts.chain(loaded.records.iter().map(|(revision, bytes)| (*revision, bytes))) {
        let record = Record::from_bytes(schema, revision, bytes)?;
        for edit in &record.edits {
            replay(&mut snapshot, edit).map_err(|reason| RecordError { revision, reason })?;
        }
        for change in record.ids {
            match change.id {
                Some(id) => ids.insert((change.pool, change.key), id),
                None => ids.remove(&(change.pool, change.key)),
            };
        }
        last = revision;
    }
    if last > 0 {
        snapshot.revision = Revision((last / SKIP + 1) * SKIP);
    }
    // Stamps of an earlier life mean nothing; everything is as of the start.
    let revision = snapshot.revision.0;
    for store in [Store::Config, Store::Operational] {
        let layers = snapshot.layers_mut(store);
        layers.input = stamp_since(&Arc::default(), &layers.input, revision);
    }
    let ids = ids.into_iter().map(|((pool, key), id)| IdChange { pool, key, id: Some(id) }).collect();
    Ok(Recovered { snapshot, ids, records: loaded.records.len(), repairs: loaded.repairs })
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

/// The input layers and allocations as the parts of a checkpoint: records that, replayed, give the same state.
pub fn checkpoint_parts(snapshot: &Snapshot, ids: &[IdChange]) -> Vec<Vec<u8>> {
    let schema = snapshot.schema;
    let record = |edits: Vec<Edit>, ids: Vec<IdChange>| {
        let record =
            Record { revision: snapshot.revision.0, author: "checkpoint".into(), time: 0, edits, ids };
        record.to_bytes(schema)
    };
    let mut parts = vec![record(Vec::new(), ids.to_vec())];
    for store in [Store::Config, Store::Operational] {
        for (id, node) in &snapshot.layers(store).input.children {
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
    for (id, child) in &fields.children {
        match child {
            Node::List(list) if list.len() > ENTRIES && !matches!(list.entries, Entries::Keyless(_)) => {
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
