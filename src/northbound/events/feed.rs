//! One reader's events, computed from the kept revisions: what he asked for, where he is, what comes next. No waiting, no clock.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::changes::changes;
use super::document::{Form, Moment, time};
use super::filter::Chooser;
use super::notify::{Maker, Notification, Statuses, config_change};
use super::source::Source;
use crate::datastore::{Cursor, Entry, Handle, History, HistoryError, Kind as Cause, Revision, Snapshot};
use crate::northbound::restconf::Encoding;
use crate::schema::{DataPath, Fields, Schema, TreeError};

/// The streams of RFC 8040.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// Changed configuration.
    Netconf,
    /// States of pods and switches.
    Coeus,
}

impl Stream {
    pub const ALL: [Stream; 2] = [Stream::Netconf, Stream::Coeus];

    pub fn name(self) -> &'static str {
        match self {
            Stream::Netconf => "NETCONF",
            Stream::Coeus => "coeus",
        }
    }

    pub fn description(self) -> &'static str {
        match self {
            Stream::Netconf => "Transactions that changed the configuration (RFC 6470)",
            Stream::Coeus => {
                "Pods that are pending, desired, programmed or failed; switches that connect or are lost; pools of addresses that run low"
            }
        }
    }

    pub fn named(name: &str) -> Option<Stream> {
        Stream::ALL.into_iter().find(|stream| stream.name() == name)
    }
}

/// What is watched.
#[derive(Clone, PartialEq, Debug)]
pub enum Target {
    /// Parts of a datastore, none inside of another.
    Data {
        source: Source,
        parts: Vec<DataPath>,
    },
    Stream {
        stream: Stream,
        chooser: Option<Chooser>,
    },
}

/// Where a reader begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// With the present; `sync`: with the present state of data.
    Now { sync: bool },
    /// Behind a revision, of whose successor he has seen some events.
    Behind { revision: Revision, seen: usize },
    /// With what happened since.
    Since(SystemTime),
}

/// What a reader asks for.
#[derive(Clone, PartialEq, Debug)]
pub struct Order {
    pub target: Target,
    pub encoding: Encoding,
    pub start: Start,
    pub stop: Option<SystemTime>,
    /// Shortest time between two updates.
    pub dampening: Duration,
}

/// One event, and where a reader is who has seen it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    pub id: String,
    pub text: Vec<u8>,
}

/// Why the events of a reader cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FeedError {
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error("the state of revision {} is not known exactly any more: {reason}; start from the present state", .revision.0)]
    Inexact { revision: Revision, reason: &'static str },
}

/// A place in the id of an event: the revision, or the one before it and how many events of it were seen.
///
/// `12` is behind all of revision 12; `12.1` is behind the first event of it.
pub fn place(id: &str) -> Option<Start> {
    let (revision, seen) = id.split_once('.').unwrap_or((id, ""));
    let revision: u64 = revision.parse().ok()?;
    if id.contains('.') {
        let seen = seen.parse().ok().filter(|seen| *seen > 0)?;
        return Some(Start::Behind { revision: Revision(revision.checked_sub(1)?), seen });
    }
    Some(Start::Behind { revision: Revision(revision), seen: 0 })
}

/// Where a reader is.
pub struct Feed {
    pub schema: &'static Schema,
    pub order: Order,
    subscription: Option<u32>,
    /// With the rights of the reader.
    datastore: Handle,
    cursor: Cursor,
    /// What the reader may see of the state at the cursor.
    state: Arc<Snapshot>,
    statuses: Option<Statuses>,
    /// Events of the next revision that the reader has.
    seen: usize,
    /// What comes next is behind the time that the reader set as the end.
    pub is_over: bool,
}

