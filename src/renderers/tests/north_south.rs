//! Node and pods: who reaches whom by the node's own port.

use super::super::testing::*;
use super::ovs::Ovs;
use crate::datastore::Store::Operational;
use crate::pipeline::golden;

const NODE: &str = "02:c0:e5:00:00:02";
const NODE_GATEWAY: &str = "02:c0:e5:00:00:01";
const GATEWAY: &str = "02:c0:e5:01:86:a0";

/// p1 and p4 of blue and r1 of red on node 1, whose own port is 7; p2 of blue on node 2, which has none.
fn node_and_pods() -> World {
    World::default()
        .with(switch(1))
        .with(switch(2))
        .with([k8s_node(1, Some("10.11.1.0/24")), k8s_node(2, Some("10.11.2.0/24")), node_port(1, 7)])
        .with([pod_with("p1", "blue", 1, &["10.11.1.10", "fd00:1::10"]), port(1, "blue:p1", 10)])
        .with([pod("r1", "red", 1, Some("10.11.1.11")), port(1, "red:r1", 11)])
        .with([pod("p2", "blue", 2, Some("10.11.2.10")), port(2, "blue:p2", 10)])
}

#[test]
fn a_node_reaches_its_pods_of_all_namespaces_and_they_reach_it() {
    let Some(ovs) = Ovs::start() else { return };
    let world = node_and_pods();
    ovs.bridge("br1", &world.tables(1, ""));
    let from_node = |rest: &str| format!("in_port=7,dl_src={NODE},dl_dst={NODE_GATEWAY},{rest}");
    let tcp = |source: &str, target: &str| {
        format!("tcp,nw_src={source},nw_dst={target},nw_ttl=64,tp_src=40000,tp_dst=80")
    };
    // Down, with the MAC addresses that a pod expects of its gateway; and up, whatever the namespace.
    for (port, mac, address, gateway) in [
        (10, "0a:00:00:01:00:0a", "10.11.1.10", GATEWAY),
        (11, "0a:00:00:01:00:0b", "10.11.1.11", "02:c0:e5:01:86:a1"),
    ] {
        ovs.trace("br1", &from_node(&tcp("192.168.56.11", address)))
            .goes_to([port])
            .says(&format!("set_field:{mac}->eth_dst"))
            .says(&format!("set_field:{gateway}->eth_src"))
            .says("nw_ttl=63");
        let up = format!("in_port={port},dl_src={mac},dl_dst={gateway},{}", tcp(address, "192.168.56.11"));
        ovs.trace("br1", &up).goes_to([7]).says(&format!("set_field:{NODE}->eth_dst"));
        // Nobody reaches his node with another's address.
        ovs.trace("br1", &up.replace(address, "10.11.1.77")).is_dropped();
    }
    let six = "tcp6,ipv6_src=fd00::11,ipv6_dst=fd00:1::10,nw_ttl=64,tp_src=40000,tp_dst=80";
    ovs.trace("br1", &from_node(six)).goes_to([10]);
    // The node's questions for neighbours.
    let arp = format!(
        "in_port=7,arp,arp_op=1,dl_src={NODE},dl_dst=ff:ff:ff:ff:ff:ff,arp_sha={NODE},arp_spa=192.168.56.11,arp_tpa=10.11.1.10"
    );
    ovs.trace("br1", &arp).goes_to([7]).says(&format!("set_field:{NODE_GATEWAY}->eth_src"));
    let ask = |target: &str| {
        format!(
            "in_port=7,icmp6,dl_src={NODE},dl_dst=33:33:ff:00:00:10,ipv6_src=fe80::1:2,ipv6_dst=ff02::1:ff00:10,nw_ttl=255,icmpv6_type=135,icmpv6_code=0,nd_target={target}"
        )
    };
    ovs.trace("br1", &ask("fd00:1::10")).goes_to([7]);
    ovs.trace("br1", &ask("fe80::1:2")).is_dropped();
    // Not into a tunnel, nor from one; other nodes are not behind this port; tags are not taken.
    ovs.trace("br1", &from_node(&tcp("192.168.56.11", "10.11.2.10"))).is_dropped();
    let vni = world.workshop.model.vpn("blue").unwrap().l3_vni.unwrap().0;
    let arriving = format!(
        "in_port=1,tun_id={vni},dl_src={GATEWAY},dl_dst={GATEWAY},{}",
        tcp("10.11.2.10", "192.168.56.11")
    );
    ovs.trace("br1", &arriving).is_dropped();
    let up = format!(
        "in_port=10,dl_src=0a:00:00:01:00:0a,dl_dst={GATEWAY},{}",
        tcp("10.11.1.10", "192.168.56.12")
    );
    ovs.trace("br1", &up).is_dropped();
    ovs.trace("br1", &from_node(&format!("dl_vlan=7,{}", tcp("192.168.56.11", "10.11.1.10")))).is_dropped();
}

