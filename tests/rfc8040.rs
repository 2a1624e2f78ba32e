//! One case for each normative statement that is implemented: the RFC and its section stand in the name.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

#[path = "rfc8040/conditions.rs"]
mod conditions;
#[path = "rfc8040/errors.rs"]
mod errors;
#[path = "rfc8040/operations.rs"]
mod operations;
#[path = "rfc8040/ordered.rs"]
mod ordered;
#[path = "rfc8040/pages.rs"]
mod pages;
#[path = "rfc8040/patches.rs"]
mod patches;
#[path = "rfc8040/queries.rs"]
mod queries;
#[path = "rfc8040/streams.rs"]
mod streams;
#[path = "rfc8040/xml.rs"]
mod xml;
