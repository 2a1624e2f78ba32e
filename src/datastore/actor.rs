//! The single writer: a thread that takes transactions in order, has a group of them journalled with one fdatasync, and only
//! then shows and acknowledges them. Readers take the published snapshot and never wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::{mpsc, oneshot};

use super::checkpoint::{self, Checkpointer};
use super::follow::Follower;
use super::handle::Handle;
use super::journal::{Journal, JournalError, Record, Replica};
use super::readers::Readers;
use super::recovery::{SKIP, kind_of, replayed};
use super::scribe::Scribe;
use super::timings::Timings;
use super::{
    Committed, Core, DatastoreError, Edit, Engine, Entry, History, IdChange, Kind, Limits, Planned, Question,
    Recovered, RecoveryError, Revision, Transaction, recover, wants_checkpoint,
};
use crate::schema::Schema;

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
    let Begun { core, readers, timings, records, last, handle, messages, repairs } =
        begin(recovered, engine, limits);
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
    let Begun { core, readers, timings, records, last, handle, messages, repairs } =
        begin(recovered, engine, limits);
    let (inbox, mut wait) = (handle.inbox().clone(), source.changes());
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

/// A state that was recovered and is shown, and the way to whom goes on with it.
struct Begun {
    core: Core,
    readers: Readers,
    timings: Timings,
    /// Records behind the newest checkpoint.
    records: usize,
    /// The newest revision that the journal knows.
    last: u64,
    handle: Handle,
    messages: mpsc::Receiver<Message>,
    repairs: Vec<String>,
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
    let timings = Timings::default();
    let (inbox, messages) = mpsc::channel(INBOX);
    let handle = Handle::new(inbox, &core, &readers, revision, timings.clone());
    Begun { core, readers, timings, records, last, handle, messages, repairs }
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

fn no_thread(error: std::io::Error) -> JournalError {
    JournalError::Io { path: "thread".into(), reason: error.to_string() }
}

fn spawn(run: impl FnOnce() + Send + 'static) -> Result<(), JournalError> {
    std::thread::Builder::new().name("datastore".into()).spawn(run).map_err(no_thread).map(drop)
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
    /// The last append failed.
    has_failed: bool,
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
        Ok(Writer {
            core,
            scribe,
            checkpoints,
            readers,
            timings,
            records,
            replayed: 0,
            last,
            has_failed: false,
        })
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

    /// Has the journal show that it writes again after it could not, and tells it what a start did with ids: nobody's commit is to be taken
    /// back for the one, and no id to be another's after the next start for the other. The record has no edits.
    fn prove(&mut self, now: SystemTime) -> Result<(), JournalError> {
        if !self.has_failed && self.core.untold.is_empty() {
            return Ok(());
        }
        let previous = self.core.snapshot.revision;
        let revision = Revision(previous.0.max(self.last) + 1);
        let schema = self.core.snapshot.schema;
        let record = record(revision, "coeus", seconds(now), &[], &self.core.untold).to_bytes(schema);
        let bytes = record.len();
        self.scribe.begin(vec![(revision.0, record)]);
        self.scribe.finish()?;
        self.has_failed = false;
        self.core.untold.clear();
        self.core.go_on_from(revision);
        (self.records, self.last) = (self.records + 1, revision.0);
        drop(self.readers.history.add([Entry { bytes, ..base(&self.core, previous, now) }], now));
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
        let is_durable =
            |message: &Message| matches!(message, Message::Commit { transaction, .. } if transaction.durable);
        let refused = if messages.iter().any(is_durable) { self.prove(now).err() } else { None };
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
                Message::Commit { transaction, reply }
                    if transaction.durable
                        && let Some(error) = &refused =>
                {
                    waiting.push((reply, Err(DatastoreError::NotDurable { reason: error.to_string() })));
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
            self.has_failed = true;
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
