//! How the other controllers of a store come to the active one with what is no request: a connection of their own, which begins here.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use futures_util::future::join;
use hyper::client::conn::http1;
use hyper::upgrade::{self, Upgraded};
use hyper_util::rt::TokioIo;

use super::relay::{Active, connect, is_encrypted};
use crate::northbound::http::{Raw, Takeover};

/// Where it begins.
pub(super) const PATH: &str = "/controllers/link";
/// The protocol that follows (RFC 9110 section 7.8).
const PROTOCOL: HeaderValue = HeaderValue::from_static("coeus-link/1");

type Enter = Arc<dyn Fn(Raw) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Open at the active controller alone. All clones are one.
#[derive(Clone, Default)]
pub struct Door(Arc<Mutex<Option<(String, Enter)>>>);

impl Door {
    /// Lets in whoever knows the secret; `enter` goes on with the connection.
    pub fn open(
        &self,
        secret: &str,
        enter: impl Fn(Raw) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync + 'static,
    ) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((secret.to_owned(), Arc::new(enter)));
    }

    /// The answer to whoever asks for a connection.
    pub(super) fn answer(&self, parts: &Parts) -> Response<Body> {
        let told = parts.headers.get(header::AUTHORIZATION).and_then(|told| told.to_str().ok());
        let opened = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // The secret is not said to whoever listens.
        let takeover = parts.extensions.get::<Takeover>().filter(|_| is_encrypted(parts));
        let mut response = Response::new(Body::empty());
        *response.status_mut() = match (opened, takeover) {
            _ if parts.headers.get(header::UPGRADE) != Some(&PROTOCOL) => StatusCode::UPGRADE_REQUIRED,
            (Some((secret, enter)), Some(takeover)) if told.is_some_and(|told| is_same(told, &secret)) => {
                takeover.leave(Box::new(move |raw| enter(raw)));
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
                response.headers_mut().insert(header::UPGRADE, PROTOCOL);
                StatusCode::SWITCHING_PROTOCOLS
            }
            (None, _) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::UNAUTHORIZED,
        };
        response
    }
}

/// In the same time wherever they differ.
fn is_same(told: &str, secret: &str) -> bool {
    let told = told.strip_prefix("Bearer ").unwrap_or_default().as_bytes();
    let differ = told.iter().zip(secret.as_bytes()).fold(0, |differ, (one, other)| differ | (one ^ other));
    differ == 0 && told.len() == secret.len() && !secret.is_empty()
}

/// A connection to the active controller.
///
/// # Errors
/// When it cannot be reached, or does not let us in.
pub async fn link(active: &Active) -> std::io::Result<TokioIo<Upgraded>> {
    let stream = connect(active).await?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(std::io::Error::other)?;
    let asked = async move {
        let request = Request::get(PATH)
            .header(header::HOST, "coeus")
            .header(header::CONNECTION, "upgrade")
            .header(header::UPGRADE, PROTOCOL)
            .header(header::AUTHORIZATION, format!("Bearer {}", active.secret))
            .body(Body::empty())
            .map_err(std::io::Error::other)?;
        let response = sender.send_request(request).await.map_err(std::io::Error::other)?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(std::io::Error::other(format!("it answers {}", response.status())));
        }
        upgrade::on(response).await.map_err(std::io::Error::other)
    };
    let (_, upgraded) = join(connection.with_upgrades(), asked).await;
    upgraded.map(TokioIo::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::northbound::http::Transport;

    fn asked(headers: &[(header::HeaderName, &str)], is_tls: Option<bool>) -> Parts {
        let mut request = Request::get(PATH).body(()).unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        if let Some(is_tls) = is_tls {
            let (_, closing) = tokio::sync::watch::channel(());
            request.extensions_mut().insert(Takeover::default());
            request.extensions_mut().insert(Arc::new(Transport { is_tls, closing }));
        }
        request.into_parts().0
    }

    #[test]
    fn only_who_knows_the_secret_is_let_in_and_only_by_the_active_one() {
        let (upgrade, bearer) = ((header::UPGRADE, "coeus-link/1"), header::AUTHORIZATION);
        let with =
            |secret: &'static str, is_tls| asked(&[upgrade.clone(), (bearer.clone(), secret)], Some(is_tls));
        let door = Door::default();
        assert_eq!(door.answer(&with("Bearer s3", true)).status(), 503, "it is not the active one");
        door.open("s3", |_| Box::pin(async {}));
        assert_eq!(door.answer(&with("Bearer s3", true)).status(), 101);
        for (told, is_tls) in
            [("Bearer s4", true), ("Bearer s33", true), ("Bearer ", true), ("s3", true), ("Bearer s3", false)]
        {
            assert_eq!(door.answer(&with(told, is_tls)).status(), 401, "{told:?}");
        }
        assert_eq!(door.answer(&asked(std::slice::from_ref(&upgrade), Some(true))).status(), 401);
        assert_eq!(door.answer(&asked(&[(bearer.clone(), "Bearer s3")], None)).status(), 426);
        let nobody = Door::default();
        nobody.open("", |_| Box::pin(async {}));
        assert_eq!(nobody.answer(&with("Bearer ", true)).status(), 401, "no secret lets nobody in");
    }
}
