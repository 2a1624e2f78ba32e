//! Named pools of numbers: tags, VPN ids, VNIs. The same key gives the same number until it is released.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};

use super::IdChange;
use crate::schema::Text;

/// How long a released number rests before somebody else may get it (netvirt: 30 s).
pub const REST: Duration = Duration::from_secs(30);

/// A released number that rests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resting {
    pub pool: Text,
    pub id: u32,
    pub since: SystemTime,
}

/// All pools. Changes are gathered until the commit that caused them takes them along.
#[derive(Clone, Debug, Default)]
pub struct IdPools {
    pools: BTreeMap<Text, Pool>,
    changes: Vec<IdChange>,
}

#[derive(Clone, Debug)]
struct Pool {
    range: RangeInclusive<u32>,
    held: HashMap<Text, u32>,
    /// Everything from here on was never given out.
    next: u64,
    /// Below `next` and free.
    free: BTreeSet<u32>,
    /// Released, oldest first.
    resting: VecDeque<(SystemTime, u32)>,
}

/// No number is left, or there is no such pool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("id pool {pool} has no number left for {key}")]
pub struct PoolExhausted {
    pub pool: String,
    pub key: String,
}

impl IdPools {
    pub fn new(pools: impl IntoIterator<Item = (&'static str, RangeInclusive<u32>)>) -> IdPools {
        let pool = |range: RangeInclusive<u32>| Pool {
            next: u64::from(*range.start()),
            range,
            held: HashMap::new(),
            free: BTreeSet::new(),
            resting: VecDeque::new(),
        };
        IdPools {
            pools: pools.into_iter().map(|(name, range)| (name.into(), pool(range))).collect(),
            changes: Vec::new(),
        }
    }

    /// Takes over the allocations of an earlier run.
    pub fn restore(&mut self, ids: &[IdChange]) {
        for change in ids {
            if let (Some(pool), Some(id)) = (self.pools.get_mut(&change.pool), change.id) {
                pool.take(id);
                pool.held.insert(change.key.clone(), id);
            }
        }
    }

    /// Released numbers that may not have rested yet, the longest first within a pool.
    pub fn resting(&self) -> Vec<Resting> {
        let of = |(name, pool): (&Text, &Pool)| {
            let pool_name = name.clone();
            let resting = pool.resting.iter();
            let resting =
                resting.map(move |(since, id)| Resting { pool: pool_name.clone(), id: *id, since: *since });
            resting.collect::<Vec<_>>()
        };
        self.pools.iter().flat_map(of).collect()
    }

    /// Has numbers rest that were released in an earlier life; those that somebody holds again do not.
    pub fn rest(&mut self, resting: &[Resting]) {
        for (name, pool) in &mut self.pools {
            let held: BTreeSet<u32> = pool.held.values().copied().collect();
            let free = |rest: &&Resting| {
                rest.pool == *name && !held.contains(&rest.id) && pool.range.contains(&rest.id)
            };
            let free: Vec<(SystemTime, u32)> =
                resting.iter().filter(free).map(|rest| (rest.since, rest.id)).collect();
            for (since, id) in free {
                pool.take(id);
                pool.resting.push_back((since, id));
            }
            pool.resting.make_contiguous().sort_unstable();
        }
    }

    /// The number of a key; the lowest free one if it has none yet.
    ///
    /// # Errors
    /// When the pool is used up.
    pub fn allocate(&mut self, pool: &str, key: &str, now: SystemTime) -> Result<u32, PoolExhausted> {
        let exhausted = || PoolExhausted { pool: pool.to_owned(), key: key.to_owned() };
        let (name, _) = self.pools.get_key_value(pool).ok_or_else(exhausted)?;
        let name = name.clone();
        let pool = self.pools.get_mut(pool).ok_or_else(exhausted)?;
        if let Some(id) = pool.held.get(key) {
            return Ok(*id);
        }
        pool.wake(now);
        let id = pool.lowest().ok_or_else(exhausted)?;
        pool.take(id);
        let key = Text::from(key);
        pool.held.insert(key.clone(), id);
        self.changes.push(IdChange { pool: name, key, id: Some(id) });
        Ok(id)
    }

    /// Has a key have this number, unless it has one. Returns the one it has.
    pub fn give(&mut self, pool: &str, key: &str, id: u32) -> u32 {
        let Some((name, _)) = self.pools.get_key_value(pool) else { return id };
        let name = name.clone();
        let Some(pool) = self.pools.get_mut(&name) else { return id };
        if let Some(held) = pool.held.get(key) {
            return *held;
        }
        pool.resting.retain(|(_, resting)| *resting != id);
        pool.take(id);
        let key = Text::from(key);
        pool.held.insert(key.clone(), id);
        self.changes.push(IdChange { pool: name, key, id: Some(id) });
        id
    }

    pub fn get(&self, pool: &str, key: &str) -> Option<u32> {
        self.pools.get(pool)?.held.get(key).copied()
    }

    /// Gives the number of a key back; it rests before it is used again. Unknown keys are no error.
    pub fn release(&mut self, pool: &str, key: &str, now: SystemTime) {
        let name = pool;
        if let Some(pool) = self.pools.get_mut(name)
            && let Some((key, id)) = pool.held.remove_entry(key)
        {
            pool.resting.push_back((now, id));
            self.changes.push(IdChange { pool: name.into(), key, id: None });
        }
    }

    /// What has changed since the last call.
    pub fn take_changes(&mut self) -> Vec<IdChange> {
        std::mem::take(&mut self.changes)
    }
}

impl Pool {
    fn wake(&mut self, now: SystemTime) {
        while let Some((since, id)) = self.resting.front().copied() {
            // A clock that went backwards must not keep numbers for ever.
            if now.duration_since(since).is_ok_and(|rested| rested < REST) {
                break;
            }
            self.resting.pop_front();
            self.free.insert(id);
        }
    }

