//! External networks with IPv6: who gets out with which address, who is reached by one, and who answers for it.

use super::super::testing::*;
use super::assert_golden_of;
use super::ovs::Ovs;
use crate::datastore::Store::{Config, Operational};
use crate::model::{ExternalNetwork, Row, floating_mac};
use crate::pipeline::golden;

const NET: &str = "0fbad80d-b0b4-4580-8d14-11fcaced2ac6";
const GATEWAY: &str = "02:c0:e5:01:86:a0";
/// Of the address that node 1 shares, of the one of p1, and of the one of p2.
const SHARED: &str = "02:c6:00:00:00:15";
const OF_P1: &str = "02:c6:00:00:00:07";
const OF_P2: &str = "02:c6:00:00:00:08";

/// Two nodes with a port to the physical network (2), where a gateway and a host are known.
fn world() -> World {
    two_pods()
        .of_both_versions()
        .with([uplink(1, "physnet", 2), uplink(2, "physnet", 2), external(NET, None)])
        .with([neighbour(NET, "203.0.113.1", true)])
        .with([neighbour(NET, "2001:db8:113::1", true), neighbour(NET, "2001:db8:113::9", true)])
}

/// Each node's address of the network, of both versions.
fn shared(v4: &[(u64, &str)], v6: &[(u64, &str)]) -> Row {
    translated_by_both(NET, v4, v6)
}

fn state(world: &World, address: &str) -> String {
    let address = address.replace(':', "%3A");
    world.read(Operational, &format!("coeus-external:floating-addresses/floating-address={address}"))
}

fn tcp(source: &str, target: &str) -> String {
    format!("tcp6,ipv6_src={source},ipv6_dst={target},nw_ttl=64,tp_src=40000,tp_dst=80")
}

fn out_of(node: u8, port: u8, source: &str, target: &str) -> String {
    format!("in_port={port},dl_src=0a:00:00:0{node}:00:{port:02x},dl_dst={GATEWAY},{}", tcp(source, target))
}

fn into(mac: &str, source: &str, target: &str) -> String {
    format!("in_port=2,dl_src=0e:00:00:00:00:01,dl_dst={mac},{}", tcp(source, target))
}

fn about(kind: u8, mac: &str, to: &str, target: &str) -> String {
    format!(
        "in_port=2,icmp6,dl_src=0e:00:00:00:00:09,dl_dst={mac},ipv6_src=2001:db8:113::9,ipv6_dst={to},nw_ttl=255,icmpv6_type={kind},icmpv6_code=0,nd_target={target}"
    )
}

fn asks(target: &str) -> String {
    about(135, "33:33:ff:00:00:15", "ff02::1:ff00:15", target)
}

const PUNTED: &str = "userdata=6e.65.69.67.68.62.6f.75.72";

#[test]
fn a_network_of_both_versions() {
    let world = world().with([shared(&[(1, "203.0.113.15")], &[(1, "2001:db8:113::15")])]).with([floating(
        "r1",
        NET,
        &[("2001:db8:113::7", "blue:p1", "fd00:1::10")],
    )]);
    assert_golden_of(&["interface", "vpn", "arp", "nd", "nat"], "outside-dual-stack", &world, &[1, 2]);
}

