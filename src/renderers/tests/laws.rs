//! Laws over arbitrary edit sequences.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use openflow_rs::{Field, Instruction, MatchField};
use proptest::prelude::*;

use super::super::rendered::AtPlace;
use super::super::testing::*;
use crate::model::{
    Asks, Bandwidth, Bridge, ElanInstance, EndpointPort, ExtRouter, HandMade, HostPort, Model,
    NODE_LPORT_KEY, NetworkType, POOL_VNIS, Pool, Port, PortMac, Rate, Row, Service, ServiceEndpoints,
    ServicePool, ServicePort, SubPort, Target, VpnInstance, WantedAddress, WantedRoute, external_vpn_key,
    uplink_lport_key,
};
use crate::net::{Dpid, OfPort, Transport, UnderlayMtu, Vni, VpnId};
use crate::pipeline::{Action, FIB, Metadata, SwitchTables, golden};
use crate::schema::{Fields, Text, builtin, diff};

/// Small ranges, so that edits meet.
const NAMES: [&str; 4] = ["p1", "p2", "p3", "p4"];
const NAMESPACES: [&str; 2] = ["blue", "red"];
const ADDRESSES: [&str; 8] =
    ["10.0.0.1", "10.0.0.10", "10.0.0.11", "0.147.0.7", "fd00::1", "fd00::10", "fd00::11", "fe80::7"];

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&NAMES[..])
}

fn namespace() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&NAMESPACES[..])
}

/// What a lease may hold.
fn address() -> impl Strategy<Value = Option<&'static str>> {
    prop::option::of(prop::sample::select(&ADDRESSES[..4]))
}

/// None to three, of either version, each once.
fn addresses() -> impl Strategy<Value = Box<[IpAddr]>> {
    prop::sample::subsequence(&ADDRESSES[..], 0..=3)
        .prop_shuffle()
        .prop_map(|texts| texts.into_iter().map(|text| text.parse().unwrap()).collect())
}

/// Mostly VXLAN; of VLANs two, and what is none.
fn network() -> impl Strategy<Value = (NetworkType, Option<u32>)> {
    prop_oneof![
        4 => Just((NetworkType::Vxlan, None)),
        1 => Just((NetworkType::Gre, None)),
        1 => Just((NetworkType::Flat, None)),
        2 => prop::sample::select(&[0_u32, 100, 200][..]).prop_map(|id| (NetworkType::Vlan, Some(id))),
    ]
}

fn node() -> impl Strategy<Value = u64> {
    1_u64..=3
}

/// A pod that may lack something, may have a second interface, and may want somebody else's MAC address.
fn any_pod() -> impl Strategy<Value = Row> {
    let parts =
        (name(), name(), namespace(), node(), addresses(), any::<[bool; 4]>(), prop::option::of(1_u32..3));
    let further = (trunk(), any_asks());
    (parts, network(), super::policy::any_labels(), further).prop_map(
        |(
            (uid, name, namespace, node, addresses, [named, hosted, second, spaced], wanted),
            network,
            (labels, ports),
            (trunk, asks),
        )| {
            let Row::Pod(_, Some(mut pod)) = pod(uid, namespace, node, None) else { unreachable!() };
            pod.interfaces[0].addresses = addresses;
            (pod.labels, pod.ports) = (labels, ports);
            pod.interfaces[0].asks = (asks != Asks::default()).then(|| asks.into());
            (pod.interfaces[0].network_type, pod.interfaces[0].segmentation_id) = network;
            pod.interfaces[0].trunk = trunk;
            // The name of another pod, now and then.
            pod.name = if named { Some(uid.into()) } else { Some(name.into()) };
            pod.host = pod.host.filter(|_| hosted || named);
            pod.namespace = pod.namespace.filter(|_| spaced || hosted || named);
            pod.mac = wanted.map(|ofport| mac(9, ofport));
            if second {
                let mut further = pod.interfaces[0].clone();
                further.uid = format!("{uid}-second").into();
                further.addresses = Box::default();
                further.trunk = pod.interfaces[0].trunk.clone();
                pod.interfaces.push(further);
            }
            Row::Pod(uid.into(), Some(pod))
        },
    )
}

/// Few trunks and tags, so that they meet: by what a port is for, and by its name.
fn trunk() -> impl Strategy<Value = Option<SubPort>> {
    let trunk = (any::<bool>(), namespace(), name())
        .prop_map(|(by_name, ns, name)| format!("{}{ns}:{name}", if by_name { "veth-" } else { "" }));
    let own = prop::option::weighted(0.8, 9_u32..13);
    let sub_port = (trunk, 7_u16..9, own).prop_map(|(trunk, vlan, own)| SubPort {
        trunk: trunk.into(),
        vlan,
        mac: own.map(|ofport| mac(9, ofport)),
    });
    prop::option::weighted(0.3, sub_port)
}

