//! Small worlds for tests, in phrases: `two_pods().on_one_node()`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::all;
use super::difference::Changes;
use super::workshop::Workshop;
use crate::datastore::Store;
use crate::model::{
    AllocationPool, Allocator, Asks, Bandwidth, Beyond, Bridge, EndpointPort, ExtRouter, ExternalNetwork,
    ExternalSubnet, FloatingRouter, HostPort, InterfaceId, K8sNode, Lease, Mapping, Network, NetworkType,
    Pod, PodInterface, Pool, Port, PortId, PortMac, Rate, Reason, Row, Service, ServiceEndpoints,
    ServicePort, SourceNat, Target,
};
use crate::net::{Dpid, MacAddr, OfPort, Transport, UnderlayMtu};
use crate::pipeline::{Delta, Held, SwitchTables};
use crate::policy::Labels;
use crate::schema::{DataPath, Fields, Text, builtin, heap_size, json, tree};

/// Ids for tests: lowest free first, no rest after release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestIds {
    pub held: BTreeMap<(Pool, String), u32>,
    /// Pools that are used up for the moment.
    pub closed: BTreeSet<Pool>,
}

impl Allocator for TestIds {
    fn allocate(&mut self, pool: Pool, key: &str) -> Option<u32> {
        let key = (pool, key.to_owned());
        if let Some(id) = self.held.get(&key) {
            return Some(*id);
        }
        if self.closed.contains(&pool) {
            return None;
        }
        let used: BTreeSet<u32> =
            self.held.iter().filter(|(held, _)| held.0 == pool).map(|(_, id)| *id).collect();
        let range = pool.range();
        let id = (range.first..=range.last).find(|id| !used.contains(id))?;
        self.held.insert(key, id);
        Some(id)
    }

    fn release(&mut self, pool: Pool, key: &str) {
        self.held.remove(&(pool, key.to_owned()));
    }
}

/// Rows, and the renderers that follow them.
pub struct World {
    pub rows: BTreeMap<String, Row>,
    pub workshop: Workshop,
    pub ids: TestIds,
    /// What the switches were told, put together from the differences alone.
    pub told: BTreeMap<Dpid, SwitchTables>,
    /// The same as a programmer keeps it.
    pub held: BTreeMap<Dpid, Held>,
    /// The derived layers of config and operational, put together from the differences alone.
    pub derived: [Fields; 2],
    /// How many nodes of the derived layers the last commit put or removed, and their bytes.
    pub edits: (usize, usize),
}

impl Default for World {
    fn default() -> World {
        World {
            rows: BTreeMap::new(),
            workshop: Workshop::new(builtin(), all(builtin())),
            ids: TestIds::default(),
            told: BTreeMap::new(),
            held: BTreeMap::new(),
            derived: <[Fields; 2]>::default(),
            edits: (0, 0),
        }
    }
}

impl World {
    /// Puts rows in one commit. Answers what changed on the switches.
    pub fn put(&mut self, rows: impl IntoIterator<Item = Row>) -> BTreeMap<Dpid, Delta> {
        let rows: Vec<Row> = rows.into_iter().collect();
        for row in &rows {
            let (key, gone) = describe(row);
            if gone {
                self.rows.remove(&key);
            } else {
                self.rows.insert(key, row.clone());
            }
        }
        let mut changes: Changes = self.workshop.apply(rows, 1, &mut self.ids).finish();
        self.edits = (0, 0);
        for edit in changes.take_edits() {
            self.edits.0 += 1;
            self.edits.1 += edit.node().as_ref().map_or(0, heap_size);
            let layer = &mut self.derived[usize::from(edit.at().store() == Store::Operational)];
            tree::set(layer, builtin(), &edit.at().steps(), edit.node(), 1).unwrap();
        }
        let deltas = changes.deltas();
        for (dpid, delta) in &deltas {
            let told = self.told.entry(*dpid).or_default();
            told.apply(delta);
            let held = self.held.entry(*dpid).or_default();
            held.apply(&mut delta.clone());
            assert_eq!((&held.tables(), held.flow_count()), (&*told, told.flows.len()), "switch {dpid}");
        }
        self.told.retain(|_, tables| *tables != SwitchTables::default());
        deltas
    }

    pub fn with(mut self, rows: impl IntoIterator<Item = Row>) -> World {
        self.put(rows);
        self
    }

