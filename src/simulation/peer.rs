//! A switch that speaks OpenFlow and keeps a digest of each flow, group and meter instead of the thing itself.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use openflow_rs::flow::encode_flow_mod;
use openflow_rs::group::encode_group_mod;
use openflow_rs::{
    BundleControl, ErrorMessage, Features, FlowCommand, GroupCommand, Message, MeterCommand, MeterMod,
    MultipartReply, MultipartRequest, frame_len,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use xxhash_rust::xxh3::xxh3_64;

use crate::net::Dpid;
use crate::pipeline::SwitchTables;

/// Message types. Source: OpenFlow 1.3.5 section 7.1.
const EXPERIMENTER: u8 = 4;
const FLOW_MOD: u8 = 14;
const GROUP_MOD: u8 = 15;
const BARRIER_REQUEST: u8 = 20;
const METER_MOD: u8 = 29;
/// ONF extension 230, as Open vSwitch has it.
const ONF: u32 = 0x4f4e_4600;
const BUNDLE_ADD: u32 = 2301;
/// Header and head of a bundle-add; the message follows.
const BUNDLE_ADD_HEAD: usize = 24;

/// What a switch holds: a digest of each thing, under a digest of its key.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Held {
    flows: HashMap<u64, u64>,
    groups: HashMap<u32, u64>,
    meters: HashMap<u32, u64>,
}

/// What a switch was sent.
#[derive(Debug, Default)]
pub struct Counters {
    pub bytes: AtomicU64,
    pub flow_mods: AtomicU64,
    pub group_mods: AtomicU64,
    /// Messages that the switch could not read.
    pub unread: AtomicU64,
}

#[derive(Debug, Default)]
pub struct Peer {
    pub sent: Counters,
    held: Mutex<Held>,
}

impl Held {
    /// What a switch with these tables holds.
    pub fn of(tables: &SwitchTables) -> Held {
        let mut held = Held::default();
        let mut take = |encode: &dyn Fn(&mut BytesMut)| {
            let mut frame = BytesMut::new();
            encode(&mut frame);
            held.take(&frame);
        };
        for flow in tables.flows.iter() {
            take(&|frame| encode_flow_mod(FlowCommand::Add, flow.raw(), 0, frame));
        }
        for group in tables.groups.values() {
            take(&|frame| {
                encode_group_mod(GroupCommand::Add, group.kind, group.id, &group.buckets, 0, frame)
            });
        }
        for meter in tables.meters.values() {
            let config = meter.config();
            let (flags, meter, bands) = (config.flags, config.meter, config.bands);
            let message = Message::MeterMod(MeterMod { command: MeterCommand::Add, flags, meter, bands });
            take(&|frame| message.encode(0, frame));
        }
        held
    }

    /// Flows, groups and meters.
    pub fn count(&self) -> usize {
        self.flows.len() + self.groups.len() + self.meters.len()
    }

    /// Does what a message asks for; `None` if it is cut short or asks for something else.
    fn take(&mut self, frame: &[u8]) -> Option<()> {
        let u16_at = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
        let u32_at = |at: usize| Some(u32::from_be_bytes(frame.get(at..at + 4)?.try_into().ok()?));
        match *frame.get(1)? {
            FLOW_MOD => {
                // Key: table, priority and match. Thing: cookie, flags and instructions.
                let fields = usize::from(u16_at(50)?);
                let end = 48 + fields.next_multiple_of(8);
                let key = [frame.get(24..25)?, frame.get(30..32)?, frame.get(48..48 + fields)?].concat();
                let thing = [frame.get(8..16)?, frame.get(44..46)?, frame.get(end..)?].concat();
                match frame.get(25)? {
                    0 => self.flows.insert(xxh3_64(&key), xxh3_64(&thing)),
                    4 => self.flows.remove(&xxh3_64(&key)),
                    _ => return None,
                };
            }
            kind @ (GROUP_MOD | METER_MOD) => {
                let things = if kind == GROUP_MOD { &mut self.groups } else { &mut self.meters };
                let thing = [frame.get(10..12)?, frame.get(16..)?].concat();
                match u16_at(8)? {
                    0 | 1 => things.insert(u32_at(12)?, xxh3_64(&thing)),
                    2 => things.remove(&u32_at(12)?),
                    _ => return None,
                };
            }
            _ => return None,
        }
        Some(())
    }
}