/// Host ports that meet each other and node ports, at all addresses and at one; limits of either direction.
fn any_asks() -> impl Strategy<Value = Asks> {
    let address = prop::sample::select(
        &[None, Some("0.0.0.0"), Some("::"), Some("192.168.56.11"), Some("10.9.9.9")][..],
    );
    let port = (address, prop::sample::select(&[80_u16, 30_080][..]), any::<bool>()).prop_map(
        |(address, port, is_udp)| HostPort {
            transport: if is_udp { Transport::Udp } else { Transport::Tcp },
            port,
            address: address.map(|address| address.parse().unwrap()),
            target: 8080,
        },
    );
    let rate = prop::option::weighted(0.2, (1_u64..1 << 40).prop_map(|bits| Rate { bits, burst: None }));
    (prop::collection::btree_set(port, 0..3), rate.clone(), rate).prop_map(|(ports, ingress, egress)| Asks {
        host_ports: ports.into_iter().collect(),
        bandwidth: Bandwidth { ingress, egress },
    })
}

fn any_port() -> impl Strategy<Value = Row> {
    (node(), namespace(), name(), 9_u32..13, any::<bool>()).prop_map(
        |(node, namespace, name, ofport, has_mac)| {
            let Row::Port(id, Some(row)) = port(node, &format!("{namespace}:{name}"), ofport) else {
                unreachable!()
            };
            Row::Port(id, Some(Port { attached_mac: row.attached_mac.filter(|_| has_mac), ..row }))
        },
    )
}

fn any_row() -> impl Strategy<Value = Row> {
    // None, the same, one in the other, beside each other, of one address, of both versions, and one that is of no use.
    let cidr = prop::sample::select(
        &[
            None,
            Some("10.0.0.0/24"),
            Some("10.0.0.0/28"),
            Some("10.0.0.8/30"),
            Some("10.0.0.11/32"),
            Some("10.0.0.1/29"),
            Some("0.0.0.0/0"),
            Some("fd00::/64"),
            Some("fd00::10/124"),
        ][..],
    );
    let other_node = prop::option::weighted(0.2, node());
    let gateway = prop::sample::select(&[None, Some("10.0.0.1"), Some("10.0.0.254")][..]);
    let network = prop::sample::select(&["blue", "red", "192.168.56.11:blue"][..]);
    prop_oneof![
        6 => any_pod(),
        2 => name().prop_map(no_pod),
        6 => any_port(),
        2 => (node(), namespace(), name()).prop_map(|(node, ns, name)| no_port(node, &format!("{ns}:{name}"))),
        3 => (node(), cidr, other_node).prop_map(|(node, cidr, external)| {
            let Row::K8sNode(uid, Some(mut row)) = k8s_node(node, cidr) else { unreachable!() };
            row.external = external.map(|other| IpAddr::V4(host(other)));
            Row::K8sNode(uid, Some(row))
        }),
        1 => node().prop_map(|node| Row::K8sNode(format!("node-{node}").into(), None)),
        1 => (network.clone(), gateway).prop_map(|(network, gateway)| pool(network, "10.0.0.0/24", gateway)),
        1 => network.prop_map(no_pool),
        4 => any_hand_made(),
        4 => any_instance(),
        1 => (namespace(), name(), address()).prop_map(|(ns, name, address)| lease(&format!("{ns}:{name}"), address)),
        2 => any_bridge(),
        1 => node().prop_map(|node| Row::Bridge(node_id(node), None)),
        2 => (node(), prop::sample::select(&["physnet", "other"][..])).prop_map(|(node, network)| uplink(node, network, 5)),
        1 => (node(), prop::sample::select(&["physnet", "other"][..])).prop_map(|(node, network)| without(&uplink(node, network, 5))),
        2 => node().prop_map(|node| gre(node, 6)),
        1 => node().prop_map(|node| without(&gre(node, 6))),
        1 => node().prop_map(|node| { let [_, port] = geneve(node); port }),
        2 => (node(), 7_u32..9).prop_map(|(node, ofport)| node_port(node, ofport)),
        1 => node().prop_map(|node| without(&node_port(node, 7))),
        1 => node().prop_map(|node| translated_both(&[(node, "203.0.113.5")], &[(node, "2001:db8:5::5")])),
        // Addresses of which something is to be said: within a prefix of pods, or of a node.
        2 => (node(), prop::option::of(node())).prop_map(|(node, other)| {
            let source = other.map_or("10.0.0.9".to_owned(), |other| host(other).to_string());
            translated(&[(node, &source)])
        }),
        1 => Just(Row::SourceNat(None)),
        2 => (node(), prop::sample::select(&EXTERNAL[..]), prop::sample::select(&SHARED[..]))
            .prop_map(|(node, network, (v4, v6))| translated_by_both(network, &[(node, v4)], &[(node, v6)])),
        4 => any_external(),
        1 => any::<bool>().prop_map(Row::Watched),
        3 => any_silent(),
        4 => super::policy::any_policy(&NAMESPACES),
        1 => super::policy::any_namespace(&NAMESPACES),
        1 => super::policy::any_acl(),
        1 => super::policy::any_binding(&["blue:p1", "blue:p2", "red:p3", "tap1"]),
        4 => any_service(),
        1 => any::<[bool; 2]>().prop_map(|[v4, v6]| {
            let pool = ServicePool {
                v4: v4.then(|| "10.97.0.0/29".parse().unwrap()),
                v6: v6.then(|| "fd97::/64".parse().unwrap()),
            };
            Row::ServicePool((v4 || v6).then_some(pool))
        }),
        3 => any_endpoints(),
        1 => (node(), 1_u32..3).prop_map(|(node, ofport)| {
            let [_, Row::Port(id, Some(port))] = switch(node) else { unreachable!() };
            Row::Port(id, Some(Port { ofport: OfPort(ofport), ..port }))
        }),
        1 => node().prop_map(|node| {
            let [_, Row::Port(id, _)] = switch(node) else { unreachable!() };
            Row::Port(id, None)
        }),
    ]
}

