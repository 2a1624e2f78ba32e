//! What is behind the trees: a journal of transactions and checkpoints. Never read on the request path.

pub mod etcd;
pub mod frame;
mod log;
#[cfg(test)]
mod log_tests;
mod memory;
mod record;
mod sled;

pub use etcd::{EtcdJournal, EtcdReplica};
pub use memory::{Faults, MemoryJournal, MemoryReplica};
pub use record::{Record, RecordError};
pub use sled::SledJournal;

use std::path::PathBuf;

/// Records with their revisions, oldest first.
pub type Records = Vec<(u64, Vec<u8>)>;

/// A store behind the trees. Sled with a log is one, etcd is another; all pass the same conformance test.
pub trait Journal: Send {
    /// Everything that was made durable: the newest checkpoint and the records behind it, oldest first.
    ///
    /// # Errors
    /// When what is stored cannot be trusted; nothing is changed then.
    fn load(&mut self) -> Result<Loaded, JournalError>;

    /// Makes these records durable, all or none, before it returns.
    ///
    /// # Errors
    /// When that cannot be promised; then none of them will be loaded later.
    fn append(&mut self, records: &[(u64, Vec<u8>)]) -> Result<(), JournalError>;

    /// The half that writes checkpoints: it may be used in another thread while records are appended.
    fn checkpoints(&self) -> Box<dyn Checkpoints>;
}

/// A store that somebody else writes to, read as it grows.
pub trait Replica: Send {
    /// Everything that is durable now.
    ///
    /// # Errors
    /// As [`Journal::load`].
    fn load(&mut self) -> Result<Loaded, JournalError>;

    /// What has become durable since the last call, oldest first; it may be a part, if there is much. What was durable when it was
    /// called is in it, or behind it.
    ///
    /// # Errors
    /// When that cannot be known.
    fn news(&mut self) -> Result<News, JournalError>;

    /// Waits until there may be news, or a while.
    fn changes(&self) -> Box<dyn FnMut() + Send>;
}

/// What a look at a growing store finds.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    Records {
        records: Records,
        /// How far the records of the store go.
        newest: u64,
        /// The revision of its checkpoint; 0: it has none.
        checkpoint: u64,
    },
    /// A checkpoint has taken the place of some: everything is to be loaded anew.
    Gone,
}

/// What writes the checkpoints of a [`Journal`].
pub trait Checkpoints: Send {
    /// Replaces all records up to `revision` by a checkpoint. A crash leaves either the old state or the new.
    ///
    /// # Errors
    /// When it cannot be written; the old state stays.
    fn write(&mut self, revision: u64, parts: &[Vec<u8>]) -> Result<(), JournalError>;
}

/// Revision and parts of a checkpoint.
pub type Parts = (u64, Vec<Vec<u8>>);

/// What a journal held when it was opened.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Revision and parts of the checkpoint.
    pub checkpoint: Option<Parts>,
    /// Revision and bytes of each record behind it.
    pub records: Records,
    /// What had to be mended, in words for the operator.
    pub repairs: Vec<String>,
}

impl Loaded {
    /// The newest revision in it; 0: there is none.
    pub fn newest(&self) -> u64 {
        let last = self.records.last().map(|(revision, _)| *revision);
        last.or(self.checkpoint.as_ref().map(|(revision, _)| *revision)).unwrap_or(0)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("{path}: {reason}")]
    Io { path: PathBuf, reason: String },
    #[error("{path} is in use by another process; stop that one first, or choose another --data-dir")]
    Locked { path: PathBuf },
    #[error(
        "{path} is damaged ({reason}); it was left as it is. Restore a backup, or move it away to start empty"
    )]
    Damaged { path: PathBuf, reason: String },
    #[error("{path} was written by a newer version (format {found}, this one reads {known}); upgrade")]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("etcd at {endpoints}, {key}: {reason}; {next}")]
    Etcd { endpoints: String, key: String, reason: String, next: &'static str },
    #[error(
        "{store} is another controller's now ({reason}); this one must not write: stop it, or start it again as a standby"
    )]
    Displaced { store: String, reason: &'static str },
}

