//! One switch: handshake, then a reader and a writer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use openflow_rs::{ErrorMessage, Features, Message, VERSION, frame_len};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use tracing::debug;

use super::outbox::{self, Half, outbox};
use super::questions::Questions;
use super::twins::Twins;
use super::{Connected, FlowEnded, Heard, Incoming, PacketIn, SessionHandle, Settings, Unasked};
use crate::net::Dpid;
use crate::southbound::admission::{Identity, Protocol, Stream};

/// Replies that wait for the programmer.
const REPLIES: usize = 256;
/// NXPIF_NXT_PACKET_IN2.
const PACKET_IN2: u32 = 2;
/// OFPC_FRAG_NX_MATCH (ovs-ofctl(8), `set-frags nx-match`): a first fragment shows its ports and types. By default no
/// fragment does, and what is dropped by them would pass in two pieces.
const SHOW_FIRST_FRAGMENTS: u16 = 3;
/// OFP_DEFAULT_MISS_SEND_LEN (OpenFlow 1.3.5 section 7.3.2), as a new session has it.
const MISS_SEND_LEN: u16 = 128;
/// The transaction id of what is set at the start.
const SET_CONFIG: u32 = 4;

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("not OpenFlow: {0}")]
    Decode(#[from] openflow_rs::DecodeError),
    #[error(
        "the switch does not speak OpenFlow 1.3 (it offers wire version {offered}, bitmap {bitmap:#x}); set the bridge's protocols"
    )]
    Version { offered: u8, bitmap: u32 },
    #[error("no {0} within the time")]
    Slow(&'static str),
    #[error("the switch answered the features request with {0}")]
    Unexpected(String),
    #[error(
        "the switch does not show the ports of first fragments ({0}), so that pods could send what they may not; Open vSwitch is needed"
    )]
    Fragments(String),
    #[error("{0}")]
    Refused(String),
    #[error("nobody takes switches any more")]
    Stopped,
}

/// Where a session comes from.
pub struct From {
    pub peer: SocketAddr,
    /// With TLS: whose it is.
    pub identity: Option<Identity>,
}

/// Runs a session to its end; the text says why it ended.
pub async fn run(
    stream: Stream,
    from: From,
    settings: &Settings,
    twins: &Twins,
    connected: mpsc::Sender<Connected>,
    unasked: Unasked,
) -> Result<String, SessionError> {
    let From { peer, identity } = from;
    let (read, write) = split(stream);
    let mut reader = Reader { read, buffer: BytesMut::with_capacity(64 << 10) };
    let shake = handshake(&mut reader, &write);
    let features = tokio::time::timeout(settings.handshake, shake)
        .await
        .map_err(|_| SessionError::Slow("hello and features"))??;
    let dpid = Dpid(features.dpid);
    let claim = settings.admission.claim(Protocol::OpenFlow, peer, dpid, identity.as_ref());
    claim.await.map_err(SessionError::Refused)?;
    let (out, waiting) = outbox(write);
    let session = SessionHandle::new(out.clone());
    let questions = session.questions.clone();
    let (replies, received) = mpsc::channel(REPLIES);
    let last = session.heard.clone();
    let (_place, twin) = twins.enter(dpid, peer, last.clone());
    if let Some(twin) = twin.filter(|twin| twin.is_alive(settings.probe)) {
        settings.admission.refusals().note(twin.reported(dpid, peer, identity.map(|identity| identity.name)));
    }
    connected
        .send(Connected { dpid, features, peer, session, replies: received })
        .await
        .map_err(|_| SessionError::Stopped)?;
    drop(connected);
    let writer = tokio::spawn(waiting.run());
    let ways = Ways { out, last, replies, questions, unasked };
    let ended = listen(&mut reader, dpid, settings, &ways).await;
    writer.abort();
    let reason = match &ended {
        Ok(reason) => reason.clone(),
        Err(error) => error.to_string(),
    };
    let _ = ways.replies.send(Incoming::Closed { reason }).await;
    ended
}

type Read = Box<dyn AsyncRead + Send + Unpin>;

fn split(stream: Stream) -> (Read, Half) {
    match stream {
        Stream::Plain(stream) => {
            let (read, write) = stream.into_split();
            (Box::new(read), Half::Plain(write))
        }
        Stream::Tls(stream) => {
            let (read, write) = tokio::io::split(*stream);
            (Box::new(read), Half::Tls(write.into()))
        }
    }
}

struct Reader {
    read: Read,
    buffer: BytesMut,
}

