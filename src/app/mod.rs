//! The whole controller, put together: what `coeus serve` runs.

mod allocator;
mod confirmations;
mod files;
pub mod kube;
mod leader;
mod punts;
#[cfg(test)]
mod races;
mod settings;
mod sightings;
mod standby;
mod store;

use confirmations::Confirmations;
pub use files::allow_many_files;
pub use leader::{LeadError, Lease};
pub use settings::{ServeOptions, Settings, SettingsError};
use sightings::Sightings;
pub use store::{CopyError, Store as StoreAt, StoreAccess, copy};

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tracing::{error, info, warn};

use crate::access::Identity;
use crate::accounts::{self, Accounts, Throttle};
use crate::audit::Audit;
use crate::datastore::journal::{EtcdReplica, JournalError};
use crate::datastore::{self, Edit, Handle, Store, Transaction};
use crate::dhcp;
use crate::neighbours;
use crate::net::Dpid;
use crate::northbound::events;
use crate::northbound::http::tls;
use crate::northbound::metrics::Metrics;
use crate::northbound::restconf::{self, App, Relay};
use crate::northbound::rpcs;
use crate::observe::drops::{self, DropLog};
use crate::observe::policies;
use crate::observe::statistics::Statistics;
use crate::programmer::{Mandate, Programmers, forgotten, is_known, object_edits};
use crate::ra;
use crate::refusal;
use crate::renderers::Engine;
use crate::revisions;
use crate::schema::{self, DataPath, Node, Value};
use crate::southbound::admission::{self, Admission};
use crate::southbound::{openflow, ovsdb};

/// Switches whose status waits to be shown; a switch waits once.
const REPORTS: usize = 4096;
/// Switches that wait for their programmer.
const CONNECTS: usize = 64;
/// Punted packets that wait for their consumer; more are dropped and counted.
const PUNTS: usize = 1024;
/// Flows that were counted and ended, and wait until that is written down.
const ENDED: usize = 16_384;
/// How long running requests and the last commits may take at the end.
const DEADLINE: Duration = Duration::from_secs(10);
/// Bytes of an audit file before it is set aside.
const AUDIT: u64 = 16 << 20;
/// Counts of refused accesses are shown so often.
const DENIALS_PAUSE: Duration = Duration::from_millis(500);
/// Status changes that come closer together than this are shown as one.
const REPORT_PAUSE: Duration = Duration::from_millis(20);
/// Between two looks for a store that is away.
const STORE_PAUSE: Duration = Duration::from_millis(500);
/// Refused switches are shown so often.
const REFUSALS_PAUSE: Duration = Duration::from_secs(1);
/// How often it is shown when connected switches were heard last.
const SEEN_PAUSE: Duration = Duration::from_secs(60);

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
    readers: events::Registry,
    stop: watch::Sender<bool>,
    northbound: Vec<JoinHandle<()>>,
    tasks: Vec<JoinHandle<()>>,
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
    reported: mpsc::Receiver<Dpid>,
    app: App,
    readers: events::Registry,
    restconf: SocketAddr,
    restconf_plain: Option<SocketAddr>,
    certificate: String,
    admission: Admission,
    drop_log: DropLog,
    counting: policies::Counting,
    ended: mpsc::Sender<openflow::FlowEnded>,
    /// Who serves clients, and who will.
    northbound: Vec<JoinHandle<()>>,
    listeners: Vec<(TcpListener, Option<Arc<rustls::ServerConfig>>)>,
    stop: watch::Sender<bool>,
}

