//! The actions of Open vSwitch: `struct nx_action_*` of its `ofp-actions.c`, by subtype.

use bytes::{BufMut, BytesMut};

use super::{Action, Subfield, ct, learn};
use crate::wire::{Reader, pad8, patch_len, put_number, put_zeros};
use crate::{DecodeError, Field};

pub(crate) const NICIRA: u32 = 0x2320;

const REG_MOVE: u16 = 6;
const REG_LOAD: u16 = 7;
const NOTE: u16 = 8;
const RESUBMIT_TABLE: u16 = 14;
const LEARN: u16 = 16;
const STACK_PUSH: u16 = 27;
const STACK_POP: u16 = 28;
const CONJUNCTION: u16 = 34;
const CT: u16 = 35;
const NAT: u16 = 36;
const CONTROLLER2: u16 = 37;
const CT_CLEAR: u16 = 43;

/// Writes the header of a Nicira action; the caller pads and patches the length.
pub(super) fn begin(out: &mut BytesMut, subtype: u16) -> usize {
    let start = out.len();
    put_number(out, 0xffff << 64 | u128::from(NICIRA) << 16 | u128::from(subtype), 10);
    start
}

pub(super) fn end(out: &mut BytesMut, start: usize) {
    pad8(out, start);
    patch_len(out, start, 2);
}

pub(super) fn encode(action: &Action, out: &mut BytesMut) {
    let start;
    match action {
        Action::Load { dst, value } => {
            start = begin(out, REG_LOAD);
            let bits = u128::from(dst.start << 6 | (dst.bits - 1));
            put_number(out, bits << 96 | u128::from(dst.field.nxm_header()) << 64 | u128::from(*value), 14);
        }
        Action::Move { src, dst } => {
            start = begin(out, REG_MOVE);
            out.put_u16(src.bits);
            out.put_u16(src.start);
            out.put_u16(dst.start);
            out.put_u32(src.field.nxm_header());
            out.put_u32(dst.field.nxm_header());
        }
        Action::Push(subfield) => start = stack(out, STACK_PUSH, subfield),
        Action::Pop(subfield) => start = stack(out, STACK_POP, subfield),
        Action::Resubmit { in_port, table } => {
            start = begin(out, RESUBMIT_TABLE);
            // And three bytes to the next multiple of eight.
            put_number(out, u128::from(*in_port) << 32 | u128::from(*table) << 24, 6);
        }
        Action::Ct(ct) => {
            start = begin(out, CT);
            ct::encode(ct, out);
        }
        Action::CtClear => {
            start = begin(out, CT_CLEAR);
        }
        Action::Learn(learn) => {
            start = begin(out, LEARN);
            learn::encode(learn, out);
        }
        Action::Conjunction { id, clause, clauses } => {
            start = begin(out, CONJUNCTION);
            out.put_u8(*clause);
            out.put_u8(*clauses);
            out.put_u32(*id);
        }
        Action::Note(note) => {
            start = begin(out, NOTE);
            out.put_slice(note);
        }
        Action::Controller { max_len, controller_id, reason, userdata, pause, meter_id } => {
            start = begin(out, CONTROLLER2);
            put_zeros(out, 6);
            if *max_len != 0xffff {
                property(out, 0, &max_len.to_be_bytes());
            }
            if *controller_id != 0 {
                property(out, 1, &controller_id.to_be_bytes());
            }
            if *reason != 1 {
                property(out, 2, &[*reason]);
            }
            if !userdata.is_empty() {
                property(out, 3, userdata);
            }
            if *pause {
                property(out, 4, &[]);
            }
            if *meter_id != 0 {
                property(out, 5, &meter_id.to_be_bytes());
            }
        }
        Action::Output { .. }
        | Action::Group(_)
        | Action::SetField(_)
        | Action::DecTtl
        | Action::PushVlan(_)
        | Action::PopVlan
        | Action::PopMpls(_)
        | Action::SetQueue(_) => unreachable!("standard actions are encoded by the caller"),
    }
    end(out, start);
}

