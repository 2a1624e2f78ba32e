//! OpenFlow sessions: switches dial in, say who they are, and are handed to whoever programs them.
//!
//! Two ways lead from a switch: replies and errors to its programmer (the reader waits when that is slow), and what nobody asked for, punted
//! packets and the ends of flows, to its consumers (dropped and counted when they are slow), so that a storm of it never delays programming.

mod outbox;
mod questions;
mod server;
mod session;
mod twins;

pub use server::serve;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use openflow_rs::{Message, MultipartReply, MultipartRequest};
use tokio::sync::mpsc;

use super::admission::Admission;
use crate::net::Dpid;
use questions::Questions;

/// Longest wait for the answer to a question.
const PATIENCE: Duration = Duration::from_secs(5);

/// Times of a session, and who may have one.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Silence after which the switch is asked for an echo.
    pub probe: Duration,
    /// Silence after which the session is over.
    pub dead: Duration,
    /// Time for hello and features.
    pub handshake: Duration,
    /// Who may connect.
    pub admission: Admission,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            probe: Duration::from_secs(5),
            dead: Duration::from_secs(15),
            handshake: Duration::from_secs(10),
            admission: Admission::default(),
        }
    }
}

/// A switch that has introduced itself.
#[derive(Debug)]
pub struct Connected {
    pub dpid: Dpid,
    pub features: openflow_rs::Features,
    pub peer: SocketAddr,
    pub session: SessionHandle,
    /// Dropping it ends the session.
    pub replies: mpsc::Receiver<Incoming>,
}

/// What a switch says, other than echoes and punted packets.
#[derive(Debug)]
pub enum Incoming {
    Message { xid: u32, message: Message },
    Closed { reason: String },
}

/// A packet that a switch handed over.
#[derive(Debug, Clone)]
pub struct PacketIn {
    pub dpid: Dpid,
    pub packet: openflow_rs::PacketIn,
}

/// A flow that a switch has no more, and what it counted.
#[derive(Debug, Clone)]
pub struct FlowEnded {
    pub dpid: Dpid,
    pub flow: openflow_rs::FlowRemoved,
}

/// Where sessions send what nobody asked for. What does not fit is dropped and counted.
#[derive(Debug, Clone)]
pub struct Unasked {
    /// Punted packets.
    pub packets: mpsc::Sender<PacketIn>,
    /// Flows that said they would tell when they end.
    pub ended: mpsc::Sender<FlowEnded>,
}

/// The session is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the OpenFlow session is closed")]
pub struct SessionClosed;

/// A moment that is moved on without a lock: milliseconds since 1970.
#[derive(Debug)]
struct Heard(AtomicU64);

impl Heard {
    fn now() -> Heard {
        let heard = Heard(AtomicU64::new(0));
        heard.again();
        heard
    }

    fn again(&self) {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.0.store(u64::try_from(since.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// The way to a switch. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    out: outbox::Sender,
    xid: Arc<AtomicU32>,
    heard: Arc<Heard>,
    questions: Arc<Questions>,
}

impl SessionHandle {
    fn new(out: outbox::Sender) -> SessionHandle {
        SessionHandle {
            out,
            xid: Arc::new(AtomicU32::new(0x100)),
            heard: Arc::new(Heard::now()),
            questions: Arc::default(),
        }
    }

    /// Sends encoded messages; waits while the switch is slow. All or nothing of them is sent if it is cancelled.
    ///
    /// # Errors
    /// When the session is over.
    pub async fn send(&self, bytes: Bytes) -> Result<(), SessionClosed> {
        self.out.send(bytes).await
    }

    /// When the switch last sent anything.
    pub fn heard(&self) -> SystemTime {
        self.heard.time()
    }

    /// Asks the switch something beside its programming. `None`: it refused, or did not answer in time.
    pub async fn ask(&self, request: MultipartRequest) -> Option<Vec<MultipartReply>> {
        let xid = self.xids(1);
        let mut asked = self.questions.open(xid);
        let mut bytes = BytesMut::new();
        Message::MultipartRequest(request).encode(xid, &mut bytes);
        let answer = async {
            self.send(bytes.freeze()).await.ok()?;
            asked.answer().await
        };
        tokio::time::timeout(PATIENCE, answer).await.ok().flatten()
    }

    /// Whether both lead to the same session.
    pub fn is_same(&self, other: &SessionHandle) -> bool {
        Arc::ptr_eq(&self.xid, &other.xid)
    }

    /// The first of `count` transaction ids that nobody else has.
    pub fn xids(&self, count: u32) -> u32 {
        self.xid.fetch_add(count, Ordering::Relaxed)
    }
}