#[test]
fn pods_of_a_node_share_an_address_of_ipv6() {
    let Some(ovs) = Ovs::start() else { return };
    let mut world = world();
    let before = [world.tables(1, ""), world.tables(2, "")];
    world.put([shared(&[], &[(1, "2001:db8:113::15")])]);
    assert!(
        state(&world, "2001:db8:113::15").contains(r#""state":"desired""#),
        "{}",
        state(&world, "2001:db8:113::15")
    );
    ovs.bridge("br1", &world.tables(1, ""));
    // Out: to a neighbour as such, to all else by the gateway; who is on the link and not known is asked for.
    for (target, mac) in [("2001:db8:113::9", "0e:00:00:00:00:09"), ("2001:db8:9::1", "0e:00:00:00:00:01")] {
        ovs.trace("br1", &out_of(1, 10, "fd00:1::10", target))
            .goes_to([2])
            .says("ct(commit,zone=65520,nat(src=2001:db8:113::15)")
            .says(&format!("set_field:{SHARED}->eth_src"))
            .says(&format!("set_field:{mac}->eth_dst"))
            .says("nw_ttl=63");
    }
    ovs.trace("br1", &out_of(1, 10, "fd00:1::10", "2001:db8:113::77")).says(PUNTED);
    // Inside nothing is different; nobody gets out with another's address, or to where no router leads.
    ovs.trace("br1", &out_of(1, 10, "fd00:1::10", "fd00:1::20")).goes_to([11]);
    ovs.trace("br1", &out_of(1, 10, "fd00:1::77", "2001:db8:9::1")).is_dropped();
    ovs.trace("br1", &out_of(1, 10, "fd00:1::10", "fe80::1")).is_dropped();
    ovs.trace("br1", &out_of(1, 10, "fd00:1::10", "ff0e::1")).is_dropped();
    // In: whose it is, connections tell; nobody is reached otherwise.
    ovs.trace("br1", &into(SHARED, "2001:db8:9::1", "2001:db8:113::15"))
        .goes_to([])
        .says("ct(zone=65520,nat)");
    ovs.trace("br1", &into(SHARED, "2001:db8:9::1", "fd00:1::10")).is_dropped();
    // Without an address of IPv4 there, nothing of IPv4 gets out; a node without any has nothing of it.
    let of_v4 = format!(
        "in_port=10,tcp,dl_src=0a:00:00:01:00:0a,dl_dst={GATEWAY},nw_src=10.11.1.10,nw_dst=198.51.100.2,nw_ttl=64,tp_src=1,tp_dst=80"
    );
    ovs.trace("br1", &of_v4).is_dropped();
    let nat = golden::print(&world.tables(1, "nat"));
    assert!(nat.contains("ipv6_src=fd00:1::10") && !nat.contains("nw_src=10.11.1.10"), "{nat}");
    assert!(world.tables(2, "") == before[1], "a node without an entry");
    world.put([shared(&[(1, "203.0.113.15")], &[(1, "2001:db8:113::15")])]);
    ovs.bridge("br2", &world.tables(1, ""));
    ovs.trace("br2", &of_v4).goes_to([2]).says("nat(src=203.0.113.15)");
    ovs.trace("br2", &out_of(1, 10, "fd00:1::10", "2001:db8:9::1")).goes_to([2]);
    world.put([Row::SourceNat(None)]);
    assert!(before == [world.tables(1, ""), world.tables(2, "")]);
}

#[test]
fn one_switch_answers_solicitations_for_an_address() {
    let Some(ovs) = Ovs::start() else { return };
    let mut world = world().with([shared(&[], &[(1, "2001:db8:113::15")])]);
    ovs.bridge("br1", &world.tables(1, ""));
    ovs.bridge("br2", &world.tables(2, ""));
    let answered = ovs.trace("br1", &asks("2001:db8:113::15"));
    answered
        .goes_to([2])
        .says(PUNTED)
        .says(&format!("set_field:{SHARED}->eth_src"))
        .says("set_field:136->icmpv6_type");
    ovs.trace("br2", &asks("2001:db8:113::15")).is_dropped();
    ovs.trace("br1", &asks("2001:db8:113::16")).is_dropped();
    // What a neighbour answers is for the controller, and for nobody else.
    let told = about(136, SHARED, "2001:db8:113::15", "2001:db8:113::9");
    ovs.trace("br1", &told).says(PUNTED).goes_to([]);
    // Under a VLAN, with its tag.
    world.put([external(NET, Some(100))]);
    ovs.bridge("br3", &world.tables(1, ""));
    ovs.trace("br3", &asks("2001:db8:113::15")).is_dropped();
    let tagged = |rest: &str| format!("dl_vlan=100,{rest}");
    ovs.trace("br3", &tagged(&asks("2001:db8:113::15"))).goes_to([2]).says("push_vlan").says("vlan_vid");
    ovs.trace("br3", &tagged(&told)).says(PUNTED).goes_to([]);
    ovs.trace("br3", &out_of(1, 10, "fd00:1::10", "2001:db8:9::1")).goes_to([2]).says("push_vlan");
}

#[test]
fn a_floating_address_of_ipv6_leads_in_and_out_at_its_node_alone() {
    let Some(ovs) = Ovs::start() else { return };
    let mut world = world()
        .with([floating("r1", NET, &[("2001:db8:113::7", "blue:p1", "fd00:1::10")])])
        .with([floating("r2", NET, &[("2001:db8:113::8", "blue:p2", "fd00:2::10")])])
        .with([shared(&[], &[(1, "2001:db8:113::15")])]);
    ovs.bridge("br1", &world.tables(1, ""));
    ovs.bridge("br2", &world.tables(2, ""));
    ovs.trace("br1", &into(OF_P1, "2001:db8:9::1", "2001:db8:113::7"))
        .goes_to([10])
        .says("set_field:fd00:1::10->ipv6_dst")
        .says(&format!("set_field:{GATEWAY}->eth_src"))
        .says("nw_ttl=63");
    ovs.trace("br2", &into(OF_P1, "2001:db8:9::1", "2001:db8:113::7")).is_dropped();
    ovs.trace("br2", &into(OF_P2, "2001:db8:9::1", "2001:db8:113::8")).goes_to([10]);
    // From the link itself nobody is routed.
    ovs.trace("br1", &into(OF_P1, "fe80::9", "2001:db8:113::7")).is_dropped();
    // Its own address comes before that of its node.
    ovs.trace("br1", &out_of(1, 10, "fd00:1::10", "2001:db8:9::1"))
        .goes_to([2])
        .says("set_field:2001:db8:113::7->ipv6_src")
        .says(&format!("set_field:{OF_P1}->eth_src"));
    ovs.trace("br1", &out_of(1, 11, "fd00:1::20", "2001:db8:9::1")).goes_to([2]).says("2001:db8:113::15");
    // It goes with its pod.
    world.put([no_pod("p1")]);
    assert!(state(&world, "2001:db8:113::7").contains("interface blue:p1 does not exist"));
}

/// The MAC address of an address of IPv6 has its last four octets.
#[test]
fn a_pod_behind_a_service_has_an_address_outside_of_each_version() {
    let world = world().with([exposed("web", "blue", &["203.0.113.7", "2001:db8:113::7"], &["p1"])]);
    let info = world.read(Config, "odl-nat:floating-ip-info/router-ports=web");
    for (internal, external) in [("10.11.1.10", "203.0.113.7"), ("fd00:1::10", "2001:db8:113::7")] {
        let mapping = format!(r#"{{"internal-ip":"{internal}","external-ip":"{external}"}}"#);
        assert!(info.contains(&mapping), "{info}");
    }
}

#[test]
fn an_address_has_its_mac_address_wherever_it_is() {
    let mac = |address: &str| floating_mac(address.parse().unwrap()).to_string();
    assert_eq!(mac("203.0.113.7"), "02:c0:cb:00:71:07");
    assert_eq!(mac("2001:db8:113::7"), OF_P1);
    assert_eq!(mac("2001:db8:113::1:fedc:ba98"), "02:c6:fe:dc:ba:98");
}

#[test]
fn a_router_may_be_known_by_its_link_local_address() {
    let Some(ovs) = Ovs::start() else { return };
    let Row::ExternalNetwork(id, Some(row)) = external(NET, None) else { unreachable!() };
    let row = ExternalNetwork { gateway_v6: Some("fe80::1".parse().unwrap()), ..row };
    let world = world()
        .with([Row::ExternalNetwork(id, Some(row)), neighbour(NET, "fe80::1", true)])
        .with([shared(&[], &[(1, "2001:db8:113::15")])]);
    ovs.bridge("br1", &world.tables(1, ""));
    ovs.trace("br1", &out_of(1, 10, "fd00:1::10", "2001:db8:9::1"))
        .goes_to([2])
        .says("set_field:0e:00:00:00:00:01->eth_dst");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let world = world().with([floating("r1", NET, &[("2001:db8:113::7", "blue:p1", "fd00:1::10")])]);
    let refused = |rows: Vec<Row>| {
        let fault = world.workshop.model.check_external(&rows);
        fault.map_or_else(|fault| (fault.in_use, fault.message), |()| Default::default())
    };
    let is = |rows: Vec<Row>, in_use: bool, words: &[&str]| {
        let (taken, message) = refused(rows);
        assert!(!message.is_empty() && taken == in_use, "{words:?}: {taken} {message:?}");
        for word in words {
            assert!(message.contains(word), "{word}: {message}");
        }
    };
    is(
        vec![shared(&[], &[(1, "2001:db8:113::99")])],
        false,
        &["ipv6-source-address", "2001:db8:113::99", "granted"],
    );
    is(vec![shared(&[], &[(1, "2001:db8:113::7")])], true, &["2001:db8:113::7", "blue:p1"]);
    let both = [(1, "2001:db8:113::15"), (2, "2001:db8:113::15")];
    is(vec![shared(&[], &both)], true, &["2001:db8:113::15", "192.168.56.12"]);
    let two =
        [shared(&[], &both[..1]), floating("r9", NET, &[("2001:db8:113::15", "blue:p2", "fd00:2::10")])];
    is(two.to_vec(), true, &["2001:db8:113::15", "192.168.56.11"]);
    assert_eq!(refused(vec![shared(&[(1, "203.0.113.15")], &both[..1])]).1, "");
    let network = |id: &str, change: &dyn Fn(&mut ExternalNetwork)| {
        let Row::ExternalNetwork(id, Some(mut row)) = external(id, None) else { unreachable!() };
        change(&mut row);
        vec![Row::ExternalNetwork(id, Some(row))]
    };
    let address = |text: &str| text.parse().unwrap();
    let granted = |ranges: &[(&str, &str)]| {
        ranges.iter().map(|(first, last)| address(first)..=address(last)).collect::<Vec<_>>()
    };
    let one = |first: &str, last: &str| network(NET, &|row| row.granted = granted(&[(first, last)]));
    is(
        network(NET, &|row| row.gateway_v6 = Some("2001:db8:9::1".parse().unwrap())),
        false,
        &["ipv6-gateway", "2001:db8:9::1", "ipv6-subnet"],
    );
    is(one("2001:db8:113::1", "2001:db8:113::9"), false, &["2001:db8:113::1", "granted"]);
    is(one("203.0.113.5", "2001:db8:113::9"), false, &["one IP version"]);
    is(one("2001:db8:113::9", "2001:db8:113::8"), false, &["ends before"]);
    is(one("ff02::1", "ff02::2"), false, &["nobody may have"]);
    is(one("2001:db8:113::5", "2001:db8:113:0:1::5"), false, &["last four octets", "/96"]);
    // Of one wire: in the network itself, or in another one; not of another VLAN.
    let twice = [("2001:db8:113::5", "2001:db8:113::9"), ("2001:db8:114::9", "2001:db8:114::9")];
    is(network(NET, &|row| row.granted = granted(&twice)), false, &["2001:db8:114::9", "last four octets"]);
    is(network("other", &|row| row.granted = granted(&twice[1..])), false, &["2001:db8:114::9", NET]);
    let apart = |row: &mut ExternalNetwork| (row.granted, row.vlan) = (granted(&twice[1..]), Some(7));
    assert_eq!(refused(network("other", &apart)).1, "");
}
