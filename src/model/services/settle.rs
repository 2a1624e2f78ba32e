//! What follows from services: their endpoints, and what is served where.
//!
//! A service whose endpoints' addresses alone changed is not worked out anew: what each address has a part in is taken out or put in, so
//! that one more of a thousand costs what one more of ten does. Wherever there is anything to be said of it, it is worked out anew.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::super::apply::{Model, Work};
use super::super::claims::Claim;
use super::super::ids::{Allocator, Pool};
use super::super::interface::{Interface, InterfaceId};
use super::super::status::Reason;
use super::{Found, Place, Serves, Service, ServiceEndpoints, Settled, port_key, put};
use crate::schema::Text;

/// What came or went: true, if it came.
#[derive(Debug, Default)]
struct Moved {
    places: Vec<(Place, bool)>,
    serves: Vec<(Serves, bool)>,
}

/// Who served first at the addresses where that may be another now.
type First = BTreeMap<IpAddr, Option<InterfaceId>>;

impl Moved {
    fn between(before: &Settled, after: &Settled) -> Moved {
        let places = before.places.symmetric_difference(&after.places);
        let serves = before.serves.symmetric_difference(&after.serves);
        Moved {
            places: places.map(|place| (place.clone(), after.places.contains(place))).collect(),
            serves: serves.map(|served| (served.clone(), after.serves.contains(served))).collect(),
        }
    }
}

impl Model {
    /// Works out the endpoints of the marked services.
    pub(in super::super) fn settle_services(&mut self, allocator: &mut dyn Allocator, work: &mut Work) {
        let mut first = First::new();
        let mut anew = std::mem::take(&mut work.dirty_cluster_services);
        for (uid, addresses) in std::mem::take(&mut work.moved_endpoints) {
            if anew.contains(&uid) {
                continue;
            }
            match self.move_endpoints(&uid, &addresses) {
                Some(moved) => {
                    self.note_moved(&uid, moved, &mut first, work);
                    work.touched.cluster_services.insert(uid);
                }
                None => drop(anew.insert(uid)),
            }
        }
        for uid in anew {
            let row = self.services.rows.get(&uid).cloned();
            let after = match row {
                Some(service) => self.settled(&service),
                None => self.settled_doors(&uid),
            };
            let before = self.services.settled.remove(&uid).unwrap_or_default();
            self.note_moved(&uid, Moved::between(&before, &after), &mut first, work);
            for key in before.keys.difference(&after.keys) {
                self.services.numbers.remove(key);
                self.ids.leave(Pool::Services, key);
            }
            for key in &after.keys {
                if !self.services.numbers.contains_key(key)
                    && let Some(number) = self.ids.acquire(allocator, Pool::Services, key)
                {
                    self.services.numbers.insert(key.clone(), number);
                }
            }
            if !self.needs_service_address(&uid) {
                if self.services.pooled.remove(&uid).is_some() {
                    self.ids.leave(Pool::ServiceAddresses, &uid);
                }
            } else if !self.services.pooled.contains_key(&uid)
                && let Some(number) = self.ids.acquire(allocator, Pool::ServiceAddresses, &uid)
            {
                self.services.pooled.insert(uid.clone(), number);
            }
            if after != Settled::default() {
                self.services.settled.insert(uid.clone(), after);
            }
            work.touched.cluster_services.insert(uid);
        }
        for (address, first) in first {
            let by = self.services.serving.get(&address);
            if by.and_then(|by| by.keys().next()) != first.as_ref() {
                let serving = by.into_iter().flat_map(BTreeMap::values).flatten();
                work.touched.cluster_services.extend(serving.map(|(uid, ..)| uid.clone()));
            }
        }
    }

    /// Keeps the indices by place and address.
    fn note_moved(&mut self, uid: &Text, moved: Moved, first: &mut First, work: &mut Work) {
        let services = &mut self.services;
        for (place, comes) in moved.places {
            put(&mut services.seeking, place, uid, comes);
        }
        for ((address, id, transport, port), comes) in moved.serves {
            let by = services.serving.entry(address).or_default();
            first.entry(address).or_insert_with(|| by.keys().next().cloned());
            let serving = by.entry(id.clone()).or_default();
            let this = (uid.clone(), transport, port);
            if comes {
                serving.insert(this);
            } else {
                serving.remove(&this);
            }
            if serving.is_empty() {
                by.remove(&id);
            }
            if by.is_empty() {
                services.serving.remove(&address);
            }
            work.touched.endpoints.insert(address);
        }
    }

