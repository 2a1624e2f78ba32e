//! Policies: what is rendered of them says what they mean, and a change costs what it changes.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use openflow_rs::{Action, Field, Instruction, Match, Subfield};
use proptest::prelude::*;

use super::super::testing::*;
use crate::model::{AclRow, InterfaceId, Namespace, Pod, PolicyRow, Row};
use crate::net::Dpid;
use crate::pipeline::evaluate::{Outcome, Packet, Tables, evaluate};
use crate::pipeline::{EGRESS_DISPATCHER, Flow, L3_GATEWAY_MAC, OwnerName, golden};
use crate::policy::{
    self, Block, End, Expression, Labels, NamedPort, Operator, Peer, PodFacts, Policy, Ports, Protocol, Rule,
    Scope, Selector,
};
use crate::schema::{Key, Text};

const SPACES: [&str; 3] = ["blue", "red", "green"];
const VALUES: [&str; 2] = ["a", "b"];

fn value() -> impl Strategy<Value = Text> {
    prop::sample::select(&VALUES[..]).prop_map(Text::from)
}

fn key() -> impl Strategy<Value = Text> {
    prop::sample::select(&["app", "tier"][..]).prop_map(Text::from)
}

/// Labels and named ports of a pod.
pub(super) fn any_labels() -> impl Strategy<Value = (Labels, Box<[NamedPort]>)> {
    let labels = prop::collection::btree_map(key(), value(), 0..3);
    let number = prop::sample::select(&[80_u16, 8080][..]);
    let port = |port| NamedPort { name: "http".into(), protocol: Protocol::Tcp, port };
    (labels, prop::option::of(number.prop_map(port)))
        .prop_map(|(labels, port)| (labels, port.into_iter().collect()))
}

fn any_selector() -> impl Strategy<Value = Selector> {
    let operator = prop_oneof![
        prop::collection::vec(value(), 1..3).prop_map(Operator::In),
        prop::collection::vec(value(), 1..3).prop_map(Operator::NotIn),
        Just(Operator::Exists),
        Just(Operator::DoesNotExist),
    ];
    let expression = (key(), operator).prop_map(|(key, operator)| Expression { key, operator });
    prop_oneof![
        2 => Just(Selector::default()),
        3 => (key(), value()).prop_map(|label| Selector { labels: vec![label], expressions: Vec::new() }),
        2 => expression.prop_map(|one| Selector { labels: Vec::new(), expressions: vec![one] }),
    ]
}

fn any_block() -> impl Strategy<Value = Block> {
    let cases: [(&str, &[&str]); 6] = [
        ("0.0.0.0/0", &[]),
        ("10.0.0.0/8", &["10.0.1.0/24"]),
        ("0.0.0.0/0", &["10.0.0.0/31", "10.0.2.1/32"]),
        ("10.0.1.1/32", &[]),
        ("192.0.2.0/24", &[]),
        ("fd00::/16", &["fd00::10/128"]),
    ];
    prop::sample::select(cases.to_vec()).prop_map(|(cidr, except)| Block {
        cidr: cidr.parse().unwrap(),
        except: except.iter().map(|hole| hole.parse().unwrap()).collect(),
    })
}

fn any_rules(namespace: Text) -> impl Strategy<Value = Vec<Rule>> {
    let peer = prop_oneof![
        any_selector().prop_map(move |pods| Peer::Pods(Scope::Namespace(namespace.clone()), pods)),
        (any_selector(), any_selector()).prop_map(|(spaces, pods)| Peer::Pods(Scope::Selected(spaces), pods)),
        any_block().prop_map(Peer::Block),
    ];
    let protocol = prop::sample::select(&Protocol::ALL[..]);
    let ports = prop_oneof![
        protocol.clone().prop_map(Ports::All),
        (protocol, 50_u16..100, 0_u16..9000)
            .prop_map(|(protocol, first, more)| { Ports::Range(protocol, first, first + more) }),
        Just(Ports::Range(Protocol::Tcp, 80, 80)),
        Just(Ports::Named(Protocol::Tcp, "http".into())),
    ];
    let rule = (prop::collection::vec(peer, 0..3), prop::collection::vec(ports, 0..3));
    prop::collection::vec(rule.prop_map(|(peers, ports)| Rule { peers, ports }), 0..3)
}

