//! Services with ports that are reached at addresses outside: all their endpoints answer there, and one switch for all of them.
//!
//! An address is on the switch of the pod that has it besides; where there is none, or that switch is lost, on one that has an
//! endpoint, else on any that leads to the network. Of several, each address chooses by itself, and keeps its choice while
//! that switch is there.

use std::net::IpAddr;

use super::super::apply::{Model, Work, replace};
use super::super::services::Service;
use super::{FloatingReason, Outlet};
use crate::net::Dpid;
use crate::schema::Text;

impl Model {
    /// The service with ports that is reached at an address of an external network. What is written by hand comes first, then
    /// services by uid.
    pub fn balanced_at(&self, address: IpAddr) -> Option<&Service> {
        let uids = self.external.exposed_at.get(&address)?;
        let wish = self.external.wishes.get(&address).and_then(|wishes| wishes.first());
        if wish.is_some_and(|wish| !wish.of_service) || self.is_cluster_address(address) {
            return None;
        }
        self.granting(address)?;
        let service = uids.iter().find_map(|uid| self.service(uid))?;
        (!service.headless && !service.ports.is_empty()).then_some(service)
    }

    /// Addresses of external networks at which a service is reached.
    pub fn outside_addresses<'a>(&'a self, service: &'a Service) -> impl Iterator<Item = IpAddr> + 'a {
        let is_own = |address: &IpAddr| self.balanced_at(*address).is_some_and(|own| own.uid == service.uid);
        service.outside.iter().copied().filter(is_own)
    }

    /// Addresses at which a service asks to be reached and is not, since no external network grants them.
    pub fn ungranted<'a>(&'a self, service: &'a Service) -> impl Iterator<Item = IpAddr> + 'a {
        service.outside.iter().copied().filter(|address| self.granting(*address).is_none())
    }

    /// Whether a switch has been away for so long that others take over its addresses.
    pub fn is_lost(&self, dpid: Dpid) -> bool {
        self.external.lost.contains(&dpid)
    }

    /// Whether any switch has been away for so long.
    pub fn has_lost(&self) -> bool {
        !self.external.lost.is_empty()
    }

    pub(in super::super) fn put_lost(&mut self, dpid: Dpid, lost: bool, work: &mut Work) {
        let changed = if lost { self.external.lost.insert(dpid) } else { self.external.lost.remove(&dpid) };
        if changed {
            work.dirty_exposed.extend(self.exposed().map(|service| service.uid.clone()));
            self.mark_all_napt(work);
            self.mark_endpoints_on(dpid, work);
            let held = self.external.held.iter().filter(|(_, holder)| **holder == dpid);
            held.for_each(|(address, _)| self.mark_balanced(*address, work));
        }
    }

    pub(in super::super) fn put_held(&mut self, address: IpAddr, holder: Option<Dpid>, work: &mut Work) {
        let before = replace(&mut self.external.held, &address, holder);
        if before != holder {
            self.mark_balanced(address, work);
        }
    }

    /// The other switch that may still answer for an address which is to be on this one.
    pub(super) fn holder(&self, address: IpAddr, dpid: Dpid) -> Option<Dpid> {
        let holder = *self.external.held.get(&address)?;
        (holder != dpid && !self.is_lost(holder)).then_some(holder)
    }

    /// The switch that answers for an address of a service.
    pub(super) fn balanced_outlet(
        &self,
        address: IpAddr,
        service: &Service,
    ) -> Result<Outlet, FloatingReason> {
        let network = self.granting(address).ok_or(FloatingReason::Ungranted)?;
        let of_pod = self.floating_wished(address).and_then(Result::ok).map(|floating| floating.outlet);
        if let Some(outlet) = of_pod.as_ref().filter(|outlet| !self.is_lost(outlet.dpid)) {
            return Ok(outlet.clone());
        }
        let behind = self.external.behind.get(&service.uid).into_iter().flatten();
        let behind = behind.filter_map(|id| Some(self.interface(id)?.plugged()?.2.dpid));
        let all = self.switches.keys().copied().filter(|_| !service.external_local);
        let chosen = self.first_choice(address, network, behind);
        let chosen = chosen.or_else(|| self.first_choice(address, network, all));
        chosen.or(of_pod).ok_or_else(|| FloatingReason::NobodyThere(network.clone()))
    }

    fn first_choice(
        &self,
        address: IpAddr,
        network: &Text,
        among: impl Iterator<Item = Dpid>,
    ) -> Option<Outlet> {
        let there = among.filter(|dpid| !self.is_lost(*dpid));
        let outlets = there.filter_map(|dpid| self.outlet(address, network, dpid).ok());
        outlets.max_by_key(|outlet| weight(address, outlet.dpid))
    }

    /// What changes with a service, or with who else may have its addresses.
    pub(super) fn mark_balanced(&self, address: IpAddr, work: &mut Work) {
        let uids = self.external.exposed_at.get(&address).into_iter().flatten();
        work.touched.cluster_services.extend(uids.cloned());
        work.dirty_floating.insert(address);
    }
}

/// The highest wins (rendezvous hashing).
pub(super) fn weight(address: IpAddr, dpid: Dpid) -> u64 {
    match address {
        IpAddr::V4(address) => dpid.weight(&address.octets()),
        IpAddr::V6(address) => dpid.weight(&address.octets()),
    }
}
