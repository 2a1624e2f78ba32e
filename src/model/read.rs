//! From the datastore's trees to rows.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use ipnetwork::IpNetwork;

use super::conflict::Claimer;
use super::external::{ExternalNetwork, FaultPlace, neighbour_key};
use super::names::{Names, PodNames};
use super::next_hops::next_hop_key;
use super::policies::{AclNames, PolicyObject, RulePaths, rule_paths};
use super::pools::{Network, network};
use super::rows::{
    Beyond, Bridge, K8sNode, Lease, NetworkType, Pod, PodInterface, Port, PortId, Row, SubPort, usable,
    usable_v4,
};
use super::services::ServiceSubject;
use crate::datastore::{Change, Snapshot, Store};
use crate::net::{Dpid, MacAddr, OfPort, UnderlayMtu};
use crate::schema::{DataPath, Fields, IdentityId, Key, Node, Schema, SchemaId, Text, Value};

/// The topology that OVSDB writes. Source: OpenDaylight ovsdb.
pub const OVSDB_TOPOLOGY: &str = "ovsdb:1";
/// The external id by which a patch port says which physical network it leads to.
pub const PHYSICAL_NETWORK: &str = "coeus-physical-network";
/// The key of `other_config` under which a node says how large packets on its links to other nodes may be.
pub const UNDERLAY_MTU: &str = "underlay_mtu";
/// The external id of a node's own port.
pub const NODE_PORT_MARK: &str = "coeus-node-port";
/// The bridge pods are plugged into. Source: netvirt, `ovsdb` container references.
pub const INTEGRATION_BRIDGE: &str = "br-int";
/// `state` of a lease: bound. Source: coeus-dhcp.
const BOUND: i32 = 1;
/// Largest OpenFlow port number that is a port (OFPP_MAX is 0xffffff00).
const LAST_OFPORT: u64 = 0xffff_feff;

/// Names a row wherever it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum RowKey {
    Pod(Text),
    K8sNode(Text),
    Network(Text),
    Lease(Text),
    /// An integration bridge, by its node id.
    Bridge(Text),
    Port(PortId),
    HandMade(Text),
    ElanInstance(Text),
    VpnInstance(Text),
    SourceNat,
    ExternalNetwork(Text),
    ExternalSubnet(Text),
    PortMac(Text),
    FloatingRouter(Text),
    ExtRouter(Text),
    Neighbour(Text, IpAddr),
    Lost(Text),
    Held(IpAddr),
    Watched,
    Silent(Text, IpAddr),
    Policy(Text),
    Namespace(Text),
    Acl(Text),
    /// An interface, by its access lists.
    Bound(Text),
    Service(Text),
    ServiceEndpoints(Text),
    ServicePool,
}

/// Reads rows from the trees of one schema.
#[derive(Debug)]
pub struct Reader {
    names: Names,
}

impl Reader {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> Reader {
        Reader { names: Names::of(schema) }
    }

    /// Every row of a snapshot's input layers.
    pub fn all(&self, snapshot: &Snapshot) -> Vec<Row> {
        all_rows(&self.names, snapshot).iter().map(|key| read(&self.names, snapshot, key)).collect()
    }

    /// The rows that changes concern, as they are in `after`.
    pub fn changed(&self, changes: &[Change], after: &Snapshot) -> Vec<Row> {
        let keys: BTreeSet<RowKey> = changes.iter().flat_map(|change| rows_of(&self.names, change)).collect();
        keys.iter().map(|key| read(&self.names, after, key)).collect()
    }

    /// Whether a row is made of what changes.
    pub fn has_rows(&self, change: &Change) -> bool {
        !rows_of(&self.names, change).is_empty()
    }

    /// A pod as it is written.
    pub fn pod(&self, snapshot: &Snapshot, uid: &str) -> Option<Pod> {
        let uid: Text = uid.into();
        let names = &self.names.pod;
        let fields = snapshot.config.input.container(names.coe)?.list(names.pods)?.get(&text_key(&uid))?;
        Some(pod(&self.names, &uid, fields))
    }

