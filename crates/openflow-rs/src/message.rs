//! All messages under one roof.

use bytes::{BufMut, BytesMut};

use crate::action::NICIRA;
use crate::wire::{Reader, patch_len, put_zeros};
use crate::{
    BundleControl, BundleFlags, DecodeError, FlowMod, FlowRemoved, GroupMod, Header, MeterMod,
    MultipartReply, MultipartRequest, PacketIn, PacketOut, PortStatus, bundle, port,
};

pub(crate) const EXPERIMENTER: u8 = 4;
pub(crate) const FLOW_MOD: u8 = 14;
pub(crate) const GROUP_MOD: u8 = 15;
const SET_PACKET_IN_FORMAT: u32 = 16;
const PACKET_IN2: u32 = 30;
const CT_FLUSH: u32 = 32;

/// Why a message was not carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorMessage {
    pub kind: u16,
    pub code: u16,
    /// The beginning of the message at fault.
    pub data: Vec<u8>,
}

/// What a switch says of itself at the start of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Features {
    pub dpid: u64,
    pub buffers: u32,
    pub tables: u8,
    pub auxiliary_id: u8,
    pub capabilities: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    NoChange,
    Equal,
    Master,
    Slave,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// Wire versions spoken, as a bitmap (bit 4: OpenFlow 1.3); zero when the peer sent none.
    Hello {
        versions: u32,
    },
    Error(ErrorMessage),
    EchoRequest(Vec<u8>),
    EchoReply(Vec<u8>),
    FeaturesRequest,
    FeaturesReply(Features),
    /// `flags` is the handling of fragments: 0 normal, 1 drop, 2 reassemble, 3 show the ports of first ones (Open vSwitch).
    SetConfig {
        flags: u16,
        miss_send_len: u16,
    },
    PacketIn(PacketIn),
    /// NXT_PACKET_IN2.
    PacketIn2(PacketIn),
    FlowRemoved(FlowRemoved),
    PortStatus(PortStatus),
    PacketOut(PacketOut),
    FlowMod(FlowMod),
    GroupMod(GroupMod),
    MeterMod(MeterMod),
    MultipartRequest(MultipartRequest),
    MultipartReply {
        more: bool,
        body: MultipartReply,
    },
    BarrierRequest,
    BarrierReply,
    RoleRequest {
        role: Role,
        generation: u64,
    },
    RoleReply {
        role: Role,
        generation: u64,
    },
    BundleControl {
        bundle: u32,
        control: BundleControl,
        flags: BundleFlags,
    },
    /// `message` is a whole message with the same xid.
    BundleAdd {
        bundle: u32,
        flags: BundleFlags,
        message: Box<Message>,
    },
    /// NXT_SET_PACKET_IN_FORMAT: 2 asks for packet-in2.
    SetPacketInFormat(u32),
    /// NXT_CT_FLUSH; `None` flushes every zone.
    CtFlush {
        zone: Option<u16>,
    },
    Experimenter {
        id: u32,
        kind: u32,
        data: Vec<u8>,
    },
    /// A message type that this library does not read.
    Other {
        kind: u8,
        body: Vec<u8>,
    },
}

impl Message {
    fn kind(&self) -> u8 {
        match self {
            Message::Hello { .. } => 0,
            Message::Error(_) => 1,
            Message::EchoRequest(_) => 2,
            Message::EchoReply(_) => 3,
            Message::PacketIn2(_)
            | Message::BundleControl { .. }
            | Message::BundleAdd { .. }
            | Message::SetPacketInFormat(_)
            | Message::CtFlush { .. }
            | Message::Experimenter { .. } => EXPERIMENTER,
            Message::FeaturesRequest => 5,
            Message::FeaturesReply(_) => 6,
            Message::SetConfig { .. } => 9,
            Message::PacketIn(_) => 10,
            Message::FlowRemoved(_) => 11,
            Message::PortStatus(_) => 12,
            Message::PacketOut(_) => 13,
            Message::FlowMod(_) => FLOW_MOD,
            Message::GroupMod(_) => GROUP_MOD,
            Message::MultipartRequest(_) => 18,
            Message::MultipartReply { .. } => 19,
            Message::BarrierRequest => 20,
            Message::BarrierReply => 21,
            Message::RoleRequest { .. } => 24,
            Message::RoleReply { .. } => 25,
            Message::MeterMod(_) => 29,
            Message::Other { kind, .. } => *kind,
        }
    }

