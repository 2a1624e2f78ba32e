//! One websocket: it takes the next revision when the client has taken the last one.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::super::actor::{Registry, Slot};
use super::super::changes::changes;
use super::super::document::Moment;
use super::Watched;
use super::document::document;
use crate::datastore::{Cursor, Handle};
use crate::northbound::http::Raw;

/// A client that takes nothing for so long is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// Clients have nothing to say.
const LONGEST: usize = 4096;

/// Serves the websocket until either side ends it; `datastore` has the rights of its user. The slot is given back then.
pub async fn run(
    registry: Registry,
    datastore: Handle,
    watched: Watched,
    mut cursor: Cursor,
    _slot: Slot,
    raw: Raw,
) {
    let limits = WebSocketConfig::default().max_message_size(Some(LONGEST)).max_frame_size(Some(LONGEST));
    let mut socket =
        WebSocketStream::from_partially_read(raw.io, raw.read.to_vec(), Role::Server, Some(limits)).await;
    let mut revisions = registry.datastore.revisions();
    let mut closing = registry.closing();
    let schema = registry.datastore.schema();
    let history = datastore.history();
    let mut state = datastore.readable(cursor.at().snapshot().clone());
    loop {
        revisions.mark_unchanged();
        if let Err(error) = history.at(cursor.at().revision) {
            return close(socket, &error.to_string()).await;
        }
        for step in cursor.advance(history, 1) {
            let before = std::mem::replace(&mut state, datastore.readable(step.after.snapshot().clone()));
            let changes =
                changes(schema, watched.source, std::slice::from_ref(&watched.path), &before, &state);
            let at = Moment { revision: step.after.revision, time: step.after.time };
            revisions.mark_changed();
            let Some(text) = document(schema, &watched, at, &changes) else { continue };
            match timeout(PATIENCE, socket.send(Message::text(text))).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return,
            }
        }
        tokio::select! {
            changed = revisions.changed() => {
                if changed.is_err() {
                    return close(socket, "the controller stops").await;
                }
            }
            said = socket.next() => match said {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            () = async { drop(closing.wait_for(|closing| *closing).await) } => {
                return close(socket, "the controller stops").await;
            }
            () = sleep(registry.limits.heartbeat) => {
                if !matches!(timeout(PATIENCE, socket.send(Message::Ping(Bytes::new()))).await, Ok(Ok(()))) {
                    return;
                }
            }
        }
    }
}

async fn close<S>(mut socket: WebSocketStream<S>, reason: &str)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    // A reason has at most 123 bytes (RFC 6455 section 5.5).
    let reason: String = reason.chars().filter(char::is_ascii).take(120).collect();
    let frame = CloseFrame { code: CloseCode::Again, reason: reason.into() };
    let _ = timeout(PATIENCE, socket.close(Some(frame))).await;
}
