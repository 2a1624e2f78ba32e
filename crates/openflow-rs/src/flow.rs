//! Flow-mod, flow-removed and the flow entries of a multipart reply.

use bytes::{BufMut, BytesMut};

use crate::instruction::{self, Instruction};
use crate::matching::encode_raw;
use crate::wire::{Reader, put_zeros};
use crate::{DecodeError, Match, NO_BUFFER, ports};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FlowCommand {
    Add,
    Modify,
    ModifyStrict,
    Delete,
    DeleteStrict,
}

/// Send a flow-removed message when the flow ends.
pub const SEND_FLOW_REMOVED: u16 = 1;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowMod {
    pub cookie: u64,
    pub cookie_mask: u64,
    pub table: u8,
    pub command: FlowCommand,
    pub idle_timeout: u16,
    pub hard_timeout: u16,
    pub priority: u16,
    pub buffer_id: u32,
    pub out_port: u32,
    pub out_group: u32,
    pub flags: u16,
    pub match_: Match,
    pub instructions: Vec<Instruction>,
}

impl FlowMod {
    pub fn add(table: u8, priority: u16, match_: Match) -> FlowMod {
        FlowMod {
            cookie: 0,
            cookie_mask: 0,
            table,
            command: FlowCommand::Add,
            idle_timeout: 0,
            hard_timeout: 0,
            priority,
            buffer_id: NO_BUFFER,
            out_port: ports::ANY,
            out_group: ports::ANY,
            flags: 0,
            match_,
            instructions: Vec::new(),
        }
    }

    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u64(self.cookie);
        out.put_u64(self.cookie_mask);
        out.put_u8(self.table);
        out.put_u8(self.command as u8);
        out.put_u16(self.idle_timeout);
        out.put_u16(self.hard_timeout);
        out.put_u16(self.priority);
        out.put_u32(self.buffer_id);
        out.put_u32(self.out_port);
        out.put_u32(self.out_group);
        out.put_u16(self.flags);
        put_zeros(out, 2);
        self.match_.encode(out);
        instruction::encode(&self.instructions, out);
    }

    pub(crate) fn read(input: &mut Reader<'_>) -> Result<FlowMod, DecodeError> {
        let (cookie, cookie_mask, table) = (input.u64()?, input.u64()?, input.u8()?);
        let start = *input;
        let command = match input.u8()? {
            0 => FlowCommand::Add,
            1 => FlowCommand::Modify,
            2 => FlowCommand::ModifyStrict,
            3 => FlowCommand::Delete,
            4 => FlowCommand::DeleteStrict,
            _ => return Err(start.error("an unknown flow-mod command")),
        };
        let (idle_timeout, hard_timeout, priority) = (input.u16()?, input.u16()?, input.u16()?);
        let (buffer_id, out_port, out_group, flags) =
            (input.u32()?, input.u32()?, input.u32()?, input.u16()?);
        input.skip(2)?;
        let match_ = Match::read(input)?;
        let instructions = instruction::read_all(input)?;
        Ok(FlowMod {
            cookie,
            cookie_mask,
            table,
            command,
            idle_timeout,
            hard_timeout,
            priority,
            buffer_id,
            out_port,
            out_group,
            flags,
            match_,
            instructions,
        })
    }
}

/// A flow whose match fields and instructions are encoded already: what a programmer that keeps flows as bytes sends.
#[derive(Clone, Copy, Debug)]
pub struct RawFlow<'a> {
    pub table: u8,
    pub priority: u16,
    pub cookie: u64,
    /// Such as [`SEND_FLOW_REMOVED`].
    pub flags: u16,
    pub match_fields: &'a [u8],
    pub instructions: &'a [u8],
}

