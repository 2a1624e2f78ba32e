//! The model and how a commit changes it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnetwork::IpNetwork;
use smallvec::SmallVec;

use super::claims::{Claim, Claims, Strength};
use super::external::External;
use super::host_ports::HostPorts;
use super::ids::{Allocator, IdKey, Ids, Pool, TUNNEL_LPORT_KEY};
use super::instances::VniClaim;
use super::interface::{Interface, InterfaceId};
use super::members::Members;
use super::next_hops::NextHops;
use super::node_side::{NODE_LPORT_KEY, NodeSide};
use super::pod_mtu::Underlay;
use super::policies::Policies;
use super::pools::Network;
use super::prefixes::Prefixes;
use super::rows::{
    Beyond, Bridge, ElanInstance, HandMade, K8sNode, Lease, Pod, PodInterface, Port, PortId, Row, VpnInstance,
};
use super::services::Services;
use super::source_nat::SourceNat;
use super::spans::{Elan, NodePort, Switch, TunnelKind, TunnelPort, Vpn};
use super::touched::Touched;
use super::underlay::{GRE_LPORT_KEY, uplink_lport_key};
use crate::net::{Dpid, ElanTag, LportTag, OfPort, Vni, VpnId};
use crate::schema::{Map, Text};

/// Everything forwarding depends on, in memory, with indices.
#[derive(Debug, Default)]
pub struct Model {
    pub(super) pods: Map<Text, Pod>,
    pub(super) nodes: BTreeMap<Text, K8sNode>,
    pub(super) networks: BTreeMap<Text, Network>,
    pub(super) leases: BTreeMap<Text, Lease>,
    pub(super) bridges: BTreeMap<Text, Bridge>,
    pub(super) ports: Map<PortId, Port>,
    pub(super) hand_made: BTreeMap<Text, HandMade>,
    pub(super) elan_instances: BTreeMap<Text, ElanInstance>,
    pub(super) vpn_instances: BTreeMap<Text, VpnInstance>,

    pub(super) nodes_by_address: BTreeMap<IpAddr, BTreeSet<Text>>,
    pub(super) ports_by_iface: Map<Text, Members<PortId>>,
    pub(super) ports_by_number: Map<(Text, OfPort), Members<Text>>,
    /// Interfaces that name the port that carries them, by what they call it.
    pub(super) carried_by: BTreeMap<Text, BTreeSet<InterfaceId>>,
    /// Interfaces written by hand, by the prefixes that they ask to be routed to them.
    pub(super) routes: BTreeMap<IpNetwork, BTreeSet<InterfaceId>>,
    /// Prefixes that interfaces written by hand (by name) route by a next hop, by its VPN and address.
    pub(super) via: BTreeMap<(Text, IpAddr), BTreeSet<(IpNetwork, Text)>>,
    /// Numbers of the routes that several interfaces carry, by [`super::routes::route_key`].
    pub(super) spread: BTreeMap<Text, u32>,
    /// VNIs that are asked for by hand.
    pub(super) vnis: BTreeSet<VniClaim>,
    /// Route distinguishers that are asked for by hand, and the VPNs that do.
    pub(super) rds: BTreeMap<Text, BTreeSet<Text>>,
    /// VPNs by the route targets they import and export.
    pub(super) importers: BTreeMap<Text, BTreeSet<Text>>,
    pub(super) exporters: BTreeMap<Text, BTreeSet<Text>>,
    pub(super) tunnel_ports: BTreeSet<PortId>,
    pub(super) bridges_by_dpid: BTreeMap<Dpid, BTreeSet<Text>>,
    pub(super) interfaces_by_network_id: BTreeMap<Text, BTreeSet<InterfaceId>>,

