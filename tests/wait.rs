//! `wait=programmed`: writes that are answered when the switches have them. The switches here confirm when the test says so.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use coeus::net::Dpid;
use coeus::northbound::restconf::Switches;
use serde_json::{Value, json};
use support::{Answer, Server, bridge, observe, port};
use tokio::sync::watch;

const P1: &str = "11111111-1111-4111-8111-111111111111";
const SWITCH: Dpid = Dpid(1);

/// One switch, as its programmer would tell of it.
struct Bench {
    told: Mutex<HashMap<u64, Vec<Dpid>>>,
    confirmed: watch::Sender<u64>,
    absence: Mutex<Option<String>>,
    refused: Mutex<Vec<(String, String)>>,
}

impl Switches for Bench {
    fn told(&self, revision: u64) -> Vec<Dpid> {
        self.told.lock().unwrap().get(&revision).cloned().unwrap_or_default()
    }

    fn confirmed(&self, dpid: Dpid) -> watch::Receiver<u64> {
        assert_eq!(dpid, SWITCH);
        self.confirmed.subscribe()
    }

    fn absence(&self, _: Dpid) -> Option<String> {
        self.absence.lock().unwrap().clone()
    }

    fn refused(&self, _: Dpid) -> Vec<(String, String)> {
        self.refused.lock().unwrap().clone()
    }
}

/// A server with one switch; it confirms at once what it is told if `prompt`.
fn bed(prompt: bool) -> (Server, Arc<Bench>) {
    let bench = Arc::new(Bench {
        told: Mutex::default(),
        confirmed: watch::channel(0).0,
        absence: Mutex::default(),
        refused: Mutex::default(),
    });
    let hears = bench.clone();
    let sink = move |revision: coeus::datastore::Revision, deltas: std::collections::BTreeMap<Dpid, _>| {
        hears.told.lock().unwrap().insert(revision.0, deltas.into_keys().collect());
        if prompt {
            hears.confirmed.send_replace(revision.0);
        }
    };
    let server = Server::programmed(Box::new(sink), bench.clone());
    server.observe(&bridge(&json!([])));
    (server, bench)
}

fn plugged() -> Value {
    bridge(&json!([port("blue:p1", 10)]))
}

fn pod() -> String {
    json!({"pod:pods": [{"uid": P1, "name": "p1", "network-NS": "blue", "host-ip-address": "192.168.56.11",
        "interface": [{"uid": P1, "ip-address": "10.0.0.10"}]}]})
    .to_string()
}

fn at(query: &str) -> String {
    format!("/rests/data/pod:coe/pods={P1}?{query}")
}

/// The report in an answer, after its header has been compared with it.
fn report(answer: &Answer) -> Value {
    let report = answer.json()["coeus-status:programmed"].clone();
    assert_eq!(answer.header("coeus-programmed"), report["state"].as_str(), "{}", answer.body);
    report
}

#[test]
fn a_write_is_answered_when_its_switch_has_confirmed() {
    let (server, bench) = bed(false);
    server.observe(&plugged());
    let revisions = server.datastore.revisions();
    let before = revisions.borrow().0;
    let later = bench.clone();
    let confirms = std::thread::spawn(move || {
        while later.told(before + 1).is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(100));
        later.confirmed.send_replace(before + 1);
    });
    let answer = server.send("PUT", &at("wait=programmed&timeout=30s"), &pod());
    confirms.join().unwrap();
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert!(answer.header("location").is_some() && answer.header("etag").is_some());
    let told = report(&answer);
    assert_eq!(told["revision"], (before + 1).to_string());
    assert_eq!(
        (&told["switch"][0]["dpid"], &told["switch"][0]["state"]),
        (&json!("0000000000000001"), &json!("programmed"))
    );
    let latency: u64 = told["switch"][0]["latency"].as_str().unwrap().parse().unwrap();
    assert!(latency >= 100_000, "{told}");
    assert_eq!(told["object"], Value::Null);
}

#[test]
fn what_is_pending_is_named_with_the_reason_and_stays_written() {
    let (server, bench) = bed(false);
    server.observe(&plugged());
    *bench.absence.lock().unwrap() = Some("not connected since noon: reset".into());
    let answer = server.send("PUT", &at("wait=programmed&timeout=1s"), &pod());
    assert_eq!(answer.status, 202, "{}", answer.body);
    let told = report(&answer);
    assert_eq!(told["state"], "pending");
    assert_eq!(told["switch"][0]["reason"], json!(["not connected since noon: reset"]));
    assert_eq!(server.send("GET", &at(""), "").status, 200);
}

