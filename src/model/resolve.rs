//! What an interface is, worked out from all rows that bear on it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnetwork::IpNetwork;
use smallvec::SmallVec;

use super::apply::{Entry, Model, Work, remove_from};
use super::claims::{Claim, Claimant, Strength};
use super::ids::{Allocator, Pool};
use super::interface::{Address, Attachment, Gateway, GatewaySource, Identity, Interface, InterfaceId};
use super::pools::Network;
use super::rows::{LINK_LOCAL_GATEWAY, Lease, Port, PortId, WantedAddress, usable};
use super::status::Reason;
use super::wanted::Wanted;
use crate::net::{Dpid, LportTag};
use crate::schema::Text;

/// An interface's facts, before it is known whether what it claims is its own.
struct Draft {
    interface: Interface,
    claims: SmallVec<[(Claim, Strength); 3]>,
}

impl Model {
    /// Resolves marked interfaces until nothing changes hands any more.
    pub(super) fn settle_interfaces(&mut self, allocator: &mut dyn Allocator, work: &mut Work) {
        while let Some(id) = work.dirty.pop_first() {
            self.settle(&id, allocator, work);
        }
    }

    fn settle(&mut self, id: &InterfaceId, allocator: &mut dyn Allocator, work: &mut Work) {
        let before = self.interfaces.remove(id);
        let wanted = self.wanted(id);
        let name = wanted.as_ref().and_then(|wanted| wanted.name.as_ref().ok()).cloned();
        self.claim_name(id, before.as_ref().and_then(|entry| entry.name.as_ref()), name.as_ref(), work);
        let draft = match &wanted {
            Some(wanted) => self.draft(id, wanted, allocator),
            None => Draft { interface: Interface::unknown(id), claims: SmallVec::new() },
        };
        let old_claims = before.as_ref().map(|entry| &entry.claims[..]).unwrap_or_default();
        self.exchange_claims(id, old_claims, &draft.claims, work);
        if before.as_ref().map(|entry| &entry.name) != Some(&name) {
            // Whoever waits for what this interface has is told its name.
            let others = draft.claims.iter().flat_map(|(claim, _)| self.claims.others(claim));
            work.dirty.extend(others.filter(|other| *other != id).cloned());
        }
        let Draft { mut interface, claims } = draft;
        self.leave_limits(before.as_ref().map(|entry| &entry.interface), &interface);
        self.conclude(&mut interface, &claims);
        if let Some(wanted) = &wanted {
            self.note_switch(&mut interface, wanted);
        }
        interface.spell();
        interface.pending.shrink_to_fit();
        interface.notes.shrink_to_fit();
        let network_id = wanted.as_ref().and_then(|wanted| wanted.network_id.clone());
        self.index(before.as_deref(), &interface, network_id.as_ref(), allocator, work);
        if before.as_ref().map(|entry| &entry.interface) != Some(&interface) {
            work.touched.interfaces.insert(id.clone());
        }
        if wanted.is_some() {
            let entry = Entry { interface, network_id, name, claims };
            self.interfaces.insert(id.clone(), Box::new(entry));
        }
    }

    /// What the rows say it should be; `None`: nothing any more.
    pub(super) fn wanted(&self, id: &InterfaceId) -> Option<Wanted> {
        if id.is_hand_made() {
            return self.hand_made.get(&id.uid).map(Wanted::of_hand);
        }
        let pod = self.pods.get(&id.pod)?;
        Some(Wanted::of_pod(pod, pod.interface(&id.uid)?))
    }

    fn claim_name(&mut self, id: &InterfaceId, before: Option<&Text>, after: Option<&Text>, work: &mut Work) {
        if before == after {
            return;
        }
        let claimant = Claimant { strength: Strength::Own, interface: id.clone() };
        if let Some(name) = before {
            self.take_back(&Claim::Name(name.clone()), &claimant, work);
            self.ids.leave(Pool::Interfaces, name);
        }
        if let Some(name) = after {
            self.put_forward(Claim::Name(name.clone()), claimant, work);
        }
    }

    /// Claims a thing. Whoever waits for it hears when it has another owner.
    fn put_forward(&mut self, claim: Claim, claimant: Claimant, work: &mut Work) {
        if self.claims.add(claim.clone(), claimant).is_some() {
            work.dirty.extend(self.claims.others(&claim).cloned());
        }
    }

