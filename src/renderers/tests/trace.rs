//! Real Open vSwitch judges: what becomes of a packet, by `ofproto/trace` on a private switch with dummy ports.

use std::collections::BTreeSet;

use super::super::testing::*;
use super::ovs::Ovs;

impl Ovs {
    pub fn trace(&self, bridge: &str, packet: &str) -> Trace {
        Trace { text: self.control().ask("ofproto/trace", &[bridge, packet]) }
    }
}

pub struct Trace {
    text: String,
}

impl Trace {
    /// OpenFlow ports that get a copy.
    pub fn outputs(&self) -> BTreeSet<u32> {
        let outputs = self.text.lines().filter_map(|line| line.trim().strip_prefix("output:"));
        outputs.filter_map(|port| port.parse().ok()).collect()
    }

    pub fn goes_to(&self, ports: impl IntoIterator<Item = u32>) -> &Trace {
        assert_eq!(self.outputs(), ports.into_iter().collect(), "{}", self.text);
        self
    }

    pub fn is_dropped(&self) -> &Trace {
        assert!(self.text.contains("Datapath actions: drop"), "{}", self.text);
        self.goes_to([])
    }

    pub fn says(&self, part: &str) -> &Trace {
        assert!(self.text.contains(part), "no {part} in\n{}", self.text);
        self
    }
}

const GATEWAY: &str = "02:c0:e5:01:86:a0";

/// IPv6: answers to neighbours, routes, the gateway's echo, and what the controller is asked.
#[test]
fn packets_of_version_6_go_where_they_should() {
    let Some(ovs) = Ovs::start() else { return };
    let world = two_pods().of_both_versions();
    ovs.bridge("br1", &world.tables(1, ""));
    ovs.bridge("br2", &world.tables(2, ""));
    let (p4, p5) = ("0a:00:00:01:00:0b", "0a:00:00:02:00:0c");
    let vni = world.workshop.model.vpn("blue").unwrap().l3_vni.unwrap().0;
    let ask = |source: &str, target: &str, sll: &str| {
        let group = "ipv6_dst=ff02::1:ff00:10,nw_ttl=255,icmpv6_type=135,icmpv6_code=0";
        from_p1("33:33:ff:00:00:10", &format!("icmp6,ipv6_src={source},{group},nd_target={target}{sll}"))
    };
    let answers = |source: &str, target: &str, mac: &str, flags: &str| {
        let trace = ovs.trace("br1", &ask(source, target, ",nd_sll=0a:00:00:01:00:0a"));
        trace.goes_to([10]).says(&format!("set_field:{mac}->eth_src"));
        trace.says(&format!("set_field:{flags}->nd_reserved"));
        // What leaves: an advertisement from the target to the asker, with the target's address in it.
        trace.says(&format!("ipv6_src={target},ipv6_dst={source}"));
        trace.says("icmp_type=136").says(&format!("nd_tll={mac}"));
    };
    for asker in ["fd00:1::10", "fe80::800:ff:fe01:a"] {
        // The link-local gateway, that of a node's range, a pod here, one of the ELAN elsewhere, one of another ELAN.
        answers(asker, "fe80::1", GATEWAY, "3758096384");
        answers(asker, "fd00:1::1", GATEWAY, "3758096384");
        answers(asker, "fd00:1::20", p4, "1610612736");
        answers(asker, "fd00:1::21", p4, "1610612736");
        answers(asker, "fd00:1::30", p5, "1610612736");
        answers(asker, "fd00:2::10", GATEWAY, "1610612736");
    }
    // Duplicate detection: of its own address nobody but a duplicate answers; of another's, all nodes are told.
    ovs.trace("br1", &ask("::", "fd00:1::10", "")).goes_to([1, 11]);
    let told = ovs.trace("br1", &ask("::", "fd00:1::20", ""));
    told.goes_to([10]).says("ipv6_src=fd00:1::20,ipv6_dst=ff02::1").says("set_field:536870912->nd_reserved");
    // An unknown one: flooded.
    ovs.trace("br1", &ask("fd00:1::10", "fd00:1::99", "")).goes_to([1, 11]);

    let ip = |target: &str, hops: u8| {
        format!("udp6,ipv6_src=fd00:1::10,ipv6_dst={target},nw_ttl={hops},udp_src=1,udp_dst=2")
    };
    // Switched, routed here, routed to another node and there.
    ovs.trace("br1", &from_p1(p4, &ip("fd00:1::20", 64))).goes_to([11]);
    ovs.trace("br1", &from_p1(GATEWAY, &ip("fd00:1::21", 64))).goes_to([11]).says("nw_ttl=63");
    let leaving = ovs.trace("br1", &from_p1(GATEWAY, &ip("fd00:2::10", 64)));
    leaving.goes_to([1]).says(&format!("set_field:{vni:#x}->tun_id")).says("nw_ttl=63");
    let arriving = format!(
        "in_port=1,tun_id={vni},tun_src=192.168.56.11,tun_dst=192.168.56.12,dl_src={GATEWAY},dl_dst={GATEWAY},{}",
        ip("fd00:2::10", 63)
    );
    ovs.trace("br2", &arriving).goes_to([10]).says("nw_ttl=62");
    ovs.trace("br2", &arriving.replace("fd00:2::10", "fd00:1::20")).is_dropped();
    ovs.trace("br1", &from_p1(GATEWAY, &ip("fd00:2::10", 1))).is_dropped();
    ovs.trace("br1", &from_p1(GATEWAY, &ip("fd00:3::10", 64))).is_dropped();

    // The gateway answers a ping, also the last hop of one.
    for gateway in ["fe80::1", "fd00:1::1"] {
        let echo =
            format!("icmp6,ipv6_src=fd00:1::10,ipv6_dst={gateway},nw_ttl=1,icmpv6_type=128,icmpv6_code=0");
        ovs.trace("br1", &from_p1(GATEWAY, &echo))
            .goes_to([10])
            .says(&format!("ipv6_src={gateway},ipv6_dst=fd00:1::10"))
            .says("icmp_type=129");
    }

    // Only a router solicitation is punted.
    let solicitation = "icmp6,ipv6_src=fe80::800:ff:fe01:a,ipv6_dst=ff02::2,icmpv6_type=133,icmpv6_code=0";
    ovs.trace("br1", &from_p1("33:33:00:00:00:02", solicitation))
        .goes_to([])
        .says("userdata=72.73")
        .says("max_len=70");
}