    /// What clients read below a path of the derived layers, as JSON; empty where there is nothing.
    pub fn read(&self, store: Store, path: &str) -> String {
        let path = DataPath::parse_rfc8040(builtin(), path).unwrap();
        let layer = &self.derived[usize::from(store == Store::Operational)];
        let Some(node) = tree::get(layer, &path) else { return String::new() };
        let mut text = Vec::new();
        json::write_resource(builtin(), &path, &node, &mut text);
        String::from_utf8(text).unwrap()
    }

    /// The same rows and ids, rendered in one go in another order.
    pub fn rebuilt(&self, reversed: bool) -> World {
        let mut world = World { ids: self.ids.clone(), ..World::default() };
        let mut rows: Vec<Row> = self.rows.values().cloned().collect();
        if reversed {
            rows.reverse();
        }
        world.put(rows);
        world
    }

    /// What a switch should hold, of one feature or (empty name) of all.
    pub fn tables(&self, switch: u64, feature: &str) -> SwitchTables {
        let mut tables = self.workshop.tables().remove(&Dpid(switch)).unwrap_or_default();
        tables.flows.retain(|flow| feature.is_empty() || flow.owner.feature() == feature);
        tables.groups.retain(|_, group| feature.is_empty() || group.owner.feature() == feature);
        tables.meters.retain(|_, meter| feature.is_empty() || meter.owner.feature() == feature);
        tables
    }

    /// What a pod waits for.
    pub fn pending(&self, pod: &str) -> Vec<Reason> {
        let id = InterfaceId { pod: pod.into(), uid: pod.into() };
        self.workshop.model.interface(&id).map(|interface| interface.pending.clone()).unwrap_or_default()
    }
}

/// A key for the row, and whether it is gone.
fn describe(row: &Row) -> (String, bool) {
    match row {
        Row::Pod(key, row) => (format!("pod {key}"), row.is_none()),
        Row::K8sNode(key, row) => (format!("node {key}"), row.is_none()),
        Row::Network(key, row) => (format!("network {key}"), row.is_none()),
        Row::Lease(key, row) => (format!("lease {key}"), row.is_none()),
        Row::Bridge(key, row) => (format!("bridge {key}"), row.is_none()),
        Row::Port(key, row) => (format!("port {key:?}"), row.is_none()),
        Row::HandMade(key, row) => (format!("interface {key}"), row.is_none()),
        Row::ElanInstance(key, row) => (format!("elan {key}"), row.is_none()),
        Row::VpnInstance(key, row) => (format!("vpn {key}"), row.is_none()),
        Row::Service(key, row) => (format!("service {key}"), row.is_none()),
        Row::ServiceEndpoints(key, row) => (format!("endpoints {key}"), row.is_none()),
        Row::ServicePool(row) => ("service pool".to_owned(), row.is_none()),
        Row::SourceNat(row) => ("source nat".to_owned(), row.is_none()),
        Row::ExternalNetwork(key, row) => (format!("external network {key}"), row.is_none()),
        Row::ExternalSubnet(key, row) => (format!("external subnet {key}"), row.is_none()),
        Row::PortMac(key, row) => (format!("floating ip {key}"), row.is_none()),
        Row::FloatingRouter(key, row) => (format!("router {key}"), row.is_none()),
        Row::ExtRouter(key, row) => (format!("ext-router {key}"), row.is_none()),
        Row::Neighbour(network, address, mac) => (format!("neighbour {network} {address}"), mac.is_none()),
        Row::Watched(watched) => ("watched".to_owned(), *watched),
        Row::Silent(interface, address, silent) => (format!("silent {interface} {address}"), !silent),
        Row::Lost(dpid, lost) => (format!("lost {dpid}"), !lost),
        Row::Held(address, holder) => (format!("held {address}"), holder.is_none()),
        Row::Policy(key, row) => (format!("policy {key}"), row.is_none()),
        Row::Namespace(key, row) => (format!("namespace {key}"), row.is_none()),
        Row::Acl(key, row) => (format!("access list {key}"), row.is_none()),
        Row::Bound(key, row) => (format!("binding of {key}"), row.is_none()),
    }
}

/// The node with this number: its tunnel address, also the host address of its pods.
pub fn host(node: u64) -> Ipv4Addr {
    Ipv4Addr::new(192, 168, 56, 10 + u8::try_from(node).unwrap())
}

pub fn node_id(node: u64) -> Text {
    format!("ovsdb://uuid/{node}/bridge/br-int").into()
}

