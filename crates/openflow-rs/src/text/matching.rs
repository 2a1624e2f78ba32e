//! Matches, in the order and with the shorthands of Open vSwitch's `match_format`.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Hex, mac, port};
use crate::{Field, Match, MatchField};

/// Fields in the order in which they are printed; those that a shorthand may swallow are handled apart.
const ORDER: &[Field] = &[
    Field::Reg0,
    Field::Reg1,
    Field::Reg2,
    Field::Reg3,
    Field::Reg4,
    Field::Reg5,
    Field::Reg6,
    Field::Reg7,
    Field::Reg8,
    Field::Reg9,
    Field::Reg10,
    Field::Reg11,
    Field::Reg12,
    Field::Reg13,
    Field::Reg14,
    Field::Reg15,
    Field::TunnelId,
    Field::TunSrc,
    Field::TunDst,
    Field::Metadata,
    Field::InPort,
    Field::NxInPort,
    Field::VlanTci,
    Field::VlanVid,
    Field::VlanPcp,
    Field::EthSrc,
    Field::EthDst,
    Field::EthType,
    Field::Ipv6Src,
    Field::Ipv6Dst,
    Field::Ipv4Src,
    Field::Ipv4Dst,
    Field::ArpSpa,
    Field::ArpTpa,
    Field::IpProto,
    Field::ArpOp,
    Field::ArpSha,
    Field::ArpTha,
    Field::IpDscp,
    Field::IpEcn,
    Field::IpTtl,
    Field::MplsLabel,
    Field::IpFrag,
    Field::TcpSrc,
    Field::TcpDst,
    Field::UdpSrc,
    Field::UdpDst,
    Field::SctpSrc,
    Field::SctpDst,
    Field::IcmpType,
    Field::IcmpCode,
    Field::Icmpv6Type,
    Field::Icmpv6Code,
    Field::NdTarget,
    Field::NdSll,
    Field::NdTll,
    Field::NdReserved,
    Field::NdOptionsType,
    Field::TcpFlags,
];

const FIRST: &[Field] = &[
    Field::PktMark,
    Field::ConjId,
    Field::CtState,
    Field::CtZone,
    Field::CtMark,
    Field::CtLabel,
    Field::CtNwSrc,
    Field::CtNwDst,
    Field::CtNwProto,
    Field::CtTpSrc,
    Field::CtTpDst,
];

/// `ip`, `tcp`, `arp` …: which fields it stands for.
fn shorthand(conditions: &Match) -> (Option<&'static str>, bool) {
    let exact = |field| conditions.get(field).filter(|found| found.is_exact()).map(|found| found.value);
    let proto = exact(Field::IpProto);
    match (exact(Field::EthType), proto) {
        (Some(0x800), Some(1)) => (Some("icmp"), true),
        (Some(0x800), Some(6)) => (Some("tcp"), true),
        (Some(0x800), Some(17)) => (Some("udp"), true),
        (Some(0x800), Some(132)) => (Some("sctp"), true),
        (Some(0x800), _) => (Some("ip"), false),
        (Some(0x86dd), Some(58)) => (Some("icmp6"), true),
        (Some(0x86dd), Some(6)) => (Some("tcp6"), true),
        (Some(0x86dd), Some(17)) => (Some("udp6"), true),
        (Some(0x86dd), Some(132)) => (Some("sctp6"), true),
        (Some(0x86dd), _) => (Some("ipv6"), false),
        (Some(0x806), _) => (Some("arp"), false),
        (Some(0x8847), _) => (Some("mpls"), false),
        _ => (None, false),
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (short, swallows_proto) = shorthand(self);
        let mut parts: Vec<String> = Vec::new();
        let mut add = |fields: &[Field]| {
            for field in fields {
                if *field == Field::EthType && short.is_some() || *field == Field::IpProto && swallows_proto {
                    continue;
                }
                parts.extend(self.get(*field).map(ToString::to_string));
            }
        };
        add(FIRST);
        let place = FIRST.iter().filter(|field| self.get(**field).is_some()).count();
        add(ORDER);
        if let Some(short) = short {
            parts.insert(place, short.to_owned());
        }
        f.write_str(&parts.join(","))
    }
}

