//! Services: which addresses and ports stand for which pods.
//!
//! A service of Kubernetes has its endpoints in an object of the same name and namespace; the older way names the pods
//! behind it by uid. An endpoint is a port of an address of a pod that is plugged in; the address is looked for in the VPN
//! of the service's namespace. Services know one pod by an address: the one that its node reaches by it, and of two
//! on different nodes the first by uid. An address that no pod has and no node's range holds is that of a host outside.

mod check;
mod lost;
mod node_ports;
mod pool;
mod rows;
mod settle;

pub use check::{ServiceFault, ServiceSubject, is_of_services};
pub use node_ports::NodePort;
pub use pool::ServicePool;
pub(super) use rows::transport;
pub use rows::{EndpointPort, Service, ServiceEndpoints, ServiceNames, ServicePort, Target};

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::apply::{Model, Work, remove_from, replace};
use super::claims::Claim;
use super::interface::{Interface, InterfaceId};
use super::status::Reason;
use crate::net::{Transport, Vni};
use crate::schema::Text;

/// VXLAN network identifiers of what goes between nodes for a service, whatever the VPNs: requests and answers. Below those
/// that the pool gives out.
pub const SERVICE_REQUESTS: Vni = Vni(69_998);
pub const SERVICE_ANSWERS: Vni = Vni(69_999);

/// Endpoints of one port at most: each of the groups that they are the buckets of has to fit into one message of 64 KiB.
const MOST_V4: usize = 8000;
const MOST_V6: usize = 6000;

/// A place where endpoints may be: an address in a VPN.
type Place = (Text, IpAddr);

/// Something that is served: at an address by an interface, by a protocol and a port.
pub(super) type Serves = (IpAddr, InterfaceId, Transport, u16);

/// What an interface serves at an address, by the services that have it do so.
type Serving = BTreeSet<(Text, Transport, u16)>;

/// Services, endpoints, and what follows from the two.
#[derive(Debug, Default)]
pub(super) struct Services {
    rows: BTreeMap<Text, Service>,
    endpoints: BTreeMap<Text, ServiceEndpoints>,
    /// Services and endpoints by namespace and name.
    named: BTreeMap<(Text, Text), BTreeSet<Text>>,
    endpoints_named: BTreeMap<(Text, Text), BTreeSet<Text>>,
    /// Services by the pods that they name.
    of_pods: BTreeMap<Text, BTreeSet<Text>>,
    by_address: BTreeMap<IpAddr, BTreeSet<Text>>,
    node_ports: BTreeMap<NodePort, BTreeSet<Text>>,
    settled: BTreeMap<Text, Settled>,
    /// Services by the places that they look for endpoints at.
    seeking: BTreeMap<Place, BTreeSet<Text>>,
    /// Of several interfaces with one address the first counts.
    serving: BTreeMap<IpAddr, BTreeMap<InterfaceId, Serving>>,
    numbers: BTreeMap<Text, u32>,
    pool: Option<ServicePool>,
    /// Numbers of services that have their address from the pool.
    pooled: BTreeMap<Text, u32>,
}

/// What follows from one service.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct Settled {
    places: BTreeSet<Place>,
    /// In the order of the service's ports.
    ports: Vec<Found>,
    serves: BTreeSet<Serves>,
    /// Keys of its ports in the pool.
    keys: BTreeSet<Text>,
}

/// The candidates for endpoints of one port.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct Found {
    endpoints: BTreeSet<(IpAddr, u16, InterfaceId)>,
    reasons: Vec<Reason>,
}

/// A port of a service, as it is rendered.
#[derive(Debug)]
pub struct ServedPort<'a> {
    pub port: &'a ServicePort,
    /// From the pool of service ports; absent while that is used up.
    pub number: Option<u32>,
    /// Address and port of each endpoint.
    pub endpoints: Vec<(IpAddr, u16)>,
    pub reasons: Vec<Reason>,
}

/// Key of a service's port in the pool of service ports.
fn port_key(uid: &str, port: &ServicePort) -> Text {
    format!("{uid} {} {}", port.transport, port.number).into()
}

/// The service in such a key.
fn uid_in(key: &str) -> Option<&str> {
    key.rsplitn(3, ' ').nth(2)
}

impl Service {
    fn full_name(&self) -> Option<(Text, Text)> {
        Some((self.namespace.clone()?, self.name.clone()?))
    }

    /// How it is spoken of in a sentence.
    pub fn said(&self) -> String {
        match self.full_name() {
            Some((namespace, name)) => format!("service {} ({namespace}:{name})", self.uid),
            None => format!("service {}", self.uid),
        }
    }
}

