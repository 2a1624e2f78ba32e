//! The watcher and the datastore agree on what an entry is: what the mapping says of any object is what a GET answers once it was written, so
//! that who looks again finds nothing to write.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::cell::RefCell;
use std::sync::OnceLock;

use coeus_watch::feed::Told;
use coeus_watch::lease::Tenure;
use coeus_watch::writer::{Datastore, Trouble, Writer};
use coeus_watch::{Kind, List, Object};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use support::{Server, login};

const CLUSTER: &str = "c1000000-0000-4000-8000-000000000001";

/// A datastore over the network, and the patches that it was sent.
#[derive(Clone, Copy)]
struct Over<'a> {
    server: &'a Server,
    patches: &'a RefCell<Vec<Value>>,
}

impl Datastore for Over<'_> {
    fn read(&self, list: List) -> Result<Value, Trouble> {
        let answer = self.server.send("GET", &format!("/rests/data/{}?content=config", list.container()), "");
        Ok(if answer.status == 404 { json!({}) } else { answer.json() })
    }

    fn state(&self, path: &str) -> Result<Value, Trouble> {
        let answer = self.server.send("GET", &format!("/rests/data/{path}"), "");
        Ok(if answer.status == 404 { Value::Null } else { answer.json() })
    }

    fn write(&self, patch: &Value) -> Result<(), Trouble> {
        self.patches.borrow_mut().push(patch.clone());
        let headers = format!("{}Content-Type: application/yang-patch+json\r\n", login("admin:secret"));
        let answer = self.server.raw("PATCH", "/rests/data", &headers, patch.to_string().as_bytes());
        if answer.status < 300 { Ok(()) } else { Err(Trouble::Refused(answer.body)) }
    }
}

/// Objects by their kind, as an API server lists them.
type Cluster = Vec<(Kind, Vec<Value>)>;

fn read<T: DeserializeOwned + Into<Object>>(value: &Value) -> Object {
    serde_json::from_value::<T>(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}")).into()
}

fn object(kind: Kind, value: &Value) -> Object {
    use k8s_openapi::api::{core::v1 as core, discovery::v1 as discovery, networking::v1 as networking};
    match kind {
        Kind::Namespace => read::<core::Namespace>(value),
        Kind::Node => read::<core::Node>(value),
        Kind::Pod => read::<core::Pod>(value),
        Kind::Service => read::<core::Service>(value),
        Kind::Slice => read::<discovery::EndpointSlice>(value),
        Kind::Endpoints => read::<core::Endpoints>(value),
        Kind::Policy => read::<networking::NetworkPolicy>(value),
    }
}

/// Has one who knows nothing yet follow the cluster; what he wrote, and what was not taken.
fn follow(server: &Server, cluster: &Cluster) -> (Vec<Value>, Vec<String>) {
    let patches = RefCell::default();
    let over = Over { server, patches: &patches };
    let mut writer = Writer::new(CLUSTER, over, Tenure::always());
    for (kind, objects) in cluster {
        writer.hear(Told::All(*kind, objects.iter().map(|value| object(*kind, value)).collect()));
    }
    writer.catch_up().unwrap();
    let refused = writer.refused().map(|(place, reason)| format!("{place}: {reason}")).collect();
    (patches.take(), refused)
}

// -- what there is in clusters

fn uid(kind: u8, number: usize) -> String {
    let (upper, text) = (number % 2 == 1, format!("{kind:x}abcdef0-0000-4000-8000-{number:012x}"));
    if upper { text.to_ascii_uppercase() } else { text }
}

fn name() -> impl Strategy<Value = String> {
    "[a-z]([-a-z0-9]{0,6}[a-z0-9])?"
}

/// IANA's names of services (RFC 6335 section 5.1), as those of ports have to be.
fn port_name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9]{0,4}(-[a-z0-9]{1,3})?"
}

fn namespace() -> impl Strategy<Value = &'static str> {
    select(vec!["blue", "red", "kube-system"])
}

fn labels() -> impl Strategy<Value = Value> {
    let key = "([a-z]{1,3}\\.example/)?[A-Za-z0-9]([-_.A-Za-z0-9]{0,4}[A-Za-z0-9])?";
    let value = "([A-Za-z0-9]([-_.A-Za-z0-9]{0,4}[A-Za-z0-9])?)?";
    btree_map(key, value, 0..4).prop_map(|labels| json!(labels))
}

