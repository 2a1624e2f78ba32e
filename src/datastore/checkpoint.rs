//! Checkpoints are written in a thread of their own: commits go on meanwhile.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::UNIX_EPOCH;

use super::history::{Entry, id_changes};
use super::journal::{Checkpoints, JournalError};
use super::{Revision, checkpoint_parts};

type Outcome = (Revision, Result<(), JournalError>);

/// The thread, as its writer sees it. Dropping it waits for the checkpoint that is under way.
pub(super) struct Checkpointer {
    orders: Option<Sender<Arc<Entry>>>,
    outcomes: Receiver<Outcome>,
    is_busy: bool,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// # Errors
    /// When no thread can be started.
    pub fn start(mut journal: Box<dyn Checkpoints>) -> std::io::Result<Checkpointer> {
        let (orders, ordered) = channel::<Arc<Entry>>();
        let (done, outcomes) = channel();
        let thread = std::thread::Builder::new().name("checkpoints".into()).spawn(move || {
            for base in ordered {
                let outcome = write(journal.as_mut(), &base);
                if done.send((base.revision, outcome)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Checkpointer { orders: Some(orders), outcomes, is_busy: false, thread: Some(thread) })
    }

    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Has the state of a revision written.
    pub fn order(&mut self, base: Arc<Entry>) {
        self.is_busy = self.orders.as_ref().is_some_and(|orders| orders.send(base).is_ok());
    }

    /// What became of the last order, once that is known.
    pub fn outcome(&mut self) -> Option<Outcome> {
        let outcome = self.outcomes.try_recv().ok()?;
        self.is_busy = false;
        Some(outcome)
    }

    /// The same, and waits for it.
    pub fn wait(&mut self) -> Option<Outcome> {
        let outcome = if self.is_busy { self.outcomes.recv().ok() } else { None };
        self.is_busy = false;
        outcome
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write(journal: &mut dyn Checkpoints, base: &Entry) -> Result<(), JournalError> {
    let time = base.time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let state = base.state.whole();
    let parts = checkpoint_parts(&state.snapshot, &id_changes(&state.ids), time);
    journal.write(base.revision.0, &parts)
}
