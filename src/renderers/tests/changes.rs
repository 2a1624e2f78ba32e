//! What must change when something changes, and no more.

use super::super::testing::*;
use crate::datastore::Store::Operational;
use crate::model::{Interface, InterfaceId, K8sNode, Reason, Row};
use crate::net::Dpid;

fn first_interface<'a>(world: &'a World, pod: &str) -> &'a Interface {
    let id = InterfaceId { pod: pod.into(), uid: pod.into() };
    world.workshop.model.interface(&id).unwrap()
}

/// The world of so many pods of namespace blue on node 1, and one on node 2.
fn many(count: u32) -> World {
    let mut world = World::default().with(switch(1)).with(switch(2));
    world.put([k8s_node(1, Some("10.11.0.0/16")), k8s_node(2, Some("10.12.0.0/16"))]);
    world.put([pod("far", "blue", 2, Some("10.12.0.2")), port(2, "blue:far", 10)]);
    world.put((0..count).flat_map(nth));
    world
}

fn nth(number: u32) -> [crate::model::Row; 2] {
    let name = format!("p{number:05}");
    let address = format!("10.11.{}.{}", number / 200, 2 + number % 200);
    [pod(&name, "blue", 1, Some(&address)), port(1, &format!("blue:{name}"), 100 + number)]
}

/// Adding one pod costs the same among ten and among hundreds, and concerns its own switch alone.
#[test]
fn one_more_pod_is_the_same_work_among_many() {
    let counts = [10, 500].map(|count| {
        let mut world = many(count);
        let deltas = world.put(nth(count + 1));
        let here = &deltas[&Dpid(1)];
        assert!(here.groups.len() <= 2, "a chunk, and the local group if the chunk is new");
        assert_eq!(deltas.keys().collect::<Vec<_>>(), [&Dpid(1)]);
        (here.flows.len(), world.edits)
    });
    assert_eq!(counts[0], counts[1]);
    let (nodes, bytes) = counts[0].1;
    assert!(nodes <= 17 && bytes <= 7000, "{nodes} derived nodes, {bytes} bytes as if nothing were shared");
}

/// Keys of many pods are shared out between threads; what comes of them is what comes of few at a time.
#[test]
fn many_pods_at_once_look_as_if_they_came_by_and_by() {
    let (whole, mut parts) = (many(700), many(0));
    for first in (0..700).step_by(100) {
        parts.put((first..first + 100).flat_map(nth));
    }
    assert!(whole.told[&Dpid(1)].flows.len() > 700 * 10);
    assert_eq!(whole.told, parts.told);
    assert_eq!(whole.derived, parts.derived);
}

