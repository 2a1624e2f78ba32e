//! The way to the datastore: reads of what is published, and messages to the writer, in the name of a user or of the program.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot, watch};

use super::actor::Message;
use super::candidate::{self, Candidates};
use super::journal::{Journal, JournalError};
use super::readers::Readers;
use super::times::Times;
use super::timings::Timings;
use super::{
    Committed, Core, DatastoreError, Edit, History, Planned, Question, RecoveryError, Revision, Snapshot,
    Transaction,
};
use crate::access::{self, Denials, Gatekeeper, Grants, Identity};
use crate::audit::Audit;
use crate::schema::{DataPath, Schema};

/// The way to the datastore. Cheap to clone: each request does so, in several threads at a time.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
    /// Reads and commits are about the candidate of the user.
    pub(super) on_candidate: bool,
    /// `None`: the program itself.
    acting: Option<Acting>,
}

/// What all handles of a datastore have in common.
#[derive(Clone)]
struct Shared {
    schema: &'static Schema,
    inbox: mpsc::Sender<Message>,
    published: Arc<ArcSwap<Snapshot>>,
    revision: watch::Receiver<Revision>,
    times: Arc<Mutex<Times>>,
    timings: Timings,
    history: Arc<History>,
    access: Arc<Gatekeeper>,
    candidates: Arc<Candidates>,
}

/// A user behind a [`Handle`].
#[derive(Clone)]
struct Acting {
    user: Arc<Identity>,
    from: Option<SocketAddr>,
    audit: Arc<Audit>,
    /// What the user may see of the newest revision that was asked for.
    seen: Arc<Mutex<Option<Arc<Snapshot>>>>,
}

impl Handle {
    pub(super) fn new(
        inbox: mpsc::Sender<Message>,
        core: &Core,
        readers: &Readers,
        revision: watch::Receiver<Revision>,
        timings: Timings,
    ) -> Handle {
        let shared = Shared {
            schema: core.snapshot.schema,
            inbox,
            published: readers.published.clone(),
            revision,
            times: readers.times.clone(),
            timings,
            history: readers.history.clone(),
            access: core.access.clone(),
            candidates: Arc::default(),
        };
        Handle { shared: Arc::new(shared), on_candidate: false, acting: None }
    }

