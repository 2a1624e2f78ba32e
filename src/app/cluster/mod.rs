//! Several controllers on one store share the switches out: each switch is programmed by the one that owns it.
//!
//! ```text
//! etcd ◄─ owners: claims, by what follows from shares and rendezvous ─► mandates of the programmers
//! switches ─► punted packets, ended flows, statuses ─► link ─► the active controller, which alone writes
//!          ◄─ frames to send through a switch       ◄─ link ◄─
//! ```
//! What switches should hold is computed by every controller from the log. Everything else that has to do with them (who asks for
//! addresses, what is shown, what is counted) is done by the active one (docs/decisions/0107, 0108).

mod frames;
mod link;
mod owners;
mod rendezvous;
mod shares;

use std::net::SocketAddr;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::datastore::journal::etcd::{Credentials, Place};
use crate::net::Dpid;
use crate::northbound::restconf::{Door, Relay};
use crate::programmer::Programmers;
use crate::southbound::openflow::{FlowEnded, PacketIn};

#[cfg(test)]
pub use owners::{claimed, given_back};

/// The part that a controller has in the sharing.
pub struct Cluster {
    /// Where switches reach this controller, as in `tcp:10.0.0.1:6653`.
    pub target: String,
    pub openflow: SocketAddr,
    sharing: owners::Running,
    leads: watch::Sender<Option<Local>>,
    link: JoinHandle<()>,
}

/// What the switches of one controller say that somebody hears.
pub struct Said {
    /// Switches whose status has changed.
    pub reports: mpsc::Receiver<Dpid>,
    pub packets: mpsc::Receiver<PacketIn>,
    pub ended: mpsc::Receiver<FlowEnded>,
}

/// Who hears it at the active controller.
#[derive(Clone)]
pub struct Local {
    pub reports: mpsc::Sender<Dpid>,
    pub packets: mpsc::Sender<PacketIn>,
    pub ended: mpsc::Sender<FlowEnded>,
}

/// Where this controller is, and where its store.
pub struct Whereabouts<'a> {
    pub place: &'a Place,
    pub credentials: &'a Credentials,
    pub target: String,
    pub openflow: SocketAddr,
}

impl Cluster {
    /// Claims switches from now on, and tells the active controller of them.
    pub fn start(at: Whereabouts<'_>, programmers: Programmers, relay: Relay, said: Said) -> Cluster {
        let Whereabouts { place, credentials, target, openflow } = at;
        let (leads, led) = watch::channel(None);
        let link = tokio::spawn(link::tell(said, programmers.clone(), relay, led));
        let sharing = owners::Running::start(place, credentials, target.clone(), programmers);
        Cluster { target, openflow, sharing, leads, link }
    }

    /// Where switches reach the other controllers, now and from now on.
    pub fn others(&self) -> watch::Receiver<Vec<String>> {
        self.sharing.others()
    }

    /// This controller is the active one: what switches say is heard here, and what the others tell of theirs, who come by `door`.
    pub fn lead(
        &self,
        local: Local,
        programmers: Programmers,
        door: &Door,
        secret: &str,
        stop: &watch::Sender<bool>,
    ) {
        self.leads.send_replace(Some(local.clone()));
        let stop = stop.clone();
        door.open(secret, move |raw| {
            Box::pin(link::hear(raw, local.clone(), programmers.clone(), stop.subscribe()))
        });
    }

    /// Gives all switches back.
    pub async fn leave(self) {
        self.sharing.leave().await;
        self.link.abort();
    }
}