/// One of four policies, as anything, or gone.
pub(super) fn any_policy(namespaces: &'static [&'static str]) -> impl Strategy<Value = Row> {
    let parts = (0..4, prop::sample::select(namespaces), any_selector(), any::<[bool; 4]>());
    parts.prop_flat_map(|(number, namespace, pods, [ingress, egress, keeps, there])| {
        let rules = || any_rules(namespace.into());
        (rules(), rules()).prop_map(move |(of_ingress, of_egress)| {
            let policy = Policy {
                namespace: namespace.into(),
                pods: pods.clone(),
                ingress: ingress.then_some(of_ingress),
                egress: egress.then_some(of_egress),
                keeps_established: keeps,
                logs_drops: number == 0,
            };
            let row = Arc::new(PolicyRow { policy, faults: Vec::new() });
            Row::Policy(format!("policy-{number}").into(), (there || ingress || egress).then_some(row))
        })
    })
}

/// A namespace with labels, isolated or not, or nothing said of it.
pub(super) fn any_namespace(namespaces: &'static [&'static str]) -> impl Strategy<Value = Row> {
    let parts = (prop::sample::select(namespaces), any_labels(), any::<[bool; 2]>());
    parts.prop_map(|(name, (labels, _), [isolated, there])| {
        Row::Namespace(
            name.into(),
            (there || isolated).then_some(Namespace { labels, isolated, logs_drops: there }),
        )
    })
}

/// An access list, or that there is none of its name.
pub(super) fn any_acl() -> impl Strategy<Value = Row> {
    let parts = (prop::sample::select(&["x", "y"][..]), any::<[bool; 2]>());
    parts.prop_flat_map(|(name, [there, icmp])| {
        let space: Text = format!("acl:{name}").into();
        let rules = (any_rules(space.clone()), any_rules(space.clone()));
        rules.prop_map(move |(mut ingress, mut egress)| {
            let ports = vec![Ports::All(Protocol::Other(1))];
            ingress.iter_mut().chain(&mut egress).for_each(by_hand);
            ingress.extend(icmp.then_some(Rule { peers: Vec::new(), ports }));
            let policy = Policy {
                namespace: space.clone(),
                pods: Selector::default(),
                ingress: Some(ingress),
                egress: Some(egress),
                keeps_established: false,
                logs_drops: icmp,
            };
            let row = AclRow { row: PolicyRow { policy, faults: Vec::new() }, key: Key::text(name) };
            Row::Acl(name.into(), there.then(|| Arc::new(row)))
        })
    })
}

/// Access lists know no names of ports, and their groups are meant as a whole.
fn by_hand(rule: &mut Rule) {
    for peer in &mut rule.peers {
        if let Peer::Pods(Scope::Namespace(space), pods) = peer
            && space.starts_with("acl:")
        {
            *pods = Selector::default();
        }
    }
    for ports in &mut rule.ports {
        if let Ports::Named(protocol, _) = ports {
            *ports = Ports::Range(*protocol, 80, 80);
        }
    }
}

/// An interface with access lists, or none.
pub(super) fn any_binding(names: &'static [&'static str]) -> impl Strategy<Value = Row> {
    let groups = prop::collection::btree_set(prop::sample::select(&["acl:x", "acl:y"][..]), 0..3);
    (prop::sample::select(names), groups).prop_map(|(name, groups)| {
        let groups: BTreeSet<Text> = groups.into_iter().map(Text::from).collect();
        Row::Bound(name.into(), (!groups.is_empty()).then_some(groups))
    })
}

