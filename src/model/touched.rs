use std::collections::BTreeSet;
use std::net::IpAddr;

use super::interface::InterfaceId;
use super::policies::PolicyItem;
use super::spans::Chunk;
use crate::net::{Dpid, OfPort};
use crate::schema::Text;

/// Everything that may look different after a commit. A thing that has gone is named, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Pods whose row changed.
    pub pods: BTreeSet<Text>,
    /// Interfaces of which anything changed.
    pub interfaces: BTreeSet<InterfaceId>,
    /// ELANs that came, went, or got their ids.
    pub elans: BTreeSet<Text>,
    /// VPNs that came, went, or got their ids.
    pub vpns: BTreeSet<Text>,
    /// An ELAN's first or last attached interface on a switch.
    pub elan_spans: BTreeSet<(Text, Dpid)>,
    /// A VPN's first or last attached interface on a switch.
    pub vpn_spans: BTreeSet<(Text, Dpid)>,
    /// Chunks of an ELAN's broadcast group whose buckets changed.
    pub chunks: BTreeSet<Chunk>,
    /// Local broadcast groups whose set of chunks changed.
    pub floods: BTreeSet<(Text, Dpid)>,
    /// Gateways (VPN and address) that came or went, on some switch.
    pub gateways: BTreeSet<(Text, IpAddr)>,
    /// Port numbers of a bridge (its node id) whose port came, went or changed.
    pub port_numbers: BTreeSet<(Text, OfPort)>,
    /// Switches that came or went, or whose tunnel address or port changed.
    pub switches: BTreeSet<Dpid>,
    /// Switches whose node has other addresses, or has one that an interface claims or no longer does.
    pub node_sides: BTreeSet<Dpid>,
    /// Nodes by the addresses that `source-nat` names them with, of which there is something else to say.
    pub node_sources: BTreeSet<IpAddr>,
    /// Switches that have another prefix.
    pub prefixes: BTreeSet<Dpid>,
    /// Pods may send larger packets to other nodes, or only smaller ones.
    pub underlay: bool,
    /// Floating addresses that may lead elsewhere.
    pub floating: BTreeSet<IpAddr>,
    /// External networks on switches that look different there.
    pub external: BTreeSet<(Text, Dpid)>,
    /// Who is on an external network, and where that is.
    pub neighbours: BTreeSet<(Text, IpAddr)>,
    /// Services, by uid, whose pods have other addresses outside.
    pub services: BTreeSet<Text>,
    /// Services of which anything changed.
    pub cluster_services: BTreeSet<Text>,
    /// Addresses of endpoints of which anything changed: who serves there, what, and where that is.
    pub endpoints: BTreeSet<IpAddr>,
    /// The tunnels of all pairs came or went.
    pub mesh: bool,
    /// What policies have on a switch.
    pub policies: BTreeSet<(Dpid, PolicyItem)>,
    /// Policies that select, or mean, other pods than before.
    pub policy_states: BTreeSet<Text>,
}
