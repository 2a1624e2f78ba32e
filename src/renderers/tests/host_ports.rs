//! Host ports, and limits of interfaces.

use std::net::IpAddr;

use openflow_rs::Field;

use super::super::testing::*;
use super::assert_golden_of;
use super::ovs::Ovs;
use crate::datastore::Store::Operational;
use crate::model::{Reason, Row};
use crate::net::{Dpid, Transport};
use crate::pipeline::evaluate::{Outcome, Packet, Tables, evaluate};
use crate::pipeline::golden;

const PORTS: [&str; 2] = ["TCP:80:8080", "UDP:53:53"];

fn p1() -> Row {
    pod("p1", "blue", 1, Some("10.11.1.10"))
}

/// p1 of blue on node 1 has ports of its node; p2 of blue and p3 of red are on node 2. Nodes have ports of their own (7).
fn world() -> World {
    two_pods().on_two_nodes().with([node_port(1, 7), node_port(2, 7)]).with([with_host_ports(p1(), &PORTS)])
}

fn lines(world: &World, switch: u64, part: &str) -> Vec<String> {
    let text = golden::print(&world.tables(switch, ""));
    text.lines().filter(|line| line.contains(part)).map(str::to_owned).collect()
}

/// Where a request of TCP ends that comes in by this port of a switch.
fn ask(
    world: &World,
    switch: u64,
    in_port: u32,
    (source, target): (&str, &str),
    port: u16,
) -> Option<(u32, IpAddr, u16)> {
    let own = |last: u32| u128::from(u64::from_be_bytes([0, 0, 0x0a, 0, 0, switch as u8, 0, last as u8]));
    let (source, target): (IpAddr, IpAddr) = (source.parse().unwrap(), target.parse().unwrap());
    let packet = Packet::new()
        .with(Field::InPort, in_port)
        .with(Field::EthSrc, own(in_port))
        .with(Field::EthDst, 0x02c0_e500_0001_u64)
        .with(Field::IpProto, 6_u8)
        .with(Field::IpTtl, 64_u8)
        .with(Field::TcpSrc, 40_000_u16)
        .with(Field::TcpDst, port);
    let packet = match (source, target) {
        (IpAddr::V4(source), IpAddr::V4(target)) => packet
            .with(Field::EthType, 0x0800_u16)
            .with(Field::Ipv4Src, source.to_bits())
            .with(Field::Ipv4Dst, target.to_bits()),
        (IpAddr::V6(source), IpAddr::V6(target)) => packet
            .with(Field::EthType, 0x86dd_u16)
            .with(Field::Ipv6Src, source.to_bits())
            .with(Field::Ipv6Dst, target.to_bits()),
        _ => unreachable!(),
    };
    let walk = evaluate(packet, &Tables::from(&world.tables(switch, "")));
    walk.outcomes.iter().find_map(|outcome| match outcome {
        Outcome::Output { port, packet } => {
            let v4 = || IpAddr::from((packet.get(Field::Ipv4Dst) as u32).to_be_bytes());
            let v6 = || IpAddr::from(packet.get(Field::Ipv6Dst).to_be_bytes());
            let address = if source.is_ipv4() { v4() } else { v6() };
            Some((*port, address, packet.get(Field::TcpDst) as u16))
        }
        _ => None,
    })
}

#[test]
fn host_ports() {
    assert_golden_of(&["interface", "service"], "host-ports", &world(), &[1, 2]);
    let Some(ovs) = Ovs::start() else { return };
    ovs.bridge("br1", &world().tables(1, ""));
}

