//! The engine behind a datastore: JSON in, derived nodes and flows out.

use super::super::Engine;
use super::mini::Mini;
use crate::datastore::Store::{Config, Operational};
use crate::model::PodMtu;
use crate::schema::{DataPath, Fields, builtin, tree};

const P1: &str = "11111111-1111-1111-1111-111111111111";
const P2: &str = "22222222-2222-2222-2222-222222222222";
const TOPOLOGY: &str = "network-topology:network-topology/topology=ovsdb%3A1";

fn pod(uid: &str, name: &str, namespace: &str, address: &str) -> String {
    format!(
        r#"{{"pod:pods":[{{"uid":"{uid}","name":"{name}","network-NS":"{namespace}","host-ip-address":"192.168.56.11",
        "interface":[{{"uid":"{uid}","ip-address":"{address}","network-type":"VXLAN"}}]}}]}}"#
    )
}

fn put_pod(mini: &mut Mini, uid: &str, name: &str, address: &str) -> Result<(), crate::datastore::Refusal> {
    mini.put(Config, &format!("pod:coe/pods={uid}"), &pod(uid, name, "blue", address))
}

/// What OVSDB writes of a switch.
const SWITCH: &str = r#"{"network-topology:topology":[{"topology-id":"ovsdb:1","node":[
        {"node-id":"ovsdb://uuid/a","ovsdb:openvswitch-other-configs":[
            {"other-config-key":"local_ip","other-config-value":"192.168.56.11"}]},
        {"node-id":"ovsdb://uuid/a/bridge/br-int","ovsdb:bridge-name":"br-int","ovsdb:datapath-id":"00:00:00:00:00:00:00:01",
         "termination-point":[
            {"tp-id":"tun0","ovsdb:ofport":1,"ovsdb:interface-type":"ovsdb:interface-type-vxlan",
             "ovsdb:options":[{"option":"remote_ip","value":"flow"}]},
            {"tp-id":"veth1","ovsdb:ofport":10,"ovsdb:interface-external-ids":[
                {"external-id-key":"iface-id","external-id-value":"blue:p1"},
                {"external-id-key":"attached-mac","external-id-value":"0a:00:00:00:01:10"}]}]}]}]}"#;

/// A switch as OVSDB describes it, with a tunnel port and a port for `blue:p1`.
fn put_switch(mini: &mut Mini) {
    mini.put(Operational, TOPOLOGY, SWITCH).unwrap();
}

