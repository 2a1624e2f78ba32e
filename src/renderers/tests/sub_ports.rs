//! Sub-ports: several interfaces behind one port, each by its VLAN.

use super::super::testing::*;
use super::assert_golden_of;
use super::by_hand::{put_elan, put_interface, put_vpn, tables, world};
use super::mini::Mini;
use super::ovs::Ovs;
use crate::datastore::Store::{Config, Operational};
use crate::model::{Reason, Row, SubPort};
use crate::net::Dpid;
use crate::renderers::{Exit, Protocol, TraceQuery};

const MACS: [&str; 3] = ["02:00:00:00:00:07", "02:00:00:00:00:08", "0a:00:00:00:01:12"];
const GATEWAY: &str = "02:c0:e5:01:86:a0";

fn sub_port(row: Row, trunk: &str, vlan: u16) -> Row {
    let Row::Pod(uid, Some(mut pod)) = row else { unreachable!() };
    pod.interfaces[0].trunk = Some(SubPort { trunk: trunk.into(), vlan, mac: Some(mac(9, vlan.into())) });
    Row::Pod(uid, Some(pod))
}

/// A machine with a port of its own, and p1 and p2 in it, which are one ELAN.
fn machine() -> World {
    World::default()
        .with(switch(1))
        .with([pod("vm", "machines", 1, Some("10.11.9.10")), port(1, "machines:vm", 10)])
        .with([sub_port(pod("p1", "blue", 1, Some("10.11.1.10")), "machines:vm", 7)])
        .with([sub_port(pod("p2", "blue", 1, Some("10.11.1.20")), "veth-machines:vm", 8)])
}

#[test]
fn each_has_its_tag() {
    assert_golden_of(&["interface", "elan"], "sub-ports", &machine(), &[1]);
}

#[test]
fn who_waits_for_what_says_so() {
    let mut world = machine();
    assert!(world.pending("p1").is_empty() && world.pending("p2").is_empty());
    // By another name of the same port: nothing of the configuration says that it is the same.
    world.put([sub_port(pod("p3", "red", 1, Some("10.11.1.30")), "veth-machines:vm", 7)]);
    let switch = Dpid(1);
    let taken = Reason::PortTaken { switch, ofport: 10, vlan: Some(7), owner: "blue:p1".into() };
    assert_eq!(world.pending("p3"), [taken]);
    world.put([no_port(1, "machines:vm")]);
    assert_eq!(world.pending("p1"), [Reason::NoTrunkPort { trunk: "machines:vm".into() }]);
    assert_eq!(world.pending("p2"), [Reason::NoTrunkPort { trunk: "veth-machines:vm".into() }]);
    world.put([port(1, "machines:vm", 10)]);
    assert!(world.pending("p1").is_empty() && world.pending("p2").is_empty());
}

/// c1 and c2 behind tap1 of switch 1, by hand and as a pod; c3 at another port.
fn by_hand() -> Mini {
    let mut mini = world();
    put_elan(&mut mini, "lan", 5001);
    put_vpn(&mut mini, "corp", "7:1", "", "64512:1");
    for (name, vlan, at) in [("c1", 7, 0), ("c2", 8, 1)] {
        put_interface(&mut mini, name, "tap1-1", "lan", "corp", &format!("10.0.0.1{}", at + 1));
        let member = format!(
            r#"{{"ietf-interfaces:interface":[{{"name":"{name}","type":"iana-if-type:l2vlan","enabled":true,
            "odl-interface:l2vlan-mode":"trunk-member","odl-interface:parent-interface":"tap1-1","odl-interface:vlan-id":{vlan}}}]}}"#
        );
        mini.put(Config, &format!("ietf-interfaces:interfaces/interface={name}"), &member).unwrap();
        let mac = format!(
            r#"{{"elan:static-mac-entries":[{{"mac-address":"{}","ip-prefix":"10.0.0.1{}"}}]}}"#,
            MACS[at],
            at + 1
        );
        let path = format!(
            "elan:elan-interfaces/elan-interface={name}/static-mac-entries={}",
            MACS[at].replace(':', "%3A")
        );
        mini.put(Config, &path, &mac).unwrap();
    }
    put_interface(&mut mini, "c3", "tap2-1", "lan", "corp", "10.0.0.13");
    mini
}