/// The mandate of an election, and whether it holds.
pub struct Elected {
    pub generation: u64,
    pub holds: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl From<&Lease> for Elected {
    fn from(lease: &Lease) -> Elected {
        Elected { generation: lease.generation(), holds: Arc::new(lease.holds()) }
    }
}

impl Prepared {
    /// As [`Prepared::new`], but an etcd that is away is waited for.
    ///
    /// # Errors
    /// Names what else is in the way.
    pub async fn when_there(settings: &Settings) -> Result<Prepared, StartError> {
        loop {
            match Prepared::new(settings).await {
                Err(
                    error @ (StartError::Journal(JournalError::Etcd { .. })
                    | StartError::Recovery(datastore::RecoveryError::Journal(JournalError::Etcd {
                        ..
                    }))),
                ) => warn!(%error, "the store is waited for"),
                outcome => return outcome,
            }
            tokio::time::sleep(STORE_PAUSE).await;
        }
    }

    /// Recovers the data, and puts together what clients are answered by.
    ///
    /// # Errors
    /// Names what is in the way.
    pub async fn new(settings: &Settings) -> Result<Prepared, StartError> {
        let schema = schema::load()?;
        let restconf_listener = listen("RESTCONF", &settings.restconf).await?;
        let plain_listener = match &settings.restconf_plain {
            Some(address) => Some(listen("RESTCONF without TLS", address).await?),
            None => None,
        };
        let restconf = address(&restconf_listener)?;
        let restconf_plain = plain_listener.as_ref().map(address).transpose()?;
        let tls = tls::load(&settings.data_dir, &settings.tls, &own_names(restconf), SystemTime::now())?;
        info!(
            certificate = %tls.certificate.display(),
            made = tls.made,
            sha256 = tls.fingerprint,
            "clients of RESTCONF are shown this certificate"
        );
        let switch_tls = settings.switch_tls.as_ref().map(admission::Tls::load).transpose()?;
        let mut first = Accounts::first_start(
            &settings.data_dir,
            settings.admin_password.clone(),
            settings.admin_password_file.as_deref(),
        )?;
        let window = Duration::from_secs(settings.limits.login_seconds);
        first.accounts.throttle = Throttle::new(settings.limits.logins, window);
        if let Some(place) = &first.made {
            warn!(place = %place.display(), "a password for admin was made; read it there");
        }
        let (reports, reported) = mpsc::channel(REPORTS);
        let programmers = Programmers::new(reports, settings.audits);
        let sink = programmers.clone();
        let engine = Engine::new(schema, Box::new(move |revision, deltas| sink.apply(revision.0, deltas)));
        let started = match &settings.store {
            StoreAt::Sled(_) => {
                let journal = settings.store.open(&settings.store_credentials)?;
                datastore::actor::start_with(schema, journal, Box::new(engine), settings.history)?
            }
            StoreAt::Etcd(place) => {
                let source = EtcdReplica::open(place, &settings.store_credentials)?;
                datastore::actor::follow(schema, Box::new(source), Box::new(engine), settings.history)?
            }
        };
        for repair in &started.repairs {
            error!(repair, "the datastore had to be mended");
        }
        let datastore = started.handle.with_candidates(settings.limits.of_candidates());
        info!(revision = datastore.snapshot().revision.0, records = started.records, "datastore recovered");
        let mut operations = restconf::Operations::default();
        rpcs::register(schema, &mut operations);
        let audit = Audit::open(&settings.data_dir, AUDIT)
            .map_err(|reason| StartError::Audit { path: settings.data_dir.clone(), reason })?;
        let mut app = App {
            limits: settings.limits.clone(),
            audit: Arc::new(audit),
            relay: matches!(settings.store, StoreAt::Etcd(_)).then(Relay::default),
            ..App::new(datastore.clone(), first.accounts)
        };
        let admission = Admission::new(switch_tls, &datastore);
        let drop_log = DropLog::new(programmers.clone());
        let metrics = Metrics::new(&datastore, |registry| {
            programmers.timings().register(registry);
            drop_log.register(registry);
            admission.refusals().register(registry);
        });
        app.resources.push(Arc::new(metrics.clone()));
        app.answered = Some(Arc::new(move |path, method, status, took| {
            metrics.answered(path, method, status, took);
        }));
        let statistics = Statistics::new(programmers.clone(), settings.statistics);
        let (ended, all_ended) = mpsc::channel(ENDED);
        let (counts, counting) =
            policies::counting(datastore.clone(), programmers.clone(), all_ended, settings.statistics);
        let drops = drop_log.clone();
        app.live = Some(Arc::new(move |snapshot, path| {
            let (statistics, counts, drop_log) = (statistics.clone(), counts.clone(), drops.clone());
            Box::pin(async move {
                // What a path asks for is of one of them.
                if let Some(filled) = statistics.fill(snapshot.clone(), &path).await {
                    return Some(filled);
                }
                match counts.fill(snapshot.clone(), &path).await {
                    None => drop_log.fill(snapshot, &path).await,
                    filled => filled,
                }
            })
        }));
        app.switches = Some(Arc::new(Confirmations(programmers.clone())));
        let readers = events::install(&mut app, &mut operations, (&settings.limits).into());
        app.operations = Arc::new(operations);
        let mut listeners = vec![(restconf_listener, Some(tls.config))];
        listeners.extend(plain_listener.map(|listener| (listener, None)));
        let mut prepared = Prepared {
            settings: settings.clone(),
            datastore,
            programmers,
            reported,
            app,
            readers,
            restconf,
            restconf_plain,
            certificate: tls.fingerprint,
            admission,
            drop_log,
            counting,
            ended,
            northbound: Vec::new(),
            listeners,
            stop: watch::channel(false).0,
        };
        if prepared.app.relay.is_some() {
            prepared.serve();
        }
        Ok(prepared)
    }

