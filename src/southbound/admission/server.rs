use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client};
use tracing::info;

use super::tls::{Shown, reason_of};
use super::{Admission, Identity, Protocol, Reason, Refused, Verdict};
use crate::datastore::{DatastoreError, Transaction};
use crate::net::Dpid;

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// So often learning starts anew when what it concerns changes meanwhile.
const ATTEMPTS: usize = 5;

/// A connection from a switch.
#[derive(Debug)]
pub enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Admission {
    /// Lets a connection in; with TLS it says whose it is.
    ///
    /// # Errors
    /// Who is not let in, and why; that is noted already.
    pub async fn enter(
        &self,
        protocol: Protocol,
        stream: TcpStream,
        peer: SocketAddr,
    ) -> Result<(Stream, Option<Identity>), Refused> {
        let Some(tls) = &self.tls else { return Ok((Stream::Plain(stream), None)) };
        let shown = Shown::default();
        let done = match tls.config(&shown) {
            Ok(config) => timeout(HANDSHAKE, TlsAcceptor::from(config).accept(stream)).await,
            Err(error) => Ok(Err(io::Error::other(error))),
        };
        let (stream, identity) = self.handshake(protocol, peer, &shown, done)?;
        Ok((Stream::Tls(Box::new(stream)), identity))
    }

    /// TLS with a switch that was dialled; whose it is.
    ///
    /// # Errors
    /// Who is not talked to, and why; that is noted already.
    pub async fn dial(
        &self,
        protocol: Protocol,
        stream: TcpStream,
        peer: SocketAddr,
    ) -> Result<(client::TlsStream<TcpStream>, Option<Identity>), Refused> {
        let shown = Shown::default();
        let config = match &self.tls {
            Some(tls) => tls.dialling(&shown).map_err(io::Error::other),
            None => Err(io::Error::other("there is no certificate for switches; set switch-tls-certificate")),
        };
        let done = match config {
            Ok(config) => {
                let name = ServerName::from(peer.ip());
                timeout(HANDSHAKE, TlsConnector::from(config).connect(name, stream)).await
            }
            Err(error) => Ok(Err(error)),
        };
        self.handshake(protocol, peer, &shown, done)
    }

    fn handshake<T>(
        &self,
        protocol: Protocol,
        peer: SocketAddr,
        shown: &Shown,
        done: Result<io::Result<T>, Elapsed>,
    ) -> Result<(T, Option<Identity>), Refused> {
        let identity = shown.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (reason, detail) = match done {
            Ok(Ok(stream)) => return Ok((stream, identity)),
            Ok(Err(error)) => reason_of(&error),
            Err(_) => {
                let detail = format!("the handshake was not done within {} s", HANDSHAKE.as_secs());
                (Reason::Handshake, detail)
            }
        };
        Err(self.refuse(Refused {
            protocol,
            address: peer.ip().to_canonical(),
            reason,
            dpid: None,
            identity: identity.map(|identity| identity.name),
            detail,
        }))
    }

    /// Lets somebody be a datapath: his own, or one that is nobody's yet, which is his from now on. Without an identity nothing is asked.
    ///
    /// # Errors
    /// Why he is not let, in words; it is noted already.
    pub async fn claim(
        &self,
        protocol: Protocol,
        peer: SocketAddr,
        dpid: Dpid,
        identity: Option<&Identity>,
    ) -> Result<(), String> {
        let (Some(identity), Some((datastore, bindings))) = (identity, &self.bound) else { return Ok(()) };
        for _ in 0..ATTEMPTS {
            let snapshot = datastore.snapshot();
            let (reason, detail) = match bindings.judge(&snapshot, dpid, identity) {
                Verdict::Own => return Ok(()),
                Verdict::New => {
                    let edits = vec![bindings.learn(dpid, identity, SystemTime::now())];
                    let base = Some(snapshot.revision);
                    let learn = Transaction { base, ..Transaction::new("admission", edits) };
                    match datastore.commit(learn).await {
                        Ok(_) => {
                            info!(switch = %dpid, identity = identity.name, "the datapath is this identity's from now on");
                            return Ok(());
                        }
                        Err(DatastoreError::Conflict { .. }) => continue,
                        Err(error) => {
                            return Err(format!("whose datapath {dpid} is cannot be written down: {error}"));
                        }
                    }
                }
                Verdict::Other(owner) => (
                    Reason::OtherIdentity,
                    format!(
                        "datapath {dpid} belongs to {owner}, not to {}; if it has moved, release it (coeus-switch:release)",
                        identity.name
                    ),
                ),
                Verdict::TooMany => (
                    Reason::TooManyDatapaths,
                    format!(
                        "{} has {} datapaths and wants {dpid} as well; release some, or say whose it is (coeus-switch:identities)",
                        identity.name,
                        super::binding::LEARNED_EACH
                    ),
                ),
            };
            let refused = Refused {
                protocol,
                address: peer.ip().to_canonical(),
                reason,
                dpid: Some(dpid),
                identity: Some(identity.name.clone()),
                detail,
            };
            return Err(self.refuse(refused).to_string());
        }
        Err(format!("whose datapath {dpid} is changes all the time"))
    }

    fn refuse(&self, refused: Refused) -> Refused {
        self.refusals.note(refused.clone());
        refused
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