impl Feed {
    /// # Errors
    /// When the kept revisions do not reach back so far.
    pub fn start(datastore: &Handle, order: Order, subscription: Option<u32>) -> Result<Feed, FeedError> {
        let history = datastore.history();
        let newest = || history.at(newest(history));
        let (entry, seen) = match order.start {
            Start::Now { .. } => (newest()?, 0),
            Start::Behind { revision, seen } => (exact(history, &order.target, revision)?, seen),
            Start::Since(time) => {
                let past = history.list();
                let before = past.iter().rfind(|entry| entry.time < time).or(past.first()).cloned();
                (before.map_or_else(newest, Ok)?, 0)
            }
        };
        let schema = entry.snapshot().schema;
        let state = datastore.readable(entry.snapshot().clone());
        let statuses = matches!(order.target, Target::Stream { stream: Stream::Coeus, .. })
            .then(|| Statuses::of(schema, &state));
        let cursor = history.follow(entry.revision)?;
        let datastore = datastore.clone();
        Ok(Feed { schema, order, subscription, datastore, cursor, state, statuses, seen, is_over: false })
    }

    /// Everything up to this revision has been told.
    pub fn revision(&self) -> Revision {
        self.cursor.at().revision
    }

    pub fn datastore(&self) -> &Handle {
        &self.datastore
    }

    pub fn subscription(&self) -> Option<u32> {
        self.subscription
    }

    fn form(&self) -> Form<'static> {
        Form { schema: self.schema, encoding: self.order.encoding, subscription: self.subscription }
    }

    /// The state that the reader begins with, if he wants one.
    ///
    /// # Errors
    /// When the path is none of the model.
    pub fn present(&self) -> Result<Option<Present>, TreeError> {
        match (&self.order.target, self.order.start) {
            (Target::Data { source, parts }, Start::Now { sync: true }) => {
                let entry = self.cursor.at();
                let root = source.alone(self.schema, &self.state, parts)?;
                Ok(Some(Present { form: self.form(), moment: moment(entry), root }))
            }
            _ => Ok(None),
        }
    }

    /// The events of the next revision, or of all that are there when updates are dampened. `None`: nothing is new.
    ///
    /// # Errors
    /// When revisions that the reader has not seen are not kept any more.
    pub fn next(&mut self) -> Result<Option<Vec<Event>>, FeedError> {
        let history = self.datastore.history();
        history.at(self.revision())?;
        let limit = if self.order.dampening.is_zero() { 1 } else { usize::MAX };
        let mut steps = self.cursor.advance(history, limit);
        if let Some(stop) = self.order.stop {
            let count = steps.iter().take_while(|step| step.after.time <= stop).count();
            self.is_over = count < steps.len();
            steps.truncate(count);
        }
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return Ok(None) };
        let at = moment(&last.after);
        let form =
            Form { schema: self.schema, encoding: self.order.encoding, subscription: self.subscription };
        let mut texts = Vec::new();
        match &self.order.target {
            Target::Data { source, parts } => {
                let after = self.datastore.readable(last.after.snapshot().clone());
                let before = std::mem::replace(&mut self.state, after);
                let changes = changes(self.schema, *source, parts, &before, &self.state);
                if !changes.is_empty() {
                    texts.push(form.change(at, &changes));
                }
            }
            Target::Stream { stream, chooser } => {
                for step in &steps {
                    let after = self.datastore.readable(step.after.snapshot().clone());
                    let before = std::mem::replace(&mut self.state, after);
                    let after = &self.state;
                    let told: Vec<Notification> = match (stream, &mut self.statuses) {
                        (Stream::Coeus, Some(statuses)) => statuses.step(self.schema, step, &before, after),
                        _ if step.after.kind == Cause::Passing => Vec::new(),
                        _ => config_change(self.schema, step, &before, after).into_iter().collect(),
                    };
                    let chosen = told.iter().filter(|told| {
                        chooser.as_ref().is_none_or(|chooser| chooser.takes(self.schema, told))
                            && told.iter().all(|(id, _)| {
                                self.datastore.may_be_told(&DataPath::root().child(*id)).is_ok()
                            })
                    });
                    texts.extend(chosen.map(|told| form.notification(moment(&step.after), told)));
                }
            }
        }
        let count = texts.len();
        // What a reader saw of a revision that has been united with others since is told again.
        let exact = first.before.revision.0 + 1 == first.after.revision.0;
        let seen = if exact { std::mem::take(&mut self.seen) } else { 0 };
        let event = |(number, text): (usize, Vec<u8>)| {
            let revision = at.revision.0;
            let id = if number + 1 == count {
                format!("{revision}")
            } else {
                format!("{revision}.{}", number + 1)
            };
            Event { id, text }
        };
        Ok(Some(texts.into_iter().enumerate().skip(seen).map(event).collect()))
    }

    /// The last event of a reader who is cut off, with where to go on.
    ///
    /// `told`: all up to there has been sent.
    pub fn terminated(
        &self,
        reason: &str,
        message: &str,
        told: Option<Revision>,
        now: SystemTime,
    ) -> Option<Vec<u8>> {
        let id = self.schema.notification("ietf-subscribed-notifications", "subscription-terminated")?;
        let made = Maker::new(self.schema, id)
            .leaf_if("id", self.subscription.map(|id| id.to_string()))
            .leaf("reason", &format!("ietf-subscribed-notifications:{reason}"))
            .leaf_if("revision", told.map(|told| told.0.to_string()))
            .leaf("message", message);
        let moment = Moment { revision: self.revision(), time: now };
        Some(self.form().notification(moment, &made.alone()))
    }

    /// That the subscription is another one from here on.
    pub fn modified(&self, now: SystemTime) -> Option<Event> {
        let id = self.schema.notification("ietf-subscribed-notifications", "subscription-modified")?;
        let made = describe(Maker::new(self.schema, id), self.schema, self.subscription?, &self.order);
        let revision = self.revision();
        let text = self.form().notification(Moment { revision, time: now }, &made.alone());
        Some(Event { id: revision.0.to_string(), text })
    }
}

