//! Services that are asked from outside: at addresses of external networks, and at nodes.

use openflow_rs::Field;

use super::super::testing::*;
use super::assert_golden_of;
use super::ovs::Ovs;
use crate::datastore::Store::{Config, Operational};
use crate::model::{Row, Service};
use crate::net::Dpid;
use crate::pipeline::evaluate::{Outcome, Packet, Tables, evaluate};
use crate::pipeline::golden;

const NET: &str = "0fbad80d-b0b4-4580-8d14-11fcaced2ac6";
/// Those that have a part in it.
const FEATURES: [&str; 5] = ["interface", "vpn", "arp", "nat", "service"];
const ADDRESS: &str = "203.0.113.7";

fn changed(row: Row, change: impl Fn(&mut Service)) -> Row {
    let Row::Service(uid, Some(mut row)) = row else { unreachable!() };
    change(&mut row);
    Row::Service(uid, Some(row))
}

fn web() -> Row {
    let row = service("web", "blue", &["10.96.0.10"], &["http:TCP:80:8080:30080", ":UDP:53:53:30053"]);
    changed(row, |row| row.outside = vec![ADDRESS.parse().unwrap()])
}

/// Two nodes with a port to the physical network (2) and one of their own (7); p1 and p2 of blue serve, one on each.
fn world() -> World {
    two_pods()
        .on_two_nodes()
        .with([uplink(1, "physnet", 2), uplink(2, "physnet", 2), external(NET, None)])
        .with([node_port(1, 7), node_port(2, 7)])
        .with([neighbour(NET, "203.0.113.1", true), neighbour(NET, "203.0.113.9", true)])
        .with([web(), endpoints("web", "blue", &["10.11.1.10", "10.11.2.10"], &["http:TCP:8080", ":UDP:53"])])
}

fn nat_of(world: &World, switch: u64) -> String {
    golden::print(&world.tables(switch, "nat"))
}

/// The switches that answer for the address.
fn owners(world: &World) -> Vec<u64> {
    let arp = |switch: &u64| golden::print(&world.tables(*switch, "arp")).contains("arp_tpa=203.0.113.7");
    [1, 2].into_iter().filter(arp).collect()
}

#[test]
fn services_outside() {
    assert_golden_of(&FEATURES, "services-outside", &world(), &[1, 2]);
}

#[test]
fn local_policies() {
    let local = changed(web(), |row| (row.external_local, row.internal_local) = (true, true));
    let mut world = world();
    world.put([local]);
    assert_golden_of(&["service"], "services-local", &world, &[1, 2]);
    // A switch without an endpoint refuses its own pods and who asks at its node; others do not.
    world.put([endpoints("web", "blue", &["10.11.2.10"], &["http:TCP:8080", ":UDP:53"])]);
    let part = golden::print(&world.tables(1, "service"));
    let refused: Vec<&str> = part.lines().filter(|line| line.contains("userdata")).collect();
    assert!(refused.iter().any(|line| line.contains("nw_dst=10.96.0.10")), "{refused:?}");
    assert!(refused.iter().all(|line| !line.contains("nw_dst=203.0.113.7") || line.contains("reg7=0x4/0x4")));
    assert!(!golden::print(&world.tables(2, "service")).contains("userdata"));
    assert_eq!(owners(&world), [2], "the address is where an endpoint is");
}

/// A client keeps its endpoint at addresses and at node ports, each of its own.
#[test]
fn sessions_outside() {
    let mut world = world();
    world.put([changed(web(), |row| row.affinity = Some(60))]);
    assert_golden_of(&["service"], "affinity-outside", &world, &[1]);
}

