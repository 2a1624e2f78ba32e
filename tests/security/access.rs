//! Access rules against a running controller, and the records of what was done.

use std::path::Path;
use std::time::{Duration, Instant};

use coeus::app::ServeOptions;
use serde_json::{Value, json};

use super::accounts::coeus;
use super::client::Lab;

pub const NACM: &str = "/rests/data/ietf-netconf-acm:nacm";
pub const PODS: &str = "/rests/data/pod:coe";

pub fn pod(number: u32) -> String {
    format!("{PODS}/pods={}", uid(number))
}

pub fn uid(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

pub fn body(number: u32, name: &str) -> String {
    json!({"pod:pods": [{"uid": uid(number), "name": name}]}).to_string()
}

/// A controller with users ops (group ops), who may write pods but not pod 2, and guest (no group).
pub fn lab() -> Lab {
    let add = |folder: &Path| {
        coeus(folder, &["user", "add", "ops", "--groups", "ops"], "ops-secret").unwrap();
        coeus(folder, &["user", "add", "guest"], "guest-secret").unwrap();
    };
    let lab = Lab::prepared(add, |_| ServeOptions::default());
    let rules = json!({"ietf-netconf-acm:nacm": {"rule-list": [{"name": "ops", "group": ["ops"], "rule": [
        {"name": "not-two", "path": format!("/pod:coe/pods[uid='{}']", uid(2)), "action": "deny"},
        {"name": "no-nodes", "path": "/k8s-node:k8s-nodes-info", "access-operations": "read", "action": "deny"},
        {"name": "pods", "path": "/pod:coe", "action": "permit"},
    ]}]}});
    let answer = lab.send("admin:secret", "PUT", NACM, &rules.to_string());
    assert_eq!(answer.status, 201, "{}", answer.body);
    for number in [1, 2] {
        assert_eq!(lab.send("admin:secret", "PUT", &pod(number), &body(number, "a")).status, 201);
    }
    let nodes = r#"{"k8s-node:k8s-nodes-info":{"id":"n"}}"#;
    assert_eq!(lab.send("admin:secret", "PUT", "/rests/data/k8s-node:k8s-nodes-info", nodes).status, 201);
    lab
}

#[test]
fn options_tells_what_the_user_may_do() {
    let lab = lab();
    for (user, at, wanted) in [
        ("admin:secret", pod(2), "GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE"),
        ("ops:ops-secret", pod(1), "GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE"),
        ("ops:ops-secret", pod(2), "GET, HEAD, OPTIONS"),
        ("guest:guest-secret", pod(1), "GET, HEAD, OPTIONS"),
    ] {
        let answer = lab.send(user, "OPTIONS", &at, "");
        let allow = answer.head.lines().find_map(|line| line.strip_prefix("allow: "));
        assert_eq!((answer.status, allow), (200, Some(&*wanted.to_ascii_lowercase())), "{user} {at}");
    }
}

#[test]
fn writes_are_bounded_by_rules_on_both_roots() {
    let lab = lab();
    let status = |user: &str, method: &str, path: &str, body: &str| {
        let answer = lab.send(&format!("{user}:{user}-secret"), method, path, body);
        (answer.status, answer.body)
    };
    assert_eq!(status("ops", "PUT", &pod(3), &body(3, "x")).0, 201);
    assert_eq!(status("ops", "PUT", &pod(1), &body(1, "x")).0, 204);
    let refused = status("ops", "PUT", &pod(2), &body(2, "x"));
    assert_eq!(refused.0, 403, "{}", refused.1);
    assert!(refused.1.contains("access-denied") && refused.1.contains("rule ops/not-two"), "{}", refused.1);
    let legacy = format!("/restconf/config/pod:coe/pods/{}", uid(2));
    assert_eq!(status("ops", "DELETE", &legacy, "").0, 403);
    assert_eq!(
        status("ops", "PUT", "/rests/data/k8s-node:k8s-nodes-info", r#"{"k8s-node:k8s-nodes-info":{}}"#).0,
        403
    );
    let all = json!({"pod:coe": {"pods": [{"uid": uid(1), "name": "y"}]}}).to_string();
    assert_eq!(status("ops", "PUT", PODS, &all).0, 403, "replacing all would delete pod 2 too");
    let patch = json!({"pod:coe": {"pods": [{"uid": uid(1), "name": "z"}]}}).to_string();
    assert_eq!(status("ops", "PATCH", PODS, &patch).0, 204, "what is not touched does not matter");
    for (method, path) in [("PUT", pod(1)), ("PUT", pod(9))] {
        assert_eq!(status("guest", method, &path, &body(if path == pod(1) { 1 } else { 9 }, "g")).0, 403);
    }
    assert_eq!(status("guest", "DELETE", &pod(1), "").0, 403);
    assert_eq!(status("guest", "DELETE", &pod(9), "").0, 403, "a refusal does not tell what is there");
    assert_eq!(lab.send("admin:secret", "DELETE", &pod(2), "").status, 204, "administrators are not bound");
}

#[test]
fn what_may_not_be_read_is_not_there() {
    let lab = lab();
    let get = |user: &str, path: &str| lab.send(&format!("{user}:{user}-secret"), "GET", path, "");
    assert_eq!(get("ops", &pod(1)).status, 200);
    assert_eq!(get("ops", &pod(2)).status, 404);
    assert_eq!(get("guest", &pod(2)).status, 200, "reading is permitted where no rule says otherwise");
    let list = get("ops", PODS).body;
    assert!(list.contains(&uid(1)) && !list.contains(&uid(2)), "{list}");
    assert_eq!(get("ops", "/restconf/config/k8s-node:k8s-nodes-info").status, 404);
    let everything = get("ops", "/rests/data").body;
    assert!(everything.contains("pod:coe") && !everything.contains("k8s-nodes-info"), "{everything}");
    assert!(!everything.contains("rule-list"), "the rules themselves are for administrators: {everything}");
    for path in [
        "/rests/ds/ietf-datastores:running/k8s-node:k8s-nodes-info",
        "/rests/data/k8s-node:k8s-nodes-info/id",
    ] {
        assert_eq!(get("ops", path).status, 404, "{path}");
    }
    assert_eq!(lab.send("admin:secret", "GET", NACM, "").status, 200);
    assert_eq!(get("ops", NACM).status, 404);
}

#[test]
fn what_may_not_be_read_decides_no_condition() {
    let lab = lab();
    let nodes = "where=/k8s-node:k8s-nodes-info/k8s-node:id='n'";
    let hidden = format!("where=/pod:coe/pod:pods[uid='{}']/name='a'", uid(2));
    let get = |user: &str, query: &str| {
        let answer = lab.send(&format!("{user}:{user}-secret"), "GET", &format!("{PODS}/pods?{query}"), "");
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    };
    for query in [nodes, hidden.as_str()] {
        let admin = lab.send("admin:secret", "GET", &format!("{PODS}/pods?{query}"), "").body;
        assert!(admin.contains(&uid(1)) && admin.contains(&uid(2)), "{admin}");
        assert_eq!(get("ops", query), r#"{"pod:pods":[]}"#, "{query}");
    }
    let list = get("ops", "where=name='a'&limit=1");
    assert!(list.contains(&uid(1)) && !list.contains("remaining"), "hidden entries are not counted: {list}");
}

#[test]
fn the_past_and_the_reasons_are_for_administrators_unless_a_rule_permits_them() {
    let lab = lab();
    for operation in ["coeus-history:list-revisions", "coeus-history:diff", "coeus-history:rollback"] {
        let path = format!("/rests/operations/{operation}");
        let refused = lab.send("ops:ops-secret", "POST", &path, "");
        assert_eq!(refused.status, 403, "{operation}: {}", refused.body);
    }
    for operation in ["flow", "object", "impact"] {
        let path = format!("/rests/operations/coeus-explain:{operation}");
        assert_eq!(lab.send("guest:guest-secret", "POST", &path, "").status, 403, "{operation}");
    }
    let list = "/rests/operations/coeus-history:list-revisions";
    assert_eq!(lab.send("admin:secret", "POST", list, "").status, 200);
    let rule = json!({"ietf-netconf-acm:rule": [
        {"name": "past", "module-name": "coeus-history", "rpc-name": "list-revisions", "action": "permit"}]});
    let path = format!("{NACM}/rule-list=ops/rule=past");
    assert_eq!(lab.send("admin:secret", "PUT", &path, &rule.to_string()).status, 201);
    assert_eq!(lab.send("ops:ops-secret", "POST", list, "").status, 200);
}

#[test]
fn rules_that_cannot_be_read_are_refused_and_refusals_are_counted() {
    let lab = lab();
    let rule =
        json!({"ietf-netconf-acm:rule": [{"name": "x", "path": "/pod:cow", "action": "deny"}]}).to_string();
    let refused = lab.send("admin:secret", "PUT", &format!("{NACM}/rule-list=ops/rule=x"), &rule);
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body.contains("rule ops/x"), "{}", refused.body);
    for _ in 0..3 {
        assert_eq!(lab.send("guest:guest-secret", "DELETE", &pod(1), "").status, 403);
    }
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let counted = lab.send("admin:secret", "GET", &format!("{NACM}?content=nonconfig"), "").body;
        let counted: Value = serde_json::from_str(&counted).unwrap_or_default();
        if counted["ietf-netconf-acm:nacm"]["denied-data-writes"] == 3 {
            break;
        }
        assert!(Instant::now() < until, "{counted}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn writes_and_refused_logins_are_recorded() {
    use std::os::unix::fs::PermissionsExt;
    let lab = lab();
    assert_eq!(lab.send("guest:guest-secret", "DELETE", &pod(1), "").status, 403);
    assert_eq!(lab.send("guest:wrong-secret", "GET", PODS, "").status, 401);
    assert_eq!(lab.raw("", "GET", PODS, "").status, 401, "no login is no refused one");
    let path = lab.folder.path().join("audit.jsonl");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let records: Vec<Value> = std::fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let first = &records[0];
    assert_eq!((&first["user"], &first["paths"][0]), (&json!("admin"), &json!("/ietf-netconf-acm:nacm")));
    assert!(
        first["revision"].is_u64() && first["from"].as_str().unwrap().starts_with("127.0.0.1:"),
        "{first}"
    );
    let [.., denied, login] = &records[..] else { panic!("{records:?}") };
    assert!(
        denied["revision"].is_null() && denied["result"].as_str().unwrap().contains("denied"),
        "{denied}"
    );
    assert_eq!((&login["event"], &login["user"]), (&json!("login-refused"), &json!("guest")));
    assert_eq!(records.len(), 6);
}

/// As XPath has it, in a query.
fn path_of(number: u32) -> String {
    format!("/pod:coe/pods%5Buid='{}'%5D", uid(number))
}

#[test]
fn events_leave_out_what_may_not_be_read() {
    use std::io::{BufRead, BufReader, Write};
    let lab = lab();
    let open = |path: &str| {
        let mut stream = super::client::plain(lab.plain());
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let login = super::client::basic("ops:ops-secret");
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: test\r\n{login}Accept: text/event-stream\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        // The head is sent once the reader has its place: nothing that happens from here on is missed.
        let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        assert!(head[0].contains(" 200 "), "{head:?}");
        lines.filter(|line| line.starts_with("data: "))
    };
    let both = format!("/rests/data?filter={}%7C{}", path_of(1), path_of(2));
    let (mut data, mut stream, mut two) = (open(PODS), open("/streams/NETCONF-JSON"), open(&both));
    let present = two.next().unwrap();
    assert!(present.contains(&uid(1)) && !present.contains(&uid(2)), "{present}");
    let present = data.next().unwrap();
    assert!(present.contains(&uid(1)) && !present.contains(&uid(2)), "{present}");
    for number in [2, 1] {
        assert_eq!(lab.send("admin:secret", "PUT", &pod(number), &body(number, "news")).status, 204);
    }
    // What happened to pod 2 is not told, neither as data nor as a notification; the next event is that of pod 1.
    for told in [data.next().unwrap(), stream.next().unwrap(), two.next().unwrap()] {
        assert!(told.contains(&uid(1)) && !told.contains(&uid(2)), "{told}");
    }
    let path = "/rests/operations/ietf-subscribed-notifications:kill-subscription";
    let input = r#"{"ietf-subscribed-notifications:input":{"id":1}}"#;
    assert_eq!(lab.send("ops:ops-secret", "POST", path, input).status, 403);
}
