//! Server-sent events (RFC 8040 section 6.3): one task a reader, a bounded row of pieces between it and the socket.
//!
//! The task holds no events of the future: it takes the next revision when the reader has taken the last one. A reader who takes
//! nothing while many revisions pass gets one last event, for which there is always room, and no more.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use axum::body::{Body, Bytes, HttpBody};
use http_body::Frame;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::actor::{Reading, Registry, Signal, Slot};
use super::feed::{Event, Feed, FeedError, Order, Start, Target};
use crate::datastore::Revision;
use crate::schema::json::CHUNK;

/// What keeps the place of a reader.
pub enum Seat {
    /// Of a stream that ends with its connection.
    Slot { _room: Slot },
    /// Of a subscription.
    Subscription(Reading),
}

/// Pieces that wait at most, however short they are; the bytes have a bound of their own.
const PIECES: usize = 256;

/// What waits for the socket, and the room that it takes.
type Piece = (Bytes, Option<OwnedSemaphorePermit>);

/// The body of the answer to a reader.
pub fn body(registry: &Registry, feed: Feed, seat: Seat) -> Body {
    // Besides what the bytes allow: one for the last event.
    let (pieces, inbox) = mpsc::channel(PIECES);
    tokio::spawn(run(registry.clone(), feed, seat, pieces));
    Body::new(Pieces(inbox))
}

/// Why a reader gets no more.
enum End {
    /// He went.
    Gone,
    /// He is told why.
    Told { reason: &'static str, message: String },
    /// It is over, as he wished.
    Over,
}

struct Reader {
    registry: Registry,
    pieces: mpsc::Sender<Piece>,
    /// Bytes that may still wait.
    room: Arc<Semaphore>,
    revisions: watch::Receiver<Revision>,
    closing: watch::Receiver<bool>,
    /// Of a subscription.
    signal: Option<watch::Receiver<Signal>>,
    /// All up to this revision has been sent; none while the present state has not been.
    told: Option<Revision>,
    /// The id of the last event that was sent as a whole.
    id: String,
    /// An event is being sent in parts.
    is_partial: bool,
    stop: Option<Instant>,
}

async fn run(registry: Registry, mut feed: Feed, mut seat: Seat, pieces: mpsc::Sender<Piece>) {
    // Room for the last event is taken before anything else.
    let Ok(last) = pieces.clone().reserve_owned().await else { return };
    let signal = match &mut seat {
        Seat::Slot { .. } => None,
        Seat::Subscription(reading) => Some(reading.signal.clone()),
    };
    let mut reader = Reader {
        pieces,
        revisions: registry.datastore.revisions(),
        closing: registry.closing(),
        signal,
        room: Arc::new(Semaphore::new(registry.limits.bytes)),
        told: None,
        id: String::new(),
        is_partial: false,
        stop: feed.order.stop.map(instant),
        registry,
    };
    let end = reader.serve(&mut feed).await;
    if let End::Told { reason, message } = end
        && let Some(text) = feed.terminated(reason, &message, reader.told, SystemTime::now())
    {
        let event = framed(&Event { id: reader.id, text });
        // What was begun must not be taken for a message (its type is given behind its data).
        let broken: &[u8] = if reader.is_partial { b"\nevent: incomplete\n\n" } else { b"" };
        last.send((Bytes::from([broken, &event].concat()), None));
        if let Seat::Subscription(reading) = &seat {
            // It is over for good; the reader establishes another one from the revision he is told.
            let _ = reader.registry.end(reading.id, None, false).await;
        }
    }
}

impl Reader {
    async fn serve(&mut self, feed: &mut Feed) -> End {
        let mut syncs = self.signal.as_ref().map_or(0, |signal| signal.borrow().syncs);
        let mut order = self.signal.as_ref().map(|signal| signal.borrow().order.clone());
        if let Err(end) = self.send(Bytes::from_static(b"retry: 2000\n\n")).await {
            return end;
        }
        if let Err(end) = self.present(feed).await {
            return end;
        }
        loop {
            if let Some(signal) = &mut self.signal {
                let signal = signal.borrow_and_update().clone();
                if let Some((reason, message)) = signal.end {
                    return if message.is_empty() {
                        End::Over
                    } else {
                        End::Told { reason, message: message.to_owned() }
                    };
                }
                let changed = order.as_ref().is_some_and(|order| !Arc::ptr_eq(order, &signal.order));
                if changed || signal.syncs != syncs {
                    syncs = signal.syncs;
                    order = Some(signal.order.clone());
                    if let Err(end) = self.begin_anew(feed, &signal.order, changed).await {
                        return end;
                    }
                }
            }
            match feed.next() {
                Ok(Some(events)) => {
                    let told = !events.is_empty();
                    for event in events {
                        if let Err(end) = self.send(Bytes::from(framed(&event))).await {
                            return end;
                        }
                        self.id = event.id;
                    }
                    self.reached(feed);
                    if told && !feed.order.dampening.is_zero() {
                        let until = Instant::now() + feed.order.dampening;
                        if let Err(end) = self.wait(Some(until)).await {
                            return end;
                        }
                    }
                }
                Ok(None) if feed.is_over => return End::Over,
                Ok(None) => {
                    if let Err(end) = self.wait(None).await {
                        return end;
                    }
                }
                Err(error) => return lost(&error),
            }
        }
    }

