//! Host ports: ports of a node that lead to one pod there.
//!
//! A host port is asked for by configuration and had as a claim on a place: an address of the node, a protocol and a number. Who
//! asks there is led to the pod as to the only endpoint of a service ([`super::services`]), under a name that no service has.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use smallvec::SmallVec;

use super::apply::{Model, Work};
use super::asks::HostPort;
use super::claims::{Claim, HostPlace, Strength};
use super::conflict::{Claimer, Conflict};
use super::interface::{Interface, InterfaceId};
use super::rows::{Pod, Row};
use super::services::{NodePort, Serves, Service, ServicePort};
use super::status::Reason;
use super::wanted::Wanted;
use crate::net::{Dpid, Transport};
use crate::schema::Text;

/// A place that leads to an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Door {
    pub transport: Transport,
    pub port: u16,
    /// Of the interface.
    pub target: u16,
    /// Of the node; 0.0.0.0 or ::: where that hands over what it got at any of its addresses of this version.
    pub address: IpAddr,
}

/// Ports and interfaces with host ports.
#[derive(Debug, Default)]
pub(super) struct HostPorts {
    /// Who asks for a number, by the address of its node that it names.
    asked: BTreeMap<NodePort, BTreeMap<IpAddr, BTreeSet<InterfaceId>>>,
    /// Who has any, by the name that its host ports have among services.
    named: BTreeMap<Text, InterfaceId>,
}

/// A host port as it is rendered, for one IP version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedHostPort {
    pub transport: Transport,
    pub port: u16,
    /// From the pool of service ports; absent while that is used up.
    pub number: Option<u32>,
    pub endpoint: (IpAddr, u16),
    /// As [`Door::address`].
    pub places: Vec<IpAddr>,
}

/// All addresses of each version.
const ANY: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];

/// What the host ports of an interface are called among services. No uid of Kubernetes looks so.
fn name_of(id: &InterfaceId) -> Text {
    format!("host-ports:{}/{}", id.pod, id.uid).into()
}

/// Key in the pool of service ports.
fn key_of(name: &str, door: &Door) -> Text {
    format!("{name} {} {}:{}", door.transport, door.port, door.target).into()
}

fn host_ports_of(pod: &Pod) -> impl Iterator<Item = (InterfaceId, HostPort)> {
    pod.interfaces.iter().flat_map(|row| {
        let id = InterfaceId { pod: pod.uid.clone(), uid: row.uid.clone() };
        let ports = row.asks.iter().flat_map(|asks| asks.host_ports.iter().copied());
        ports.map(move |port| (id.clone(), port))
    })
}

impl Interface {
    /// A place is somebody else's.
    pub(super) fn quit_door(&mut self, place: HostPlace, transport: Transport, port: u16, owner: Text) {
        let address = match place {
            HostPlace::Address(address) => address,
            HostPlace::HandedOver { is_v6, .. } => ANY[usize::from(is_v6)],
        };
        let is_it = |door: &&Door| (door.address, door.transport, door.port) == (address, transport, port);
        self.doors = self.doors.iter().filter(|door| !is_it(door)).copied().collect();
        let is_said = |reason: &Reason| match reason {
            Reason::HostPortTaken { transport: of, port: number, .. } => (*of, *number) == (transport, port),
            _ => false,
        };
        // Where a node hands over is told only if its addresses are not known.
        if !address.is_unspecified() || !self.pending.iter().any(is_said) {
            let address =
                if address.is_unspecified() { "its node".into() } else { address.to_string().into() };
            self.pending.push(Reason::HostPortTaken { transport, port, address, owner });
        }
    }
}

impl Model {
    /// Notes the host ports that a pod asks for, or no longer does.
    pub(super) fn note_host_ports(&mut self, pod: &Pod, comes: bool) {
        let Some(host) = pod.host else { return };
        for (id, port) in host_ports_of(pod) {
            let number = (port.transport, port.port);
            let hosts = self.host_ports.asked.entry(number).or_default();
            let asking = hosts.entry(host).or_default();
            if comes {
                asking.insert(id);
            } else {
                asking.remove(&id);
            }
            if asking.is_empty() {
                hosts.remove(&host);
            }
            if hosts.is_empty() {
                self.host_ports.asked.remove(&number);
            }
        }
    }

