//! The three generations of monitors: whole rows (RFC 7047), differences, and differences since a transaction.

use serde_json::{Value, json};

use super::cache::{Cache, Changes, Table, UpdateError};
use super::message::request;

/// How changes are asked for. A server that does not know one is asked for the next older.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Monitor {
    /// `monitor_cond_since`, from Open vSwitch 2.12 on.
    Since,
    /// `monitor_cond`, from Open vSwitch 2.6 on.
    Conditional,
    /// `monitor`, RFC 7047 section 4.1.5.
    Plain,
}

/// The transaction before the first: everything is wanted. A standalone server keeps no history, so a session always
/// begins with the whole content.
const NO_TRANSACTION: &str = "00000000-0000-0000-0000-000000000000";

impl Monitor {
    pub fn older(self) -> Option<Monitor> {
        match self {
            Monitor::Since => Some(Monitor::Conditional),
            Monitor::Conditional => Some(Monitor::Plain),
            Monitor::Plain => None,
        }
    }

    /// Asks for all rows of some tables and for every change of them.
    pub fn request(self, id: u64, database: &str, tables: &[Table]) -> Vec<u8> {
        let of = |table: &Table| {
            let columns = json!({"columns": table.columns});
            (table.name.to_owned(), if self == Monitor::Plain { columns } else { json!([columns]) })
        };
        let tables: serde_json::Map<String, Value> = tables.iter().map(of).collect();
        match self {
            Monitor::Since => {
                request(id, "monitor_cond_since", json!([database, database, tables, NO_TRANSACTION]))
            }
            Monitor::Conditional => request(id, "monitor_cond", json!([database, database, tables])),
            Monitor::Plain => request(id, "monitor", json!([database, database, tables])),
        }
    }

    /// Takes the answer to the request.
    ///
    /// # Errors
    /// When it is not understood.
    pub fn answer(self, cache: &mut Cache, result: &Value) -> Result<Changes, UpdateError> {
        match self {
            Monitor::Since => cache.update2(result.get(2).unwrap_or(&Value::Null)),
            Monitor::Conditional => cache.update2(result),
            Monitor::Plain => cache.update(result),
        }
    }
}

/// Takes a notification. `None`: it is not about changes.
///
/// # Errors
/// When an update is not understood.
pub fn notified(cache: &mut Cache, method: &str, params: &Value) -> Result<Option<Changes>, UpdateError> {
    let part = |index: usize| params.get(index).unwrap_or(&Value::Null);
    match method {
        "update" => cache.update(part(1)).map(Some),
        "update2" => cache.update2(part(1)).map(Some),
        "update3" => cache.update2(part(2)).map(Some),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ovsdb::{Framer, Incoming};
    use proptest::prelude::*;

    const TABLES: &[Table] =
        &[Table { name: "Port", columns: &["name", "interfaces"], sets: &["interfaces"] }];

    #[test]
    fn every_generation_is_asked_and_understood() {
        let rows = json!({"Port": {"p": {"initial": {"name": "veth1"}}}});
        let whole = json!({"Port": {"p": {"new": {"name": "veth1"}}}});
        let answers = [
            (Monitor::Since, json!([false, NO_TRANSACTION, rows])),
            (Monitor::Conditional, rows.clone()),
            (Monitor::Plain, whole),
        ];
        for (monitor, answer) in answers {
            let mut cache = Cache::new(TABLES);
            monitor.answer(&mut cache, &answer).unwrap();
            assert!(cache.named("Port", "veth1").is_some(), "{monitor:?}");
            let asked: Value = serde_json::from_slice(&monitor.request(1, "db", TABLES)).unwrap();
            let table = &asked["params"][2]["Port"];
            assert_eq!(table.is_array(), monitor != Monitor::Plain, "{asked}");
        }
        assert_eq!(Monitor::Since.older().and_then(Monitor::older).and_then(Monitor::older), None);
    }

    proptest! {
        /// A peer may send anything: it ends in an error or in a cache, never in a panic.
        #[test]
        fn mutated_messages_never_panic(places in prop::collection::vec((0_usize..400, any::<u8>()), 0..6)) {
            let update = json!({"id": null, "method": "update3", "params": ["db", NO_TRANSACTION, {"Port": {
                "p": {"modify": {"name": "veth2", "interfaces": ["set", [["uuid", "i"], ["uuid", "j"]]]}},
                "q": {"insert": {"name": "veth3"}}, "r": {"delete": null},
            }}]});
            let mut text = update.to_string().into_bytes();
            for (place, byte) in places {
                let place = place % text.len();
                text[place] = byte;
            }
            let mut cache = Cache::new(TABLES);
            cache.update2(&json!({"Port": {"p": {"initial": {"name": "veth1"}}}})).unwrap();
            let mut framer = Framer::default();
            framer.push(&text);
            while let Ok(Some(message)) = framer.next_message() {
                if let Ok(Incoming::Notification { method, params }) = Incoming::parse(&message) {
                    let _ = notified(&mut cache, &method, &params);
                }
            }
        }
    }
}