/// A switch with a tunnel port numbered 1.
pub fn switch(node: u64) -> [Row; 2] {
    let tunnel = PortId { node_id: node_id(node), name: "tun0".into() };
    let port = Port {
        id: tunnel.clone(),
        ofport: OfPort(1),
        iface_id: None,
        attached_mac: None,
        mac_text: None,
        beyond: Some(Beyond::Tunnel),
    };
    [bridge(node, Some(host(node))), Row::Port(tunnel, Some(port))]
}

pub fn bridge(node: u64, local_ip: Option<Ipv4Addr>) -> Row {
    let (node_id, underlay_mtu) = (node_id(node), UnderlayMtu::default());
    Row::Bridge(node_id.clone(), Some(Bridge { node_id, dpid: Dpid(node), local_ip, underlay_mtu }))
}

/// A pod as the watcher sends it; its uid is its name.
pub fn pod(name: &str, namespace: &str, node: u64, address: Option<&str>) -> Row {
    let interface = PodInterface {
        uid: name.into(),
        addresses: address.iter().map(|address| address.parse().unwrap()).collect(),
        network_id: None,
        network_type: NetworkType::Vxlan,
        segmentation_id: None,
        trunk: None,
        asks: None,
    };
    let pod = Pod {
        uid: name.into(),
        name: Some(name.into()),
        namespace: Some(namespace.into()),
        host: Some(IpAddr::V4(host(node))),
        mac: None,
        bad_mac: None,
        interfaces: vec![interface],
        labels: Labels::new(),
        ports: Box::default(),
    };
    Row::Pod(name.into(), Some(pod))
}

/// The same pod with these addresses, in this order.
pub fn pod_with(name: &str, namespace: &str, node: u64, addresses: &[&str]) -> Row {
    let Row::Pod(uid, Some(mut row)) = pod(name, namespace, node, None) else { unreachable!() };
    row.interfaces[0].addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
    Row::Pod(uid, Some(row))
}

/// The same pod with host ports `protocol:port:target`, and `:address` where one is named.
pub fn with_host_ports(row: Row, ports: &[&str]) -> Row {
    let port = |text: &&str| {
        let parts: Vec<&str> = text.splitn(4, ':').collect();
        HostPort {
            transport: transport(parts[0]),
            port: parts[1].parse().unwrap(),
            target: parts[2].parse().unwrap(),
            address: parts.get(3).map(|address| address.parse().unwrap()),
        }
    };
    asking(row, |asks| asks.host_ports = ports.iter().map(port).collect())
}

/// The same pod, which sends and receives so many bits a second at most.
pub fn limited(row: Row, egress: Option<u64>, ingress: Option<u64>) -> Row {
    let rate = |bits: u64| Rate { bits, burst: None };
    asking(row, |asks| asks.bandwidth = Bandwidth { egress: egress.map(rate), ingress: ingress.map(rate) })
}

fn asking(row: Row, change: impl FnOnce(&mut Asks)) -> Row {
    let Row::Pod(uid, Some(mut pod)) = row else { unreachable!() };
    let mut asks = pod.interfaces[0].asks.as_deref().cloned().unwrap_or_default();
    change(&mut asks);
    pod.interfaces[0].asks = (asks != Asks::default()).then(|| asks.into());
    Row::Pod(uid, Some(pod))
}

pub fn no_pod(name: &str) -> Row {
    Row::Pod(name.into(), None)
}

/// A port for the interface `iface` with that OpenFlow number; its MAC ends in the number.
pub fn port(node: u64, iface: &str, ofport: u32) -> Row {
    let id = port_id(node, iface);
    let port = Port {
        id: id.clone(),
        ofport: OfPort(ofport),
        iface_id: Some(iface.into()),
        attached_mac: Some(mac(node, ofport)),
        mac_text: None,
        beyond: None,
    };
    Row::Port(id, Some(port))
}

pub fn no_port(node: u64, iface: &str) -> Row {
    Row::Port(port_id(node, iface), None)
}

fn port_id(node: u64, iface: &str) -> PortId {
    PortId { node_id: node_id(node), name: format!("veth-{iface}").into() }
}

pub fn mac(node: u64, ofport: u32) -> MacAddr {
    let [_, _, high, low] = ofport.to_be_bytes();
    MacAddr([0x0a, 0, 0, u8::try_from(node).unwrap(), high, low])
}

