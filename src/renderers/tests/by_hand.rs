//! netvirt's own configuration, written by hand: it acts, keeps out of the way of what pods make, and VPNs exchange routes.

use super::super::Engine;
use super::mini::Mini;
use super::ovs::Ovs;
use crate::datastore::Engine as _;
use crate::datastore::Store::{Config, Operational};
use crate::net::Dpid;
use crate::pipeline::{SwitchTables, golden};
use crate::schema::{DataPath, builtin};

const P1: &str = "11111111-1111-1111-1111-111111111111";

/// A switch as OVSDB describes it, with ports `tap1` to `tap3` that carry nobody's name, and one for `blue:p1`.
fn switch(number: u64) -> String {
    let port = |name: &str, ofport: u32, iface: &str| {
        format!(
            r#"{{"tp-id":"{name}","ovsdb:ofport":{ofport},"ovsdb:interface-external-ids":[
                {{"external-id-key":"iface-id","external-id-value":"{iface}"}},
                {{"external-id-key":"attached-mac","external-id-value":"0a:00:00:00:0{number}:{ofport}"}}]}}"#
        )
    };
    let ports = [("tap1", 11, "x"), ("tap2", 12, "y"), ("tap3", 13, "z"), ("veth1", 10, "blue:p1")]
        .map(|(name, ofport, iface)| port(&format!("{name}-{number}"), ofport, iface))
        .join(",");
    format!(
        r#"{{"node-id":"ovsdb://uuid/{number}","ovsdb:openvswitch-other-configs":[
            {{"other-config-key":"local_ip","other-config-value":"192.168.56.1{number}"}}]}},
        {{"node-id":"ovsdb://uuid/{number}/bridge/br-int","ovsdb:bridge-name":"br-int","ovsdb:datapath-id":"00:00:00:00:00:00:00:0{number}",
         "termination-point":[{{"tp-id":"tun0","ovsdb:ofport":1,"ovsdb:interface-type":"ovsdb:interface-type-vxlan",
             "ovsdb:options":[{{"option":"remote_ip","value":"flow"}}]}},{ports}]}}"#
    )
}

pub fn world() -> Mini {
    let mut mini = Mini::new();
    let nodes = format!(
        r#"{{"network-topology:topology":[{{"topology-id":"ovsdb:1","node":[{},{}]}}]}}"#,
        switch(1),
        switch(2)
    );
    mini.put(Operational, "network-topology:network-topology/topology=ovsdb%3A1", &nodes).unwrap();
    mini
}

/// The three parts of an interface, as netvirt's users write them.
pub fn put_interface(mini: &mut Mini, name: &str, port: &str, elan: &str, vpn: &str, address: &str) {
    let ietf = format!(
        r#"{{"ietf-interfaces:interface":[{{"name":"{name}","type":"iana-if-type:l2vlan","enabled":true,
        "odl-interface:l2vlan-mode":"trunk","odl-interface:parent-interface":"{port}"}}]}}"#
    );
    let key = name.replace(':', "%3A");
    mini.put(Config, &format!("ietf-interfaces:interfaces/interface={key}"), &ietf).unwrap();
    let member = format!(r#"{{"elan:elan-interface":[{{"name":"{name}","elan-instance-name":"{elan}"}}]}}"#);
    mini.put(Config, &format!("elan:elan-interfaces/elan-interface={key}"), &member).unwrap();
    if vpn.is_empty() {
        return;
    }
    let routed = format!(
        r#"{{"l3vpn:vpn-interface":[{{"name":"{name}","vpn-instance-names":[{{"vpn-name":"{vpn}"}}],
        "odl-l3vpn:adjacency":[{{"ip_address":"{address}/32","adjacency_type":"primary-adjacency","subnet_gateway_ip":"10.0.0.1"}}]}}]}}"#
    );
    mini.put(Config, &format!("l3vpn:vpn-interfaces/vpn-interface={key}"), &routed).unwrap();
}