/// The promises of [`Journal`], as a test that every backend must pass. `open` opens the same store each time.
///
/// # Panics
/// When a promise is broken.
#[doc(hidden)]
pub fn conformance(open: impl Fn() -> Box<dyn Journal>) {
    let record = |revision: u64| (revision, format!("record {revision}").into_bytes());
    let mut journal = open();
    assert_eq!(journal.load().expect("an empty journal loads"), Loaded::default());
    journal.append(&[record(1), record(2)]).expect("append");
    journal.append(&[record(5)]).expect("append");
    drop(journal);
    let mut journal = open();
    let loaded = journal.load().expect("load");
    assert_eq!(loaded.records, [record(1), record(2), record(5)], "records come back in order");
    journal.checkpoints().write(2, &[b"one".to_vec(), b"two".to_vec()]).expect("checkpoint");
    journal.append(&[record(6)]).expect("append");
    drop(journal);
    let mut journal = open();
    let loaded = journal.load().expect("load");
    assert_eq!(loaded.checkpoint, Some((2, vec![b"one".to_vec(), b"two".to_vec()])));
    assert_eq!(loaded.records, [record(5), record(6)], "the checkpoint takes the place of older records");
    journal.checkpoints().write(6, &[b"three".to_vec()]).expect("checkpoint");
    drop(journal);
    let loaded = open().load().expect("load");
    assert_eq!(loaded.checkpoint, Some((6, vec![b"three".to_vec()])));
    assert!(loaded.records.is_empty());
}

/// The promises of [`Replica`], as a test that every backend must pass: `open` opens an empty store as its writer, `follow` what follows it.
///
/// # Panics
/// When a promise is broken.
#[doc(hidden)]
pub fn replica_conformance(open: impl Fn() -> Box<dyn Journal>, follow: impl Fn() -> Box<dyn Replica>) {
    fn record(revision: u64) -> (u64, Vec<u8>) {
        (revision, format!("record {revision}").into_bytes())
    }
    fn all(replica: &mut dyn Replica) -> Option<Records> {
        let mut all = Records::new();
        loop {
            let News::Records { records, newest, .. } = replica.news().expect("news") else { return None };
            all.extend(records);
            if all.last().is_none_or(|(revision, _)| *revision >= newest) {
                return Some(all);
            }
        }
    }
    let mut early = follow();
    assert_eq!(early.load().expect("an empty store loads"), Loaded::default());
    let mut journal = open();
    assert_eq!(all(&mut *early), Some(Records::new()), "a store that was claimed has no news");
    journal.append(&[record(1), record(2)]).expect("append");
    journal.append(&[record(5)]).expect("append");
    assert_eq!(
        all(&mut *early),
        Some([record(1), record(2), record(5)].into()),
        "records come once and in order"
    );
    assert_eq!(all(&mut *early), Some(Records::new()));
    let mut late = follow();
    assert_eq!(late.load().expect("load").newest(), 5);
    journal.append(&[record(7)]).expect("append");
    assert_eq!((all(&mut *early), all(&mut *late)), (Some([record(7)].into()), Some([record(7)].into())));
    // A checkpoint takes away what both have; only who lags behind has to load anew.
    journal.checkpoints().write(7, &[b"one".to_vec()]).expect("checkpoint");
    journal.append(&[record(8)]).expect("append");
    assert_eq!(all(&mut *early), Some([record(8)].into()), "nothing is missing");
    journal.checkpoints().write(8, &[b"two".to_vec()]).expect("checkpoint");
    journal.append(&[record(9)]).expect("append");
    assert_eq!(all(&mut *late), None, "record 8 is gone");
    let loaded = late.load().expect("load");
    assert_eq!((loaded.checkpoint, loaded.records), (Some((8, vec![b"two".to_vec()])), [record(9)].into()));
    // Another writer goes on.
    drop(journal);
    let mut journal = open();
    journal.append(&[record(20)]).expect("append");
    assert_eq!(all(&mut *late), Some([record(20)].into()));
    assert_eq!(all(&mut *early), Some([record(9), record(20)].into()));
    // A checkpoint may be newer than all records: of a state that no record led to.
    journal.checkpoints().write(30, &[b"three".to_vec()]).expect("checkpoint");
    let mut last = follow();
    assert_eq!(last.load().expect("load").newest(), 30);
    journal.append(&[record(31)]).expect("append");
    assert_eq!(all(&mut *last), Some([record(31)].into()));
}
