//! The active controller: with switches, and everything that writes.

use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::mpsc;
use tracing::{error, info, warn};

use super::cluster::Local;
use super::leader::Lease;
use super::sightings::Sightings;
use super::{
    Controller, PUNTS, Prepared, REPORTS, StartError, Switches, address, answer, let_in, listen, punts,
    shown, until,
};
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

/// An election, and whether it holds.
pub struct Elected(Arc<dyn Fn() -> bool + Send + Sync>);

impl From<&Lease> for Elected {
    fn from(lease: &Lease) -> Elected {
        Elected(Arc::new(lease.holds()))
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
        let ovsdb_listener = listen("OVSDB", &settings.ovsdb).await?;
        let ovsdb_address = address(&ovsdb_listener)?;
        let (datastore, programmers) = (self.datastore.clone(), self.programmers.clone());
        let schema = datastore.snapshot().schema;
        if let Some(Elected(holds)) = elected {
            let (store, credentials) = (settings.store.clone(), settings.store_credentials.clone());
            let opened = tokio::task::spawn_blocking(move || store.open(&credentials)).await;
            let failed = |error: tokio::task::JoinError| JournalError::Io {
                path: "the store".into(),
                reason: error.to_string(),
            };
            datastore.lead(opened.map_err(failed)??).await?;
            if let Some(relay) = &self.app.relay {
                relay.lead(holds);
            }
        }
        let sightings = Sightings::new(schema);
        let seen = sightings.of_openflow(&datastore.snapshot());
        let shown = sightings.of_ovsdb(&datastore.snapshot(), &ovsdb::Names::new(schema), SystemTime::now());
        if !shown.is_empty()
            && let Err(error) = datastore.commit(Transaction::passing("ovsdb", shown)).await
        {
            warn!(%error, "what was known of OVSDB sessions cannot be shown");
        }

        let (packets, all_punts) = mpsc::channel(PUNTS);
        let (ended, mut tasks) = (self.ended, self.tasks);
        let mut southbound = ovsdb::Settings {
            bridge: settings.bridge.clone(),
            datapath_type: settings.datapath_type.clone(),
            overlay: settings.overlay,
            gre: settings.gre,
            node_port: settings.node_port,
            controller: settings.controller.clone(),
            admission: self.admission.clone(),
            ..ovsdb::Settings::default()
        };
        let (openflow_address, reported, cluster) = match self.switches {
            Switches::Alone(reported) => {
                let listener = listen("OpenFlow", &settings.openflow).await?;
                let address = address(&listener)?;
                programmers.open_gate(Mandate::Alone, seen);
                let unasked = openflow::Unasked { packets, ended };
                tasks.extend(let_in(listener, &self.admission, &programmers, unasked, &self.stop));
                (address, reported, None)
            }
            Switches::Shared(cluster) => {
                programmers.show_away(seen);
                let (reports, reported) = mpsc::channel(REPORTS);
                let local = Local { reports, packets, ended };
                cluster.lead(local, programmers.clone(), &self.app.door, &self.secret, &self.stop);
                southbound.others = cluster.others();
                if !cluster.openflow.ip().is_unspecified() {
                    southbound.controller = Some(cluster.target.clone());
                }
                (cluster.openflow, reported, Some(cluster))
            }
        };
        southbound.openflow_port = openflow_address.port();
        tasks.push(tokio::spawn(revisions::actor::run(datastore.clone())));
        tasks.push(tokio::spawn(shown::status(programmers.clone(), reported, datastore.clone())));
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
            cluster,
        })
    }
}