fn vpn(name: &str, rd: &str, imports: &str, exports: &str) -> String {
    let target = |target: &str, kind: &str| {
        (!target.is_empty())
            .then(|| format!(r#"{{"vrfRTValue":"{target}","vrfRTType":"{kind}_extcommunity"}}"#))
    };
    let targets: Vec<_> =
        [target(imports, "import"), target(exports, "export")].into_iter().flatten().collect();
    format!(
        r#"{{"l3vpn:vpn-instance":[{{"vpn-instance-name":"{name}","ipv4-family":{{"route-distinguisher":["{rd}"],
        "vpnTargets":{{"vpnTarget":[{}]}}}}}}]}}"#,
        targets.join(",")
    )
}

pub fn put_vpn(mini: &mut Mini, name: &str, rd: &str, imports: &str, exports: &str) {
    let path = format!("l3vpn:vpn-instances/vpn-instance={name}");
    mini.put(Config, &path, &vpn(name, rd, imports, exports)).unwrap();
}

pub fn put_elan(mini: &mut Mini, name: &str, vni: u32) {
    let body = format!(
        r#"{{"elan:elan-instance":[{{"elan-instance-name":"{name}","segmentation-id":{vni},"segment-type":"elan:segment-type-vxlan"}}]}}"#
    );
    mini.put(Config, &format!("elan:elan-instances/elan-instance={name}"), &body).unwrap();
}

/// corp on switch 1 and 2, lab on switch 2, each in a LAN of its own; corp and lab exchange routes if they should.
fn corp_and_lab(exchange: bool) -> Mini {
    let mut mini = world();
    put_elan(&mut mini, "lan-corp", 5001);
    put_elan(&mut mini, "lan-lab", 5002);
    let (corp, lab) = if exchange { ("64512:1", "64512:2") } else { ("", "") };
    put_vpn(&mut mini, "corp", "7:1", lab, corp);
    put_vpn(&mut mini, "lab", "7:2", corp, lab);
    put_interface(&mut mini, "c1", "tap1-1", "lan-corp", "corp", "10.0.0.11");
    put_interface(&mut mini, "c2", "tap2-2", "lan-corp", "corp", "10.0.0.12");
    put_interface(&mut mini, "l1", "tap1-2", "lan-lab", "lab", "10.9.0.11");
    mini
}

pub fn tables(mini: &Mini, switch: u64) -> SwitchTables {
    mini.engine.desired().remove(&Dpid(switch)).unwrap_or_default()
}

#[test]
fn what_is_written_by_hand_acts_as_what_pods_make() {
    let mini = corp_and_lab(false);
    for (store, path, part) in [
        (Config, "elan:elan-instances", r#""elan-instance-name":"lan-corp""#),
        (Config, "elan:elan-instances", r#""segmentation-id":5001"#),
        (Operational, "elan:elan-tag-name-map", r#""name":"lan-corp""#),
        (Config, "odl-l3vpn:vpn-instance-to-vpn-id", r#""vpn-instance-name":"corp""#),
        (Config, "odl-fib:fibEntries", r#""routeDistinguisher":"7:1""#),
        (Config, "odl-fib:fibEntries", r#""destPrefix":"10.0.0.12/32""#),
        (Operational, "coeus-status:objects", r#""name":"c1","state":"desired""#),
        (Operational, "coeus-status:objects", r#""gateway-source":"adjacency""#),
        (Operational, "ietf-interfaces:interfaces-state", r#""name":"c1""#),
    ] {
        let text = mini.get(store, path);
        assert!(text.contains(part), "{path} has no {part}: {text}");
    }
    let text = golden::print(&tables(&mini, 1));
    assert!(text.contains("0x1389"), "the VNI that was asked for: {text}");
}

/// What a switch leads to: a physical network, by a patch port.
fn put_uplink(mini: &mut Mini, network: &str, ofport: u32) {
    let port = format!(
        r#"{{"network-topology:termination-point":[{{"tp-id":"patch-{network}","ovsdb:ofport":{ofport},
            "ovsdb:interface-type":"ovsdb:interface-type-patch","ovsdb:interface-external-ids":[
            {{"external-id-key":"coeus-physical-network","external-id-value":"{network}"}}]}}]}}"#
    );
    let node = "ovsdb%3A%2F%2Fuuid%2F1%2Fbridge%2Fbr-int";
    let path = format!(
        "network-topology:network-topology/topology=ovsdb%3A1/node={node}/termination-point=patch-{network}"
    );
    mini.put(Operational, &path, &port).unwrap();
}

/// `physical-network-name` is the name of one network: another one is not taken in its place, were it the only one.
#[test]
fn an_elan_on_a_physical_network_is_on_that_one_alone() {
    let mut mini = world();
    put_uplink(&mut mini, "physnet", 20);
    put_interface(&mut mini, "c1", "tap1-1", "wire", "", "");
    let wire = |mini: &mut Mini, network: &str| {
        let body = format!(
            r#"{{"elan:elan-instance":[{{"elan-instance-name":"wire","segment-type":"elan:segment-type-vlan",
            "segmentation-id":300,"physical-network-name":"{network}"}}]}}"#
        );
        mini.put(Config, "elan:elan-instances/elan-instance=wire", &body).unwrap();
    };
    let status = |mini: &Mini| mini.get(Operational, "coeus-status:objects/object=c1");
    let leaves = |mini: &Mini| golden::print(&tables(mini, 1)).contains("in_port=20,dl_vlan=300");
    wire(&mut mini, "physnet");
    assert!(status(&mini).contains("desired") && leaves(&mini), "{}", status(&mini));
    // The interface itself asks for nothing.
    assert!(!status(&mini).contains("reason"), "{}", status(&mini));
    for _ in 0..2 {
        wire(&mut mini, "nonet");
        let text = status(&mini);
        assert!(
            text.contains("pending") && text.contains("does not lead to physical network nonet"),
            "{text}"
        );
        assert!(!leaves(&mini));
        // Nor where it leads to several.
        put_uplink(&mut mini, "other", 21);
    }
}

