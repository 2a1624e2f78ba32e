//! The journal: checkpoints in sled 0.34, the records behind them in a [`Log`] beside it.
//!
//! Two weaknesses of sled are mended here: its flush ends at sync_file_range, which a power cut does not respect, so we
//! fdatasync its file ourselves; and a truncated snapshot file keeps it from opening, so that is set aside and rebuilt
//! from its log (spacejam/sled issues 1527, 1533). Why records are not in sled: docs/decisions/0022.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::frame::records_in;
use super::log::{Forgetter, Log};
use super::{Checkpoints, Journal, JournalError, Loaded, Records};

/// Layout of keys and values; a higher number is refused. In format 1 sled had the records, too: they stay there until a checkpoint
/// takes their place. Up to format 2 a part of a checkpoint was one value.
const FORMAT: u32 = 3;
/// Bytes of a value at most. Sled puts a page that is longer than a quarter of a segment (128 KiB) into a file of its own, and never takes that
/// away when the page is replaced; a page has 17 values at most before it is split.
const VALUE: usize = 4 << 10;
const RECORD: u8 = b'r';
const PART: u8 = b'p';
const FORMAT_KEY: &[u8] = b"format";
const CHECKPOINT_KEY: &[u8] = b"checkpoint";
/// Number of the oldest file of the log.
const LOG_KEY: &[u8] = b"log";

pub struct SledJournal {
    sled: Sled,
    log: Log,
    repairs: Vec<String>,
}

/// The store itself.
#[derive(Clone)]
struct Sled {
    path: PathBuf,
    db: sled::Db,
    /// Sled's file, opened a second time for fdatasync.
    file: Arc<File>,
}

impl SledJournal {
    /// Opens the store in `folder/store`, making it if it is not there.
    ///
    /// # Errors
    /// When it is in use, damaged beyond repair, or of a newer format.
    pub fn open(folder: &Path) -> Result<SledJournal, JournalError> {
        let path = folder.join("store");
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error: std::io::Error| JournalError::Io { path, reason: error.to_string() }
        };
        make_private(folder).map_err(io(folder))?;
        let mut repairs = Vec::new();
        let db = match open_sled(&path) {
            Ok(db) => db,
            Err(sled::Error::Io(error))
                if error.kind() == std::io::ErrorKind::WouldBlock || error.to_string().contains("lock") =>
            {
                return Err(JournalError::Locked { path });
            }
            Err(sled::Error::Corruption { .. }) => repair(&path, &mut repairs)?,
            Err(error) => return Err(JournalError::Io { path, reason: error.to_string() }),
        };
        let file = Arc::new(File::open(path.join("db")).map_err(io(&path))?);
        let sled = Sled { path, db, file };
        sled.check_format()?;
        let first = sled.number(LOG_KEY)?;
        let log = Log::open(&sled.path.join("log"), first)?;
        if first.is_none() {
            sled.put(LOG_KEY, &1_u64.to_be_bytes())?;
            sled.sync()?;
        }
        Ok(SledJournal { sled, log, repairs })
    }
}

impl Sled {
    fn io(&self, error: impl std::fmt::Display) -> JournalError {
        JournalError::Io { path: self.path.clone(), reason: error.to_string() }
    }

    fn damaged(&self, reason: impl Into<String>) -> JournalError {
        JournalError::Damaged { path: self.path.clone(), reason: reason.into() }
    }

    fn get(&self, key: &[u8]) -> Result<Option<sled::IVec>, JournalError> {
        self.db.get(key).map_err(|error| self.io(error))
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), JournalError> {
        self.db.insert(key, value).map(drop).map_err(|error| self.io(error))
    }

    fn number(&self, key: &[u8]) -> Result<Option<u64>, JournalError> {
        let Some(found) = self.get(key)? else { return Ok(None) };
        let number = found.as_ref().try_into().map(u64::from_be_bytes);
        number.map(Some).map_err(|_| self.damaged(format!("{} is unreadable", String::from_utf8_lossy(key))))
    }

    fn check_format(&self) -> Result<(), JournalError> {
        let found = match self.get(FORMAT_KEY)? {
            None => 0,
            Some(found) => found
                .as_ref()
                .try_into()
                .map(u32::from_be_bytes)
                .map_err(|_| self.damaged("the format is unreadable"))?,
        };
        if found > FORMAT {
            return Err(JournalError::Newer { path: self.path.clone(), found, known: FORMAT });
        }
        if found < FORMAT {
            self.put(FORMAT_KEY, &FORMAT.to_be_bytes())?;
            self.sync()?;
        }
        Ok(())
    }

    /// Sled's buffers to the file, the file to the disk.
    fn sync(&self) -> Result<(), JournalError> {
        self.db.flush().map_err(|error| self.io(error))?;
        rustix::fs::fdatasync(&self.file).map_err(|error| self.io(error))
    }

