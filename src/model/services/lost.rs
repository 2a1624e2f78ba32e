//! Endpoints on switches that are lost: whoever asks anew elsewhere gets others, while there are some.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::super::apply::{Model, Work};
use super::super::status::Reason;
use super::ServicePort;
use crate::net::Dpid;

/// Address and port of an endpoint.
type Endpoint = (IpAddr, u16);

/// The endpoints of a port, of one IP version, as switches see them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EndpointsThere {
    /// For all switches but those of [`EndpointsThere::own`].
    pub common: Vec<Endpoint>,
    /// A switch that is lost has its own endpoints beside those of switches that are there: what it has does not change
    /// with its being lost, so it has nothing to give up when it is back.
    pub own: BTreeMap<Dpid, Vec<Endpoint>>,
}

impl Model {
    /// Which of the endpoints of a port are asked, and where. All of them, where all are lost: it may be the way to the switches that
    /// is lost alone, and refusing would help nobody.
    pub fn endpoints_there(&self, endpoints: &[Endpoint]) -> EndpointsThere {
        if !self.has_lost() {
            return EndpointsThere { common: endpoints.to_vec(), own: BTreeMap::new() };
        }
        let lost_at = |(address, _): &Endpoint| self.serving_on(*address).filter(|dpid| self.is_lost(*dpid));
        let by_switch = self.lost_endpoints(endpoints.iter().map(|(address, _)| *address));
        let mut common: Vec<Endpoint> =
            endpoints.iter().copied().filter(|endpoint| lost_at(endpoint).is_none()).collect();
        let own = by_switch.into_keys().map(|dpid| {
            let is_there = |endpoint: &Endpoint| lost_at(endpoint).is_none_or(|at| at == dpid);
            (dpid, endpoints.iter().copied().filter(is_there).collect())
        });
        let own = own.collect();
        if common.is_empty() {
            common = endpoints.to_vec();
        }
        EndpointsThere { common, own }
    }

    /// What is to be said of the endpoints of a port that are lost.
    pub(super) fn lost_reasons(&self, port: &ServicePort, endpoints: &[Endpoint], reasons: &mut Vec<Reason>) {
        for is_v6 in [false, true] {
            let all = || endpoints.iter().map(|(address, _)| *address).filter(|ip| ip.is_ipv6() == is_v6);
            let lost = self.lost_endpoints(all());
            let (transport, number) = (port.transport, port.number);
            if !lost.is_empty() && lost.values().sum::<usize>() == all().count() {
                reasons.push(Reason::AllEndpointsLost { transport, port: number });
                continue;
            }
            reasons.extend(lost.into_iter().map(|(dpid, count)| Reason::EndpointsLost {
                transport,
                port: number,
                count,
                dpid,
            }));
        }
    }

    /// How many of these are on each switch that is lost.
    fn lost_endpoints(&self, addresses: impl Iterator<Item = IpAddr>) -> BTreeMap<Dpid, usize> {
        let mut found = BTreeMap::new();
        if !self.has_lost() {
            return found;
        }
        let switches = addresses.filter_map(|address| self.serving_on(address));
        for dpid in switches.filter(|dpid| self.is_lost(*dpid)) {
            *found.entry(dpid).or_default() += 1;
        }
        found
    }

    /// The services with endpoints on a switch look different.
    pub(in super::super) fn mark_endpoints_on(&self, dpid: Dpid, work: &mut Work) {
        for id in self.interfaces_on.get(&dpid).into_iter().flatten() {
            let addresses = self.interface(id).into_iter().flat_map(|interface| &interface.addresses);
            let serving = addresses.filter_map(|address| self.services.serving.get(&address.ip)?.get(id));
            work.touched.cluster_services.extend(serving.flatten().map(|(uid, ..)| uid.clone()));
        }
    }
}
