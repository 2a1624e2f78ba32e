//! A store that another controller writes to, read as it grows.
//!
//! Nothing is told but looked at: each look asks, at one moment of etcd, how far the records go and for those that are not known yet.
//! So nothing can be missed, whatever etcd has compacted meanwhile; records that a checkpoint has taken the place of are told as such.

use std::sync::Arc;
use std::time::Duration;

use etcd_client::{GetOptions, KeyValue, TxnOp, TxnOpResponse};

use super::super::frame::records_in;
use super::super::{JournalError, Loaded, News, Records, Replica};
use super::keys::{Keys, Manifest, piece};
use super::load;
use super::{Credentials, Link, Place, Store, Txn};

/// Values of one look: with the largest ones, 32 MiB.
const PAGE: i64 = 32;
/// Is looked at again even if nothing is told.
const PAUSE: Duration = Duration::from_secs(1);

pub struct EtcdReplica {
    store: Store,
    /// Revision of the last record that was given out.
    reached: u64,
}

impl EtcdReplica {
    /// Takes nothing from whoever has the store.
    ///
    /// # Errors
    /// As [`super::EtcdJournal::open`].
    pub fn open(place: &Place, credentials: &Credentials) -> Result<EtcdReplica, JournalError> {
        let link = Arc::new(Link::open(place, credentials)?);
        let store = Store { link, keys: Keys::new(&place.name), writer: Arc::from(""), claimed: 0 };
        Ok(EtcdReplica { store, reached: 0 })
    }

    /// The records behind those that were given out, of as many groups as come with one answer; and how far they go.
    fn look(&self) -> Result<Look, JournalError> {
        let Store { link, keys, .. } = &self.store;
        let range = GetOptions::new().with_range(keys.log_end()).with_limit(PAGE);
        let look = Txn::new().and_then([
            TxnOp::get(keys.head(), None),
            TxnOp::get(keys.manifest(), None),
            TxnOp::get(keys.log(self.reached.saturating_add(1)), Some(range)),
        ]);
        let found = link.insist(&keys.head(), || link.txn(look.clone()))?;
        let mut answers = found.op_responses().into_iter().map(|response| match response {
            TxnOpResponse::Get(found) => found.kvs().to_vec(),
            _ => Vec::new(),
        });
        let mut answer = || answers.next().unwrap_or_default();
        let head = answer().first().map(|head| self.store.head(head.value())).transpose()?;
        let manifest =
            answer().first().and_then(|found| serde_json::from_slice::<Manifest>(found.value()).ok());
        let (checkpoint, newest) =
            (manifest.map_or(0, |manifest| manifest.revision), head.map_or(0, |head| head.revision));
        Ok(Look { newest, checkpoint, pieces: answer() })
    }

    /// The whole groups among pieces, which must follow what was given out. `None`: there is a gap.
    fn groups(&self, pieces: &[KeyValue], newest: u64) -> Result<Option<Records>, JournalError> {
        let mut records = Records::new();
        let (mut reached, mut group, mut next) = (self.reached, Vec::new(), 0);
        for found in pieces {
            let key = String::from_utf8_lossy(found.key());
            let damaged = |reason: &str| self.store.damaged(&key, reason);
            let (revision, number) =
                self.store.keys.piece_of(found.key()).ok_or_else(|| damaged("its name"))?;
            if revision > newest {
                // On its way, or left by an append that never came to its end.
                break;
            }
            let piece = piece(found.value()).ok_or_else(|| damaged("its checksum"))?;
            if number != next || piece.previous > reached {
                return Ok(None);
            }
            group.extend_from_slice(piece.bytes);
            next += 1;
            if next == piece.count {
                let whole = records_in(&group).ok_or_else(|| damaged("its records"))?;
                records.extend(whole.into_iter().filter(|(revision, _)| *revision > self.reached));
                group.clear();
                (reached, next) = (revision, 0);
            }
        }
        Ok(Some(records))
    }
}

/// What was found at one moment.
struct Look {
    newest: u64,
    checkpoint: u64,
    pieces: Vec<KeyValue>,
}

impl Replica for EtcdReplica {
    fn load(&mut self) -> Result<Loaded, JournalError> {
        let loaded = load::load_any(&self.store)?;
        self.reached = loaded.newest();
        Ok(loaded)
    }

    fn news(&mut self) -> Result<News, JournalError> {
        let Look { newest, checkpoint, pieces } = self.look()?;
        if newest <= self.reached {
            return Ok(News::Records { records: Vec::new(), newest, checkpoint });
        }
        match self.groups(&pieces, newest)? {
            // A group of more pieces than come with one answer is loaded with everything else.
            None => Ok(News::Gone),
            Some(records) if records.is_empty() => Ok(News::Gone),
            Some(records) => {
                self.reached = records.last().map_or(self.reached, |(revision, _)| *revision);
                Ok(News::Records { records, newest, checkpoint })
            }
        }
    }

    fn changes(&self) -> Box<dyn FnMut() + Send> {
        let link = self.store.link.clone();
        let changed = link.watch(self.store.keys.head());
        Box::new(move || {
            // The link ends with who waits.
            let _ = (&link, changed.recv_timeout(PAUSE));
        })
    }
}
