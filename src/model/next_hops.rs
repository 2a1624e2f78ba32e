//! Next hops that share a route: who is asked whether he is there, and what follows when he is not.
//!
//! A next hop is an address of an interface by which it carries a route that others carry, too. One that does not answer carries
//! nothing while others answer. While nobody does, all carry: to watch may be wrong, and to drop everything would be worse.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnetwork::IpNetwork;

use super::apply::{Model, Work};
use super::claims::Claim;
use super::interface::Interface;
use super::rows::LINK_LOCAL_GATEWAY;
use crate::datastore::Snapshot;
use crate::schema::{Fields, Key, List, Schema, SchemaId, Text, Value};

/// What was found out, and whether anybody looks.
#[derive(Debug, Default)]
pub(super) struct NextHops {
    pub unwatched: bool,
    /// By interface and address.
    pub silent: BTreeSet<(Text, IpAddr)>,
}

/// Each field is the node of that name.
#[derive(Debug)]
pub struct NextHopNames {
    pub next_hop_liveness: SchemaId,
    enabled: SchemaId,
    pub silent_next_hops: SchemaId,
    pub silent_next_hop: SchemaId,
}

impl NextHopNames {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn of(schema: &Schema) -> NextHopNames {
        let id = |path: &str| schema.resolve(&format!("/coeus-next-hop:{path}"));
        NextHopNames {
            next_hop_liveness: id("next-hop-liveness"),
            enabled: id("next-hop-liveness/enabled"),
            silent_next_hops: id("silent-next-hops"),
            silent_next_hop: id("silent-next-hops/silent-next-hop"),
        }
    }

    /// Whether next hops are watched: unless it is switched off.
    pub fn is_watched(&self, snapshot: &Snapshot) -> bool {
        let fields = snapshot.config.input.container(self.next_hop_liveness);
        let enabled = fields.and_then(|fields| fields.leaf(self.enabled)?.as_bool());
        enabled.unwrap_or(true)
    }

    pub fn is_silent(&self, snapshot: &Snapshot, interface: &Text, address: IpAddr) -> bool {
        let key = Key::from_iter([Value::Text(interface.clone()), Value::text(address.to_string())]);
        self.list(snapshot).is_some_and(|list| list.get(&key).is_some())
    }

    /// All who are written down as silent.
    pub fn all_silent(&self, snapshot: &Snapshot) -> Vec<(Text, IpAddr)> {
        self.list(snapshot).into_iter().flatten().filter_map(|(key, _)| next_hop_key(key)).collect()
    }

    fn list<'a>(&self, snapshot: &'a Snapshot) -> Option<&'a List> {
        let all: &Fields = snapshot.operational.input.container(self.silent_next_hops)?;
        all.list(self.silent_next_hop)
    }
}

/// Interface and address of a next hop's key.
pub fn next_hop_key(key: &Key) -> Option<(Text, IpAddr)> {
    let [Value::Text(interface), Value::Text(address)] = key.values() else { return None };
    Some((interface.clone(), address.parse().ok()?))
}

impl Model {
    pub(super) fn put_watched(&mut self, watched: bool, work: &mut Work) {
        if std::mem::replace(&mut self.next_hops.unwatched, !watched) == watched {
            let all = self.interfaces.values().map(|entry| &entry.interface);
            work.dirty_routes.extend(all.flat_map(route_claims));
        }
    }

    pub(super) fn put_silent(&mut self, hop: (Text, IpAddr), silent: bool, work: &mut Work) {
        let interface = self.interface_named(&hop.0);
        work.dirty_routes.extend(interface.into_iter().flat_map(route_claims));
        if silent {
            self.next_hops.silent.insert(hop);
        } else {
            self.next_hops.silent.remove(&hop);
        }
    }

    /// The attached interfaces that a prefix is routed to in a VPN, in order: of several only those that answer, if any does.
    pub fn carriers(&self, vpn: &Text, prefix: IpNetwork) -> Vec<&Interface> {
        let mut carriers = self.attached_carriers(vpn, prefix);
        if carriers.len() > 1 && !self.next_hops.unwatched {
            let answers = |carrier: &&Interface| !self.is_silent(carrier, prefix);
            if carriers.iter().any(answers) {
                carriers.retain(answers);
            }
        }
        carriers
    }

    /// Addresses by which an interface shares routes with others, and which those are. Empty if nobody is watched.
    pub fn shared_hops(&self, interface: &Interface) -> BTreeMap<IpAddr, Vec<IpNetwork>> {
        let mut hops: BTreeMap<IpAddr, Vec<IpNetwork>> = BTreeMap::new();
        let vpn = interface.identity.as_ref().and_then(|identity| identity.vpn.as_ref());
        let Some(vpn) = vpn.filter(|_| !self.next_hops.unwatched && interface.plugged().is_some()) else {
            return hops;
        };
        for route in &interface.routes {
            if self.attached_carriers(vpn, route.prefix).len() > 1 {
                for address in hops_of(interface, route.prefix) {
                    hops.entry(address).or_default().push(route.prefix);
                }
            }
        }
        hops
    }

    /// Whether a next hop was asked and does not answer.
    pub fn is_silent_hop(&self, interface: &Text, address: IpAddr) -> bool {
        self.next_hops.silent.contains(&(interface.clone(), address))
    }

    /// Whether none of the addresses by which it carries a route answers.
    fn is_silent(&self, carrier: &Interface, prefix: IpNetwork) -> bool {
        let Some(identity) = &carrier.identity else { return false };
        let hops = hops_of(carrier, prefix);
        !hops.is_empty() && hops.into_iter().all(|address| self.is_silent_hop(&identity.name, address))
    }
}

impl Interface {
    /// In whose name one of its addresses is asked for: its router.
    pub fn asker_of(&self, address: IpAddr) -> Option<IpAddr> {
        if address.is_ipv6() {
            return Some(IpAddr::V6(LINK_LOCAL_GATEWAY));
        }
        let own = self.addresses.iter().find(|own| own.ip == address)?;
        own.gateway.map(|gateway| gateway.address).filter(IpAddr::is_ipv4)
    }
}

/// Addresses by which an interface carries a route: its next hops, or the first that it has.
fn hops_of(interface: &Interface, prefix: IpNetwork) -> Vec<IpAddr> {
    let route = interface.routes.iter().find(|route| route.prefix == prefix);
    let named = route.map(|route| route.next_hops.to_vec()).unwrap_or_default();
    if named.is_empty() {
        return interface.addresses.iter().map(|own| own.ip).take(1).collect();
    }
    named
}

fn route_claims(interface: &Interface) -> Vec<Claim> {
    let vpn = interface.identity.as_ref().and_then(|identity| identity.vpn.as_ref());
    let claims = |vpn: &Text| {
        interface.routes.iter().map(|route| Claim::destination(vpn, route.prefix)).collect::<Vec<_>>()
    };
    vpn.map(claims).unwrap_or_default()
}
