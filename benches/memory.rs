//! Where the memory of a pod is: heap in use a pod, by part, asked of the allocator. `cargo bench --bench memory`, or with the
//! number of pods behind it: `-- 10000`.
//!
//! One switch, its ports there before; the pods come in one transaction (`bulk`) or one after the other (`single`). Nothing
//! is timed and nothing is sent: the same run gives the same figures.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use cap::Cap;
use coeus::datastore::{Core, Edit, NullEngine, Revision, Snapshot, Store, Transaction};
use coeus::net::Dpid;
use coeus::pipeline::{Delta, Held};
use coeus::renderers::Engine;
use coeus::schema::{DataPath, builtin, json};

#[global_allocator]
static ALLOCATOR: Cap<mimalloc::MiMalloc> = Cap::new(mimalloc::MiMalloc, usize::MAX);

const SWITCH: &str = "ovsdb://uuid/00000000-0000-4000-8000-00000000000a";

fn main() {
    builtin();
    let asked = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let counts = asked.map_or(vec![1_000, 10_000], |count: u32| vec![count]);
    println!("| pods | heap bytes a pod | bulk | single |\n|---|---|---|---|");
    for count in counts {
        let (bulk, single) = (measured(count, count), measured(count, 1));
        for (part, bulk) in &bulk {
            println!("| {count} | {part} | {bulk:.0} | {:.0} |", single[part]);
        }
    }
}

/// Bytes a pod, by part, when the pods come in groups of this size.
fn measured(count: u32, group: u32) -> BTreeMap<&'static str, f64> {
    let of = |bytes: usize| bytes as f64 / f64::from(count);
    let begin = ALLOCATOR.allocated();
    let plain = filled(Box::new(NullEngine), count, group);
    let input = of(ALLOCATOR.allocated() - begin);
    drop(plain);

    let tables: Arc<Mutex<BTreeMap<Dpid, Held>>> = Arc::default();
    let told = tables.clone();
    let sink = move |_: Revision, deltas: BTreeMap<Dpid, Delta>| {
        let mut tables = told.lock().unwrap();
        for (dpid, mut delta) in deltas {
            tables.entry(dpid).or_default().apply(&mut delta);
        }
    };
    let begin = ALLOCATOR.allocated();
    let resident_before = resident_bytes();
    let core = filled(Box::new(Engine::new(builtin(), Box::new(sink))), count, group);
    let all = ALLOCATOR.allocated();
    let resident = resident_bytes();
    let snapshot = core.snapshot().clone();
    drop(core);
    let without_core = ALLOCATOR.allocated();
    std::mem::take(&mut *tables.lock().unwrap());
    let without_tables = ALLOCATOR.allocated();
    let Snapshot { config, operational, .. } = snapshot;
    drop((config.derived, operational.derived));
    let without_derived = ALLOCATOR.allocated();
    drop((config.input, operational.input));
    let end = ALLOCATOR.allocated();
    BTreeMap::from([
        ("0 all", of(all - begin)),
        ("1 a datastore that derives nothing: input, ids, recent changes", input),
        ("2 freed with the engine and the core", of(all - without_core)),
        ("3 then with the tables of the switch", of(without_core - without_tables)),
        ("4 then with the derived layers", of(without_tables - without_derived)),
        ("5 then with the input layers", of(without_derived - end)),
        ("6 resident, with what the allocator keeps", of(resident.saturating_sub(resident_before))),
    ])
}

/// Resident memory of this process, as the system counts it.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

/// A datastore with a switch and so many pods on it.
fn filled(engine: Box<dyn coeus::datastore::Engine>, count: u32, group: u32) -> Core {
    let snapshot = Snapshot {
        revision: Revision(1),
        schema: builtin(),
        config: Default::default(),
        operational: Default::default(),
    };
    let mut core = Core::new(snapshot, &[], engine, SystemTime::UNIX_EPOCH);
    put(&mut core, Store::Operational, "network-topology:network-topology", &switch());
    for first in (0..count).step_by(group as usize) {
        let pods = first..(first + group).min(count);
        put(&mut core, Store::Operational, &bridge(), &ports(pods.clone()));
        let entries = pods.map(pod).collect::<Vec<_>>().join(",");
        put(&mut core, Store::Config, "pod:coe", &format!(r#"{{"pod:coe":{{"pods":[{entries}]}}}}"#));
    }
    core
}

fn put(core: &mut Core, store: Store, path: &str, text: &str) {
    let schema = builtin();
    let path = DataPath::parse_rfc8040(schema, path).unwrap();
    let node = json::parse_resource(schema, &path, text.as_bytes(), json::Mode::Lenient).unwrap();
    let transaction = Transaction::new("bench", vec![Edit::merge(store, path, node)]);
    core.apply(&transaction, SystemTime::UNIX_EPOCH).unwrap();
    core.published();
}

fn switch() -> String {
    format!(
        r#"{{"network-topology:network-topology":{{"topology":[{{"topology-id":"ovsdb:1","node":[
        {{"node-id":"{SWITCH}","ovsdb:openvswitch-other-configs":[{{"other-config-key":"local_ip","other-config-value":"192.0.2.1"}}]}},
        {{"node-id":"{SWITCH}/bridge/br-int","ovsdb:bridge-name":"br-int","ovsdb:datapath-id":"00:00:00:00:00:00:00:01",
          "ovsdb:managed-by":"/network-topology:network-topology/topology[topology-id='ovsdb:1']/node[node-id='{SWITCH}']"}}]}}]}}}}"#
    )
}

fn bridge() -> String {
    let node = SWITCH.replace(':', "%3A").replace('/', "%2F");
    format!("network-topology:network-topology/topology=ovsdb%3A1/node={node}%2Fbridge%2Fbr-int")
}

fn ports(pods: std::ops::Range<u32>) -> String {
    let mut points = String::new();
    for pod in pods {
        let comma = if points.is_empty() { "" } else { "," };
        let [_, high, middle, low] = pod.to_be_bytes();
        let _ = write!(
            points,
            r#"{comma}{{"tp-id":"veth{pod:08x}","ovsdb:name":"veth{pod:08x}","ovsdb:ofport":{},"ovsdb:interface-external-ids":[
            {{"external-id-key":"iface-id","external-id-value":"blue:p{pod}"}},
            {{"external-id-key":"attached-mac","external-id-value":"0a:00:00:{high:02x}:{middle:02x}:{low:02x}"}}]}}"#,
            pod + 1,
        );
    }
    format!(
        r#"{{"network-topology:node":[{{"node-id":"{SWITCH}/bridge/br-int","termination-point":[{points}]}}]}}"#
    )
}

/// Uids in no order, as Kubernetes gives them.
fn pod(pod: u32) -> String {
    let (mixed, high, low) = (pod.wrapping_mul(0x9e37_79b1), pod / 250, pod % 250 + 2);
    let uid = format!("{mixed:08x}-0000-4000-8000-{pod:012x}");
    format!(
        r#"{{"uid":"{uid}","name":"p{pod}","network-NS":"blue","host-ip-address":"192.0.2.1","interface":[{{"uid":"{uid}","ip-address":"10.{}.{}.{low}","network-type":"VXLAN"}}]}}"#,
        high / 250,
        high % 250
    )
}