/// Two pods of one address: the node reaches one, the other says so, and with the first gone all is well.
#[test]
fn of_two_pods_of_one_address_a_node_reaches_one() {
    let mut world = node_and_pods();
    let to = |world: &World, port: &str| {
        let text = golden::print(&world.tables(1, "vpn"));
        text.lines()
            .any(|line| line.contains("metadata=0x2/0xfffffe,nw_dst=10.11.1.10") && line.contains(port))
    };
    let status =
        |world: &World, pod: &str| world.read(Operational, &format!("coeus-status:objects/object={pod}"));
    let p1 = "0a:00:00:01:00:0a";
    world.put([pod("r2", "red", 1, Some("10.11.1.10")), port(1, "red:r2", 12)]);
    assert!(to(&world, p1) && !to(&world, "0a:00:00:01:00:0c"));
    assert!(
        status(&world, "red%3Ar2").contains("its node reaches blue:p1 at 10.11.1.10"),
        "{}",
        status(&world, "red%3Ar2")
    );
    assert!(!status(&world, "blue%3Ap1").contains("its node reaches"));
    world.put([no_pod("p1")]);
    assert!(to(&world, "0a:00:00:01:00:0c"));
    assert!(!status(&world, "red%3Ar2").contains("its node reaches"));
}

/// A pod that has the node's address in its VPN takes its place there, and nowhere else.
#[test]
fn a_pod_with_the_address_of_its_node_comes_first() {
    let mut world = node_and_pods();
    // The way of answers of services is not a VPN's.
    let ways = |world: &World| {
        let text = golden::print(&world.tables(1, "vpn"));
        text.lines().filter(|line| line.contains("nw_dst=192.168.56.11 ") && !line.contains("reg7")).count()
    };
    assert_eq!(ways(&world), 2, "one of each VPN");
    let before = world.tables(1, "");
    world.put([pod("odd", "blue", 1, Some("192.168.56.11")), port(1, "blue:odd", 13)]);
    let text = golden::print(&world.tables(1, "vpn"));
    let to_node =
        |line: &&str| line.contains("nw_dst=192.168.56.11 ") && line.contains(NODE) && !line.contains("reg7");
    assert_eq!(text.lines().filter(to_node).count(), 1, "{text}");
    world.put([no_pod("odd"), no_port(1, "blue:odd")]);
    assert!(world.tables(1, "") == before);
    // Another address of the node, and none.
    let crate::model::Row::K8sNode(uid, Some(mut row)) = k8s_node(1, None) else { unreachable!() };
    world.put([bridge(1, Some(host(9)))]);
    assert_eq!(ways(&world), 0);
    row.internal = Some(host(9).into());
    row.external = Some("192.168.56.11".parse().unwrap());
    world.put([crate::model::Row::K8sNode(uid, Some(row))]);
    assert_eq!(ways(&world), 0, "what is external may be another's");
}

