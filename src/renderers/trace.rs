//! Where a traced packet begins, what stands on the switches on its way, and what is behind their ports.

use std::fmt::Display;
use std::net::IpAddr;
use std::sync::Arc;

use openflow_rs::Field;

use super::Engine;
use super::rendered::Item;
use crate::model::{Attachment, Claim, Interface, Model};
use crate::net::{Dpid, MacAddr, OfPort};
use crate::pipeline::evaluate::Packet;
use crate::pipeline::{Flow, Group};
use crate::schema::Text;

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Tcp,
    Udp,
    Sctp,
    /// An echo request, of the version of the addresses.
    Icmp,
    /// A request for the target's MAC, to everybody.
    Arp,
    /// A neighbour solicitation for the target (RFC 4861).
    Nd,
    /// A client's request for an address (RFC 2131); it has no target.
    Dhcp,
}

/// Which packet to trace.
#[derive(Clone, Debug)]
pub struct TraceQuery {
    /// A pod: `<namespace>:<pod>`, `<namespace>/<pod>`, its uid, or its name if no other has it.
    pub from: String,
    /// A pod, or an address.
    pub to: String,
    pub protocol: Protocol,
    /// Destination port of TCP, UDP and SCTP.
    pub port: u16,
    /// By IPv6, even where both ends have IPv4 addresses, which otherwise come first.
    pub by_v6: bool,
}

/// Where frames of one kind leave a switch, and come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    pub dpid: Dpid,
    pub port: OfPort,
    /// Their tag there, if they have one.
    pub vlan: Option<u16>,
}

impl Exit {
    /// Of a packet as it is on the port.
    pub fn of(dpid: Dpid, port: OfPort, packet: &Packet) -> Exit {
        let vlan = packet.is_tagged().then(|| packet.get(Field::VlanVid) as u16 & 0xfff);
        Exit { dpid, port, vlan }
    }

    fn behind(attachment: &Attachment) -> Exit {
        Exit { dpid: attachment.dpid, port: attachment.ofport, vlan: attachment.vlan }
    }
}

/// A packet as it enters the first switch.
#[derive(Clone, Debug)]
pub struct Start {
    pub dpid: Dpid,
    pub packet: Packet,
    /// The interface that sends it.
    pub from: Text,
    /// The interface that should get it, and where that is.
    pub to: Option<(Text, Exit)>,
    /// Whether it goes to the gateway, not to one on its link: then it is never flooded.
    pub is_routed: bool,
    /// Who answers for the target, or which way the packet is sent.
    pub notes: Vec<String>,
}

/// Why there is no packet to trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    #[error("there is no pod {0:?}; say <namespace>:<pod>, a uid, or a name (coeus pods lists them)")]
    NoPod(String),
    #[error("several pods are called {0:?}: {1}; say <namespace>:<pod>")]
    Several(String, String),
    #[error("{0} cannot send anything yet: {1}")]
    NotReady(String, String),
    #[error("{0} and {1} have no addresses of the same version")]
    Versions(String, String),
    #[error("{0}: {1}")]
    Protocol(String, &'static str),
}

/// The first port that a system gives to a client (IANA, dynamic ports).
const CLIENT_PORT: u16 = 49_152;
const BROADCAST: MacAddr = MacAddr([0xff; 6]);

