//! What clients read of the worked example: golden files of each feature.

use super::super::testing::*;
use crate::datastore::Store::{self, Config, Operational};
use crate::pipeline::golden;

/// The lists that each feature derives.
const LISTS: &[(&str, &[(Store, &str)])] = &[
    (
        "coe",
        &[
            (Config, "elan:elan-instances"),
            (Config, "elan:elan-interfaces"),
            (Config, "l3vpn:vpn-instances"),
            (Config, "l3vpn:vpn-interfaces"),
            (Config, "ietf-interfaces:interfaces"),
            (Config, "odl-l3vpn:vpn-instance-to-vpn-id"),
            (Config, "odl-l3vpn:vpn-id-to-vpn-instance"),
            (Operational, "pod-meta:podidentifier-info"),
            (Operational, "coeus-status:objects"),
        ],
    ),
    (
        "interface",
        &[
            (Operational, "ietf-interfaces:interfaces-state"),
            (Operational, "odl-interface-meta:if-indexes-interface-map"),
            (Operational, "odl-interface-meta:dpn-to-interface-list"),
            (Config, "interface-service-bindings:service-bindings"),
            (Operational, "interface-service-bindings:bound-services-state-list"),
            (Operational, "opendaylight-inventory:nodes"),
        ],
    ),
    (
        "tunnel",
        &[
            (Config, "itm-state:dpn-endpoints"),
            (Config, "itm-state:dpn-teps-state"),
            (Operational, "itm-state:tunnels_state"),
        ],
    ),
    ("elan", &[(Operational, "elan:elan-dpn-interfaces"), (Operational, "elan:elan-forwarding-tables")]),
    (
        "vpn",
        &[
            (Config, "odl-fib:fibEntries"),
            (Operational, "odl-l3vpn:vpn-instance-op-data"),
            (Operational, "odl-l3vpn:prefix-to-interface"),
            (Operational, "odl-l3vpn:vpn-interface-op-data"),
        ],
    ),
];

fn assert_golden(case: &str, world: &World) {
    for (feature, lists) in LISTS {
        let mut text = String::new();
        for (store, path) in *lists {
            let json = world.read(*store, path);
            let json: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
            text += &format!("# {store:?} {path}\n{}\n", serde_json::to_string_pretty(&json).unwrap());
        }
        golden::assert_text(&format!("src/renderers/{feature}/golden/{case}.derived"), &text);
    }
}

#[test]
fn two_nodes() {
    assert_golden("two-nodes", &two_pods().on_two_nodes());
}

#[test]
fn dual_stack() {
    assert_golden("dual-stack", &two_pods().of_both_versions());
}

#[test]
fn last_pod_gone() {
    let mut world = two_pods().on_one_node();
    world.put([no_pod("p1"), no_pod("p2")]);
    assert_golden("last-pod-gone", &world);
}

#[test]
fn a_pool_binds_dhcp() {
    let mut world = two_pods().on_one_node();
    let path = "interface-service-bindings:service-bindings/services-info=blue%3Ap1,\
                interface-service-bindings%3Aservice-mode-ingress/bound-services=5";
    assert_eq!(world.read(Config, path), "");
    world.put([pool("blue", "10.11.1.0/24", None)]);
    assert!(world.read(Config, path).contains(r#""service-name":"dhcp""#), "{}", world.read(Config, path));
}

#[test]
fn tunnels_are_of_the_kind_of_their_port() {
    let mut world = World::default().with(switch(1)).with(switch(2)).with([gre(2, 6)]);
    let kinds = |world: &World, path: &str, store| {
        let text = world.read(store, path);
        ["vxlan", "geneve", "gre"].map(|kind| text.matches(&format!("tunnel-type-{kind}\"")).count())
    };
    assert_eq!(kinds(&world, "itm-state:tunnels_state", Operational), [2, 0, 0]);
    assert_eq!(kinds(&world, "itm-state:dpn-endpoints", Config), [2, 0, 1]);
    world.put(geneve(1));
    world.put(geneve(2));
    assert_eq!(kinds(&world, "itm-state:tunnels_state", Operational), [0, 2, 0]);
    assert_eq!(kinds(&world, "itm-state:dpn-teps-state", Config), [0, 2, 0]);
    assert_eq!(kinds(&world, "itm-state:dpn-endpoints", Config), [0, 2, 1]);
    assert!(world.read(Config, "itm-state:dpn-endpoints").contains("coeus-tunnel:tunnel-type-geneve"));
}

/// An endpoint without its port has tunnels that are down; one without an address has none.
#[test]
fn a_tunnel_is_up_once_both_ends_have_their_port() {
    let states = |world: &World| {
        let text = world.read(Operational, "itm-state:tunnels_state");
        (text.matches(r#""oper-state":"up""#).count(), text.matches(r#""oper-state":"down""#).count())
    };
    let mut world = World::default().with(switch(1)).with(switch(2));
    assert_eq!(states(&world), (2, 0));
    world.put([bridge(3, Some(host(3)))]);
    assert_eq!(states(&world), (2, 4));
    world.put(switch(3));
    assert_eq!(states(&world), (6, 0));
    world.put([bridge(1, None)]);
    assert_eq!(states(&world), (2, 0));
}
