//! FLAT, VLAN and GRE beside VXLAN: what carries an ELAN, and what a pod waits for when nothing can.

use super::super::testing::*;
use crate::datastore::Store::{Config, Operational};
use crate::model::{NetworkType, Row};

/// p1 and p2 of blue on VLAN 100 of two nodes, p3 of red untagged, p4 and p5 of one ELAN of green on GRE, p5 plugged in on node 2.
pub fn four_networks() -> World {
    let vlan = |row| on(NetworkType::Vlan, Some(100), None, row);
    let flat = |row| on(NetworkType::Flat, None, None, row);
    let gre_ = |row| on(NetworkType::Gre, None, None, row);
    World::default()
        .with(switch(1))
        .with(switch(2))
        .with([uplink(1, "physnet", 5), uplink(2, "physnet", 5), gre(1, 6), gre(2, 6)])
        .with([vlan(pod("p1", "blue", 1, Some("10.11.1.10"))), port(1, "blue:p1", 10)])
        .with([vlan(pod("p2", "blue", 2, Some("10.11.1.20"))), port(2, "blue:p2", 10)])
        .with([flat(pod("p3", "red", 1, Some("10.12.1.10"))), port(1, "red:p3", 11)])
        .with([gre_(pod("p4", "green", 1, Some("10.13.1.10"))), port(1, "green:p4", 12)])
        .with([gre_(pod("p5", "green", 1, Some("10.13.1.20"))), port(2, "green:p5", 12)])
}

fn status(world: &World, pod: &str) -> String {
    world.read(Operational, &format!("coeus-status:objects/object={}", pod.replace(':', "%3A")))
}

fn all_tables(world: &World, switch: u64) -> String {
    crate::pipeline::golden::print(&world.tables(switch, ""))
}

#[test]
fn an_elan_shows_its_vlan() {
    let text = four_networks().read(Config, "elan:elan-instances/elan-instance=192.168.56.11%3Ablue");
    assert!(text.contains("segment-type-vlan") && text.contains(r#""segmentation-id":100"#), "{text}");
}

#[test]
fn a_pod_on_a_physical_network_waits_for_its_bridge() {
    let mut world = four_networks();
    assert!(status(&world, "blue:p1").contains(r#""state":"desired""#), "{}", status(&world, "blue:p1"));
    let before = all_tables(&world, 1);
    world.put([gone(&uplink(1, "physnet", 5))]);
    for pod in ["blue:p1", "red:p3"] {
        let text = status(&world, pod);
        assert!(text.contains("pending") && text.contains("provider_mappings"), "{text}");
    }
    assert!(status(&world, "blue:p2").contains("desired"), "its switch has one");
    assert!(!all_tables(&world, 1).contains("output:5"));
    world.put([uplink(1, "physnet", 5)]);
    assert_eq!(all_tables(&world, 1), before);
}

#[test]
fn routers_of_a_physical_network_are_outside() {
    let asks = |world: &World| all_tables(world, 1).contains("icmp_type=133,icmp_code=0 actions=meter");
    let mut world = World::default().with(switch(1)).with([uplink(1, "physnet", 5)]);
    let vlan = on(NetworkType::Vlan, Some(100), None, pod("p1", "blue", 1, Some("fd00::10")));
    world.put([vlan.clone(), port(1, "blue:p1", 10)]);
    assert!(!asks(&world), "{}", all_tables(&world, 1));
    world.put([pod("p1", "blue", 1, Some("fd00::10"))]);
    assert!(asks(&world));
    world.put([vlan]);
    assert!(!asks(&world));
}

#[test]
fn of_several_physical_networks_one_is_named() {
    let mut world = four_networks();
    world.put([uplink(1, "other", 7)]);
    let text = status(&world, "blue:p1");
    assert!(text.contains("several physical networks (other, physnet)"), "{text}");
    world.put([on(NetworkType::Vlan, Some(100), Some("other"), pod("p1", "blue", 1, Some("10.11.1.10")))]);
    assert!(status(&world, "blue:p1").contains("desired"), "{}", status(&world, "blue:p1"));
    assert!(all_tables(&world, 1).contains("in_port=7,dl_vlan=100"), "{}", all_tables(&world, 1));
}

#[test]
fn a_place_in_a_physical_network_belongs_to_one_elan_of_a_switch() {
    let mut world = four_networks();
    let other = pod("p6", "amber", 1, Some("10.14.1.10"));
    world.put([on(NetworkType::Vlan, Some(100), None, other), port(1, "amber:p6", 13)]);
    assert!(status(&world, "amber:p6").contains("desired"), "the first by name has it");
    let text = status(&world, "blue:p1");
    assert!(text.contains("belongs to ELAN 192.168.56.11:amber"), "{text}");
    world.put([no_pod("p6")]);
    assert!(status(&world, "blue:p1").contains("desired"), "{}", status(&world, "blue:p1"));
}

#[test]
fn what_is_no_vlan_and_no_gre_port_are_said() {
    let mut world = four_networks();
    world.put([on(NetworkType::Vlan, Some(4095), None, pod("p1", "blue", 1, Some("10.11.1.10")))]);
    assert!(status(&world, "blue:p1").contains("4095 is no VLAN"), "{}", status(&world, "blue:p1"));
    world.put([gone(&gre(1, 6))]);
    assert!(status(&world, "green:p4").contains("has no GRE port"), "{}", status(&world, "green:p4"));
    assert!(status(&world, "green:p5").contains("desired"), "its switch has one");
    // Broadcast groups follow: nothing leads to a switch that cannot be reached.
    let groups = |world: &World| {
        world.tables(2, "elan").groups.values().map(|group| group.description().buckets.len()).sum::<usize>()
    };
    let without = groups(&world);
    world.put([gre(1, 6)]);
    assert_eq!(groups(&world), without + 1);
}

#[test]
fn an_interface_that_asks_for_another_kind_is_told_that_the_first_decides() {
    let mut world = four_networks();
    world.put([pod("p9", "blue", 1, Some("10.11.1.90")), port(1, "blue:p9", 14)]);
    let text = status(&world, "blue:p9");
    assert!(text.contains("is a network of type VLAN"), "{text}");
    // The first one goes; the other decides now.
    world.put([no_pod("p1")]);
    assert!(!status(&world, "blue:p9").contains("is a network of type"), "{}", status(&world, "blue:p9"));
}

/// The row as it is when it has gone.
fn gone(row: &Row) -> Row {
    match row {
        Row::Port(id, _) => Row::Port(id.clone(), None),
        other => other.clone(),
    }
}
