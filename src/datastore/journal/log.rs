//! The newest part of the journal: groups of records, appended to files that are full of zeros when their use begins.
//!
//! A file that grows makes the file system write its own journal at each fdatasync, and sled writes twice; overwriting zeros costs one
//! write. A file begins with a header; behind it stand frames, each with its checksum, the number of its file, and its place in the row
//! of all frames. One append is one frame, so it is there as a whole or not at all.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::frame::{self, Frame, Header};
use super::{JournalError, Records};

/// Length of a file; one that a single append needs may be longer.
const FILE: u64 = 4 << 20;
/// Length of the very first one: a new datastore is there at once.
const FIRST: u64 = 1 << 20;
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
const SPARE: &str = "spare";

pub(super) struct Log {
    folder: PathBuf,
    file: File,
    number: u64,
    /// Where the next frame goes, and the end of the file.
    end: u64,
    length: u64,
    /// Number of the next frame.
    next: u64,
    /// Revision of the last record in this file; 0: it has none.
    last: u64,
    closed: Arc<Mutex<Vec<Closed>>>,
    /// The next file, while it is made.
    spare: Option<JoinHandle<io::Result<()>>>,
}

/// A file that is full.
#[derive(Debug)]
pub(super) struct Closed {
    pub number: u64,
    /// Revision of its last record.
    pub last: u64,
}

/// What a log holds.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub records: Records,
    pub repairs: Vec<String>,
}

fn wrong(path: &Path) -> impl Fn(io::Error) -> JournalError {
    move |error| JournalError::Io { path: path.to_owned(), reason: error.to_string() }
}

fn damaged(path: &Path, reason: impl Into<String>) -> JournalError {
    JournalError::Damaged { path: path.to_owned(), reason: reason.into() }
}

impl Log {
    /// Opens the log in a folder that nobody else uses, making it if there is none. `first` is the oldest file that must be there;
    /// `None`: there was never one.
    ///
    /// # Errors
    /// When a file is missing, or damaged before its end.
    pub fn open(folder: &Path, first: Option<u64>) -> Result<Log, JournalError> {
        let io = wrong(folder);
        std::fs::create_dir_all(folder).map_err(&io)?;
        let _ = std::fs::remove_file(folder.join(SPARE));
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(&io)? {
            let name = entry.map_err(&io)?.file_name();
            numbers.extend(name.to_str().and_then(|name| name.parse::<u64>().ok()));
        }
        numbers.sort_unstable();
        let oldest = first.or(numbers.first().copied()).unwrap_or(1);
        for gone in numbers.extract_if(.., |number| *number < oldest) {
            std::fs::remove_file(path(folder, gone)).map_err(&io)?;
        }
        if numbers.is_empty() && first.is_none() {
            fill(&folder.join(SPARE), FIRST).map_err(&io)?;
            let file = put_to_use(folder, Header { number: 1, first_frame: 1 }).map_err(&io)?;
            return Ok(Log::at(folder, file, 1, FIRST));
        }
        if let Some((_, missing)) = (oldest..).zip(&numbers).find(|(wanted, there)| wanted != *there) {
            return Err(damaged(&path(folder, missing - 1), "it is missing, though later ones are there"));
        }
        let Some(number) = numbers.last().copied().filter(|_| numbers.first() == Some(&oldest)) else {
            return Err(damaged(&path(folder, oldest), "it is missing"));
        };
        let at = path(folder, number);
        let file = File::options().read(true).write(true).open(&at).map_err(&io)?;
        let length = file.metadata().map_err(&io)?.len();
        let mut log = Log::at(folder, file, number, length);
        let mut closed = Vec::new();
        let mut expected = None;
        for number in numbers {
            let read = frame::read(&path(folder, number), number, expected)?;
            expected = Some(read.next);
            let last = read.records.last().map_or(0, |(revision, _)| *revision);
            if number == log.number {
                (log.end, log.next, log.last) = (read.end, read.next, last);
            } else {
                closed.push(Closed { number, last });
            }
        }
        log.closed = Arc::new(Mutex::new(closed));
        Ok(log)
    }

    fn at(folder: &Path, file: File, number: u64, length: u64) -> Log {
        Log {
            folder: folder.to_owned(),
            file,
            number,
            end: frame::HEADER,
            length,
            next: 1,
            last: 0,
            closed: Arc::default(),
            spare: None,
        }
    }