impl World {
    fn groups_of(&self, interface: &str) -> Vec<Text> {
        let bound = self.rows.values().find_map(|row| match row {
            Row::Bound(name, Some(groups)) if **name == *interface => Some(groups),
            _ => None,
        });
        bound.into_iter().flatten().cloned().collect()
    }
}

fn labelled(row: Row, labels: Labels, ports: Box<[NamedPort]>) -> Row {
    let Row::Pod(uid, Some(pod)) = row else { unreachable!() };
    Row::Pod(uid, Some(Pod { labels, ports, ..pod }))
}

/// Pod `at` of nine: its name, namespace and addresses of both versions. Each node has pods of every namespace.
fn ninth(at: usize) -> (String, &'static str, [String; 2]) {
    let (space, number) = (at / 3, at % 3);
    let addresses = [format!("10.0.{space}.{}", number + 1), format!("fd00:0:0:{space}::1{number}")];
    (format!("p{at}"), SPACES[space], addresses)
}

fn row_of(at: usize) -> Row {
    let (name, namespace, [v4, v6]) = ninth(at);
    pod_with(&name, namespace, node_of(at), &[&v4, &v6])
}

/// The node of pod `at`.
fn node_of(at: usize) -> u64 {
    if at % 3 == 2 { 2 } else { 1 }
}

fn nine_pods() -> World {
    let mut world = World::default().with(switch(1)).with(switch(2));
    for at in 0..9 {
        let (name, namespace, _) = ninth(at);
        let node = node_of(at);
        world.put([row_of(at), port(node, &format!("{namespace}:{name}"), 10 + u32::try_from(at).unwrap())]);
    }
    world
}

/// Pods with labels, policies and namespaces, edit by edit.
fn any_edit() -> impl Strategy<Value = Row> {
    prop_oneof![
        5 => any_policy(&SPACES),
        2 => any_namespace(&SPACES),
        3 => any_acl(),
        3 => any_binding(&["blue:p0", "blue:p1", "blue:p2", "red:p3", "red:p4", "red:p5", "green:p6", "green:p7"]),
        4 => (0_usize..9, any_labels()).prop_map(|(at, (labels, ports))| labelled(row_of(at), labels, ports)),
    ]
}

/// What the rows say, to be judged without any flow.
struct Judge {
    policies: Vec<Policy>,
    namespaces: Vec<(Text, Labels)>,
    isolated: Vec<Text>,
    pods: Vec<PodFacts>,
}

impl Judge {
    fn of(world: &World) -> Judge {
        let mut judge =
            Judge { policies: Vec::new(), namespaces: Vec::new(), isolated: Vec::new(), pods: Vec::new() };
        for row in world.rows.values() {
            match row {
                Row::Policy(_, Some(row)) => judge.policies.push(row.policy.clone()),
                Row::Namespace(name, Some(row)) => {
                    judge.namespaces.push((name.clone(), row.labels.clone()));
                    judge.isolated.extend(row.isolated.then(|| name.clone()));
                }
                Row::Pod(_, Some(pod)) => judge.pods.push(PodFacts {
                    namespace: pod.namespace.clone().unwrap(),
                    labels: pod.labels.clone(),
                    addresses: pod.interfaces[0].addresses.to_vec(),
                    ports: pod.ports.to_vec(),
                    groups: world.groups_of(&format!(
                        "{}:{}",
                        pod.namespace.as_ref().unwrap(),
                        pod.name.as_ref().unwrap()
                    )),
                }),
                Row::Acl(_, Some(acl)) => judge.policies.push(acl.row.policy.clone()),
                _ => {}
            }
        }
        judge
    }

    fn world(&self) -> policy::World<'_> {
        policy::World {
            policies: self.policies.iter().collect(),
            namespaces: self.namespaces.iter().cloned().collect(),
            isolated: self.isolated.clone(),
        }
    }

    /// A pod at its address of version 4, or 6.
    fn end(&self, at: usize, version: usize) -> End<'_> {
        End { address: self.pods[at].addresses[version], pod: Some(&self.pods[at]) }
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