    /// All networks, each with its pools.
    pub fn networks(&self, snapshot: &Snapshot) -> Vec<Network> {
        let names = &self.names.pool;
        let all = snapshot.config.input.container(names.dhcp_allocation_pool);
        let entries = all.into_iter().flat_map(|all| entries(all, names.network));
        entries.map(|(id, fields)| network(names, &id, fields)).collect()
    }

    /// A network's pools as they are written.
    pub fn network(&self, snapshot: &Snapshot, id: &Text) -> Option<Network> {
        match read(&self.names, snapshot, &RowKey::Network(id.clone())) {
            Row::Network(_, network) => network,
            _ => None,
        }
    }

    /// An external network as it is written, or a further subnet of one.
    pub fn external_network(&self, snapshot: &Snapshot, id: &Text) -> Option<ExternalNetwork> {
        let names = &self.names.external;
        names.network(snapshot, id).or_else(|| {
            let subnet = names.subnet(snapshot, id)?;
            Some(subnet.on(&names.network(snapshot, subnet.network.as_ref()?)?))
        })
    }

    /// Everybody who is known to be on external networks.
    pub fn neighbours(&self, snapshot: &Snapshot) -> Vec<((Text, IpAddr), MacAddr)> {
        let names = &self.names.external;
        let known = |key: (Text, IpAddr)| Some((key.clone(), names.neighbour(snapshot, &key.0, key.1)?));
        names.all_neighbours(snapshot).into_iter().filter_map(known).collect()
    }

    /// The switches that others stand in for.
    pub fn lost_switches(&self, snapshot: &Snapshot) -> Vec<Dpid> {
        self.names.external.all_lost(snapshot)
    }

    /// Which switch answered last for external addresses.
    pub fn held_addresses(&self, snapshot: &Snapshot) -> Vec<(IpAddr, Dpid)> {
        self.names.external.all_held(snapshot)
    }

    /// The next hops that were found silent.
    pub fn silent_next_hops(&self, snapshot: &Snapshot) -> Vec<(Text, IpAddr)> {
        self.names.next_hop.all_silent(snapshot)
    }

    /// The path of a pool's entry, for messages.
    pub fn pool_path(&self, network: &Text, subnet: &Text) -> DataPath {
        let names = &self.names.pool;
        let networks = DataPath::root().child(names.dhcp_allocation_pool);
        networks.entry(names.network, text_key(network)).entry(names.allocation_pool, text_key(subnet))
    }

    /// Where a pod is configured, for messages.
    pub fn pod_path(&self, uid: &Text) -> DataPath {
        self.path(&Claimer::Pod(uid.clone()))
    }

    /// Where a network, a router or a service is configured, for messages.
    pub fn external_path(&self, at: &FaultPlace) -> DataPath {
        let names = &self.names.external;
        let (top, list, key) = match at {
            FaultPlace::Network(id) => (names.external_networks, names.networks, id),
            FaultPlace::Subnet(id) => (names.external_subnets, names.subnets, id),
            FaultPlace::PortMac(id) => (names.floating_ip_port_info, names.port_mapping, id),
            FaultPlace::Router(id) => (names.floating_ip_info, names.router_ports, id),
            FaultPlace::ExtRouter(name) => (names.ext_routers, names.routers, name),
            FaultPlace::Service(uid) => return self.service_path(&ServiceSubject::Service(uid.clone())),
            FaultPlace::SourceNat => return DataPath::root().child(self.names.source_nat.source_nat),
        };
        DataPath::root().child(top).entry(list, text_key(key))
    }

    /// Where something that policies are made of is configured, for messages.
    pub fn policy_path(&self, object: &PolicyObject) -> DataPath {
        let names = &self.names.policy;
        match object {
            PolicyObject::Policy(uuid) => {
                let all = DataPath::root().child(names.k8s).child(names.network_policies);
                all.entry(names.network_policy, text_key(uuid))
            }
            PolicyObject::Namespace(name) => {
                DataPath::root().child(names.namespaces).entry(names.namespace_entry, text_key(name))
            }
            PolicyObject::Pod(uid) => self.pod_path(uid),
            PolicyObject::Acl(key) => {
                let all = DataPath::root().child(self.names.acl.access_lists);
                match key {
                    Some(key) => all.entry(self.names.acl.acl, key.clone()),
                    None => all,
                }
            }
        }
    }