/// A property of packet-in2 and controller2: type, length without padding, body, padding to eight bytes.
pub(crate) fn property(out: &mut BytesMut, kind: u16, body: &[u8]) {
    let start = out.len();
    out.put_u16(kind);
    out.put_u16((4 + body.len()) as u16);
    out.put_slice(body);
    pad8(out, start);
}

/// Reads one property: its type and its body.
pub(crate) fn read_property<'a>(input: &mut Reader<'a>) -> Result<(u16, Reader<'a>), DecodeError> {
    let start = *input;
    let kind = input.u16()?;
    let length = usize::from(input.u16()?);
    let Some(size) = length.checked_sub(4) else {
        return Err(start.error("a property is shorter than its header"));
    };
    let body = input.sub(size)?;
    input.skip_up_to(length.next_multiple_of(8) - length);
    Ok((kind, body))
}

fn stack(out: &mut BytesMut, subtype: u16, subfield: &Subfield) -> usize {
    let start = begin(out, subtype);
    out.put_u16(subfield.start);
    out.put_u32(subfield.field.nxm_header());
    out.put_u16(subfield.bits);
    put_zeros(out, 6);
    start
}

pub(super) fn read(start: &Reader<'_>, body: &mut Reader<'_>, depth: usize) -> Result<Action, DecodeError> {
    if body.u32()? != NICIRA {
        return Err(start.error("an action of an unknown experimenter"));
    }
    Ok(match body.u16()? {
        REG_LOAD => {
            let place = body.u16()?;
            let dst = subfield(body, place >> 6, (place & 0x3f) + 1)?;
            Action::Load { dst, value: body.u64()? }
        }
        REG_MOVE => {
            let (bits, from, to) = (body.u16()?, body.u16()?, body.u16()?);
            Action::Move { src: subfield(body, from, bits)?, dst: subfield(body, to, bits)? }
        }
        STACK_PUSH => Action::Push(stack_subfield(body)?),
        STACK_POP => Action::Pop(stack_subfield(body)?),
        RESUBMIT_TABLE => Action::Resubmit { in_port: body.u16()?, table: body.u8()? },
        CT => Action::Ct(ct::read(body, depth)?),
        NAT => return Err(start.error("nat outside of ct")),
        CT_CLEAR => Action::CtClear,
        LEARN => Action::Learn(Box::new(learn::read(body)?)),
        CONJUNCTION => {
            let (clause, clauses) = (body.u8()?, body.u8()?);
            Action::Conjunction { id: body.u32()?, clause, clauses }
        }
        NOTE => Action::Note(body.rest().to_vec()),
        CONTROLLER2 => controller(body)?,
        _ => return Err(start.error("a Nicira action of an unknown subtype")),
    })
}

fn controller(body: &mut Reader<'_>) -> Result<Action, DecodeError> {
    body.skip(6)?;
    let (mut max_len, mut controller_id, mut reason, mut meter_id) = (0xffff, 0, 1, 0);
    let (mut userdata, mut pause) = (Vec::new(), false);
    while !body.is_empty() {
        let (kind, mut value) = read_property(body)?;
        match kind {
            0 => max_len = value.u16()?,
            1 => controller_id = value.u16()?,
            2 => reason = value.u8()?,
            3 => userdata = value.rest().to_vec(),
            4 => pause = true,
            5 => meter_id = value.u32()?,
            _ => return Err(value.error("a controller action with an unknown property")),
        }
    }
    Ok(Action::Controller { max_len, controller_id, reason, userdata, pause, meter_id })
}

fn stack_subfield(body: &mut Reader<'_>) -> Result<Subfield, DecodeError> {
    let start = body.u16()?;
    let header = *body;
    body.u32()?;
    let bits = body.u16()?;
    subfield(&mut { header }, start, bits)
}

pub(super) fn subfield(input: &mut Reader<'_>, start: u16, bits: u16) -> Result<Subfield, DecodeError> {
    let at = *input;
    let Some(field) = Field::from_header(input.u32()?) else { return Err(at.error("an unknown field")) };
    let inside = bits > 0 && start.checked_add(bits).is_some_and(|end| end <= field.bits());
    if inside { Ok(Subfield { field, start, bits }) } else { Err(at.error("bits outside of the field")) }
}