    pub(super) interfaces: Map<InterfaceId, Box<Entry>>,
    pub(super) claims: Claims,
    pub(super) elans: BTreeMap<Text, Elan>,
    pub(super) vpns: BTreeMap<Text, Vpn>,
    pub(super) switches: BTreeMap<Dpid, Switch>,
    pub(super) underlay: Underlay,
    pub(super) prefixes: Prefixes,
    pub(super) node_side: NodeSide,
    pub(super) source_nat: Option<SourceNat>,
    pub(super) next_hops: NextHops,
    pub(super) external: External,
    pub(super) services: Services,
    pub(super) host_ports: HostPorts,
    /// Gateways of each VPN, with the number of interfaces that use one by switch.
    pub(super) gateways: BTreeMap<(Text, IpAddr), BTreeMap<Dpid, usize>>,
    pub(super) interfaces_on: BTreeMap<Dpid, BTreeSet<InterfaceId>>,
    pub(super) elans_on: BTreeMap<Dpid, BTreeSet<Text>>,
    pub(super) vpns_on: BTreeMap<Dpid, BTreeSet<Text>>,
    /// Logical port tag of all tunnel ports, while there are switches.
    pub(super) tunnel_lport: Option<LportTag>,
    /// Logical port tags of the other ports that lead to other nodes, by their keys.
    pub(super) uplink_lports: BTreeMap<Text, LportTag>,
    /// How many switches have a port under each of these keys.
    pub(super) uplink_uses: BTreeMap<Text, usize>,
    pub(super) ids: Ids,
    pub(super) policies: Policies,
}

/// An interface with what it claims, so that its claims can be taken back.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub interface: Interface,
    pub network_id: Option<Text>,
    /// The name it would have; claimed as [`Claim::Name`].
    pub name: Option<Text>,
    /// Claims beside the name.
    pub claims: SmallVec<[(Claim, Strength); 3]>,
}

/// What one pass over the rows leaves to do.
#[derive(Default)]
pub(super) struct Work {
    pub touched: Touched,
    pub dirty: BTreeSet<InterfaceId>,
    pub dirty_switches: BTreeSet<Dpid>,
    /// Addresses of nodes of which something changed.
    pub dirty_endpoints: BTreeSet<IpAddr>,
    pub dirty_prefixes: BTreeSet<Dpid>,
    /// Addresses outside to be placed again.
    pub dirty_floating: BTreeSet<IpAddr>,
    /// Services whose addresses outside are to be given again.
    pub dirty_exposed: BTreeSet<Text>,
    pub dirty_cluster_services: BTreeSet<Text>,
    /// Addresses of endpoints that came or went, by the service: all else about it is as it was.
    pub moved_endpoints: BTreeMap<Text, BTreeSet<IpAddr>>,
    /// Routes of which it changed who carries them, or how.
    pub dirty_routes: BTreeSet<Claim>,
}

impl Model {
    /// Takes in rows as they are now; rows that are not named are as they were.
    pub fn apply(&mut self, rows: impl IntoIterator<Item = Row>, allocator: &mut dyn Allocator) -> Touched {
        let mut work = Work::default();
        for row in rows {
            self.put(row, allocator, &mut work);
        }
        self.retry_missing(allocator, &mut work);
        self.settle_switches(allocator, &mut work);
        self.settle_prefixes(&mut work);
        self.settle_interfaces(allocator, &mut work);
        self.settle_routes(allocator, &mut work);
        self.settle_external(&mut work);
        self.settle_services(allocator, &mut work);
        self.settle_policies(allocator, &mut work);
        self.settle_ids(allocator);
        work.touched
    }