    /// Begins to answer clients.
    fn serve(&mut self) {
        for (listener, tls) in std::mem::take(&mut self.listeners) {
            let server = restconf::serve(listener, tls, self.app.clone(), until(self.stop.subscribe()));
            self.northbound.push(tokio::spawn(server));
        }
    }

    /// Goes on as the active controller: with switches, and everything that writes. `elected`: how it became that, where others share
    /// the store.
    ///
    /// # Errors
    /// Names what is in the way.
    pub async fn activate(mut self, elected: Option<Elected>) -> Result<Controller, StartError> {
        let settings = &self.settings;
        let openflow_listener = listen("OpenFlow", &settings.openflow).await?;
        let ovsdb_listener = listen("OVSDB", &settings.ovsdb).await?;
        let (openflow_address, ovsdb_address) = (address(&openflow_listener)?, address(&ovsdb_listener)?);
        let (datastore, programmers) = (self.datastore.clone(), self.programmers.clone());
        let schema = datastore.snapshot().schema;
        let mut mandate = Mandate::Alone;
        if let Some(Elected { generation, holds }) = elected {
            let (store, credentials) = (settings.store.clone(), settings.store_credentials.clone());
            let opened = tokio::task::spawn_blocking(move || store.open(&credentials)).await;
            let failed = |error: tokio::task::JoinError| JournalError::Io {
                path: "the store".into(),
                reason: error.to_string(),
            };
            datastore.lead(opened.map_err(failed)??).await?;
            mandate = Mandate::Elected(generation);
            if let Some(relay) = &self.app.relay {
                relay.lead(holds);
            }
        }
        let sightings = Sightings::new(schema);
        programmers.open_gate(mandate, sightings.of_openflow(&datastore.snapshot()));
        let shown = sightings.of_ovsdb(&datastore.snapshot(), &ovsdb::Names::new(schema), SystemTime::now());
        if !shown.is_empty()
            && let Err(error) = datastore.commit(Transaction::passing("ovsdb", shown)).await
        {
            warn!(%error, "what was known of OVSDB sessions cannot be shown");
        }

        let (connected, mut switches) = mpsc::channel(CONNECTS);
        let (packets, all_punts) = mpsc::channel(PUNTS);
        let mut tasks = Vec::new();
        tasks.push(tokio::spawn(openflow::serve(
            openflow_listener,
            openflow::Settings { admission: self.admission.clone(), ..openflow::Settings::default() },
            connected,
            openflow::Unasked { packets, ended: self.ended.clone() },
            until(self.stop.subscribe()),
        )));
        let registry = programmers.clone();
        tasks.push(tokio::spawn(async move {
            while let Some(switch) = switches.recv().await {
                registry.connected(switch);
            }
        }));
        tasks.push(tokio::spawn(allocator::give_back()));
        tasks.push(tokio::spawn(revisions::actor::run(datastore.clone())));
        tasks.push(tokio::spawn(show_status(programmers.clone(), self.reported, datastore.clone())));
        let mut consumers = Vec::new();
        let mut consumer = |kind| {
            let (packets, punts) = mpsc::channel(PUNTS);
            consumers.push((kind, packets));
            punts
        };
        let solicitations = consumer(ra::USERDATA);
        let outside = consumer(neighbours::USERDATA);
        let next_hops = consumer(neighbours::HOPS_USERDATA);
        let refused = consumer(refusal::USERDATA);
        let stopped_packets = consumer(drops::USERDATA);
        let (rest, requests) = mpsc::channel(PUNTS);
        tasks.push(tokio::spawn(punts::share(all_punts, consumers, rest)));
        tasks.push(tokio::spawn(drops::run(stopped_packets, datastore.clone(), self.drop_log.clone())));
        tasks.push(tokio::spawn(refusal::run(refused, programmers.clone())));
        tasks.push(tokio::spawn(dhcp::run(requests, datastore.clone(), programmers.clone())));
        tasks.push(tokio::spawn(ra::run(solicitations, datastore.clone(), programmers.clone())));
        tasks.push(tokio::spawn(neighbours::run(outside, datastore.clone(), programmers.clone())));
        let watch = neighbours::watch_next_hops(next_hops, datastore.clone(), programmers.clone());
        tasks.push(tokio::spawn(watch));
        let southbound = ovsdb::Settings {
            bridge: settings.bridge.clone(),
            datapath_type: settings.datapath_type.clone(),
            overlay: settings.overlay,
            gre: settings.gre,
            node_port: settings.node_port,
            openflow_port: openflow_address.port(),
            controller: settings.controller.clone(),
            admission: self.admission.clone(),
            ..ovsdb::Settings::default()
        };
        tasks.push(tokio::spawn(ovsdb::serve(
            ovsdb_listener,
            southbound.clone(),
            datastore.clone(),
            until(self.stop.subscribe()),
        )));
        for target in &settings.ovsdb_connect {
            tasks.push(tokio::spawn(ovsdb::connect(target.clone(), southbound.clone(), datastore.clone())));
        }
        if let Err(error) = restconf::announce(&datastore).await {
            error!(%error, "the capabilities of RESTCONF could not be written down");
        }
        tasks.push(tokio::spawn(self.counting.run()));
        if let Err(error) = events::announce(&datastore).await {
            warn!(%error, "the streams of events could not be shown");
        }
        tasks.push(tokio::spawn(sightings.run(datastore.clone())));
        tasks.push(tokio::spawn(show_denials(datastore.clone())));
        tasks.push(tokio::spawn(show_refusals(self.admission.refusals().clone(), datastore.clone())));
        for (listener, tls) in std::mem::take(&mut self.listeners) {
            let server = restconf::serve(listener, tls, self.app.clone(), until(self.stop.subscribe()));
            self.northbound.push(tokio::spawn(server));
        }
        info!(restconf = %self.restconf, openflow = %openflow_address, ovsdb = %ovsdb_address, "ready");
        Ok(Controller {
            datastore,
            programmers,
            restconf: self.restconf,
            restconf_plain: self.restconf_plain,
            openflow: openflow_address,
            ovsdb: ovsdb_address,
            app: self.app,
            readers: self.readers,
            stop: self.stop,
            northbound: self.northbound,
            tasks,
        })
    }