/// With or without a tunnel address, and with links of two sizes.
fn any_bridge() -> impl Strategy<Value = Row> {
    let octets = prop::sample::select(&[1500_u16, 9000][..]);
    (node(), prop::option::of(node()), octets).prop_map(|(node, at, octets)| {
        let Row::Bridge(id, Some(row)) = bridge(node, at.map(host)) else { unreachable!() };
        let underlay_mtu = UnderlayMtu::new(octets).unwrap_or_default();
        Row::Bridge(id, Some(Bridge { underlay_mtu, ..row }))
    })
}

/// ELANs and VPNs that are written by hand; one is also that of pods.
const ELANS: [&str; 3] = ["lan-1", "lan-2", "192.168.56.11:blue"];
const VPNS: [&str; 3] = ["corp2", "office", "red"];
const TARGETS: [&str; 3] = ["64512:1", "64512:2", "64512:3"];

/// An interface written by hand, which may lack something or have the name of a pod's.
fn any_hand_made() -> impl Strategy<Value = Row> {
    let name = prop::sample::select(&["hand-1", "hand-2", "blue:p1"][..]);
    let elan = prop::option::of(prop::sample::select(&ELANS[..]));
    let vpns = prop::sample::subsequence(&VPNS[..], 0..=2);
    let parent =
        prop::option::of((namespace(), self::name()).prop_map(|(ns, name)| format!("veth-{ns}:{name}")));
    let mac_of = prop::option::of(9_u32..13);
    let member = (any::<bool>(), prop::option::of(7_u16..9));
    (name, elan, vpns, parent, addresses(), routes(), (mac_of, member), any::<[bool; 5]>()).prop_map(
        |(
            name,
            elan,
            mut vpns,
            parent,
            addresses,
            routes,
            (mac_of, (is_member, vlan)),
            [there, exists, enabled, routed, second],
        )| {
            let internet = if second && vpns.len() > 1 { vpns.split_off(1) } else { Vec::new() };
            let gateway = routed.then(|| "10.0.0.254".parse().unwrap());
            let address = |ip: &IpAddr| WantedAddress { ip: *ip, gateway };
            let row = HandMade {
                name: name.into(),
                exists: exists || enabled,
                is_disabled: !(enabled || exists),
                parent: parent.map(Into::into),
                is_member,
                vlan,
                elan: elan.map(Into::into),
                vpns: vpns.into_iter().map(Into::into).collect(),
                internet: internet.into_iter().map(Into::into).collect(),
                mac: mac_of.map(|ofport| mac(9, ofport)),
                addresses: addresses.iter().map(address).collect(),
                routes,
                bad_adjacencies: Vec::new(),
            };
            Row::HandMade(name.into(), (there || exists).then_some(row))
        },
    )
}

const BEHIND: [&str; 9] = [
    "0.0.0.0/0",
    "10.0.0.0/8",
    "10.0.0.0/28",
    "10.0.0.11/32",
    "10.0.1.0/24",
    "::/0",
    "fd00::/16",
    "fd00::/80",
    "fd00::11/128",
];

/// Prefixes behind an interface: a default route, what holds pods, what is in a pod-cidr, what others have, of either version.
fn routes() -> impl Strategy<Value = Vec<WantedRoute>> {
    let hops = prop::sample::subsequence(&["10.0.0.10", "fd00::10", "10.0.0.11", "10.0.0.12"][..], 0..=3);
    (prop::sample::subsequence(&BEHIND[..], 0..=3), hops).prop_map(|(prefixes, hops)| {
        let route = |prefix: &str| WantedRoute {
            prefix: prefix.parse().unwrap(),
            next_hops: hops.iter().map(|hop| hop.parse().unwrap()).collect(),
            mac: None,
        };
        prefixes.into_iter().map(route).collect()
    })
}

