use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use super::interface::InterfaceId;
use super::spans::Chunk;
use crate::net::{Dpid, OfPort};

/// Everything that may look different after a commit. A thing that has gone is named, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Pods whose row changed.
    pub pods: BTreeSet<Arc<str>>,
    /// Interfaces of which anything changed.
    pub interfaces: BTreeSet<InterfaceId>,
    /// ELANs that came, went, or got their ids.
    pub elans: BTreeSet<Arc<str>>,
    /// VPNs that came, went, or got their ids.
    pub vpns: BTreeSet<Arc<str>>,
    /// An ELAN's first or last attached interface on a switch.
    pub elan_spans: BTreeSet<(Arc<str>, Dpid)>,
    /// A VPN's first or last attached interface on a switch.
    pub vpn_spans: BTreeSet<(Arc<str>, Dpid)>,
    /// Chunks of an ELAN's broadcast group whose buckets changed.
    pub chunks: BTreeSet<Chunk>,
    /// Local broadcast groups whose set of chunks changed.
    pub floods: BTreeSet<(Arc<str>, Dpid)>,
    /// Gateways (VPN and address) that came or went.
    pub gateways: BTreeSet<(Arc<str>, IpAddr)>,
    /// Port numbers of a bridge (its node id) whose port came, went or changed.
    pub port_numbers: BTreeSet<(Arc<str>, OfPort)>,
    /// Switches that came or went, or whose tunnel address or port changed.
    pub switches: BTreeSet<Dpid>,
}
