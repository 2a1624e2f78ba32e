//! Nodes leave and join in one step each: what stays is what a controller holds that never knew of the node.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use coeus::datastore::{Edit, Snapshot, Store, Transaction};
use coeus::net::Dpid;
use coeus::pipeline::{SwitchTables, golden};
use coeus::schema::{DataPath, builtin, json as yang_json};
use serde_json::{Value, json};
use support::Server;

const HELD: [&str; 7] = [
    "pod:coe",
    "k8s-node:k8s-nodes-info",
    "elan:elan-instances",
    "l3vpn:vpn-interfaces",
    "odl-fib:fibEntries",
    "itm-state:dpn-endpoints",
    "ietf-interfaces:interfaces",
];
const OBSERVED: [&str; 8] = [
    "network-topology:network-topology",
    "coeus-dhcp:leases",
    "coeus-status:objects",
    "id-manager:id-pools",
    "itm-state:tunnels_state",
    "opendaylight-inventory:nodes",
    "elan:elan-dpn-interfaces",
    "odl-l3vpn:vpn-instance-op-data",
];

type Switches = Arc<Mutex<BTreeMap<Dpid, SwitchTables>>>;

struct Bed {
    server: Server,
    switches: Switches,
}

fn bed() -> Bed {
    let switches = Switches::default();
    let heard = switches.clone();
    let server = Server::network_with(Box::new(move |_, deltas| {
        let mut switches = heard.lock().unwrap();
        for (dpid, delta) in deltas {
            switches.entry(dpid).or_default().apply(&delta);
        }
    }));
    Bed { server, switches }
}

fn uid(node: u64, pod: u64) -> String {
    format!("00000000-0000-4000-8000-00000000{node:02}{pod:02}")
}

impl Bed {
    fn put(&self, store: Store, path: &str, body: &Value) {
        let path = DataPath::parse_rfc8040(builtin(), path).unwrap();
        let text = body.to_string();
        let node =
            yang_json::parse_resource(builtin(), &path, text.as_bytes(), yang_json::Mode::Lenient).unwrap();
        let edit = Edit::put(store, path, node);
        self.server.datastore.commit_blocking(Transaction::new("test", vec![edit])).unwrap();
    }

    /// A switch with a database of this UUID and two pods of the shared namespace, one of them with a lease, and one pod alone
    /// in a namespace of its own.
    fn join(&self, node: u64, uuid: &str) {
        let local_ip = format!("192.168.56.1{node}");
        let names = [(1, "blue"), (2, "blue"), (3, &*format!("only{node}"))];
        let port = |(pod, namespace): (u64, &str)| {
            json!({"tp-id": format!("veth{pod}"), "ovsdb:ofport": 10 + pod, "ovsdb:interface-external-ids": [
                {"external-id-key": "iface-id", "external-id-value": format!("{namespace}:p{node}{pod}")},
                {"external-id-key": "attached-mac", "external-id-value": format!("0a:00:00:00:0{node}:0{pod}")}]})
        };
        let mut ports: Vec<Value> = names.map(port).into();
        ports.push(
            json!({"tp-id": "tun0", "ovsdb:ofport": 1, "ovsdb:interface-type": "ovsdb:interface-type-vxlan",
            "ovsdb:options": [{"option": "remote_ip", "value": "flow"}]}),
        );
        let topology = "network-topology:network-topology/topology=ovsdb%3A1/node=";
        let root = format!("ovsdb://uuid/{uuid}");
        let encoded = |id: &str| format!("{topology}{}", id.replace(':', "%3A").replace('/', "%2F"));
        self.put(Store::Operational, &encoded(&root), &json!({"node": [{"node-id": root,
            "ovsdb:openvswitch-other-configs": [{"other-config-key": "local_ip", "other-config-value": local_ip}]}]}));
        let bridge = format!("{root}/bridge/br-int");
        self.put(
            Store::Operational,
            &encoded(&bridge),
            &json!({"node": [{"node-id": bridge, "ovsdb:bridge-name": "br-int",
            "ovsdb:datapath-id": format!("00:00:00:00:00:00:00:0{node}"), "termination-point": ports}]}),
        );
        let k8s = uid(node, 0);
        self.put(Store::Config, &format!("k8s-node:k8s-nodes-info/k8s-nodes={k8s}"), &json!({"k8s-nodes": [{"uid": k8s,
            "host-name": format!("node{node}"), "internal-ip-address": local_ip, "pod-cidr": format!("10.11.{node}.0/24")}]}));
        for (pod, namespace) in names {
            let uid = uid(node, pod);
            let mut interface = json!({"uid": uid});
            if pod != 2 {
                interface["ip-address"] = json!(format!("10.11.{node}.{pod}0"));
            }
            self.put(
                Store::Config,
                &format!("pod:coe/pods={uid}"),
                &json!({"pods": [{"uid": uid, "name": format!("p{node}{pod}"),
                "network-NS": namespace, "host-ip-address": local_ip, "interface": [interface]}]}),
            );
        }
        let lease = format!("blue:p{node}2");
        self.put(
            Store::Operational,
            &format!("coeus-dhcp:leases/lease={}", lease.replace(':', "%3A")),
            &json!({"lease": [
            {"interface": lease, "address": format!("10.11.{node}.20"), "state": "bound"}]}),
        );
    }

