//! External networks, and addresses of them that lead to pods.
//!
//! ```text
//! floating-ip-info, by hand ──┐
//! services with addresses ────┴► wishes by address ─► the first one ─► interface, switch, port to the network
//! services with ports, too ───► all endpoints ─► one switch that is there ─► port to the network
//! ext-routers ────────────────► pods of a VPN ─► a switch that has some ─► port to the network
//! ```
//! An address leads to one interface: of several that ask for one, what was written by hand comes first, then by router and
//! port. Where nothing is missing it is *placed* on the switch of its interface; all else follows from the places.

mod balanced;
mod check;
mod floating;
mod napt;
mod port_macs;
mod rows;
mod services;
mod subnets;

pub use check::{FaultPlace, FloatingFault};
pub use floating::{Floating, FloatingReason, Outlet, floating_mac};
pub use napt::{ExtRouter, Napt};
pub use port_macs::PortMac;
pub use rows::{ExternalNames, ExternalNetwork, FloatingRouter, Mapping, neighbour_key};
pub use subnets::ExternalSubnet;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use super::apply::{Model, Work, remove_from, replace};
use super::ids::{Allocator, Pool};
use super::interface::InterfaceId;
use crate::net::{Dpid, MacAddr, VpnId};
use crate::schema::Text;

/// Everything that the model knows of external networks.
#[derive(Debug, Default)]
pub(super) struct External {
    /// And their further subnets, each as a network.
    pub networks: BTreeMap<Text, ExternalNetwork>,
    /// Those as they are written.
    pub subnets: BTreeMap<Text, ExternalSubnet>,
    /// MAC addresses by `external-id`, and who has such an id.
    pub macs: BTreeMap<Text, MacAddr>,
    pub with_id: BTreeMap<Text, BTreeSet<IpAddr>>,
    /// The VPN that stands for each network in the pipeline.
    pub vpns: BTreeMap<Text, VpnId>,
    pub routers: BTreeMap<Text, FloatingRouter>,
    pub ext_routers: BTreeMap<Text, ExtRouter>,
    /// The same by address.
    pub routers_at: BTreeMap<IpAddr, BTreeSet<Text>>,
    pub neighbours: BTreeMap<(Text, IpAddr), MacAddr>,
    /// Services with addresses outside, by namespace; empty where a service has none.
    pub exposed_in: BTreeMap<Text, BTreeSet<Text>>,
    /// The same by address.
    pub exposed_at: BTreeMap<IpAddr, BTreeSet<Text>>,
    /// Switches that were away for long.
    pub lost: BTreeSet<Dpid>,
    /// The switch that may still answer for an address.
    pub held: BTreeMap<IpAddr, Dpid>,
    /// What services make of themselves, by uid.
    pub of_services: BTreeMap<Text, FloatingRouter>,
    /// The interfaces behind such services, and the other way round.
    pub behind: BTreeMap<Text, BTreeSet<InterfaceId>>,
    pub services_of: BTreeMap<InterfaceId, BTreeSet<Text>>,
    /// Who asks for each address.
    pub wishes: BTreeMap<IpAddr, BTreeSet<Wish>>,
    /// Addresses that are asked for at each port.
    pub at_port: BTreeMap<Text, BTreeSet<IpAddr>>,
    pub placed: BTreeMap<IpAddr, Place>,
    pub placed_at: BTreeMap<InterfaceId, BTreeSet<IpAddr>>,
    /// Networks on switches, with the addresses that are there.
    pub spans: BTreeMap<(Text, Dpid), BTreeSet<IpAddr>>,
}

/// Somebody asks for an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wish {
    pub of_service: bool,
    /// `router-id`; of services their uid.
    pub router: Text,
    pub port: Text,
    pub internal: IpAddr,
    pub network: Option<Text>,
    /// `external-id`.
    pub id: Option<Text>,
}

/// Where an address is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// `None`: the pods of a node or a VPN share it.
    pub interface: Option<InterfaceId>,
    pub network: Text,
    pub dpid: Dpid,
}