    /// Revision and parts of the checkpoint.
    fn checkpoint(&self) -> Result<Option<super::Parts>, JournalError> {
        let Some(value) = self.get(CHECKPOINT_KEY)? else { return Ok(None) };
        let head = Head::from_value(&value).ok_or_else(|| self.damaged("the checkpoint's head"))?;
        let mut values = Vec::new();
        for number in 0..head.values {
            let value = self.get(&part_key(head.revision, number))?;
            let payload = value.as_deref().and_then(unframed);
            let payload = payload.ok_or_else(|| self.damaged(format!("value {number} of the checkpoint")))?;
            values.push(payload.to_vec());
        }
        let parts = match head.bytes {
            None => values,
            Some(bytes) => {
                let joined = values.concat();
                let parts = (joined.len() as u64 == bytes).then(|| parts_in(&joined)).flatten();
                parts.ok_or_else(|| self.damaged("the parts of the checkpoint"))?
            }
        };
        Ok(Some((head.revision, parts)))
    }

    /// Writes the parts of a checkpoint as values that are short enough. Returns its head.
    fn put_parts(&self, revision: u64, parts: &[Vec<u8>]) -> Result<Head, JournalError> {
        let mut head = Head { revision, values: 0, bytes: Some(0) };
        let mut value = Vec::with_capacity(VALUE);
        let put = |value: &mut Vec<u8>, head: &mut Head| {
            self.put(&part_key(revision, head.values), &framed(value))?;
            head.values += 1;
            head.bytes = head.bytes.map(|bytes| bytes + value.len() as u64);
            value.clear();
            Ok::<_, JournalError>(())
        };
        for part in parts {
            for mut bytes in [&(part.len() as u32).to_be_bytes()[..], part] {
                while !bytes.is_empty() {
                    let (now, later) = bytes.split_at(bytes.len().min(VALUE - value.len()));
                    value.extend_from_slice(now);
                    bytes = later;
                    if value.len() == VALUE {
                        put(&mut value, &mut head)?;
                    }
                }
            }
        }
        if !value.is_empty() {
            put(&mut value, &mut head)?;
        }
        Ok(head)
    }

    /// Records of format 1 from a revision on, and how far torn ones went.
    fn records(&self, from: u64) -> Result<(Records, Option<u64>), JournalError> {
        let mut all = Records::new();
        let mut torn: Option<u64> = None;
        for entry in self.db.range(record_key(from).as_slice()..=record_key(u64::MAX).as_slice()) {
            let (key, value) = entry.map_err(|error| self.io(error))?;
            let last = key[1..].iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
            if let Some(torn) = torn {
                let where_ = format!("the records up to revision {torn}, in the middle of the journal");
                return Err(self.damaged(where_));
            }
            match unframed(&value).and_then(records_in) {
                Some(records) => all.extend(records.into_iter().filter(|(revision, _)| *revision >= from)),
                None => torn = Some(last),
            }
        }
        Ok((all, torn))
    }
}

/// Makes the folder, readable by its owner only.
fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    if folder.is_dir() {
        return std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700));
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Bytes that sled keeps in memory: what it holds is read at the start only.
const CACHE: u64 = 4 << 20;

fn open_sled(path: &Path) -> sled::Result<sled::Db> {
    sled::Config::new().path(path).flush_every_ms(None).cache_capacity(CACHE).open()
}

/// Copies the store aside, takes sled's snapshot files away, and lets it rebuild them from its log.
fn repair(path: &Path, repairs: &mut Vec<String>) -> Result<sled::Db, JournalError> {
    let io = |error: std::io::Error| JournalError::Io { path: path.to_owned(), reason: error.to_string() };
    let seconds =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let aside = path.with_file_name(format!("store.damaged-{seconds}"));
    std::fs::create_dir_all(&aside).map_err(io)?;
    let mut snapshots = Vec::new();
    for entry in std::fs::read_dir(path).map_err(io)? {
        let entry = entry.map_err(io)?;
        if entry.path().is_file() {
            std::fs::copy(entry.path(), aside.join(entry.file_name())).map_err(io)?;
        }
        if entry.file_name().to_string_lossy().starts_with("snap.") {
            snapshots.push(entry.path());
        }
    }
    for snapshot in &snapshots {
        std::fs::remove_file(snapshot).map_err(io)?;
    }
    let db = open_sled(path).map_err(|error| JournalError::Damaged {
        path: path.to_owned(),
        reason: format!("{error}; a copy is in {}", aside.display()),
    })?;
    repairs.push(format!(
        "{}: {} unreadable snapshot files were taken away and rebuilt from the log; a copy of all is in {}",
        path.display(),
        snapshots.len(),
        aside.display()
    ));
    Ok(db)
}