    /// Marks those who ask for a number as host port.
    pub(super) fn mark_host_port(&self, number: NodePort, work: &mut Work) {
        let asking = self.host_ports.asked.get(&number).into_iter().flat_map(BTreeMap::values).flatten();
        work.dirty.extend(asking.cloned());
    }

    /// Marks those on a switch that ask for host ports: its node has other addresses.
    pub(super) fn mark_host_ports_on(&self, dpid: Dpid, work: &mut Work) {
        let on = self.interfaces_on.get(&dpid).into_iter().flatten();
        let asks = |id: &&InterfaceId| {
            let row = self.pods.get(&id.pod).and_then(|pod| pod.interface(&id.uid));
            row.and_then(|row| row.asks.as_ref()).is_some_and(|asks| !asks.host_ports.is_empty())
        };
        work.dirty.extend(on.filter(asks).cloned());
    }

    /// The places that an interface asks for on its switch's node, and what it claims for them.
    pub(super) fn draft_host_ports(
        &self,
        interface: &mut Interface,
        claims: &mut SmallVec<[(Claim, Strength); 3]>,
        wanted: &Wanted,
    ) {
        let Some(dpid) = interface.attachment.as_ref().map(|attachment| attachment.dpid) else { return };
        let mut doors = Vec::new();
        // Of its own that meet, the one that names its address counts: it comes last.
        for asked in wanted.asks.iter().flat_map(|asks| asks.host_ports.iter().rev()) {
            let HostPort { transport, port, target, .. } = *asked;
            if let Some(service) = self.with_node_port((transport, port)) {
                let service = service.uid.clone();
                interface.pending.push(Reason::HostPortOfService { transport, port, service });
                continue;
            }
            let door = |address| Door { transport, port, target, address };
            let known = doors.len();
            doors.extend(self.addresses_of_node(dpid).filter(|own| asked.covers(*own)).map(door));
            if asked.is_everywhere() {
                doors.extend(ANY.into_iter().filter(|any| asked.covers(*any)).map(door));
            } else if let Some(address) = asked.address.filter(|_| doors.len() == known) {
                interface.pending.push(Reason::HostPortElsewhere { transport, port, address });
            }
        }
        let mut taken = BTreeSet::new();
        doors.retain(|door| taken.insert((door.transport, door.port, door.address)));
        let claim = |door: &Door| {
            let (address, is_v6) = (door.address, door.address.is_ipv6());
            let handed = HostPlace::HandedOver { dpid, is_v6 };
            let place = if address.is_unspecified() { handed } else { HostPlace::Address(address) };
            Claim::HostPort(place, door.transport, door.port)
        };
        claims.extend(doors.iter().map(|door| (claim(door), Strength::Own)));
        interface.doors = doors.into();
    }

    /// Notes whether an interface has places that lead to it.
    pub(super) fn note_doors(&mut self, before: Option<&Interface>, after: &Interface, work: &mut Work) {
        let had = before.is_some_and(|before| !before.doors.is_empty());
        let (has, name) = (!after.doors.is_empty(), name_of(&after.id));
        if had || has {
            work.dirty_cluster_services.insert(name.clone());
        }
        let was_asked = self.is_asked_at_nodes();
        if has {
            self.host_ports.named.insert(name, after.id.clone());
        } else if had {
            self.host_ports.named.remove(&name);
        }
        if was_asked != self.is_asked_at_nodes() {
            work.touched.node_sides.extend(self.switches.keys());
        }
    }

    /// Marks the host ports of an interface that may be reached by another address now.
    pub(super) fn mark_doors_of(&self, id: &InterfaceId, work: &mut Work) {
        let name = name_of(id);
        if self.host_ports.named.contains_key(&name) {
            work.dirty_cluster_services.insert(name);
        }
    }