impl Model {
    pub(super) fn put_service(&mut self, uid: &Text, row: Option<Service>, work: &mut Work) {
        let services = &mut self.services;
        let before = replace(&mut services.rows, uid, row);
        for (service, comes) in [(before.as_ref(), false), (services.rows.get(uid), true)] {
            let Some(service) = service else { continue };
            if let Some(name) = service.full_name() {
                put(&mut services.named, name, uid, comes);
            }
            service.pods.iter().for_each(|pod| put(&mut services.of_pods, pod.clone(), uid, comes));
            for address in &service.addresses {
                work.touched
                    .cluster_services
                    .extend(services.by_address.get(address).into_iter().flatten().cloned());
                put(&mut services.by_address, *address, uid, comes);
            }
        }
        if let Some(before) = &before {
            self.note_node_ports(before, false, work);
        }
        if let Some(after) = self.services.rows.get(uid).cloned() {
            self.note_node_ports(&after, true, work);
        }
        work.dirty_cluster_services.insert(uid.clone());
        self.mark_exposed(uid, before.as_ref(), work);
    }

    /// The range of some node changed: what is outside of all of them may be another.
    pub(super) fn mark_outside(&self, work: &mut Work) {
        let outside = self.services.seeking.iter().filter(|((vpn, address), _)| {
            self.claims.owner(&Claim::Address(vpn.clone(), *address)).is_none()
        });
        work.dirty_cluster_services.extend(outside.flat_map(|(_, uids)| uids.iter().cloned()));
    }

    pub(super) fn put_service_endpoints(
        &mut self,
        uid: &Text,
        row: Option<ServiceEndpoints>,
        work: &mut Work,
    ) {
        let services = &mut self.services;
        let before = replace(&mut services.endpoints, uid, row);
        if let Some((before, after)) = before.as_ref().zip(services.endpoints.get(uid))
            && let Some(moved) = after.addresses_moved(before)
        {
            let name = after.namespace.clone().zip(after.name.clone());
            let named = name.and_then(|name| services.named.get(&name)).into_iter().flatten();
            for service in named {
                work.moved_endpoints.entry(service.clone()).or_default().extend(&moved);
                work.dirty_exposed.insert(service.clone());
            }
            return;
        }
        for (row, comes) in [(before.as_ref(), false), (services.endpoints.get(uid), true)] {
            let Some(name) = row.and_then(|row| row.namespace.clone().zip(row.name.clone())) else {
                continue;
            };
            let named = services.named.get(&name).into_iter().flatten();
            work.dirty_cluster_services.extend(named.clone().cloned());
            work.dirty_exposed.extend(named.cloned());
            put(&mut services.endpoints_named, name, uid, comes);
        }
    }

    /// Marks the services that may have endpoints where an interface was or is.
    pub(super) fn mark_services(&self, before: Option<&Interface>, after: &Interface, work: &mut Work) {
        for interface in before.into_iter().chain([after]) {
            for address in &interface.addresses {
                self.mark_address(address.ip, work);
            }
            if let Some(vpn) = interface.identity.as_ref().and_then(|identity| identity.vpn.as_ref()) {
                let places = interface.addresses.iter().map(|address| (vpn.clone(), address.ip));
                let seeking = places.filter_map(|place| self.services.seeking.get(&place));
                work.dirty_cluster_services.extend(seeking.flatten().cloned());
            }
            let named = self.services.of_pods.get(&interface.id.pod);
            work.dirty_cluster_services.extend(named.into_iter().flatten().cloned());
        }
    }

    /// Others of these may be reached by an address now.
    pub(super) fn mark_reached(&self, address: IpAddr, ids: &[InterfaceId], work: &mut Work) {
        for id in ids {
            let identity = self.interfaces.get(id).and_then(|entry| entry.interface.identity.as_ref());
            if let Some(vpn) = identity.and_then(|identity| identity.vpn.clone()) {
                let seeking = self.services.seeking.get(&(vpn, address));
                work.dirty_cluster_services.extend(seeking.into_iter().flatten().cloned());
            }
            work.dirty_cluster_services
                .extend(self.services.of_pods.get(&id.pod).into_iter().flatten().cloned());
            self.mark_doors_of(id, work);
        }
    }

    /// Whoever serves at an address does so otherwise now.
    fn mark_address(&self, address: IpAddr, work: &mut Work) {
        for (_, serving) in self.services.serving.get(&address).into_iter().flatten() {
            work.dirty_cluster_services.extend(serving.iter().map(|(uid, ..)| uid.clone()));
            work.touched.endpoints.insert(address);
        }
    }

    /// A number of a service's port that could not be given earlier.
    pub(super) fn late_service(&mut self, key: &Text, number: u32, work: &mut Work) {
        self.services.numbers.insert(key.clone(), number);
        work.touched.cluster_services.extend(uid_in(key).map(Text::from));
    }

    /// The same of its address.
    pub(super) fn late_service_address(&mut self, uid: &Text, number: u32, work: &mut Work) {
        self.services.pooled.insert(uid.clone(), number);
        work.touched.cluster_services.insert(uid.clone());
    }

    /// Whether some service has a port of this key.
    pub(super) fn needs_service_number(&self, key: &Text) -> bool {
        let settled = uid_in(key).and_then(|uid| self.services.settled.get(uid));
        settled.is_some_and(|settled| settled.keys.contains(key))
    }

