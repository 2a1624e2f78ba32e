//! Revisions, what differs between them, and the way back.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{Asked, no_revision, plan};
use crate::datastore::{
    DatastoreError, Edit, Entry, Handle, Kind, Revision, Snapshot, Store, Transaction, edits_between,
};
use crate::net::timestamp;
use crate::northbound::restconf::{Problem, Problems};
use crate::revisions::confirm::{self, Pending};
use crate::revisions::{actor, patch::yang_patch};

/// So often a rollback starts anew when somebody writes meanwhile.
pub const ATTEMPTS: usize = 5;

pub async fn list(asked: Asked) -> Result<Value, Problems> {
    let datastore = &asked.call.datastore;
    let all = datastore.history().list();
    let limit = asked.number("limit").map_or(100, |limit| limit as usize);
    let clients = asked.is("clients-only");
    let (oldest, newest) = (all.first(), all.last());
    let edge = |entry: Option<&Arc<Entry>>| {
        entry.map_or_else(|| "0".to_owned(), |entry| entry.revision.0.to_string())
    };
    let shown: Vec<Value> = all
        .iter()
        .rev()
        .filter(|entry| !clients || entry.kind == Kind::Client)
        .filter(|entry| entry.kind != Kind::Client || concerns(datastore, entry))
        .take(limit)
        .map(|entry| {
            json!({
                "number": entry.revision.0.to_string(),
                "previous": entry.previous.0.to_string(),
                "time": timestamp(entry.time),
                "author": *entry.author,
                "kind": kind(entry.kind),
            })
        })
        .collect();
    Ok(json!({ "oldest": edge(oldest), "newest": edge(newest), "revision": shown }))
}

/// Whether something that the caller may read changed with a revision. What came before everything that is kept is not known.
fn concerns(datastore: &Handle, entry: &Entry) -> bool {
    match datastore.history().at(entry.previous) {
        Ok(before) => datastore.sees(before.snapshot(), entry.snapshot()),
        Err(_) => true,
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Client => "client",
        Kind::Fact => "fact",
        Kind::Passing => "passing",
        Kind::Base => "base",
    }
}

pub fn between(from: &Snapshot, to: &Snapshot) -> Vec<Edit> {
    edits_between(from.schema, Store::Config, &from.config.input, &to.config.input)
}

pub async fn difference(asked: Asked) -> Result<Value, Problems> {
    let datastore = &asked.call.datastore;
    let at = |name| asked.number(name).map(Revision);
    let from = datastore.history().at(at("from").unwrap_or_default()).map_err(no_revision)?;
    let to = match at("to") {
        Some(to) => datastore.readable(datastore.history().at(to).map_err(no_revision)?.snapshot().clone()),
        None => datastore.snapshot(),
    };
    let edits = between(&datastore.readable(from.snapshot().clone()), &to);
    let name = format!("from {} to {}", from.revision.0, to.revision.0);
    Ok(json!({ "edits": edits.len(), "patch": yang_patch(to.schema, &name, &edits) }))
}

pub async fn rollback(asked: Asked) -> Result<Value, Problems> {
    let datastore = &asked.call.datastore;
    let to = asked.number("to").map(Revision).unwrap_or_default();
    let target = datastore.history().at(to).map_err(no_revision)?;
    let mut attempt = 0;
    loop {
        let present = datastore.running();
        let edits = between(&present, target.snapshot());
        let count = edits.len();
        let seen = |state: &Arc<Snapshot>| datastore.readable(state.clone());
        if between(&seen(&present), &seen(target.snapshot())).len() != count {
            let message = format!(
                "going back to revision {} would change what you may not read; ask an administrator",
                to.0
            );
            return Err(Problem::new("access-denied", message).into());
        }
        let mut transaction = Transaction::new(&asked.call.user, edits);
        transaction.base = Some(present.revision);
        if asked.is("dry-run") {
            let planned = datastore.plan(transaction).await?;
            return Ok(json!({ "edits": count, "plan": plan::json(&planned) }));
        }
        attempt += 1;
        match datastore.commit(transaction).await {
            Ok(committed) => {
                return Ok(json!({ "edits": count, "committed": committed.revision.0.to_string() }));
            }
            Err(DatastoreError::Conflict { .. }) if attempt < ATTEMPTS => {}
            Err(error) => return Err(error.into()),
        }
    }
}

pub async fn confirm(asked: Asked) -> Result<Value, Problems> {
    let datastore = &asked.call.datastore;
    let pending = waiting(&asked)?;
    let schema = datastore.schema();
    if *pending.user != *asked.call.user {
        // Who lets it stay decides about what it changed as if he had written it.
        let undo = pending.way_back(schema, &asked.call.user)?;
        if let Err(error) = datastore.plan(undo).await
            && error.is_denied()
        {
            return Err(error.into());
        }
    }
    let committed = datastore.commit(pending.confirmation(schema, &asked.call.user)?).await?;
    Ok(json!({ "committed": committed.revision.0.to_string() }))
}

pub async fn cancel(asked: Asked) -> Result<Value, Problems> {
    let pending = waiting(&asked)?;
    let committed = actor::take_back(&asked.call.datastore, &pending, &asked.call.user).await?;
    Ok(json!({ "committed": committed.revision.0.to_string() }))
}

/// The commit that is meant.
fn waiting(asked: &Asked) -> Result<Pending, Problems> {
    let mut all = confirm::pending(&asked.call.datastore.running());
    match asked.text("id") {
        Some(id) => all.retain(|pending| pending.id == id),
        None if all.iter().any(|pending| pending.user == asked.call.user) => {
            all.retain(|pending| pending.user == asked.call.user);
        }
        None => {}
    }
    let names: Vec<String> = all.iter().map(|pending| pending.id.clone()).collect();
    match asked.text("id") {
        None if names.len() > 1 => {
            let message = format!("several commits wait; name one with id: {}", names.join(", "));
            return Err(Problem::new("missing-element", message).into());
        }
        _ => {}
    }
    all.pop().ok_or_else(|| {
        let message = "no such commit waits to be confirmed; its time may have passed";
        Problem::new("data-missing", message).with_status(StatusCode::NOT_FOUND).into()
    })
}
