//! Writes checkpoints: their pieces into a folder of its own, then, in one transaction, the manifest that names the folder, and the end
//! of all that it takes the place of.

use etcd_client::{Compare, CompareOp, DeleteOptions, Txn, TxnOp, TxnOpResponse};

use super::super::{Checkpoints, JournalError};
use super::keys::{Manifest, PIECE, sealed};
use super::{Store, json};

/// How often the manifest is written when the one before turns out to be another.
const TRIES: usize = 3;

pub(super) struct EtcdCheckpoints(Store);

impl EtcdCheckpoints {
    pub fn new(store: Store) -> EtcdCheckpoints {
        EtcdCheckpoints(store)
    }

    fn ours(&self) -> Compare {
        Compare::mod_revision(self.0.keys.writer(), CompareOp::Equal, self.0.claimed)
    }

    fn put(&self, key: &str, piece: &[u8]) -> Result<(), JournalError> {
        let put = Txn::new().when([self.ours()]).and_then([TxnOp::put(key, sealed(&[piece]), None)]);
        let done = self.0.link.insist(key, || self.0.link.txn(put.clone()))?;
        done.succeeded().then_some(()).ok_or_else(|| self.0.displaced("somebody else has taken it over"))
    }

    /// Has a manifest hold.
    fn turn(&self, manifest: &Manifest) -> Result<(), JournalError> {
        let Store { link, keys, .. } = &self.0;
        let (key, folder) = (keys.manifest(), &manifest.folder);
        let look = || TxnOp::get(key.as_str(), None);
        let found = link.insist(&key, || link.get(key.as_bytes(), None))?;
        let mut known = found.kvs().first().map_or(0, etcd_client::KeyValue::mod_revision);
        let remove =
            |from: String, to: String| TxnOp::delete(from, Some(DeleteOptions::new().with_range(to)));
        for _ in 0..TRIES {
            // An older turn that comes late must not undo a newer one: it compares the manifest that it knew.
            let turn = Txn::new()
                .when([self.ours(), Compare::mod_revision(key.as_str(), CompareOp::Equal, known)])
                .and_then([
                    TxnOp::put(key.as_str(), json(manifest), None),
                    remove(keys.log(0), keys.log(manifest.revision.saturating_add(1))),
                    remove(keys.folders(), keys.folder(folder)),
                    remove(keys.folder_end(folder), keys.folders_end()),
                ])
                .or_else([look(), TxnOp::get(keys.writer(), None)]);
            let done = link.insist(&key, || link.txn(turn.clone()))?;
            if done.succeeded() {
                return Ok(());
            }
            let mut values = done.op_responses().into_iter().map(|response| match response {
                TxnOpResponse::Get(found) => found.kvs().first().cloned(),
                _ => None,
            });
            let (found, owner) = (values.next().flatten(), values.next().flatten());
            let there = found.as_ref().and_then(|found| serde_json::from_slice(found.value()).ok());
            if there.as_ref() == Some(manifest) {
                return Ok(());
            }
            if owner.is_none_or(|owner| owner.mod_revision() != self.0.claimed) {
                return Err(self.0.displaced("somebody else has taken it over"));
            }
            known = found.map_or(0, |found| found.mod_revision());
        }
        Err(self.0.displaced("somebody else writes checkpoints there"))
    }
}

impl Checkpoints for EtcdCheckpoints {
    fn write(&mut self, revision: u64, parts: &[Vec<u8>]) -> Result<(), JournalError> {
        let folder = format!("{revision:020}.{:016x}", rand::random::<u64>());
        let mut pieces = 0;
        let mut waiting = Vec::new();
        for part in parts {
            waiting.extend((part.len() as u32).to_be_bytes());
            waiting.extend_from_slice(part);
            let mut whole = waiting.chunks_exact(PIECE);
            for piece in whole.by_ref() {
                self.put(&self.0.keys.folder_piece(&folder, pieces), piece)?;
                pieces += 1;
            }
            waiting = whole.remainder().to_vec();
        }
        if !waiting.is_empty() {
            self.put(&self.0.keys.folder_piece(&folder, pieces), &waiting)?;
            pieces += 1;
        }
        self.turn(&Manifest { revision, folder, pieces })
    }
}
