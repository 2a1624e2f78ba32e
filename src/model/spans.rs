//! Who is where: ELANs and VPNs with their interfaces, by switch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::interface::InterfaceId;
use super::rows::NetworkType;
use crate::net::{Dpid, LportTag};

/// Interfaces whose lport tags share all but these bits share a broadcast chunk: at most 64 buckets.
pub const CHUNK_BITS: u32 = 6;

/// An `elan-instance`: the interfaces of one namespace on one node. It exists while it has interfaces.
#[derive(Clone, Debug, Default)]
pub struct Elan {
    pub vpn: Arc<str>,
    /// With the network type each asks for; the first one's type is shown.
    pub interfaces: BTreeMap<InterfaceId, NetworkType>,
    /// Attached interfaces by switch.
    pub members: BTreeMap<Dpid, BTreeSet<LportTag>>,
}

/// A `vpn-instance`: the interfaces of one namespace. It exists while it has interfaces.
#[derive(Clone, Debug, Default)]
pub struct Vpn {
    pub interfaces: BTreeSet<InterfaceId>,
    /// Number of attached interfaces by switch.
    pub members: BTreeMap<Dpid, usize>,
}

/// A part of an ELAN's local broadcast group on one switch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chunk {
    pub elan: Arc<str>,
    pub dpid: Dpid,
    /// The lport tags of its members without their low [`CHUNK_BITS`].
    pub number: u32,
}

impl Chunk {
    pub fn number_of(lport: LportTag) -> u32 {
        lport.0 >> CHUNK_BITS
    }
}

impl Elan {
    /// Attached interfaces of one chunk.
    pub fn chunk(&self, dpid: Dpid, number: u32) -> impl Iterator<Item = LportTag> + '_ {
        let first = LportTag(number << CHUNK_BITS);
        let next = LportTag((number + 1) << CHUNK_BITS);
        self.members.get(&dpid).into_iter().flat_map(move |members| members.range(first..next).copied())
    }

    /// Numbers of the chunks that have members on a switch, ascending.
    pub fn chunks(&self, dpid: Dpid) -> Vec<u32> {
        let mut numbers = Vec::new();
        let Some(members) = self.members.get(&dpid) else { return numbers };
        let mut next = LportTag(0);
        while let Some(lport) = members.range(next..).next() {
            let number = Chunk::number_of(*lport);
            numbers.push(number);
            next = LportTag((number + 1) << CHUNK_BITS);
        }
        numbers
    }
}
