//! What `odl-nat` says beside addresses: the MAC addresses of floating addresses, further subnets of networks, and where pods of
//! routers are translated.

use super::super::testing::*;
use super::floating::{NET, two_floating};
use super::ovs::Ovs;
use crate::datastore::Store::Operational;
use crate::model::{FaultPlace, PortMac, Row};
use crate::net::Dpid;
use crate::pipeline::golden;

const MAC: &str = "fa:16:3e:00:00:07";
const MADE: &str = "02:c0:cb:00:71:07";
const SUBNET: &str = "5b1e0000-0000-4000-8000-000000000001";

fn state(world: &World, address: &str) -> String {
    world.read(Operational, &format!("coeus-external:floating-addresses/floating-address={address}"))
}

fn napt_switch(world: &World) -> String {
    world.read(Operational, "odl-nat:napt-switches/router-to-napt-switch=blue")
}

/// 203.0.113.7 with an id.
fn with_id() -> Row {
    with_ids(floating("r1", NET, &[("203.0.113.7", "blue:p1", "10.11.1.10")]), &["f7"])
}

fn refused(world: &World, rows: &[Row]) -> Option<(FaultPlace, bool, String)> {
    let fault = world.workshop.model.check_external(rows).err()?;
    Some((fault.at, fault.in_use, fault.message))
}

#[test]
fn a_floating_address_has_the_mac_address_of_its_id() {
    let mut world = two_floating();
    let made = world.tables(1, "");
    world.put([with_id()]);
    assert!(world.tables(1, "") == made, "nothing is said of that id");
    world.put([port_mac("f7", MAC)]);
    let text = golden::print(&world.tables(1, ""));
    assert!(!text.contains(MADE), "{text}");
    // Frames for it, answers to who asks, and what it sends.
    for words in [["table=0,", "dl_dst="], ["table=81,", "set_field:"], ["table=28,", "set_field:"]] {
        let is_it = |line: &&str| words.iter().all(|word| line.contains(word)) && line.contains(MAC);
        assert!(text.lines().any(|line| is_it(&line)), "{words:?} {text}");
    }
    assert!(state(&world, "203.0.113.7").contains(MAC));
    // The MAC address of another id, of a port that is gone, and none.
    world.put([port_mac("f8", "fa:16:3e:00:00:08")]);
    assert!(state(&world, "203.0.113.7").contains(MAC));
    let deleted = PortMac { written: Some(MAC.into()), deleted: true };
    world.put([Row::PortMac("f7".into(), Some(deleted))]);
    assert!(world.tables(1, "") == made);
    world.put([port_mac("f7", MAC)]);
    assert!(world.tables(1, "") != made);
    world.put([Row::PortMac("f7".into(), None)]);
    assert!(world.tables(1, "") == made);
}

/// Frames under the MAC address of a floating address reach its pod, and those under the one that it had do not.
#[test]
fn frames_come_and_go_under_the_mac_address_of_the_id() {
    let Some(ovs) = Ovs::start() else { return };
    let world = two_floating().with([with_id(), port_mac("f7", MAC)]);
    ovs.bridge("br1", &world.tables(1, ""));
    let down = |mac: &str| {
        format!(
            "in_port=2,tcp,dl_src=0e:00:00:00:00:09,dl_dst={mac},nw_src=198.51.100.2,nw_dst=203.0.113.7,nw_ttl=64,tp_src=80,tp_dst=1"
        )
    };
    ovs.trace("br1", &down(MAC)).goes_to([10]).says("set_field:10.11.1.10->ip_dst");
    ovs.trace("br1", &down(MADE)).is_dropped();
    let up = "in_port=10,tcp,dl_src=0a:00:00:01:00:0a,dl_dst=02:c0:e5:01:86:a0,nw_src=10.11.1.10,nw_dst=198.51.100.2,nw_ttl=64,tp_src=1,tp_dst=80";
    ovs.trace("br1", up).goes_to([2]).says(&format!("set_field:{MAC}->eth_src"));
}