    /// Whether anything is served at addresses of nodes.
    pub fn is_asked_at_nodes(&self) -> bool {
        self.has_node_ports() || !self.host_ports.named.is_empty()
    }

    /// What host ports are called among services: all there are.
    pub fn host_port_names(&self) -> impl Iterator<Item = &Text> {
        self.host_ports.named.keys()
    }

    /// The same of one interface, if it has any.
    pub fn host_port_name(&self, id: &InterfaceId) -> Option<Text> {
        Some(name_of(id)).filter(|name| self.host_ports.named.contains_key(name))
    }

    /// The interface whose host ports are called so.
    pub fn interface_of_host_ports(&self, name: &str) -> Option<&Interface> {
        self.interface(self.host_ports.named.get(name)?)
    }

    /// What an interface serves for its host ports, and the keys of the numbers that those need.
    pub(super) fn served_by_doors(&self, name: &str) -> (BTreeSet<Serves>, BTreeSet<Text>) {
        let (mut serves, mut keys) = (BTreeSet::new(), BTreeSet::new());
        let Some(interface) = self.interface_of_host_ports(name) else { return (serves, keys) };
        let Some((_, _, attachment)) = interface.plugged() else { return (serves, keys) };
        for door in &interface.doors {
            keys.insert(key_of(name, door));
            let of_version = |own: &IpAddr| own.is_ipv6() == door.address.is_ipv6();
            for own in interface.addresses.iter().map(|own| own.ip).filter(of_version) {
                if self.is_on_node(attachment.dpid, own, &interface.id) {
                    serves.insert((own, interface.id.clone(), door.transport, door.target));
                }
            }
        }
        (serves, keys)
    }

    /// The host ports of that name, each for the versions of which its interface has an address.
    pub fn served_host_ports(&self, name: &str) -> Vec<ServedHostPort> {
        let Some(interface) = self.interface_of_host_ports(name) else { return Vec::new() };
        let mut served: BTreeMap<(Text, bool), ServedHostPort> = BTreeMap::new();
        for door in &interface.doors {
            let is_v6 = door.address.is_ipv6();
            let is_served = |own: &IpAddr| {
                let here = self.serving_at(*own).filter(|(first, _)| **first == interface.id);
                own.is_ipv6() == is_v6
                    && here.is_some_and(|(_, serving)| serving.contains(&(door.transport, door.target)))
            };
            let Some(endpoint) = interface.addresses.iter().map(|own| own.ip).find(is_served) else {
                continue;
            };
            let key = key_of(name, door);
            let number = self.service_number(&key);
            let entry = served.entry((key, is_v6)).or_insert_with(|| ServedHostPort {
                transport: door.transport,
                port: door.port,
                number,
                endpoint: (endpoint, door.target),
                places: Vec::new(),
            });
            entry.places.push(door.address);
        }
        served.into_values().collect()
    }

    /// All addresses of the node that has this one, as far as that is known.
    fn addresses_with(&self, host: IpAddr) -> BTreeSet<IpAddr> {
        let nodes = self.nodes_by_address.get(&host).into_iter().flatten();
        let nodes = nodes.filter_map(|uid| self.nodes.get(uid));
        nodes.flat_map(|node| node.addresses()).chain([host]).collect()
    }

    /// Looks for a host port that a changed pod newly asks for and another pod of its node has, or a service as node port.
    pub(super) fn check_host_ports(&self, rows: &[Row]) -> Result<(), Conflict> {
        let pods: BTreeMap<&Text, Option<&Pod>> = rows
            .iter()
            .filter_map(|row| match row {
                Row::Pod(uid, pod) => Some((uid, pod.as_ref())),
                _ => None,
            })
            .collect();
        let is_old = |pod: &Pod, id: &InterfaceId, port: &HostPort| {
            let known = self.pods.get(&pod.uid).filter(|known| known.host == pod.host);
            known.is_some_and(|known| {
                host_ports_of(known)
                    .any(|(of, own)| of == *id && own.meets(port) && own.address == port.address)
            })
        };
        let mut claimed: BTreeMap<(NodePort, IpAddr), Vec<(InterfaceId, HostPort)>> = BTreeMap::new();
        // Who has one already and is merely written again keeps it.
        for old in [true, false] {
            for pod in pods.values().copied().flatten() {
                let Some(host) = pod.host else { continue };
                for (id, port) in host_ports_of(pod).filter(|(id, port)| is_old(pod, id, port) == old) {
                    let number = (port.transport, port.port);
                    if !old {
                        self.check_host_port((pod, host), (&id, &port), rows, &pods, &claimed)?;
                    }
                    claimed.entry((number, host)).or_default().push((id, port));
                }
            }
        }
        Ok(())
    }

