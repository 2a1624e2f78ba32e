//! Changes of data, as they are read with `Accept: text/event-stream`.

use serde_json::json;

use super::client::{Events, delete_pod, pod, pod_path, put_pod, report};
use super::support::Server;

#[test]
fn the_present_comes_first_and_changes_follow() {
    let server = Server::start();
    let first = put_pod(&server, 1, "web");
    let mut events = Events::open(&server, "/rests/data/pod:coe/pods", "");
    let present = events.one();
    assert_eq!(present.revision(), first);
    let contents = &present.update()["datastore-contents"];
    assert_eq!(contents["pod:coe"]["pods"][0]["name"], json!("web"), "{contents}");

    let second = put_pod(&server, 2, "db");
    let event = events.one();
    assert_eq!(event.revision(), second);
    let target = format!("/{}", pod_path(2));
    assert_eq!(
        event.edits(),
        [json!({"edit-id": "1", "operation": "create", "target": target, "value": pod(2, "db")})]
    );
    // One leaf of an entry, not the entry.
    server.send("PATCH", &format!("/rests/data/{}", pod_path(2)), &pod(2, "cache").to_string());
    let target = format!("/{}/name", pod_path(2));
    assert_eq!(
        events.one().edits(),
        [json!({"edit-id": "1", "operation": "replace", "target": target, "value": {"pod:name": "cache"}})]
    );
    // What is elsewhere is not told.
    let other = json!({"k8s-node:k8s-nodes": [{"uid": "00000000-0000-4000-8000-000000000009"}]});
    let path = "/rests/data/k8s-node:k8s-nodes-info/k8s-nodes=00000000-0000-4000-8000-000000000009";
    assert_eq!(server.send("PUT", path, &other.to_string()).status, 201);
    let last = delete_pod(&server, 1);
    let event = events.one();
    assert_eq!(event.revision(), last);
    let target = format!("/{}", pod_path(1));
    assert_eq!(event.edits(), [json!({"edit-id": "1", "operation": "delete", "target": target})]);
}

#[test]
fn several_parts_are_watched_at_once() {
    let server = Server::start();
    put_pod(&server, 1, "web");
    let name = |number: u32| format!("/pod:coe/pods%5Buid='00000000-0000-4000-8000-{number:012}'%5D/name");
    let path = format!("/rests/data?filter={}%20%7C%20{}", name(1), name(2));
    let mut events = Events::open(&server, &path, "");
    let first = events.one();
    assert_eq!(first.update()["datastore-contents"]["pod:coe"]["pods"].as_array().unwrap().len(), 1);
    put_pod(&server, 3, "other");
    let second = put_pod(&server, 2, "db");
    let event = events.one();
    assert_eq!((event.revision(), event.edits().len()), (second, 1));
    assert_eq!(event.edits()[0]["target"], format!("/{}/name", pod_path(2)));
    let last = put_pod(&server, 1, "cache");
    let mut again = Events::open(&server, &path, &format!("Last-Event-ID: {second}\r\n"));
    assert_eq!((again.one().revision(), events.one().revision()), (last, last), "no gap and nothing twice");
    for wrong in ["/rests/data/pod:coe?filter=/pod:coe", "/rests/data?filter=pod:coe", "/rests/data?filter="]
    {
        assert_eq!(Events::open(&server, wrong, "").status, 400, "{wrong}");
    }
}

#[test]
fn a_reader_goes_on_behind_a_revision_he_knows() {
    let server = Server::start();
    let revisions: Vec<u64> = (1..=5).map(|number| put_pod(&server, number, "web")).collect();
    let path = format!("/rests/ds/ietf-datastores:running/pod:coe?start-revision={}", revisions[1]);
    let mut events = Events::open(&server, &path, "");
    assert_eq!([events.one().revision(), events.one().revision()], [revisions[2], revisions[3]]);
    let again = format!("Last-Event-ID: {}\r\n", revisions[3]);
    let mut events = Events::open(&server, "/rests/data/pod:coe", &again);
    assert_eq!(events.one().revision(), revisions[4]);
}

