//! What is kept of the past: bounds, followers, restarts.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::datastore::actor::{Started, start_with};

fn begin(journal: &MemoryJournal, limits: Limits) -> Started {
    start_with(builtin(), Box::new(journal.clone()), Box::new(NullEngine), limits).unwrap()
}

fn limits(revisions: usize) -> Limits {
    Limits { revisions, ..Limits::default() }
}

fn name(snapshot: &Snapshot, number: u8) -> Option<String> {
    let leaf = DataPath::parse_rfc8040(builtin(), &format!("{}/name", pod_path(number))).unwrap();
    match snapshot.written(Store::Config, &leaf)? {
        Node::Leaf(value) => value.as_text().map(str::to_owned),
        _ => None,
    }
}

fn put(handle: &Handle, number: u8, text: &str) -> Revision {
    let edit = pod(Operation::Replace, number, text);
    handle.commit_blocking(Transaction::new("somebody", vec![edit])).unwrap().revision
}

fn stop(handle: &Handle) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(handle.stop());
}

#[test]
fn each_revision_keeps_its_state_and_author() {
    let handle = begin(&MemoryJournal::default(), limits(10)).handle;
    let first = put(&handle, 1, "a");
    let second = put(&handle, 1, "b");
    let history = handle.history();
    assert_eq!(name(history.at(first).unwrap().snapshot(), 1).as_deref(), Some("a"));
    let entry = history.at(second).unwrap();
    assert_eq!((&*entry.author, entry.kind, entry.previous), ("somebody", Kind::Client, first));
    assert!(!entry.is_earlier);
    let ahead = Revision(second.0 + 1);
    assert_eq!(history.at(ahead).unwrap_err(), HistoryError::Future { asked: ahead, newest: second });
    let forth = history.changes(first, second).unwrap();
    let back = history.changes(second, first).unwrap();
    assert_eq!((forth.len(), back.len()), (1, 1));
    assert_eq!((&forth[0].before, &forth[0].after), (&back[0].after, &back[0].before));
}

#[test]
fn what_is_beyond_the_limits_goes_and_followers_hear_it() {
    let handle = begin(&MemoryJournal::default(), limits(3)).handle;
    let first = put(&handle, 1, "0");
    let mut cursor = handle.history().follow(first).unwrap();
    for number in 1..8 {
        put(&handle, 1, &number.to_string());
    }
    assert_eq!(handle.history().list().len(), 3);
    let error = handle.history().follow(first).unwrap_err();
    assert!(matches!(error, HistoryError::TooOld { .. }), "{error}");
    let steps = cursor.advance(handle.history(), 100);
    let gathered: Vec<bool> = steps.iter().map(Step::is_gathered).collect();
    assert_eq!(gathered, [true, false, false], "the first step holds what was missed");
    assert_eq!(name(steps[0].before.snapshot(), 1).as_deref(), Some("0"));
    assert!(cursor.advance(handle.history(), 100).is_empty());
}

#[test]
fn age_is_a_limit_too() {
    let handle = begin(&MemoryJournal::default(), Limits { revisions: 100, age: Duration::ZERO }).handle;
    put(&handle, 1, "a");
    std::thread::sleep(Duration::from_millis(2));
    put(&handle, 1, "b");
    assert_eq!(handle.history().list().len(), 1, "the newest stays");
}

#[test]
fn reports_push_no_commit_out() {
    let handle = begin(&MemoryJournal::default(), limits(4)).handle;
    let first = put(&handle, 1, "a");
    let path = "coeus-status:switches/switch=00000000000000ab";
    for number in 0..1000_u32 {
        let body =
            format!(r#"{{"coeus-status:switch":[{{"dpid":"00000000000000ab","desired-flows":{number}}}]}}"#);
        let report = edit(Store::Operational, Operation::Replace, path, Some(&body));
        handle.commit_blocking(Transaction::passing("programmer", vec![report])).unwrap();
    }
    let list = handle.history().list();
    assert!(list.len() < 200, "{}", list.len());
    assert!(list.windows(2).all(|pair| pair[0].revision < pair[1].revision));
    assert_eq!(name(handle.history().at(first).unwrap().snapshot(), 1).as_deref(), Some("a"));
}

#[test]
fn what_could_not_be_made_durable_is_no_history() {
    let faults = Faults::default();
    let journal = MemoryJournal::with(faults.clone());
    let handle = begin(&journal, limits(10)).handle;
    put(&handle, 1, "a");
    *faults.refuse.lock().unwrap() = Some("disk full".into());
    let edit = pod(Operation::Replace, 1, "b");
    handle.commit_blocking(Transaction::new("somebody", vec![edit])).unwrap_err();
    *faults.refuse.lock().unwrap() = None;
    let third = put(&handle, 1, "c");
    let history = handle.history().list();
    let written = history.iter().filter(|entry| entry.kind != Kind::Base);
    let names: Vec<_> = written.filter_map(|entry| name(entry.snapshot(), 1)).collect();
    assert_eq!(names, ["a", "c"]);
    assert_eq!(handle.history().list().last().unwrap().revision, third);
}

#[test]
fn the_past_outlives_the_process_and_its_checkpoints() {
    let journal = MemoryJournal::default();
    let started = begin(&journal, limits(5));
    let revisions: Vec<Revision> =
        (0..20).map(|number| put(&started.handle, number % 3, &number.to_string())).collect();
    stop(&started.handle);
    let loaded = journal::Journal::load(&mut journal.clone()).unwrap();
    assert!(loaded.checkpoint.is_some() && loaded.records.len() == 4, "{} records", loaded.records.len());

    let started = begin(&journal, limits(50));
    let history = started.handle.history();
    for (number, revision) in revisions.iter().enumerate().skip(15) {
        let entry = history.at(*revision).unwrap();
        assert_eq!(name(entry.snapshot(), (number % 3) as u8), Some(number.to_string()));
        assert!(entry.is_earlier && entry.revision == *revision);
    }
    assert!(history.at(revisions[14]).is_err());
    let newest = history.at(started.handle.snapshot().revision).unwrap();
    assert!(newest.kind == Kind::Base && newest.previous == revisions[19]);
    assert!(history.changes(revisions[19], newest.revision).unwrap().is_empty(), "a start writes nothing");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever is written, however often the process starts anew: each kept state is what it was.
    #[test]
    fn kept_states_are_what_they_were(lives in prop::collection::vec(prop::collection::vec((0_u8..4, any::<bool>()), 0..12), 1..4), keep in 2_usize..9) {
        let journal = MemoryJournal::default();
        let mut told: BTreeMap<Revision, Vec<Option<String>>> = BTreeMap::new();
        for life in lives {
            let started = begin(&journal, limits(keep));
            for (step, (number, there)) in life.into_iter().enumerate() {
                let text = format!("{step}");
                let edit = if there { pod(Operation::Replace, number, &text) } else { pod(Operation::Remove, number, "") };
                let committed = started.handle.commit_blocking(Transaction::new("t", vec![edit])).unwrap();
                let names = (0..4).map(|number| name(&started.handle.snapshot(), number)).collect();
                told.insert(committed.revision, names);
            }
            let list = started.handle.history().list();
            prop_assert!(list.len() <= keep);
            for entry in list {
                let names: Vec<_> = (0..4).map(|number| name(entry.snapshot(), number)).collect();
                match told.get(&entry.revision) {
                    Some(then) => prop_assert_eq!(&names, then),
                    None => prop_assert_eq!(entry.kind, Kind::Base),
                }
            }
            stop(&started.handle);
        }
    }
}
