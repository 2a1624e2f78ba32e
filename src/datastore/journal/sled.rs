//! The journal on sled 0.34.
//!
//! Two weaknesses of sled are mended here: its flush ends at sync_file_range, which a power cut does not respect, so we
//! fdatasync its file ourselves; and a truncated snapshot file keeps it from opening, so that is set aside and rebuilt
//! from its log (spacejam/sled issues 1527, 1533).

use std::fs::File;
use std::path::{Path, PathBuf};

use super::{Journal, JournalError, Loaded};

/// Layout of keys and values; a higher number is refused.
const FORMAT: u32 = 1;
const RECORD: u8 = b'r';
const GROUP: usize = 64 << 10;
const PART: u8 = b'p';
const FORMAT_KEY: &[u8] = b"format";
const CHECKPOINT_KEY: &[u8] = b"checkpoint";

pub struct SledJournal {
    path: PathBuf,
    db: sled::Db,
    /// Sled's log, opened a second time for fdatasync.
    log: File,
    repairs: Vec<String>,
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
        let log = File::open(path.join("db")).map_err(io(&path))?;
        let mut journal = SledJournal { path, db, log, repairs };
        journal.check_format()?;
        Ok(journal)
    }

    fn io(&self, error: impl std::fmt::Display) -> JournalError {
        JournalError::Io { path: self.path.clone(), reason: error.to_string() }
    }

    fn damaged(&self, reason: impl Into<String>) -> JournalError {
        JournalError::Damaged { path: self.path.clone(), reason: reason.into() }
    }

    fn check_format(&mut self) -> Result<(), JournalError> {
        match self.db.get(FORMAT_KEY).map_err(|error| self.io(error))? {
            None => {
                self.db.insert(FORMAT_KEY, &FORMAT.to_be_bytes()).map_err(|error| self.io(error))?;
                self.sync()
            }
            Some(found) => {
                let found = found
                    .as_ref()
                    .try_into()
                    .map(u32::from_be_bytes)
                    .map_err(|_| self.damaged("the format is unreadable"))?;
                if found > FORMAT {
                    return Err(JournalError::Newer { path: self.path.clone(), found, known: FORMAT });
                }
                Ok(())
            }
        }
    }

    /// Sled's buffers to the file, the file to the disk.
    fn sync(&self) -> Result<(), JournalError> {
        self.db.flush().map_err(|error| self.io(error))?;
        rustix::fs::fdatasync(&self.log).map_err(|error| self.io(error))
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

fn open_sled(path: &Path) -> sled::Result<sled::Db> {
    sled::Config::new().path(path).flush_every_ms(None).cache_capacity(16 << 20).open()
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

/// Records in framed groups, each with the revision of its last record: one value of sled costs less than many. A group
/// that grows beyond [`GROUP`] bytes ends there, since sled puts large values into files of their own.
fn grouped(records: &[(u64, Vec<u8>)]) -> Vec<(u64, Vec<u8>)> {
    let mut groups: Vec<(u64, Vec<u8>)> = Vec::new();
    for (revision, payload) in records {
        if groups.last().is_none_or(|(_, group)| group.len() + payload.len() > GROUP) {
            groups.push((*revision, vec![0; 4]));
        }
        let Some((last, group)) = groups.last_mut() else { continue };
        *last = *revision;
        group.extend(revision.to_be_bytes());
        group.extend((payload.len() as u32).to_be_bytes());
        group.extend(payload);
    }
    for (_, group) in &mut groups {
        let sum = crc32fast::hash(&group[4..]);
        group[..4].copy_from_slice(&sum.to_be_bytes());
    }
    groups
}

/// The records of a group without its frame; `None`: it is none.
fn ungrouped(mut group: &[u8]) -> Option<Vec<(u64, Vec<u8>)>> {
    let mut records = Vec::new();
    while !group.is_empty() {
        let (revision, rest) = group.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (payload, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        records.push((u64::from_be_bytes(*revision), payload.to_vec()));
        group = rest;
    }
    Some(records)
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
        if let Some(value) = self.db.get(CHECKPOINT_KEY).map_err(|error| self.io(error))? {
            let head = unframed(&value)
                .filter(|head| head.len() == 12)
                .ok_or_else(|| self.damaged("the checkpoint's head"))?;
            let number =
                |at: std::ops::Range<usize>| head[at].iter().fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
            let (revision, count) = (number(0..8), number(8..12));
            let mut parts = Vec::new();
            for part in 0..count as u32 {
                let value = self.db.get(part_key(revision, part)).map_err(|error| self.io(error))?;
                let payload = value.as_deref().and_then(unframed);
                parts.push(
                    payload.ok_or_else(|| self.damaged(format!("part {part} of the checkpoint")))?.to_vec(),
                );
            }
            loaded.checkpoint = Some((revision, parts));
        }
        let behind = loaded.checkpoint.as_ref().map_or(0, |(revision, _)| revision + 1);
        let mut torn: Option<u64> = None;
        for entry in self.db.range(record_key(behind).as_slice()..=record_key(u64::MAX).as_slice()) {
            let (key, value) = entry.map_err(|error| self.io(error))?;
            let last = key[1..].iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
            if let Some(torn) = torn {
                let where_ = format!("the records up to revision {torn}, in the middle of the journal");
                return Err(self.damaged(where_));
            }
            match unframed(&value).and_then(ungrouped) {
                Some(records) => {
                    loaded.records.extend(records.into_iter().filter(|(revision, _)| *revision >= behind));
                }
                None => torn = Some(last),
            }
        }
        if let Some(torn) = torn {
            loaded.repairs.push(format!(
                "the last records (up to revision {torn}) were torn and are dropped; they were never acknowledged"
            ));
            self.db.remove(record_key(torn)).map_err(|error| self.io(error))?;
        }
        Ok(loaded)
    }

    fn append(&mut self, records: &[(u64, Vec<u8>)]) -> Result<(), JournalError> {
        let groups = grouped(records);
        let put = || match groups.as_slice() {
            // A batch would cost sled a second write.
            [(last, group)] => self.db.insert(record_key(*last), group.as_slice()).map(drop),
            groups => {
                let mut batch = sled::Batch::default();
                for (last, group) in groups {
                    batch.insert(&record_key(*last), group.as_slice());
                }
                self.db.apply_batch(batch)
            }
        };
        let written = put().map_err(|error| self.io(error)).and_then(|()| self.sync());
        if written.is_err() {
            // What may have reached the file must not come back as if it had been promised.
            let mut undo = sled::Batch::default();
            for (last, _) in &groups {
                undo.remove(&record_key(*last));
            }
            let _ = self.db.apply_batch(undo);
        }
        written
    }

    fn checkpoint(&mut self, revision: u64, parts: &[Vec<u8>]) -> Result<(), JournalError> {
        let old = self.db.get(CHECKPOINT_KEY).map_err(|error| self.io(error))?;
        for (number, part) in parts.iter().enumerate() {
            self.db
                .insert(part_key(revision, number as u32), framed(part))
                .map_err(|error| self.io(error))?;
        }
        self.sync()?;
        let mut head = revision.to_be_bytes().to_vec();
        head.extend((parts.len() as u32).to_be_bytes());
        self.db.insert(CHECKPOINT_KEY, framed(&head)).map_err(|error| self.io(error))?;
        self.sync()?;
        // Only now is what it replaces not needed any more.
        let mut gone = sled::Batch::default();
        for entry in self.db.range(record_key(0).as_slice()..=record_key(revision).as_slice()) {
            gone.remove(entry.map_err(|error| self.io(error))?.0);
        }
        if let Some(head) = old.as_deref().and_then(unframed).filter(|head| head.len() == 12) {
            let last = head[..8].iter().fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
            if last != revision {
                for entry in self.db.range(part_key(last, 0).as_slice()..=part_key(last, u32::MAX).as_slice())
                {
                    gone.remove(entry.map_err(|error| self.io(error))?.0);
                }
            }
        }
        self.db.apply_batch(gone).map_err(|error| self.io(error))?;
        self.sync()
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

    #[test]
    fn a_damaged_record_in_the_middle_stops_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = SledJournal::open(folder.path()).unwrap();
        journal.append(&[(1, b"a".to_vec())]).unwrap();
        journal.append(&[(2, b"b".to_vec()), (3, b"c".to_vec())]).unwrap();
        let whole = journal.db.get(record_key(1)).unwrap().unwrap();
        journal.db.insert(record_key(1), b"xxxxa".as_slice()).unwrap();
        assert!(matches!(journal.load(), Err(JournalError::Damaged { .. })));
        journal.db.insert(record_key(1), whole).unwrap();
        journal.db.insert(record_key(3), b"xxxxb".as_slice()).unwrap();
        let loaded = journal.load().unwrap();
        assert_eq!(
            (loaded.records.len(), loaded.repairs.len()),
            (1, 1),
            "a torn end is dropped and reported"
        );
    }

    #[test]
    fn large_groups_are_split_and_come_back_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = SledJournal::open(folder.path()).unwrap();
        let records: Vec<_> = (1..=300_u64).map(|number| (number, vec![number as u8; 1000])).collect();
        assert!(grouped(&records).len() > 2);
        journal.append(&records).unwrap();
        assert_eq!(journal.load().unwrap().records, records);
        journal.checkpoint(70, &[b"up to the middle of a group".to_vec()]).unwrap();
        assert_eq!(journal.load().unwrap().records, records[70..]);
    }
}