/// The packets of the truth table.
const KINDS: [(u8, Option<Protocol>, u16); 6] = [
    (6, Some(Protocol::Tcp), 80),
    (6, Some(Protocol::Tcp), 8080),
    (17, Some(Protocol::Udp), 53),
    (132, Some(Protocol::Sctp), 80),
    (6, Some(Protocol::Tcp), 9099),
    (1, None, 0),
];

fn packet(source: IpAddr, destination: IpAddr, (protocol, _, port): (u8, Option<Protocol>, u16)) -> Packet {
    let (kind, from, to) = match source {
        IpAddr::V4(_) => (0x0800_u16, Field::Ipv4Src, Field::Ipv4Dst),
        IpAddr::V6(_) => (0x86dd, Field::Ipv6Src, Field::Ipv6Dst),
    };
    let protocol = if protocol == 1 && source.is_ipv6() { 58 } else { protocol };
    let packet = Packet::new()
        .with(Field::EthType, kind)
        .with(from, number(source))
        .with(to, number(destination))
        .with(Field::IpTtl, 64_u8)
        .with(Field::IpProto, protocol);
    match protocol {
        6 => packet.with(Field::TcpDst, port).with(Field::TcpFlags, 2_u8),
        17 => packet.with(Field::UdpDst, port),
        132 => packet.with(Field::SctpDst, port),
        58 => packet.with(Field::Icmpv6Type, 128_u8),
        _ => packet.with(Field::IcmpType, 8_u8),
    }
}

/// Ports of the test's own: what comes in there is on its way to the pod with the port ten above.
const INSIDE: u32 = 1_000;

/// A switch's tables, with a way to each pod's egress.
fn switch_tables(world: &World, node: u64) -> Tables {
    let held = world.tables(node, "");
    let inside = (0..9).filter(|at| node_of(*at) == node).map(|at| {
        let id = InterfaceId { pod: ninth(at).0.into(), uid: ninth(at).0.into() };
        let lport = world.workshop.model.interface(&id).unwrap().plugged().unwrap().1;
        let load = Action::load(Subfield::whole(Field::Reg6), u64::from(lport.0) << 8);
        let apply = Instruction::Apply(vec![load, Action::resubmit(EGRESS_DISPATCHER.id())]);
        let conditions = Match::new().with(Field::InPort, INSIDE + u32::try_from(at).unwrap());
        Arc::new(Flow::new(0, u16::MAX, 0, conditions, vec![apply], OwnerName::nobody()))
    });
    let flows: Vec<_> = held.flows.iter().cloned().chain(inside).collect();
    Tables::new(flows, held.groups.values().cloned())
}

/// Whether a pod's switch lets it send this.
fn may_send(tables: &Tables, at: usize, packet: Packet) -> bool {
    let ofport = 10 + u32::try_from(at).unwrap();
    let packet = packet.with(Field::InPort, ofport).with(Field::EthSrc, mac(node_of(at), ofport).to_u64());
    evaluate(packet, tables).hits().any(|(table, _)| table == L3_GATEWAY_MAC.id())
}

/// Whether a pod's switch lets it get this.
fn may_get(tables: &Tables, at: usize, packet: Packet) -> bool {
    let ofport = 10 + u32::try_from(at).unwrap();
    let walk = evaluate(packet.with(Field::InPort, INSIDE + ofport - 10), tables);
    walk.outcomes.iter().any(|outcome| matches!(outcome, Outcome::Output { port, .. } if *port == ofport))
}

