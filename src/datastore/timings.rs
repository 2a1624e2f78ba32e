//! How often and how long the writer works.

use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// Numbers of the writer. Cheap to clone, all clones count together.
#[derive(Clone, Debug)]
pub struct Timings {
    commits: Counter,
    refused: Counter,
    commit: Histogram,
    journal: Histogram,
}

impl Default for Timings {
    fn default() -> Timings {
        // From 50 microseconds to 13 s, each four times the one before.
        let seconds = || Histogram::new(exponential_buckets(5e-5, 4.0, 10));
        Timings {
            commits: Counter::default(),
            refused: Counter::default(),
            commit: seconds(),
            journal: seconds(),
        }
    }
}

impl Timings {
    /// Shows them under their names.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "coeus_datastore_commits",
            "Transactions that were carried out",
            self.commits.clone(),
        );
        registry.register("coeus_datastore_refusals", "Transactions that were refused", self.refused.clone());
        registry.register_with_unit(
            "coeus_datastore_commit_duration",
            "Time a transaction takes from its turn to its answer, with all that share its turn",
            Unit::Seconds,
            self.commit.clone(),
        );
        registry.register_with_unit(
            "coeus_journal_append_duration",
            "Time until a group of transactions is durable",
            Unit::Seconds,
            self.journal.clone(),
        );
    }

    pub(super) fn committed(&self, accepted: bool, took: Duration) {
        if accepted {
            self.commits.inc()
        } else {
            self.refused.inc()
        };
        self.commit.observe(took.as_secs_f64());
    }

    pub(super) fn journalled(&self, since: Instant) {
        self.journal.observe(since.elapsed().as_secs_f64());
    }
}