impl Engine {
    /// The packet that a query means, as the source pod would send it.
    ///
    /// # Errors
    /// Names the pod that is not there, or not ready.
    pub fn trace_start(&self, query: &TraceQuery) -> Result<Start, TraceError> {
        let model = self.model();
        let source = find(model, &query.from)?;
        let (identity, _, attachment) = source.plugged().ok_or_else(|| not_ready(source, &query.from))?;
        let mut start = Start {
            dpid: attachment.dpid,
            packet: Packet::new()
                .with(Field::InPort, attachment.ofport.0)
                .with(Field::EthSrc, attachment.mac.to_u64()),
            from: identity.name.clone(),
            to: None,
            is_routed: false,
            notes: Vec::new(),
        };
        if let Some(id) = attachment.vlan {
            start.packet = start.packet.tagged(id);
        }
        if query.protocol == Protocol::Dhcp {
            let broadcast = IpAddr::from([255; 4]);
            ip(&mut start.packet, IpAddr::from([0; 4]), broadcast);
            udp(&mut start.packet, 68, 67);
            start.packet.set(Field::EthDst, BROADCAST.to_u64().into());
            return Ok(start);
        }
        let target = match query.to.parse::<IpAddr>() {
            Ok(address) => {
                let vpn = identity.vpn.clone();
                let owner = vpn.and_then(|vpn| model.owner(&Claim::Address(vpn, address)));
                Target { address: Some(address), interface: owner.and_then(|id| model.interface(id)) }
            }
            Err(_) => Target { address: None, interface: Some(find(model, &query.to)?) },
        };
        let (from, to) = addresses(source, &target, query)?;
        if let Some((to, _, attachment)) = target.interface.and_then(Interface::plugged) {
            start.to = Some((to.name.clone(), Exit::behind(attachment)));
        }
        let gateway = model.vpn_of(identity).and_then(|vpn| vpn.gateway_mac());
        start.fill(query, from, to)?;
        if start.packet.get(Field::EthDst) == 0 {
            let mac = start.next_hop(model, source, &target, to, gateway);
            start.packet.set(Field::EthDst, mac.to_u64().into());
            start.is_routed = gateway == Some(mac);
        }
        Ok(start)
    }

    /// Flows and groups that a switch should hold.
    pub fn held_by(&self, switch: Dpid) -> (Vec<Arc<Flow>>, Vec<Arc<Group>>) {
        let (mut flows, mut groups) = (Vec::new(), Vec::new());
        for (_, output) in self.outputs() {
            flows
                .extend(output.sheaves().filter(|sheaf| sheaf.is_on(switch)).flat_map(|sheaf| sheaf.flows()));
            groups.extend(output.others().filter_map(|item| match item {
                Item::Group(dpid, group) if dpid == switch => Some(group),
                _ => None,
            }));
        }
        (flows, groups)
    }

    /// The switch at the end of a tunnel, and the port at which a packet arrives there: the same kind as it left by.
    pub fn tunnel_end(&self, from: Dpid, port: OfPort, address: IpAddr) -> Option<(Dpid, OfPort)> {
        let model = self.model();
        let ends =
            |local: Option<std::net::Ipv4Addr>| local.is_some_and(|local| IpAddr::from(local) == address);
        let (dpid, _) = model.switches().find(|(_, switch)| ends(switch.local_ip))?;
        let is_gre = model.gre(from).is_some_and(|(_, tunnel)| tunnel.ofport == port);
        let tunnel = if is_gre { model.gre(dpid) } else { model.tunnel(dpid) };
        Some((dpid, tunnel?.1.ofport))
    }

    /// Where a switch's tunnels end.
    pub fn tunnel_address(&self, switch: Dpid) -> Option<std::net::Ipv4Addr> {
        self.model().switch(switch)?.local_ip
    }

    /// Whether a port leads into the tunnel.
    pub fn is_tunnel(&self, switch: Dpid, port: OfPort) -> bool {
        let model = self.model();
        let ends = [model.tunnel(switch), model.gre(switch)];
        ends.into_iter().flatten().any(|(_, tunnel)| tunnel.ofport == port)
    }

    /// The interface whose frames leave there.
    pub fn interface_at(&self, exit: Exit) -> Option<Text> {
        let id = self.model().owner(&Claim::Port(exit.dpid, exit.port.0, exit.vlan))?;
        Some(self.model().interface(id)?.identity.as_ref()?.name.clone())
    }
}

/// What the packet is for: an address, an interface, or both.
struct Target<'a> {
    address: Option<IpAddr>,
    interface: Option<&'a Interface>,
}

/// The interface that somebody means.
fn find<'a>(model: &'a Model, name: &str) -> Result<&'a Interface, TraceError> {
    if let Some(interface) = model.interface_named(&name.replacen('/', ":", 1)) {
        return Ok(interface);
    }
    let means = |interface: &&Interface| {
        *interface.id.pod == *name
            || *interface.id.uid == *name
            || model.pod(&interface.id.pod).is_some_and(|pod| pod.name.as_deref() == Some(name))
    };
    let found: Vec<&Interface> = model.interfaces().filter(means).collect();
    match found[..] {
        [] => Err(TraceError::NoPod(name.to_owned())),
        [one] => Ok(one),
        // Further interfaces of one pod: the first is meant.
        [first, ..] if found.iter().all(|other| other.id.pod == first.id.pod) => Ok(first),
        _ => {
            let names = found.iter().filter_map(|one| Some(one.identity.as_ref()?.name.to_string()));
            Err(TraceError::Several(name.to_owned(), names.collect::<Vec<_>>().join(", ")))
        }
    }
}