#[test]
fn a_mac_address_that_cannot_be_is_refused_by_name() {
    let mut world = two_floating().with([with_id(), port_mac("f7", MAC)]);
    let cases = [
        ("f8", "nonsense", false, "is no such address"),
        ("f8", "01:00:5e:00:00:01", false, "is no such address"),
        ("f8", "00:00:00:00:00:00", false, "is no such address"),
        ("f8", MADE, false, "02:c0"),
        ("f8", MAC, true, "floating ip f7"),
    ];
    for (id, mac, in_use, text) in cases {
        let (at, was_in_use, words) = refused(&world, &[port_mac(id, mac)]).expect(mac);
        assert_eq!(at, FaultPlace::PortMac(id.into()));
        assert!(was_in_use == in_use && words.contains(text) && words.contains(id), "{words}");
    }
    let gone = PortMac { written: Some(MAC.into()), deleted: true };
    assert_eq!(refused(&world, &[Row::PortMac("f8".into(), Some(gone))]), None);
    // It may go from one to another in a commit.
    assert_eq!(refused(&world, &[Row::PortMac("f7".into(), None), port_mac("f8", MAC)]), None);
    let other = || with_ids(floating("r9", NET, &[("203.0.113.9", "blue:p2", "10.11.2.10")]), &["f7"]);
    let (_, in_use, words) = refused(&world, &[other()]).expect("an id is one address's");
    assert!(in_use && words.contains("203.0.113.7") && words.contains("router r1"), "{words}");
    // What is there before it is looked at: the first address has it.
    world.put([other()]);
    assert!(state(&world, "203.0.113.7").contains(MAC) && !state(&world, "203.0.113.9").contains(MAC));
}

