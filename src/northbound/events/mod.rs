//! Events: the streams of RFC 8040, subscriptions of RFC 8639 and 8641, and changes of data as they are read, all as server-sent
//! events; and OpenDaylight's older way, over websockets.
//!
//! ```text
//! kept revisions ── Feed: where a reader is, what comes next (pure) ── stream: one task a reader, a bounded row ── socket
//! ```
//!
//! A reader pulls. What he has not taken yet is in no queue but in the revisions that are kept anyway; the id of an event is its
//! revision, so that he can go on where he was.

mod actor;
mod changes;
mod document;
mod feed;
mod filter;
mod legacy;
mod notify;
mod request;
mod rpc;
mod server;
mod source;
mod stream;
#[cfg(test)]
mod tests;

pub use actor::{Limits, Registry};

use crate::datastore::{DatastoreError, Edit, Handle, Store, Transaction};
use crate::northbound::restconf::{App, Operations};
use crate::schema::{DataPath, Key, List, Node};

/// Adds events to what RESTCONF serves. The registry ends the readers when the program stops.
pub fn install(app: &mut App, operations: &mut Operations, limits: Limits) -> Registry {
    let registry = Registry::new(app.datastore.clone(), limits);
    let schema = app.datastore.schema();
    rpc::register(operations, schema, &registry);
    legacy::server::register(operations, schema);
    app.resources.push(server::resource(&registry));
    registry
}

/// Shows the streams in `restconf-state` (RFC 8040 section 9.3) and in RFC 8639's list.
///
/// # Errors
/// When the datastore refuses.
pub async fn announce(datastore: &Handle) -> Result<(), DatastoreError> {
    let schema = datastore.schema();
    let oldest = datastore.history().list().first().map(|entry| document::time(entry.time));
    let mut edits = Vec::new();
    for (module, container) in
        [("ietf-restconf-monitoring", "restconf-state/streams"), ("ietf-subscribed-notifications", "streams")]
    {
        let mut path = DataPath::root();
        let mut at = format!("/{module}:");
        for name in container.split('/') {
            at = if at.ends_with(':') { format!("{at}{name}") } else { format!("{at}/{name}") };
            path = path.child(schema.resolve(&at));
        }
        let list = schema.resolve(&format!("{at}/stream"));
        for stream in feed::Stream::ALL {
            let access = |suffix: &'static str, encoding: &'static str| {
                move |id| {
                    let location = format!("/streams/{}{suffix}", stream.name());
                    let made =
                        notify::Maker::new(schema, id).leaf("encoding", encoding).leaf("location", &location);
                    (Key::text(encoding), made.fields())
                }
            };
            let made = notify::Maker::new(schema, list)
                .leaf("name", stream.name())
                .leaf("description", stream.description())
                .leaf("replay-support", if module.contains("monitoring") { "true" } else { "" })
                .leaf_if("replay-log-creation-time", oldest.as_deref())
                .node("access", |id| {
                    Node::List(List::of(schema, id, [access("", "xml")(id), access("-JSON", "json")(id)]))
                });
            let path = path.clone().entry(list, Key::text(stream.name()));
            edits.push(Edit::put(Store::Operational, path, Node::Container(made.fields())));
        }
    }
    datastore.commit(Transaction::passing("events", edits)).await?;
    Ok(())
}
