//! Multipart requests and replies: what a switch tells about itself.

use bytes::{BufMut, BytesMut};

use crate::stats::{GroupStats, MeterStats, PortStats};
use crate::wire::{Reader, put_zeros};
use crate::{DecodeError, FlowStats, GroupDesc, Match, MeterConfig, PortDesc, ports};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MultipartRequest {
    Description,
    /// Flows of one table, or of all (0xff), that match and whose cookie agrees under the mask.
    Flow {
        table: u8,
        cookie: u64,
        cookie_mask: u64,
        match_: Match,
    },
    Table,
    /// Counters of all ports.
    PortStats,
    /// Counters of all groups.
    GroupStats,
    GroupDesc,
    /// Counters of all meters.
    MeterStats,
    MeterConfig,
    PortDesc,
}

impl MultipartRequest {
    /// All flows of all tables.
    pub fn all_flows() -> MultipartRequest {
        MultipartRequest::Flow { table: 0xff, cookie: 0, cookie_mask: 0, match_: Match::new() }
    }

    fn kind(&self) -> u16 {
        match self {
            MultipartRequest::Description => 0,
            MultipartRequest::Flow { .. } => 1,
            MultipartRequest::Table => 3,
            MultipartRequest::PortStats => 4,
            MultipartRequest::GroupStats => 6,
            MultipartRequest::GroupDesc => 7,
            MultipartRequest::MeterStats => 9,
            MultipartRequest::MeterConfig => 10,
            MultipartRequest::PortDesc => 13,
        }
    }

    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u16(self.kind());
        put_zeros(out, 6);
        match self {
            MultipartRequest::Flow { table, cookie, cookie_mask, match_ } => {
                out.put_u8(*table);
                put_zeros(out, 3);
                out.put_u32(ports::ANY);
                out.put_u32(ports::ANY);
                put_zeros(out, 4);
                out.put_u64(*cookie);
                out.put_u64(*cookie_mask);
                match_.encode(out);
            }
            MultipartRequest::PortStats => {
                out.put_u32(ports::ANY);
                put_zeros(out, 4);
            }
            MultipartRequest::GroupStats => {
                out.put_u32(crate::group::ALL_GROUPS);
                put_zeros(out, 4);
            }
            MultipartRequest::MeterConfig | MultipartRequest::MeterStats => {
                out.put_u32(crate::meter::ALL_METERS);
                put_zeros(out, 4);
            }
            _ => {}
        }
    }

    pub(crate) fn read(input: &mut Reader<'_>) -> Result<MultipartRequest, DecodeError> {
        let start = *input;
        let kind = input.u16()?;
        input.skip(6)?;
        Ok(match kind {
            0 => MultipartRequest::Description,
            1 => {
                let table = input.u8()?;
                input.skip(15)?;
                MultipartRequest::Flow {
                    table,
                    cookie: input.u64()?,
                    cookie_mask: input.u64()?,
                    match_: Match::read(input)?,
                }
            }
            3 => MultipartRequest::Table,
            4 => MultipartRequest::PortStats,
            6 => MultipartRequest::GroupStats,
            7 => MultipartRequest::GroupDesc,
            9 => MultipartRequest::MeterStats,
            10 => MultipartRequest::MeterConfig,
            13 => MultipartRequest::PortDesc,
            _ => return Err(start.error("a multipart request of an unknown type")),
        })
    }
}

