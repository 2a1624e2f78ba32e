//! Switches shared out over the controllers of a store: each has a lease and a key in etcd, and claims switches by keys under that lease.
//!
//! Nothing is told but looked at, as in [`crate::datastore::journal::EtcdReplica`]: a watch only says when. What follows from a look is in
//! [`super::shares`]. That a switch has one owner hangs on etcd's compare; that it takes changes from no other one, on the revision of the
//! key, which it is told as `generation_id` (docs/decisions/0107).

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use etcd_client::{Client, Compare, CompareOp, GetOptions, PutOptions, Txn, TxnOp, WatchOptions};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use super::shares::{Member, Owner, Seen, Shares};
use crate::app::leader::{Campaign, LeadError, Lease, this_process};
use crate::app::until;
use crate::datastore::journal::etcd::{Credentials, Place, cluster_prefix};
use crate::net::Dpid;
use crate::programmer::Programmers;

/// Is looked at again even if nothing is told.
const PAUSE: Duration = Duration::from_secs(1);
/// After a look that failed.
const AGAIN: Duration = Duration::from_millis(300);
/// After a lease that was lost: the active controller, which has lost its other one then, ends within this time, and is not to claim anything
/// before that it would take along.
const ENDING: Duration = Duration::from_secs(2);
/// What changes at one time is looked at together.
const TOGETHER: Duration = Duration::from_millis(10);
/// How long an answer of etcd may take.
const ANSWER: Duration = Duration::from_secs(2);
/// Keys that are claimed at a time.
const CLAIMS: usize = 64;

/// What a controller tells of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Told {
    who: String,
    /// Where switches reach it.
    openflow: String,
}

/// The part of a controller in the sharing, as it runs.
pub struct Running {
    /// Where switches reach the other controllers.
    others: watch::Receiver<Vec<String>>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Running {
    /// Takes part until it is stopped. `openflow`: where switches reach this controller.
    pub fn start(
        place: &Place,
        credentials: &Credentials,
        openflow: String,
        programmers: Programmers,
    ) -> Running {
        let (told, others) = watch::channel(Vec::new());
        let (stop, stopped) = watch::channel(false);
        let part =
            Part { place: place.clone(), credentials: credentials.clone(), openflow, programmers, told };
        Running { others, stop, task: tokio::spawn(part.run(stopped)) }
    }

    /// Where switches reach the other controllers, now and from now on.
    pub fn others(&self) -> watch::Receiver<Vec<String>> {
        self.others.clone()
    }

    /// Gives all switches back, so that others claim them at once.
    pub async fn leave(self) {
        self.stop.send_replace(true);
        if timeout(ANSWER * 2, self.task).await.is_err() {
            warn!("the switches could not be given back; others claim them when the lease ends");
        }
    }
}

struct Part {
    place: Place,
    credentials: Credentials,
    openflow: String,
    programmers: Programmers,
    told: watch::Sender<Vec<String>>,
}

impl Part {
    async fn run(self, stopped: watch::Receiver<bool>) {
        while !*stopped.borrow() {
            let lease = tokio::select! {
                lease = self.join() => lease,
                () = until(stopped.clone()) => return,
            };
            tokio::select! {
                reason = lease.lost() => {
                    warn!(reason, "this controller's switches are others' now: its lease is lost; it joins again");
                    self.programmers.share(&BTreeMap::new());
                    sleep(ENDING).await;
                }
                () = self.take_part(&lease) => {}
                () = until(stopped.clone()) => {
                    // What was begun is finished or refused; nothing new is.
                    self.programmers.share(&BTreeMap::new());
                    lease.resign().await;
                    return;
                }
            }
        }
    }

    /// A lease and a key of its own.
    async fn join(&self) -> Lease {
        let id: u64 = rand::random();
        let key = format!("{}controllers/{id:016x}", cluster_prefix(&self.place));
        let told = Told { who: this_process("coeus serve"), openflow: self.openflow.clone() };
        loop {
            let joined = async {
                let mut campaign = Campaign::of_key(&self.place, &self.credentials, key.clone(), &told)?;
                campaign.try_once().await
            };
            match joined.await {
                Ok(Ok(lease)) => {
                    info!(
                        openflow = self.openflow,
                        "switches are shared with the other controllers of the store"
                    );
                    return lease;
                }
                Ok(Err(other)) => debug!(%other, "a key of ours is somebody else's"),
                Err(LeadError::Etcd { reason, .. }) => debug!(reason, "the store is waited for"),
                Err(error) => warn!(%error, "switches cannot be shared"),
            }
            sleep(AGAIN).await;
        }
    }

    /// Claims and gives back, for ever.
    async fn take_part(&self, lease: &Lease) {
        let prefix = cluster_prefix(&self.place);
        let mut changed = watched(lease.client(), prefix.clone());
        let mut sessions = self.programmers.came_or_went();
        let (mut shares, mut before) = (Shares::default(), Seen::default());
        loop {
            sessions.borrow_and_update();
            let looked = timeout(ANSWER, look(lease.client(), &prefix)).await;
            let seen = match looked {
                Ok(Ok(seen)) => seen,
                outcome => {
                    debug!(?outcome, "who owns which switch cannot be read");
                    sleep(AGAIN).await;
                    continue;
                }
            };
            self.programmers.share(&seen.mandates(lease.id()));
            self.tell(lease.id(), &before, &seen);
            let live: BTreeSet<Dpid> = self.programmers.sessions().into_iter().collect();
            let due = shares.look(Instant::now(), lease.id(), &seen, &live);
            before = seen;
            if !due.claim.is_empty() || !due.give_back.is_empty() {
                self.carry_out(lease, &prefix, &due.claim, &due.give_back).await;
                continue;
            }
            let next =
                due.next.map_or(PAUSE, |next| next.saturating_duration_since(Instant::now()).min(PAUSE));
            tokio::select! {
                _ = changed.recv() => {}
                _ = sessions.changed() => {}
                () = sleep(next) => {}
            }
            sleep(TOGETHER).await;
        }
    }