    fn call(&self, rpc: &str, input: Value) -> (u16, Value) {
        let answer = self.server.send(
            "POST",
            &format!("/rests/operations/coeus-node:{rpc}"),
            &json!({"coeus-node:input": input}).to_string(),
        );
        let body = answer.json();
        (answer.status, body.get("coeus-node:output").cloned().unwrap_or(body))
    }

    /// What every switch should hold, and what clients read, but for the numbers of revisions.
    fn state(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for (dpid, tables) in &*self.switches.lock().unwrap() {
            let lines = golden::print(tables);
            if !lines.is_empty() {
                found.insert(format!("switch {dpid}"), lines);
            }
        }
        let snapshot = self.server.datastore.snapshot();
        for (store, path) in HELD
            .map(|path| (Store::Config, path))
            .into_iter()
            .chain(OBSERVED.map(|path| (Store::Operational, path)))
        {
            found.insert(path.to_owned(), read(&snapshot, store, path));
        }
        found
    }
}

/// What clients read, without the dates of objects.
fn read(snapshot: &Snapshot, store: Store, path: &str) -> String {
    let path = DataPath::parse_rfc8040(builtin(), path).unwrap();
    let Some(node) = snapshot.read(store, &path) else { return String::new() };
    let mut text = Vec::new();
    yang_json::write_resource(builtin(), &path, &node, &mut text);
    let mut json: Value = serde_json::from_slice(&text).unwrap();
    let objects = json.get_mut("coeus-status:objects").and_then(|objects| objects.get_mut("object"));
    for object in objects.and_then(Value::as_array_mut).into_iter().flatten() {
        object.as_object_mut().unwrap().remove("desired-revision");
    }
    format!("{json:#}")
}

/// By each of its names: the other switches and the data are as if the node had never been.
#[test]
fn a_node_leaves_nothing_behind() {
    let never = bed();
    never.join(1, "a");
    never.join(2, "b");
    let before = never.state();
    assert!(before["switch 0000000000000002"].contains("table=21"), "{before:?}");
    for name in
        ["0000000000000003", "openflow:3", "ovsdb://uuid/c", "c", "192.168.56.13", "node3", &uid(3, 0)]
    {
        let bed = bed();
        bed.join(1, "a");
        bed.join(2, "b");
        bed.join(3, "c");
        assert_ne!(bed.state(), before);
        let (status, said) = bed.call("leave", json!({"node": name, "dry-run": true}));
        assert_eq!((status, said.get("committed")), (200, None), "{said}");
        let (status, said) = bed.call("leave", json!({"node": name}));
        assert_eq!(status, 200, "{name}: {said}");
        assert_eq!(said["switch"], json!(["0000000000000003"]));
        assert_eq!(said["pod"].as_array().map(Vec::len), Some(3));
        assert_eq!(said["lease"], json!(["blue:p32"]));
        let after = bed.state();
        for (what, held) in &before {
            assert_eq!(after.get(what), Some(held), "{name}: {what}");
        }
        assert_eq!(after.len(), before.len());
    }
}

#[test]
fn the_pods_of_a_node_that_left_may_wait() {
    let bed = bed();
    bed.join(1, "a");
    bed.join(2, "b");
    let (_, said) = bed.call("leave", json!({"node": "node2", "keep-pods": true}));
    assert_eq!((said.get("pod"), &said["lease"]), (None, &json!(["blue:p22"])), "{said}");
    let objects = &bed.state()["coeus-status:objects"];
    assert!(objects.contains("no switch has a port with external_ids:iface-id=blue:p21"), "{objects}");
    assert!(!bed.state().contains_key("switch 0000000000000002"));
    // It comes back with its database.
    bed.join(2, "b");
    assert!(bed.state().contains_key("switch 0000000000000002"));
}

#[test]
fn who_has_left_is_kept_out_until_it_joins() {
    let bed = bed();
    bed.join(1, "a");
    let departed = || read(&bed.server.datastore.snapshot(), Store::Operational, "coeus-node:departed");
    assert_eq!(bed.call("leave", json!({"node": "nobody"})).0, 404);
    assert_eq!(bed.call("join", json!({"node": "a"})).0, 404, "it has not left");
    assert_eq!(bed.call("leave", json!({"node": "a"})).0, 200);
    assert!(departed().contains("192.168.56.11"), "{}", departed());
    assert_eq!(bed.call("leave", json!({"node": "a"})).0, 404, "it has left");
    assert_eq!(bed.call("join", json!({"node": "192.168.56.11"})).0, 200);
    assert_eq!(departed(), "");
}
