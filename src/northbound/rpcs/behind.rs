//! Who last wrote a configuration object.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::datastore::{Entry, History, Kind, Store};
use crate::net::timestamp;
use crate::schema::{DataPath, Schema};

/// The kept revision that last changed what stands at a path; none if that was before everything that is kept.
pub fn last_change(kept: &[Arc<Entry>], path: &DataPath) -> Option<Arc<Entry>> {
    let at = |entry: &Entry| entry.snapshot().written(Store::Config, path);
    let pairs = kept.windows(2).rev();
    let mut changes = pairs.filter(|pair| pair[1].kind != Kind::Passing && at(&pair[0]) != at(&pair[1]));
    changes.next().map(|pair| pair[1].clone())
}

/// Objects with revision and author.
pub fn objects(schema: &Schema, history: &History, paths: &[DataPath]) -> Vec<Value> {
    let kept: Vec<Arc<Entry>> =
        history.list().into_iter().filter(|entry| matches!(entry.kind, Kind::Client | Kind::Base)).collect();
    let object = |path: &DataPath| {
        let mut object = json!({ "path": path.to_rfc8040(schema) });
        if let Some(entry) = last_change(&kept, path) {
            object["revision"] = json!(entry.revision.0.to_string());
            object["author"] = json!(*entry.author);
            object["time"] = json!(timestamp(entry.time));
        }
        object
    };
    paths.iter().map(object).collect()
}
