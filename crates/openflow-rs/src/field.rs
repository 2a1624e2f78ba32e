//! Match fields: one row each with the OpenFlow (OXM) and the Nicira (NXM) header.
//!
//! Sources: OpenFlow 1.3.5 table 12; ovs-fields(7).

/// OXM class of the OpenFlow standard fields.
const OPENFLOW_BASIC: u16 = 0x8000;
/// Fields of the original Nicira match.
const NXM_0: u16 = 0;
/// Nicira extensions.
const NXM_1: u16 = 1;

/// Extensions by Ericsson, which Open vSwitch took over.
const ERICSSON: u16 = 0x1000;

/// Class and number of a TLV.
pub(crate) type Code = (u16, u8);

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident $text:literal $bits:literal $oxm:expr, $nxm:expr, $nxm_name:literal;)*) => {
        /// A field of a packet or of its metadata.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Field { $($(#[$doc])* $name,)* }

        pub(crate) struct Row {
            pub field: Field,
            pub name: &'static str,
            pub bits: u16,
            pub oxm: Option<Code>,
            pub nxm: Option<Code>,
            pub long_name: &'static str,
        }

        pub(crate) static ROWS: &[Row] = &[
            $(Row { field: Field::$name, name: $text, bits: $bits, oxm: $oxm, nxm: $nxm, long_name: $nxm_name },)*
        ];
    };
}

const fn of(number: u8) -> Option<Code> {
    Some((OPENFLOW_BASIC, number))
}
const fn n0(number: u8) -> Option<Code> {
    Some((NXM_0, number))
}
const fn n1(number: u8) -> Option<Code> {
    Some((NXM_1, number))
}

const fn er(number: u8) -> Option<Code> {
    Some((ERICSSON, number))
}

