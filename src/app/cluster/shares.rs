//! What becomes of each switch, from who runs, who owns what, and which switches are connected here. Pure: time comes in.
//!
//! - A switch without an owner is claimed by whoever comes first in its [`order`](super::rendezvous::order), at once; by the next one a
//!   [`TURN`] later, and so on: who comes first may have no session with it.
//! - Whoever owns a switch keeps it, also when others come.
//! - An owner that has had no session with a switch for [`AWAY`] gives it back: another may have one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::rendezvous::order;
use crate::net::Dpid;
use crate::programmer::Mandate;

/// How long who comes first may take before the next one claims.
pub const TURN: Duration = Duration::from_secs(1);
/// Longer than a switch takes to come again: ovs-vswitchd dials once a second.
pub const AWAY: Duration = Duration::from_secs(5);

/// A controller of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub lease: i64,
    /// Where switches reach it, as in `tcp:10.0.0.1:6653`: its name in the order of a switch.
    pub openflow: String,
}

/// Who owns a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub lease: i64,
    /// Etcd's revision of the key: who owns the switch later has a higher one.
    pub election: u64,
}

/// What the store says at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub members: Vec<Member>,
    pub owners: BTreeMap<Dpid, Owner>,
}

/// What is to be done now.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Due {
    pub claim: Vec<Dpid>,
    pub give_back: Vec<Dpid>,
    /// When to look again, if nothing changes before.
    pub next: Option<Instant>,
}

/// Since when switches are as they are.
#[derive(Debug, Default)]
pub struct Shares {
    /// Connected here, and without an owner.
    unowned: BTreeMap<Dpid, Instant>,
    /// Owned by this controller, and not connected here.
    away: BTreeMap<Dpid, Instant>,
}

impl Seen {
    /// By what right the controller with this lease programs switches, or does not.
    pub fn mandates(&self, lease: i64) -> BTreeMap<Dpid, Mandate> {
        let mandate = |owner: &Owner| match owner.lease == lease {
            true => Mandate::Elected(owner.election),
            false => Mandate::Other(owner.election),
        };
        self.owners.iter().map(|(dpid, owner)| (*dpid, mandate(owner))).collect()
    }
}

impl Shares {
    /// What the controller with this lease has to do. `live`: switches that have a session with it.
    pub fn look(&mut self, now: Instant, lease: i64, seen: &Seen, live: &BTreeSet<Dpid>) -> Due {
        let is_ours = |dpid: &Dpid| seen.owners.get(dpid).is_some_and(|owner| owner.lease == lease);
        let unowned = live.iter().filter(|dpid| !seen.owners.contains_key(dpid));
        let away = seen.owners.keys().filter(|dpid| is_ours(dpid) && !live.contains(dpid));
        self.unowned = still(&self.unowned, unowned, now);
        self.away = still(&self.away, away, now);
        let mut due = Due::default();
        for (dpid, since) in &self.unowned {
            due.at(now, *since + turn(*dpid, lease, &seen.members), |due| due.claim.push(*dpid));
        }
        for (dpid, since) in &self.away {
            due.at(now, *since + AWAY, |due| due.give_back.push(*dpid));
        }
        due
    }
}

impl Due {
    fn at(&mut self, now: Instant, time: Instant, act: impl FnOnce(&mut Due)) {
        if time <= now {
            act(self);
        } else {
            self.next = Some(self.next.map_or(time, |next| next.min(time)));
        }
    }
}

/// How long the controller leaves the switch to those that come before it.
fn turn(dpid: Dpid, lease: i64, members: &[Member]) -> Duration {
    let Some(own) = members.iter().find(|member| member.lease == lease) else { return TURN };
    // Who ended and came again may be there twice for a while, under one name.
    let names: BTreeSet<&str> = members.iter().map(|member| member.openflow.as_str()).collect();
    let place = order(dpid, names).iter().position(|name| *name == own.openflow).unwrap_or_default();
    TURN * u32::try_from(place).unwrap_or(u32::MAX)
}

