//! Packets to and from the controller.

use bytes::{BufMut, BytesMut};

use crate::action::{encode_actions, read_actions};
use crate::wire::{Reader, put_zeros};
use crate::{Action, DecodeError, Field, Match, NO_BUFFER};

/// A packet-in, from OpenFlow 1.3's own message or from Open vSwitch's packet-in2, whichever the session asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PacketIn {
    /// 0: table miss, 1: an action.
    pub reason: u8,
    pub table: u8,
    pub cookie: u64,
    /// in_port, metadata, registers, tunnel fields that were not zero.
    pub metadata: Match,
    /// What the controller action carried (packet-in2 only).
    pub userdata: Vec<u8>,
    /// Length of the whole frame, which may be more than was sent.
    pub full_len: usize,
    pub frame: Vec<u8>,
}

impl PacketIn {
    pub fn in_port(&self) -> Option<u32> {
        self.metadata.get(Field::InPort).map(|condition| condition.value as u32)
    }

    /// Reads OpenFlow 1.3's packet-in.
    pub(crate) fn read(input: &mut Reader<'_>) -> Result<PacketIn, DecodeError> {
        input.skip(4)?;
        let full_len = usize::from(input.u16()?);
        let (reason, table, cookie) = (input.u8()?, input.u8()?, input.u64()?);
        let metadata = Match::read(input)?;
        input.skip(2)?;
        Ok(PacketIn {
            reason,
            table,
            cookie,
            metadata,
            userdata: Vec::new(),
            full_len,
            frame: input.rest().to_vec(),
        })
    }

    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u32(NO_BUFFER);
        out.put_u16(self.full_len as u16);
        out.put_u8(self.reason);
        out.put_u8(self.table);
        out.put_u64(self.cookie);
        self.metadata.encode(out);
        put_zeros(out, 2);
        out.put_slice(&self.frame);
    }

    /// Reads the properties of NXT_PACKET_IN2.
    pub(crate) fn read2(input: &mut Reader<'_>) -> Result<PacketIn, DecodeError> {
        let mut packet = PacketIn::default();
        while input.remaining() >= 4 {
            let (kind, mut body) = crate::action::read_property(input)?;
            match kind {
                0 => packet.frame = body.rest().to_vec(),
                1 => packet.full_len = body.u32()? as usize,
                3 => packet.table = body.u8()?,
                4 => {
                    body.skip(4)?;
                    packet.cookie = body.u64()?;
                }
                5 => packet.reason = body.u8()?,
                6 => packet.metadata = Match::read_fields(&mut body)?,
                7 => packet.userdata = body.rest().to_vec(),
                _ => {} // buffer id and continuation: not asked for
            }
        }
        packet.full_len = packet.full_len.max(packet.frame.len());
        Ok(packet)
    }
}

/// Sends a frame through actions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketOut {
    /// [`crate::ports::CONTROLLER`] when the frame came from nowhere.
    pub in_port: u32,
    pub actions: Vec<Action>,
    pub frame: Vec<u8>,
}

impl PacketOut {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u32(NO_BUFFER);
        out.put_u32(self.in_port);
        let at = out.len();
        out.put_u16(0);
        put_zeros(out, 6);
        let start = out.len();
        encode_actions(&self.actions, out);
        let size = (out.len() - start) as u16;
        out[at..at + 2].copy_from_slice(&size.to_be_bytes());
        out.put_slice(&self.frame);
    }

    pub(crate) fn read(input: &mut Reader<'_>) -> Result<PacketOut, DecodeError> {
        input.skip(4)?;
        let in_port = input.u32()?;
        let size = usize::from(input.u16()?);
        input.skip(6)?;
        let actions = read_actions(&mut input.sub(size)?, 0)?;
        Ok(PacketOut { in_port, actions, frame: input.rest().to_vec() })
    }
}
