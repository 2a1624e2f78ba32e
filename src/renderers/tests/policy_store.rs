//! Policies as clients write them: what is read, refused, told and explained.

use super::super::{FlowQuery, Subject};
use super::mini::Mini;
use crate::datastore::Store::{Config, Operational};
use crate::model::Reader;
use crate::pipeline::COUNTED;
use crate::policy::Direction;
use crate::schema::{DataPath, builtin};

const ID: &str = "99999999-9999-4999-8999-999999999999";
const POD: &str = "11111111-1111-1111-1111-111111111111";
const SWITCH: &str = r#"{"network-topology:topology":[{"topology-id":"ovsdb:1","node":[
        {"node-id":"ovsdb://uuid/a","ovsdb:openvswitch-other-configs":[
            {"other-config-key":"local_ip","other-config-value":"192.168.56.11"}]},
        {"node-id":"ovsdb://uuid/a/bridge/br-int","ovsdb:bridge-name":"br-int","ovsdb:datapath-id":"00:00:00:00:00:00:00:01",
         "termination-point":[
            {"tp-id":"veth1","ovsdb:ofport":10,"ovsdb:interface-external-ids":[
                {"external-id-key":"iface-id","external-id-value":"blue:p1"},
                {"external-id-key":"attached-mac","external-id-value":"0a:00:00:00:01:10"}]}]}]}]}"#;

fn path() -> String {
    format!("k8s:k8s/network-policies/network-policy={ID}")
}

fn put(mini: &mut Mini, spec: &str) -> Result<(), crate::datastore::Refusal> {
    let body = format!(
        r#"{{"k8s:network-policy":[{{"uuid":"{ID}","name":"n","coeus-policy:namespace":"blue","network-policy-spec":{spec}}}]}}"#
    );
    mini.put(Config, &path(), &body)
}

fn pod(mini: &mut Mini, more: &str) -> Result<(), crate::datastore::Refusal> {
    let body = format!(
        r#"{{"pod:pods":[{{"uid":"{POD}","name":"p1","network-NS":"blue","host-ip-address":"192.168.56.11",
        "interface":[{{"uid":"{POD}","ip-address":"10.0.0.1"}}]{more}}}]}}"#
    );
    mini.put(Config, &format!("pod:coe/pods={POD}"), &body)
}

