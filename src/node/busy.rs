//! One call at a time for each container.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The containers that are worked on.
#[derive(Default)]
pub struct Busy {
    containers: Mutex<BTreeSet<String>>,
    freed: Condvar,
}

/// Nobody else works on the container while this is held.
pub struct Turn<'a> {
    busy: &'a Busy,
    container: String,
}

impl Busy {
    /// Waits for the container; `None`: somebody has worked on it for too long.
    pub fn turn(&self, container: &str, patience: Duration) -> Option<Turn<'_>> {
        let held = self.containers.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut held, timeout) = self
            .freed
            .wait_timeout_while(held, patience, |held| held.contains(container))
            .unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() && held.contains(container) {
            return None;
        }
        held.insert(container.to_owned());
        Some(Turn { busy: self, container: container.to_owned() })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.busy.containers.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.container);
        self.busy.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_worked_on_once_at_a_time_and_others_beside() {
        let busy = Busy::default();
        let turn = busy.turn("a", Duration::ZERO);
        assert!(turn.is_some() && busy.turn("b", Duration::ZERO).is_some());
        assert!(busy.turn("a", Duration::from_millis(5)).is_none());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| busy.turn("a", Duration::from_secs(10)).is_some());
            drop(turn);
            assert!(waiting.join().unwrap());
        });
        assert!(busy.turn("a", Duration::ZERO).is_some());
    }
}