    /// Where the rules of a policy in force are, by its id.
    pub fn rule_paths(&self, snapshot: &Snapshot, id: &str) -> RulePaths {
        rule_paths(&self.names.policy, &self.names.acl, snapshot, id)
    }

    /// The path of what services are made of, for messages.
    pub fn service_path(&self, subject: &ServiceSubject) -> DataPath {
        let names = &self.names.service;
        let (top, list, uid) = match subject {
            ServiceSubject::Service(uid) => (names.service_information, names.services, uid),
            ServiceSubject::Endpoints(uid) => (names.endpoints_info, names.endpoints, uid),
            ServiceSubject::Pool => return DataPath::root().child(names.service_pool),
        };
        DataPath::root().child(top).entry(list, text_key(uid))
    }

    /// Where somebody's claim is configured, for messages.
    pub fn path(&self, claimer: &Claimer) -> DataPath {
        let Names { pod, netvirt, .. } = &self.names;
        let (top, list, key) = match claimer {
            Claimer::Pod(uid) => (pod.coe, pod.pods, uid),
            Claimer::Interface(name) => (netvirt.elan_interfaces, netvirt.elan_interface, name),
            Claimer::Elan(name) => (netvirt.elan_instances, netvirt.elan_instance, name),
            Claimer::Vpn(name) => (netvirt.vpn_instances, netvirt.vpn_instance, name),
        };
        DataPath::root().child(top).entry(list, text_key(key))
    }
}

/// Makes a row's name of its key.
type ToRow = fn(Text) -> RowKey;

