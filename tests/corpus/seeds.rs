//! Sound inputs, written by the encoders that write such: our own, and those of libraries for clients.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::BytesMut;
use coeus::datastore::journal::Record;
use coeus::datastore::journal::frame::{Frame, Header};
use coeus::datastore::{Edit, IdChange, Store};
use coeus::neighbours::frame::{announcement, question};
use coeus::net::MacAddr;
use coeus::ovsdb::{map, reply, request, set, uuid};
use coeus::schema::{DataPath, Key, Node, builtin, json};
use coeus_cni::Call;
use dhcproto::{Encodable, Encoder, v4, v6};
use etherparse::{Icmpv6Type, PacketBuilder};
use openflow_rs::{
    Action, Bucket, ErrorMessage, FlowMod, FlowRemoved, FlowStats, GroupDesc, GroupType, Message,
    MultipartReply, PacketIn, PortDesc, PortStatus,
};
use serde_json::{Value, json as value};

#[path = "../../crates/openflow-rs/tests/common/mod.rs"]
mod samples;

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

pub fn of(target: &str) -> Vec<Vec<u8>> {
    match target {
        "http" => http(),
        "openflow" => openflow(),
        "ovsdb" => ovsdb(),
        "dhcp" => dhcp4().into_iter().chain(dhcp6()).collect(),
        "neighbours" => neighbours(),
        "cni" => cni(),
        "watch" => watch(),
        "log" => log(),
        _ => Vec::new(),
    }
}

