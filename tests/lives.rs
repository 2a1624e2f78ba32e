//! What comes and goes leaves nothing behind: the heap that is in use at the end of a life is that of the lives before, however each of them
//! ended, and it does not grow within a long one. Asked of the allocator, so there is one test here and nothing beside it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cap::Cap;
use coeus::datastore::actor::{self, Started};
use coeus::datastore::journal::{JournalError, SledJournal};
use coeus::datastore::{Edit, Limits, Revision, Store, Transaction};
use coeus::net::Dpid;
use coeus::pipeline::{Delta, Held};
use coeus::renderers::Engine;
use coeus::schema::{DataPath, builtin, json};

#[global_allocator]
static ALLOCATOR: Cap<mimalloc::MiMalloc> = Cap::new(mimalloc::MiMalloc, usize::MAX);

const SWITCH: &str = "ovsdb://uuid/00000000-0000-4000-8000-00000000000a";
const PODS: u32 = 30;
/// Kept revisions: reached in every life.
const KEPT: usize = 40;
const LIVES: usize = 8;
/// Changes that are remembered for conflicts are 16,384: a long life has more of them before it is measured first.
const LONG: u32 = 16_384 / PODS + 20;
const LONGER: u32 = LONG + 200;

type Tables = Arc<Mutex<BTreeMap<Dpid, Held>>>;

#[test]
fn no_life_costs_more_than_those_before() {
    builtin();
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let begin = ALLOCATOR.allocated();
    let mut used = Vec::new();
    for life in 0..LIVES {
        let tables = Tables::default();
        let started = start(folder.path(), &tables);
        if life == 0 {
            write(&started, vec![put(Store::Operational, "network-topology:network-topology", &switch())]);
        }
        for round in 0..4 {
            (0..PODS).for_each(|pod| write(&started, vec![change(pod, round)]));
        }
        (0..PODS).for_each(|pod| write(&started, vec![removed(pod)]));
        settled(&started);
        used.push(ALLOCATOR.allocated() - begin);
        if life % 2 == 0 {
            runtime.block_on(started.handle.stop());
        }
    }
    // The first ones begin with less: with nothing, without a checkpoint. Those that are killed have other ones behind them than those that are stopped.
    for (before, after) in [(LIVES - 4, LIVES - 2), (LIVES - 3, LIVES - 1)] {
        assert!(is_flat(used[before], used[after]), "bytes at the end of each life: {used:?}");
    }

    let tables = Tables::default();
    let started = start(folder.path(), &tables);
    let mut used = Vec::new();
    for rounds in [0..LONG, LONG..LONGER] {
        rounds.for_each(|round| write(&started, (0..PODS).map(|pod| change(pod, round)).collect()));
        settled(&started);
        used.push(ALLOCATOR.allocated() - begin);
    }
    assert!(is_flat(used[0], used[1]), "bytes after {LONG} and after {LONGER} rounds: {used:?}");
}

/// Less than a hundredth more.
fn is_flat(before: usize, after: usize) -> bool {
    after < before + before / 100
}

/// Starts when the life before has let go of its files.
fn start(folder: &Path, tables: &Tables) -> Started {
    let journal = loop {
        match SledJournal::open(folder) {
            Err(JournalError::Locked { .. }) => std::thread::sleep(Duration::from_millis(10)),
            opened => break opened.unwrap(),
        }
    };
    let told = tables.clone();
    let sink = move |_: Revision, deltas: BTreeMap<Dpid, Delta>| {
        let mut tables = told.lock().unwrap();
        for (dpid, mut delta) in deltas {
            tables.entry(dpid).or_default().apply(&mut delta);
        }
    };
    let limits = Limits { revisions: KEPT, ..Limits::default() };
    actor::start_with(builtin(), Box::new(journal), Box::new(Engine::new(builtin(), Box::new(sink))), limits)
        .unwrap()
}

fn write(started: &Started, edits: Vec<Edit>) {
    started.handle.commit_blocking(Transaction::new("test", edits)).unwrap();
}

/// What is dropped behind the last reply is gone when the next one is there.
fn settled(started: &Started) {
    write(started, vec![node(1)]);
    write(started, vec![node(2)]);
}

fn put(store: Store, path: &str, text: &str) -> Edit {
    let path = DataPath::parse_rfc8040(builtin(), path).unwrap();
    let node = json::parse_resource(builtin(), &path, text.as_bytes(), json::Mode::Lenient).unwrap();
    Edit::put(store, path, node)
}

fn uid(pod: u32) -> String {
    format!("00000000-0000-4000-8000-{pod:012}")
}

/// A pod comes, or is labelled otherwise.
fn change(pod: u32, round: u32) -> Edit {
    let uid = uid(pod);
    let text = format!(
        r#"{{"pod:pods":[{{"uid":"{uid}","name":"p{pod}","network-NS":"n{}","host-ip-address":"192.0.2.1",
        "coeus-policy:label":[{{"key":"round","value":"{round:08}"}}],
        "interface":[{{"uid":"{uid}","ip-address":"10.0.0.{}","network-type":"VXLAN"}}]}}]}}"#,
        pod % 5,
        pod + 2
    );
    put(Store::Config, &format!("pod:coe/pods={uid}"), &text)
}

fn removed(pod: u32) -> Edit {
    Edit::remove(
        Store::Config,
        DataPath::parse_rfc8040(builtin(), &format!("pod:coe/pods={}", uid(pod))).unwrap(),
    )
}

fn node(number: u32) -> Edit {
    let uid = uid(0);
    let text = format!(r#"{{"k8s-node:k8s-nodes":[{{"uid":"{uid}","host-name":"n{number}"}}]}}"#);
    put(Store::Config, &format!("k8s-node:k8s-nodes-info/k8s-nodes={uid}"), &text)
}

fn switch() -> String {
    let ports: Vec<String> = (0..PODS)
        .map(|pod| {
            format!(
                r#"{{"tp-id":"veth{pod}","ovsdb:name":"veth{pod}","ovsdb:ofport":{},"ovsdb:interface-external-ids":[
                {{"external-id-key":"iface-id","external-id-value":"n{}:p{pod}"}},
                {{"external-id-key":"attached-mac","external-id-value":"0a:00:00:00:00:{pod:02x}"}}]}}"#,
                pod + 1,
                pod % 5
            )
        })
        .collect();
    format!(
        r#"{{"network-topology:network-topology":{{"topology":[{{"topology-id":"ovsdb:1","node":[
        {{"node-id":"{SWITCH}","ovsdb:openvswitch-other-configs":[{{"other-config-key":"local_ip","other-config-value":"192.0.2.1"}}]}},
        {{"node-id":"{SWITCH}/bridge/br-int","ovsdb:bridge-name":"br-int","ovsdb:datapath-id":"00:00:00:00:00:00:00:01",
          "ovsdb:managed-by":"/network-topology:network-topology/topology[topology-id='ovsdb:1']/node[node-id='{SWITCH}']",
          "termination-point":[{}]}}]}}]}}}}"#,
        ports.join(",")
    )
}
