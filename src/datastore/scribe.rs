//! The journal in a thread of its own: what is decided is made durable while it is still rendered.

use std::time::Instant;

use super::journal::{Journal, JournalError, Records};
use super::timings::Timings;
use super::worker::Worker;

/// The thread, as the writer sees it.
pub(super) struct Scribe(Worker<Records, Result<(), JournalError>>);

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
        Worker::start("journal", append).map(Scribe)
    }

    /// Has records made durable. What was ordered before must have been waited for.
    pub fn begin(&mut self, records: Records) {
        if !records.is_empty() {
            self.0.order(records);
        }
    }

    /// Waits until what was ordered is durable; at once if nothing was.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn finish(&mut self) -> Result<(), JournalError> {
        let gone = |_| JournalError::Io { path: "journal".into(), reason: "its thread has ended".into() };
        self.0.wait().map_err(gone)?.unwrap_or(Ok(()))
    }
}
