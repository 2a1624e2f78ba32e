//! A packet by its fields: what a match can ask for, and what an action can change.

use openflow_rs::{Field, Match, MatchField, Subfield};

/// Headers of a packet and what a switch knows of it: one value for each field that the OpenFlow library knows, zero if it has none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    values: Box<[u128]>,
}

/// EtherTypes (IEEE 802) and protocol numbers (IANA) that decide which fields a packet has.
const IPV4: u128 = 0x0800;
const IPV6: u128 = 0x86dd;
const ARP: u128 = 0x0806;
const RARP: u128 = 0x8035;
const MPLS: [u128; 2] = [0x8847, 0x8848];
const ICMP: u128 = 1;
const TCP: u128 = 6;
const UDP: u128 = 17;
const ICMPV6: u128 = 58;
const SCTP: u128 = 132;
/// Types of ICMPv6 (RFC 4861).
const SOLICITATION: u128 = 135;
const ADVERTISEMENT: u128 = 136;
/// Bit of `ip_frag`: a fragment, and not the first.
const LATER: u128 = 2;
/// A frame has an 802.1Q tag. Bit 12 of `vlan_vid`.
const TAGGED: u128 = 0x1000;

impl Default for Packet {
    fn default() -> Self {
        Packet { values: vec![0; Field::all().count()].into() }
    }
}

impl Packet {
    /// A packet that says nothing of itself.
    pub fn new() -> Packet {
        Packet::default()
    }

    pub fn with(mut self, field: Field, value: impl Into<u128>) -> Packet {
        self.set(field, value.into());
        self
    }

    pub fn get(&self, field: Field) -> u128 {
        match field {
            Field::NxInPort => self.get(Field::InPort) & 0xffff,
            Field::VlanTci => self.get(Field::VlanPcp) << 13 | self.get(Field::VlanVid),
            field => self.values[field as usize],
        }
    }

    /// Two fields are other names of what a third holds.
    pub fn set(&mut self, field: Field, value: u128) {
        let value = value & field.full_mask();
        match field {
            Field::NxInPort => self.set(Field::InPort, value),
            Field::VlanTci => {
                self.set(Field::VlanVid, value & 0x1fff);
                self.set(Field::VlanPcp, value >> 13);
            }
            field => self.values[field as usize] = value,
        }
    }

    /// Some bits of a field.
    pub fn part(&self, place: Subfield) -> u128 {
        self.get(place.field) >> place.start & ones(place.bits)
    }

    pub fn set_part(&mut self, place: Subfield, value: u128) {
        let mask = ones(place.bits) << place.start;
        let rest = self.get(place.field) & !mask;
        self.set(place.field, rest | (value << place.start & mask));
    }

    /// Sets the bits of a mask.
    pub fn set_masked(&mut self, field: Field, value: u128, mask: u128) {
        self.set(field, self.get(field) & !mask | value & mask);
    }

    /// A fragment that begins behind the first one's transport header.
    pub fn is_later_fragment(&self) -> bool {
        self.get(Field::IpFrag) & LATER != 0
    }

    /// The same with an 802.1Q tag.
    pub fn tagged(self, id: u16) -> Packet {
        self.with(Field::VlanVid, TAGGED | u128::from(id))
    }

    pub fn is_tagged(&self) -> bool {
        self.get(Field::VlanVid) & TAGGED != 0
    }

    pub fn is_ip(&self) -> bool {
        [IPV4, IPV6].contains(&self.get(Field::EthType))
    }

    /// Whether a packet of this kind has the field at all (ovs-fields(7), "Prerequisites"): an action on one that it has not does nothing.
    pub fn has(&self, field: Field) -> bool {
        let ethertype = |wanted: u128| self.get(Field::EthType) == wanted;
        let transport = |protocol: u128| {
            self.is_ip() && self.get(Field::IpProto) == protocol && !self.is_later_fragment()
        };
        match field {
            Field::VlanPcp => self.is_tagged(),
            Field::MplsLabel => MPLS.contains(&self.get(Field::EthType)),
            Field::IpDscp | Field::IpEcn | Field::IpProto | Field::IpTtl | Field::IpFrag => self.is_ip(),
            Field::Ipv4Src | Field::Ipv4Dst => ethertype(IPV4),
            Field::Ipv6Src | Field::Ipv6Dst => ethertype(IPV6),
            Field::ArpOp | Field::ArpSpa | Field::ArpTpa | Field::ArpSha | Field::ArpTha => {
                ethertype(ARP) || ethertype(RARP)
            }
            Field::TcpSrc | Field::TcpDst | Field::TcpFlags => transport(TCP),
            Field::UdpSrc | Field::UdpDst => transport(UDP),
            Field::SctpSrc | Field::SctpDst => transport(SCTP),
            Field::IcmpType | Field::IcmpCode => ethertype(IPV4) && transport(ICMP),
            Field::Icmpv6Type | Field::Icmpv6Code => ethertype(IPV6) && transport(ICMPV6),
            Field::NdTarget | Field::NdReserved | Field::NdOptionsType => {
                self.is_neighbour(SOLICITATION) || self.is_neighbour(ADVERTISEMENT)
            }
            Field::NdSll => self.is_neighbour(SOLICITATION),
            Field::NdTll => self.is_neighbour(ADVERTISEMENT),
            _ => true,
        }
    }