/// The rows that a change may concern. Empty for data that are none of the model's business.
fn rows_of(names: &Names, change: &Change) -> Vec<RowKey> {
    let mut rows = Vec::new();
    let steps = &change.path.steps;
    let Some(top) = steps.first() else { return rows };
    let entry = |at: usize, list: SchemaId| -> Option<Text> {
        let step = steps.get(at).filter(|step| step.node == list)?;
        key_text(step.key.as_ref()?)
    };
    let config = change.store == Store::Config;
    if config && top.node == names.source_nat.source_nat {
        rows.push(RowKey::SourceNat);
        return rows;
    }
    let external = &names.external;
    if !config && top.node == external.neighbours {
        let step = steps.get(1).filter(|step| step.node == external.neighbour);
        let key = step.and_then(|step| neighbour_key(step.key.as_ref()?));
        rows.extend(key.map(|(network, address)| RowKey::Neighbour(network, address)));
        return rows;
    }
    if !config && top.node == external.lost_switches {
        rows.extend(entry(1, external.lost_switch).map(RowKey::Lost));
        return rows;
    }
    if !config && top.node == external.held_addresses {
        let address = entry(1, external.held_address).and_then(|address| address.parse().ok());
        rows.extend(address.map(RowKey::Held));
        return rows;
    }
    let next_hop = &names.next_hop;
    if config && top.node == next_hop.next_hop_liveness {
        rows.push(RowKey::Watched);
        return rows;
    }
    if !config && top.node == next_hop.silent_next_hops {
        let step = steps.get(1).filter(|step| step.node == next_hop.silent_next_hop);
        let key = step.and_then(|step| next_hop_key(step.key.as_ref()?));
        rows.extend(key.map(|(interface, address)| RowKey::Silent(interface, address)));
        return rows;
    }
    if config && top.node == names.policy.k8s {
        rows.extend(entry(2, names.policy.network_policy).map(RowKey::Policy));
        return rows;
    }
    if config && top.node == names.acl.access_lists {
        let step = steps.get(1).filter(|step| step.node == names.acl.acl);
        rows.extend(step.and_then(|step| AclNames::name_of(step.key.as_ref()?)).map(RowKey::Acl));
        return rows;
    }
    if config && top.node == names.service.service_pool {
        rows.push(RowKey::ServicePool);
        return rows;
    }
    let simple: Option<(SchemaId, ToRow)> = if config && top.node == names.pod.coe {
        Some((names.pod.pods, RowKey::Pod))
    } else if config && top.node == names.node.k8s_nodes_info {
        Some((names.node.k8s_nodes, RowKey::K8sNode))
    } else if config && top.node == names.pool.dhcp_allocation_pool {
        Some((names.pool.network, RowKey::Network))
    } else if !config && top.node == names.lease.leases {
        let list = steps.get(1).map(|step| step.node);
        let of_v6 = list == Some(names.lease.ipv6_lease);
        Some((if of_v6 { names.lease.ipv6_lease } else { names.lease.lease }, RowKey::Lease))
    } else if config && top.node == external.external_networks {
        Some((external.networks, RowKey::ExternalNetwork))
    } else if config && top.node == external.external_subnets {
        Some((external.subnets, RowKey::ExternalSubnet))
    } else if config && top.node == external.floating_ip_port_info {
        Some((external.port_mapping, RowKey::PortMac))
    } else if config && top.node == external.floating_ip_info {
        Some((external.router_ports, RowKey::FloatingRouter))
    } else if config && top.node == external.ext_routers {
        Some((external.routers, RowKey::ExtRouter))
    } else if config && top.node == names.policy.namespaces {
        Some((names.policy.namespace_entry, RowKey::Namespace))
    } else if config && top.node == names.netvirt.elan_instances {
        Some((names.netvirt.elan_instance, RowKey::ElanInstance))
    } else if config && top.node == names.netvirt.vpn_instances {
        Some((names.netvirt.vpn_instance, RowKey::VpnInstance))
    } else if config && top.node == names.service.service_information {
        Some((names.service.services, RowKey::Service))
    } else if config && top.node == names.service.endpoints_info {
        Some((names.service.endpoints, RowKey::ServiceEndpoints))
    } else {
        let lists = names.netvirt.interface_lists();
        let found = lists.into_iter().find(|(container, _)| config && top.node == *container);
        found.map(|(_, list)| (list, RowKey::HandMade as ToRow))
    };
    if let Some((list, row)) = simple {
        rows.extend(entry(1, list).map(row));
        if list == names.acl.interface {
            rows.extend(entry(1, list).map(RowKey::Bound));
        }
        return rows;
    }
    let topology = &names.topology;
    if config || top.node != topology.network_topology {
        return rows;
    }
    if entry(1, topology.topology).as_deref() != Some(OVSDB_TOPOLOGY) {
        return rows;
    }
    let Some(node_id) = entry(2, topology.node) else {
        // The topology itself came or went, with all that is in it.
        if steps.len() == 2 {
            for fields in [&change.before, &change.after].into_iter().flatten().filter_map(Node::fields) {
                for (node_id, node) in entries(fields, topology.node) {
                    rows.push(RowKey::Bridge(bridge_of(&node_id)));
                    rows.extend(port_keys(names, &node_id, node));
                }
            }
        }
        return rows;
    };
    if let Some(name) = entry(3, topology.termination_point) {
        rows.push(RowKey::Port(PortId { node_id, name }));
        return rows;
    }
    rows.push(RowKey::Bridge(bridge_of(&node_id)));
    if steps.len() == 3 && (change.before.is_none() || change.after.is_none()) {
        for fields in [&change.before, &change.after].into_iter().flatten().filter_map(Node::fields) {
            rows.extend(port_keys(names, &node_id, fields));
        }
    }
    rows
}

