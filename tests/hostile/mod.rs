//! Bytes from outside, each given to the code that reads such: what fuzz targets (`fuzz/`) and the test of the corpus (`tests/corpus.rs`)
//! share. A panic is a finding; so is an answer that is none, and a store that a refused request has changed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "a fuzz target is one of them")]

#[path = "../support/mod.rs"]
mod support;

pub mod bodies;
pub mod cni;
pub mod frames;
pub mod http;
pub mod log;
pub mod openflow;
pub mod ovsdb;
pub mod requests;
pub mod watch;

/// What is given to whom.
pub struct Target {
    pub name: &'static str,
    pub take: fn(&[u8]),
}

/// All of them; `fuzz/fuzz_targets` has a file of each name.
pub const TARGETS: [Target; 12] = [
    Target { name: "uri", take: requests::uri },
    Target { name: "json", take: bodies::json },
    Target { name: "xml", take: bodies::xml },
    Target { name: "patch", take: requests::patch },
    Target { name: "http", take: http::take },
    Target { name: "openflow", take: openflow::take },
    Target { name: "ovsdb", take: ovsdb::take },
    Target { name: "dhcp", take: frames::dhcp },
    Target { name: "neighbours", take: frames::neighbours },
    Target { name: "cni", take: cni::take },
    Target { name: "watch", take: watch::take },
    Target { name: "log", take: log::take },
];