/// Who joins the ELAN of pods takes it as it is, though he comes before them in order.
#[test]
fn an_interface_that_joins_the_elan_of_pods_does_not_change_its_type() {
    let mut mini = world();
    put_uplink(&mut mini, "physnet", 20);
    let pod = format!(
        r#"{{"pod:pods":[{{"uid":"{P1}","name":"p1","network-NS":"blue","host-ip-address":"192.168.56.11",
        "interface":[{{"uid":"{P1}","ip-address":"10.11.1.10","network-type":"VLAN","segmentation-id":300}}]}}]}}"#
    );
    mini.put(Config, &format!("pod:coe/pods={P1}"), &pod).unwrap();
    let leaves = |mini: &Mini| golden::print(&tables(mini, 1)).contains("in_port=20,dl_vlan=300");
    assert!(leaves(&mini));
    put_interface(&mut mini, "c1", "tap1-1", "192.168.56.11:blue", "", "");
    assert!(leaves(&mini));
    for name in ["c1", "blue%3Ap1"] {
        let status = mini.get(Operational, &format!("coeus-status:objects/object={name}"));
        assert!(status.contains("desired") && !status.contains("asks for something else"), "{status}");
    }
}

#[test]
fn a_packet_between_interfaces_written_by_hand_arrives() {
    let Some(ovs) = Ovs::start() else { return };
    let (apart, together) = (corp_and_lab(false), corp_and_lab(true));
    for (name, mini) in [("apart", &apart), ("together", &together)] {
        for switch in [1, 2] {
            ovs.bridge(&format!("{name}{switch}"), &tables(mini, switch));
        }
    }
    let trace = |bridge: &str, packet: &str| ovs.control().ask("ofproto/trace", &[bridge, packet]);
    let macs = ["0a:00:00:00:01:11", "0a:00:00:00:02:12", "02:c0:e5:01:86:a0"];
    let from_c1 = |to: &str, address: &str| {
        format!("in_port=11,ip,eth_src={},eth_dst={to},ip_src=10.0.0.11,ip_dst={address},nw_ttl=64", macs[0])
    };
    // In one LAN, across the tunnel; and there, to its port.
    let text = trace("apart1", &from_c1(macs[1], "10.0.0.12"));
    assert!(text.contains("set_field:0x1389->tun_id") && text.contains("output:1"), "{text}");
    let tunnelled = |vni: u32, to: &str, address: &str| {
        format!(
            "in_port=1,tun_id={vni},ip,eth_src={},eth_dst={to},ip_src=10.0.0.11,ip_dst={address},nw_ttl=63",
            macs[0]
        )
    };
    let text = trace("apart2", &tunnelled(5001, macs[1], "10.0.0.12"));
    assert!(text.contains("output:12"), "{text}");
    // VPNs that exchange no routes stay apart; those that do reach each other, both ways.
    let text = trace("apart1", &from_c1(macs[2], "10.9.0.11"));
    assert!(text.contains("Datapath actions: drop"), "{text}");
    let text = trace("together1", &from_c1(macs[2], "10.9.0.11"));
    assert!(text.contains("output:1"), "{text}");
    let vni = text.split("->tun_id").next().and_then(|text| text.rsplit("set_field:").next()).unwrap();
    let vni = u32::from_str_radix(vni.trim_start_matches("0x"), 16).unwrap();
    let text = trace("together2", &tunnelled(vni, macs[2], "10.9.0.11"));
    assert!(text.contains("output:11"), "{text}");
    let back = "in_port=11,ip,eth_src=0a:00:00:00:02:11,eth_dst=02:c0:e5:01:86:a1,ip_src=10.9.0.11,ip_dst=10.0.0.12,nw_ttl=64";
    let text = trace("together2", back);
    assert!(text.contains("output:12"), "{text}");
    let text = trace("apart2", back);
    assert!(text.contains("Datapath actions: drop"), "{text}");
}