/// By both IP versions, and Open vSwitch takes it.
#[test]
fn sessions_at_node_ports() {
    let row = service("web", "blue", &["fd96::10", "10.96.0.10"], &["http:TCP:80:8080:30080"]);
    let world = two_pods()
        .of_both_versions()
        .with([node_port(1, 7), changed(row, |row| row.affinity = Some(60))])
        .with([endpoints("web", "blue", &["10.11.1.10", "fd00:1::10"], &["http:TCP:8080"])]);
    let text = golden::print(&world.tables(1, "service"));
    for part in ["NXM_OF_IP_SRC[],NXM_NX_REG7[3]=0x1", "NXM_NX_IPV6_SRC[],NXM_NX_REG7[3]=0x1"] {
        assert_eq!(text.matches(part).count(), 1, "{part}: {text}");
    }
    let Some(ovs) = Ovs::start() else { return };
    ovs.bridge("br1", &world.tables(1, ""));
}

/// With local policy who asks from outside keeps an endpoint of the switch only, were he with another one before.
#[test]
fn sessions_of_local_policies() {
    let mut world = world();
    world.put([changed(web(), |row| (row.external_local, row.affinity) = (true, Some(60)))]);
    let groups = |switch| world.tables(switch, "service").groups.len();
    assert_eq!([groups(1), groups(2)], [4, 4], "all and here, for two ports");
    for (switch, own) in [(1, "10.11.1.10"), (2, "10.11.2.10")] {
        let text = golden::print(&world.tables(switch, "service"));
        let kept: Vec<&str> = text.lines().filter(|line| line.contains("learn(")).collect();
        // Two ports, at an address and at nodes: of each, one flow for those outside and two for pods. Inside there are two at the cluster address.
        let of = |bits: &str| kept.iter().filter(|line| line.contains(bits)).count();
        let outside = |line: &&&str| line.contains("reg7=0x4/0x4") || line.contains("reg7=0xc/0xc");
        let own_only = kept.iter().filter(outside).all(|line| line.contains(&format!("dst={own}:")));
        assert!(own_only, "{kept:?}");
        assert_eq!((kept.iter().filter(outside).count(), kept.len()), (4, 16), "{kept:?}");
        assert_eq!(of("NXM_NX_REG7[3]=0x1"), 6, "{kept:?}");
    }
}

/// From outside to either endpoint, and back with the address that was asked.
#[test]
fn who_asks_outside_reaches_all_endpoints() {
    let mut world = world();
    assert_eq!(owners(&world), [1], "where the first pod is");
    let ask = |world: &World, switch: u64, in_port: u32, target: [u8; 4], port: u16| {
        let external_mac = 0x02c0_cb00_7107_u64;
        let to_node = 0x02c0_e500_0001_u64;
        let packet = Packet::new()
            .with(Field::InPort, in_port)
            .with(Field::EthSrc, 0x0e00_0000_0009_u64)
            .with(Field::EthDst, if in_port == 2 { external_mac } else { to_node })
            .with(Field::EthType, 0x0800_u16)
            .with(Field::IpProto, 6_u8)
            .with(Field::IpTtl, 64_u8)
            .with(Field::Ipv4Src, u32::from_be_bytes([198, 51, 100, 2]))
            .with(Field::Ipv4Dst, u32::from_be_bytes(target))
            .with(Field::TcpSrc, 40_000_u16)
            .with(Field::TcpDst, port);
        let walk = evaluate(packet, &Tables::from(&world.tables(switch, "")));
        walk.outcomes.iter().find_map(|outcome| match outcome {
            Outcome::Output { port, packet } => {
                Some((*port, packet.get(Field::Ipv4Dst) as u32, packet.get(Field::TcpDst)))
            }
            _ => None,
        })
    };
    let endpoint = |last: [u8; 4]| u32::from_be_bytes(last);
    let lead = |world: &mut World, address: &str| {
        world.put([endpoints("web", "blue", &[address], &["http:TCP:8080"])]);
    };
    let (p1, p2) = ([10, 11, 1, 10], [10, 11, 2, 10]);
    // The address moves with its first pod; both ways end at the endpoint, with its port.
    lead(&mut world, "10.11.1.10");
    assert_eq!(ask(&world, 1, 2, [203, 0, 113, 7], 80), Some((10, endpoint(p1), 8080)));
    assert_eq!(ask(&world, 1, 7, [169, 254, 77, 3], 30_080), Some((10, endpoint(p1), 8080)));
    assert_eq!(ask(&world, 1, 7, [192, 168, 56, 11], 30_080), Some((10, endpoint(p1), 8080)));
    assert_eq!(ask(&world, 2, 7, [169, 254, 77, 3], 30_080), Some((1, endpoint(p1), 8080)));
    assert_eq!(ask(&world, 2, 2, [203, 0, 113, 7], 80), None, "not its address");
    assert_eq!(ask(&world, 1, 7, [169, 254, 77, 3], 30_081), None);
    // While that switch is lost, the other one answers, and leads to the same pod.
    world.put([Row::Lost(Dpid(1), true)]);
    assert_eq!(owners(&world), [2]);
    assert_eq!(ask(&world, 2, 2, [203, 0, 113, 7], 80), Some((1, endpoint(p1), 8080)));
    assert!(!nat_of(&world, 1).contains(ADDRESS), "{}", nat_of(&world, 1));
    lead(&mut world, "10.11.2.10");
    world.put([Row::Lost(Dpid(1), false)]);
    assert_eq!(owners(&world), [2]);
    assert_eq!(ask(&world, 2, 2, [203, 0, 113, 7], 80), Some((10, endpoint(p2), 8080)));
}

