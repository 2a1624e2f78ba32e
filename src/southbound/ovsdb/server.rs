use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixStream};
use tracing::{info, warn};

use super::{Names, Settings, session};
use crate::datastore::Handle;
use crate::southbound::admission::Protocol;

/// Accepts switches that dial in (`ovs-vsctl set-manager tcp:…` or, with TLS, `ssl:…`) until `shutdown` is done.
pub async fn serve(
    listener: TcpListener,
    settings: Settings,
    datastore: Handle,
    shutdown: impl Future<Output = ()>,
) {
    let names = Arc::new(Names::new(datastore.snapshot().schema));
    let mut sessions = tokio::task::JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = sessions.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let (settings, datastore, names) = (settings.clone(), datastore.clone(), names.clone());
                    sessions.spawn(async move {
                        let controller = controller(&settings, &stream);
                        let _ = stream.set_nodelay(true);
                        let Ok((stream, identity)) = settings.admission.enter(Protocol::Ovsdb, stream, peer).await else {
                            return; // noted, and logged
                        };
                        let from = session::From { peer: &peer.to_string(), address: Some(peer), identity };
                        let end = session::run(stream, from, &controller, &settings, &names, &datastore).await;
                        info!(%peer, reason = %end, "ovsdb session ended");
                    });
                }
                Err(error) => {
                    warn!(%error, "no ovsdb connection could be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
}

/// Between two attempts to reach a switch: at first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(8));

/// Dials one switch (`tcp:HOST:PORT`, `ssl:HOST:PORT` or `unix:PATH`), again and again, until the task is dropped.
pub async fn connect(target: String, settings: Settings, datastore: Handle) {
    let names = Names::new(datastore.snapshot().schema);
    let mut pause = PAUSES.0;
    loop {
        let end = match session_with(&target, &settings, &names, &datastore).await {
            Ok(end) => {
                pause = PAUSES.0;
                end.to_string()
            }
            Err(reason) => reason,
        };
        warn!(target, reason = end, retry_ms = pause.as_millis() as u64, "ovsdb");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// One session with the switch at `target`, to its end.
///
/// # Errors
/// Why none came about.
async fn session_with(
    target: &str,
    settings: &Settings,
    names: &Names,
    datastore: &Handle,
) -> Result<session::End, String> {
    let away = |error: std::io::Error| error.to_string();
    let (scheme, address) = target.split_once(':').unwrap_or_default();
    let from = session::From { peer: address, address: None, identity: None };
    match scheme {
        "unix" => {
            let stream = UnixStream::connect(address).await.map_err(away)?;
            let controller = settings.controller.clone().unwrap_or_else(|| local_controller(settings));
            Ok(session::run(stream, from, &controller, settings, names, datastore).await)
        }
        "tcp" | "ssl" => {
            let stream = TcpStream::connect(address).await.map_err(away)?;
            let _ = stream.set_nodelay(true);
            let controller = controller(settings, &stream);
            if scheme == "tcp" {
                return Ok(session::run(stream, from, &controller, settings, names, datastore).await);
            }
            let peer = stream.peer_addr().map_err(away)?;
            let dialled = settings.admission.dial(Protocol::Ovsdb, stream, peer).await;
            let (stream, identity) = dialled.map_err(|refused| refused.to_string())?;
            let from = session::From { address: Some(peer), identity, ..from };
            Ok(session::run(stream, from, &controller, settings, names, datastore).await)
        }
        _ => Err("neither tcp:HOST:PORT, ssl:HOST:PORT nor unix:PATH".into()),
    }
}

/// The address under which this switch reaches us, with the OpenFlow port.
fn controller(settings: &Settings, stream: &TcpStream) -> String {
    let here = || {
        let address = stream.local_addr().ok()?.ip();
        let (scheme, port) = (settings.admission.scheme(), settings.openflow_port);
        Some(if address.is_ipv6() {
            format!("{scheme}:[{address}]:{port}")
        } else {
            format!("{scheme}:{address}:{port}")
        })
    };
    settings.controller.clone().or_else(here).unwrap_or_else(|| local_controller(settings))
}

/// The address under which a switch on this machine reaches us.
fn local_controller(settings: &Settings) -> String {
    format!("{}:127.0.0.1:{}", settings.admission.scheme(), settings.openflow_port)
}