/// Who made the switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Description {
    pub manufacturer: String,
    pub hardware: String,
    pub software: String,
    pub serial: String,
    pub datapath: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableStats {
    pub table: u8,
    pub active: u32,
    pub lookups: u64,
    pub matched: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MultipartReply {
    Description(Description),
    Flow(Vec<FlowStats>),
    Table(Vec<TableStats>),
    PortStats(Vec<PortStats>),
    GroupStats(Vec<GroupStats>),
    GroupDesc(Vec<GroupDesc>),
    MeterStats(Vec<MeterStats>),
    MeterConfig(Vec<MeterConfig>),
    PortDesc(Vec<PortDesc>),
    /// A type that this library does not read.
    Other {
        kind: u16,
        body: Vec<u8>,
    },
}

fn all<T>(
    input: &mut Reader<'_>,
    read: impl Fn(&mut Reader<'_>) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let mut found = Vec::new();
    while !input.is_empty() {
        found.push(read(input)?);
    }
    Ok(found)
}

impl MultipartReply {
    pub(crate) fn read(input: &mut Reader<'_>) -> Result<(bool, MultipartReply), DecodeError> {
        let kind = input.u16()?;
        let more = input.u16()? & 1 != 0;
        input.skip(4)?;
        let reply = match kind {
            0 => MultipartReply::Description(Description {
                manufacturer: input.text(256)?,
                hardware: input.text(256)?,
                software: input.text(256)?,
                serial: input.text(32)?,
                datapath: input.text(256)?,
            }),
            1 => MultipartReply::Flow(all(input, FlowStats::read)?),
            3 => MultipartReply::Table(all(input, |input| {
                let table = input.u8()?;
                input.skip(3)?;
                Ok(TableStats { table, active: input.u32()?, lookups: input.u64()?, matched: input.u64()? })
            })?),
            4 => MultipartReply::PortStats(all(input, PortStats::read)?),
            6 => MultipartReply::GroupStats(all(input, GroupStats::read)?),
            7 => MultipartReply::GroupDesc(all(input, GroupDesc::read)?),
            9 => MultipartReply::MeterStats(all(input, MeterStats::read)?),
            10 => MultipartReply::MeterConfig(all(input, MeterConfig::read)?),
            13 => MultipartReply::PortDesc(all(input, PortDesc::read)?),
            kind => MultipartReply::Other { kind, body: input.rest().to_vec() },
        };
        Ok((more, reply))
    }

    pub(crate) fn encode(&self, more: bool, out: &mut BytesMut) {
        let kind = match self {
            MultipartReply::Description(_) => 0,
            MultipartReply::Flow(_) => 1,
            MultipartReply::Table(_) => 3,
            MultipartReply::PortStats(_) => 4,
            MultipartReply::GroupStats(_) => 6,
            MultipartReply::MeterStats(_) => 9,
            MultipartReply::GroupDesc(_) => 7,
            MultipartReply::MeterConfig(_) => 10,
            MultipartReply::PortDesc(_) => 13,
            MultipartReply::Other { kind, .. } => *kind,
        };
        out.put_u16(kind);
        out.put_u16(u16::from(more));
        put_zeros(out, 4);
        match self {
            MultipartReply::Description(desc) => {
                let mut field = |text: &str, size: usize| {
                    let taken = text.len().min(size - 1);
                    out.put_slice(&text.as_bytes()[..taken]);
                    put_zeros(out, size - taken);
                };
                field(&desc.manufacturer, 256);
                field(&desc.hardware, 256);
                field(&desc.software, 256);
                field(&desc.serial, 32);
                field(&desc.datapath, 256);
            }
            MultipartReply::Flow(flows) => flows.iter().for_each(|flow| flow.encode(out)),
            MultipartReply::Table(tables) => {
                for table in tables {
                    out.put_u8(table.table);
                    put_zeros(out, 3);
                    out.put_u32(table.active);
                    out.put_u64(table.lookups);
                    out.put_u64(table.matched);
                }
            }
            MultipartReply::PortStats(ports) => ports.iter().for_each(|port| port.encode(out)),
            MultipartReply::GroupStats(groups) => groups.iter().for_each(|group| group.encode(out)),
            MultipartReply::MeterStats(meters) => meters.iter().for_each(|meter| meter.encode(out)),
            MultipartReply::GroupDesc(groups) => groups.iter().for_each(|group| group.encode(out)),
            MultipartReply::MeterConfig(meters) => meters.iter().for_each(|meter| meter.encode(out)),
            MultipartReply::PortDesc(ports) => ports.iter().for_each(|port| port.encode(out)),
            MultipartReply::Other { body, .. } => out.put_slice(body),
        }
    }
}