/// An address of IPv6 leads to endpoints of IPv6, and back by the network.
#[test]
fn who_asks_at_an_address_of_ipv6_reaches_endpoints_of_ipv6() {
    const OUTSIDE: &str = "2001:db8:113::7";
    let bits = |text: &str| text.parse::<std::net::Ipv6Addr>().unwrap().to_bits();
    let row = service("web", "blue", &[], &["http:TCP:80:8080"]);
    let mut world = two_pods()
        .of_both_versions()
        .with([uplink(1, "physnet", 2), uplink(2, "physnet", 2), external(NET, None)])
        .with([neighbour(NET, "2001:db8:113::1", true)])
        .with([changed(row, |row| row.outside = vec![OUTSIDE.parse().unwrap()])]);
    let ask = |world: &World, in_port: u32, mac: u64, source: &str, target: &str, (from, to): (u16, u16)| {
        let packet = Packet::new()
            .with(Field::InPort, in_port)
            .with(Field::EthSrc, if in_port == 2 { 0x0e00_0000_0001_u64 } else { 0x0a00_0001_000a })
            .with(Field::EthDst, mac)
            .with(Field::EthType, 0x86dd_u16)
            .with(Field::IpProto, 6_u8)
            .with(Field::IpTtl, 64_u8)
            .with(Field::Ipv6Src, bits(source))
            .with(Field::Ipv6Dst, bits(target))
            .with(Field::TcpSrc, from)
            .with(Field::TcpDst, to);
        let walk = evaluate(packet, &Tables::from(&world.tables(1, "")));
        walk.outcomes.iter().find_map(|outcome| match outcome {
            Outcome::Output { port, packet } => {
                Some((*port, packet.get(Field::Ipv6Dst), packet.get(Field::TcpDst)))
            }
            _ => None,
        })
    };
    let from_outside =
        |world: &World| ask(world, 2, 0x02c6_0000_0007, "2001:db8:9::1", OUTSIDE, (40_000, 80));
    assert_eq!(from_outside(&world), None, "nobody serves");
    world.put([endpoints("web", "blue", &["fd00:1::10"], &["http:TCP:8080"])]);
    assert_eq!(from_outside(&world), Some((10, bits("fd00:1::10"), 8080)));
    // An endpoint of IPv4 is none for who asks by IPv6.
    world.put([endpoints("web", "blue", &["10.11.1.10"], &["http:TCP:8080"])]);
    assert_eq!(from_outside(&world), None);
    assert!(!golden::print(&world.tables(2, "nd")).contains(OUTSIDE), "one switch answers");
}