fn not_ready(interface: &Interface, name: &str) -> TraceError {
    let reasons: Vec<String> = interface.pending.iter().map(ToString::to_string).collect();
    let reasons = if reasons.is_empty() { "it is not plugged in".into() } else { reasons.join("; ") };
    TraceError::NotReady(name.to_owned(), reasons)
}

/// Addresses of one version: the source's first for which the target has one.
fn addresses(
    source: &Interface,
    target: &Target<'_>,
    query: &TraceQuery,
) -> Result<(IpAddr, IpAddr), TraceError> {
    let wanted = |address: &IpAddr| match query.protocol {
        Protocol::Arp => address.is_ipv4(),
        Protocol::Nd => address.is_ipv6(),
        _ => address.is_ipv6() || !query.by_v6,
    };
    let mine: Vec<IpAddr> = source.addresses.iter().map(|address| address.ip).filter(wanted).collect();
    let theirs: Vec<IpAddr> = match (target.address, target.interface) {
        (Some(address), _) => vec![address],
        (None, Some(interface)) => interface.addresses.iter().map(|address| address.ip).collect(),
        (None, None) => Vec::new(),
    };
    let lacks = if query.by_v6 { "it has no IPv6 address" } else { "it has no address" };
    if mine.is_empty() {
        return Err(TraceError::NotReady(query.from.clone(), lacks.into()));
    }
    if theirs.is_empty() {
        return Err(TraceError::NotReady(query.to.clone(), lacks.into()));
    }
    let pair = mine.iter().find_map(|mine| {
        theirs.iter().find(|their| their.is_ipv4() == mine.is_ipv4()).map(|their| (*mine, *their))
    });
    pair.ok_or_else(|| TraceError::Versions(query.from.clone(), query.to.clone()))
}

impl Start {
    /// Everything but the destination MAC, unless that follows from the address alone.
    fn fill(&mut self, query: &TraceQuery, from: IpAddr, to: IpAddr) -> Result<(), TraceError> {
        let packet = &mut self.packet;
        let source_mac = packet.get(Field::EthSrc);
        match (query.protocol, from, to) {
            (Protocol::Arp, IpAddr::V4(from), IpAddr::V4(to)) => {
                packet.set(Field::EthType, 0x0806);
                packet.set(Field::ArpOp, 1);
                packet.set(Field::ArpSpa, from.to_bits().into());
                packet.set(Field::ArpTpa, to.to_bits().into());
                packet.set(Field::ArpSha, source_mac);
                packet.set(Field::EthDst, BROADCAST.to_u64().into());
            }
            (Protocol::Arp, ..) => {
                return Err(TraceError::Protocol(query.to.clone(), "ARP is for IPv4; say --proto nd"));
            }
            (Protocol::Nd, IpAddr::V6(_), IpAddr::V6(asked)) => {
                // The solicited-node address ends in the last three bytes of the target (RFC 4291 section 2.7.1).
                let group = 0xff02_u128 << 112 | 0x1_ff00_0000 | asked.to_bits() & 0xff_ffff;
                ip(packet, from, IpAddr::V6(group.into()));
                packet.set(Field::IpTtl, 255);
                packet.set(Field::IpProto, 58);
                packet.set(Field::Icmpv6Type, 135);
                packet.set(Field::NdTarget, asked.to_bits());
                packet.set(Field::NdSll, source_mac);
                packet.set(Field::EthDst, 0x3333_0000_0000 | group & 0xffff_ffff);
            }
            (Protocol::Nd, ..) => {
                return Err(TraceError::Protocol(
                    query.to.clone(),
                    "neighbour discovery is for IPv6; say --proto arp",
                ));
            }
            (protocol, from, to) => {
                ip(packet, from, to);
                match protocol {
                    Protocol::Tcp => {
                        packet.set(Field::IpProto, 6);
                        packet.set(Field::TcpSrc, CLIENT_PORT.into());
                        packet.set(Field::TcpDst, query.port.into());
                        packet.set(Field::TcpFlags, 2);
                    }
                    Protocol::Udp => udp(packet, CLIENT_PORT, query.port),
                    Protocol::Sctp => {
                        packet.set(Field::IpProto, 132);
                        packet.set(Field::SctpSrc, CLIENT_PORT.into());
                        packet.set(Field::SctpDst, query.port.into());
                    }
                    _ if from.is_ipv4() => {
                        packet.set(Field::IpProto, 1);
                        packet.set(Field::IcmpType, 8);
                    }
                    _ => {
                        packet.set(Field::IpProto, 58);
                        packet.set(Field::Icmpv6Type, 128);
                    }
                }
                if let Some(mac) = group_mac(to) {
                    packet.set(Field::EthDst, mac);
                }
            }
        }
        Ok(())
    }

