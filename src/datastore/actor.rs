//! The single writer: a thread that takes transactions in order, has a group of them journalled with one fdatasync, and only
//! then shows and acknowledges them. Readers take the published snapshot and never wait.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot, watch};

use super::candidate::{self, Candidates};
use super::checkpoint::{self, Checkpointer};
use super::follow::Follower;
use super::journal::{Journal, JournalError, Record, Replica};
use super::readers::Readers;
use super::recovery::{SKIP, kind_of, replayed};
use super::scribe::Scribe;
use super::times::Times;
use super::timings::Timings;
use super::{
    Committed, Core, DatastoreError, Edit, Engine, Entry, History, IdChange, Kind, Limits, Planned, Question,
    Recovered, RecoveryError, Revision, Snapshot, Transaction, recover, wants_checkpoint,
};
use crate::access::{self, Denials, Gatekeeper, Grants, Identity};
use crate::audit::Audit;
use crate::schema::{DataPath, Schema};

/// Transactions that wait before a sender waits too.
const INBOX: usize = 1024;
/// Transactions that share one fdatasync at most.
const GROUP: usize = 512;

pub(super) enum Message {
    Commit {
        transaction: Transaction,
        reply: oneshot::Sender<Result<Committed, DatastoreError>>,
    },
    Plan {
        transaction: Transaction,
        reply: oneshot::Sender<Result<Planned, DatastoreError>>,
    },
    Ask {
        question: Question,
    },
    /// Say of whom what these edits ran into is derived.
    Origin {
        error: DatastoreError,
        edits: Vec<Edit>,
        reply: oneshot::Sender<DatastoreError>,
    },
    /// Carry out what another controller has journalled, if one is followed. The reply is that of all that was durable when it was sent.
    CatchUp {
        reply: oneshot::Sender<Result<Revision, JournalError>>,
    },
    /// The same, of who looks for news: nobody answers where nobody is followed.
    Look {
        reply: oneshot::Sender<Result<Revision, JournalError>>,
    },
    /// Go on in the place of the one that was followed.
    Lead {
        journal: Box<dyn Journal>,
        reply: oneshot::Sender<Result<(), RecoveryError>>,
    },
    Stop {
        reply: oneshot::Sender<()>,
    },
}

/// The way to the datastore. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    inbox: mpsc::Sender<Message>,
    published: Arc<ArcSwap<Snapshot>>,
    revision: watch::Receiver<Revision>,
    times: Arc<Mutex<Times>>,
    timings: Timings,
    history: Arc<History>,
    access: Arc<Gatekeeper>,
    pub(super) candidates: Arc<Candidates>,
    /// Reads and commits are about the candidate of the user.
    pub(super) on_candidate: bool,
    /// `None`: the program itself.
    acting: Option<Acting>,
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

/// A datastore that is running, and what its recovery found.
pub struct Started {
    pub handle: Handle,
    pub records: usize,
    pub repairs: Vec<String>,
}

/// Recovers from the journal, lets the engine derive everything, and starts the writer.
///
/// # Errors
/// When the journal cannot be trusted or does not fit the models.
pub fn start(
    schema: &'static Schema,
    journal: Box<dyn Journal>,
    engine: Box<dyn Engine>,
) -> Result<Started, RecoveryError> {
    start_with(schema, journal, engine, Limits::default())
}

/// The same with other limits for what is kept of the past.
///
/// # Errors
/// As [`start`].
pub fn start_with(
    schema: &'static Schema,
    mut journal: Box<dyn Journal>,
    engine: Box<dyn Engine>,
    limits: Limits,
) -> Result<Started, RecoveryError> {
    let recovered = recover(schema, journal.as_mut(), limits.revisions)?;
    let Begun { core, readers, revision, records, repairs, last } = begin(recovered, engine, limits);
    let timings = Timings::default();
    let (inbox, messages) = mpsc::channel(INBOX);
    let handle = handle(inbox, &core, &readers, revision, timings.clone());
    let mut writer = Writer::new(core, readers, journal, timings, records, last)?;
    if wants_checkpoint(records) {
        writer.checkpoint();
    }
    spawn(move || writer.run(messages))?;
    Ok(Started { handle, records, repairs })
}

