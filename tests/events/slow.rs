//! Readers that do not read.

use coeus::northbound::events::Limits;
use serde_json::json;

use super::client::{Events, pod_path, put_pod};
use super::support::Server;

/// What may wait for one reader: two of the events below.
const BYTES: usize = 120_000;
const BACKLOG: u64 = 20;

#[test]
fn a_reader_that_takes_nothing_is_cut_off_with_a_last_event_and_can_go_on() {
    let server = Server::with_limits(Limits { bytes: BYTES, backlog: BACKLOG, ..Limits::default() });
    let mut events = Events::open(&server, "/rests/ds/ietf-datastores:running/pod:coe", "");
    assert_eq!(server.readers.count(), 1);
    let long = "x".repeat(60_000);
    let mut written = Vec::new();
    // The sockets take some; then the row fills, and the reader is behind.
    while server.readers.count() > 0 {
        let number = written.len();
        assert!(number < 2000, "the reader was never cut off");
        written.push(put_pod(&server, 1, &format!("{number}{long}")));
    }
    let mut told = Vec::new();
    events.one();
    let last = loop {
        let event = events.one();
        if !event.terminated().is_null() {
            break event;
        }
        told.push(event.revision());
    };
    let terminated = last.terminated();
    assert_eq!(terminated["reason"], json!("insufficient-resources"));
    assert_eq!(events.next(), None);
    // No gap up to where it was cut off, and it was not cut off before the bound.
    assert_eq!(told, written[..told.len()]);
    assert!(written.len() - told.len() > BACKLOG as usize, "{} of {}", told.len(), written.len());
    let resume: u64 = terminated["coeus-events:revision"].as_str().unwrap().parse().unwrap();
    assert_eq!(resume, *told.last().unwrap());
    let path = format!("/rests/ds/ietf-datastores:running/pod:coe?start-revision={resume}");
    let mut events = Events::open(&server, &path, "");
    // More than the bound behind, and reading: that is no reason to be cut off again.
    for revision in &written[told.len()..] {
        assert_eq!(events.one().revision(), *revision);
    }
}

#[test]
fn a_first_state_that_nobody_takes_is_cut_off_too() {
    let server = Server::with_limits(Limits { bytes: BYTES, backlog: BACKLOG, ..Limits::default() });
    let long = "x".repeat(900_000);
    for number in 1..=20 {
        put_pod(&server, number, &long);
    }
    let mut events = Events::open(&server, "/rests/ds/ietf-datastores:running/pod:coe", "");
    for number in 0..=BACKLOG {
        put_pod(&server, 99, &number.to_string());
    }
    while server.readers.count() > 0 {
        put_pod(&server, 99, &server.datastore.snapshot().revision.0.to_string());
    }
    // What was begun is no message; the last event says why, and that there is nothing to go on from.
    let terminated = events.one().terminated();
    assert_eq!(terminated["reason"], json!("insufficient-resources"));
    assert_eq!(terminated["coeus-events:revision"], json!(null));
    assert_eq!(events.next(), None);
}

#[test]
fn a_reader_whose_revision_is_not_kept_any_more_is_told_so() {
    let server = Server::start();
    let first = put_pod(&server, 1, "first");
    for number in 0..600 {
        put_pod(&server, 1, &format!("{number}"));
    }
    let answer = Events::open(&server, &format!("/rests/data/{}?start-revision={first}", pod_path(1)), "");
    assert_eq!(answer.status, 410, "{}", answer.head);
}