    /// Gives a claim up, with the same consequence.
    fn take_back(&mut self, claim: &Claim, claimant: &Claimant, work: &mut Work) {
        if let Some(heir) = self.claims.remove(claim, claimant) {
            work.dirty.insert(heir);
            work.dirty.extend(self.claims.others(claim).cloned());
        }
    }

    fn exchange_claims(
        &mut self,
        id: &InterfaceId,
        before: &[(Claim, Strength)],
        after: &[(Claim, Strength)],
        work: &mut Work,
    ) {
        let claimant = |strength: Strength| Claimant { strength, interface: id.clone() };
        for (claim, strength) in before.iter().filter(|claim| !after.contains(claim)) {
            self.take_back(claim, &claimant(*strength), work);
            self.touch_address(claim, work);
        }
        for (claim, strength) in after.iter().filter(|claim| !before.contains(claim)) {
            self.put_forward(claim.clone(), claimant(*strength), work);
            self.touch_address(claim, work);
        }
        let routes = before.iter().chain(after).filter(|(_, strength)| *strength == Strength::Route);
        work.dirty_routes.extend(routes.map(|(claim, _)| claim.clone()));
    }

    /// A pod that has a gateway's address takes its place, and that of an address seen from another VPN.
    fn touch_address(&self, claim: &Claim, work: &mut Work) {
        match claim {
            Claim::Address(vpn, address) => {
                let gateway = (vpn.clone(), *address);
                if self.gateways.contains_key(&gateway) {
                    work.touched.gateways.insert(gateway);
                }
                work.touched.node_sides.extend(self.switches_of_node_address(*address));
                // Who routes by this address says so.
                let by_it = self.via.get(&(vpn.clone(), *address)).into_iter().flatten();
                work.dirty.extend(by_it.map(|(_, writer)| InterfaceId::hand_made(writer)));
                self.touch_leaks(vpn, IpNetwork::from(*address), work);
            }
            Claim::Route(vpn, prefix) => self.touch_leaks(vpn, *prefix, work),
            Claim::Name(_) | Claim::Mac(..) | Claim::Port(..) | Claim::Tag(..) | Claim::HostPort(..) => {}
        }
    }