/// From pods, from the node and by it from outside, at the node of the pod alone.
#[test]
fn who_asks_at_the_node_reaches_the_pod() {
    let mut world = world();
    let pod: IpAddr = "10.11.1.10".parse().unwrap();
    let outside = "198.51.100.2";
    assert_eq!(ask(&world, 1, 7, (outside, "192.168.56.11"), 80), Some((10, pod, 8080)));
    assert_eq!(ask(&world, 1, 7, (outside, "169.254.77.3"), 80), Some((10, pod, 8080)));
    assert_eq!(ask(&world, 2, 7, (outside, "169.254.77.3"), 80), None, "another node hands over its own");
    assert_eq!(ask(&world, 2, 7, (outside, "192.168.56.12"), 80), None, "another node's address");
    assert_eq!(ask(&world, 1, 7, (outside, "192.168.56.11"), 81), None);
    assert_eq!(
        ask(&world, 2, 10, ("10.11.2.10", "192.168.56.11"), 80),
        Some((1, pod, 8080)),
        "by the tunnel"
    );
    assert_eq!(
        ask(&world, 2, 11, ("10.11.2.20", "192.168.56.11"), 80),
        Some((1, pod, 8080)),
        "of another namespace"
    );
    // It asks itself, too.
    assert_eq!(ask(&world, 1, 10, ("10.11.1.10", "192.168.56.11"), 80), Some((10, pod, 8080)));
    // Without the port nothing is left of it.
    let before = two_pods().on_two_nodes().with([node_port(1, 7), node_port(2, 7)]);
    world.put([p1()]);
    assert!((1..=2).all(|switch| world.tables(switch, "") == before.tables(switch, "")));
    assert_eq!(world.ids, before.ids);
}

#[test]
fn of_both_versions() {
    let ports = ["TCP:80:8080", "TCP:81:81:::", "TCP:82:82:192.168.56.11", "TCP:83:83:2001:db8:56::11"];
    let p1 = with_host_ports(pod_with("p1", "blue", 1, &["10.11.1.10", "fd00:1::10"]), &ports);
    let Row::K8sNode(uid, Some(mut row)) = k8s_node(1, None) else { unreachable!() };
    row.external = row.internal.replace("2001:db8:56::11".parse().unwrap());
    let world = two_pods().of_both_versions().with([node_port(1, 7), p1, Row::K8sNode(uid, Some(row))]);
    let (v4, v6): (IpAddr, IpAddr) = ("10.11.1.10".parse().unwrap(), "fd00:1::10".parse().unwrap());
    let at_v4 = |port| ask(&world, 1, 7, ("198.51.100.2", "192.168.56.11"), port);
    let at_v6 = |port| ask(&world, 1, 7, ("2001:db8:9::1", "2001:db8:56::11"), port);
    assert_eq!([80, 81, 82, 83].map(at_v4), [Some((10, v4, 8080)), None, Some((10, v4, 82)), None]);
    assert_eq!(
        [80, 81, 82, 83].map(at_v6),
        [Some((10, v6, 8080)), Some((10, v6, 81)), None, Some((10, v6, 83))]
    );
    let handed = |target, source, port| ask(&world, 1, 7, (source, target), port);
    let handed_v6 = |port| handed("fd77:c0e5::3", "2001:db8:9::1", port);
    assert_eq!([80, 81, 82, 83].map(handed_v6), [Some((10, v6, 8080)), Some((10, v6, 81)), None, None]);
    let handed_v4 = |port| handed("169.254.77.3", "198.51.100.2", port);
    assert_eq!([80, 81, 82, 83].map(handed_v4), [Some((10, v4, 8080)), None, None, None]);
}

/// Facts bring two together that nobody could refuse: the first has the place, the other one says who.
#[test]
fn the_second_one_waits_and_follows() {
    let row = |name: &str, address| with_host_ports(pod(name, "blue", 1, Some(address)), &["TCP:80:8080"]);
    let second = || row("p2", "10.11.1.20");
    let mut world = two_pods().on_one_node().with([node_port(1, 7), second(), row("p1", "10.11.1.10")]);
    let (pod, other): (IpAddr, IpAddr) = ("10.11.1.10".parse().unwrap(), "10.11.1.20".parse().unwrap());
    let at = |world: &World| ask(world, 1, 7, ("198.51.100.2", "192.168.56.11"), 80);
    assert_eq!(at(&world), Some((10, pod, 8080)));
    let address = "192.168.56.11".into();
    let taken =
        Reason::HostPortTaken { transport: Transport::Tcp, port: 80, address, owner: "blue:p1".into() };
    assert_eq!((world.pending("p1"), world.pending("p2")), (vec![], vec![taken]));
    let state = world.read(Operational, "coeus-status:objects/object=blue%3Ap2");
    assert!(
        state.contains("pending") && state.contains("host port TCP 80 at 192.168.56.11 is that of blue:p1"),
        "{state}"
    );
    world.put([no_pod("p1")]);
    assert_eq!((at(&world), world.pending("p2")), (Some((11, other, 8080)), vec![]));
}