    /// Stops without having been the active one.
    pub async fn stop(self) {
        self.readers.close();
        self.stop.send_replace(true);
        finish(self.northbound).await;
        self.datastore.stop().await;
        info!("stopped");
    }
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

/// Shows in the operational datastore how often access was refused (RFC 8341 section 3.5).
async fn show_denials(datastore: Handle) {
    let schema = datastore.snapshot().schema;
    let Some(nacm) = schema.child(None, Some("ietf-netconf-acm"), "nacm") else { return };
    let mut shown = None;
    loop {
        let counts = datastore.denials().counts();
        if shown != Some(counts) {
            let leaf = |(name, count): (&str, u32)| {
                let leaf = schema.child(Some(nacm), None, name)?;
                let path = DataPath::root().child(nacm).child(leaf);
                Some(Edit::put(Store::Operational, path, Node::Leaf(Value::Uint(count.into()))))
            };
            let edits = counts.into_iter().filter_map(leaf).collect();
            match datastore.commit(Transaction::passing("access", edits)).await {
                Ok(_) => shown = Some(counts),
                Err(error) => warn!(%error, "refused accesses could not be counted"),
            }
        }
        tokio::time::sleep(DENIALS_PAUSE).await;
    }
}

/// Shows in the operational datastore which switches were refused.
async fn show_refusals(refusals: admission::Refusals, datastore: Handle) {
    let schema = datastore.snapshot().schema;
    loop {
        if let Some(edit) = refusals.due(schema, SystemTime::now())
            && let Err(error) = datastore.commit(Transaction::passing("admission", vec![edit])).await
        {
            warn!(%error, "refused switches could not be shown");
        }
        tokio::time::sleep(REFUSALS_PAUSE).await;
    }
}

/// Where a listener really listens.
fn address(listener: &TcpListener) -> Result<SocketAddr, StartError> {
    listener.local_addr().map_err(|reason| StartError::Listen {
        what: "a socket",
        address: String::new(),
        reason,
    })
}

/// What clients may call this program by, for a certificate of its own making.
fn own_names(listens: SocketAddr) -> Vec<String> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let address = listens.ip();
    if !address.is_unspecified() && !address.is_loopback() {
        names.push(address.to_string());
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if !host.is_empty() && host != "localhost" {
        names.push(host);
    }
    names
}

/// Shows in the operational datastore how far each switch is.
async fn show_status(programmers: Programmers, mut reported: mpsc::Receiver<Dpid>, datastore: Handle) {
    let mut marked = BTreeMap::new();
    let mut seen = tokio::time::interval(SEEN_PAUSE);
    loop {
        let mut switches = BTreeSet::new();
        tokio::select! {
            first = reported.recv() => match first {
                Some(first) => drop(switches.insert(first)),
                None => return,
            },
            // When they were heard last, all in one step.
            _ = seen.tick() => switches.extend(programmers.live()),
        }
        if switches.is_empty() {
            continue;
        }
        tokio::time::sleep(REPORT_PAUSE).await;
        while let Ok(next) = reported.try_recv() {
            switches.insert(next);
        }
        let snapshot = datastore.snapshot();
        let mut edits = Vec::new();
        for dpid in switches {
            let status = programmers.status(dpid);
            if !status.connected && !is_known(&snapshot, dpid) {
                edits.extend(forgotten(snapshot.schema, dpid));
                marked.remove(&dpid);
                continue;
            }
            edits.extend(status.edits(snapshot.schema, dpid));
            let marked = marked.entry(dpid).or_default();
            edits.extend(object_edits(snapshot.schema, &snapshot, &status.failures, marked));
        }
        if let Err(error) = datastore.commit(Transaction::passing("programmer", edits)).await {
            warn!(%error, "the state of switches could not be shown");
        }
    }
}
