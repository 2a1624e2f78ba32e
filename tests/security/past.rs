//! Candidates, confirmed commits and revisions under access rules.

use serde_json::{Value, json};

use super::access::{NACM, PODS, body, lab, pod, uid};
use super::client::{Answer, Lab};

const CANDIDATE: &str = "/rests/ds/ietf-datastores:candidate/pod:coe";

fn at(number: u32) -> String {
    format!("{CANDIDATE}/pods={}", uid(number))
}

fn send(lab: &Lab, user: &str, method: &str, path: &str, body: &str) -> Answer {
    let password = if user == "admin" { "secret".to_owned() } else { format!("{user}-secret") };
    lab.send(&format!("{user}:{password}"), method, path, body)
}

fn call(lab: &Lab, user: &str, rpc: &str, input: Value) -> Answer {
    let body = json!({ "coeus-history:input": input }).to_string();
    send(lab, user, "POST", &format!("/rests/operations/coeus-history:{rpc}"), &body)
}

fn output(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str::<Value>(&answer.body).unwrap()["coeus-history:output"].clone()
}

/// Everything of coeus-history may be called by ops.
fn permitted() -> Lab {
    let lab = lab();
    let rule = json!({"ietf-netconf-acm:rule": [
        {"name": "past", "module-name": "coeus-history", "rpc-name": "*", "action": "permit"}]});
    let path = format!("{NACM}/rule-list=ops/rule=past");
    assert_eq!(send(&lab, "admin", "PUT", &path, &rule.to_string()).status, 201);
    lab
}

#[test]
fn a_candidate_shows_and_takes_what_its_user_may_read_and_write() {
    let lab = lab();
    assert_eq!(send(&lab, "ops", "PUT", &at(3), &body(3, "mine")).status, 201);
    let refused = send(&lab, "ops", "PUT", &at(2), &body(2, "x"));
    assert!(refused.status == 403 && refused.body.contains("rule ops/not-two"), "{}", refused.body);
    assert_eq!(send(&lab, "ops", "DELETE", &at(2), "").status, 403);
    assert_eq!(send(&lab, "guest", "PUT", &at(9), &body(9, "x")).status, 403);
    let all = json!({"pod:coe": {"pods": [{"uid": uid(1), "name": "y"}]}}).to_string();
    assert_eq!(send(&lab, "ops", "PUT", CANDIDATE, &all).status, 403, "it would delete pod 2 too");

    let seen = send(&lab, "ops", "GET", CANDIDATE, "").body;
    assert!(seen.contains(&uid(3)) && seen.contains(&uid(1)) && !seen.contains(&uid(2)), "{seen}");
    assert_eq!(send(&lab, "ops", "GET", &at(2), "").status, 404);
    for other in ["admin", "guest"] {
        assert_eq!(send(&lab, other, "GET", &at(3), "").status, 404, "each has his own");
    }
    assert_eq!(output(&call(&lab, "admin", "diff-candidate", json!({})))["edits"], 0);
    let diff = output(&call(&lab, "ops", "diff-candidate", json!({})));
    assert_eq!(diff["edits"], 1, "{diff}");
    let committed = output(&call(&lab, "ops", "commit-candidate", json!({})));
    assert!(committed["committed"].is_string(), "{committed}");
    assert_eq!(send(&lab, "guest", "GET", &pod(3), "").status, 200);
    assert_eq!(send(&lab, "guest", "GET", &pod(2), "").status, 200, "what he does not see stays");

    let audit = std::fs::read_to_string(lab.folder.path().join("audit.jsonl")).unwrap();
    let records: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |event: &str| {
        records.iter().filter(|record| record["event"] == event && record["user"] == "ops").count()
    };
    assert_eq!((of("candidate"), of("write")), (4, 1), "{audit}");
    let commit = records.iter().find(|record| record["event"] == "write" && record["user"] == "ops").unwrap();
    assert!(commit["paths"].to_string().contains(&uid(3)) && commit["revision"].is_u64(), "{commit}");
}

#[test]
fn rights_that_are_withdrawn_hold_for_a_candidate_too() {
    let lab = lab();
    assert_eq!(send(&lab, "ops", "PUT", &at(3), &body(3, "mine")).status, 201);
    let rule = format!("{NACM}/rule-list=ops/rule=pods");
    assert_eq!(send(&lab, "admin", "DELETE", &rule, "").status, 204);
    assert_eq!(call(&lab, "ops", "commit-candidate", json!({})).status, 403);
    assert_eq!(send(&lab, "ops", "PUT", &at(4), &body(4, "mine")).status, 403);
    assert_eq!(send(&lab, "admin", "GET", &pod(3), "").status, 404);
}

