use std::future::Future;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tracing::{info, warn};

use super::{Connected, Settings, Unasked, session};

/// Accepts switches until `shutdown` is done.
pub async fn serve(
    listener: TcpListener,
    settings: Settings,
    connected: mpsc::Sender<Connected>,
    unasked: Unasked,
    shutdown: impl Future<Output = ()>,
) {
    let mut sessions = tokio::task::JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = sessions.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let (connected, unasked) = (connected.clone(), unasked.clone());
                    sessions.spawn(async move {
                        let _ = stream.set_nodelay(true);
                        match session::run(stream, peer, settings, connected, unasked).await {
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
