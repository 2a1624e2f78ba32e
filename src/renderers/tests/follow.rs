//! A datastore that follows another one comes to have what that one has: trees, stamps, ids and flows; and goes on where it ended.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tokio::runtime::Runtime;

use super::super::Engine;
use crate::datastore::journal::{Journal, MemoryJournal, MemoryReplica};
use crate::datastore::{Edit, Handle, Limits, Operation, Store, Transaction, actor, to_json};
use crate::net::Dpid;
use crate::pipeline::SwitchTables;
use crate::schema::{DataPath, builtin, json};

const TOPOLOGY: &str = "network-topology:network-topology/topology=ovsdb%3A1";

fn engine() -> Box<Engine> {
    Box::new(Engine::new(builtin(), Box::new(|_, _| {})))
}

fn edit(store: Store, operation: Operation, path: &str, body: Option<&str>) -> Edit {
    let path = DataPath::parse_rfc8040(builtin(), path).unwrap();
    let node = body
        .map(|body| json::parse_resource(builtin(), &path, body.as_bytes(), json::Mode::Lenient).unwrap());
    Edit::new(store, operation, path, node)
}

fn uid(number: u8) -> String {
    format!("00000000-0000-4000-8000-0000000000{number:02x}")
}

fn pod(number: u8, network: u8) -> Edit {
    let uid = uid(number);
    let body = format!(
        r#"{{"pod:pods":[{{"uid":"{uid}","name":"p{number}","network-NS":"n{network}","host-ip-address":"192.168.56.1{}",
        "interface":[{{"uid":"{uid}","ip-address":"10.11.{}.{}","network-type":"VXLAN"}}]}}]}}"#,
        number % 2,
        number % 2,
        number + 10
    );
    edit(Store::Config, Operation::Replace, &format!("pod:coe/pods={uid}"), Some(&body))
}

fn no_pod(number: u8) -> Edit {
    edit(Store::Config, Operation::Remove, &format!("pod:coe/pods={}", uid(number)), None)
}

/// A switch with ports of some pods, as OVSDB describes it.
fn switch(node: u8, ports: u8) -> Edit {
    let port = |number: u8| {
        format!(
            r#",{{"tp-id":"veth{number}","ovsdb:ofport":{},"ovsdb:interface-external-ids":[
            {{"external-id-key":"iface-id","external-id-value":"n{}:p{number}"}},
            {{"external-id-key":"attached-mac","external-id-value":"0a:00:00:00:01:{number:02x}"}}]}}"#,
            number + 10,
            number % 3
        )
    };
    let ports: String = (0..ports).map(port).collect();
    let body = format!(
        r#"{{"network-topology:node":[{{"node-id":"ovsdb://uuid/{node}/bridge/br-int","ovsdb:bridge-name":"br-int",
        "ovsdb:datapath-id":"00:00:00:00:00:00:00:0{}","termination-point":[
        {{"tp-id":"tun0","ovsdb:ofport":1,"ovsdb:interface-type":"ovsdb:interface-type-vxlan",
        "ovsdb:options":[{{"option":"remote_ip","value":"flow"}}]}}{ports}]}}]}}"#,
        node + 1
    );
    let path = format!("{TOPOLOGY}/node=ovsdb%3A%2F%2Fuuid%2F{node}%2Fbridge%2Fbr-int");
    edit(Store::Operational, Operation::Replace, &path, Some(&body))
}

fn system(node: u8) -> Edit {
    let body = format!(
        r#"{{"network-topology:node":[{{"node-id":"ovsdb://uuid/{node}","ovsdb:openvswitch-other-configs":[
        {{"other-config-key":"local_ip","other-config-value":"192.168.56.1{node}"}}]}}]}}"#
    );
    edit(
        Store::Operational,
        Operation::Replace,
        &format!("{TOPOLOGY}/node=ovsdb%3A%2F%2Fuuid%2F{node}"),
        Some(&body),
    )
}

#[derive(Clone, Debug)]
enum Act {
    Pod(u8, u8),
    NoPod(u8),
    /// Several in one transaction.
    Pods(Vec<(u8, bool)>),
    Switch(u8, u8),
    /// A report that is not journalled.
    Passing,
    Checkpoint,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        5 => (0..8u8, 0..3u8).prop_map(|(number, network)| Act::Pod(number, network)),
        2 => (0..8u8).prop_map(Act::NoPod),
        2 => prop::collection::vec((0..8u8, any::<bool>()), 1..4).prop_map(Act::Pods),
        2 => (0..2u8, 0..5u8).prop_map(|(node, ports)| Act::Switch(node, ports)),
        1 => Just(Act::Passing),
        1 => Just(Act::Checkpoint),
    ]
}

