//! Writes to the datastore what follows from a cluster, and keeps it so.
//!
//! It goes by levels, not by edges: what is written is always the difference between what the cluster makes now and what the datastore is
//! known to hold. Nothing is written before all kinds were listed, so that a start deletes nothing that is only not known yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tracing::{info, warn};

use crate::feed::Told;
use crate::reconcile::{self, Edit};
use crate::{Cluster, Entries, Kind, List, Place};

/// Edits of one transaction.
const TOGETHER: usize = 500;
/// What comes within this time after the first news is written with it.
const GATHER: Duration = Duration::from_millis(5);
/// Between attempts to reach a datastore that is away: from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// What was refused is tried again after so long: who had its address may be gone.
const AGAIN: Duration = Duration::from_secs(10);

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
}

/// Why a request came to nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Trouble {
    /// What was asked for is wrong, and will be the next time.
    #[error("{0}")]
    Refused(String),
    /// The datastore cannot be reached, or cannot answer now: nobody knows what became of the request.
    #[error("{0}")]
    Away(String),
}

/// A cluster, and what the datastore is known to hold of it.
pub struct Writer<D> {
    datastore: D,
    cluster: Cluster,
    listed: BTreeSet<Kind>,
    /// `None`: that has to be asked.
    held: Option<Entries>,
    /// Places that may differ; all do where `held` was asked anew.
    due: BTreeSet<Place>,
    /// What the datastore did not take, and why.
    refused: BTreeMap<Place, (Option<Value>, String)>,
    patches: u64,
}

impl<D: Datastore> Writer<D> {
    /// `id`: the uuid of the cluster.
    pub fn new(id: &str, datastore: D) -> Writer<D> {
        Writer {
            datastore,
            cluster: Cluster::new(id),
            listed: BTreeSet::new(),
            held: None,
            due: BTreeSet::new(),
            refused: BTreeMap::new(),
            patches: 0,
        }
    }

    /// What the datastore did not take: the reasons, by place.
    pub fn refused(&self) -> impl Iterator<Item = (&Place, &str)> {
        self.refused.iter().map(|(place, (_, reason))| (place, reason.as_str()))
    }

