//! Actions: OpenFlow 1.3's own and those of Open vSwitch (experimenter 0x2320).

mod ct;
mod learn;
pub(crate) mod nicira;

use bytes::{BufMut, BytesMut};

pub use ct::{Ct, CtNat, CtZone};
pub use learn::{Learn, LearnSource, LearnSpec, LearnTarget};
pub(crate) use nicira::{NICIRA, property, read_property};

use crate::wire::{Reader, pad8, patch_len, put_zeros};
use crate::{DecodeError, Field, MatchField};

/// Actions may hold actions (conntrack); more levels than this are refused.
const MAX_DEPTH: usize = 4;

/// Some bits of a field: `NXM_NX_REG6[8..27]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Subfield {
    pub field: Field,
    /// Lowest bit.
    pub start: u16,
    /// Number of bits, at least one.
    pub bits: u16,
}

impl Subfield {
    pub fn whole(field: Field) -> Subfield {
        Subfield { field, start: 0, bits: field.bits() }
    }

    pub fn range(field: Field, start: u16, bits: u16) -> Subfield {
        Subfield { field, start, bits }
    }
}

/// What to do with a packet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// `max_len` counts for the controller port only.
    Output {
        port: u32,
        max_len: u16,
    },
    Group(u32),
    /// Exact values only: OpenFlow 1.3 has no masked set_field.
    SetField(MatchField),
    DecTtl,
    PushVlan(u16),
    PopVlan,
    PopMpls(u16),
    SetQueue(u32),
    /// NXAST_REG_LOAD: at most 64 bits.
    Load {
        dst: Subfield,
        value: u64,
    },
    /// NXAST_REG_MOVE between two subfields of the same width.
    Move {
        src: Subfield,
        dst: Subfield,
    },
    Push(Subfield),
    Pop(Subfield),
    /// NXAST_RESUBMIT_TABLE; `in_port` 0xfff8 keeps the packet's own.
    Resubmit {
        in_port: u16,
        table: u8,
    },
    Ct(Ct),
    CtClear,
    Learn(Box<Learn>),
    Conjunction {
        id: u32,
        clause: u8,
        clauses: u8,
    },
    /// NXAST_CONTROLLER2. A `meter_id` of zero is none.
    Controller {
        max_len: u16,
        controller_id: u16,
        reason: u8,
        userdata: Vec<u8>,
        pause: bool,
        meter_id: u32,
    },
    Note(Vec<u8>),
}

impl Action {
    pub fn output(port: u32) -> Action {
        Action::Output { port, max_len: 0 }
    }

    pub fn resubmit(table: u8) -> Action {
        Action::Resubmit { in_port: 0xfff8, table }
    }

    pub fn set_field(field: Field, value: impl Into<u128>) -> Action {
        Action::SetField(MatchField::exact(field, value))
    }

    pub fn load(dst: Subfield, value: u64) -> Action {
        Action::Load { dst, value }
    }

    pub fn encode(&self, out: &mut BytesMut) {
        let start = out.len();
        match self {
            Action::Output { port, max_len } => {
                head(out, 0, 16);
                out.put_u32(*port);
                out.put_u16(*max_len);
                put_zeros(out, 6);
            }
            Action::Group(group) => {
                head(out, 22, 8);
                out.put_u32(*group);
            }
            Action::SetField(value) => {
                head(out, 25, 0);
                value.encode(out);
                pad8(out, start);
                patch_len(out, start, 2);
            }
            Action::DecTtl => plain(out, 24),
            Action::PopVlan => plain(out, 18),
            Action::PushVlan(ethertype) => ethertyped(out, 17, *ethertype),
            Action::PopMpls(ethertype) => ethertyped(out, 20, *ethertype),
            Action::SetQueue(queue) => {
                head(out, 21, 8);
                out.put_u32(*queue);
            }
            other => nicira::encode(other, out),
        }
    }

    pub(crate) fn read(input: &mut Reader<'_>, depth: usize) -> Result<Action, DecodeError> {
        let start = *input;
        let kind = input.u16()?;
        let length = usize::from(input.u16()?);
        if length < 8 || length % 8 != 0 {
            return Err(start.error("an action's length is not a multiple of eight"));
        }
        let mut body = input.sub(length - 4)?;
        Ok(match kind {
            0 => Action::Output { port: body.u32()?, max_len: body.u16()? },
            17 => Action::PushVlan(body.u16()?),
            18 => Action::PopVlan,
            20 => Action::PopMpls(body.u16()?),
            21 => Action::SetQueue(body.u32()?),
            22 => Action::Group(body.u32()?),
            24 => Action::DecTtl,
            25 => match MatchField::decode(&mut body)? {
                Some(value) if value.is_exact() => Action::SetField(value),
                _ => return Err(start.error("set_field of an unknown or masked field")),
            },
            0xffff => nicira::read(&start, &mut body, depth)?,
            _ => return Err(start.error("an action of an unknown type")),
        })
    }
}

/// Writes actions one behind the other.
pub fn encode_actions(actions: &[Action], out: &mut BytesMut) {
    for action in actions {
        action.encode(out);
    }
}

/// # Errors
/// When an action is unknown, cut short or nested too deep.
pub fn decode_actions(bytes: &[u8]) -> Result<Vec<Action>, DecodeError> {
    read_actions(&mut Reader::new(bytes), 0)
}

pub(crate) fn read_actions(input: &mut Reader<'_>, depth: usize) -> Result<Vec<Action>, DecodeError> {
    if depth > MAX_DEPTH {
        return Err(input.error("actions are nested too deep"));
    }
    let mut actions = Vec::new();
    while !input.is_empty() {
        actions.push(Action::read(input, depth)?);
    }
    Ok(actions)
}

fn head(out: &mut BytesMut, kind: u16, length: u16) {
    out.put_u32(u32::from(kind) << 16 | u32::from(length));
}

fn plain(out: &mut BytesMut, kind: u16) {
    head(out, kind, 8);
    put_zeros(out, 4);
}

fn ethertyped(out: &mut BytesMut, kind: u16, ethertype: u16) {
    head(out, kind, 8);
    out.put_u16(ethertype);
    put_zeros(out, 2);
}