#[test]
fn vpns_that_stop_exchanging_routes_are_apart_again() {
    let apart = corp_and_lab(false);
    let mut mini = corp_and_lab(true);
    assert_ne!(golden::print(&tables(&mini, 1)), golden::print(&tables(&apart, 1)));
    // What corp imports no more, lab still exports; nothing else of lab changes.
    put_vpn(&mut mini, "corp", "7:1", "", "64512:1");
    assert!(!golden::print(&tables(&mini, 1)).contains("nw_dst=10.9.0.11"));
    assert!(golden::print(&tables(&mini, 2)).contains("nw_dst=10.0.0.11"), "lab imports from corp as before");
    put_vpn(&mut mini, "lab", "7:2", "", "64512:2");
    for switch in [1, 2] {
        assert_eq!(golden::print(&tables(&mini, switch)), golden::print(&tables(&apart, switch)));
    }
}

#[test]
fn in_an_elan_alone_it_is_switched_and_not_routed() {
    let mut mini = world();
    put_elan(&mut mini, "lan", 5001);
    put_interface(&mut mini, "a", "tap1-1", "lan", "", "");
    put_interface(&mut mini, "b", "tap2-1", "lan", "", "");
    let Some(ovs) = Ovs::start() else { return };
    ovs.bridge("lan", &tables(&mini, 1));
    let trace = |packet: &str| ovs.control().ask("ofproto/trace", &["lan", packet]);
    let text = trace("in_port=11,eth_type=0x88b5,eth_src=0a:00:00:00:01:11,eth_dst=0a:00:00:00:01:12");
    assert!(text.contains("output:12"), "{text}");
    let text = trace(
        "in_port=11,arp,eth_src=0a:00:00:00:01:11,eth_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_sha=0a:00:00:00:01:11,arp_spa=1.1.1.1,arp_tpa=1.1.1.2",
    );
    assert!(text.contains("output:12"), "{text}");
    let ask = "in_port=11,icmp6,icmpv6_type=135,icmpv6_code=0,eth_src=0a:00:00:00:01:11,eth_dst=33:33:ff:00:00:02,ipv6_src=fd00::1,ipv6_dst=ff02::1:ff00:2,nd_target=fd00::2";
    for (told, leaves) in [("0a:00:00:00:01:11", true), ("0a:00:00:00:01:12", false)] {
        let text = trace(&format!("{ask},nd_sll={told}"));
        assert_eq!(text.contains("output:12"), leaves, "{text}");
    }
}