#[test]
fn an_address_that_its_node_has_not_is_told() {
    let elsewhere = with_host_ports(p1(), &["TCP:80:80:10.9.9.9"]);
    let world = two_pods().on_two_nodes().with([elsewhere]);
    let address = "10.9.9.9".parse().unwrap();
    let reason = Reason::HostPortElsewhere { transport: Transport::Tcp, port: 80, address };
    assert_eq!(world.pending("p1"), [reason]);
    assert!(lines(&world, 1, "10.9.9.9").is_empty());
}

/// Who gets an address that its node did not have is asked there at once.
#[test]
fn a_node_that_gets_an_address_serves_there() {
    let mut world = world();
    assert!(lines(&world, 2, "nw_dst=192.168.56.77").is_empty());
    let Row::K8sNode(uid, Some(mut row)) = k8s_node(1, Some("10.11.1.0/24")) else { unreachable!() };
    row.external = row.internal.replace("192.168.56.77".parse().unwrap());
    world.put([Row::K8sNode(uid, Some(row))]);
    assert_eq!(lines(&world, 2, "nw_dst=192.168.56.77").len(), 4);
    // So does a pod that is plugged in there and belongs to another node.
    let astray = with_host_ports(pod("p9", "blue", 1, Some("10.11.1.99")), &["TCP:85:8080"]);
    world.put([astray, port(2, "blue:p9", 19)]);
    let Row::K8sNode(uid, Some(mut row)) = k8s_node(2, Some("10.11.2.0/24")) else { unreachable!() };
    row.external = row.internal.replace("192.168.56.78".parse().unwrap());
    world.put([Row::K8sNode(uid, Some(row))]);
    assert_eq!(lines(&world, 1, "nw_dst=192.168.56.78").len(), 2);
    let rebuilt = world.rebuilt(true);
    assert!((1..=2).all(|switch| world.tables(switch, "") == rebuilt.tables(switch, "")));
}

