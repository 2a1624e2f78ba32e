//! Writes to the datastore what follows from a cluster, and keeps it so; `give` finds addresses for pods that have none, `share` subnets for nodes, `look` tells the cluster
//! how far its pods are.
//!
//! It goes by levels, not by edges: what is written is always the difference between what the cluster makes now and what the datastore is
//! known to hold. Nothing is written before all kinds were listed, so that a start deletes nothing that is only not known yet.

mod give;
mod look;
mod pool;
mod share;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tracing::{info, warn};

use give::Given;
use look::Looks;
pub use pool::ServiceRange;
use share::Shared;

use crate::feed::Told;
use crate::lease::Tenure;
use crate::reconcile::{self, Edit};
use crate::report::{Desk, Say};
use crate::tally::{Outcome, Tally};
use crate::{Cluster, Entries, Kind, List, Place, amend};

/// Edits of one transaction.
const TOGETHER: usize = 500;
/// What comes within this time after the first news is written with it.
const GATHER: Duration = Duration::from_millis(5);
/// Between attempts to reach a datastore that is away: from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// What was refused is tried again after so long: who had its address may be gone.
const AGAIN: Duration = Duration::from_secs(10);
/// So often another address is tried at once when one proves taken.
const TRIES: usize = 16;

/// The datastore, as a client reaches it.
pub trait Datastore {
    /// What stands in the container of a list; an empty object if nothing does.
    ///
    /// # Errors
    /// [`Trouble`].
    fn read(&self, list: List) -> Result<Value, Trouble>;

    /// Carries a YANG Patch of the root out, whole or not at all.
    ///
    /// # Errors
    /// [`Trouble`].
    fn write(&self, patch: &Value) -> Result<(), Trouble>;

    /// What stands there, states included; nothing if it is not there.
    ///
    /// # Errors
    /// [`Trouble`].
    fn state(&self, path: &str) -> Result<Value, Trouble>;
}

/// Takes what the cluster is to be told; whether it does: not while too much waits.
pub type Tell = Box<dyn FnMut(Say) -> bool + Send>;

/// Why a request came to nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Trouble {
    /// What was asked for is wrong, and will be the next time.
    #[error("{0}")]
    Refused(String),
    /// Somebody has what was asked for.
    #[error("{0}")]
    Taken(String),
    /// The datastore cannot be reached, or cannot answer now: nobody knows what became of the request.
    #[error("{0}")]
    Away(String),
    /// Another leads, or may: nothing was asked for.
    #[error("another leads")]
    Deposed,
}

/// A cluster, and what the datastore is known to hold of it.
pub struct Writer<D> {
    datastore: D,
    tenure: Tenure,
    /// The term in which `held` was asked.
    term: u64,
    cluster: Cluster,
    listed: BTreeSet<Kind>,
    /// What cannot be heard now, and why.
    unheard: BTreeMap<Kind, String>,
    /// `None`: that has to be asked.
    held: Option<Entries>,
    /// Places that may differ; all do where `held` was asked anew.
    due: BTreeSet<Place>,
    /// What the datastore did not take, and why.
    refused: BTreeMap<Place, String>,
    patches: u64,
    given: Given,
    shared: Shared,
    /// From which services get addresses here, and whether the datastore is to be asked about it.
    range: ServiceRange,
    is_range_due: bool,
    /// Who tells the cluster; nobody: it is not told.
    tell: Option<Tell>,
    desk: Desk,
    looks: Looks,
    tally: Tally,
}

impl<D: Datastore> Writer<D> {
    /// `id`: the uuid of the cluster. It writes while `tenure` lasts.
    pub fn new(id: &str, datastore: D, tenure: Tenure) -> Writer<D> {
        Writer {
            datastore,
            tenure,
            term: 0,
            cluster: Cluster::new(id),
            listed: BTreeSet::new(),
            unheard: BTreeMap::new(),
            held: None,
            due: BTreeSet::new(),
            refused: BTreeMap::new(),
            patches: 0,
            given: Given::default(),
            shared: Shared::default(),
            range: ServiceRange::default(),
            is_range_due: true,
            tell: None,
            desk: Desk::default(),
            looks: Looks::default(),
            tally: Tally::default(),
        }
    }