    /// Puts a row in place of what was there, and marks the interfaces and switches that depend on it.
    fn put(&mut self, row: Row, allocator: &mut dyn Allocator, work: &mut Work) {
        match row {
            Row::Pod(uid, row) => {
                let before = exchange(&mut self.pods, &uid, row);
                let id = |row: &PodInterface| InterfaceId { pod: uid.clone(), uid: row.uid.clone() };
                let trunk = |row: &PodInterface| Some(row.trunk.as_ref()?.trunk.clone());
                for row in before.iter().flat_map(|pod| &pod.interfaces) {
                    if let Some(trunk) = trunk(row) {
                        remove_from(&mut self.carried_by, &trunk, &id(row));
                    }
                    work.dirty.insert(id(row));
                }
                for row in self.pods.get(&uid).iter().flat_map(|pod| &pod.interfaces) {
                    if let Some(trunk) = trunk(row) {
                        self.carried_by.entry(trunk).or_default().insert(id(row));
                    }
                    work.dirty.insert(id(row));
                }
                if let Some(pod) = &before {
                    self.note_host_ports(pod, false);
                }
                if let Some(pod) = self.pods.get(&uid).cloned() {
                    self.note_host_ports(&pod, true);
                }
                work.touched.pods.insert(uid);
            }
            Row::K8sNode(uid, row) => self.put_node(&uid, row, work),
            Row::Network(id, row) => {
                replace(&mut self.networks, &id, row);
                self.mark_network(&id, work);
            }
            Row::Lease(name, row) => {
                replace(&mut self.leases, &name, row);
                self.mark_name(&name, work);
            }
            Row::Bridge(node_id, row) => self.put_bridge(&node_id, row, work),
            Row::Port(id, row) => self.put_port(&id, row, work),
            Row::HandMade(name, row) => self.put_hand_made(&name, row, work),
            Row::ElanInstance(name, row) => self.put_elan_instance(&name, row, allocator, work),
            Row::VpnInstance(name, row) => self.put_vpn_instance(&name, row, allocator, work),
            Row::Service(uid, row) => self.put_service(&uid, row, work),
            Row::ServiceEndpoints(uid, row) => self.put_service_endpoints(&uid, row, work),
            Row::ServicePool(row) => self.put_service_pool(row, work),
            Row::SourceNat(row) => self.put_source_nat(row, work),
            Row::ExternalNetwork(id, row) => self.put_external_network(&id, row, allocator, work),
            Row::ExternalSubnet(id, row) => self.put_external_subnet(&id, row, allocator, work),
            Row::PortMac(id, row) => self.put_port_mac(&id, row.as_ref(), work),
            Row::FloatingRouter(id, row) => self.put_router(&id, row, work),
            Row::ExtRouter(name, row) => self.put_ext_router(&name, row, work),
            Row::Neighbour(network, address, mac) => self.put_neighbour((network, address), mac, work),
            Row::Watched(watched) => self.put_watched(watched, work),
            Row::Silent(interface, address, silent) => self.put_silent((interface, address), silent, work),
            Row::Lost(dpid, lost) => self.put_lost(dpid, lost, work),
            Row::Held(address, dpid) => self.put_held(address, dpid, work),
            Row::Policy(uuid, row) => self.put_policy(&uuid, row),
            Row::Namespace(name, row) => self.put_namespace(&name, row),
            Row::Acl(name, row) => self.put_acl(&name, row),
            Row::Bound(name, row) => self.put_binding(&name, row),
        }
    }

    fn put_hand_made(&mut self, name: &Text, row: Option<HandMade>, work: &mut Work) {
        let parent = |row: Option<&HandMade>| row.and_then(|row| row.parent.clone());
        let before = replace(&mut self.hand_made, name, row);
        let id = InterfaceId::hand_made(name);
        if let Some(parent) = parent(before.as_ref()) {
            remove_from(&mut self.carried_by, &parent, &id);
        }
        if let Some(parent) = parent(self.hand_made.get(name)) {
            self.carried_by.entry(parent).or_default().insert(id.clone());
        }
        let after = self.hand_made.get(name).cloned();
        self.index_routes(&id, before.as_ref(), after.as_ref(), work);
        work.dirty.insert(id);
    }

    fn put_node(&mut self, uid: &Text, row: Option<K8sNode>, work: &mut Work) {
        let before = replace(&mut self.nodes, uid, row);
        let addresses = |node: Option<&K8sNode>| -> BTreeSet<IpAddr> {
            node.into_iter().flat_map(|node| [node.internal, node.external]).flatten().collect()
        };
        let (was, is) = (addresses(before.as_ref()), addresses(self.nodes.get(uid)));
        for address in &was {
            remove_from(&mut self.nodes_by_address, address, uid);
        }
        for address in &is {
            self.nodes_by_address.entry(*address).or_default().insert(uid.clone());
        }
        for host in was.union(&is) {
            self.mark_host(*host, work);
        }
        self.move_prefix(before.as_ref(), uid, work);
    }