#[test]
fn what_pods_make_is_not_written_by_hand() {
    let mut mini = world();
    let pod = format!(
        r#"{{"pod:pods":[{{"uid":"{P1}","name":"p1","network-NS":"blue","host-ip-address":"192.168.56.11",
        "interface":[{{"uid":"{P1}","ip-address":"10.11.1.10","network-type":"VXLAN"}}]}}]}}"#
    );
    let at = format!("pod:coe/pods={P1}");
    mini.put(Config, &at, &pod).unwrap();
    let (elan, name) = ("192.168.56.11%3Ablue", "blue%3Ap1");
    for (path, body, owner) in [
        (
            format!("elan:elan-instances/elan-instance={elan}"),
            r#"{"elan:elan-instance":[{"elan-instance-name":"192.168.56.11:blue"}]}"#,
            "elan-instance 192.168.56.11:blue",
        ),
        (
            "l3vpn:vpn-instances/vpn-instance=blue".to_owned(),
            r#"{"l3vpn:vpn-instance":[{"vpn-instance-name":"blue"}]}"#,
            "vpn-instance blue",
        ),
        (
            format!("elan:elan-interfaces/elan-interface={name}"),
            r#"{"elan:elan-interface":[{"name":"blue:p1","elan-instance-name":"lan"}]}"#,
            "blue:p1",
        ),
        (
            format!("l3vpn:vpn-interfaces/vpn-interface={name}"),
            r#"{"l3vpn:vpn-interface":[{"name":"blue:p1"}]}"#,
            "blue:p1",
        ),
        (
            format!("ietf-interfaces:interfaces/interface={name}"),
            r#"{"ietf-interfaces:interface":[{"name":"blue:p1","type":"iana-if-type:l2vlan"}]}"#,
            "blue:p1",
        ),
    ] {
        let refusal = mini.put(Config, &path, body).expect_err(&path);
        assert_eq!(refusal.tag, "in-use");
        assert!(refusal.message.contains(owner) && refusal.message.contains(P1), "{}", refusal.message);
    }
    // Nor is what else follows from them, whether it would be written the same, added to or deleted.
    let pod_said = format!("pod {P1} (blue:p1)");
    let route = r#"{"odl-fib:vrfEntry":[{"destPrefix":"10.11.1.10/32"}]}"#;
    let table = r#"{"odl-fib:vrfTables":[{"routeDistinguisher":"100:1"}]}"#;
    for (path, body) in [("vrfTables=100%3A1", table), ("vrfTables=100%3A1/vrfEntry=10.11.1.10%2F32", route)]
    {
        let path = format!("odl-fib:fibEntries/{path}");
        let refusal = mini.put(Config, &path, body).expect_err(&path);
        assert_eq!(refusal.tag, "in-use");
        assert!(refusal.message.contains(&pod_said), "{}", refusal.message);
    }
    for path in ["elan:elan-interfaces", "l3vpn:vpn-interfaces/vpn-interface=blue%3Ap1", "odl-fib:fibEntries"]
    {
        let path = DataPath::parse_rfc8040(builtin(), path).unwrap();
        assert_eq!(mini.engine.origin(Config, &path).as_ref(), Some(&pod_said));
    }
    // What was written first stands, and the pod that would have its name is refused.
    mini.delete(Config, &at).unwrap();
    put_interface(&mut mini, "blue:p1", "tap1-1", "lan", "corp", "10.11.1.10");
    let refusal = mini.put(Config, &at, &pod).expect_err("the name is in use");
    assert!(refusal.message.contains("the interface blue:p1 written by hand"), "{}", refusal.message);
}

