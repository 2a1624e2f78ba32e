//! What a flow may do, in the words of the pipeline. A recipe of several actions has the name of what it does.

use std::net::Ipv4Addr;

use openflow_rs::{Action, Field, Subfield};

use super::{Metadata, Table};
use crate::net::{LportTag, MacAddr, OfPort, Vni};

fn whole(field: Field) -> Subfield {
    Subfield::whole(field)
}

/// Leave through a logical port: table 220 finds it in reg6.
pub fn egress_to(tag: LportTag) -> Action {
    Action::load(whole(Field::Reg6), u64::from(tag.0) << 8)
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

/// One hop: the TTL goes down by one; a packet whose TTL has run out is dropped.
pub fn dec_ttl() -> Action {
    Action::DecTtl
}

pub fn set_tun_id(vni: Vni) -> Action {
    Action::set_field(Field::TunnelId, vni.0)
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

/// Turns an ICMP echo request into its reply, addressed to the asker; the switch mends the checksums.
pub fn answer_echo() -> Vec<Action> {
    vec![
        Action::Push(whole(Field::EthSrc)),
        Action::Move { src: whole(Field::EthDst), dst: whole(Field::EthSrc) },
        Action::Pop(whole(Field::EthDst)),
        Action::Push(whole(Field::Ipv4Src)),
        Action::Move { src: whole(Field::Ipv4Dst), dst: whole(Field::Ipv4Src) },
        Action::Pop(whole(Field::Ipv4Dst)),
        Action::load(whole(Field::IcmpType), 0),
        Action::load(whole(Field::IpTtl), 64),
        clear_in_port(),
    ]
}

/// Leave through the logical port the packet came from: one flow serves every asker.
pub fn egress_to_sender() -> Action {
    Action::Move { src: Subfield::range(Field::Metadata, 40, 20), dst: Subfield::range(Field::Reg6, 8, 20) }
}
