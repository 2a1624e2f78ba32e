//! A commit in place is the commit that it would have been on a copy.

use super::*;

/// Edits that hit and miss each other: whole pods, their leafs, their interfaces, and what is above them.
fn any_edit() -> impl Strategy<Value = Edit> {
    const OPERATIONS: [Operation; 5] =
        [Operation::Create, Operation::Replace, Operation::Merge, Operation::Delete, Operation::Remove];
    let names = prop::sample::select(vec!["a", "b", "refuse", "panic"]);
    (0..OPERATIONS.len(), 0_u8..4, 0_u8..3, names, 0_u8..12).prop_map(
        |(operation, pod, inner, name, place)| {
            let operation = OPERATIONS[operation];
            let (at, interface) = (pod_path(pod), uid(inner));
            let entry = format!(r#"{{"uid":"{interface}","ip-address":"10.0.0.{inner}"}}"#);
            let (path, body) = match place {
                0..5 => (
                    at,
                    format!(
                        r#"{{"pod:pods":[{{"uid":"{}","name":"{name}","interface":[{entry}]}}]}}"#,
                        uid(pod)
                    ),
                ),
                5..7 => (format!("{at}/name"), format!(r#"{{"pod:name":"{name}"}}"#)),
                7..10 => (format!("{at}/interface={interface}"), format!(r#"{{"pod:interface":[{entry}]}}"#)),
                10 => (format!("{at}/interface"), format!(r#"{{"pod:interface":[{entry}]}}"#)),
                _ => (
                    "pod:coe".into(),
                    format!(r#"{{"pod:coe":{{"pods":[{{"uid":"{}","name":"a"}}]}}}}"#, uid(pod)),
                ),
            };
            let has_node = matches!(operation, Operation::Create | Operation::Replace | Operation::Merge);
            edit(Store::Config, operation, &path, has_node.then_some(body.as_str()))
        },
    )
}

fn text(state: &Snapshot) -> String {
    format!("{:?} {:?} {:?}", state.revision, state.config, state.operational)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The same answers, the same trees to the last stamp, whether states are kept between the commits or not; and each state of
    /// the past is made again as it was.
    #[test]
    fn in_place_is_as_on_a_copy(edits in prop::collection::vec((any_edit(), 0_u8..4), 1..40)) {
        let fresh = || {
            let empty = Snapshot::empty(builtin());
            let engine = Box::new(Probe { panics: false, ..Probe::default() });
            Core::new(empty, &[], engine, SystemTime::UNIX_EPOCH)
        };
        let (mut one, mut other) = (fresh(), fresh());
        let mut past = Vec::new();
        for (edit, keep) in edits {
            let transaction = Transaction::new("t", vec![edit]);
            let now = SystemTime::UNIX_EPOCH;
            let answer = one.apply(&transaction, now);
            let wanted = other.apply_to_copy(&transaction, now, &mut |_, _| ());
            other.settle(now);
            prop_assert_eq!(format!("{answer:?}"), format!("{wanted:?}"));
            prop_assert_eq!(text(&one.snapshot), text(&other.snapshot));
            prop_assert_eq!(one.ids(), other.ids());
            past.push((one.state.clone(), text(&one.snapshot), one.ids()));
            if keep == 0 {
                one.keep();
            }
        }
        for (state, then, ids) in past.iter().rev().step_by(2).chain(&past) {
            prop_assert_eq!(&text(&state.whole().snapshot), then);
            prop_assert_eq!(&crate::datastore::history::id_changes(&state.whole().ids), ids);
        }
    }
}

/// Between a commit and its settling the journal and the switches have it; whatever comes next finds it in the trees.
#[test]
fn what_is_derived_waits_until_it_is_settled() {
    let (now, empty) = (SystemTime::UNIX_EPOCH, Snapshot::empty(builtin()));
    let fresh = || Core::new(empty.clone(), &[], Box::new(Probe::default()), now);
    let derived = |core: &Core| {
        [Store::Config, Store::Operational].map(|store| core.snapshot.layers(store).derived.clone())
    };
    let (mut one, mut other) = (fresh(), fresh());
    for name in ["a", "b"] {
        for uid in [1, 2] {
            let transaction = Transaction::new("t", vec![pod(Operation::Replace, uid, name)]);
            let before = format!("{:?}", derived(&one));
            one.apply_unsettled(&transaction, now, &mut |_, _| ()).unwrap();
            other.apply(&transaction, now).unwrap();
            assert_eq!(format!("{:?}", derived(&one)), before);
            assert_ne!(text(&one.snapshot), text(&other.snapshot));
            assert!(one.settle(now) && !one.settle(now));
            assert_eq!(text(&one.snapshot), text(&other.snapshot));
            assert_eq!(text(&one.state.whole().snapshot), text(&other.snapshot));
        }
    }
    let (first, second) = (pod(Operation::Replace, 1, "c"), pod(Operation::Replace, 2, "c"));
    one.apply_unsettled(&Transaction::new("t", vec![first.clone()]), now, &mut |_, _| ()).unwrap();
    one.apply(&Transaction::new("t", vec![second.clone()]), now).unwrap();
    apply(&mut other, vec![first]).unwrap();
    apply(&mut other, vec![second]).unwrap();
    assert_eq!(text(&one.snapshot), text(&other.snapshot));
}

#[test]
fn a_refused_commit_leaves_nothing_in_the_middle_of_a_group() {
    let empty = Snapshot::empty(builtin());
    let mut core = Core::new(empty, &[], Box::new(Probe::default()), SystemTime::now());
    apply(&mut core, vec![pod(Operation::Replace, 1, "a")]).unwrap();
    apply(&mut core, vec![pod(Operation::Replace, 2, "b")]).unwrap();
    let before = text(&core.snapshot);
    apply(&mut core, vec![pod(Operation::Replace, 3, "refuse")]).unwrap_err();
    assert_eq!(text(&core.snapshot), before);
    apply(&mut core, vec![pod(Operation::Replace, 3, "panic")]).unwrap_err();
    assert_eq!(to_json(&core.snapshot, Store::Config), to_json(&core.state.whole().snapshot, Store::Config));
    apply(&mut core, vec![pod(Operation::Replace, 3, "c")]).unwrap();
    assert_eq!(core.snapshot.revision, Revision(3));
}

#[test]
fn the_history_of_a_group_is_that_of_its_commits() {
    let journal = MemoryJournal::default();
    let started = actor::start(builtin(), Box::new(journal), Box::new(NullEngine)).unwrap();
    let handle = started.handle;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // All of them wait when the writer takes up the first.
        let commits = (0..40_u8).map(|number| {
            let (handle, edit) = (handle.clone(), pod(Operation::Replace, number % 7, &number.to_string()));
            async move { handle.commit(Transaction::new("t", vec![edit])).await.unwrap().revision }
        });
        let commits: Vec<_> = commits.map(|commit| runtime.spawn(commit)).collect();
        for (number, commit) in commits.into_iter().enumerate() {
            let revision = commit.await.unwrap();
            let entry = handle.history().at(revision).unwrap();
            let leaf = format!("{}/name", pod_path(number as u8 % 7));
            let leaf = DataPath::parse_rfc8040(builtin(), &leaf).unwrap();
            let name = entry.snapshot().written(Store::Config, &leaf);
            assert_eq!(name, Some(Node::Leaf(crate::schema::Value::text(number.to_string()))));
            assert_eq!(entry.snapshot().revision, revision);
        }
        handle.stop().await;
    });
}
