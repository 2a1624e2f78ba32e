//! The journal in etcd. Keys and values: [`keys`]; why it is as it is: docs/decisions/0103.
//!
//! Whoever opens a store owns it from then on: that writes `head`, and every append compares `head` with what its journal wrote last. So
//! of two controllers one cannot append any more, whatever it believes, and what an append left unanswered is found out by writing
//! `head` again: either that succeeds, and the append can never happen, or `head` says that it has happened.

mod checkpoint;
mod follow;
mod keys;
mod link;
mod load;
mod place;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use etcd_client::{Compare, CompareOp, DeleteOptions, Txn, TxnOp, TxnOpResponse, TxnResponse};

use super::{Checkpoints, Journal, JournalError, Loaded};
use checkpoint::EtcdCheckpoints;
pub use follow::EtcdReplica;
use keys::{FORMAT, Former, Head, Keys, Owner};
pub use link::options;
use link::{Fault, Link, PATIENCE, pause};
pub use place::{Credentials, Place, PlaceError, User};

/// How often a store is claimed that others claim as well.
const CLAIMS: usize = 10;
/// Between two words about an etcd that does not answer.
const WORD: Duration = Duration::from_secs(5);

pub struct EtcdJournal {
    store: Store,
    /// What this journal wrote there last.
    head: Written,
    /// An append has failed: its pieces may be there, or still come.
    is_unsettled: bool,
    repairs: Vec<String>,
}

/// A store and who writes to it.
#[derive(Clone)]
struct Store {
    link: Arc<Link>,
    keys: Keys,
    /// A name that no other opening has.
    writer: Arc<str>,
    /// Etcd's revision of the claim.
    claimed: i64,
}

/// What `head` says, and etcd's revision of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Written {
    revision: u64,
    at: i64,
}

/// What became of an append that was not answered.
enum Outcome {
    Happened,
    /// And never will.
    DidNot,
}

/// The key under which the active controller of a store is told.
pub fn leader_key(place: &Place) -> String {
    Keys::new(&place.name).leader()
}

/// What all keys begin with under which the controllers of a store, and the owners of switches, are told.
pub fn cluster_prefix(place: &Place) -> String {
    Keys::new(&place.name).cluster()
}

impl EtcdJournal {
    /// Takes the store over, making it if there is none: from now on nobody else appends to it.
    ///
    /// # Errors
    /// When etcd does not answer for ten seconds or refuses, or the store is of a newer format.
    pub fn open(place: &Place, credentials: &Credentials) -> Result<EtcdJournal, JournalError> {
        let link = Arc::new(Link::open(place, credentials)?);
        let writer = format!("{}-{:08x}", std::process::id(), rand::random::<u32>()).into();
        let mut store = Store { link, keys: Keys::new(&place.name), writer, claimed: 0 };
        let key = store.keys.head();
        for _ in 0..CLAIMS {
            let found = store.link.insist(&key, || store.link.get(key.as_bytes(), None))?;
            let (former, at) = match found.kvs().first() {
                None => (None, 0),
                Some(found) => (Some(store.head(found.value())?), found.mod_revision()),
            };
            let revision = former.as_ref().map_or(0, |head| head.revision);
            let after = former.map(|head| Former { writer: head.writer, revision });
            let owner = Owner { writer: store.writer.to_string(), after };
            let claim = store.settling(Written { revision, at }, revision, Some(&owner));
            match store.link.txn(claim) {
                Ok(done) if done.succeeded() => {
                    store.claimed = revision_of(&done);
                    let head = Written { revision, at: store.claimed };
                    let mut repairs = Vec::new();
                    let gone = deleted(&done);
                    if gone > 0 {
                        repairs.push(format!(
                            "{place}: {gone} pieces of records behind revision {revision} were taken away; they were never acknowledged"
                        ));
                    }
                    return Ok(EtcdJournal { store, head, is_unsettled: false, repairs });
                }
                // Somebody else was faster, or our own claim was and its answer was lost: what is there now?
                Ok(_) | Err(Fault::Unanswered(_)) => pause(),
                Err(fault) => return Err(store.link.failed(&key, fault)),
            }
        }
        Err(store.displaced("others keep claiming it"))
    }