fn any_instance() -> impl Strategy<Value = Row> {
    let vni = || prop::option::of(prop::sample::select(&[Vni(500), Vni(501), Vni(70_000)][..]));
    let targets = || {
        let some = prop::sample::subsequence(&TARGETS[..], 0..=2);
        some.prop_map(|all| all.into_iter().map(Text::from).collect::<BTreeSet<Text>>())
    };
    let number = prop::option::of(1..3);
    let elan = (prop::sample::select(&ELANS[..]), vni(), any::<bool>()).prop_map(|(name, vni, there)| {
        let row = ElanInstance { vni, ..ElanInstance::default() };
        Row::ElanInstance(name.into(), there.then_some(row))
    });
    let vpn = (prop::sample::select(&VPNS[..]), number, vni(), targets(), targets(), any::<[bool; 2]>());
    let vpn = vpn.prop_map(|(name, number, l3_vni, imports, exports, [one, two])| {
        // No two VPNs of one store have the same.
        let rd = number.map(|number| format!("{}:{number}", name.len()).into());
        let row = VpnInstance { rd, l3_vni, imports, exports };
        Row::VpnInstance(name.into(), (one || two).then_some(row))
    });
    prop_oneof![elan, vpn]
}

/// Next hops that are found silent, or back.
fn any_silent() -> impl Strategy<Value = Row> {
    let interface = prop::sample::select(&["hand-1", "hand-2", "blue:p1", "red:p1"][..]);
    let address = prop::sample::select(&["10.0.0.10", "10.0.0.11", "fd00::10"][..]);
    (interface, address, any::<bool>()).prop_map(|(interface, address, silent)| {
        Row::Silent(interface.into(), address.parse().unwrap(), silent)
    })
}

/// What the pods of a node share outside, of both versions.
const SHARED: [(&str, &str); 2] = [("203.0.113.8", "2001:db8:113::8"), ("203.0.113.9", "2001:db8:113::9")];

/// Networks on one wire, one of them tagged.
const EXTERNAL: [&str; 2] = ["net-1", "net-2"];
/// One of them has the name of a network.
const SUBNETS: [&str; 2] = ["sub-1", "net-2"];

/// External networks, who is there, and who has addresses of them: by hand, and as services.
fn any_external() -> impl Strategy<Value = Row> {
    let id = || prop::sample::select(&EXTERNAL[..]);
    const ADDRESSES: [&str; 7] = [
        "203.0.113.1",
        "203.0.113.7",
        "203.0.113.8",
        "203.0.113.30",
        "2001:db8:113::1",
        "2001:db8:113::7",
        "2001:db8:113::8",
    ];
    let address = || prop::sample::select(&ADDRESSES[..]);
    let port = prop::sample::select(&["blue:p1", "blue:p2", "red:p1", "hand-1"][..]);
    let mapping = (address(), port, any::<bool>()).prop_map(|(external, port, first)| {
        let internal = match (external.contains(':'), first) {
            (false, true) => "10.0.0.10",
            (false, false) => "10.0.0.11",
            (true, true) => "fd00::10",
            (true, false) => "fd00::11",
        };
        (external, port, internal)
    });
    let mappings = prop::collection::vec(mapping, 0..3);
    let router = prop::sample::select(&["r1", "r2"][..]);
    let network = (id(), prop::option::of(Just(7)), any::<bool>(), any::<[bool; 2]>()).prop_map(
        |(id, vlan, granted, [one, two])| {
            let Row::ExternalNetwork(id, Some(mut row)) = external(id, vlan) else { unreachable!() };
            if !granted {
                row.granted.clear();
            }
            Row::ExternalNetwork(id, (one || two).then_some(row))
        },
    );
    let called = || prop::option::of(prop::sample::select(&["f-1", "f-2"][..]));
    let router = (router, id(), mappings, any::<bool>(), called()).prop_map(
        |(router, id, mappings, named, called)| {
            let Row::FloatingRouter(router, Some(mut row)) = floating(router, id, &mappings) else {
                unreachable!()
            };
            row.network = row.network.filter(|_| named);
            row.mappings.iter_mut().for_each(|mapping| mapping.id = called.map(Into::into));
            Row::FloatingRouter(router, Some(row))
        },
    );
    let mac = (called(), 1_u8..4, any::<[bool; 2]>()).prop_map(|(called, last, [deleted, there])| {
        let written = Some(format!("fa:16:3e:00:00:{last:02x}").into());
        Row::PortMac(called.unwrap_or("f-1").into(), there.then_some(PortMac { written, deleted }))
    });
    let subnet = (prop::sample::select(&SUBNETS[..]), prop::option::of(id()), any::<[bool; 3]>());
    let subnet = subnet.prop_map(|(called, of, [v6, granted, there])| {
        let Row::ExternalSubnet(called, Some(mut row)) = external_subnet(called, of.unwrap_or(""), v6) else {
            unreachable!()
        };
        row.network = row.network.filter(|_| of.is_some());
        if !granted {
            row.granted.clear();
        }
        Row::ExternalSubnet(called, there.then_some(row))
    });
    let gone = prop::sample::select(&["r1", "r2"][..]).prop_map(|id| Row::FloatingRouter(id.into(), None));
    let met = (id(), address(), any::<bool>()).prop_map(|(id, address, there)| neighbour(id, address, there));
    let addresses = prop::sample::subsequence(&["203.0.113.7", "203.0.113.8", "2001:db8:113::7"][..], 0..=3);
    let pods = prop::sample::subsequence(&NAMES[..], 0..=2);
    let service = (namespace(), addresses, pods, any::<bool>()).prop_map(|(ns, addresses, pods, there)| {
        let Row::Service(uid, row) = exposed("web", ns, &addresses, &pods) else { unreachable!() };
        Row::Service(uid, row.filter(|_| there))
    });
    let behind = prop::sample::subsequence(&["10.0.0.10", "10.0.0.11", "10.0.0.12", "fd00::10"][..], 0..=2);
    let behind = (namespace(), behind).prop_map(|(ns, addresses)| endpoints("web", ns, &addresses, &[]));
    let lost = (1_u64..=3, any::<bool>()).prop_map(|(node, lost)| Row::Lost(crate::net::Dpid(node), lost));
    let holder = prop::option::of((1_u64..=3).prop_map(crate::net::Dpid));
    let held = (address(), holder).prop_map(|(address, holder)| Row::Held(address.parse().unwrap(), holder));
    let shared = prop::sample::subsequence(&ADDRESSES[..], 0..=4);
    let shared =
        (namespace(), id(), shared, any::<[bool; 2]>()).prop_map(|(vpn, id, shared, [on, there])| {
            let Row::ExtRouter(vpn, Some(row)) = ext_router(vpn, id, &shared) else { unreachable!() };
            Row::ExtRouter(vpn, there.then_some(ExtRouter { is_on: on, ..row }))
        });
    prop_oneof![2 => network, 2 => subnet, 2 => mac, 3 => router, 2 => shared, 1 => gone, 1 => met, 2 => service, 1 => behind, 2 => lost, 2 => held]
}

