//! Prefixes behind an interface: what an adjacency routes to its port beyond the interface's own addresses.
//!
//! A next hop is an address of the interface itself, so a route leads to the port of its interface. A route within the
//! `pod-cidr` of a node waits: other switches reach the pods there by that one prefix, and a longer one would lead past them.

use std::net::IpAddr;

use ipnetwork::IpNetwork;
use smallvec::SmallVec;

use super::apply::{Model, Work, remove_from};
use super::claims::Claim;
use super::interface::{Interface, InterfaceId};
use super::netvirt::is_host;
use super::rows::HandMade;
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

impl Interface {
    /// Everything that is routed to its port: its own addresses and what is behind it.
    pub fn destinations(&self) -> impl Iterator<Item = IpNetwork> {
        let own = self.addresses.iter().map(|address| IpNetwork::from(address.ip));
        own.chain(self.routes.iter().map(|route| route.prefix))
    }

    /// Somebody else has what it would route.
    pub(super) fn quit_route(&mut self, prefix: IpNetwork) {
        if self.routes.iter().any(|route| route.prefix == prefix) {
            self.routes = self.routes.iter().filter(|route| route.prefix != prefix).cloned().collect();
        }
    }
}

impl Model {
    /// The routes that an interface asks for and can have, as far as others do not claim them.
    pub(super) fn draft_routes(
        &self,
        interface: &mut Interface,
        claims: &mut SmallVec<[(Claim, bool); 3]>,
        vpn: &Text,
        wanted: &Wanted,
    ) {
        let mut routes = Vec::new();
        for route in &wanted.routes {
            let prefix = route.prefix;
            if interface.addresses.iter().any(|own| IpNetwork::from(own.ip) == prefix) {
                continue;
            }
            let is_own = |hop: &IpAddr| interface.addresses.iter().any(|address| address.ip == *hop);
            let port_mac = interface.attachment.as_ref().map(|attachment| attachment.mac);
            let refused = if let Some(next_hop) = route.next_hops.iter().find(|hop| !is_own(hop)) {
                Some(Reason::NextHopElsewhere { prefix, next_hop: *next_hop })
            } else if let (Some(mac), Some(_)) = (route.mac.filter(|mac| port_mac != Some(*mac)), port_mac) {
                Some(Reason::NextHopMac { prefix, mac })
            } else {
                let holder = self.prefixes.holder(prefix).filter(|_| !is_host(prefix));
                holder.map(|node| Reason::RouteInPodCidr { prefix, node: node.clone() })
            };
            if let Some(reason) = refused {
                interface.pending.push(reason);
                continue;
            }
            claims.push((Claim::destination(vpn, prefix), false));
            let text = prefix.to_string().into();
            routes.push(Route { prefix, text, next_hops: route.next_hops.clone().into() });
        }
        interface.routes = routes.into();
    }

    /// Notes which routes an interface written by hand asks for.
    pub(super) fn index_routes(
        &mut self,
        id: &InterfaceId,
        before: Option<&HandMade>,
        after: Option<&HandMade>,
    ) {
        for route in before.into_iter().flat_map(|row| &row.routes) {
            remove_from(&mut self.routes, &route.prefix, id);
        }
        for route in after.into_iter().flat_map(|row| &row.routes) {
            self.routes.entry(route.prefix).or_default().insert(id.clone());
        }
    }

    /// A node has this `pod-cidr`, or has it no more: routes within it wait, or no longer do.
    pub(super) fn mark_routes_in(&self, cidr: IpNetwork, work: &mut Work) {
        let within = self.routes.range(cidr..).take_while(|(route, _)| cidr.contains(route.ip()));
        work.dirty.extend(within.flat_map(|(_, ids)| ids).cloned());
    }
}
