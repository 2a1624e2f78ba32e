//! Meters: meter-mod and the meter configurations of a multipart reply.

use bytes::{BufMut, BytesMut};

use crate::DecodeError;
use crate::wire::{Reader, patch_len, put_zeros};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MeterCommand {
    Add,
    Modify,
    Delete,
}

/// Every meter, in a delete or a request.
pub const ALL_METERS: u32 = 0xffff_ffff;

pub const FLAG_KBPS: u16 = 1;
pub const FLAG_PKTPS: u16 = 2;
pub const FLAG_BURST: u16 = 4;
pub const FLAG_STATS: u16 = 8;

/// A drop band: what exceeds the rate is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MeterBand {
    /// Packets or kilobits a second, by the flags of the meter.
    pub rate: u32,
    pub burst: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeterMod {
    pub command: MeterCommand,
    pub flags: u16,
    pub meter: u32,
    pub bands: Vec<MeterBand>,
}

/// A meter as a switch reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeterConfig {
    pub flags: u16,
    pub meter: u32,
    pub bands: Vec<MeterBand>,
}

fn put_bands(bands: &[MeterBand], out: &mut BytesMut) {
    for band in bands {
        out.put_u16(1);
        out.put_u16(16);
        out.put_u32(band.rate);
        out.put_u32(band.burst);
        put_zeros(out, 4);
    }
}

fn read_bands(input: &mut Reader<'_>) -> Result<Vec<MeterBand>, DecodeError> {
    let mut bands = Vec::new();
    while !input.is_empty() {
        let start = *input;
        let (kind, length) = (input.u16()?, usize::from(input.u16()?));
        if kind != 1 || length != 16 {
            return Err(start.error("a meter band that is not a drop band"));
        }
        let mut body = input.sub(12)?;
        bands.push(MeterBand { rate: body.u32()?, burst: body.u32()? });
    }
    Ok(bands)
}

impl MeterMod {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u16(self.command as u16);
        out.put_u16(self.flags);
        out.put_u32(self.meter);
        put_bands(&self.bands, out);
    }

    pub(crate) fn read(input: &mut Reader<'_>) -> Result<MeterMod, DecodeError> {
        let start = *input;
        let command = match input.u16()? {
            0 => MeterCommand::Add,
            1 => MeterCommand::Modify,
            2 => MeterCommand::Delete,
            _ => return Err(start.error("an unknown meter-mod command")),
        };
        Ok(MeterMod { command, flags: input.u16()?, meter: input.u32()?, bands: read_bands(input)? })
    }
}

impl MeterConfig {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        let start = out.len();
        out.put_u16(0);
        out.put_u16(self.flags);
        out.put_u32(self.meter);
        put_bands(&self.bands, out);
        patch_len(out, start, 0);
    }

    pub(crate) fn read(input: &mut Reader<'_>) -> Result<MeterConfig, DecodeError> {
        let start = *input;
        let Some(length) = usize::from(input.u16()?).checked_sub(2) else {
            return Err(start.error("a meter is shorter than its header"));
        };
        let mut body = input.sub(length)?;
        Ok(MeterConfig { flags: body.u16()?, meter: body.u32()?, bands: read_bands(&mut body)? })
    }
}
