//! Services with addresses outside: each of their pods gets one, while there are some.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use super::super::apply::{Model, Work, remove_from, replace};
use super::super::claims::Claim;
use super::super::interface::{Interface, InterfaceId};
use super::{Exposed, External, FloatingRouter, Mapping};
use crate::schema::Text;

impl Model {
    /// What the pods of a service have outside, as `floating-ip-info` shows it.
    pub fn floating_of_service(&self, uid: &str) -> Option<&FloatingRouter> {
        self.external.of_services.get(uid)
    }

    pub(in super::super) fn put_exposed(&mut self, uid: &Text, row: Option<Exposed>, work: &mut Work) {
        let before = replace(&mut self.external.exposed, uid, row);
        let External { exposed, exposed_in, exposed_by_pod, .. } = &mut self.external;
        if let Some(row) = before {
            if let Some(namespace) = &row.namespace {
                remove_from(exposed_in, namespace, uid);
            }
            for pod in &row.pods {
                remove_from(exposed_by_pod, pod, uid);
            }
        }
        if let Some(row) = exposed.get(uid) {
            if let Some(namespace) = &row.namespace {
                exposed_in.entry(namespace.clone()).or_default().insert(uid.clone());
            }
            for pod in &row.pods {
                exposed_by_pod.entry(pod.clone()).or_default().insert(uid.clone());
            }
        }
        work.dirty_exposed.insert(uid.clone());
    }

    /// Endpoints of services of a namespace are others.
    pub(in super::super) fn mark_exposed(&self, namespace: &Text, work: &mut Work) {
        let services = self.external.exposed_in.get(namespace);
        work.dirty_exposed.extend(services.into_iter().flatten().cloned());
    }

    /// Works out which pod has which address of the services that may look different.
    pub(super) fn settle_exposed(&mut self, work: &mut Work) {
        let mut dirty = std::mem::take(&mut work.dirty_exposed);
        if !self.external.exposed.is_empty() {
            for id in &work.touched.interfaces {
                dirty.extend(self.external.services_of.get(id).into_iter().flatten().cloned());
                let identity = self.interface(id).and_then(|interface| interface.identity.as_ref());
                let namespace = identity.and_then(|identity| identity.vpn.as_ref());
                let services = namespace.and_then(|name| self.external.exposed_in.get(name));
                dirty.extend(services.into_iter().flatten().cloned());
                dirty.extend(self.external.exposed_by_pod.get(&id.pod).into_iter().flatten().cloned());
            }
        }
        for uid in dirty {
            let endpoints = self.endpoints_of(&uid);
            let after = self.pair(&uid, &endpoints);
            let before = replace(&mut self.external.of_services, &uid, after.clone());
            self.follow_endpoints(&uid, &endpoints);
            if before != after {
                let changed = self.external.exchange(&uid, true, before.as_ref(), after.as_ref());
                work.dirty_floating.extend(changed);
                work.touched.services.insert(uid);
            }
        }
    }

    /// Remembers whose changes bear on a service.
    fn follow_endpoints(&mut self, uid: &Text, endpoints: &BTreeSet<InterfaceId>) {
        self.external.services_of.retain(|id, services| {
            if !endpoints.contains(id) {
                services.remove(uid);
            }
            !services.is_empty()
        });
        for id in endpoints {
            self.external.services_of.entry(id.clone()).or_default().insert(uid.clone());
        }
    }

    /// Interfaces behind a service: those of the pods that it names, and those that have the addresses of its endpoints.
    fn endpoints_of(&self, uid: &Text) -> BTreeSet<InterfaceId> {
        let Some(row) = self.external.exposed.get(uid) else { return BTreeSet::new() };
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
        let row = self.external.exposed.get(uid)?;
        let granted = row.addresses.iter().filter_map(|address| Some((*address, self.granting(*address)?)));
        let granted: Vec<(Ipv4Addr, &Text)> = granted.collect();
        let (_, network) = *granted.first()?;
        // An entry of floating-ip-info is of one network.
        let mut addresses =
            granted.iter().filter(|(_, other)| *other == network).map(|(address, _)| *address);
        let mut mappings = Vec::new();
        for interface in endpoints.iter().filter_map(|id| self.interface(id)) {
            let Some(internal) = first_v4(interface) else { continue };
            let Some(identity) = &interface.identity else { continue };
            let Some(external) = addresses.next() else { break };
            mappings.push(Mapping { external, port: identity.name.clone(), internal });
        }
        (!mappings.is_empty()).then(|| FloatingRouter {
            network: Some(network.clone()),
            mappings,
            faults: Vec::new(),
        })
    }
}

fn first_v4(interface: &Interface) -> Option<Ipv4Addr> {
    interface.addresses.iter().find_map(|address| match address.ip {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    })
}