/// Source NAT: what no route leads to goes by connection tracking, and nothing of it while it is off.
#[test]
fn what_no_route_leads_to_goes_outside_by_the_source_address() {
    let Some(ovs) = Ovs::start() else { return };
    let mut world = node_and_pods();
    let before = world.tables(1, "");
    ovs.bridge("off", &before);
    world.put([translated(&[(1, "203.0.113.5")])]);
    ovs.bridge("br1", &world.tables(1, ""));
    let up = |target: &str| {
        format!(
            "in_port=10,tcp,dl_src=0a:00:00:01:00:0a,dl_dst={GATEWAY},nw_src=10.11.1.10,nw_dst={target},nw_ttl=64,tp_src=1,tp_dst=80"
        )
    };
    ovs.trace("off", &up("8.8.8.8")).is_dropped();
    // A new connection (the trace takes it for one): translated, to the node.
    let out = ovs.trace("br1", &up("8.8.8.8"));
    out.says("ct(commit,zone=65520,nat(src=203.0.113.5)")
        .goes_to([7])
        .says(&format!("set_field:{NODE}->eth_dst"));
    // Routes come first, also those to the node; a pod of another node is no outside.
    ovs.trace("br1", &up("192.168.56.11")).goes_to([7]).says("priority 42,");
    ovs.trace("br1", &up("10.11.2.10")).goes_to([1]);
    // An answer goes back by the zone; what comes unasked ends in table 47, and what a pod sent does not come back in.
    let down = |source: &str, target: &str| {
        format!(
            "in_port=7,tcp,dl_src={NODE},dl_dst={NODE_GATEWAY},nw_src={source},nw_dst={target},nw_ttl=60,tp_src=80,tp_dst=1"
        )
    };
    ovs.trace("br1", &down("8.8.8.8", "203.0.113.5")).goes_to([]).says("ct(zone=65520,nat)");
    ovs.trace("br1", &down("203.0.113.5", "10.11.1.11")).is_dropped();
    ovs.trace("br1", &down("8.8.8.8", "10.11.1.11")).goes_to([11]);
    // A node without an entry has an address of its own.
    world.put([translated(&[])]);
    assert!(golden::print(&world.tables(1, "nat")).contains("nat(src=169.254.77.1)"));
    assert!(world.tables(2, "nat").flows.iter().next().is_none(), "node 2 has no port");
    world.put([crate::model::Row::SourceNat(None)]);
    assert!(world.tables(1, "") == before);
}