    fn lowest(&self) -> Option<u32> {
        let fresh = u32::try_from(self.next).ok().filter(|id| self.range.contains(id));
        self.free.first().copied().or(fresh)
    }

    fn take(&mut self, id: u32) {
        if u64::from(id) >= self.next {
            self.free.extend((self.next..u64::from(id)).filter_map(|skipped| u32::try_from(skipped).ok()));
            self.next = u64::from(id) + 1;
        }
        self.free.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_released_number_rests_before_it_is_used_again() {
        let mut pools = IdPools::new([("p", 1..=3)]);
        assert_eq!(pools.allocate("p", "a", at(0)), Ok(1));
        assert_eq!(pools.allocate("p", "b", at(0)), Ok(2));
        assert_eq!(pools.allocate("p", "a", at(0)), Ok(1), "the same key, the same number");
        pools.release("p", "a", at(10));
        assert_eq!(pools.allocate("p", "c", at(20)), Ok(3));
        assert!(pools.allocate("p", "d", at(20)).is_err());
        assert_eq!(pools.allocate("p", "d", at(40)), Ok(1));
        assert_eq!(pools.take_changes().len(), 5);
    }

    #[test]
    fn rest_outlives_the_process() {
        let mut pools = IdPools::new([("p", 1..=9)]);
        for key in ["a", "b", "c"] {
            pools.allocate("p", key, at(0)).unwrap();
        }
        pools.release("p", "c", at(5));
        pools.release("p", "b", at(10));
        let (resting, mut again) = (pools.resting(), IdPools::new([("p", 1..=9)]));
        again.restore(&[IdChange { pool: "p".into(), key: "a".into(), id: Some(1) }]);
        again.rest(&resting);
        assert_eq!(again.resting(), resting);
        assert_eq!(again.allocate("p", "d", at(20)), Ok(4), "2 and 3 rest");
        assert_eq!(again.allocate("p", "e", at(36)), Ok(3));
        assert_eq!(again.allocate("p", "f", at(41)), Ok(2));
        again.rest(&resting);
        assert_eq!(again.resting(), [], "they are in use");
    }

    #[test]
    fn restored_numbers_are_not_given_out_again() {
        let mut pools = IdPools::new([("p", 1..=9)]);
        pools.restore(&[IdChange { pool: "p".into(), key: "x".into(), id: Some(3) }]);
        let next: Vec<_> = ["a", "b", "c"].iter().map(|key| pools.allocate("p", key, at(0)).ok()).collect();
        assert_eq!(next, [Some(1), Some(2), Some(4)]);
        assert_eq!(pools.get("p", "x"), Some(3));
    }

    proptest! {
        /// No two keys ever hold the same number, and every number is in range.
        #[test]
        fn holders_are_distinct(steps in prop::collection::vec((any::<bool>(), 0_u8..12, 0_u64..60), 0..200)) {
            let mut pools = IdPools::new([("p", 10..=17)]);
            let mut held = BTreeMap::new();
            let mut now = 0;
            for (take, key, passed) in steps {
                now += passed;
                let name = key.to_string();
                if take {
                    if let Ok(id) = pools.allocate("p", &name, at(now)) {
                        prop_assert!((10..=17).contains(&id));
                        held.insert(name.clone(), id);
                    }
                } else {
                    pools.release("p", &name, at(now));
                    held.remove(&name);
                }
                let distinct: BTreeSet<_> = held.values().collect();
                prop_assert_eq!(distinct.len(), held.len());
                for (key, id) in &held {
                    prop_assert_eq!(pools.get("p", key), Some(*id));
                }
            }
        }
    }
}