/// All rows of a snapshot.
fn all_rows(names: &Names, snapshot: &Snapshot) -> Vec<RowKey> {
    let mut rows = Vec::new();
    let config = &snapshot.config.input;
    let operational = &snapshot.operational.input;
    let mut list = |root: &Fields, top: SchemaId, list: SchemaId, row: ToRow| {
        if let Some(container) = root.container(top) {
            rows.extend(entries(container, list).map(|(key, _)| row(key)));
        }
    };
    list(config, names.pod.coe, names.pod.pods, RowKey::Pod);
    list(config, names.node.k8s_nodes_info, names.node.k8s_nodes, RowKey::K8sNode);
    list(config, names.pool.dhcp_allocation_pool, names.pool.network, RowKey::Network);
    list(config, names.service.service_information, names.service.services, RowKey::Service);
    list(config, names.service.endpoints_info, names.service.endpoints, RowKey::ServiceEndpoints);
    list(operational, names.lease.leases, names.lease.lease, RowKey::Lease);
    list(operational, names.lease.leases, names.lease.ipv6_lease, RowKey::Lease);
    let external = &names.external;
    list(config, external.external_networks, external.networks, RowKey::ExternalNetwork);
    list(config, external.external_subnets, external.subnets, RowKey::ExternalSubnet);
    list(config, external.floating_ip_port_info, external.port_mapping, RowKey::PortMac);
    list(config, external.floating_ip_info, external.router_ports, RowKey::FloatingRouter);
    list(config, external.ext_routers, external.routers, RowKey::ExtRouter);
    list(operational, external.lost_switches, external.lost_switch, RowKey::Lost);
    rows.extend(external.all_held(snapshot).into_iter().map(|(address, _)| RowKey::Held(address)));
    let neighbours = external.all_neighbours(snapshot).into_iter();
    rows.extend(neighbours.map(|(network, address)| RowKey::Neighbour(network, address)));
    if config.container(names.next_hop.next_hop_liveness).is_some() {
        rows.push(RowKey::Watched);
    }
    let silent = names.next_hop.all_silent(snapshot).into_iter();
    rows.extend(silent.map(|(interface, address)| RowKey::Silent(interface, address)));
    if config.container(names.source_nat.source_nat).is_some() {
        rows.push(RowKey::SourceNat);
    }
    rows.extend(names.policy.all_policies(snapshot).into_iter().map(RowKey::Policy));
    rows.extend(names.policy.all_namespaces(snapshot).into_iter().map(RowKey::Namespace));
    rows.extend(names.acl.all(snapshot).into_iter().map(RowKey::Acl));
    rows.extend(names.acl.all_interfaces(snapshot).into_iter().map(RowKey::Bound));
    if config.container(names.service.service_pool).is_some() {
        rows.push(RowKey::ServicePool);
    }
    rows.extend(names.netvirt.all_interfaces(snapshot).into_iter().map(RowKey::HandMade));
    rows.extend(names.netvirt.all_elans(snapshot).into_iter().map(RowKey::ElanInstance));
    rows.extend(names.netvirt.all_vpns(snapshot).into_iter().map(RowKey::VpnInstance));
    let topology = &names.topology;
    let ovsdb = operational
        .container(topology.network_topology)
        .and_then(|all| all.list(topology.topology))
        .and_then(|all| all.get(&Key::text(OVSDB_TOPOLOGY)));
    if let Some(ovsdb) = ovsdb {
        for (node_id, node) in entries(ovsdb, topology.node) {
            rows.push(RowKey::Bridge(bridge_of(&node_id)));
            rows.extend(port_keys(names, &node_id, node));
        }
    }
    rows
}

