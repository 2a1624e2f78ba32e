//! Reads a store as it was at one moment, page by page.

use etcd_client::{GetOptions, KeyValue, TxnOp, TxnOpResponse};

use super::super::frame::records_in;
use super::super::{JournalError, Loaded, Parts, Records};
use super::keys::{Manifest, after, opened, piece};
use super::{Fault, Store, Txn, Written, revision_of};

/// Values asked for at once: with the largest ones, 32 MiB.
const PAGE: i64 = 32;
/// How often is begun again when etcd forgets the moment that is read.
const TRIES: usize = 5;

/// What was found of a moment; `None`: etcd has compacted it away meanwhile.
type Read<T> = Result<Option<T>, JournalError>;

pub(super) fn load(store: &Store, head: Written) -> Result<Loaded, JournalError> {
    again(store, || load_once(store, Some(head)))
}

/// The same of a store that somebody else may be writing to.
pub(super) fn load_any(store: &Store) -> Result<Loaded, JournalError> {
    again(store, || load_once(store, None))
}

/// Begins again when etcd forgets the moment that is read.
fn again(store: &Store, load_once: impl Fn() -> Read<Loaded>) -> Result<Loaded, JournalError> {
    for _ in 0..TRIES {
        if let Some(loaded) = load_once()? {
            return Ok(loaded);
        }
    }
    let reason = "it is compacted faster than it is read".to_owned();
    Err(store.link.failed(&store.keys.log(0), Fault::Refused(reason)))
}

/// `head`: what it must be, as its owner knows it.
fn load_once(store: &Store, head: Option<Written>) -> Read<Loaded> {
    let keys = &store.keys;
    let look = Txn::new().and_then([TxnOp::get(keys.head(), None), TxnOp::get(keys.manifest(), None)]);
    let found = store.link.insist(&keys.head(), || store.link.txn(look.clone()))?;
    let moment = revision_of(&found);
    let mut values = found.op_responses().into_iter().map(|response| match response {
        TxnOpResponse::Get(found) => found.kvs().first().cloned(),
        _ => None,
    });
    let (now, manifest) = (values.next().flatten(), values.next().flatten());
    if let Some(head) = head
        && now.as_ref().is_none_or(|now| now.mod_revision() != head.at)
    {
        return Err(store.displaced("somebody else has taken it over"));
    }
    let Some(now) = now else { return Ok(Some(Loaded::default())) };
    let newest = store.head(now.value())?.revision;
    let checkpoint = match manifest {
        None => None,
        Some(manifest) => match checkpoint(store, &manifest, moment)? {
            Some(checkpoint) => Some(checkpoint),
            None => return Ok(None),
        },
    };
    let behind = checkpoint.as_ref().map_or(0, |(revision, _)| *revision);
    let Some(records) = records(store, behind, newest, moment)? else { return Ok(None) };
    Ok(Some(Loaded { checkpoint, records, repairs: Vec::new() }))
}

fn checkpoint(store: &Store, manifest: &KeyValue, moment: i64) -> Read<Parts> {
    let key = store.keys.manifest();
    let manifest: Manifest =
        serde_json::from_slice(manifest.value()).map_err(|error| store.damaged(&key, error))?;
    let folder = &manifest.folder;
    let mut parts = Vec::new();
    let (mut rest, mut pieces) = (Vec::new(), 0);
    let done = pages(store, store.keys.folder(folder), &store.keys.folder_end(folder), moment, |found| {
        let key = String::from_utf8_lossy(found.key());
        let bytes = opened(found.value()).ok_or_else(|| store.damaged(&key, "its checksum"))?;
        if key != store.keys.folder_piece(folder, pieces) {
            return Err(store.damaged(&key, "a piece before it is missing"));
        }
        pieces += 1;
        rest.extend_from_slice(bytes);
        let mut at = 0;
        while let Some((length, behind)) = rest[at..].split_first_chunk() {
            let Some(part) = behind.get(..u32::from_be_bytes(*length) as usize) else { break };
            parts.push(part.to_vec());
            at += 4 + part.len();
        }
        rest.drain(..at);
        Ok(())
    })?;
    if done.is_none() {
        return Ok(None);
    }
    if pieces != manifest.pieces || !rest.is_empty() {
        let reason = format!("{pieces} of {} pieces are there", manifest.pieces);
        return Err(store.damaged(&store.keys.folder(folder), reason));
    }
    Ok(Some((manifest.revision, parts)))
}

/// The records behind a revision, up to that of `head`.
pub(super) fn records(store: &Store, behind: u64, newest: u64, moment: i64) -> Read<Records> {
    let keys = &store.keys;
    let mut records = Records::new();
    // Revision of the last whole group; the checkpoint stands for those before the first.
    let mut reached = None;
    let (mut group, mut next) = (Vec::new(), 0);
    let done = pages(store, keys.log(0), &keys.log_end(), moment, |found| {
        let key = String::from_utf8_lossy(found.key());
        let damaged = |reason: &str| store.damaged(&key, reason);
        let (revision, number) = keys.piece_of(found.key()).ok_or_else(|| damaged("its name"))?;
        let piece = piece(found.value()).ok_or_else(|| damaged("its checksum"))?;
        let follows = match reached {
            Some(reached) => piece.previous == reached,
            None => piece.previous <= behind,
        };
        if number != next || !follows {
            return Err(damaged("what should stand before it is missing"));
        }
        group.extend_from_slice(piece.bytes);
        next += 1;
        if next == piece.count {
            let whole = records_in(&group).ok_or_else(|| damaged("its records"))?;
            records.extend(whole.into_iter().filter(|(revision, _)| *revision > behind));
            group.clear();
            (reached, next) = (Some(revision), 0);
        }
        Ok(())
    })?;
    if done.is_none() {
        return Ok(None);
    }
    if next != 0 || reached.map_or(newest > behind, |reached| reached != newest) {
        let reason = format!("the records up to revision {newest} are not all there");
        return Err(store.damaged(&keys.log(0), reason));
    }
    Ok(Some(records))
}

/// Goes through the values of a range as they were at a moment.
fn pages(
    store: &Store,
    from: String,
    end: &str,
    moment: i64,
    mut each: impl FnMut(&KeyValue) -> Result<(), JournalError>,
) -> Read<()> {
    let mut from = from.into_bytes();
    loop {
        let options = GetOptions::new().with_range(end).with_limit(PAGE).with_revision(moment);
        let begun = std::time::Instant::now();
        let found = loop {
            match store.link.get(&from, Some(options.clone())) {
                Ok(found) => break found,
                Err(Fault::Refused(reason)) if reason.contains("compacted") => return Ok(None),
                Err(Fault::Unanswered(_)) if begun.elapsed() < super::link::PATIENCE => super::pause(),
                Err(fault) => return Err(store.link.failed(&String::from_utf8_lossy(&from), fault)),
            }
        };
        found.kvs().iter().try_for_each(&mut each)?;
        match found.kvs().last().filter(|_| found.more()) {
            Some(last) => from = after(last.key()),
            None => return Ok(Some(())),
        }
    }
}
