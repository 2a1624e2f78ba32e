//! The whole controller, put together: what `coeus serve` runs.

mod active;
mod allocator;
mod cluster;
mod confirmations;
mod files;
pub mod kube;
mod leader;
mod prepared;
mod punts;
#[cfg(test)]
mod races;
mod settings;
mod shown;
mod sightings;
mod standby;
mod store;

use cluster::Cluster;

pub use active::Elected;
pub use files::allow_many_files;
pub use leader::{LeadError, Lease};
pub use settings::{ServeOptions, Settings, SettingsError};
pub use store::{CopyError, Store as StoreAt, StoreAccess, copy};

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sightings::Sightings;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tracing::{info, warn};

use crate::access::Identity;
use crate::accounts;
use crate::datastore::{self, Handle};
use crate::net::Dpid;
use crate::northbound::events;
use crate::northbound::http::tls;
use crate::northbound::metrics::Metrics;
use crate::northbound::restconf::{self, App};
use crate::observe::drops::DropLog;
use crate::observe::policies;
use crate::programmer::Programmers;
use crate::schema;
use crate::southbound::admission::{self, Admission};
use crate::southbound::openflow;

/// How long running requests and the last commits may take at the end.
const DEADLINE: Duration = Duration::from_secs(10);
/// Switches that wait for their programmer.
const CONNECTS: usize = 64;
/// Punted packets that wait for their consumer; more are dropped and counted.
const PUNTS: usize = 1024;
/// Switches whose status waits to be shown; a switch waits once.
const REPORTS: usize = 4096;
/// Flows that were counted and ended, and wait until that is written down.
const ENDED: usize = 16_384;

/// Why the controller does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{what} cannot listen on {address}: {reason}; is something else there?")]
    Listen { what: &'static str, address: String, reason: std::io::Error },
    #[error(transparent)]
    Recovery(#[from] datastore::RecoveryError),
    #[error(transparent)]
    Journal(#[from] datastore::journal::JournalError),
    #[error(transparent)]
    Lead(#[from] LeadError),
    #[error(transparent)]
    Accounts(#[from] accounts::FileError),
    #[error("{path}: the audit file cannot be opened: {reason}")]
    Audit { path: std::path::PathBuf, reason: std::io::Error },
    #[error(transparent)]
    Tls(#[from] tls::TlsError),
    #[error("TLS for switches: {0}")]
    SwitchTls(#[from] admission::TlsError),
    #[error(transparent)]
    Schema(#[from] schema::LoadError),
}

/// A controller that runs.
pub struct Controller {
    pub datastore: Handle,
    pub programmers: Programmers,
    /// Where RESTCONF really listens (port 0 in the settings: any).
    pub restconf: SocketAddr,
    /// Where it listens without TLS, if that was asked for.
    pub restconf_plain: Option<SocketAddr>,
    pub openflow: SocketAddr,
    pub ovsdb: SocketAddr,
    app: App,
    metrics: Metrics,
    readers: events::Registry,
    stop: watch::Sender<bool>,
    northbound: Vec<JoinHandle<()>>,
    tasks: Vec<JoinHandle<()>>,
    cluster: Option<Cluster>,
}

/// Starts the only controller of a store.
///
/// # Errors
/// Names what is in the way.
pub async fn start(settings: &Settings) -> Result<Controller, StartError> {
    Prepared::new(settings).await?.activate(None).await
}

/// A controller whose datastore is there. Where others share the store it answers clients already, and follows the active one.
pub struct Prepared {
    settings: Settings,
    datastore: Handle,
    programmers: Programmers,
    switches: Switches,
    app: App,
    readers: events::Registry,
    restconf: SocketAddr,
    restconf_plain: Option<SocketAddr>,
    certificate: String,
    /// By which other controllers are known to this one, once it is the active one.
    secret: String,
    admission: Admission,
    drop_log: DropLog,
    metrics: Metrics,
    counting: policies::Counting,
    ended: mpsc::Sender<openflow::FlowEnded>,
    /// Who serves clients, and who will.
    northbound: Vec<JoinHandle<()>>,
    listeners: Vec<Listener>,
    /// What runs whether this one is active or follows.
    tasks: Vec<JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

/// Whose the switches are.
enum Switches {
    /// This controller's alone. They are let in when all is ready; then these statuses are shown.
    Alone(mpsc::Receiver<Dpid>),
    /// They are shared out, and come to all controllers.
    Shared(Cluster),
}

/// Where clients come, and by which certificate if by TLS.
type Listener = (TcpListener, Option<Arc<rustls::ServerConfig>>);

/// Begins to answer clients.
fn answer(listeners: Vec<Listener>, app: &App, stop: &watch::Sender<bool>) -> Vec<JoinHandle<()>> {
    let serve =
        |(listener, tls)| tokio::spawn(restconf::serve(listener, tls, app.clone(), until(stop.subscribe())));
    listeners.into_iter().map(serve).collect()
}

/// Lets switches in, and has them programmed where that is this controller's.
fn let_in(
    listener: TcpListener,
    admission: &Admission,
    programmers: &Programmers,
    unasked: openflow::Unasked,
    stop: &watch::Sender<bool>,
) -> [JoinHandle<()>; 2] {
    let (connected, mut switches) = mpsc::channel(CONNECTS);
    let settings = openflow::Settings { admission: admission.clone(), ..openflow::Settings::default() };
    let sessions = openflow::serve(listener, settings, connected, unasked, until(stop.subscribe()));
    let registry = programmers.clone();
    let registration = async move {
        while let Some(switch) = switches.recv().await {
            registry.connected(switch);
        }
    };
    [tokio::spawn(sessions), tokio::spawn(registration)]
}

async fn until(mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stop| *stop).await;
}

/// Waits for servers that were told to stop, as long as their requests may take.
async fn finish(servers: Vec<JoinHandle<()>>) {
    let deadline = tokio::time::Instant::now() + DEADLINE;
    for server in servers {
        if tokio::time::timeout_at(deadline, server).await.is_err() {
            warn!("requests were still running at the deadline");
        }
    }
}

impl Controller {
    /// Requests of another part of the program, in a user's name.
    pub fn inside(&self, user: Identity) -> restconf::Inside {
        restconf::Inside::new(&self.app, user)
    }

    /// Stops in the order clients, switches, datastore. What was acknowledged is durable already.
    pub async fn stop(self) {
        // While those that are connected still are.
        let sightings = Sightings::new(self.datastore.snapshot().schema);
        sightings.keep(&self.datastore, true).await;
        if let Some(cluster) = self.cluster {
            cluster.leave().await;
        }
        self.readers.close();
        self.stop.send_replace(true);
        finish(self.northbound).await;
        self.tasks.iter().for_each(JoinHandle::abort);
        if tokio::time::timeout(DEADLINE, self.datastore.stop()).await.is_err() {
            warn!("the datastore did not finish its checkpoint in time; the journal has everything");
        }
        info!("stopped");
    }
}

async fn listen(what: &'static str, address: &str) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|reason| StartError::Listen {
        what,
        address: address.to_owned(),
        reason,
    })
}

/// Where a listener really listens.
fn address(listener: &TcpListener) -> Result<SocketAddr, StartError> {
    listener.local_addr().map_err(|reason| StartError::Listen {
        what: "a socket",
        address: String::new(),
        reason,
    })
}
