//! What goes to a switch. As long as the socket takes it, it is written by whoever has it; only what is too much for the
//! socket waits for a task of its own. Most changes are small, and a task's turn costs more than the write.

use std::future::poll_fn;
use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncWrite, WriteHalf};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::mpsc;
use tokio_rustls::server::TlsStream;

use super::SessionClosed;

/// Chunks that wait for the socket; a chunk is at most about 64 KiB.
const CHUNKS: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct Sender {
    socket: Arc<Socket>,
    queue: mpsc::Sender<Bytes>,
}

/// The way to the socket.
#[derive(Debug)]
pub(super) enum Half {
    Plain(OwnedWriteHalf),
    /// What was taken may wait within TLS until it is flushed.
    Tls(Mutex<WriteHalf<TlsStream<TcpStream>>>),
}

#[derive(Debug)]
struct Socket {
    half: Half,
    /// Chunks that are queued or being written: nobody may overtake them.
    waiting: Mutex<usize>,
}

/// Writes what waits. Runs until all senders are gone or the socket is.
pub(super) struct Writer {
    socket: Arc<Socket>,
    queue: mpsc::Receiver<Bytes>,
}

pub(super) fn outbox(half: Half) -> (Sender, Writer) {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    let socket = Arc::new(Socket { half, waiting: Mutex::new(0) });
    (Sender { socket: socket.clone(), queue: sender }, Writer { socket, queue: receiver })
}

impl Sender {
    /// Writes or queues, whole messages only. Cancelled while it waits, nothing of them is sent.
    pub async fn send(&self, bytes: Bytes) -> Result<(), SessionClosed> {
        let place = self.queue.reserve().await.map_err(|_| SessionClosed)?;
        self.put(bytes, place)
    }

    /// The same without waiting; a full queue is no error, and nothing is sent then.
    pub fn send_if_room(&self, bytes: Bytes) {
        if let Ok(place) = self.queue.try_reserve() {
            // The reader sees the end of the session, and says why.
            let _ = self.put(bytes, place);
        }
    }

    fn put(&self, mut bytes: Bytes, place: mpsc::Permit<'_, Bytes>) -> Result<(), SessionClosed> {
        let mut waiting = locked(&self.socket.waiting);
        while *waiting == 0 && bytes.has_remaining() {
            match self.socket.half.try_write(&bytes) {
                Ok(written) => bytes.advance(written),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return Err(SessionClosed),
            }
        }
        let is_out = *waiting == 0 && !bytes.has_remaining() && {
            match self.socket.half.try_flush() {
                Ok(()) => true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => false,
                Err(_) => return Err(SessionClosed),
            }
        };
        if !is_out {
            *waiting += 1;
            place.send(bytes);
        }
        Ok(())
    }
}

impl Writer {
    pub async fn run(mut self) {
        while let Some(bytes) = self.queue.recv().await {
            if self.socket.half.write_all(&bytes).await.is_err() {
                return; // the reader sees the same end and says why
            }
            *locked(&self.socket.waiting) -= 1;
        }
    }
}

impl Half {
    /// Writes what can be written now.
    fn try_write(&self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Half::Plain(half) => half.try_write(bytes),
            Half::Tls(half) => {
                // Nobody waits for it: who finds it full lets the writer wait.
                let cx = &mut Context::from_waker(Waker::noop());
                now(Pin::new(&mut *locked(half)).poll_write(cx, bytes))
            }
        }
    }

    /// Hands on what was taken, as far as that goes now.
    fn try_flush(&self) -> std::io::Result<()> {
        match self {
            Half::Plain(_) => Ok(()),
            Half::Tls(half) => {
                let cx = &mut Context::from_waker(Waker::noop());
                now(Pin::new(&mut *locked(half)).poll_flush(cx))
            }
        }
    }

    /// Writes everything and hands it on, however long that takes. One at a time may wait so.
    pub async fn write_all(&self, mut bytes: &[u8]) -> std::io::Result<()> {
        while bytes.has_remaining() {
            match self {
                Half::Plain(half) => {
                    half.writable().await?;
                    match half.try_write(bytes) {
                        Ok(written) => bytes.advance(written),
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        Err(error) => return Err(error),
                    }
                }
                Half::Tls(half) => {
                    let written = poll_fn(|cx| Pin::new(&mut *locked(half)).poll_write(cx, bytes)).await?;
                    bytes.advance(written);
                }
            }
        }
        match self {
            Half::Plain(_) => Ok(()),
            Half::Tls(half) => poll_fn(|cx| Pin::new(&mut *locked(half)).poll_flush(cx)).await,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now<T>(polled: Poll<std::io::Result<T>>) -> std::io::Result<T> {
    match polled {
        Poll::Ready(result) => result,
        Poll::Pending => Err(Error::from(ErrorKind::WouldBlock)),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// Two senders and a reader that starts late: no chunk is torn apart, none is lost, and each sender's stay in order.
    #[tokio::test(flavor = "multi_thread")]
    async fn chunks_stay_whole_and_in_order() {
        const EACH: u32 = 300;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut peer, _) = listener.accept().await.unwrap();
        let (_read, half) = stream.into_split();
        let (sender, writer) = outbox(Half::Plain(half));
        tokio::spawn(writer.run());
        for who in 0..2_u8 {
            let sender = sender.clone();
            tokio::spawn(async move {
                for number in 0..EACH {
                    let mut chunk = vec![who; 40_000];
                    chunk[..4].copy_from_slice(&number.to_be_bytes());
                    sender.send(chunk.into()).await.unwrap();
                }
            });
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let mut next = [0; 2];
        let mut chunk = vec![0; 40_000];
        for _ in 0..2 * EACH {
            peer.read_exact(&mut chunk).await.unwrap();
            let who = usize::from(chunk[4]);
            assert!(chunk[4..].iter().all(|byte| usize::from(*byte) == who), "torn apart");
            assert_eq!(chunk[..4], u32::to_be_bytes(next[who]));
            next[who] += 1;
        }
    }

    #[tokio::test]
    async fn a_closed_socket_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        drop(listener.accept().await.unwrap());
        let (_read, half) = stream.into_split();
        let (sender, writer) = outbox(Half::Plain(half));
        let writer = tokio::spawn(writer.run());
        let mut result = Ok(());
        for _ in 0..200 {
            result = sender.send(vec![0; 60_000].into()).await;
            if result.is_err() {
                break;
            }
        }
        assert_eq!(result, Err(SessionClosed));
        drop(sender);
        writer.await.unwrap();
    }
}
