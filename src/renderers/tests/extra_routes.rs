//! Prefixes behind an interface that was written by hand: routed to its port, let out of it, shown, and nobody else's.

use super::by_hand::{put_elan, put_interface, put_vpn, tables, world};
use super::mini::Mini;
use super::ovs::Ovs;
use crate::datastore::Store::{Config, Operational};
use crate::net::Dpid;
use crate::pipeline::{golden, route_groups};

const MACS: [&str; 2] = ["0a:00:00:00:01:11", "0a:00:00:00:02:12"];
const GATEWAY: &str = "02:c0:e5:01:86:a0";

/// corp with c1 on switch 1 and c2 on switch 2, no routes yet.
fn corp() -> Mini {
    let mut mini = world();
    put_elan(&mut mini, "lan", 5001);
    put_vpn(&mut mini, "corp", "7:1", "", "64512:1");
    put_interface(&mut mini, "c1", "tap1-1", "lan", "corp", "10.0.0.11");
    put_interface(&mut mini, "c2", "tap2-2", "lan", "corp", "10.0.0.12");
    mini
}

/// A further adjacency of an interface; `rest` as JSON after its prefix.
pub fn adjacency(
    mini: &mut Mini,
    interface: &str,
    prefix: &str,
    rest: &str,
) -> Result<(), crate::datastore::Refusal> {
    let key = prefix.replace('/', "%2F").replace(':', "%3A");
    let path = format!("l3vpn:vpn-interfaces/vpn-interface={interface}/odl-l3vpn:adjacency={key}");
    mini.put(Config, &path, &format!(r#"{{"odl-l3vpn:adjacency":[{{"ip_address":"{prefix}"{rest}}}]}}"#))
}

fn through_c1(mini: &mut Mini, prefix: &str) {
    adjacency(mini, "c1", prefix, r#","adjacency_type":"extra-route","next-hop-ip-list":["10.0.0.11"]"#)
        .unwrap();
}

fn status(mini: &Mini, interface: &str) -> String {
    mini.get(Operational, &format!("coeus-status:objects/object={interface}"))
}

fn remove(mini: &mut Mini, prefix: &str) {
    let key = prefix.replace('/', "%2F");
    let path = format!("l3vpn:vpn-interfaces/vpn-interface=c1/odl-l3vpn:adjacency={key}");
    mini.delete(Config, &path).unwrap();
}

#[test]
fn a_route_is_seen_where_routes_are_and_goes_without_a_trace() {
    let mut mini = corp();
    let (flows, derived) = (mini.engine.desired(), mini.snapshot.clone());
    for prefix in ["10.77.0.0/16", "0.0.0.0/0", "10.0.0.200/32"] {
        through_c1(&mut mini, prefix);
        let entry = format!(r#""destPrefix":"{prefix}","origin":"s""#);
        for (store, path, part) in [
            (Config, "odl-fib:fibEntries", entry.as_str()),
            (Config, "odl-fib:fibEntries", r#""nexthop-address":"192.168.56.11""#),
            (Operational, "odl-l3vpn:vpn-interface-op-data", r#""adjacency_type":"extra-route""#),
            (Operational, "odl-l3vpn:vpn-interface-op-data", r#""next-hop-ip-list":["10.0.0.11"]"#),
            (Operational, "coeus-status:objects/object=c1", &format!(r#""route":["{prefix}"]"#)),
        ] {
            let text = mini.get(store, path);
            assert!(text.contains(part), "{path} has no {part}: {text}");
        }
        remove(&mut mini, prefix);
        assert_eq!(mini.engine.desired(), flows, "{prefix}");
        assert_eq!(mini.snapshot.config.derived, derived.config.derived);
    }
}

#[test]
fn packets_go_to_the_port_before_the_prefix_and_come_from_there() {
    let Some(ovs) = Ovs::start() else { return };
    let mut mini = corp();
    ovs.bridge("before", &tables(&mini, 1));
    for prefix in ["10.77.0.0/16", "10.0.0.200/32"] {
        through_c1(&mut mini, prefix);
    }
    for switch in [1, 2] {
        ovs.bridge(&format!("br{switch}"), &tables(&mini, switch));
    }
    let trace = |bridge: &str, packet: &str| ovs.control().ask("ofproto/trace", &[bridge, packet]);
    let from = |port: u32, mac: &str, source: &str, to: &str| {
        format!(
            "in_port={port},udp,eth_src={mac},eth_dst={GATEWAY},ip_src={source},ip_dst={to},nw_ttl=64,udp_src=1,udp_dst=2"
        )
    };
    for behind in ["10.77.3.4", "10.0.0.200"] {
        // From the other switch, through the tunnel, to the port: MAC addresses of gateway and port, one hop each.
        let text = trace("br2", &from(12, MACS[1], "10.0.0.12", behind));
        assert!(text.contains("output:1") && text.contains("set_field:192.168.56.11->tun_dst"), "{text}");
        let vni = text.split("->tun_id").next().and_then(|text| text.rsplit("set_field:").next()).unwrap();
        let arriving = from(1, GATEWAY, "10.0.0.12", behind).replace(
            "in_port=1,",
            &format!("in_port=1,tun_id={vni},tun_src=192.168.56.12,tun_dst=192.168.56.11,"),
        );
        let text = trace("br1", &arriving);
        assert!(
            text.contains("output:11") && text.contains(&format!("set_field:{}->eth_dst", MACS[0])),
            "{text}"
        );
        // Back from behind the port, and not without the route.
        let back = from(11, MACS[0], behind, "10.0.0.12");
        let text = trace("br1", &back);
        assert!(text.contains("output:1"), "{text}");
        let text = trace("before", &back);
        assert!(text.contains("Datapath actions: drop"), "{text}");
    }
    // What is not behind the port does not come from there, with another MAC nothing does, and only a lone address is told
    // of in ARP.
    let text = trace("br1", &from(11, MACS[0], "10.78.3.4", "10.0.0.12"));
    assert!(text.contains("Datapath actions: drop"), "{text}");
    let text = trace("br1", &from(11, MACS[1], "10.77.3.4", "10.0.0.12"));
    assert!(text.contains("Datapath actions: drop"), "{text}");
    let arp = |spa: &str| {
        format!(
            "in_port=11,arp,eth_src={0},eth_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_sha={0},arp_spa={spa},arp_tpa=10.0.0.99",
            MACS[0]
        )
    };
    assert!(trace("br1", &arp("10.77.3.4")).contains("Datapath actions: drop"));
    assert!(!trace("br1", &arp("10.0.0.200")).contains("Datapath actions: drop"));
}

#[test]
fn a_default_route_takes_what_nobody_has() {
    let Some(ovs) = Ovs::start() else { return };
    let mut mini = corp();
    for prefix in ["0.0.0.0/0", "10.77.0.0/16"] {
        through_c1(&mut mini, prefix);
    }
    ovs.bridge("br2", &tables(&mini, 2));
    let to = |address: &str| {
        let packet = format!(
            "in_port=12,ip,eth_src={},eth_dst={GATEWAY},ip_src=10.0.0.12,ip_dst={address},nw_ttl=64",
            MACS[1]
        );
        ovs.control().ask("ofproto/trace", &["br2", &packet])
    };
    assert!(to("8.8.8.8").contains("output:1"), "{}", to("8.8.8.8"));
    assert!(to("8.8.8.8").contains("priority 10,"), "{}", to("8.8.8.8"));
    assert!(to("10.77.1.1").contains("priority 26,"), "{}", to("10.77.1.1"));
}

#[test]
fn importers_see_routes_of_those_that_export_them() {
    let mut mini = corp();
    put_elan(&mut mini, "lan-lab", 5002);
    put_vpn(&mut mini, "lab", "7:2", "64512:1", "");
    put_interface(&mut mini, "l1", "tap1-2", "lan-lab", "lab", "10.9.0.11");
    let seen = |mini: &Mini| golden::print(&tables(mini, 2)).matches("nw_dst=10.77.0.0/16").count();
    assert_eq!(seen(&mini), 0);
    through_c1(&mut mini, "10.77.0.0/16");
    assert_eq!(seen(&mini), 2, "corp's own and lab's");
    // lab has a route of its own to the same, then its own counts there.
    adjacency(&mut mini, "l1", "10.77.0.0/16", r#","next-hop-ip-list":["10.9.0.11"]"#).unwrap();
    let text = golden::print(&tables(&mini, 2));
    let local = text.lines().filter(|line| line.contains("nw_dst=10.77.0.0/16") && !line.contains("tun_dst"));
    assert_eq!((local.count(), seen(&mini)), (1, 2), "{text}");
    remove(&mut mini, "10.77.0.0/16");
    assert_eq!(seen(&mini), 1);
}

#[test]
fn what_another_has_is_refused_and_what_cannot_be_says_why() {
    let mut mini = corp();
    through_c1(&mut mini, "10.77.0.0/16");
    let refusal =
        adjacency(&mut mini, "c2", "10.0.0.11/32", r#","adjacency_type":"extra-route""#).unwrap_err();
    assert_eq!(refusal.tag, "in-use");
    let owner = "address 10.0.0.11 is in use";
    assert!(refusal.message.contains(owner) && refusal.message.contains("c1"), "{}", refusal.message);
    // Nor is what is routed somewhere another's own.
    through_c1(&mut mini, "10.0.0.200/32");
    let refusal =
        adjacency(&mut mini, "c2", "10.0.0.200/32", r#","adjacency_type":"primary-adjacency""#).unwrap_err();
    assert!(refusal.tag == "in-use" && refusal.message.contains("c1"), "{}", refusal.message);
    for (prefix, rest, reason) in [
        (
            "10.78.0.0/16",
            r#","next-hop-ip-list":["10.0.0.99"]"#,
            "by its next hop 10.0.0.99: no interface of the VPN has that address",
        ),
        ("10.78.0.0/16", r#","mac_address":"0a:00:00:00:09:09""#, "is not that of this interface's port"),
        ("127.0.0.0/8", "", "is no address, or no prefix that can be routed"),
        ("nonsense", "", "is no address, or no prefix"),
        ("10.78.0.0/16", r#","adjacency_type":"primary-adjacency""#, "is no address"),
    ] {
        adjacency(&mut mini, "c2", prefix, rest).unwrap();
        let text = status(&mini, "c2");
        assert!(text.contains("pending") && text.contains(reason), "{prefix}: {text}");
        assert!(!golden::print(&tables(&mini, 2)).contains("10.78.0.0"), "{prefix}");
        let key = prefix.replace('/', "%2F");
        mini.delete(Config, &format!("l3vpn:vpn-interfaces/vpn-interface=c2/odl-l3vpn:adjacency={key}"))
            .unwrap();
        assert!(!status(&mini, "c2").contains("pending"), "{}", status(&mini, "c2"));
    }
}

/// corp with c3 on switch 2 beside c2.
pub fn three() -> Mini {
    let mut mini = corp();
    put_interface(&mut mini, "c3", "tap1-2", "lan", "corp", "10.0.0.13");
    mini
}

pub fn through(mini: &mut Mini, interface: &str, prefix: &str, hops: &str) {
    let rest = format!(r#","adjacency_type":"extra-route","next-hop-ip-list":[{hops}]"#);
    adjacency(mini, interface, prefix, &rest).unwrap();
}

/// The buckets of the groups of a switch, as text.
pub fn buckets(mini: &Mini, switch: u64) -> Vec<Vec<String>> {
    let groups = tables(mini, switch).groups;
    let text = |bucket: &openflow_rs::Bucket| format!("{:?}", bucket.actions);
    let of_routes = groups.values().filter(|group| route_groups::is_ours(group.id));
    of_routes.map(|group| group.description().buckets.iter().map(text).collect()).collect()
}

/// Of every interface, what a route does to it: next hops of several interfaces, and the same prefix at several, are the same.
#[test]
fn several_next_hops_share_a_route() {
    let mut mini = three();
    let (before, derived) = (mini.engine.desired(), mini.snapshot.clone());
    for (prefix, key) in [("10.77.0.0/16", "10.77.0.0%2F16"), ("10.0.0.200/32", "10.0.0.200%2F32")] {
        through(&mut mini, "c1", prefix, r#""10.0.0.11","10.0.0.12","10.0.0.13""#);
        let fib = mini.get(Config, "odl-fib:fibEntries");
        assert_eq!(fib.matches(&format!(r#""destPrefix":"{prefix}""#)).count(), 1, "{fib}");
        assert!(
            fib.contains(r#""nexthop-address":"192.168.56.11""#) && fib.contains(r#""192.168.56.12""#),
            "{fib}"
        );
        for interface in ["c1", "c2", "c3"] {
            assert!(status(&mini, interface).contains(prefix), "{}", status(&mini, interface));
        }
        // On switch 2 two of them are here: for what came through a tunnel those alone.
        assert_eq!(buckets(&mini, 1).len(), 1);
        assert_eq!(buckets(&mini, 2).len(), 2);
        let together = mini.engine.desired();
        remove(&mut mini, prefix);
        assert!(mini.engine.desired() == before, "{prefix}");
        assert_eq!(mini.snapshot.config.derived, derived.config.derived);
        // The same prefix at each of them.
        for interface in ["c3", "c1", "c2"] {
            through(&mut mini, interface, prefix, "");
        }
        assert!(mini.engine.desired() == together, "{prefix}");
        for interface in ["c1", "c2", "c3"] {
            let path = format!("l3vpn:vpn-interfaces/vpn-interface={interface}/odl-l3vpn:adjacency={key}");
            mini.delete(Config, &path).unwrap();
        }
        assert!(mini.engine.desired() == before, "{prefix}");
    }
}

#[test]
fn who_goes_leaves_the_group_and_no_other_bucket_moves() {
    let mut mini = three();
    through(&mut mini, "c1", "10.77.0.0/16", r#""10.0.0.11","10.0.0.12","10.0.0.13""#);
    let before = buckets(&mini, 2).remove(0);
    mini.delete(Config, "l3vpn:vpn-interfaces/vpn-interface=c3").unwrap();
    let after = buckets(&mini, 2).remove(0);
    assert_eq!((before.len(), after.len()), (64, 64));
    let (c2, c3) = (mac_of(&before, &after, true), mac_of(&before, &after, false));
    assert!(c2 > 10 && c3 > 10, "{c2} buckets stayed, {c3} moved");
    let moved: std::collections::BTreeSet<&String> =
        before.iter().zip(&after).filter(|(one, other)| one != other).map(|(one, _)| one).collect();
    assert_eq!(moved.len(), 1, "the buckets of one interface moved: {moved:?}");
    assert!(
        status(&mini, "c1").contains("by its next hop 10.0.0.13: no interface"),
        "{}",
        status(&mini, "c1")
    );
    // It comes back, and with it all is as it was.
    put_interface(&mut mini, "c3", "tap1-2", "lan", "corp", "10.0.0.13");
    assert_eq!(buckets(&mini, 2).remove(0), before);
    assert!(!status(&mini, "c1").contains("pending"));
    // With one left there is no group.
    for interface in ["c2", "c3"] {
        mini.delete(Config, &format!("l3vpn:vpn-interfaces/vpn-interface={interface}")).unwrap();
    }
    assert!(buckets(&mini, 1).is_empty() && buckets(&mini, 2).is_empty());
    assert!(golden::print(&tables(&mini, 1)).contains("nw_dst=10.77.0.0/16"));
}

/// How many buckets stayed as they were, or did not.
fn mac_of(before: &[String], after: &[String], stayed: bool) -> usize {
    before.iter().zip(after).filter(|(one, other)| (one == other) == stayed).count()
}

#[test]
fn connections_are_spread_and_come_back_from_all_next_hops() {
    let Some(ovs) = Ovs::start() else { return };
    let mut mini = three();
    through(&mut mini, "c2", "10.77.0.0/16", r#""10.0.0.11","10.0.0.13""#);
    for switch in [1, 2] {
        ovs.bridge(&format!("br{switch}"), &tables(&mini, switch));
    }
    let trace = |bridge: &str, packet: &str| ovs.control().ask("ofproto/trace", &[bridge, packet]);
    let packet = format!(
        "in_port=12,udp,eth_src={},eth_dst={GATEWAY},ip_src=10.0.0.12,ip_dst=10.77.1.1,nw_ttl=64,udp_src=1,udp_dst=2",
        MACS[1]
    );
    // A trace ends with the datapath's hash; that both are chosen is for packets to show (suite 15).
    let text = trace("br2", &packet);
    assert!(text.contains("hash(sym_l4(0)),recirc("), "{text}");
    let away = buckets(&mini, 2)[0].iter().filter(|bucket| bucket.contains("TunDst")).count();
    assert!((16..=48).contains(&away), "{away} of 64 buckets lead to c1");
    // What came through the tunnel leads to the next hop here, and never back.
    let vni = mini.engine.model().vpn("corp").unwrap().l3_vni.unwrap().0;
    for (bridge, port) in [("br1", 11), ("br2", 11)] {
        let arriving = format!(
            "in_port=1,tun_id={vni},udp,eth_src={GATEWAY},eth_dst={GATEWAY},ip_src=10.0.0.12,ip_dst=10.77.1.1,nw_ttl=63,udp_src=1,udp_dst=2"
        );
        let text = trace(bridge, &arriving);
        assert!(text.contains(&format!("output:{port}")), "{bridge}: {text}");
    }
    // Sources of the prefix come from both, and from nobody else.
    let from = |bridge: &str, port: u16, mac: &str| {
        let packet = format!(
            "in_port={port},udp,eth_src={mac},eth_dst={GATEWAY},ip_src=10.77.1.1,ip_dst=10.0.0.12,nw_ttl=64,udp_src=2,udp_dst=1"
        );
        trace(bridge, &packet)
    };
    assert!(from("br1", 11, MACS[0]).contains("output:1"));
    assert!(from("br2", 11, "0a:00:00:00:02:11").contains("output:12"));
    assert!(from("br2", 12, MACS[1]).contains("Datapath actions: drop"));
}

/// A prefix within a node's pod-cidr would lead past the pods there; it waits as long as the node has it.
#[test]
fn a_route_within_a_pod_cidr_waits() {
    let mut mini = corp();
    through_c1(&mut mini, "10.11.1.128/25");
    let held = |mini: &Mini| {
        mini.engine.desired()[&Dpid(2)].flows.iter().any(|flow| flow.to_string().contains("10.11.1.128/25"))
    };
    assert!(held(&mini));
    let node = "k8s-node:k8s-nodes-info/k8s-nodes=11111111-1111-1111-1111-111111111111";
    let body = r#"{"k8s-nodes":[{"uid":"11111111-1111-1111-1111-111111111111","internal-ip-address":"192.168.56.12","pod-cidr":"10.11.1.0/24"}]}"#;
    mini.put(Config, node, body).unwrap();
    assert!(!held(&mini));
    assert!(status(&mini, "c1").contains("within the pod-cidr of node"), "{}", status(&mini, "c1"));
    mini.delete(Config, node).unwrap();
    assert!(held(&mini));
}