    /// What it hears and writes is counted there.
    #[must_use]
    pub fn counting(mut self, tally: Tally) -> Writer<D> {
        self.tally = tally;
        self
    }

    /// Pods that have no address get one here.
    #[must_use]
    pub fn giving(mut self, gives: bool) -> Writer<D> {
        self.given.gives = gives;
        self
    }

    /// The cluster is told how far its pods are.
    #[must_use]
    pub fn telling(mut self, tell: Option<Tell>) -> Writer<D> {
        self.tell = tell;
        self
    }

    /// What the datastore did not take: the reasons, by place.
    pub fn refused(&self) -> impl Iterator<Item = (&Place, &str)> {
        self.refused.iter().map(|(place, reason)| (place, reason.as_str()))
    }

    /// Follows what is told until it is told to stop or nobody tells any more. `resync`: after so long the datastore is asked again what it holds.
    pub fn run(&mut self, told: &Receiver<Told>, resync: Duration) {
        let (mut pause, mut asked) = (PAUSES.0, Instant::now());
        let mut wake = None;
        loop {
            let now = Instant::now();
            let until = [wake, self.tell.as_ref().and(self.looks.at)].into_iter().flatten().min();
            let until = until.unwrap_or(asked + resync).min(asked + resync);
            match told.recv_timeout(until.saturating_duration_since(now)) {
                Ok(Told::Stop) => return,
                Ok(news) => self.hear(news),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let end = Instant::now() + GATHER;
            while let Ok(news) = told.recv_timeout(end.saturating_duration_since(Instant::now())) {
                if news == Told::Stop {
                    return;
                }
                self.hear(news);
            }
            if asked.elapsed() >= resync {
                (self.held, asked) = (None, Instant::now());
            }
            // A datastore that is away is left in peace for a while, whatever is told meanwhile.
            if wake.is_some_and(|wake| Instant::now() < wake) && self.held.is_none() {
                continue;
            }
            wake = match self.catch_up() {
                Ok(()) => {
                    pause = PAUSES.0;
                    self.look_if_due();
                    let waits = !self.refused.is_empty() || !self.given.lacking.is_empty();
                    waits.then(|| Instant::now() + AGAIN)
                }
                Err(Trouble::Deposed) => {
                    self.looks.rest();
                    None
                }
                Err(trouble) => {
                    self.looks.rest();
                    warn!(%trouble, again_in = ?pause, "the datastore cannot be written");
                    let wake = Instant::now() + pause;
                    pause = (pause * 2).min(PAUSES.1);
                    Some(wake)
                }
            };
        }
    }

    /// Takes what a list or watch said.
    pub fn hear(&mut self, news: Told) {
        match news {
            Told::All(kind, objects) => {
                self.heard(kind);
                self.cluster.replace(kind, objects);
                self.listed.insert(kind);
                self.tally.listed(kind, self.listed.len());
            }
            Told::Is(object) => {
                self.heard(object.kind());
                self.tally.event(object.kind());
                self.cluster.put(object);
            }
            Told::Gone(kind, name, version) => {
                self.heard(kind);
                self.tally.event(kind);
                self.cluster.remove(kind, name, version);
            }
            Told::Trouble(kind, reason) => {
                self.tally.trouble(kind);
                // The same is said once, however long it lasts.
                if self.unheard.get(&kind) != Some(&reason) {
                    warn!(?kind, reason, "the cluster cannot be heard; it is asked again");
                    self.unheard.insert(kind, reason);
                }
            }
            Told::Unsaid(say) => self.desk.forget(&say),
            Told::Led | Told::Stop => {}
        }
        self.due.extend(self.cluster.take_changes());
        if !self.due.is_empty() {
            self.tally.behind(Instant::now());
        }
    }

    fn heard(&mut self, kind: Kind) {
        if self.unheard.remove(&kind).is_some() {
            info!(?kind, "the cluster is heard again");
        }
    }

    /// Makes the datastore hold what follows from the cluster, but for what it refuses.
    ///
    /// # Errors
    /// When it is away, or another leads: then it is asked what it holds the next time.
    pub fn catch_up(&mut self) -> Result<(), Trouble> {
        if self.listed.len() < Kind::ALL.len() {
            return Ok(());
        }
        // Others may have written since the last term.
        let term = self.tenure.term(Instant::now());
        if term != Some(self.term) {
            self.held = None;
        }
        let Some(term) = term else {
            self.tally.stands_by();
            return Err(Trouble::Deposed);
        };
        self.term = term;
        if self.held.is_none() {
            self.held = Some(self.ask()?);
            self.is_range_due = true;
        }
        self.due.extend(std::mem::take(&mut self.refused).into_keys());
        self.due.extend(std::mem::take(&mut self.given.lacking).into_keys());
        for _ in 0..TRIES {
            let due = std::mem::take(&mut self.due);
            if due.is_empty() {
                break;
            }
            let part = |entries: &Entries| -> Entries {
                due.iter()
                    .filter_map(|place| entries.get_key_value(place))
                    .map(|(place, entry)| (place.clone(), entry.clone()))
                    .collect()
            };
            let mut wanted = part(self.cluster.entries());
            let held = self.held.as_ref().map(part).unwrap_or_default();
            self.share(&mut wanted, &held);
            self.give(&mut wanted, &held)?;
            let edits = reconcile::edits(&wanted, &held);
            edits.chunks(TOGETHER).try_for_each(|chunk| self.write(chunk))?;
        }
        if std::mem::take(&mut self.is_range_due) {
            self.keep_range()?;
        }
        self.tally.caught_up(self.refused.len(), self.given.lacking.len());
        Ok(())
    }

    /// What the datastore holds of the cluster; all of it is looked at then.
    fn ask(&mut self) -> Result<Entries, Trouble> {
        let mut held = Entries::new();
        for list in List::ALL {
            let body = self.datastore.read(list)?;
            let others = reconcile::of_others(list, &body, self.cluster.id());
            match list {
                List::Pods => self.given.others = others.flat_map(amend::all_addresses).collect(),
                List::Nodes => {
                    self.shared.others = others.filter_map(share::cidr).map(str::to_owned).collect();
                }
                _ => {}
            }
            held.extend(reconcile::held(list, &body, self.cluster.id()));
        }
        self.given.avoided.clear();
        self.due.extend(held.keys().chain(self.cluster.entries().keys()).cloned());
        Ok(held)
    }

    /// Writes edits in one transaction, or, if that is refused, in halves: what is wrong keeps nobody else waiting.
    fn write(&mut self, edits: &[Edit]) -> Result<(), Trouble> {
        if self.tenure.term(Instant::now()) != Some(self.term) {
            self.held = None;
            return Err(Trouble::Deposed);
        }
        self.patches += 1;
        let patch = reconcile::patch(&format!("kube-{}", self.patches), edits);
        let done = self.datastore.write(&patch);
        self.tally.transaction(edits, outcome(&done));
        match (done, edits) {
            (Ok(()), _) => {
                let held = self.held.get_or_insert_default();
                for edit in edits {
                    self.refused.remove(edit.place());
                    match edit {
                        Edit::Put(place, entry) => drop(held.insert(place.clone(), entry.clone())),
                        Edit::Amend(amend) => drop(held.insert(amend.place.clone(), amend.then.clone())),
                        Edit::Remove(place) => drop(held.remove(place)),
                    }
                }
                info!(edits = edits.len(), "written");
                self.looks.soon();
                Ok(())
            }
            (Err(trouble @ (Trouble::Refused(_) | Trouble::Taken(_))), [edit]) => {
                let (place, reason) = (edit.place().clone(), trouble.to_string());
                if matches!(trouble, Trouble::Taken(_)) && self.given.was_taken(&place, &reason) {
                    self.due.insert(place.clone());
                }
                warn!(%place, reason, "the datastore does not take an object; it is tried again");
                self.refused.insert(place, reason);
                Ok(())
            }
            (Err(Trouble::Refused(_) | Trouble::Taken(_)), several) => {
                let (one, other) = several.split_at(several.len() / 2);
                self.write(one)?;
                self.write(other)
            }
            (Err(away), _) => {
                self.held = None;
                Err(away)
            }
        }
    }
}

fn outcome(done: &Result<(), Trouble>) -> Outcome {
    match done {
        Ok(()) => Outcome::Written,
        Err(Trouble::Refused(_) | Trouble::Taken(_)) => Outcome::Refused,
        Err(Trouble::Away(_) | Trouble::Deposed) => Outcome::Away,
    }
}

#[cfg(test)]
mod tests;