/// Reads one row from the input layers of a snapshot.
fn read(names: &Names, snapshot: &Snapshot, key: &RowKey) -> Row {
    let config = |top: SchemaId, list: SchemaId, key: &Text| {
        snapshot.config.input.container(top)?.list(list)?.get(&text_key(key))
    };
    match key {
        RowKey::Pod(uid) => {
            let fields = config(names.pod.coe, names.pod.pods, uid);
            Row::Pod(uid.clone(), fields.map(|fields| pod(names, uid, fields)))
        }
        RowKey::K8sNode(uid) => {
            let fields = config(names.node.k8s_nodes_info, names.node.k8s_nodes, uid);
            Row::K8sNode(uid.clone(), fields.map(|fields| k8s_node(names, uid, fields)))
        }
        RowKey::Network(id) => {
            let fields = config(names.pool.dhcp_allocation_pool, names.pool.network, id);
            Row::Network(id.clone(), fields.map(|fields| network(&names.pool, id, fields)))
        }
        RowKey::Lease(interface) => {
            let lease = &names.lease;
            let row = || {
                let leases = snapshot.operational.input.container(lease.leases)?;
                let of = |list| leases.list(list)?.get(&text_key(interface));
                // An offer is not a lease yet.
                let v4 =
                    of(lease.lease).filter(|fields| fields.leaf(lease.state) == Some(&Value::Enum(BOUND)));
                let v4 = v4.and_then(|fields| ipv4(fields, lease.address));
                let v6 = of(lease.ipv6_lease).and_then(|fields| match ip(fields, lease.ipv6_address)? {
                    IpAddr::V6(address) => Some(address),
                    IpAddr::V4(_) => None,
                });
                (v4.is_some() || v6.is_some()).then(|| Lease { interface: interface.clone(), v4, v6 })
            };
            Row::Lease(interface.clone(), row())
        }
        RowKey::Bridge(node_id) => Row::Bridge(node_id.clone(), bridge(names, snapshot, node_id)),
        RowKey::Port(id) => Row::Port(id.clone(), port(names, snapshot, id)),
        RowKey::HandMade(name) => {
            let is_other = !names.acl.is_binding_alone(snapshot, name, &names.netvirt);
            let row = is_other.then(|| names.netvirt.hand_made(snapshot, name));
            Row::HandMade(name.clone(), row.flatten())
        }
        RowKey::ElanInstance(name) => {
            Row::ElanInstance(name.clone(), names.netvirt.elan_instance(snapshot, name))
        }
        RowKey::Service(uid) => {
            let fields = config(names.service.service_information, names.service.services, uid);
            Row::Service(uid.clone(), fields.map(|fields| names.service.service(uid, fields)))
        }
        RowKey::ServiceEndpoints(uid) => {
            let fields = config(names.service.endpoints_info, names.service.endpoints, uid);
            Row::ServiceEndpoints(uid.clone(), fields.map(|fields| names.service.endpoints(uid, fields)))
        }
        RowKey::ServicePool => {
            let fields = snapshot.config.input.container(names.service.service_pool);
            Row::ServicePool(fields.and_then(|fields| names.service.pool(fields)))
        }
        RowKey::SourceNat => Row::SourceNat(names.source_nat.read(snapshot)),
        RowKey::ExternalNetwork(id) => Row::ExternalNetwork(id.clone(), names.external.network(snapshot, id)),
        RowKey::ExternalSubnet(id) => Row::ExternalSubnet(id.clone(), names.external.subnet(snapshot, id)),
        RowKey::PortMac(id) => Row::PortMac(id.clone(), names.external.port_mac(snapshot, id)),
        RowKey::ExtRouter(name) => Row::ExtRouter(name.clone(), names.external.ext_router(snapshot, name)),
        RowKey::FloatingRouter(id) => Row::FloatingRouter(id.clone(), names.external.router(snapshot, id)),
        RowKey::Neighbour(network, address) => {
            let mac = names.external.neighbour(snapshot, network, *address);
            Row::Neighbour(network.clone(), *address, mac)
        }
        RowKey::Watched => Row::Watched(names.next_hop.is_watched(snapshot)),
        RowKey::Silent(interface, address) => {
            let silent = names.next_hop.is_silent(snapshot, interface, *address);
            Row::Silent(interface.clone(), *address, silent)
        }
        RowKey::Lost(dpid) => {
            let lost = names.external.is_lost(snapshot, dpid);
            // The model's own type of the key says that it is one.
            Row::Lost(dpid.parse().unwrap_or(Dpid(0)), lost)
        }
        RowKey::Held(address) => Row::Held(*address, names.external.holder(snapshot, *address)),
        RowKey::Policy(uuid) => Row::Policy(uuid.clone(), names.policy.policy(snapshot, uuid)),
        RowKey::Acl(name) => Row::Acl(name.clone(), names.acl.acl(snapshot, name).map(Arc::new)),
        RowKey::Bound(name) => Row::Bound(name.clone(), names.acl.binding(snapshot, name)),
        RowKey::Namespace(name) => Row::Namespace(name.clone(), names.policy.namespace(snapshot, name)),
        RowKey::VpnInstance(name) => {
            Row::VpnInstance(name.clone(), names.netvirt.vpn_instance(snapshot, name))
        }
    }
}

