//! Cases and laws of the datastore.

mod edits;
mod history;
mod in_place;
mod order;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use proptest::prelude::*;

use super::journal::{Faults, MemoryJournal, SledJournal};
use super::*;
use crate::schema::{builtin, json};

fn edit(store: Store, operation: Operation, path: &str, value: Option<&str>) -> Edit {
    let schema = builtin();
    let path = DataPath::parse_rfc8040(schema, path).unwrap();
    let node =
        value.map(|text| json::parse_resource(schema, &path, text.as_bytes(), json::Mode::Lenient).unwrap());
    Edit::new(store, operation, path, node)
}

fn uid(number: u8) -> String {
    format!("00000000-0000-4000-8000-0000000000{number:02x}")
}

fn pod_path(number: u8) -> String {
    format!("pod:coe/pods={}", uid(number))
}

fn pod(operation: Operation, number: u8, name: &str) -> Edit {
    let body = format!(r#"{{"pod:pods":[{{"uid":"{}","name":"{name}"}}]}}"#, uid(number));
    let value = matches!(operation, Operation::Create | Operation::Replace | Operation::Merge)
        .then_some(body.as_str());
    edit(Store::Config, operation, &pod_path(number), value)
}

fn core() -> Core {
    Core::new(Snapshot::empty(builtin()), &[], Box::new(NullEngine), SystemTime::now())
}

fn apply(core: &mut Core, edits: Vec<Edit>) -> Result<Committed, DatastoreError> {
    core.apply(&Transaction::new("test", edits), SystemTime::now())
}

#[test]
fn what_changes_nothing_makes_no_revision() {
    let mut core = core();
    let first = apply(&mut core, vec![pod(Operation::Replace, 1, "a")]).unwrap();
    assert!(first.changed && first.created == [true]);
    let second = apply(&mut core, vec![pod(Operation::Replace, 1, "a")]).unwrap();
    assert!(!second.changed && second.created == [false] && second.revision == first.revision);
}

#[test]
fn a_transaction_happens_whole_or_not_at_all() {
    let mut core = core();
    let failed = apply(&mut core, vec![pod(Operation::Create, 1, "a"), pod(Operation::Delete, 2, "")]);
    let Err(DatastoreError::AtEdit { number: 1, error }) = failed else { panic!("{failed:?}") };
    assert!(matches!(*error, DatastoreError::Missing { .. }), "{error:?}");
    assert_eq!(core.snapshot.revision, Revision(0));
    assert!(core.snapshot.config.input.is_empty());
}

#[test]
fn create_and_delete_insist_and_remove_does_not() {
    let mut core = core();
    apply(&mut core, vec![pod(Operation::Create, 1, "a")]).unwrap();
    assert!(matches!(
        apply(&mut core, vec![pod(Operation::Create, 1, "b")]),
        Err(DatastoreError::Exists { .. })
    ));
    apply(&mut core, vec![pod(Operation::Delete, 1, "")]).unwrap();
    assert!(matches!(
        apply(&mut core, vec![pod(Operation::Delete, 1, "")]),
        Err(DatastoreError::Missing { .. })
    ));
    assert!(!apply(&mut core, vec![pod(Operation::Remove, 1, "")]).unwrap().changed);
}

#[test]
fn an_edit_from_an_old_snapshot_conflicts_only_where_they_meet() {
    let mut core = core();
    let read = apply(&mut core, vec![pod(Operation::Replace, 1, "a"), pod(Operation::Replace, 2, "b")])
        .unwrap()
        .revision;
    apply(&mut core, vec![pod(Operation::Replace, 1, "c")]).unwrap();
    let mut stale = Transaction::new("test", vec![pod(Operation::Replace, 1, "d")]);
    stale.base = Some(read);
    assert!(matches!(core.apply(&stale, SystemTime::now()), Err(DatastoreError::Conflict { .. })));
    let mut apart = Transaction::new("test", vec![pod(Operation::Replace, 2, "d")]);
    apart.base = Some(read);
    assert!(core.apply(&apart, SystemTime::now()).unwrap().changed);
}

#[test]
fn configuration_refuses_state() {
    let mut core = core();
    let state = edit(
        Store::Config,
        Operation::Replace,
        "coeus-status:switches",
        Some(r#"{"coeus-status:switches":{"switch":[{"dpid":"0000000000000001"}]}}"#),
    );
    assert!(matches!(apply(&mut core, vec![state.clone()]), Err(DatastoreError::Invalid(_))));
    assert!(apply(&mut core, vec![Edit { store: Store::Operational, ..state }]).is_ok());
}

/// Derives a node for each pod, and panics or refuses on request, before or after it is too late to refuse.
#[derive(Clone)]
struct Probe {
    panics: bool,
    published: Arc<Mutex<Vec<Revision>>>,
    /// How often everything was computed anew.
    restored: Arc<Mutex<u32>>,
}

impl Default for Probe {
    fn default() -> Probe {
        Probe { panics: true, published: Arc::default(), restored: Arc::default() }
    }
}

impl Engine for Probe {
    fn restore(&mut self, snapshot: &Snapshot, _: &[IdChange], _: SystemTime) -> Derived {
        *self.restored.lock().unwrap() += 1;
        let path = DataPath::parse_rfc8040(snapshot.schema, "pod:coe").unwrap();
        let there = snapshot.written(Store::Config, &path).is_some();
        Derived { edits: there.then(|| mark(true)).into_iter().collect(), ids: Vec::new() }
    }

    fn check(&self, candidate: &Commit<'_>) -> Result<(), Refusal> {
        let text = format!("{:?}", candidate.changes);
        if text.contains("refuse") {
            return Err(Refusal { path: DataPath::root(), tag: "in-use", message: "taken".into() });
        }
        Ok(())
    }

    fn take(&mut self, commit: &Commit<'_>) -> Vec<IdChange> {
        assert!(!self.panics || !format!("{:?}", commit.changes).contains("panic"), "asked to");
        let key = commit.revision.0.to_string();
        vec![IdChange { pool: "p".into(), key: key.into(), id: Some(commit.revision.0 as u32) }]
    }

    fn render(&mut self, commit: &Commit<'_>) -> Vec<DerivedEdit> {
        assert!(!self.panics || !format!("{:?}", commit.changes).contains("too late"), "asked to");
        let path = DataPath::parse_rfc8040(commit.after.schema, "pod:coe").unwrap();
        let there = commit.after.written(Store::Config, &path).is_some();
        vec![mark(there)]
    }

    fn plan(&mut self, commit: &Commit<'_>, _: &Snapshot) -> (Derived, Report) {
        (Derived { ids: self.take(commit), edits: self.render(commit) }, Box::new(()))
    }

    fn ask(&self, question: Question) {
        question(self);
    }

    fn origin(&self, _: Store, path: &DataPath) -> Option<String> {
        (path.display(builtin()) == MARKED).then(|| "pod a".into())
    }

    fn published(&mut self, revision: Revision) {
        self.published.lock().unwrap().push(revision);
    }
}

const MARK: &str = "l3vpn:vpn-instances/vpn-instance=derived";
const MARKED: &str = "/l3vpn:vpn-instances/vpn-instance[vpn-instance-name='derived']";

fn mark(there: bool) -> DerivedEdit {
    let value = r#"{"l3vpn:vpn-instance":[{"vpn-instance-name":"derived"}]}"#;
    let put = edit(Store::Config, Operation::Replace, MARK, Some(value));
    let derived = DerivedNode::new(builtin(), Store::Config, put.path, put.node.unwrap());
    if there { DerivedEdit::Put(derived) } else { DerivedEdit::Gone(derived) }
}

#[test]
fn derived_nodes_are_read_with_the_written_ones_and_not_deleted_by_hand() {
    let mut core = Core::new(Snapshot::empty(builtin()), &[], Box::new(Probe::default()), SystemTime::now());
    apply(&mut core, vec![pod(Operation::Replace, 1, "a")]).unwrap();
    let path = DataPath::parse_rfc8040(builtin(), MARK).unwrap();
    assert!(core.snapshot.read(Store::Config, &path).is_some());
    assert!(core.snapshot.written(Store::Config, &path).is_none());
    let by_hand = apply(&mut core, vec![edit(Store::Config, Operation::Delete, MARK, None)]);
    let Err(DatastoreError::DerivedOwned { owner, .. }) = by_hand else { panic!("{by_hand:?}") };
    assert_eq!(owner, "pod a");
    apply(&mut core, vec![pod(Operation::Remove, 1, "")]).unwrap();
    assert!(core.snapshot.read(Store::Config, &path).is_none());
}

#[test]
fn a_refusal_or_a_panic_costs_one_transaction_only() {
    let mut core = Core::new(Snapshot::empty(builtin()), &[], Box::new(Probe::default()), SystemTime::now());
    apply(&mut core, vec![pod(Operation::Replace, 1, "a")]).unwrap();
    assert!(matches!(
        apply(&mut core, vec![pod(Operation::Replace, 2, "refuse")]),
        Err(DatastoreError::Refused { .. })
    ));
    assert!(matches!(
        apply(&mut core, vec![pod(Operation::Replace, 2, "panic")]),
        Err(DatastoreError::Rendering { .. })
    ));
    let path = DataPath::parse_rfc8040(builtin(), MARK).unwrap();
    assert!(core.snapshot.read(Store::Config, &path).is_some(), "what was derived before is still there");
    assert!(apply(&mut core, vec![pod(Operation::Replace, 2, "b")]).unwrap().changed);
}

#[test]
fn what_is_decided_stands_whatever_becomes_of_rendering_it() {
    let mut core = Core::new(Snapshot::empty(builtin()), &[], Box::new(Probe::default()), SystemTime::now());
    let list = DataPath::parse_rfc8040(builtin(), MARK).unwrap();
    // The first makes the list, the second is put into it: two ways of carrying a commit out.
    for number in 1..3 {
        let mut told = Vec::new();
        let transaction = Transaction::new("test", vec![pod(Operation::Replace, number, "too late")]);
        let mut decided = |revision: Revision, ids: &[IdChange]| told.push((revision, ids.to_vec()));
        let committed = core.apply_unsettled(&transaction, SystemTime::now(), &mut decided).unwrap();
        assert_eq!(told, [(committed.revision, committed.ids.clone())]);
        assert!(committed.changed && committed.ids.iter().all(|change| core.ids().contains(change)));
        let path = DataPath::parse_rfc8040(builtin(), &pod_path(number)).unwrap();
        assert!(core.snapshot.written(Store::Config, &path).is_some());
        assert!(core.snapshot.read(Store::Config, &list).is_some(), "derived anew");
    }
    let refused = Transaction::new("test", vec![pod(Operation::Replace, 3, "refuse")]);
    let mut decided = |_: Revision, _: &[IdChange]| panic!("nothing is decided");
    core.apply_unsettled(&refused, SystemTime::now(), &mut decided).unwrap_err();
}

#[test]
fn what_was_acknowledged_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        actor::start(
            builtin(),
            Box::new(SledJournal::open(folder.path()).unwrap()),
            Box::new(Probe::default()),
        )
        .unwrap()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let first = open();
    let committed = first
        .handle
        .commit_blocking(Transaction::new("test", vec![pod(Operation::Replace, 1, "a")]))
        .unwrap();
    let passing = edit(
        Store::Operational,
        Operation::Replace,
        "coeus-dhcp:counters",
        Some(r#"{"coeus-dhcp:counters":{"ack":"1"}}"#),
    );
    first.handle.commit_blocking(Transaction::passing("test", vec![passing])).unwrap();
    runtime.block_on(first.handle.stop());
    drop(first);
    std::thread::sleep(std::time::Duration::from_millis(50)); // the writer's thread lets go of the file
    let second = open();
    let snapshot = second.handle.snapshot();
    let path = DataPath::parse_rfc8040(builtin(), &pod_path(1)).unwrap();
    assert!(snapshot.read(Store::Config, &path).is_some());
    assert!(to_json(&snapshot, Store::Operational).len() < 40, "passing data end with the process");
    assert!(snapshot.revision > committed.revision, "revisions never repeat");
    runtime.block_on(second.handle.stop());
}

#[test]
fn a_full_disk_takes_the_change_back_and_says_so() {
    let faults = Faults::default();
    let journal = MemoryJournal::with(faults.clone());
    let probe = Probe::default();
    let started = actor::start(builtin(), Box::new(journal.clone()), Box::new(probe.clone())).unwrap();
    let put = |number, name: &str| {
        started.handle.commit_blocking(Transaction::new("test", vec![pod(Operation::Replace, number, name)]))
    };
    put(1, "a").unwrap();
    *faults.refuse.lock().unwrap() = Some("no space left on device".into());
    assert!(matches!(put(2, "b"), Err(DatastoreError::NotDurable { .. })));
    let there = |number| {
        let path = DataPath::parse_rfc8040(builtin(), &pod_path(number)).unwrap();
        started.handle.snapshot().read(Store::Config, &path).is_some()
    };
    assert!(there(1) && !there(2));
    let computed = *probe.restored.lock().unwrap();
    let before = started.handle.snapshot().revision;
    for number in 2..6 {
        assert!(matches!(put(number, "c"), Err(DatastoreError::NotDurable { .. })));
    }
    assert_eq!(*probe.restored.lock().unwrap(), computed, "only the first has to be taken back");
    assert_eq!(started.handle.snapshot().revision, before);
    *faults.refuse.lock().unwrap() = None;
    put(2, "b").unwrap();
    assert!(there(2) && !there(3));
    let (shown, mut journal) = (started.handle.snapshot(), journal);
    let recovered = recover(builtin(), &mut journal, 0).unwrap();
    assert_eq!(recovered.last, shown.revision.0, "the journal is not behind what is shown");
    assert_eq!(recovered.snapshot.config.input, shown.config.input);
}

#[test]
fn a_log_that_no_revision_and_no_clock_can_follow_is_refused() {
    let recovered = |revision: u64, time: u64| {
        let (edits, ids) = (vec![].into(), vec![].into());
        let record = journal::Record { revision, author: "t".into(), time, edits, ids };
        let mut journal = MemoryJournal::default();
        journal::Journal::append(&mut journal, &[(revision, record.to_bytes(builtin()))]).unwrap();
        recover(builtin(), &mut journal, 0).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(recovered(7, 1_790_000_000), Ok(()));
    let error = recovered(u64::MAX - 1, 1_790_000_000).unwrap_err();
    assert!(error.contains("no revision can come after"), "{error}");
    let error = recovered(7, u64::MAX).unwrap_err();
    assert!(error.contains("no time"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The store does what a map of names does, whatever the edits; a journal of it gives the same state again.
    #[test]
    fn it_agrees_with_a_map(transactions in prop::collection::vec(prop::collection::vec((0_usize..5, 0_u8..6, "[a-c]{1,2}"), 1..4), 1..24)) {
        const OPERATIONS: [Operation; 5] =
            [Operation::Create, Operation::Replace, Operation::Merge, Operation::Delete, Operation::Remove];
        let mut core = core();
        let mut journal = MemoryJournal::default();
        let mut model: BTreeMap<u8, String> = BTreeMap::new();
        let mut revision = 0;
        for edits in transactions {
            let mut next = Some(model.clone());
            for (operation, number, name) in &edits {
                next = next.and_then(|mut map| {
                    match OPERATIONS[*operation] {
                        Operation::Create if map.contains_key(number) => return None,
                        Operation::Delete if !map.contains_key(number) => return None,
                        Operation::Create | Operation::Replace | Operation::Merge => map.insert(*number, name.clone()),
                        Operation::Delete | Operation::Remove | Operation::Move => map.remove(number),
                    };
                    Some(map)
                });
            }
            let edits: Vec<Edit> = edits.iter().map(|(operation, number, name)| pod(OPERATIONS[*operation], *number, name)).collect();
            let outcome = apply(&mut core, edits.clone());
            prop_assert_eq!(outcome.is_ok(), next.is_some());
            if let (Ok(committed), Some(next)) = (outcome, next) {
                prop_assert_eq!(committed.changed, next != model);
                if committed.changed {
                    revision += 1;
                    let record = journal::Record { revision, author: "t".into(), time: 0, edits: edits.into(), ids: vec![].into() };
                    journal::Journal::append(&mut journal, &[(revision, record.to_bytes(builtin()))]).unwrap();
                }
                prop_assert_eq!(committed.revision.0, revision);
                model = next;
            }
            let names: BTreeMap<u8, String> = (0..6)
                .filter_map(|number| {
                    let leaf = DataPath::parse_rfc8040(builtin(), &format!("{}/name", pod_path(number))).unwrap();
                    let node = core.snapshot.read(Store::Config, &leaf)?;
                    let Node::Leaf(value) = node else { return None };
                    Some((number, value.as_text()?.to_owned()))
                })
                .collect();
            prop_assert_eq!(&names, &model);
        }
        let recovered = recover(builtin(), &mut journal, 0).unwrap();
        prop_assert_eq!(to_json(&recovered.snapshot, Store::Config), to_json(&core.snapshot, Store::Config));
        let parts = checkpoint_parts(&core.snapshot, &[], 0);
        let mut other = MemoryJournal::default();
        journal::Checkpoints::write(&mut other, revision, &parts).unwrap();
        let recovered = recover(builtin(), &mut other, 0).unwrap();
        prop_assert_eq!(to_json(&recovered.snapshot, Store::Config), to_json(&core.snapshot, Store::Config));
    }
}
