//! The connection from each controller to the active one: what its switches say goes there, frames for them come back.
//!
//! Nothing of it is kept: without a connection packets are dropped, as by a consumer that is behind, and statuses are told whole to whoever is
//! the active one next.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::BytesMut;
use openflow_rs::PacketOut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::time::{interval, timeout};
use tracing::{debug, info};

use super::frames::{FrameError, Word};
use super::{Local, Said};
use crate::app::until;
use crate::net::Dpid;
use crate::northbound::http::Raw;
use crate::northbound::restconf::{Relay, link};
use crate::programmer::Programmers;
use crate::southbound::openflow::{FlowEnded, PacketIn};

/// How long a connection may take to come about, or to take what is sent.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks at who the active controller is.
const LOOK: Duration = Duration::from_millis(100);
/// Frames for switches of one controller that wait; more are dropped, as a switch's queue does.
const FRAMES: usize = 1024;

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error("the other one closed it")]
    Closed,
    #[error("it takes nothing")]
    Slow,
    #[error("another controller is the active one")]
    Over,
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Passes on what the switches of this controller say: to the active one, or, once that is this one, to who hears it here.
pub async fn tell(
    mut said: Said,
    programmers: Programmers,
    relay: Relay,
    mut leads: watch::Receiver<Option<Local>>,
) {
    loop {
        let local = leads.borrow_and_update().clone();
        if let Some(local) = local {
            return here(said, &programmers, &local).await;
        }
        if let Some(active) = relay.active() {
            let is_active = || relay.active().as_ref() == Some(&active);
            let linked = tokio::select! {
                linked = timeout(PATIENCE, link(&active)) => linked,
                Ok(()) = leads.changed() => continue,
            };
            match linked {
                Ok(Ok(stream)) => {
                    info!(active = active.name, "what switches say is told to the active controller");
                    let end = there(&mut said, &programmers, stream, is_active, &leads).await;
                    if let Err(end) = end {
                        info!(active = active.name, reason = %end, "the connection to the active controller ended");
                    }
                }
                Ok(Err(error)) => {
                    debug!(active = active.name, %error, "the active controller cannot be told")
                }
                Err(_) => debug!(active = active.name, "the active controller does not answer"),
            }
        }
        // Of what nobody hears there is soon too much.
        let drop_all = async {
            loop {
                tokio::select! {
                    Some(_) = said.reports.recv() => {}
                    Some(_) = said.packets.recv() => {}
                    Some(_) = said.ended.recv() => {}
                    else => return,
                }
            }
        };
        tokio::select! {
            _ = timeout(LOOK, drop_all) => {}
            Ok(()) = leads.changed() => {}
        }
    }
}

async fn here(mut said: Said, programmers: &Programmers, local: &Local) {
    // What others have told already, too: nobody listened here.
    for dpid in programmers.live().into_iter().chain(programmers.ours()) {
        let _ = local.reports.send(dpid).await;
    }
    loop {
        tokio::select! {
            Some(dpid) = said.reports.recv() => drop(local.reports.send(dpid).await),
            // What is full has more than it can do.
            Some(packet) = said.packets.recv() => if programmers.is_ours(packet.dpid) {
                let _ = local.packets.try_send(packet);
            },
            Some(ended) = said.ended.recv() => if programmers.is_ours(ended.dpid) {
                let _ = local.ended.try_send(ended);
            },
            else => return,
        }
    }
}

async fn there(
    said: &mut Said,
    programmers: &Programmers,
    stream: impl AsyncRead + AsyncWrite,
    is_active: impl Fn() -> bool,
    leads: &watch::Receiver<Option<Local>>,
) -> Result<(), End> {
    let (mut read, mut write) = tokio::io::split(stream);
    let (mut input, mut output) = (BytesMut::new(), BytesMut::new());
    let mut looks = interval(LOOK);
    let mut statuses: BTreeSet<Dpid> = programmers.ours().into_iter().collect();
    loop {
        for dpid in std::mem::take(&mut statuses) {
            if let Some((election, status)) = programmers.owned(dpid) {
                Word::Status(dpid, election, Box::new(status)).encode(&mut output);
            }
        }
        send(&mut write, &mut output).await?;
        tokio::select! {
            Some(dpid) = said.reports.recv() => {
                statuses.insert(dpid);
                statuses.extend(std::iter::from_fn(|| said.reports.try_recv().ok()));
            }
            Some(PacketIn { dpid, packet }) = said.packets.recv() => if programmers.is_ours(dpid) {
                Word::Punted(dpid, packet).encode(&mut output);
            },
            Some(FlowEnded { dpid, flow }) = said.ended.recv() => if programmers.is_ours(dpid) {
                Word::Ended(dpid, flow).encode(&mut output);
            },
            count = read.read_buf(&mut input) => {
                if count? == 0 {
                    return Err(End::Closed);
                }
                while let Some(word) = Word::take(&mut input)? {
                    if let Word::Out(dpid, packet) = word
                        && let Err(error) = programmers.packet_out(dpid, packet).await
                    {
                        debug!(switch = %dpid, %error, "a frame of the active controller was not sent");
                    }
                }
            }
            _ = looks.tick() => {
                if leads.borrow().is_some() || !is_active() {
                    return Err(End::Over);
                }
            }
        }
    }
}

/// Hears what another controller tells of its switches, until that ends or `stop` is set.
pub async fn hear(raw: Raw, local: Local, programmers: Programmers, stop: watch::Receiver<bool>) {
    let (way, frames) = mpsc::channel(FRAMES);
    let end = tokio::select! {
        end = heard(raw, &local, &programmers, way, frames) => end,
        () = until(stop) => return,
    };
    if let Err(end) = end {
        info!(reason = %end, "the connection of another controller ended");
    }
}

async fn heard(
    raw: Raw,
    local: &Local,
    programmers: &Programmers,
    way: mpsc::Sender<(Dpid, PacketOut)>,
    mut frames: mpsc::Receiver<(Dpid, PacketOut)>,
) -> Result<(), End> {
    let (mut read, mut write) = tokio::io::split(raw.io);
    let (mut input, mut output) = (BytesMut::from(&raw.read[..]), BytesMut::new());
    loop {
        while let Some(word) = Word::take(&mut input)? {
            match word {
                Word::Status(dpid, election, status) => programmers.told_of(dpid, election, *status, &way),
                Word::Punted(dpid, packet) => drop(local.packets.try_send(PacketIn { dpid, packet })),
                Word::Ended(dpid, flow) => drop(local.ended.try_send(FlowEnded { dpid, flow })),
                Word::Out(..) => {}
            }
        }
        tokio::select! {
            count = read.read_buf(&mut input) => if count? == 0 { return Err(End::Closed) },
            Some((dpid, packet)) = frames.recv() => Word::Out(dpid, packet).encode(&mut output),
        }
        send(&mut write, &mut output).await?;
    }
}

async fn send(write: &mut (impl AsyncWrite + Unpin), output: &mut BytesMut) -> Result<(), End> {
    if output.is_empty() {
        return Ok(());
    }
    let all = output.split();
    let sending = async {
        write.write_all(&all).await?;
        write.flush().await
    };
    timeout(PATIENCE, sending).await.map_err(|_| End::Slow)?.map_err(End::Io)
}
