//! A transaction as the journal keeps it: one line of JSON, so that it can be read without the program and survives a
//! change of the models.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::datastore::{Edit, IdChange, Operation, Store};
use crate::schema::{DataPath, Key, Position, Schema, json};

/// The last second of the year 9999, which RFC 3339 can write. A later one is no time that a clock has shown.
const LATEST: u64 = 253_402_300_799;

/// Appends a small value as JSON.
fn put_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // Strings and numbers into memory: this cannot fail.
    let _ = serde_json::to_writer(out, value);
}

/// One committed transaction.
#[derive(Debug, Clone)]
pub struct Record<'a> {
    pub revision: u64,
    pub author: Cow<'a, str>,
    /// Seconds since 1970.
    pub time: u64,
    pub edits: Cow<'a, [Edit]>,
    pub ids: Cow<'a, [IdChange]>,
}

/// A record does not fit the models.
#[derive(Debug, Clone, thiserror::Error)]
#[error("revision {revision}: {reason}")]
pub struct RecordError {
    pub revision: u64,
    pub reason: String,
}

#[derive(Deserialize)]
struct Line<'a> {
    rev: u64,
    by: String,
    at: u64,
    #[serde(borrow)]
    edits: Vec<EditLine<'a>>,
    #[serde(default)]
    ids: Vec<(String, String, Option<u32>)>,
}

#[derive(Deserialize)]
struct EditLine<'a> {
    /// `config` or `operational`, and the operation.
    store: String,
    op: String,
    path: String,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    /// `first`, `last`, `before` or `after`, and the entry that the latter two are about.
    #[serde(default)]
    position: Option<(String, Option<String>)>,
}

impl Record<'_> {
    /// The record as one JSON object, written in one go: a thousand pods are one record.
    pub fn to_bytes(&self, schema: &Schema) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        out.extend_from_slice(format!("{{\"rev\":{},\"by\":", self.revision).as_bytes());
        put_json(&mut out, &self.author);
        out.extend_from_slice(format!(",\"at\":{},\"edits\":[", self.time).as_bytes());
        for (number, edit) in self.edits.iter().enumerate() {
            out.extend_from_slice(if number == 0 { b"{\"store\":" } else { b",{\"store\":" });
            put_json(&mut out, if edit.store == Store::Config { "config" } else { "operational" });
            out.extend_from_slice(b",\"op\":");
            put_json(&mut out, edit.operation.name());
            out.extend_from_slice(b",\"path\":");
            put_json(&mut out, &edit.path.to_rfc8040(schema));
            if let Some(node) = &edit.node {
                out.extend_from_slice(b",\"value\":");
                json::write_resource(schema, &edit.path, node, &mut out);
            }
            if let Some(position) = &edit.position {
                out.extend_from_slice(b",\"position\":");
                put_json(&mut out, &position_line(schema, &edit.path, position));
            }
            out.push(b'}');
        }
        out.push(b']');
        if !self.ids.is_empty() {
            let ids: Vec<_> =
                self.ids.iter().map(|change| (&*change.pool, &*change.key, change.id)).collect();
            out.extend_from_slice(b",\"ids\":");
            put_json(&mut out, &ids);
        }
        out.push(b'}');
        out
    }

    /// # Errors
    /// When the bytes are no record, or name nodes that the models do not have.
    pub fn from_bytes(schema: &Schema, revision: u64, bytes: &[u8]) -> Result<Record<'static>, RecordError> {
        let wrong = |reason: String| RecordError { revision, reason };
        let line: Line<'_> = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
        if line.at > LATEST {
            return Err(wrong(format!("it was written at {} s after 1970, which is no time", line.at)));
        }
        let mut edits = Vec::with_capacity(line.edits.len());
        for edit in line.edits {
            let path =
                DataPath::parse_rfc8040(schema, &edit.path).map_err(|error| wrong(error.to_string()))?;
            let node = match edit.value {
                Some(text) => Some(
                    json::parse_resource(schema, &path, text.get().as_bytes(), json::Mode::Strict)
                        .map_err(|errors| wrong(format!("{}: {errors}", edit.path)))?,
                ),
                None => None,
            };
            let operation = Operation::named(&edit.op);
            let operation = operation.ok_or_else(|| wrong(format!("operation {:?}", edit.op)))?;
            let store = if edit.store == "config" { Store::Config } else { Store::Operational };
            let position =
                edit.position.map(|line| read_position(schema, line)).transpose().map_err(wrong)?;
            edits.push(Edit { store, operation, path, node, position });
        }
        let id = |(pool, key, id): (String, String, _)| IdChange { pool: pool.into(), key: key.into(), id };
        let ids: Vec<_> = line.ids.into_iter().map(id).collect();
        Ok(Record {
            revision: line.rev,
            author: line.by.into(),
            time: line.at,
            edits: edits.into(),
            ids: ids.into(),
        })
    }
}

fn position_line(schema: &Schema, path: &DataPath, position: &Position) -> (String, Option<String>) {
    let point = |key: &Key| {
        let (parent, list) = path.parent().zip(path.last_node())?;
        Some(parent.entry(list, key.clone()).to_rfc8040(schema))
    };
    match position {
        Position::First => ("first".into(), None),
        Position::Last => ("last".into(), None),
        Position::Before(key) => ("before".into(), point(key)),
        Position::After(key) => ("after".into(), point(key)),
    }
}

fn read_position(schema: &Schema, (place, point): (String, Option<String>)) -> Result<Position, String> {
    let key = || -> Result<Key, String> {
        let path = DataPath::parse_rfc8040(schema, point.as_deref().unwrap_or_default());
        let path = path.map_err(|error| error.to_string())?;
        path.steps
            .last()
            .and_then(|step| step.key.clone())
            .ok_or_else(|| "a position without its point".into())
    };
    match &*place {
        "first" => Ok(Position::First),
        "last" => Ok(Position::Last),
        "before" => Ok(Position::Before(key()?)),
        "after" => Ok(Position::After(key()?)),
        other => Err(format!("position {other:?}")),
    }
}