/// Reads a pod from its list entry.
fn pod(names: &Names, uid: &Text, fields: &Fields) -> Pod {
    let (labels, ports) = (names.policy.pod_labels(fields), names.policy.pod_ports(fields));
    let names = &names.pod;
    let text = |leaf| fields.shared_text(leaf).filter(|text| !text.is_empty()).cloned();
    let mac_text: Option<Text> = text(names.port_mac_address);
    let mac = mac_text.as_ref().and_then(|text| unicast(text));
    let interfaces = entries(fields, names.interface).map(|(uid, fields)| PodInterface {
        uid,
        addresses: addresses(names, fields),
        network_id: fields.shared_text(names.network_id).cloned(),
        network_type: match fields.leaf(names.network_type) {
            Some(Value::Enum(0)) => NetworkType::Flat,
            Some(Value::Enum(1)) => NetworkType::Vlan,
            Some(Value::Enum(3)) => NetworkType::Gre,
            _ => NetworkType::Vxlan,
        },
        segmentation_id: fields
            .leaf(names.segmentation_id)
            .and_then(Value::as_uint)
            .and_then(|id| u32::try_from(id).ok()),
        trunk: fields.container(names.trunk).and_then(|trunk| {
            Some(SubPort {
                trunk: trunk.shared_text(names.trunk_parent)?.clone(),
                vlan: trunk.leaf(names.trunk_vlan).and_then(tag)?,
                mac: trunk.text(names.trunk_mac).and_then(unicast),
            })
        }),
        asks: names.asks.read(fields),
    });
    let mut interfaces: Vec<_> = interfaces.collect();
    interfaces.shrink_to_fit();
    interfaces.sort_by(|a, b| a.uid.cmp(&b.uid));
    Pod {
        uid: uid.clone(),
        name: text(names.name),
        namespace: text(names.network_ns),
        host: ip(fields, names.host_ip_address),
        bad_mac: mac_text.filter(|_| mac.is_none()),
        mac,
        interfaces,
        labels,
        ports,
    }
}

/// A VLAN id that frames may have (IEEE 802.1Q).
pub(super) fn tag(value: &Value) -> Option<u16> {
    value.as_uint().and_then(|id| u16::try_from(id).ok()).filter(|id| (1..=4094).contains(id))
}

/// All addresses of a pod interface, each once.
fn addresses(names: &PodNames, fields: &Fields) -> Box<[IpAddr]> {
    let mut all: Vec<IpAddr> = ip(fields, names.ip_address).into_iter().collect();
    for value in fields.leaf_list(names.secondary_ip_address) {
        let address = value.as_text().and_then(|text| text.parse().ok());
        all.extend(address.filter(|address| !all.contains(address)));
    }
    all.into()
}

fn k8s_node(names: &Names, uid: &Text, fields: &Fields) -> K8sNode {
    let names = &names.node;
    // A node without a range may say so by an empty one.
    let cidr = fields.text(names.pod_cidr).filter(|text| !text.is_empty());
    let pod_cidr: Option<IpNetwork> = cidr.and_then(|text| text.parse().ok());
    let is_good = pod_cidr.is_some_and(|cidr| usable(cidr.network()));
    K8sNode {
        uid: uid.clone(),
        internal: ip(fields, names.internal_ip_address),
        external: ip(fields, names.external_ip_address),
        pod_cidr,
        bad_cidr: cidr.filter(|_| !is_good).map(Text::from),
    }
}

fn bridge(names: &Names, snapshot: &Snapshot, node_id: &Text) -> Option<Bridge> {
    let names = &names.topology;
    if !is_integration_bridge(node_id) {
        return None;
    }
    let fields = topology_node(names, snapshot, node_id)?;
    let dpid = fields.text(names.datapath_id)?.parse().ok()?;
    let system = node_id.rsplit_once("/bridge/").and_then(|(id, _)| topology_node(names, snapshot, id));
    let configs = system.and_then(|system| system.list(names.other_configs));
    let configured = |key: &str| configs?.get(&Key::text(key))?.text(names.other_config_value);
    let local_ip = configured("local_ip").and_then(|text| text.parse().ok());
    let underlay_mtu = configured(UNDERLAY_MTU).and_then(|text| UnderlayMtu::new(text.parse().ok()?));
    Some(Bridge {
        node_id: node_id.clone(),
        dpid,
        local_ip: local_ip.filter(|address: &Ipv4Addr| usable_v4(*address)),
        underlay_mtu: underlay_mtu.unwrap_or_default(),
    })
}

