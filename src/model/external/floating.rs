//! What becomes of one floating address, and what renderers ask of networks.

use std::net::IpAddr;

use super::super::apply::Model;
use super::super::claims::Claim;
use super::super::interface::{Attachment, InterfaceId};
use super::super::status::Reason;
use super::super::underlay::{Uplink, uplink_lport_key};
use super::rows::last_octets;
use super::{ExternalNetwork, FaultPlace, Place, Wish};
use crate::net::{Dpid, LportTag, MacAddr, VpnId};
use crate::schema::Text;

/// An address outside and where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Floating {
    pub outlet: Outlet,
    pub internal: IpAddr,
    pub interface: InterfaceId,
    /// The name of the interface.
    pub port: Text,
    pub lport: LportTag,
    /// The VPN of the interface.
    pub vpn: VpnId,
    pub attachment: Attachment,
}

/// An address of an external network on the switch that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlet {
    pub external: IpAddr,
    pub dpid: Dpid,
    /// Or its further subnet that grants the address.
    pub network: Text,
    /// The VPN that stands for the network.
    pub outside: VpnId,
    pub uplink: Uplink,
    /// What the switch answers with for it.
    pub mac: MacAddr,
}

/// Why an address leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FloatingReason {
    #[error("external network {0} does not exist: write it to /odl-nat:external-networks")]
    NoNetwork(Text),
    #[error("no external network grants it: add it to the granted ranges of one")]
    Ungranted,
    #[error("external network {0} does not grant it: its granted ranges do not hold it")]
    UngrantedBy(Text),
    #[error("interface {0} does not exist, or is plugged in nowhere")]
    NoInterface(Text),
    #[error("interface {port} has no address {internal}")]
    NoAddress { port: Text, internal: IpAddr },
    #[error("interface {0} is in no VPN")]
    NotRouted(Text),
    #[error(
        "interface {0} is on a physical network itself: its answers would not come by the switch's router"
    )]
    Physical(Text),
    #[error("its switch is lost; another one serves it")]
    Elsewhere,
    #[error("switch {0} has not confirmed yet that it does not answer for it any more")]
    HeldBy(Dpid),
    #[error(
        "no switch that is connected leads to external network {0}, or none with an endpoint where the traffic policy is Local"
    )]
    NobodyThere(Text),
    #[error("the node whose pods share it has no switch here")]
    NoSwitch,
    #[error("router {0} has enable-snat false")]
    SnatOff(Text),
    #[error("router {0} is no VPN: a router is the vpn-instance of its name")]
    NoRouterVpn(Text),
    #[error("no switch with pods of VPN {router} leads to external network {network}")]
    NoPods { router: Text, network: Text },
    #[error("every switch with pods of VPN {0} that leads to the network has one already")]
    Spare(Text),
    #[error("there are too many VPNs: connections of router {0} could not be told from others")]
    NoZone(Text),
    #[error("pool of VPN ids is used up")]
    NoVpn,
    #[error("external network {network}: {reason}")]
    NoUplink { network: Text, reason: Reason },
}

/// The MAC address that a switch answers with for a floating address of which nobody says another: `02:c0` and the address; of IPv6 `02:c6` and its last four
/// octets, by which those of one wire differ. It goes where the address goes. Gateways of VPNs have `02:c0:e5`, which begins
/// no unicast address.
pub fn floating_mac(address: IpAddr) -> MacAddr {
    let (version, [a, b, c, d]) = match address {
        IpAddr::V4(address) => (0xc0, address.octets()),
        IpAddr::V6(address) => (0xc6, last_octets(address).to_be_bytes()),
    };
    MacAddr([0x02, version, a, b, c, d])
}

impl Model {
    /// Where an address leads that somebody asks for; why nowhere.
    pub fn floating(&self, address: IpAddr) -> Option<Result<Floating, FloatingReason>> {
        let floating = self.floating_free(address)?;
        Some(floating.and_then(|floating| self.unless_held(&floating.outlet).map(|()| floating)))
    }

