//! Asks the switches.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::{join_all, try_join_all};
use openflow_rs::{Match, MultipartReply, MultipartRequest};

use super::page::{self, Dropped};
use crate::net::Dpid;
use crate::programmer::Programmers;
use crate::renderers::{DropClass, drop_classes};

/// How long all switches together have to answer: well below the ten seconds that Prometheus waits for a page.
const PATIENCE: Duration = Duration::from_secs(1);

/// Packets of each class by switch, and when it said so.
type Known = HashMap<Dpid, (Instant, Arc<[u64]>)>;

/// Counts what is dropped. Cheap to clone.
#[derive(Clone)]
pub struct Forbidden {
    programmers: Programmers,
    classes: Arc<[DropClass]>,
    /// How old an answer may be.
    age: Duration,
    known: Arc<Mutex<Known>>,
}

impl Forbidden {
    pub fn new(programmers: Programmers, age: Duration) -> Forbidden {
        Forbidden { programmers, classes: drop_classes().into(), age, known: Arc::default() }
    }

    /// The numbers of all switches that answer, as a page of its own; of the others there are none.
    pub async fn page(&self) -> String {
        self.known().retain(|_, (since, _)| since.elapsed() < self.age);
        let asked = self.programmers.sessions().into_iter().map(|dpid| async move {
            let counts = tokio::time::timeout(PATIENCE, self.of(dpid)).await.ok()??;
            Some((dpid, counts))
        });
        let found: BTreeMap<Dpid, Arc<[u64]>> = join_all(asked).await.into_iter().flatten().collect();
        page::text(Dropped { classes: self.classes.clone(), found })
    }

    /// Packets of each class. `None`: the switch does not answer.
    async fn of(&self, dpid: Dpid) -> Option<Arc<[u64]>> {
        let recent = self.known().get(&dpid).map(|(_, counts)| counts.clone());
        if recent.is_some() {
            return recent;
        }
        let asked = self.classes.iter().map(|class| async move { self.ask(dpid, class).await.ok_or(()) });
        let counts: Arc<[u64]> = try_join_all(asked).await.ok()?.into();
        self.known().insert(dpid, (Instant::now(), counts.clone()));
        Some(counts)
    }

    async fn ask(&self, dpid: Dpid, class: &DropClass) -> Option<u64> {
        let (cookie, cookie_mask) = (class.cookie, u64::MAX);
        let request = MultipartRequest::Flow { table: 0xff, cookie, cookie_mask, match_: Match::new() };
        let answer = self.programmers.ask(dpid, request).await?;
        let flows = answer.iter().flat_map(|reply| match reply {
            MultipartReply::Flow(flows) => flows.as_slice(),
            _ => &[],
        });
        Some(flows.fold(0, |sum, flow| sum.saturating_add(flow.packets)))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