impl Reader {
    /// The next whole message, `None` at the end of the stream.
    async fn frame(&mut self) -> Result<Option<Bytes>, SessionError> {
        loop {
            if let Some(length) = frame_len(&self.buffer)?
                && self.buffer.len() >= length
            {
                return Ok(Some(self.buffer.split_to(length).freeze()));
            }
            self.buffer.reserve(64 << 10);
            if self.read.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }
}

fn encoded(message: &Message, xid: u32) -> Bytes {
    let mut bytes = BytesMut::new();
    message.encode(xid, &mut bytes);
    bytes.freeze()
}

async fn handshake(reader: &mut Reader, write: &Half) -> Result<Features, SessionError> {
    write.write_all(&encoded(&Message::Hello { versions: 1 << VERSION }, 1)).await?;
    let closed = || SessionError::Unexpected("the end of the connection".into());
    let hello = reader.frame().await?.ok_or_else(closed)?;
    let (header, message) = Message::decode(&hello)?;
    let Message::Hello { versions } = message else {
        return Err(SessionError::Unexpected("no hello".into()));
    };
    let speaks = if versions == 0 { header.version >= VERSION } else { versions & 1 << VERSION != 0 };
    if !speaks {
        let refusal = ErrorMessage { kind: 0, code: 0, data: b"OpenFlow 1.3 is needed".to_vec() };
        let _ = write.write_all(&encoded(&Message::Error(refusal), header.xid)).await;
        return Err(SessionError::Version { offered: header.version, bitmap: versions });
    }
    let config = Message::SetConfig { flags: SHOW_FIRST_FRAGMENTS, miss_send_len: MISS_SEND_LEN };
    // Only a refusal is answered, and that before what is asked next.
    write.write_all(&encoded(&config, SET_CONFIG)).await?;
    write.write_all(&encoded(&Message::FeaturesRequest, 2)).await?;
    loop {
        let frame = reader.frame().await?.ok_or_else(closed)?;
        match Message::decode(&frame)? {
            (_, Message::FeaturesReply(features)) => {
                write.write_all(&encoded(&Message::SetPacketInFormat(PACKET_IN2), 3)).await?;
                return Ok(features);
            }
            (header, Message::EchoRequest(data)) => {
                write.write_all(&encoded(&Message::EchoReply(data), header.xid)).await?;
            }
            (header, Message::Error(error)) => {
                let name = openflow_rs::error_name(error.kind, error.code);
                let is_config = header.xid == SET_CONFIG;
                return Err(if is_config {
                    SessionError::Fragments(name)
                } else {
                    SessionError::Unexpected(name)
                });
            }
            (_, other) => debug!(?other, "before the features reply"),
        }
    }
}

/// Where what a switch says goes to.
struct Ways {
    out: outbox::Sender,
    last: Arc<Heard>,
    replies: mpsc::Sender<Incoming>,
    questions: Arc<Questions>,
    unasked: Unasked,
}

async fn listen(
    reader: &mut Reader,
    dpid: Dpid,
    settings: &Settings,
    ways: &Ways,
) -> Result<String, SessionError> {
    let Ways { out, last, replies, questions, unasked } = ways;
    let mut heard = Instant::now();
    let mut dropped: u64 = 0;
    loop {
        let frame = tokio::select! {
            biased;
            () = replies.closed() => return Ok("its programmer has ended".into()),
            frame = tokio::time::timeout(settings.probe, reader.frame()) => frame,
        };
        let frame = match frame {
            Ok(frame) => frame?,
            Err(_) if heard.elapsed() >= settings.dead => {
                return Err(SessionError::Slow("answer to an echo request"));
            }
            Err(_) => {
                // A full queue means that the writer is stuck; silence will end the session.
                out.send_if_room(encoded(&Message::EchoRequest(Vec::new()), 0));
                continue;
            }
        };
        heard = Instant::now();
        last.again();
        let Some(frame) = frame else { return Ok("the switch closed the connection".into()) };
        let (header, message) = match Message::decode(&frame) {
            Ok(decoded) => decoded,
            Err(error) => {
                debug!(%dpid, %error, "a message that we do not understand is skipped");
                continue;
            }
        };
        match message {
            Message::EchoRequest(data) => {
                let _ = out.send(encoded(&Message::EchoReply(data), header.xid)).await;
            }
            Message::EchoReply(_) => {}
            Message::PacketIn(packet) | Message::PacketIn2(packet) => {
                if unasked.packets.try_send(PacketIn { dpid, packet }).is_err() {
                    dropped += 1;
                    if dropped.is_power_of_two() {
                        debug!(%dpid, dropped, "punted packets are dropped, their consumer is behind");
                    }
                }
            }
            Message::FlowRemoved(flow) => {
                if unasked.ended.try_send(FlowEnded { dpid, flow }).is_err() {
                    debug!(%dpid, "what a flow counted is dropped, its consumer is behind");
                }
            }
            message => {
                let Some(message) = questions.take(header.xid, message) else { continue };
                if replies.send(Incoming::Message { xid: header.xid, message }).await.is_err() {
                    return Ok("its programmer has ended".into());
                }
            }
        }
    }
}
