//! Events over HTTP: streams, subscriptions, changes of data, slow readers.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "events/client.rs"]
mod client;
#[path = "events/data.rs"]
mod data;
#[path = "events/legacy.rs"]
mod legacy;
#[path = "events/slow.rs"]
mod slow;
#[path = "events/streams.rs"]
mod streams;
#[path = "events/subscriptions.rs"]
mod subscriptions;
mod support;