    fn draft(&mut self, id: &InterfaceId, wanted: &Wanted, allocator: &mut dyn Allocator) -> Draft {
        let mut interface = Interface::unknown(id);
        let mut claims = SmallVec::new();
        let name = match &wanted.name {
            Ok(name) => name.clone(),
            Err(reasons) => {
                interface.pending = reasons.clone();
                return Draft { interface, claims };
            }
        };
        if let Some(owner) = self.claims.owner(&Claim::Name(name.clone())).filter(|owner| *owner != id) {
            interface.pending.push(Reason::NameTaken { name, owner: owner.said() });
            return Draft { interface, claims };
        }
        let Some(elan) = wanted.elan.clone() else { return Draft { interface, claims } };
        let vpn = wanted.vpn.clone();
        let lport = self.ids.acquire(allocator, Pool::Interfaces, &name).map(LportTag);
        if lport.is_none() {
            interface.pending.push(Reason::PoolExhausted("logical port tags"));
        }
        interface.pending.extend(wanted.pending.iter().cloned());
        self.attach(&mut interface, &mut claims, &name, &elan, wanted);
        let networks = [Some(&elan), vpn.as_ref(), wanted.network_id.as_ref()];
        let networks = || networks.into_iter().flatten().filter_map(|id| self.networks.get(id));
        interface.dhcp = networks().any(Network::serves_v4);
        interface.dhcp_v6 = networks().any(Network::serves_v6);
        interface.relays = networks().any(|network| network.is_relay(&name));
        // A lease gives an address to an interface that is configured without one of that version.
        let without = |ip: &IpAddr| !wanted.addresses.iter().any(|own| own.ip.is_ipv4() == ip.is_ipv4());
        let leases = self.leases.get(&name).into_iter().flat_map(Lease::addresses).filter(without);
        let leased: SmallVec<[_; 2]> = leases.map(|ip| WantedAddress { ip, gateway: None }).collect();
        let mut addresses = Vec::new();
        let configured = wanted.addresses.iter().map(|address| (address, Strength::Own));
        let leased = leased.iter().map(|address| (address, Strength::Leased));
        for (address, strength) in configured.chain(leased) {
            let (ip, router) = (address.ip, address.gateway);
            if !usable(ip) {
                interface.pending.push(Reason::UnusableAddress(ip));
                continue;
            }
            // Without a VPN it is switched and not routed: the address tells nobody but its ELAN.
            if let Some(vpn) = &vpn {
                claims.push((Claim::Address(vpn.clone(), ip), strength));
                let internet = wanted.internet.iter().filter(|_| ip.is_ipv6());
                claims.extend(internet.map(|vpn| (Claim::Address(vpn.clone(), ip), strength)));
            }
            let routed = vpn.is_some();
            let given = router.map(|address| Gateway { address, source: GatewaySource::Adjacency });
            let found = || {
                let gateway = self.gateway(ip, strength, wanted.host, networks())?;
                interface.notes.extend(gateway.note(ip));
                (gateway.address != ip).then_some(gateway)
            };
            let gateway = if routed { given.or_else(found) } else { None };
            addresses.push(Address::new(ip, gateway));
        }
        if addresses.is_empty() && wanted.addresses.is_empty() && vpn.is_some() {
            interface.pending.push(Reason::NoAddress);
        }
        interface.addresses = addresses.into();
        if let Some(vpn) = &vpn {
            self.draft_routes(&mut interface, &mut claims, vpn, wanted);
            self.draft_host_ports(&mut interface, &mut claims, wanted);
        }
        self.draft_limits(&mut interface, &name, wanted, allocator);
        let segment = wanted.segment.clone();
        let internet = wanted.internet.clone();
        interface.identity = Some(Identity { name, elan, vpn, internet, segment, lport });
        Draft { interface, claims }
    }

    /// Finds the port and the MAC address.
    fn attach(
        &self,
        interface: &mut Interface,
        claims: &mut SmallVec<[(Claim, Strength); 3]>,
        name: &Text,
        elan: &Text,
        wanted: &Wanted,
    ) {
        if let Some(text) = &wanted.bad_mac {
            interface.pending.push(Reason::BadMac(text.clone()));
            return;
        }
        let located = self.locate(interface, name, wanted);
        // The MAC address of a trunk is that of the machine behind it.
        let attached = located.filter(|_| wanted.vlan.is_none()).and_then(|(_, port)| port.attached_mac);
        let mac = wanted.mac.or(attached);
        // A configured address is claimed before its port appears, so that a second pod with it is refused.
        if let Some(mac) = mac {
            claims.push((Claim::Mac(elan.clone(), mac), Strength::Own));
        }
        claims.extend(wanted.tag().map(|claim| (claim, Strength::Own)));
        let Some((dpid, port)) = located else {
            interface.pending.push(match (&wanted.port, wanted.vlan) {
                (Some(trunk), Some(_)) => Reason::NoTrunkPort { trunk: trunk.clone() },
                (Some(port), None) => Reason::NoParent { port: port.clone(), name: name.clone() },
                (None, _) => Reason::NoPort { name: name.clone() },
            });
            return;
        };
        let Some(mac) = mac else {
            interface.pending.push(Reason::NoMac);
            return;
        };
        let vlan = wanted.vlan;
        claims.push((Claim::Port(dpid, port.ofport.0, vlan), Strength::Own));
        interface.attachment =
            Some(Attachment { dpid, port: port.id.name.clone(), ofport: port.ofport, vlan, mac });
        interface.mac_text = port.mac_text.clone().filter(|_| port.attached_mac == Some(mac));
    }