/// Writes an add, or a strict delete, without building anything.
pub fn encode_flow_mod(command: FlowCommand, flow: RawFlow<'_>, xid: u32, out: &mut BytesMut) {
    let start = crate::Header::begin(crate::message::FLOW_MOD, xid, out);
    out.put_u64(flow.cookie);
    out.put_u64(0);
    out.put_u8(flow.table);
    out.put_u8(command as u8);
    out.put_u32(0);
    out.put_u16(flow.priority);
    out.put_u32(NO_BUFFER);
    out.put_u32(ports::ANY);
    out.put_u32(ports::ANY);
    out.put_u16(flow.flags);
    put_zeros(out, 2);
    encode_raw(flow.match_fields, out);
    out.put_slice(flow.instructions);
    crate::wire::patch_len(out, start, 2);
}

/// One flow as a switch reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowStats {
    pub table: u8,
    pub duration_sec: u32,
    pub duration_nsec: u32,
    pub priority: u16,
    pub idle_timeout: u16,
    pub hard_timeout: u16,
    pub flags: u16,
    pub cookie: u64,
    pub packets: u64,
    pub bytes: u64,
    pub match_: Match,
    pub instructions: Vec<Instruction>,
}

impl FlowStats {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        let start = out.len();
        out.put_u16(0);
        out.put_u8(self.table);
        put_zeros(out, 1);
        out.put_u32(self.duration_sec);
        out.put_u32(self.duration_nsec);
        out.put_u16(self.priority);
        out.put_u16(self.idle_timeout);
        out.put_u16(self.hard_timeout);
        out.put_u16(self.flags);
        put_zeros(out, 4);
        out.put_u64(self.cookie);
        out.put_u64(self.packets);
        out.put_u64(self.bytes);
        self.match_.encode(out);
        instruction::encode(&self.instructions, out);
        crate::wire::patch_len(out, start, 0);
    }

    pub(crate) fn read(input: &mut Reader<'_>) -> Result<FlowStats, DecodeError> {
        let start = *input;
        let Some(length) = usize::from(input.u16()?).checked_sub(2) else {
            return Err(start.error("a flow entry is shorter than its header"));
        };
        let mut body = input.sub(length)?;
        let table = body.u8()?;
        body.skip(1)?;
        let (duration_sec, duration_nsec, priority) = (body.u32()?, body.u32()?, body.u16()?);
        let (idle_timeout, hard_timeout, flags) = (body.u16()?, body.u16()?, body.u16()?);
        body.skip(4)?;
        let (cookie, packets, bytes) = (body.u64()?, body.u64()?, body.u64()?);
        let match_ = Match::read(&mut body)?;
        let instructions = instruction::read_all(&mut body)?;
        Ok(FlowStats {
            table,
            duration_sec,
            duration_nsec,
            priority,
            idle_timeout,
            hard_timeout,
            flags,
            cookie,
            packets,
            bytes,
            match_,
            instructions,
        })
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowRemoved {
    pub cookie: u64,
    pub priority: u16,
    /// 0: idle timeout, 1: hard timeout, 2: deleted, 3: its group was deleted.
    pub reason: u8,
    pub table: u8,
    pub duration_sec: u32,
    pub packets: u64,
    pub bytes: u64,
    pub match_: Match,
}

impl FlowRemoved {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u64(self.cookie);
        out.put_u16(self.priority);
        out.put_u8(self.reason);
        out.put_u8(self.table);
        out.put_u32(self.duration_sec);
        put_zeros(out, 8);
        out.put_u64(self.packets);
        out.put_u64(self.bytes);
        self.match_.encode(out);
    }

    pub(crate) fn read(input: &mut Reader<'_>) -> Result<FlowRemoved, DecodeError> {
        let (cookie, priority, reason, table) = (input.u64()?, input.u16()?, input.u8()?, input.u8()?);
        let duration_sec = input.u32()?;
        input.skip(8)?;
        let (packets, bytes) = (input.u64()?, input.u64()?);
        Ok(FlowRemoved {
            cookie,
            priority,
            reason,
            table,
            duration_sec,
            packets,
            bytes,
            match_: Match::read(input)?,
        })
    }
}