    /// Appends once. `Ok(false)`: it has certainly not happened, and another try may succeed.
    fn try_append(&mut self, records: &[(u64, Vec<u8>)], last: u64) -> Result<bool, JournalError> {
        let Store { link, keys, .. } = &self.store;
        let mut pieces = keys::pieces(self.head.revision, records);
        let Some(end) = pieces.pop() else { return Ok(true) };
        for (number, piece) in pieces.iter().enumerate() {
            let key = keys.log_piece(last, number);
            let put = Txn::new().when([self.still_head()]).and_then([TxnOp::put(
                key.as_str(),
                piece.as_slice(),
                None,
            )]);
            self.is_unsettled = true;
            if !link.insist(&key, || link.txn(put.clone()))?.succeeded() {
                return Err(self.store.displaced("somebody else has written to it"));
            }
        }
        let key = keys.log_piece(last, pieces.len());
        let head = self.store.head_with(last);
        let put = Txn::new()
            .when([self.still_head()])
            .and_then([TxnOp::put(key.as_str(), end, None), TxnOp::put(keys.head(), head, None)]);
        match link.txn(put) {
            Ok(done) if done.succeeded() => {
                self.head = Written { revision: last, at: revision_of(&done) };
                self.is_unsettled = false;
                Ok(true)
            }
            // Somebody else has written; or we have, and what we heard was of a second delivery.
            Ok(_) => Ok(matches!(self.find_out(last)?, Outcome::Happened)),
            Err(Fault::Unanswered(reason)) => {
                tracing::warn!(%reason, store = %link.place, "an append was not answered; finding out what became of it");
                Ok(matches!(self.find_out(last)?, Outcome::Happened))
            }
            Err(fault) => {
                self.is_unsettled = true;
                Err(link.failed(&key, fault))
            }
        }
    }

    /// What became of an append that was not answered. Waits as long as it takes: as long as that is not known, neither answer is true.
    fn find_out(&mut self, last: u64) -> Result<Outcome, JournalError> {
        let mut said = Instant::now();
        loop {
            match self.settle(last) {
                Ok(outcome) => return outcome,
                Err(Fault::Refused(reason) | Fault::Unanswered(reason)) => {
                    if said.elapsed() >= WORD {
                        said = Instant::now();
                        let store = &self.store.link.place;
                        tracing::warn!(%reason, %store, "whether the last append has happened is still not known; writers wait");
                    }
                    pause();
                }
            }
        }
    }

    /// Writes `head` again, so that nothing that is on its way can happen any more, and takes away what is behind it.
    fn settle(&mut self, last: u64) -> Result<Result<Outcome, JournalError>, Fault> {
        let Store { link, keys, .. } = &self.store;
        let settling = self.store.settling(self.head, self.head.revision, None);
        let look = [TxnOp::get(keys.head(), None), TxnOp::get(keys.writer(), None)];
        let done = link.txn(settling.or_else(look))?;
        if done.succeeded() {
            self.head.at = revision_of(&done);
            self.is_unsettled = false;
            return Ok(Ok(Outcome::DidNot));
        }
        let mut values = done.op_responses().into_iter().map(|response| match response {
            TxnOpResponse::Get(found) => found.kvs().first().cloned(),
            _ => None,
        });
        let (head, owner) = (values.next().flatten(), values.next().flatten());
        let Some(found) = head else {
            return Ok(Err(self.store.displaced("it was deleted")));
        };
        let head = match self.store.head(found.value()) {
            Ok(head) => head,
            Err(error) => return Ok(Err(error)),
        };
        if head.writer == *self.store.writer {
            self.head = Written { revision: head.revision, at: found.mod_revision() };
            self.is_unsettled = false;
            return Ok(Ok(if head.revision == last { Outcome::Happened } else { Outcome::DidNot }));
        }
        // Somebody else has it now, and has written down how far the records went before.
        let owner = owner.and_then(|owner| serde_json::from_slice::<Owner>(owner.value()).ok());
        Ok(match owner.and_then(|owner| owner.after).filter(|former| former.writer == *self.store.writer) {
            Some(former) if former.revision >= last => Ok(Outcome::Happened),
            Some(_) => Err(self.store.displaced("somebody else has taken it over")),
            None => Err(self.store.displaced(
                "several others have taken it over since; whether the last append happened is not known",
            )),
        })
    }