    /// Appends the message to `out`.
    pub fn encode(&self, xid: u32, out: &mut BytesMut) {
        let start = Header::begin(self.kind(), xid, out);
        match self {
            Message::Hello { versions } => {
                if *versions != 0 {
                    out.put_u16(1);
                    out.put_u16(8);
                    out.put_u32(*versions);
                }
            }
            Message::Error(error) => {
                out.put_u16(error.kind);
                out.put_u16(error.code);
                out.put_slice(&error.data);
            }
            Message::EchoRequest(data) | Message::EchoReply(data) => out.put_slice(data),
            Message::FeaturesRequest | Message::BarrierRequest | Message::BarrierReply => {}
            Message::FeaturesReply(features) => {
                out.put_u64(features.dpid);
                out.put_u32(features.buffers);
                out.put_u8(features.tables);
                out.put_u8(features.auxiliary_id);
                put_zeros(out, 2);
                out.put_u32(features.capabilities);
                put_zeros(out, 4);
            }
            Message::SetConfig { flags, miss_send_len } => {
                out.put_u16(*flags);
                out.put_u16(*miss_send_len);
            }
            Message::PacketIn(packet) => packet.encode(out),
            Message::FlowRemoved(removed) => removed.encode(out),
            Message::PortStatus(status) => {
                out.put_u8(status.reason);
                put_zeros(out, 7);
                status.desc.encode(out);
            }
            Message::PacketOut(packet) => packet.encode(out),
            Message::FlowMod(flow) => flow.encode(out),
            Message::GroupMod(group) => group.encode(out),
            Message::MeterMod(meter) => meter.encode(out),
            Message::MultipartRequest(request) => request.encode(out),
            Message::MultipartReply { more, body } => body.encode(*more, out),
            Message::RoleRequest { role, generation } | Message::RoleReply { role, generation } => {
                out.put_u32(*role as u32);
                put_zeros(out, 4);
                out.put_u64(*generation);
            }
            Message::PacketIn2(_) | Message::Other { .. } | Message::Experimenter { .. } => {
                self.encode_rare(out)
            }
            Message::BundleControl { bundle, control, flags } => {
                experimenter(out, bundle::ONF, bundle::CONTROL);
                out.put_u32(*bundle);
                out.put_u16(*control as u16);
                out.put_u16(flags.bits());
            }
            Message::BundleAdd { bundle, flags, message } => {
                experimenter(out, bundle::ONF, bundle::ADD);
                out.put_u32(*bundle);
                out.put_u16(0);
                out.put_u16(flags.bits());
                message.encode(xid, out);
            }
            Message::SetPacketInFormat(format) => {
                experimenter(out, NICIRA, SET_PACKET_IN_FORMAT);
                out.put_u32(*format);
            }
            Message::CtFlush { zone } => {
                experimenter(out, NICIRA, CT_FLUSH);
                put_zeros(out, 8);
                if let Some(zone) = zone {
                    crate::action::property(out, 2, &zone.to_be_bytes());
                }
            }
        }
        patch_len(out, start, 2);
    }

    fn encode_rare(&self, out: &mut BytesMut) {
        match self {
            Message::PacketIn2(packet) => {
                use crate::action::property;
                experimenter(out, NICIRA, PACKET_IN2);
                property(out, 0, &packet.frame);
                property(out, 1, &(packet.full_len as u32).to_be_bytes());
                property(out, 3, &[packet.table]);
                let mut cookie = vec![0; 4];
                cookie.extend(packet.cookie.to_be_bytes());
                property(out, 4, &cookie);
                property(out, 5, &[packet.reason]);
                let mut fields = BytesMut::new();
                packet.metadata.encode_fields(&mut fields);
                property(out, 6, &fields);
                if !packet.userdata.is_empty() {
                    property(out, 7, &packet.userdata);
                }
            }
            Message::Experimenter { id, kind, data } => {
                experimenter(out, *id, *kind);
                out.put_slice(data);
            }
            Message::Other { body, .. } => out.put_slice(body),
            _ => {}
        }
    }

    /// Reads one message; `bytes` must hold the whole of it and may hold more.
    ///
    /// # Errors
    /// When the bytes are cut short, or hold something that this library does not know and cannot skip.
    pub fn decode(bytes: &[u8]) -> Result<(Header, Message), DecodeError> {
        Self::decode_nested(&mut Reader::new(bytes), false)
    }