    /// What is to be said of the switch that an interface is plugged into. One that is not plugged in would not hear of its changes.
    fn note_switch(&self, interface: &mut Interface, wanted: &Wanted) {
        let Some(dpid) = interface.plugged().map(|(_, _, attachment)| attachment.dpid) else { return };
        let Some(switch) = self.switches.get(&dpid) else { return };
        let mut notes = Vec::new();
        // The host of a pod in a virtual machine is that machine.
        let host = wanted.host.filter(|_| wanted.vlan.is_none());
        if let (Some(at), Some(host)) = (switch.local_ip, host)
            && !self.is_node(host, IpAddr::V4(at))
        {
            notes.push(Reason::PortElsewhere { switch: dpid, at, host });
        }
        if switch.local_ip.is_none() {
            notes.push(Reason::NoTunnelAddress(dpid));
        } else if switch.tunnel.is_none() {
            notes.push(Reason::NoTunnelPort(dpid));
        }
        notes.extend(self.no_prefix(dpid).cloned());
        interface.notes.splice(0..0, notes);
    }

    /// The port that carries this interface: of several with its name, the one on the pod's own node, else of the lowest dpid;
    /// the parent that is named, where there is none with its name. Of a sub-port the trunk's name takes the place of its own.
    fn locate(&self, interface: &mut Interface, name: &Text, wanted: &Wanted) -> Option<(Dpid, &Port)> {
        let name = wanted.port.as_ref().filter(|_| wanted.vlan.is_some()).unwrap_or(name);
        let named = self.ports_by_iface.get(name).into_iter().flat_map(|ports| ports.iter().cloned());
        let mut candidates: SmallVec<[PortId; 2]> = named.collect();
        if candidates.is_empty()
            && let Some(parent) = &wanted.port
        {
            let ids =
                self.bridges.keys().map(|node_id| PortId { node_id: node_id.clone(), name: parent.clone() });
            candidates.extend(ids.filter(|id| self.ports.contains_key(id)));
        }
        let ports = candidates.iter().filter_map(|id| {
            let dpid = self.bridges.get(&id.node_id)?.dpid;
            let switch = self.switches.get(&dpid).filter(|switch| switch.node_id == id.node_id)?;
            let at_home = |host| switch.local_ip.is_some_and(|local| self.is_node(host, IpAddr::V4(local)));
            let at_home = wanted.host.is_some_and(at_home);
            Some((!at_home, dpid, self.ports.get(id)?))
        });
        let ports: SmallVec<[_; 2]> = ports.collect();
        let (_, dpid, port) = ports.iter().min_by_key(|(away, dpid, port)| (*away, *dpid, port.ofport))?;
        if ports.len() > 1 {
            interface.notes.push(Reason::SeveralPorts { name: name.clone(), switch: *dpid });
        }
        Some((*dpid, *port))
    }

    /// Do these two addresses belong to one node?
    fn is_node(&self, host: IpAddr, other: IpAddr) -> bool {
        host == other
            || self
                .nodes_by_address
                .get(&host)
                .into_iter()
                .flatten()
                .any(|uid| self.nodes.get(uid).is_some_and(|node| node.has_address(other)))
    }