    /// Tells the rest of the program what has changed.
    fn tell(&self, lease: i64, before: &Seen, seen: &Seen) {
        let others =
            seen.members.iter().filter(|member| member.lease != lease && member.openflow != self.openflow);
        let others: BTreeSet<String> = others.map(|member| member.openflow.clone()).collect();
        let others: Vec<String> = others.into_iter().collect();
        self.told.send_if_modified(|known| {
            let is_news = *known != others;
            *known = others;
            is_news
        });
        for (dpid, owner) in &before.owners {
            if !seen.owners.contains_key(dpid) {
                self.programmers.left(*dpid, owner.election);
            }
        }
    }

    async fn carry_out(&self, lease: &Lease, prefix: &str, claim: &[Dpid], give_back: &[Dpid]) {
        for dpids in claim.chunks(CLAIMS) {
            let claims = dpids.iter().map(|dpid| timeout(ANSWER, claimed(lease, prefix, *dpid)));
            for (dpid, outcome) in dpids.iter().zip(join_all(claims).await) {
                match outcome {
                    Ok(Ok(Some(election))) => {
                        info!(switch = %dpid, election, "this controller owns the switch")
                    }
                    Ok(Ok(None)) => debug!(switch = %dpid, "another controller was faster"),
                    outcome => {
                        debug!(switch = %dpid, ?outcome, "the switch could not be claimed");
                        sleep(AGAIN).await;
                    }
                }
            }
        }
        for dpid in give_back {
            info!(switch = %dpid, "the switch has no session here and is given back");
            let given = timeout(ANSWER, given_back(lease, prefix, *dpid)).await;
            if !matches!(given, Ok(Ok(()))) {
                debug!(switch = %dpid, ?given, "the switch could not be given back");
                sleep(AGAIN).await;
            }
        }
    }
}

fn owner_key(prefix: &str, dpid: Dpid) -> String {
    format!("{prefix}owners/{dpid}")
}

/// Who runs and who owns what, at one moment of etcd.
async fn look(mut client: Client, prefix: &str) -> Result<Seen, etcd_client::Error> {
    let found = client.get(prefix, Some(GetOptions::new().with_prefix())).await?;
    let mut seen = Seen::default();
    for entry in found.kvs() {
        let Some(name) = entry.key_str().ok().and_then(|key| key.strip_prefix(prefix)) else { continue };
        match name.split_once('/') {
            Some(("controllers", _)) => {
                if let Ok(Told { openflow, .. }) = serde_json::from_slice(entry.value()) {
                    seen.members.push(Member { lease: entry.lease(), openflow });
                }
            }
            Some(("owners", dpid)) => {
                if let Ok(dpid) = dpid.parse() {
                    let election = entry.create_revision().unsigned_abs();
                    seen.owners.insert(dpid, Owner { lease: entry.lease(), election });
                }
            }
            _ => {}
        }
    }
    Ok(seen)
}

/// Makes a switch this controller's; etcd's revision of that. `None`: somebody has it.
pub async fn claimed(lease: &Lease, prefix: &str, dpid: Dpid) -> Result<Option<u64>, etcd_client::Error> {
    let key = owner_key(prefix, dpid);
    let put =
        TxnOp::put(key.as_str(), this_process("coeus serve"), Some(PutOptions::new().with_lease(lease.id())));
    let claim =
        Txn::new().when([Compare::create_revision(key.as_str(), CompareOp::Equal, 0)]).and_then([put]);
    let done = lease.client().txn(claim).await?;
    Ok(done.header().filter(|_| done.succeeded()).map(|header| header.revision().unsigned_abs()))
}

/// Somebody else may claim the switch.
pub async fn given_back(lease: &Lease, prefix: &str, dpid: Dpid) -> Result<(), etcd_client::Error> {
    let key = owner_key(prefix, dpid);
    let is_ours = Compare::lease(key.as_str(), CompareOp::Equal, lease.id());
    let release = Txn::new().when([is_ours]).and_then([TxnOp::delete(key.as_str(), None)]);
    lease.client().txn(release).await.map(drop)
}

/// Tells whenever something below the prefix has changed, or may have.
fn watched(client: Client, prefix: String) -> mpsc::Receiver<()> {
    let (told, changed) = mpsc::channel(1);
    tokio::spawn(async move {
        while !told.is_closed() {
            let mut watching = client.watch_client();
            let options = WatchOptions::new().with_prefix();
            if let Ok(mut events) = watching.watch(prefix.as_str(), Some(options)).await {
                loop {
                    // One that waits to be heard stands for all.
                    let _ = told.try_send(());
                    tokio::select! {
                        event = events.message() => if !matches!(event, Ok(Some(_))) { break },
                        () = told.closed() => return,
                    }
                }
            }
            sleep(AGAIN).await;
        }
    });
    changed
}
