//! What an interface should be, whoever says so: a pod, or netvirt's own configuration.

use std::net::IpAddr;
use std::sync::Arc;

use super::asks::Asks;
use super::claims::{Claim, Strength};
use super::rows::{HandMade, Pod, PodInterface, WantedAddress, WantedRoute, usable};
use super::status::Reason;
use super::underlay::Segment;
use crate::net::MacAddr;
use crate::schema::{Text, shared_text};

/// An interface as it is configured, before it is known whether what it asks for can be had.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// Its name, or why it has none yet.
    pub name: Result<Text, Vec<Reason>>,
    pub elan: Option<Text>,
    pub vpn: Option<Text>,
    /// The Internet VPN of its IPv6 addresses.
    pub internet: Option<Text>,
    /// The node it belongs to, where that is said.
    pub host: Option<IpAddr>,
    pub mac: Option<MacAddr>,
    /// What is written in place of a MAC address.
    pub bad_mac: Option<Text>,
    pub addresses: Vec<WantedAddress>,
    pub routes: Vec<WantedRoute>,
    pub network_id: Option<Text>,
    pub segment: Segment,
    /// The port that carries it, where it is not the one with its name as `iface-id`.
    pub port: Option<Text>,
    /// The tag of its frames on that port, which others share.
    pub vlan: Option<u16>,
    pub asks: Option<Arc<Asks>>,
    /// What it waits for besides.
    pub pending: Vec<Reason>,
}

impl Wanted {
    /// One interface of a pod.
    pub fn of_pod(pod: &Pod, row: &PodInterface) -> Wanted {
        let primary = pod.primary().is_some_and(|primary| primary.uid == row.uid);
        let elan = || Some(shared_text(&format!("{}:{}", pod.host?, pod.namespace.as_deref()?)));
        let address = |ip: &IpAddr| WantedAddress { ip: *ip, gateway: None };
        Wanted {
            name: full_name(pod, row),
            elan: elan(),
            vpn: pod.namespace.clone(),
            internet: None,
            host: pod.host,
            mac: row.trunk.as_ref().and_then(|trunk| trunk.mac).or(pod.mac.filter(|_| primary)),
            bad_mac: pod.bad_mac.clone().filter(|_| primary),
            addresses: row.addresses.iter().map(address).collect(),
            routes: Vec::new(),
            network_id: row.network_id.clone(),
            segment: Segment::of(row),
            port: row.trunk.as_ref().map(|trunk| trunk.trunk.clone()),
            vlan: row.trunk.as_ref().map(|trunk| trunk.vlan),
            asks: row.asks.clone(),
            pending: Vec::new(),
        }
    }

    /// What was written as `ietf-interface`, `elan-interface` and `vpn-interface` of one name.
    pub fn of_hand(row: &HandMade) -> Wanted {
        let mut pending = Vec::new();
        if row.elan.is_none() {
            pending.push(Reason::NoElanInterface);
        }
        if !row.exists {
            pending.push(Reason::NoInterfaceByHand);
        }
        if row.is_disabled {
            pending.push(Reason::Disabled);
        }
        if row.is_member && (row.parent.is_none() || row.vlan.is_none()) {
            pending.push(Reason::NoTrunk);
        }
        let several =
            (row.vpns.len() > 1 || row.internet.len() > 1).then_some(Reason::SeveralVpns).into_iter();
        let bad = row.bad_adjacencies.iter().cloned().map(Reason::BadAdjacency);
        Wanted {
            name: if pending.is_empty() { Ok(row.name.clone()) } else { Err(pending) },
            elan: row.elan.clone(),
            vpn: row.vpns.first().cloned(),
            internet: row.internet.first().cloned(),
            host: None,
            mac: row.mac,
            bad_mac: None,
            addresses: row.addresses.clone(),
            routes: row.routes.clone(),
            network_id: None,
            segment: Segment::default(),
            port: row.parent.clone(),
            vlan: row.vlan.filter(|_| row.is_member),
            asks: None,
            pending: several.chain(bad).collect(),
        }
    }

    /// What it claims by configuration alone, once it has a name.
    pub fn claims(&self) -> Vec<(Claim, Strength)> {
        let Ok(name) = &self.name else { return Vec::new() };
        let own = |claim| (claim, Strength::Own);
        let mut claims = vec![own(Claim::Name(name.clone()))];
        if let Some(vpn) = &self.vpn {
            let addresses = self.addresses.iter().filter(|address| usable(address.ip));
            claims.extend(addresses.map(|address| own(Claim::Address(vpn.clone(), address.ip))));
            let addresses =
                self.addresses.iter().filter(|address| usable(address.ip) && address.ip.is_ipv6());
            let beside = self.internet.iter().cloned();
            claims.extend(beside.flat_map(|internet| {
                addresses.clone().map(move |address| own(Claim::Address(internet.clone(), address.ip)))
            }));
            let routes = self.routes.iter();
            claims.extend(routes.map(|route| (Claim::destination(vpn, route.prefix), Strength::Route)));
        }
        claims.extend(self.tag().map(own));
        if let (Some(elan), Some(mac)) = (&self.elan, self.mac) {
            claims.push(own(Claim::Mac(elan.clone(), mac)));
        }
        claims
    }

    /// The tag that it claims on its trunk, as that is called.
    pub fn tag(&self) -> Option<Claim> {
        Some(Claim::Tag(self.port.clone()?, self.vlan?))
    }
}

/// The name an interface would have, or why it has none yet.
pub(super) fn full_name(pod: &Pod, row: &PodInterface) -> Result<Text, Vec<Reason>> {
    let mut reasons = Vec::new();
    for (text, what, absent) in
        [(&pod.name, "pod name", Reason::NoName), (&pod.namespace, "namespace", Reason::NoNamespace)]
    {
        match text {
            None => reasons.push(absent),
            Some(text) if text.contains(':') => reasons.push(Reason::Colon { what, text: text.clone() }),
            Some(_) => {}
        }
    }
    if pod.host.is_none() {
        reasons.push(Reason::NoHost);
    }
    let (Some(name), Some(namespace), true) = (&pod.name, &pod.namespace, reasons.is_empty()) else {
        return Err(reasons);
    };
    let primary = pod.primary().is_some_and(|primary| primary.uid == row.uid);
    if primary {
        return Ok(format!("{namespace}:{name}").into());
    }
    let digits: String = row.uid.chars().take(8).collect();
    Ok(format!("{namespace}:{name}:{digits}").into())
}