    fn put_bridge(&mut self, node_id: &Text, row: Option<Bridge>, work: &mut Work) {
        let before = replace(&mut self.bridges, node_id, row);
        let after = self.bridges.get(node_id);
        if before.as_ref() == after {
            return;
        }
        if let Some(bridge) = &before {
            remove_from(&mut self.bridges_by_dpid, &bridge.dpid, node_id);
            work.dirty_switches.insert(bridge.dpid);
        }
        if let Some(bridge) = after {
            self.bridges_by_dpid.entry(bridge.dpid).or_default().insert(node_id.clone());
            work.dirty_switches.insert(bridge.dpid);
        }
    }

    fn put_port(&mut self, id: &PortId, row: Option<Port>, work: &mut Work) {
        let before = exchange(&mut self.ports, id, row);
        let after = self.ports.get(id);
        if before.as_ref() == after {
            return;
        }
        for (port, comes) in [(before.as_ref(), false), (after, true)] {
            let Some(port) = port else { continue };
            let number = (id.node_id.clone(), port.ofport);
            if comes {
                insert_member(&mut self.ports_by_number, &number, id.name.clone());
            } else {
                remove_member(&mut self.ports_by_number, &number, &id.name);
            }
            work.touched.port_numbers.insert(number);
        }
        self.mark_carried(&id.name, work);
        let iface = |port: Option<&Port>| port.and_then(|port| port.iface_id.clone());
        let tunnel = |port: Option<&Port>| port.is_some_and(|port| port.beyond.is_some());
        let (was, is) = (iface(before.as_ref()), iface(after));
        if tunnel(before.as_ref()) || tunnel(after) {
            if tunnel(after) {
                self.tunnel_ports.insert(id.clone());
            } else {
                self.tunnel_ports.remove(id);
            }
            work.dirty_switches.extend(self.bridges.get(&id.node_id).map(|bridge| bridge.dpid));
        }
        if let Some(name) = &was {
            remove_member(&mut self.ports_by_iface, name, id);
            self.mark_name(name, work);
        }
        if let Some(name) = &is {
            insert_member(&mut self.ports_by_iface, name, id.clone());
            self.mark_name(name, work);
        }
    }

    /// Whoever a port's `iface-id` names: the interface of that name, and those that share the port.
    fn mark_name(&self, name: &Text, work: &mut Work) {
        work.dirty.extend(self.claims.owner(&Claim::Name(name.clone())).cloned());
        self.mark_carried(name, work);
    }

    fn mark_carried(&self, port: &Text, work: &mut Work) {
        work.dirty.extend(self.carried_by.get(port).into_iter().flatten().cloned());
    }

    fn mark_network(&self, id: &Text, work: &mut Work) {
        work.dirty.extend(self.elans.get(id).into_iter().flat_map(|elan| elan.interfaces.keys().cloned()));
        work.dirty.extend(self.vpns.get(id).into_iter().flat_map(|vpn| vpn.interfaces.iter().cloned()));
        work.dirty.extend(self.interfaces_by_network_id.get(id).into_iter().flatten().cloned());
    }

    /// All interfaces whose pods name this address as their host: an ELAN's name starts with it.
    fn mark_host(&self, host: IpAddr, work: &mut Work) {
        let prefix: Text = format!("{host}:").into();
        let elans = self.elans.range(prefix.clone()..).take_while(|(name, _)| name.starts_with(&*prefix));
        work.dirty.extend(elans.flat_map(|(_, elan)| elan.interfaces.keys().cloned()));
    }

