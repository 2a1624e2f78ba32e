use std::future::Future;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tracing::{info, warn};

use super::twins::Twins;
use super::{Connected, Settings, Unasked, session};
use crate::southbound::admission::Protocol;

/// Accepts switches until `shutdown` is done.
pub async fn serve(
    listener: TcpListener,
    settings: Settings,
    connected: mpsc::Sender<Connected>,
    unasked: Unasked,
    shutdown: impl Future<Output = ()>,
) {
    let mut sessions = tokio::task::JoinSet::new();
    let twins = Twins::default();
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = sessions.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let (connected, unasked) = (connected.clone(), unasked.clone());
                    let (settings, twins) = (settings.clone(), twins.clone());
                    sessions.spawn(async move {
                        let _ = stream.set_nodelay(true);
                        let Ok((stream, identity)) = settings.admission.enter(Protocol::OpenFlow, stream, peer).await else {
                            return; // noted, and logged
                        };
                        let from = session::From { peer, identity };
                        match session::run(stream, from, &settings, &twins, connected, unasked).await {
                            Ok(reason) => info!(%peer, reason, "openflow session ended"),
                            Err(error) => warn!(%peer, %error, "openflow session ended"),
                        }
                    });
                }
                Err(error) => {
                    // Out of file descriptors, for one: do not spin.
                    warn!(%error, "no openflow connection could be accepted");
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                }
            },
        }
    }
}
