//! From settings to a controller whose datastore is there, and that answers clients where others share the store.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tracing::{error, info, warn};

use super::cluster::{Cluster, Said, Whereabouts};
use super::confirmations::Confirmations;
use super::standby::own_address;
use super::{
    ENDED, PUNTS, Prepared, REPORTS, Settings, StartError, StoreAt, Switches, address, allocator, answer,
    finish, let_in, listen,
};
use crate::accounts::{Accounts, Throttle};
use crate::audit::Audit;
use crate::datastore;
use crate::datastore::journal::{EtcdReplica, JournalError};
use crate::net::host_name;
use crate::northbound::events;
use crate::northbound::http::tls;
use crate::northbound::metrics::Metrics;
use crate::northbound::restconf::{self, App, Relay};
use crate::northbound::rpcs;
use crate::observe::drops::DropLog;
use crate::observe::forbidden::Forbidden;
use crate::observe::policies;
use crate::observe::statistics::Statistics;
use crate::programmer::Programmers;
use crate::renderers::Engine;
use crate::schema;
use crate::southbound;
use crate::southbound::admission::{self, Admission};

/// Bytes of an audit file before it is set aside.
const AUDIT: u64 = 16 << 20;
/// Between two looks for a store that is away.
const STORE_PAUSE: Duration = Duration::from_millis(500);

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
        // Where others share the store, switches come from the start.
        let openflow_listener = match &settings.store {
            StoreAt::Sled(_) => None,
            StoreAt::Etcd(place) => Some((place, listen("OpenFlow", &settings.openflow).await?)),
        };
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
        let mut app = App::new(datastore.clone(), first.accounts);
        app.limits = settings.limits.clone();
        app.audit = Arc::new(audit);
        app.relay = matches!(settings.store, StoreAt::Etcd(_)).then(Relay::default);
        let admission = Admission::new(switch_tls, &datastore);
        let drop_log = DropLog::new(programmers.clone());
        let forbidden = Forbidden::new(programmers.clone(), settings.statistics);
        let asking = move || -> Pin<Box<dyn Future<Output = String> + Send>> {
            let forbidden = forbidden.clone();
            Box::pin(async move { forbidden.page().await })
        };
        let metrics = Metrics::new(&datastore, Box::new(asking), |registry| {
            programmers.timings().register(registry);
            drop_log.register(registry);
            admission.refusals().register(registry);
        });
        app.resources.push(Arc::new(metrics.clone()));
        let answers = metrics.clone();
        app.answered = Some(Arc::new(move |path, method, status, took| {
            answers.answered(path, method, status, took);
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
        let (stop, mut tasks) = (watch::channel(false).0, vec![tokio::spawn(allocator::give_back())]);
        let relay = app.relay.clone();
        let switches = match openflow_listener.zip(relay) {
            None => Switches::Alone(reported),
            Some(((place, listener), relay)) => {
                let openflow = address(&listener)?;
                let target = || format!("{}:{}", admission.scheme(), own_address(openflow, place));
                let (packets, punted) = mpsc::channel(PUNTS);
                let (gone, all_gone) = mpsc::channel(ENDED);
                programmers.follow(datastore.clone());
                let unasked = southbound::openflow::Unasked { packets, ended: gone };
                tasks.extend(let_in(listener, &admission, &programmers, unasked, &stop));
                let at = Whereabouts {
                    place,
                    credentials: &settings.store_credentials,
                    target: settings.controller.clone().unwrap_or_else(target),
                    openflow,
                };
                let said = Said { reports: reported, packets: punted, ended: all_gone };
                Switches::Shared(Cluster::start(at, programmers.clone(), relay, said))
            }
        };
        let mut prepared = Prepared {
            settings: settings.clone(),
            datastore,
            programmers,
            switches,
            app,
            readers,
            restconf,
            restconf_plain,
            certificate: tls.fingerprint,
            secret: format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>()),
            admission,
            drop_log,
            metrics,
            counting,
            ended,
            northbound: Vec::new(),
            listeners,
            tasks,
            stop,
        };
        if prepared.app.relay.is_some() {
            prepared.northbound =
                answer(std::mem::take(&mut prepared.listeners), &prepared.app, &prepared.stop);
        }
        Ok(prepared)
    }

    /// Stops without having been the active one.
    pub async fn stop(self) {
        if let Switches::Shared(cluster) = self.switches {
            cluster.leave().await;
        }
        self.readers.close();
        self.stop.send_replace(true);
        finish(self.northbound).await;
        self.tasks.iter().for_each(JoinHandle::abort);
        self.datastore.stop().await;
        info!("stopped");
    }
}

/// What clients may call this program by, for a certificate of its own making.
fn own_names(listens: SocketAddr) -> Vec<String> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let address = listens.ip();
    if !address.is_unspecified() && !address.is_loopback() {
        names.push(address.to_string());
    }
    let host = host_name();
    if !host.is_empty() && host != "localhost" {
        names.push(host);
    }
    names
}