impl Peer {
    /// Whether the switch holds exactly this.
    pub fn holds(&self, wanted: &Held) -> bool {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) == *wanted
    }

    /// Flow-mods and group-mods so far.
    pub fn mods(&self) -> (u64, u64) {
        (self.sent.flow_mods.load(Ordering::Relaxed), self.sent.group_mods.load(Ordering::Relaxed))
    }

    /// Connects to a controller and obeys until the connection ends.
    ///
    /// # Errors
    /// When the connection fails.
    pub async fn run(self: Arc<Peer>, dpid: Dpid, controller: SocketAddr) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(controller).await?;
        stream.set_nodelay(true)?;
        let (mut buffer, mut answers) = (BytesMut::with_capacity(64 << 10), BytesMut::new());
        Message::Hello { versions: 1 << openflow_rs::VERSION }.encode(1, &mut answers);
        loop {
            stream.write_all(&answers).await?;
            answers.clear();
            buffer.reserve(64 << 10);
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
            while let Ok(Some(length)) = frame_len(&buffer)
                && length <= buffer.len()
            {
                let frame = buffer.split_to(length).freeze();
                self.hear(dpid, &frame, &mut answers);
            }
        }
    }

    fn hear(&self, dpid: Dpid, frame: &Bytes, answers: &mut BytesMut) {
        self.sent.bytes.fetch_add(frame.len() as u64, Ordering::Relaxed);
        let is_bundled = frame[1] == EXPERIMENTER
            && frame.get(8..16) == Some(&[ONF.to_be_bytes(), BUNDLE_ADD.to_be_bytes()].concat()[..]);
        let inner = if is_bundled { frame.get(BUNDLE_ADD_HEAD..).unwrap_or_default() } else { frame };
        match inner.get(1) {
            Some(&FLOW_MOD) => self.sent.flow_mods.fetch_add(1, Ordering::Relaxed),
            Some(&GROUP_MOD) => self.sent.group_mods.fetch_add(1, Ordering::Relaxed),
            Some(&METER_MOD) => 0,
            _ => return self.answer(dpid, frame, answers),
        };
        if self.held.lock().unwrap_or_else(PoisonError::into_inner).take(inner).is_none() {
            self.sent.unread.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn answer(&self, dpid: Dpid, frame: &Bytes, answers: &mut BytesMut) {
        let Ok((header, message)) = Message::decode(frame) else {
            self.sent.unread.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let answer = match message {
            Message::FeaturesRequest => Message::FeaturesReply(Features {
                dpid: dpid.0,
                buffers: 0,
                tables: 254,
                auxiliary_id: 0,
                capabilities: 0,
            }),
            Message::EchoRequest(data) => Message::EchoReply(data),
            _ if header.kind == BARRIER_REQUEST => Message::BarrierReply,
            Message::BundleControl { bundle, control, flags } => {
                let control = match control {
                    BundleControl::OpenRequest => BundleControl::OpenReply,
                    BundleControl::CloseRequest => BundleControl::CloseReply,
                    BundleControl::CommitRequest => BundleControl::CommitReply,
                    _ => BundleControl::DiscardReply,
                };
                Message::BundleControl { bundle, control, flags }
            }
            Message::MultipartRequest(request) => {
                let body = match request {
                    MultipartRequest::GroupDesc => MultipartReply::GroupDesc(Vec::new()),
                    MultipartRequest::MeterConfig => MultipartReply::MeterConfig(Vec::new()),
                    MultipartRequest::Flow { .. } => MultipartReply::Flow(Vec::new()),
                    _ => return self.refuse(header.xid, frame, answers),
                };
                Message::MultipartReply { more: false, body }
            }
            _ => return,
        };
        answer.encode(header.xid, answers);
    }

    /// OFPET_BAD_REQUEST, OFPBRC_BAD_MULTIPART.
    fn refuse(&self, xid: u32, frame: &Bytes, answers: &mut BytesMut) {
        let data = frame[..frame.len().min(64)].to_vec();
        Message::Error(ErrorMessage { kind: 1, code: 2, data }).encode(xid, answers);
    }
}