    fn decode_nested(input: &mut Reader<'_>, inside_bundle: bool) -> Result<(Header, Message), DecodeError> {
        let start = *input;
        let header = Header::read(input)?;
        let body = &mut input.sub(usize::from(header.length) - crate::HEADER_LEN)?;
        let message = match header.kind {
            0 => hello(body)?,
            1 => Message::Error(ErrorMessage {
                kind: body.u16()?,
                code: body.u16()?,
                data: body.rest().to_vec(),
            }),
            2 => Message::EchoRequest(body.rest().to_vec()),
            3 => Message::EchoReply(body.rest().to_vec()),
            _ if header.version != crate::VERSION => return Err(start.error("not OpenFlow 1.3")),
            EXPERIMENTER => read_experimenter(body, inside_bundle)?,
            5 => Message::FeaturesRequest,
            6 => {
                let (dpid, buffers, tables, auxiliary_id) =
                    (body.u64()?, body.u32()?, body.u8()?, body.u8()?);
                body.skip(2)?;
                Message::FeaturesReply(Features {
                    dpid,
                    buffers,
                    tables,
                    auxiliary_id,
                    capabilities: body.u32()?,
                })
            }
            9 => Message::SetConfig { flags: body.u16()?, miss_send_len: body.u16()? },
            10 => Message::PacketIn(PacketIn::read(body)?),
            11 => Message::FlowRemoved(FlowRemoved::read(body)?),
            12 => {
                let reason = body.u8()?;
                body.skip(7)?;
                Message::PortStatus(PortStatus { reason, desc: port::PortDesc::read(body)? })
            }
            13 => Message::PacketOut(PacketOut::read(body)?),
            FLOW_MOD => Message::FlowMod(FlowMod::read(body)?),
            GROUP_MOD => Message::GroupMod(GroupMod::read(body)?),
            18 => Message::MultipartRequest(MultipartRequest::read(body)?),
            19 => {
                let (more, body) = MultipartReply::read(body)?;
                Message::MultipartReply { more, body }
            }
            20 => Message::BarrierRequest,
            21 => Message::BarrierReply,
            24 | 25 => {
                let role = match body.u32()? {
                    0 => Role::NoChange,
                    1 => Role::Equal,
                    2 => Role::Master,
                    3 => Role::Slave,
                    _ => return Err(start.error("an unknown role")),
                };
                body.skip(4)?;
                let generation = body.u64()?;
                if header.kind == 24 {
                    Message::RoleRequest { role, generation }
                } else {
                    Message::RoleReply { role, generation }
                }
            }
            29 => Message::MeterMod(MeterMod::read(body)?),
            kind => Message::Other { kind, body: body.rest().to_vec() },
        };
        Ok((header, message))
    }
}

fn experimenter(out: &mut BytesMut, id: u32, kind: u32) {
    out.put_u32(id);
    out.put_u32(kind);
}

fn hello(body: &mut Reader<'_>) -> Result<Message, DecodeError> {
    let mut versions = 0;
    while body.remaining() >= 4 {
        let start = *body;
        let (kind, length) = (body.u16()?, usize::from(body.u16()?));
        let Some(size) = length.checked_sub(4) else {
            return Err(start.error("a hello element is shorter than its header"));
        };
        let mut element = body.sub(size)?;
        if kind == 1 && size >= 4 {
            versions = element.u32()?;
        }
        body.skip_up_to(length.next_multiple_of(8) - length);
    }
    Ok(Message::Hello { versions })
}

fn read_experimenter(body: &mut Reader<'_>, inside_bundle: bool) -> Result<Message, DecodeError> {
    let start = *body;
    let (id, kind) = (body.u32()?, body.u32()?);
    Ok(match (id, kind) {
        (bundle::ONF, bundle::CONTROL) => {
            let (bundle, control) = (body.u32()?, BundleControl::read(body)?);
            Message::BundleControl { bundle, control, flags: BundleFlags::from_bits(body.u16()?) }
        }
        (bundle::ONF, bundle::ADD) => {
            if inside_bundle {
                return Err(start.error("a bundle inside of a bundle"));
            }
            let bundle = body.u32()?;
            body.skip(2)?;
            let flags = BundleFlags::from_bits(body.u16()?);
            let (_, message) = Message::decode_nested(body, true)?;
            Message::BundleAdd { bundle, flags, message: Box::new(message) }
        }
        (NICIRA, SET_PACKET_IN_FORMAT) => Message::SetPacketInFormat(body.u32()?),
        (NICIRA, PACKET_IN2) => Message::PacketIn2(PacketIn::read2(body)?),
        (NICIRA, CT_FLUSH) => {
            body.skip(8)?;
            let mut zone = None;
            while body.remaining() >= 4 {
                let (kind, mut value) = crate::action::read_property(body)?;
                if kind == 2 {
                    zone = Some(value.u16()?);
                }
            }
            Message::CtFlush { zone }
        }
        _ => Message::Experimenter { id, kind, data: body.rest().to_vec() },
    })
}
