//! A plan says exactly what the commit then does, and leaves no trace.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::super::{Engine, Plan};
use crate::datastore::{Core, DatastoreError, Edit, Operation, Snapshot, Store, Transaction, to_json};
use crate::net::Dpid;
use crate::pipeline::{Delta, FlowChange, golden};
use crate::schema::{DataPath, builtin, json};

type Told = Arc<Mutex<Vec<BTreeMap<Dpid, Delta>>>>;

/// A datastore with its renderers, and what the switches were told.
struct Bed {
    core: Core,
    told: Told,
}

impl Bed {
    fn new() -> Bed {
        let told = Told::default();
        let sink = told.clone();
        let engine = Engine::new(builtin(), Box::new(move |_, deltas| sink.lock().unwrap().push(deltas)));
        let mut core = Core::new(Snapshot::empty(builtin()), &[], Box::new(engine), SystemTime::UNIX_EPOCH);
        core.published();
        told.lock().unwrap().clear();
        Bed { core, told }
    }

    fn commit(&mut self, edits: &[Edit], now: SystemTime) -> Result<bool, DatastoreError> {
        let committed = self.core.apply(&Transaction::new("t", edits.to_vec()), now)?;
        self.core.published();
        Ok(committed.changed)
    }

    /// Everything there is.
    fn state(&self) -> [String; 4] {
        let engine = Arc::new(Mutex::new((String::new(), String::new())));
        let found = engine.clone();
        self.core.ask(Box::new(move |engine| {
            let engine = engine.downcast_ref::<Engine>().unwrap();
            let desired = engine.desired();
            let flows = desired.iter().map(|(dpid, tables)| format!("{dpid}\n{}", golden::print(tables)));
            *found.lock().unwrap() = (flows.collect(), format!("{:?}", engine.model()));
        }));
        let (flows, model) = engine.lock().unwrap().clone();
        let text = |store| String::from_utf8(to_json(self.core.snapshot(), store)).unwrap();
        [flows, model, text(Store::Config), text(Store::Operational)]
    }
}

/// A delta as lines, in one order.
fn lines(deltas: &BTreeMap<Dpid, Delta>) -> Vec<String> {
    let mut lines = Vec::new();
    for (dpid, delta) in deltas {
        for change in delta.flows.iter() {
            lines.push(match change {
                FlowChange::Put(flow) => format!("{dpid} + {flow}"),
                FlowChange::Gone(flow) => format!("{dpid} - {flow}"),
            });
        }
        lines.extend(delta.groups.iter().map(|(id, group)| format!("{dpid} group {id} {group:?}")));
        lines.extend(delta.meters.iter().map(|(id, meter)| format!("{dpid} meter {id} {meter:?}")));
    }
    lines.sort();
    lines
}

fn edit(store: Store, path: &str, body: Option<String>) -> Edit {
    let path = DataPath::parse_rfc8040(builtin(), path).unwrap();
    match body {
        Some(text) => {
            let node = json::parse_resource(builtin(), &path, text.as_bytes(), json::Mode::Lenient).unwrap();
            Edit::put(store, path, node)
        }
        None => Edit::remove(store, path),
    }
}

const TOPOLOGY: &str = "network-topology:network-topology/topology=ovsdb%3A1";

fn bridge(node: u8) -> String {
    format!("{TOPOLOGY}/node=ovsdb%3A%2F%2Fuuid%2F{node}%2Fbridge%2Fbr-int")
}

fn switch(node: u8, there: bool) -> Vec<Edit> {
    let ovs = format!("ovsdb://uuid/{node}");
    let path = format!("{TOPOLOGY}/node=ovsdb%3A%2F%2Fuuid%2F{node}");
    let body = format!(
        r#"{{"network-topology:node":[{{"node-id":"{ovs}","ovsdb:openvswitch-other-configs":[
            {{"other-config-key":"local_ip","other-config-value":"192.168.56.{node}"}}]}}]}}"#
    );
    let on = format!(
        r#"{{"network-topology:node":[{{"node-id":"{ovs}/bridge/br-int","ovsdb:bridge-name":"br-int",
            "ovsdb:datapath-id":"00:00:00:00:00:00:00:0{node}","termination-point":[
            {{"tp-id":"tun","ovsdb:ofport":1,"ovsdb:interface-type":"ovsdb:interface-type-vxlan",
             "ovsdb:options":[{{"option":"remote_ip","value":"flow"}}]}}]}}]}}"#
    );
    vec![
        edit(Store::Operational, &path, there.then_some(body)),
        edit(Store::Operational, &bridge(node), there.then_some(on)),
    ]
}

