//! Addresses outside: who is reached by one, how he gets out, and who answers for it.

use super::super::testing::*;
use super::ovs::Ovs;
use crate::datastore::Store::{Config, Operational};
use crate::model::{ExtRouter, FaultPlace, Row};
use crate::pipeline::golden;

pub const NET: &str = "0fbad80d-b0b4-4580-8d14-11fcaced2ac6";
const GATEWAY: &str = "02:c0:e5:01:86:a0";
const FLOATING: &str = "02:c0:cb:00:71:07";

/// Two nodes with a port to the physical network (2); p1 of blue on node 1 has 203.0.113.7, p3 of red on node 2 has .8, and p2
/// of blue on node 2 none.
pub fn two_floating() -> World {
    two_pods()
        .on_two_nodes()
        .with([uplink(1, "physnet", 2), uplink(2, "physnet", 2), external(NET, None)])
        .with([neighbour(NET, "203.0.113.1", true), neighbour(NET, "203.0.113.9", true)])
        .with([floating("r1", NET, &[("203.0.113.7", "blue:p1", "10.11.1.10")])])
        .with([floating("r2", NET, &[("203.0.113.8", "red:p3", "10.11.2.20")])])
}

fn state(world: &World, address: &str) -> String {
    world.read(Operational, &format!("coeus-external:floating-addresses/floating-address={address}"))
}

fn in_from(source: &str, target: &str, mac: &str) -> String {
    format!(
        "in_port=2,tcp,dl_src=0e:00:00:00:00:09,dl_dst={mac},nw_src={source},nw_dst={target},nw_ttl=64,tp_src=80,tp_dst=1"
    )
}

fn out_to(target: &str) -> String {
    format!(
        "in_port=10,tcp,dl_src=0a:00:00:01:00:0a,dl_dst={GATEWAY},nw_src=10.11.1.10,nw_dst={target},nw_ttl=64,tp_src=1,tp_dst=80"
    )
}

#[test]
fn a_floating_address_leads_in_and_out_at_its_node_alone() {
    let Some(ovs) = Ovs::start() else { return };
    let world = two_floating();
    ovs.bridge("br1", &world.tables(1, ""));
    ovs.bridge("br2", &world.tables(2, ""));
    // In: to the pod, with the address and the MAC addresses that it knows; one hop less.
    ovs.trace("br1", &in_from("198.51.100.2", "203.0.113.7", FLOATING))
        .goes_to([10])
        .says("set_field:10.11.1.10->ip_dst")
        .says(&format!("set_field:{GATEWAY}->eth_src"))
        .says("nw_ttl=63");
    ovs.trace("br2", &in_from("198.51.100.2", "203.0.113.7", FLOATING)).is_dropped();
    // Only what is for the address, under its MAC address.
    ovs.trace("br1", &in_from("198.51.100.2", "203.0.113.8", FLOATING)).is_dropped();
    ovs.trace("br1", &in_from("198.51.100.2", "10.11.1.10", FLOATING)).is_dropped();
    ovs.trace("br1", &in_from("198.51.100.2", "203.0.113.7", GATEWAY)).is_dropped();
    // Out: to a neighbour as such, to all else by the gateway.
    for (target, mac) in [("203.0.113.9", "0e:00:00:00:00:09"), ("198.51.100.2", "0e:00:00:00:00:01")] {
        ovs.trace("br1", &out_to(target))
            .goes_to([2])
            .says("set_field:203.0.113.7->ip_src")
            .says(&format!("set_field:{FLOATING}->eth_src"))
            .says(&format!("set_field:{mac}->eth_dst"))
            .says("nw_ttl=63");
    }
    // Routes of its own VPN come first; another's address, or none, does not get out.
    ovs.trace("br1", &out_to("10.11.2.10")).goes_to([1]);
    ovs.trace("br1", &out_to("198.51.100.2").replace("nw_src=10.11.1.10", "nw_src=10.11.1.77")).is_dropped();
    let of_p2 = out_to("198.51.100.2").replace("0a:00:00:01:00:0a", "0a:00:00:02:00:0a");
    ovs.trace("br2", &of_p2.replace("nw_src=10.11.1.10", "nw_src=10.11.2.10")).is_dropped();
    // Who is on the link and not known is asked for.
    ovs.trace("br1", &out_to("203.0.113.77")).says("userdata=6e.65.69.67.68.62.6f.75.72");
}

