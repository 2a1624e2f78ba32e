//! Cases: golden files of each feature, and what must change when something changes.

mod by_hand;
mod changes;
mod derived;
mod differential;
mod endpoints;
mod external;
mod extra_routes;
mod floating;
mod follow;
mod host_ports;
mod laws;
mod mini;
mod next_hops;
mod north_south;
mod outside_v6;
mod ovs;
mod plan;
mod policy;
mod policy_store;
mod prefixes;
mod services;
mod services_outside;
mod spoof;
mod store;
mod sub_ports;
mod trace;
mod underlay;

use super::testing::*;
use crate::model::{Lease, Row};
use crate::pipeline::golden;
use underlay::four_networks;

const FEATURES: [&str; 10] =
    ["interface", "antispoof", "tunnel", "elan", "vpn", "arp", "nd", "dhcp", "nat", "service"];

/// Compares each feature's part of each switch with its golden file.
fn assert_golden(case: &str, world: &World, switches: &[u64]) {
    assert_golden_of(&FEATURES, case, world, switches);
}

fn assert_golden_of(features: &[&str], case: &str, world: &World, switches: &[u64]) {
    for feature in features {
        let mut text = String::new();
        for switch in switches {
            let part = golden::print(&world.tables(*switch, feature));
            if !part.is_empty() {
                text += &format!("# switch {switch}\n{part}");
            }
        }
        golden::assert_text(&format!("src/renderers/{feature}/golden/{case}.flows"), &text);
    }
}

#[test]
fn node_with_its_own_port() {
    assert_golden("node-port", &two_pods().on_two_nodes().with([node_port(1, 7)]), &[1]);
}

#[test]
fn source_nat() {
    let world = two_pods().of_both_versions().with([node_port(1, 7), node_port(2, 7)]);
    let row = translated_both(&[(1, "203.0.113.5")], &[(1, "2001:db8:5::5")]);
    assert_golden("source-nat", &world.with([row]), &[1, 2]);
}

#[test]
fn floating_addresses() {
    assert_golden("floating", &floating::two_floating(), &[1, 2]);
}

#[test]
fn pods_of_a_vpn_outside() {
    let mut world = floating::two_floating();
    world.put([Row::FloatingRouter("r1".into(), None), ext_router("blue", floating::NET, &["203.0.113.15"])]);
    assert_golden_of(&["nat", "vpn"], "router", &world, &[1, 2]);
}

#[test]
fn two_pods_on_one_node() {
    assert_golden("two-pods-one-node", &two_pods().on_one_node(), &[1]);
}

#[test]
fn two_nodes() {
    assert_golden("two-nodes", &two_pods().on_two_nodes(), &[1, 2]);
}

#[test]
fn dual_stack() {
    assert_golden("dual-stack", &two_pods().of_both_versions(), &[1, 2]);
}

#[test]
fn last_pod_gone() {
    let mut world = two_pods().on_one_node();
    world.put([no_pod("p1"), no_pod("p2")]);
    assert_golden("last-pod-gone", &world, &[1]);
}

/// Three sources of a gateway: a pool, the node's pod-cidr, and the assumption of .1.
#[test]
fn gateway() {
    let world = World::default()
        .with(switch(1))
        .with([k8s_node(1, Some("10.11.0.0/16")), pool("blue", "10.11.1.0/24", Some("10.11.1.254"))])
        .with([pod("p1", "blue", 1, Some("10.11.1.10")), port(1, "blue:p1", 10)])
        .with([pod("p2", "blue", 1, Some("10.11.2.10")), port(1, "blue:p2", 11)])
        .with([pod("p3", "blue", 1, Some("10.99.2.10")), port(1, "blue:p3", 12)]);
    assert_golden("gateway", &world, &[1]);
}

#[test]
fn dhcp() {
    let world = World::default()
        .with(switch(1))
        .with([pool("blue", "10.11.1.0/24", Some("10.11.1.254"))])
        .with([pod("p1", "blue", 1, None), port(1, "blue:p1", 10)])
        .with([pod("p2", "blue", 1, None), port(1, "blue:p2", 11), lease("blue:p2", Some("10.11.1.3"))]);
    assert_golden("dhcp", &world, &[1]);
}

/// A pool of IPv6: p1 has no address yet, p2 was leased one, p3 has one of its own and none of the pool's business, p4 is of
/// a namespace without a pool.
#[test]
fn dhcp_v6() {
    let world = World::default()
        .with(switch(1))
        .with([pool("blue", "fd00:1::/64", Some("fd00:1::1"))])
        .with([pod("p1", "blue", 1, None), port(1, "blue:p1", 10)])
        .with([pod("p2", "blue", 1, None), port(1, "blue:p2", 11), lease("blue:p2", Some("fd00:1::3"))])
        .with([pod("p3", "blue", 1, Some("10.11.1.10")), port(1, "blue:p3", 12)])
        .with([pod("p4", "red", 1, Some("10.11.1.10")), port(1, "red:p4", 13)]);
    assert_golden("dhcp-v6", &world, &[1]);
}

/// A lease of each version, and each for what is not configured.
#[test]
fn leases_of_both_versions_give_addresses() {
    let both = |own: &[&str]| {
        let row = Row::Lease(
            "blue:p1".into(),
            Some(Lease {
                interface: "blue:p1".into(),
                v4: Some("10.11.1.3".parse().unwrap()),
                v6: Some("fd00:1::3".parse().unwrap()),
            }),
        );
        let world = World::default()
            .with(switch(1))
            .with([pod_with("p1", "blue", 1, own), port(1, "blue:p1", 10)])
            .with([row]);
        let text = golden::print(&world.tables(1, "antispoof"));
        ["10.11.1.3", "fd00:1::3"].map(|address| text.contains(&format!("src={address} ")))
    };
    assert_eq!(both(&[]), [true, true]);
    assert_eq!(both(&["10.11.1.9"]), [false, true]);
    assert_eq!(both(&["fd00:1::9"]), [true, false]);
}

/// Each kind of network: p1 and p2 on VLAN 100 of two nodes, p3 untagged, p4 on GRE.
#[test]
fn network_types() {
    assert_golden("network-types", &four_networks(), &[1, 2]);
}

#[test]
fn every_name_is_in_the_models() {
    super::Engine::new(crate::schema::builtin(), Box::new(|_, _| {}));
}