    /// The records behind a revision. What an append left torn is taken away.
    ///
    /// # Errors
    /// When a file is damaged before its end.
    pub fn load(&mut self, behind: u64) -> Result<Held, JournalError> {
        let mut held = Held::default();
        let closed: Vec<u64> = self.closed().iter().map(|closed| closed.number).collect();
        let mut expected = None;
        for number in closed.into_iter().chain([self.number]) {
            let at = path(&self.folder, number);
            let read = frame::read(&at, number, expected)?;
            expected = Some(read.next);
            held.records.extend(read.records.into_iter().filter(|(revision, _)| *revision > behind));
            // At the end of a full file it is what an append left that failed: the next file begins with the right frame.
            if read.is_torn && number == self.number {
                self.clear().map_err(wrong(&at))?;
                held.repairs.push(format!(
                    "{}: the last record was torn and is dropped; it was never acknowledged",
                    at.display()
                ));
            }
        }
        Ok(held)
    }

    /// Makes records durable with one write.
    ///
    /// # Errors
    /// When that cannot be promised; then none of them will be loaded.
    pub fn append(&mut self, records: &[(u64, Vec<u8>)]) -> Result<(), JournalError> {
        let Some((last, _)) = records.last() else { return Ok(()) };
        let mut frame = Frame { file: self.number, number: self.next, records };
        let length = frame.length();
        if self.end + length > self.length {
            self.turn(length).map_err(wrong(&self.folder))?;
            frame.file = self.number;
        }
        let bytes = frame.to_bytes();
        let written = self.file.write_all_at(&bytes, self.end).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // What may have reached the file must not come back as if it had been promised.
            let _ = self.file.write_all_at(&vec![0; bytes.len()], self.end);
            let _ = self.file.sync_data();
            return Err(wrong(&path(&self.folder, self.number))(error));
        }
        (self.end, self.next, self.last) = (self.end + length, self.next + 1, *last);
        if self.end > self.length / 2 && self.spare.is_none() {
            let spare = self.folder.join(SPARE);
            let thread = std::thread::Builder::new().name("journal-spare".into());
            self.spare = thread.spawn(move || fill(&spare, FILE)).ok();
        }
        Ok(())
    }

    /// Goes on in a new file with room for so many bytes.
    fn turn(&mut self, room: u64) -> io::Result<()> {
        let made =
            self.spare.take().map(|spare| spare.join().unwrap_or_else(|_| Err(io::Error::other("a fault"))));
        let length = FILE.max(frame::HEADER + room);
        if length > FILE || !matches!(made, Some(Ok(()))) {
            fill(&self.folder.join(SPARE), length)?;
        }
        let header = Header { number: self.number + 1, first_frame: self.next };
        let file = put_to_use(&self.folder, header)?;
        self.closed().push(Closed { number: self.number, last: self.last });
        (self.file, self.number, self.length) = (file, header.number, length);
        (self.end, self.last) = (frame::HEADER, 0);
        Ok(())
    }

    /// Writes zeros behind the last frame.
    fn clear(&self) -> io::Result<()> {
        let mut at = self.end;
        while at < self.length {
            let count = (self.length - at).min(ZEROS.len() as u64);
            self.file.write_all_at(&ZEROS[..count as usize], at)?;
            at += count;
        }
        self.file.sync_data()
    }

    fn closed(&self) -> std::sync::MutexGuard<'_, Vec<Closed>> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// What forgets old files, in whatever thread.
    pub fn forgetter(&self) -> Forgetter {
        Forgetter { folder: self.folder.clone(), closed: self.closed.clone() }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Some(spare) = self.spare.take() {
            let _ = spare.join();
        }
    }
}

/// Takes files away whose records are all in a checkpoint.
#[derive(Clone)]
pub(super) struct Forgetter {
    folder: PathBuf,
    closed: Arc<Mutex<Vec<Closed>>>,
}

impl Forgetter {
    /// The oldest file with records behind a revision, unless all full ones have some: then nothing can go.
    pub fn oldest(&self, revision: u64) -> Option<u64> {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = closed.iter().take_while(|closed| closed.last <= revision).last()?;
        Some(gone.number + 1)
    }

    /// Takes away what is older than this file.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn forget(&self, oldest: u64) -> Result<(), JournalError> {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        for gone in closed.extract_if(.., |closed| closed.number < oldest) {
            let path = path(&self.folder, gone.number);
            std::fs::remove_file(&path).map_err(wrong(&path))?;
        }
        Ok(())
    }
}

fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:010}"))
}

/// Makes a file of zeros that are on the disk.
fn fill(path: &Path, length: u64) -> io::Result<()> {
    let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let mut at = 0;
    while at < length {
        let count = (length - at).min(ZEROS.len() as u64);
        file.write_all_at(&ZEROS[..count as usize], at)?;
        at += count;
    }
    file.sync_all()
}

/// Gives the spare file its header and its name.
fn put_to_use(folder: &Path, header: Header) -> io::Result<File> {
    let spare = folder.join(SPARE);
    let file = File::options().read(true).write(true).open(&spare)?;
    file.write_all_at(&header.to_bytes(), 0)?;
    file.sync_data()?;
    std::fs::rename(&spare, path(folder, header.number))?;
    File::open(folder)?.sync_all()?;
    Ok(file)
}