fn one_pod() -> Mini {
    let mut mini = Mini::new();
    mini.put(Operational, "network-topology:network-topology/topology=ovsdb%3A1", SWITCH).unwrap();
    pod(&mut mini, r#","coeus-policy:label":[{"key":"app","value":"db"}]"#).unwrap();
    mini
}

fn lines(mini: &Mini, table: u8) -> Vec<String> {
    let desired = mini.engine.desired();
    let flows = desired.values().flat_map(|tables| tables.flows.iter());
    flows.filter(|flow| flow.table == table).map(|flow| flow.to_string()).collect()
}

fn rule(direction: &str, peers: &str, ports: &str) -> String {
    let way = if direction == "ingress" { "from" } else { "to" };
    format!(
        r#"{{"{direction}":[{{"network-policy-{direction}-rule":{{"{way}":[{peers}],"{direction}-ports":[{ports}]}}}}]}}"#
    )
}

fn peer(inside: &str) -> String {
    format!(r#"{{"network-policy-peer":{{{inside}}}}}"#)
}

fn port(inside: &str) -> String {
    format!(r#"{{"network-policy-port":{{{inside}}}}}"#)
}

#[test]
fn what_cannot_be_meant_is_refused_and_nothing_is_stored() {
    let mut mini = one_pod();
    let spec = |peers: &str, ports: &str| rule("ingress", peers, ports);
    for (spec, said) in [
        (spec("", &port(r#""port":"0""#)), "port 0 is out of range"),
        (spec("", &port(r#""port":"65536""#)), "port 65536 is out of range"),
        (spec("", &port(r#""port":"90","coeus-policy:end-port":80"#)), "end-port 80 is below port 90"),
        (spec("", &port(r#""port":"http","coeus-policy:end-port":80"#)), "end-port with port http"),
        (spec("", &port(r#""coeus-policy:end-port":80"#)), "end-port without port"),
        (spec("", &port(r#""port":"Web""#)), "neither a number nor a port's name"),
        (spec(&peer(""), ""), "a peer names nobody"),
        (
            spec(&peer(r#""peer-pod-selector":{},"ip-block":{"cidr":"10.0.0.0/8"}"#), ""),
            "an ip-block and a selector",
        ),
        (spec(&peer(r#""ip-block":{"cidr":"10.0.0.0/33"}"#), ""), "is no prefix"),
        (
            spec(&peer(r#""ip-block":{"cidr":"10.0.0.0/8","except":["11.0.0.0/16"]}"#), ""),
            "except 11.0.0.0/16 is not strictly within cidr 10.0.0.0/8",
        ),
        (r#"{"pod-selector":{"match-labels":[{"key":"a b","value":"c"}]}}"#.into(), "is no key of a label"),
        (r#"{"pod-selector":{"match-labels":[{"key":"a","value":"c d"}]}}"#.into(), "is no value of label a"),
        (
            r#"{"pod-selector":{"coeus-policy:match-expressions":[{"key":"a","operator":"In"}]}}"#.into(),
            "operator In of key a has no values",
        ),
        (
            r#"{"pod-selector":{"coeus-policy:match-expressions":[{"key":"a","operator":"Exists","values":["b"]}]}}"#
                .into(),
            "takes no values",
        ),
    ] {
        let refusal = put(&mut mini, &spec).unwrap_err();
        assert!(refusal.message.contains(said) && refusal.message.contains(ID), "{said}: {refusal}");
        assert_eq!(mini.get(Config, &path()), "", "{said}");
    }
    let refusal = pod(&mut mini, r#","coeus-policy:label":[{"key":"-","value":"db"}]"#).unwrap_err();
    assert!(refusal.message.contains("is no key of a label"), "{refusal}");
}

/// An empty selector of a peer selects all, an absent list means everybody, an empty list of rules nobody.
#[test]
fn what_is_empty_is_not_what_is_absent() {
    let mut mini = one_pod();
    let rules = |mini: &Mini| {
        let of = |part: &str| lines(mini, 244).iter().filter(|line| line.contains(part)).count();
        (of("priority=30"), of("nw_src"), of("priority=20"))
    };
    put(&mut mini, r#"{"policy-types":["ingress"]}"#).unwrap();
    assert_eq!(rules(&mini), (0, 0, 0), "{:?}", lines(&mini, 244));
    put(&mut mini, r#"{"ingress":[{}]}"#).unwrap();
    assert_eq!(rules(&mini), (4, 0, 0), "the pod, everything of either version, and the rule");
    put(&mut mini, &rule("ingress", &peer(r#""peer-pod-selector":{}"#), "")).unwrap();
    assert_eq!(rules(&mini), (0, 1, 3), "the pod itself is its peer: {:?}", lines(&mini, 244));
    put(&mut mini, &rule("ingress", &peer(r#""peer-namespace-selector":{}"#), "")).unwrap();
    assert_eq!(rules(&mini), (0, 1, 3));
    put(&mut mini, r#"{"policy-types":["egress"]}"#).unwrap();
    assert_eq!(rules(&mini), (1, 0, 0), "it says nothing of ingress");
}

#[test]
fn what_matches_nothing_says_so() {
    let mut mini = one_pod();
    let peers = peer(r#""peer-pod-selector":{"match-labels":[{"key":"app","value":"web"}]}"#);
    let spec = rule("ingress", &peers, &port(r#""port":"http""#));
    put(&mut mini, &spec).unwrap();
    let state = mini.get(Operational, "coeus-policy:policies");
    for part in [
        r#""selected-pods":1"#,
        "ingress rule 1: peer 1 selects no pod of namespace blue",
        "no pod that it is about has a TCP port http",
    ] {
        assert!(state.contains(part), "{part} is missing: {state}");
    }
    pod(
        &mut mini,
        r#","coeus-policy:label":[{"key":"app","value":"web"}],
            "coeus-policy:named-port":[{"name":"http","protocol":"TCP","port":8080}]"#,
    )
    .unwrap();
    let state = mini.get(Operational, "coeus-policy:policies");
    assert!(!state.contains("reason"), "{state}");
    assert!(lines(&mini, 244).iter().any(|line| line.contains("tp_dst=8080")), "{:?}", lines(&mini, 244));
    mini.delete(Config, "k8s:k8s").unwrap();
    assert_eq!(mini.get(Operational, "coeus-policy:policies"), "");
}

#[test]
fn an_isolated_namespace_is_a_leaf() {
    let mut mini = one_pod();
    let body =
        |isolated: bool| format!(r#"{{"coeus-policy:namespace":[{{"name":"blue","isolated":{isolated}}}]}}"#);
    let at = "coeus-policy:namespaces/namespace=blue";
    mini.put(Config, at, &body(true)).unwrap();
    assert!(lines(&mini, 244).iter().any(|line| line.contains("nw_src=10.0.0.1")), "{:?}", lines(&mini, 244));
    assert!(mini.get(Operational, "coeus-policy:policies").contains("namespace:blue"));
    mini.put(Config, at, &body(false)).unwrap();
    assert_eq!(lines(&mini, 244).len(), 1, "the miss alone");
    mini.put(Config, at, &body(true)).unwrap();
    mini.delete(Config, "coeus-policy:namespaces").unwrap();
    assert_eq!(lines(&mini, 244).len(), 1);
}

#[test]
fn flows_lead_to_policies_and_policies_to_flows() {
    let mut mini = one_pod();
    put(&mut mini, &rule("ingress", &peer(r#""ip-block":{"cidr":"192.0.2.0/24"}"#), "")).unwrap();
    let (count, found) = mini
        .engine
        .explain_flows(&FlowQuery { text: Some("nw_src=192.0.2.0/24".into()), ..FlowQuery::default() }, 9);
    let wanted = DataPath::parse_rfc8040(builtin(), &path()).unwrap();
    assert_eq!((count, &found[0].paths), (1, &vec![wanted.clone()]));
    let (_, denied) = mini.engine.explain_flows(&FlowQuery { table: Some(247), ..FlowQuery::default() }, 9);
    let denied = denied.iter().find(|found| found.flow.owner.key() == "blue:p1").unwrap();
    assert_eq!(denied.paths.len(), 2, "the policy and the pod");
    let plan = mini.engine.caused_by(&wanted).unwrap();
    let text = format!("{plan:?}");
    for part in ["table=244", "table=247", "nw_src=192.0.2.0/24", "conj_id"] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
}

/// A restart sends nothing: numbers of conjunctions are kept.
#[test]
fn a_restart_renders_the_same() {
    let mut mini = one_pod();
    put(&mut mini, &rule("ingress", &peer(r#""ip-block":{"cidr":"192.0.2.0/24"}"#), "")).unwrap();
    let before = mini.engine.desired();
    mini.restore();
    assert_eq!(mini.engine.desired(), before);
}

const GROUP: &str = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

fn acl(mini: &mut Mini, aces: &str) -> Result<(), crate::datastore::Refusal> {
    let path = format!("ietf-access-control-list:access-lists/acl=ietf-access-control-list:ipv4-acl,{GROUP}");
    let body = format!(
        r#"{{"ietf-access-control-list:acl":[{{"acl-type":"ietf-access-control-list:ipv4-acl","acl-name":"{GROUP}",
        "access-list-entries":{{"ace":[{aces}]}}}}]}}"#
    );
    mini.put(Config, &path, &body)
}

fn ace(name: &str, direction: &str, matches: &str, more: &str) -> String {
    let direction = format!(r#""aclservice:direction":"aclservice:direction-{direction}""#);
    format!(
        r#"{{"rule-name":"{name}","matches":{{{matches}}},"actions":{{"permit":[null]}},{direction}{more}}}"#
    )
}

fn bind(mini: &mut Mini, name: &str, more: &str) -> Result<(), crate::datastore::Refusal> {
    let body = format!(r#"{{"ietf-interfaces:interface":[{{"name":"{name}"{more}}}]}}"#);
    mini.put(Config, &format!("ietf-interfaces:interfaces/interface={name}"), &body)
}

/// Access lists are bound to a pod's interface by its name, act with their rules alone, and go with the binding.
#[test]
fn access_lists_act_on_the_interfaces_that_they_are_bound_to() {
    let mut mini = one_pod();
    let rules = [
        ace("web", "ingress", r#""protocol":6,"destination-port-range":{"lower-port":80}"#, ""),
        ace("ping", "ingress", r#""protocol":1,"source-ipv4-network":"10.0.0.0/24""#, ""),
        ace("all", "egress", "", ""),
        ace("old", "ingress", "", r#","aclservice:deleted":true"#),
    ];
    acl(&mut mini, &rules.join(",")).unwrap();
    assert_eq!(lines(&mini, 244).len(), 1, "it is bound to nothing: there is the miss alone");
    let groups = format!(r#","aclservice:security-groups":["{GROUP}"]"#);
    bind(&mut mini, "blue:p1", &groups).unwrap();
    let to = lines(&mini, 244).join("\n");
    for part in ["tp_dst=80", "nw_proto=1", "nw_src=10.0.0.0/24", "conjunction("] {
        assert!(to.contains(part) || (part == "nw_proto=1" && to.contains("icmp")), "no {part} in\n{to}");
    }
    assert!(lines(&mini, 214).iter().any(|line| line.contains("priority=30")), "everything may be sent");
    let found = mini.engine.list_flows(&FlowQuery { table: Some(247), ..FlowQuery::default() }, 9).0;
    assert!(found > 0);
    // Port security that is off, and no binding, are the same.
    bind(&mut mini, "blue:p1", &format!(r#"{groups},"aclservice:port-security-enabled":false"#)).unwrap();
    assert_eq!(lines(&mini, 244).iter().filter(|line| line.contains("priority=20")).count(), 0);
    // A list that is not there permits nothing.
    bind(&mut mini, "blue:p1", r#","aclservice:security-groups":["bbbbbbbb-aaaa-4aaa-8aaa-aaaaaaaaaaaa"]"#)
        .unwrap();
    assert!(!lines(&mini, 247).is_empty());
    assert_eq!(lines(&mini, 244).iter().filter(|line| line.contains("priority=20")).count(), 0);
}

#[test]
fn access_lists_that_cannot_be_meant_are_refused() {
    let mut mini = one_pod();
    let range = |lower: u16, upper: u16| {
        format!(r#""protocol":6,"destination-port-range":{{"lower-port":{lower},"upper-port":{upper}}}"#)
    };
    for (rule, said) in [
        (ace("r", "ingress", &range(90, 80), ""), "rule r: upper-port 80 is below lower-port 90"),
        (
            ace("r", "ingress", r#""destination-port-range":{"lower-port":1}"#, ""),
            "ports without a protocol that has some",
        ),
        (
            ace("r", "ingress", r#""protocol":6,"source-port-range":{"lower-port":1}"#, ""),
            "source ports are not matched",
        ),
        (ace("r", "ingress", r#""dscp":10"#, ""), "dscp is not matched"),
        (ace("r", "ingress", r#""source-mac-address":"0a:00:00:00:00:01""#, ""), "source-mac-address is not matched"),
        (ace("r", "ingress", r#""destination-ipv4-network":"10.0.0.1/32""#, ""), "is the interface's own side"),
        (
            ace("r", "egress", r#""destination-ipv4-network":"10.0.0.1/32""#, &format!(r#","aclservice:remote-group-id":"{GROUP}""#)),
            "a network and a remote-group-id",
        ),
        (r#"{"rule-name":"r","actions":{"permit":[null]}}"#.into(), "it has no direction"),
        (
            r#"{"rule-name":"r","actions":{"deny":[null]},"aclservice:direction":"aclservice:direction-egress"}"#.into(),
            "it does not permit",
        ),
    ] {
        let refusal = acl(&mut mini, &rule).unwrap_err();
        assert!(refusal.to_string().contains(said), "{refusal}");
        assert!(refusal.to_string().contains(GROUP), "{refusal}");
    }
    acl(&mut mini, &ace("r", "ingress", &range(80, 80), "")).unwrap();
}

/// What is counted is found under the paths of rules, and no clause is without one.
#[test]
fn rules_are_counted_under_their_paths() {
    let mut mini = one_pod();
    let spec = r#"{"ingress":[{},{"network-policy-ingress-rule":{"ingress-ports":[
        {"network-policy-port":{"port":"80"}}]}}],"egress":[{}]}"#;
    put(&mut mini, spec).unwrap();
    let counted = mini.engine.counted();
    let paths = Reader::new(builtin()).rule_paths(&mini.snapshot, ID);
    let found: Vec<(String, usize)> = counted
        .rules
        .iter()
        .map(|rule| {
            let path = paths.get(rule.direction, rule.number).unwrap();
            (path.to_rfc8040(builtin()), rule.conjunctions.len())
        })
        .collect();
    let at = |rule: &str| (format!("{}/network-policy-spec/{rule}", path()), 1);
    assert_eq!(found, [at("egress=1"), at("ingress=1"), at("ingress=2")]);
    assert_eq!(paths.name.as_deref(), Some("n"));
    assert_eq!(counted.ports.len(), 1);
    assert!(counted.ports[0].egress.contains(ID) && counted.ports[0].ingress.contains(ID));
    // What the switch says of a flow leads to the same rule, or to the port.
    let desired = mini.engine.desired();
    let flows = desired.values().flat_map(|tables| tables.flows.iter());
    let subjects: Vec<Subject> = flows
        .filter(|flow| flow.cookie & COUNTED != 0)
        .map(|flow| Subject::of(flow.table, &flow.parts().0).unwrap())
        .collect();
    let port = counted.ports[0].lport;
    for rule in &counted.rules {
        assert!(subjects.contains(&Subject::Rule(rule.conjunctions[0])));
    }
    for direction in Direction::BOTH {
        assert!(subjects.contains(&Subject::Denied(direction, port)));
    }
    assert_eq!(subjects.len(), 5);
}

/// Drops are logged where the policy or the namespace says so, through a meter; else nothing of it is on the switch.
#[test]
fn drops_are_logged_where_somebody_wants_it() {
    let mut mini = one_pod();
    let policy = |logs: bool| {
        format!(
            r#"{{"k8s:network-policy":[{{"uuid":"{ID}","coeus-policy:namespace":"blue","coeus-policy:log-drops":{logs},
            "network-policy-spec":{{"policy-types":["ingress"]}}}}]}}"#
        )
    };
    let logged = |mini: &Mini| {
        let desired = mini.engine.desired();
        let meters: Vec<u32> = desired.values().flat_map(|tables| tables.meters.keys().copied()).collect();
        let of = |table| lines(mini, table).iter().filter(|line| line.contains("controller(")).count();
        (of(217), of(247), meters)
    };
    mini.put(Config, &path(), &policy(false)).unwrap();
    assert_eq!(logged(&mini), (0, 0, vec![]));
    mini.put(Config, &path(), &policy(true)).unwrap();
    let lport = mini.engine.counted().ports[0].lport.0;
    assert_eq!(logged(&mini), (0, 1, vec![1 << 17 | lport]), "it is about ingress");
    let line = lines(&mini, 247).into_iter().find(|line| line.contains("controller(")).unwrap();
    assert!(line.contains(&format!("meter:{}", 1 << 17 | lport)) && line.contains("max_len=128"), "{line}");
    mini.put(Config, &path(), &policy(false)).unwrap();
    let namespace =
        |logs: bool| format!(r#"{{"coeus-policy:namespace":[{{"name":"blue","log-drops":{logs}}}]}}"#);
    mini.put(Config, "coeus-policy:namespaces/namespace=blue", &namespace(true)).unwrap();
    assert_eq!(logged(&mini), (0, 1, vec![1 << 17 | lport]));
    mini.put(Config, "coeus-policy:namespaces/namespace=blue", &namespace(false)).unwrap();
    assert_eq!(logged(&mini), (0, 0, vec![]));
}
