//! Counters of ports, groups and meters (OpenFlow 1.3, sections A.3.5.6, A.3.5.8 and A.3.5.11).

use bytes::{BufMut, BytesMut};

use crate::DecodeError;
use crate::wire::{Reader, patch_len, put_zeros};

/// What a port counted. All ones: the port does not count that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortStats {
    pub port: u32,
    pub rx_packets: u64,
    pub tx_packets: u64,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub rx_dropped: u64,
    pub tx_dropped: u64,
    pub rx_errors: u64,
    pub tx_errors: u64,
    pub rx_frame_errors: u64,
    pub rx_over_errors: u64,
    pub rx_crc_errors: u64,
    pub collisions: u64,
    pub seconds: u32,
    pub nanoseconds: u32,
}

/// Packets and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    pub packets: u64,
    pub bytes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupStats {
    pub group: u32,
    /// Flows and groups that lead to it.
    pub references: u32,
    pub count: Count,
    pub seconds: u32,
    pub nanoseconds: u32,
    pub buckets: Vec<Count>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MeterStats {
    pub meter: u32,
    /// Flows that go through it.
    pub flows: u32,
    pub count: Count,
    pub seconds: u32,
    pub nanoseconds: u32,
    /// What each band acted on: of a drop band, what was dropped.
    pub bands: Vec<Count>,
}

impl Count {
    fn read(input: &mut Reader<'_>) -> Result<Count, DecodeError> {
        Ok(Count { packets: input.u64()?, bytes: input.u64()? })
    }

    fn encode(self, out: &mut BytesMut) {
        out.put_u64(self.packets);
        out.put_u64(self.bytes);
    }
}

fn counts(input: &mut Reader<'_>) -> Result<Vec<Count>, DecodeError> {
    let mut counts = Vec::new();
    while !input.is_empty() {
        counts.push(Count::read(input)?);
    }
    Ok(counts)
}

impl PortStats {
    pub(crate) fn read(input: &mut Reader<'_>) -> Result<PortStats, DecodeError> {
        let port = input.u32()?;
        input.skip(4)?;
        Ok(PortStats {
            port,
            rx_packets: input.u64()?,
            tx_packets: input.u64()?,
            rx_bytes: input.u64()?,
            tx_bytes: input.u64()?,
            rx_dropped: input.u64()?,
            tx_dropped: input.u64()?,
            rx_errors: input.u64()?,
            tx_errors: input.u64()?,
            rx_frame_errors: input.u64()?,
            rx_over_errors: input.u64()?,
            rx_crc_errors: input.u64()?,
            collisions: input.u64()?,
            seconds: input.u32()?,
            nanoseconds: input.u32()?,
        })
    }

    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u32(self.port);
        put_zeros(out, 4);
        for number in [
            self.rx_packets,
            self.tx_packets,
            self.rx_bytes,
            self.tx_bytes,
            self.rx_dropped,
            self.tx_dropped,
            self.rx_errors,
            self.tx_errors,
            self.rx_frame_errors,
            self.rx_over_errors,
            self.rx_crc_errors,
            self.collisions,
        ] {
            out.put_u64(number);
        }
        out.put_u32(self.seconds);
        out.put_u32(self.nanoseconds);
    }
}

impl GroupStats {
    pub(crate) fn read(input: &mut Reader<'_>) -> Result<GroupStats, DecodeError> {
        let start = *input;
        let Some(length) = usize::from(input.u16()?).checked_sub(2) else {
            return Err(start.error("a group's counters are shorter than their header"));
        };
        let mut body = input.sub(length)?;
        body.skip(2)?;
        let (group, references) = (body.u32()?, body.u32()?);
        body.skip(4)?;
        Ok(GroupStats {
            group,
            references,
            count: Count::read(&mut body)?,
            seconds: body.u32()?,
            nanoseconds: body.u32()?,
            buckets: counts(&mut body)?,
        })
    }

    pub(crate) fn encode(&self, out: &mut BytesMut) {
        let start = out.len();
        put_zeros(out, 4);
        out.put_u32(self.group);
        out.put_u32(self.references);
        put_zeros(out, 4);
        self.count.encode(out);
        out.put_u32(self.seconds);
        out.put_u32(self.nanoseconds);
        self.buckets.iter().for_each(|count| count.encode(out));
        patch_len(out, start, 0);
    }
}

impl MeterStats {
    pub(crate) fn read(input: &mut Reader<'_>) -> Result<MeterStats, DecodeError> {
        let start = *input;
        let meter = input.u32()?;
        let Some(length) = usize::from(input.u16()?).checked_sub(6) else {
            return Err(start.error("a meter's counters are shorter than their header"));
        };
        let mut body = input.sub(length)?;
        body.skip(6)?;
        Ok(MeterStats {
            meter,
            flows: body.u32()?,
            count: Count::read(&mut body)?,
            seconds: body.u32()?,
            nanoseconds: body.u32()?,
            bands: counts(&mut body)?,
        })
    }

    pub(crate) fn encode(&self, out: &mut BytesMut) {
        let start = out.len();
        out.put_u32(self.meter);
        put_zeros(out, 8);
        out.put_u32(self.flows);
        self.count.encode(out);
        out.put_u32(self.seconds);
        out.put_u32(self.nanoseconds);
        self.bands.iter().for_each(|count| count.encode(out));
        patch_len(out, start, 4);
    }
}