#[test]
fn a_pod_is_seen_under_all_its_names() {
    let mut mini = Mini::new();
    put_switch(&mut mini);
    put_pod(&mut mini, P1, "p1", "10.11.1.10").unwrap();
    let of = |store, path: &str| mini.get(store, path);
    for (store, path, part) in [
        (Config, "elan:elan-instances", r#""elan-instance-name":"192.168.56.11:blue","elan-tag":5000"#),
        (Config, "elan:elan-interfaces", r#""mac-address":"0a:00:00:00:01:10","ip-prefix":"10.11.1.10""#),
        (Config, "l3vpn:vpn-instances", r#""route-distinguisher":["100:1"]"#),
        (Config, "l3vpn:vpn-interfaces", r#""ip_address":"10.11.1.10/32""#),
        (Config, "ietf-interfaces:interfaces", r#""odl-interface:parent-interface":"veth1""#),
        (Operational, "ietf-interfaces:interfaces-state", r#""if-index":2"#),
        (Operational, "pod-meta:podidentifier-info", r#""pod-name":"blue:p1""#),
        (Operational, "coeus-status:objects", r#""state":"desired""#),
        (Operational, "coeus-status:objects", "gateway 10.11.1.1 is assumed"),
        (Operational, "id-manager:id-pools", r#""id-key":"blue:p1","id-value":[2]"#),
        (Config, "itm-state:dpn-endpoints", r#""ip-address":"192.168.56.11""#),
        (
            Operational,
            "opendaylight-inventory:nodes",
            r#""id":"openflow:1:10","flow-node-inventory:port-number":"10""#,
        ),
        (Config, "odl-fib:fibEntries", r#""destPrefix":"10.11.1.10/32","origin":"l""#),
        (Operational, "odl-l3vpn:vpn-interface-op-data", r#""gateway-mac-address":"02:c0:e5:01:86:a0""#),
    ] {
        let text = of(store, path);
        assert!(text.contains(part), "{path} has no {part}: {text}");
    }
}

#[test]
fn the_last_pod_takes_everything_along() {
    let mut mini = Mini::new();
    put_switch(&mut mini);
    let (flows, derived) = (mini.engine.desired(), mini.snapshot.clone());
    put_pod(&mut mini, P1, "p1", "10.11.1.10").unwrap();
    mini.delete(Config, &format!("pod:coe/pods={P1}")).unwrap();
    assert_eq!(mini.engine.desired(), flows);
    assert_eq!(mini.snapshot.config.derived, derived.config.derived);
    assert_eq!(mini.snapshot.operational.derived, derived.operational.derived);
    assert_eq!(mini.ids.len(), 1, "only the tunnel's tag stays: {:?}", mini.ids);
}

#[test]
fn the_pod_of_the_specification_waits_and_says_for_what() {
    let mut mini = Mini::new();
    let body = r#"{"pod:pods":[{"pod:version":"Some version","pod:uid":"AC092D9B-E9Eb-BAE2-eEd8-74Aca2B7Fa9C","pod:interface":[{"pod:uid":"7bA91A3A-f17E-2eBB-eDec-3BBBEa27DCa7","pod:ip-address":"0.147.0.7","pod:network-id":"fBAD80df-B0B4-0580-8D14-11FcaCED2ac6","pod:network-type":"FLAT","pod:segmentation-id":"0"}]}]}"#;
    mini.put(Config, "pod:coe", body).unwrap();
    let status = mini.get(Operational, "coeus-status:objects");
    for part in [r#""state":"pending""#, "no name", "no network-NS", "no host-ip-address"] {
        assert!(status.contains(part), "{part} is missing: {status}");
    }
}

#[test]
fn an_address_in_use_is_refused_and_its_owner_named() {
    let mut mini = Mini::new();
    put_pod(&mut mini, P1, "p1", "10.11.1.10").unwrap();
    let refusal = put_pod(&mut mini, P2, "p2", "10.11.1.10").unwrap_err();
    assert_eq!(refusal.tag, "in-use");
    assert!(refusal.message.contains(P1) && refusal.message.contains("blue:p1"), "{refusal}");
    let refusal = put_pod(&mut mini, P2, "p1", "10.11.1.11").unwrap_err();
    assert!(refusal.message.contains("interface name blue:p1"), "{refusal}");
    put_pod(&mut mini, P2, "p2", "10.11.1.11").unwrap();
    // What a pod already has is its own.
    put_pod(&mut mini, P1, "p1", "10.11.1.10").unwrap();
    // Both exchange their addresses in one transaction.
    let both = [pod(P1, "p1", "blue", "10.11.1.11"), pod(P2, "p2", "blue", "10.11.1.10")];
    let entry = |body: &String| body[r#"{"pod:pods":["#.len()..body.len() - 2].to_owned();
    let body = format!(r#"{{"pod:coe":{{"pods":[{},{}]}}}}"#, entry(&both[0]), entry(&both[1]));
    mini.put(Config, "pod:coe", &body).unwrap();
}

/// What is derived of operational data, without the dates of objects: they start anew with the controller.
fn undated(mini: &Mini) -> Fields {
    let mut layer = mini.snapshot.operational.derived.clone();
    for name in [P1, P2, "blue:p1", "blue:p2"] {
        let name = name.replace(':', "%3A");
        let path = format!("coeus-status:objects/object={name}/desired-revision");
        let path = DataPath::parse_rfc8040(builtin(), &path).unwrap();
        tree::set(&mut layer, builtin(), &path.steps, None, 0).unwrap();
    }
    layer
}

#[test]
fn a_restart_changes_nothing() {
    let mut mini = Mini::new();
    put_switch(&mut mini);
    put_pod(&mut mini, P2, "p2", "10.11.1.11").unwrap();
    put_pod(&mut mini, P1, "p1", "10.11.1.10").unwrap();
    mini.delete(Config, &format!("pod:coe/pods={P2}")).unwrap();
    let (flows, before, before_undated) = (mini.engine.desired(), mini.snapshot.clone(), undated(&mini));
    let scratch = Engine::from_scratch(&mini.snapshot, &mini.held(), mini.now());
    assert_eq!(scratch, flows);
    mini.restore();
    assert_eq!(mini.engine.desired(), flows);
    assert_eq!(mini.snapshot.config.derived, before.config.derived);
    assert_eq!(undated(&mini), before_undated);
}

/// The revision at which an interface's part of its switch last changed.
fn desired_revision(mini: &Mini, interface: &str) -> Option<u64> {
    let text = mini.get(Operational, &format!("coeus-status:objects/object={interface}/desired-revision"));
    text.rsplit('"').find_map(|part| part.parse().ok())
}

#[test]
fn an_object_says_since_when_its_switch_should_have_it() {
    let mut mini = Mini::new();
    put_switch(&mut mini);
    put_pod(&mut mini, P2, "p2", "10.11.1.11").unwrap();
    assert_eq!(desired_revision(&mini, "blue%3Ap2"), None, "it is not plugged in");
    put_pod(&mut mini, P1, "p1", "10.11.1.10").unwrap();
    let since = Some(mini.snapshot.revision.0);
    assert_eq!(desired_revision(&mini, "blue%3Ap1"), since);
    // What changes nothing on the switch for this pod leaves its date, even if its status changes.
    mini.delete(Config, &format!("pod:coe/pods={P2}")).unwrap();
    assert_eq!(desired_revision(&mini, "blue%3Ap1"), since);
    let node = format!(
        r#"{{"k8s-nodes":[{{"uid":"{P2}","internal-ip-address":"192.168.56.11","pod-cidr":"10.11.1.0/24"}}]}}"#
    );
    let assumed = |mini: &Mini| mini.get(Operational, "coeus-status:objects").contains("first-of-24");
    assert!(assumed(&mini));
    mini.put(Config, &format!("k8s-node:k8s-nodes-info/k8s-nodes={P2}"), &node).unwrap();
    assert!(!assumed(&mini));
    assert_eq!(desired_revision(&mini, "blue%3Ap1"), since);
    put_pod(&mut mini, P1, "p1", "10.11.1.12").unwrap();
    let since = Some(mini.snapshot.revision.0);
    assert_eq!(desired_revision(&mini, "blue%3Ap1"), since);
    mini.restore();
    assert_eq!(desired_revision(&mini, "blue%3Ap1"), since);
}

/// After a restore all dates are that of the restore, so every switch hears of it.
#[test]
fn every_switch_hears_of_a_restore() {
    let mut mini = Mini::new();
    put_switch(&mut mini);
    mini.restore();
    assert_eq!(mini.heard.lock().unwrap().last(), Some(&(mini.snapshot.revision, vec![crate::net::Dpid(1)])));
}

/// A commit that was rendered could not be made durable: the switches never hear of it.
#[test]
fn what_was_not_durable_is_taken_back() {
    let mut mini = Mini::new();
    put_switch(&mut mini);
    put_pod(&mut mini, P1, "p1", "10.11.1.10").unwrap();
    let (good, ids, told) = (mini.snapshot.clone(), mini.ids.clone(), mini.told.lock().unwrap().clone());
    mini.publishing = false;
    mini.delete(Config, &format!("pod:coe/pods={P1}")).unwrap();
    put_pod(&mut mini, P2, "p2", "10.11.1.12").unwrap();
    assert_eq!(*mini.told.lock().unwrap(), told);
    (mini.snapshot, mini.ids) = (good, ids);
    mini.restore();
    assert_eq!(*mini.told.lock().unwrap(), told);
    assert_eq!(mini.engine.desired(), told);
}

#[test]
fn an_offer_is_not_an_address_yet() {
    let mut mini = Mini::new();
    let body = |state: &str| {
        format!(
            r#"{{"coeus-dhcp:lease":[{{"interface":"blue:p1","address":"10.11.1.9","state":"{state}"}}]}}"#
        )
    };
    let pods = format!("pod:coe/pods={P1}");
    let unaddressed = pod(P1, "p1", "blue", "10.11.1.9").replace(r#""ip-address":"10.11.1.9","#, "");
    mini.put(Config, &pods, &unaddressed).unwrap();
    mini.put(Operational, "coeus-dhcp:leases/lease=blue%3Ap1", &body("offered")).unwrap();
    assert!(mini.get(Operational, "coeus-status:objects").contains("no DHCP lease is recorded"));
    mini.put(Operational, "coeus-dhcp:leases/lease=blue%3Ap1", &body("bound")).unwrap();
    assert!(mini.get(Config, "l3vpn:vpn-interfaces").contains("10.11.1.9/32"));
    mini.delete(Operational, "coeus-dhcp:leases/lease=blue%3Ap1").unwrap();
    assert!(!mini.get(Config, "l3vpn:vpn-interfaces").contains("10.11.1.9"));
}

/// What pods are told, and what is shown of it.
#[test]
fn the_narrowest_links_between_nodes_say_how_large_packets_of_pods_may_be() {
    let mut mini = Mini::new();
    let told = |mini: &Mini| {
        let shown = mini.get(Operational, "coeus-tunnel:underlay/mtu");
        (PodMtu::new(builtin()).of(&mini.snapshot), shown.rsplit(':').next().unwrap_or_default().to_owned())
    };
    let configs = |node: &str, values: &[(&str, &str)]| {
        let entry = |(key, value): &(&str, &str)| {
            format!(r#"{{"other-config-key":"{key}","other-config-value":"{value}"}}"#)
        };
        let all = values.iter().map(entry).collect::<Vec<_>>().join(",");
        format!(
            r#"{{"node":[{{"node-id":"ovsdb://uuid/{node}","ovsdb:openvswitch-other-configs":[{all}]}}]}}"#
        )
    };
    let system = |node: &str| format!("{TOPOLOGY}/node=ovsdb%3A%2F%2Fuuid%2F{node}");
    assert_eq!(told(&mini), (1450, String::new()), "no node is there");
    put_switch(&mut mini);
    let bridge = r#"{"node":[{"node-id":"ovsdb://uuid/b/bridge/br-int","ovsdb:datapath-id":"00:00:00:00:00:00:00:02"}]}"#;
    mini.put(Operational, &format!("{}%2Fbridge%2Fbr-int", system("b")), bridge).unwrap();
    assert_eq!(told(&mini), (1450, "1500}".into()));
    let (a, b) = (("local_ip", "192.168.56.11"), ("local_ip", "192.168.56.12"));
    for (node, values, pods, links) in [
        ("a", &[a, ("underlay_mtu", "9000")][..], 8950, "9000}"),
        ("b", &[("underlay_mtu", "1400")], 8950, "9000}"), // no tunnels end there
        ("b", &[b, ("underlay_mtu", "1600")], 1550, "1600}"),
        ("b", &[b, ("underlay_mtu", "1329")], 1450, "1500}"), // too little for IPv6
        ("b", &[b, ("underlay_mtu", "jumbo")], 1450, "1500}"),
        ("b", &[b, ("underlay_mtu", "9216")], 8950, "9000}"),
    ] {
        mini.put(Operational, &system(node), &configs(node, values)).unwrap();
        assert_eq!(told(&mini), (pods, links.to_owned()), "after {node} {values:?}");
    }
    mini.delete(Operational, TOPOLOGY).unwrap();
    assert_eq!(told(&mini), (1450, String::new()));
}

/// Rows are read again wherever an edit touches them: after each edit, the engine holds what a new one would.
#[test]
fn every_kind_of_edit_is_seen() {
    let mut mini = Mini::new();
    let bridge = format!("{TOPOLOGY}/node=ovsdb%3A%2F%2Fuuid%2Fa%2Fbridge%2Fbr-int");
    let system = format!("{TOPOLOGY}/node=ovsdb%3A%2F%2Fuuid%2Fa");
    let local_ip = format!("{system}/ovsdb:openvswitch-other-configs=local_ip");
    let mtu = format!("{system}/ovsdb:openvswitch-other-configs=underlay_mtu");
    let port = format!("{bridge}/termination-point=veth1");
    let iface = format!("{port}/ovsdb:interface-external-ids=iface-id");
    let interface = format!("pod:coe/pods={P1}/interface={P1}");
    let pool = "dhcp_allocation_pool:dhcp_allocation_pool/network=blue/allocation-pool=10.11.1.0%2F24";
    let node = format!("k8s-node:k8s-nodes-info/k8s-nodes={P2}");
    put_switch(&mut mini);
    put_pod(&mut mini, P1, "p1", "10.11.1.10").unwrap();
    put_pod(&mut mini, P2, "p2", "10.11.1.11").unwrap();
    let body = r#"{"network":[{"network-id":"blue"}]}"#;
    mini.put(Config, "dhcp_allocation_pool:dhcp_allocation_pool/network=blue", body).unwrap();
    let edits = [
        (Config, interface.as_str(), format!(r#"{{"interface":[{{"uid":"{P1}","ip-address":"10.11.1.12"}}]}}"#)),
        (Config, pool, r#"{"allocation-pool":[{"subnet":"10.11.1.0/24","allocate-from":"10.11.1.2","allocate-to":"10.11.1.9","gateway":"10.11.1.254"}]}"#.to_owned()),
        (Config, pool, String::new()),
        (Config, node.as_str(), format!(r#"{{"k8s-nodes":[{{"uid":"{P2}","internal-ip-address":"192.168.56.11","pod-cidr":"10.11.0.0/16"}}]}}"#)),
        (Config, node.as_str(), String::new()),
        (Operational, local_ip.as_str(), r#"{"ovsdb:openvswitch-other-configs":[{"other-config-key":"local_ip","other-config-value":"192.168.56.99"}]}"#.to_owned()),
        (Operational, mtu.as_str(), r#"{"ovsdb:openvswitch-other-configs":[{"other-config-key":"underlay_mtu","other-config-value":"9000"}]}"#.to_owned()),
        (Operational, mtu.as_str(), String::new()),
        (Operational, iface.as_str(), r#"{"ovsdb:interface-external-ids":[{"external-id-key":"iface-id","external-id-value":"blue:p2"}]}"#.to_owned()),
        (Operational, port.as_str(), r#"{"termination-point":[{"tp-id":"veth1","ovsdb:ofport":11,"ovsdb:interface-external-ids":[{"external-id-key":"iface-id","external-id-value":"blue:p1"},{"external-id-key":"attached-mac","external-id-value":"0a:00:00:00:01:10"}]}]}"#.to_owned()),
        (Operational, local_ip.as_str(), String::new()),
        (Operational, port.as_str(), String::new()),
        (Operational, bridge.as_str(), String::new()),
        (Operational, TOPOLOGY, SWITCH.to_owned()),
        (Operational, TOPOLOGY, String::new()),
        (Config, "pod:coe", String::new()),
    ];
    for (store, path, body) in edits {
        let before = mini.engine.desired();
        let derived = |mini: &Mini| {
            [
                mini.get(Operational, "coeus-status:objects"),
                mini.get(Config, "itm-state:dpn-endpoints"),
                mini.get(Operational, "coeus-tunnel:underlay"),
            ]
        };
        let status = derived(&mini);
        if body.is_empty() {
            mini.delete(store, path).unwrap();
        } else {
            mini.put(store, path, &body).unwrap();
        }
        let scratch = Engine::from_scratch(&mini.snapshot, &mini.held(), mini.now());
        assert!(mini.engine.desired() == scratch, "after {path} {body}");
        assert_eq!(*mini.told.lock().unwrap(), scratch);
        let changed = before != scratch || status != derived(&mini);
        assert!(changed, "{path} {body} made no difference");
    }
    assert!(mini.ids.is_empty(), "{:?}", mini.ids);
}
