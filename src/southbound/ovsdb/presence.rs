//! Which databases are connected now, across all sessions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Sessions by the UUID of their database. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub struct Presence {
    live: Arc<Mutex<BTreeMap<String, usize>>>,
    ended: Arc<AtomicU64>,
}

impl Presence {
    /// A session of this database is up until the guard is dropped.
    pub fn enter(&self, uuid: &str) -> Guard {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        *live.entry(uuid.to_owned()).or_default() += 1;
        Guard { presence: self.clone(), uuid: uuid.to_owned() }
    }

    /// Whether the database of this node id (`ovsdb://uuid/…`) is connected.
    pub fn is_live(&self, node_id: &str) -> bool {
        let uuid = node_id.rsplit('/').next().unwrap_or_default();
        self.live.lock().unwrap_or_else(PoisonError::into_inner).contains_key(uuid)
    }

    /// How many sessions have ended: while this stays, whoever is connected still is.
    pub fn ended(&self) -> u64 {
        self.ended.load(Ordering::Acquire)
    }
}

/// Holds a session's place.
#[derive(Debug)]
pub struct Guard {
    presence: Presence,
    pub uuid: String,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut live = self.presence.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = live.get_mut(&self.uuid) {
            *count -= 1;
            if *count == 0 {
                live.remove(&self.uuid);
            }
        }
        drop(live);
        self.presence.ended.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_live_while_any_of_its_sessions_is() {
        let presence = Presence::default();
        let first = presence.enter("a");
        let second = presence.clone().enter("a");
        drop(first);
        assert!(presence.is_live("ovsdb://uuid/a"));
        assert_eq!(presence.ended(), 1);
        drop(second);
        assert!(!presence.is_live("ovsdb://uuid/a"));
    }
}
