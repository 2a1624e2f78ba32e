//! Who of several watchers writes: the one that holds a `Lease` of `coordination.k8s.io/v1`.
//!
//! Pure: the edge reads the lease, asks [`Election::step`] what to do, does it, and says what came of it. When another's lease has ended is judged by when
//! a change of it was seen here last, never by the times in it: clocks of machines differ.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;

/// How long a lease lasts, and what follows from that in the proportions that Kubernetes' own components keep (15, 10 and 2 s).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    seconds: u16,
}

impl Timing {
    /// `seconds`: after so long without a renewal others take the lease.
    pub fn new(seconds: u16) -> Timing {
        Timing { seconds: seconds.max(1) }
    }

    fn duration(self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }

    /// So long after it asked for a renewal that was granted, the holder writes.
    pub fn deadline(self) -> Duration {
        self.duration() * 2 / 3
    }

    /// Between two looks at the lease.
    pub fn pause(self) -> Duration {
        self.duration() * 2 / 15
    }
}

/// What is to be done with the lease.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// There is none.
    Create(LeaseSpec),
    /// It is ours, or nobody's; if it is still of this version.
    Replace(LeaseSpec, Option<String>),
    /// Another holds it.
    Wait,
}

/// What is remembered of a lease between two looks.
#[derive(Clone, PartialEq, Debug)]
struct Seen {
    spec: LeaseSpec,
    since: Instant,
}

/// One that would hold the lease.
#[derive(Clone, Debug)]
pub struct Election {
    identity: String,
    timing: Timing,
    seen: Option<Seen>,
}

impl Election {
    pub fn new(identity: impl Into<String>, timing: Timing) -> Election {
        Election { identity: identity.into(), timing, seen: None }
    }

    /// What to do with the lease as it is now. `clock`: for those who read it; nothing is decided by it.
    pub fn step(&mut self, lease: Option<&Lease>, now: Instant, clock: Timestamp) -> Step {
        let Some(lease) = lease else {
            self.seen = None;
            return Step::Create(self.own(None, clock));
        };
        let spec = lease.spec.clone().unwrap_or_default();
        if self.seen.as_ref().map(|seen| &seen.spec) != Some(&spec) {
            self.seen = Some(Seen { spec: spec.clone(), since: now });
        }
        let since = self.seen.as_ref().map_or(now, |seen| seen.since);
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        let lasts = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let lasts = lasts.map_or(self.timing.duration(), Duration::from_secs);
        if !holder.is_empty() && holder != self.identity && now < since + lasts {
            return Step::Wait;
        }
        Step::Replace(self.own(Some(&spec), clock), lease.metadata.resource_version.clone())
    }

    /// The lease as it is when we hold it. Transitions count the holders that came after others.
    fn own(&self, before: Option<&LeaseSpec>, clock: Timestamp) -> LeaseSpec {
        let is_ours = before.is_some_and(|before| before.holder_identity.as_deref() == Some(&self.identity));
        let transitions =
            before.map_or(0, |before| before.lease_transitions.unwrap_or(0) + i32::from(!is_ours));
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(self.timing.seconds.into()),
            acquire_time: before
                .filter(|_| is_ours)
                .and_then(|before| before.acquire_time.clone())
                .or(Some(MicroTime(clock))),
            renew_time: Some(MicroTime(clock)),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }

    /// The lease given back, so that nobody has to wait; `None`: it is not ours.
    pub fn resigned(&self, lease: &Lease) -> Option<LeaseSpec> {
        let spec = lease.spec.as_ref()?;
        (spec.holder_identity.as_deref() == Some(&self.identity))
            .then(|| LeaseSpec { holder_identity: Some(String::new()), ..spec.clone() })
    }
}

/// Whether we may write now; shared by who renews the lease and who writes.
#[derive(Clone, Debug)]
pub struct Tenure(Option<Arc<Mutex<Term>>>);

#[derive(Debug, Default)]
struct Term {
    until: Option<Instant>,
    number: u64,
}

impl Tenure {
    /// Of the only watcher.
    pub fn always() -> Tenure {
        Tenure(None)
    }

    /// Not yet.
    pub fn of_election() -> Tenure {
        Tenure(Some(Arc::default()))
    }

    /// The number of the term that lasts now; `None`: we may not write.
    pub fn term(&self, now: Instant) -> Option<u64> {
        let Some(term) = &self.0 else { return Some(0) };
        let term = term.lock().unwrap_or_else(PoisonError::into_inner);
        term.until.filter(|until| now < *until).map(|_| term.number)
    }

    /// The lease was granted: it lasts until then. A term that had ended is followed by another. Answers whether one began.
    pub fn granted(&self, until: Instant, now: Instant) -> bool {
        let Some(term) = &self.0 else { return false };
        let mut term = term.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = term.until.is_none_or(|before| before <= now);
        term.number += u64::from(begins);
        term.until = Some(until);
        begins
    }

