//! Connections whose protocol changes (RFC 9110 section 7.8).

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::request::Parts;
use axum::http::{HeaderName, header};
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
pub struct Takeover(Arc<Mutex<Option<Successor>>>);

impl Takeover {
    /// That of a request for a websocket over HTTP/1.1 (RFC 6455 section 4.2.1).
    pub fn for_websocket(parts: &Parts) -> Option<&Takeover> {
        let says = |name: HeaderName, word: &str| {
            let values = parts.headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
            values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
        };
        let asks = says(header::UPGRADE, "websocket") && says(header::CONNECTION, "upgrade");
        parts.extensions.get().filter(|_| asks)
    }

    pub fn leave(&self, successor: Successor) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(successor);
    }

    pub(super) fn take(&self) -> Option<Successor> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