    /// The router of an address: what its pool says, its node's range, the first of its pool, the first of its /24 or fe80::1. It
    /// may be the address itself. Of an address that was leased the pool comes before the range: where it says nothing, its
    /// first address is the server that the client renews at, and has to answer.
    fn gateway<'a>(
        &'a self,
        address: IpAddr,
        strength: Strength,
        host: Option<IpAddr>,
        networks: impl Iterator<Item = &'a Network> + Clone,
    ) -> Option<Gateway> {
        let pools = || {
            let pools = networks.clone().flat_map(|network| &network.pools);
            pools.filter(|pool| pool.subnet.contains(address))
        };
        let cidr = || {
            let nodes = self.nodes_by_address.get(&host?)?;
            let cidrs = nodes.iter().filter_map(|uid| self.nodes.get(uid)?.pod_cidr);
            let first = cidrs.filter(|cidr| cidr.contains(address)).find_map(first_of)?;
            Some((first, GatewaySource::PodCidr))
        };
        let server = || {
            let pool = pools().next().filter(|pool| pool.subnet.is_ipv4())?;
            Some((pool.server(), GatewaySource::Pool))
        };
        let said = pools().find_map(|pool| pool.gateway).map(|gateway| (gateway, GatewaySource::Pool));
        let found = match strength {
            Strength::Leased => said.or_else(server).or_else(cidr),
            _ => said.or_else(cidr).or_else(server),
        };
        let (gateway, source) = found.unwrap_or_else(|| match address {
            IpAddr::V4(address) => {
                let [a, b, c, _] = address.octets();
                (IpAddr::V4(Ipv4Addr::new(a, b, c, 1)), GatewaySource::Assumed)
            }
            IpAddr::V6(_) => (IpAddr::V6(LINK_LOCAL_GATEWAY), GatewaySource::LinkLocal),
        });
        let routes = usable(gateway) || gateway == LINK_LOCAL_GATEWAY;
        routes.then_some(Gateway { address: gateway, source })
    }

    /// Takes away from an interface what is somebody else's.
    fn conclude(&self, interface: &mut Interface, claims: &[(Claim, Strength)]) {
        for (claim, strength) in claims {
            let Some(first) = self.claims.first(claim) else { continue };
            let is_shared = *strength == Strength::Route && first.strength == Strength::Route;
            if is_shared || first.interface == interface.id {
                continue;
            }
            let owner = self.name_of(&first.interface);
            match claim {
                // A prefix is nobody's own.
                Claim::Name(_) | Claim::Route(..) => {}
                Claim::Port(switch, ofport, vlan) => {
                    let (switch, ofport, vlan) = (*switch, *ofport, *vlan);
                    interface.attachment = None;
                    interface.pending.push(Reason::PortTaken { switch, ofport, vlan, owner });
                }
                Claim::Tag(trunk, vlan) => {
                    interface.attachment = None;
                    let (trunk, vlan) = (trunk.clone(), *vlan);
                    interface.pending.push(Reason::TagTaken { trunk, vlan, owner });
                }
                Claim::HostPort(place, transport, port) => {
                    interface.quit_door(*place, *transport, *port, owner);
                }
                Claim::Mac(elan, mac) => {
                    interface.attachment = None;
                    interface.pending.push(Reason::MacTaken { mac: *mac, owner, elan: elan.clone() });
                }
                Claim::Address(vpn, address) => {
                    let others = interface.addresses.iter().filter(|own| own.ip != *address);
                    interface.addresses = others.cloned().collect();
                    interface.quit_route(IpNetwork::from(*address));
                    interface.pending.push(Reason::AddressTaken {
                        address: *address,
                        owner,
                        vpn: vpn.clone(),
                    });
                }
            }
        }
        interface.quit_lost_hops();
    }

    /// How an interface is spoken of: by its name, or by its uids while it has none.
    fn name_of(&self, id: &InterfaceId) -> Text {
        let name = self.wanted(id).and_then(|wanted| wanted.name.ok());
        name.unwrap_or_else(|| id.to_string().into())
    }

    fn index(
        &mut self,
        before: Option<&Entry>,
        interface: &Interface,
        network_id: Option<&Text>,
        allocator: &mut dyn Allocator,
        work: &mut Work,
    ) {
        let id = &interface.id;
        let old_network = before.and_then(|entry| entry.network_id.as_ref());
        if old_network != network_id {
            if let Some(network) = old_network {
                remove_from(&mut self.interfaces_by_network_id, network, id);
            }
            if let Some(network) = network_id {
                self.interfaces_by_network_id.entry(network.clone()).or_default().insert(id.clone());
            }
        }
        self.join(before.map(|entry| &entry.interface), interface, allocator, work);
    }
}

impl Interface {
    fn unknown(id: &InterfaceId) -> Interface {
        Interface {
            id: id.clone(),
            identity: None,
            attachment: None,
            addresses: Box::default(),
            routes: Box::default(),
            doors: Box::default(),
            limits: None,
            dhcp: false,
            dhcp_v6: false,
            relays: false,
            pending: Vec::new(),
            notes: Vec::new(),
            mac_text: None,
        }
    }
}

/// The first address after a prefix's own: its router, by convention. Prefixes that have no room for one have none.
fn first_of(cidr: IpNetwork) -> Option<IpAddr> {
    match cidr {
        IpNetwork::V4(cidr) if cidr.prefix() < 31 => cidr.nth(1).map(IpAddr::V4),
        IpNetwork::V6(cidr) if cidr.prefix() < 127 => {
            Some(IpAddr::V6(Ipv6Addr::from_bits(cidr.network().to_bits() + 1)))
        }
        _ => None,
    }
}