    /// A neighbour message of this type, which has code 0.
    fn is_neighbour(&self, kind: u128) -> bool {
        self.has(Field::Icmpv6Type) && self.get(Field::Icmpv6Type) == kind && self.get(Field::Icmpv6Code) == 0
    }

    /// Whether all conditions hold. Ports and types stand in the first fragment; in later ones Open vSwitch takes them for
    /// zero, as our sessions tell it to (ovs-ofctl(8), `set-frags nx-match`).
    pub fn matches(&self, conditions: &Match) -> bool {
        conditions.fields.iter().all(|condition| {
            let hidden = self.is_later_fragment() && is_transport(condition.field);
            let value = if hidden { 0 } else { self.get(condition.field) };
            value & condition.mask == condition.value
        })
    }

    /// Fields with another value than in `before`, by their present value.
    pub fn changes(&self, before: &Packet) -> Vec<MatchField> {
        let other = |field: &Field| self.get(*field) != before.get(*field);
        let stored = |field: &Field| !matches!(field, Field::NxInPort | Field::VlanTci);
        let changed = Field::all().filter(stored).filter(other);
        changed.map(|field| MatchField::exact(field, self.get(field))).collect()
    }

    /// What is in the frame itself, without what only this switch knows of it: what another one gets.
    pub fn headers(&self) -> Packet {
        let mut headers = self.clone();
        for field in Field::all().filter(|field| is_known_here(*field)) {
            headers.set(field, 0);
        }
        headers
    }

    /// Fields that are not zero.
    pub fn fields(&self) -> Vec<MatchField> {
        self.changes(&Packet::new())
    }
}

fn ones(bits: u16) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

/// Ports, registers, tunnel and connection: not in the frame.
fn is_known_here(field: Field) -> bool {
    matches!(
        field,
        Field::InPort
            | Field::NxInPort
            | Field::Metadata
            | Field::TunnelId
            | Field::TunSrc
            | Field::TunDst
            | Field::PktMark
            | Field::ConjId
            | Field::CtState
            | Field::CtZone
            | Field::CtMark
            | Field::CtLabel
            | Field::CtNwProto
            | Field::CtNwSrc
            | Field::CtNwDst
            | Field::CtTpSrc
            | Field::CtTpDst
    ) || (Field::Reg0..=Field::Reg15).contains(&field)
}

fn is_transport(field: Field) -> bool {
    matches!(
        field,
        Field::TcpSrc
            | Field::TcpDst
            | Field::UdpSrc
            | Field::UdpDst
            | Field::SctpSrc
            | Field::SctpDst
            | Field::IcmpType
            | Field::IcmpCode
            | Field::Icmpv6Type
            | Field::Icmpv6Code
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_of_a_field_are_the_same_field() {
        let packet = Packet::new().with(Field::NxInPort, 7_u8).with(Field::VlanTci, 0xb00a_u16);
        assert_eq!(packet.get(Field::InPort), 7);
        assert_eq!((packet.get(Field::VlanVid), packet.get(Field::VlanPcp)), (0x100a, 5));
        assert!(packet.is_tagged());
    }

    #[test]
    fn parts_of_fields_are_read_and_written_in_place() {
        let mut packet = Packet::new().with(Field::Reg6, u32::MAX);
        packet.set_part(Subfield::range(Field::Reg6, 8, 20), 0x12345);
        assert_eq!(packet.get(Field::Reg6), 0xf123_45ff);
        assert_eq!(packet.part(Subfield::range(Field::Reg6, 8, 20)), 0x12345);
        packet.set_part(Subfield::whole(Field::Ipv6Src), u128::MAX);
        assert_eq!(packet.part(Subfield::whole(Field::Ipv6Src)), u128::MAX);
    }

    #[test]
    fn later_fragments_have_no_ports() {
        let wanted = Match::new().with(Field::UdpDst, 67_u16);
        let packet = Packet::new().with(Field::UdpDst, 67_u16);
        assert!(packet.matches(&wanted));
        assert!(packet.clone().with(Field::IpFrag, 1_u8).matches(&wanted));
        assert!(!packet.with(Field::IpFrag, 3_u8).matches(&wanted));
    }
}