/// Key of the VPN id of an external network.
pub fn external_vpn_key(network: &str) -> Text {
    format!("external {network}").into()
}

impl External {
    /// Takes in that a router asks for other addresses than before. Answers those that somebody asks for otherwise now.
    fn exchange(
        &mut self,
        router: &Text,
        of_service: bool,
        before: Option<&FloatingRouter>,
        after: Option<&FloatingRouter>,
    ) -> BTreeSet<IpAddr> {
        let mut changed = BTreeSet::new();
        for (row, comes) in [(before, false), (after, true)] {
            let Some(row) = row else { continue };
            for mapping in &row.mappings {
                let Mapping { external, port, internal, id } = mapping.clone();
                let (router, network) = (router.clone(), row.network.clone());
                let wish = Wish { of_service, router, port: port.clone(), internal, network, id };
                changed.insert(external);
                self.note_id(&wish, external, comes, &mut changed);
                if comes {
                    self.wishes.entry(external).or_default().insert(wish);
                    self.at_port.entry(port).or_default().insert(external);
                    continue;
                }
                remove_from(&mut self.wishes, &external, &wish);
                let others = self.wishes.get(&external).into_iter().flatten();
                if !others.into_iter().any(|other| other.port == port) {
                    remove_from(&mut self.at_port, &port, &external);
                }
            }
        }
        changed
    }
}

impl Model {
    pub(super) fn put_external_network(
        &mut self,
        id: &Text,
        row: Option<ExternalNetwork>,
        allocator: &mut dyn Allocator,
        work: &mut Work,
    ) {
        self.put_granting(id, row, allocator, work);
        // A subnet of the same name was none beside it.
        self.settle_subnet(id, allocator, work);
        self.put_subnets_of(id, allocator, work);
    }

    /// A network, or a further subnet of one.
    fn put_granting(
        &mut self,
        id: &Text,
        row: Option<ExternalNetwork>,
        allocator: &mut dyn Allocator,
        work: &mut Work,
    ) {
        if self.external.networks.get(id) == row.as_ref() {
            return;
        }
        let key = external_vpn_key(id);
        let is_there = row.is_some();
        replace(&mut self.external.networks, id, row);
        if !is_there {
            self.external.vpns.remove(id);
            self.ids.leave(Pool::Vpn, &key);
        } else if !self.external.vpns.contains_key(id)
            && let Some(vpn) = self.ids.acquire(allocator, Pool::Vpn, &key)
        {
            self.external.vpns.insert(id.clone(), VpnId(vpn));
        }
        self.touch_external(id, work);
    }

    /// A network looks different: so may all that is in it, or might be.
    fn touch_external(&self, id: &Text, work: &mut Work) {
        work.dirty_floating.extend(self.external.wishes.keys());
        work.dirty_floating.extend(self.shared_addresses());
        self.mark_all_napt(work);
        self.touch_neighbours(id, work);
        let spans = self.external.spans.keys().filter(|(network, _)| network == id);
        work.touched.external.extend(spans.cloned());
        work.dirty_exposed.extend(self.exposed().map(|service| service.uid.clone()));
        self.external.exposed_at.keys().for_each(|address| self.mark_balanced(*address, work));
    }

