//! What a number names is not another thing after a restart, also where a start gave it: what was written by a version that knew of no number for it gets one
//! at the first start of one that does, and keeps it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use coeus::datastore::actor::{self, Started};
use coeus::datastore::journal::{MemoryJournal, MemoryReplica};
use coeus::datastore::{Edit, Engine as AnyEngine, Limits, NullEngine, Store, Transaction};
use coeus::renderers::Engine;
use coeus::schema::{DataPath, Node, builtin, json};

const POOLS: &str = "id-manager:id-pools";

fn start(journal: &MemoryJournal, engine: Box<dyn AnyEngine>) -> Started {
    actor::start(builtin(), Box::new(journal.clone()), engine).unwrap()
}

fn networks() -> Box<dyn AnyEngine> {
    Box::new(Engine::new(builtin(), Box::new(|_, _| {})))
}

fn path(text: &str) -> DataPath {
    DataPath::parse_rfc8040(builtin(), text).unwrap()
}

fn pod(number: u32) -> (DataPath, Node) {
    let uid = format!("00000000-0000-4000-8000-{number:012}");
    let path = path(&format!("pod:coe/pods={uid}"));
    let text = format!(
        r#"{{"pod:pods":[{{"uid":"{uid}","name":"p{number}","network-NS":"n{number}","host-ip-address":"192.0.2.1",
        "interface":[{{"uid":"{uid}","ip-address":"10.0.{number}.2","network-type":"VXLAN"}}]}}]}}"#
    );
    let node = json::parse_resource(builtin(), &path, text.as_bytes(), json::Mode::Lenient).unwrap();
    (path, node)
}

fn put(started: &Started, number: u32) {
    let (path, node) = pod(number);
    write(started, Edit::put(Store::Config, path, node));
}

fn remove(started: &Started, number: u32) {
    write(started, Edit::remove(Store::Config, pod(number).0));
}

fn write(started: &Started, edit: Edit) {
    started.handle.commit_blocking(Transaction::new("test", vec![edit])).unwrap();
}

/// Numbers by pool and key.
fn ids(started: &Started) -> BTreeMap<(String, String), u64> {
    let path = path(POOLS);
    let node = started.handle.snapshot().read(Store::Operational, &path).unwrap();
    let mut text = Vec::new();
    json::write_resource(builtin(), &path, &node, &mut text);
    let pools: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let mut all = BTreeMap::new();
    for pool in pools[POOLS]["id-pool"].as_array().unwrap() {
        for entry in pool["id-entries"].as_array().into_iter().flatten() {
            let name = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            all.insert(
                (name(&pool["pool-name"]), name(&entry["id-key"])),
                entry["id-value"][0].as_u64().unwrap(),
            );
        }
    }
    all
}

#[test]
fn numbers_that_a_start_took_are_those_of_the_next_start() {
    let journal = MemoryJournal::default();
    let older = start(&journal, Box::new(NullEngine));
    (1..=4).for_each(|number| put(&older, number));
    drop(older);

    let first = start(&journal, networks());
    let taken = ids(&first);
    assert!(taken.len() >= 4, "each pod has a network with numbers of its own: {taken:?}");
    // The lowest numbers are free then.
    remove(&first, 1);
    put(&first, 5);
    let before = ids(&first);
    drop(first);

    let second = start(&journal, networks());
    assert_eq!(ids(&second), before);
}

#[test]
fn who_follows_has_the_numbers_that_a_start_took_elsewhere() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let journal = MemoryJournal::default();
    let older = start(&journal, Box::new(NullEngine));
    let replica = Box::new(MemoryReplica::of(&journal));
    let follower = actor::follow(builtin(), replica, networks(), Limits::default()).unwrap();
    (1..=4).for_each(|number| put(&older, number));
    remove(&older, 1);
    runtime.block_on(follower.handle.catch_up()).unwrap();
    drop(older);

    let active = start(&journal, networks());
    assert_ne!(ids(&active), ids(&follower), "it has other numbers free: the test proves nothing otherwise");
    put(&active, 5);
    runtime.block_on(follower.handle.catch_up()).unwrap();
    assert_eq!(ids(&active), ids(&follower));
}
