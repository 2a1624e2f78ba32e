//! A transaction as the journal keeps it: one line of JSON, so that it can be read without the program and survives a
//! change of the models.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::datastore::{Edit, IdChange, Operation, Store};
use crate::schema::{DataPath, Key, Position, Schema, json};

/// One committed transaction.
#[derive(Debug, Clone)]
pub struct Record {
    pub revision: u64,
    pub author: String,
    /// Seconds since 1970.
    pub time: u64,
    pub edits: Vec<Edit>,
    pub ids: Vec<IdChange>,
}

/// A record does not fit the models.
#[derive(Debug, Clone, thiserror::Error)]
#[error("revision {revision}: {reason}")]
pub struct RecordError {
    pub revision: u64,
    pub reason: String,
}

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    rev: u64,
    by: String,
    at: u64,
    #[serde(borrow)]
    edits: Vec<EditLine<'a>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ids: Vec<(String, String, Option<u32>)>,
}

#[derive(Serialize, Deserialize)]
struct EditLine<'a> {
    /// `config` or `operational`, and the operation.
    store: String,
    op: String,
    path: String,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    value: Option<&'a RawValue>,
    /// `first`, `last`, `before` or `after`, and the entry that the latter two are about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<(String, Option<String>)>,
}

const OPERATIONS: [(Operation, &str); 6] = [
    (Operation::Create, "create"),
    (Operation::Replace, "replace"),
    (Operation::Merge, "merge"),
    (Operation::Delete, "delete"),
    (Operation::Remove, "remove"),
    (Operation::Move, "move"),
];

impl Record {
    pub fn to_bytes(&self, schema: &Schema) -> Vec<u8> {
        let values: Vec<Option<Box<RawValue>>> = self
            .edits
            .iter()
            .map(|edit| {
                let mut text = Vec::new();
                json::write_resource(schema, &edit.path, edit.node.as_ref()?, &mut text);
                RawValue::from_string(String::from_utf8(text).ok()?).ok()
            })
            .collect();
        let edits = self.edits.iter().zip(&values).map(|(edit, value)| EditLine {
            store: if edit.store == Store::Config { "config" } else { "operational" }.to_owned(),
            op: OPERATIONS
                .iter()
                .find(|(known, _)| *known == edit.operation)
                .map_or("", |(_, name)| name)
                .to_owned(),
            path: edit.path.to_rfc8040(schema),
            value: value.as_deref(),
            position: edit.position.as_ref().map(|position| position_line(schema, &edit.path, position)),
        });
        let line = Line {
            rev: self.revision,
            by: self.author.clone(),
            at: self.time,
            edits: edits.collect(),
            ids: self.ids.iter().map(|change| (change.pool.clone(), change.key.clone(), change.id)).collect(),
        };
        serde_json::to_vec(&line).unwrap_or_default()
    }

    /// # Errors
    /// When the bytes are no record, or name nodes that the models do not have.
    pub fn from_bytes(schema: &Schema, revision: u64, bytes: &[u8]) -> Result<Record, RecordError> {
        let wrong = |reason: String| RecordError { revision, reason };
        let line: Line<'_> = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
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
            let operation =
                OPERATIONS.iter().find(|(_, name)| *name == edit.op).map(|(operation, _)| *operation);
            let operation = operation.ok_or_else(|| wrong(format!("operation {:?}", edit.op)))?;
            let store = if edit.store == "config" { Store::Config } else { Store::Operational };
            let position =
                edit.position.map(|line| read_position(schema, line)).transpose().map_err(wrong)?;
            edits.push(Edit { store, operation, path, node, position });
        }
        let ids = line.ids.into_iter().map(|(pool, key, id)| IdChange { pool, key, id }).collect();
        Ok(Record { revision: line.rev, author: line.by, time: line.at, edits, ids })
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