    /// The models that all states of this datastore are of.
    pub fn schema(&self) -> &'static Schema {
        self.shared.schema
    }

    pub(super) fn inbox(&self) -> &mpsc::Sender<Message> {
        &self.shared.inbox
    }

    pub(super) fn candidates(&self) -> &Candidates {
        &self.shared.candidates
    }

    /// Carries a transaction out; returns when it is durable and visible.
    ///
    /// # Errors
    /// When it is impossible; then nothing of it happened.
    pub async fn commit(&self, transaction: Transaction) -> Result<Committed, DatastoreError> {
        if self.on_candidate {
            return self.edit_candidate(&transaction).await;
        }
        let Some(acting) = &self.acting else { return self.send(transaction).await };
        let schema = self.shared.schema;
        let paths: Vec<String> = transaction.edits.iter().map(|edit| edit.path.display(schema)).collect();
        let outcome = self.send(self.bound(transaction)).await;
        let result = outcome.as_ref().map(|done| done.revision.0).map_err(ToString::to_string);
        acting.audit.write(&acting.user.name, acting.from, &paths, result);
        outcome
    }

    async fn send(&self, transaction: Transaction) -> Result<Committed, DatastoreError> {
        let (reply, answer) = oneshot::channel();
        self.shared
            .inbox
            .send(Message::Commit { transaction, reply })
            .await
            .map_err(|_| DatastoreError::Stopped)?;
        answer.await.map_err(|_| DatastoreError::Stopped)?
    }

    /// Waits until all is shown that was durable when this was called; where another controller is followed, that one's writes. Returns
    /// how far it goes.
    ///
    /// # Errors
    /// When that cannot be known now.
    pub async fn catch_up(&self) -> Result<Revision, JournalError> {
        let stopped = || JournalError::Io { path: "datastore".into(), reason: "it has stopped".into() };
        let (reply, answer) = oneshot::channel();
        self.shared.inbox.send(Message::CatchUp { reply }).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Goes on in the place of the controller that was followed, with a journal that is this one's now.
    ///
    /// # Errors
    /// When what was written last cannot be read, or nothing can be written.
    pub async fn lead(&self, journal: Box<dyn Journal>) -> Result<(), RecoveryError> {
        let stopped = || JournalError::Io { path: "datastore".into(), reason: "it has stopped".into() };
        let (reply, answer) = oneshot::channel();
        self.shared.inbox.send(Message::Lead { journal, reply }).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// The same datastore with the rights of a user: reads leave out what may not be read, writes are refused where they are
    /// not permitted, and each is recorded (RFC 8341).
    #[must_use]
    pub fn as_user(&self, user: Arc<Identity>, from: Option<SocketAddr>, audit: Arc<Audit>) -> Handle {
        let acting = Acting { user, from, audit, seen: Arc::default() };
        Handle { shared: self.shared.clone(), on_candidate: self.on_candidate, acting: Some(acting) }
    }

    /// The transaction with the user whose rights bound it.
    fn bound(&self, transaction: Transaction) -> Transaction {
        match &self.acting {
            Some(acting) => Transaction { user: Some(acting.user.clone()), ..transaction },
            None => transaction,
        }
    }

    /// Whether an operation (an RPC or action by its path) may be invoked.
    ///
    /// # Errors
    /// When it may not.
    pub fn may_invoke(&self, path: &DataPath) -> Result<(), DatastoreError> {
        self.may(access::Operation::Exec, path, Denials::operation)
    }

    /// Whether a notification (by its path) may be told to the user.
    ///
    /// # Errors
    /// When it may not.
    pub fn may_be_told(&self, path: &DataPath) -> Result<(), DatastoreError> {
        self.may(access::Operation::Read, path, Denials::notification)
    }

    /// Whether the user may try this operation on this node. Nothing is counted: nobody has tried yet.
    pub fn may_try(&self, path: &DataPath, operation: access::Operation) -> bool {
        let snapshot = self.shared.published.load();
        let may = |grants: Arc<Grants>| grants.may_try(snapshot.schema, path, &[operation]).is_ok();
        self.grants().is_none_or(may)
    }

    fn may(
        &self,
        operation: access::Operation,
        path: &DataPath,
        count: fn(&Denials),
    ) -> Result<(), DatastoreError> {
        let snapshot = self.shared.published.load();
        let Some(grants) = self.grants() else { return Ok(()) };
        grants.decide(snapshot.schema, &path.steps, operation).map_err(|denial| {
            count(&self.shared.access.denials);
            DatastoreError::Denied(denial)
        })
    }

    /// How often something was refused.
    pub fn denials(&self) -> &Denials {
        &self.shared.access.denials
    }

    /// What the user may do under the rules in force, whatever state it is about; `None`: everything.
    pub(super) fn grants(&self) -> Option<Arc<Grants>> {
        let user = &self.acting.as_ref()?.user;
        let snapshot = self.shared.published.load();
        self.shared.access.grants(snapshot.schema, &snapshot.config.input, user)
    }

    /// The name of the user; of the program, if there is none.
    pub(super) fn user_name(&self) -> Arc<str> {
        self.acting.as_ref().map_or_else(|| "coeus".into(), |acting| acting.user.name.clone())
    }

    /// Who acts, from where, and where that is recorded.
    pub(super) fn recorder(&self) -> Option<(&str, Option<SocketAddr>, &Audit)> {
        self.acting.as_ref().map(|acting| (&*acting.user.name, acting.from, &*acting.audit))
    }

    /// The newest durable state, all of it: for what is worked out on behalf of a user, never for what is shown to him.
    pub fn running(&self) -> Arc<Snapshot> {
        self.shared.published.load_full()
    }

    /// The same datastore with other bounds on candidates; those that are open are not in it.
    #[must_use]
    pub fn with_candidates(self, limits: candidate::Limits) -> Handle {
        let candidates = Arc::new(Candidates::new(limits));
        let shared = Shared { candidates, ..Shared::clone(&self.shared) };
        Handle { shared: Arc::new(shared), ..self }
    }

    /// Whether something of what differs between two states may be read by the user.
    pub fn sees(&self, before: &Snapshot, after: &Snapshot) -> bool {
        let Some(grants) = self.grants() else { return true };
        let may = |path: &DataPath| {
            let read = |end| grants.decide(after.schema, &path.steps[..end], access::Operation::Read);
            (1..=path.steps.len()).all(|end| read(end).is_ok())
        };
        super::core::changes(before, after).iter().any(|change| may(&change.path))
    }

    /// What the user behind this handle may see of a state; the state itself where that is all of it. The rules are those in
    /// force, also for an old state: who may not read something now does not find it in the past either.
    pub fn readable(&self, snapshot: Arc<Snapshot>) -> Arc<Snapshot> {
        match self.grants() {
            Some(grants) => Arc::new(snapshot.readable(&grants)),
            None => snapshot,
        }
    }

    /// The same for callers outside of tokio.
    ///
    /// # Errors
    /// As [`Handle::commit`].
    pub fn commit_blocking(&self, transaction: Transaction) -> Result<Committed, DatastoreError> {
        let transaction = self.bound(transaction);
        let (reply, answer) = oneshot::channel();
        self.shared
            .inbox
            .blocking_send(Message::Commit { transaction, reply })
            .map_err(|_| DatastoreError::Stopped)?;
        answer.blocking_recv().map_err(|_| DatastoreError::Stopped)?
    }

    /// What a transaction would do. Nothing of it happens.
    ///
    /// # Errors
    /// As [`Handle::commit`] would have.
    pub async fn plan(&self, transaction: Transaction) -> Result<Planned, DatastoreError> {
        let transaction = match self.on_candidate.then(|| self.propose_with(&transaction)) {
            Some(Err(error)) => return Err(self.with_origin(error, &transaction.edits).await),
            Some(Ok(proposed)) => proposed,
            None => transaction,
        };
        let transaction = self.bound(transaction);
        let (reply, answer) = oneshot::channel();
        self.shared
            .inbox
            .send(Message::Plan { transaction, reply })
            .await
            .map_err(|_| DatastoreError::Stopped)?;
        answer.await.map_err(|_| DatastoreError::Stopped)?
    }

    /// The same error; that a node is derived is told with whom it is derived of now, which only the writer knows.
    pub(super) async fn with_origin(&self, error: DatastoreError, edits: &[Edit]) -> DatastoreError {
        let mut innermost = &error;
        while let DatastoreError::AtEdit { error, .. } = innermost {
            innermost = error;
        }
        if !matches!(innermost, DatastoreError::DerivedOwned { .. }) {
            return error;
        }
        let (reply, answer) = oneshot::channel();
        let message = Message::Origin { error: error.clone(), edits: edits.to_vec(), reply };
        match self.shared.inbox.send(message).await {
            Ok(()) => answer.await.unwrap_or(error),
            Err(_) => error,
        }
    }

    /// Asks the engine something, between two commits. `None`: it is no `E`, or has stopped.
    pub async fn ask<E: 'static, T: Send + 'static>(
        &self,
        question: impl FnOnce(&E) -> T + Send + 'static,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        let question: Question = Box::new(move |engine| {
            if let Some(engine) = engine.downcast_ref::<E>() {
                let _ = reply.send(question(engine));
            }
        });
        self.shared.inbox.send(Message::Ask { question }).await.ok()?;
        answer.await.ok()
    }

    /// The newest durable state.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let newest =
            if self.on_candidate { self.candidate_state() } else { self.shared.published.load_full() };
        let Some(acting) = &self.acting else { return newest };
        let mut seen = acting.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match &*seen {
            Some(seen) if seen.revision == newest.revision => seen.clone(),
            _ => seen.insert(self.readable(newest)).clone(),
        }
    }

    /// How often and how long the writer works.
    pub fn timings(&self) -> &Timings {
        &self.shared.timings
    }

    /// Tells of every new revision; a slow reader sees the newest only.
    pub fn revisions(&self) -> watch::Receiver<Revision> {
        self.shared.revision.clone()
    }

    /// The revisions of the last while. Reading them keeps no writer waiting.
    pub fn history(&self) -> &History {
        &self.shared.history
    }

    /// When a revision came about, to the second. Revisions of earlier lives, and very old ones, count as newer than
    /// they are.
    pub fn time_of(&self, revision: Revision) -> SystemTime {
        if let Some(time) = candidate::time_of(revision) {
            return time;
        }
        self.shared.times.lock().unwrap_or_else(PoisonError::into_inner).of(revision)
    }

    /// The last revision that had come about in the second of `time`.
    pub fn revision_at(&self, time: SystemTime) -> Revision {
        self.shared.times.lock().unwrap_or_else(PoisonError::into_inner).until(time)
    }

    /// Finishes what waits, writes a checkpoint where one is due, and ends the writer.
    pub async fn stop(&self) {
        let (reply, done) = oneshot::channel();
        if self.shared.inbox.send(Message::Stop { reply }).await.is_ok() {
            let _ = done.await;
        }
    }
}