impl fmt::Display for MatchField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.field {
            // Open vSwitch calls all transport ports by one name.
            Field::TcpSrc | Field::UdpSrc | Field::SctpSrc => "tp_src",
            Field::TcpDst | Field::UdpDst | Field::SctpDst => "tp_dst",
            field => field.row().name,
        };
        let short = |value: u128| u32::try_from(value).unwrap_or(u32::MAX);
        match self.field {
            Field::InPort => return write!(f, "in_port={}", port(short(self.value))),
            Field::EthSrc | Field::EthDst | Field::ArpSha | Field::ArpTha | Field::NdSll | Field::NdTll => {
                write!(f, "{name}={}", mac(self.value))?;
                if !self.is_exact() {
                    write!(f, "/{}", mac(self.mask))?;
                }
            }
            Field::Ipv4Src
            | Field::Ipv4Dst
            | Field::ArpSpa
            | Field::ArpTpa
            | Field::TunSrc
            | Field::TunDst
            | Field::CtNwSrc
            | Field::CtNwDst => {
                write!(f, "{name}={}", Ipv4Addr::from(short(self.value)))?;
                let mask = short(self.mask);
                if mask.leading_ones() + mask.trailing_zeros() == 32 {
                    if !self.is_exact() {
                        write!(f, "/{}", mask.leading_ones())?;
                    }
                } else {
                    write!(f, "/{}", Ipv4Addr::from(mask))?;
                }
            }
            Field::Ipv6Src | Field::Ipv6Dst | Field::NdTarget => {
                write!(f, "{name}={}", Ipv6Addr::from(self.value))?;
                if !self.is_exact() {
                    write!(f, "/{}", self.mask.leading_ones())?;
                }
            }
            Field::VlanVid if self.is_exact() && self.value == 0 => f.write_str("vlan_tci=0x0000/0x1fff")?,
            Field::VlanVid if !self.is_exact() => {
                write!(f, "vlan_tci=0x{:04x}/0x{:04x}", self.value, self.mask)?;
            }
            Field::VlanVid => write!(f, "dl_vlan={}", self.value & 0xfff)?,
            Field::VlanTci => {
                write!(f, "vlan_tci=0x{:04x}", self.value)?;
                if !self.is_exact() {
                    write!(f, "/0x{:04x}", self.mask)?;
                }
            }
            Field::EthType => write!(f, "dl_type=0x{:04x}", self.value)?,
            // Two bits that are there: a fragment, and one behind the first.
            Field::IpFrag => {
                let name = match (self.value & 3, self.mask & 3) {
                    (0, 2) => "not_later",
                    (0, _) => "no",
                    (1, 1) => "yes",
                    (1, _) => "first",
                    (2, 3) => "<error>",
                    _ => "later",
                };
                write!(f, "nw_frag={name}")?;
            }
            Field::CtState => {
                write!(f, "ct_state={}", flags(&CT_STATE, short(self.value), short(self.mask)))?;
            }
            Field::TcpFlags if !self.is_exact() => {
                write!(f, "tcp_flags={}", flags(&TCP_FLAGS, short(self.value), short(self.mask)))?;
            }
            Field::IpProto
            | Field::ArpOp
            | Field::TcpSrc
            | Field::TcpDst
            | Field::UdpSrc
            | Field::UdpDst
            | Field::SctpSrc
            | Field::SctpDst
            | Field::IcmpType
            | Field::IcmpCode
            | Field::Icmpv6Type
            | Field::Icmpv6Code
            | Field::ConjId
            | Field::IpTtl
            | Field::MplsLabel
            | Field::CtZone
            | Field::CtNwProto
            | Field::CtTpSrc
            | Field::CtTpDst
            | Field::VlanPcp
            | Field::IpEcn => {
                if self.is_exact() {
                    write!(f, "{name}={}", self.value)?;
                } else {
                    write!(f, "{name}=0x{:x}/0x{:x}", self.value, self.mask)?;
                }
            }
            _ => {
                write!(f, "{name}={}", Hex(self.value))?;
                if !self.is_exact() {
                    write!(f, "/{}", Hex(self.mask))?;
                }
            }
        }
        Ok(())
    }
}

const CT_STATE: [&str; 8] = ["new", "est", "rel", "rpl", "inv", "trk", "snat", "dnat"];
/// Source: RFC 9293 section 3.1; `packet_tcp_flag_to_string` of Open vSwitch.
const TCP_FLAGS: [&str; 12] =
    ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr", "ns", "[200]", "[400]", "[800]"];

/// The flags of a mask, each with whether it has to be set.
fn flags(names: &[&str], value: u32, mask: u32) -> String {
    let bits = names.iter().enumerate().filter(|(bit, _)| mask & 1 << bit != 0);
    bits.map(|(bit, name)| format!("{}{name}", if value & 1 << bit != 0 { '+' } else { '-' })).collect()
}
