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
/// takes their place.
const FORMAT: u32 = 2;
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
        let head = unframed(&value)
            .filter(|head| head.len() == 12)
            .ok_or_else(|| self.damaged("the checkpoint's head"))?;
        let number =
            |at: std::ops::Range<usize>| head[at].iter().fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
        let (revision, count) = (number(0..8), number(8..12));
        let mut parts = Vec::new();
        for part in 0..count as u32 {
            let value = self.get(&part_key(revision, part))?;
            let payload = value.as_deref().and_then(unframed);
            parts.push(
                payload.ok_or_else(|| self.damaged(format!("part {part} of the checkpoint")))?.to_vec(),
            );
        }
        Ok(Some((revision, parts)))
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
        let old = sled.get(CHECKPOINT_KEY)?;
        for (number, part) in parts.iter().enumerate() {
            sled.put(&part_key(revision, number as u32), &framed(part))?;
        }
        sled.sync()?;
        let mut head = revision.to_be_bytes().to_vec();
        head.extend((parts.len() as u32).to_be_bytes());
        sled.put(CHECKPOINT_KEY, &framed(&head))?;
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
        if let Some(head) = old.as_deref().and_then(unframed).filter(|head| head.len() == 12) {
            let last = head[..8].iter().fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
            if last != revision {
                remove(sled.db.range(part_key(last, 0).as_slice()..=part_key(last, u32::MAX).as_slice()))?;
            }
        }
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
mod tests {
    use super::*;

    #[test]
    fn sled_conforms() {
        let folder = tempfile::tempdir().unwrap();
        super::super::conformance(|| Box::new(SledJournal::open(folder.path()).unwrap()));
    }

    #[test]
    fn a_second_process_is_told_so() {
        let folder = tempfile::tempdir().unwrap();
        let _first = SledJournal::open(folder.path()).unwrap();
        assert!(matches!(SledJournal::open(folder.path()), Err(JournalError::Locked { .. })));
    }

    #[test]
    fn an_empty_snapshot_file_is_mended_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = SledJournal::open(folder.path()).unwrap();
        journal.append(&[(1, b"kept".to_vec())]).unwrap();
        drop(journal);
        let snapshots = || {
            let entries = std::fs::read_dir(folder.path().join("store")).unwrap();
            entries
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.to_string_lossy().contains("snap."))
                .collect::<Vec<_>>()
        };
        // Sled names its snapshots by position; the newest one, empty, is what a full disk leaves behind.
        let name = snapshots().pop().unwrap_or_else(|| folder.path().join("store/snap.0000000000010000"));
        std::fs::write(name, b"").unwrap();
        let mut journal = SledJournal::open(folder.path()).unwrap();
        let loaded = journal.load().unwrap();
        assert_eq!(loaded.records, [(1, b"kept".to_vec())]);
        assert_eq!(loaded.repairs.len(), 1, "{:?}", loaded.repairs);
    }

    /// What format 1 kept in sled.
    fn old_group(records: &[(u64, &[u8])]) -> (Vec<u8>, Vec<u8>) {
        let mut group = Vec::new();
        for (revision, payload) in records {
            group.extend(revision.to_be_bytes());
            group.extend((payload.len() as u32).to_be_bytes());
            group.extend(*payload);
        }
        (record_key(records.last().unwrap().0).to_vec(), framed(&group))
    }

    #[test]
    fn records_of_format_1_are_read_until_a_checkpoint_takes_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let journal = SledJournal::open(folder.path()).unwrap();
        let db = journal.sled.db.clone();
        for records in [&[(1, b"a".as_slice()), (2, b"b")][..], &[(4, b"c")]] {
            let (key, value) = old_group(records);
            db.insert(key, value).unwrap();
        }
        db.insert(FORMAT_KEY, &1_u32.to_be_bytes()).unwrap();
        db.remove(LOG_KEY).unwrap();
        drop((journal, db));
        std::fs::remove_dir_all(folder.path().join("store/log")).unwrap();
        let mut journal = SledJournal::open(folder.path()).unwrap();
        journal.append(&[(5, b"d".to_vec())]).unwrap();
        let revisions = |journal: &mut SledJournal| {
            journal.load().unwrap().records.iter().map(|(revision, _)| *revision).collect::<Vec<_>>()
        };
        assert_eq!(revisions(&mut journal), [1, 2, 4, 5]);
        journal.checkpoints().write(2, &[]).unwrap();
        assert_eq!(revisions(&mut journal), [4, 5]);
        let (key, mut value) = old_group(&[(4, b"c")]);
        value[0] ^= 1;
        journal.sled.put(&key, &value).unwrap();
        assert!(matches!(journal.load(), Err(JournalError::Damaged { .. })), "there are records behind it");
        journal.checkpoints().write(4, &[]).unwrap();
        assert_eq!(revisions(&mut journal), [5]);
        assert_eq!(journal.sled.db.get(FORMAT_KEY).unwrap().unwrap(), &FORMAT.to_be_bytes());
    }

    #[test]
    fn a_checkpoint_takes_the_files_of_the_log_away_that_it_replaces() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = SledJournal::open(folder.path()).unwrap();
        let records: Vec<_> = (1..=12_u64).map(|number| (number, vec![number as u8; 700_000])).collect();
        for record in &records {
            journal.append(std::slice::from_ref(record)).unwrap();
        }
        let files = || std::fs::read_dir(folder.path().join("store/log")).unwrap().count();
        assert!(files() >= 3, "{}", files());
        assert_eq!(journal.load().unwrap().records, records);
        let before = files();
        journal.checkpoints().write(8, &[b"up to the eighth".to_vec()]).unwrap();
        assert!(files() < before);
        drop(journal);
        let mut journal = SledJournal::open(folder.path()).unwrap();
        assert_eq!(journal.load().unwrap().records, records[8..]);
        journal.append(&[(13, b"on".to_vec())]).unwrap();
        drop(journal);
        let log = std::fs::read_dir(folder.path().join("store/log")).unwrap();
        std::fs::remove_file(log.map(|file| file.unwrap().path()).min().unwrap()).unwrap();
        assert!(matches!(SledJournal::open(folder.path()), Err(JournalError::Damaged { .. })));
    }

    #[test]
    fn records_are_appended_while_a_checkpoint_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = SledJournal::open(folder.path()).unwrap();
        let record = |number: u64| (number, vec![number as u8; 3000]);
        (1..=500).for_each(|number| journal.append(&[record(number)]).unwrap());
        let mut checkpoints = journal.checkpoints();
        let writing = std::thread::spawn(move || {
            for revision in [100, 250, 450] {
                checkpoints.write(revision, &vec![vec![revision as u8; 100_000]; 10]).unwrap();
            }
        });
        (501..=1300).for_each(|number| journal.append(&[record(number)]).unwrap());
        writing.join().unwrap();
        drop(journal);
        let loaded = SledJournal::open(folder.path()).unwrap().load().unwrap();
        assert_eq!(loaded.checkpoint.map(|(revision, parts)| (revision, parts.len())), Some((450, 10)));
        assert_eq!(loaded.records, (451..=1300).map(record).collect::<Vec<_>>());
    }
}
