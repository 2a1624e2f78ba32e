//! A pod's network interface with everything that is known about it.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use super::bandwidth::Limits;
use super::host_ports::Door;
use super::routes::Route;
use super::rows::LINK_LOCAL_GATEWAY;
use super::status::Reason;
use super::underlay::Segment;
use crate::net::{Dpid, LportTag, MacAddr, OfPort};
use crate::schema::{Text, shared_text};

/// Names one interface for as long as it exists: the two uids of a pod's; of one written by hand no pod and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InterfaceId {
    pub pod: Text,
    pub uid: Text,
}

impl InterfaceId {
    /// Of an interface that was written by hand, which no pod has.
    pub fn hand_made(name: &Text) -> InterfaceId {
        InterfaceId { pod: Text::new(), uid: name.clone() }
    }

    /// Behind all that were written by hand, and before those of pods.
    pub(super) fn first_of_pods() -> InterfaceId {
        InterfaceId { pod: "\u{0}".into(), uid: Text::new() }
    }

    /// Of what is no interface of ours: hosts outside. Behind all others.
    pub fn outside() -> InterfaceId {
        InterfaceId { pod: "\u{10ffff}".into(), uid: Text::new() }
    }

    pub fn is_outside(&self) -> bool {
        self.uid.is_empty() && *self.pod == *"\u{10ffff}"
    }

    pub fn is_hand_made(&self) -> bool {
        self.pod.is_empty()
    }

    /// How its owner is spoken of in a sentence.
    pub fn said(&self) -> Text {
        if self.is_hand_made() {
            format!("the interface {} written by hand", self.uid).into()
        } else {
            format!("pod {}", self.pod).into()
        }
    }
}

/// One interface, resolved from all rows that bear on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub id: InterfaceId,
    /// Who it is. Absent while name, namespace or host are missing, or while somebody else has the name.
    pub identity: Option<Identity>,
    /// Where it is plugged in. Absent while it cannot forward anything.
    pub attachment: Option<Attachment>,
    /// The addresses others reach it at, in the order of the configuration; those that somebody else has are missing.
    pub addresses: Box<[Address]>,
    /// Prefixes behind it, those that somebody else has missing.
    pub routes: Box<[Route]>,
    /// Places of its node that lead to it.
    pub doors: Box<[Door]>,
    /// How fast it may send and receive, if that is limited.
    pub limits: Option<Box<Limits>>,
    /// An IPv4 allocation pool applies: its DHCP requests are answered.
    pub dhcp: bool,
    /// The same of IPv6: routers are advertised to it, and its link-local address is its own, before it has another one.
    pub dhcp_v6: bool,
    /// Its pod may relay DHCP requests of others.
    pub relays: bool,
    /// What it waits for; empty when all of it is desired.
    pub pending: Vec<Reason>,
    /// What a reader should know though nothing is missing.
    pub notes: Vec<Reason>,
    /// The MAC address of the attachment as it is shown.
    pub mac_text: Option<Text>,
}

/// An address of an interface, and how it is shown: written out once, since many derived nodes hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub ip: IpAddr,
    pub gateway: Option<Gateway>,
    pub text: Text,
    /// The address as a prefix of all its bits.
    pub prefix: Text,
    pub gateway_text: Option<Text>,
}

/// The names that an interface has and belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `<namespace>:<pod>`, for further interfaces `<namespace>:<pod>:<first 8 digits of the uid>`.
    pub name: Text,
    /// `<host-ip-address>:<namespace>` of a pod.
    pub elan: Text,
    /// `<namespace>` of a pod. One without is switched only.
    pub vpn: Option<Text>,
    /// A second VPN, of its IPv6 addresses: reached there, and its way to what no route of the first leads to.
    pub internet: Option<Text>,
    pub segment: Segment,
    /// Absent only while the pool of logical port tags is used up.
    pub lport: Option<LportTag>,
}

impl Identity {
    /// All its VPNs.
    pub fn vpns(&self) -> impl Iterator<Item = &Text> {
        self.vpn.iter().chain(&self.internet)
    }
}

/// The switch port behind an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    pub dpid: Dpid,
    pub port: Text,
    pub ofport: OfPort,
    /// The tag of its frames on the port, which it shares with others then; `None`: they have none.
    pub vlan: Option<u16>,
    pub mac: MacAddr,
}

/// The router address an interface uses, and how it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gateway {
    pub address: IpAddr,
    pub source: GatewaySource,
}

impl Gateway {
    /// What is worth knowing of an address that has this gateway.
    pub(super) fn note(&self, address: IpAddr) -> Option<Reason> {
        match self.source {
            GatewaySource::Pool | GatewaySource::PodCidr if self.address == address => {
                Some(Reason::IsGateway(address))
            }
            GatewaySource::Assumed if self.address != address => Some(Reason::AssumedGateway(self.address)),
            _ => None,
        }
    }
}

/// Where a gateway address was taken from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatewaySource {
    /// An allocation pool whose subnet holds the interface's address: its gateway, or its first address where it names none.
    Pool,
    /// First address of the node's `pod-cidr`.
    PodCidr,
    /// The `.1` of an IPv4 address's /24: nothing better is configured.
    Assumed,
    /// `subnet_gateway_ip` of an adjacency.
    Adjacency,
    /// [`LINK_LOCAL_GATEWAY`]: nothing better is configured, and nothing better is needed.
    LinkLocal,
}

impl Interface {
    /// What it is called where its state is shown.
    pub fn object_name(&self) -> Text {
        match &self.identity {
            Some(identity) => identity.name.clone(),
            None => self.id.to_string().into(),
        }
    }

    /// Writes out what is known now.
    pub(super) fn spell(&mut self) {
        let known = self.mac_text.take();
        let written = |attachment: &Attachment| known.unwrap_or_else(|| attachment.mac.to_string().into());
        self.mac_text = self.attachment.as_ref().map(written);
    }

    /// The first address, for readers that know of one only.
    pub fn first_address(&self) -> Option<&Address> {
        self.addresses.first()
    }

    /// Whether it takes part in IPv6: routers and neighbours are answered for.
    pub fn has_ipv6(&self) -> bool {
        self.dhcp_v6 || self.addresses.iter().any(|address| address.ip.is_ipv6())
    }

    /// All routers it may ask for, each once.
    pub fn gateways(&self) -> BTreeSet<IpAddr> {
        let of_addresses = self.addresses.iter().filter_map(|address| Some(address.gateway?.address));
        let link_local = self.has_ipv6().then_some(IpAddr::V6(LINK_LOCAL_GATEWAY));
        of_addresses.chain(link_local).collect()
    }

    /// Identity, attachment and tag together: what every L2 flow needs.
    pub fn plugged(&self) -> Option<(&Identity, LportTag, &Attachment)> {
        let identity = self.identity.as_ref()?;
        Some((identity, identity.lport?, self.attachment.as_ref()?))
    }
}

impl Address {
    pub(super) fn new(ip: IpAddr, gateway: Option<Gateway>) -> Address {
        let bits = if ip.is_ipv4() { 32 } else { 128 };
        Address {
            ip,
            gateway,
            text: ip.to_string().into(),
            prefix: format!("{ip}/{bits}").into(),
            gateway_text: gateway.map(|gateway| shared_text(&gateway.address.to_string())),
        }
    }
}

impl fmt::Display for InterfaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // While it lacks something, another interface may be called so.
        let whose = if self.is_hand_made() { "by hand" } else { &self.pod };
        write!(f, "{whose}/{}", self.uid)
    }
}