#[test]
fn numbers_that_another_has_are_refused() {
    let mut mini = world();
    put_elan(&mut mini, "lan", 5001);
    put_vpn(&mut mini, "corp", "7:1", "", "");
    for (path, body, reason) in [
        (
            "elan:elan-instances/elan-instance=other",
            r#"{"elan:elan-instance":[{"elan-instance-name":"other","segmentation-id":5001}]}"#.to_owned(),
            "that of elan-instance lan",
        ),
        (
            "elan:elan-instances/elan-instance=other",
            r#"{"elan:elan-instance":[{"elan-instance-name":"other","segmentation-id":70001}]}"#.to_owned(),
            "Coeus gives out itself (70000 to 99999)",
        ),
        ("l3vpn:vpn-instances/vpn-instance=lab", vpn("lab", "7:1", "", ""), "that of vpn-instance corp"),
        ("l3vpn:vpn-instances/vpn-instance=lab", vpn("lab", "100:9", "", ""), "Coeus gives out itself"),
        (
            "l3vpn:vpn-instances/vpn-instance=lab",
            r#"{"l3vpn:vpn-instance":[{"vpn-instance-name":"lab","l3vni":5001}]}"#.to_owned(),
            "that of elan-instance lan",
        ),
    ] {
        let refusal = mini.put(Config, path, &body).expect_err(path);
        assert!(refusal.message.contains(reason), "{}", refusal.message);
    }
}

#[test]
fn what_was_written_by_hand_goes_without_a_trace() {
    let mut mini = world();
    let (flows, derived) = (mini.engine.desired(), mini.snapshot.clone());
    put_elan(&mut mini, "lan", 5001);
    put_vpn(&mut mini, "corp", "7:1", "", "");
    put_interface(&mut mini, "c1", "tap1-1", "lan", "corp", "10.0.0.11");
    assert_ne!(mini.engine.desired(), flows);
    for path in [
        "l3vpn:vpn-interfaces/vpn-interface=c1",
        "elan:elan-interfaces/elan-interface=c1",
        "ietf-interfaces:interfaces/interface=c1",
        "l3vpn:vpn-instances/vpn-instance=corp",
        "elan:elan-instances/elan-instance=lan",
    ] {
        mini.delete(Config, path).unwrap();
    }
    let engine: &Engine = &mini.engine;
    assert_eq!(engine.desired(), flows);
    assert_eq!(mini.snapshot.config.derived, derived.config.derived);
    assert_eq!(mini.snapshot.operational.derived, derived.operational.derived);
}

