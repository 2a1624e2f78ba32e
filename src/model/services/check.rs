//! What is wrong with a service: found before it is committed, said so that it can be mended.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::super::apply::Model;
use super::super::rows::Row;
use super::{SERVICE_ANSWERS, SERVICE_REQUESTS, Service};
use crate::net::Vni;
use crate::schema::Text;

/// A service or endpoints that cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceFault {
    /// Whether it is about endpoints, not a service.
    pub of_endpoints: bool,
    pub uid: Text,
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
        let mut claimed: BTreeMap<IpAddr, &Service> = BTreeMap::new();
        for row in rows {
            match row {
                Row::Service(uid, Some(service)) => {
                    let known = self.services.rows.get(uid).filter(|known| *known == service);
                    if known.is_some() {
                        continue;
                    }
                    if let Some(fault) = service.faults.first() {
                        return Err(fault_of(false, uid, false, format!("{}: {fault}", service.said())));
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
                            return Err(fault_of(false, uid, true, message));
                        }
                        claimed.insert(*address, service);
                    }
                }
                Row::Endpoints(uid, Some(endpoints)) => {
                    let known = self.services.endpoints.get(uid).is_some_and(|known| known == endpoints);
                    if let Some(fault) = endpoints.faults.first().filter(|_| !known) {
                        return Err(fault_of(true, uid, false, format!("endpoints {uid}: {fault}")));
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

fn fault_of(of_endpoints: bool, uid: &Text, in_use: bool, message: String) -> ServiceFault {
    ServiceFault { of_endpoints, uid: uid.clone(), in_use, message }
}
