//! Ports as a switch describes them.

use bytes::{BufMut, BytesMut};

use crate::DecodeError;
use crate::wire::{Reader, put_zeros};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortDesc {
    pub port: u32,
    pub mac: [u8; 6],
    /// At most 15 bytes.
    pub name: String,
    /// Bit 0: the port is administratively down.
    pub config: u32,
    /// Bit 0: no link.
    pub state: u32,
    /// Kilobits a second.
    pub current_speed: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortStatus {
    /// 0: added, 1: deleted, 2: modified.
    pub reason: u8,
    pub desc: PortDesc,
}

impl PortDesc {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u32(self.port);
        put_zeros(out, 4);
        out.put_slice(&self.mac);
        put_zeros(out, 2);
        let mut name = [0; 16];
        let size = self.name.len().min(15);
        name[..size].copy_from_slice(&self.name.as_bytes()[..size]);
        out.put_slice(&name);
        out.put_u32(self.config);
        out.put_u32(self.state);
        put_zeros(out, 16);
        out.put_u32(self.current_speed);
        put_zeros(out, 4);
    }

    pub(crate) fn read(input: &mut Reader<'_>) -> Result<PortDesc, DecodeError> {
        let port = input.u32()?;
        input.skip(4)?;
        let raw = input.bytes(6)?;
        let mac = [raw[0], raw[1], raw[2], raw[3], raw[4], raw[5]];
        input.skip(2)?;
        let (name, config, state) = (input.text(16)?, input.u32()?, input.u32()?);
        input.skip(16)?;
        let current_speed = input.u32()?;
        input.skip(4)?;
        Ok(PortDesc { port, mac, name, config, state, current_speed })
    }
}