#[test]
fn who_commits_for_a_while_confirms_and_others_only_what_they_may_write() {
    let lab = lab();
    let put = |user: &str, number: u32, name: &str| {
        let path = format!("{}?confirm=1h", pod(number));
        let answer = send(&lab, user, "PUT", &path, &body(number, name));
        assert!(matches!(answer.status, 201 | 204), "{}", answer.body);
        let id = answer.head.lines().find_map(|line| line.strip_prefix("coeus-confirm: "));
        id.unwrap().to_owned()
    };
    let id = put("ops", 3, "mine");
    for rpc in ["confirm-commit", "cancel-commit"] {
        let refused = call(&lab, "guest", rpc, json!({ "id": id }));
        assert_eq!(refused.status, 403, "{rpc}: {}", refused.body);
    }
    assert_eq!(send(&lab, "guest", "GET", &pod(3), "").status, 200);
    assert_eq!(call(&lab, "ops", "confirm-commit", json!({})).status, 200, "his own");
    put("ops", 3, "again");
    let theirs = put("admin", 2, "theirs");
    assert_eq!(call(&lab, "ops", "cancel-commit", json!({})).status, 200, "his own is meant");
    assert!(send(&lab, "ops", "GET", &pod(3), "").body.contains("mine"));
    for rpc in ["confirm-commit", "cancel-commit"] {
        assert_eq!(call(&lab, "ops", rpc, json!({ "id": theirs })).status, 403, "{rpc} of pod 2");
    }
    let by_other = put("admin", 3, "by admin");
    assert_eq!(call(&lab, "ops", "confirm-commit", json!({ "id": by_other })).status, 200, "he may write it");
    // What waits tells what stood there before.
    let waiting = "/rests/data/coeus-history:confirmed-commits";
    assert_eq!(send(&lab, "ops", "GET", waiting, "").status, 404);
    assert!(send(&lab, "admin", "GET", waiting, "").body.contains(&theirs));
    // A refusal does not tell what is there, whatever is asked for beside it.
    for number in [1, 9] {
        let path = format!("{}?confirm=1h", pod(number));
        assert_eq!(send(&lab, "guest", "DELETE", &path, "").status, 403, "{number}");
    }
}

#[test]
fn the_past_is_shown_and_brought_back_as_far_as_rights_go() {
    let lab = permitted();
    let newest = |user: &str| {
        let list = output(&call(&lab, user, "list-revisions", json!({"clients-only": true})));
        list["revision"].as_array().unwrap().clone()
    };
    let start = newest("admin").last().unwrap()["number"].clone();
    assert_eq!(send(&lab, "admin", "PUT", &pod(2), &body(2, "hidden")).status, 204);
    let hidden = newest("admin").last().unwrap()["number"].clone();
    assert_eq!(send(&lab, "admin", "PUT", &pod(1), &body(1, "shown")).status, 204);
    let shown = newest("admin").last().unwrap()["number"].clone();

    let numbers = |user: &str| -> Vec<Value> {
        newest(user).iter().map(|revision| revision["number"].clone()).collect()
    };
    assert!(numbers("admin").contains(&hidden));
    let seen = numbers("ops");
    assert!(seen.contains(&shown) && !seen.contains(&hidden), "{seen:?}");

    let difference = |user: &str| output(&call(&lab, user, "diff", json!({"from": start})));
    assert_eq!(difference("admin")["edits"], 2);
    let diff = difference("ops");
    assert!(diff["edits"] == 1 && !diff.to_string().contains(&uid(2)), "{diff}");

    let rollback = |user: &str, to: &Value| call(&lab, user, "rollback", json!({ "to": to }));
    let refused = rollback("ops", &start);
    assert!(refused.status == 403 && refused.body.contains("may not read"), "{}", refused.body);
    assert!(send(&lab, "admin", "GET", &pod(2), "").body.contains("hidden"));
    assert_eq!(rollback("ops", &hidden).status, 200, "only pod 1 differs");
    assert!(!send(&lab, "ops", "GET", &pod(1), "").body.contains("shown"));
    let nodes = "/rests/data/k8s-node:k8s-nodes-info";
    assert_eq!(send(&lab, "admin", "PUT", nodes, r#"{"k8s-node:k8s-nodes-info":{"id":"m"}}"#).status, 204);
    assert_eq!(rollback("ops", &hidden).status, 403);
    assert_eq!(rollback("admin", &start).status, 200);
    assert!(!send(&lab, "admin", "GET", PODS, "").body.contains("hidden"));

    // What may not be read now is not found in the past either.
    let rule = json!({"ietf-netconf-acm:rule": [{"name": "no-pods", "path": "/pod:coe", "action": "deny"}]});
    let list = format!("{NACM}/rule-list=ops/rule=no-pods?insert=first");
    assert_eq!(send(&lab, "admin", "PUT", &list, &rule.to_string()).status, 201);
    assert_eq!(difference("ops")["edits"], 0);
}
