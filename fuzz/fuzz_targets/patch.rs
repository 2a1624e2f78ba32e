//! YANG Patches through a running server: never a 5xx, and a refused patch leaves the store as it was.
#![no_main]

#[path = "../../tests/support/mod.rs"]
mod support;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use support::Server;

static SERVER: OnceLock<Server> = OnceLock::new();

fuzz_target!(|body: &str| {
    let server = SERVER.get_or_init(Server::start);
    let before = server.state();
    let kind = "Content-Type: application/yang-patch+json\r\n";
    let answer = server.with(kind, "PATCH", "/rests/data/pod:coe", body);
    assert!(answer.status < 500, "{} {}", answer.status, answer.body);
    if answer.status >= 400 {
        assert_eq!(server.state(), before, "refused, but something changed");
    }
});