fn protocol() -> impl Strategy<Value = Value> {
    select(vec![Value::Null, json!("TCP"), json!("UDP"), json!("SCTP")])
}

fn selector() -> impl Strategy<Value = Value> {
    let expression = (
        "[a-z]{1,3}",
        select(vec!["In", "NotIn", "Exists", "DoesNotExist"]),
        subsequence(vec!["a", "b", "c"], 1..3),
    )
        .prop_map(|(key, operator, values)| {
            let values = if operator.ends_with("In") { json!(values) } else { Value::Null };
            without_null(json!({"key": key, "operator": operator, "values": values}))
        });
    (labels(), vec(expression, 0..3))
        .prop_map(|(labels, expressions)| json!({"matchLabels": labels, "matchExpressions": expressions}))
}

/// As an API server leaves out what is not said.
fn without_null(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

fn meta(kind: u8, number: usize, name: &str, namespace: Option<&str>, labels: &Value) -> Value {
    let name = format!("{name}{number}");
    without_null(json!({"name": name, "namespace": namespace, "uid": uid(kind, number), "labels": labels}))
}

/// So many objects, each with its number.
fn some<S: Strategy<Value = Value>>(
    most: usize,
    one: impl Fn(usize) -> S + 'static,
) -> impl Strategy<Value = Vec<Value>> {
    (0..=most).prop_flat_map(move |count| (0..count).map(&one).collect::<Vec<_>>())
}

fn a_namespace(number: usize) -> impl Strategy<Value = Value> {
    let isolated = select(vec![
        json!({}),
        json!({"net.beta.kubernetes.io/network-policy": "{\"ingress\":{\"isolation\":\"DefaultDeny\"}}"}),
    ]);
    (labels(), isolated).prop_map(move |(labels, annotations)| {
        let name = ["blue", "red", "kube-system"][number];
        json!({"metadata": {"name": name, "uid": uid(1, number), "labels": labels, "annotations": annotations}})
    })
}

fn a_node(number: usize) -> impl Strategy<Value = Value> {
    let addresses = subsequence(
        vec![
            json!({"type": "Hostname", "address": "n"}),
            json!({"type": "InternalIP", "address": format!("192.168.0.{}", number + 1)}),
            json!({"type": "ExternalIP", "address": format!("2001:DB8:0:0::{}", number + 1)}),
        ],
        1..=3,
    );
    let cidr = select(vec![
        Value::Null,
        json!(format!("10.{number}.0.0/24")),
        json!(format!("FD00:{number}::/64")),
        json!(format!("10.{number}.7.9/16")),
    ]);
    (addresses, cidr).prop_map(move |(addresses, cidr)| {
        let meta = meta(2, number, "n", None, &json!({}));
        json!({"metadata": meta, "spec": without_null(json!({"podCIDR": cidr})), "status": {"addresses": addresses}})
    })
}

fn a_pod(number: usize) -> impl Strategy<Value = Value> {
    let port = (port_name(), 1..65536_i32, protocol()).prop_map(|(name, number, protocol)| {
        without_null(json!({"name": name, "containerPort": number, "protocol": protocol}))
    });
    let addresses = select(vec![
        json!([]),
        json!([{"ip": format!("10.0.9.{}", number + 1)}]),
        json!([{"ip": format!("10.0.9.{}", number + 1)}, {"ip": format!("FD00:9:0::{}", number + 1)}]),
        json!([{"ip": format!("fd00:9::{}", number + 1)}]),
    ]);
    let phase = select(vec!["Pending", "Running", "Running", "Succeeded", "Unknown"]);
    (name(), namespace(), labels(), vec(port, 0..3), addresses, phase, 0..3_usize, any::<bool>()).prop_map(
        move |(name, namespace, labels, ports, addresses, phase, node, of_host)| {
            let first = addresses.get(0).map(|one| one["ip"].clone());
            let spec = json!({"nodeName": format!("n{node}"), "hostNetwork": of_host && number == 0, "containers": [{"name": "c", "ports": ports}]});
            let status = without_null(json!({"phase": phase, "podIP": first, "podIPs": addresses}));
            json!({"metadata": meta(3, number, &name, Some(namespace), &labels), "spec": spec, "status": status})
        },
    )
}

fn a_service(number: usize) -> impl Strategy<Value = Value> {
    let target = prop_oneof![
        Just(Value::Null),
        (1..65536_i32).prop_map(|port| json!(port)),
        port_name().prop_map(|port| json!(port))
    ];
    let ports = vec((protocol(), target, any::<bool>()), 0..4).prop_map(move |ports| {
        let port = |(place, (protocol, target, has_node_port)): (usize, (Value, Value, bool))| {
            let node_port = has_node_port.then_some(30_000 + number * 10 + place);
            without_null(json!({"name": format!("p{place}"), "port": 80 + place, "protocol": protocol, "targetPort": target, "nodePort": node_port}))
        };
        ports.into_iter().enumerate().map(port).collect::<Vec<_>>()
    });
    let own = select(vec![
        json!([]),
        json!(["None"]),
        json!([format!("10.96.0.{}", number + 1)]),
        json!([format!("10.96.0.{}", number + 1), format!("FD00:96:0::{}", number + 1)]),
    ]);
    let outside =
        subsequence(vec![format!("203.0.113.{}", number + 1), format!("2001:DB8:0::{}", number + 1)], 0..=2);
    let affinity = select(vec![Value::Null, json!("None"), json!("ClientIP")]);
    let policy = || select(vec![Value::Null, json!("Cluster"), json!("Local")]);
    let more = (outside, of(1..100_i32), affinity, of(1..=86_400_i32), policy(), policy());
    (name(), namespace(), ports, own, more).prop_map(move |(name, namespace, ports, own, more)| {
        let (outside, ingress, affinity, timeout, external, internal) = more;
        let timeout = timeout.map(|seconds| json!({"clientIP": {"timeoutSeconds": seconds}}));
        let spec = json!({
            "clusterIP": own.get(0), "clusterIPs": own, "externalIPs": outside, "ports": ports, "sessionAffinity": affinity,
            "sessionAffinityConfig": timeout, "externalTrafficPolicy": external, "internalTrafficPolicy": internal,
        });
        let ingress = ingress.map(|last| json!([{"ip": format!("198.51.{number}.{last}")}]));
        let status = json!({"loadBalancer": without_null(json!({"ingress": ingress}))});
        json!({"metadata": meta(4, number, &name, Some(namespace), &json!({})), "spec": without_null(spec), "status": status})
    })
}

fn endpoint() -> impl Strategy<Value = Value> {
    let address = prop_oneof![
        (2..200_u8).prop_map(|last| format!("10.0.9.{last}")),
        (2..200_u8).prop_map(|last| format!("FD00:9:0::{last:X}"))
    ];
    let conditions = (of(any::<bool>()), of(any::<bool>()))
        .prop_map(|(ready, serving)| without_null(json!({"ready": ready, "serving": serving})));
    (address, conditions)
        .prop_map(|(address, conditions)| json!({"addresses": [address], "conditions": conditions}))
}

fn endpoint_ports(of_subset: bool) -> impl Strategy<Value = Value> {
    vec((1..65536_i32, protocol()), 0..3).prop_map(move |ports| {
        let port = |(place, (port, protocol)): (usize, (i32, Value))| {
            let name = (of_subset || place > 0).then(|| format!("p{place}"));
            without_null(json!({"name": name, "port": port, "protocol": protocol}))
        };
        ports.into_iter().enumerate().map(port).collect()
    })
}

fn a_slice(number: usize) -> impl Strategy<Value = Value> {
    (namespace(), vec(endpoint(), 0..4), endpoint_ports(false)).prop_map(move |(namespace, endpoints, ports)| {
        let labels = json!({"kubernetes.io/service-name": format!("svc{}", number / 2)});
        json!({"metadata": meta(5, number, "s", Some(namespace), &labels), "addressType": "IPv4", "endpoints": endpoints, "ports": ports})
    })
}

fn some_endpoints(number: usize) -> impl Strategy<Value = Value> {
    let subset = (vec(2..200_u8, 0..4), endpoint_ports(true)).prop_map(|(lasts, ports)| {
        let addresses: Vec<_> = lasts.iter().map(|last| json!({"ip": format!("10.0.8.{last}")})).collect();
        json!({"addresses": addresses, "ports": ports})
    });
    (namespace(), vec(subset, 0..3)).prop_map(move |(namespace, subsets)| {
        json!({"metadata": meta(6, number, "old", Some(namespace), &json!({})), "subsets": subsets})
    })
}

fn rule(peers: &'static str) -> impl Strategy<Value = Value> {
    let block = select(vec![
        json!({"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16", "10.2.3.4/32"]}),
        json!({"cidr": "10.9.8.7/8"}),
        json!({"cidr": "FD00:0::/8", "except": ["fd00:0:1::/48"]}),
        json!({"cidr": "0.0.0.0/0"}),
        json!({"cidr": "::/0"}),
    ]);
    let peer = prop_oneof![
        block.prop_map(|block| json!({"ipBlock": block})),
        (of(selector()), selector()).prop_map(|(pods, namespaces)| without_null(
            json!({"podSelector": pods, "namespaceSelector": namespaces})
        )),
        selector().prop_map(|pods| json!({"podSelector": pods})),
    ];
    let port = prop_oneof![
        protocol().prop_map(|protocol| without_null(json!({"protocol": protocol}))),
        (protocol(), port_name())
            .prop_map(|(protocol, port)| without_null(json!({"protocol": protocol, "port": port}))),
        (protocol(), 1..30_000_i32, of(30_000..65_536_i32)).prop_map(|(protocol, port, end)| without_null(
            json!({"protocol": protocol, "port": port, "endPort": end})
        )),
    ];
    (of(vec(peer, 0..3)), of(vec(port, 0..3)))
        .prop_map(move |(found, ports)| without_null(json!({peers: found, "ports": ports})))
}

