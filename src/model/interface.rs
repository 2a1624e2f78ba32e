//! A pod's network interface with everything that is known about it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::rows::NetworkType;
use super::status::Reason;
use crate::net::{Dpid, LportTag, MacAddr, OfPort};

/// Names one pod interface for as long as it exists: the two uids.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InterfaceId {
    pub pod: Arc<str>,
    pub uid: Arc<str>,
}

/// One pod interface, resolved from all rows that bear on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub id: InterfaceId,
    /// Who it is. Absent while name, namespace or host are missing, or while somebody else has the name.
    pub identity: Option<Identity>,
    /// Where it is plugged in. Absent while it cannot forward anything.
    pub attachment: Option<Attachment>,
    /// The address others reach it at. Absent while there is none, or while somebody else has it.
    pub address: Option<Ipv4Addr>,
    pub gateway: Option<Gateway>,
    /// An allocation pool applies: its DHCP requests are answered.
    pub dhcp: bool,
    /// What it waits for; empty when all of it is desired.
    pub pending: Vec<Reason>,
    /// What a reader should know though nothing is missing.
    pub notes: Vec<Reason>,
    pub texts: Texts,
}

/// Addresses as they are shown, made once: many derived nodes hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// Of the attachment.
    pub mac: Option<Arc<str>>,
    pub address: Option<Arc<str>>,
    /// The address as a prefix of 32 bits.
    pub prefix: Option<Arc<str>>,
    pub gateway: Option<Arc<str>>,
}

/// The names that an interface has and belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `<namespace>:<pod>`, for further interfaces `<namespace>:<pod>:<first 8 digits of the uid>`.
    pub name: Arc<str>,
    /// `<host-ip-address>:<namespace>`.
    pub elan: Arc<str>,
    /// `<namespace>`.
    pub vpn: Arc<str>,
    pub host: IpAddr,
    pub network_type: NetworkType,
    /// Absent only while the pool of logical port tags is used up.
    pub lport: Option<LportTag>,
}

/// The switch port behind an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    pub dpid: Dpid,
    pub port: Arc<str>,
    pub ofport: OfPort,
    pub mac: MacAddr,
}

/// The router address an interface uses, and how it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gateway {
    pub address: Ipv4Addr,
    pub source: GatewaySource,
}

/// Where a gateway address was taken from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatewaySource {
    /// An allocation pool whose subnet holds the interface's address.
    Pool,
    /// First address of the node's `pod-cidr`.
    PodCidr,
    /// The `.1` of the address's /24: nothing better is configured.
    Assumed,
}

impl Interface {
    /// Writes out what is known now.
    pub(super) fn spell(&mut self) {
        self.texts = Texts {
            mac: self.attachment.as_ref().map(|attachment| attachment.mac.to_string().into()),
            address: self.address.map(|address| address.to_string().into()),
            prefix: self.address.map(|address| format!("{address}/32").into()),
            gateway: self.gateway.map(|gateway| gateway.address.to_string().into()),
        };
    }

    /// Identity, attachment and tag together: what every L2 flow needs.
    pub fn plugged(&self) -> Option<(&Identity, LportTag, &Attachment)> {
        let identity = self.identity.as_ref()?;
        Some((identity, identity.lport?, self.attachment.as_ref()?))
    }
}

impl fmt::Display for InterfaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.pod, self.uid)
    }
}