    /// Host ports are settled as services are.
    fn settled_doors(&self, name: &str) -> Settled {
        let (serves, keys) = self.served_by_doors(name);
        Settled { serves, keys, ..Settled::default() }
    }

    /// The number of a port, by its key.
    pub fn service_number(&self, key: &str) -> Option<u32> {
        self.services.numbers.get(key).copied()
    }

    pub fn service(&self, uid: &str) -> Option<&Service> {
        self.services.rows.get(uid)
    }

    /// Uids of all services.
    pub fn services(&self) -> impl Iterator<Item = &Text> {
        self.services.rows.keys()
    }

    /// Whether a service has this address inside.
    pub(super) fn is_cluster_address(&self, address: IpAddr) -> bool {
        self.services.by_address.contains_key(&address)
    }

    /// Addresses at which pods reach a service: those that no other one has.
    pub fn service_addresses<'a>(&'a self, service: &'a Service) -> impl Iterator<Item = IpAddr> + 'a {
        let first = |address: &IpAddr| self.services.by_address.get(address)?.first();
        let own = service.addresses.iter().copied();
        let own = own.filter(move |address| !service.headless && first(address) == Some(&service.uid));
        own.chain(self.pooled(&service.uid))
    }

    /// The ports of a service, with the endpoints of each.
    pub fn served_ports<'a>(&'a self, service: &'a Service) -> impl Iterator<Item = ServedPort<'a>> {
        let found = self.services.settled.get(&service.uid).into_iter().flat_map(|settled| &settled.ports);
        service.ports.iter().zip(found).map(|(port, found)| {
            let mut reasons = found.reasons.clone();
            let mut endpoints = Vec::with_capacity(found.endpoints.len());
            for (address, number, id) in &found.endpoints {
                if self.server_at(*address) == Some(id) {
                    endpoints.push((*address, *number));
                } else {
                    reasons.push(Reason::EndpointHidden { address: *address });
                }
            }
            for (ipv6, most) in [(false, MOST_V4), (true, MOST_V6)] {
                let mut count = 0;
                endpoints.retain(|(address, _): &(IpAddr, u16)| {
                    count += usize::from(address.is_ipv6() == ipv6);
                    address.is_ipv6() != ipv6 || count <= most
                });
                if count > most {
                    let (transport, port) = (port.transport, port.number);
                    reasons.push(Reason::TooManyEndpoints { transport, port, count, most });
                }
            }
            self.lost_reasons(port, &endpoints, &mut reasons);
            let number = self.services.numbers.get(&port_key(&service.uid, port)).copied();
            ServedPort { port, number, endpoints, reasons }
        })
    }

    /// Who serves at an address.
    pub fn server_at(&self, address: IpAddr) -> Option<&InterfaceId> {
        self.services.serving.get(&address)?.keys().next()
    }

    /// The same, and what.
    pub fn serving_at(&self, address: IpAddr) -> Option<(&InterfaceId, BTreeSet<(Transport, u16)>)> {
        let (id, serving) = self.services.serving.get(&address)?.first_key_value()?;
        Some((id, serving.iter().map(|(_, transport, port)| (*transport, *port)).collect()))
    }

    /// Services that name a pod.
    pub(super) fn services_naming(&self, pod: &Text) -> impl Iterator<Item = &Text> {
        self.services.of_pods.get(pod).into_iter().flatten()
    }

    /// Endpoints of this name.
    pub(super) fn endpoints_called(
        &self,
        namespace: &Text,
        name: &Text,
    ) -> impl Iterator<Item = &ServiceEndpoints> {
        let uids = self.services.endpoints_named.get(&(namespace.clone(), name.clone()));
        uids.into_iter().flatten().filter_map(|uid| self.services.endpoints.get(uid))
    }

    /// Uids of all endpoints, as they are written.
    pub fn told_endpoints(&self) -> impl Iterator<Item = &Text> {
        self.services.endpoints.keys()
    }

    /// The services that endpoints belong to: those of their name.
    pub fn services_with(&self, endpoints: &str) -> impl Iterator<Item = &Text> {
        let row = self.services.endpoints.get(endpoints);
        let name = row.and_then(|row| row.namespace.clone().zip(row.name.clone()));
        name.and_then(|name| self.services.named.get(&name)).into_iter().flatten()
    }

    /// The addresses at which something is served for a service.
    pub fn addresses_serving(&self, uid: &str) -> impl Iterator<Item = IpAddr> {
        let serves = self.services.settled.get(uid).into_iter().flat_map(|settled| &settled.serves);
        serves.map(|(address, ..)| *address)
    }

    /// All addresses that something is served at.
    pub fn endpoints(&self) -> impl Iterator<Item = IpAddr> {
        self.services.serving.keys().copied()
    }
}

fn put<K: Ord>(map: &mut BTreeMap<K, BTreeSet<Text>>, key: K, uid: &Text, comes: bool) {
    if comes {
        map.entry(key).or_default().insert(uid.clone());
    } else {
        remove_from(map, &key, uid);
    }
}
