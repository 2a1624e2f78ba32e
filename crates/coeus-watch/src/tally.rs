//! What a watcher has heard and written, as numbers for who asks (OpenMetrics 1.0), and whether it is ready.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::Kind;
use crate::lease::Tenure;
use crate::reconcile::Edit;

type Labels = Vec<(&'static str, &'static str)>;

/// What came of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Written,
    /// Not in this form; halves of it, or other addresses, are tried.
    Refused,
    /// It is not known; it is asked again what the datastore holds.
    Away,
}

/// How far the writer is.
#[derive(Clone, Copy, Default, Debug)]
struct Standing {
    /// Kinds that were listed.
    listed: usize,
    /// Since when there is something to write.
    behind: Option<Instant>,
    /// Entries that the datastore did not take, and pods for which there is no address.
    refused: usize,
    lacking: usize,
}

/// The numbers of one watcher; clones count together.
#[derive(Clone, Default)]
pub struct Tally {
    lists: Family<Labels, Counter>,
    events: Family<Labels, Counter>,
    troubles: Family<Labels, Counter>,
    transactions: Family<Labels, Counter>,
    edits: Family<Labels, Counter>,
    standing: Arc<Mutex<Standing>>,
}

impl Tally {
    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A kind was listed: at the start, and where a watch could not go on.
    pub fn listed(&self, kind: Kind, kinds: usize) {
        self.lists.get_or_create(&vec![("kind", name(kind))]).inc();
        self.standing().listed = kinds;
    }

    /// A watch told of an object.
    pub fn event(&self, kind: Kind) {
        self.events.get_or_create(&vec![("kind", name(kind))]).inc();
    }

    /// A list or a watch ended, and is begun again.
    pub fn trouble(&self, kind: Kind) {
        self.troubles.get_or_create(&vec![("kind", name(kind))]).inc();
    }

    /// A transaction of these edits was asked for.
    pub fn transaction(&self, edits: &[Edit], outcome: Outcome) {
        let said = match outcome {
            Outcome::Written => "written",
            Outcome::Refused => "refused",
            Outcome::Away => "away",
        };
        self.transactions.get_or_create(&vec![("outcome", said)]).inc();
        for edit in edits.iter().filter(|_| outcome == Outcome::Written) {
            let operation = match edit {
                Edit::Put(..) => "put",
                Edit::Amend(_) => "amend",
                Edit::Remove(_) => "remove",
            };
            self.edits
                .get_or_create(&vec![("list", edit.place().list.name()), ("operation", operation)])
                .inc();
        }
    }

    /// There is something to write.
    pub fn behind(&self, now: Instant) {
        self.standing().behind.get_or_insert(now);
    }

    /// Another leads, and writes.
    pub fn stands_by(&self) {
        self.standing().behind = None;
    }

    /// All was written that can be.
    pub fn caught_up(&self, refused: usize, lacking: usize) {
        let mut standing = self.standing();
        (standing.behind, standing.refused, standing.lacking) = (None, refused, lacking);
    }

    /// Why it is not ready; `None`: it is. Who stands by while another leads is ready to lead.
    pub fn lacks(&self) -> Option<String> {
        let listed = self.standing().listed;
        let of = Kind::ALL.len();
        (listed < of).then(|| format!("{listed} of {of} kinds of objects were listed"))
    }

    /// All numbers as OpenMetrics has them.
    pub fn text(&self, tenure: &Tenure, now: Instant) -> String {
        let standing = *self.standing();
        let mut registry = Registry::with_prefix("coeus_watch");
        let counters = [
            ("lists", "Lists of objects that were heard to their end, by kind", &self.lists),
            ("events", "Objects that watches told of, by kind", &self.events),
            ("restarts", "Lists and watches that ended and were begun again, by kind", &self.troubles),
            ("transactions", "Transactions that were asked for, by what came of them", &self.transactions),
            ("edits", "Entries that were written, by list and operation", &self.edits),
        ];
        for (name, help, family) in counters {
            registry.register(name, help, family.clone());
        }
        let leads = tenure.term(now).is_some();
        let gauges = [
            ("leader", "Whether this watcher writes", i64::from(leads)),
            ("refused_entries", "Entries that the datastore does not take", whole(standing.refused)),
            ("pods_without_address", "Pods for which there is no address", whole(standing.lacking)),
        ];
        for (name, help, value) in gauges {
            let gauge: Gauge = Gauge::default();
            gauge.set(value);
            registry.register(name, help, gauge);
        }
        let lag: Gauge<f64, std::sync::atomic::AtomicU64> = Gauge::default();
        lag.set(standing.behind.map_or(0.0, |since| now.saturating_duration_since(since).as_secs_f64()));
        registry.register_with_unit(
            "lag",
            "For how long something has waited to be written",
            Unit::Seconds,
            lag,
        );
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &registry);
        text
    }
}

fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// As resources are called.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Namespace => "namespaces",
        Kind::Node => "nodes",
        Kind::Pod => "pods",
        Kind::Service => "services",
        Kind::Slice => "endpointslices",
        Kind::Endpoints => "endpoints",
        Kind::Policy => "networkpolicies",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{List, Place};

    #[test]
    fn numbers_are_counted_and_shown() {
        let (tally, start) = (Tally::default(), Instant::now());
        assert!(tally.lacks().is_some_and(|why| why.starts_with("0 of 7")));
        tally.listed(Kind::Pod, 7);
        tally.trouble(Kind::Slice);
        let edits = [Edit::Remove(Place::new(List::Pods, "a")), Edit::Remove(Place::new(List::Pods, "b"))];
        tally.transaction(&edits, Outcome::Refused);
        tally.transaction(&edits, Outcome::Written);
        tally.behind(start);
        tally.behind(start + Duration::from_secs(1));
        let text = tally.text(&Tenure::always(), start + Duration::from_millis(2500));
        for line in [
            "coeus_watch_lists_total{kind=\"pods\"} 1",
            "coeus_watch_restarts_total{kind=\"endpointslices\"} 1",
            "coeus_watch_edits_total{list=\"pods\",operation=\"remove\"} 2",
            "coeus_watch_transactions_total{outcome=\"refused\"} 1",
            "coeus_watch_transactions_total{outcome=\"written\"} 1",
            "coeus_watch_lag_seconds 2.5",
            "coeus_watch_leader 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        tally.stands_by();
        assert!(tally.text(&Tenure::always(), start).contains("coeus_watch_lag_seconds 0.0\n"));
        tally.behind(start);
        tally.caught_up(3, 0);
        let text = tally.text(&Tenure::of_election(), start + Duration::from_secs(9));
        assert!(text.contains("coeus_watch_lag_seconds 0.0\n") && text.contains("coeus_watch_leader 0\n"));
        assert!(text.contains("coeus_watch_refused_entries 3\n"));
        assert_eq!(tally.lacks(), None);
    }
}