#[test]
fn a_tag_is_one_interface_s() {
    let mut mini = by_hand();
    let status = mini.get(Operational, "coeus-status:objects/object=c2");
    assert!(status.contains(r#""state":"desired""#), "{status}");
    let pod = |trunk: &str, vlan: u16| {
        format!(
            r#"{{"pod:pods":[{{"uid":"11111111-1111-1111-1111-111111111111","name":"p","network-NS":"blue","host-ip-address":"192.168.56.11",
            "interface":[{{"uid":"11111111-1111-1111-1111-111111111111","ip-address":"10.11.1.10",
                "coeus-pod:trunk":{{"parent-interface":"{trunk}","vlan-id":{vlan},"mac-address":"02:00:00:00:00:09"}}}}]}}]}}"#
        )
    };
    let path = "pod:coe/pods=11111111-1111-1111-1111-111111111111";
    let refused = mini.put(Config, path, &pod("tap1-1", 8)).unwrap_err();
    assert!(
        refused.message.contains("vlan-id 8 of trunk tap1-1 is in use by the interface c2"),
        "{refused:?}"
    );
    mini.put(Config, path, &pod("tap1-1", 9)).unwrap();
    let derived = mini.get(Config, "ietf-interfaces:interfaces/interface=blue%3Ap");
    assert!(
        derived.contains(r#"-interface:l2vlan-mode":"trunk-member""#)
            && derived.contains(r#"-interface:vlan-id":9"#),
        "{derived}"
    );
}

#[test]
fn frames_keep_to_their_tags() {
    let Some(ovs) = Ovs::start() else { return };
    let mini = by_hand();
    ovs.bridge("br", &tables(&mini, 1));
    let trace = |packet: &str| {
        let text = ovs.control().ask("ofproto/trace", &["br", packet]);
        text.lines().find(|line| line.starts_with("Datapath actions:")).unwrap_or(&text).to_owned()
    };
    let from = |port: u32, tag: &str, mac: &str, to: &str, source: &str, address: &str| {
        format!(
            "in_port={port},{tag}udp,eth_src={mac},eth_dst={to},ip_src={source},ip_dst={address},nw_ttl=64,udp_src=1,udp_dst=2"
        )
    };
    // To each other, through the port they share; and to a port without tags.
    let text = trace(&from(11, "dl_vlan=7,", MACS[0], MACS[1], "10.0.0.11", "10.0.0.12"));
    assert!(text.contains("push_vlan(vid=8") && !text.contains("vid=7"), "{text}");
    let text = trace(&from(11, "dl_vlan=7,", MACS[0], MACS[2], "10.0.0.11", "10.0.0.13"));
    assert!(text.contains("pop_vlan") && !text.contains("push_vlan"), "{text}");
    let text = trace(&from(12, "", MACS[2], MACS[0], "10.0.0.13", "10.0.0.11"));
    assert!(text.contains("push_vlan(vid=7"), "{text}");
    // To everybody, but not back to the sender.
    let all = "ff:ff:ff:ff:ff:ff";
    let text = trace(&from(11, "dl_vlan=7,", MACS[0], all, "10.0.0.11", "255.255.255.255"));
    assert!(text.contains("push_vlan(vid=8") && !text.contains("vid=7"), "{text}");
    // What the switch answers carries the sender's tag: it has that already, and the same port.
    let echo = format!(
        "in_port=11,dl_vlan=8,icmp,eth_src={},eth_dst={GATEWAY},ip_src=10.0.0.12,ip_dst=10.0.0.1,nw_ttl=64,icmp_type=8",
        MACS[1]
    );
    let text = trace(&echo);
    assert!(text.contains("icmp(type=0") && !text.contains("_vlan") && !text.contains("drop"), "{text}");
    // Another's tag, no tag and one that nobody has lead nowhere.
    for (tag, mac) in [("dl_vlan=8,", MACS[0]), ("", MACS[0]), ("dl_vlan=9,", MACS[0])] {
        let text = trace(&from(11, tag, mac, MACS[2], "10.0.0.11", "10.0.0.13"));
        assert!(text.contains("drop"), "{tag} {text}");
    }
}

#[test]
fn a_trace_begins_and_ends_with_the_tag() {
    let mini = by_hand();
    let query =
        TraceQuery { from: "c1".into(), to: "c2".into(), protocol: Protocol::Icmp, port: 80, by_v6: false };
    let start = mini.engine.trace_start(&query).unwrap();
    let (name, exit) = start.to.unwrap();
    assert_eq!((&*name, exit.vlan), ("c2", Some(8)));
    assert_eq!(mini.engine.interface_at(exit).as_deref(), Some("c2"));
    assert_eq!(Exit::of(exit.dpid, exit.port, &start.packet).vlan, Some(7));
    assert_eq!(mini.engine.interface_at(Exit { vlan: None, ..exit }), None);
}