    /// Follows what is told until nobody tells any more. `resync`: after so long the datastore is asked again what it holds.
    pub fn run(&mut self, told: &Receiver<Told>, resync: Duration) {
        let (mut pause, mut asked) = (PAUSES.0, Instant::now());
        let mut wake = None;
        loop {
            let now = Instant::now();
            let until = wake.unwrap_or(asked + resync).min(asked + resync);
            match told.recv_timeout(until.saturating_duration_since(now)) {
                Ok(news) => self.hear(news),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let end = Instant::now() + GATHER;
            while let Ok(news) = told.recv_timeout(end.saturating_duration_since(Instant::now())) {
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
                    (!self.refused.is_empty()).then(|| Instant::now() + AGAIN)
                }
                Err(trouble) => {
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
                self.cluster.replace(kind, objects);
                self.listed.insert(kind);
            }
            Told::Is(object) => self.cluster.put(object),
            Told::Gone(kind, name, version) => self.cluster.remove(kind, name, version),
            Told::Trouble(kind, reason) => {
                warn!(?kind, reason, "the cluster cannot be heard; it is asked again")
            }
        }
        self.due.extend(self.cluster.take_changes());
    }

    /// Makes the datastore hold what follows from the cluster, but for what it refuses.
    ///
    /// # Errors
    /// When it is away: then it is asked what it holds the next time.
    pub fn catch_up(&mut self) -> Result<(), Trouble> {
        if self.listed.len() < Kind::ALL.len() {
            return Ok(());
        }
        let held = match self.held.take() {
            Some(held) => held,
            None => self.ask()?,
        };
        self.held = Some(held);
        let again: Vec<_> = std::mem::take(&mut self.refused).into_keys().collect();
        self.due.extend(again);
        let due = std::mem::take(&mut self.due);
        let part = |entries: &Entries| -> Entries {
            due.iter()
                .filter_map(|place| entries.get_key_value(place))
                .map(|(place, entry)| (place.clone(), entry.clone()))
                .collect()
        };
        let edits = reconcile::edits(
            &part(self.cluster.entries()),
            &part(self.held.as_ref().unwrap_or(&Entries::new())),
        );
        edits.chunks(TOGETHER).try_for_each(|chunk| self.write(chunk))
    }

    /// What the datastore holds of the cluster; all of it is looked at then.
    fn ask(&mut self) -> Result<Entries, Trouble> {
        let mut held = Entries::new();
        for list in List::ALL {
            held.extend(reconcile::held(list, &self.datastore.read(list)?, self.cluster.id()));
        }
        self.due.extend(held.keys().chain(self.cluster.entries().keys()).cloned());
        Ok(held)
    }

    /// Writes edits in one transaction, or, if that is refused, in halves: what is wrong keeps nobody else waiting.
    fn write(&mut self, edits: &[Edit]) -> Result<(), Trouble> {
        self.patches += 1;
        let patch = reconcile::patch(&format!("kube-{}", self.patches), edits);
        match (self.datastore.write(&patch), edits) {
            (Ok(()), _) => {
                let held = self.held.get_or_insert_default();
                for edit in edits {
                    match edit {
                        Edit::Put(place, entry) => drop(held.insert(place.clone(), entry.clone())),
                        Edit::Remove(place) => drop(held.remove(place)),
                    }
                }
                info!(edits = edits.len(), "written");
                Ok(())
            }
            (Err(Trouble::Refused(reason)), [edit]) => {
                let place = edit.place().clone();
                warn!(%place, reason, "the datastore does not take an object; it is tried again");
                let wanted = self.cluster.entries().get(&place).cloned();
                self.refused.insert(place, (wanted, reason));
                Ok(())
            }
            (Err(Trouble::Refused(_)), several) => {
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;
    use crate::Object;

    /// A datastore that takes no two pods with one address, and can be away.
    #[derive(Clone, Default)]
    struct Fake(Rc<RefCell<State>>);

    #[derive(Default)]
    struct State {
        entries: BTreeMap<String, Value>,
        is_away: bool,
        writes: usize,
    }

    fn uid(number: u32) -> String {
        format!("aaaaaaaa-0000-4000-8000-{number:012}")
    }

    impl Datastore for Fake {
        fn read(&self, list: List) -> Result<Value, Trouble> {
            let state = self.0.borrow();
            if state.is_away {
                return Err(Trouble::Away("no route".into()));
            }
            let start = format!("/{}/", list.container());
            let entries: Vec<_> = state
                .entries
                .iter()
                .filter(|(path, _)| path.starts_with(&start))
                .map(|(_, entry)| entry)
                .collect();
            Ok(json!({list.container(): {list.name(): entries}}))
        }

        fn write(&self, patch: &Value) -> Result<(), Trouble> {
            let mut state = self.0.borrow_mut();
            state.writes += 1;
            if state.is_away {
                return Err(Trouble::Away("no route".into()));
            }
            let mut entries = state.entries.clone();
            for edit in patch["ietf-yang-patch:yang-patch"]["edit"].as_array().unwrap() {
                let target = edit["target"].as_str().unwrap().to_owned();
                match edit["value"].as_object().and_then(|value| value.values().next()) {
                    Some(value) => drop(entries.insert(target, value[0].clone())),
                    None => drop(entries.remove(&target)),
                }
            }
            let addresses: Vec<_> =
                entries.values().filter_map(|entry| entry["interface"][0]["ip-address"].as_str()).collect();
            if addresses.iter().collect::<BTreeSet<_>>().len() < addresses.len() {
                return Err(Trouble::Refused("an address twice".into()));
            }
            state.entries = entries;
            Ok(())
        }
    }

    fn pod(number: u32, address: u32) -> Object {
        let read = json!({
            "metadata": {"name": format!("p{number}"), "namespace": "blue", "uid": uid(number)},
            "spec": {"nodeName": "n1", "containers": []}, "status": {"podIP": format!("10.0.0.{address}")}
        });
        serde_json::from_value::<Pod>(read).unwrap().into()
    }

    fn listed(fake: &Fake, pods: Vec<Object>) -> Writer<Fake> {
        let mut writer = Writer::new("c1", fake.clone());
        for kind in Kind::ALL {
            assert_eq!(writer.catch_up(), Ok(()));
            assert_eq!(fake.0.borrow().writes, 0, "nothing is written before all is known");
            writer.hear(Told::All(kind, if kind == Kind::Pod { pods.clone() } else { Vec::new() }));
        }
        writer
    }

    fn paths(fake: &Fake) -> Vec<String> {
        fake.0.borrow().entries.keys().cloned().collect()
    }

    #[test]
    fn what_went_meanwhile_goes_and_what_others_wrote_stays() {
        let fake = Fake::default();
        let path = |number| Place::new(List::Pods, uid(number)).to_string();
        for (number, cluster) in [(1, "c1"), (2, "c2"), (3, "c1")] {
            fake.0
                .borrow_mut()
                .entries
                .insert(path(number), json!({"uid": uid(number), "cluster-id": cluster}));
        }
        let mut writer = listed(&fake, vec![pod(3, 3), pod(4, 4)]);
        assert_eq!(writer.catch_up(), Ok(()));
        assert_eq!(paths(&fake), [path(2), path(3), path(4)]);
        let writes = fake.0.borrow().writes;
        assert_eq!(writer.catch_up(), Ok(()));
        assert_eq!(fake.0.borrow().writes, writes, "what is written already is not written again");
    }

    #[test]
    fn one_that_is_refused_keeps_nobody_waiting() {
        let fake = Fake::default();
        let mut writer = listed(&fake, (1..40).map(|number| pod(number, number % 39)).collect());
        assert_eq!(writer.catch_up(), Ok(()));
        assert_eq!(paths(&fake).len(), 39);
        writer.hear(Told::Is(pod(50, 7)));
        assert_eq!(writer.catch_up(), Ok(()));
        assert_eq!(
            writer
                .refused()
                .map(|(place, reason)| (place.key.clone(), reason.to_owned()))
                .collect::<Vec<_>>(),
            [(uid(50), "an address twice".to_owned())]
        );
        writer.hear(Told::Gone(Kind::Pod, ("blue".into(), "p7".into()), None));
        assert_eq!(writer.catch_up(), Ok(()));
        assert_eq!(writer.refused().count(), 0);
        assert_eq!(paths(&fake).len(), 39);
    }

    #[test]
    fn what_happened_while_it_was_away_is_made_up_for() {
        let fake = Fake::default();
        let mut writer = listed(&fake, vec![pod(1, 1)]);
        assert_eq!(writer.catch_up(), Ok(()));
        fake.0.borrow_mut().is_away = true;
        writer.hear(Told::Is(pod(2, 2)));
        assert!(writer.catch_up().is_err());
        writer.hear(Told::Gone(Kind::Pod, ("blue".into(), "p1".into()), None));
        assert!(writer.catch_up().is_err());
        fake.0.borrow_mut().is_away = false;
        assert_eq!(writer.catch_up(), Ok(()));
        assert_eq!(paths(&fake), [Place::new(List::Pods, uid(2)).to_string()]);
    }
}
