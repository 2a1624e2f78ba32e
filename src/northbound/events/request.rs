//! What readers ask for: query parameters, headers, the input of RPCs.

use std::time::{Duration, SystemTime};

use axum::http::{HeaderMap, StatusCode, header};

use super::actor::RegistryError;
use super::feed::{FeedError, Order, Start, Stream, Target, place};
use super::filter::{Chooser, FilterError, branches, complete, subtrees};
use super::source::Source;
use crate::datastore::Revision;
use crate::northbound::restconf::{Encoding, Problem, Problems};
use crate::schema::{DataPath, Fields, Node, Schema, SchemaId, lexical};

/// A reader that is late is told so with this status.
const TOO_LATE: StatusCode = StatusCode::GONE;

impl From<FeedError> for Problems {
    fn from(error: FeedError) -> Problems {
        use crate::datastore::HistoryError;
        let status = match error {
            FeedError::History(HistoryError::Future { .. }) => StatusCode::BAD_REQUEST,
            FeedError::History(HistoryError::TooOld { .. }) | FeedError::Inexact { .. } => TOO_LATE,
        };
        Problem::new("invalid-value", error.to_string()).with_status(status).into()
    }
}

impl From<RegistryError> for Problems {
    fn from(error: RegistryError) -> Problems {
        let message = error.to_string();
        let (tag, app_tag, status) = match error {
            RegistryError::User { .. } | RegistryError::Total { .. } => {
                ("resource-denied", "insufficient-resources", StatusCode::SERVICE_UNAVAILABLE)
            }
            RegistryError::Missing { .. } => ("invalid-value", "no-such-subscription", StatusCode::NOT_FOUND),
            RegistryError::Taken { .. } => ("in-use", "insufficient-resources", StatusCode::CONFLICT),
            RegistryError::Closing => {
                ("resource-denied", "insufficient-resources", StatusCode::SERVICE_UNAVAILABLE)
            }
        };
        tagged(Problem::new(tag, message).with_status(status), app_tag)
    }
}

impl From<FilterError> for Problems {
    fn from(error: FilterError) -> Problems {
        tagged(Problem::new("invalid-value", error.to_string()), "filter-unsupported")
    }
}

fn tagged(problem: Problem, app_tag: &str) -> Problems {
    Problem { app_tag: Some(format!("ietf-subscribed-notifications:{app_tag}")), ..problem }.into()
}

fn wrong(message: String) -> Problems {
    Problem::new("invalid-value", message).into()
}

/// Does the client ask for server-sent events by name?
pub fn wants_events(headers: &HeaderMap) -> bool {
    accepts(headers, |name| name.eq_ignore_ascii_case("text/event-stream"))
}

/// Will server-sent events do?
pub fn takes_events(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::ACCEPT)
        || wants_events(headers)
        || accepts(headers, |name| name == "*/*" || name.eq_ignore_ascii_case("text/*"))
}

/// JSON, unless an XML type stands beside that of the events.
pub fn encoding(headers: &HeaderMap) -> Encoding {
    if accepts(headers, |name| name.ends_with("+xml") || name.ends_with("/xml")) {
        Encoding::Xml
    } else {
        Encoding::Json
    }
}

fn accepts(headers: &HeaderMap, is: impl Fn(&str) -> bool) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .any(|part| is(part.split(';').next().unwrap_or_default().trim()))
}

/// A time as RFC 3339 has it.
fn moment(name: &str, text: &str) -> Result<SystemTime, Problems> {
    // In a query a plus sign is often left as it is.
    let parsed: Result<jiff::Timestamp, _> = text.replace(' ', "+").parse();
    parsed.map(SystemTime::from).map_err(|_| {
        let shown: String = text.chars().take(40).collect();
        wrong(format!("{name}={shown}: say a time as in 2026-11-21T08:00:00Z"))
    })
}

fn number(name: &str, text: &str) -> Result<u64, Problems> {
    text.parse().map_err(|_| {
        let shown: String = text.chars().take(40).collect();
        wrong(format!("{name}={shown}: say a number"))
    })
}

/// Where `Last-Event-ID` says that a reader is.
///
/// # Errors
/// An id that none of our events has.
pub fn resumed(headers: &HeaderMap) -> Result<Option<Start>, Problems> {
    let Some(id) = headers.get("last-event-id").and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty())
    else {
        return Ok(None);
    };
    let start = place(id.trim());
    start
        .map(Some)
        .ok_or_else(|| wrong(format!("Last-Event-ID {id:?} is of no event from here; leave it out")))
}

