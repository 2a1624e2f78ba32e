//! What is wrong with a service: found before it is committed, said so that it can be mended.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::super::apply::Model;
use super::super::rows::Row;
use super::{NodePort, SERVICE_ANSWERS, SERVICE_REQUESTS, Service, ServicePort};
use crate::net::Vni;
use crate::schema::Text;

/// What a fault is about, by uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceSubject {
    Service(Text),
    Endpoints(Text),
    Pool,
}

/// A service or endpoints that cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceFault {
    pub subject: ServiceSubject,
    /// The value is somebody else's, not wrong in itself.
    pub in_use: bool,
    /// Names object, reason and what to do.
    pub message: String,
}

impl Model {
    /// Looks at the services and endpoints that are not as they were before.
    ///
    /// # Errors
    /// The first fault.
    pub fn check_services(&self, rows: &[Row]) -> Result<(), ServiceFault> {
        let changed: BTreeMap<&Text, Option<&Service>> = rows
            .iter()
            .filter_map(|row| match row {
                Row::Service(uid, row) => Some((uid, row.as_ref())),
                _ => None,
            })
            .collect();
        let is_known = |service: &Service| self.services.rows.get(&service.uid) == Some(service);
        // Who has an address already and is merely written again keeps it.
        let known = changed.values().copied().flatten().filter(|service| is_known(service));
        let mut claimed: BTreeMap<IpAddr, &Service> = known
            .flat_map(|service| service.addresses.iter().map(move |address| (*address, service)))
            .collect();
        let known = changed.values().copied().flatten().filter(|service| is_known(service));
        let ports =
            |service: &'_ Service| service.ports.iter().filter_map(ServicePort::at_nodes).collect::<Vec<_>>();
        let mut nodes: BTreeMap<NodePort, &Service> =
            known.flat_map(|service| ports(service).into_iter().map(move |place| (place, service))).collect();
        for row in rows {
            match row {
                Row::Service(uid, Some(service)) => {
                    if is_known(service) {
                        continue;
                    }
                    if let Some(fault) = service.faults.first() {
                        return Err(fault_of(of(uid), false, format!("{}: {fault}", service.said())));
                    }
                    for place in ports(service) {
                        if let Some(other) = self.node_port_beside(place, service, &changed, &nodes) {
                            let (transport, number) = place;
                            let message = format!(
                                "{}: {transport} node-port {number} is that of {}; choose another one, or change or delete the other first",
                                service.said(),
                                other.said()
                            );
                            return Err(fault_of(of(uid), true, message));
                        }
                        if let Some(pod) = self.pod_asking(place, rows) {
                            let (transport, number) = place;
                            let message = format!(
                                "{}: {transport} node-port {number} is a host port of {pod}; choose another one, or change or delete the other first",
                                service.said()
                            );
                            return Err(fault_of(of(uid), true, message));
                        }
                        nodes.insert(place, service);
                    }
                    for address in &service.addresses {
                        let held = self.services.by_address.get(address).into_iter().flatten();
                        let mut others = held.filter(|other| *other != uid && !changed.contains_key(other));
                        let other = others.next().and_then(|other| self.services.rows.get(other));
                        let other = other.or_else(|| claimed.get(address).copied());
                        if let Some(other) = other {
                            let message = format!(
                                "{}: cluster-ip-address {address} is that of {}; give this service another one, or change or delete the other first",
                                service.said(),
                                other.said()
                            );
                            return Err(fault_of(of(uid), true, message));
                        }
                        if self.services.pool.is_some_and(|pool| pool.contains(*address)) {
                            let owner = self.pooled_owner(*address).filter(|owner| owner.uid != *uid);
                            let whose = owner.map_or("nobody yet".to_owned(), Service::said);
                            let message = format!(
                                "{}: cluster-ip-address {address} is one of the service-pool, which gives it to {whose}; choose one outside of the pool, or none",
                                service.said()
                            );
                            return Err(fault_of(of(uid), true, message));
                        }
                        claimed.insert(*address, service);
                    }
                }
                Row::ServiceEndpoints(uid, Some(endpoints)) => {
                    let known = self.services.endpoints.get(uid).is_some_and(|known| known == endpoints);
                    if let Some(fault) = endpoints.faults.first().filter(|_| !known) {
                        return Err(fault_of(
                            ServiceSubject::Endpoints(uid.clone()),
                            false,
                            format!("endpoints {uid}: {fault}"),
                        ));
                    }
                }
                Row::ServicePool(Some(pool)) if self.services.pool.as_ref() != Some(pool) => {
                    let mut held =
                        self.services.by_address.iter().filter(|(address, _)| pool.contains(**address));
                    let holder = held
                        .find_map(|(address, uids)| Some((address, self.services.rows.get(uids.first()?)?)));
                    if let Some((address, holder)) = holder {
                        let message = format!(
                            "the service-pool holds {address}, the cluster-ip-address of {}; choose another prefix, or change that service first",
                            holder.said()
                        );
                        return Err(fault_of(ServiceSubject::Pool, true, message));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a VNI is one of those that carry services.
pub fn is_of_services(vni: Vni) -> bool {
    [SERVICE_REQUESTS, SERVICE_ANSWERS].contains(&vni)
}

fn of(uid: &Text) -> ServiceSubject {
    ServiceSubject::Service(uid.clone())
}

fn fault_of(subject: ServiceSubject, in_use: bool, message: String) -> ServiceFault {
    ServiceFault { subject, in_use, message }
}