/// The same with Geneve.
pub fn geneve(node: u64) -> [Row; 2] {
    let [bridge, port] = switch(node);
    let Row::Port(id, Some(port)) = port else { unreachable!() };
    [bridge, Row::Port(id, Some(Port { beyond: Some(Beyond::Geneve), ..port }))]
}

/// Of a switch, the port to a physical network.
pub fn uplink(node: u64, network: &str, ofport: u32) -> Row {
    beyond(node, &format!("patch-{network}"), ofport, Beyond::Physical(network.into()))
}

/// Of a switch, the GRE port.
pub fn gre(node: u64, ofport: u32) -> Row {
    beyond(node, "gre0", ofport, Beyond::Gre)
}

fn beyond(node: u64, name: &str, ofport: u32, beyond: Beyond) -> Row {
    let id = PortId { node_id: node_id(node), name: name.into() };
    let port = Port {
        id: id.clone(),
        ofport: OfPort(ofport),
        iface_id: None,
        attached_mac: None,
        mac_text: None,
        beyond: Some(beyond),
    };
    Row::Port(id, Some(port))
}

/// Of a switch, the node's own port.
pub fn node_port(node: u64, ofport: u32) -> Row {
    beyond(node, "coeus0", ofport, Beyond::Node(MacAddr([2, 0xc0, 0xe5, 0, 0, 2])))
}

/// Source NAT at the nodes, these with source addresses of their own.
pub fn translated(sources: &[(u64, &str)]) -> Row {
    let source = |(node, source): &(u64, &str)| (IpAddr::V4(host(*node)), source.parse().unwrap());
    let sources = sources.iter().map(source).collect();
    Row::SourceNat(Some(SourceNat { network: None, sources, sources_v6: BTreeMap::new() }))
}

/// The same with source addresses of IPv6 as well.
pub fn translated_both(sources: &[(u64, &str)], v6: &[(u64, &str)]) -> Row {
    let Row::SourceNat(Some(row)) = translated(sources) else { unreachable!() };
    let source = |(node, source): &(u64, &str)| (IpAddr::V4(host(*node)), source.parse().unwrap());
    Row::SourceNat(Some(SourceNat { sources_v6: v6.iter().map(source).collect(), ..row }))
}

/// The same by an external network.
pub fn translated_by(network: &str, sources: &[(u64, &str)]) -> Row {
    let Row::SourceNat(Some(row)) = translated(sources) else { unreachable!() };
    Row::SourceNat(Some(SourceNat { network: Some(network.into()), ..row }))
}

/// The same with source addresses of IPv6 as well.
pub fn translated_by_both(network: &str, v4: &[(u64, &str)], v6: &[(u64, &str)]) -> Row {
    let Row::SourceNat(Some(row)) = translated_both(v4, v6) else { unreachable!() };
    Row::SourceNat(Some(SourceNat { network: Some(network.into()), ..row }))
}

/// An external network on the physical network `physnet`: 203.0.113.0/24 with gateway .1, .5 to .20 granted, and the same of
/// 2001:db8:113::/64, to ::20.
pub fn external(id: &str, vlan: Option<u16>) -> Row {
    let address = |last| Ipv4Addr::new(203, 0, 113, last);
    let address_v6 = |last| Ipv6Addr::new(0x2001, 0xdb8, 0x113, 0, 0, 0, 0, last);
    let network = ExternalNetwork {
        kind: None,
        physical: Some("physnet".into()),
        vlan,
        subnet: Some("203.0.113.0/24".parse().unwrap()),
        gateway: Some(address(1)),
        subnet_v6: Some("2001:db8:113::/64".parse().unwrap()),
        gateway_v6: Some(address_v6(1)),
        granted: vec![address(5).into()..=address(20).into(), address_v6(5).into()..=address_v6(0x20).into()],
        of: None,
    };
    Row::ExternalNetwork(id.into(), Some(network))
}

/// A further subnet of an external network: 203.0.113.0/25 with gateway .2, .30 and .31 granted, or the same of IPv6.
pub fn external_subnet(id: &str, network: &str, is_v6: bool) -> Row {
    let texts = if is_v6 {
        ["2001:db8:113:1::/64", "fe80::2", "2001:db8:113:1::30", "2001:db8:113:1::31"]
    } else {
        ["203.0.113.0/25", "203.0.113.2", "203.0.113.30", "203.0.113.31"]
    };
    let [first, last]: [IpAddr; 2] = [2, 3].map(|at| texts[at].parse().unwrap());
    let row = ExternalSubnet {
        network: Some(network.into()),
        subnet: Some(texts[0].parse().unwrap()),
        gateway: Some(texts[1].parse().unwrap()),
        granted: vec![first..=last],
    };
    Row::ExternalSubnet(id.into(), Some(row))
}

