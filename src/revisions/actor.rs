//! Takes commits back whose time has passed without a confirmation, also those of an earlier life.

use std::time::{Duration, SystemTime};

use tracing::{error, info};

use super::confirm::{self, Pending};
use crate::datastore::{Committed, DatastoreError, Handle};

/// After a way back that was refused, the next attempt comes so much later.
const RETRY: Duration = Duration::from_secs(10);
/// Nothing waits longer than this for a clock that was set.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs until the datastore stops.
pub async fn run(datastore: Handle) {
    let mut revisions = datastore.revisions();
    loop {
        let now = SystemTime::now();
        let mut wait = LONGEST;
        for pending in confirm::pending(&datastore.snapshot()) {
            match pending.until.duration_since(now) {
                Ok(left) if !left.is_zero() => wait = wait.min(left),
                _ => match take_back(&datastore, &pending, "confirmed-commit").await {
                    Ok(done) => {
                        info!(
                            id = pending.id,
                            revision = done.revision.0,
                            "not confirmed in time: taken back"
                        );
                    }
                    Err(error) => {
                        error!(%error, id = pending.id, "not confirmed in time, but it cannot be taken back yet");
                        wait = wait.min(RETRY);
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            changed = revisions.changed() => if changed.is_err() { return },
        }
    }
}

/// Takes a commit back now.
///
/// # Errors
/// When the configuration would not be valid, or somebody else has decided.
pub async fn take_back(
    datastore: &Handle,
    pending: &Pending,
    author: &str,
) -> Result<Committed, DatastoreError> {
    let transaction = pending.way_back(datastore.snapshot().schema, author)?;
    datastore.commit(transaction).await
}
