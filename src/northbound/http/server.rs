//! Connections: accepted, counted, encrypted, and given up when the client is too slow.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use futures_util::FutureExt as _;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tower_http::timeout::TimeoutBody;
use tracing::{debug, warn};

use super::Limits;
use super::takeover::{Raw, Takeover};
use super::tls;
use crate::certificates;

/// Connections that are told at a time that there are too many; more are just closed.
const REFUSALS: usize = 64;
/// How long one that is told so may take to hear it.
const FAREWELL: Duration = Duration::from_secs(1);
/// After an accept that failed for want of something (file descriptors): until the next one.
const PAUSE: Duration = Duration::from_millis(100);
/// What the preface of HTTP/2 begins with: a method that is nobody's (RFC 9113 section 11.6).
const PREFACE: &[u8; 4] = b"PRI ";
/// Between two looks for the rest of it.
const REST: Duration = Duration::from_millis(5);
/// Requests of one HTTP/2 connection at a time.
const STREAMS: u32 = 256;
/// An HTTP/2 connection is asked so often whether it is still there.
const PING: Duration = Duration::from_secs(30);

const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: 39\r\n\r\ntoo many connections; try again shortly";
const SLOW: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: 45\r\n\r\nthe header section took too long; send faster";

/// Who is at the other end of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    pub address: SocketAddr,
    /// Names that the client's certificate bears, where it has shown one that we trust.
    pub names: Arc<[String]>,
}

/// Serves requests until `shutdown` is done, then lets running ones finish. Without `tls` it is HTTP/1.1, or HTTP/2 with prior
/// knowledge.
pub async fn serve<F, R>(
    listener: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    answer: F,
    limits: Limits,
    shutdown: impl Future<Output = ()> + Send + 'static,
) where
    F: Fn(Peer, Request<Body>) -> R + Clone + Send + Sync + Unpin + 'static,
    R: Future<Output = Response<Body>> + Send + 'static,
{
    let acceptor = tls.map(TlsAcceptor::from);
    let permits = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    let limits = Arc::new(limits);
    let (closing, closed) = watch::channel(());
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        let (socket, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "a connection could not be accepted");
                sleep(PAUSE).await;
                continue;
            }
        };
        // Answers are short: they are not to wait for an acknowledgement of the one before.
        let _ = socket.set_nodelay(true);
        let Ok(permit) = permits.clone().try_acquire_owned() else {
            warn!(%address, limit = limits.connections, "too many connections");
            if acceptor.is_none()
                && let Ok(permit) = refusals.clone().try_acquire_owned()
            {
                tokio::spawn(farewell(socket, BUSY, permit));
            }
            continue;
        };
        let connection = Connection {
            address,
            answer: answer.clone(),
            limits: limits.clone(),
            closing: closed.clone(),
            _permit: permit,
        };
        match acceptor.clone() {
            None => drop(tokio::spawn(connection.plain(socket))),
            Some(acceptor) => drop(tokio::spawn(connection.tls(socket, acceptor))),
        }
    }
    drop(listener);
    drop(closed);
    closing.send_replace(());
    closing.closed().await;
}

/// Says something to a client that will not be served, and waits a moment so that it is read.
async fn farewell(
    mut socket: impl AsyncRead + AsyncWrite + Unpin,
    text: &[u8],
    _permit: OwnedSemaphorePermit,
) {
    let _ = timeout(FAREWELL, async {
        socket.write_all(text).await?;
        socket.shutdown().await?;
        let mut rest = [0; 4096];
        while socket.read(&mut rest).await? > 0 {}
        Ok::<(), std::io::Error>(())
    })
    .await;
}

/// In the extensions of each request: what it came by. It is one for all requests of a connection.
pub struct Transport {
    pub is_tls: bool,
    /// Changes when the server stops. It waits until nobody has this any more.
    pub closing: watch::Receiver<()>,
}

struct Connection<F> {
    address: SocketAddr,
    answer: F,
    limits: Arc<Limits>,
    closing: watch::Receiver<()>,
    _permit: OwnedSemaphorePermit,
}