    /// Works out the switches whose bridge or tunnel port changed, and marks the interfaces they may hold.
    fn settle_switches(&mut self, allocator: &mut dyn Allocator, work: &mut Work) {
        let mut doubtful = BTreeSet::new();
        let was_mesh = self.is_mesh();
        for dpid in std::mem::take(&mut work.dirty_switches) {
            let bridge = self.bridges_by_dpid.get(&dpid).and_then(|ids| self.bridges.get(ids.first()?));
            let after = bridge.map(|bridge| self.switch_of(bridge));
            let before = replace(&mut self.switches, &dpid, after);
            let endpoint = |switch: Option<&Switch>| Some(IpAddr::V4(switch?.local_ip?));
            let (was, is) = (endpoint(before.as_ref()), endpoint(self.switches.get(&dpid)));
            self.move_endpoint(dpid, was, is, work);
            let after = self.switches.get(&dpid);
            if before.as_ref() == after {
                continue;
            }
            work.touched.switches.insert(dpid);
            work.touched.underlay |= self.underlay.replace(before.as_ref(), after);
            let was = before.as_ref().map(uplink_keys).unwrap_or_default();
            let is = after.map(uplink_keys).unwrap_or_default();
            for key in is.difference(&was) {
                *self.uplink_uses.entry(key.clone()).or_default() += 1;
            }
            for key in was.difference(&is) {
                if let Some(uses) = self.uplink_uses.get_mut(key) {
                    *uses -= 1;
                }
                doubtful.insert(key.clone());
            }
            for switch in [before.as_ref(), after].into_iter().flatten() {
                for port in self.ports_of(&switch.node_id) {
                    work.touched.port_numbers.insert((switch.node_id.clone(), port.ofport));
                    if let Some(name) = &port.iface_id {
                        self.mark_name(name, work);
                    }
                    self.mark_carried(&port.id.name, work);
                }
            }
            work.dirty.extend(self.interfaces_on.get(&dpid).into_iter().flatten().cloned());
        }
        for key in doubtful {
            if self.uplink_uses.get(&key) == Some(&0) {
                self.uplink_uses.remove(&key);
                self.uplink_lports.remove(&key);
                self.ids.leave(Pool::Interfaces, &key);
            }
        }
        let lacking = self.uplink_uses.keys().filter(|key| !self.uplink_lports.contains_key(*key));
        for key in lacking.cloned().collect::<Vec<_>>() {
            if let Some(id) = self.ids.acquire(allocator, Pool::Interfaces, &key) {
                self.uplink_lports.insert(key, LportTag(id));
                work.touched.switches.extend(self.switches.keys());
            }
        }
        work.touched.mesh = was_mesh != self.is_mesh();
        let key: Text = TUNNEL_LPORT_KEY.into();
        if self.needs(&(Pool::Interfaces, key.clone())) {
            if self.tunnel_lport.is_none() {
                self.tunnel_lport = self.ids.acquire(allocator, Pool::Interfaces, &key).map(LportTag);
                work.touched.switches.extend(self.switches.keys());
            }
        } else if self.tunnel_lport.take().is_some() {
            self.ids.leave(Pool::Interfaces, &key);
        }
    }

    /// A switch as its bridge and that bridge's ports make it. Of several ports for one thing the first by name counts.
    fn switch_of(&self, bridge: &Bridge) -> Switch {
        let mut switch = Switch {
            node_id: bridge.node_id.clone(),
            local_ip: bridge.local_ip,
            underlay_mtu: bridge.underlay_mtu,
            tunnel: None,
            gre: None,
            uplinks: BTreeMap::new(),
            node: None,
        };
        let first = PortId { node_id: bridge.node_id.clone(), name: "".into() };
        for id in self.tunnel_ports.range(first..).take_while(|id| id.node_id == bridge.node_id) {
            let Some(port) = self.ports.get(id) else { continue };
            let of_kind = |kind| TunnelPort { name: id.name.clone(), ofport: port.ofport, kind };
            match &port.beyond {
                Some(Beyond::Tunnel) => {
                    switch.tunnel.get_or_insert_with(|| of_kind(TunnelKind::Vxlan));
                }
                Some(Beyond::Geneve) => {
                    switch.tunnel.get_or_insert_with(|| of_kind(TunnelKind::Geneve));
                }
                Some(Beyond::Gre) => {
                    switch.gre.get_or_insert_with(|| of_kind(TunnelKind::Gre));
                }
                Some(Beyond::Physical(network)) => {
                    switch.uplinks.entry(network.clone()).or_insert(port.ofport);
                }
                Some(Beyond::Node(mac)) => {
                    switch.node.get_or_insert(NodePort { ofport: port.ofport, mac: *mac });
                }
                None => {}
            }
        }
        switch
    }