    /// Another has the lease, or nobody. Answers whether we had it.
    pub fn ended(&self) -> bool {
        let Some(term) = &self.0 else { return false };
        term.lock().unwrap_or_else(PoisonError::into_inner).until.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn lease(holder: &str, renewed: i64, lasts: Option<i32>, transitions: i32) -> Lease {
        let spec = LeaseSpec {
            holder_identity: Some(holder.into()),
            lease_duration_seconds: lasts,
            acquire_time: Some(MicroTime(at(1))),
            renew_time: Some(MicroTime(at(renewed))),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        };
        let metadata = ObjectMeta { resource_version: Some(renewed.to_string()), ..ObjectMeta::default() };
        Lease { metadata, spec: Some(spec) }
    }

    /// The lease as it is seen at certain seconds; what is done at the last: whether it is taken, with how many transitions and since when it is ours.
    #[test]
    fn who_takes_a_lease_and_when() {
        type Case<'a> = (&'a str, &'a [(u64, Option<&'a Lease>)], Option<(i32, i64)>);
        let (other, ours, free) =
            (lease("b", 500, Some(15), 3), lease("a", 500, Some(15), 3), lease("", 500, Some(15), 3));
        let (renewed, brief) = (lease("b", 501, Some(15), 3), lease("b", 500, Some(4), 3));
        let (endless, ahead) = (lease("b", 500, None, 3), lease("b", 9_000_000, Some(15), 3));
        let cases: [Case; 12] = [
            ("there is none", &[(0, None)], Some((0, 1_000))),
            ("it is ours", &[(0, Some(&ours))], Some((3, 1))),
            ("it was given back", &[(0, Some(&free))], Some((4, 1_000))),
            ("another's, seen first", &[(0, Some(&other))], None),
            (
                "long past by its own times, but seen first",
                &[(0, Some(&lease("b", -9_000, Some(15), 3)))],
                None,
            ),
            ("just before it ends", &[(0, Some(&other)), (14, Some(&other))], None),
            ("not renewed for its time", &[(0, Some(&other)), (15, Some(&other))], Some((4, 1_000))),
            ("renewed in between", &[(0, Some(&other)), (10, Some(&renewed)), (24, Some(&renewed))], None),
            (
                "not renewed any more",
                &[(0, Some(&other)), (10, Some(&renewed)), (25, Some(&renewed))],
                Some((4, 1_000)),
            ),
            ("by its own duration", &[(0, Some(&brief)), (4, Some(&brief))], Some((4, 1_000))),
            (
                "without a duration ours counts",
                &[(0, Some(&endless)), (15, Some(&endless))],
                Some((4, 1_000)),
            ),
            ("its clock is ahead", &[(0, Some(&ahead)), (15, Some(&ahead))], Some((4, 1_000))),
        ];
        for (what, looks, taken) in cases {
            let start = Instant::now();
            let mut election = Election::new("a", Timing::new(15));
            let mut last = Step::Wait;
            for (second, lease) in looks {
                last = election.step(*lease, start + Duration::from_secs(*second), at(1_000));
            }
            let of_spec = |spec: &LeaseSpec| {
                assert_eq!(spec.holder_identity.as_deref(), Some("a"), "{what}");
                assert_eq!(spec.renew_time, Some(MicroTime(at(1_000))), "{what}");
                let since = spec.acquire_time.as_ref().map(|time| time.0.as_second());
                (spec.lease_transitions.unwrap_or(-1), since.unwrap_or(-1))
            };
            let version = looks
                .last()
                .and_then(|(_, lease)| lease.and_then(|lease| lease.metadata.resource_version.clone()));
            let done = match &last {
                Step::Wait => None,
                Step::Create(spec) => Some(of_spec(spec)),
                Step::Replace(spec, of) => {
                    assert_eq!(of, &version, "{what}: only if nobody else was faster");
                    Some(of_spec(spec))
                }
            };
            assert_eq!(done, taken, "{what}");
        }
    }

    #[test]
    fn only_who_holds_it_gives_it_back() {
        let election = Election::new("a", Timing::new(15));
        let back = election.resigned(&lease("a", 5, Some(15), 3)).unwrap();
        assert_eq!((back.holder_identity.as_deref(), back.lease_transitions), (Some(""), Some(3)));
        assert_eq!(election.resigned(&lease("b", 5, Some(15), 3)), None);
    }

    #[test]
    fn a_holder_stops_before_others_begin() {
        let timing = Timing::new(15);
        assert!(timing.pause() < timing.deadline() && timing.deadline() < timing.duration());
    }

    #[test]
    fn a_term_ends_by_itself_and_the_next_is_another() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let (tenure, other) = (Tenure::of_election(), Tenure::always());
        assert_eq!((tenure.term(start), other.term(start)), (None, Some(0)));
        assert!(tenure.granted(after(10), start));
        assert!(!tenure.granted(after(12), after(2)), "it goes on");
        assert_eq!(tenure.term(after(11)), Some(1));
        assert_eq!(tenure.term(after(12)), None);
        assert!(tenure.granted(after(30), after(20)), "who slept begins again");
        assert_eq!(tenure.term(after(21)), Some(2));
        assert!(tenure.ended());
        assert_eq!(tenure.term(after(21)), None);
    }
}