/// Each node of the configuration says how far it is, and what is wrong with its source, as long as it is so.
#[test]
fn sources_that_lead_nowhere_are_told() {
    let mut world = node_and_pods();
    let state = |world: &World, node: u64| {
        world.read(Operational, &format!("coeus-north-south:source-nat-states/node={}", host(node)))
    };
    let says = |world: &World, node: u64, wanted: &[&str]| {
        let state = state(world, node);
        wanted.iter().for_each(|text| assert!(state.contains(text), "{state} lacks {text}"));
    };
    world.put([translated(&[(1, "203.0.113.5"), (2, "203.0.113.6"), (9, "203.0.113.9")])]);
    says(&world, 1, &[r#""state":"desired""#, r#""switch":"0000000000000001""#]);
    assert!(!state(&world, 1).contains("reason"));
    says(&world, 2, &["pending", "switch 0000000000000002 has no port of its node (coeus0)"]);
    says(&world, 9, &["pending", "no node has address 192.168.56.19"]);
    world.put([node_port(2, 7)]);
    world.put(switch(9));
    says(&world, 2, &["desired"]);
    says(&world, 9, &["has no port of its node"]);
    // The node's own address, by what its switch or its entry says, another's, and a pod's.
    world.put([translated(&[(1, "192.168.56.11"), (2, "192.168.56.19"), (9, "10.11.2.99")])]);
    says(&world, 1, &["desired", "source address 192.168.56.11 is node node-1's own"]);
    says(&world, 2, &["source address 192.168.56.19 is the node of switch 0000000000000009's own"]);
    says(&world, 9, &["source address 10.11.2.99 is within the pod-cidr of node node-2"]);
    // What was wrong is right again, whoever moves.
    world.put([k8s_node(2, Some("10.12.2.0/24"))]);
    assert!(!state(&world, 9).contains("pod-cidr"));
    world.put([bridge(9, None)]);
    assert!(!state(&world, 2).contains("own"), "{}", state(&world, 2));
    says(&world, 9, &["no node has address"]);
    world.put([crate::model::Row::SourceNat(None)]);
    assert!(!world.read(Operational, "coeus-north-south:source-nat-states").contains("address"));
}

/// The way back is that of the node to its pods.
#[test]
fn a_pod_that_its_node_does_not_reach_does_not_get_outside() {
    let mut world = node_and_pods();
    world.put([translated(&[]), pod("r2", "red", 1, Some("10.11.1.10")), port(1, "red:r2", 12)]);
    let text = golden::print(&world.tables(1, "nat"));
    assert_eq!(text.matches("nw_src=10.11.1.10 ").count(), 1, "{text}");
    world.put([no_pod("p1")]);
    let text = golden::print(&world.tables(1, "nat"));
    assert_eq!(text.matches("nw_src=10.11.1.10 ").count(), 1, "{text}");
}

/// The same of IPv6, by a source address of its own; what is of the link alone goes nowhere.
#[test]
fn ipv6_goes_outside_by_its_own_source_address() {
    let Some(ovs) = Ovs::start() else { return };
    let mut world = node_and_pods();
    let before = world.tables(1, "");
    ovs.bridge("off", &before);
    world.put([translated_both(&[(1, "203.0.113.5")], &[(1, "2001:db8:5::5")])]);
    world.put([pod_with("r1", "red", 1, &["10.11.1.11", "fd00:1::11"])]);
    ovs.bridge("br1", &world.tables(1, ""));
    let up = |source: &str, target: &str| {
        format!(
            "in_port=10,tcp6,dl_src=0a:00:00:01:00:0a,dl_dst={GATEWAY},ipv6_src={source},ipv6_dst={target},nw_ttl=64,tp_src=1,tp_dst=80"
        )
    };
    let outside = "2001:4860::8888";
    ovs.trace("off", &up("fd00:1::10", outside)).is_dropped();
    ovs.trace("br1", &up("fd00:1::10", outside))
        .says("ct(commit,zone=65520,nat(src=2001:db8:5::5)")
        .goes_to([7])
        .says(&format!("set_field:{NODE}->eth_dst"))
        .says("nw_ttl=63");
    // Not under another's address, and never what is of the link.
    ovs.trace("br1", &up("fd00:1::77", outside)).is_dropped();
    for (source, target) in [
        ("fe80::10", outside),
        ("fd00:1::10", "fe80::77"),
        ("fd00:1::10", "ff0e::7"),
        ("fe80::10", "fd00:1::11"),
    ] {
        ovs.trace("br1", &up(source, target)).is_dropped();
    }
    let down = |source: &str, target: &str| {
        format!(
            "in_port=7,tcp6,dl_src={NODE},dl_dst={NODE_GATEWAY},ipv6_src={source},ipv6_dst={target},nw_ttl=60,tp_src=80,tp_dst=1"
        )
    };
    ovs.trace("br1", &down(outside, "2001:db8:5::5")).goes_to([]).says("ct(zone=65520,nat)");
    ovs.trace("br1", &down("2001:db8:5::5", "fd00:1::11")).is_dropped();
    ovs.trace("br1", &down(outside, "fd00:1::11")).goes_to([11]);
    world.put([translated(&[(1, "203.0.113.5")])]);
    assert!(golden::print(&world.tables(1, "nat")).contains("nat(src=fdc0:e5:4d::1)"));
    world.put([pod("r1", "red", 1, Some("10.11.1.11")), crate::model::Row::SourceNat(None)]);
    assert!(world.tables(1, "") == before);
}