    /// An address is where it should be only once no other switch answers for it.
    fn unless_held(&self, outlet: &Outlet) -> Result<(), FloatingReason> {
        self.holder(outlet.external, outlet.dpid).map_or(Ok(()), |holder| Err(FloatingReason::HeldBy(holder)))
    }

    /// The same, whoever answers now.
    fn floating_free(&self, address: IpAddr) -> Option<Result<Floating, FloatingReason>> {
        let floating = self.floating_wished(address)?;
        let Some(service) = self.balanced_at(address) else { return Some(floating) };
        let here = self.balanced_outlet(address, service);
        Some(floating.and_then(|floating| {
            let is_here = here.is_ok_and(|outlet| outlet.dpid == floating.outlet.dpid);
            is_here.then_some(floating).ok_or(FloatingReason::Elsewhere)
        }))
    }

    pub(super) fn floating_wished(&self, address: IpAddr) -> Option<Result<Floating, FloatingReason>> {
        let wish = self.external.wishes.get(&address)?.first()?;
        Some(self.resolve_floating(address, wish))
    }

    /// The switch that has an address of an external network: that of its pod, of the node whose pods share it, or any for a
    /// service.
    pub fn outside(&self, address: IpAddr) -> Option<Result<Outlet, FloatingReason>> {
        let outlet = self.outside_free(address)?;
        Some(outlet.and_then(|outlet| self.unless_held(&outlet).map(|()| outlet)))
    }

    /// The same, whoever answers now.
    fn outside_free(&self, address: IpAddr) -> Option<Result<Outlet, FloatingReason>> {
        if let Some(service) = self.balanced_at(address) {
            return Some(self.balanced_outlet(address, service));
        }
        match self.floating_free(address) {
            Some(floating) => Some(floating.map(|floating| floating.outlet)),
            None if self.router_at(address).is_some() => self.napt_outlet(address),
            None => {
                let (network, dpid) = self.shared_at(address)?;
                let dpid = dpid.ok_or(FloatingReason::NoSwitch);
                Some(dpid.and_then(|dpid| self.outlet(address, network, dpid)))
            }
        }
    }

    pub(super) fn outlet_place(&self, address: IpAddr) -> Option<Place> {
        let outlet = self.outside(address)?.ok()?;
        let interface = self.floating(address).and_then(Result::ok).map(|floating| floating.interface);
        Some(Place { interface, network: outlet.network, dpid: outlet.dpid })
    }

    /// An address of a network on a switch, if all is there that it needs.
    pub(super) fn outlet(
        &self,
        external: IpAddr,
        network: &Text,
        dpid: Dpid,
    ) -> Result<Outlet, FloatingReason> {
        let (network, row) = self.granting_of(network, external)?;
        let outside = *self.external.vpns.get(network).ok_or(FloatingReason::NoVpn)?;
        let uplink = self.external_uplink(row, dpid);
        let uplink =
            uplink.map_err(|reason| FloatingReason::NoUplink { network: network.clone(), reason })?;
        let mac = self.mac_outside(external);
        Ok(Outlet { external, dpid, network: network.clone(), outside, uplink, mac })
    }

    /// Who asks for an address first: the port and its address.
    pub fn floating_wish(&self, address: IpAddr) -> Option<(&Text, IpAddr)> {
        let wish = self.external.wishes.get(&address)?.first()?;
        Some((&wish.port, wish.internal))
    }

    /// Where it is written that this address is asked for.
    pub fn floating_at(&self, address: IpAddr) -> Option<FaultPlace> {
        if let Some(name) = self.router_at(address) {
            return Some(FaultPlace::ExtRouter(name.clone()));
        }
        let Wish { of_service, router, .. } = self.external.wishes.get(&address)?.first()?;
        let router = router.clone();
        Some(if *of_service { FaultPlace::Service(router) } else { FaultPlace::Router(router) })
    }