fn framed(payload: &[u8]) -> Vec<u8> {
    let mut value = crc32fast::hash(payload).to_be_bytes().to_vec();
    value.extend_from_slice(payload);
    value
}

fn unframed(value: &[u8]) -> Option<&[u8]> {
    let (sum, payload) = value.split_at_checked(4)?;
    (crc32fast::hash(payload).to_be_bytes() == sum).then_some(payload)
}

/// What says where a checkpoint is.
#[derive(Clone, Copy)]
struct Head {
    revision: u64,
    values: u32,
    /// Of all values, in which parts stand one after the other, each behind its length; `None`: each value is a part (format 2).
    bytes: Option<u64>,
}

impl Head {
    fn from_value(value: &[u8]) -> Option<Head> {
        let head = unframed(value)?;
        let (revision, rest) = head.split_first_chunk()?;
        let (values, rest) = rest.split_first_chunk()?;
        let bytes = match rest {
            [] => None,
            rest => Some(u64::from_be_bytes(rest.try_into().ok()?)),
        };
        Some(Head { revision: u64::from_be_bytes(*revision), values: u32::from_be_bytes(*values), bytes })
    }

    fn to_value(self) -> Vec<u8> {
        let mut head = self.revision.to_be_bytes().to_vec();
        head.extend(self.values.to_be_bytes());
        head.extend(self.bytes.unwrap_or_default().to_be_bytes());
        framed(&head)
    }
}

/// Parts that stand one after the other, each behind its length.
fn parts_in(mut bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk()?;
        let (part, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        parts.push(part.to_vec());
        bytes = rest;
    }
    Some(parts)
}

/// The key of a group, by its last revision.
fn record_key(revision: u64) -> [u8; 9] {
    let mut key = [RECORD; 9];
    key[1..].copy_from_slice(&revision.to_be_bytes());
    key
}

fn part_key(revision: u64, part: u32) -> [u8; 13] {
    let mut key = [PART; 13];
    key[1..9].copy_from_slice(&revision.to_be_bytes());
    key[9..].copy_from_slice(&part.to_be_bytes());
    key
}

impl Journal for SledJournal {
    fn load(&mut self) -> Result<Loaded, JournalError> {
        let mut loaded = Loaded { repairs: self.repairs.clone(), ..Loaded::default() };
        loaded.checkpoint = self.sled.checkpoint()?;
        let behind = loaded.checkpoint.as_ref().map_or(0, |(revision, _)| *revision);
        let (records, torn) = self.sled.records(behind + 1)?;
        loaded.records = records;
        let held = self.log.load(behind)?;
        if let Some(torn) = torn {
            if !held.records.is_empty() {
                return Err(self
                    .sled
                    .damaged(format!("the records up to revision {torn}, in the middle of the journal")));
            }
            self.sled.db.remove(record_key(torn)).map_err(|error| self.sled.io(error))?;
            loaded.repairs.push(format!(
                "the last records (up to revision {torn}) were torn and are dropped; they were never acknowledged"
            ));
        }
        loaded.records.extend(held.records);
        loaded.repairs.extend(held.repairs);
        Ok(loaded)
    }

    fn append(&mut self, records: &[(u64, Vec<u8>)]) -> Result<(), JournalError> {
        self.log.append(records)
    }

    fn checkpoints(&self) -> Box<dyn Checkpoints> {
        Box::new(SledCheckpoints { sled: self.sled.clone(), log: self.log.forgetter() })
    }
}

struct SledCheckpoints {
    sled: Sled,
    log: Forgetter,
}

impl Checkpoints for SledCheckpoints {
    fn write(&mut self, revision: u64, parts: &[Vec<u8>]) -> Result<(), JournalError> {
        let sled = &self.sled;
        let head = sled.put_parts(revision, parts)?;
        sled.sync()?;
        sled.put(CHECKPOINT_KEY, &head.to_value())?;
        sled.sync()?;
        // Only now is what it replaces not needed any more.
        let mut gone = sled::Batch::default();
        let mut remove = |range: sled::Iter| -> Result<(), JournalError> {
            for key in range.keys() {
                gone.remove(key.map_err(|error| sled.io(error))?);
            }
            Ok(())
        };
        remove(sled.db.range(record_key(0).as_slice()..=record_key(revision).as_slice()))?;
        // All before it, also of one that a fall of the program left half written.
        remove(sled.db.range(part_key(0, 0).as_slice()..part_key(revision, 0).as_slice()))?;
        let oldest = self.log.oldest(revision);
        if let Some(oldest) = oldest {
            gone.insert(LOG_KEY, &oldest.to_be_bytes());
        }
        sled.db.apply_batch(gone).map_err(|error| sled.io(error))?;
        sled.sync()?;
        oldest.map_or(Ok(()), |oldest| self.log.forget(oldest))
    }
}

#[cfg(test)]
#[path = "sled_tests.rs"]
mod tests;
