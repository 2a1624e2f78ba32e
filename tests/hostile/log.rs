//! What is stored: a log file as it is; and records that somebody put into a sound frame, since few changed bytes have the right checksum. What cannot be
//! read is refused with a reason, and what can be is recovered, twice to the same.

use std::path::Path;

use coeus::datastore::journal::frame::{Frame, HEADER, Header, parse, records_in};
use coeus::datastore::journal::{Journal, MemoryJournal, Record, Records};
use coeus::datastore::{Store, recover, to_json};
use coeus::schema::builtin;

pub fn take(bytes: &[u8]) {
    let path = Path::new("log");
    if let Ok(read) = parse(path, bytes, 1, None) {
        assert!(read.end <= (bytes.len() as u64).max(HEADER).next_multiple_of(8), "{read:?}");
        replay(read.records);
    }
    // Each line a record, with revisions that grow: what is between checksums.
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines: Records = lines.zip(1..).map(|(line, revision)| (revision, line.to_vec())).collect();
    for records in [records_in(bytes), Some(lines)].into_iter().flatten() {
        if records.is_empty() {
            continue;
        }
        let mut file = Header { number: 1, first_frame: 1 }.to_bytes().to_vec();
        assert_eq!(file.len() as u64, HEADER);
        file.extend(Frame { file: 1, number: 1, records: &records }.to_bytes());
        let read = parse(path, &file, 1, Some(1)).unwrap();
        assert_eq!((&read.records, read.next, read.is_torn), (&records, 2, false));
        replay(records);
    }
}

fn replay(records: Records) {
    let schema = builtin();
    for (revision, bytes) in &records {
        let Ok(record) = Record::from_bytes(schema, *revision, bytes) else { continue };
        let written = record.to_bytes(schema);
        let again = Record::from_bytes(schema, *revision, &written).unwrap();
        assert_eq!(again.to_bytes(schema), written);
    }
    // Revisions of a journal grow, which its writer sees to.
    if !records.is_sorted_by(|one, next| one.0 < next.0) || records.first().is_none_or(|first| first.0 == 0) {
        return;
    }
    let recovered = || {
        let mut journal = MemoryJournal::default();
        journal.append(&records).unwrap();
        let recovered = recover(schema, &mut journal, 10).map_err(|error| error.to_string())?;
        let of = |store| to_json(&recovered.snapshot, store);
        Ok::<_, String>((of(Store::Config), of(Store::Operational)))
    };
    assert_eq!(recovered(), recovered());
}