/// Connections of clients who are known, and of some who are not.
fn http() -> Vec<Vec<u8>> {
    const LOGIN: &str = "Authorization: Basic YWRtaW46c2VjcmV0\r\n";
    const POD: &str = r#"{"pod:pods":[{"uid":"00000000-0000-4000-8000-000000000001","name":"web"}]}"#;
    const AT: &str = "/rests/data/pod:coe/pods=00000000-0000-4000-8000-000000000001";
    const XML: &str = "<pods xmlns=\"urn:opendaylight:coe:northbound:pod\"><uid>00000000-0000-4000-8000-000000000001</uid></pods>";
    const PATCH: &str = r#"{"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":[{"edit-id":"1","operation":"create","target":"/","value":{"pod:coe":{}}}]}}"#;
    let json = "Content-Type: application/yang-data+json\r\n";
    let request = |method: &str, path: &str, headers: &str, body: &str| {
        let length =
            if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        format!("{method} {path} HTTP/1.1\r\nHost: test\r\n{LOGIN}{headers}{length}\r\n{body}")
    };
    let put = request("PUT", AT, json, POD);
    let chunked = "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n";
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let conditions = "If-Match: \"1\", W/\"2\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    let said = [
        put.clone(),
        put.clone() + &request("GET", AT, "", "") + &request("DELETE", AT, "", ""),
        request("POST", "/rests/data/pod:coe?insert=first", json, POD),
        request(
            "PATCH",
            "/rests/data/pod:coe",
            json,
            &format!(r#"{{"pod:coe":{}}}"#, &POD.replace("pod:pods", "pods")),
        ),
        request("PATCH", "/rests/data", "Content-Type: application/yang-patch+json\r\n", PATCH),
        request("PUT", AT, "Content-Type: application/yang-data+xml\r\n", XML),
        request("PUT", AT, &format!("{json}{chunked}"), "")
            + &format!("{:x};a=b\r\n{POD}\r\n0\r\nTrailer: x\r\n\r\n", POD.len()),
        request("PUT", AT, &format!("{json}{conditions}"), POD),
        request(
            "GET",
            "/rests/data?content=config&depth=2&fields=pod:coe(pods/uid)",
            "Accept: application/yang-data+xml;q=0.5, */*;q=0.1\r\nAccept-Encoding: gzip\r\n",
            "",
        ),
        request("GET", "/rests/data/ietf-yang-library:yang-library?with-defaults=report-all", conditions, ""),
        request("GET", "/rests/ds/ietf-datastores:operational?limit=1", "", ""),
        request("HEAD", "/rests/yang-library-version", "", ""),
        request("OPTIONS", AT, "Origin: http://x\r\n", ""),
        request("POST", "/rests/operations/ietf-netconf:lock", json, r#"{"ietf-netconf:input":{}}"#),
        request(
            "PUT",
            "/restconf/config/pod:coe",
            json,
            &format!(r#"{{"coe":{}}}"#, &POD.replace("pod:pods", "pods")),
        ),
        request("GET", "/restconf/operational/network-topology:network-topology", "", ""),
        request(
            "GET",
            "/rests/streams/NETCONF-JSON",
            "Accept: text/event-stream\r\nLast-Event-ID: 1\r\n",
            "",
        ),
        request("GET", "/restconf/streams/stream/data-change-event-subscription/x", upgrade, ""),
        request("GET", "/.well-known/host-meta", "Connection: close\r\n", ""),
        request("TRACE", "http://test:80/rests?x=%zz#f", "Content-Length: 5\r\nContent-Length: 6\r\n", ""),
        "GET /rests/data HTTP/1.0\r\nAuthorization: Bearer coeus_x\r\n\r\n".to_owned(),
        "OPTIONS * HTTP/1.1\r\nHost: a\r\nHost: b\r\nAuthorization: Basic eDp5\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0".to_owned(),
        "\u{16}\u{3}\u{1}\0\u{5}\u{1}\0\0\u{1}\0".to_owned(),
    ];
    said.into_iter().map(String::into_bytes).collect()
}

fn openflow() -> Vec<Vec<u8>> {
    let frames = neighbours();
    let flows = samples::samples(7);
    let reported = |flow: &FlowMod| FlowStats {
        table: flow.table,
        duration_sec: 5,
        duration_nsec: 7,
        priority: flow.priority,
        idle_timeout: 0,
        hard_timeout: 0,
        flags: 0,
        cookie: flow.cookie,
        packets: 3,
        bytes: 180,
        match_: flow.match_.clone(),
        instructions: flow.instructions.clone(),
    };
    let removed = FlowRemoved {
        cookie: flows[0].cookie,
        priority: 20,
        reason: 2,
        table: 0,
        duration_sec: 9,
        packets: 3,
        bytes: 180,
        match_: flows[0].match_.clone(),
    };
    let group =
        GroupDesc { kind: GroupType::All, group: 7, buckets: vec![Bucket::new(vec![Action::output(1)])] };
    let port =
        PortDesc { port: 1, mac: MAC.0, name: "veth1".into(), config: 0, state: 0, current_speed: 10_000 };
    let mut messages = vec![
        Message::EchoRequest(b"are you there".to_vec()),
        Message::EchoReply(Vec::new()),
        Message::BarrierReply,
        Message::Error(ErrorMessage { kind: 5, code: 1, data: vec![4, 14, 0, 56, 0, 0, 1, 0] }),
        Message::MultipartReply { more: false, body: MultipartReply::Flow(Vec::new()) },
        Message::MultipartReply { more: true, body: MultipartReply::GroupDesc(vec![group.clone()]) },
        Message::FlowRemoved(removed),
    ];
    messages.extend(frames.iter().flat_map(|frame| {
        let packet = PacketIn { frame: frame.clone(), full_len: frame.len(), ..PacketIn::default() };
        [
            Message::PacketIn(packet.clone()),
            Message::PacketIn2(PacketIn { userdata: b"dhcp".to_vec(), ..packet }),
        ]
    }));
    let stats: Vec<FlowStats> = flows.iter().map(reported).collect();
    messages.extend(flows.into_iter().map(Message::FlowMod));
    let encoded = |message: &Message, xid: u32| {
        let mut bytes = BytesMut::new();
        message.encode(xid, &mut bytes);
        bytes.to_vec()
    };
    let mut all: Vec<Vec<u8>> = messages.iter().map(|message| encoded(message, 0x100)).collect();
    // What the programmer asks first, answered in its order.
    let read_back = [
        MultipartReply::Flow(stats),
        MultipartReply::GroupDesc(vec![group]),
        MultipartReply::MeterConfig(Vec::new()),
    ];
    let answers = read_back
        .into_iter()
        .zip(0x100..)
        .flat_map(|(body, xid)| encoded(&Message::MultipartReply { more: false, body }, xid));
    all.push(answers.collect());
    all.push(messages.iter().flat_map(|message| encoded(message, 0x101)).collect());
    let ports = vec![port.clone()];
    all.push(encoded(&Message::MultipartReply { more: false, body: MultipartReply::PortDesc(ports) }, 5));
    all.push(encoded(&Message::PortStatus(PortStatus { reason: 0, desc: port }), 0));
    all
}

fn ovsdb() -> Vec<Vec<u8>> {
    let row = |number: u8| format!("00000000-0000-4000-8000-0000000000{number:02x}");
    let tables = value!({
        "Open_vSwitch": {row(1): {"initial": {"bridges": uuid(&row(2)), "ovs_version": "3.1.0",
            "other_config": map([("local_ip", "192.0.2.1")]), "external_ids": map([("system-id", "a")])}}},
        "Bridge": {row(2): {"initial": {"name": "br-int", "ports": set([uuid(&row(3)), uuid(&row(4))]), "fail_mode": "secure",
            "protocols": set([value!("OpenFlow13")]), "datapath_id": "0000000000000007", "controller": uuid(&row(7))}}},
        "Port": {
            row(3): {"initial": {"name": "br-int", "interfaces": uuid(&row(5))}},
            row(4): {"initial": {"name": "veth1", "interfaces": uuid(&row(6))}}},
        "Interface": {
            row(5): {"initial": {"name": "br-int", "type": "internal", "ofport": 65534}},
            row(6): {"initial": {"name": "veth1", "ofport": 1, "external_ids": map([("iface-id", "blue:p1"), ("attached-mac", "02:00:00:00:00:01")])}}},
        "Controller": {row(7): {"initial": {"target": "tcp:192.0.2.9:6653", "external_ids": map([("coeus", "owner")])}}},
    });
    let since = reply(&value!(1), &value!([false, row(0), tables]));
    let changes = value!({
        "Interface": {row(6): {"modify": {"ofport": 2}}},
        "Port": {row(8): {"insert": {"name": "veth2", "interfaces": uuid(&row(9))}}},
        "Bridge": {row(2): {"modify": {"ports": set([uuid(&row(8))])}}},
    });
    let update = |method: &str, params: Value| {
        value!({"id": null, "method": method, "params": params}).to_string().into_bytes()
    };
    let update3 = update("update3", value!([["monid", "Open_vSwitch"], row(0), changes]));
    let gone = update("update3", value!(["Open_vSwitch", row(0), {"Port": {row(4): {"delete": null}}}]));
    let plain = reply(&value!(1), &value!({"Bridge": {row(2): {"new": {"name": "br-int"}}}}));
    let refused = value!({"id": 1, "result": null, "error": "unknown method"}).to_string().into_bytes();
    let done = reply(&value!(2), &value!([{"count": 1}, {"error": "constraint violation", "details": "no"}]));
    let all =
        [since.clone(), update3.clone(), gone.clone(), plain, refused, done, request(0, "echo", value!([]))];
    let story = [since, update3, gone].concat();
    all.into_iter().chain([story]).collect()
}

fn udp(source: ([u8; 6], IpAddr, u16), target: ([u8; 6], IpAddr, u16), payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2(source.0, target.0);
    let builder = match (source.1, target.1) {
        (IpAddr::V4(source), IpAddr::V4(target)) => builder.ipv4(source.octets(), target.octets(), 64),
        (IpAddr::V6(source), IpAddr::V6(target)) => builder.ipv6(source.octets(), target.octets(), 64),
        _ => panic!("of one version"),
    };
    let builder = builder.udp(source.2, target.2);
    let mut frame = Vec::new();
    builder.write(&mut frame, payload).unwrap();
    frame
}

fn dhcp4() -> Vec<Vec<u8>> {
    use v4::{DhcpOption, Message, MessageType, OptionCode};
    let nobody = Ipv4Addr::UNSPECIFIED;
    let kinds = [
        MessageType::Discover,
        MessageType::Request,
        MessageType::Decline,
        MessageType::Release,
        MessageType::Inform,
        MessageType::Offer,
    ];
    let options = vec![
        vec![],
        vec![DhcpOption::ClientIdentifier(vec![1, 2, 0, 0, 0, 0, 1]), DhcpOption::MaxMessageSize(1500)],
        vec![
            DhcpOption::RequestedIpAddress(Ipv4Addr::new(192, 168, 10, 3)),
            DhcpOption::ServerIdentifier(Ipv4Addr::new(192, 168, 10, 2)),
        ],
        vec![
            DhcpOption::RequestedIpAddress(Ipv4Addr::new(192, 168, 10, 4)),
            DhcpOption::AddressLeaseTime(60),
            DhcpOption::ParameterRequestList(vec![
                OptionCode::SubnetMask,
                OptionCode::Router,
                OptionCode::Unknown(249),
            ]),
        ],
    ];
    let mut all = Vec::new();
    for (kind, relay) in kinds.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        for options in &options {
            let giaddr = if relay { Ipv4Addr::new(192, 168, 10, 1) } else { nobody };
            let mut message = Message::new_with_id(7, nobody, nobody, nobody, giaddr, &MAC.0);
            message.opts_mut().insert(DhcpOption::MessageType(kind));
            for option in options {
                message.opts_mut().insert(option.clone());
            }
            let mut payload = Vec::new();
            message.encode(&mut Encoder::new(&mut payload)).unwrap();
            let from = if relay { 67 } else { 68 };
            all.push(udp(
                (MAC.0, nobody.into(), from),
                ([0xff; 6], Ipv4Addr::BROADCAST.into(), 67),
                &payload,
            ));
        }
    }
    all
}

fn dhcp6() -> Vec<Vec<u8>> {
    use v6::{DhcpOption, DhcpOptions, IAAddr, IANA, Message, MessageType, ORO, OptionCode};
    let link_local = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x101);
    let servers = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);
    let kinds = [
        MessageType::Solicit,
        MessageType::Request,
        MessageType::Confirm,
        MessageType::Renew,
        MessageType::Rebind,
        MessageType::Release,
        MessageType::Decline,
        MessageType::InformationRequest,
    ];
    let mut server = vec![0, 4];
    server.extend([7; 16]);
    let mut all = Vec::new();
    for kind in kinds {
        for with in 0..4_u8 {
            let mut message = Message::new_with_id(kind, [1, 2, 3]);
            let client = vec![0, 3, 0, 1, 2, 0, 0, 0, 0, 1];
            message.opts_mut().insert(DhcpOption::ClientId(client));
            if with & 1 != 0 {
                message.opts_mut().insert(DhcpOption::ServerId(server.clone()));
            }
            if with & 2 != 0 {
                let address = IAAddr {
                    addr: Ipv6Addr::new(0xfd00, 1, 0, 0, 0, 0, 0, 0x10),
                    preferred_life: 0,
                    valid_life: 0,
                    opts: DhcpOptions::new(),
                };
                let mut opts = DhcpOptions::new();
                opts.insert(DhcpOption::IAAddr(address));
                message.opts_mut().insert(DhcpOption::IANA(IANA { id: 1, t1: 0, t2: 0, opts }));
                message.opts_mut().insert(DhcpOption::RapidCommit);
                message.opts_mut().insert(DhcpOption::ORO(ORO { opts: vec![OptionCode::DomainNameServers] }));
            }
            let mut payload = Vec::new();
            message.encode(&mut Encoder::new(&mut payload)).unwrap();
            let to = ([0x33, 0x33, 0, 1, 0, 2], servers.into(), 547);
            all.push(udp((MAC.0, link_local.into(), 546), to, &payload));
        }
    }
    all
}