    /// Takes what these addresses have a part in out of a service, and puts in what they have now. `None`, and nothing is done: more than
    /// that may follow, or something is to be said of the service.
    fn move_endpoints(&mut self, uid: &Text, addresses: &BTreeSet<IpAddr>) -> Option<Moved> {
        let service = self.services.rows.get(uid)?;
        let settled = self.services.settled.get(uid)?;
        let endpoints = self.only_endpoints(service)?;
        let has_numbers = settled.keys.iter().all(|key| self.services.numbers.contains_key(key));
        let has_address = self.needs_service_address(uid) == self.services.pooled.contains_key(uid);
        let is_plain = service.pods.is_empty() && !service.headless;
        let is_silent = settled.ports.iter().all(|found| found.reasons.is_empty());
        if !(has_numbers && has_address && is_plain && is_silent) {
            return None;
        }
        let targets: Option<Vec<u16>> = service.ports.iter().map(|port| endpoints.port_for(port)).collect();
        let targets: Vec<_> = service.ports.iter().map(|port| port.transport).zip(targets?).collect();
        let vpn = endpoints.namespace.clone().unwrap_or_default();
        let now: BTreeSet<IpAddr> =
            endpoints.addresses.iter().filter(|address| addresses.contains(address)).copied().collect();
        let mut came = Vec::new();
        for address in &now {
            for (_, number) in &targets {
                let mut found = Found::default();
                self.seek(&vpn, *address, *number, &mut found);
                if !found.reasons.is_empty() {
                    return None;
                }
                came.push(found.endpoints);
            }
        }

        let settled = self.services.settled.get_mut(uid)?;
        let (mut before, mut after) = (Settled::default(), Settled::default());
        for address in addresses {
            let place = (vpn.clone(), *address);
            before.places.extend(settled.places.take(&place));
            for ((transport, _), found) in targets.iter().zip(&mut settled.ports) {
                let from = (*address, 0, InterfaceId { pod: Text::new(), uid: Text::new() });
                let own = found.endpoints.range(from..).take_while(|(at, ..)| at == address);
                let own: Vec<_> = own.cloned().collect();
                for endpoint in own {
                    found.endpoints.remove(&endpoint);
                    let (address, number, id) = endpoint;
                    before.serves.insert((address, id, *transport, number));
                }
            }
        }
        let mut came = came.into_iter();
        for address in now {
            after.places.insert((vpn.clone(), address));
            for ((transport, _), found) in targets.iter().zip(&mut settled.ports) {
                for endpoint in came.next().into_iter().flatten() {
                    let (address, number, id) = endpoint.clone();
                    after.serves.insert((address, id, *transport, number));
                    found.endpoints.insert(endpoint);
                }
            }
        }
        for served in &before.serves {
            settled.serves.remove(served);
        }
        settled.serves.extend(after.serves.iter().cloned());
        settled.places.extend(after.places.iter().cloned());
        Some(Moved::between(&before, &after))
    }

    /// The endpoints of a service, where one object alone tells them.
    fn only_endpoints(&self, service: &Service) -> Option<&ServiceEndpoints> {
        let (namespace, name) = service.full_name()?;
        let mut told = self.endpoints_called(&namespace, &name);
        told.next().filter(|_| told.next().is_none())
    }

    fn settled(&self, service: &Service) -> Settled {
        let mut settled = Settled::default();
        if service.headless {
            return settled;
        }
        let full_name = service.full_name();
        let told: Vec<&ServiceEndpoints> =
            full_name.iter().flat_map(|(namespace, name)| self.endpoints_called(namespace, name)).collect();
        for port in &service.ports {
            let mut found = Found::default();
            settled.keys.insert(port_key(&service.uid, port));
            for endpoints in &told {
                let number = endpoints.port_for(port);
                if number.is_none() {
                    found.reasons.push(Reason::NoTargetPort {
                        transport: port.transport,
                        port: port.number,
                        endpoints: endpoints.uid.clone(),
                    });
                }
                let vpn = endpoints.namespace.clone().unwrap_or_default();
                for address in &endpoints.addresses {
                    settled.places.insert((vpn.clone(), *address));
                    let Some(number) = number else { continue };
                    self.seek(&vpn, *address, number, &mut found);
                }
            }
            let number = port.number_of_target();
            for pod in &service.pods {
                let first = InterfaceId { pod: pod.clone(), uid: Text::new() };
                let mut interfaces = self.interfaces.range(first..).take_while(|(id, _)| id.pod == *pod);
                // A pod has one endpoint, at its primary interface; what is beside is for others.
                let primary = self.pods.get(pod).and_then(|row| row.primary()).map(|row| row.uid.clone());
                let entry = interfaces.find(|(id, _)| Some(&id.uid) == primary.as_ref());
                match (entry, number) {
                    (None, _) => found.reasons.push(Reason::NoSuchPod { pod: pod.clone() }),
                    (Some(_), None) => found
                        .reasons
                        .push(Reason::NamedTarget { transport: port.transport, port: port.number }),
                    (Some((id, entry)), Some(number)) => {
                        for address in &entry.interface.addresses {
                            self.candidate(id, address.ip, number, &mut found);
                        }
                    }
                }
            }
            found.reasons.dedup();
            settled.serves.extend(
                found
                    .endpoints
                    .iter()
                    .map(|(address, number, id)| (*address, id.clone(), port.transport, *number)),
            );
            settled.ports.push(found);
        }
        settled
    }

    /// Who is at an address that is told to be an endpoint's.
    fn seek(&self, vpn: &Text, address: IpAddr, number: u16, found: &mut Found) {
        match self.claims.owner(&Claim::Address(vpn.clone(), address)) {
            Some(id) => self.candidate(id, address, number, found),
            // What a node's range holds is a pod that is not there yet.
            None if self.prefixes.holder(address.into()).is_some() => {
                found.reasons.push(Reason::NoSuchEndpoint { address, vpn: vpn.clone() });
            }
            None => drop(found.endpoints.insert((address, number, InterfaceId::outside()))),
        }
    }

    /// An interface that is plugged in, and that its node reaches by this address, may be an endpoint.
    fn candidate(&self, id: &InterfaceId, address: IpAddr, port: u16, found: &mut Found) {
        let interface = self.interfaces.get(id).map(|entry| &entry.interface);
        let Some((_, _, attachment)) = interface.and_then(Interface::plugged) else {
            return found.reasons.push(Reason::EndpointWaits { address });
        };
        if self.is_on_node(attachment.dpid, address, id) {
            found.endpoints.insert((address, port, id.clone()));
        } else {
            found.reasons.push(Reason::EndpointHidden { address });
        }
    }
}
