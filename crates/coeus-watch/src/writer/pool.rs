//! The range from which services get addresses that the cluster gives none (`coeus-service:service-pool`).
//!
//! A list of prefixes belongs to nobody, so it is written where none is, and another one is left as it stands. After the services: an
//! address that one of them has already keeps the datastore from taking a range with it.

use serde_json::{Map, Value, json};
use tracing::{info, warn};

use super::{Datastore, Trouble, Writer};
use crate::value::member;

const POOL: &str = "coeus-service:service-pool";
const LEAVES: [&str; 2] = ["ipv4-prefix", "ipv6-prefix"];

/// One prefix of a version at most.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ServiceRange {
    pub v4: Option<String>,
    pub v6: Option<String>,
}

impl ServiceRange {
    fn is_none(&self) -> bool {
        self.v4.is_none() && self.v6.is_none()
    }

    fn entry(&self) -> Value {
        let fields = LEAVES.into_iter().zip([&self.v4, &self.v6]);
        let fields = fields.filter_map(|(leaf, prefix)| Some((leaf.to_owned(), json!(prefix.as_ref()?))));
        Value::Object(fields.collect::<Map<_, _>>())
    }

    fn read(found: &Value) -> ServiceRange {
        let pool = member(found, "service-pool").unwrap_or(found);
        let [v4, v6] = LEAVES.map(|leaf| member(pool, leaf).and_then(Value::as_str).map(str::to_owned));
        ServiceRange { v4, v6 }
    }

    /// As people read it.
    fn text(&self) -> String {
        self.v4.iter().chain(&self.v6).cloned().collect::<Vec<_>>().join(", ")
    }
}

impl<D: Datastore> Writer<D> {
    /// Services without an address get one of this range.
    #[must_use]
    pub fn ranging(mut self, range: ServiceRange) -> Writer<D> {
        self.range = range;
        self
    }

    /// Has the datastore know the range, if it knows none.
    pub(super) fn keep_range(&mut self) -> Result<(), Trouble> {
        if self.range.is_none() {
            return Ok(());
        }
        let held = ServiceRange::read(&self.datastore.state(&format!("{POOL}?content=config"))?);
        if held == self.range {
            return Ok(());
        }
        let range = self.range.text();
        if !held.is_none() {
            warn!(
                range,
                held = held.text(),
                "the datastore has another service-pool, which is left: delete it, or ask for that"
            );
            return Ok(());
        }
        self.patches += 1;
        let edit = json!({"edit-id": "0", "operation": "merge", "target": format!("/{POOL}"), "value": {POOL: self.range.entry()}});
        let patch = json!({"ietf-yang-patch:yang-patch": {"patch-id": format!("kube-{}", self.patches), "edit": [edit]}});
        match self.datastore.write(&patch) {
            Ok(()) => info!(range, "services without an address get one of the range"),
            Err(Trouble::Refused(reason) | Trouble::Taken(reason)) => {
                warn!(range, reason, "the datastore does not take the range of services")
            }
            Err(away) => return Err(away),
        }
        Ok(())
    }
}
