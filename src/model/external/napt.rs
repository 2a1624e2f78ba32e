//! `odl-nat:ext-routers`: VPNs whose pods share addresses of an external network.
//!
//! A router is the VPN of its name. Each of its addresses is at one switch that has pods of the VPN, the NAPT switch of netvirt, where
//! connections are translated. Pods of other switches get there by the overlay; with several addresses each switch has its own
//! as far as they last, and the others choose.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::super::apply::{Model, Work, remove_from, replace};
use super::super::ids::FIRST_VPN_ID;
use super::balanced::weight;
use super::{FloatingReason, Outlet};
use crate::net::{Dpid, VpnId};
use crate::schema::Text;

/// The first zone of connection tracking of routers: above those of services.
const FIRST_ZONE: u32 = 100;
/// And the end of them: the tags of ELANs, which policies have as zones, start there.
const END_OF_ZONES: u32 = 5_000;

/// `/odl-nat:ext-routers/routers`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ExtRouter {
    /// `network-id`.
    pub network: Option<Text>,
    /// `enable-snat`; without it, as Neutron has it: yes.
    pub is_on: bool,
    /// `external-ips`.
    pub addresses: BTreeSet<IpAddr>,
    /// The `subnet-id` that each is written with.
    pub subnets: Vec<(IpAddr, Text)>,
    /// What is written there and is no address.
    pub faults: Vec<Text>,
}

/// An address that pods of a VPN share, at its switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Napt {
    pub outlet: Outlet,
    /// The router, which is the VPN.
    pub router: Text,
    pub vpn: VpnId,
    /// Zone of connection tracking: one a VPN, since pods of several may have one address.
    pub zone: u16,
}

impl Model {
    pub(in super::super) fn put_ext_router(&mut self, name: &Text, row: Option<ExtRouter>, work: &mut Work) {
        let before = replace(&mut self.external.ext_routers, name, row);
        let after = self.external.ext_routers.get(name).cloned();
        if before == after {
            return;
        }
        for (row, comes) in [(before, false), (after, true)] {
            for address in row.into_iter().flat_map(|row| row.addresses) {
                work.dirty_floating.insert(address);
                self.external.at_routers(address).for_each(|other| self.mark_napt(other, work));
                if comes {
                    self.external.routers_at.entry(address).or_default().insert(name.clone());
                } else {
                    remove_from(&mut self.external.routers_at, &address, name);
                }
            }
        }
        self.mark_napt(name, work);
    }

    /// All addresses of a router may be elsewhere: where one is depends on where the others are.
    pub(super) fn mark_napt(&self, name: &str, work: &mut Work) {
        let row = self.external.ext_routers.get(name);
        work.dirty_floating.extend(row.into_iter().flat_map(|row| row.addresses.iter().copied()));
    }

    /// What changes of VPNs and switches, and of who else has an address, bears on routers.
    pub(super) fn mark_touched_napt(&self, work: &mut Work) {
        if self.external.ext_routers.is_empty() {
            return;
        }
        let of_addresses: BTreeSet<Text> = work
            .dirty_floating
            .iter()
            .flat_map(|address| self.external.at_routers(*address))
            .cloned()
            .collect();
        let all = (!work.touched.switches.is_empty()).then(|| self.external.ext_routers.keys().cloned());
        let spans = work.touched.vpn_spans.iter().map(|(vpn, _)| vpn.clone());
        let vpns = work.touched.vpns.iter().cloned().chain(spans);
        let names: BTreeSet<Text> = vpns.chain(of_addresses).chain(all.into_iter().flatten()).collect();
        names.iter().for_each(|name| self.mark_napt(name, work));
    }

    /// Where the addresses of all routers may be, when a switch is lost or back.
    pub(super) fn mark_all_napt(&self, work: &mut Work) {
        work.dirty_floating.extend(self.external.routers_at.keys());
    }

    /// The router that an address is of, unless somebody else has it.
    pub fn router_at(&self, address: IpAddr) -> Option<&Text> {
        let name = self.external.at_routers(address).next()?;
        let of_others = self.external.wishes.contains_key(&address)
            || self.balanced_at(address).is_some()
            || self.shared_at(address).is_some();
        (!of_others).then_some(name)
    }

    /// The address of a router at its switch, or why it is nowhere.
    pub(super) fn napt_outlet(&self, address: IpAddr) -> Option<Result<Outlet, FloatingReason>> {
        let name = self.router_at(address)?;
        Some(self.place_napt(name, address))
    }