/// A further subnet of a network grants addresses of its own, which leave by its gateway.
#[test]
fn a_further_subnet_has_its_own_addresses_and_gateway() {
    let Some(ovs) = Ovs::start() else { return };
    let mut world = two_floating();
    let before = [world.tables(1, ""), world.tables(2, "")];
    let there = |world: &World| before == [world.tables(1, ""), world.tables(2, "")];
    let asked = || floating("r1", NET, &[("203.0.113.30", "blue:p1", "10.11.1.10")]);
    let (_, _, words) = refused(&world, &[asked()]).expect("nobody grants it yet");
    assert!(words.contains("granted"), "{words}");
    world.put([external_subnet(SUBNET, NET, false), neighbour(SUBNET, "203.0.113.2", true)]);
    assert!(there(&world), "it changes nothing by itself");
    assert_eq!(refused(&world, &[asked()]), None);
    world.put([asked()]);
    let said = state(&world, "203.0.113.30");
    let [network, subnet] = [format!(r#""network-id":"{NET}""#), format!(r#""subnet-id":"{SUBNET}""#)];
    assert!(said.contains("desired") && said.contains(&network) && said.contains(&subnet), "{said}");
    assert!(!state(&world, "203.0.113.8").contains("subnet-id"));
    ovs.bridge("br1", &world.tables(1, ""));
    let up = "in_port=10,tcp,dl_src=0a:00:00:01:00:0a,dl_dst=02:c0:e5:01:86:a0,nw_src=10.11.1.10,nw_dst=198.51.100.2,nw_ttl=64,tp_src=1,tp_dst=80";
    ovs.trace("br1", up)
        .goes_to([2])
        .says("set_field:203.0.113.30->ip_src")
        .says("set_field:0e:00:00:00:00:02->eth_dst");
    // The network's VLAN is the subnet's, too.
    world.put([external(NET, Some(7))]);
    assert!(state(&world, "203.0.113.30").contains(r#""vlan-id":7"#));
    world.put([external(NET, None)]);
    // Without its network, and without itself.
    world.put([Row::ExternalNetwork(NET.into(), None)]);
    assert!(state(&world, "203.0.113.30").contains("does not exist"), "{}", state(&world, "203.0.113.30"));
    world.put([external(NET, None)]);
    assert!(state(&world, "203.0.113.30").contains("desired"));
    world.put([Row::ExternalSubnet(SUBNET.into(), None)]);
    assert!(state(&world, "203.0.113.30").contains("does not grant it"));
    world.put([floating("r1", NET, &[("203.0.113.7", "blue:p1", "10.11.1.10")])]);
    assert!(there(&world));
}

#[test]
fn a_subnet_that_cannot_be_is_refused_by_name() {
    let world = two_floating().with([external_subnet(SUBNET, NET, false)]);
    let row = |id: &str, of: Option<&str>, change: &dyn Fn(&mut crate::model::ExternalSubnet)| {
        let Row::ExternalSubnet(_, Some(mut row)) = external_subnet(id, "", true) else { unreachable!() };
        row.network = of.map(Into::into);
        change(&mut row);
        Row::ExternalSubnet(id.into(), Some(row))
    };
    let address = |text: &str| text.parse::<std::net::IpAddr>().unwrap();
    let as_is = |_: &mut crate::model::ExternalSubnet| ();
    let cases = [
        (row("s", None, &as_is), false, "external-network-id is missing"),
        (row("s", Some("none"), &as_is), false, "none is no external network"),
        (row("s", Some(SUBNET), &as_is), false, "is no external network"),
        (row(NET, Some(NET), &as_is), false, "has the id of an external network"),
        (row("s", Some(NET), &|row| row.gateway = Some(address("2001:db8:9::1"))), false, "ipv6-subnet"),
        (row("s", Some(NET), &|row| row.gateway = Some(address("192.0.2.1"))), false, "another IP version"),
        (
            row("s", Some(NET), &|row| row.granted = vec![address("203.0.113.31")..=address("203.0.113.31")]),
            true,
            SUBNET,
        ),
        (
            row("s", Some(NET), &|row| row.granted = vec![address("203.0.113.9")..=address("203.0.113.9")]),
            true,
            NET,
        ),
    ];
    for (row, in_use, text) in cases {
        let (_, was_in_use, words) = refused(&world, &[row]).expect(text);
        assert!(
            was_in_use == in_use && words.contains(text) && words.contains("external subnet"),
            "{text}: {words}"
        );
    }
    assert_eq!(refused(&world, &[row("s", Some(NET), &as_is)]), None);
    // As netvirt writes them for itself: nothing of addresses, and nothing to refuse.
    let bare = row("s", Some("none"), &|row| {
        (row.subnet, row.gateway) = (None, None);
        row.granted.clear();
    });
    assert_eq!(refused(&world, &[bare]), None);
    // A router that says of which subnet an address is.
    let of = |subnet: &str, address: &str| {
        let Row::ExtRouter(name, Some(mut row)) = ext_router("blue", NET, &[address]) else { unreachable!() };
        row.subnets = vec![(address.parse().unwrap(), subnet.into())];
        Row::ExtRouter(name, Some(row))
    };
    assert_eq!(refused(&world, &[of(SUBNET, "203.0.113.30")]), None);
    assert_eq!(refused(&world, &[of("any other name", "203.0.113.15")]), None);
    let (_, in_use, words) = refused(&world, &[of(SUBNET, "203.0.113.15")]).expect("another one's");
    assert!(!in_use && words.contains("router blue") && words.contains(SUBNET), "{words}");
}

/// Where the pods of a router are translated is shown as netvirt shows it.
#[test]
fn napt_switches_tell_where_a_router_is() {
    let mut world = two_floating();
    assert_eq!(napt_switch(&world), "");
    world.put([ext_router("blue", NET, &["203.0.113.15", "203.0.113.16"])]);
    let at = |world: &World| {
        let said = state(world, "203.0.113.15");
        if said.contains("0000000000000001") { 1 } else { 2 }
    };
    let first = at(&world);
    assert!(
        napt_switch(&world).contains(&format!(r#""primary-switch-id":"{first}""#)),
        "{}",
        napt_switch(&world)
    );
    world.put([Row::Lost(Dpid(first), true)]);
    let second = at(&world);
    assert_ne!(first, second);
    assert!(
        napt_switch(&world).contains(&format!(r#""primary-switch-id":"{second}""#)),
        "{}",
        napt_switch(&world)
    );
    // Who has none is not shown.
    world.put([ext_router("blue", NET, &[])]);
    assert_eq!(napt_switch(&world), "");
}

/// Who asks for an address on the link that nobody granted is refused; of what is elsewhere, or others gave, its state tells.
#[test]
fn a_service_has_no_address_that_nobody_granted() {
    let mut world = two_floating();
    let asks = |address| exposed("web", "blue", &[address], &[]);
    let (at, in_use, words) = refused(&world, &[asks("203.0.113.99")]).expect("it is on the link");
    assert_eq!(at, FaultPlace::Service("web".into()));
    assert!(
        !in_use && words.contains("203.0.113.99") && words.contains(NET) && words.contains("granted"),
        "{words}"
    );
    assert!(refused(&world, &[asks("2001:db8:113::99")]).is_some());
    let reported = |address| {
        let Row::Service(uid, Some(mut row)) = asks(address) else { unreachable!() };
        row.reported = row.outside.clone();
        Row::Service(uid, Some(row))
    };
    for row in [asks("203.0.113.9"), asks("192.0.2.7"), reported("203.0.113.99")] {
        assert_eq!(refused(&world, &[row]), None);
    }
    world.put([reported("203.0.113.99")]);
    assert_eq!(refused(&world, &[asks("203.0.113.99")]), None, "it is no other than before");
    let said = world.read(Operational, "coeus-service:service-states/service=web");
    assert!(said.contains("address 203.0.113.99 is granted by no external network"), "{said}");
    world.put([asks("203.0.113.9")]);
    assert!(!world.read(Operational, "coeus-service:service-states/service=web").contains("granted"));
}