#[test]
fn each_datastore_tells_its_own() {
    let server = Server::start();
    let mut running = Events::open(&server, "/rests/ds/ietf-datastores:running", "");
    let mut state = Events::open(&server, "/rests/data/coeus-status:switches?content=nonconfig", "");
    let mut legacy = Events::open(
        &server,
        "/restconf/operational/coeus-status:switches",
        "Accept: text/event-stream, application/xml\r\n",
    );
    running.one();
    state.one();
    assert!(legacy.one().data.contains("<datastore-contents></datastore-contents>"));
    let value = json!({"coeus-status:switch": [{"dpid": "00000000000000aa", "peer": "a<b"}]});
    let reported = report(&server, "coeus-status:switches/switch=00000000000000aa", &value);
    let written = put_pod(&server, 1, "web");
    let event = state.one();
    assert_eq!((event.revision(), event.edits()[0]["value"].clone()), (reported, value));
    assert!(legacy.one().data.contains("<peer>a&lt;b</peer>"));
    assert_eq!(running.one().revision(), written);
}

/// A second controller that carries out what the first one tells has the same configuration.
#[test]
fn the_changes_carried_out_elsewhere_make_the_same_datastore() {
    let (server, mirror) = (Server::lab(), Server::lab());
    let mut events = Events::open(&server, "/rests/ds/ietf-datastores:running", "");
    events.one();
    let steps = [
        ("PUT", "/rests/data/lab:lab/step=b", json!({"lab:step": [{"name": "b"}]})),
        ("POST", "/rests/data/lab:lab?insert=first", json!({"lab:step": [{"name": "a"}]})),
        ("POST", "/rests/data/lab:lab?insert=first", json!({"lab:step": [{"name": "z"}]})),
        ("PUT", "/rests/data/lab:lab/order=x", json!({"lab:order": ["x"]})),
        ("POST", "/rests/data/lab:lab?insert=first", json!({"lab:order": ["y"]})),
        ("PUT", "/rests/data/lab:lab/tag=t%2C1", json!({"lab:tag": ["t,1"]})),
        (
            "PUT",
            "/rests/data/lab:lab/item=i%2F1",
            json!({"lab:item": [{"name": "i/1", "part": [{"id": 1, "text": "x"}]}]}),
        ),
        (
            "PATCH",
            "/rests/data/lab:lab/item=i%2F1",
            json!({"lab:item": [{"name": "i/1", "inner": {"deep": "d"}, "part": [{"id": 2}]}]}),
        ),
        ("DELETE", "/rests/data/lab:lab/item=i%2F1/part=1", json!(null)),
        ("DELETE", "/rests/data/lab:lab/item=i%2F1/inner", json!(null)),
        ("DELETE", "/rests/data/lab:lab/step=a", json!(null)),
        ("DELETE", "/rests/data/lab:lab/order=x", json!(null)),
        ("DELETE", "/rests/data/lab:lab", json!(null)),
    ];
    let patch = "Content-Type: application/yang-patch+json\r\n";
    let configuration = |server: &Server| server.send("GET", "/rests/ds/ietf-datastores:running", "").body;
    for (method, path, body) in steps {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = server.send(method, path, &body);
        assert!(answer.status < 300, "{method} {path}: {} {}", answer.status, answer.body);
        let change = events.one().change();
        let told =
            json!({"ietf-yang-patch:yang-patch": change["datastore-changes"]["yang-patch"]}).to_string();
        let answer = mirror.with(patch, "PATCH", "/rests/data", &told);
        assert_eq!(answer.status, 200, "{told}: {}", answer.body);
        assert_eq!(configuration(&mirror), configuration(&server), "{method} {path}: {told}");
    }
}
