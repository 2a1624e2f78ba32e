//! Who was refused, and who took the place of somebody: counted, and kept for a while to be shown.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tracing::warn;

use crate::datastore::{Edit, Store};
use crate::net::{Dpid, timestamp};
use crate::schema::{DataPath, Fields, Key, List, Node, Schema, Value, lexical};

/// Kinds of refusals that are kept; the one that happened longest ago makes room.
const KEPT: usize = 128;
/// How long one is kept after it happened last.
const AGE: Duration = Duration::from_secs(3600);

/// What was spoken, or would have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    OpenFlow,
    Ovsdb,
}

impl Protocol {
    pub fn name(self) -> &'static str {
        match self {
            Protocol::OpenFlow => "openflow",
            Protocol::Ovsdb => "ovsdb",
        }
    }
}

/// Why, as in `coeus-switch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    NoTls,
    NoCertificate,
    UnknownAuthority,
    Expired,
    NotYetValid,
    InvalidCertificate,
    Handshake,
    OtherIdentity,
    TooManyDatapaths,
    /// Not refused, but reported: two switches have one datapath id.
    Duplicate,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Reason::NoTls => "no-tls",
            Reason::NoCertificate => "no-certificate",
            Reason::UnknownAuthority => "unknown-authority",
            Reason::Expired => "expired",
            Reason::NotYetValid => "not-yet-valid",
            Reason::InvalidCertificate => "invalid-certificate",
            Reason::Handshake => "handshake",
            Reason::OtherIdentity => "other-identity",
            Reason::TooManyDatapaths => "too-many-datapaths",
            Reason::Duplicate => "duplicate",
        }
    }
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", reason.name())]
pub struct Refused {
    pub protocol: Protocol,
    pub address: IpAddr,
    pub reason: Reason,
    pub dpid: Option<Dpid>,
    /// Of the certificate that was shown.
    pub identity: Option<String>,
    pub detail: String,
}

impl Refused {
    /// Whether it is the same thing once more.
    fn is_again(&self, other: &Refused) -> bool {
        let kind = |one: &Refused| (one.protocol, one.address, one.reason, one.dpid);
        kind(self) == kind(other) && self.identity == other.identity
    }
}

#[derive(Clone, Debug)]
struct Entry {
    number: u32,
    refused: Refused,
    times: u64,
    first: SystemTime,
    last: SystemTime,
}

#[derive(Debug, Default)]
struct Book {
    entries: Vec<Entry>,
    next: u32,
    /// What is shown is not what is known.
    changed: bool,
}

impl Book {
    /// How often it has happened by now.
    fn note(&mut self, refused: Refused, now: SystemTime) -> u64 {
        self.changed = true;
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.refused.is_again(&refused)) {
            (entry.times, entry.last, entry.refused) = (entry.times + 1, now, refused);
            return entry.times;
        }
        if self.entries.len() >= KEPT
            && let Some(oldest) = (0..self.entries.len()).min_by_key(|at| self.entries[*at].last)
        {
            self.entries.remove(oldest);
        }
        self.next += 1;
        self.entries.push(Entry { number: self.next, refused, times: 1, first: now, last: now });
        1
    }

    fn expire(&mut self, now: SystemTime) {
        let before = self.entries.len();
        self.entries
            .retain(|entry| now.duration_since(entry.last).is_ok_and(|age| age < AGE) || entry.last > now);
        self.changed |= self.entries.len() != before;
    }
}

/// All of them. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub struct Refusals {
    book: Arc<Mutex<Book>>,
    counted: Family<Vec<(&'static str, &'static str)>, Counter>,
}

impl Refusals {
    /// Counts it, keeps it, and logs it: the first time, the second, the fourth, and so on.
    pub fn note(&self, refused: Refused) {
        let labels = vec![("protocol", refused.protocol.name()), ("reason", refused.reason.name())];
        self.counted.get_or_create(&labels).inc();
        let times = self.book().note(refused.clone(), SystemTime::now());
        if times.is_power_of_two() {
            let Refused { protocol, address, reason, dpid, identity, detail } = &refused;
            let (protocol, reason) = (protocol.name(), reason.name());
            let dpid = dpid.map(|dpid| dpid.to_string()).unwrap_or_default();
            let identity = identity.as_deref().unwrap_or_default();
            let said = if refused.reason == Reason::Duplicate {
                "two switches are one"
            } else {
                "a switch is refused"
            };
            warn!(protocol, peer = %address, reason, switch = dpid, identity, times, "{said}: {detail}");
        }
    }

