//! Confirmed commits: what takes a commit back is written down with it, so that a restart does not forget it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::patch;
use crate::datastore::{DatastoreError, Edit, Snapshot, Store, Transaction, edited, edits_between};
use crate::schema::{DataPath, Node, Schema, json as yang_json};

/// A commit that goes back by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Pending {
    pub id: String,
    pub user: String,
    /// Until then it may be confirmed; whole seconds.
    pub until: SystemTime,
    undo: Value,
}

/// A name for a commit that is to be confirmed; no other has it.
pub fn fresh_id(now: SystemTime) -> String {
    format!("{:x}", now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos()))
}

fn commit_path(schema: &Schema, id: &str) -> Result<DataPath, DatastoreError> {
    let text = format!("coeus-history:confirmed-commits/commit={id}");
    DataPath::parse_rfc8040(schema, &text).map_err(|_| DatastoreError::Missing { path: text })
}

/// The transaction with its own way back written down. `None`: it changes no configuration, so nothing is to be confirmed. What the
/// edits touch must not change between the snapshot and the commit.
///
/// # Errors
/// When one of the edits is impossible.
pub fn guarded(
    snapshot: &Snapshot,
    mut transaction: Transaction,
    id: &str,
    until: SystemTime,
) -> Result<Option<Transaction>, DatastoreError> {
    let schema = snapshot.schema;
    let (after, _) = edited(snapshot, &transaction.edits)?;
    let undo = edits_between(schema, Store::Config, &after.config.input, &snapshot.config.input);
    if undo.is_empty() {
        return Ok(None);
    }
    let path = commit_path(schema, id)?;
    let seconds = until.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let body = json!({ "coeus-history:commit": [{
        "id": id,
        "user": *transaction.author,
        "until": seconds.to_string(),
        "undo": patch::yang_patch(schema, id, &undo),
    }] });
    let node = yang_json::parse_resource(schema, &path, body.to_string().as_bytes(), yang_json::Mode::Strict)
        .map_err(|errors| DatastoreError::Rendering { reason: errors.to_string() })?;
    transaction.edits.push(Edit::put(Store::Operational, path, node));
    transaction.base = transaction.base.or(Some(snapshot.revision));
    Ok(Some(transaction))
}

/// All commits that wait to be confirmed.
pub fn pending(snapshot: &Snapshot) -> Vec<Pending> {
    let schema = snapshot.schema;
    let Ok(path) = DataPath::parse_rfc8040(schema, "coeus-history:confirmed-commits") else {
        return Vec::new();
    };
    let Some(node @ Node::Container(_)) = snapshot.written(Store::Operational, &path) else {
        return Vec::new();
    };
    let mut text = Vec::new();
    yang_json::write_resource(schema, &path, &node, &mut text);
    let all: Value = serde_json::from_slice(&text).unwrap_or_default();
    let read = |entry: &Value| {
        let seconds = entry["until"].as_str()?.parse().ok()?;
        Some(Pending {
            id: entry["id"].as_str()?.to_owned(),
            user: entry["user"].as_str().unwrap_or_default().to_owned(),
            until: UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?,
            undo: entry["undo"].clone(),
        })
    };
    let commits = all["coeus-history:confirmed-commits"]["commit"].as_array();
    commits.into_iter().flatten().filter_map(read).collect()
}

impl Pending {
    /// The transaction that lets the commit stay.
    ///
    /// # Errors
    /// When the models know no confirmed commits.
    pub fn confirmation(&self, schema: &Schema, author: &str) -> Result<Transaction, DatastoreError> {
        let edit = Edit::remove(Store::Operational, commit_path(schema, &self.id)?);
        // Of two who decide at once, the second finds nothing.
        let edit = Edit { operation: crate::datastore::Operation::Delete, ..edit };
        Ok(Transaction::new(author, vec![edit]))
    }

    /// The transaction that takes it back: what it touched is as it was, whoever has touched it since.
    ///
    /// # Errors
    /// When what was written down does not fit the models any more.
    pub fn way_back(&self, schema: &Schema, author: &str) -> Result<Transaction, DatastoreError> {
        let mut transaction = self.confirmation(schema, author)?;
        let undo = patch::edits(schema, &self.undo);
        transaction.edits.extend(undo.map_err(|reason| DatastoreError::Rendering { reason })?);
        Ok(transaction)
    }
}
