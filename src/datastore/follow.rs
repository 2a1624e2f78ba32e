//! A datastore whose writer is another controller: it carries out again what that one has journalled, shows it to its readers, and can
//! go on in its place.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{mpsc, oneshot};

use super::actor::{Message, Writer, base};
use super::core::{changes, derive, take_ids};
use super::history::{Entry, Ids};
use super::in_place::entry_at;
use super::journal::{Journal, JournalError, News, Record, RecordError, Replica};
use super::past::State;
use super::readers::Readers;
use super::recovery::{fresh, kind_of, replayed};
use super::timings::Timings;
use super::{
    Change, Commit, Core, DatastoreError, Edit, IdChange, Operation, Recovered, RecoveryError, Revision,
    Snapshot, Store,
};
use crate::schema::{Parents, TreeError, diff_entry, reposition, stamp_since, tree};

pub(super) struct Follower {
    pub core: Core,
    pub readers: Readers,
    pub timings: Timings,
    pub source: Box<dyn Replica>,
    /// Records behind the checkpoint of the store; too many, once that one has got a newer one.
    pub records: usize,
    /// The newest revision that the store knows, as far as it was read.
    pub last: u64,
}

/// What ends the following.
enum End {
    Stop(oneshot::Sender<()>),
    Lead(Box<dyn Journal>, oneshot::Sender<Result<(), RecoveryError>>),
}

impl Follower {
    pub fn run(mut self, mut inbox: mpsc::Receiver<Message>) {
        while let Some(first) = inbox.blocking_recv() {
            let mut group = vec![first];
            while let Ok(next) = inbox.try_recv() {
                group.push(next);
            }
            match self.group(group) {
                None => {}
                Some(End::Stop(stopped)) => {
                    inbox.close();
                    let _ = stopped.send(());
                    return;
                }
                Some(End::Lead(journal, reply)) => {
                    match self.lead(journal) {
                        Ok(writer) => {
                            let _ = reply.send(Ok(()));
                            writer.run(inbox);
                        }
                        Err(error) => drop(reply.send(Err(error))),
                    }
                    return;
                }
            }
        }
    }

    /// Answers a group: all that ask how things are now share one look at the store, which begins after they have asked.
    fn group(&mut self, messages: Vec<Message>) -> Option<End> {
        let mut waiting = Vec::new();
        let mut end = None;
        for message in messages {
            match message {
                Message::CatchUp { reply } | Message::Look { reply } => waiting.push(reply),
                Message::Commit { reply, .. } => drop(reply.send(Err(DatastoreError::NotActive))),
                Message::Plan { reply, .. } => drop(reply.send(Err(DatastoreError::NotActive))),
                Message::Ask { question } => self.core.ask(question),
                Message::Origin { error, edits, reply } => {
                    let _ = reply.send(self.core.with_origin(error, &edits));
                }
                Message::Lead { journal, reply } => end = Some(End::Lead(journal, reply)),
                Message::Stop { reply } => end = Some(End::Stop(reply)),
            }
        }
        if !waiting.is_empty() {
            let outcome = self.look();
            for reply in waiting {
                let _ = reply.send(match &outcome {
                    Ok(()) => Ok(self.core.snapshot.revision),
                    Err(error) => Err(again(error)),
                });
            }
        }
        end
    }

