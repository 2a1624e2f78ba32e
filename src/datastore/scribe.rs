//! The journal in a thread of its own: what is decided is made durable while it is still rendered.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use super::journal::{Journal, JournalError, Records};
use super::timings::Timings;

/// The thread, as the writer sees it. Dropping it waits for what is under way.
pub(super) struct Scribe {
    orders: Option<Sender<Records>>,
    outcomes: Receiver<Result<(), JournalError>>,
    is_busy: bool,
    thread: Option<JoinHandle<()>>,
}

impl Scribe {
    /// # Errors
    /// When no thread can be started.
    pub fn start(mut journal: Box<dyn Journal>, timings: Timings) -> std::io::Result<Scribe> {
        let (orders, ordered) = channel::<Records>();
        let (done, outcomes) = channel();
        let thread = std::thread::Builder::new().name("journal".into()).spawn(move || {
            for records in ordered {
                let started = Instant::now();
                let outcome = journal.append(&records);
                if outcome.is_ok() {
                    timings.journalled(started);
                }
                if done.send(outcome).is_err() {
                    return;
                }
            }
        })?;
        Ok(Scribe { orders: Some(orders), outcomes, is_busy: false, thread: Some(thread) })
    }

    /// Has records made durable. What was ordered before must have been waited for.
    pub fn begin(&mut self, records: Records) {
        if records.is_empty() {
            return;
        }
        debug_assert!(!self.is_busy, "one group after the other");
        if let Some(orders) = &self.orders {
            // A thread that is gone is seen by who waits.
            let _ = orders.send(records);
            self.is_busy = true;
        }
    }

    /// Waits until what was ordered is durable; at once if nothing was.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn finish(&mut self) -> Result<(), JournalError> {
        if !std::mem::take(&mut self.is_busy) {
            return Ok(());
        }
        let gone = |_| JournalError::Io { path: "journal".into(), reason: "its thread has ended".into() };
        self.outcomes.recv().map_err(gone)?
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