    fn resolve_floating(&self, external: IpAddr, wish: &Wish) -> Result<Floating, FloatingReason> {
        let network = match &wish.network {
            Some(named) => named.clone(),
            None => self.granting(external).ok_or(FloatingReason::Ungranted)?.clone(),
        };
        self.granting_of(&network, external)?;
        let port = wish.port.clone();
        let owner = self.claims.owner(&Claim::Name(port.clone()));
        let interface =
            owner.and_then(|id| self.interface(id)).filter(|interface| interface.plugged().is_some());
        let interface = interface.ok_or_else(|| FloatingReason::NoInterface(port.clone()))?;
        let Some((identity, lport, attachment)) = interface.plugged() else {
            return Err(FloatingReason::NoInterface(port));
        };
        if !interface.addresses.iter().any(|own| own.ip == wish.internal) {
            return Err(FloatingReason::NoAddress { port, internal: wish.internal });
        }
        if identity.vpn.is_none() {
            return Err(FloatingReason::NotRouted(port));
        }
        if self.elan(&identity.elan).is_some_and(|elan| elan.segment().is_physical()) {
            return Err(FloatingReason::Physical(port));
        }
        let vpn = self.vpn_of(identity).and_then(|vpn| vpn.id).ok_or(FloatingReason::NoVpn)?;
        let outlet = self.outlet(external, &network, attachment.dpid)?;
        Ok(Floating {
            outlet,
            internal: wish.internal,
            interface: interface.id.clone(),
            port,
            lport,
            vpn,
            attachment: attachment.clone(),
        })
    }

    /// The first network that may give out this address.
    pub(super) fn granting(&self, address: IpAddr) -> Option<&Text> {
        self.external.networks.iter().find(|(_, network)| network.grants(address)).map(|(id, _)| id)
    }

    pub fn external_network(&self, id: &str) -> Option<&ExternalNetwork> {
        self.external.networks.get(id)
    }

    /// The VPN that stands for an external network.
    pub fn external_vpn(&self, id: &str) -> Option<VpnId> {
        self.external.vpns.get(id).copied()
    }

    /// The way into an external network on a switch that has addresses of it.
    pub fn external_way(&self, id: &Text, dpid: Dpid) -> Option<Uplink> {
        self.external.spans.get(&(id.clone(), dpid))?;
        self.external_uplink(self.external.networks.get(id)?, dpid).ok()
    }

    /// The switches that have addresses of an external network.
    pub fn switches_of_external<'a>(&'a self, id: &'a Text) -> impl Iterator<Item = Dpid> + 'a {
        let first = (id.clone(), Dpid(0));
        let spans = self.external.spans.range(first..).map(|(span, _)| span);
        spans.take_while(move |(network, _)| network == id).map(|(_, dpid)| *dpid)
    }

    /// The MAC address of somebody on an external network.
    pub fn neighbour(&self, network: &Text, address: IpAddr) -> Option<MacAddr> {
        self.external.neighbours.get(&(network.clone(), address)).copied()
    }

    fn external_uplink(&self, network: &ExternalNetwork, dpid: Dpid) -> Result<Uplink, Reason> {
        let has = |name: &Text| self.switch(dpid).is_some_and(|switch| switch.uplinks.contains_key(name));
        if let Some(name) = network.physical.as_ref().filter(|name| !has(name)) {
            return Err(Reason::NotThatNetwork(dpid, name.clone()));
        }
        let physical = self.physical_network(network.physical.as_ref(), dpid)?;
        let lport = self.uplink_lports.get(&uplink_lport_key(&physical));
        let ofport = self.switch(dpid).and_then(|switch| switch.uplinks.get(&physical));
        match (lport, ofport) {
            (Some(lport), Some(ofport)) => Ok(Uplink { lport: *lport, ofport: *ofport, vlan: network.vlan }),
            _ => Err(Reason::PoolExhausted("logical port tags")),
        }
    }
}
