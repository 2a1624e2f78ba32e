//! Services: which address and port leads where, and what of it changes when something changes.

use openflow_rs::Field;

use super::super::testing::*;
use super::assert_golden;
use crate::datastore::Store::Operational;
use crate::model::{Row, SERVICE_REQUESTS, ServicePool};
use crate::net::Dpid;
use crate::pipeline::evaluate::{Outcome, Packet, Tables, evaluate};
use crate::pipeline::golden;

/// p1 of blue on node 1, p2 of blue and p3 of red on node 2, and a service of blue with all protocols.
fn web() -> World {
    two_pods()
        .on_two_nodes()
        .with([service("web", "blue", &["10.96.0.10"], &["http:TCP:80:http", ":UDP:53:", "s:SCTP:90:9090"])])
        .with([endpoints(
            "web",
            "blue",
            &["10.11.1.10", "10.11.2.10"],
            &["http:TCP:8080", ":UDP:53", "s:SCTP:9090"],
        )])
}

fn state(world: &World, uid: &str) -> String {
    world.read(Operational, &format!("coeus-service:service-states/service={uid}"))
}

#[test]
fn services() {
    assert_golden("services", &web(), &[1, 2]);
}

/// A client keeps its endpoint: the switch learns which it was.
#[test]
fn services_with_affinity() {
    let Row::Service(uid, Some(mut row)) = service("web", "blue", &["10.96.0.10"], &[":TCP:80:8080"]) else {
        unreachable!()
    };
    row.affinity = Some(60);
    let told = endpoints("web", "blue", &["10.11.1.10", "10.11.2.10"], &[":TCP:8080"]);
    let mut world = two_pods().on_two_nodes().with([Row::Service(uid, Some(row)), told]);
    assert_golden("affinity", &world, &[1]);
    // The number of the endpoint that stays is the same, so its clients stay.
    let number = |world: &World| {
        let text = golden::print(&world.tables(1, "service"));
        let line = text.lines().find(|line| line.contains("nat(dst=10.11.1.10:8080)")).unwrap().to_owned();
        line.split("reg9=").nth(1).unwrap().split(',').next().unwrap().to_owned()
    };
    let before = number(&world);
    world.put([endpoints("web", "blue", &["10.11.1.10"], &[":TCP:8080"])]);
    assert_eq!(number(&world), before);
}

#[test]
fn dual_stack_services() {
    let world = two_pods()
        .of_both_versions()
        .with([service("web", "blue", &["fd96::10", "10.96.0.10"], &[":TCP:80:8080"])])
        .with([endpoints("web", "blue", &["10.11.1.10", "fd00:1::10", "fd00:2::10"], &[])]);
    assert_golden("dual-stack-services", &world, &[1, 2]);
}