/// Services that share names, addresses and pods; some are headless, some have no name.
fn any_service() -> impl Strategy<Value = Row> {
    let uid = prop::sample::select(&["s1", "s2", "s3"][..]);
    let called = prop::option::of(prop::sample::select(&["web", "dns"][..]));
    let addresses = prop::sample::subsequence(&["10.96.0.1", "10.96.0.2", "fd96::1"][..], 0..=2);
    let ports = prop::sample::subsequence(&PORTS[..], 0..=3);
    let pods = prop::sample::subsequence(&NAMES[..], 0..=2);
    let outside = prop::sample::subsequence(&[[203, 0, 113, 7], [203, 0, 113, 8]][..], 0..=2);
    let outside = (outside, prop::option::of(30_080_u16..30_082), any::<[bool; 2]>());
    (uid, called, namespace(), addresses, ports, pods, 0_u8..8, outside).prop_map(
        |(uid, called, namespace, addresses, ports, pods, choice, (outside, node_port, local))| {
            let port = |(name, transport, number, target): &(&str, Transport, u16, u16)| ServicePort {
                name: (!name.is_empty()).then(|| (*name).into()),
                transport: *transport,
                number: *number,
                target: if *target == 0 { Target::Named("web".into()) } else { Target::Number(*target) },
                node_port: node_port.map(|port| port + 10 * (number - 53)),
            };
            let row = Service {
                outside: outside.into_iter().map(Into::into).collect(),
                external_local: local[0],
                internal_local: local[1],
                uid: uid.into(),
                name: called.map(Into::into),
                namespace: Some(namespace.into()),
                addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
                headless: choice == 1,
                affinity: (choice == 2).then_some(60),
                ports: ports.iter().map(port).collect(),
                pods: pods.into_iter().map(Into::into).collect(),
                ..Service::default()
            };
            Row::Service(uid.into(), (choice != 0).then_some(row))
        },
    )
}

/// Name, protocol, number and target of ports; target 0 is one by name.
const PORTS: [(&str, Transport, u16, u16); 4] = [
    ("http", Transport::Tcp, 80, 8080),
    ("", Transport::Udp, 53, 53),
    ("web", Transport::Tcp, 81, 0),
    ("", Transport::Sctp, 80, 8080),
];

