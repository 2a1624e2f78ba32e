//! Laws of merging, and of the shelf under its limits.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::{Candidate, CandidateError, Candidates, Limits, Resolution, merge};
use crate::datastore::{DatastoreError, Edit, Operation, Snapshot, Store, edited};
use crate::schema::testing::{arbitrary_root, sample};
use crate::schema::{Fields, json};

fn snapshot(input: Fields) -> Snapshot {
    let mut snapshot = Snapshot::empty(sample());
    snapshot.layers_mut(Store::Config).input = input;
    snapshot
}

fn text(state: &Snapshot) -> String {
    let mut out = Vec::new();
    json::write(sample(), None, &state.config.input, &mut out);
    String::from_utf8(out).unwrap()
}

/// The base with some of its subtrees as in `other`.
fn mixed(base: &Fields, other: &Fields, which: u8) -> Snapshot {
    let mut mixed = base.clone();
    let ids: Vec<_> = base.iter().chain(other.iter()).map(|(id, _)| *id).collect();
    for (_, id) in ids.into_iter().enumerate().filter(|(number, _)| which >> (number % 8) & 1 == 1) {
        mixed.set(id, other.get(id).cloned());
    }
    snapshot(mixed)
}

/// Whether a state is as these edits want it, but for the order of entries.
fn holds(state: &Snapshot, edits: &[Edit]) -> bool {
    let edits: Vec<Edit> = edits.iter().filter(|edit| edit.operation != Operation::Move).cloned().collect();
    edited(state, &edits).is_ok_and(|(after, _)| text(&after) == text(state))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// What is merged has everything of both; what cannot be merged is named; and somebody wins if one is told to.
    #[test]
    fn nothing_is_lost_unless_somebody_is_told(
        base in arbitrary_root(sample(), false),
        others in (arbitrary_root(sample(), false), arbitrary_root(sample(), false)),
        which in any::<(u8, u8)>(),
    ) {
        let (mine, theirs) = (mixed(&base, &others.0, which.0), mixed(&base, &others.1, which.1));
        let base = snapshot(base);
        let (my_edits, their_edits) = (merge::between(&base, &mine), merge::between(&base, &theirs));
        match merge::merge(&base, &mine, &theirs, Resolution::Revert) {
            Ok(edits) => {
                let (merged, _) = edited(&theirs, &edits).unwrap();
                prop_assert!(holds(&merged, &my_edits) && holds(&merged, &their_edits), "{}", text(&merged));
            }
            Err(DatastoreError::Candidate(CandidateError::Conflict { paths, .. })) => {
                prop_assert!(!paths.is_empty() && !my_edits.is_empty() && !their_edits.is_empty());
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
        let ignoring = merge::merge(&base, &mine, &theirs, Resolution::Ignore).unwrap();
        let (mine_wins, _) = edited(&theirs, &ignoring).unwrap();
        prop_assert!(holds(&mine_wins, &my_edits), "{}", text(&mine_wins));
        if let Ok(edits) = merge::merge(&base, &mine, &theirs, Resolution::Overwrite) {
            let (they_win, _) = edited(&theirs, &edits).unwrap();
            prop_assert!(holds(&they_win, &their_edits), "{}", text(&they_win));
        }
    }

    /// Alone, everything is carried over as it is; without edits, nothing is.
    #[test]
    fn alone_nothing_is_in_conflict(base in arbitrary_root(sample(), false), other in arbitrary_root(sample(), false)) {
        let (base, other) = (snapshot(base), snapshot(other));
        let edits = merge::merge(&base, &other, &base, Resolution::Revert).unwrap();
        prop_assert_eq!(text(&edited(&base, &edits).unwrap().0), text(&other));
        prop_assert!(merge::merge(&base, &base, &other, Resolution::Revert).unwrap().is_empty());
    }
}

#[test]
fn a_candidate_that_lay_too_long_is_told_of_until_it_is_discarded() {
    let limits = Limits { candidates: 1, idle: Duration::from_secs(10), ..Limits::default() };
    let shelf = Candidates::new(limits);
    let (start, base) = (SystemTime::UNIX_EPOCH, Arc::new(Snapshot::empty(sample())));
    let at = |seconds| start + Duration::from_secs(seconds);
    let open = |time| Candidate::new(base.clone(), time);
    let (ann, bob) = (Arc::from("ann"), Arc::from("bob"));
    assert!(shelf.replace(&ann, None, open(at(0))).unwrap());
    assert!(!shelf.replace(&ann, None, open(at(0))).unwrap(), "somebody was quicker");
    assert_eq!(shelf.replace(&bob, None, open(at(0))).unwrap_err(), CandidateError::TooMany(1));
    assert!(shelf.of("ann", at(10)).unwrap().is_some());
    assert_eq!(shelf.of("ann", at(11)).unwrap_err(), CandidateError::Expired(10));
    assert!(shelf.replace(&bob, None, open(at(11))).unwrap(), "what was dropped takes no room");
    assert_eq!(shelf.of("ann", at(99)).unwrap_err(), CandidateError::Expired(10));
    assert!(shelf.discard("ann", at(99)).is_some_and(|gone| gone.is_none()));
    assert!(shelf.of("ann", at(99)).unwrap().is_none() && shelf.discard("ann", at(99)).is_none());
}