/// Cells in which the tables say something else than the policies.
fn wrong_cells(world: &World) -> Vec<String> {
    let judge = Judge::of(world);
    let rules = judge.world();
    let tables = [switch_tables(world, 1), switch_tables(world, 2)];
    let of = |at: usize| &tables[usize::try_from(node_of(at)).unwrap() - 1];
    let mut wrong = Vec::new();
    let outside = ["192.0.2.7", "fd00:9::7"].map(|at| End { address: at.parse().unwrap(), pod: None });
    for own in 0..9 {
        for (peer, version) in (0..10).filter(|peer| *peer != own).flat_map(|peer| [(peer, 0), (peer, 1)]) {
            let other = if peer == 9 { outside[version] } else { judge.end(peer, version) };
            for kind in KINDS {
                let icmp = Protocol::Other(if version == 0 { 1 } else { 58 });
                let asked = policy::Packet { protocol: kind.1.or(Some(icmp)), port: kind.2 };
                let here = judge.end(own, version);
                let sends = rules.lets(policy::Direction::Egress, here, other, asked);
                if sends != may_send(of(own), own, packet(here.address, other.address, kind)) {
                    wrong.push(format!("{own} to {peer} {kind:?}: sends should be {sends}"));
                }
                let gets = rules.lets(policy::Direction::Ingress, here, other, asked);
                if gets != may_get(of(own), own, packet(other.address, here.address, kind)) {
                    wrong.push(format!("{own} from {peer} {kind:?}: gets should be {gets}"));
                }
            }
        }
    }
    wrong
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The truth table: after any edits, every cell is what the policies mean.
    #[test]
    fn tables_say_what_policies_mean(edits in prop::collection::vec(any_edit(), 1..14)) {
        let mut world = nine_pods();
        for edit in edits {
            world.put([edit]);
        }
        let wrong = wrong_cells(&world);
        prop_assert!(wrong.is_empty(), "{} cells, the first: {:?}", wrong.len(), &wrong[..wrong.len().min(5)]);
    }
}

fn peer_of(app: &str, namespace: &str) -> Peer {
    let pods = Selector { labels: vec![("app".into(), app.into())], expressions: Vec::new() };
    Peer::Pods(Scope::Namespace(namespace.into()), pods)
}

fn row(name: &str, policy: Policy) -> Row {
    Row::Policy(name.into(), Some(Arc::new(PolicyRow { policy, faults: Vec::new() })))
}

/// Pods of blue with `app=db` are reached by those with `app=web` on TCP 5432 and by a block on anything, and send nothing but DNS.
fn database() -> Policy {
    let dns = Rule { peers: Vec::new(), ports: vec![Ports::Range(Protocol::Udp, 53, 53)] };
    let block =
        Block { cidr: "192.0.2.0/24".parse().unwrap(), except: vec!["192.0.2.128/25".parse().unwrap()] };
    Policy {
        namespace: "blue".into(),
        pods: Selector { labels: vec![("app".into(), "db".into())], expressions: Vec::new() },
        ingress: Some(vec![
            Rule {
                peers: vec![peer_of("web", "blue")],
                ports: vec![Ports::Range(Protocol::Tcp, 5432, 5433)],
            },
            Rule { peers: vec![Peer::Block(block)], ports: Vec::new() },
        ]),
        egress: Some(vec![dns]),
        keeps_established: false,
        logs_drops: false,
    }
}

fn with_app(name: &str, node: u64, address: &str, app: &str) -> Row {
    labelled(pod(name, "blue", node, Some(address)), [("app".into(), app.into())].into(), Box::default())
}

fn web_and_db() -> World {
    two_pods()
        .on_two_nodes()
        .with([node_port(1, 7)])
        .with([with_app("p1", 1, "10.11.1.10", "db"), with_app("p2", 2, "10.11.2.10", "web")])
        .with([row("policy", database())])
}

#[test]
fn a_policy_in_full() {
    let text = golden::print(&web_and_db().tables(1, "policy"));
    golden::assert_text("src/renderers/policy/golden/policy.flows", &text);
}

/// Only switches with pods under policies have anything of them.
#[test]
fn others_pay_nothing() {
    let with = web_and_db();
    let without = two_pods().on_two_nodes().with([node_port(1, 7)]);
    assert_eq!(with.tables(2, "policy").flows.len(), 0);
    assert_eq!(with.tables(2, "interface").flows.len(), without.tables(2, "interface").flows.len());
    let mut world = web_and_db();
    world.put([Row::Policy("policy".into(), None)]);
    assert_eq!(world.tables(1, ""), without.tables(1, ""));
}