fn any_endpoints() -> impl Strategy<Value = Row> {
    let uid = prop::sample::select(&["e1", "e2"][..]);
    let called = prop::sample::select(&["web", "dns"][..]);
    let ports = prop::sample::subsequence(&PORTS[..], 0..=3);
    (uid, called, namespace(), addresses(), ports, any::<bool>()).prop_map(
        |(uid, called, namespace, addresses, ports, there)| {
            let port = |(name, transport, number, _): &(&str, Transport, u16, u16)| EndpointPort {
                name: (!name.is_empty()).then(|| (*name).into()),
                transport: *transport,
                number: *number,
            };
            let row = ServiceEndpoints {
                uid: uid.into(),
                name: Some(called.into()),
                namespace: Some(namespace.into()),
                addresses: addresses.to_vec(),
                ports: ports.iter().map(port).collect(),
                ..ServiceEndpoints::default()
            };
            Row::ServiceEndpoints(uid.into(), there.then_some(row))
        },
    )
}

/// Commits of a few rows each, after three switches came up.
pub(super) fn any_history() -> impl Strategy<Value = Vec<Vec<Row>>> {
    let commits = prop::collection::vec(prop::collection::vec(any_row(), 1..4), 1..25);
    commits.prop_map(|commits| (1..=3).map(|node| switch(node).to_vec()).chain(commits).collect())
}

/// Which ids the model's objects carry.
fn ids_in_use(model: &Model) -> BTreeMap<(Pool, String), u32> {
    let mut ids = BTreeMap::new();
    for interface in model.interfaces() {
        if let Some(identity) = &interface.identity {
            ids.insert((Pool::Interfaces, identity.name.to_string()), identity.lport.unwrap().0);
            let limits = interface.limits.as_deref().copied().unwrap_or_default();
            for (way, limit) in [("from", limits.from_pod), ("to", limits.to_pod)] {
                ids.extend(
                    limit.map(|limit| ((Pool::Meters, format!("{way} {}", identity.name)), limit.meter)),
                );
            }
        }
        let name = model.host_port_name(&interface.id).filter(|_| interface.plugged().is_some());
        for (name, door) in name.iter().flat_map(|name| interface.doors.iter().map(move |door| (name, door)))
        {
            let key = format!("{name} {} {}:{}", door.transport, door.port, door.target);
            let number = model.service_number(&key).unwrap();
            ids.insert((Pool::Services, key), number);
        }
    }
    for name in
        ELANS.iter().copied().chain(model.interfaces().filter_map(|it| Some(&*it.identity.as_ref()?.elan)))
    {
        let Some(elan) = model.elan(name) else { continue };
        ids.insert((Pool::Elan, name.to_owned()), elan.tag.unwrap().0);
        ids.insert((Pool::Vni, name.to_owned()), elan.vni.unwrap().0);
    }
    for name in NAMESPACES.iter().copied().chain(VPNS) {
        let Some(vpn) = model.vpn(name) else { continue };
        ids.insert((Pool::Vpn, name.to_owned()), vpn.id.unwrap().0);
        ids.insert((Pool::Vni, format!("l3 {name}")), vpn.l3_vni.unwrap().0);
    }
    for id in EXTERNAL.into_iter().chain(SUBNETS) {
        if let Some(vpn) = model.external_vpn(id) {
            ids.insert((Pool::Vpn, external_vpn_key(id).to_string()), vpn.0);
        }
    }
    // A number that was asked for by hand is none of the pool.
    ids.extend(model.route_numbers().map(|(key, number)| ((Pool::Routes, key.to_string()), number)));
    ids.extend(model.conjunctions().map(|(key, id)| ((Pool::Policies, key.to_string()), id)));
    ids.retain(|(pool, _), id| *pool != Pool::Vni || POOL_VNIS.contains(id));
    if model.switches().next().is_some() {
        ids.insert((Pool::Interfaces, "tunnel".to_owned()), 0);
    }
    for (dpid, _) in model.switches() {
        for (network, lport, _) in model.uplinks(dpid) {
            ids.insert((Pool::Interfaces, uplink_lport_key(network).to_string()), lport.0);
        }
        if let Some((lport, _)) = model.node_port(dpid) {
            ids.insert((Pool::Interfaces, NODE_LPORT_KEY.to_owned()), lport.0);
        }
        if let Some((lport, _)) = model.gre(dpid) {
            ids.insert((Pool::Interfaces, "tunnel gre".to_owned()), lport.0);
        }
    }
    for (uid, number) in model.pooled_services() {
        ids.insert((Pool::ServiceAddresses, uid.to_string()), number);
    }
    for service in model.services().filter_map(|uid| model.service(uid)) {
        for served in model.served_ports(service) {
            let key = format!("{} {} {}", service.uid, served.port.transport, served.port.number);
            ids.insert((Pool::Services, key), served.number.unwrap());
        }
    }
    ids
}