    fn ports_of<'a>(&'a self, node_id: &'a Text) -> impl Iterator<Item = &'a Port> {
        let first = PortId { node_id: node_id.clone(), name: "".into() };
        self.ports.range(first..).take_while(move |(id, _)| id.node_id == *node_id).map(|(_, port)| port)
    }

    /// Ids that could not be given earlier: asks again, one a pool until one is refused.
    fn retry_missing(&mut self, allocator: &mut dyn Allocator, work: &mut Work) {
        for pool in [
            Pool::Interfaces,
            Pool::Elan,
            Pool::Vpn,
            Pool::Vni,
            Pool::Services,
            Pool::ServiceAddresses,
            Pool::Meters,
        ] {
            self.retry_pool(pool, allocator, work);
        }
    }

    /// Where one is refused, so are all behind it: a pool that is used up must not cost every commit its whole queue.
    fn retry_pool(&mut self, pool: Pool, allocator: &mut dyn Allocator, work: &mut Work) {
        let first = (pool, Text::new());
        while let Some(key) = self.ids.missing.range(&first..).next().filter(|(of, _)| *of == pool) {
            let (_, key) = key.clone();
            self.ids.missing.remove(&(pool, key.clone()));
            if !self.needs(&(pool, key.clone())) {
                continue;
            }
            let Some(id) = self.ids.acquire(allocator, pool, &key) else { return };
            match pool {
                Pool::Interfaces => self.mark_name(&key, work),
                Pool::Elan => {
                    if let Some(elan) = self.elans.get_mut(&key) {
                        elan.tag = Some(ElanTag(id));
                        work.touched.elans.insert(key.clone());
                        work.touched.elan_spans.extend(elan.members.keys().map(|dpid| (key.clone(), *dpid)));
                    }
                }
                Pool::Vpn if self.late_external_vpn(&key, VpnId(id), work) => {}
                Pool::Vpn => {
                    let rd = self.rd_of(&key, VpnId(id));
                    if let Some(vpn) = self.vpns.get_mut(&key) {
                        vpn.set_id(VpnId(id), rd);
                        work.touched.vpns.insert(key.clone());
                        work.touched.vpn_spans.extend(vpn.members.keys().map(|dpid| (key.clone(), *dpid)));
                    }
                }
                Pool::Vni => self.late_vni(&key, Vni(id), work),
                // Their policies ask again themselves, and so do routes.
                Pool::Policies | Pool::Routes => {}
                Pool::Services => self.late_service(&key, id, work),
                Pool::ServiceAddresses => self.late_service_address(&key, id, work),
                Pool::Meters => work.dirty.extend(self.limited_by(&key).cloned()),
            }
        }
    }

    fn late_vni(&mut self, key: &Text, vni: Vni, work: &mut Work) {
        if let Some(elan) = self.elans.get_mut(key) {
            elan.vni = Some(vni);
            work.touched.elans.insert(key.clone());
            work.touched.elan_spans.extend(elan.members.keys().map(|dpid| (key.clone(), *dpid)));
        } else if let Some(name) = key.strip_prefix("l3 ").map(Text::from)
            && let Some(vpn) = self.vpns.get_mut(&name)
        {
            vpn.l3_vni = Some(vni);
            work.touched.vpns.insert(name.clone());
            work.touched.vpn_spans.extend(vpn.members.keys().map(|dpid| (name.clone(), *dpid)));
        }
    }

    /// Gives back the ids that nothing needs any more.
    fn settle_ids(&mut self, allocator: &mut dyn Allocator) {
        for key in std::mem::take(&mut self.ids.doubtful) {
            if !self.needs(&key) {
                self.ids.missing.remove(&key);
                allocator.release(key.0, &key.1);
            }
        }
    }