impl<F, R> Connection<F>
where
    F: Fn(Peer, Request<Body>) -> R + Clone + Send + Sync + Unpin + 'static,
    R: Future<Output = Response<Body>> + Send + 'static,
{
    fn peer(&self, names: Arc<[String]>) -> Peer {
        Peer { address: self.address, names }
    }

    /// Without TLS nothing is agreed on before: who speaks HTTP/2 begins with its preface (RFC 9113 section 3.3).
    async fn plain(self, socket: TcpStream) {
        match timeout(self.limits.header_time(), begins_http2(&socket)).await {
            Ok(Ok(true)) => self.http2(socket, Arc::default(), false).await,
            Ok(Ok(false)) => self.http1(socket, Arc::default(), false).await,
            Ok(Err(error)) => debug!(address = %self.address, %error, "a connection ended early"),
            // Who has begun hears of his slowness in the words of HTTP/1.1.
            Err(_) => match timeout(REST, socket.peek(&mut [0])).await {
                Ok(Ok(1..)) => farewell(socket, SLOW, self._permit).await,
                _ => debug!(address = %self.address, "nothing was asked in time"),
            },
        }
    }

    async fn tls(self, socket: TcpStream, acceptor: TlsAcceptor) {
        let stream = match timeout(self.limits.header_time(), acceptor.accept(socket)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return debug!(address = %self.address, %error, "no TLS session came about"),
            Err(_) => return debug!(address = %self.address, "the TLS handshake took too long"),
        };
        let session = stream.get_ref().1;
        let certificate = session.peer_certificates().and_then(|chain| chain.first());
        let names: Arc<[String]> = certificate.map(certificates::names).unwrap_or_default().into();
        if session.alpn_protocol() == Some(tls::H2) {
            self.http2(stream, names, true).await;
        } else {
            self.http1(stream, names, true).await;
        }
    }

    async fn http1(
        mut self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        names: Arc<[String]>,
        is_tls: bool,
    ) {
        let takeover = Takeover::default();
        let (peer, answer) = (self.peer(names), self.answer.clone());
        let transport = Arc::new(Transport { is_tls, closing: self.closing.clone() });
        let pause = self.limits.body_time();
        let service = service(peer, answer, pause, Arc::default(), transport, Some(takeover.clone()));
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header_time())
            .max_buf_size((self.limits.uri + self.limits.header + 4096).max(1 << 16))
            .serve_connection(TokioIo::new(stream), service);
        let outcome = loop {
            tokio::select! {
                outcome = Pin::new(&mut connection) => break outcome,
                _ = self.closing.changed() => Pin::new(&mut connection).graceful_shutdown(),
            }
        };
        let Err(error) = outcome else {
            if let Some(successor) = takeover.take() {
                let parts = connection.into_parts();
                let (io, read) = (Box::new(parts.io.into_inner()), parts.read_buf);
                successor(Raw { io, read, closing: self.closing }).await;
            }
            return;
        };
        debug!(address = %self.address, %error, "a connection ended early");
        let parts = connection.into_parts();
        if error.is_timeout() && !parts.read_buf.is_empty() {
            farewell(parts.io.into_inner(), SLOW, self._permit).await;
        }
    }

    async fn http2(
        mut self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        names: Arc<[String]>,
        is_tls: bool,
    ) {
        let asked = Arc::new(AtomicBool::new(false));
        let (peer, answer) = (self.peer(names), self.answer.clone());
        let transport = Arc::new(Transport { is_tls, closing: self.closing.clone() });
        let service = service(peer, answer, self.limits.body_time(), asked.clone(), transport, None);
        let mut connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_header_list_size(u32::try_from(self.limits.header + self.limits.uri).unwrap_or(u32::MAX))
            .max_concurrent_streams(STREAMS)
            .keep_alive_interval(PING)
            .serve_connection(TokioIo::new(stream), service);
        let mut patience = std::pin::pin!(sleep(self.limits.header_time()));
        let mut waiting = true;
        let outcome = loop {
            tokio::select! {
                outcome = Pin::new(&mut connection) => break outcome,
                _ = self.closing.changed() => Pin::new(&mut connection).graceful_shutdown(),
                () = &mut patience, if waiting => {
                    waiting = false;
                    if !asked.load(Ordering::Relaxed) {
                        return debug!(address = %self.address, "nothing was asked in time");
                    }
                }
            }
        };
        if let Err(error) = outcome {
            debug!(address = %self.address, %error, "a connection ended early");
        }
    }
}

/// Whether a client begins with the preface of HTTP/2, as far as no request of HTTP/1.1 does. Nothing is taken from the socket.
async fn begins_http2(socket: &TcpStream) -> std::io::Result<bool> {
    let mut seen = [0; PREFACE.len()];
    loop {
        let count = socket.peek(&mut seen).await?;
        if count == 0 || count == PREFACE.len() || !PREFACE.starts_with(&seen[..count]) {
            return Ok(seen[..count] == *PREFACE);
        }
        // What is there is told of again at once, so that readiness does not say when there is more.
        sleep(REST).await;
    }
}

/// Hands the requests of one connection on, each with who asks.
fn service<F, R>(
    peer: Peer,
    answer: F,
    pause: Duration,
    asked: Arc<AtomicBool>,
    transport: Arc<Transport>,
    takeover: Option<Takeover>,
) -> impl Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send + 'static> + Unpin
where
    F: Fn(Peer, Request<Body>) -> R + Clone + Send + Sync + Unpin + 'static,
    R: Future<Output = Response<Body>> + Send + 'static,
{
    service_fn(move |request: Request<Incoming>| {
        asked.store(true, Ordering::Relaxed);
        let mut request = request.map(|body| Body::new(TimeoutBody::new(pause, body)));
        request.extensions_mut().insert(transport.clone());
        if let Some(takeover) = &takeover {
            request.extensions_mut().insert(takeover.clone());
        }
        answer(peer.clone(), request).map(Ok::<_, Infallible>)
    })
}
