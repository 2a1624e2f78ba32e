//! The meaning of policies, case by case, and laws of what they are cut into.

use std::net::IpAddr;

use proptest::prelude::*;

use super::*;
use crate::schema::Text;

fn labels(text: &str) -> Labels {
    text.split_whitespace().filter_map(|one| one.split_once('=')).map(|(k, v)| (k.into(), v.into())).collect()
}

/// `app=web` · `app!=web` (NotIn) · `app` (Exists) · `!app` (DoesNotExist) · `app~a|b` (In).
fn selector(text: &str) -> Selector {
    let mut selector = Selector::default();
    for word in text.split_whitespace() {
        let values = |text: &str| text.split('|').map(Text::from).collect::<Vec<_>>();
        let (key, operator) = if let Some((key, value)) = word.split_once("!=") {
            (key, Operator::NotIn(values(value)))
        } else if let Some((key, value)) = word.split_once('~') {
            (key, Operator::In(values(value)))
        } else if let Some((key, value)) = word.split_once('=') {
            selector.labels.push((key.into(), value.into()));
            continue;
        } else if let Some(key) = word.strip_prefix('!') {
            (key, Operator::DoesNotExist)
        } else {
            (word, Operator::Exists)
        };
        selector.expressions.push(Expression { key: key.into(), operator });
    }
    selector
}

fn own(pods: &str) -> Peer {
    Peer::Pods(Scope::Namespace("blue".into()), selector(pods))
}

fn others(namespaces: &str, pods: &str) -> Peer {
    Peer::Pods(Scope::Selected(selector(namespaces)), selector(pods))
}

fn block(cidr: &str, except: &[&str]) -> Block {
    let except = except.iter().map(|hole| hole.parse().unwrap()).collect();
    Block { cidr: cidr.parse().unwrap(), except }
}

fn policy(pods: &str, ingress: Option<Vec<Rule>>, egress: Option<Vec<Rule>>) -> Policy {
    Policy {
        namespace: "blue".into(),
        pods: selector(pods),
        ingress,
        egress,
        keeps_established: false,
        logs_drops: false,
    }
}

fn rule(peers: &[Peer], ports: &[Ports]) -> Rule {
    Rule { peers: peers.to_vec(), ports: ports.to_vec() }
}

/// web and db in blue, web in red; blue is labelled `team=a`.
fn pods() -> [PodFacts; 3] {
    let pod = |namespace: &str, app: &str, address: &str, port| PodFacts {
        namespace: namespace.into(),
        labels: labels(&format!("app={app}")),
        addresses: vec![address.parse().unwrap()],
        ports: vec![NamedPort { name: "http".into(), protocol: Protocol::Tcp, port }],
        groups: Vec::new(),
    };
    [
        pod("blue", "web", "10.0.0.1", 8080),
        pod("blue", "db", "10.0.0.2", 80),
        pod("red", "web", "10.1.0.1", 80),
    ]
}

const TCP_80: Packet = Packet { protocol: Some(Protocol::Tcp), port: 80 };
const PING: Packet = Packet { protocol: None, port: 0 };

/// Whether a connection from one of [`pods`] to another may begin.
fn allowed(policies: &[Policy], from: usize, to: usize, packet: Packet) -> bool {
    let pods = pods();
    let world = World {
        policies: policies.iter().collect(),
        namespaces: [("blue".into(), labels("team=a"))].into(),
        isolated: Vec::new(),
    };
    let end = |at: usize| End { address: pods[at].addresses[0], pod: Some(&pods[at]) };
    world.allows(end(from), end(to), packet)
}

const WEB: usize = 0;
const DB: usize = 1;
const RED: usize = 2;

#[test]
fn who_is_not_selected_is_open_and_who_is_selected_is_open_to_the_union() {
    assert!(allowed(&[], RED, DB, PING));
    let closed = policy("app=db", Some(Vec::new()), None);
    assert!(!allowed(std::slice::from_ref(&closed), WEB, DB, TCP_80));
    assert!(allowed(std::slice::from_ref(&closed), DB, WEB, TCP_80), "it says nothing of egress");
    assert!(allowed(std::slice::from_ref(&closed), RED, WEB, TCP_80), "nor of other pods");
    let web = policy("app=db", Some(vec![rule(&[own("app=web")], &[])]), None);
    let all_80 = policy("", Some(vec![rule(&[], &[Ports::Range(Protocol::Tcp, 80, 80)])]), None);
    let both = [closed, web, all_80];
    assert!(allowed(&both, WEB, DB, PING) && allowed(&both, RED, DB, TCP_80));
    assert!(!allowed(&both, RED, DB, PING));
}

