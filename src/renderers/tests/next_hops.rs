//! Next hops that share a route and do not answer.

use super::by_hand::tables;
use super::extra_routes::{adjacency, buckets, three, through};
use super::mini::Mini;
use super::ovs::Ovs;
use crate::datastore::Store::{Config, Operational};
use crate::pipeline::golden;

const ALL: &str = r#""10.0.0.11","10.0.0.12","10.0.0.13""#;
const PREFIX: &str = "10.77.0.0/16";
const PUNTED: &str = "userdata=6e.65.78.74.2d.68.6f.70";

/// c1, on switch 1, c2 and c3 share a route.
fn sharing() -> Mini {
    let mut mini = three();
    through(&mut mini, "c1", PREFIX, ALL);
    mini
}

/// Writes down whether a next hop is silent.
fn silent(mini: &mut Mini, interface: &str, address: &str, silent: bool) {
    let key = address.replace(':', "%3A");
    let path = format!("coeus-next-hop:silent-next-hops/silent-next-hop={interface},{key}");
    if !silent {
        return mini.delete(Operational, &path).unwrap();
    }
    let body = format!(
        r#"{{"coeus-next-hop:silent-next-hop":[{{"interface":"{interface}","address":"{address}"}}]}}"#
    );
    mini.put(Operational, &path, &body).unwrap();
}

fn states(mini: &Mini) -> String {
    mini.get(Operational, "coeus-next-hop:next-hops")
}

