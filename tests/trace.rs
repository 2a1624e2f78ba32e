//! `coeus-trace:packet` over HTTP: two switches, a tunnel between them, and why packets do not get there.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::Server;

/// Two switches with their tunnel ports; blue:p1 and blue:p4 are plugged in on the first, blue:p2 and red:p3 on the second.
fn bed() -> Server {
    let server = Server::network();
    let port = |name: &str, number: u8, node: u8| {
        json!({"tp-id": format!("veth{number}"), "ovsdb:ofport": number, "ovsdb:interface-external-ids": [
            {"external-id-key": "iface-id", "external-id-value": name},
            {"external-id-key": "attached-mac", "external-id-value": format!("0a:00:00:00:0{node}:{number}")}]})
    };
    let tunnel = json!({"tp-id": "tun0", "ovsdb:ofport": 1, "ovsdb:interface-type": "ovsdb:interface-type-vxlan",
        "ovsdb:options": [{"option": "remote_ip", "value": "flow"}, {"option": "key", "value": "flow"}]});
    let mut nodes = Vec::new();
    for (node, ports) in [
        (1, vec![port("blue:p1", 10, 1), port("blue:p4", 11, 1), tunnel.clone()]),
        (2, vec![port("blue:p2", 10, 2), port("red:p3", 12, 2), port("router", 11, 2), tunnel.clone()]),
    ] {
        nodes.push(json!({"node-id": format!("ovsdb://uuid/{node}"), "ovsdb:openvswitch-other-configs": [
            {"other-config-key": "local_ip", "other-config-value": format!("192.168.56.1{node}")}]}));
        nodes.push(
            json!({"node-id": format!("ovsdb://uuid/{node}/bridge/br-int"), "ovsdb:bridge-name": "br-int",
            "ovsdb:datapath-id": format!("00:00:00:00:00:00:00:0{node}"), "termination-point": ports}),
        );
    }
    server.observe(&json!(nodes));
    for (number, name, namespace, host) in [
        (1, "p1", "blue", 1),
        (2, "p2", "blue", 2),
        (3, "p3", "red", 2),
        (4, "p4", "blue", 1),
        (5, "p5", "blue", 1),
    ] {
        let uid = format!("{number}1111111-1111-4111-8111-111111111111");
        let body = json!({"pod:pods": [{"uid": uid, "name": name, "network-NS": namespace,
            "host-ip-address": format!("192.168.56.1{host}"),
            "interface": [{"uid": uid, "ip-address": format!("10.11.{host}.1{number}")}]}]});
        let answer = server.send("PUT", &format!("/rests/data/pod:coe/pods={uid}"), &body.to_string());
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
    server
}

fn trace(server: &Server, from: &str, to: &str, protocol: &str) -> Value {
    let body = json!({"coeus-trace:input": {"from": from, "to": to, "protocol": protocol}}).to_string();
    let answer = server.send("POST", "/rests/operations/coeus-trace:packet", &body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["coeus-trace:output"].clone()
}

fn tables(hop: &Value) -> Vec<u64> {
    hop["step"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["kind"] == "table")
        .map(|step| step["table"].as_u64().unwrap())
        .collect()
}

#[test]
fn a_routed_packet_is_followed_through_the_tunnel_to_its_pod() {
    let server = bed();
    let found = trace(&server, "blue:p1", "p2", "tcp");
    assert_eq!(found["verdict"], "delivered", "{found}");
    assert_eq!((&found["from"], &found["to"]), (&json!("blue:p1"), &json!("blue:p2")));
    let hops = found["hop"].as_array().unwrap();
    assert_eq!(hops.len(), 2);
    // Anti-spoofing comes before everything, and table 30 knows no service of this address.
    assert_eq!(tables(&hops[0]), [0, 208, 209, 210, 30, 17, 19, 21, 220]);
    assert_eq!(tables(&hops[1]), [0, 36, 21, 220]);
    assert!(hops[1]["packet"].as_str().unwrap().contains("nw_ttl=63"), "{}", hops[1]["packet"]);
    let route = hops[0]["step"].as_array().unwrap().iter().find(|step| step["table"] == 21).unwrap();
    // The route is there because of p2.
    assert_eq!(
        (&route["name"], &route["feature"], &route["key"]),
        (&json!("fib"), &json!("vpn"), &json!("blue:p2"))
    );
    assert_eq!(route["object"][0]["path"], "pod:coe/pods=21111111-1111-4111-8111-111111111111");
    assert_eq!(route["object"][0]["author"], "admin");
    // Nobody is connected, and that is said.
    assert!(found["note"].to_string().contains("not connected"), "{}", found["note"]);
}

#[test]
fn the_switch_answers_for_gateways_and_pods_and_floods_the_rest() {
    let server = bed();
    assert_eq!(trace(&server, "blue:p1", "10.11.1.1", "icmp")["verdict"], "answered");
    assert_eq!(trace(&server, "blue:p1", "blue:p4", "arp")["verdict"], "answered");
    assert_eq!(trace(&server, "blue:p1", "blue:p4", "udp")["verdict"], "delivered");
    let unknown = trace(&server, "blue:p1", "10.11.1.99", "arp");
    assert_eq!(unknown["verdict"], "flooded", "{unknown}");
}

/// An address that no interface has as its own, and a way that leads there: through the tunnel to a port.
#[test]
fn what_is_behind_a_route_is_reached_at_its_port() {
    let server = bed();
    let put = |path: &str, body: Value| {
        let answer = server.send("PUT", &format!("/rests/data/{path}"), &body.to_string());
        assert_eq!(answer.status, 201, "{}", answer.body);
    };
    assert_eq!(trace(&server, "blue:p1", "10.77.0.9", "udp")["verdict"], "dropped");
    put(
        "ietf-interfaces:interfaces/interface=router",
        json!({"ietf-interfaces:interface": [{"name": "router", "type": "iana-if-type:l2vlan",
            "odl-interface:parent-interface": "veth11"}]}),
    );
    put(
        "elan:elan-interfaces/elan-interface=router",
        json!({"elan:elan-interface": [{"name": "router", "elan-instance-name": "lan"}]}),
    );
    put(
        "l3vpn:vpn-interfaces/vpn-interface=router",
        json!({"l3vpn:vpn-interface": [{"name": "router", "vpn-instance-names": [{"vpn-name": "blue"}],
            "odl-l3vpn:adjacency": [
                {"ip_address": "10.9.0.2/32", "adjacency_type": "primary-adjacency", "subnet_gateway_ip": "10.9.0.1"},
                {"ip_address": "10.77.0.0/16", "adjacency_type": "extra-route", "next-hop-ip-list": ["10.9.0.2"]}]}]}),
    );
    let found = trace(&server, "blue:p1", "10.77.0.9", "udp");
    assert_eq!((&found["verdict"], &found["to"]), (&json!("delivered"), &Value::Null), "{found}");
    assert_eq!(found["reason"], "it reaches router, port 11 of switch 0000000000000002");
    // A packet for everybody is for nobody, however few hear it.
    assert_eq!(trace(&server, "blue:p1", "10.11.1.99", "arp")["reason"], "a copy reaches 1 port");
}

#[test]
fn what_does_not_get_there_ends_somewhere_for_a_reason() {
    let server = bed();
    let isolated = trace(&server, "blue:p1", "red:p3", "icmp");
    assert_eq!(isolated["verdict"], "dropped", "{isolated}");
    let reason = isolated["reason"].as_str().unwrap();
    assert!(reason.contains("table 21 (fib)") && reason.contains("no flow wants it"), "{reason}");
    assert!(isolated["note"].to_string().contains("the VPN red, the source in blue"), "{}", isolated["note"]);
}

#[test]
fn who_is_not_there_or_not_ready_is_named() {
    let server = bed();
    let ask = |input: Value| {
        let body = json!({ "coeus-trace:input": input }).to_string();
        let answer = server.send("POST", "/rests/operations/coeus-trace:packet", &body);
        (answer.status, answer.body)
    };
    let (status, body) = ask(json!({"from": "nobody", "to": "blue:p1"}));
    assert!(status == 404 && body.contains("nobody"), "{status} {body}");
    let (status, body) = ask(json!({"from": "blue:p5", "to": "blue:p1"}));
    assert!(status == 400 && body.contains("cannot send anything yet"), "{status} {body}");
    let (status, body) = ask(json!({"from": "blue:p1"}));
    assert!(status == 400 && body.contains("where to"), "{status} {body}");
    let (status, body) = ask(json!({"from": "blue:p1", "to": "10.11.1.14", "protocol": "nd"}));
    assert!(status == 400, "{status} {body}");
}

/// Who reaches whom under a policy, as it means and as the flows have it; and what cannot be asked.
#[test]
fn a_matrix_says_what_policies_mean_and_what_flows_do() {
    let server = bed();
    let uuid = "91111111-1111-4111-8111-111111111111";
    let policy = json!({"k8s:network-policy": [{"uuid": uuid, "name": "dns", "coeus-policy:namespace": "blue",
        "network-policy-spec": {"policy-types": ["ingress"], "ingress": [{"network-policy-ingress-rule": {
            "ingress-ports": [{"network-policy-port": {"protocol": "UDP", "port": "53"}}]}}]}}]});
    let path = format!("/rests/data/k8s:k8s/network-policies/network-policy={uuid}");
    assert_eq!(server.send("PUT", &path, &policy.to_string()).status, 201);
    let ask = |input: Value| {
        let body = json!({"coeus-trace:input": input}).to_string();
        server.send("POST", "/rests/operations/coeus-trace:reachability", &body)
    };
    let probes = ["udp/53", "udp/54", "tcp/53", "sctp/53", "icmp"];
    let answer = ask(json!({"from": ["blue:p1", "blue:p2", "blue:p4"], "probe": probes}));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let found = answer.json()["coeus-trace:output"].clone();
    assert_eq!((found["cells"].as_u64(), found["disagree"].as_u64()), (Some(30), Some(0)));
    for cell in found["cell"].as_array().unwrap() {
        let wanted = if cell["probe"] == "udp/53" { ("allowed", "delivered") } else { ("denied", "dropped") };
        assert_eq!((cell["policy"].as_str().unwrap(), cell["flows"].as_str().unwrap()), wanted, "{cell}");
        assert_eq!(cell["reason"].is_null(), wanted.0 == "allowed", "{cell}");
    }
    let refused = ask(json!({"from": ["blue:p1"], "to": ["blue:p2"], "probe": ["udp6/53"]}));
    assert!(refused.status == 400 && refused.body.contains("it has no IPv6 address"), "{}", refused.body);
    // By IPv6 it is the same, once there is some; and IPv4 is still asked for without it.
    for (number, name, host) in [(1, "p1", 1), (2, "p2", 2)] {
        let uid = format!("{number}1111111-1111-4111-8111-111111111111");
        let body = json!({"pod:pods": [{"uid": uid, "name": name, "network-NS": "blue",
            "host-ip-address": format!("192.168.56.1{host}"),
            "interface": [{"uid": uid, "ip-address": format!("10.11.{host}.1{number}"),
                "coeus-pod:secondary-ip-address": [format!("fd00:{host}::1{number}")]}]}]});
        let answer = server.send("PUT", &format!("/rests/data/pod:coe/pods={uid}"), &body.to_string());
        assert_eq!(answer.status, 204, "{}", answer.body);
    }
    let probes = ["udp6/53", "tcp6/53", "sctp6/53", "icmp6", "udp/53", "icmp"];
    let found = ask(json!({"from": ["blue:p1"], "to": ["blue:p2"], "probe": probes}));
    let found = found.json()["coeus-trace:output"].clone();
    let cells = found["cell"].as_array().unwrap().iter();
    let said: Vec<&str> = cells.map(|cell| cell["flows"].as_str().unwrap()).collect();
    assert_eq!(said, ["delivered", "dropped", "dropped", "dropped", "delivered", "dropped"], "{found}");
    assert_eq!(found["disagree"], 0, "{found}");
    // Policies have nothing against it, but no route leads there.
    let apart = ask(json!({"from": ["blue:p1"], "to": ["red:p3"]})).json()["coeus-trace:output"].clone();
    assert_eq!(apart["disagree"], 1);
    assert_eq!(
        (&apart["cell"][0]["policy"], &apart["cell"][0]["flows"]),
        (&json!("allowed"), &json!("dropped"))
    );
    let refused = ask(json!({"from": ["blue:p1"], "to": ["blue:p2"], "probe": ["tcp/70000"]}));
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("there is no port 70000"), "{}", refused.body);
    assert_eq!(ask(json!({"from": ["blue:p9"], "to": ["blue:p2"]})).status, 404);
    let many: Vec<String> = (1..=300).map(|port| format!("udp/{port}")).collect();
    let hosts: Vec<String> = (1..100).map(|host| format!("10.11.1.{host}")).collect();
    let refused = ask(json!({"from": ["blue:p1"], "to": hosts, "probe": many}));
    assert!(refused.status == 400 && refused.body.contains("are more than 20000"), "{}", refused.body);
}
