//! The bytes of a log file. All numbers are big-endian.
//!
//! Header (64 bytes): `coeuslog`, format (u32), number of the file (u64), number of its first frame (u64), CRC-32 of these, zeros.
//! Frame: CRC-32 of what follows, length of the records (u32), number of the file (u64), number of the frame (u64); then for each record its
//! revision (u64), its length (u32) and its bytes; then zeros up to a multiple of eight.

use std::path::Path;

use super::{JournalError, Records};

pub const HEADER: u64 = 64;
/// A frame without its records.
pub const FRAME: u64 = 24;
const MAGIC: &[u8; 8] = b"coeuslog";
/// A higher number is refused.
const FORMAT: u32 = 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    pub number: u64,
    pub first_frame: u64,
}

/// Records that become durable together.
pub struct Frame<'a> {
    pub file: u64,
    pub number: u64,
    pub records: &'a [(u64, Vec<u8>)],
}

/// What a file holds.
#[derive(Debug)]
pub struct Read {
    pub records: Records,
    /// Where the next frame goes.
    pub end: u64,
    /// Its number.
    pub next: u64,
    /// There is something at the end that is no frame.
    pub is_torn: bool,
}

impl Header {
    pub fn to_bytes(self) -> [u8; HEADER as usize] {
        let mut bytes = [0; HEADER as usize];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_be_bytes());
        bytes[12..20].copy_from_slice(&self.number.to_be_bytes());
        bytes[20..28].copy_from_slice(&self.first_frame.to_be_bytes());
        let sum = crc32fast::hash(&bytes[..28]);
        bytes[28..32].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Header, JournalError> {
        let damaged = || JournalError::Damaged { path: path.to_owned(), reason: "its header".into() };
        let (head, sum) = bytes.get(..32).and_then(|bytes| bytes.split_at_checked(28)).ok_or_else(damaged)?;
        if &head[..8] != MAGIC || crc32fast::hash(head).to_be_bytes() != sum {
            return Err(damaged());
        }
        let found = u32_at(head, 8);
        if found > FORMAT {
            return Err(JournalError::Newer { path: path.to_owned(), found, known: FORMAT });
        }
        Ok(Header { number: u64_at(head, 12), first_frame: u64_at(head, 20) })
    }
}

impl Frame<'_> {
    /// With what fills it up.
    pub fn length(&self) -> u64 {
        let records: usize = self.records.iter().map(|(_, bytes)| 12 + bytes.len()).sum();
        (FRAME + records as u64).next_multiple_of(8)
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let length = self.length() as usize;
        let mut bytes = Vec::with_capacity(length);
        bytes.resize(FRAME as usize, 0);
        for (revision, record) in self.records {
            bytes.extend(revision.to_be_bytes());
            bytes.extend((record.len() as u32).to_be_bytes());
            bytes.extend(record);
        }
        let payload = bytes.len() as u64 - FRAME;
        bytes[4..8].copy_from_slice(&(payload as u32).to_be_bytes());
        bytes[8..16].copy_from_slice(&self.file.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_be_bytes());
        let sum = crc32fast::hash(&bytes[4..]);
        bytes[..4].copy_from_slice(&sum.to_be_bytes());
        bytes.resize(length, 0);
        bytes
    }
}

/// Reads a file. `next` is the number that its first frame must have, where that is known.
///
/// # Errors
/// When it is not the file that it should be, or a frame before the last one is damaged.
pub fn read(path: &Path, number: u64, next: Option<u64>) -> Result<Read, JournalError> {
    let bytes = std::fs::read(path)
        .map_err(|error| JournalError::Io { path: path.to_owned(), reason: error.to_string() })?;
    parse(path, &bytes, number, next)
}

/// The same of the file's bytes.
///
/// # Errors
/// As [`read`].
pub fn parse(path: &Path, bytes: &[u8], number: u64, next: Option<u64>) -> Result<Read, JournalError> {
    let damaged = |reason: String| JournalError::Damaged { path: path.to_owned(), reason };
    let header = Header::from_bytes(path, bytes)?;
    if header.number != number || next.is_some_and(|next| next != header.first_frame) {
        return Err(damaged("it is not the one that follows the one before".into()));
    }
    let mut read = Read { records: Vec::new(), end: HEADER, next: header.first_frame, is_torn: false };
    loop {
        let rest = bytes.get(read.end as usize..).unwrap_or_default();
        let Some((records, length)) = frame(rest, number, read.next) else { break };
        read.records.extend(records);
        read.end += length;
        read.next += 1;
    }
    let rest = bytes.get(read.end as usize..).unwrap_or_default();
    read.is_torn = rest.iter().any(|byte| *byte != 0);
    // Frames are written one after the other: whatever follows a damaged one was promised, and it was too.
    let later = |at: usize| frame_number(&rest[at..], number).is_some_and(|found| found > read.next);
    if read.is_torn && (8..rest.len()).step_by(8).any(later) {
        return Err(damaged(format!("frame {}, in the middle of the journal", read.next)));
    }
    Ok(read)
}

/// The records of the frame that the bytes begin with and its length, if it is this one.
fn frame(bytes: &[u8], file: u64, number: u64) -> Option<(Records, u64)> {
    if frame_number(bytes, file)? != number {
        return None;
    }
    let length = u32_at(bytes, 4) as usize;
    let records = records_in(bytes.get(FRAME as usize..)?.get(..length)?)?;
    Some((records, (FRAME + length as u64).next_multiple_of(8)))
}

/// The records of a group; `None`: it is none.
pub fn records_in(mut group: &[u8]) -> Option<Records> {
    let mut records = Vec::new();
    while !group.is_empty() {
        let (revision, rest) = group.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (record, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        records.push((u64::from_be_bytes(*revision), record.to_vec()));
        group = rest;
    }
    Some(records)
}

/// The number of the frame that the bytes begin with, if they do.
fn frame_number(bytes: &[u8], file: u64) -> Option<u64> {
    let head = bytes.get(..FRAME as usize)?;
    if u64_at(head, 8) != file {
        return None;
    }
    let covered = bytes.get(4..FRAME as usize + u32_at(head, 4) as usize)?;
    (crc32fast::hash(covered) == u32_at(head, 0)).then(|| u64_at(head, 16))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}
