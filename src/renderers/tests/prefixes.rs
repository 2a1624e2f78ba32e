//! One route a switch: what a prefix covers, what it does not, and what many switches cost.

use super::super::testing::*;
use crate::datastore::Store::{Config, Operational};
use crate::model::{InterfaceId, K8sNode, MESH, Reason, Row};
use crate::net::Dpid;

/// So many switches, each with a node that has a prefix and one pod of blue.
fn many(switches: u64) -> World {
    let mut world = World::default();
    world.put((1..=switches).flat_map(switch));
    world.put((1..=switches).map(|node| k8s_node(node, Some(&format!("10.11.{node}.0/24")))));
    world.put((1..=switches).flat_map(|node| nth(node, 2)));
    world
}

fn nth(node: u64, number: u32) -> [Row; 2] {
    let name = format!("p{node}-{number}");
    let address = format!("10.11.{node}.{number}");
    [pod(&name, "blue", node, Some(&address)), port(node, &format!("blue:{name}"), 100 + number)]
}

/// Routes (table 21) of a switch to other switches, as text.
fn remote_routes(world: &World, node: u64) -> Vec<String> {
    let tables = world.tables(node, "vpn");
    let routes = tables.flows.iter().map(|flow| flow.to_string());
    routes.filter(|text| text.contains("table=21") && text.contains("tun_dst")).collect()
}

fn notes(world: &World, pod: &str) -> Vec<Reason> {
    let id = InterfaceId { pod: pod.into(), uid: pod.into() };
    world.workshop.model.interface(&id).unwrap().notes.clone()
}

/// What the issue asks for: the same flow-mods on one switch, among few switches and among many.
#[test]
fn one_more_pod_touches_one_switch() {
    let costs = [3, 40].map(|switches| {
        let mut world = many(switches);
        let deltas = world.put(nth(2, 9));
        assert_eq!(deltas.keys().collect::<Vec<_>>(), [&Dpid(2)], "among {switches}");
        let delta = &deltas[&Dpid(2)];
        let gone = world.put([no_pod("p2-9")]);
        assert_eq!(gone.keys().collect::<Vec<_>>(), [&Dpid(2)]);
        assert_eq!(gone[&Dpid(2)].flows.len(), delta.flows.len());
        (delta.flows.len(), delta.groups.len())
    });
    assert_eq!(costs[0], costs[1]);
    assert!(costs[0].0 <= 40 && costs[0].1 <= 2, "{costs:?}");
}

/// A namespace that comes to one more switch: a route and an answer there for each other switch, and one each there.
#[test]
fn one_more_switch_of_a_namespace_is_two_flows_on_each_other() {
    let mut world = many(20);
    world.put([no_pod("p7-2")]);
    let deltas = world.put(nth(7, 3));
    assert_eq!(deltas.len(), 20);
    for (dpid, delta) in deltas.iter().filter(|(dpid, _)| **dpid != Dpid(7)) {
        assert_eq!(delta.flows.len(), 2, "{dpid}");
        assert!(delta.groups.is_empty());
    }
}

#[test]
fn a_pod_outside_has_a_route_of_its_own() {
    let mut world = many(3);
    assert_eq!(remote_routes(&world, 3).len(), 2);
    // Of nobody's prefix, and of the prefix of switch 1, where it is not.
    world.put([pod("away", "blue", 2, Some("10.99.0.1")), port(2, "blue:away", 200)]);
    world.put([pod("moved", "blue", 2, Some("10.11.1.77")), port(2, "blue:moved", 201)]);
    for node in [1, 3] {
        let routes = remote_routes(&world, node);
        for address in ["nw_dst=10.99.0.1 ", "nw_dst=10.11.1.77 "] {
            let to_two =
                |route: &&String| route.contains(address) && route.contains("192.168.56.12->tun_dst");
            assert_eq!(routes.iter().filter(to_two).count(), 1, "{address} on {node}: {routes:?}");
        }
        assert_eq!(routes.len(), 4);
    }
    assert_eq!(remote_routes(&world, 2).len(), 2);
}

/// Two nodes that claim the same addresses: each pod has its own route and says why; with one claim gone, all is well.
#[test]
fn overlapping_prefixes_are_not_used() {
    let mut world = many(3);
    world.put([k8s_node(2, Some("10.11.0.0/16"))]);
    for node in 1..=3 {
        let routes = remote_routes(&world, node);
        assert!(routes.len() == 2 && routes.iter().all(|route| route.contains("priority=42")), "{routes:?}");
        let told = |reason: &Reason| matches!(reason, Reason::CidrOverlaps { .. });
        assert!(notes(&world, &format!("p{node}-2")).iter().any(told));
    }
    let shown = world.read(Operational, "coeus-status:objects");
    assert!(shown.contains("overlaps that of node node-2"), "{shown}");
    world.put([k8s_node(2, Some("10.11.2.0/24"))]);
    assert!(remote_routes(&world, 1).iter().all(|route| route.contains("priority=34")));
    assert!(notes(&world, "p1-2").is_empty());
    // One node with two switches, and two nodes of one address.
    let Row::K8sNode(uid, Some(mut row)) = k8s_node(3, Some("10.11.3.0/24")) else { unreachable!() };
    row.external = Some(host(1).into());
    world.put([Row::K8sNode(uid, Some(row))]);
    assert!(matches!(notes(&world, "p3-2")[..], [Reason::TwoSwitches { .. }]));
    assert!(matches!(notes(&world, "p1-2")[..], [Reason::TwoNodes { .. }]));
    assert!(notes(&world, "p2-2").is_empty());
}

/// A `pod-cidr` that cannot be meant is nobody's prefix, and pods there say so.
#[test]
fn a_prefix_that_is_none_is_told() {
    let mut world = many(3);
    let Row::K8sNode(uid, Some(row)) = k8s_node(2, None) else { unreachable!() };
    let bad = K8sNode { bad_cidr: Some("10.11.2.0/33".into()), ..row };
    world.put([Row::K8sNode(uid, Some(bad))]);
    assert!(matches!(notes(&world, "p2-2")[..], [Reason::BadPodCidr { .. }, Reason::AssumedGateway(_)]));
    let shown = world.read(Operational, "coeus-status:objects");
    assert!(shown.contains("10.11.2.0/33") && shown.contains("of node node-2 is no prefix"), "{shown}");
    world.put([k8s_node(2, Some("10.11.2.0/24"))]);
    assert!(notes(&world, "p2-2").is_empty());
}

/// Pairs of switches are listed as long as they are few; what is listed goes with the one switch too many.
#[test]
fn tunnels_are_listed_among_few_switches() {
    let count = |world: &World| {
        world.read(Operational, "itm-state:tunnels_state").matches(r#""tunnel-interface-name""#).count()
    };
    let most = u64::try_from(MESH).unwrap();
    let mut world = World::default();
    world.put((1..=most).flat_map(switch));
    assert_eq!(count(&world), MESH * (MESH - 1));
    world.put(switch(most + 1));
    assert_eq!(count(&world), 0);
    let endpoints = world.read(Config, "itm-state:dpn-endpoints").matches(r#""DPN-ID""#).count();
    assert_eq!(endpoints, MESH + 1);
    world.put(switch(most + 1).map(|row| match row {
        Row::Bridge(key, _) => Row::Bridge(key, None),
        Row::Port(key, _) => Row::Port(key, None),
        other => other,
    }));
    assert_eq!(count(&world), MESH * (MESH - 1));
}
