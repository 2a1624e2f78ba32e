//! Several clients write at once: what the datastore ends with is what the acknowledged transactions give one after the other,
//! in the order of their revisions; and a transaction that was made from a snapshot never overwrites what came in between.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::{Arc, Barrier, Mutex};

use coeus::datastore::journal::MemoryJournal;
use coeus::datastore::{DatastoreError, Edit, Handle, NullEngine, Store, Transaction, actor};
use coeus::schema::{DataPath, Node, Schema, builtin, json};
use proptest::prelude::*;

const LIST: &str = "k8s-node:k8s-nodes-info/k8s-nodes";

/// One step of a client.
#[derive(Clone, Debug)]
struct Step {
    /// What it does to which entry.
    edits: Vec<(u8, What)>,
    /// Whether it reads first, and insists on what it read.
    from_snapshot: bool,
}

#[derive(Clone, Debug)]
enum What {
    Put(u8),
    Merge(u8),
    Remove,
}

/// What an entry holds: the name of the node and its tunnel address, the latter by merges only.
type Model = BTreeMap<u8, (Option<u8>, Option<u8>)>;

fn steps() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let what = prop_oneof![
        3 => any::<u8>().prop_map(What::Put),
        2 => any::<u8>().prop_map(What::Merge),
        1 => Just(What::Remove),
    ];
    let edits = proptest::collection::vec((0..4_u8, what), 1..3);
    let step = (edits, any::<bool>()).prop_map(|(edits, from_snapshot)| Step { edits, from_snapshot });
    proptest::collection::vec(proptest::collection::vec(step, 1..12), 4)
}

fn path(schema: &Schema, entry: u8) -> DataPath {
    DataPath::parse_rfc8040(schema, &format!("{LIST}=00000000-0000-4000-8000-{entry:012}")).unwrap()
}

fn edit(schema: &Schema, entry: u8, what: &What) -> Edit {
    let path = path(schema, entry);
    let node = |leaf: String| {
        let body =
            format!(r#"{{"k8s-node:k8s-nodes":[{{"uid":"00000000-0000-4000-8000-{entry:012}",{leaf}}}]}}"#);
        json::parse_resource(schema, &path, body.as_bytes(), json::Mode::Strict).unwrap()
    };
    match what {
        What::Put(value) => {
            Edit::put(Store::Config, path.clone(), node(format!(r#""host-name":"n{value}""#)))
        }
        What::Merge(value) => Edit::merge(
            Store::Config,
            path.clone(),
            node(format!(r#""internal-ip-address":"10.0.0.{value}""#)),
        ),
        What::Remove => Edit::remove(Store::Config, path),
    }
}

fn apply(model: &mut Model, edits: &[(u8, What)]) {
    for (entry, what) in edits {
        match what {
            What::Put(value) => drop(model.insert(*entry, (Some(*value), None))),
            What::Merge(value) => model.entry(*entry).or_default().1 = Some(*value),
            What::Remove => drop(model.remove(entry)),
        }
    }
}

fn found(schema: &Schema, handle: &Handle) -> Model {
    let list = schema.resolve("/k8s-node:k8s-nodes-info/k8s-nodes");
    let leaf = |name: &str| schema.resolve(&format!("/k8s-node:k8s-nodes-info/k8s-nodes/{name}"));
    let (host, address) = (leaf("host-name"), leaf("internal-ip-address"));
    let at = DataPath::root().child(schema.resolve("/k8s-node:k8s-nodes-info"));
    let Some(Node::Container(nodes)) = handle.snapshot().read(Store::Config, &at) else {
        return Model::new();
    };
    let number = |text: &str, before: &str| text.strip_prefix(before).and_then(|text| text.parse().ok());
    nodes
        .list(list)
        .into_iter()
        .flatten()
        .map(|(key, entry)| {
            let uid = key.values()[0].as_text().unwrap();
            let host = entry.text(host).and_then(|text| number(text, "n"));
            let address = entry.text(address).and_then(|text| number(text, "10.0.0."));
            (uid[uid.len() - 2..].parse().unwrap(), (host, address))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn acknowledged_transactions_are_a_history(clients in steps()) {
        let schema = builtin();
        let started = actor::start(schema, Box::new(MemoryJournal::default()), Box::new(NullEngine)).unwrap();
        let handle = started.handle;
        // Revision, the revision it was made from, and what it did.
        type Done = (u64, Option<u64>, Vec<(u8, What)>);
        let history: Arc<Mutex<Vec<Done>>> = Arc::default();
        let together = Arc::new(Barrier::new(clients.len()));
        let threads: Vec<_> = clients
            .into_iter()
            .map(|steps| {
                let (handle, history, together) = (handle.clone(), history.clone(), together.clone());
                std::thread::spawn(move || {
                    together.wait();
                    for step in steps {
                        let edits = step.edits.iter().map(|(entry, what)| edit(schema, *entry, what)).collect();
                        let mut transaction = Transaction::new("client", edits);
                        transaction.base = step.from_snapshot.then(|| handle.snapshot().revision);
                        let base = transaction.base.map(|revision| revision.0);
                        match handle.commit_blocking(transaction) {
                            Ok(done) if done.changed => {
                                history.lock().unwrap().push((done.revision.0, base, step.edits));
                            }
                            Ok(_) => {}
                            Err(DatastoreError::Conflict { .. }) => assert!(step.from_snapshot),
                            Err(other) => panic!("{other}"),
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let mut history = history.lock().unwrap().clone();
        history.sort_by_key(|(revision, ..)| *revision);
        let mut model = Model::new();
        // Which entries each revision changed.
        let mut changed: Vec<(u64, Vec<u8>)> = Vec::new();
        for (revision, base, edits) in &history {
            prop_assert!(changed.last().is_none_or(|(last, _)| last < revision), "a revision twice");
            for (between, entries) in changed.iter().filter(|(other, _)| base.is_some_and(|base| *other > base)) {
                let meet = entries.iter().any(|entry| edits.iter().any(|(mine, _)| mine == entry));
                prop_assert!(!meet, "{revision} was made from {base:?} and overwrote {between}");
            }
            let before = model.clone();
            apply(&mut model, edits);
            let differs = |entry: &u8| before.get(entry) != model.get(entry);
            changed.push((*revision, (0..4).filter(differs).collect()));
        }
        prop_assert_eq!(found(schema, &handle), model);
    }
}