/// What p1 (port 10 of switch 1) sends to `dst`.
fn from_p1(dst: &str, rest: &str) -> String {
    format!("in_port=10,dl_src=0a:00:00:01:00:0a,dl_dst={dst},{rest}")
}

#[test]
fn packets_go_where_they_should() {
    let Some(ovs) = Ovs::start() else { return };
    let mut world = two_pods().on_two_nodes();
    // p4 is on the node of p1; p5 is of its ELAN, but plugged in on the other switch.
    world.put([pod("p4", "blue", 1, Some("10.11.1.20")), port(1, "blue:p4", 11)]);
    world.put([pod("p5", "blue", 1, Some("10.11.1.30")), port(2, "blue:p5", 12)]);
    world.put([pool("192.168.56.11:blue", "10.11.1.0/24", None)]);
    ovs.bridge("br1", &world.tables(1, ""));
    ovs.bridge("br2", &world.tables(2, ""));
    let (p2, p4, p5) = ("0a:00:00:02:00:0a", "0a:00:00:01:00:0b", "0a:00:00:02:00:0c");
    let arp = |target: &str| {
        from_p1(
            "ff:ff:ff:ff:ff:ff",
            &format!("arp,arp_op=1,arp_spa=10.11.1.10,arp_tpa={target},arp_sha=0a:00:00:01:00:0a"),
        )
    };
    let ip = |target: &str, ttl: u8| format!("ip,nw_src=10.11.1.10,nw_dst={target},nw_proto=17,nw_ttl={ttl}");
    let elan = world.workshop.model.elan("192.168.56.11:blue").unwrap();
    let vpn = world.workshop.model.vpn("blue").unwrap();
    let (elan_vni, vpn_vni) = (elan.vni.unwrap().0, vpn.l3_vni.unwrap().0);

    // Same node, same ELAN: switched.
    ovs.trace("br1", &from_p1(p4, &ip("10.11.1.20", 64))).goes_to([11]);
    // Same ELAN on another switch: through the tunnel, by the ELAN's VNI.
    ovs.trace("br1", &from_p1(p5, &ip("10.11.1.30", 64)))
        .goes_to([1])
        .says(&format!("set_field:{elan_vni:#x}->tun_id"));
    // Arriving there.
    let tunnel = |vni: u32, rest: &str| {
        format!("in_port=1,tun_id={vni},tun_src=192.168.56.11,tun_dst=192.168.56.12,{rest}")
    };
    ovs.trace("br2", &tunnel(elan_vni, &format!("dl_src=0a:00:00:01:00:0a,dl_dst={p5},ip"))).goes_to([12]);
    // A spoofed source is not switched.
    ovs.trace("br1", &from_p1(p4, "ip").replace("00:0a,dl_dst", "00:99,dl_dst")).is_dropped();
    // A MAC of another ELAN is unknown: flooded inside, never to it.
    ovs.trace("br1", &from_p1(p2, &ip("10.11.2.10", 64))).goes_to([1, 11]);

    // Broadcast: to all of the ELAN but the sender; what came through the tunnel stays here.
    ovs.trace("br1", &from_p1("ff:ff:ff:ff:ff:ff", "dl_type=0x88b5")).goes_to([1, 11]);
    ovs.trace("br2", &tunnel(elan_vni, "dl_src=0a:00:00:01:00:0a,dl_dst=ff:ff:ff:ff:ff:ff,ip")).goes_to([12]);
    ovs.trace("br1", &from_p1("01:80:c2:00:00:00", "dl_type=0x88cc")).is_dropped();

    // ARP: the gateway, a pod here, a pod of the ELAN elsewhere, a pod of another ELAN; nobody else hears of it.
    let answers = |target: &str, mac: &str| {
        ovs.trace("br1", &arp(target))
            .goes_to([10])
            .says(&format!("set_field:{mac}->eth_src"))
            .says("load:0x2->NXM_OF_ARP_OP[]");
    };
    answers("10.11.1.1", GATEWAY);
    answers("10.11.1.20", p4);
    answers("10.11.1.30", p5);
    answers("10.11.2.10", GATEWAY);
    // Its own address: only a duplicate would answer. An unknown one: flooded. One of the other node's prefix, even if
    // it is another namespace's: the way there leads through the gateway.
    ovs.trace("br1", &arp("10.11.1.10")).goes_to([1, 11]);
    ovs.trace("br1", &arp("10.11.1.99")).goes_to([1, 11]);
    answers("10.11.2.20", GATEWAY);
    ovs.trace("br1", &arp("10.11.2.20")).says("arp_spa=10.11.2.20,arp_tpa=10.11.1.10");

    // Across nodes: routed twice.
    let leaving = ovs.trace("br1", &from_p1(GATEWAY, &ip("10.11.2.10", 64)));
    leaving
        .goes_to([1])
        .says(&format!("set_field:{vpn_vni:#x}->tun_id"))
        .says("set_field:192.168.56.12->tun_dst")
        .says("nw_ttl=63");
    let arriving = format!("dl_src={GATEWAY},dl_dst={GATEWAY},{}", ip("10.11.2.10", 63));
    ovs.trace("br2", &tunnel(vpn_vni, &arriving))
        .goes_to([10])
        .says(&format!("set_field:{p2}->eth_dst"))
        .says("nw_ttl=62");
    // The other node's gateway is pinged through the tunnel, and answers there.
    let ping = "icmp,nw_src=10.11.1.10,nw_dst=10.11.2.1,nw_ttl=64,icmp_type=8,icmp_code=0";
    ovs.trace("br1", &from_p1(GATEWAY, ping)).goes_to([1]).says("set_field:192.168.56.12->tun_dst");
    let arrived = tunnel(vpn_vni, &format!("dl_src={GATEWAY},dl_dst={GATEWAY},{ping}"));
    ovs.trace("br2", &arrived)
        .goes_to([1])
        .says("set_field:192.168.56.11->tun_dst")
        .says("nw_src=10.11.2.1,nw_dst=10.11.1.10")
        .says("icmp_type=0");
    // Same node through the gateway: routed once, also back to the sender's port.
    ovs.trace("br1", &from_p1(GATEWAY, &ip("10.11.1.20", 64))).goes_to([11]).says("nw_ttl=63");
    ovs.trace("br1", &from_p1(GATEWAY, &ip("10.11.1.10", 64))).goes_to([10]);
    // Never from one tunnel into another; not beyond the last hop; not into another namespace.
    ovs.trace("br2", &tunnel(vpn_vni, &arriving.replace("10.11.2.10", "10.11.1.20"))).is_dropped();
    ovs.trace("br1", &from_p1(GATEWAY, &ip("10.11.2.10", 1))).is_dropped();
    ovs.trace("br1", &from_p1(GATEWAY, &ip("10.11.2.20", 64))).goes_to([1]);
    ovs.trace("br2", &tunnel(vpn_vni, &arriving.replace("10.11.2.10", "10.11.2.20"))).is_dropped();
    ovs.trace("br1", &from_p1(GATEWAY, &ip("10.11.3.1", 64))).is_dropped();
    // A pod that is not where its address says is reached where it is.
    ovs.trace("br1", &from_p1(GATEWAY, &ip("10.11.1.30", 64)))
        .goes_to([1])
        .says("set_field:192.168.56.12->tun_dst");
    ovs.trace("br1", &from_p1("02:c0:e5:01:86:a1", &ip("10.11.2.20", 64))).goes_to([1, 11]);

    // The gateway answers a ping, also the last hop of one.
    let echo = |gateway: &str, ttl: u8| {
        from_p1(
            GATEWAY,
            &format!("icmp,icmp_type=8,icmp_code=0,nw_src=10.11.1.10,nw_dst={gateway},nw_ttl={ttl}"),
        )
    };
    ovs.trace("br1", &echo("10.11.1.1", 1))
        .goes_to([10])
        .says("nw_src=10.11.1.1,nw_dst=10.11.1.10")
        .says("icmp_type=0");

    // DHCP: punted through the meter, where a pool applies; an unknown port is nobody.
    let dhcp = "udp,nw_src=0.0.0.0,nw_dst=255.255.255.255,udp_src=68,udp_dst=67";
    ovs.trace("br1", &from_p1("ff:ff:ff:ff:ff:ff", dhcp)).goes_to([]).says("controller(");
    ovs.trace("br1", &from_p1("ff:ff:ff:ff:ff:ff", "ip").replace("in_port=10", "in_port=12")).is_dropped();
}

