//! Edits over several requests in a candidate, and what becomes of it (RFC 8527, `coeus-history`), with the renderers behind the
//! datastore.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Answer, Server};

const P1: &str = "11111111-1111-4111-8111-111111111111";
const P2: &str = "22222222-2222-4222-8222-222222222222";
const P3: &str = "33333333-3333-4333-8333-333333333333";
const CANDIDATE: &str = "/rests/ds/ietf-datastores:candidate";
const RUNNING: &str = "/rests/ds/ietf-datastores:running";
const PATCH: &str = "Content-Type: application/yang-patch+json\r\n";

fn pod(uid: &str, name: &str, address: &str) -> String {
    json!({"pod:pods": [{"uid": uid, "name": name, "network-NS": "blue", "host-ip-address": "192.168.56.11",
        "interface": [{"uid": uid, "ip-address": address}]}]})
    .to_string()
}

fn at(root: &str, uid: &str) -> String {
    format!("{root}/pod:coe/pods={uid}")
}

fn call(server: &Server, rpc: &str, input: Value) -> Answer {
    let body = json!({ "coeus-history:input": input }).to_string();
    server.send("POST", &format!("/rests/operations/coeus-history:{rpc}"), &body)
}

fn done(server: &Server, rpc: &str, input: Value) -> Value {
    let answer = call(server, rpc, input);
    assert!(matches!(answer.status, 200 | 204), "{rpc}: {} {}", answer.status, answer.body);
    if answer.body.is_empty() { Value::Null } else { answer.json()["coeus-history:output"].clone() }
}