    /// Carries out everything that is durable now.
    fn look(&mut self) -> Result<(), RecoveryError> {
        loop {
            match self.source.news()? {
                News::Gone => self.load_anew()?,
                News::Records { records, newest, checkpoint } => {
                    let is_all = records.last().is_none_or(|(revision, _)| *revision >= newest);
                    for (revision, bytes) in &records {
                        self.carry_out(*revision, bytes)?;
                    }
                    if checkpoint >= self.last {
                        self.records = 0;
                    }
                    if is_all {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn carry_out(&mut self, revision: u64, bytes: &[u8]) -> Result<(), RecordError> {
        let record = Record::from_bytes(self.core.snapshot.schema, revision, bytes)?;
        let previous = self.core.snapshot.revision;
        let outcome = self.core.follow(&record);
        outcome.map_err(|error| RecordError { revision, reason: error.to_string() })?;
        let entry = Entry {
            revision: Revision(revision),
            previous,
            time: time_of(&record),
            author: record.author.as_ref().into(),
            kind: kind_of(&record.edits),
            is_earlier: false,
            state: self.core.state.clone(),
            bytes: bytes.len(),
        };
        self.core.published();
        let now = SystemTime::now();
        let gone = self.readers.history.add([entry], now);
        self.readers.show(&mut self.core, now);
        drop(gone);
        self.last = revision;
        self.records += 1;
        Ok(())
    }

    /// Begins again with all that the store holds: a checkpoint has taken the place of what is missing here.
    fn load_anew(&mut self) -> Result<(), RecoveryError> {
        let loaded = self.source.load()?;
        let schema = self.core.snapshot.schema;
        let Recovered { snapshot, ids, records, last, .. } = replayed(schema, loaded, 0, Ok)?;
        let (previous, now) = (self.core.snapshot.revision, SystemTime::now());
        tracing::info!(
            from = previous.0,
            to = last,
            "what is missing is in a checkpoint by now; everything is loaded anew"
        );
        self.core.replace(snapshot, &ids, now);
        self.core.published();
        drop(self.readers.history.add([base(&self.core, previous, now)], now));
        self.readers.show(&mut self.core, now);
        (self.records, self.last) = (records, last);
        Ok(())
    }

    /// Becomes the writer: nobody else appends to this journal any more.
    fn lead(mut self, journal: Box<dyn Journal>) -> Result<Writer, RecoveryError> {
        self.look()?;
        let (previous, now) = (self.core.snapshot.revision, SystemTime::now());
        self.core.go_on_from(Revision(fresh(self.last)?));
        drop(self.readers.history.add([base(&self.core, previous, now)], now));
        let Follower { mut core, readers, timings, records, last, .. } = self;
        core.published();
        readers.show(&mut core, now);
        let mut writer = Writer::new(core, readers, journal, timings, records, last)?;
        writer.mark(now)?;
        Ok(writer)
    }
}

/// The same error once more, for another who waits.
fn again(error: &RecoveryError) -> JournalError {
    JournalError::Io { path: "the store".into(), reason: error.to_string() }
}

fn time_of(record: &Record<'_>) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(record.time)
}

impl Core {
    /// Carries out what another controller has carried out and journalled. Nothing can refuse it any more.
    ///
    /// # Errors
    /// When an edit does not fit the state; nothing has happened then.
    pub(super) fn follow(&mut self, record: &Record<'_>) -> Result<(), TreeError> {
        let (revision, now) = (Revision(record.revision), time_of(record));
        let (after, changes) = self.edited_again(&record.edits, revision)?;
        let commit = Commit { revision, after: &after, changes: &changes, now };
        let derived = match changes.is_empty() {
            true if self.knows(&record.ids) => Some([].into()),
            true => None,
            false => self.follow_with_engine(&commit, &record.ids),
        };
        self.remember(revision, &changes);
        self.take_told(&record.ids);
        self.snapshot = Snapshot { revision, ..after };
        match derived {
            Some(edits) => {
                derive(&mut self.snapshot, &edits, revision.0);
                self.state = State::kept(Arc::new(self.snapshot.clone()), self.ids.clone());
            }
            // A start took them there; one here may have taken others.
            None if changes.is_empty() => {
                self.state = State::kept(Arc::new(self.snapshot.clone()), self.ids.clone());
                self.restore(now);
            }
            None => self.derive_anew(now),
        }
        Ok(())
    }

    /// Whether these ids are in force here, or not, as they are there.
    fn knows(&self, ids: &[IdChange]) -> bool {
        ids.iter().all(|one| self.ids.get(&(one.pool.clone(), one.key.clone())).copied() == one.id)
    }

    /// What follows from a commit, if it follows here as it did there.
    fn follow_with_engine(
        &mut self,
        commit: &Commit<'_>,
        ids: &[IdChange],
    ) -> Option<Arc<[super::DerivedEdit]>> {
        let engine = &mut *self.engine;
        let taken = catch_unwind(AssertUnwindSafe(|| engine.follow(commit, ids))).ok()?;
        if !is_same(&taken, ids) {
            tracing::error!(
                revision = commit.revision.0,
                "the ids of a commit are not those that it needs here"
            );
            return None;
        }
        self.render(commit)
    }

    /// The state after edits that were valid where they were made.
    fn edited_again(&self, edits: &[Edit], revision: Revision) -> Result<(Snapshot, Vec<Change>), TreeError> {
        let mut after = self.snapshot.clone();
        let schema = after.schema;
        if let Some((edit, entry)) = self.in_place(edits) {
            let old = entry_at(&after, edit, &entry);
            edit_again(&mut after, edit, revision.0)?;
            let new = entry_at(&after, edit, &entry);
            let found = diff_entry(schema, &entry, old.as_ref(), new.as_ref()).into_iter();
            let changes =
                found.map(|(path, before, after)| Change { store: edit.store, path, before, after });
            return Ok((after, changes.collect()));
        }
        for edit in edits {
            edit_again(&mut after, edit, 0)?;
        }
        let changes = changes(&self.snapshot, &after);
        for store in [Store::Config, Store::Operational] {
            let old = &self.snapshot.layers(store).input;
            let new = after.layers_mut(store);
            new.input = stamp_since(old, &new.input, revision.0);
        }
        Ok((after, changes))
    }

    /// Puts another state in place of this one. The engine computes everything anew.
    fn replace(&mut self, snapshot: Snapshot, ids: &[IdChange], now: SystemTime) {
        let mut in_force = Ids::new();
        take_ids(&mut in_force, ids);
        self.state = State::kept(Arc::new(snapshot), in_force);
        self.restore(now);
    }

    /// The same state under a later revision.
    pub(super) fn go_on_from(&mut self, revision: Revision) {
        self.snapshot.revision = revision.max(self.snapshot.revision);
        self.state = State::kept(Arc::new(self.snapshot.clone()), self.ids.clone());
    }
}

fn is_same(taken: &[IdChange], ids: &[IdChange]) -> bool {
    let in_order = |ids: &[IdChange]| {
        let mut all: Vec<_> = ids.iter().map(|one| (one.pool.clone(), one.key.clone(), one.id)).collect();
        all.sort();
        all
    };
    in_order(taken) == in_order(ids)
}

fn edit_again(after: &mut Snapshot, edit: &Edit, revision: u64) -> Result<(), TreeError> {
    let schema = after.schema;
    let input = &mut after.layers_mut(edit.store).input;
    match (edit.operation, &edit.node) {
        (Operation::Create | Operation::Replace, Some(node)) => {
            tree::put_at(input, schema, &edit.path, node.clone(), Parents::Create, revision)?;
        }
        (Operation::Merge, Some(node)) => {
            tree::merge_at(input, schema, &edit.path, node.clone(), Parents::Create, revision)?;
        }
        (Operation::Delete | Operation::Remove, _) => {
            tree::set(input, schema, &edit.path.steps, None, revision)?;
        }
        _ => {}
    }
    match &edit.position {
        Some(position) => reposition(input, schema, &edit.path, position),
        None => Ok(()),
    }
}