    fn check_host_port(
        &self,
        (pod, host): (&Pod, IpAddr),
        (id, port): (&InterfaceId, &HostPort),
        rows: &[Row],
        pods: &BTreeMap<&Text, Option<&Pod>>,
        claimed: &BTreeMap<(NodePort, IpAddr), Vec<(InterfaceId, HostPort)>>,
    ) -> Result<(), Conflict> {
        let number = (port.transport, port.port);
        let conflict = |owner: String| {
            let (this, (transport, number)) = (self.said_of_pod(pod), number);
            let at = port.address.map(|address| format!(" at {address}")).unwrap_or_default();
            let message = format!(
                "{this}: host port {transport} {number}{at} is in use by {owner}; choose another one, or change or delete the other first"
            );
            Conflict { claimer: Claimer::Pod(pod.uid.clone()), message }
        };
        if let Some(service) = self.service_asking(number, rows) {
            return Err(conflict(service.said()));
        }
        let meets = |(other, of): &(InterfaceId, HostPort)| of.meets(port) && other != id;
        for address in self.addresses_with(host) {
            let coming = claimed.get(&(number, address)).into_iter().flatten();
            if let Some((other, _)) = coming.into_iter().find(|other| meets(other)) {
                let row = pods.get(&other.pod).copied().flatten();
                return Err(conflict(row.map_or_else(|| self.said_of(other), |row| self.said_of_pod(row))));
            }
            let known = self.host_ports.asked.get(&number).and_then(|hosts| hosts.get(&address));
            let others = known.into_iter().flatten().filter(|other| !pods.contains_key(&other.pod));
            for other in others {
                let ports = self.pods.get(&other.pod).into_iter().flat_map(host_ports_of);
                if ports.into_iter().any(|(of, asked)| of == *other && asked.meets(port)) {
                    return Err(conflict(self.said_of(other)));
                }
            }
        }
        Ok(())
    }

    /// The pod that has, or will have, a host port of this number.
    pub(super) fn pod_asking(&self, number: NodePort, rows: &[Row]) -> Option<String> {
        let mut changed = BTreeSet::new();
        for row in rows {
            let Row::Pod(uid, pod) = row else { continue };
            changed.insert(uid);
            let Some(pod) = pod else { continue };
            if host_ports_of(pod).any(|(_, port)| (port.transport, port.port) == number) {
                return Some(self.said_of_pod(pod));
            }
        }
        let asked = self.host_ports.asked.get(&number).into_iter().flat_map(BTreeMap::values).flatten();
        asked.into_iter().find(|id| !changed.contains(&id.pod)).map(|id| self.said_of(id))
    }

    /// The service that has, or will have, this node port.
    fn service_asking<'a>(&'a self, number: NodePort, rows: &'a [Row]) -> Option<&'a Service> {
        let has = |service: &&Service| {
            service.ports.iter().filter_map(ServicePort::at_nodes).any(|at| at == number)
        };
        let changed: BTreeMap<&Text, Option<&Service>> = rows
            .iter()
            .filter_map(|row| match row {
                Row::Service(uid, row) => Some((uid, row.as_ref())),
                _ => None,
            })
            .collect();
        let known = self.all_with_node_port(number).filter(|service| !changed.contains_key(&service.uid));
        known.chain(changed.values().copied().flatten().filter(has)).next()
    }
}