fn port(names: &Names, snapshot: &Snapshot, id: &PortId) -> Option<Port> {
    let names = &names.topology;
    if !is_integration_bridge(&id.node_id) {
        return None;
    }
    let bridge = topology_node(names, snapshot, &id.node_id)?;
    let fields = bridge.list(names.termination_point)?.get(&text_key(&id.name))?;
    let ofport = fields.leaf(names.ofport)?.as_uint().filter(|port| (1..=LAST_OFPORT).contains(port))?;
    let external_id = |key: &str| {
        fields.list(names.external_ids)?.get(&Key::text(key))?.shared_text(names.external_id_value)
    };
    let option = |key: &str| fields.list(names.options)?.get(&Key::text(key))?.text(names.option_value);
    let kind = match fields.leaf(names.interface_type) {
        Some(Value::Identity(id)) => Some(*id),
        _ => None,
    };
    let is = |named: Option<IdentityId>| kind.is_some() && kind == named;
    let mac_text = external_id("attached-mac");
    let attached_mac = mac_text.and_then(|text| unicast(text));
    let flow_based = option("remote_ip") == Some("flow");
    let beyond = if flow_based && is(names.vxlan) {
        Some(Beyond::Tunnel)
    } else if flow_based && is(names.geneve) {
        Some(Beyond::Geneve)
    } else if flow_based && is(names.gre) {
        Some(Beyond::Gre)
    } else if is(names.patch) {
        external_id(PHYSICAL_NETWORK).map(|network| Beyond::Physical(network.clone()))
    } else if is(names.internal) {
        attached_mac.filter(|_| external_id(NODE_PORT_MARK).is_some()).map(Beyond::Node)
    } else {
        None
    };
    Some(Port {
        id: id.clone(),
        ofport: OfPort(u32::try_from(ofport).ok()?),
        iface_id: external_id("iface-id").filter(|text| !text.is_empty()).cloned(),
        attached_mac,
        mac_text: mac_text.filter(|text| attached_mac.is_some_and(|mac| mac.to_string() == **text)).cloned(),
        beyond,
    })
}

fn topology_node<'a>(
    names: &super::names::TopologyNames,
    snapshot: &'a Snapshot,
    node_id: &str,
) -> Option<&'a Fields> {
    let all = snapshot.operational.input.container(names.network_topology)?;
    all.list(names.topology)?.get(&Key::text(OVSDB_TOPOLOGY))?.list(names.node)?.get(&Key::text(node_id))
}

/// The integration bridge that a change to this node bears on: the node itself, or the bridge of that system.
fn bridge_of(node_id: &Text) -> Text {
    if node_id.contains("/bridge/") {
        node_id.clone()
    } else {
        format!("{node_id}/bridge/{INTEGRATION_BRIDGE}").into()
    }
}

/// Only integration bridges have rows.
fn is_integration_bridge(node_id: &str) -> bool {
    node_id.rsplit_once("/bridge/").is_some_and(|(_, bridge)| bridge == INTEGRATION_BRIDGE)
}

fn port_keys<'a>(names: &Names, node_id: &Text, node: &'a Fields) -> impl Iterator<Item = RowKey> + use<'a> {
    let node_id = node_id.clone();
    entries(node, names.topology.termination_point)
        .map(move |(name, _)| RowKey::Port(PortId { node_id: node_id.clone(), name }))
}

/// Entries of a list whose key is one text.
pub(super) fn entries<'a>(
    fields: &'a Fields,
    list: SchemaId,
) -> impl Iterator<Item = (Text, &'a Fields)> + use<'a> {
    fields.list(list).into_iter().flatten().filter_map(|(key, fields)| Some((key_text(key)?, fields)))
}

pub(super) fn key_text(key: &Key) -> Option<Text> {
    if let [Value::Text(text)] = key.values() { Some(text.clone()) } else { None }
}

pub(super) fn text_key(text: &Text) -> Key {
    Key::one(Value::Text(text.clone()))
}

fn ip(fields: &Fields, leaf: SchemaId) -> Option<IpAddr> {
    fields.text(leaf)?.parse().ok()
}

fn ipv4(fields: &Fields, leaf: SchemaId) -> Option<Ipv4Addr> {
    fields.text(leaf)?.parse().ok()
}

/// A MAC address that a pod may have.
pub(super) fn unicast(text: &str) -> Option<MacAddr> {
    text.parse().ok().filter(|mac: &MacAddr| !mac.is_group() && !mac.is_zero())
}