fields! {
    InPort "in_port" 32 of(0), None, "OXM_OF_IN_PORT";
    /// 16-bit port number, as Nicira actions read and write it.
    NxInPort "in_port" 16 None, n0(0), "NXM_OF_IN_PORT";
    Metadata "metadata" 64 of(2), None, "OXM_OF_METADATA";
    EthDst "dl_dst" 48 of(3), n0(1), "NXM_OF_ETH_DST";
    EthSrc "dl_src" 48 of(4), n0(2), "NXM_OF_ETH_SRC";
    EthType "dl_type" 16 of(5), n0(3), "NXM_OF_ETH_TYPE";
    /// 12 bits and the present bit (0x1000); zero: untagged.
    VlanVid "vlan_vid" 13 of(6), None, "OXM_OF_VLAN_VID";
    VlanPcp "vlan_pcp" 3 of(7), None, "OXM_OF_VLAN_PCP";
    VlanTci "vlan_tci" 16 None, n0(4), "NXM_OF_VLAN_TCI";
    IpDscp "ip_dscp" 6 of(8), None, "OXM_OF_IP_DSCP";
    IpEcn "ip_ecn" 2 of(9), n1(28), "NXM_NX_IP_ECN";
    IpProto "nw_proto" 8 of(10), n0(6), "NXM_OF_IP_PROTO";
    Ipv4Src "nw_src" 32 of(11), n0(7), "NXM_OF_IP_SRC";
    Ipv4Dst "nw_dst" 32 of(12), n0(8), "NXM_OF_IP_DST";
    TcpSrc "tcp_src" 16 of(13), n0(9), "NXM_OF_TCP_SRC";
    TcpDst "tcp_dst" 16 of(14), n0(10), "NXM_OF_TCP_DST";
    UdpSrc "udp_src" 16 of(15), n0(11), "NXM_OF_UDP_SRC";
    UdpDst "udp_dst" 16 of(16), n0(12), "NXM_OF_UDP_DST";
    SctpSrc "sctp_src" 16 of(17), None, "OXM_OF_SCTP_SRC";
    SctpDst "sctp_dst" 16 of(18), None, "OXM_OF_SCTP_DST";
    IcmpType "icmp_type" 8 of(19), n0(13), "NXM_OF_ICMP_TYPE";
    IcmpCode "icmp_code" 8 of(20), n0(14), "NXM_OF_ICMP_CODE";
    ArpOp "arp_op" 16 of(21), n0(15), "NXM_OF_ARP_OP";
    ArpSpa "arp_spa" 32 of(22), n0(16), "NXM_OF_ARP_SPA";
    ArpTpa "arp_tpa" 32 of(23), n0(17), "NXM_OF_ARP_TPA";
    ArpSha "arp_sha" 48 of(24), n1(17), "NXM_NX_ARP_SHA";
    ArpTha "arp_tha" 48 of(25), n1(18), "NXM_NX_ARP_THA";
    Ipv6Src "ipv6_src" 128 of(26), n1(19), "NXM_NX_IPV6_SRC";
    Ipv6Dst "ipv6_dst" 128 of(27), n1(20), "NXM_NX_IPV6_DST";
    Icmpv6Type "icmp_type" 8 of(29), n1(21), "NXM_NX_ICMPV6_TYPE";
    Icmpv6Code "icmp_code" 8 of(30), n1(22), "NXM_NX_ICMPV6_CODE";
    NdTarget "nd_target" 128 of(31), n1(23), "NXM_NX_ND_TARGET";
    NdSll "nd_sll" 48 of(32), n1(24), "NXM_NX_ND_SLL";
    NdTll "nd_tll" 48 of(33), n1(25), "NXM_NX_ND_TLL";
    /// The word of flags of a neighbour advertisement.
    NdReserved "nd_reserved" 32 er(1), None, "ERICOXM_OF_ICMPV6_ND_RESERVED";
    /// Type of a neighbour message's first option.
    NdOptionsType "nd_options_type" 8 er(2), None, "ERICOXM_OF_ICMPV6_ND_OPTIONS_TYPE";
    MplsLabel "mpls_label" 20 of(34), None, "OXM_OF_MPLS_LABEL";
    TunnelId "tun_id" 64 of(38), n1(16), "NXM_NX_TUN_ID";
    TunSrc "tun_src" 32 None, n1(31), "NXM_NX_TUN_IPV4_SRC";
    TunDst "tun_dst" 32 None, n1(32), "NXM_NX_TUN_IPV4_DST";
    IpTtl "nw_ttl" 8 None, n1(29), "NXM_NX_IP_TTL";
    IpFrag "ip_frag" 8 None, n1(26), "NXM_NX_IP_FRAG";
    PktMark "pkt_mark" 32 None, n1(33), "NXM_NX_PKT_MARK";
    TcpFlags "tcp_flags" 16 None, n1(34), "NXM_NX_TCP_FLAGS";
    ConjId "conj_id" 32 None, n1(37), "NXM_NX_CONJ_ID";
    CtState "ct_state" 32 None, n1(105), "NXM_NX_CT_STATE";
    CtZone "ct_zone" 16 None, n1(106), "NXM_NX_CT_ZONE";
    CtMark "ct_mark" 32 None, n1(107), "NXM_NX_CT_MARK";
    CtLabel "ct_label" 128 None, n1(108), "NXM_NX_CT_LABEL";
    CtNwProto "ct_nw_proto" 8 None, n1(119), "NXM_NX_CT_NW_PROTO";
    CtNwSrc "ct_nw_src" 32 None, n1(120), "NXM_NX_CT_NW_SRC";
    CtNwDst "ct_nw_dst" 32 None, n1(121), "NXM_NX_CT_NW_DST";
    CtTpSrc "ct_tp_src" 16 None, n1(124), "NXM_NX_CT_TP_SRC";
    CtTpDst "ct_tp_dst" 16 None, n1(125), "NXM_NX_CT_TP_DST";
    Reg0 "reg0" 32 None, n1(0), "NXM_NX_REG0";
    Reg1 "reg1" 32 None, n1(1), "NXM_NX_REG1";
    Reg2 "reg2" 32 None, n1(2), "NXM_NX_REG2";
    Reg3 "reg3" 32 None, n1(3), "NXM_NX_REG3";
    Reg4 "reg4" 32 None, n1(4), "NXM_NX_REG4";
    Reg5 "reg5" 32 None, n1(5), "NXM_NX_REG5";
    Reg6 "reg6" 32 None, n1(6), "NXM_NX_REG6";
    Reg7 "reg7" 32 None, n1(7), "NXM_NX_REG7";
    Reg8 "reg8" 32 None, n1(8), "NXM_NX_REG8";
    Reg9 "reg9" 32 None, n1(9), "NXM_NX_REG9";
    Reg10 "reg10" 32 None, n1(10), "NXM_NX_REG10";
    Reg11 "reg11" 32 None, n1(11), "NXM_NX_REG11";
    Reg12 "reg12" 32 None, n1(12), "NXM_NX_REG12";
    Reg13 "reg13" 32 None, n1(13), "NXM_NX_REG13";
    Reg14 "reg14" 32 None, n1(14), "NXM_NX_REG14";
    Reg15 "reg15" 32 None, n1(15), "NXM_NX_REG15";
}

