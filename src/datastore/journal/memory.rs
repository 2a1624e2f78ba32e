//! A journal in memory, for tests: it can be told to fail.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Checkpoints, Journal, JournalError, Loaded};

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
    }
}