#[test]
fn both_ends_have_a_say() {
    let out = policy("app=web", None, Some(vec![rule(&[own("app=db")], &[])]));
    let into = policy("app=db", Some(vec![rule(&[own("app=web")], &[])]), None);
    assert!(allowed(&[out.clone(), into.clone()], WEB, DB, TCP_80));
    assert!(!allowed(&[out, policy("app=db", Some(Vec::new()), None)], WEB, DB, TCP_80));
    assert!(!allowed(&[policy("app=web", None, Some(Vec::new())), into], WEB, DB, TCP_80));
}

#[test]
fn peers_are_pods_here_pods_elsewhere_or_addresses() {
    let with = |peer: Peer| [policy("app=db", Some(vec![rule(&[peer], &[])]), None)];
    for (peer, web, red) in [
        (own(""), true, false),
        (own("app=web"), true, false),
        (own("app=db"), false, false),
        (others("", ""), true, true),
        (others("team=a", ""), true, false),
        (others("!team", "app=web"), false, true),
        (others("kubernetes.io/metadata.name=red", ""), false, true),
        (others("team!=a", "app~web|db"), false, true),
        (others("", "app!=web"), false, false),
        (Peer::Block(block("10.0.0.0/8", &[])), true, true),
        (Peer::Block(block("10.0.0.0/8", &["10.1.0.0/16"])), true, false),
        (Peer::Block(block("0.0.0.0/0", &["10.0.0.0/24"])), false, true),
        (Peer::Block(block("::/0", &[])), false, false),
    ] {
        let policies = with(peer.clone());
        let found = (allowed(&policies, WEB, DB, TCP_80), allowed(&policies, RED, DB, TCP_80));
        assert_eq!(found, (web, red), "{peer:?}");
    }
}

#[test]
fn operators_of_expressions() {
    for (text, given, wanted) in [
        ("app~a|b", "app=b", true),
        ("app~a|b", "app=c", false),
        ("app~a|b", "", false),
        ("app!=a|b", "app=a", false),
        ("app!=a|b", "app=c", true),
        ("app!=a|b", "", true),
        ("app", "app=c", true),
        ("app", "tier=c", false),
        ("!app", "app=c", false),
        ("!app", "tier=c", true),
        ("tier=c app", "tier=c", false),
        ("tier=c app", "tier=c app=x", true),
        ("", "", true),
    ] {
        assert_eq!(selector(text).selects(&labels(given)), wanted, "{text} on {given}");
    }
}

#[test]
fn ports_are_numbers_ranges_names_or_all() {
    use Protocol::{Sctp, Tcp, Udp};
    let names = [NamedPort { name: "http".into(), protocol: Tcp, port: 8080 }];
    for (ports, protocol, port, wanted) in [
        (Ports::All(Udp), Udp, 53, true),
        (Ports::All(Udp), Tcp, 53, false),
        (Ports::Range(Tcp, 80, 80), Tcp, 80, true),
        (Ports::Range(Tcp, 80, 80), Sctp, 80, false),
        (Ports::Range(Tcp, 80, 90), Tcp, 90, true),
        (Ports::Range(Tcp, 80, 90), Tcp, 91, false),
        (Ports::Named(Tcp, "http".into()), Tcp, 8080, true),
        (Ports::Named(Tcp, "http".into()), Tcp, 80, false),
        (Ports::Named(Udp, "http".into()), Udp, 8080, false),
        (Ports::Named(Tcp, "admin".into()), Tcp, 8080, false),
    ] {
        assert_eq!(ports.holds(protocol, port, &names), wanted, "{ports:?} {protocol} {port}");
    }
}

/// A name is that of the receiver's port, whichever end the policy is on.
#[test]
fn names_of_ports_are_those_of_the_receiver() {
    let http = [Ports::Named(Protocol::Tcp, "http".into())];
    let into = [policy("", Some(vec![rule(&[], &http)]), None)];
    assert!(allowed(&into, WEB, DB, TCP_80), "http of db is 80");
    assert!(!allowed(&into, DB, WEB, TCP_80), "http of web is 8080");
    let out = [policy("", None, Some(vec![rule(&[], &http)]))];
    assert!(allowed(&out, WEB, DB, TCP_80) && !allowed(&out, DB, WEB, TCP_80));
}