#[test]
fn one_place_is_one_pod_s() {
    let world = world();
    let refused = |rows: &[Row]| world.workshop.model.check(rows).map_err(|conflict| conflict.message);
    let asks = |name: &str, node, ports: &[&str]| with_host_ports(pod(name, "red", node, None), ports);
    let message = refused(&[asks("p9", 1, &["TCP:80:1"])]).unwrap_err();
    for part in ["pod p9 (red:p9)", "host port TCP 80", "pod p1 (blue:p1)"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(refused(&[asks("p9", 1, &["TCP:80:1:192.168.56.11"])]).unwrap_err().contains("at 192.168.56.11"));
    for free in [asks("p9", 2, &["TCP:80:1"]), asks("p9", 1, &["UDP:80:1"]), asks("p9", 1, &["TCP:81:1"])] {
        assert_eq!(refused(&[free]), Ok(()));
    }
    // Who has one is merely written again; who goes makes room in the same commit.
    assert_eq!(refused(&[with_host_ports(p1(), &PORTS)]), Ok(()));
    assert_eq!(refused(&[asks("p0", 1, &["TCP:80:1"]), no_pod("p1")]), Ok(()));
    let written = [asks("p0", 1, &["TCP:80:1"]), with_host_ports(p1(), &PORTS)];
    assert!(refused(&written).unwrap_err().contains("pod p0 (red:p0)"), "the newcomer is refused");
    // Two that come together, at addresses that one node has.
    let both = [asks("p8", 2, &["TCP:90:1"]), asks("p9", 2, &["TCP:90:1:0.0.0.0"])];
    assert!(refused(&both).unwrap_err().contains("TCP 90"));
    let apart = [asks("p8", 2, &["TCP:90:1:192.168.56.12"]), asks("p9", 2, &["TCP:90:1:192.168.56.13"])];
    assert_eq!(refused(&apart), Ok(()));
    let Row::K8sNode(uid, Some(mut row)) = k8s_node(1, None) else { unreachable!() };
    row.external = Some(IpAddr::V4(host(3)));
    let world = world.with([Row::K8sNode(uid, Some(row))]);
    let by_its_other = world.workshop.model.check(&[asks("p9", 3, &["TCP:80:1"])]);
    assert!(by_its_other.is_err(), "the same node by its other address");
}

#[test]
fn a_place_is_a_pod_s_or_a_service_s() {
    let world = world().with([with_host_ports(p1(), &["TCP:30080:8080"])]);
    let other = service("web", "blue", &["10.96.0.10"], &["http:TCP:80:8080:30080"]);
    let fault = world.workshop.model.check_services(&[other]).unwrap_err();
    assert!(
        fault.in_use && fault.message.contains("is a host port of pod p1 (blue:p1)"),
        "{}",
        fault.message
    );
    let udp = service("web", "blue", &["10.96.0.10"], &["http:UDP:80:8080:30080"]);
    assert!(world.workshop.model.check_services(std::slice::from_ref(&udp)).is_ok());
    let world = world.with([udp]);
    let asks = with_host_ports(pod("p9", "blue", 1, None), &["UDP:30080:8080"]);
    let message = world.workshop.model.check(std::slice::from_ref(&asks)).unwrap_err().message;
    assert!(message.contains("in use by service web (blue:web)"), "{message}");
    assert!(world.workshop.model.check(&[asks, Row::Service("web".into(), None)]).is_ok());
    // Were both there, the service has it and the pod says so; it is the pod's when the service goes.
    let service = service("web", "blue", &["10.96.0.10"], &["http:TCP:80:8080:30080"]);
    let mut world = world.with([service, endpoints("web", "blue", &["10.11.2.10"], &["http:TCP:8080"])]);
    let reason = Reason::HostPortOfService { transport: Transport::Tcp, port: 30_080, service: "web".into() };
    assert_eq!(world.pending("p1"), [reason]);
    let at = |world: &World| ask(world, 1, 7, ("198.51.100.2", "192.168.56.11"), 30_080);
    assert_eq!(at(&world), Some((1, "10.11.2.10".parse().unwrap(), 8080)));
    world.put([Row::Service("web".into(), None)]);
    assert_eq!(at(&world), Some((10, "10.11.1.10".parse().unwrap(), 8080)));
}

/// Each switch knows whose connections end with a place.
#[test]
fn connections_end_with_their_place() {
    let world = world();
    for switch in [1, 2] {
        let groups = world.tables(switch, "service").groups;
        let of_tcp = |group: &std::sync::Arc<crate::pipeline::Group>| {
            group.balanced.clone().filter(|balanced| balanced.transport == Transport::Tcp)
        };
        let balanced = groups.values().find_map(of_tcp).unwrap();
        let place = |text: &str| -> (IpAddr, u16) { (text.parse().unwrap(), 80) };
        assert_eq!(*balanced.destinations, [place("192.168.56.11"), place("169.254.77.3")]);
        assert_eq!(balanced.targets, [("10.11.1.10".parse().unwrap(), 8080)].into());
    }
}

#[test]
fn limits() {
    let world = two_pods()
        .on_one_node()
        .with([limited(pod("p1", "blue", 1, Some("10.11.1.10")), Some(10_000_000), Some(20_000_000))])
        .with([limited(pod("p2", "blue", 1, Some("10.11.1.20")), None, Some(5_000_000))]);
    assert_golden_of(&["interface"], "bandwidth", &world, &[1]);
    let Some(ovs) = Ovs::start() else { return };
    ovs.bridge("br1", &world.tables(1, ""));
}

/// A rate that changes is one meter, and what is not limited any more is as it was.
#[test]
fn a_limit_changes_one_meter() {
    let row = |egress| limited(pod("p1", "blue", 1, Some("10.11.1.10")), egress, None);
    let mut world = two_pods().on_one_node();
    let before = (world.tables(1, ""), world.ids.clone());
    world.put([row(Some(10_000_000))]);
    let delta = world.put([row(Some(20_000_000))]).remove(&Dpid(1)).unwrap();
    assert_eq!((delta.flows.len(), delta.groups.len(), delta.meters.len()), (0, 0, 1));
    world.put([row(None)]);
    assert!((world.tables(1, ""), world.ids.clone()) == before);
}
