//! What a flow may do, in the words of the pipeline. A recipe of several actions has the name of what it does.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use openflow_rs::{Action, Ct, CtNat, CtZone, Field, Learn, LearnSource, LearnSpec, LearnTarget, Subfield};

use super::matches::TAGGED;
use super::{Metadata, ServicePlace, ServiceWay, Table};
use crate::net::{ElanTag, LportTag, MacAddr, OfPort, Transport, Vni};

/// Whether a packet is for a node port: the register `reg7.node-port`.
const NODE_PORT: Subfield = Subfield { field: Field::Reg7, start: 3, bits: 1 };

fn whole(field: Field) -> Subfield {
    Subfield::whole(field)
}

/// Leave through a logical port: table 220 finds it in reg6.
pub fn egress_to(tag: LportTag) -> Action {
    Action::load(whole(Field::Reg6), u64::from(tag.0) << 8)
}

/// A frame gets a VLAN tag (IEEE 802.1Q) with this id.
pub fn tag_vlan(id: u16) -> [Action; 2] {
    [Action::PushVlan(0x8100), Action::set_field(Field::VlanVid, TAGGED | id)]
}

/// A frame loses its outermost VLAN tag.
pub fn pop_vlan() -> Action {
    Action::PopVlan
}

/// Go through another table and come back.
pub fn resubmit<O>(table: Table<O>) -> Action {
    Action::resubmit(table.id())
}

pub fn output(port: OfPort) -> Action {
    Action::output(port.0)
}

/// Everything that asks for this group gets what its buckets do.
pub fn group(id: u32) -> Action {
    Action::Group(id)
}

/// Allows a packet to leave by the port it came in through.
pub fn clear_in_port() -> Action {
    Action::load(whole(Field::NxInPort), 0)
}

pub fn set_eth_src(mac: MacAddr) -> Action {
    Action::set_field(Field::EthSrc, mac.to_u64())
}

pub fn set_eth_dst(mac: MacAddr) -> Action {
    Action::set_field(Field::EthDst, mac.to_u64())
}

/// The packet comes from another address from now on; the switch mends the checksums.
pub fn set_ip_src(address: IpAddr) -> Action {
    match address {
        IpAddr::V4(address) => Action::set_field(Field::Ipv4Src, u32::from(address)),
        IpAddr::V6(address) => Action::set_field(Field::Ipv6Src, u128::from(address)),
    }
}

/// The packet is for another address from now on.
pub fn set_ip_dst(address: IpAddr) -> Action {
    match address {
        IpAddr::V4(address) => Action::set_field(Field::Ipv4Dst, u32::from(address)),
        IpAddr::V6(address) => Action::set_field(Field::Ipv6Dst, u128::from(address)),
    }
}

/// One hop: the TTL goes down by one; a packet whose TTL has run out is dropped.
pub fn dec_ttl() -> Action {
    Action::DecTtl
}

pub fn set_tun_id(vni: Vni) -> Action {
    Action::set_field(Field::TunnelId, vni.0)
}

/// Connection tracking in a zone; the packet goes on in `table`, translated as its connection was before.
pub fn track<O>(zone: u16, table: Table<O>) -> Action {
    let nat = Some(CtNat::default());
    Action::Ct(Ct { zone: CtZone::Number(zone), table: Some(table.id()), nat, ..Ct::default() })
}

/// Where `reg5` and the metadata hold the tag of an ELAN (`pipelines/netvirt.toml`).
fn elan_zone(of_egress: bool) -> Subfield {
    if of_egress { Subfield::range(Field::Reg5, 0, 16) } else { Subfield::range(Field::Metadata, 24, 16) }
}

/// Connection tracking in the zone of an ELAN: that of the port a packet leaves through, or that of the one it came from.
pub fn track_in_elan<O>(of_egress: bool, table: Table<O>) -> Action {
    let zone = CtZone::Field(elan_zone(of_egress));
    Action::Ct(Ct { zone, table: Some(table.id()), ..Ct::default() })
}

