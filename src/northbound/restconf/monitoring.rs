//! What the server says it can do: `restconf-state/capabilities` of RFC 8040 section 9.1.

use crate::datastore::{DatastoreError, Edit, Handle, Store, Transaction};
use crate::schema::{DataPath, Node, Value, tree};

/// RFC 8040 section 9.1.1 for those of the query parameters, 9.1.2 for the mode of defaults.
const CAPABILITIES: [&str; 5] = [
    "urn:ietf:params:restconf:capability:defaults:1.0?basic-mode=explicit",
    "urn:ietf:params:restconf:capability:depth:1.0",
    "urn:ietf:params:restconf:capability:fields:1.0",
    "urn:ietf:params:restconf:capability:with-defaults:1.0",
    "urn:ietf:params:restconf:capability:yang-patch:1.0",
];

/// Writes the capabilities into the operational store. Nothing happens where they stand there already.
///
/// # Errors
/// When the datastore refuses.
pub async fn announce(datastore: &Handle) -> Result<(), DatastoreError> {
    let schema = datastore.snapshot().schema;
    let leaf_list = schema.resolve("/ietf-restconf-monitoring:restconf-state/capabilities/capability");
    let state = schema.resolve("/ietf-restconf-monitoring:restconf-state");
    let capabilities = schema.resolve("/ietf-restconf-monitoring:restconf-state/capabilities");
    let path = DataPath::root().child(state).child(capabilities).child(leaf_list);
    let node: Node = tree::leaf_list(schema, leaf_list, CAPABILITIES.map(Value::text).to_vec());
    datastore.commit(Transaction::new("restconf", vec![Edit::put(Store::Operational, path, node)])).await?;
    Ok(())
}
