//! The active controller: with switches, and everything that writes.

use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::mpsc;
use tracing::{error, info, warn};

use super::leader::Lease;
use super::sightings::Sightings;
use super::{Controller, Prepared, StartError, address, answer, listen, punts, shown, until};
use crate::datastore::Transaction;
use crate::datastore::journal::JournalError;
use crate::dhcp;
use crate::neighbours;
use crate::northbound::events;
use crate::northbound::restconf;
use crate::observe::drops;
use crate::programmer::Mandate;
use crate::ra;
use crate::refusal;
use crate::revisions;
use crate::southbound::{openflow, ovsdb};

/// Switches that wait for their programmer.
const CONNECTS: usize = 64;
/// Punted packets that wait for their consumer; more are dropped and counted.
const PUNTS: usize = 1024;

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
        let mut tasks = self.tasks;
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
        tasks.push(tokio::spawn(revisions::actor::run(datastore.clone())));
        tasks.push(tokio::spawn(shown::status(programmers.clone(), self.reported, datastore.clone())));
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
        tasks.push(tokio::spawn(shown::denials(datastore.clone())));
        tasks.push(tokio::spawn(shown::refusals(self.admission.refusals().clone(), datastore.clone())));
        self.northbound.extend(answer(self.listeners, &self.app, &self.stop));
        info!(restconf = %self.restconf, openflow = %openflow_address, ovsdb = %ovsdb_address, "ready");
        Ok(Controller {
            datastore,
            programmers,
            restconf: self.restconf,
            restconf_plain: self.restconf_plain,
            openflow: openflow_address,
            ovsdb: ovsdb_address,
            app: self.app,
            metrics: self.metrics,
            readers: self.readers,
            stop: self.stop,
            northbound: self.northbound,
            tasks,
        })
    }
}