fn a_policy(number: usize) -> impl Strategy<Value = Value> {
    let types = subsequence(vec!["Ingress", "Egress"], 0..=2);
    (name(), namespace(), selector(), of(vec(rule("from"), 0..3)), of(vec(rule("to"), 0..3)), types).prop_map(
        move |(name, namespace, pods, ingress, egress, types)| {
            let spec = without_null(
                json!({"podSelector": pods, "ingress": ingress, "egress": egress, "policyTypes": types}),
            );
            json!({"metadata": meta(7, number, &name, Some(namespace), &json!({})), "spec": spec})
        },
    )
}

fn cluster() -> impl Strategy<Value = Cluster> {
    let first = (some(3, a_namespace), some(3, a_node), some(6, a_pod), some(4, a_service));
    let second = (some(4, a_slice), some(2, some_endpoints), some(4, a_policy));
    (first, second).prop_map(|((namespaces, nodes, pods, services), (slices, endpoints, policies))| {
        vec![
            (Kind::Namespace, namespaces),
            (Kind::Node, nodes),
            (Kind::Pod, pods),
            (Kind::Service, services),
            (Kind::Slice, slices),
            (Kind::Endpoints, endpoints),
            (Kind::Policy, policies),
        ]
    })
}

fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::network)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, max_shrink_iters: 400, ..ProptestConfig::default() })]

    /// What was written of a cluster, whatever stood there of the one before, is found as it was written; the datastore takes all of it.
    #[test]
    fn who_looks_again_finds_nothing_to_write(cluster in cluster()) {
        let (_, refused) = follow(server(), &cluster);
        prop_assert!(refused.is_empty(), "not taken: {refused:#?}");
        let (again, _) = follow(server(), &cluster);
        prop_assert!(again.is_empty(), "written again: {}", serde_json::to_string_pretty(&again).unwrap());
    }
}

#[test]
fn an_empty_cluster_leaves_nothing_behind() {
    let server = Server::network();
    let all: Map<String, Value> =
        server.send("GET", "/rests/data?content=config", "").json().as_object().cloned().unwrap();
    let pod = json!({"metadata": {"name": "p", "namespace": "blue", "uid": uid(3, 0)}, "spec": {"nodeName": "n0", "containers": []}, "status": {"podIP": "10.0.0.5"}});
    let with = |pods: Vec<Value>| -> Cluster {
        Kind::ALL.map(|kind| (kind, if kind == Kind::Pod { pods.clone() } else { Vec::new() })).to_vec()
    };
    assert_eq!(follow(&server, &with(vec![pod])).0.len(), 1);
    assert_eq!(follow(&server, &with(Vec::new())).0.len(), 1);
    assert_eq!(server.send("GET", "/rests/data?content=config", "").json(), Value::Object(all));
}