fn names(server: &Server, root: &str) -> Vec<String> {
    let answer = server.send("GET", &format!("{root}/pod:coe"), "");
    if answer.status == 404 {
        return Vec::new();
    }
    let pods = answer.json()["pod:coe"]["pods"].clone();
    pods.as_array().unwrap().iter().map(|pod| pod["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn edits_of_several_requests_become_one_revision() {
    let server = Server::network();
    assert_eq!(server.send("PUT", &at(RUNNING, P1), &pod(P1, "p1", "10.0.0.10")).status, 201);
    let before = server.datastore.snapshot().revision;
    assert_eq!(names(&server, CANDIDATE), ["p1"], "a candidate is running until it is edited");

    let put = server.send("PUT", &at(CANDIDATE, P2), &pod(P2, "p2", "10.0.0.11"));
    assert_eq!(put.status, 201, "{}", put.body);
    let post = server.send("POST", &format!("{CANDIDATE}/pod:coe"), &pod(P3, "p3", "10.0.0.12"));
    assert_eq!(post.status, 201, "{}", post.body);
    assert_eq!(post.header("location"), Some(&*at(CANDIDATE, P3)));
    let patch = json!({"pod:pods": [{"uid": P1, "name": "renamed"}]}).to_string();
    assert_eq!(server.send("PATCH", &at(CANDIDATE, P1), &patch).status, 204);
    let edits = json!({"ietf-yang-patch:yang-patch": {"patch-id": "p", "edit": [
        {"edit-id": "1", "operation": "delete", "target": format!("/pods={P3}")}]}});
    let patched = server.with(PATCH, "PATCH", &format!("{CANDIDATE}/pod:coe"), &edits.to_string());
    assert_eq!(patched.status, 200, "{}", patched.body);
    assert_eq!(server.send("DELETE", &at(CANDIDATE, P3), "").status, 404);

    assert_eq!(names(&server, CANDIDATE), ["renamed", "p2"]);
    assert_eq!(names(&server, RUNNING), ["p1"], "nothing is committed yet");
    assert_eq!(server.datastore.snapshot().revision, before);

    let diff = done(&server, "diff-candidate", json!({}));
    assert_eq!((&diff["edits"], &diff["base"]), (&json!(2), &json!(before.0.to_string())), "{diff}");
    let plan = done(&server, "commit-candidate", json!({"dry-run": true}));
    assert!(plan["plan"]["node"].to_string().contains("elan-interface"), "{plan}");
    done(&server, "validate-candidate", json!({}));
    assert_eq!(server.datastore.snapshot().revision, before);

    let committed = done(&server, "commit-candidate", json!({}));
    assert_eq!(committed["committed"], json!((before.0 + 1).to_string()), "one revision");
    assert_eq!(names(&server, RUNNING), ["renamed", "p2"]);
    assert_eq!(done(&server, "diff-candidate", json!({})), json!({"edits": 0}), "it is gone");
    assert_eq!(call(&server, "commit-candidate", json!({})).status, 404);
    // The patch that was shown is what happened.
    done(&server, "rollback", json!({"to": before.0.to_string()}));
    let patched = server.with(PATCH, "PATCH", "/rests/data", &diff["patch"].to_string());
    assert_eq!(patched.status, 200, "{}", patched.body);
    assert_eq!(names(&server, RUNNING), ["renamed", "p2"]);
}

#[test]
fn what_others_commit_elsewhere_stays_and_what_they_change_here_is_a_conflict() {
    let server = Server::network();
    for (uid, name, address) in [(P1, "p1", "10.0.0.10"), (P2, "p2", "10.0.0.11")] {
        server.send("PUT", &at(RUNNING, uid), &pod(uid, name, address));
    }
    let rename = |root: &str, uid: &str, name: &str| {
        let body = json!({"pod:pods": [{"uid": uid, "name": name}]}).to_string();
        assert_eq!(server.send("PATCH", &at(root, uid), &body).status, 204);
    };
    rename(CANDIDATE, P1, "mine");
    rename(RUNNING, P2, "theirs");
    // Another leaf of the same pod.
    let body = json!({"pod:pods": [{"uid": P1, "host-ip-address": "192.168.56.12"}]}).to_string();
    assert_eq!(server.send("PATCH", &at(RUNNING, P1), &body).status, 204);
    done(&server, "commit-candidate", json!({}));
    assert_eq!(names(&server, RUNNING), ["mine", "theirs"]);
    let first = server.send("GET", &at(RUNNING, P1), "").body;
    assert!(first.contains("192.168.56.12"), "{first}");

    rename(CANDIDATE, P1, "mine again");
    rename(CANDIDATE, P2, "mine too");
    rename(RUNNING, P1, "theirs again");
    let refused = call(&server, "commit-candidate", json!({}));
    assert_eq!((refused.status, refused.tag().as_deref()), (409, Some("in-use")), "{}", refused.body);
    assert!(refused.body.contains("/name") && refused.body.contains("update-candidate"), "{}", refused.body);
    assert_eq!(names(&server, RUNNING), ["theirs again", "theirs"], "nothing of it happened");
    let conflict = done(&server, "diff-candidate", json!({}))["conflict"].clone();
    assert_eq!(conflict, json!([format!("/pod:coe/pods[uid='{P1}']/name")]));
    assert_eq!(call(&server, "validate-candidate", json!({})).status, 409);
    assert_eq!(call(&server, "update-candidate", json!({})).status, 409);
    assert_eq!(names(&server, CANDIDATE), ["mine again", "mine too"]);

    done(&server, "update-candidate", json!({"resolution-mode": "overwrite"}));
    assert_eq!(names(&server, CANDIDATE), ["theirs again", "mine too"]);
    rename(CANDIDATE, P1, "mine at last");
    rename(RUNNING, P1, "theirs at last");
    done(&server, "update-candidate", json!({"resolution-mode": "ignore"}));
    done(&server, "commit-candidate", json!({}));
    assert_eq!(names(&server, RUNNING), ["mine at last", "mine too"]);
}

#[test]
fn a_pod_that_others_delete_is_a_conflict_and_can_be_kept() {
    let server = Server::network();
    server.send("PUT", &at(RUNNING, P1), &pod(P1, "p1", "10.0.0.10"));
    let body = json!({"pod:pods": [{"uid": P1, "name": "mine"}]}).to_string();
    server.send("PATCH", &at(CANDIDATE, P1), &body);
    assert_eq!(server.send("DELETE", &at(RUNNING, P1), "").status, 204);
    assert_eq!(call(&server, "commit-candidate", json!({})).status, 409);
    done(&server, "update-candidate", json!({"resolution-mode": "ignore"}));
    done(&server, "commit-candidate", json!({}));
    assert_eq!(names(&server, RUNNING), ["mine"], "it is back, whole");
    assert!(server.send("GET", &at(RUNNING, P1), "").body.contains("10.0.0.10"));
}

#[test]
fn a_candidate_may_be_invalid_until_it_is_committed() {
    let server = Server::network();
    server.send("PUT", &at(RUNNING, P1), &pod(P1, "p1", "10.0.0.10"));
    // The address is taken.
    assert_eq!(server.send("PUT", &at(CANDIDATE, P2), &pod(P2, "p2", "10.0.0.10")).status, 201);
    for rpc in ["validate-candidate", "commit-candidate"] {
        let refused = call(&server, rpc, json!({}));
        assert_eq!((refused.status, refused.tag().as_deref()), (409, Some("in-use")), "{}", refused.body);
    }
    assert_eq!(names(&server, RUNNING), ["p1"]);
    assert_eq!(names(&server, CANDIDATE), ["p1", "p2"], "a refused commit leaves the candidate");
    assert_eq!(server.send("PUT", &at(CANDIDATE, P2), &pod(P2, "p2", "10.0.0.11")).status, 204);
    done(&server, "commit-candidate", json!({}));
    assert_eq!(names(&server, RUNNING), ["p1", "p2"]);
    // What cannot be said in the models is refused at once.
    assert_eq!(server.send("PUT", &at(CANDIDATE, P3), &pod(P3, "p3", "10.0.0.999")).status, 400);
    assert_eq!(done(&server, "diff-candidate", json!({}))["edits"], 0);
}

#[test]
fn tags_and_preconditions_are_those_of_the_candidate() {
    let server = Server::network();
    server.send("PUT", &at(RUNNING, P1), &pod(P1, "p1", "10.0.0.10"));
    let tag = |root: &str| server.send("GET", &at(root, P1), "").header("etag").unwrap().to_owned();
    let running = tag(RUNNING);
    assert_eq!(tag(CANDIDATE), running);
    let put = |tag: &str, name: &str| {
        let body = pod(P1, name, "10.0.0.10");
        server.with(&format!("If-Match: {tag}\r\n"), "PUT", &at(CANDIDATE, P1), &body)
    };
    let first = put(&running, "mine");
    assert_eq!(first.status, 204, "{}", first.body);
    assert_eq!(first.header("etag"), Some(&*tag(CANDIDATE)));
    assert_ne!(tag(CANDIDATE), running);
    assert_eq!(tag(RUNNING), running);
    let modified = format!("If-None-Match: {}\r\n", tag(CANDIDATE));
    assert_eq!(server.with(&modified, "GET", &at(CANDIDATE, P1), "").status, 304);
    assert_eq!(put(&running, "lost").status, 412);
    let second = put(&tag(CANDIDATE), "again");
    assert_eq!(second.status, 204, "{}", second.body);
    let known = tag(CANDIDATE);
    done(&server, "discard-candidate", json!({}));
    assert_eq!(tag(CANDIDATE), running);
    put(&running, "other");
    assert_ne!(tag(CANDIDATE), known, "a tag means one state of one candidate");
    // A running configuration from which others follow has the tag of what was written.
    let body = pod(P1, "p1", "10.0.0.10");
    let put = server.with(&format!("If-Match: {running}\r\n"), "PUT", &at(RUNNING, P1), &body);
    assert_eq!(put.status, 204, "{}", put.body);
}

#[test]
fn a_plan_of_one_more_edit_is_that_of_the_whole_candidate() {
    let server = Server::network();
    server.send("PUT", &at(CANDIDATE, P1), &pod(P1, "p1", "10.0.0.10"));
    let planned =
        server.send("PUT", &format!("{}?dry-run=flows", at(CANDIDATE, P2)), &pod(P2, "p2", "10.0.0.11"));
    assert_eq!(planned.status, 200, "{}", planned.body);
    let nodes = planned.json()["coeus-explain:plan"]["node"].to_string();
    assert!(nodes.contains("blue%3Ap1") && nodes.contains("blue%3Ap2"), "{nodes}");
    assert_eq!(names(&server, CANDIDATE), ["p1"]);
    assert_eq!(names(&server, RUNNING), [""; 0]);
}

#[test]
fn a_confirmed_commit_of_a_candidate_goes_back_by_itself() {
    let server = Server::network();
    server.send("PUT", &at(CANDIDATE, P1), &pod(P1, "p1", "10.0.0.10"));
    let answer =
        server.send("PUT", &format!("{}?confirm=9s", at(CANDIDATE, P2)), &pod(P2, "p2", "10.0.0.11"));
    assert!(answer.status == 400 && answer.body.contains("confirm-timeout"), "{}", answer.body);
    let committed = done(&server, "commit-candidate", json!({"confirm-timeout": 1}));
    assert!(committed["confirm"].is_string(), "{committed}");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !names(&server, RUNNING).is_empty() {
        assert!(Instant::now() < deadline, "it does not go back");
        std::thread::sleep(Duration::from_millis(50));
    }
    server.send("PUT", &at(CANDIDATE, P1), &pod(P1, "p1", "10.0.0.10"));
    let committed = done(&server, "commit-candidate", json!({"confirm-timeout": 3600}));
    done(&server, "confirm-commit", json!({"id": committed["confirm"]}));
    assert_eq!(names(&server, RUNNING), ["p1"]);
}

#[test]
fn each_bound_on_candidates_has_its_error() {
    use coeus::datastore::CandidateLimits;
    let limits = CandidateLimits { edits: 2, bytes: 4000, idle: Duration::from_secs(3600), candidates: 64 };
    let server = Server::with_candidates(limits);
    for number in 0..2 {
        let body = pod(P1, &format!("p{number}"), "10.0.0.10");
        assert!(server.send("PUT", &at(CANDIDATE, P1), &body).status < 300);
    }
    let refused = server.send("DELETE", &at(CANDIDATE, P1), "");
    assert_eq!((refused.status, refused.tag().as_deref()), (409, Some("resource-denied")));
    assert!(refused.body.contains("candidate-edits"), "{}", refused.body);
    assert_eq!(names(&server, CANDIDATE), ["p1"]);
    done(&server, "discard-candidate", json!({}));
    let long = server.send("PUT", &at(CANDIDATE, P1), &pod(P1, &"x".repeat(4000), "10.0.0.10"));
    assert!(long.status == 409 && long.body.contains("candidate-bytes"), "{}", long.body);

    let none = Server::with_candidates(CandidateLimits { candidates: 0, ..limits });
    let refused = none.send("PUT", &at(CANDIDATE, P1), &pod(P1, "p1", "10.0.0.10"));
    assert!(refused.status == 409 && refused.body.contains("limit candidates"), "{}", refused.body);

    let short = Server::with_candidates(CandidateLimits { idle: Duration::ZERO, ..limits });
    assert_eq!(short.send("PUT", &at(CANDIDATE, P1), &pod(P1, "p1", "10.0.0.10")).status, 201);
    std::thread::sleep(Duration::from_millis(2));
    for refused in [
        short.send("PUT", &at(CANDIDATE, P2), &pod(P2, "p2", "10.0.0.11")),
        call(&short, "commit-candidate", json!({})),
    ] {
        assert!(refused.status == 409 && refused.body.contains("discard-candidate"), "{}", refused.body);
    }
    done(&short, "discard-candidate", json!({}));
    assert_eq!(short.send("PUT", &at(CANDIDATE, P2), &pod(P2, "p2", "10.0.0.11")).status, 201);
}

#[test]
fn the_candidate_is_a_datastore_like_the_others() {
    let server = Server::network();
    let library = server.send("GET", "/rests/data/ietf-yang-library:yang-library?fields=datastore", "");
    assert!(library.body.contains("ietf-datastores:candidate"), "{}", library.body);
    let options = server.send("OPTIONS", &format!("{CANDIDATE}/pod:coe"), "");
    assert_eq!(options.header("allow"), Some("GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE"));
    assert_eq!(server.send("DELETE", CANDIDATE, "").status, 405);
    assert_eq!(server.send("GET", &format!("{CANDIDATE}/pod:coe?with-origin"), "").status, 400);
    assert_eq!(server.send("GET", CANDIDATE, "").status, 200);
    // A whole datastore, and back.
    let whole = json!({"ietf-restconf:data": {"pod:coe": {"pods": [{"uid": P1, "name": "p1"}]}}}).to_string();
    assert_eq!(server.send("PUT", CANDIDATE, &whole).status, 204);
    assert_eq!(names(&server, CANDIDATE), ["p1"]);
    done(&server, "commit-candidate", json!({}));
    assert_eq!(names(&server, RUNNING), ["p1"]);
}

#[test]
fn many_editors_of_one_candidate_lose_nothing() {
    let server = Server::network();
    std::thread::scope(|scope| {
        for number in 1..9 {
            let server = &server;
            scope.spawn(move || {
                for round in 1..9 {
                    let uid = format!("00000000-0000-4000-8000-0000000{number:02}{round:03}");
                    let body = pod(&uid, &format!("p{number}-{round}"), &format!("10.0.{number}.{round}"));
                    assert_eq!(server.send("PUT", &at(CANDIDATE, &uid), &body).status, 201);
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..4 {
                let answer = call(&server, "commit-candidate", json!({}));
                assert!(matches!(answer.status, 200 | 404), "{}", answer.body);
            }
        });
    });
    if done(&server, "diff-candidate", json!({}))["edits"] != 0 {
        done(&server, "commit-candidate", json!({}));
    }
    assert_eq!(names(&server, RUNNING).len(), 64);
}

#[test]
fn two_cases_of_one_choice_are_a_conflict() {
    let server = Server::network();
    let rule = |root: &str| format!("{root}/ietf-netconf-acm:nacm/rule-list=l/rule=r");
    let body = json!({"ietf-netconf-acm:nacm": {"rule-list": [
        {"name": "l", "group": ["g"], "rule": [{"name": "r", "action": "permit"}]}]}});
    assert_eq!(
        server.send("PUT", &format!("{RUNNING}/ietf-netconf-acm:nacm"), &body.to_string()).status,
        201
    );
    let patch = |root: &str, leaf: &str, value: &str| {
        let body = json!({"ietf-netconf-acm:rule": [{"name": "r", leaf: value}]}).to_string();
        let answer = server.send("PATCH", &rule(root), &body);
        assert_eq!(answer.status, 204, "{}", answer.body);
    };
    patch(CANDIDATE, "rpc-name", "diff");
    patch(RUNNING, "path", "/pod:coe");
    let refused = call(&server, "commit-candidate", json!({}));
    assert!(refused.status == 409 && refused.body.contains("/path"), "{}", refused.body);
    assert!(server.send("GET", &rule(RUNNING), "").body.contains("/pod:coe"));
}

#[test]
fn what_follows_from_something_else_is_not_deleted_in_a_candidate_and_its_owner_is_named() {
    let server = Server::network();
    assert_eq!(server.send("PUT", &at(RUNNING, P1), &pod(P1, "p1", "10.0.0.10")).status, 201);
    let elan = "elan:elan-instances/elan-instance=192.168.56.11%3Ablue";
    let message = |answer: &Answer| {
        let errors = answer.json()["ietf-restconf:errors"]["error"].clone();
        (answer.status, errors[0]["error-message"].as_str().unwrap_or_default().to_owned())
    };
    let running = server.send("DELETE", &format!("{RUNNING}/{elan}"), "");
    let (status, said) = message(&running);
    assert_eq!(status, 409, "{}", running.body);
    assert!(said.contains("pod") && said.contains("p1"), "{said}");
    for (method, body) in [("DELETE", ""), ("PATCH", "")] {
        let answer = match method {
            "DELETE" => server.send(method, &format!("{CANDIDATE}/{elan}"), body),
            _ => {
                let target = "/elan-instance=192.168.56.11%3Ablue";
                let edits = json!({"ietf-yang-patch:yang-patch": {"patch-id": "p", "edit": [
                    {"edit-id": "1", "operation": "delete", "target": target}]}});
                server.with(PATCH, method, &format!("{CANDIDATE}/elan:elan-instances"), &edits.to_string())
            }
        };
        assert!(answer.body.contains(&said), "{method}: {} {}, not {said}", answer.status, answer.body);
    }
    let planned = server.send("DELETE", &format!("{CANDIDATE}/{elan}?dry-run=flows"), "");
    assert_eq!(message(&planned), (409, said));
}