/// Who is lost comes last; what is written for a pod follows.
#[test]
fn the_address_of_a_lost_switch_is_taken_over_and_given_back() {
    const INFO: &str = "odl-nat:floating-ip-info/router-ports=web";
    let mut world = world();
    let before = [world.tables(1, ""), world.tables(2, "")];
    assert!(world.read(Config, INFO).contains("blue:p1"));
    world.put([Row::Lost(Dpid(1), true)]);
    assert!(world.read(Config, INFO).contains("blue:p2"));
    assert_eq!(owners(&world), [2]);
    let state = world.read(Operational, "coeus-external:floating-addresses/floating-address=203.0.113.7");
    assert!(state.contains("desired") && state.contains("blue:p2"), "{state}");
    world.put([Row::Lost(Dpid(1), false)]);
    assert!(before == [world.tables(1, ""), world.tables(2, "")]);
    // With both lost it stays where it was.
    world.put([Row::Lost(Dpid(1), true), Row::Lost(Dpid(2), true)]);
    assert_eq!(owners(&world), [1]);
}

/// Of two switches one answers at a time: the new one when the old one has confirmed that it does not, or is lost.
#[test]
fn an_address_that_moves_is_nowhere_until_its_switch_has_withdrawn_it() {
    const STATE: &str = "coeus-external:floating-addresses/floating-address=203.0.113.7";
    let address: std::net::IpAddr = ADDRESS.parse().unwrap();
    let held = |dpid: u64| Row::Held(address, Some(Dpid(dpid)));
    let lead = |pod: &str| endpoints("web", "blue", &[pod], &["http:TCP:8080"]);
    let mut world = world();
    world.put([held(1)]);
    assert_eq!(owners(&world), [1]);
    world.put([lead("10.11.2.10")]);
    assert!(owners(&world).is_empty() && !nat_of(&world, 2).contains(ADDRESS), "{}", nat_of(&world, 2));
    let state = world.read(Operational, STATE);
    assert!(
        state.contains("pending") && state.contains("switch 0000000000000001 has not confirmed"),
        "{state}"
    );
    world.put([Row::Held(address, None)]);
    assert_eq!(owners(&world), [2]);
    world.put([held(2), lead("10.11.1.10")]);
    assert!(owners(&world).is_empty());
    world.put([Row::Lost(Dpid(2), true)]);
    assert_eq!(owners(&world), [1]);
    world.put([Row::Lost(Dpid(2), false)]);
    assert!(owners(&world).is_empty(), "it is back, and nobody said that it has withdrawn");
}

/// What goes leaves nothing.
#[test]
fn a_service_that_is_not_seen_outside_any_more_leaves_nothing() {
    let mut world = world();
    let service = web();
    world.put([Row::Service("web".into(), None)]);
    let before = [world.tables(1, ""), world.tables(2, "")];
    world.put([service]);
    assert!(before[0] != world.tables(1, ""));
    world.put([Row::Service("web".into(), None)]);
    assert!(before == [world.tables(1, ""), world.tables(2, "")]);
    assert!(!golden::print(&world.tables(1, "")).contains("30080"));
}

#[test]
fn a_node_port_is_one_service_s() {
    let world = world();
    let refused = |rows: &[Row]| world.workshop.model.check_services(rows).map_err(|fault| fault.message);
    let other = service("other", "red", &["10.96.0.11"], &[":TCP:81:81:30080"]);
    let message = refused(std::slice::from_ref(&other)).unwrap_err();
    for part in ["service other (red:other)", "TCP node-port 30080", "service web (blue:web)"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(refused(&[service("other", "red", &["10.96.0.11"], &[":UDP:81:81:30080"])]), Ok(()));
    assert_eq!(refused(&[other.clone(), Row::Service("web".into(), None)]), Ok(()));
    let third = service("third", "red", &["10.96.0.12"], &[":TCP:81:81:30081"]);
    let fourth = service("fourth", "red", &["10.96.0.13"], &[":TCP:81:81:30081"]);
    assert!(refused(&[third, fourth]).unwrap_err().contains("30081"));
}
