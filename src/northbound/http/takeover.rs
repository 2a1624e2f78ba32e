//! Connections whose protocol changes (RFC 9110 section 7.8).

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

/// A connection without HTTP.
pub struct Raw {
    pub io: Box<dyn Duplex>,
    /// What the client has sent already.
    pub read: Bytes,
    /// Changes when the server stops.
    pub closing: watch::Receiver<()>,
}

/// Bytes both ways.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Goes on with a connection after the answer 101.
pub type Successor = Box<dyn FnOnce(Raw) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// In the extensions of each request over HTTP/1.1: whoever answers 101 leaves here who goes on.
#[derive(Clone, Default)]
pub struct Takeover {
    successor: Arc<Mutex<Option<Successor>>>,
    is_tls: bool,
}

impl Takeover {
    pub(in crate::northbound) fn new(is_tls: bool) -> Takeover {
        Takeover { successor: Arc::default(), is_tls }
    }

    /// Is the connection encrypted?
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    pub fn leave(&self, successor: Successor) {
        *self.successor.lock().unwrap_or_else(PoisonError::into_inner) = Some(successor);
    }

    pub(super) fn take(&self) -> Option<Successor> {
        self.successor.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