    /// Shows the counter under its name.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "coeus_southbound_refused",
            "Connections of switches that were refused, and (duplicate) sessions that took the place of a live one",
            self.counted.clone(),
        );
    }

    /// The edit that shows them, for a passing transaction, if anything has changed since it was asked last.
    pub fn due(&self, schema: &Schema, now: SystemTime) -> Option<Edit> {
        let mut book = self.book();
        book.expire(now);
        std::mem::take(&mut book.changed).then(|| edit(schema, &book.entries))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn edit(schema: &Schema, entries: &[Entry]) -> Edit {
    const REFUSAL: &str = "/coeus-switch:refusals/refusal";
    let top = DataPath::root().child(schema.resolve("/coeus-switch:refusals"));
    if entries.is_empty() {
        return Edit::remove(Store::Operational, top);
    }
    let list = schema.resolve(REFUSAL);
    let id = |name: &str| schema.resolve(&format!("{REFUSAL}/{name}"));
    let leaf = |name: &str, text: &str| {
        let value = lexical::parse_value(schema, id(name), text).ok()?;
        Some((id(name), Node::Leaf(value)))
    };
    let entries = entries.iter().map(|entry| {
        let Refused { protocol, address, reason, dpid, identity, detail } = &entry.refused;
        let fields = [
            leaf("number", &entry.number.to_string()),
            leaf("protocol", protocol.name()),
            leaf("address", &address.to_string()),
            leaf("reason", reason.name()),
            dpid.and_then(|dpid| leaf("dpid", &dpid.to_string())),
            identity.as_ref().and_then(|identity| leaf("identity", identity)),
            leaf("detail", detail),
            leaf("times", &entry.times.to_string()),
            leaf("first", &timestamp(entry.first)),
            leaf("last", &timestamp(entry.last)),
        ];
        let key = Key::one(Value::Uint(entry.number.into()));
        (key, Fields::of(fields.into_iter().flatten().collect()))
    });
    let all = vec![(list, Node::List(List::of(schema, list, entries)))];
    Edit::put(Store::Operational, top, Fields::of(all).into())
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;
    use crate::datastore::{Core, NullEngine, Snapshot, Transaction, to_json};
    use crate::schema::builtin;

    fn refused(address: [u8; 4], reason: Reason) -> Refused {
        Refused {
            protocol: Protocol::OpenFlow,
            address: address.into(),
            reason,
            dpid: Some(Dpid(7)),
            identity: Some("CN=b".into()),
            detail: "it belongs to CN=a".into(),
        }
    }

    #[test]
    fn what_happens_again_is_counted_and_all_is_shown() {
        let refusals = Refusals::default();
        refusals.note(refused([192, 0, 2, 1], Reason::OtherIdentity));
        refusals.note(refused([192, 0, 2, 1], Reason::OtherIdentity));
        refusals.note(refused([192, 0, 2, 2], Reason::Expired));
        let now = SystemTime::now();
        let edit = refusals.due(builtin(), now).unwrap();
        assert!(refusals.due(builtin(), now).is_none(), "nothing is new");
        let mut core = Core::new(Snapshot::empty(builtin()), &[], Box::new(NullEngine), now);
        core.apply(&Transaction::passing("test", vec![edit]), now).unwrap();
        let text = to_json(core.snapshot(), Store::Operational);
        let shown: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let shown = &shown["ietf-restconf:data"]["coeus-switch:refusals"]["refusal"];
        assert_eq!(shown[0]["times"], "2");
        assert_eq!(shown[0]["reason"], "other-identity");
        assert_eq!(shown[1]["address"], "192.0.2.2");
        let later = refusals.due(builtin(), now + AGE + Duration::from_secs(60)).unwrap();
        core.apply(&Transaction::passing("test", vec![later]), now).unwrap();
        assert!(!String::from_utf8_lossy(&to_json(core.snapshot(), Store::Operational)).contains("refusal"));
        let (mut registry, mut page) = (Registry::default(), String::new());
        refusals.register(&mut registry);
        encode(&mut page, &registry).unwrap();
        let line = r#"coeus_southbound_refused_total{protocol="openflow",reason="other-identity"} 2"#;
        assert!(page.contains(line), "{page}");
    }

    #[test]
    fn as_many_are_kept_as_there_is_room_for() {
        let mut book = Book::default();
        let start = SystemTime::now();
        for number in 0..KEPT as u32 + 10 {
            let address = number.to_be_bytes();
            book.note(refused(address, Reason::NoTls), start + Duration::from_secs(number.into()));
        }
        assert_eq!(book.entries.len(), KEPT);
        assert_eq!(book.entries[0].number, 11);
    }
}