/// The MAC address of a floating address, by the id of that.
pub fn port_mac(id: &str, mac: &str) -> Row {
    Row::PortMac(id.into(), Some(PortMac { written: Some(mac.into()), deleted: false }))
}

/// The same mappings with an id each.
pub fn with_ids(row: Row, ids: &[&str]) -> Row {
    let Row::FloatingRouter(router, Some(mut row)) = row else { unreachable!() };
    for (mapping, id) in row.mappings.iter_mut().zip(ids) {
        mapping.id = Some((*id).into());
    }
    Row::FloatingRouter(router, Some(row))
}

/// Floating addresses as they are written by hand: external, port, internal.
pub fn floating(router: &str, network: &str, mappings: &[(&str, &str, &str)]) -> Row {
    let mapping = |(external, port, internal): &(&str, &str, &str)| Mapping {
        external: external.parse().unwrap(),
        port: (*port).into(),
        internal: internal.parse().unwrap(),
        id: None,
    };
    let mappings = mappings.iter().map(mapping).collect();
    let row = FloatingRouter { network: Some(network.into()), mappings, faults: Vec::new() };
    Row::FloatingRouter(router.into(), Some(row))
}

/// A VPN whose pods share addresses outside.
pub fn ext_router(vpn: &str, network: &str, addresses: &[&str]) -> Row {
    let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
    let row = ExtRouter { network: Some(network.into()), is_on: true, addresses, ..ExtRouter::default() };
    Row::ExtRouter(vpn.into(), Some(row))
}

/// Somebody on an external network; the MAC ends in the last octet of the address.
pub fn neighbour(network: &str, address: &str, there: bool) -> Row {
    let address: IpAddr = address.parse().unwrap();
    let last = match address {
        IpAddr::V4(address) => address.octets()[3],
        IpAddr::V6(address) => address.octets()[15],
    };
    let mac = there.then_some(MacAddr([0x0e, 0, 0, 0, 0, last]));
    Row::Neighbour(network.into(), address, mac)
}

/// A service with addresses outside and these pods, by uid.
pub fn exposed(uid: &str, namespace: &str, addresses: &[&str], pods: &[&str]) -> Row {
    let row = Service {
        uid: uid.into(),
        name: Some(uid.into()),
        namespace: Some(namespace.into()),
        outside: addresses.iter().map(|address| address.parse().unwrap()).collect(),
        pods: pods.iter().map(|uid| (*uid).into()).collect(),
        ..Service::default()
    };
    Row::Service(uid.into(), Some(row))
}

/// A service of a namespace, found by its name, with ports `name:protocol:port:target`, and `:node-port` where there is one.
pub fn service(name: &str, namespace: &str, addresses: &[&str], ports: &[&str]) -> Row {
    let port = |text: &&str| {
        let parts: Vec<&str> = text.split(':').collect();
        ServicePort {
            node_port: parts.get(4).map(|port| port.parse().unwrap()),
            name: Some(parts[0].into()).filter(|name: &Text| !name.is_empty()),
            transport: transport(parts[1]),
            number: parts[2].parse().unwrap(),
            target: match parts[3].parse() {
                Ok(number) => Target::Number(number),
                Err(_) if parts[3].is_empty() => Target::Same,
                Err(_) => Target::Named(parts[3].into()),
            },
        }
    };
    let row = Service {
        uid: name.into(),
        name: Some(name.into()),
        namespace: Some(namespace.into()),
        addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
        ports: ports.iter().map(port).collect(),
        ..Service::default()
    };
    Row::Service(name.into(), Some(row))
}

/// The endpoints of a service, with ports `name:protocol:port`.
pub fn endpoints(name: &str, namespace: &str, addresses: &[&str], ports: &[&str]) -> Row {
    let port = |text: &&str| {
        let parts: Vec<&str> = text.split(':').collect();
        EndpointPort {
            name: Some(parts[0].into()).filter(|name: &Text| !name.is_empty()),
            transport: transport(parts[1]),
            number: parts[2].parse().unwrap(),
        }
    };
    let row = ServiceEndpoints {
        uid: name.into(),
        name: Some(name.into()),
        namespace: Some(namespace.into()),
        addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
        ports: ports.iter().map(port).collect(),
        ..ServiceEndpoints::default()
    };
    Row::ServiceEndpoints(name.into(), Some(row))
}

