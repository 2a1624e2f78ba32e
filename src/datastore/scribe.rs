//! The journal in a thread of its own: what is decided is made durable while it is still rendered.

use std::time::Instant;

use super::journal::{Journal, JournalError, Records};
use super::timings::Timings;
use super::worker::Worker;

type Outcome = Result<(), JournalError>;

/// The thread, as the writer sees it.
pub(super) struct Scribe {
    worker: Worker<Records, Outcome>,
    /// What has become of the last order, where that was seen before it was waited for.
    ended: Option<Outcome>,
}

impl Scribe {
    /// # Errors
    /// When no thread can be started.
    pub fn start(mut journal: Box<dyn Journal>, timings: Timings) -> std::io::Result<Scribe> {
        let append = move |records: Records| {
            let started = Instant::now();
            let outcome = journal.append(&records);
            if outcome.is_ok() {
                timings.journalled(started);
            }
            outcome
        };
        Ok(Scribe { worker: Worker::start("journal", append)?, ended: None })
    }

    /// Has records made durable. What was ordered before must have been waited for.
    pub fn begin(&mut self, records: Records) {
        if !records.is_empty() {
            self.worker.order(records);
            // The thread may have been put behind this one on the same processor: the disk could work already.
            std::thread::yield_now();
        }
    }

    /// Whether something was ordered that is not durable yet.
    pub fn is_under_way(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.worker.outcome();
        }
        self.worker.is_busy()
    }

    /// Waits until what was ordered is durable; at once if nothing was.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn finish(&mut self) -> Result<(), JournalError> {
        let gone = |_| JournalError::Io { path: "journal".into(), reason: "its thread has ended".into() };
        match self.ended.take() {
            Some(outcome) => outcome,
            None => self.worker.wait().map_err(gone)?.unwrap_or(Ok(())),
        }
    }
}
