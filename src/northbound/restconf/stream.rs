//! Long answers, sent while they are made: the tree is walked on a thread of its own, over a snapshot that does not change,
//! and waits when the client is slow.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use http_body::Frame;
use tokio::sync::mpsc;

use super::data::AsSent;
use super::gzip;
use super::read::Found;
use super::{Problem, Problems};
use crate::schema::json::CHUNK;

/// Pieces that wait for the client at most; each is a little more than [`CHUNK`].
const WAITING: usize = 4;
/// A client that takes nothing for so long is given up.
const PATIENCE: Duration = Duration::from_secs(30);

enum Piece {
    Data(Bytes),
    /// All has been sent. Without it the answer is cut off, and the client is told.
    End,
}

/// Does what may take long on a thread of its own, so that other requests go on.
///
/// # Errors
/// What it fails with; 500 when it panicked.
pub async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problems> + Send + 'static,
) -> Result<T, Problems> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        let problem = Problem::new("operation-failed", format!("the answer could not be made: {error}"));
        Err(problem.with_status(StatusCode::INTERNAL_SERVER_ERROR).into())
    })
}

/// The body of a long answer.
pub fn body(found: Found, as_sent: AsSent) -> Body {
    let (pieces, inbox) = mpsc::channel(WAITING);
    let runtime = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || {
        let send = |bytes: Vec<u8>| {
            let piece = Piece::Data(Bytes::from(bytes));
            runtime.block_on(pieces.send_timeout(piece, PATIENCE)).is_ok()
        };
        let mut compressed = as_sent.gzip.then(gzip::Pieces::default);
        let mut out = Vec::with_capacity(CHUNK + CHUNK / 4);
        let complete = found.write(as_sent.encoding, &mut out, &mut |out| match &mut compressed {
            None => send(std::mem::replace(out, Vec::with_capacity(CHUNK + CHUNK / 4))),
            Some(compressed) => {
                compressed.add(out);
                out.clear();
                compressed.ready().is_none_or(&send)
            }
        });
        let complete = matches!(complete, Ok(true)) && compressed.is_none_or(|rest| send(rest.end()));
        if complete {
            let _ = runtime.block_on(pieces.send_timeout(Piece::End, PATIENCE));
        }
    });
    Body::new(Pieces { inbox, ended: false })
}

struct Pieces {
    inbox: mpsc::Receiver<Piece>,
    ended: bool,
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        self.inbox.poll_recv(context).map(|piece| match piece {
            Some(Piece::Data(bytes)) => Some(Ok(Frame::data(bytes))),
            Some(Piece::End) => {
                self.ended = true;
                None
            }
            None => {
                self.ended = true;
                Some(Err(std::io::Error::other("the answer was cut off")))
            }
        })
    }
}
