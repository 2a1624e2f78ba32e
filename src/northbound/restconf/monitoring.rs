//! What the server says it can do: `restconf-state/capabilities` of RFC 8040 section 9.1, and the modules it serves (RFC 8525,
//! and RFC 7895 for older clients).

use crate::datastore::{DatastoreError, Edit, Handle, Snapshot, Store, Transaction};
use crate::schema::{DataPath, Node, Step, Value, tree};
use tracing::warn;

/// RFC 8040 section 9.1.1 for those of the query parameters, 9.1.2 for the mode of defaults;
/// RFC 8527 section 3.2 for those of `ds/ietf-datastores:operational`; draft-ietf-netconf-list-pagination-rc section 3.1 for those of
/// pages.
const CAPABILITIES: [&str; 16] = [
    "urn:ietf:params:restconf:capability:cursor:1.0",
    "urn:ietf:params:restconf:capability:defaults:1.0?basic-mode=explicit",
    "urn:ietf:params:restconf:capability:depth:1.0",
    "urn:ietf:params:restconf:capability:direction:1.0",
    "urn:ietf:params:restconf:capability:fields:1.0",
    "urn:ietf:params:restconf:capability:filter:1.0",
    "urn:ietf:params:restconf:capability:limit:1.0",
    "urn:ietf:params:restconf:capability:offset:1.0",
    "urn:ietf:params:restconf:capability:replay:1.0",
    "urn:ietf:params:restconf:capability:sort-by:1.0",
    "urn:ietf:params:restconf:capability:sublist-limit:1.0",
    "urn:ietf:params:restconf:capability:where:1.0",
    "urn:ietf:params:restconf:capability:with-defaults:1.0",
    "urn:ietf:params:restconf:capability:with-operational-defaults:1.0",
    "urn:ietf:params:restconf:capability:with-origin:1.0",
    "urn:ietf:params:restconf:capability:yang-patch:1.0",
];

/// The documents that tell of modules, by their names in ietf-yang-library.
const LIBRARY: [&str; 2] = ["yang-library", "modules-state"];

/// Writes capabilities and modules into the operational store. Nothing happens where they stand there already.
///
/// # Errors
/// When the datastore refuses.
pub async fn announce(datastore: &Handle) -> Result<(), DatastoreError> {
    let schema = datastore.schema();
    let leaf_list = schema.resolve("/ietf-restconf-monitoring:restconf-state/capabilities/capability");
    let state = schema.resolve("/ietf-restconf-monitoring:restconf-state");
    let capabilities = schema.resolve("/ietf-restconf-monitoring:restconf-state/capabilities");
    let path = DataPath::root().child(state).child(capabilities).child(leaf_list);
    let node: Node = tree::leaf_list(schema, leaf_list, CAPABILITIES.map(Value::text).to_vec());
    let mut edits = vec![Edit::put(Store::Operational, path, node)];
    match schema.library(None) {
        Ok(documents) => {
            edits.extend(documents.into_iter().map(|(path, node)| Edit::put(Store::Operational, path, node)));
        }
        Err(error) => warn!(%error, "the modules are not told: ietf-yang-library cannot say what there is"),
    }
    datastore.commit(Transaction::new("restconf", edits)).await?;
    Ok(())
}

/// The same with where the text of each module is (RFC 8040 section 3.7): a URL, which depends on how the client names this server, such as
/// `https://host:8181`. `None`: the modules are not among what is read.
pub fn located(snapshot: &Snapshot, path: &DataPath, origin: impl FnOnce() -> String) -> Option<Snapshot> {
    let schema = snapshot.schema;
    let is_asked = |step: &Step| LIBRARY.contains(&&*schema.node(step.node).name);
    if !path.steps.first().is_none_or(is_asked) {
        return None;
    }
    let base = format!("{}/rests/modules", origin());
    let mut located = snapshot.clone();
    for (document, node) in schema.library(Some(&base)).ok()? {
        let id = document.last_node()?;
        // Who may not read it finds nothing here either.
        if let Some(Node::Container(shown)) = located.operational.input.get(id)
            && let Node::Container(fields) = node
        {
            let fields = fields.dated(shown.modified());
            located.operational.input.set(id, Some(Node::Container(fields)));
        }
    }
    Some(located)
}