fn port(node: u8, pod: u8, there: bool) -> Vec<Edit> {
    let body = format!(
        r#"{{"network-topology:termination-point":[{{"tp-id":"veth{pod}","ovsdb:ofport":{},"ovsdb:interface-external-ids":[
            {{"external-id-key":"iface-id","external-id-value":"blue:p{pod}"}},
            {{"external-id-key":"attached-mac","external-id-value":"0a:00:00:00:0{node}:0{pod}"}}]}}]}}"#,
        10 + pod
    );
    let path = format!("{}/termination-point=veth{pod}", bridge(node));
    vec![edit(Store::Operational, &path, there.then_some(body))]
}

fn pod(node: u8, pod: u8, address: u8, there: bool) -> Vec<Edit> {
    let uid = format!("00000000-0000-4000-8000-00000000000{pod}");
    let body = format!(
        r#"{{"pod:pods":[{{"uid":"{uid}","name":"p{pod}","network-NS":"blue","host-ip-address":"192.168.56.{node}",
            "interface":[{{"uid":"{uid}","ip-address":"10.0.0.{address}"}}]}}]}}"#
    );
    vec![edit(Store::Config, &format!("pod:coe/pods={uid}"), there.then_some(body))]
}

fn any_edits() -> impl Strategy<Value = Vec<Edit>> {
    let there = || prop::bool::weighted(0.7);
    prop_oneof![
        1 => (1_u8..4, there()).prop_map(|(node, there)| switch(node, there)),
        4 => (1_u8..4, 1_u8..5, there()).prop_map(|(node, number, there)| port(node, number, there)),
        6 => (1_u8..4, 1_u8..5, 10_u8..16, there())
            .prop_map(|(node, number, address, there)| pod(node, number, address, there)),
    ]
}

fn any_transaction() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(any_edits(), 1..4).prop_map(|edits| edits.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Of two datastores that carry out the same, one also plans this and that: no difference can be seen, and what was planned is
    /// what happens.
    #[test]
    fn a_plan_is_what_then_happens(steps in prop::collection::vec((any_transaction(), any_transaction()), 1..14)) {
        let (mut planning, mut plain) = (Bed::new(), Bed::new());
        for (number, edits) in [switch(1, true), switch(2, true)].iter().enumerate() {
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(number as u64);
            for bed in [&mut planning, &mut plain] {
                bed.commit(edits, now).unwrap();
            }
        }
        for (number, (other, edits)) in steps.into_iter().enumerate() {
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(20 * number as u64);
            planning.told.lock().unwrap().clear();
            let _ = planning.core.plan(&Transaction::new("t", other), now);
            let planned = planning.core.plan(&Transaction::new("t", edits.clone()), now);
            prop_assert_eq!(planning.state(), plain.state());
            prop_assert!(planning.told.lock().unwrap().is_empty());

            let done = planning.commit(&edits, now);
            prop_assert_eq!(done.clone().map_err(|e| e.to_string()), plain.commit(&edits, now).map_err(|e| e.to_string()));
            match (planned, done) {
                (Ok(planned), Ok(changed)) => {
                    let plan = planned.report.downcast::<Plan>().unwrap();
                    let told = planning.told.lock().unwrap().pop().unwrap_or_default();
                    prop_assert_eq!(lines(&plan.deltas()), lines(&told));
                    if changed {
                        for store in [Store::Config, Store::Operational] {
                            let snapshot = planning.core.snapshot();
                            prop_assert_eq!(to_json(&planned.after, store), to_json(snapshot, store));
                        }
                    }
                }
                (Err(planned), Err(done)) => prop_assert_eq!(planned.to_string(), done.to_string()),
                (planned, done) => prop_assert!(false, "{:?} {done:?}", planned.map(|_| ())),
            }
            prop_assert_eq!(planning.state(), plain.state());
        }
    }
}

#[test]
fn a_create_that_exists_is_refused_in_the_plan_too() {
    let mut bed = Bed::new();
    let edits = pod(1, 1, 10, true);
    bed.commit(&edits, SystemTime::UNIX_EPOCH).unwrap();
    let create = Edit { operation: Operation::Create, ..edits[0].clone() };
    let planned = bed.core.plan(&Transaction::new("t", vec![create]), SystemTime::UNIX_EPOCH);
    assert!(matches!(planned, Err(DatastoreError::Exists { .. })));
}