/// The order of a GET on a stream (RFC 8040 sections 4.8.4, 4.8.7 and 4.8.8).
///
/// # Errors
/// Names the parameter that is wrong.
pub fn stream(
    schema: &Schema,
    stream: Stream,
    encoding: Encoding,
    query: &[(String, String)],
    headers: &HeaderMap,
) -> Result<Order, Problems> {
    let mut order = Order {
        target: Target::Stream { stream, chooser: None },
        encoding,
        start: Start::Now { sync: false },
        stop: None,
        dampening: Duration::ZERO,
    };
    for (name, value) in query {
        match name.as_str() {
            "filter" => {
                let chooser = Some(Chooser::parse(schema, value)?);
                order.target = Target::Stream { stream, chooser };
            }
            "start-time" => order.start = Start::Since(past(moment(name, value)?)?),
            "stop-time" => order.stop = Some(moment(name, value)?),
            _ => return Err(unknown(name, "filter, start-time and stop-time")),
        }
    }
    match (order.start, order.stop) {
        (Start::Since(start), Some(stop)) if stop < start => {
            return Err(wrong("stop-time is before start-time".into()));
        }
        (Start::Now { .. }, Some(_)) => {
            return Err(wrong("stop-time goes with start-time only (RFC 8040 section 4.8.8)".into()));
        }
        _ => {}
    }
    if let Some(start) = resumed(headers)? {
        order.start = start;
    }
    Ok(order)
}

fn past(start: SystemTime) -> Result<SystemTime, Problems> {
    if start > SystemTime::now() {
        return Err(wrong("start-time is in the future".into()));
    }
    Ok(start)
}

fn unknown(name: &str, known: &str) -> Problems {
    let shown: String = name.chars().take(64).collect();
    wrong(format!("query parameter {shown:?} is not known here; there are {known}"))
}

/// The order of a GET on data, for people and tools.
///
/// # Errors
/// Names the parameter that is wrong.
pub fn data(
    schema: &Schema,
    mut source: Source,
    part: DataPath,
    chooses: bool,
    query: &[(String, String)],
    headers: &HeaderMap,
) -> Result<Order, Problems> {
    let mut start = Start::Now { sync: true };
    let mut dampening = Duration::ZERO;
    let mut parts = None;
    for (name, value) in query {
        match (name.as_str(), value.as_str()) {
            ("filter", _) if part.steps.is_empty() => parts = Some(subtrees(schema, value)?),
            ("filter", _) => {
                return Err(wrong(
                    "filter: name paths in it, or one in the URL; filter is for the whole datastore".into(),
                ));
            }
            ("start-revision", _) => {
                start = Start::Behind { revision: Revision(number(name, value)?), seen: 0 };
            }
            ("dampening-period", _) => dampening = centiseconds(number(name, value)?),
            ("content", "all") if chooses => source = Source::Operational,
            ("content", "config") if chooses => source = Source::Intended,
            ("content", "nonconfig") if chooses => source = Source::State,
            ("content", _) => {
                return Err(wrong("content: say config, nonconfig or all, at /rests/data".into()));
            }
            _ => return Err(unknown(name, "filter, start-revision, dampening-period and content")),
        }
    }
    complete(schema, &part).map_err(wrong)?;
    if let Some(resumed) = resumed(headers)? {
        start = resumed;
    }
    let target = Target::Data { source, parts: parts.unwrap_or_else(|| vec![part]) };
    Ok(Order { target, encoding: encoding(headers), start, stop: None, dampening })
}

fn centiseconds(number: u64) -> Duration {
    Duration::from_millis(number.min(u64::from(u32::MAX)) * 10)
}

/// The input of an RPC, by the names of its leafs.
pub struct Input<'a> {
    pub schema: &'a Schema,
    pub of: SchemaId,
    pub fields: &'a Fields,
}

