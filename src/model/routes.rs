//! Prefixes behind interfaces: what an adjacency routes to ports beyond their own addresses.
//!
//! A next hop is an address of an interface of the VPN, so a route leads to the port of that interface; without one, to the port of
//! its own. What several interfaces carry they share. A route within the `pod-cidr` of a node waits: other switches reach the pods
//! there by that one prefix, and a longer one would lead past them.

use std::net::IpAddr;

use ipnetwork::IpNetwork;
use smallvec::SmallVec;

use super::apply::{Model, Work, remove_from};
use super::claims::{Claim, Strength};
use super::ids::{Allocator, Pool};
use super::interface::{Interface, InterfaceId};
use super::netvirt::is_host;
use super::rows::{HandMade, WantedRoute};
use super::status::Reason;
use super::wanted::Wanted;
use crate::schema::Text;

/// A prefix behind an interface, and how it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub prefix: IpNetwork,
    pub text: Text,
    /// Addresses of the interface that it is said to go through.
    pub next_hops: Box<[IpAddr]>,
}

impl Route {
    fn new(prefix: IpNetwork, next_hops: impl IntoIterator<Item = IpAddr>) -> Route {
        Route { prefix, text: prefix.to_string().into(), next_hops: next_hops.into_iter().collect() }
    }
}

impl Interface {
    /// Everything that is routed to its port: its own addresses and what is behind it.
    pub fn destinations(&self) -> impl Iterator<Item = IpNetwork> {
        let own = self.addresses.iter().map(|address| IpNetwork::from(address.ip));
        own.chain(self.routes.iter().map(|route| route.prefix))
    }

    /// The Internet VPN that a destination is in, too: an IPv6 address of its own.
    pub fn internet_of(&self, destination: IpNetwork) -> Option<&Text> {
        let is_own = || is_host(destination) && self.has(destination.ip());
        self.identity.as_ref()?.internet.as_ref().filter(|_| destination.is_ipv6() && is_own())
    }

    /// Whether it has this address.
    fn has(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|own| own.ip == address)
    }

    /// Somebody else has what it would route.
    pub(super) fn quit_route(&mut self, prefix: IpNetwork) {
        if self.routes.iter().any(|route| route.prefix == prefix) {
            self.routes = self.routes.iter().filter(|route| route.prefix != prefix).cloned().collect();
        }
    }

    /// A route goes through an address of the interface as long as the interface has that.
    pub(super) fn quit_lost_hops(&mut self) {
        let stays = |route: &&Route| {
            route.next_hops.is_empty() || route.next_hops.iter().any(|next_hop| self.has(*next_hop))
        };
        if !self.routes.iter().all(|route| stays(&route)) {
            self.routes = self.routes.iter().filter(stays).cloned().collect();
        }
    }
}

/// What the number of a route goes by.
fn route_key(claim: &Claim) -> Option<Text> {
    match claim {
        Claim::Address(vpn, address) => Some(format!("{vpn} {}", IpNetwork::from(*address)).into()),
        Claim::Route(vpn, prefix) => Some(format!("{vpn} {prefix}").into()),
        Claim::Name(_) | Claim::Mac(..) | Claim::Port(..) | Claim::Tag(..) | Claim::HostPort(..) => None,
    }
}

impl Model {
    /// The attached interfaces that a prefix is routed to in a VPN, in order, whether they answer or not.
    pub(super) fn attached_carriers(&self, vpn: &Text, prefix: IpNetwork) -> Vec<&Interface> {
        let claim = Claim::destination(vpn, prefix);
        let all = self.claims.sharing(&claim).filter_map(|id| self.interface(id));
        let carries = |interface: &&Interface| {
            interface.plugged().is_some() && interface.routes.iter().any(|route| route.prefix == prefix)
        };
        all.filter(carries).collect()
    }

    /// The number of a route that several interfaces share.
    pub fn route_number(&self, vpn: &Text, prefix: IpNetwork) -> Option<u32> {
        self.spread.get(&route_key(&Claim::destination(vpn, prefix))?).copied()
    }

    /// All such numbers, by what they go by.
    pub fn route_numbers(&self) -> impl Iterator<Item = (&Text, u32)> {
        self.spread.iter().map(|(key, number)| (key, *number))
    }

