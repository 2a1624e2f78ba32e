//! The client's side of a service: the same on all switches, but where only endpoints of the same switch count.

use std::net::IpAddr;

use super::super::Rendered;
use super::super::zones::CLIENTS;
use super::flows::{self, Asked};
use super::{parts, refusals_of};
use crate::model::{Model, Service};
use crate::net::{Dpid, Transport};
use crate::pipeline::{Owner, ServicePlace, owners, service_groups};

type Owned = Owner<owners::Service>;

/// Which endpoints count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Among {
    All,
    /// Those of the switch.
    Here,
}

/// A place where a service is asked, and who answers there.
struct Door {
    asked: Asked,
    among: Among,
}

/// What a service has on the switches of its clients.
pub(super) fn service(uid: &str, model: &Model, out: &mut Rendered) {
    let Some(service) = model.service(uid) else { return };
    let switches: Vec<Dpid> = model.switches().map(|(dpid, _)| dpid).collect();
    for served in model.served_ports(service) {
        let Some(number) = served.number else { continue };
        for is_v6 in [false, true] {
            let endpoints = served.endpoints.iter().copied().filter(|(ip, _)| ip.is_ipv6() == is_v6);
            let addresses = model.service_addresses(service).filter(|address| address.is_ipv6() == is_v6);
            let outside = model.outside_addresses(service).filter(|address| address.is_ipv6() == is_v6);
            let (addresses, outside): (Vec<_>, Vec<_>) = (addresses.collect(), outside.collect());
            // Node ports are of the versions that the service has addresses of.
            let is_asked = !addresses.is_empty() || !outside.is_empty();
            let port = Port {
                service,
                transport: served.port.transport,
                number: served.port.number,
                node_port: model.node_port_of(service, served.port).filter(|_| is_asked),
                groups: [service_groups::of_port(number, is_v6), service_groups::here(number, is_v6)],
                is_v6,
                addresses,
                outside,
                endpoints: endpoints.collect(),
                switches: &switches,
                owner: Owner::new(uid),
            };
            port.render(model, out);
        }
    }
}

/// A port of a service, for one IP version.
struct Port<'a> {
    service: &'a Service,
    transport: Transport,
    number: u16,
    node_port: Option<u16>,
    /// Of all endpoints, and of those of the switch.
    groups: [u32; 2],
    is_v6: bool,
    /// Inside, and outside.
    addresses: Vec<IpAddr>,
    outside: Vec<IpAddr>,
    endpoints: Vec<(IpAddr, u16)>,
    switches: &'a [Dpid],
    owner: Owned,
}

impl Port<'_> {
    fn render(&self, model: &Model, out: &mut Rendered) {
        let doors = self.doors();
        let switches = || self.switches.iter().copied();
        for address in self.addresses.iter().chain(&self.outside) {
            let destination = (*address, self.transport, self.number);
            out.shared_flow(switches(), flows::to_service(destination, &self.owner));
        }
        if let Some(port) = self.node_port {
            let flow = flows::node_port(self.is_v6, self.transport, port, &self.owner);
            out.shared_flow(switches(), flow);
        }
        let (all, here): (Vec<_>, Vec<_>) = doors.iter().partition(|door| door.among == Among::All);
        if !all.is_empty() {
            let there = model.endpoints_there(&self.endpoints);
            let others: Vec<Dpid> = switches().filter(|dpid| !there.own.contains_key(dpid)).collect();
            self.on(&others, &all, &there.common, Among::All, model, out);
            for (dpid, endpoints) in &there.own {
                self.on(&[*dpid], &all, endpoints, Among::All, model, out);
            }
        }
        if !here.is_empty() {
            for dpid in switches() {
                let own = |(ip, _): &(IpAddr, u16)| model.serving_on(*ip) == Some(dpid);
                let endpoints: Vec<_> = self.endpoints.iter().copied().filter(own).collect();
                self.on(&[dpid], &here, &endpoints, Among::Here, model, out);
            }
        }
    }

    /// Where it is asked, and who answers there.
    fn doors(&self) -> Vec<Door> {
        let policy = |local| if local { Among::Here } else { Among::All };
        let door = |place, outside, port, among| {
            let asked = Asked { place, outside, transport: self.transport, port };
            Door { asked, among }
        };
        let inside = policy(self.service.internal_local);
        let at = |address: &IpAddr| ServicePlace::Address(*address);
        let mut doors: Vec<Door> =
            self.addresses.iter().map(|address| door(at(address), None, self.number, inside)).collect();
        let mut both = |place, port| {
            if self.service.external_local {
                doors.push(door(place, Some(true), port, Among::Here));
                doors.push(door(place, Some(false), port, Among::All));
            } else {
                doors.push(door(place, None, port, Among::All));
            }
        };
        self.outside.iter().for_each(|address| both(at(address), self.number));
        if let Some(port) = self.node_port {
            both(ServicePlace::Node { is_v6: self.is_v6 }, port);
        }
        doors
    }

    /// These doors lead to these endpoints, or to none, on these switches.
    fn on(
        &self,
        switches: &[Dpid],
        doors: &[&Door],
        endpoints: &[(IpAddr, u16)],
        among: Among,
        model: &Model,
        out: &mut Rendered,
    ) {
        if endpoints.is_empty() {
            for (dpid, meter) in switches.iter().filter_map(|dpid| Some((*dpid, refusals_of(*dpid, model)?)))
            {
                for door in doors {
                    out.flow(dpid, flows::refuse(&door.asked, meter, &self.owner));
                }
            }
            return;
        }
        let all = || switches.iter().copied();
        let [of_all, of_here] = self.groups;
        let group = if among == Among::All { of_all } else { of_here };
        let buckets = match self.service.affinity {
            Some(seconds) => {
                self.sessions(switches, doors, endpoints, group, seconds, out);
                flows::choices(endpoints)
            }
            None => {
                for door in doors {
                    out.shared_flow(all(), flows::new_connection(&door.asked, group, &self.owner));
                }
                flows::translations(endpoints)
            }
        };
        let (parts, whole) = parts::groups(group, buckets);
        // Those who ask from outside are in the group of all endpoints, too.
        let destinations = doors.iter().filter(|door| door.asked.outside != Some(true));
        let destinations = destinations.map(|door| door.asked.destination());
        let whole = whole.balancing(CLIENTS, self.transport, destinations, endpoints.iter().copied());
        for draft in parts.into_iter().chain([whole]) {
            out.shared_group(all(), draft.owned_by(&self.owner));
        }
    }

    /// At these doors a client keeps its endpoint, as long as that is one of these.
    fn sessions(
        &self,
        switches: &[Dpid],
        doors: &[&Door],
        endpoints: &[(IpAddr, u16)],
        group: u32,
        seconds: u16,
        out: &mut Rendered,
    ) {
        let all = || switches.iter().copied();
        let numbered = flows::numbered(endpoints);
        for Door { asked, .. } in doors {
            out.shared_flow(all(), flows::new_session(asked, &self.owner));
            out.shared_flow(all(), flows::choose(asked, group, &self.owner));
            for (number, endpoint) in &numbered {
                out.shared_flow(all(), flows::chosen(asked, *number, *endpoint, seconds, &self.owner));
            }
        }
    }
}