/// M peers, N ports and T targets are M + N + T flows, and one more peer is one flow on each switch with targets.
#[test]
fn a_conjunction_costs_the_sum_and_a_peer_one_flow() {
    let mut world = World::default().with(switch(1)).with(switch(2));
    for at in 0..40 {
        let (node, app) = (1 + at % 2, if at < 10 { "db" } else { "web" });
        let name = format!("q{at}");
        world.put([
            with_app(&name, node, &format!("10.0.9.{}", at + 1), app),
            port(node, &format!("blue:{name}"), 10 + u32::try_from(at).unwrap()),
        ]);
    }
    let before = world.tables(1, "policy").flows.len();
    let ports = (0..8).map(|at| Ports::Range(Protocol::Tcp, 1000 + at, 1000 + at)).collect();
    let rule = Rule { peers: vec![peer_of("web", "blue")], ports };
    let policy = Policy { ingress: Some(vec![rule]), egress: None, ..database() };
    world.put([row("policy", policy)]);
    let rules = world.tables(1, "policy").flows;
    let rules = rules.iter().filter(|flow| flow.table == 244 && flow.to_string().contains("conj")).count();
    let wanted = 5 + 30 + 2 * 8 + 2 + 1;
    assert_eq!(
        (before, rules),
        (0, wanted),
        "targets, peers, ports of both versions, fragments, conjunction"
    );
    let delta = world.put([with_app("new", 2, "10.0.9.99", "web")]);
    let changed: Vec<usize> = delta.values().map(|delta| delta.flows.len()).collect();
    assert_eq!(changed, [1, 1], "{delta:?}");
}

/// Policies that name the same peers share what says who those are.
#[test]
fn two_policies_share_their_peers() {
    let mut world = web_and_db();
    for at in 0..20 {
        let name = format!("q{at}");
        let own = port(2, &format!("blue:{name}"), 20 + at);
        world.put([with_app(&name, 2, &format!("10.0.9.{}", at + 1), "web"), own]);
    }
    let policy = |number| {
        let ports = vec![Ports::Range(Protocol::Tcp, number, number)];
        Policy {
            ingress: Some(vec![Rule { peers: vec![peer_of("web", "blue")], ports }]),
            egress: None,
            ..database()
        }
    };
    let of_peers = |world: &World| {
        let flows = world.tables(1, "policy").flows;
        flows.iter().filter(|flow| flow.to_string().contains("nw_src=10.0.9.")).count()
    };
    world.put([row("policy", policy(1000))]);
    assert_eq!(of_peers(&world), 20);
    let before = world.tables(1, "policy").flows.len();
    world.put([row("second", policy(2000))]);
    assert_eq!(of_peers(&world), 20);
    let more = world.tables(1, "policy").flows.len() - before;
    assert!(more < 10, "ports, and what they lead to: {more}");
    // An address more is one flow for both.
    let delta = world.put([with_app("q20", 2, "10.0.9.99", "web"), port(2, "blue:q20", 60)]);
    let flows = &delta[&Dpid(1)].flows;
    let of_peer = flows.iter().filter(|change| change.flow().to_string().contains("nw_src=10.0.9.99"));
    assert_eq!(of_peer.filter(|change| change.flow().table == 244).count(), 1);
}

/// Relabelling a peer touches one flow on the switch of the target, and nothing else.
#[test]
fn a_label_is_one_flow() {
    let mut world = web_and_db();
    let delta = world.put([with_app("p2", 2, "10.11.2.10", "other")]);
    assert_eq!(delta.keys().copied().collect::<Vec<_>>(), [Dpid(1)]);
    let flows = &delta[&Dpid(1)].flows;
    assert_eq!(flows.len(), 1, "{flows:?}");
    assert!(format!("{flows:?}").contains("nw_src=10.11.2.10"), "{flows:?}");
}
