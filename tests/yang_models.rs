//! All modules of yang/ compile, and our compiled schema says what they say.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use coeus::schema::{Kind, StringKind, Type, builtin, load};

#[test]
fn every_module_compiles_without_a_word_from_libyang() {
    let context = load::context().expect("all modules compile");
    for (name, _) in load::modules() {
        assert!(context.get_module_implemented(name).is_some(), "{name} is not implemented");
    }
}

#[test]
fn the_paths_that_users_know_resolve() {
    let schema = builtin();
    for path in [
        "/pod:coe/pods/interface/segmentation-id",
        "/pod:coe/pods/version",
        "/pod:coe/pods/network-NS",
        "/pod:coe/pods/host-ip-address",
        "/service:service-information/services/endpoints",
        "/service:endpoints-info/endpoints/endpoint-addresses/ip-address",
        "/k8s-node:k8s-nodes-info/k8s-nodes/pod-cidr",
        "/k8s-cluster:k8s-clusters-info/k8s-clusters/cluster-id",
        "/k8s:k8s/network-policies/network-policy/network-policy-spec/ingress/network-policy-ingress-rule/from",
        "/pod-meta:podidentifier-info/pod-identifier/pod-uuid",
        "/dhcp_allocation_pool:dhcp_allocation_pool/network/allocation-pool/gateway",
        "/elan:elan-instances/elan-instance/segmentation-id",
        "/elan:elan-interfaces/elan-interface/static-mac-entries/ip-prefix",
        "/elan:elan-dpn-interfaces/elan-dpn-interfaces-list/dpn-interfaces/interfaces",
        "/l3vpn:vpn-instances/vpn-instance/ipv4-family/route-distinguisher",
        "/l3vpn:vpn-interfaces/vpn-interface/vpn-instance-names/vpn-name",
        "/l3vpn:vpn-interfaces/vpn-interface/odl-l3vpn:adjacency/mac_address",
        "/odl-l3vpn:vpn-instance-to-vpn-id/vpn-instance/vpn-id",
        "/odl-fib:fibEntries/vrfTables/vrfEntry/route-paths",
        "/odl-nat:floating-ip-info/router-ports/ports/internal-to-external-port-map/external-ip",
        "/ietf-interfaces:interfaces/interface/odl-interface:parent-interface",
        "/ietf-interfaces:interfaces-state/interface/if-index",
        "/interface-service-bindings:service-bindings/services-info/bound-services/service-priority",
        "/itm:transport-zones/transport-zone",
        "/itm-state:tunnels_state/state-tunnel-list/oper-state",
        "/id-manager:id-pools/id-pool/id-entries/id-value",
        "/ietf-access-control-list:access-lists/acl/acl-name",
        "/network-topology:network-topology/topology/node/ovsdb:openvswitch-other-configs/other-config-value",
        "/network-topology:network-topology/topology/node/termination-point/ovsdb:interface-external-ids/external-id-value",
        "/network-topology:network-topology/topology/node/termination-point/ovsdb:ofport",
        "/opendaylight-inventory:nodes/node/node-connector/flow-node-inventory:port-number",
        "/coeus-status:objects/object/reason",
        "/coeus-dhcp:leases/lease/address",
    ] {
        schema.resolve(path);
    }
}

#[test]
fn kinds_types_and_keys_come_over() {
    let schema = builtin();
    let node = |path: &str| schema.node(schema.resolve(path));
    let Kind::List { keys, positional: false, .. } = &node("/pod:coe/pods").kind else {
        panic!("pods is a keyed list")
    };
    assert_eq!(keys, &[schema.resolve("/pod:coe/pods/uid")]);
    let Kind::List { positional, .. } = &node("/service:service-information/services/service-ports").kind
    else {
        panic!("service-ports is a list")
    };
    assert!(positional, "service-ports has no key upstream");
    let Kind::Leaf { type_: Type::String { patterns, kind, .. }, .. } = &node("/pod:coe/pods/uid").kind
    else {
        panic!("uid is a string")
    };
    assert_eq!(*kind, StringKind::LowerCase);
    assert_eq!(patterns[0].expression.is_match("ac092d9b-e9eb-bae2-eed8-74aca2b7fa9c"), Ok(true));
    assert_eq!(patterns[0].expression.is_match("ac092d9b"), Ok(false));
    let Kind::Leaf { type_: Type::Enumeration(values), .. } =
        &node("/pod:coe/pods/interface/network-type").kind
    else {
        panic!("network-type is an enumeration")
    };
    assert_eq!(values.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["FLAT", "VLAN", "VXLAN", "GRE"]);
    let Kind::Leaf { type_: Type::Uint { bits: 32, ranges, .. }, .. } =
        &node("/elan:elan-instances/elan-instance/mac-timeout").kind
    else {
        panic!("mac-timeout is a uint32")
    };
    assert_eq!(ranges, &[0..=65535]);
    let Kind::Leaf { default: Some(default), .. } = &node("/elan:elan-instances/elan-instance/external").kind
    else {
        panic!("external has a default")
    };
    assert_eq!(&**default, "false");
    assert!(!node("/ietf-interfaces:interfaces-state/interface/name").config);
    let per_route = node("/l3vpn:vpn-instances/vpn-instance/ipv4-family/apply-label/apply-label-per-route");
    assert_eq!(per_route.cases.len(), 1, "it stands in one case");
    let Kind::Leaf { type_: Type::LeafRef { target, require_instance: false, .. }, .. } =
        &node("/elan:elan-interfaces/elan-interface/name").kind
    else {
        panic!("an elan-interface refers to an interface")
    };
    assert_eq!(*target, Some(schema.resolve("/ietf-interfaces:interfaces/interface/name")));
    let l2vlan =
        schema.identities.iter().find(|identity| &*identity.name == "l2vlan").expect("iana-if-type is there");
    assert_eq!(l2vlan.bases.len(), 1);
}

#[test]
fn only_leafs_with_a_default_statement_have_a_default() {
    let schema = builtin();
    let default = |path: &str| match &schema.node(schema.resolve(path)).kind {
        Kind::Leaf { default, .. } => default.as_deref(),
        _ => panic!("{path} is no leaf"),
    };
    assert_eq!(default("/pod:coe/pods/name"), None);
    assert_eq!(default("/pod:coe/pods/uid"), None);
    assert_eq!(default("/l3vpn:vpn-instances/vpn-instance/type"), Some("l3"));
}
