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

/// Dials one switch (`tcp:HOST:PORT` or `unix:PATH`), again and again, until the task is dropped.
pub async fn connect(target: String, settings: Settings, datastore: Handle) {
    let names = Names::new(datastore.snapshot().schema);
    let mut pause = Duration::from_millis(250);
    loop {
        let end = match target.split_once(':') {
            Some(("tcp", address)) => match TcpStream::connect(address).await {
                Ok(stream) => {
                    pause = Duration::from_millis(250);
                    let controller = controller(&settings, &stream);
                    let from = session::From { peer: address, address: None, identity: None };
                    session::run(stream, from, &controller, &settings, &names, &datastore).await.to_string()
                }
                Err(error) => error.to_string(),
            },
            Some(("unix", path)) => match UnixStream::connect(path).await {
                Ok(stream) => {
                    pause = Duration::from_millis(250);
                    let controller =
                        settings.controller.clone().unwrap_or_else(|| local_controller(&settings));
                    let from = session::From { peer: path, address: None, identity: None };
                    session::run(stream, from, &controller, &settings, &names, &datastore).await.to_string()
                }
                Err(error) => error.to_string(),
            },
            _ => "neither tcp:HOST:PORT nor unix:PATH".to_owned(),
        };
        warn!(target, reason = end, retry_ms = pause.as_millis() as u64, "ovsdb");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(8));
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
