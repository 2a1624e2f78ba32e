//! Who may do what: TLS, logins, access rules and limits, each against a whole controller in this process.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "security/access.rs"]
mod access;
#[path = "security/accounts.rs"]
mod accounts;
#[path = "security/client.rs"]
mod client;
#[path = "security/limits.rs"]
mod limits;
#[path = "security/past.rs"]
mod past;
#[path = "security/tls.rs"]
mod tls;