fn transport(name: &str) -> Transport {
    match name {
        "UDP" => Transport::Udp,
        "SCTP" => Transport::Sctp,
        _ => Transport::Tcp,
    }
}

/// The same pod on a network of this kind.
pub fn on(kind: NetworkType, id: Option<u32>, network: Option<&str>, row: Row) -> Row {
    let Row::Pod(uid, Some(mut pod)) = row else { unreachable!() };
    for interface in &mut pod.interfaces {
        (interface.network_type, interface.segmentation_id) = (kind, id);
        interface.network_id = network.map(Into::into);
    }
    Row::Pod(uid, Some(pod))
}

/// A pool for a network.
pub fn pool(network: &str, subnet: &str, gateway: Option<&str>) -> Row {
    let pool = AllocationPool::plain(network, subnet, "", "", gateway.unwrap_or_default());
    Row::Network(network.into(), Some(Network { id: network.into(), pools: vec![pool.into()] }))
}

pub fn no_pool(network: &str) -> Row {
    Row::Network(network.into(), None)
}

pub fn lease(interface: &str, address: Option<&str>) -> Row {
    let lease = address.map(|address| match address.parse().unwrap() {
        IpAddr::V4(v4) => Lease { interface: interface.into(), v4: Some(v4), v6: None },
        IpAddr::V6(v6) => Lease { interface: interface.into(), v4: None, v6: Some(v6) },
    });
    Row::Lease(interface.into(), lease)
}

/// The Kubernetes node of a switch.
pub fn k8s_node(node: u64, pod_cidr: Option<&str>) -> Row {
    let uid: Text = format!("node-{node}").into();
    let row = K8sNode {
        uid: uid.clone(),
        internal: Some(IpAddr::V4(host(node))),
        external: None,
        pod_cidr: pod_cidr.map(|cidr| cidr.parse().unwrap()),
        bad_cidr: None,
    };
    Row::K8sNode(uid, Some(row))
}

/// Two pods of a namespace, to be placed.
pub struct TwoPods;

pub fn two_pods() -> TwoPods {
    TwoPods
}

impl TwoPods {
    /// p1 of blue with both versions and p4 with IPv6 alone on node 1, p2 with both on node 2, p5 plugged in on node 2
    /// while it belongs to node 1.
    pub fn of_both_versions(self) -> World {
        World::default()
            .with(switch(1))
            .with(switch(2))
            .with([k8s_node(1, Some("fd00:1::/64")), k8s_node(2, Some("10.11.2.0/24"))])
            .with([pod_with("p1", "blue", 1, &["10.11.1.10", "fd00:1::10"]), port(1, "blue:p1", 10)])
            .with([pod_with("p2", "blue", 2, &["fd00:2::10", "10.11.2.10"]), port(2, "blue:p2", 10)])
            .with([pod_with("p4", "blue", 1, &["fd00:1::20", "fd00:1::21"]), port(1, "blue:p4", 11)])
            .with([pod_with("p5", "blue", 1, &["fd00:1::30"]), port(2, "blue:p5", 12)])
    }

    /// p1 and p2 of namespace blue on node 1.
    pub fn on_one_node(self) -> World {
        World::default()
            .with(switch(1))
            .with([k8s_node(1, Some("10.11.1.0/24"))])
            .with([pod("p1", "blue", 1, Some("10.11.1.10")), port(1, "blue:p1", 10)])
            .with([pod("p2", "blue", 1, Some("10.11.1.20")), port(1, "blue:p2", 11)])
    }

    /// p1 of blue on node 1, p2 of blue and p3 of red on node 2: the worked example of netvirt's reference.
    pub fn on_two_nodes(self) -> World {
        World::default()
            .with(switch(1))
            .with(switch(2))
            .with([k8s_node(1, Some("10.11.1.0/24")), k8s_node(2, Some("10.11.2.0/24"))])
            .with([pod("p1", "blue", 1, Some("10.11.1.10")), port(1, "blue:p1", 10)])
            .with([pod("p2", "blue", 2, Some("10.11.2.10")), port(2, "blue:p2", 10)])
            .with([pod("p3", "red", 2, Some("10.11.2.20")), port(2, "red:p3", 11)])
    }
}