/// Remembers the connection in that zone, and sets or clears a bit of its mark.
pub fn remember_in_elan(of_egress: bool, bit: u16, value: bool) -> Action {
    let mark = Action::load(Subfield::range(Field::CtMark, bit, 1), u64::from(value));
    let zone = CtZone::Field(elan_zone(of_egress));
    Action::Ct(Ct { commit: true, zone, exec: vec![mark], ..Ct::default() })
}

/// The zone of what leaves through a port: its ELAN's tag.
pub fn load_egress_zone(elan: ElanTag) -> Action {
    Action::load(elan_zone(true), u64::from(elan.0))
}

/// The packet has this part of a conjunction; parts are counted from 0.
pub fn conjunction(id: u32, part: u8, parts: u8) -> Action {
    Action::Conjunction { id, clause: part, clauses: parts }
}

/// A new connection is remembered, and from now on goes to this address and port.
pub fn translate_destination<O>(zone: u16, address: IpAddr, port: u16, table: Table<O>) -> Action {
    let nat = CtNat { destination: true, ports: Some((port, port)), ..nat_to(address) };
    let zone = CtZone::Number(zone);
    Action::Ct(Ct { commit: true, zone, table: Some(table.id()), nat: Some(nat), ..Ct::default() })
}

/// A new connection is remembered, and from now on comes from this address.
pub fn translate_source<O>(zone: u16, source: IpAddr, table: Table<O>) -> Action {
    let nat = CtNat { source: true, ..nat_to(source) };
    let zone = CtZone::Number(zone);
    Action::Ct(Ct { commit: true, zone, table: Some(table.id()), nat: Some(nat), ..Ct::default() })
}

fn nat_to(address: IpAddr) -> CtNat {
    match address {
        IpAddr::V4(address) => CtNat { addresses: Some((address, address)), ..CtNat::default() },
        IpAddr::V6(address) => CtNat { addresses_v6: Some((address, address)), ..CtNat::default() },
    }
}

/// Connection tracking in a zone without any translation.
pub fn look_up<O>(zone: u16, table: Table<O>) -> Action {
    Action::Ct(Ct { zone: CtZone::Number(zone), table: Some(table.id()), ..Ct::default() })
}

/// A connection is remembered together with the tunnel that its packets come through; the packet goes on here.
pub fn remember_tunnel(zone: u16) -> Action {
    let exec = vec![Action::Move { src: whole(Field::TunSrc), dst: Subfield::range(Field::CtLabel, 0, 32) }];
    Action::Ct(Ct { commit: true, zone: CtZone::Number(zone), exec, ..Ct::default() })
}

/// An endpoint is chosen, by its number.
pub fn choose_endpoint(number: u32) -> Action {
    Action::load(whole(Field::Reg9), u64::from(number))
}

/// What this client has chosen is chosen again for its next connections to this address and port, or to this port of any node,
/// until it has made none for so many seconds. The learned flow is nobody's of ours: it is not read back.
pub fn learn_endpoint<O>(
    table: Table<O>,
    (place, transport, port): (ServicePlace, Transport, u16),
    number: u32,
    seconds: u16,
) -> Action {
    let (kind, source) = if place.is_v6() { (0x86dd, Field::Ipv6Src) } else { (0x0800, Field::Ipv4Src) };
    let (destination, to) = match place {
        ServicePlace::Address(IpAddr::V4(address)) => (whole(Field::Ipv4Dst), u128::from(u32::from(address))),
        ServicePlace::Address(IpAddr::V6(address)) => (whole(Field::Ipv6Dst), u128::from(address)),
        ServicePlace::Node { .. } => (NODE_PORT, 1),
    };
    let port_field = match transport {
        Transport::Tcp => Field::TcpDst,
        Transport::Udp => Field::UdpDst,
        Transport::Sctp => Field::SctpDst,
    };
    let is = |part: Subfield, value: u128| LearnSpec {
        bits: part.bits,
        source: LearnSource::Value(value),
        target: LearnTarget::Match(part),
    };
    let specs = vec![
        is(whole(Field::EthType), kind),
        is(whole(Field::IpProto), transport.number().into()),
        LearnSpec {
            bits: source.bits(),
            source: LearnSource::Field(whole(source)),
            target: LearnTarget::Match(whole(source)),
        },
        is(destination, to),
        is(whole(port_field), port.into()),
        LearnSpec {
            bits: 32,
            source: LearnSource::Value(number.into()),
            target: LearnTarget::Load(whole(Field::Reg9)),
        },
    ];
    // Learned anew with each connection, so the hard timeout is that of the last one. Open vSwitch leaves a learned flow its timeout,
    // so one of another timeout is another flow: the shorter comes first, since the longer may name an endpoint that is gone.
    Action::Learn(Box::new(Learn {
        hard_timeout: seconds,
        priority: u16::MAX - seconds.saturating_sub(1),
        table: table.id(),
        specs,
        ..Learn::default()
    }))
}

