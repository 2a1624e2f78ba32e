//! Keys and values of a store in etcd. Pure.
//!
//! ```text
//! /coeus/<name>/head                              how far the records go and who wrote that: what an append compares
//! /coeus/<name>/writer                            whose store it is: what a checkpoint compares
//! /coeus/<name>/log/<revision, 20 digits>         records that became durable together, by the last of them
//! /coeus/<name>/log/<revision>.<piece, 5 digits>  their further pieces, where they are too long for one value
//! /coeus/<name>/manifest                          which checkpoint holds
//! /coeus/<name>/checkpoint/<folder>/<piece, 8 digits>
//! /coeus/<name>/leader                            which controller is the active one, as long as its lease lasts
//! /coeus/<name>/cluster/controllers/<id>          a controller that runs, as long as its lease lasts
//! /coeus/<name>/cluster/owners/<datapath id>      which of them programs a switch, under the same lease
//! ```

use serde::{Deserialize, Serialize};

/// Layout of keys and values; a higher number is refused.
pub(super) const FORMAT: u32 = 1;
/// Bytes of a value at most: etcd takes requests of 1.5 MiB.
pub(super) const PIECE: usize = 1 << 20;

#[derive(Debug, Clone)]
pub(super) struct Keys {
    prefix: String,
}

/// The value of `head`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub format: u32,
    /// Of the newest record that counts; 0: there was none.
    pub revision: u64,
    pub writer: String,
}

/// The value of `writer`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    pub writer: String,
    /// Whom it followed, and how far the records went then.
    pub after: Option<Former>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Former {
    pub writer: String,
    pub revision: u64,
}

/// The value of `manifest`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub revision: u64,
    pub folder: String,
    pub pieces: u64,
}

impl Keys {
    pub fn new(name: &str) -> Keys {
        Keys { prefix: format!("/coeus/{name}/") }
    }

    pub fn head(&self) -> String {
        format!("{}head", self.prefix)
    }

    pub fn writer(&self) -> String {
        format!("{}writer", self.prefix)
    }

    pub fn manifest(&self) -> String {
        format!("{}manifest", self.prefix)
    }

    pub fn leader(&self) -> String {
        format!("{}leader", self.prefix)
    }

    pub fn cluster(&self) -> String {
        format!("{}cluster/", self.prefix)
    }

    /// Also where all groups up to the revision before end.
    pub fn log(&self, revision: u64) -> String {
        format!("{}log/{revision:020}", self.prefix)
    }

    pub fn log_piece(&self, revision: u64, piece: usize) -> String {
        match piece {
            0 => self.log(revision),
            piece => format!("{}.{piece:05}", self.log(revision)),
        }
    }

    /// Behind all groups. `0` follows `/`.
    pub fn log_end(&self) -> String {
        format!("{}log0", self.prefix)
    }

    pub fn folder(&self, folder: &str) -> String {
        format!("{}checkpoint/{folder}/", self.prefix)
    }

    pub fn folder_end(&self, folder: &str) -> String {
        format!("{}checkpoint/{folder}0", self.prefix)
    }

    pub fn folder_piece(&self, folder: &str, piece: u64) -> String {
        format!("{}{piece:08}", self.folder(folder))
    }

    pub fn folders(&self) -> String {
        format!("{}checkpoint/", self.prefix)
    }

    pub fn folders_end(&self) -> String {
        format!("{}checkpoint0", self.prefix)
    }

    /// Revision and number of the piece that a key is of.
    pub fn piece_of(&self, key: &[u8]) -> Option<(u64, usize)> {
        let rest = std::str::from_utf8(key).ok()?.strip_prefix(&self.prefix)?.strip_prefix("log/")?;
        let (revision, piece) = rest.split_once('.').unwrap_or((rest, "0"));
        Some((revision.parse().ok()?, piece.parse().ok()?))
    }
}

/// Behind a key, before all others.
pub(super) fn after(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// Records as the pieces of a group. `previous`: the revision up to which records went before.
///
/// Each piece: CRC-32 of the rest, number of pieces (u32), `previous` (u64), then of each record its revision (u64), its length (u32) and
/// its bytes, cut where the piece is full.
pub(super) fn pieces(previous: u64, records: &[(u64, Vec<u8>)]) -> Vec<Vec<u8>> {
    let mut group = Vec::new();
    for (revision, record) in records {
        group.extend(revision.to_be_bytes());
        group.extend((record.len() as u32).to_be_bytes());
        group.extend(record);
    }
    let chunks: Vec<&[u8]> = group.chunks(PIECE).collect();
    let head = [(chunks.len() as u32).to_be_bytes().as_slice(), &previous.to_be_bytes()].concat();
    chunks.into_iter().map(|chunk| sealed(&[&head, chunk])).collect()
}

/// A piece of a group.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// Of how many.
    pub count: usize,
    pub previous: u64,
    pub bytes: &'a [u8],
}

/// `None`: it is damaged.
pub(super) fn piece(value: &[u8]) -> Option<Piece<'_>> {
    let (count, rest) = opened(value)?.split_first_chunk()?;
    let (previous, bytes) = rest.split_first_chunk()?;
    let count = u32::from_be_bytes(*count) as usize;
    Some(Piece { count, previous: u64::from_be_bytes(*previous), bytes })
}

/// With a checksum in front.
pub(super) fn sealed(payload: &[&[u8]]) -> Vec<u8> {
    let mut value = vec![0; 4];
    payload.iter().for_each(|part| value.extend_from_slice(part));
    let sum = crc32fast::hash(&value[4..]);
    value[..4].copy_from_slice(&sum.to_be_bytes());
    value
}

/// `None`: it is damaged.
pub(super) fn opened(value: &[u8]) -> Option<&[u8]> {
    let (sum, payload) = value.split_first_chunk()?;
    (crc32fast::hash(payload).to_be_bytes() == *sum).then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_stand_in_their_order_and_between_their_neighbours() {
        let keys = Keys::new("blue");
        let row = [
            keys.log(0),
            keys.log(7),
            keys.log_piece(7, 1),
            keys.log_piece(7, 12),
            keys.log(8),
            keys.log(u64::MAX),
            keys.log_end(),
        ];
        assert!(row.is_sorted(), "{row:?}");
        assert_eq!(keys.piece_of(row[3].as_bytes()), Some((7, 12)));
        assert_eq!(keys.piece_of(row[4].as_bytes()), Some((8, 0)));
        assert_eq!(keys.piece_of(keys.head().as_bytes()), None);
        let folders = [
            keys.folders(),
            keys.folder("1"),
            keys.folder_piece("1", 0),
            keys.folder_piece("1", 10),
            keys.folder_end("1"),
            keys.folder("2"),
            keys.folders_end(),
        ];
        assert!(folders.is_sorted(), "{folders:?}");
    }

    #[test]
    fn a_changed_byte_is_noticed() {
        let cut = pieces(3, &[(4, vec![1; PIECE]), (5, vec![2; 9])]);
        assert_eq!(cut.len(), 2);
        assert!(cut.iter().all(|piece| piece.len() <= PIECE + 16));
        let first = piece(&cut[0]).unwrap();
        assert_eq!((first.count, first.previous, first.bytes.len()), (2, 3, PIECE));
        for at in [0, 5, 13, 20] {
            let mut changed = cut[1].clone();
            changed[at] ^= 1;
            assert_eq!(piece(&changed), None, "byte {at}");
        }
        assert_eq!(piece(&[]), None);
    }
}