#[test]
fn one_switch_answers_for_a_floating_address() {
    let Some(ovs) = Ovs::start() else { return };
    let mut world = two_floating();
    let arp = |op: u8| {
        format!(
            "in_port=2,arp,arp_op={op},dl_src=0e:00:00:00:00:09,dl_dst=ff:ff:ff:ff:ff:ff,arp_sha=0e:00:00:00:00:09,arp_spa=203.0.113.9,arp_tpa=203.0.113.7"
        )
    };
    ovs.bridge("br1", &world.tables(1, ""));
    ovs.bridge("br2", &world.tables(2, ""));
    ovs.trace("br1", &arp(1)).goes_to([2]).says(&format!("set_field:{FLOATING}->eth_src")).says("userdata=");
    ovs.trace("br1", &arp(2)).says("userdata=").goes_to([]);
    ovs.trace("br2", &arp(1)).is_dropped();
    // Under a VLAN, with its tag.
    world.put([external(NET, Some(100))]);
    ovs.bridge("br3", &world.tables(1, ""));
    ovs.trace("br3", &arp(1)).is_dropped();
    ovs.trace("br3", &format!("dl_vlan=100,{}", arp(1))).goes_to([2]).says("push_vlan").says("vlan_vid");
    let tagged = format!("dl_vlan=100,{}", in_from("198.51.100.2", "203.0.113.7", FLOATING));
    ovs.trace("br3", &tagged).goes_to([10]);
    ovs.trace("br3", &out_to("198.51.100.2")).goes_to([2]).says("push_vlan");
}

/// Two pods with addresses outside on one switch: the way between those does not leave it.
#[test]
fn from_one_floating_address_to_another_on_one_switch() {
    let Some(ovs) = Ovs::start() else { return };
    let mut world = two_floating();
    world.put([pod("r1", "red", 1, Some("10.11.1.10")), port(1, "red:r1", 11)]);
    world.put([floating("r3", NET, &[("203.0.113.10", "red:r1", "10.11.1.10")])]);
    ovs.bridge("br1", &world.tables(1, ""));
    ovs.trace("br1", &out_to("203.0.113.10"))
        .goes_to([11])
        .says("set_field:203.0.113.7->ip_src")
        .says("set_field:10.11.1.10->ip_dst");
    ovs.trace("br1", &out_to("203.0.113.7")).goes_to([10]);
    // Its own way out comes before that of its node.
    world.put([node_port(1, 7), translated(&[])]);
    ovs.bridge("br2", &world.tables(1, ""));
    ovs.trace("br2", &out_to("198.51.100.2")).goes_to([2]);
}

