//! Connection tracking: `ct(...)` and the `nat(...)` inside it (`struct nx_action_conntrack`, `nx_action_nat`).

use std::net::{Ipv4Addr, Ipv6Addr};

use bytes::{BufMut, BytesMut};

use super::nicira::{begin, end, subfield};
use super::{Action, Subfield, encode_actions, read_actions};
use crate::DecodeError;
use crate::wire::{Reader, put_zeros};

/// `ct(...)`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ct {
    pub commit: bool,
    pub force: bool,
    pub zone: CtZone,
    /// Table in which the tracked packet goes on; `None`: it does not.
    pub table: Option<u8>,
    pub nat: Option<CtNat>,
    /// 21 for FTP, 69 for TFTP, else zero.
    pub alg: u16,
    /// `exec(...)`: sets of ct_mark and ct_label.
    pub exec: Vec<Action>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CtZone {
    Number(u16),
    Field(Subfield),
}

impl Default for CtZone {
    fn default() -> Self {
        CtZone::Number(0)
    }
}

/// `nat`, `nat(src=…)` or `nat(dst=…)`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct CtNat {
    pub source: bool,
    pub destination: bool,
    pub persistent: bool,
    pub hash: bool,
    pub random: bool,
    /// First and last address; equal for one.
    pub addresses: Option<(Ipv4Addr, Ipv4Addr)>,
    /// The same of IPv6; a translation has addresses of one version.
    pub addresses_v6: Option<(Ipv6Addr, Ipv6Addr)>,
    /// First and last port.
    pub ports: Option<(u16, u16)>,
}

const NAT: u16 = 36;
const NO_RECIRC: u8 = 0xff;

pub(super) fn encode(ct: &Ct, out: &mut BytesMut) {
    out.put_u16(u16::from(ct.commit) | u16::from(ct.force) << 1);
    match &ct.zone {
        CtZone::Number(zone) => {
            out.put_u32(0);
            out.put_u16(*zone);
        }
        CtZone::Field(subfield) => {
            out.put_u32(subfield.field.nxm_header());
            out.put_u16(subfield.start << 6 | (subfield.bits - 1));
        }
    }
    out.put_u8(ct.table.unwrap_or(NO_RECIRC));
    put_zeros(out, 3);
    out.put_u16(ct.alg);
    if let Some(nat) = &ct.nat {
        encode_nat(nat, out);
    }
    encode_actions(&ct.exec, out);
}

fn encode_nat(nat: &CtNat, out: &mut BytesMut) {
    let start = begin(out, NAT);
    put_zeros(out, 2);
    let flags = [nat.source, nat.destination, nat.persistent, nat.hash, nat.random];
    out.put_u16(flags.iter().enumerate().map(|(bit, set)| u16::from(*set) << bit).sum());
    let one = |range: &Option<(Ipv4Addr, Ipv4Addr)>| range.is_some_and(|(first, last)| first != last);
    let mut present = 0;
    if nat.addresses.is_some() {
        present |= 1;
    }
    if one(&nat.addresses) {
        present |= 2;
    }
    if let Some((first, last)) = nat.addresses_v6 {
        present |= if first == last { 4 } else { 12 };
    }
    if nat.ports.is_some() {
        present |= 16;
    }
    if nat.ports.is_some_and(|(first, last)| first != last) {
        present |= 32;
    }
    out.put_u16(present);
    if let Some((first, last)) = nat.addresses {
        out.put_slice(&first.octets());
        if first != last {
            out.put_slice(&last.octets());
        }
    }
    if let Some((first, last)) = nat.addresses_v6 {
        out.put_slice(&first.octets());
        if first != last {
            out.put_slice(&last.octets());
        }
    }
    if let Some((first, last)) = nat.ports {
        out.put_u16(first);
        if first != last {
            out.put_u16(last);
        }
    }
    end(out, start);
}

pub(super) fn read(body: &mut Reader<'_>, depth: usize) -> Result<Ct, DecodeError> {
    let flags = body.u16()?;
    let header = *body;
    let source = body.u32()?;
    let place = body.u16()?;
    let zone = if source == 0 {
        CtZone::Number(place)
    } else {
        CtZone::Field(subfield(&mut { header }, place >> 6, (place & 0x3f) + 1)?)
    };
    let table = Some(body.u8()?).filter(|table| *table != NO_RECIRC);
    body.skip(3)?;
    let alg = body.u16()?;
    let mut ct =
        Ct { commit: flags & 1 != 0, force: flags & 2 != 0, zone, table, nat: None, alg, exec: Vec::new() };
    if let Some(nat) = read_nat(body)? {
        ct.nat = Some(nat);
    }
    ct.exec = read_actions(body, depth + 1)?;
    Ok(ct)
}

/// Reads a nat action where one comes next; leaves anything else where it is.
fn read_nat(body: &mut Reader<'_>) -> Result<Option<CtNat>, DecodeError> {
    let mut ahead = *body;
    if ahead.remaining() < 16 {
        return Ok(None);
    }
    let (kind, length) = (ahead.u16()?, usize::from(ahead.u16()?));
    if kind != 0xffff || ahead.u32()? != super::nicira::NICIRA || ahead.u16()? != NAT {
        return Ok(None);
    }
    if length < 16 || length % 8 != 0 {
        return Err(body.error("nat has a wrong length"));
    }
    let mut input = body.sub(length)?;
    input.skip(12)?;
    let flags = input.u16()?;
    let present = input.u16()?;
    let address = |input: &mut Reader<'_>| input.u32().map(Ipv4Addr::from);
    let address_v6 = |input: &mut Reader<'_>| -> Result<Ipv6Addr, DecodeError> {
        let (high, low) = (input.u64()?, input.u64()?);
        Ok(Ipv6Addr::from(u128::from(high) << 64 | u128::from(low)))
    };
    let mut nat = CtNat {
        source: flags & 1 != 0,
        destination: flags & 2 != 0,
        persistent: flags & 4 != 0,
        hash: flags & 8 != 0,
        random: flags & 16 != 0,
        addresses: None,
        addresses_v6: None,
        ports: None,
    };
    if present & 1 != 0 {
        let first = address(&mut input)?;
        nat.addresses = Some((first, if present & 2 != 0 { address(&mut input)? } else { first }));
    }
    if present & 4 != 0 {
        let first = address_v6(&mut input)?;
        nat.addresses_v6 = Some((first, if present & 8 != 0 { address_v6(&mut input)? } else { first }));
    }
    if present & 16 != 0 {
        let first = input.u16()?;
        nat.ports = Some((first, if present & 32 != 0 { input.u16()? } else { first }));
    }
    Ok(Some(nat))
}
