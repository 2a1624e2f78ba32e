//! A controller that waits until it is the active one: it answers who asks for its health, and nobody else.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::info;

use super::leader::{Campaign, Lease};
use super::store::Store;
use super::{Settings, StartError, address, listen, own_names};
use crate::northbound::http::{self, Peer, tls};

/// Between two looks at who leads.
const PAUSE: Duration = Duration::from_millis(500);

/// Waits until this controller is the active one of its store. `None`: nobody else can have it, there is nothing to wait for.
///
/// # Errors
/// When it cannot listen, or a file of the credentials cannot be read. An etcd that is away is waited for.
pub async fn lead(settings: &Settings) -> Result<Option<Lease>, StartError> {
    let Store::Etcd(place) = &settings.store else { return Ok(None) };
    let mut campaign = Campaign::new(place, &settings.store_credentials, "coeus serve")?;
    let reason = match campaign.try_once().await {
        Ok(Ok(lease)) => return Ok(Some(lease)),
        Ok(Err(leader)) => waiting_for(&leader),
        Err(error) => error.to_string(),
    };
    let reason = Arc::new(Mutex::new(reason));
    let (stop, servers) = serve(settings, &reason).await?;
    let mut said = String::new();
    let lease = loop {
        let now = reason.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if now != said {
            info!(store = %place, "standby: {now}");
            said = now;
        }
        tokio::time::sleep(PAUSE).await;
        let now = match campaign.try_once().await {
            Ok(Ok(lease)) => break lease,
            Ok(Err(leader)) => waiting_for(&leader),
            Err(error) => error.to_string(),
        };
        *reason.lock().unwrap_or_else(PoisonError::into_inner) = now;
    };
    info!(store = %place, "this controller is the active one now");
    stop.send_replace(true);
    for server in servers {
        let _ = tokio::time::timeout(PAUSE, server).await;
    }
    Ok(Some(lease))
}

fn waiting_for(leader: &str) -> String {
    format!("another controller is the active one ({leader})")
}

/// Answers `/livez` and `/readyz` where RESTCONF will be.
async fn serve(
    settings: &Settings,
    reason: &Arc<Mutex<String>>,
) -> Result<(watch::Sender<bool>, Vec<JoinHandle<()>>), StartError> {
    let (stop, stopped) = watch::channel(false);
    let listener = listen("RESTCONF", &settings.restconf).await?;
    let names = own_names(address(&listener)?);
    let tls = tls::load(&settings.data_dir, &settings.tls, &names, SystemTime::now())?;
    let mut listeners = vec![(listener, Some(tls.config))];
    if let Some(plain) = &settings.restconf_plain {
        listeners.push((listen("RESTCONF without TLS", plain).await?, None));
    }
    let servers = listeners.into_iter().map(|(listener, tls)| {
        let (reason, limits, mut stopped) = (reason.clone(), settings.limits.clone(), stopped.clone());
        let answer = move |_: Peer, request: Request<Body>| {
            let reason = reason.lock().unwrap_or_else(PoisonError::into_inner).clone();
            async move { answer(request.uri().path(), &reason) }
        };
        let until = async move { stopped.wait_for(|stop| *stop).await.map_or((), drop) };
        tokio::spawn(http::serve(listener, tls, answer, limits, until))
    });
    Ok((stop, servers.collect()))
}

fn answer(path: &str, reason: &str) -> Response<Body> {
    let (status, text) = match path {
        "/livez" => (StatusCode::OK, "alive\n".to_owned()),
        _ => (StatusCode::SERVICE_UNAVAILABLE, format!("standby: {reason}\n")),
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain"));
    response
}