/// Starts a datastore that follows what another controller journals, until [`Handle::lead`] has it go on itself.
///
/// # Errors
/// As [`start`].
pub fn follow(
    schema: &'static Schema,
    mut source: Box<dyn Replica>,
    engine: Box<dyn Engine>,
    limits: Limits,
) -> Result<Started, RecoveryError> {
    let recovered = replayed(schema, source.load()?, limits.revisions, Ok)?;
    let Begun { core, readers, revision, records, repairs, last } = begin(recovered, engine, limits);
    let timings = Timings::default();
    let (inbox, messages) = mpsc::channel(INBOX);
    let handle = handle(inbox.clone(), &core, &readers, revision, timings.clone());
    let mut wait = source.changes();
    let follower = Follower { core, readers, timings, source, records, last };
    spawn(move || follower.run(messages))?;
    let look = move || loop {
        wait();
        let (reply, done) = oneshot::channel();
        if inbox.blocking_send(Message::Look { reply }).is_err() {
            return;
        }
        match done.blocking_recv() {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "what the active controller writes cannot be followed"),
            Err(_) => return,
        }
    };
    let thread = std::thread::Builder::new().name("follow".into()).spawn(look);
    thread.map_err(no_thread)?;
    Ok(Started { handle, records, repairs })
}

/// A state that was recovered and is shown.
struct Begun {
    core: Core,
    readers: Readers,
    revision: watch::Receiver<Revision>,
    records: usize,
    repairs: Vec<String>,
    last: u64,
}

fn begin(recovered: Recovered, mut engine: Box<dyn Engine>, limits: Limits) -> Begun {
    let Recovered { snapshot, ids, resting, past, last, records, repairs } = recovered;
    let now = SystemTime::now();
    engine.rest(&resting);
    let mut core = Core::new(snapshot, &ids, engine, now);
    let history = Arc::new(History::new(limits));
    let present = base(&core, past.last().map_or(Revision(last), |entry| entry.revision), now);
    drop(history.add(past.into_iter().chain([present]), now));
    core.published();
    let (readers, revision) = Readers::new(&core, history, now);
    Begun { core, readers, revision, records, repairs, last }
}

/// The present state, as one that no transaction of this process led to.
pub(super) fn base(core: &Core, previous: Revision, now: SystemTime) -> Entry {
    Entry {
        revision: core.snapshot.revision,
        previous,
        time: now,
        author: "coeus".into(),
        kind: Kind::Base,
        is_earlier: false,
        state: core.state.clone(),
        bytes: 0,
    }
}

fn handle(
    inbox: mpsc::Sender<Message>,
    core: &Core,
    readers: &Readers,
    revision: watch::Receiver<Revision>,
    timings: Timings,
) -> Handle {
    Handle {
        inbox,
        published: readers.published.clone(),
        revision,
        times: readers.times.clone(),
        timings,
        history: readers.history.clone(),
        access: core.access.clone(),
        candidates: Arc::default(),
        on_candidate: false,
        acting: None,
    }
}

fn no_thread(error: std::io::Error) -> JournalError {
    JournalError::Io { path: "thread".into(), reason: error.to_string() }
}

fn spawn(run: impl FnOnce() + Send + 'static) -> Result<(), JournalError> {
    std::thread::Builder::new().name("datastore".into()).spawn(run).map_err(no_thread).map(drop)
}

impl Handle {
    /// Carries a transaction out; returns when it is durable and visible.
    ///
    /// # Errors
    /// When it is impossible; then nothing of it happened.
    pub async fn commit(&self, transaction: Transaction) -> Result<Committed, DatastoreError> {
        if self.on_candidate {
            return self.edit_candidate(&transaction).await;
        }
        let Some(acting) = &self.acting else { return self.send(transaction).await };
        let schema = self.published.load().schema;
        let paths: Vec<String> = transaction.edits.iter().map(|edit| edit.path.display(schema)).collect();
        let outcome = self.send(self.bound(transaction)).await;
        let result = outcome.as_ref().map(|done| done.revision.0).map_err(ToString::to_string);
        acting.audit.write(&acting.user.name, acting.from, &paths, result);
        outcome
    }