fn neighbours() -> Vec<Vec<u8>> {
    let (v4, v6) = (Ipv4Addr::new(192, 0, 2, 1), "2001:db8::1".parse::<Ipv6Addr>().unwrap());
    let (next4, next6) = (Ipv4Addr::new(192, 0, 2, 2), "2001:db8::2".parse::<Ipv6Addr>().unwrap());
    let mut all = vec![
        announcement(MAC, v4.into()),
        announcement(MAC, v6.into()),
        question(MAC, v4.into(), next4.into()).unwrap(),
        question(MAC, v6.into(), next6.into()).unwrap(),
    ];
    let mut push = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = Vec::new();
        write(&mut frame);
        all.push(frame);
    };
    let ethernet = || PacketBuilder::ethernet2(MAC.0, [2, 0, 0, 0, 0, 2]);
    let routers = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2).octets();
    let solicitation = Icmpv6Type::Unknown { type_u8: 133, code_u8: 0, bytes5to8: [0; 4] };
    let link_local = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1).octets();
    let source = [1, 1, 2, 0, 0, 0, 0, 1];
    push(&|frame| {
        ethernet().ipv6(link_local, routers, 255).icmpv6(solicitation).write(frame, &source).unwrap();
    });
    push(&|frame| {
        ethernet()
            .ipv4(v4.octets(), next4.octets(), 64)
            .tcp(4000, 80, 9, 1024)
            .syn()
            .write(frame, &[])
            .unwrap()
    });
    push(&|frame| {
        ethernet()
            .ipv6(v6.octets(), next6.octets(), 64)
            .tcp(4000, 80, 9, 1024)
            .ack(7)
            .write(frame, b"x")
            .unwrap()
    });
    push(&|frame| {
        ethernet().ipv4(v4.octets(), next4.octets(), 64).udp(4000, 53).write(frame, b"who").unwrap()
    });
    push(&|frame| {
        ethernet().ipv6(v6.octets(), next6.octets(), 64).udp(4000, 53).write(frame, b"who").unwrap()
    });
    push(&|frame| {
        ethernet()
            .ipv4(v4.octets(), next4.octets(), 64)
            .icmpv4_echo_request(1, 1)
            .write(frame, b"ping")
            .unwrap()
    });
    push(&|frame| {
        ethernet()
            .single_vlan(7.try_into().unwrap())
            .ipv4(v4.octets(), next4.octets(), 64)
            .udp(1, 2)
            .write(frame, &[])
            .unwrap()
    });
    all
}

