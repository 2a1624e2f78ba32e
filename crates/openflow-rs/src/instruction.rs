//! Instructions: what a flow does with a packet.

use bytes::{BufMut, BytesMut};

use crate::action::{encode_actions, read_actions};
use crate::wire::{Reader, patch_len};
use crate::{Action, DecodeError};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Instruction {
    Goto(u8),
    WriteMetadata { value: u64, mask: u64 },
    Write(Vec<Action>),
    Apply(Vec<Action>),
    Clear,
    Meter(u32),
}

impl Instruction {
    /// Order of execution (OpenFlow 1.3, section 5.9), which is also the order in which a switch reports them.
    fn rank(&self) -> u8 {
        match self {
            Instruction::Meter(_) => 0,
            Instruction::Apply(_) => 1,
            Instruction::Clear => 2,
            Instruction::Write(_) => 3,
            Instruction::WriteMetadata { .. } => 4,
            Instruction::Goto(_) => 5,
        }
    }

    fn encode(&self, out: &mut BytesMut) {
        let start = out.len();
        // Two bytes for the length, and four that most have no use for.
        let mut head = |kind: u64, rest: u32| out.put_u64(kind << 48 | u64::from(rest));
        match self {
            Instruction::Goto(table) => head(1, u32::from(*table) << 24),
            Instruction::WriteMetadata { value, mask } => {
                head(2, 0);
                out.put_u128(u128::from(*value) << 64 | u128::from(*mask));
            }
            Instruction::Write(actions) => {
                head(3, 0);
                encode_actions(actions, out);
            }
            Instruction::Apply(actions) => {
                head(4, 0);
                encode_actions(actions, out);
            }
            Instruction::Clear => head(5, 0),
            Instruction::Meter(meter) => head(6, *meter),
        }
        patch_len(out, start, 2);
    }

    fn read(input: &mut Reader<'_>) -> Result<Instruction, DecodeError> {
        let start = *input;
        let kind = input.u16()?;
        let length = usize::from(input.u16()?);
        if length < 8 || length % 8 != 0 {
            return Err(start.error("an instruction's length is not a multiple of eight"));
        }
        let mut body = input.sub(length - 4)?;
        Ok(match kind {
            1 => Instruction::Goto(body.u8()?),
            2 => {
                body.skip(4)?;
                Instruction::WriteMetadata { value: body.u64()?, mask: body.u64()? }
            }
            3 | 4 => {
                body.skip(4)?;
                let actions = read_actions(&mut body, 0)?;
                if kind == 3 { Instruction::Write(actions) } else { Instruction::Apply(actions) }
            }
            5 => Instruction::Clear,
            6 => Instruction::Meter(body.u32()?),
            _ => return Err(start.error("an instruction of an unknown type")),
        })
    }
}

pub fn encode(instructions: &[Instruction], out: &mut BytesMut) {
    for instruction in instructions {
        instruction.encode(out);
    }
}

/// # Errors
/// When an instruction or one of its actions is unknown or cut short.
pub fn decode(bytes: &[u8]) -> Result<Vec<Instruction>, DecodeError> {
    read_all(&mut Reader::new(bytes))
}

pub(crate) fn read_all(input: &mut Reader<'_>) -> Result<Vec<Instruction>, DecodeError> {
    let mut instructions = Vec::new();
    while !input.is_empty() {
        instructions.push(Instruction::read(input)?);
    }
    Ok(instructions)
}

/// The same instructions in the order in which a switch reports them, without empty ones.
pub fn canonical(mut instructions: Vec<Instruction>) -> Vec<Instruction> {
    instructions
        .retain(|one| !matches!(one, Instruction::Apply(list) | Instruction::Write(list) if list.is_empty()));
    instructions.sort_by_key(Instruction::rank);
    instructions
}
