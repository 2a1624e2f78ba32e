//! Groups and meters.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use bytes::BytesMut;
use openflow_rs::{
    Action, Bucket, GroupDesc, GroupType, MeterBand, MeterConfig,
    group::{decode_buckets, encode_bucket},
    meter,
};

use super::owner::{Feature, Owner, OwnerName};
use crate::net::{ElanTag, LportTag, Transport};

/// A group of one switch, its buckets encoded once.
#[derive(Clone, PartialEq, Eq)]
pub struct Group {
    pub id: u32,
    pub kind: GroupType,
    /// Buckets as on the wire.
    pub buckets: Box<[u8]>,
    /// Other groups that the buckets name: they must exist first.
    pub names: Box<[u32]>,
    /// What its buckets do to connections, if that is remembered.
    pub balanced: Option<Balanced>,
    pub owner: OwnerName,
}

/// The connections whose endpoint a group chooses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Balanced {
    /// Zone of connection tracking that remembers them.
    pub zone: u16,
    pub transport: Transport,
    /// Where their first packets go.
    pub destinations: Box<[(IpAddr, u16)]>,
    /// The endpoints that it chooses among.
    pub targets: BTreeSet<(IpAddr, u16)>,
}

/// A group that nobody answers for yet.
#[must_use = "a draft is not sent; give it an owner"]
pub struct GroupDraft {
    id: u32,
    kind: GroupType,
    /// As on the wire.
    buckets: BytesMut,
    names: Vec<u32>,
    balanced: Option<Balanced>,
}

/// Group ids of broadcast inside an ELAN. Netvirt numbers the first two alike.
pub mod broadcast_groups {
    use super::{ElanTag, LportTag};

    /// Logical ports a chunk group holds at most: one more port changes one small group.
    pub const CHUNK: u32 = 64;

    /// All local ports: the chunks.
    pub fn local(elan: ElanTag) -> u32 {
        200_000 + 2 * elan.0 - 1
    }

    /// All ports: the local ones and one copy for each other switch.
    pub fn full(elan: ElanTag) -> u32 {
        200_000 + 2 * elan.0
    }

    /// The local ports whose tags share all but the lowest six bits.
    pub fn chunk(elan: ElanTag, port: LportTag) -> u32 {
        0x4000_0000 | (elan.0 << 11) | ((port.0 / CHUNK) & 0x7ff)
    }

    /// Whether an id is one of these, whoever made the group.
    pub fn is_ours(id: u32) -> bool {
        (200_000..400_000).contains(&id) || id >> 27 == 0x4000_0000 >> 27
    }
}

/// Group ids of services: one for each port of a service and IP version.
pub mod service_groups {
    const FIRST: u32 = 0x2000_0000;
    const HERE: u32 = 0x0800_0000;
    const PART: u32 = 21;

    /// `number` is from the pool of service ports.
    pub fn of_port(number: u32, ipv6: bool) -> u32 {
        FIRST | number << 1 | u32::from(ipv6)
    }

    /// Of the same port, the endpoints of the switch alone.
    pub fn here(number: u32, ipv6: bool) -> u32 {
        HERE | of_port(number, ipv6)
    }

    /// Below one of these, a group of some of its endpoints.
    pub fn part(id: u32, number: u32) -> u32 {
        id | (number + 1) << PART
    }

    /// Whether an id is one of these, whoever made the group.
    pub fn is_ours(id: u32) -> bool {
        id >> 28 == FIRST >> 28
    }
}

/// Group ids of routes that several interfaces carry.
pub mod route_groups {
    const FIRST: u32 = 0x3000_0000;

    /// Over all interfaces; `number` is from the pool of routes.
    pub fn all(number: u32) -> u32 {
        FIRST | number << 1
    }

    /// Over those of this switch alone: for what came through a tunnel.
    pub fn here(number: u32) -> u32 {
        all(number) | 1
    }

    /// Whether an id is one of these, whoever made the group.
    pub fn is_ours(id: u32) -> bool {
        id >> 28 == FIRST >> 28
    }
}

/// Bytes of a bucket of few actions.
const BUCKET: usize = 64;

impl Group {
    /// Every bucket gets a copy.
    pub fn all(id: u32) -> GroupDraft {
        GroupDraft::of(id, GroupType::All)
    }

    /// One bucket, chosen by hash.
    pub fn select(id: u32) -> GroupDraft {
        GroupDraft::of(id, GroupType::Select)
    }

    /// The group as a switch reports it.
    pub fn description(&self) -> GroupDesc {
        GroupDesc {
            kind: self.kind,
            group: self.id,
            buckets: decode_buckets(&self.buckets).unwrap_or_default(),
        }
    }