    fn place_napt(&self, name: &Text, address: IpAddr) -> Result<Outlet, FloatingReason> {
        let row = self.external.ext_routers.get(name).ok_or(FloatingReason::SnatOff(name.clone()))?;
        if !row.is_on {
            return Err(FloatingReason::SnatOff(name.clone()));
        }
        let network = row.network.as_ref().ok_or(FloatingReason::Ungranted)?;
        let vpn = self.vpns.get(name).ok_or_else(|| FloatingReason::NoRouterVpn(name.clone()))?;
        zone(vpn.id.ok_or(FloatingReason::NoVpn)?).ok_or_else(|| FloatingReason::NoZone(name.clone()))?;
        // The network may be to blame, whatever the switch.
        self.granting_of(network, address)?;
        let candidates = || vpn.members.keys().copied().filter(|dpid| !self.is_lost(*dpid));
        let mut free: BTreeMap<Dpid, Outlet> = BTreeMap::new();
        free.extend(candidates().filter_map(|dpid| Some((dpid, self.outlet(address, network, dpid).ok()?))));
        if free.is_empty() {
            return Err(FloatingReason::NoPods { router: name.clone(), network: network.clone() });
        }
        let is_first = |other: &&IpAddr| other.is_ipv4() == address.is_ipv4() && **other <= address;
        for other in row.addresses.iter().filter(is_first) {
            if self.granting_of(network, *other).is_err() || self.router_at(*other) != Some(name) {
                continue;
            }
            let Some(at) = free.keys().copied().max_by_key(|dpid| weight(*other, *dpid)) else { break };
            let outlet = free.remove(&at);
            if *other == address {
                return outlet.ok_or(FloatingReason::NoSwitch);
            }
        }
        Err(FloatingReason::Spare(name.clone()))
    }

    /// The address that pods of a VPN on a switch share, of one IP version.
    pub fn napt(&self, router: &Text, dpid: Dpid, is_v4: bool) -> Option<Napt> {
        self.napt_of(self.napt_address(router, dpid, is_v4)?)
    }

    fn napt_address(&self, router: &Text, dpid: Dpid, is_v4: bool) -> Option<IpAddr> {
        let row = self.external.ext_routers.get(router)?;
        let placed = |address: &IpAddr| {
            let place = self.external.placed.get(address)?;
            let is_own = address.is_ipv4() == is_v4 && self.router_at(*address) == Some(router);
            is_own.then_some((*address, place.dpid))
        };
        let all: Vec<(IpAddr, Dpid)> = row.addresses.iter().filter_map(placed).collect();
        let own = all.iter().find(|(_, at)| *at == dpid);
        let chosen = own.or_else(|| all.iter().max_by_key(|(address, _)| weight(*address, dpid)));
        chosen.map(|(address, _)| *address)
    }

    /// The first address of a router that is somewhere, and its switch.
    pub fn napt_switch(&self, router: &Text) -> Option<(IpAddr, Dpid)> {
        let row = self.external.ext_routers.get(router)?;
        let own = row.addresses.iter().filter(|address| self.router_at(**address) == Some(router));
        own.filter_map(|address| Some((*address, self.external.placed.get(address)?.dpid))).next()
    }

    /// An address that pods of a VPN share, where it was placed.
    pub fn napt_of(&self, address: IpAddr) -> Option<Napt> {
        let router = self.router_at(address)?;
        let place = self.external.placed.get(&address)?;
        let outlet = self.outlet(address, &place.network, place.dpid).ok()?;
        let vpn = self.vpns.get(router)?.id?;
        Some(Napt { outlet, router: router.clone(), vpn, zone: zone(vpn)? })
    }

    /// The switches whose pods share an address of their VPN.
    pub fn napt_users<'a>(&'a self, napt: &'a Napt) -> impl Iterator<Item = Dpid> + 'a {
        let members = self.vpns.get(&napt.router).into_iter().flat_map(|vpn| vpn.members.keys().copied());
        let address = napt.outlet.external;
        members.filter(move |dpid| self.napt_address(&napt.router, *dpid, address.is_ipv4()) == Some(address))
    }
}

impl super::External {
    /// The routers that ask for an address; the first has it.
    pub(super) fn at_routers(&self, address: IpAddr) -> impl Iterator<Item = &Text> {
        self.routers_at.get(&address).into_iter().flatten()
    }
}

/// The zone of a VPN. `None`: there are too many VPNs.
fn zone(VpnId(id): VpnId) -> Option<u16> {
    let zone = id.checked_sub(FIRST_VPN_ID)?.checked_add(FIRST_ZONE)?;
    (zone < END_OF_ZONES).then(|| u16::try_from(zone).ok()).flatten()
}
