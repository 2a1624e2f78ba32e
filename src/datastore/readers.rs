//! What readers see: the newest state, its number, when revisions came about, and the past.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use tokio::sync::watch;

use super::times::Times;
use super::{Core, History, Revision, Snapshot};

/// Where the writer puts what readers see.
pub(super) struct Readers {
    pub published: Arc<ArcSwap<Snapshot>>,
    pub shown: watch::Sender<Revision>,
    pub times: Arc<Mutex<Times>>,
    pub history: Arc<History>,
}

impl Readers {
    pub fn new(core: &Core, history: Arc<History>, now: SystemTime) -> (Readers, watch::Receiver<Revision>) {
        let (shown, revision) = watch::channel(core.snapshot.revision);
        let published = Arc::new(ArcSwap::from_pointee(core.snapshot.clone()));
        let times = Arc::new(Mutex::new(Times::new(core.snapshot.revision, now)));
        (Readers { published, shown, times, history }, revision)
    }

    /// Shows the state of the core, if it is a new one.
    pub fn show(&self, core: &mut Core, now: SystemTime) {
        let revision = core.snapshot.revision;
        if *self.shown.borrow() == revision {
            return;
        }
        self.times.lock().unwrap_or_else(PoisonError::into_inner).add(revision, now);
        self.published.store(core.keep().clone());
        self.shown.send_replace(revision);
    }
}