    fn touch_neighbours(&self, id: &Text, work: &mut Work) {
        // All of version 4 come before those of version 6.
        let first = (id.clone(), IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let neighbours = self.external.neighbours.range(first..).map(|(key, _)| key);
        work.touched.neighbours.extend(neighbours.take_while(|(network, _)| network == id).cloned());
    }

    /// The VPN id of a network that had none.
    pub(super) fn late_external_vpn(&mut self, key: &str, vpn: VpnId, work: &mut Work) -> bool {
        let Some(id) = key.strip_prefix("external ").map(Text::from) else { return false };
        let is_external = self.external.networks.contains_key(&id);
        if is_external {
            self.external.vpns.insert(id.clone(), vpn);
            self.touch_external(&id, work);
        }
        is_external
    }

    /// Whether this is the key of a network's VPN id.
    pub(super) fn needs_external_vpn(&self, key: &str) -> bool {
        key.strip_prefix("external ").is_some_and(|id| self.external.networks.contains_key(id))
    }

    pub(super) fn put_router(&mut self, id: &Text, row: Option<FloatingRouter>, work: &mut Work) {
        let before = replace(&mut self.external.routers, id, row);
        let after = self.external.routers.get(id).cloned();
        if before != after {
            let changed = self.external.exchange(id, false, before.as_ref(), after.as_ref());
            changed.into_iter().for_each(|address| self.mark_balanced(address, work));
        }
    }

    pub(super) fn put_neighbour(&mut self, key: (Text, IpAddr), mac: Option<MacAddr>, work: &mut Work) {
        replace(&mut self.external.neighbours, &key, mac);
        let network = self.external.networks.get(&key.0);
        if network.is_some_and(|network| network.gateways().any(|gateway| gateway == key.1)) {
            let spans = self.external.spans.keys().filter(|(network, _)| *network == key.0);
            work.touched.external.extend(spans.cloned());
        }
        work.touched.neighbours.insert(key);
    }

    /// Works out where the addresses are that may be elsewhere now. Runs when the interfaces are settled.
    pub(super) fn settle_external(&mut self, work: &mut Work) {
        self.settle_exposed(work);
        self.mark_touched_napt(work);
        let mut dirty = std::mem::take(&mut work.dirty_floating);
        if !self.external.wishes.is_empty() {
            let touched = &work.touched;
            let on_switches = touched.switches.iter().flat_map(|dpid| self.interfaces_on.get(dpid)).flatten();
            let in_vpns =
                touched.vpns.iter().filter_map(|name| self.vpns.get(name)).flat_map(|vpn| &vpn.interfaces);
            let elans = touched.elans.iter().filter_map(|name| self.elans.get(name));
            let in_elans = elans.flat_map(|elan| elan.interfaces.keys());
            for id in touched.interfaces.iter().chain(on_switches).chain(in_vpns).chain(in_elans) {
                dirty.extend(self.external.placed_at.get(id).into_iter().flatten());
                let identity = self.interface(id).and_then(|interface| interface.identity.as_ref());
                let at_port = identity.and_then(|identity| self.external.at_port.get(&identity.name));
                dirty.extend(at_port.into_iter().flatten());
            }
        }
        if !work.touched.switches.is_empty() || !work.touched.node_sides.is_empty() {
            dirty.extend(self.shared_addresses());
            dirty.extend(self.external.exposed_at.keys());
        }
        for address in dirty {
            let after = self.outlet_place(address);
            let before = replace(&mut self.external.placed, &address, after.clone());
            work.touched.floating.insert(address);
            let shared = [&before, &after].into_iter().flatten().filter(|place| place.interface.is_none());
            work.touched.node_sides.extend(shared.map(|place| place.dpid));
            if before == after {
                continue;
            }
            // Who shares it goes another way.
            let routers = self.external.at_routers(address);
            work.touched.vpns.extend(routers.filter(|name| self.vpns.contains_key(*name)).cloned());
            if let Some(Place { interface, network, dpid }) = before {
                if let Some(interface) = interface {
                    remove_from(&mut self.external.placed_at, &interface, &address);
                }
                self.leave_span((network, dpid), address, work);
            }
            if let Some(Place { interface, network, dpid }) = after {
                if let Some(interface) = interface {
                    self.external.placed_at.entry(interface).or_default().insert(address);
                }
                self.enter_span((network, dpid), address, work);
            }
        }
    }

    fn enter_span(&mut self, span: (Text, Dpid), address: IpAddr, work: &mut Work) {
        let members = self.external.spans.entry(span.clone()).or_default();
        members.insert(address);
        if members.len() == 1 {
            self.touch_neighbours(&span.0, work);
            work.touched.external.insert(span);
        }
    }

    fn leave_span(&mut self, span: (Text, Dpid), address: IpAddr, work: &mut Work) {
        remove_from(&mut self.external.spans, &span, &address);
        if !self.external.spans.contains_key(&span) {
            self.touch_neighbours(&span.0, work);
            work.touched.external.insert(span);
        }
    }
}