    /// The MAC that answers for the target: that of a pod of the same ELAN, or the gateway's.
    fn next_hop(
        &mut self,
        model: &Model,
        source: &Interface,
        target: &Target<'_>,
        to: IpAddr,
        gateway: Option<MacAddr>,
    ) -> MacAddr {
        let elan = |interface: &Interface| interface.identity.as_ref().map(|identity| identity.elan.clone());
        let plugged = target.interface.and_then(Interface::plugged);
        if let (Some((identity, _, attachment)), Some(interface)) = (plugged, target.interface)
            && elan(interface) == elan(source)
        {
            self.note(format!("{} is in the same ELAN: its own MAC answers for {to}", identity.name));
            return attachment.mac;
        }
        let vpn = source.identity.as_ref().and_then(|identity| identity.vpn.clone());
        let Some(vpn) = vpn else {
            self.note("the source is in an ELAN only: nobody routes for it");
            return BROADCAST;
        };
        let other = target.interface.and_then(|interface| interface.identity.as_ref());
        match other {
            _ if model.is_gateway(&vpn, to) => self.note(format!("{to} is a gateway: the switch itself")),
            Some(other) if other.vpn.as_ref() == Some(&vpn) => {
                self.note(format!("{} is in another ELAN: it is sent to the gateway", other.name));
            }
            Some(other) => self.note(format!(
                "{} is in the VPN {}, the source in {vpn}: it is sent to the gateway",
                other.name,
                other.vpn.as_deref().unwrap_or("(none)")
            )),
            None => self.note(format!("no pod of the VPN {vpn} has {to}: it is sent to the gateway")),
        }
        gateway.unwrap_or(BROADCAST)
    }

    fn note(&mut self, note: impl Display) {
        self.notes.push(note.to_string());
    }
}

fn ip(packet: &mut Packet, from: IpAddr, to: IpAddr) {
    packet.set(Field::IpTtl, 64);
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            packet.set(Field::EthType, 0x0800);
            packet.set(Field::Ipv4Src, from.to_bits().into());
            packet.set(Field::Ipv4Dst, to.to_bits().into());
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            packet.set(Field::EthType, 0x86dd);
            packet.set(Field::Ipv6Src, from.to_bits());
            packet.set(Field::Ipv6Dst, to.to_bits());
        }
        _ => {}
    }
}

fn udp(packet: &mut Packet, from: u16, to: u16) {
    packet.set(Field::IpProto, 17);
    packet.set(Field::UdpSrc, from.into());
    packet.set(Field::UdpDst, to.into());
}

/// The MAC of a broadcast or multicast address (RFC 1112 section 6.4, RFC 2464 section 7).
fn group_mac(address: IpAddr) -> Option<u128> {
    match address {
        IpAddr::V4(address) if address.is_broadcast() => Some(BROADCAST.to_u64().into()),
        IpAddr::V4(address) if address.is_multicast() => {
            Some(0x0100_5e00_0000 | u128::from(address.to_bits() & 0x7f_ffff))
        }
        IpAddr::V6(address) if address.is_multicast() => {
            Some(0x3333_0000_0000 | address.to_bits() & 0xffff_ffff)
        }
        _ => None,
    }
}
