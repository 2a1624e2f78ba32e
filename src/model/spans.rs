//! Who is where: ELANs and VPNs with their interfaces, by switch.

use std::collections::{BTreeMap, BTreeSet};

use super::ids::FIRST_VPN_ID;
use super::interface::InterfaceId;
use super::underlay::Segment;
use crate::net::{Dpid, ElanTag, LportTag, MacAddr, OfPort, UnderlayMtu, Vni, VpnId};
use crate::schema::{Map, Text};

/// Interfaces whose lport tags share all but these bits share a broadcast chunk: at most 64 buckets.
pub const CHUNK_BITS: u32 = 6;

/// An `elan-instance`: the interfaces of one namespace on one node, or what was written by hand. It exists while it has
/// interfaces or is written.
#[derive(Clone, Debug, Default)]
pub struct Elan {
    /// Absent only while the pool of tags is used up.
    pub tag: Option<ElanTag>,
    /// Absent only while the pool of VNIs is used up.
    pub vni: Option<Vni>,
    /// With what each asks for; the first one decides.
    pub interfaces: Map<InterfaceId, Segment>,
    /// What was written by hand to carry it.
    pub written: Option<Segment>,
    /// Attached interfaces by switch and logical port tag.
    pub members: BTreeMap<Dpid, BTreeMap<LportTag, InterfaceId>>,
}

/// A `vpn-instance`: the interfaces of one namespace, or what was written by hand. It exists while it has interfaces or is
/// written.
#[derive(Clone, Debug, Default)]
pub struct Vpn {
    /// Absent only while the pool of ids is used up.
    pub id: Option<VpnId>,
    /// Route distinguisher, `100:1` for the first id: the key of a VPN's routes.
    pub rd: Option<Text>,
    /// [`Vpn::gateway_mac`] as it is shown.
    pub gateway_mac_text: Option<Text>,
    /// Absent only while the pool of VNIs is used up.
    pub l3_vni: Option<Vni>,
    pub interfaces: BTreeSet<InterfaceId>,
    /// Those with an IPv6 address.
    pub ipv6: BTreeSet<InterfaceId>,
    /// Number of attached interfaces by switch.
    pub members: BTreeMap<Dpid, usize>,
    /// The same switches by share.
    pub(super) shares: BTreeSet<(u8, Dpid)>,
    /// Attached interfaces with an address that no prefix covers.
    pub outside: BTreeSet<InterfaceId>,
}

/// Parts that the switches of a VPN are divided into, so that one more switch is work on one part.
pub const SHARES: u8 = 32;

/// The part that a switch belongs to in every VPN.
pub fn share_of(dpid: Dpid) -> u8 {
    // Fibonacci hashing: ids are counted up, or are MAC addresses of one maker.
    (dpid.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SHARES.trailing_zeros())) as u8
}

/// A switch: its integration bridge and the ports that lead to other nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    pub node_id: Text,
    pub local_ip: Option<std::net::Ipv4Addr>,
    /// Of its links to other nodes.
    pub underlay_mtu: UnderlayMtu,
    pub tunnel: Option<TunnelPort>,
    /// For networks that ask for GRE.
    pub gre: Option<TunnelPort>,
    /// Ports to physical networks, by the network's name.
    pub uplinks: BTreeMap<Text, OfPort>,
    /// The node's own.
    pub node: Option<NodePort>,
}

/// The node's own port of its switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodePort {
    pub ofport: OfPort,
    pub mac: MacAddr,
}

/// A flow-based tunnel port of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunnelPort {
    pub name: Text,
    pub ofport: OfPort,
    pub kind: TunnelKind,
}

/// What a tunnel wraps packets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelKind {
    Vxlan,
    Geneve,
    Gre,
}

/// A part of an ELAN's local broadcast group on one switch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chunk {
    pub elan: Text,
    pub dpid: Dpid,
    /// The lport tags of its members without their low [`CHUNK_BITS`].
    pub number: u32,
}

impl Chunk {
    /// The lowest tag that belongs to the chunk; it may be nobody's.
    pub fn first(&self) -> LportTag {
        Chunk::first_of(self.number)
    }

    /// The lowest tag of the chunk with this number.
    pub fn first_of(number: u32) -> LportTag {
        LportTag(number << CHUNK_BITS)
    }

    /// The number of the chunk a tag belongs to.
    pub fn number_of(lport: LportTag) -> u32 {
        lport.0 >> CHUNK_BITS
    }
}

/// The number before the colon of all our route distinguishers. Source: netvirt, `opendaylight-rd-ranges`.
const ROUTE_DISTINGUISHER_ADMIN: u32 = 100;

/// The router address's MAC in a VPN, the same on every switch: `02:c0:e5` and the VPN id.
pub fn gateway_mac(VpnId(id): VpnId) -> MacAddr {
    let [_, high, middle, low] = id.to_be_bytes();
    MacAddr([0x02, 0xc0, 0xe5, high, middle, low])
}

impl Vpn {
    pub(super) fn set_id(&mut self, id: VpnId, rd: Text) {
        self.id = Some(id);
        self.gateway_mac_text = self.gateway_mac().map(|mac| mac.to_string().into());
        self.rd = Some(rd);
    }

    /// The route distinguisher that goes with an id.
    pub(super) fn route_distinguisher(id: VpnId) -> Text {
        let number = id.0.wrapping_sub(FIRST_VPN_ID).wrapping_add(1);
        format!("{ROUTE_DISTINGUISHER_ADMIN}:{number}").into()
    }

    /// Whether a route distinguisher is one of those that go with ids: nobody else chooses one of them.
    pub(super) fn is_of_pool(rd: &str) -> bool {
        rd.split_once(':').is_some_and(|(admin, _)| admin == ROUTE_DISTINGUISHER_ADMIN.to_string())
    }

    /// The switches of one share.
    pub fn share(&self, share: u8) -> impl Iterator<Item = Dpid> + Clone {
        let of_share = (share, Dpid(0))..=(share, Dpid(u64::MAX));
        self.shares.range(of_share).map(|(_, dpid)| *dpid)
    }

    /// [`gateway_mac`] of this VPN.
    pub fn gateway_mac(&self) -> Option<MacAddr> {
        Some(gateway_mac(self.id?))
    }
}

impl Elan {
    /// Attached interfaces of one chunk.
    pub fn chunk(&self, dpid: Dpid, number: u32) -> impl Iterator<Item = LportTag> + '_ {
        let first = LportTag(number << CHUNK_BITS);
        let next = LportTag((number + 1) << CHUNK_BITS);
        self.members
            .get(&dpid)
            .into_iter()
            .flat_map(move |members| members.range(first..next).map(|(lport, _)| *lport))
    }

    /// Numbers of the chunks that have members on a switch, ascending.
    pub fn chunks(&self, dpid: Dpid) -> Vec<u32> {
        let mut numbers = Vec::new();
        let Some(members) = self.members.get(&dpid) else { return numbers };
        let mut next = LportTag(0);
        while let Some((lport, _)) = members.range(next..).next() {
            let number = Chunk::number_of(*lport);
            numbers.push(number);
            next = LportTag((number + 1) << CHUNK_BITS);
        }
        numbers
    }
}