/// c1 in corp, and for IPv6 in the Internet VPN inet, too; c2 in corp alone; x1 in inet.
fn with_internet() -> Mini {
    let mut mini = world();
    for (lan, vni) in [("lan", 5001), ("lan-inet", 5002)] {
        put_elan(&mut mini, lan, vni);
    }
    put_vpn(&mut mini, "corp", "7:1", "", "");
    put_vpn(&mut mini, "inet", "7:2", "", "");
    for (name, port, lan, vpns, last) in [
        ("c1", "tap1-1", "lan", INTERNET, 11),
        ("c2", "tap2-1", "lan", r#"{"vpn-name":"corp"}"#, 12),
        ("x1", "tap1-2", "lan-inet", r#"{"vpn-name":"inet"}"#, 13),
    ] {
        put_interface(&mut mini, name, port, lan, "", "");
        put_routed(&mut mini, name, vpns, last).unwrap();
    }
    mini
}

const INTERNET: &str = r#"{"vpn-name":"corp","associated-subnet-type":"V4AndV6Subnets"},{"vpn-name":"inet","associated-subnet-type":"V6InternetVPN"}"#;

fn put_routed(mini: &mut Mini, name: &str, vpns: &str, last: u8) -> Result<(), crate::datastore::Refusal> {
    let adjacency =
        |address: &str| format!(r#"{{"ip_address":"{address}","adjacency_type":"primary-adjacency"}}"#);
    let all = [adjacency(&format!("10.0.0.{last}/32")), adjacency(&format!("fd00:1::{last}/128"))].join(",");
    let body = format!(
        r#"{{"l3vpn:vpn-interface":[{{"name":"{name}","vpn-instance-names":[{vpns}],"odl-l3vpn:adjacency":[{all}]}}]}}"#
    );
    mini.put(Config, &format!("l3vpn:vpn-interfaces/vpn-interface={name}"), &body)
}

#[test]
fn an_internet_vpn_takes_ipv6_that_no_route_leads_to() {
    let Some(ovs) = Ovs::start() else { return };
    let mut mini = with_internet();
    for switch in [1, 2] {
        ovs.bridge(&format!("br{switch}"), &tables(&mini, switch));
    }
    let ids: Vec<u32> =
        ["corp", "inet"].map(|vpn| mini.engine.model().vpn(vpn).unwrap().id.unwrap().0).into();
    let gateway = |vpn: usize| {
        format!("02:c0:e5:{:02x}:{:02x}:{:02x}", ids[vpn] >> 16, ids[vpn] >> 8 & 255, ids[vpn] & 255)
    };
    let trace = |bridge: &str, port: u32, mac: &str, vpn: usize, rest: &str| {
        let packet = format!("in_port={port},eth_src={mac},eth_dst={},{rest},nw_ttl=64", gateway(vpn));
        ovs.control().ask("ofproto/trace", &[bridge, &packet])
    };
    let six = |from: &str, to: &str| format!("udp6,ipv6_src={from},ipv6_dst={to},udp_src=1,udp_dst=2");
    let (c1, c2, x1) = ("0a:00:00:00:01:11", "0a:00:00:00:01:12", "0a:00:00:00:02:11");
    let text = trace("br1", 11, c1, 0, &six("fd00:1::11", "fd00:1::13"));
    assert!(text.contains("192.168.56.12->tun_dst"), "{text}");
    let text = trace("br2", 11, x1, 1, &six("fd00:1::13", "fd00:1::11"));
    assert!(text.contains("192.168.56.11->tun_dst"), "{text}");
    // IPv4 does not, and others of corp neither; routes of corp come first.
    let four = "udp,ip_src=10.0.0.11,ip_dst=10.0.0.13,udp_src=1,udp_dst=2";
    assert!(trace("br1", 11, c1, 0, four).contains("Datapath actions: drop"));
    assert!(trace("br1", 12, c2, 0, &six("fd00:1::12", "fd00:1::13")).contains("Datapath actions: drop"));
    assert!(trace("br2", 11, x1, 1, &six("fd00:1::13", "fd00:1::12")).contains("Datapath actions: drop"));
    assert!(trace("br1", 11, c1, 0, &six("fd00:1::11", "fd00:1::12")).contains("output:12"));
    let fib = mini.get(Config, "odl-fib:fibEntries/vrfTables=7%3A2");
    assert!(fib.contains("fd00:1::11/128") && !fib.contains("10.0.0.11/32"), "{fib}");
    // It ends without a trace.
    put_routed(&mut mini, "c1", r#"{"vpn-name":"corp"}"#, 11).unwrap();
    let alone = mini.engine.desired();
    put_routed(&mut mini, "c1", INTERNET, 11).unwrap();
    assert!(mini.engine.desired() != alone);
    put_routed(&mut mini, "c1", r#"{"vpn-name":"corp"}"#, 11).unwrap();
    assert!(mini.engine.desired() == alone);
    assert!(!golden::print(&tables(&mini, 1)).contains(&format!("{:#x}", ids[1] << 1)));
}

#[test]
fn other_second_vpns_are_refused() {
    let mut mini = with_internet();
    let as_internet =
        |name: &str| format!(r#"{{"vpn-name":"{name}","associated-subnet-type":"V6InternetVPN"}}"#);
    for vpns in [
        r#"{"vpn-name":"corp"},{"vpn-name":"inet"}"#.to_owned(),
        r#"{"vpn-name":"corp","associated-subnet-type":"V4Subnet"},{"vpn-name":"inet","associated-subnet-type":"V6Subnet"}"#
            .to_owned(),
        [as_internet("corp"), as_internet("inet")].join(","),
        [r#"{"vpn-name":"lab"}"#.to_owned(), as_internet("corp"), as_internet("inet")].join(","),
    ] {
        let refusal = put_routed(&mut mini, "c2", &vpns, 12).unwrap_err();
        assert_eq!(refusal.tag, "invalid-value");
        assert!(refusal.message.contains("V6InternetVPN"), "{}", refusal.message);
    }
    // An address that another has in the Internet VPN is refused as anywhere.
    let taken = put_routed(&mut mini, "c2", INTERNET, 13).unwrap_err();
    assert!(taken.tag == "in-use" && taken.message.contains("x1"), "{}", taken.message);
    put_routed(&mut mini, "c2", INTERNET, 12).unwrap();
}