    /// Another order, or the same state once more.
    async fn begin_anew(&mut self, feed: &mut Feed, order: &Arc<Order>, changed: bool) -> Result<(), End> {
        let start = match order.target {
            Target::Data { .. } => Start::Now { sync: true },
            Target::Stream { .. } => Start::Behind { revision: feed.revision(), seen: 0 },
        };
        let anew = Order { start, ..(**order).clone() };
        let id = self.signal.is_some().then(|| feed.subscription()).flatten();
        *feed = Feed::start(feed.datastore(), anew, id).map_err(|error| lost(&error))?;
        self.stop = feed.order.stop.map(instant);
        if changed && let Some(event) = feed.modified(SystemTime::now()) {
            self.send(Bytes::from(framed(&event))).await?;
        }
        self.present(feed).await
    }

    /// The present state, written while it is sent: it may be long.
    async fn present(&mut self, feed: &Feed) -> Result<(), End> {
        let present = match feed.present() {
            Ok(Some(present)) => present,
            Ok(None) => {
                self.reached(feed);
                return Ok(());
            }
            Err(error) => {
                return Err(End::Told { reason: "filter-unavailable", message: error.to_string() });
            }
        };
        let (full, mut written) = mpsc::channel::<Vec<u8>>(1);
        let writing = tokio::task::spawn_blocking(move || {
            let mut line = Lines::begun(&present.id());
            let complete = present.write(&mut |out: &mut Vec<u8>| {
                line.add(out);
                out.clear();
                line.text.len() < CHUNK || full.blocking_send(std::mem::take(&mut line.text)).is_ok()
            });
            if complete {
                line.end();
                let _ = full.blocking_send(std::mem::take(&mut line.text));
            }
        });
        while let Some(piece) = written.recv().await {
            self.send(Bytes::from(piece)).await?;
            self.is_partial = true;
        }
        self.is_partial = false;
        let _ = writing.await;
        self.reached(feed);
        Ok(())
    }

    /// All up to where the feed is has been sent.
    fn reached(&mut self, feed: &Feed) {
        let revision = feed.revision();
        if self.told != Some(revision) {
            self.told = Some(revision);
            self.id = revision.0.to_string();
        }
    }