    /// The addresses and ports that buckets translate connections to.
    pub fn targets_of(buckets: &[Bucket]) -> BTreeSet<(IpAddr, u16)> {
        let nat = |action: &Action| match action {
            Action::Ct(ct) => ct.nat.clone().filter(|nat| nat.destination),
            _ => None,
        };
        let target = |nat: openflow_rs::CtNat| {
            let four = nat.addresses.map(|(first, _)| IpAddr::V4(first));
            let six = nat.addresses_v6.map(|(first, _)| IpAddr::V6(first));
            Some((four.or(six)?, nat.ports?.0))
        };
        buckets.iter().flat_map(|bucket| &bucket.actions).filter_map(nat).filter_map(target).collect()
    }

    /// The groups that buckets lead to.
    pub fn named_by(buckets: &[Bucket]) -> impl Iterator<Item = u32> + '_ {
        buckets.iter().flat_map(|bucket| &bucket.actions).filter_map(group_of)
    }

    /// Canonical bytes of the buckets of a group that a switch reported.
    pub fn bucket_bytes(buckets: &[Bucket]) -> Box<[u8]> {
        let mut bytes = BytesMut::new();
        buckets.iter().for_each(|bucket| bucket.encode(&mut bytes));
        bytes.as_ref().into()
    }
}

/// The group that an action leads to.
fn group_of(action: &Action) -> Option<u32> {
    if let Action::Group(id) = action { Some(*id) } else { None }
}

impl GroupDraft {
    fn of(id: u32, kind: GroupType) -> GroupDraft {
        GroupDraft { id, kind, buckets: BytesMut::new(), names: Vec::new(), balanced: None }
    }

    pub fn bucket(self, actions: impl IntoIterator<Item = Action>) -> Self {
        let weight = if self.kind == GroupType::Select { 100 } else { 0 };
        self.weighed(weight, actions)
    }

    /// Of a select group, a bucket with a share of its own.
    pub fn weighed(mut self, weight: u16, actions: impl IntoIterator<Item = Action>) -> Self {
        let names = &mut self.names;
        let actions = actions.into_iter().inspect(|action| names.extend(group_of(action)));
        encode_bucket(weight, actions, &mut self.buckets);
        self
    }

    pub fn buckets<B: IntoIterator<Item = Action>>(mut self, buckets: impl IntoIterator<Item = B>) -> Self {
        let buckets = buckets.into_iter();
        self.buckets.reserve(BUCKET * buckets.size_hint().0);
        buckets.fold(self, GroupDraft::bucket)
    }

    /// Its buckets choose the endpoint of these connections.
    pub fn balancing(
        mut self,
        zone: u16,
        transport: Transport,
        destinations: impl IntoIterator<Item = (IpAddr, u16)>,
        targets: impl IntoIterator<Item = (IpAddr, u16)>,
    ) -> Self {
        let (destinations, targets) = (destinations.into_iter().collect(), targets.into_iter().collect());
        self.balanced = Some(Balanced { zone, transport, destinations, targets });
        self
    }

    pub fn owned_by<F: Feature>(self, owner: &Owner<F>) -> Group {
        Group {
            id: self.id,
            kind: self.kind,
            buckets: self.buckets.as_ref().into(),
            names: self.names.into(),
            balanced: self.balanced,
            owner: owner.name().clone(),
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.description().fmt(f)
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} # {}", self.owner)
    }
}

/// A meter of one switch: packets above the rate are dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meter {
    pub id: u32,
    pub unit: MeterUnit,
    /// Units a second.
    pub rate: u32,
    /// Units that may come at once.
    pub burst: u32,
    pub owner: OwnerName,
}

/// What a meter counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MeterUnit {
    Packets,
    Kilobits,
}

impl Meter {
    pub fn packets_per_second<F: Feature>(id: u32, rate: u32, burst: u32, owner: &Owner<F>) -> Meter {
        Meter { id, unit: MeterUnit::Packets, rate, burst, owner: owner.name().clone() }
    }

    pub fn kilobits_per_second<F: Feature>(id: u32, rate: u32, burst: u32, owner: &Owner<F>) -> Meter {
        Meter { id, unit: MeterUnit::Kilobits, rate, burst, owner: owner.name().clone() }
    }

    /// The meter as a switch reports it.
    pub fn config(&self) -> MeterConfig {
        let unit = match self.unit {
            MeterUnit::Packets => meter::FLAG_PKTPS,
            MeterUnit::Kilobits => meter::FLAG_KBPS,
        };
        MeterConfig {
            flags: unit | meter::FLAG_BURST | meter::FLAG_STATS,
            meter: self.id,
            bands: vec![MeterBand { rate: self.rate, burst: self.burst }],
        }
    }
}

impl fmt::Display for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config().fmt(f)
    }
}