fn watched(mini: &mut Mini, enabled: bool) {
    let body = format!(r#"{{"coeus-next-hop:next-hop-liveness":{{"enabled":{enabled}}}}}"#);
    mini.put(Config, "coeus-next-hop:next-hop-liveness", &body).unwrap();
}

#[test]
fn who_is_silent_carries_nothing_and_is_back_as_he_was() {
    let mut mini = sharing();
    let before = mini.engine.desired();
    let fib = |mini: &Mini| mini.get(Config, "odl-fib:fibEntries");
    // As if he had gone: his buckets are others', and no other moves.
    let without: Vec<_> = {
        let mut mini = sharing();
        mini.delete(Config, "l3vpn:vpn-interfaces/vpn-interface=c3").unwrap();
        [1, 2].map(|switch| buckets(&mini, switch)).into()
    };
    silent(&mut mini, "c3", "10.0.0.13", true);
    assert!(without == [1, 2].map(|switch| buckets(&mini, switch)));
    assert_eq!(states(&mini).matches(r#""state":"answering""#).count(), 2, "{}", states(&mini));
    assert_eq!(states(&mini).matches(r#""state":"silent""#).count(), 1, "{}", states(&mini));
    assert!(fib(&mini).contains("192.168.56.11") && fib(&mini).contains("192.168.56.12"));
    // One answers: there is no group, and one tunnel endpoint.
    silent(&mut mini, "c2", "10.0.0.12", true);
    assert!(buckets(&mini, 1).is_empty() && buckets(&mini, 2).is_empty());
    let routes = |mini: &Mini, switch| {
        let text = golden::print(&tables(mini, switch));
        text.lines().filter(|line| line.contains("table=21,") && line.contains(PREFIX)).count()
    };
    assert_eq!([routes(&mini, 1), routes(&mini, 2)], [1, 1]);
    let entry = |mini: &Mini| {
        let fib = fib(mini);
        let at = fib.find(PREFIX).unwrap();
        fib[at..].split("destPrefix").next().unwrap().to_owned()
    };
    assert!(!entry(&mini).contains("192.168.56.12"), "{}", entry(&mini));
    // Nobody does: all carry, since it may be us.
    silent(&mut mini, "c1", "10.0.0.11", true);
    let carried = |mini: &Mini| [1, 2].map(|switch| buckets(mini, switch));
    let all = carried(&mini);
    for (interface, address) in [("c1", "10.0.0.11"), ("c2", "10.0.0.12"), ("c3", "10.0.0.13")] {
        silent(&mut mini, interface, address, false);
    }
    assert!(carried(&mini) == all && mini.engine.desired() == before);
}

#[test]
fn who_shares_no_route_is_not_watched() {
    let mut mini = three();
    through(&mut mini, "c1", PREFIX, r#""10.0.0.11""#);
    assert!(!states(&mini).contains("c1"), "{}", states(&mini));
    assert!(!golden::print(&tables(&mini, 1)).contains(PUNTED));
    through(&mut mini, "c3", PREFIX, "");
    for part in [r#""interface":"c1""#, r#""interface":"c3""#, r#""address":"10.0.0.13""#, PREFIX] {
        assert!(states(&mini).contains(part), "{part}: {}", states(&mini));
    }
    assert!(golden::print(&tables(&mini, 1)).contains(PUNTED));
    // Nor is anybody where it is switched off, whatever is written down.
    silent(&mut mini, "c3", "10.0.0.13", true);
    assert!(buckets(&mini, 1).is_empty());
    watched(&mut mini, false);
    assert_eq!(buckets(&mini, 1).len(), 1);
    assert!(!states(&mini).contains("c1") && !golden::print(&tables(&mini, 1)).contains(PUNTED));
    watched(&mut mini, true);
    assert!(buckets(&mini, 1).is_empty());
}

/// Of two addresses by which an interface carries a route, one is enough.
#[test]
fn who_answers_at_one_of_his_next_hops_carries() {
    let mut mini = three();
    adjacency(&mut mini, "c3", "10.0.0.23/32", r#","adjacency_type":"primary-adjacency""#).unwrap();
    through(&mut mini, "c1", PREFIX, r#""10.0.0.11","10.0.0.13","10.0.0.23""#);
    assert_eq!(buckets(&mini, 1).len(), 1, "{}", states(&mini));
    silent(&mut mini, "c3", "10.0.0.13", true);
    assert_eq!(buckets(&mini, 1).len(), 1);
    silent(&mut mini, "c3", "10.0.0.23", true);
    assert!(buckets(&mini, 1).is_empty());
}

#[test]
fn answers_to_the_gateway_alone_are_for_the_controller() {
    let Some(ovs) = Ovs::start() else { return };
    let mini = sharing();
    ovs.bridge("br1", &tables(&mini, 1));
    let arp = |to: &str, source: &str| {
        format!(
            "in_port=11,arp,arp_op=2,eth_src=0a:00:00:00:01:11,eth_dst={to},arp_sha=0a:00:00:00:01:11,arp_spa={source},arp_tpa=10.0.0.1"
        )
    };
    let trace = |packet: &str| ovs.control().ask("ofproto/trace", &["br1", packet]);
    let answer = trace(&arp("02:c0:e5:01:86:a0", "10.0.0.11"));
    assert!(answer.contains(PUNTED), "{answer}");
    for other in [arp("0a:00:00:00:02:12", "10.0.0.11"), arp("02:c0:e5:01:86:a0", "10.0.0.99")] {
        assert!(!trace(&other).contains(PUNTED), "{other}");
    }
}

/// Next hops of IPv6 are asked by the router's link-local address.
#[test]
fn next_hops_of_ipv6_answer_the_router() {
    let Some(ovs) = Ovs::start() else { return };
    let mut mini = three();
    for (interface, address) in [("c1", "fd00::11"), ("c3", "fd00::13")] {
        let key = format!("{address}/128");
        adjacency(&mut mini, interface, &key, r#","adjacency_type":"primary-adjacency""#).unwrap();
    }
    through(&mut mini, "c1", "fd77::/64", r#""fd00::11","fd00::13""#);
    assert!(states(&mini).contains(r#""asker-address":"fe80::1""#), "{}", states(&mini));
    ovs.bridge("br1", &tables(&mini, 1));
    let told = |target: &str| {
        format!(
            "in_port=11,icmp6,eth_src=0a:00:00:00:01:11,eth_dst=02:c0:e5:01:86:a0,ipv6_src=fd00::11,ipv6_dst=fe80::1,nw_ttl=255,icmpv6_type=136,icmpv6_code=0,nd_target={target},nd_tll=0a:00:00:00:01:11"
        )
    };
    let trace = |packet: &str| ovs.control().ask("ofproto/trace", &["br1", packet]);
    let answer = trace(&told("fd00::11"));
    assert!(answer.contains(PUNTED), "{answer}");
    assert!(!trace(&told("fd00::13")).contains(PUNTED));
    silent(&mut mini, "c3", "fd00::13", true);
    assert!(buckets(&mini, 1).is_empty());
}

/// What is known of somebody who is not there yet counts when he comes.
#[test]
fn the_order_does_not_matter() {
    let mut first = three();
    silent(&mut first, "c3", "10.0.0.13", true);
    through(&mut first, "c1", PREFIX, ALL);
    let mut last = sharing();
    silent(&mut last, "c3", "10.0.0.13", true);
    assert!(first.engine.desired() == last.engine.desired());
}
