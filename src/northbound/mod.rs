//! Everything that writes configuration: each is a translator and nothing else.
pub mod events;
pub mod http;
pub mod metrics;
pub mod openapi;
pub mod restconf;
pub mod rpcs;