/// What was remembered of the tunnel, kept while the packet is here.
pub fn recall_tunnel() -> Action {
    Action::Move { src: Subfield::range(Field::CtLabel, 0, 32), dst: whole(Field::Reg8) }
}

/// Into the tunnel that was remembered.
pub fn set_tun_dst_recalled() -> Action {
    Action::Move { src: whole(Field::Reg8), dst: whole(Field::TunDst) }
}

/// What a packet is to a service.
pub fn load_service_way(way: ServiceWay) -> Action {
    Action::load(Subfield::range(Field::Reg7, 0, 2), way as u64)
}

/// The packet came from outside.
pub fn load_from_outside() -> Action {
    Action::load(Subfield::range(Field::Reg7, 2, 1), 1)
}

/// The packet is for a node port.
pub fn load_for_node_port() -> Action {
    Action::load(NODE_PORT, 1)
}

/// Which egress service comes next (table 220).
pub fn load_egress_service(index: u8) -> Action {
    Action::load(Subfield::range(Field::Reg6, 28, 4), u64::from(index))
}

/// The destination port of a broadcast copy, for table 55.
pub fn set_bucket_lport(tag: LportTag) -> Action {
    Action::set_field(Field::TunnelId, tag.0)
}

pub fn set_tun_dst(endpoint: Ipv4Addr) -> Action {
    Action::set_field(Field::TunDst, u32::from(endpoint))
}

/// Sets parts of the metadata at once, for a resubmit: write_metadata happens only at a goto.
pub fn load_metadata(part: Metadata) -> Vec<Action> {
    let mut actions = Vec::new();
    let mut low = 0;
    while low < 64 {
        if part.mask >> low & 1 == 0 {
            low += 1;
            continue;
        }
        let width = (part.mask >> low).trailing_ones();
        let value = part.value >> low & (u64::MAX >> (64 - width));
        actions.push(Action::load(Subfield::range(Field::Metadata, low as u16, width as u16), value));
        low += width;
    }
    actions
}

/// Turns an ARP request into the answer "`ip` is at `mac`", addressed to the asker.
pub fn answer_arp(mac: MacAddr, ip: Ipv4Addr) -> Vec<Action> {
    vec![
        Action::Move { src: whole(Field::EthSrc), dst: whole(Field::EthDst) },
        set_eth_src(mac),
        Action::load(whole(Field::ArpOp), 2),
        Action::Move { src: whole(Field::ArpSha), dst: whole(Field::ArpTha) },
        Action::Move { src: whole(Field::ArpSpa), dst: whole(Field::ArpTpa) },
        Action::load(whole(Field::ArpSha), mac.to_u64()),
        Action::load(whole(Field::ArpSpa), u64::from(u32::from(ip))),
        clear_in_port(),
    ]
}

/// The same with the address that is asked for.
pub fn answer_arp_for_any(mac: MacAddr) -> Vec<Action> {
    vec![
        Action::Move { src: whole(Field::EthSrc), dst: whole(Field::EthDst) },
        set_eth_src(mac),
        Action::load(whole(Field::ArpOp), 2),
        Action::Move { src: whole(Field::ArpSha), dst: whole(Field::ArpTha) },
        Action::Push(whole(Field::ArpTpa)),
        Action::Move { src: whole(Field::ArpSpa), dst: whole(Field::ArpTpa) },
        Action::Pop(whole(Field::ArpSpa)),
        Action::load(whole(Field::ArpSha), mac.to_u64()),
        clear_in_port(),
    ]
}