/// VLAN 100 of a physical network at port 5, GRE at port 6.
#[test]
fn physical_networks_are_tagged_and_gre_goes_through_its_port() {
    let Some(ovs) = Ovs::start() else { return };
    let world = super::underlay::four_networks();
    ovs.bridge("br1", &world.tables(1, ""));
    ovs.bridge("br2", &world.tables(2, ""));
    let (p1, p2) = ("0a:00:00:01:00:0a", "0a:00:00:02:00:0a");
    let ip = "ip,nw_src=10.11.1.10,nw_dst=10.11.1.20,nw_proto=17,nw_ttl=64";
    // Another node's pod is outside: tagged, out; and in again there.
    ovs.trace("br1", &from_p1(p2, ip)).goes_to([5]).says("push_vlan");
    let arriving = format!("in_port=5,dl_vlan=100,dl_src={p1},dl_dst={p2},{ip}");
    ovs.trace("br2", &arriving).goes_to([10]).says("pop_vlan");
    // Another VLAN, no tag, and an unknown destination from outside are nobody's here.
    ovs.trace("br2", &arriving.replace("dl_vlan=100", "dl_vlan=101")).is_dropped();
    ovs.trace("br2", &arriving.replace("dl_vlan=100,", "")).is_dropped();
    ovs.trace("br2", &arriving.replace(p2, "0a:00:00:09:00:0a")).is_dropped();
    // Broadcast goes out once, comes in to the pods of its ELAN, and never goes back out.
    let arp = "arp,arp_op=1,arp_spa=10.11.1.10,arp_tpa=10.11.1.20,arp_sha=0a:00:00:01:00:0a";
    ovs.trace("br1", &from_p1("ff:ff:ff:ff:ff:ff", arp)).goes_to([5]);
    let asked = format!("in_port=5,dl_vlan=100,dl_src={p1},dl_dst=ff:ff:ff:ff:ff:ff,{arp}");
    ovs.trace("br2", &asked).goes_to([10]);
    // Its gateway is outside, too.
    ovs.trace("br1", &from_p1("ff:ff:ff:ff:ff:ff", &arp.replace("10.11.1.20", "10.11.1.1"))).goes_to([5]);
    // Untagged is red's.
    let flat = format!("in_port=5,dl_src={p2},dl_dst=0a:00:00:01:00:0b,{ip}");
    ovs.trace("br1", &flat).goes_to([11]);
    // GRE.
    let green = "in_port=12,dl_src=0a:00:00:01:00:0c,dl_dst=0a:00:00:02:00:0c,ip,nw_src=10.13.1.10,nw_dst=10.13.1.20,nw_proto=17,nw_ttl=64";
    ovs.trace("br1", green).goes_to([6]);
    let vni = world.workshop.model.elan("192.168.56.11:green").unwrap().vni.unwrap().0;
    let arriving = green.replace(
        "in_port=12",
        &format!("in_port=6,tun_id={vni},tun_src=192.168.56.11,tun_dst=192.168.56.12"),
    );
    ovs.trace("br2", &arriving).goes_to([12]);
}

