//! The candidate of the user behind a [`Handle`].

use std::sync::Arc;
use std::time::SystemTime;

use super::{Candidate, CandidateError, Resolution};
use crate::datastore::allowed::Bound;
use crate::datastore::{Committed, DatastoreError, Handle, Revision, Snapshot, Transaction};

/// What a candidate comes to, now.
pub struct Proposal {
    pub candidate: Arc<Candidate>,
    /// What it goes on top of: everything, whoever asks.
    pub present: Arc<Snapshot>,
    /// Fails where others change the same before it is carried out.
    pub transaction: Transaction,
}

impl Handle {
    /// The same, with the user's candidate in the place of the running configuration: reads see it, commits edit it.
    #[must_use]
    pub fn on_candidate(&self) -> Handle {
        let mut handle = self.clone();
        handle.on_candidate = true;
        handle
    }

    /// The candidate of the user. What may not be read is in it too.
    ///
    /// # Errors
    /// When it was dropped.
    pub fn candidate(&self) -> Result<Option<Arc<Candidate>>, DatastoreError> {
        Ok(self.candidates().of(&self.user_name(), SystemTime::now())?)
    }

    /// The state of the candidate; without one, that of the running configuration.
    pub(in crate::datastore) fn candidate_state(&self) -> Arc<Snapshot> {
        match self.candidates().of(&self.user_name(), SystemTime::now()) {
            Ok(Some(candidate)) => candidate.state.clone(),
            _ => self.running(),
        }
    }

    /// Carries a transaction out in the candidate, which the first one opens.
    pub(in crate::datastore) async fn edit_candidate(
        &self,
        transaction: &Transaction,
    ) -> Result<Committed, DatastoreError> {
        let (schema, user) = (self.running().schema, self.user_name());
        let outcome = match self.try_edit(&user, transaction) {
            Err(error) => Err(self.with_origin(error, &transaction.edits).await),
            done => done,
        };
        if let Some((name, from, audit)) = self.recorder() {
            let paths: Vec<String> = transaction.edits.iter().map(|edit| edit.path.display(schema)).collect();
            audit.candidate(name, from, &paths, outcome.as_ref().map(drop).map_err(ToString::to_string));
        }
        outcome
    }

    fn try_edit(&self, user: &Arc<str>, transaction: &Transaction) -> Result<Committed, DatastoreError> {
        let running = self.running();
        let grants = self.grants();
        let bound = Bound { grants: grants.as_deref(), denials: self.denials() };
        loop {
            let now = SystemTime::now();
            let known = self.candidates().of(user, now)?;
            let opened = known.clone().unwrap_or_else(|| Arc::new(Candidate::new(running.clone(), now)));
            let (next, committed) = opened.edited(transaction, &bound, self.candidates().limits(), now)?;
            // An edit that changes nothing opens nothing.
            if known.is_none() && !committed.changed {
                return Ok(committed);
            }
            if self.candidates().replace(user, known.as_ref(), next)? {
                return Ok(committed);
            }
        }
    }

    /// What the candidate would be with one more transaction.
    ///
    /// # Errors
    /// As the transaction would be refused, or the commit of the candidate.
    pub(in crate::datastore) fn propose_with(
        &self,
        transaction: &Transaction,
    ) -> Result<Transaction, DatastoreError> {
        let grants = self.grants();
        let bound = Bound { grants: grants.as_deref(), denials: self.denials() };
        let (now, present) = (SystemTime::now(), self.running());
        let known = self.candidates().of(&self.user_name(), now)?;
        let known = known.unwrap_or_else(|| Arc::new(Candidate::new(present.clone(), now)));
        let (next, _) = known.edited(transaction, &bound, self.candidates().limits(), now)?;
        self.commit_of(&next, &present)
    }

    /// The transaction that the candidate comes to.
    ///
    /// # Errors
    /// Without a candidate; when others changed the same.
    pub fn propose(&self) -> Result<Proposal, DatastoreError> {
        let candidate = self.candidate()?.ok_or(CandidateError::None)?;
        let present = self.running();
        let transaction = self.commit_of(&candidate, &present)?;
        Ok(Proposal { candidate, present, transaction })
    }

    fn commit_of(&self, candidate: &Candidate, present: &Snapshot) -> Result<Transaction, DatastoreError> {
        let transaction = Transaction::new(self.user_name(), candidate.onto(present)?);
        Ok(Transaction { base: Some(present.revision), ..transaction })
    }

    /// The candidate was committed with this revision: it is gone, but for what its user edited meanwhile.
    pub fn candidate_committed(&self, proposal: &Proposal) {
        self.candidates().committed(
            &self.user_name(),
            &proposal.candidate,
            &self.running(),
            SystemTime::now(),
        );
    }

    /// Throws the candidate away. Returns the edits that are gone; `None`: there was no candidate.
    pub fn discard_candidate(&self) -> Option<usize> {
        let gone = self.candidates().discard(&self.user_name(), SystemTime::now())?;
        let edits = gone.map_or(0, |candidate| candidate.edits().len());
        if let Some((name, from, audit)) = self.recorder() {
            audit.candidate(name, from, &[], Err(format!("discarded, {edits} edits")));
        }
        Some(edits)
    }

    /// Brings what others committed into the candidate. Returns the revision that it is made of now.
    ///
    /// # Errors
    /// Without a candidate; where both changed the same and the resolution does not say who wins.
    pub fn update_candidate(&self, resolution: Resolution) -> Result<Revision, DatastoreError> {
        let user = self.user_name();
        loop {
            let now = SystemTime::now();
            let known = self.candidates().of(&user, now)?.ok_or(CandidateError::None)?;
            let next = known.updated(self.running(), resolution, now)?;
            let base = next.base.revision;
            if self.candidates().replace(&user, Some(&known), next)? {
                return Ok(base);
            }
        }
    }
}
