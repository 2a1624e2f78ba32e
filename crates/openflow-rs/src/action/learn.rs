//! `learn(...)`: a flow that installs flows (`struct nx_action_learn`).

use bytes::{BufMut, BytesMut};

use super::Subfield;
use super::nicira::subfield;
use crate::DecodeError;
use crate::wire::{Reader, put_number, put_zeros};

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Learn {
    pub idle_timeout: u16,
    pub hard_timeout: u16,
    pub priority: u16,
    pub cookie: u64,
    /// 1: send flow-removed; 2: delete the learned flows with this one.
    pub flags: u16,
    pub table: u8,
    pub fin_idle_timeout: u16,
    pub fin_hard_timeout: u16,
    pub specs: Vec<LearnSpec>,
}

/// One part of the learned flow: a condition, a load, or an output.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LearnSpec {
    pub bits: u16,
    pub source: LearnSource,
    pub target: LearnTarget,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LearnSource {
    Field(Subfield),
    Value(u128),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LearnTarget {
    Match(Subfield),
    Load(Subfield),
    Output,
}

const IMMEDIATE: u16 = 1 << 13;

pub(super) fn encode(learn: &Learn, out: &mut BytesMut) {
    out.put_u16(learn.idle_timeout);
    out.put_u16(learn.hard_timeout);
    out.put_u16(learn.priority);
    out.put_u64(learn.cookie);
    out.put_u16(learn.flags);
    out.put_u8(learn.table);
    put_zeros(out, 1);
    out.put_u16(learn.fin_idle_timeout);
    out.put_u16(learn.fin_hard_timeout);
    for spec in &learn.specs {
        let target = match spec.target {
            LearnTarget::Match(_) => 0,
            LearnTarget::Load(_) => 1 << 11,
            LearnTarget::Output => 2 << 11,
        };
        let source = if matches!(spec.source, LearnSource::Value(_)) { IMMEDIATE } else { 0 };
        out.put_u16(source | target | spec.bits);
        match &spec.source {
            LearnSource::Field(subfield) => put_place(out, subfield),
            LearnSource::Value(value) => put_number(out, *value, 2 * usize::from(spec.bits.div_ceil(16))),
        }
        if let LearnTarget::Match(subfield) | LearnTarget::Load(subfield) = &spec.target {
            put_place(out, subfield);
        }
    }
}

fn put_place(out: &mut BytesMut, subfield: &Subfield) {
    out.put_u32(subfield.field.nxm_header());
    out.put_u16(subfield.start);
}

pub(super) fn read(body: &mut Reader<'_>) -> Result<Learn, DecodeError> {
    let mut learn = Learn {
        idle_timeout: body.u16()?,
        hard_timeout: body.u16()?,
        priority: body.u16()?,
        cookie: body.u64()?,
        flags: body.u16()?,
        table: body.u8()?,
        ..Learn::default()
    };
    body.skip(1)?;
    learn.fin_idle_timeout = body.u16()?;
    learn.fin_hard_timeout = body.u16()?;
    while body.remaining() >= 2 {
        let start = *body;
        let head = body.u16()?;
        if head == 0 {
            break; // the rest is padding
        }
        let bits = head & 0x7ff;
        if bits == 0 || bits > 128 {
            return Err(start.error("learn copies no bits, or more than a field has"));
        }
        let source = if head & IMMEDIATE != 0 {
            LearnSource::Value(body.number(2 * usize::from(bits.div_ceil(16)))?)
        } else {
            LearnSource::Field(place(body, bits)?)
        };
        let target = match head >> 11 & 3 {
            0 => LearnTarget::Match(place(body, bits)?),
            1 => LearnTarget::Load(place(body, bits)?),
            2 => LearnTarget::Output,
            _ => return Err(start.error("learn has an unknown target")),
        };
        learn.specs.push(LearnSpec { bits, source, target });
    }
    Ok(learn)
}

fn place(body: &mut Reader<'_>, bits: u16) -> Result<Subfield, DecodeError> {
    let header = *body;
    body.u32()?;
    let start = body.u16()?;
    subfield(&mut { header }, start, bits)
}