fn still<'a>(
    before: &BTreeMap<Dpid, Instant>,
    those: impl Iterator<Item = &'a Dpid>,
    now: Instant,
) -> BTreeMap<Dpid, Instant> {
    those.map(|dpid| (*dpid, before.get(dpid).copied().unwrap_or(now))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(leases: impl IntoIterator<Item = i64>) -> Vec<Member> {
        leases
            .into_iter()
            .map(|lease| Member { lease, openflow: format!("tcp:10.0.0.{lease}:6653") })
            .collect()
    }

    fn all(count: u64) -> BTreeSet<Dpid> {
        (1..=count).map(Dpid).collect()
    }

    #[test]
    fn switches_without_an_owner_are_claimed_once_and_by_all_together() {
        let (now, seen) = (Instant::now(), Seen { members: members(1..=3), ..Seen::default() });
        let claimed: Vec<_> =
            (1..=3).map(|lease| Shares::default().look(now, lease, &seen, &all(60)).claim).collect();
        let mut together: Vec<Dpid> = claimed.concat();
        together.sort();
        assert_eq!(together, all(60).into_iter().collect::<Vec<_>>());
        assert!(claimed.iter().all(|part| part.len() > 8), "{claimed:?}");
    }

    #[test]
    fn who_comes_first_and_does_not_claim_is_not_waited_for_long() {
        let (start, seen) = (Instant::now(), Seen { members: members(1..=3), ..Seen::default() });
        let mut shares = Shares::default();
        let at_once = shares.look(start, 1, &seen, &all(60));
        assert_eq!(at_once.next, Some(start + TURN));
        let then = shares.look(start + TURN, 1, &seen, &all(60));
        assert!(then.claim.len() > at_once.claim.len() && then.claim.len() < 60, "{then:?}");
        assert_eq!(shares.look(start + TURN * 2, 1, &seen, &all(60)).claim.len(), 60);
        // One that was connected anew is left to who comes first again.
        shares.look(start + TURN * 2, 1, &seen, &BTreeSet::new());
        assert_eq!(
            shares.look(start + TURN * 3, 1, &seen, &all(60)),
            Due { next: Some(start + TURN * 4), ..at_once }
        );
    }

    #[test]
    fn an_owner_keeps_what_it_has_and_gives_back_what_is_not_there() {
        let start = Instant::now();
        let owner = |lease| Owner { lease, election: 7 };
        let owners = all(60).into_iter().map(|dpid| (dpid, owner(1))).collect();
        let seen = Seen { members: members(1..=3), owners };
        for lease in 1..=3 {
            assert_eq!(Shares::default().look(start, lease, &seen, &all(60)), Due::default());
        }
        let (mut shares, left) = (Shares::default(), all(59));
        assert_eq!(shares.look(start, 1, &seen, &left).next, Some(start + AWAY));
        assert_eq!(shares.look(start + AWAY, 1, &seen, &left).give_back, [Dpid(60)]);
        assert_eq!(Shares::default().look(start + AWAY, 2, &seen, &left), Due::default(), "it is not his");
        // It was there in between.
        shares.look(start + AWAY, 1, &seen, &all(60));
        assert_eq!(shares.look(start + AWAY * 2, 1, &seen, &left).next, Some(start + AWAY * 3));
    }

    #[test]
    fn a_mandate_is_the_owners_alone() {
        let owners = [(Dpid(1), Owner { lease: 1, election: 7 }), (Dpid(2), Owner { lease: 2, election: 9 })];
        let seen = Seen { members: members(1..=2), owners: owners.into() };
        let told: Vec<_> = [1, 2, 3].map(|lease| seen.mandates(lease)).into_iter().collect();
        assert_eq!(told[0], [(Dpid(1), Mandate::Elected(7)), (Dpid(2), Mandate::Other(9))].into());
        assert_eq!(told[1], [(Dpid(1), Mandate::Other(7)), (Dpid(2), Mandate::Elected(9))].into());
        assert_eq!(told[2], [(Dpid(1), Mandate::Other(7)), (Dpid(2), Mandate::Other(9))].into());
    }
}
