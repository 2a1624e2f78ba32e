//! Who a datapath belongs to, forgotten (`coeus-switch`).

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::Asked;
use crate::datastore::{Edit, Store, Transaction};
use crate::northbound::restconf::{Problem, Problems};
use crate::schema::{DataPath, Key, Node};

/// `coeus-switch:release`.
pub async fn release(asked: Asked) -> Result<Value, Problems> {
    let datastore = &asked.call.datastore;
    let dpid = asked.text("dpid").unwrap_or_default();
    let snapshot = datastore.snapshot();
    let id = |below: &str| snapshot.schema.resolve(&format!("/coeus-switch:learned-identities{below}"));
    let path = DataPath::root().child(id("")).entry(id("/switch"), Key::text(dpid));
    let found = snapshot.read(Store::Operational, &path);
    let Some(learned) = found.as_ref().and_then(Node::fields) else {
        let message = format!(
            "nobody has come with datapath {dpid} yet, so there is nothing to release; what somebody wrote is in \
             coeus-switch:identities, and is deleted there"
        );
        return Err(Problem::new("data-missing", message).with_status(StatusCode::NOT_FOUND).into());
    };
    let identity = learned.text(id("/switch/identity")).unwrap_or_default();
    let edits = vec![Edit::remove(Store::Operational, path)];
    let committed = datastore.commit(Transaction::new(&asked.call.user, edits)).await?;
    Ok(json!({ "identity": identity, "committed": committed.revision.0.to_string() }))
}