#[test]
fn rules_with_ports_say_nothing_of_what_has_none() {
    let ports = [policy("", Some(vec![rule(&[], &[Ports::All(Protocol::Tcp)])]), None)];
    assert!(!allowed(&ports, WEB, DB, PING));
    assert!(allowed(&[policy("", Some(vec![Rule::default()]), None)], WEB, DB, PING));
}

#[test]
fn an_isolated_namespace_is_open_to_its_own_pods() {
    let pods = pods();
    let end = |at: usize| End { address: pods[at].addresses[0], pod: Some(&pods[at]) };
    let outside = End { address: "192.0.2.1".parse().unwrap(), pod: None };
    let mut world = World { isolated: vec!["blue".into()], ..World::default() };
    assert!(world.allows(end(WEB), end(DB), PING));
    assert!(!world.allows(end(RED), end(DB), PING) && !world.allows(outside, end(DB), PING));
    assert!(world.allows(end(DB), end(RED), PING));
    let more = policy("app=db", Some(vec![rule(&[others("", "app=web")], &[])]), None);
    world.policies.push(&more);
    assert!(world.allows(end(RED), end(DB), PING));
}

#[test]
fn labels_and_names_are_spelled_as_kubernetes_spells_them() {
    for good in ["app", "a.b-c_D9", "example.com/role", "kubernetes.io/metadata.name"] {
        assert!(label_key(good), "{good}");
    }
    let long = "x".repeat(64);
    for bad in ["", "-app", "app-", "a b", "/role", "Example.com/role", "a/b/c", "example.com/", &long] {
        assert!(!label_key(bad), "{bad}");
    }
    assert!(label_value("") && label_value("v1.2") && !label_value("a b") && !label_value("-"));
    assert!(port_name("http") && port_name("p-80") && port_name("a"));
    assert!(!port_name("80") && !port_name("HTTP") && !port_name("a--b") && !port_name("a234567890123456"));
}

proptest! {
    /// A range is cut into matches that hold for exactly its ports, each once.
    #[test]
    fn matches_of_a_range_are_the_range(one in any::<u16>(), other in any::<u16>(), probe in any::<u16>()) {
        let (first, last) = (one.min(other), one.max(other));
        let matches = Ports::Range(Protocol::Tcp, first, last).matches();
        prop_assert!(matches.len() <= 30);
        for port in [first, last, probe, first.wrapping_sub(1), last.wrapping_add(1)] {
            let hits = matches.iter().filter(|found| port & found.mask == found.value).count();
            prop_assert_eq!(hits, usize::from((first..=last).contains(&port)), "{}", port);
        }
    }

    /// A block is cut into prefixes that hold exactly its addresses, each once.
    #[test]
    fn prefixes_of_a_block_are_the_block(
        bits in 0_u8..=32,
        holes in prop::collection::vec((any::<u32>(), 0_u8..=32), 0..5),
        probes in prop::collection::vec(any::<u32>(), 20),
    ) {
        let near = |at: u32| std::net::Ipv4Addr::from(0x0a00_0000 | at & 0xffff);
        let within = |at: u32, bits: u8| {
            ipnetwork::IpNetwork::new(near(at).into(), bits).map(|found| {
                ipnetwork::IpNetwork::new(found.network(), bits).unwrap()
            }).unwrap()
        };
        let cidr = within(0, bits);
        let except: Vec<_> = holes.iter().map(|(at, more)| within(*at, bits.max(*more))).collect();
        let edges: Vec<IpAddr> = except.iter().flat_map(|hole| [hole.network(), hole.broadcast()]).collect();
        let block = Block { cidr, except };
        let prefixes = block.prefixes();
        for address in probes.into_iter().map(|at| near(at).into()).chain(edges) {
            let hits = prefixes.iter().filter(|found| found.contains(address)).count();
            prop_assert_eq!(hits, usize::from(block.contains(address)), "{}", address);
        }
    }
}

#[test]
fn a_hole_costs_at_most_one_prefix_a_bit() {
    assert_eq!(block("0.0.0.0/0", &["10.0.0.1/32"]).prefixes().len(), 32);
    assert_eq!(block("::/0", &["fd00::1/128"]).prefixes().len(), 128);
    assert_eq!(block("10.0.0.0/8", &["10.0.0.0/8"]).prefixes(), []);
    assert_eq!(block("10.0.0.0/8", &["10.0.0.0/9"]).prefixes(), ["10.128.0.0/9".parse().unwrap()]);
}