/// What a subscription is about, in the nodes of RFC 8639 and 8641.
pub fn describe<'a>(made: Maker<'a>, schema: &Schema, id: u32, order: &Order) -> Maker<'a> {
    let made = made.leaf("id", &id.to_string());
    let made = match &order.target {
        Target::Data { source, parts } => made
            .leaf_if("datastore", source.identity())
            .leaf("datastore-xpath-filter", &union(schema, parts))
            .object("on-change", |on_change| {
                on_change.leaf("dampening-period", &(order.dampening.as_millis() / 10).to_string()).leaf(
                    "sync-on-start",
                    if order.start == (Start::Now { sync: true }) { "true" } else { "false" },
                )
            }),
        Target::Stream { stream, .. } => made.leaf("stream", stream.name()),
    };
    made.leaf_if("stop-time", order.stop.map(time))
}

/// The paths as one expression of XPath.
fn union(schema: &Schema, parts: &[DataPath]) -> String {
    parts.iter().map(|part| part.display(schema)).collect::<Vec<_>>().join(" | ")
}

/// The state that a reader begins with.
pub struct Present {
    form: Form<'static>,
    moment: Moment,
    root: Fields,
}

impl Present {
    pub fn id(&self) -> String {
        self.moment.revision.0.to_string()
    }

    /// Written piece by piece; false: the sink has seen enough.
    pub fn write(&self, sink: &mut crate::schema::json::Sink<'_>) -> bool {
        self.form.update(self.moment, &self.root, &mut Vec::new(), sink)
    }
}

fn moment(entry: &Entry) -> Moment {
    Moment { revision: entry.revision, time: entry.time }
}

fn newest(history: &History) -> Revision {
    history.list().last().map_or(Revision(0), |entry| entry.revision)
}

/// The state that a reader has who is behind a revision. What was written is known of each; the rest only of kept ones.
fn exact(history: &History, target: &Target, revision: Revision) -> Result<Arc<Entry>, FeedError> {
    let entry = history.at(revision)?;
    if let Target::Data { source, .. } = target
        && *source != Source::Running
    {
        let reason = if entry.is_earlier {
            "the controller has been started since"
        } else if entry.revision != revision {
            "it has been united with others"
        } else {
            return Ok(entry);
        };
        return Err(FeedError::Inexact { revision, reason });
    }
    Ok(entry)
}