    fn still_head(&self) -> Compare {
        Compare::mod_revision(self.store.keys.head(), CompareOp::Equal, self.head.at)
    }
}

impl Store {
    /// Writes `head` (and `owner`, if given) and takes away what is behind it, if `head` is as it was.
    fn settling(&self, was: Written, revision: u64, owner: Option<&Owner>) -> Txn {
        let keys = &self.keys;
        let behind = DeleteOptions::new().with_range(keys.log_end());
        let mut steps = vec![
            TxnOp::put(keys.head(), self.head_with(revision), None),
            TxnOp::delete(keys.log(revision.saturating_add(1)), Some(behind)),
        ];
        steps.extend(owner.map(|owner| TxnOp::put(keys.writer(), json(owner), None)));
        Txn::new().when([Compare::mod_revision(keys.head(), CompareOp::Equal, was.at)]).and_then(steps)
    }

    fn head_with(&self, revision: u64) -> Vec<u8> {
        json(&Head { format: FORMAT, revision, writer: self.writer.to_string() })
    }

    fn head(&self, value: &[u8]) -> Result<Head, JournalError> {
        let key = self.keys.head();
        let head: Head = serde_json::from_slice(value).map_err(|error| self.damaged(&key, error))?;
        if head.format > FORMAT {
            return Err(JournalError::Newer { path: self.path(&key), found: head.format, known: FORMAT });
        }
        Ok(head)
    }

    fn path(&self, key: &str) -> std::path::PathBuf {
        format!("{} ({key})", self.link.place).into()
    }

    fn damaged(&self, key: &str, reason: impl std::fmt::Display) -> JournalError {
        JournalError::Damaged { path: self.path(key), reason: reason.to_string() }
    }

    fn displaced(&self, reason: &'static str) -> JournalError {
        JournalError::Displaced { store: self.link.place.to_string(), reason }
    }
}

/// Etcd's revision of a transaction.
fn revision_of(done: &TxnResponse) -> i64 {
    done.header().map_or(0, etcd_client::ResponseHeader::revision)
}

/// How many keys a transaction took away.
fn deleted(done: &TxnResponse) -> i64 {
    let deleted = |response| if let TxnOpResponse::Delete(gone) = response { gone.deleted() } else { 0 };
    done.op_responses().into_iter().map(deleted).sum()
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

impl Journal for EtcdJournal {
    fn load(&mut self) -> Result<Loaded, JournalError> {
        Ok(Loaded { repairs: self.repairs.clone(), ..load::load(&self.store, self.head)? })
    }

    fn append(&mut self, records: &[(u64, Vec<u8>)]) -> Result<(), JournalError> {
        let Some((last, _)) = records.last() else { return Ok(()) };
        let begun = Instant::now();
        loop {
            // A member that is cut off from the others says at once that it cannot: how often is no measure.
            let mut is_settled = true;
            if self.is_unsettled {
                match self.settle(*last) {
                    Ok(outcome) => {
                        outcome?;
                    }
                    Err(Fault::Unanswered(_)) => is_settled = false,
                    Err(fault) => return Err(self.store.link.failed(&self.store.keys.head(), fault)),
                }
            }
            if is_settled && self.try_append(records, *last)? {
                return Ok(());
            }
            if begun.elapsed() >= PATIENCE {
                break;
            }
            pause();
        }
        let key = self.store.keys.log(*last);
        let said = format!("no try was answered for {} s", PATIENCE.as_secs());
        Err(self.store.link.failed(&key, Fault::Unanswered(said)))
    }

    fn checkpoints(&self) -> Box<dyn Checkpoints> {
        Box::new(EtcdCheckpoints::new(self.store.clone()))
    }
}