impl Field {
    /// All fields, in the order in which a canonical match lists them.
    pub fn all() -> impl Iterator<Item = Field> {
        ROWS.iter().map(|row| row.field)
    }

    pub(crate) fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Bits of the value.
    pub fn bits(self) -> u16 {
        self.row().bits
    }

    /// Bytes of the value on the wire.
    pub fn bytes(self) -> usize {
        usize::from(self.bits().div_ceil(8))
    }

    /// The mask that means "exactly".
    pub fn full_mask(self) -> u128 {
        if self.bits() == 128 { u128::MAX } else { (1 << self.bits()) - 1 }
    }

    /// Header used in matches and set_field, without mask: the OpenFlow one where there is one.
    pub(crate) fn oxm_header(self) -> u32 {
        let row = self.row();
        header(row.oxm.or(row.nxm).unwrap_or((0, 0)), self.bytes())
    }

    /// Header used in Nicira actions: the Nicira one where there is one.
    pub(crate) fn nxm_header(self) -> u32 {
        let row = self.row();
        header(row.nxm.or(row.oxm).unwrap_or((0, 0)), self.bytes())
    }

    /// The same with the experimenter behind the header, where there is one.
    pub(crate) fn from_headers(raw: u32, experimenter: Option<u32>) -> Option<Field> {
        match experimenter {
            None => Field::from_header(raw),
            Some(ONF) if raw >> 9 & 0x7f == ONF_TCP_FLAGS => Some(Field::TcpFlags),
            Some(_) => None,
        }
    }

    /// The field of a header, whatever its mask bit and length say.
    pub(crate) fn from_header(raw: u32) -> Option<Field> {
        let code = ((raw >> 16) as u16, (raw >> 9 & 0x7f) as u8);
        ROWS.iter().find(|row| row.oxm == Some(code) || row.nxm == Some(code)).map(|row| row.field)
    }
}

/// OXM class whose fields say behind the header whose they are (OpenFlow 1.3.5 section 7.2.3.2).
pub(crate) const EXPERIMENTER: u32 = 0xffff;
/// The Open Networking Foundation, whose extension of OpenFlow 1.3 (EXT-109) Open vSwitch reports TCP flags by, whatever they were said by.
const ONF: u32 = 0x4f4e_4600;
const ONF_TCP_FLAGS: u32 = 42;

fn header((class, number): Code, bytes: usize) -> u32 {
    u32::from(class) << 16 | u32::from(number) << 9 | bytes as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_enum_and_codes_are_unique() {
        let mut seen = std::collections::HashSet::new();
        for (at, row) in ROWS.iter().enumerate() {
            assert_eq!(row.field as usize, at, "{}", row.name);
            for code in [row.oxm, row.nxm].into_iter().flatten() {
                assert!(seen.insert(code), "{} repeats {code:?}", row.name);
            }
            assert_eq!(Field::from_header(row.field.oxm_header()), Some(row.field));
            assert_eq!(Field::from_header(row.field.nxm_header()), Some(row.field));
        }
    }
}
