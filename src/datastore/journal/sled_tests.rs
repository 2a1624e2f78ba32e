//! Cases of the journal in sled: faults of its files, older formats, and that it does not grow.

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
fn the_store_is_no_larger_after_many_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let mut sizes = Vec::new();
    // Each life ends with a checkpoint of what is about the same.
    for life in 1..=60_u64 {
        let mut journal = again(folder.path());
        let part: Vec<u8> = (0..300_000_u64).map(|at| (at * life % 251) as u8).collect();
        journal.append(&[(life, b"a record".to_vec())]).unwrap();
        journal.checkpoints().write(life, &[part.clone(), Vec::new(), part.clone()]).unwrap();
        let there = journal.load().unwrap().checkpoint.unwrap();
        assert!(there == (life, vec![part.clone(), Vec::new(), part]), "what is read is what was written");
        drop(journal);
        sizes.push(size(&folder.path().join("store")));
    }
    let largest = |sizes: &[u64]| sizes.iter().copied().max().unwrap();
    let (before, after) = (largest(&sizes[..30]), largest(&sizes[30..]));
    assert!(after < 2 * before, "bytes in the first and in the last thirty lives: {sizes:?}");
    assert_eq!(
        size(&folder.path().join("store/blobs")),
        0,
        "what sled puts into files of its own, it leaves there"
    );
}

#[test]
fn a_checkpoint_of_format_2_is_read_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = SledJournal::open(folder.path()).unwrap();
    let parts = [b"one part".to_vec(), b"another".to_vec()];
    for (number, part) in (0..).zip(&parts) {
        journal.sled.put(&part_key(7, number), &framed(part)).unwrap();
    }
    let head = [&7_u64.to_be_bytes()[..], &2_u32.to_be_bytes()].concat();
    journal.sled.put(CHECKPOINT_KEY, &framed(&head)).unwrap();
    assert_eq!(journal.load().unwrap().checkpoint, Some((7, parts.to_vec())));
    journal.checkpoints().write(9, &parts).unwrap();
    assert_eq!(journal.load().unwrap().checkpoint, Some((9, parts.to_vec())));
    assert!(journal.sled.get(&part_key(7, 0)).unwrap().is_none());
}

#[test]
fn a_checkpoint_takes_away_what_was_left_of_one_that_was_not_finished() {
    let folder = tempfile::tempdir().unwrap();
    let journal = SledJournal::open(folder.path()).unwrap();
    journal.checkpoints().write(3, &[b"there".to_vec()]).unwrap();
    journal.sled.put_parts(5, &[vec![5; 3 * VALUE]]).unwrap();
    journal.checkpoints().write(8, &[b"newest".to_vec()]).unwrap();
    let parts = journal.sled.db.range([PART].as_slice()..[PART + 1].as_slice()).keys();
    assert_eq!(parts.map(|key| key.unwrap().to_vec()).collect::<Vec<_>>(), [part_key(8, 0).to_vec()]);
}

/// Opened as soon as the life before has let go of it.
fn again(folder: &Path) -> SledJournal {
    loop {
        match SledJournal::open(folder) {
            Err(JournalError::Locked { .. }) => std::thread::sleep(std::time::Duration::from_millis(5)),
            opened => return opened.unwrap(),
        }
    }
}

fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| match entry.metadata().unwrap() {
            folder if folder.is_dir() => size(&entry.path()),
            file => file.len(),
        })
        .sum()
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