/// A node that joins is looked at by itself, however many there are; up to 64 have a tunnel for each pair besides.
#[test]
fn one_more_node_is_the_same_work_among_many() {
    let counts = [70, 140].map(|count| {
        let mut world = World::default();
        (1..=count).for_each(|node| drop(world.put(switch(node))));
        let World { workshop, ids, .. } = &mut world;
        workshop.take(switch(count + 1), ids).len()
    });
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn a_chunk_holds_no_more_than_its_ports() {
    let world = many(500);
    let tables = world.tables(1, "elan");
    let largest = tables.groups.values().map(|group| group.description().buckets.len()).max();
    assert_eq!(largest, Some(64));
}

#[test]
fn an_address_change_moves_only_routes_answers_and_what_may_be_sent() {
    let mut world = two_pods().on_two_nodes();
    let deltas = world.put([pod("p1", "blue", 1, Some("10.11.1.77"))]);
    for delta in deltas.values() {
        assert!(delta.flows.iter().all(|change| matches!(change.flow().table, 21 | 81 | 210)), "{delta:?}");
        assert!(delta.groups.is_empty());
    }
    assert_eq!(deltas.len(), 1, "the prefix leads there from elsewhere");
}

#[test]
fn a_renumbered_port_changes_two_flows() {
    let mut world = two_pods().on_one_node();
    let mut renumbered = port(1, "blue:p1", 12);
    if let crate::model::Row::Port(_, Some(port)) = &mut renumbered {
        port.attached_mac = Some(mac(1, 10));
    }
    let deltas = world.put([renumbered]);
    let mut keys: Vec<u8> = deltas[&Dpid(1)].flows.iter().map(|change| change.flow().table).collect();
    keys.sort_unstable();
    assert_eq!(keys, [0, 0, 220], "one in table 0 goes, one comes; 220 is replaced");
}

#[test]
fn a_moved_pod_leaves_nothing_behind() {
    let mut world = two_pods().on_two_nodes();
    let before = world.tables(2, "");
    world.put([pod("p1", "blue", 2, Some("10.11.1.10"))]);
    assert!(matches!(world.pending("p1")[..], []), "its port is still on node 1, and serves it there");
    world.put([no_port(1, "blue:p1"), port(2, "blue:p1", 12)]);
    let left = world.tables(1, "");
    assert!(left.groups.is_empty() && left.flows.iter().all(|flow| flow.owner.key() != "blue:p1"));
    world.put([pod("p1", "blue", 1, Some("10.11.1.10")), no_port(2, "blue:p1"), port(1, "blue:p1", 10)]);
    assert_eq!(world.tables(2, ""), before);
}

#[test]
fn the_order_of_port_and_pod_does_not_matter() {
    let rows = || [pod("p1", "blue", 1, Some("10.11.1.10")), port(1, "blue:p1", 10)];
    let [pod_row, port_row] = rows();
    let pod_first = World::default().with(switch(1)).with([pod_row]).with([port_row]);
    let [pod_row, port_row] = rows();
    let port_first = World::default().with([port_row]).with([pod_row]).with(switch(1));
    assert_eq!(pod_first.told.keys().collect::<Vec<_>>(), [&Dpid(1)]);
    assert_eq!(pod_first.told[&Dpid(1)].flows.len(), port_first.told[&Dpid(1)].flows.len());
}

#[test]
fn a_pod_says_what_it_waits_for() {
    let mut world = World::default().with(switch(1));
    world.put([pod("p1", "blue", 1, Some("0.147.0.7"))]);
    assert_eq!(
        world.pending("p1"),
        [Reason::NoPort { name: "blue:p1".into() }, Reason::UnusableAddress("0.147.0.7".parse().unwrap()),]
    );
    world.put([pod("p2", "blue", 1, None), port(1, "blue:p2", 10)]);
    assert_eq!(world.pending("p2"), [Reason::NoAddress]);
    // Two ports claim one number for a moment: the second waits, then has it.
    world.put([pod("p3", "blue", 1, None), port(1, "blue:p3", 10)]);
    let taken = |reason: &Reason| matches!(reason, Reason::PortTaken { owner, .. } if &**owner == "blue:p2");
    assert!(world.pending("p3").iter().any(taken), "{:?}", world.pending("p3"));
    world.put([no_port(1, "blue:p2")]);
    assert_eq!(world.pending("p3"), [Reason::NoAddress]);
}

#[test]
fn of_two_ports_that_on_the_pods_own_node_is_used() {
    let mut world = two_pods().on_two_nodes();
    world.put([port(1, "red:p3", 12)]);
    let id = crate::model::InterfaceId { pod: "p3".into(), uid: "p3".into() };
    let interface = world.workshop.model.interface(&id).unwrap();
    assert_eq!(interface.attachment.as_ref().unwrap().dpid, Dpid(2));
    assert!(matches!(interface.notes[..], [Reason::SeveralPorts { .. }]));
}

/// Its node is where its port is, whatever its JSON says: it works, and says so until the two agree.
#[test]
fn a_port_on_another_node_than_the_pods_host_is_told() {
    let mut world = two_pods().on_two_nodes();
    let told = |world: &World| {
        let notes = &first_interface(world, "p9").notes;
        notes
            .iter()
            .map(Reason::to_string)
            .filter(|note| note.contains("host-ip-address"))
            .collect::<Vec<_>>()
    };
    world.put([pod("p9", "blue", 2, Some("10.11.2.99")), port(1, "blue:p9", 19)]);
    let [note] = &told(&world)[..] else { panic!("{:?}", told(&world)) };
    assert!(note.contains("192.168.56.11") && note.contains("192.168.56.12"), "{note}");
    assert!(world.pending("p9").is_empty());
    assert!(world.read(Operational, "coeus-status:objects").contains("host-ip-address 192.168.56.12"));
    // One node with two addresses is no other node.
    let Row::K8sNode(uid, Some(row)) = k8s_node(1, None) else { unreachable!() };
    world.put([Row::K8sNode(uid.clone(), Some(K8sNode { external: Some(host(2).into()), ..row.clone() }))]);
    assert!(told(&world).is_empty());
    world.put([Row::K8sNode(uid, Some(row))]);
    assert_eq!(told(&world).len(), 1);
    world.put([pod("p9", "blue", 1, Some("10.11.2.99"))]);
    assert!(told(&world).is_empty());
}

#[test]
fn a_pod_with_the_gateways_address_takes_its_place() {
    let mut world = two_pods().on_one_node();
    let answers = |world: &World| {
        let tables = world.tables(1, "arp");
        tables.flows.iter().filter(|flow| flow.to_string().contains("arp_tpa=10.11.1.1,")).count()
    };
    assert_eq!(answers(&world), 1);
    world.put([pod("p9", "blue", 1, Some("10.11.1.1")), port(1, "blue:p9", 12)]);
    assert_eq!(answers(&world), 3, "its own, its ELAN's, its VPN's");
    let told = |world: &World| matches!(first_interface(world, "p9").notes[..], [Reason::IsGateway(_)]);
    assert!(told(&world));
    // As long as the gateway is assumed nobody said that it is one.
    world.put([k8s_node(1, None)]);
    assert!(!told(&world));
    world.put([k8s_node(1, Some("10.11.1.0/24"))]);
    world.put([no_pod("p9")]);
    assert_eq!(answers(&world), 1);
}

/// Who leased an address renews it at the pool's first one, where the pool names no gateway: that one has to answer.
#[test]
fn a_pool_without_a_gateway_has_its_first_address() {
    let mut world = World::default()
        .with(switch(1))
        .with([pool("blue", "10.11.16.0/20", None)])
        .with([pod("p1", "blue", 1, None), port(1, "blue:p1", 10), lease("blue:p1", Some("10.11.17.5"))])
        .with([pod("p2", "blue", 1, Some("10.11.17.6")), port(1, "blue:p2", 11)]);
    let gateway = |world: &World, pod| {
        let interface = first_interface(world, pod);
        (interface.first_address().unwrap().gateway.unwrap().address.to_string(), interface.notes.len())
    };
    let answers = |world: &World, address: &str| {
        let tables = world.tables(1, "arp");
        let text = format!("arp_tpa={address},");
        tables.flows.iter().filter(|flow| flow.to_string().contains(&text)).count()
    };
    for pod in ["p1", "p2"] {
        assert_eq!(gateway(&world, pod), ("10.11.16.1".into(), 0));
    }
    assert_eq!((answers(&world, "10.11.16.1"), answers(&world, "10.11.17.1")), (1, 0));
    // The node's range says where its own pods route; who leased renews as before.
    world.put([k8s_node(1, Some("10.11.17.0/24"))]);
    assert_eq!(gateway(&world, "p1").0, "10.11.16.1");
    assert_eq!(gateway(&world, "p2").0, "10.11.17.1");
    assert_eq!((answers(&world, "10.11.16.1"), answers(&world, "10.11.17.1")), (1, 1));
}

/// A range of two addresses has no room for a router: both are pods'.
#[test]
fn a_prefix_of_two_addresses_has_no_gateway_of_its_own() {
    let world = World::default()
        .with(switch(1))
        .with([k8s_node(1, Some("fd00:1::/127"))])
        .with([pod("p1", "blue", 1, Some("fd00:1::")), port(1, "blue:p1", 10)])
        .with([pod("p2", "blue", 1, Some("fd00:1::1")), port(1, "blue:p2", 11)]);
    for pod in ["p1", "p2"] {
        let gateway = first_interface(&world, pod).first_address().unwrap().gateway.unwrap();
        assert_eq!(gateway.address.to_string(), "fe80::1");
    }
}