impl Input<'_> {
    fn node(&self, name: &str) -> Option<(SchemaId, &Node)> {
        let id = self.schema.child_named(Some(self.of), name, true).ok()?;
        Some((id, self.fields.get(id)?))
    }

    pub fn text(&self, name: &str) -> Option<String> {
        let (id, node) = self.node(name)?;
        Some(lexical::value_text(self.schema, id, node.as_leaf()?))
    }

    pub fn uint(&self, name: &str) -> Option<u64> {
        self.node(name)?.1.as_leaf()?.as_uint()
    }

    fn object(&self, name: &str) -> Option<Input<'_>> {
        let (of, node) = self.node(name)?;
        Some(Input { schema: self.schema, of, fields: node.fields()? })
    }

    fn stop(&self) -> Result<Option<SystemTime>, Problems> {
        let Some(text) = self.text("stop-time") else { return Ok(None) };
        let stop = moment("stop-time", &text)?;
        if stop <= SystemTime::now() {
            return Err(wrong("stop-time has passed".into()));
        }
        Ok(Some(stop))
    }

    /// Which parts of a datastore, if the input names some.
    fn parts(&self) -> Result<Option<Vec<DataPath>>, Problems> {
        if let Some(xpath) = self.text("datastore-xpath-filter") {
            return Ok(Some(subtrees(self.schema, &xpath)?));
        }
        match self.node("datastore-subtree-filter") {
            Some((_, Node::Leaf(json))) => {
                Ok(Some(branches(self.schema, json.as_text().unwrap_or_default())?))
            }
            _ => Ok(None),
        }
    }

    /// The input of `establish-subscription`.
    ///
    /// # Errors
    /// Names what is not served.
    pub fn establish(&self) -> Result<Order, Problems> {
        let encoding = match self.text("encoding").as_deref() {
            Some(name) if name.ends_with("encode-xml") => Encoding::Xml,
            _ => Encoding::Json,
        };
        let stop = self.stop()?;
        let revision = self.uint("start-revision");
        let behind = revision.map(|revision| Start::Behind { revision: Revision(revision), seen: 0 });
        if let Some(name) = self.text("stream") {
            let stream = Stream::named(&name).ok_or_else(|| {
                let names = Stream::ALL.map(Stream::name).join(" and ");
                wrong(format!("there is no stream {name:?}; there are {names}"))
            })?;
            let filter = self.text("stream-xpath-filter");
            let chooser = filter.map(|filter| Chooser::parse(self.schema, &filter)).transpose()?;
            let since = match self.text("replay-start-time") {
                Some(text) => Some(Start::Since(past(moment("replay-start-time", &text)?)?)),
                None => None,
            };
            let start = behind.or(since).unwrap_or(Start::Now { sync: false });
            let target = Target::Stream { stream, chooser };
            return Ok(Order { target, encoding, start, stop, dampening: Duration::ZERO });
        }
        let Some(name) = self.text("datastore") else {
            let message = "say what to subscribe to: a stream, or a datastore with a filter";
            return Err(Problem::new("missing-element", message).into());
        };
        let sources = [Source::Running, Source::Intended, Source::Operational];
        let source = sources.into_iter().find(|source| source.identity() == Some(name.as_str()));
        let source = source.ok_or_else(|| {
            let message = format!("{name} cannot be subscribed to; say running, intended or operational");
            Problem {
                app_tag: Some("ietf-yang-push:datastore-not-subscribable".into()),
                ..Problem::new("invalid-value", message)
            }
        })?;
        let Some(on_change) = self.object("on-change") else {
            let message = "updates are sent on change only; give the container ietf-yang-push:on-change";
            return Err(Problem::new("missing-element", message).into());
        };
        let sync = on_change.text("sync-on-start").is_none_or(|sync| sync == "true");
        let start = behind.unwrap_or(Start::Now { sync });
        let dampening = centiseconds(on_change.uint("dampening-period").unwrap_or(0));
        let parts = self.parts()?.unwrap_or_else(|| vec![DataPath::root()]);
        Ok(Order { target: Target::Data { source, parts }, encoding, start, stop, dampening })
    }

    /// The input of `modify-subscription` laid over an order.
    ///
    /// # Errors
    /// Names what is not served.
    pub fn modify(&self, order: &Order) -> Result<Order, Problems> {
        let mut order = order.clone();
        match &mut order.target {
            Target::Data { parts, .. } => {
                if let Some(other) = self.parts()? {
                    *parts = other;
                }
            }
            Target::Stream { chooser, .. } => {
                if let Some(filter) = self.text("stream-xpath-filter") {
                    *chooser = Some(Chooser::parse(self.schema, &filter)?);
                }
            }
        }
        if let Some(stop) = self.stop()? {
            order.stop = Some(stop);
        }
        Ok(order)
    }
}