    /// Gives back ids that were in force when the model was loaded and that nothing in it needs.
    pub fn release_strays(&mut self, keys: impl Iterator<Item = IdKey>, allocator: &mut dyn Allocator) {
        for key in keys.filter(|key| !self.needs(key)) {
            allocator.release(key.0, &key.1);
        }
    }

    /// Is there something that carries this id, or would?
    fn needs(&self, (pool, key): &IdKey) -> bool {
        match pool {
            Pool::Interfaces if &**key == TUNNEL_LPORT_KEY => !self.switches.is_empty(),
            Pool::Interfaces if self.uplink_uses.contains_key(key) => true,
            Pool::Interfaces => self.claims.owner(&Claim::Name(key.clone())).is_some(),
            Pool::Elan => self.elans.contains_key(key),
            Pool::Vpn => self.vpns.contains_key(key) || self.needs_external_vpn(key),
            Pool::Policies => self.has_clause(key),
            Pool::Services => self.needs_service_number(key),
            Pool::ServiceAddresses => self.needs_service_address(key),
            Pool::Routes => self.spread.contains_key(key),
            Pool::Meters => self.needs_meter(key),
            Pool::Vni => match key.strip_prefix("l3 ").filter(|vpn| self.vpns.contains_key(*vpn)) {
                Some(vpn) => {
                    let asked = self.vpn_instances.get(vpn).and_then(|row| row.l3_vni);
                    !asked.is_some_and(|vni| self.has_vni(key, vni))
                }
                None => {
                    let asked = self.elan_instances.get(key).and_then(|row| row.vni);
                    self.elans.contains_key(key) && !asked.is_some_and(|vni| self.has_vni(key, vni))
                }
            },
        }
    }
}

/// Keys of the logical port tags that a switch's ports to other nodes and to its own carry, beside the tunnel's.
fn uplink_keys(switch: &Switch) -> BTreeSet<Text> {
    let gre = switch.gre.as_ref().map(|_| Text::from(GRE_LPORT_KEY));
    let node = switch.node.map(|_| Text::from(NODE_LPORT_KEY));
    switch.uplinks.keys().map(|network| uplink_lport_key(network)).chain(gre).chain(node).collect()
}

/// Sets or removes an entry; answers what was there.
pub(super) fn replace<K: Ord + Clone, V>(map: &mut BTreeMap<K, V>, key: &K, value: Option<V>) -> Option<V> {
    match value {
        Some(value) => map.insert(key.clone(), value),
        None => map.remove(key),
    }
}

/// The same where there are many.
fn exchange<K: Ord + Clone, V: Clone>(map: &mut Map<K, V>, key: &K, value: Option<V>) -> Option<V> {
    match value {
        Some(value) => map.insert(key.clone(), value),
        None => map.remove(key),
    }
}

/// Puts a member into a set of a map of sets.
pub(super) fn insert_member<K: Ord + Clone, V: Ord + Clone>(
    map: &mut Map<K, Members<V>>,
    key: &K,
    member: V,
) {
    match map.get_mut(key) {
        Some(set) => set.insert(member),
        None => {
            let mut set = Members::default();
            set.insert(member);
            map.insert(key.clone(), set);
        }
    }
}

/// Takes a member out of a set of a map of sets; an empty set goes.
pub(super) fn remove_member<K: Ord + Clone, V: Ord + Clone>(
    map: &mut Map<K, Members<V>>,
    key: &K,
    member: &V,
) {
    let Some(set) = map.get_mut(key) else { return };
    set.remove(member);
    if set.is_empty() {
        map.remove(key);
    }
}

/// The same of larger sets.
pub(super) fn remove_from<K: Ord, V: Ord>(map: &mut BTreeMap<K, BTreeSet<V>>, key: &K, member: &V) -> bool {
    let Some(set) = map.get_mut(key) else { return false };
    let removed = set.remove(member);
    if set.is_empty() {
        map.remove(key);
    }
    removed
}