/// Two fields of one width change places.
fn exchange(one: Field, other: Field) -> [Action; 3] {
    [Action::Push(whole(one)), Action::Move { src: whole(other), dst: whole(one) }, Action::Pop(whole(other))]
}

/// Turns an echo request into its reply, addressed to the asker; `kind` sets its type.
fn answer_echo_between(source: Field, destination: Field, kind: Action) -> Vec<Action> {
    let mut actions = exchange(Field::EthSrc, Field::EthDst).to_vec();
    actions.extend(exchange(source, destination));
    actions.extend([kind, Action::load(whole(Field::IpTtl), 64), clear_in_port()]);
    actions
}

/// Turns an ICMP echo request into its reply, addressed to the asker; the switch mends the checksums.
pub fn answer_echo() -> Vec<Action> {
    answer_echo_between(Field::Ipv4Src, Field::Ipv4Dst, Action::load(whole(Field::IcmpType), 0))
}

/// The same for an ICMPv6 echo request.
pub fn answer_echo_v6() -> Vec<Action> {
    answer_echo_between(Field::Ipv6Src, Field::Ipv6Dst, Action::set_field(Field::Icmpv6Type, 129_u8))
}

/// Flags of a neighbour advertisement (RFC 4861 section 4.4), in the top bits of its reserved word. The answer always
/// takes the place of what the asker knew: nobody but the switch answers for an address that it answers for.
const ROUTER: u32 = 1 << 31;
const SOLICITED: u32 = 1 << 30;
const OVERRIDE: u32 = 1 << 29;

/// First half of the answer to a neighbour solicitation: it becomes an advertisement from `mac` to the asker. The address
/// in it can be set only once a table has matched on the new type: [`finish_advertisement`].
pub fn begin_advertisement(mac: MacAddr, router: bool) -> Vec<Action> {
    let flags = SOLICITED | OVERRIDE | if router { ROUTER } else { 0 };
    vec![
        Action::Move { src: whole(Field::EthSrc), dst: whole(Field::EthDst) },
        set_eth_src(mac),
        Action::set_field(Field::Icmpv6Type, 136_u8),
        Action::set_field(Field::NdReserved, flags),
        Action::set_field(Field::NdOptionsType, TARGET_LINK_LAYER_ADDRESS),
    ]
}

/// Type of the option that holds the target's address. Source: RFC 4861 section 4.6.1.
const TARGET_LINK_LAYER_ADDRESS: u8 = 2;

/// Second half: from the target to the asker, with the address of the first half.
pub fn finish_advertisement() -> Vec<Action> {
    vec![
        Action::Move { src: whole(Field::Ipv6Src), dst: whole(Field::Ipv6Dst) },
        Action::Move { src: whole(Field::NdTarget), dst: whole(Field::Ipv6Src) },
        Action::Move { src: whole(Field::EthSrc), dst: whole(Field::NdTll) },
        clear_in_port(),
    ]
}

/// Second half where the asker has no address yet (duplicate detection): all nodes of the link hear it, and nobody
/// takes it for an answer to a question of theirs (RFC 4861 section 7.2.4).
pub fn finish_advertisement_to_all() -> Vec<Action> {
    let all_nodes = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    vec![
        Action::set_field(Field::Ipv6Dst, u128::from(all_nodes)),
        set_eth_dst(MacAddr([0x33, 0x33, 0, 0, 0, 1])),
        Action::set_field(Field::NdReserved, OVERRIDE),
        Action::Move { src: whole(Field::NdTarget), dst: whole(Field::Ipv6Src) },
        clear_in_port(),
    ]
}

/// Leave through the logical port the packet came from: one flow serves every asker.
pub fn egress_to_sender() -> Action {
    Action::Move { src: Subfield::range(Field::Metadata, 40, 20), dst: Subfield::range(Field::Reg6, 8, 20) }
}