    /// The routes that an interface asks for and can have, with those that others lead to its addresses.
    pub(super) fn draft_routes(
        &self,
        interface: &mut Interface,
        claims: &mut SmallVec<[(Claim, Strength); 3]>,
        vpn: &Text,
        wanted: &Wanted,
    ) {
        let mut routes: Vec<Route> = Vec::new();
        let is_own = |interface: &Interface, prefix: IpNetwork| is_host(prefix) && interface.has(prefix.ip());
        for route in &wanted.routes {
            if is_own(interface, route.prefix) {
                continue;
            }
            if let Some(reason) = self.refused(interface, route) {
                interface.pending.push(reason);
                continue;
            }
            let (own, others): (Vec<_>, Vec<_>) =
                route.next_hops.iter().partition(|hop| interface.has(**hop));
            if others.is_empty() || !own.is_empty() {
                routes.push(Route::new(route.prefix, own));
            }
            let nobodys = |hop: &IpAddr| self.claims.owner(&Claim::Address(vpn.clone(), *hop)).is_none();
            let prefix = route.prefix;
            let reason = |next_hop: IpAddr| Reason::NextHopNobodys { prefix, next_hop };
            interface.pending.extend(others.into_iter().filter(nobodys).map(reason));
        }
        let name = wanted.name.as_ref().ok();
        for hop in interface.addresses.iter().map(|address| address.ip) {
            let by_it = self.via.get(&(vpn.clone(), hop)).into_iter().flatten();
            for (prefix, _) in by_it.filter(|(_, writer)| Some(writer) != name) {
                if is_own(interface, *prefix) || self.waits(*prefix).is_some() {
                    continue;
                }
                match routes.iter_mut().find(|route| route.prefix == *prefix) {
                    Some(route) if route.next_hops.is_empty() || route.next_hops.contains(&hop) => {}
                    Some(route) => *route = Route::new(*prefix, route.next_hops.iter().copied().chain([hop])),
                    None => routes.push(Route::new(*prefix, [hop])),
                }
            }
        }
        claims.extend(routes.iter().map(|route| (Claim::destination(vpn, route.prefix), Strength::Route)));
        interface.routes = routes.into();
    }

    /// Why a route cannot be had at all.
    fn refused(&self, interface: &Interface, route: &WantedRoute) -> Option<Reason> {
        let prefix = route.prefix;
        let port_mac = interface.attachment.as_ref().map(|attachment| attachment.mac);
        let elsewhere = route.next_hops.iter().any(|hop| !interface.has(*hop));
        if let (Some(mac), Some(port_mac)) = (route.mac, port_mac)
            && (mac != port_mac || elsewhere)
        {
            return Some(Reason::NextHopMac { prefix, mac });
        }
        self.waits(prefix).map(|node| Reason::RouteInPodCidr { prefix, node: node.clone() })
    }

    /// The node whose `pod-cidr` holds a prefix of several addresses.
    fn waits(&self, prefix: IpNetwork) -> Option<&Text> {
        self.prefixes.holder(prefix).filter(|_| !is_host(prefix))
    }

    /// Notes which routes an interface written by hand asks for, and whom it leads them to.
    pub(super) fn index_routes(
        &mut self,
        id: &InterfaceId,
        before: Option<&HandMade>,
        after: Option<&HandMade>,
        work: &mut Work,
    ) {
        for route in before.into_iter().flat_map(|row| &row.routes) {
            remove_from(&mut self.routes, &route.prefix, id);
        }
        for route in after.into_iter().flat_map(|row| &row.routes) {
            self.routes.entry(route.prefix).or_default().insert(id.clone());
        }
        for (row, comes) in [(before, false), (after, true)] {
            for (hop, prefix) in row.into_iter().flat_map(hops) {
                work.dirty.extend(self.claims.owner(&Claim::Address(hop.0.clone(), hop.1)).cloned());
                let entry = (prefix, id.uid.clone());
                if comes {
                    self.via.entry(hop).or_default().insert(entry);
                } else {
                    remove_from(&mut self.via, &hop, &entry);
                }
            }
        }
    }

    /// A node has this `pod-cidr`, or has it no more: routes within it wait, or no longer do.
    pub(super) fn mark_routes_in(&self, cidr: IpNetwork, work: &mut Work) {
        let within = self.routes.range(cidr..).take_while(|(route, _)| cidr.contains(route.ip()));
        for id in within.flat_map(|(_, ids)| ids) {
            work.dirty.insert(id.clone());
            let hops = self.hand_made.get(&id.uid).into_iter().flat_map(hops);
            let owners = hops.filter_map(|((vpn, hop), _)| self.claims.owner(&Claim::Address(vpn, hop)));
            work.dirty.extend(owners.cloned());
        }
    }

    /// Numbers the routes that several interfaces share. All of them look different when one does.
    pub(super) fn settle_routes(&mut self, allocator: &mut dyn Allocator, work: &mut Work) {
        for claim in std::mem::take(&mut work.dirty_routes) {
            let Some(key) = route_key(&claim) else { continue };
            let sharing: Vec<InterfaceId> = self.claims.sharing(&claim).cloned().collect();
            if sharing.len() > 1 {
                let known = self.spread.get(&key).copied();
                let number = known.or_else(|| self.ids.acquire(allocator, Pool::Routes, &key));
                self.spread.extend(number.map(|number| (key, number)));
            } else if self.spread.remove(&key).is_some() {
                self.ids.leave(Pool::Routes, &key);
            }
            work.touched.interfaces.extend(sharing);
        }
    }
}

/// The next hops of an interface's routes, each with its VPN, and what goes by them. One that names a MAC address leads to its own
/// port.
fn hops(row: &HandMade) -> impl Iterator<Item = ((Text, IpAddr), IpNetwork)> + '_ {
    let vpn = row.vpns.first().filter(|_| Wanted::of_hand(row).name.is_ok());
    let routes = row.routes.iter().filter(|route| route.mac.is_none());
    vpn.into_iter().flat_map(move |vpn| {
        let each = |route: &WantedRoute| {
            let prefix = route.prefix;
            let vpn = vpn.clone();
            route.next_hops.clone().into_iter().map(move |hop| ((vpn.clone(), hop), prefix))
        };
        routes.clone().flat_map(each).collect::<Vec<_>>()
    })
}