/// What is named may come later: it is stored, and told as long as nothing has the name.
#[test]
fn names_that_match_nothing_are_told_until_something_has_them() {
    let mut world = two_pods().on_two_nodes().with([k8s_node(1, Some("10.11.1.0/24"))]);
    let told = |world: &World, wanted: &str| {
        let state = state(world, "api");
        assert!(state.contains(wanted), "{state} lacks {wanted}");
    };
    let settled = |world: &World| {
        let state = state(world, "api");
        assert!(state.contains(r#""state":"active""#) && !state.contains("reason"), "{state}");
    };
    let api = |ports: &[&str]| service("api", "blue", &["10.96.0.11"], ports);
    // A port's name.
    world.put([api(&["web:TCP:80:http"]), endpoints("api", "blue", &["10.11.1.10"], &["metrics:TCP:9090"])]);
    told(&world, "endpoints api have no port for TCP port 80: neither its name nor its target-port");
    told(&world, r#""state":"waiting""#);
    world.put([endpoints("api", "blue", &["10.11.1.10"], &["http:TCP:8080"])]);
    settled(&world);
    // An address in a node's range.
    world.put([endpoints("api", "blue", &["10.11.1.10", "10.11.1.77"], &["http:TCP:8080"])]);
    told(&world, "endpoint 10.11.1.77 is no pod's address in namespace blue");
    world.put([pod("late", "blue", 1, Some("10.11.1.77")), port(1, "blue:late", 77)]);
    settled(&world);
    // A pod, by its uid.
    let Row::Service(uid, Some(row)) = api(&[":TCP:80:8080"]) else { unreachable!() };
    let by_pod = |pod: &str| {
        Row::Service(uid.clone(), Some(crate::model::Service { pods: vec![pod.into()], ..row.clone() }))
    };
    world.put([Row::ServiceEndpoints("api".into(), None), by_pod("ghost")]);
    told(&world, "endpoint ghost: there is no such pod, or it has no interface");
    world.put([by_pod("late")]);
    settled(&world);
}

/// What goes with a service leaves nothing, and what is there without one stays as it is.
#[test]
fn a_service_that_goes_leaves_nothing() {
    let mut world = web();
    let plain = two_pods().on_two_nodes();
    world.put([Row::Service("web".into(), None)]);
    for switch in [1, 2] {
        assert!(world.tables(switch, "") == plain.tables(switch, ""));
    }
    assert_eq!(state(&world, "web"), "");
}

#[test]
fn a_headless_service_programs_nothing() {
    let plain = two_pods().on_two_nodes();
    let Row::Service(uid, Some(mut row)) = service("web", "blue", &[], &[":TCP:80:"]) else { unreachable!() };
    row.headless = true;
    let world = two_pods()
        .on_two_nodes()
        .with([Row::Service(uid, Some(row)), endpoints("web", "blue", &["10.11.1.10"], &[":TCP:80"])]);
    for switch in [1, 2] {
        assert!(world.tables(switch, "") == plain.tables(switch, ""));
    }
    let said = state(&world, "web");
    assert!(said.contains(r#""state":"none""#) && said.contains("headless"), "{said}");
}

/// One endpoint less: one group of each switch, and what led to it. Nothing else is sent.
#[test]
fn an_endpoint_that_goes_touches_its_group_alone() {
    let mut world = web();
    let deltas =
        world.put([endpoints("web", "blue", &["10.11.1.10"], &["http:TCP:8080", ":UDP:53", "s:SCTP:9090"])]);
    for (dpid, delta) in &deltas {
        assert_eq!(delta.groups.len(), 3, "{dpid}: one a port");
        let text: Vec<String> = delta.flows.iter().map(|change| change.flow().to_string()).collect();
        assert!(text.iter().all(|line| line.contains("10.11.2.10")), "{text:?}");
    }
    assert_eq!(deltas.len(), 2);
}

/// Ports by name, by number, by neither; pods by uid.
#[test]
fn ports_of_endpoints_are_found_by_name_and_number() {
    let leads = |ports: &[&str], told: &[&str]| {
        let world = two_pods().on_one_node().with([
            service("web", "blue", &["10.96.0.10"], ports),
            endpoints("web", "blue", &["10.11.1.20"], told),
        ]);
        let text = golden::print(&world.tables(1, "service"));
        let mut found: Vec<u16> = text
            .split("nat(dst=10.11.1.20:")
            .skip(1)
            .map(|rest| rest.split(')').next().unwrap().parse().unwrap())
            .collect();
        found.sort_unstable();
        found
    };
    assert_eq!(leads(&["http:TCP:80:web"], &["http:TCP:8080", "web:TCP:9"]), [8080], "the same name");
    assert_eq!(leads(&[":TCP:80:web"], &["http:TCP:8080", "web:TCP:9"]), [9], "the target's name");
    assert_eq!(leads(&[":TCP:80:8081"], &[":TCP:8080", ":TCP:8081"]), [8081], "the target's number");
    assert_eq!(leads(&[":TCP:80:web"], &[":TCP:8080"]), [8080], "the only one");
    assert_eq!(leads(&[":TCP:80:"], &[]), [80], "its own number");
    assert_eq!(
        leads(&["dns:UDP:53:dns", "dns-tcp:TCP:53:dns"], &["dns:UDP:5353", "dns-tcp:TCP:5354"]),
        [5353, 5354]
    );
    assert_eq!(leads(&["https:TCP:443:"], &["http:TCP:8080"]), [0_u16; 0], "two names are two ports");
    assert_eq!(leads(&[":UDP:53:"], &[":TCP:53"]), [0_u16; 0], "another protocol");
}

/// What `coeus trace` walks: to the endpoint, here or through the tunnel, with its address and port.
#[test]
fn a_packet_to_a_service_is_walked_to_an_endpoint() {
    let walk = |told: &str| {
        let world = two_pods().on_two_nodes().with([
            service("web", "blue", &["10.96.0.10"], &[":TCP:80:8080"]),
            endpoints("web", "blue", &[told], &[]),
        ]);
        let source: std::net::Ipv4Addr = "10.11.1.10".parse().unwrap();
        let vip: std::net::Ipv4Addr = "10.96.0.10".parse().unwrap();
        let packet = Packet::new()
            .with(Field::InPort, 10_u32)
            .with(Field::EthSrc, mac(1, 10).to_u64())
            .with(Field::EthDst, 0x02c0_e501_86a0_u64)
            .with(Field::EthType, 0x0800_u16)
            .with(Field::IpProto, 6_u8)
            .with(Field::IpTtl, 64_u8)
            .with(Field::Ipv4Src, u32::from(source))
            .with(Field::Ipv4Dst, u32::from(vip))
            .with(Field::TcpSrc, 40_000_u16)
            .with(Field::TcpDst, 80_u16);
        let walk = evaluate(packet, &Tables::from(&world.tables(1, "")));
        let out = walk.outcomes.iter().find_map(|outcome| match outcome {
            Outcome::Output { port, packet } => Some((*port, packet.clone())),
            _ => None,
        });
        let (port, packet) = out.unwrap_or_else(|| panic!("{:?}", walk.outcomes));
        (port, packet.get(Field::Ipv4Dst) as u32, packet.get(Field::TcpDst), packet.get(Field::TunnelId))
    };
    let address = |text: &str| u32::from(text.parse::<std::net::Ipv4Addr>().unwrap());
    assert_eq!(walk("10.11.2.10"), (1, address("10.11.2.10"), 8080, u128::from(SERVICE_REQUESTS.0)));
    // From p1 to itself: translated once more, as from somebody else.
    assert_eq!(walk("10.11.1.10"), (10, address("10.11.1.10"), 8080, 0));
}

#[test]
fn pods_may_be_named_by_uid() {
    let Row::Service(uid, Some(mut row)) = service("web", "blue", &["10.96.0.10"], &[":TCP:80:8080"]) else {
        unreachable!()
    };
    row.pods = vec!["p2".into(), "p9".into()];
    let mut world = two_pods().on_two_nodes().with([Row::Service(uid, Some(row))]);
    let leads =
        |world: &World| golden::print(&world.tables(1, "service")).contains("nat(dst=10.11.2.10:8080)");
    assert!(leads(&world));
    assert!(state(&world, "web").contains("p9"), "{}", state(&world, "web"));
    world.put([no_port(2, "blue:p2")]);
    assert!(!leads(&world));
    assert!(state(&world, "web").contains(r#""state":"waiting""#), "{}", state(&world, "web"));
}

/// Two pods of one address: services know the one that the node knows, and the other one's packets are left alone.
#[test]
fn of_two_pods_of_one_address_services_know_one() {
    let mut world = web();
    let stranger = |world: &World| {
        golden::print(&world.tables(1, "service")).contains("nw_src=10.11.1.10 actions=resubmit(,17)")
    };
    assert!(!stranger(&world));
    world.put([pod("r1", "red", 1, Some("10.11.1.10")), port(1, "red:r1", 12)]);
    assert!(stranger(&world));
    world.put([
        service("red", "red", &["10.96.0.11"], &[":TCP:80:"]),
        endpoints("red", "red", &["10.11.1.10"], &[":TCP:80"]),
    ]);
    assert!(state(&world, "red").contains("another pod has the address"), "{}", state(&world, "red"));
    world.put([no_pod("p1")]);
    assert!(!stranger(&world));
    assert!(state(&world, "red").contains(r#""state":"active""#), "{}", state(&world, "red"));
}

/// Who has no address gets one from the pool, and keeps it; nobody asks for one of the pool.
#[test]
fn addresses_come_from_the_pool() {
    let pool = |text: &str| Row::ServicePool(Some(ServicePool { v4: Some(text.parse().unwrap()), v6: None }));
    let mut world = web().with([service("free", "blue", &[], &[":TCP:80:"])]);
    let address = |world: &World, uid: &str| {
        let row = world.workshop.model.service(uid).unwrap();
        world.workshop.model.service_addresses(row).map(|address| address.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(address(&world, "free"), Vec::<String>::new());
    world.put([pool("10.97.0.0/30")]);
    assert_eq!(address(&world, "free"), ["10.97.0.1"]);
    assert!(golden::print(&world.tables(1, "service")).contains("nw_dst=10.97.0.1,tp_dst=80"));
    world.put([service("second", "blue", &[], &[]), service("third", "blue", &[], &[])]);
    let third = [address(&world, "second"), address(&world, "third")];
    assert_eq!(third, [vec!["10.97.0.2".to_owned()], vec![]], "the pool is used up");
    assert!(state(&world, "third").contains("has one left"), "{}", state(&world, "third"));
    let refused = |row: Row| world.workshop.model.check_services(&[row]).unwrap_err();
    let taken = refused(service("other", "red", &["10.97.0.1"], &[]));
    assert!(taken.in_use && taken.message.contains("service free (blue:free)"), "{}", taken.message);
    let holds = refused(pool("10.96.0.0/16"));
    assert!(holds.in_use && holds.message.contains("service web (blue:web)"), "{}", holds.message);
    world.put([service("free", "blue", &["10.96.0.99"], &[":TCP:80:"])]);
    assert_eq!(address(&world, "free"), ["10.96.0.99"]);
}

#[test]
fn what_is_wrong_with_a_service_is_said() {
    let world = web();
    let refused = |row: Row| world.workshop.model.check_services(&[row]).unwrap_err();
    let taken = refused(service("other", "red", &["10.96.0.10"], &[":TCP:80:"]));
    assert!(taken.in_use && taken.message.contains("service web (blue:web)"), "{}", taken.message);
    // Nobody has it, if its owner gives it up in the same commit.
    let moved = [service("other", "red", &["10.96.0.10"], &[]), service("web", "blue", &["10.96.0.99"], &[])];
    assert_eq!(world.workshop.model.check_services(&moved), Ok(()));
    let twice = [service("a", "red", &["10.96.0.77"], &[]), service("b", "red", &["10.96.0.77"], &[])];
    assert!(world.workshop.model.check_services(&twice).unwrap_err().message.contains("service a (red:a)"));
}

/// Who asks at switch 1, and at 2, is led to these endpoints.
fn asked(world: &World) -> [Vec<&'static str>; 2] {
    [1, 2].map(|switch| {
        let text = golden::print(&world.tables(switch, "service"));
        let all = ["10.11.1.10", "10.11.2.10"].into_iter();
        all.filter(|address| text.contains(&format!("nat(dst={address}:8080)"))).collect()
    })
}

/// Endpoints of a switch that is lost are asked no more, but at that switch; when it is back, they are.
#[test]
fn endpoints_of_a_lost_switch_are_left_out() {
    const BOTH: [&str; 2] = ["10.11.1.10", "10.11.2.10"];
    let told = |addresses: &[&str]| endpoints("web", "blue", addresses, &[":TCP:8080"]);
    let mut world = two_pods()
        .on_two_nodes()
        .with([service("web", "blue", &["10.96.0.10"], &[":TCP:80:8080"]), told(&BOTH)]);
    let before = [world.tables(1, ""), world.tables(2, "")];
    assert_eq!(asked(&world), [BOTH.to_vec(), BOTH.to_vec()]);
    let deltas = world.put([Row::Lost(Dpid(2), true)]);
    assert_eq!(asked(&world), [vec!["10.11.1.10"], BOTH.to_vec()]);
    let changes = |dpid: &Dpid| deltas.get(dpid).is_some_and(|delta| !delta.is_empty());
    assert!(changes(&Dpid(1)) && !changes(&Dpid(2)), "what the lost one has does not change");
    let said = state(&world, "web");
    assert!(
        said.contains("1 endpoints of TCP port 80 are on switch 0000000000000002, which is lost"),
        "{said}"
    );
    // An endpoint more there changes nothing here; one less neither.
    assert!(said.contains("10.11.2.10"), "it is an endpoint all the same: {said}");
    // When the other one is lost, too, everything stays as if none was.
    world.put([Row::Lost(Dpid(1), true)]);
    assert_eq!(asked(&world), [vec!["10.11.1.10"], vec!["10.11.2.10"]]);
    assert!(state(&world, "web").contains("are asked all the same"), "{}", state(&world, "web"));
    world.put([Row::Lost(Dpid(1), false)]);
    assert_eq!(asked(&world), [vec!["10.11.1.10"], BOTH.to_vec()]);
    // The only endpoint there is: nobody is refused.
    world.put([told(&["10.11.2.10"])]);
    assert_eq!(asked(&world), [vec!["10.11.2.10"], vec!["10.11.2.10"]]);
    world.put([told(&BOTH), Row::Lost(Dpid(2), false)]);
    assert!(before == [world.tables(1, ""), world.tables(2, "")]);
}
