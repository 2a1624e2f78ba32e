use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixStream};
use tracing::{info, warn};

use super::{Names, Settings, session};
use crate::datastore::Handle;

/// Accepts switches that dial in (`ovs-vsctl set-manager tcp:…`) until `shutdown` is done.
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
                        let end = session::run(stream, &peer.to_string(), &controller, &settings, &names, &datastore).await;
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
                    session::run(stream, address, &controller, &settings, &names, &datastore)
                        .await
                        .to_string()
                }
                Err(error) => error.to_string(),
            },
            Some(("unix", path)) => match UnixStream::connect(path).await {
                Ok(stream) => {
                    pause = Duration::from_millis(250);
                    let here = format!("tcp:127.0.0.1:{}", settings.openflow_port);
                    let controller = settings.controller.clone().unwrap_or(here);
                    session::run(stream, path, &controller, &settings, &names, &datastore).await.to_string()
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
        let port = settings.openflow_port;
        Some(if address.is_ipv6() {
            format!("tcp:[{address}]:{port}")
        } else {
            format!("tcp:{address}:{port}")
        })
    };
    settings
        .controller
        .clone()
        .or_else(here)
        .unwrap_or_else(|| format!("tcp:127.0.0.1:{}", settings.openflow_port))
}