    async fn send(&self, transaction: Transaction) -> Result<Committed, DatastoreError> {
        let (reply, answer) = oneshot::channel();
        self.inbox.send(Message::Commit { transaction, reply }).await.map_err(|_| DatastoreError::Stopped)?;
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
        self.inbox.send(Message::CatchUp { reply }).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Goes on in the place of the controller that was followed, with a journal that is this one's now.
    ///
    /// # Errors
    /// When what was written last cannot be read, or nothing can be written.
    pub async fn lead(&self, journal: Box<dyn Journal>) -> Result<(), RecoveryError> {
        let stopped = || JournalError::Io { path: "datastore".into(), reason: "it has stopped".into() };
        let (reply, answer) = oneshot::channel();
        self.inbox.send(Message::Lead { journal, reply }).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// The same datastore with the rights of a user: reads leave out what may not be read, writes are refused where they are
    /// not permitted, and each is recorded (RFC 8341).
    #[must_use]
    pub fn as_user(&self, user: Arc<Identity>, from: Option<SocketAddr>, audit: Arc<Audit>) -> Handle {
        let acting = Acting { user, from, audit, seen: Arc::default() };
        Handle { acting: Some(acting), ..self.clone() }
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

    fn may(
        &self,
        operation: access::Operation,
        path: &DataPath,
        count: fn(&Denials),
    ) -> Result<(), DatastoreError> {
        let snapshot = self.published.load();
        let Some(grants) = self.grants() else { return Ok(()) };
        grants.decide(snapshot.schema, &path.steps, operation).map_err(|denial| {
            count(&self.access.denials);
            DatastoreError::Denied(denial)
        })
    }

    /// How often something was refused.
    pub fn denials(&self) -> &Denials {
        &self.access.denials
    }

    /// What the user may do under the rules in force, whatever state it is about; `None`: everything.
    pub(super) fn grants(&self) -> Option<Arc<Grants>> {
        let user = &self.acting.as_ref()?.user;
        let snapshot = self.published.load();
        self.access.grants(snapshot.schema, &snapshot.config.input, user)
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
        self.published.load_full()
    }

    /// The same datastore with other bounds on candidates; those that are open are not in it.
    #[must_use]
    pub fn with_candidates(self, limits: candidate::Limits) -> Handle {
        Handle { candidates: Arc::new(Candidates::new(limits)), ..self }
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
        self.inbox
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
        self.inbox.send(Message::Plan { transaction, reply }).await.map_err(|_| DatastoreError::Stopped)?;
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
        match self.inbox.send(message).await {
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
        self.inbox.send(Message::Ask { question }).await.ok()?;
        answer.await.ok()
    }

    /// The newest durable state.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let newest = if self.on_candidate { self.candidate_state() } else { self.published.load_full() };
        let Some(acting) = &self.acting else { return newest };
        let mut seen = acting.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match &*seen {
            Some(seen) if seen.revision == newest.revision => seen.clone(),
            _ => seen.insert(self.readable(newest)).clone(),
        }
    }

    /// How often and how long the writer works.
    pub fn timings(&self) -> &Timings {
        &self.timings
    }

    /// Tells of every new revision; a slow reader sees the newest only.
    pub fn revisions(&self) -> watch::Receiver<Revision> {
        self.revision.clone()
    }

    /// The revisions of the last while. Reading them keeps no writer waiting.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// When a revision came about, to the second. Revisions of earlier lives, and very old ones, count as newer than
    /// they are.
    pub fn time_of(&self, revision: Revision) -> SystemTime {
        if let Some(time) = candidate::time_of(revision) {
            return time;
        }
        self.times.lock().unwrap_or_else(PoisonError::into_inner).of(revision)
    }

    /// The last revision that had come about in the second of `time`.
    pub fn revision_at(&self, time: SystemTime) -> Revision {
        self.times.lock().unwrap_or_else(PoisonError::into_inner).until(time)
    }

    /// Finishes what waits, writes a checkpoint where one is due, and ends the writer.
    pub async fn stop(&self) {
        let (reply, done) = oneshot::channel();
        if self.inbox.send(Message::Stop { reply }).await.is_ok() {
            let _ = done.await;
        }
    }
}

pub(super) struct Writer {
    core: Core,
    scribe: Scribe,
    checkpoints: Checkpointer,
    readers: Readers,
    timings: Timings,
    /// Records behind the newest checkpoint.
    records: usize,
    /// Those of them that the checkpoint left for the sake of the past.
    replayed: usize,
    /// The newest revision that the journal knows.
    last: u64,
}

type Waiting = (oneshot::Sender<Result<Committed, DatastoreError>>, Result<Committed, DatastoreError>);

impl Writer {
    /// `records`: those behind the newest checkpoint; `last`: the newest revision that the journal knows.
    pub fn new(
        core: Core,
        readers: Readers,
        journal: Box<dyn Journal>,
        timings: Timings,
        records: usize,
        last: u64,
    ) -> Result<Writer, JournalError> {
        let checkpoints = checkpoint::start(journal.checkpoints()).map_err(no_thread)?;
        let scribe = Scribe::start(journal, timings.clone()).map_err(no_thread)?;
        Ok(Writer { core, scribe, checkpoints, readers, timings, records, replayed: 0, last })
    }

    /// Makes the present revision durable, so that nobody takes it for one that is not there yet.
    pub fn mark(&mut self, now: SystemTime) -> Result<(), JournalError> {
        let revision = self.core.snapshot.revision.0;
        if revision > self.last {
            let milestone = self.milestone(seconds(now));
            self.scribe.begin(vec![milestone]);
            self.scribe.finish()?;
            (self.records, self.last) = (self.records + 1, revision);
        }
        Ok(())
    }

    pub fn run(mut self, mut inbox: mpsc::Receiver<Message>) {
        while let Some(first) = inbox.blocking_recv() {
            let mut group = vec![first];
            while group.len() < GROUP
                && let Ok(next) = inbox.try_recv()
            {
                group.push(next);
            }
            if let Some(stopped) = self.group(group) {
                inbox.close();
                let last = self.checkpoints.wait().unwrap_or_default();
                self.checkpointed(last);
                if self.records > self.readers.history.records_after(Revision(0)) {
                    self.checkpoint();
                    let last = self.checkpoints.wait().unwrap_or_default();
                    self.checkpointed(last);
                }
                let _ = stopped.send(());
                return;
            }
        }
    }

    /// Carries a group out. Returns the reply that waits for the end, if the end was asked for.
    fn group(&mut self, messages: Vec<Message>) -> Option<oneshot::Sender<()>> {
        let started = Instant::now();
        let now = SystemTime::now();
        let time = seconds(now);
        let mark = self.core.mark();
        let mut waiting: Vec<Waiting> = Vec::with_capacity(messages.len());
        // Who is alone waits for nobody: the record goes to the disk while the transaction is rendered.
        let is_alone = messages.len() == 1;
        let mut journalled = Journalled::default();
        let mut records = Vec::new();
        let mut entries = Vec::new();
        let mut stop = None;
        for message in messages {
            self.settle(&mut entries, now);
            match message {
                Message::Stop { reply } => stop = Some(reply),
                Message::CatchUp { reply } => {
                    let _ = reply.send(Ok(*self.readers.shown.borrow()));
                }
                Message::Look { .. } | Message::Lead { .. } => {}
                Message::Ask { question } => self.core.ask(question),
                Message::Origin { error, edits, reply } => {
                    let _ = reply.send(self.core.with_origin(error, &edits));
                }
                Message::Plan { transaction, reply } => {
                    let _ = reply.send(guarded(&mut self.core, now, |core| core.plan(&transaction, now)));
                }
                Message::Commit { transaction, reply } => {
                    let Writer { core, scribe, .. } = self;
                    let (before, schema) = (core.snapshot.revision, core.snapshot.schema);
                    let mut length = None;
                    let mut decided = |revision: Revision, ids: &[IdChange]| {
                        let Transaction { author, edits, .. } = &transaction;
                        let record = record(revision, author, time, edits, ids).to_bytes(schema);
                        length = Some(record.len());
                        journalled.add(revision);
                        if is_alone {
                            scribe.begin(vec![(revision.0, record)]);
                        } else {
                            records.push((revision.0, record));
                        }
                    };
                    let outcome =
                        guarded(core, now, |core| core.apply_unsettled(&transaction, now, &mut decided));
                    if let (Some(_), Err(error)) = (length, &outcome) {
                        // Going on would give the revision to another transaction. A restart carries out what the journal has.
                        tracing::error!(%error, "what was decided could not be carried out; the program ends");
                        std::process::abort();
                    }
                    if let Ok(committed) = &outcome
                        && committed.changed
                    {
                        let bytes = length.unwrap_or_default();
                        entries.push(Entry { bytes, ..self.entry(&transaction, before, now) });
                    }
                    waiting.push((reply, outcome));
                }
            }
        }
        if journalled.count == 0 && self.core.snapshot.revision.0 > self.last + SKIP / 2 {
            journalled.add(self.core.snapshot.revision);
            records.push(self.milestone(time));
        }
        self.scribe.begin(records);
        if self.scribe.is_under_way() {
            // The disk is waited for anyway.
            self.settle(&mut entries, now);
        }
        if let Err(error) = self.scribe.finish() {
            tracing::error!(%error, transactions = waiting.len(), "nothing could be made durable; taking it back");
            self.core.roll_back(mark, now);
            entries.clear();
            journalled = Journalled::default();
            let reason = error.to_string();
            for (_, outcome) in &mut waiting {
                if matches!(outcome, Ok(committed) if committed.changed) {
                    *outcome = Err(DatastoreError::NotDurable { reason: reason.clone() });
                }
            }
        }
        // Switches are told while what is derived is put where it is read, if there was no time for it yet.
        self.core.published();
        self.settle(&mut entries, now);
        self.records += journalled.count;
        self.last = journalled.last.map_or(self.last, |last| last.0);
        self.core.keep();
        if let Some(last) = entries.last_mut().filter(|last| last.revision == self.core.snapshot.revision) {
            // Whole, and without the way that leads to it.
            last.state = self.core.state.clone();
        }
        let gone = self.readers.history.add(entries, now);
        self.readers.show(&mut self.core, now);
        let took = started.elapsed();
        for (reply, outcome) in waiting {
            self.timings.committed(outcome.is_ok(), took);
            let _ = reply.send(outcome);
        }
        drop(gone);
        let last = self.checkpoints.outcome();
        self.checkpointed(last);
        if wants_checkpoint(self.records.saturating_sub(self.replayed)) {
            self.checkpoint();
        }
        stop
    }

    /// Has what the last commit derived stand in the trees, also in its entry.
    fn settle(&mut self, entries: &mut [Entry], now: SystemTime) {
        if self.core.settle(now)
            && let Some(last) = entries.last_mut()
        {
            last.state = self.core.state.clone();
        }
    }

    fn entry(&self, transaction: &Transaction, previous: Revision, now: SystemTime) -> Entry {
        let kind = if transaction.durable { kind_of(&transaction.edits) } else { Kind::Passing };
        Entry {
            revision: self.core.snapshot.revision,
            previous,
            time: now,
            author: transaction.author.clone(),
            kind,
            is_earlier: false,
            state: self.core.state.clone(),
            bytes: 0,
        }
    }

    /// A record without edits: the journal has to know how far revisions are, so that none is used again.
    fn milestone(&self, time: u64) -> (u64, Vec<u8>) {
        let revision = self.core.snapshot.revision.0;
        (revision, record(Revision(revision), "coeus", time, &[], &[]).to_bytes(self.core.snapshot.schema))
    }

    /// Has a checkpoint put in place of old records. Those of the kept revisions stay behind it, so that a start finds them.
    fn checkpoint(&mut self) {
        if let Some(base) = self.readers.history.checkpoint_base().filter(|_| !self.checkpoints.is_busy()) {
            self.checkpoints.order(base);
        }
    }

    /// Takes note of a checkpoint that has been written.
    fn checkpointed(&mut self, outcome: Option<(Revision, Result<(), JournalError>)>) {
        match outcome {
            Some((base, Ok(()))) => {
                self.replayed = self.readers.history.records_after(base);
                self.records = self.replayed;
            }
            Some((_, Err(error))) => {
                tracing::warn!(%error, "no checkpoint could be written; the journal keeps growing");
            }
            None => {}
        }
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What of a group the journal has, or will have.
#[derive(Default)]
struct Journalled {
    count: usize,
    last: Option<Revision>,
}

impl Journalled {
    fn add(&mut self, revision: Revision) {
        self.count += 1;
        self.last = Some(revision);
    }
}

/// A fault of ours costs the transaction that met it, not the process: the state before it is computed anew.
fn guarded<T>(
    core: &mut Core,
    now: SystemTime,
    step: impl FnOnce(&mut Core) -> Result<T, DatastoreError>,
) -> Result<T, DatastoreError> {
    catch_unwind(AssertUnwindSafe(|| step(core))).unwrap_or_else(|_| {
        tracing::error!("a transaction met a fault of the program and is refused");
        core.roll_back(core.mark(), now);
        Err(DatastoreError::Rendering { reason: "a fault of the program, see its log".into() })
    })
}

fn record<'a>(
    revision: Revision,
    author: &'a str,
    time: u64,
    edits: &'a [Edit],
    ids: &'a [IdChange],
) -> Record<'a> {
    Record { revision: revision.0, author: author.into(), time, edits: edits.into(), ids: ids.into() }
}
