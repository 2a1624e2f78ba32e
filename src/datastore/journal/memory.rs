//! A journal in memory, for tests: it can be told to fail.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Checkpoints, Journal, JournalError, Loaded, News, Records, Replica};

/// When to fail, shared with the test.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// While set, every append and checkpoint fails with this reason.
    pub refuse: Arc<Mutex<Option<String>>>,
}

/// Clones share what is stored, so that a test can open the same journal again.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal {
    stored: Arc<Mutex<Loaded>>,
    faults: Faults,
}

impl MemoryJournal {
    pub fn with(faults: Faults) -> MemoryJournal {
        MemoryJournal { stored: Arc::default(), faults }
    }

    fn refused(&self) -> Result<(), JournalError> {
        match &*self.faults.refuse.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(reason) => Err(JournalError::Io { path: "memory".into(), reason: reason.clone() }),
            None => Ok(()),
        }
    }
}

impl Journal for MemoryJournal {
    fn load(&mut self) -> Result<Loaded, JournalError> {
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Loaded {
            checkpoint: stored.checkpoint.clone(),
            records: stored.records.clone(),
            repairs: Vec::new(),
        })
    }

    fn append(&mut self, records: &[(u64, Vec<u8>)]) -> Result<(), JournalError> {
        self.refused()?;
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).records.extend_from_slice(records);
        Ok(())
    }

    fn checkpoints(&self) -> Box<dyn Checkpoints> {
        Box::new(self.clone())
    }
}

/// What follows a [`MemoryJournal`].
#[derive(Debug, Clone)]
pub struct MemoryReplica {
    journal: MemoryJournal,
    reached: u64,
}

impl MemoryReplica {
    pub fn of(journal: &MemoryJournal) -> MemoryReplica {
        MemoryReplica { journal: journal.clone(), reached: 0 }
    }
}

impl Replica for MemoryReplica {
    fn load(&mut self) -> Result<Loaded, JournalError> {
        let loaded = self.journal.load()?;
        self.reached = loaded.newest();
        Ok(loaded)
    }

    fn news(&mut self) -> Result<News, JournalError> {
        self.journal.refused()?;
        let Loaded { checkpoint, records, .. } = self.journal.load()?;
        let checkpoint = checkpoint.map_or(0, |(revision, _)| revision);
        if checkpoint > self.reached {
            return Ok(News::Gone);
        }
        let records: Records = records.into_iter().filter(|(revision, _)| *revision > self.reached).collect();
        self.reached = records.last().map_or(self.reached, |(revision, _)| *revision);
        Ok(News::Records { records, newest: self.reached, checkpoint })
    }

    fn changes(&self) -> Box<dyn FnMut() + Send> {
        Box::new(|| std::thread::sleep(std::time::Duration::from_millis(20)))
    }
}

impl Checkpoints for MemoryJournal {
    fn write(&mut self, revision: u64, parts: &[Vec<u8>]) -> Result<(), JournalError> {
        self.refused()?;
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        stored.checkpoint = Some((revision, parts.to_vec()));
        stored.records.retain(|(at, _)| *at > revision);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_conforms() {
        let journal = MemoryJournal::default();
        super::super::conformance(|| Box::new(journal.clone()));
        let journal = MemoryJournal::default();
        super::super::replica_conformance(
            || Box::new(journal.clone()),
            || Box::new(MemoryReplica::of(&journal)),
        );
    }
}
