//! What a crash, a full disk or a fault of the disk leaves in the log.

use std::os::unix::fs::FileExt;

use proptest::prelude::*;

use super::log::Log;
use super::{JournalError, Records};

fn one() -> std::path::PathBuf {
    "0000000001".into()
}

/// The log of these appends, its first file, and where each frame ends.
fn written(appends: &[Records]) -> (tempfile::TempDir, Vec<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::open(folder.path(), None).unwrap();
    let mut ends = vec![log.end()];
    for records in appends {
        log.append(records).unwrap();
        ends.push(log.end());
    }
    (folder, ends)
}

fn reopened(folder: &tempfile::TempDir) -> Result<(Records, usize), JournalError> {
    let mut log = Log::open(folder.path(), Some(1))?;
    let held = log.load(0)?;
    log.append(&[(1000, b"goes on".to_vec())])?;
    let more = log.load(0)?;
    assert_eq!((more.records.len(), more.repairs.len()), (held.records.len() + 1, 0));
    Ok((held.records, held.repairs.len()))
}

fn damage(folder: &tempfile::TempDir, at: u64, bytes: &[u8]) {
    let file = std::fs::File::options().write(true).open(folder.path().join(one())).unwrap();
    file.write_all_at(bytes, at).unwrap();
}

fn some() -> Vec<Records> {
    vec![
        vec![(1, b"a".to_vec())],
        vec![(2, b"b".to_vec()), (3, vec![7; 9000])],
        vec![(5, b"c".to_vec()), (6, Vec::new())],
    ]
}

#[test]
fn a_log_is_read_back_and_goes_on() {
    let (folder, _) = written(&some());
    let (records, repairs) = reopened(&folder).unwrap();
    assert_eq!((records, repairs), (some().concat(), 0));
    let (records, _) = reopened(&folder).unwrap();
    assert_eq!(records.last().unwrap(), &(1000, b"goes on".to_vec()));
}

#[test]
fn a_damaged_frame_stops_the_start_if_it_is_not_the_last() {
    for byte in 0..24 {
        let (folder, ends) = written(&some());
        damage(&folder, ends[1] + byte, &[0xa5]);
        assert!(matches!(reopened(&folder), Err(JournalError::Damaged { .. })), "byte {byte}");
    }
}

#[test]
fn a_damaged_header_stops_the_start() {
    for byte in 0..32 {
        let (folder, _) = written(&some());
        damage(&folder, byte, &[0xa5]);
        assert!(reopened(&folder).is_err(), "byte {byte}");
    }
}

#[test]
fn a_file_of_a_newer_format_is_refused() {
    let (folder, _) = written(&[]);
    let path = folder.path().join(one());
    let mut head = std::fs::read(&path).unwrap()[..28].to_vec();
    head[8..12].copy_from_slice(&9_u32.to_be_bytes());
    let sum = crc32fast::hash(&head);
    head.extend(sum.to_be_bytes());
    damage(&folder, 0, &head);
    assert!(matches!(reopened(&folder), Err(JournalError::Newer { found: 9, .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// However much of the last append reached the disk: all before it is there, it is there as a whole or not at all, and what
    /// is dropped is told.
    #[test]
    fn a_torn_append_is_dropped(kept in 0_f64..1.0, holes in prop::collection::vec(0_f64..1.0, 0..3)) {
        let (folder, ends) = written(&some());
        let (begin, end) = (ends[2], ends[3]);
        let cut = begin + ((end - begin) as f64 * kept) as u64;
        damage(&folder, cut, &vec![0; (end - cut) as usize]);
        for hole in holes {
            damage(&folder, begin + ((end - begin - 1) as f64 * hole) as u64, &[0]);
        }
        let (records, repairs) = reopened(&folder).unwrap();
        let all = some().concat();
        prop_assert!(records == all || records == all[..3]);
        // Nothing of it on the disk is no harm to tell of.
        prop_assert!(repairs <= usize::from(records != all));
    }
}