/// Lines that only one side has; empty if both are the same.
fn differences(left: &BTreeMap<Dpid, SwitchTables>, right: &BTreeMap<Dpid, SwitchTables>) -> String {
    let lines = |switches: &BTreeMap<Dpid, SwitchTables>| -> BTreeSet<String> {
        let print = |(dpid, tables): (&Dpid, &SwitchTables)| {
            golden::print(tables).lines().map(|line| format!("{dpid} {line}")).collect::<Vec<_>>()
        };
        switches.iter().flat_map(print).collect()
    };
    let (left, right) = (lines(left), lines(right));
    let only_left = left.difference(&right).map(|line| format!("\n< {line}"));
    only_left.chain(right.difference(&left).map(|line| format!("\n> {line}"))).collect()
}

/// What two derived layers have differently.
fn derived_differences(left: &Fields, right: &Fields) -> String {
    let found = diff(builtin(), left, right);
    let lines =
        found.iter().map(|(path, a, b)| format!("\n{}\n  < {a:?}\n  > {b:?}", path.display(builtin())));
    lines.collect()
}

fn tables(world: &World) -> BTreeMap<Dpid, SwitchTables> {
    world.workshop.tables()
}

/// Members of an ELAN stand in order, whoever came first.
#[test]
fn who_came_first_is_not_seen() {
    let mut world = World::default();
    world.put(switch(1).to_vec());
    for number in [4, 3] {
        let name = format!("p{number}");
        world.put(vec![pod(&name, "blue", 1, None), port(1, &format!("blue:{name}"), number)]);
    }
    for rebuilt in [world.rebuilt(false), world.rebuilt(true)] {
        for (left, right) in world.derived.iter().zip(&rebuilt.derived) {
            assert_eq!(derived_differences(left, right), "");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Incremental equals from-scratch, in any order of rows; what the switches were told is what they should hold,
    /// and what clients read is what is derived.
    #[test]
    fn the_network_is_a_function_of_the_data(history in any_history()) {
        let mut world = World::default();
        for rows in history {
            world.put(rows);
            prop_assert_eq!(differences(&tables(&world), &world.told), "");
        }
        for rebuilt in [world.rebuilt(false), world.rebuilt(true)] {
            for (layer, (left, right)) in world.derived.iter().zip(&rebuilt.derived).enumerate() {
                prop_assert_eq!(derived_differences(left, right), "", "layer {}", layer);
            }
        }
        prop_assert_eq!(differences(&tables(&world), &tables(&world.rebuilt(false))), "");
        prop_assert_eq!(differences(&tables(&world), &tables(&world.rebuilt(true))), "");
    }

    /// On every switch of a VPN the longest matching route leads to where a pod is, whatever prefixes say.
    #[test]
    fn routes_lead_to_where_pods_are(history in any_history()) {
        let mut world = World::default();
        for rows in history {
            world.put(rows);
        }
        let model = &world.workshop.model;
        let tables = tables(&world);
        for interface in model.interfaces() {
            let Some((identity, _, attachment)) = interface.plugged() else { continue };
            let Some(vpn) = model.vpn_of(identity) else { continue };
            for (address, dpid) in interface.addresses.iter().flat_map(|a| vpn.members.keys().map(move |d| (a.ip, *d))) {
                if dpid == attachment.dpid {
                    continue;
                }
                let wanted = model.remote(dpid, attachment.dpid).map(|remote| remote.address);
                let found = next_hop(&tables[&dpid], vpn.id.unwrap(), address);
                // A host without a tunnel has no way; one whose pod has none may have that of a prefix in the way.
                if wanted.is_some() {
                    prop_assert_eq!(found, wanted, "{} on {}", address, dpid);
                }
            }
        }
    }

    /// Ids are held exactly by what needs them.
    #[test]
    fn no_id_leaks(history in any_history()) {
        let mut world = World::default();
        for rows in history {
            world.put(rows);
            let mut held = world.ids.held.clone();
            if let Some(id) = held.get_mut(&(Pool::Interfaces, "tunnel".to_owned())) {
                *id = 0;
            }
            prop_assert_eq!(&held, &ids_in_use(&world.workshop.model));
        }
    }

    /// Add then delete leaves nothing.
    #[test]
    fn nothing_stays_when_all_rows_go(history in any_history()) {
        let mut world = World::default();
        for rows in history {
            world.put(rows);
        }
        let gone: Vec<Row> = world.rows.values().map(without).collect();
        world.put(gone);
        prop_assert!(tables(&world).is_empty(), "{:?}", tables(&world));
        prop_assert!(world.told.is_empty());
        prop_assert!(world.ids.held.is_empty(), "{:?}", world.ids.held);
        prop_assert_eq!(world.workshop.items().count(), 0);
        prop_assert_eq!(&world.derived, &<[Fields; 2]>::default());
        prop_assert_eq!(format!("{:?}", world.workshop.model), format!("{:?}", Model::default()));
    }

    /// Every flow keeps its table's row; no key renders into another key's place; groups that are named exist.
    #[test]
    fn flows_are_sound(history in any_history()) {
        let mut world = World::default();
        for rows in history {
            world.put(rows);
        }
        let mut places = std::collections::HashSet::new();
        for item in world.workshop.items() {
            prop_assert!(places.insert(AtPlace(item.clone())), "{item:?} twice");
        }
        for tables in tables(&world).values() {
            for flow in tables.flows.iter() {
                prop_assert_eq!(flow.check(), Ok(()));
            }
            for group in tables.groups.values() {
                for named in &group.names {
                    prop_assert!(tables.groups.contains_key(named), "group {} names {named}", group.id);
                }
            }
        }
    }

    /// An id that could not be given is given as soon as the pool allows, and then nothing reminds of the delay.
    #[test]
    fn a_used_up_pool_only_delays(history in any_history(), pool in prop::sample::select(&[0_usize, 1, 2, 3, 4, 5, 8][..])) {
        let mut world = World::default();
        world.ids.closed.insert(super::super::POOLS[pool].pool);
        for rows in history {
            world.put(rows);
        }
        world.ids.closed.clear();
        world.put([]);
        prop_assert_eq!(differences(&tables(&world), &world.told), "");
        prop_assert_eq!(differences(&tables(&world), &tables(&world.rebuilt(false))), "");
    }
}

/// Where the best route of a VPN sends an address.
fn next_hop(tables: &SwitchTables, vpn: VpnId, address: IpAddr) -> Option<Ipv4Addr> {
    let (field, bits) = match address {
        IpAddr::V4(address) => (Field::Ipv4Dst, u128::from(u32::from(address))),
        IpAddr::V6(address) => (Field::Ipv6Dst, u128::from(address)),
    };
    let vpn_bits = u128::from(Metadata::new().vpn(vpn).value);
    let of_vpn = u128::from(Metadata::new().vpn(VpnId(u32::MAX)).mask);
    let routes = tables.flows.iter().filter(|flow| {
        let (conditions, _) = flow.parts();
        let is_route =
            |one: &MatchField| matches!(one.field, Field::Metadata | Field::EthType) || one.field == field;
        let holds = |one: &MatchField| match one.field {
            Field::Metadata => one.value & of_vpn == vpn_bits,
            Field::EthType => true,
            _ => one.value == bits & one.mask,
        };
        let fields = &conditions.fields;
        flow.table == FIB.id() && fields.len() == 3 && fields.iter().all(|one| is_route(one) && holds(one))
    });
    let best = routes.max_by_key(|flow| flow.priority)?;
    let (_, instructions) = best.parts();
    let Some(Instruction::Apply(actions)) = instructions.first() else { return None };
    actions.iter().find_map(|action| match action {
        Action::SetField(value) if value.field == Field::TunDst => Some(Ipv4Addr::from(value.value as u32)),
        _ => None,
    })
}

fn without(row: &Row) -> Row {
    match row {
        Row::Pod(key, _) => Row::Pod(key.clone(), None),
        Row::K8sNode(key, _) => Row::K8sNode(key.clone(), None),
        Row::Network(key, _) => Row::Network(key.clone(), None),
        Row::Lease(key, _) => Row::Lease(key.clone(), None),
        Row::Bridge(key, _) => Row::Bridge(key.clone(), None),
        Row::Port(key, _) => Row::Port(key.clone(), None),
        Row::HandMade(key, _) => Row::HandMade(key.clone(), None),
        Row::ElanInstance(key, _) => Row::ElanInstance(key.clone(), None),
        Row::VpnInstance(key, _) => Row::VpnInstance(key.clone(), None),
        Row::Service(key, _) => Row::Service(key.clone(), None),
        Row::ServiceEndpoints(key, _) => Row::ServiceEndpoints(key.clone(), None),
        Row::ServicePool(_) => Row::ServicePool(None),
        Row::SourceNat(_) => Row::SourceNat(None),
        Row::ExternalNetwork(key, _) => Row::ExternalNetwork(key.clone(), None),
        Row::ExternalSubnet(key, _) => Row::ExternalSubnet(key.clone(), None),
        Row::PortMac(key, _) => Row::PortMac(key.clone(), None),
        Row::FloatingRouter(key, _) => Row::FloatingRouter(key.clone(), None),
        Row::ExtRouter(key, _) => Row::ExtRouter(key.clone(), None),
        Row::Neighbour(network, address, _) => Row::Neighbour(network.clone(), *address, None),
        Row::Watched(_) => Row::Watched(true),
        Row::Silent(interface, address, _) => Row::Silent(interface.clone(), *address, false),
        Row::Lost(dpid, _) => Row::Lost(*dpid, false),
        Row::Held(address, _) => Row::Held(*address, None),
        Row::Policy(key, _) => Row::Policy(key.clone(), None),
        Row::Namespace(key, _) => Row::Namespace(key.clone(), None),
        Row::Acl(key, _) => Row::Acl(key.clone(), None),
        Row::Bound(key, _) => Row::Bound(key.clone(), None),
    }
}
