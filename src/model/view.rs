//! What renderers ask the model.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use super::apply::Model;
use super::claims::Claim;
use super::interface::{Identity, Interface, InterfaceId};
use super::rows::Pod;
use super::spans::{Elan, Switch, TunnelPort, Vpn};
use super::underlay::{GRE_LPORT_KEY, uplink_lport_key};
use crate::net::{Dpid, LportTag, OfPort};
use crate::schema::Text;

/// What it takes to send to another switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Logical port tag of the tunnel port, the same on all switches.
    pub tunnel: LportTag,
    /// Where the tunnel ends.
    pub address: Ipv4Addr,
}

/// Switches whose pairs are listed at most: 4,032 tunnels.
pub const MESH: usize = 64;

impl Model {
    pub fn interface(&self, id: &InterfaceId) -> Option<&Interface> {
        self.interfaces.get(id).map(|entry| &entry.interface)
    }

    pub fn interfaces(&self) -> impl Iterator<Item = &Interface> {
        self.interfaces.values().map(|entry| &entry.interface)
    }

    /// The interfaces that allocation pools of a network are for.
    pub fn served_by<'a>(&'a self, network: &'a str) -> impl Iterator<Item = &'a Interface> {
        let named =
            move |identity: &Identity| *identity.elan == *network || identity.vpn.as_deref() == Some(network);
        let entries = self.interfaces.values().filter(move |entry| {
            entry.interface.identity.as_ref().is_some_and(named)
                || entry.network_id.as_deref() == Some(network)
        });
        entries.map(|entry| &entry.interface)
    }

    /// Uids of all pods.
    pub fn pods(&self) -> impl Iterator<Item = &Text> {
        self.pods.keys()
    }

    pub fn pod(&self, uid: &str) -> Option<&Pod> {
        self.pods.get(uid)
    }

    /// Names of the objects that tell how far a pod is: its interfaces, or the pod itself while it has none.
    pub fn objects_of(&self, pod: &Text) -> Vec<Text> {
        let first = InterfaceId { pod: pod.clone(), uid: Text::new() };
        let interfaces = self.interfaces.range(first..).take_while(|(id, _)| id.pod == *pod);
        let names: Vec<Text> = interfaces.map(|(_, entry)| entry.interface.object_name()).collect();
        if names.is_empty() && self.pods.contains_key(pod) { vec![pod.clone()] } else { names }
    }

    pub fn elan(&self, name: &str) -> Option<&Elan> {
        self.elans.get(name)
    }

    pub fn vpn(&self, name: &str) -> Option<&Vpn> {
        self.vpns.get(name)
    }

    /// The VPN that an interface is in, if any.
    pub fn vpn_of(&self, identity: &Identity) -> Option<&Vpn> {
        self.vpn(identity.vpn.as_ref()?)
    }

    pub fn switch(&self, dpid: Dpid) -> Option<&Switch> {
        self.switches.get(&dpid)
    }

    pub fn switches(&self) -> impl Iterator<Item = (Dpid, &Switch)> {
        self.switches.iter().map(|(dpid, switch)| (*dpid, switch))
    }

    /// ELANs with attached interfaces on a switch.
    pub fn elans_on(&self, dpid: Dpid) -> impl Iterator<Item = &Text> {
        self.elans_on.get(&dpid).into_iter().flatten()
    }

    /// VPNs with attached interfaces on a switch.
    pub fn vpns_on(&self, dpid: Dpid) -> impl Iterator<Item = &Text> {
        self.vpns_on.get(&dpid).into_iter().flatten()
    }

    /// Gateway addresses in use in a VPN.
    pub fn gateways(&self, vpn: &Text) -> impl Iterator<Item = IpAddr> + use<'_> {
        let first = (vpn.clone(), IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let vpn = vpn.clone();
        self.gateways.range(first..).map(|(key, _)| key).take_while(move |key| key.0 == vpn).map(|key| key.1)
    }

    /// The switches on which interfaces of a VPN route through this address.
    pub fn switches_of_gateway(&self, vpn: &Text, address: IpAddr) -> impl Iterator<Item = Dpid> + Clone {
        self.gateways.get(&(vpn.clone(), address)).into_iter().flat_map(|switches| switches.keys().copied())
    }

    /// The switches themselves answer for this address: some interface routes through it, and no pod has it.
    pub fn is_gateway(&self, vpn: &Text, address: IpAddr) -> bool {
        self.gateways.contains_key(&(vpn.clone(), address))
            && self.claims.owner(&Claim::Address(vpn.clone(), address)).is_none()
    }

    /// How `from` sends to `to` through its tunnel port, if both ends are known.
    pub fn remote(&self, from: Dpid, to: Dpid) -> Option<Remote> {
        if self.has_tunnel(from) { self.endpoint(to) } else { None }
    }

    /// How any switch that has a tunnel port sends to `to`.
    pub fn endpoint(&self, to: Dpid) -> Option<Remote> {
        Some(Remote { tunnel: self.tunnel_lport?, address: self.switches.get(&to)?.local_ip? })
    }

    /// Whether a switch has its tunnel port.
    pub fn has_tunnel(&self, dpid: Dpid) -> bool {
        self.switches.get(&dpid).is_some_and(|switch| switch.tunnel.is_some())
    }

    /// Whether tunnels are listed by pairs: not among too many switches, since pairs grow with the square of them.
    pub fn is_mesh(&self) -> bool {
        self.switches.len() <= MESH
    }

    /// The tunnel port of a switch and its logical port tag.
    pub fn tunnel(&self, dpid: Dpid) -> Option<(LportTag, &TunnelPort)> {
        Some((self.tunnel_lport?, self.switches.get(&dpid)?.tunnel.as_ref()?))
    }

    /// The GRE port of a switch and its logical port tag.
    pub fn gre(&self, dpid: Dpid) -> Option<(LportTag, &TunnelPort)> {
        Some((*self.uplink_lports.get(GRE_LPORT_KEY)?, self.switches.get(&dpid)?.gre.as_ref()?))
    }

    /// The ports of a switch to physical networks: the network, logical port tag and number.
    pub fn uplinks(&self, dpid: Dpid) -> impl Iterator<Item = (&Text, LportTag, OfPort)> {
        let ports = self.switches.get(&dpid).into_iter().flat_map(|switch| &switch.uplinks);
        ports.filter_map(|(network, ofport)| {
            Some((network, *self.uplink_lports.get(&uplink_lport_key(network))?, *ofport))
        })
    }

    /// The port of a switch that has this number, and the switch. Of two (for a moment) the first by name.
    pub fn port_numbered(&self, node_id: &Text, ofport: OfPort) -> Option<(Dpid, &Text)> {
        let dpid = self.bridges.get(node_id)?.dpid;
        self.switches.get(&dpid).filter(|switch| switch.node_id == *node_id)?;
        Some((dpid, self.ports_by_number.get(&(node_id.clone(), ofport))?.first()?))
    }

    /// The interface with this name.
    pub fn interface_named(&self, name: &str) -> Option<&Interface> {
        self.interface(self.claims.owner(&Claim::Name(name.into()))?)
    }

    /// Who claims a thing that only one may have.
    pub fn owner(&self, claim: &Claim) -> Option<&InterfaceId> {
        self.claims.owner(claim)
    }

    /// Interfaces attached to a switch.
    pub fn interfaces_on(&self, dpid: Dpid) -> Option<&BTreeSet<InterfaceId>> {
        self.interfaces_on.get(&dpid)
    }
}
