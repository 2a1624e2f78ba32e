//! Services with addresses outside: each of their pods gets one, while there are some.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::super::apply::{Model, Work, remove_from, replace};
use super::super::claims::Claim;
use super::super::interface::{Interface, InterfaceId};
use super::super::services::Service;
use super::{External, FloatingRouter, Mapping};
use crate::schema::Text;

impl Model {
    /// What the pods of a service have outside, as `floating-ip-info` shows it.
    pub fn floating_of_service(&self, uid: &str) -> Option<&FloatingRouter> {
        self.external.of_services.get(uid)
    }

    /// Services with addresses outside.
    pub(super) fn exposed(&self) -> impl Iterator<Item = &Service> {
        self.external.exposed_in.values().flatten().filter_map(|uid| self.service(uid))
    }

    /// A service is another than it was.
    pub(in super::super) fn mark_exposed(&mut self, uid: &Text, before: Option<&Service>, work: &mut Work) {
        let before = before.filter(|service| !service.outside.is_empty()).cloned();
        for (service, comes) in [(before, false), (self.seen_outside(uid).cloned(), true)] {
            let Some(service) = service else { continue };
            work.dirty_exposed.insert(uid.clone());
            for address in &service.outside {
                self.mark_balanced(*address, work);
                if comes {
                    self.external.exposed_at.entry(*address).or_default().insert(uid.clone());
                } else {
                    remove_from(&mut self.external.exposed_at, address, uid);
                }
                self.mark_balanced(*address, work);
            }
            let namespace = service.namespace.unwrap_or_default();
            if comes {
                self.external.exposed_in.entry(namespace).or_default().insert(uid.clone());
            } else {
                remove_from(&mut self.external.exposed_in, &namespace, uid);
            }
        }
    }

    /// Works out which pod has which address of the services that may look different.
    pub(super) fn settle_exposed(&mut self, work: &mut Work) {
        let mut dirty = std::mem::take(&mut work.dirty_exposed);
        if !self.external.exposed_in.is_empty() {
            for id in &work.touched.interfaces {
                dirty.extend(self.external.services_of.get(id).into_iter().flatten().cloned());
                let identity = self.interface(id).and_then(|interface| interface.identity.as_ref());
                let namespace = identity.and_then(|identity| identity.vpn.as_ref());
                let services = namespace.and_then(|name| self.external.exposed_in.get(name));
                dirty.extend(services.into_iter().flatten().cloned());
                dirty.extend(self.services_naming(&id.pod).cloned());
            }
        }
        for uid in dirty {
            let outside = self.seen_outside(&uid).map(|service| service.outside.clone());
            work.dirty_floating.extend(outside.into_iter().flatten());
            let endpoints = self.interfaces_behind(&uid);
            let after = self.pair(&uid, &endpoints);
            let before = replace(&mut self.external.of_services, &uid, after.clone());
            self.follow_endpoints(&uid, endpoints);
            if before != after {
                let changed = self.external.exchange(&uid, true, before.as_ref(), after.as_ref());
                work.dirty_floating.extend(changed);
                work.touched.services.insert(uid);
            }
        }
    }

    /// Remembers whose changes bear on a service.
    fn follow_endpoints(&mut self, uid: &Text, after: BTreeSet<InterfaceId>) {
        let External { behind, services_of, .. } = &mut self.external;
        let before = behind.remove(uid).unwrap_or_default();
        for id in before.difference(&after) {
            remove_from(services_of, id, uid);
        }
        for id in after.difference(&before) {
            services_of.entry(id.clone()).or_default().insert(uid.clone());
        }
        if !after.is_empty() {
            behind.insert(uid.clone(), after);
        }
    }

    fn seen_outside(&self, uid: &str) -> Option<&Service> {
        self.service(uid).filter(|service| !service.outside.is_empty())
    }

    /// Interfaces behind a service that is seen outside: those of the pods that it names, and those that have the addresses of its
    /// endpoints.
    fn interfaces_behind(&self, uid: &str) -> BTreeSet<InterfaceId> {
        let Some(row) = self.seen_outside(uid) else { return BTreeSet::new() };
        let primary = |uid: &Text| {
            let pod = self.pods.get(uid)?;
            Some(InterfaceId { pod: pod.uid.clone(), uid: pod.primary()?.uid.clone() })
        };
        let mut found: BTreeSet<InterfaceId> = row.pods.iter().filter_map(primary).collect();
        if let (Some(name), Some(namespace)) = (&row.name, &row.namespace) {
            let addresses = self.endpoints_called(namespace, name).flat_map(|row| &row.addresses);
            let owners = addresses
                .filter_map(|address| self.claims.owner(&Claim::Address(namespace.clone(), *address)));
            found.extend(owners.cloned());
        }
        found
    }

    /// The first pod gets the first address that may be given out, the second the second. `None`: there is nothing to pair.
    fn pair(&self, uid: &Text, endpoints: &BTreeSet<InterfaceId>) -> Option<FloatingRouter> {
        let row = self.seen_outside(uid)?;
        let granted = row.outside.iter().filter_map(|address| Some((*address, self.granting(*address)?)));
        let granted: Vec<(IpAddr, &Text)> = granted.collect();
        let (_, network) = *granted.first()?;
        // An entry of floating-ip-info is of one network.
        let network = self.network_behind(network);
        let addresses = || {
            let same = granted.iter().filter(|(_, other)| self.network_behind(other) == network);
            same.map(|(address, _)| *address)
        };
        let mut interfaces: Vec<_> = endpoints.iter().filter_map(|id| self.interface(id)).collect();
        // Who is on a lost switch comes last.
        let is_lost = |interface: &&Interface| {
            interface.plugged().is_some_and(|(_, _, attachment)| self.is_lost(attachment.dpid))
        };
        interfaces.sort_by_key(is_lost);
        let mut mappings = Vec::new();
        for is_v6 in [false, true] {
            let inside = interfaces.iter().filter_map(|interface| {
                let own = interface.addresses.iter().map(|address| address.ip);
                let internal = own.into_iter().find(|address| address.is_ipv6() == is_v6)?;
                Some((interface.identity.as_ref()?.name.clone(), internal))
            });
            let outside = addresses().filter(|address| address.is_ipv6() == is_v6);
            mappings.extend(inside.zip(outside).map(|((port, internal), external)| Mapping {
                external,
                port,
                internal,
                id: None,
            }));
        }
        (!mappings.is_empty()).then(|| FloatingRouter {
            network: Some(network.clone()),
            mappings,
            faults: Vec::new(),
        })
    }
}