#[test]
fn a_pod_without_a_port_is_waited_for() {
    let (server, _bench) = bed(true);
    let answer = server.send("PUT", &at("wait=programmed&timeout=1s"), &pod());
    assert_eq!(answer.status, 202, "{}", answer.body);
    let told = report(&answer);
    assert_eq!((&told["objects"], &told["object"][0]["name"]), (&json!(1), &json!("blue:p1")));
    assert!(told["object"][0]["reason"][0].as_str().unwrap().contains("iface-id=blue:p1"), "{told}");

    // The same again, which changes nothing; the port comes while it waits.
    let datastore = server.datastore.clone();
    let plugs = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        observe(&datastore, &plugged());
    });
    let answer = server.send("PUT", &at("wait=programmed&timeout=30s"), &pod());
    plugs.join().unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    let told = report(&answer);
    assert_eq!(
        (&told["state"], &told["switch"][0]["dpid"]),
        (&json!("programmed"), &json!("0000000000000001"))
    );

    let answer = server.send("DELETE", &at("wait=programmed"), "");
    assert_eq!((answer.status, &report(&answer)["state"]), (200, &json!("programmed")), "{}", answer.body);
}

#[test]
fn a_refusal_is_a_failure_of_the_object_that_it_is_for() {
    let (server, bench) = bed(true);
    server.observe(&plugged());
    *bench.refused.lock().unwrap() = vec![("blue:other".into(), "too big: a flow".into())];
    let answer = server.send("PUT", &at("wait=programmed"), &pod());
    let told = report(&answer);
    assert_eq!(
        (answer.status, &told["state"], &told["switch"][0]["reason"][0]),
        (201, &json!("programmed"), &json!("too big: a flow"))
    );

    *bench.refused.lock().unwrap() = vec![("blue:p1".into(), "too big: a flow".into())];
    let answer = server.send("PUT", &at("wait=programmed"), &pod().replace("10.0.0.10", "10.0.0.11"));
    assert_eq!((answer.status, &report(&answer)["state"]), (202, &json!("failed")), "{}", answer.body);
}

#[test]
fn a_yang_patch_tells_it_in_the_header() {
    let (server, _bench) = bed(true);
    server.observe(&plugged());
    let patch = json!({"ietf-yang-patch:yang-patch": {"patch-id": "p", "edit": [{"edit-id": "1", "operation": "create",
        "target": format!("/pods={P1}"), "value": serde_json::from_str::<Value>(&pod()).unwrap()}]}});
    let kind = "Content-Type: application/yang-patch+json\r\n";
    let answer = server.with(kind, "PATCH", "/rests/data/pod:coe?wait=programmed", &patch.to_string());
    assert_eq!(
        (answer.status, answer.header("coeus-programmed")),
        (200, Some("programmed")),
        "{}",
        answer.body
    );
    assert!(answer.body.contains("yang-patch-status"), "{}", answer.body);
}

#[test]
fn what_cannot_be_waited_for_is_refused_and_nothing_happens() {
    let (server, _bench) = bed(true);
    for query in [
        "wait=",
        "wait=done",
        "timeout=5s",
        "wait=programmed&timeout=",
        "wait=programmed&timeout=0s",
        "wait=programmed&timeout=9h",
        "wait=programmed&timeout=5",
        "wait=programmed&wait=programmed",
        "wait=programmed&timeout=1s&timeout=1s",
        "wait=programmed&dry-run=flows",
        "wait=programmed&other=1",
    ] {
        let answer = server.send("PUT", &at(query), &pod());
        assert_eq!(
            (answer.status, answer.tag().as_deref()),
            (400, Some("invalid-value")),
            "{query}: {}",
            answer.body
        );
    }
    let candidate = at("wait=programmed").replace("/rests/data", "/rests/ds/ietf-datastores:candidate");
    assert_eq!(server.send("PUT", &candidate, &pod()).status, 400);
    assert_eq!(server.send("GET", &at(""), "").status, 404);
    let nobody = Server::network();
    let answer = nobody.send("PUT", &at("wait=programmed"), &pod());
    assert_eq!(
        (answer.status, answer.tag().as_deref()),
        (501, Some("operation-not-supported")),
        "{}",
        answer.body
    );
}