fn cni() -> Vec<Vec<u8>> {
    let configs = [
        value!({"cniVersion": "1.1.0", "name": "coeus", "type": "coeus-cni"}),
        value!({"cniVersion": "0.3.1", "name": "n", "type": "coeus-cni", "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"},
            "prevResult": {"cniVersion": "0.3.1", "interfaces": [{"name": "eth0", "mac": "02:00:00:00:00:01", "sandbox": "/run/netns/c1"}],
                "ips": [{"version": "4", "interface": 0, "address": "10.1.0.2/24", "gateway": "10.1.0.1"}], "routes": [{"dst": "0.0.0.0/0"}], "dns": {}}}),
        value!({"cniVersion": "1.0.0", "name": "n", "type": "coeus-cni", "socket": "/run/coeus/node.sock",
            "runtimeConfig": {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}], "ips": ["10.1.0.9/24"],
                "bandwidth": {"ingressRate": 1_000_000, "ingressBurst": 20_000, "egressRate": 0, "egressBurst": 0}, "mac": "02:00:00:00:00:09"}}),
        value!({"cniVersion": "1.1.0", "name": "n", "type": "coeus-cni", "cni.dev/valid-attachments": [{"containerID": "c1", "ifname": "eth0"}]}),
    ];
    let mut all: Vec<Vec<u8>> = configs.iter().map(|config| config.to_string().into_bytes()).collect();
    for (command, config) in
        ["ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION"].iter().zip(configs.iter().cycle())
    {
        let variables = [
            ("CNI_COMMAND", *command),
            ("CNI_CONTAINERID", "c1"),
            ("CNI_NETNS", "/run/netns/c1"),
            ("CNI_IFNAME", "eth0"),
            ("CNI_ARGS", "K8S_POD_UID=00000000-0000-4000-8000-000000000001;K8S_POD_NAME=p1;IP=10.1.0.5/24"),
            ("CNI_PATH", "/opt/cni/bin:/usr/lib/cni"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter();
        all.push(serde_json::to_vec(&Call::new(variables, config.to_string())).unwrap());
    }
    all
}

fn watch() -> Vec<Vec<u8>> {
    use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Service};
    use k8s_openapi::api::discovery::v1::EndpointSlice;
    use k8s_openapi::api::networking::v1::NetworkPolicy;
    fn line<T: serde::de::DeserializeOwned + serde::Serialize>(told: &str, object: Value) -> Vec<u8> {
        let typed: T = serde_json::from_value(object).unwrap();
        let mut line = serde_json::to_vec(&value!({"type": told, "object": typed})).unwrap();
        line.push(b'\n');
        line
    }
    let meta = |name: &str| value!({"name": name, "namespace": "blue", "uid": "00000000-0000-4000-8000-000000000001"});
    let pod = |told: &str| {
        line::<Pod>(
            told,
            value!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p1", "namespace": "blue",
            "uid": "00000000-0000-4000-8000-00000000000a", "resourceVersion": "7", "labels": {"app": "web"}},
            "spec": {"nodeName": "n1", "containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 8080}]}]},
            "status": {"phase": "Running", "podIP": "10.1.0.2", "podIPs": [{"ip": "10.1.0.2"}, {"ip": "fd00:1::2"}], "hostIP": "192.0.2.1"}}),
        )
    };
    let lines = vec![
        line::<Namespace>(
            "ADDED",
            value!({"kind": "Namespace", "metadata": {"name": "blue", "labels": {"team": "a"}}}),
        ),
        line::<Node>(
            "ADDED",
            value!({"kind": "Node", "metadata": {"name": "n1", "uid": "00000000-0000-4000-8000-00000000000b"},
            "spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24", "fd00:1::/64"]},
            "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]}}),
        ),
        pod("ADDED"),
        line::<Service>(
            "ADDED",
            value!({"kind": "Service", "metadata": meta("web"), "spec": {"clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"],
            "type": "NodePort", "sessionAffinity": "ClientIP", "selector": {"app": "web"},
            "ports": [{"name": "http", "port": 80, "targetPort": "http", "nodePort": 30080, "protocol": "TCP"}]}}),
        ),
        line::<EndpointSlice>(
            "ADDED",
            value!({"kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": "web-1", "namespace": "blue", "labels": {"kubernetes.io/service-name": "web"}},
            "endpoints": [{"addresses": ["10.1.0.2"], "conditions": {"ready": true}}], "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]}),
        ),
        line::<NetworkPolicy>(
            "ADDED",
            value!({"kind": "NetworkPolicy", "metadata": meta("only-web"), "spec": {"podSelector": {"matchLabels": {"app": "web"}},
            "policyTypes": ["Ingress", "Egress"], "ingress": [{"from": [{"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a"]}]}},
                {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.2.0.0/16"]}}], "ports": [{"port": 80, "endPort": 90, "protocol": "TCP"}]}], "egress": []}}),
        ),
        pod("MODIFIED"),
        pod("DELETED"),
        pod("LISTED"),
    ];
    let story = lines.concat();
    lines.into_iter().chain([story]).collect()
}

fn log() -> Vec<Vec<u8>> {
    let schema = builtin();
    let body = br#"{"pod:coe":{"pods":[{"uid":"00000000-0000-4000-8000-000000000001","name":"web","network-NS":"blue"}]}}"#;
    let root = json::parse(schema, None, body, json::Mode::Strict).unwrap();
    let pods = DataPath::parse_rfc8040(schema, "pod:coe").unwrap();
    let pod = pods
        .clone()
        .entry(schema.resolve("/pod:coe/pods"), Key::text("00000000-0000-4000-8000-000000000001"));
    let whole: Node = root.get(schema.resolve("/pod:coe")).unwrap().clone();
    let record = |revision: u64, edits: Vec<Edit>, ids: Vec<IdChange>| {
        let record = Record {
            revision,
            author: Cow::from("admin"),
            time: 1_790_000_000,
            edits: edits.into(),
            ids: ids.into(),
        };
        (revision, record.to_bytes(schema))
    };
    let id = |id| IdChange { pool: "lports".into(), key: "blue:web".into(), id };
    let records = vec![
        record(1, vec![Edit::put(Store::Config, pods.clone(), whole.clone())], vec![id(Some(300))]),
        record(2, vec![Edit::merge(Store::Operational, pods, whole)], Vec::new()),
        record(3, vec![Edit::remove(Store::Config, pod)], vec![id(None)]),
    ];
    let file = |frames: &[&[(u64, Vec<u8>)]]| {
        let mut file = Header { number: 1, first_frame: 1 }.to_bytes().to_vec();
        for (records, number) in frames.iter().zip(1..) {
            file.extend(Frame { file: 1, number, records }.to_bytes());
        }
        file
    };
    let mut torn = file(&[&records[..1], &records[1..]]);
    torn.truncate(torn.len() - 9);
    let mut zeros = file(&[&records]);
    zeros.resize(zeros.len() + 64, 0);
    let lines: Vec<Vec<u8>> = records.iter().map(|(_, bytes)| bytes.clone()).collect();
    let group: Vec<u8> = records
        .iter()
        .flat_map(|(revision, bytes)| {
            [&revision.to_be_bytes()[..], &(bytes.len() as u32).to_be_bytes(), bytes].concat()
        })
        .collect();
    let mut all = vec![file(&[&records]), torn, zeros, lines.join(&b'\n'), group];
    all.extend(lines);
    all
}