    /// Puts a piece into the row; waits for room while not too many revisions pass. How old the piece is does not count:
    /// who goes on from an old revision is behind and reads all the same.
    async fn send(&mut self, piece: Bytes) -> Result<(), End> {
        let backlog = self.registry.limits.backlog;
        let from = *self.revisions.borrow();
        // What is longer than all the room there is goes alone.
        let size = u32::try_from(piece.len().min(self.registry.limits.bytes)).unwrap_or(u32::MAX);
        let (pieces, room) = (self.pieces.clone(), self.room.clone());
        let mut place = std::pin::pin!(async move {
            let room = room.acquire_many_owned(size).await.ok();
            pieces.reserve_owned().await.ok().map(|place| (place, room))
        });
        loop {
            let passed = self.revisions.borrow_and_update().0.saturating_sub(from.0);
            tokio::select! {
                biased;
                place = &mut place => {
                    let (place, room) = place.ok_or(End::Gone)?;
                    place.send((piece, room));
                    return Ok(());
                }
                () = self.pieces.closed() => return Err(End::Gone),
                _ = self.closing.wait_for(|closing| *closing) => return Err(stopping()),
                changed = self.revisions.changed(), if passed <= backlog => {
                    if changed.is_err() {
                        return Err(stopping());
                    }
                }
                () = std::future::ready(()), if passed > backlog => {
                    let message = format!("the reader took nothing while {passed} revisions passed; read faster, or less");
                    return Err(End::Told { reason: "insufficient-resources", message });
                }
            }
        }
    }

    /// Waits for something to do. Until a time, if given, it is only a pause, in which no revision wakes.
    async fn wait(&mut self, until: Option<Instant>) -> Result<(), End> {
        loop {
            let heartbeat = Instant::now() + self.registry.limits.heartbeat;
            let next = until.unwrap_or(heartbeat).min(heartbeat);
            let signal = &mut self.signal;
            tokio::select! {
                changed = self.revisions.changed(), if until.is_none() => {
                    return changed.map_err(|_| stopping());
                }
                () = async {
                    match signal {
                        // The channel closes when the subscription ends; its last signal says so.
                        Some(signal) => drop(signal.changed().await),
                        None => std::future::pending().await,
                    }
                } => return Ok(()),
                _ = self.closing.wait_for(|closing| *closing) => return Err(stopping()),
                () = self.pieces.closed() => return Err(End::Gone),
                () = sleep_until(self.stop.unwrap_or(next)), if self.stop.is_some() => return Err(End::Over),
                () = sleep_until(next) => {}
            }
            if until == Some(next) {
                return Ok(());
            }
            self.send(Bytes::from_static(b": still here\n\n")).await?;
            if until.is_none() {
                return Ok(());
            }
        }
    }
}

fn stopping() -> End {
    End::Told { reason: "stream-unavailable", message: "the controller stops; connect again later".into() }
}

fn lost(error: &FeedError) -> End {
    End::Told { reason: "insufficient-resources", message: error.to_string() }
}

fn instant(time: SystemTime) -> Instant {
    Instant::now() + time.duration_since(SystemTime::now()).unwrap_or(Duration::ZERO)
}

/// An event as its lines.
pub fn framed(event: &Event) -> Vec<u8> {
    let mut lines = Lines::begun(&event.id);
    lines.add(&event.text);
    lines.end();
    lines.text
}

/// The lines of an event while its text comes: a line feed in it begins another one.
struct Lines {
    text: Vec<u8>,
}

impl Lines {
    fn begun(id: &str) -> Lines {
        let id = if id.is_empty() { String::new() } else { format!("id: {id}\n") };
        Lines { text: format!("{id}data: ").into_bytes() }
    }

    fn add(&mut self, text: &[u8]) {
        for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if number > 0 {
                self.text.extend_from_slice(b"\ndata: ");
            }
            self.text.extend_from_slice(line);
        }
    }

    fn end(&mut self) {
        self.text.extend_from_slice(b"\n\n");
    }
}

struct Pieces(mpsc::Receiver<Piece>);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::convert::Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|(bytes, _room)| Ok(Frame::data(bytes))))
    }
}
