//! Checkpoints are written in a thread of their own: commits go on meanwhile.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use super::history::{Entry, id_changes};
use super::journal::{Checkpoints, JournalError};
use super::worker::Worker;
use super::{Revision, checkpoint_parts};

/// The thread, as its writer sees it: ordered is the state of a revision, to be written.
pub(super) type Checkpointer = Worker<Arc<Entry>, (Revision, Result<(), JournalError>)>;

/// # Errors
/// When no thread can be started.
pub(super) fn start(mut journal: Box<dyn Checkpoints>) -> std::io::Result<Checkpointer> {
    Worker::start("checkpoints", move |base: Arc<Entry>| (base.revision, write(journal.as_mut(), &base)))
}

fn write(journal: &mut dyn Checkpoints, base: &Entry) -> Result<(), JournalError> {
    let time = base.time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let state = base.state.whole();
    let parts = checkpoint_parts(&state.snapshot, &id_changes(&state.ids), time);
    journal.write(base.revision.0, &parts)
}