/// Carries an act out; whether the datastore took it does not matter.
fn carry_out(act: &Act, handle: &Handle, journal: &MemoryJournal) {
    let edits = match act {
        Act::Pod(number, network) => vec![pod(*number, *network)],
        Act::NoPod(number) => vec![no_pod(*number)],
        Act::Pods(pods) => {
            let one = |(number, put): &(u8, bool)| if *put { pod(*number, 1) } else { no_pod(*number) };
            pods.iter().map(one).collect()
        }
        Act::Switch(node, ports) => vec![system(*node), switch(*node, *ports)],
        Act::Passing => {
            let body = r#"{"coeus-status:switch":[{"dpid":"0000000000000001","flow-mods":"7"}]}"#;
            let path = "coeus-status:switches/switch=0000000000000001";
            let report = edit(Store::Operational, Operation::Merge, path, Some(body));
            drop(handle.commit_blocking(Transaction::passing("test", vec![report])));
            return;
        }
        Act::Checkpoint => {
            // As the writer would have one written, of the newest record's state.
            let mut journal = journal.clone();
            let recovered = crate::datastore::recover(builtin(), &mut journal, 0).unwrap();
            let last = journal.load().unwrap().newest();
            if last > 0 {
                let parts = crate::datastore::checkpoint_parts(&recovered.snapshot, &recovered.ids, 1);
                journal.checkpoints().write(last, &parts).unwrap();
            }
            return;
        }
    };
    drop(handle.commit_blocking(Transaction::new("test", edits)));
}

/// What must be alike: configuration, its stamps, and what the switches should hold.
fn shown(runtime: &Runtime, handle: &Handle) -> (String, Vec<String>, BTreeMap<Dpid, SwitchTables>) {
    let snapshot = handle.snapshot();
    let stamps = (0..8).map(|number| {
        let path = DataPath::parse_rfc8040(builtin(), &format!("pod:coe/pods={}", uid(number))).unwrap();
        format!("{:?}", snapshot.stamp(Store::Config, &path))
    });
    let tables = runtime.block_on(handle.ask(|engine: &Engine| engine.desired())).unwrap();
    (String::from_utf8(to_json(&snapshot, Store::Config)).unwrap(), stamps.collect(), tables)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn who_follows_has_the_same(acts in prop::collection::vec(act(), 1..30), joins in 0..30usize, looks in prop::collection::vec(any::<bool>(), 30)) {
        let runtime = Runtime::new().unwrap();
        let journal = MemoryJournal::default();
        let writer = actor::start(builtin(), Box::new(journal.clone()), engine()).unwrap().handle;
        let follow = || {
            actor::follow(builtin(), Box::new(MemoryReplica::of(&journal)), engine(), Limits::default()).unwrap().handle
        };
        let first = follow();
        let mut second = None;
        for (number, act) in acts.iter().enumerate() {
            if number == joins {
                second = Some(follow());
            }
            carry_out(act, &writer, &journal);
            if looks[number] {
                runtime.block_on(first.catch_up()).unwrap();
                let (here, there) = (shown(&runtime, &first), shown(&runtime, &writer));
                prop_assert_eq!(&here.0, &there.0, "after {}", number);
                prop_assert!(here.2 == there.2, "the flows differ after {number}: {act:?}");
                if !acts.iter().any(|act| matches!(act, Act::Checkpoint)) {
                    prop_assert_eq!(here.1, there.1, "after {}", number);
                }
            }
        }
        let there = shown(&runtime, &writer);
        for follower in [Some(&first), second.as_ref()].into_iter().flatten() {
            runtime.block_on(follower.catch_up()).unwrap();
            let here = shown(&runtime, follower);
            prop_assert_eq!(&here.0, &there.0);
            prop_assert!(here.2 == there.2, "the flows differ in the end");
        }
        // One goes on where the other one ended, and nothing it writes has a number that was used.
        let next = second.unwrap_or(first);
        let before = writer.snapshot().revision;
        runtime.block_on(writer.stop());
        runtime.block_on(next.lead(Box::new(journal.clone()))).unwrap();
        let after = shown(&runtime, &next);
        prop_assert_eq!((&after.0, after.2 == there.2), (&there.0, true));
        drop(next.commit_blocking(Transaction::new("test", vec![no_pod(9), pod(9, 2)])).unwrap());
        let newest = next.snapshot().revision;
        prop_assert!(newest > before, "{newest:?} after {before:?}");
        let recovered = crate::datastore::recover(builtin(), &mut journal.clone(), 0).unwrap();
        let wanted = Engine::from_scratch(&recovered.snapshot, &recovered.ids, std::time::SystemTime::now());
        prop_assert!(shown(&runtime, &next).2 == wanted, "a restart finds other flows");
        runtime.block_on(next.stop());
    }
}
