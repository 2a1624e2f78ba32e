//! The candidate of the caller: what is in it, and what becomes of it.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::history::{ATTEMPTS, between};
use super::{Asked, plan};
use crate::datastore::{CandidateError, DatastoreError, Resolution};
use crate::net::timestamp;
use crate::northbound::restconf::Problems;
use crate::revisions::confirm;
use crate::revisions::patch::yang_patch;

pub async fn commit(asked: Asked) -> Result<Value, Problems> {
    let datastore = &asked.call.datastore;
    let mut attempt = 0;
    loop {
        let proposal = datastore.propose()?;
        let mut transaction = proposal.transaction.clone();
        let edits = transaction.edits.len();
        if asked.is("dry-run") {
            let planned = datastore.plan(transaction).await?;
            return Ok(json!({ "edits": edits, "plan": plan::json(&planned) }));
        }
        let mut output = json!({ "edits": edits });
        if let Some(seconds) = asked.number("confirm-timeout") {
            let now = SystemTime::now();
            let (id, until) = (confirm::fresh_id(now), now + Duration::from_secs(seconds));
            if let Some(guarded) = confirm::guarded(&proposal.present, transaction.clone(), &id, until)? {
                transaction = guarded;
                output["confirm"] = json!(id);
            }
        }
        attempt += 1;
        match datastore.commit(transaction).await {
            Ok(committed) => {
                datastore.candidate_committed(&proposal);
                if committed.changed {
                    output["committed"] = json!(committed.revision.0.to_string());
                }
                return Ok(output);
            }
            // Somebody was quicker: whether that matters is seen from what is there now.
            Err(DatastoreError::Conflict { .. }) if attempt < ATTEMPTS => {}
            Err(error) => return Err(error.into()),
        }
    }
}

pub async fn discard(asked: Asked) -> Result<Value, Problems> {
    let edits = asked.call.datastore.discard_candidate().unwrap_or_default();
    Ok(json!({ "edits": edits }))
}

pub async fn validate(asked: Asked) -> Result<Value, Problems> {
    let datastore = &asked.call.datastore;
    let proposal = datastore.propose()?;
    datastore.plan(proposal.transaction).await?;
    Ok(json!({}))
}

pub async fn difference(asked: Asked) -> Result<Value, Problems> {
    let datastore = &asked.call.datastore;
    let Some(candidate) = datastore.candidate()? else { return Ok(json!({ "edits": 0 })) };
    let seen = |state: &std::sync::Arc<_>| datastore.readable(std::sync::Arc::clone(state));
    let edits = between(&seen(candidate.base()), &seen(candidate.state()));
    let conflicts = match candidate.onto(&datastore.running()) {
        Err(DatastoreError::Candidate(CandidateError::Conflict { paths, .. })) => paths,
        _ => Vec::new(),
    };
    let base = candidate.base();
    let mut output = json!({
        "base": base.revision.0.to_string(),
        "opened": timestamp(candidate.opened()),
        "edits": edits.len(),
        "patch": yang_patch(base.schema, &format!("candidate of {}", asked.call.user), &edits),
    });
    if !conflicts.is_empty() {
        output["conflict"] = json!(conflicts);
    }
    Ok(output)
}

pub async fn update(asked: Asked) -> Result<Value, Problems> {
    let resolution = asked.text("resolution-mode").and_then(Resolution::named).unwrap_or_default();
    let base = asked.call.datastore.update_candidate(resolution)?;
    Ok(json!({ "base": base.0.to_string() }))
}