/// What a pod may not send ends in the flow of its class; what it may send passes.
#[test]
fn what_a_pod_may_not_send_is_dropped_and_counted() {
    let Some(ovs) = Ovs::start() else { return };
    let mut world = two_pods().of_both_versions();
    world.put([pod("p6", "blue", 1, Some("10.11.1.60")), port(1, "blue:p6", 12)]);
    ovs.bridge("br1", &world.tables(1, ""));
    let (own, all, lla) = ("0a:00:00:01:00:0a", "ff:ff:ff:ff:ff:ff", "fe80::800:ff:fe01:a");
    let dropped = |class: u32, packet: &str| {
        let trace = ovs.trace("br1", packet);
        trace.is_dropped().says(&format!("{:08x}\n    drop", 0x0690_0000 + class));
    };
    let passes = |packet: &str| {
        let trace = ovs.trace("br1", packet);
        trace.says("\n17. ").says("Datapath actions");
        assert!(!trace.outputs().is_empty(), "{packet} goes nowhere");
    };
    let from_p1 = |rest: &str| from_p1(all, rest);
    let arp = |op: u8, sha: &str, spa: &str| {
        from_p1(&format!("arp,arp_op={op},arp_sha={sha},arp_spa={spa},arp_tpa=10.11.1.99"))
    };
    let nd = |source: &str, rest: &str| {
        from_p1(&format!("icmp6,ipv6_src={source},ipv6_dst=ff02::1,nw_ttl=255,icmpv6_code=0,{rest}"))
    };

    ovs.trace("br1", &from_p1("ip,nw_src=10.11.1.10,dl_vlan=7")).is_dropped().says("vlan_tci=0x1000/0x1000");
    // Between bridges.
    for packet in [
        format!("in_port=10,dl_src={own},dl_dst=01:80:c2:00:00:00,dl_type=0x88b5"),
        format!("in_port=10,dl_src={own},dl_dst=01:80:c2:00:00:0e,dl_type=0x88cc"),
        format!("in_port=10,dl_src={own},dl_dst=01:00:0c:cc:cc:cd,dl_type=0x88b5"),
        from_p1("dl_type=0x88cc"),
    ] {
        dropped(2, &packet);
    }
    // A router.
    dropped(3, &nd(lla, "icmpv6_type=134"));
    dropped(3, &nd(lla, "icmpv6_type=137"));
    // A DHCP server.
    dropped(4, &from_p1("udp,nw_src=10.11.1.10,nw_dst=255.255.255.255,udp_src=67,udp_dst=68"));
    dropped(4, &from_p1(&format!("udp6,ipv6_src={lla},ipv6_dst=ff02::1,udp_src=547,udp_dst=546")));
    // Somebody else's MAC address.
    for rest in ["ip,nw_src=10.11.1.10", "tcp6,ipv6_src=fd00:1::10", "dl_type=0x88b5"] {
        dropped(5, &from_p1(rest).replace(own, "0a:00:00:01:00:0b"));
        passes(&from_p1(rest));
    }
    // Who ARP speaks of.
    for op in [1, 2] {
        dropped(6, &arp(op, "0a:00:00:01:00:0b", "10.11.1.10"));
        dropped(6, &arp(op, own, "10.11.1.20"));
        passes(&arp(op, own, "10.11.1.10"));
    }
    passes(&arp(1, own, "0.0.0.0"));
    dropped(6, &arp(2, own, "0.0.0.0"));
    // Who neighbour discovery speaks of.
    let solicits = |sll: &str| format!("icmpv6_type=135,nd_target=fd00:1::99,nd_sll={sll}");
    let advertises = |target: &str, tll: &str| format!("icmpv6_type=136,nd_target={target},nd_tll={tll}");
    for source in ["fd00:1::10", lla] {
        dropped(7, &nd(source, &solicits("0a:00:00:01:00:0b")));
        dropped(7, &nd(source, &advertises(source, "0a:00:00:01:00:0b")));
        dropped(7, &nd(source, &advertises("fd00:1::20", own)));
        for link_layer in [own, "00:00:00:00:00:00"] {
            passes(&nd(source, &solicits(link_layer)));
            passes(&nd(source, &advertises(source, link_layer)));
        }
    }
    dropped(9, &nd("fd00:1::20", &solicits(own)));
    dropped(7, &nd("fd00:1::20", &advertises("fd00:1::10", own)));
    dropped(7, &nd("::", &advertises("fd00:1::10", own)));
    passes(&nd("::", &solicits("00:00:00:00:00:00")));
    // Somebody else's address, or none.
    for source in ["10.11.1.20", "10.11.2.10", "10.11.1.1", "0.0.0.0", "255.255.255.255"] {
        dropped(8, &from_p1(&format!("udp,nw_src={source},nw_dst=10.11.1.60,udp_src=1,udp_dst=2")));
    }
    dropped(8, &from_p1("udp,nw_src=0.0.0.0,nw_dst=255.255.255.255,udp_src=68,udp_dst=67"));
    for source in ["fd00:1::20", "fd00:1::1", "::"] {
        dropped(9, &from_p1(&format!("udp6,ipv6_src={source},ipv6_dst=fd00:1::20,udp_src=1,udp_dst=2")));
    }
    // What it carries is out of sight.
    let hides = |kind: &str, rest: &str| {
        from_p1(&format!("{kind},ipv6_src=fd00:1::10,ipv6_dst=fd00:1::20,nw_frag={rest}"))
    };
    dropped(11, &hides("ipv6,nw_proto=0", "no"));
    dropped(11, &hides("ipv6,nw_proto=59", "first"));
    dropped(11, &hides("udp6", "first,udp_src=0,udp_dst=0"));
    dropped(11, &hides("icmp6", "first,icmpv6_type=0"));
    for (kind, rest) in [
        ("ipv6,nw_proto=59", "no"),
        ("udp6", "first,udp_src=1,udp_dst=2"),
        ("icmp6", "first,icmpv6_type=128"),
        ("udp6", "later"),
        ("icmp6", "later"),
    ] {
        passes(&hides(kind, rest));
    }
    // Another link-local address, and any of a pod without IPv6.
    dropped(10, &nd("fe80::1", &solicits(own)));
    let of_p6 = "in_port=12,dl_src=0a:00:00:01:00:0c,dl_dst=33:33:00:00:00:02";
    dropped(10, &format!("{of_p6},icmp6,ipv6_src=fe80::800:ff:fe01:c,ipv6_dst=ff02::2,icmpv6_type=133"));
}