#[test]
fn what_a_floating_address_waits_for_is_told() {
    let mut world = two_floating();
    let there = world.tables(1, "");
    assert!(
        state(&world, "203.0.113.7").contains(r#""state":"desired""#),
        "{}",
        state(&world, "203.0.113.7")
    );
    let mut without = |rows: Vec<Row>, back: Vec<Row>, said: &str| {
        world.put(rows);
        let text = state(&world, "203.0.113.7");
        assert!(text.contains("pending") && text.contains(said), "{said}: {text}");
        for table in [0, 25, 26, 27, 28] {
            let left = golden::print(&world.tables(1, ""));
            assert!(
                !left.contains(&format!("table={table}, ")) || !left.contains("203.0.113.7"),
                "{said}: {left}"
            );
        }
        world.put(back);
        assert!(world.tables(1, "") == there, "{said}");
    };
    let p1 = || pod("p1", "blue", 1, Some("10.11.1.10"));
    let network = || {
        let Row::ExternalNetwork(_, Some(row)) = external(NET, None) else { unreachable!() };
        row
    };
    let with = |change: &dyn Fn(&mut crate::model::ExternalNetwork)| {
        let mut row = network();
        change(&mut row);
        vec![Row::ExternalNetwork(NET.into(), Some(row))]
    };
    let again = || vec![external(NET, None)];
    without(vec![Row::ExternalNetwork(NET.into(), None)], again(), "does not exist");
    without(with(&|row| row.granted.clear()), again(), "does not grant it");
    without(with(&|row| row.physical = Some("other".into())), again(), "physical network other");
    without(vec![no_port(1, "blue:p1")], vec![port(1, "blue:p1", 10)], "plugged in nowhere");
    without(vec![pod("p1", "blue", 1, Some("10.11.1.11"))], vec![p1()], "has no address 10.11.1.10");
    without(vec![no_pod("p1")], vec![p1()], "interface blue:p1 does not exist");
}

#[test]
fn who_goes_takes_his_address_along() {
    let mut world = two_floating();
    let before = two_pods().on_two_nodes().with([uplink(1, "physnet", 2), uplink(2, "physnet", 2)]);
    world.put([Row::FloatingRouter("r1".into(), None), Row::FloatingRouter("r2".into(), None)]);
    assert!(world.tables(1, "") == before.tables(1, "") && world.tables(2, "") == before.tables(2, ""));
    assert_eq!(state(&world, "203.0.113.7"), "");
}

/// "Create Service" and "Delete Service": what is attached has an entry, what is taken away has none.
#[test]
fn pods_of_a_service_with_an_address_outside_have_floating_ip_info() {
    const INFO: &str = "odl-nat:floating-ip-info/router-ports=web";
    let mut world = two_pods().on_two_nodes().with([
        uplink(1, "physnet", 2),
        uplink(2, "physnet", 2),
        external(NET, None),
    ]);
    let before = [world.tables(1, ""), world.tables(2, "")];
    world.put([exposed("web", "blue", &["192.0.2.1", "203.0.113.7"], &["p1"])]);
    let text = world.read(Config, INFO);
    for part in ["blue:p1", "10.11.1.10", "203.0.113.7", NET] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(golden::print(&world.tables(1, "nat")).contains("203.0.113.7"));
    // One address leads to one pod; the second has the second.
    world.put([exposed("web", "blue", &["203.0.113.7", "203.0.113.8"], &["p1", "p2"])]);
    assert!(golden::print(&world.tables(2, "nat")).contains("203.0.113.8"));
    // Attached by its address, as the watcher tells.
    world.put([exposed("web", "blue", &["203.0.113.7"], &[]), endpoints("e", "blue", &[], &[])]);
    assert_eq!(world.read(Config, INFO), "");
    assert!(before == [world.tables(1, ""), world.tables(2, "")]);
    world.put([endpoints("e", "blue", &["10.11.2.10"], &[])]);
    assert_eq!(world.read(Config, INFO), "", "the endpoints of another service");
    let Row::ServiceEndpoints(uid, Some(mut row)) = endpoints("e", "blue", &["10.11.2.10"], &[]) else {
        unreachable!()
    };
    row.name = Some("web".into());
    world.put([Row::ServiceEndpoints(uid, Some(row))]);
    assert!(world.read(Config, INFO).contains("blue:p2"));
    world.put([no_pod("p2")]);
    assert_eq!(world.read(Config, INFO), "");
    world.put([pod("p2", "blue", 2, Some("10.11.2.10")), Row::Service("web".into(), None)]);
    assert!(before == [world.tables(1, ""), world.tables(2, "")]);
}

/// An entry that comes to be about another network keeps what is in it.
#[test]
fn an_entry_of_another_network_keeps_its_addresses() {
    const INFO: &str = "odl-nat:floating-ip-info/router-ports=web";
    const FIRST: &str = "00000000-b0b4-4580-8d14-11fcaced2ac6";
    let mut world = two_pods().on_two_nodes().with([external(NET, None)]);
    world.put([exposed("web", "blue", &["203.0.113.7"], &["p1"])]);
    assert!(world.read(Config, INFO).contains(NET));
    world.put([external(FIRST, None)]);
    let text = world.read(Config, INFO);
    for part in ["blue:p1", "10.11.1.10", "203.0.113.7", FIRST] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The words of a refusal; empty: it is taken.
fn refused(world: &World, rows: &[Row]) -> (bool, String) {
    world
        .workshop
        .model
        .check_external(rows)
        .map_or_else(|fault| (fault.in_use, fault.message), |()| Default::default())
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let world = two_floating();
    let is = |rows: Vec<Row>, in_use: bool, words: &[&str]| {
        let (taken, message) = refused(&world, &rows);
        assert!(!message.is_empty() && taken == in_use, "{words:?}: {taken} {message:?}");
        for word in words {
            assert!(message.contains(word), "{word}: {message}");
        }
    };
    let r9 = |address| vec![floating("r9", NET, &[(address, "blue:p2", "10.11.2.10")])];
    is(r9("203.0.113.30"), false, &["r9", "203.0.113.30", "blue:p2", NET]);
    is(r9("203.0.113.7"), true, &["blue:p1", "10.11.1.10", "r1"]);
    let twice = [("203.0.113.9", "blue:p1", "10.11.1.10"), ("203.0.113.9", "blue:p2", "10.11.2.10")];
    is(vec![floating("r9", NET, &twice)], true, &["203.0.113.9", "blue:p1"]);
    is(vec![floating("r9", "none", &twice[..1])], false, &["none", "does not exist"]);
    is(vec![exposed("web", "blue", &["203.0.113.7"], &[])], true, &["web", "blue:p1", "r1"]);
    is(vec![external("other", None)], true, &[NET, "overlaps"]);
    assert_eq!(refused(&world, &r9("203.0.113.9")).1, "");
    assert_eq!(
        refused(&world, &[exposed("web", "blue", &["192.0.2.7"], &[])]).1,
        "",
        "nobody grants it: another's business"
    );
    // What one gives up in the same commit, another may have.
    let exchange = [floating("r1", NET, &[]), r9("203.0.113.7").remove(0)];
    assert_eq!(refused(&world, &exchange).1, "");
    let network = |change: &dyn Fn(&mut crate::model::ExternalNetwork)| {
        let Row::ExternalNetwork(id, Some(mut row)) = external(NET, None) else { unreachable!() };
        change(&mut row);
        vec![Row::ExternalNetwork(id, Some(row))]
    };
    let address = |text: &str| text.parse().unwrap();
    let router = |text: &str| text.parse().ok();
    is(network(&|row| row.gateway = router("192.0.2.1")), false, &["192.0.2.1", "subnet"]);
    is(network(&|row| row.gateway = router("203.0.113.6")), false, &["203.0.113.6", "granted"]);
    is(
        network(&|row| row.granted = vec![address("203.0.113.9")..=address("203.0.113.8")]),
        false,
        &["203.0.113.9"],
    );
    is(
        network(&|row| row.granted = vec![address("224.0.0.1")..=address("224.0.0.2")]),
        false,
        &["224.0.0.1"],
    );
    is(network(&|row| row.kind = Some(crate::model::NetworkType::Vxlan)), false, &["VXLAN"]);
    is(network(&|row| row.kind = Some(crate::model::NetworkType::Vlan)), false, &["VLAN id"]);
}

/// Flows of a floating address lead to its pod and to where it was asked for.
#[test]
fn a_flow_of_a_floating_address_is_explained() {
    let world = two_floating();
    let model = &world.workshop.model;
    let at = model.floating_at("203.0.113.7".parse().unwrap());
    assert_eq!(at, Some(crate::model::FaultPlace::Router("r1".into())));
    let owners: Vec<String> =
        world.tables(1, "nat").flows.iter().map(|flow| flow.owner.to_string()).collect();
    assert_eq!(owners, ["nat floating 203.0.113.7"; 4]);
}

/// Source NAT by an external network: pods without an address there share that of their node.
#[test]
fn pods_of_a_node_share_an_address_outside() {
    let Some(ovs) = Ovs::start() else { return };
    let mut world = two_floating().with([pod("p4", "red", 1, Some("10.11.1.20")), port(1, "red:p4", 12)]);
    let before = [world.tables(1, ""), world.tables(2, "")];
    world.put([translated_by(NET, &[(1, "203.0.113.15")])]);
    assert!(
        state(&world, "203.0.113.15").contains(r#""state":"desired""#),
        "{}",
        state(&world, "203.0.113.15")
    );
    ovs.bridge("br1", &world.tables(1, ""));
    let up = "in_port=12,tcp,dl_src=0a:00:00:01:00:0c,dl_dst=02:c0:e5:01:86:a1,nw_src=10.11.1.20,nw_dst=198.51.100.2,nw_ttl=2,tp_src=1,tp_dst=80";
    ovs.trace("br1", up)
        .goes_to([2])
        .says("ct(commit,zone=65520,nat(src=203.0.113.15)")
        .says("set_field:02:c0:cb:00:71:0f->eth_src")
        .says("set_field:0e:00:00:00:00:01->eth_dst");
    // A pod with an address of its own keeps that; nobody comes in unasked; the node answers for its address.
    ovs.trace("br1", &out_to("198.51.100.2")).goes_to([2]).says("set_field:203.0.113.7->ip_src");
    let down = in_from("198.51.100.2", "203.0.113.15", "02:c0:cb:00:71:0f");
    ovs.trace("br1", &down).goes_to([]).says("ct(zone=65520,nat)");
    ovs.trace("br1", "in_port=2,arp,arp_op=1,dl_src=0e:00:00:00:00:09,dl_dst=ff:ff:ff:ff:ff:ff,arp_sha=0e:00:00:00:00:09,arp_spa=203.0.113.9,arp_tpa=203.0.113.15")
        .goes_to([2]);
    assert!(world.tables(2, "") == before[1], "a node without an entry");
    // Two that want one address.
    let message = |rows: &[Row]| refused(&world, rows);
    let (in_use, words) = message(&[translated_by(NET, &[(1, "203.0.113.7")])]);
    assert!(in_use && words.contains("blue:p1") && words.contains("192.168.56.11"), "{words}");
    let (in_use, words) = message(&[translated_by(NET, &[(1, "203.0.113.30")])]);
    assert!(!in_use && words.contains("203.0.113.30") && words.contains(NET), "{words}");
    let (in_use, words) = message(&[translated_by("none", &[])]);
    assert!(!in_use && words.contains("does not exist"), "{words}");
    let (in_use, words) = message(&[floating("r9", NET, &[("203.0.113.15", "blue:p2", "10.11.2.10")])]);
    assert!(in_use && words.contains("192.168.56.11"), "{words}");
    world.put([Row::SourceNat(None)]);
    assert!(before == [world.tables(1, ""), world.tables(2, "")]);
}

/// What p3 of blue on node 2 sends outside, and the same as it comes to node 1 by the tunnel.
fn from_p2(target: &str) -> String {
    format!(
        "in_port=10,tcp,dl_src=0a:00:00:02:00:0a,dl_dst={GATEWAY},nw_src=10.11.2.10,nw_dst={target},nw_ttl=64,tp_src=1,tp_dst=80"
    )
}

/// A router is the VPN of its name: its pods share an address at one switch, and those of other switches get there by the overlay.
#[test]
fn pods_of_a_vpn_share_an_address_outside() {
    let Some(ovs) = Ovs::start() else { return };
    let mut world = two_floating();
    world.put([Row::FloatingRouter("r1".into(), None)]);
    let before = [world.tables(1, ""), world.tables(2, "")];
    world.put([ext_router("blue", NET, &["203.0.113.15"])]);
    let said = state(&world, "203.0.113.15");
    assert!(said.contains(r#""state":"desired""#) && said.contains(r#""router-name":"blue""#), "{said}");
    let at = if said.contains("0000000000000001") { 1 } else { 2 };
    let there = 3 - at;
    let bridge = |node: u64| format!("br{node}");
    for node in [1, 2] {
        ovs.bridge(&bridge(node), &world.tables(node, ""));
    }
    let up = |node: u64| if node == 1 { out_to("198.51.100.2") } else { from_p2("198.51.100.2") };
    let mac = "02:c0:cb:00:71:0f";
    ovs.trace(&bridge(at), &up(at))
        .goes_to([2])
        .says("ct(commit,zone=100,nat(src=203.0.113.15)")
        .says(&format!("set_field:{mac}->eth_src"))
        .says("set_field:0e:00:00:00:00:01->eth_dst");
    // Elsewhere: into the tunnel, one hop less.
    ovs.trace(&bridge(there), &up(there)).goes_to([1]).says("nw_ttl=63");
    // Answers are looked up in the zone of the VPN; there alone.
    let down = in_from("198.51.100.2", "203.0.113.15", mac);
    ovs.trace(&bridge(at), &down).goes_to([]).says("ct(zone=100,nat)");
    ovs.trace(&bridge(there), &down).is_dropped();
    // Pods of other VPNs do not share it.
    let red = "in_port=11,tcp,dl_src=0a:00:00:02:00:0b,dl_dst=02:c0:e5:01:86:a1,nw_src=10.11.2.20,nw_dst=198.51.100.2,nw_ttl=64,tp_src=1,tp_dst=80";
    ovs.trace("br2", red).says("set_field:203.0.113.8->ip_src");
    world.put([Row::FloatingRouter("r2".into(), None)]);
    ovs.bridge("br2-alone", &world.tables(2, ""));
    ovs.trace("br2-alone", red).is_dropped();
    world.put([floating("r2", NET, &[("203.0.113.8", "red:p3", "10.11.2.20")])]);
    // A pod with an address of its own keeps that.
    world.put([floating("r1", NET, &[("203.0.113.7", "blue:p1", "10.11.1.10")])]);
    ovs.bridge("br1-own", &world.tables(1, ""));
    ovs.trace("br1-own", &out_to("198.51.100.2")).goes_to([2]).says("set_field:203.0.113.7->ip_src");
    world.put([Row::FloatingRouter("r1".into(), None)]);
    // Switched off, and gone: nothing is left of it.
    let Row::ExtRouter(name, Some(row)) = ext_router("blue", NET, &["203.0.113.15"]) else { unreachable!() };
    world.put([Row::ExtRouter(name.clone(), Some(ExtRouter { is_on: false, ..row }))]);
    assert!(before == [world.tables(1, ""), world.tables(2, "")]);
    assert!(state(&world, "203.0.113.15").contains("enable-snat"), "{}", state(&world, "203.0.113.15"));
    world.put([Row::ExtRouter(name, None)]);
    assert!(before == [world.tables(1, ""), world.tables(2, "")]);
    assert_eq!(state(&world, "203.0.113.15"), "");
}

#[test]
fn of_several_addresses_of_a_router_each_switch_has_one_as_far_as_they_last() {
    let mut world = two_floating();
    world.put([ext_router(
        "blue",
        NET,
        &["203.0.113.15", "203.0.113.16", "203.0.113.17", "2001:db8:113::15"],
    )]);
    let switch = |address: &str| {
        let said = state(&world, address);
        ["0000000000000001", "0000000000000002"].into_iter().find(|dpid| said.contains(dpid))
    };
    let both = [switch("203.0.113.15"), switch("203.0.113.16")];
    assert!(both.iter().all(Option::is_some) && both[0] != both[1], "{both:?}");
    assert!(state(&world, "203.0.113.17").contains("has one already"), "{}", state(&world, "203.0.113.17"));
    assert!(switch("2001:db8:113::15").is_some());
    // Without the first the third has its place; who is lost has none.
    world.put([ext_router("blue", NET, &["203.0.113.16", "203.0.113.17"])]);
    assert!(state(&world, "203.0.113.17").contains("desired"));
    world.put([Row::Lost(crate::net::Dpid(1), true)]);
    assert!(state(&world, "203.0.113.16").contains("0000000000000002"));
    assert!(state(&world, "203.0.113.17").contains("has one already"));
    // A VPN that nobody is in, or that is not there.
    world.put([ext_router("green", NET, &["203.0.113.19"])]);
    assert!(
        state(&world, "203.0.113.19").contains("router green is no VPN"),
        "{}",
        state(&world, "203.0.113.19")
    );
}

#[test]
fn a_router_that_asks_for_what_cannot_be_is_refused() {
    let mut world = two_floating();
    let cases = [
        (ext_router("red", NET, &["203.0.113.30"]), false, "granted"),
        (ext_router("red", "none", &["203.0.113.15"]), false, "does not exist"),
        (ext_router("red", NET, &["203.0.113.7"]), true, "blue:p1"),
    ];
    for (row, in_use, text) in cases {
        let (was_in_use, words) = refused(&world, &[row]);
        assert!(was_in_use == in_use && words.contains("router red") && words.contains(text), "{words}");
    }
    world.put([ext_router("blue", NET, &["203.0.113.15"])]);
    let (in_use, words) =
        refused(&world, &[floating("r9", NET, &[("203.0.113.15", "blue:p2", "10.11.2.10")])]);
    assert!(in_use && words.contains("router blue"), "{words}");
    let (in_use, words) = refused(&world, &[ext_router("red", NET, &["203.0.113.15"])]);
    assert!(in_use && words.contains("router blue"), "{words}");
    let model = &world.workshop.model;
    assert_eq!(
        model.floating_at("203.0.113.15".parse().unwrap()),
        Some(FaultPlace::ExtRouter("blue".into()))
    );
}
