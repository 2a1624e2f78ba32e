//! YANG Patch (RFC 8072), and PUT, PATCH and POST of the datastore resource.

use serde_json::{Value, json};

use crate::support::{Answer, Server};

const LAB: &str = "/rests/data/lab:lab";

fn patch(server: &Server, at: &str, edits: Value) -> Answer {
    let body = json!({"ietf-yang-patch:yang-patch": {"patch-id": "p", "comment": "c", "edit": edits}});
    server.with("Content-Type: application/yang-patch+json\r\n", "PATCH", at, &body.to_string())
}

fn step(name: &str) -> Value {
    json!({"lab:step": [{"name": name}]})
}

#[test]
fn rfc8072_2_5_every_operation_does_what_its_name_says() {
    let server = Server::lab();
    let done = patch(
        &server,
        LAB,
        json!([
            {"edit-id": "1", "operation": "create", "target": "/item=a", "value": {"lab:item": [{"name": "a", "value": 1, "note": "n"}]}},
            {"edit-id": "2", "operation": "merge", "target": "/item=a", "value": {"lab:item": [{"name": "a", "value": 2}]}},
            {"edit-id": "3", "operation": "replace", "target": "/item=b", "value": {"lab:item": [{"name": "b", "value": 3}]}},
            {"edit-id": "4", "operation": "remove", "target": "/item=nothing"},
            {"edit-id": "5", "operation": "insert", "target": "/step=x", "value": step("x")},
            {"edit-id": "6", "operation": "insert", "target": "/step=y", "where": "first", "value": step("y")},
            {"edit-id": "7", "operation": "insert", "target": "/step=z", "where": "after", "point": "/step=y", "value": step("z")},
            {"edit-id": "8", "operation": "move", "target": "/step=x", "where": "before", "point": "/step=y"},
            {"edit-id": "9", "operation": "replace", "target": "/", "value": {"lab:lab": {"title": "gone again"}}},
        ]),
    );
    assert_eq!(done.status, 200, "{}", done.body);
    assert_eq!(done.json(), json!({"ietf-yang-patch:yang-patch-status": {"patch-id": "p", "ok": [null]}}));
    assert_eq!(
        server.send("GET", LAB, "").json(),
        json!({"lab:lab": {"title": "gone again"}}),
        "edits go in order"
    );
    let done = patch(
        &server,
        "/rests/data",
        json!([
            {"edit-id": "1", "operation": "create", "target": "/lab:lab/item=a", "value": {"lab:item": [{"name": "a", "value": 1, "note": "n"}]}},
            {"edit-id": "2", "operation": "merge", "target": "/lab:lab/item=a", "value": {"lab:item": [{"name": "a", "value": 2}]}},
            {"edit-id": "5", "operation": "insert", "target": "/lab:lab/step=x", "value": step("x")},
            {"edit-id": "6", "operation": "insert", "target": "/lab:lab/step=y", "where": "first", "value": step("y")},
            {"edit-id": "7", "operation": "insert", "target": "/lab:lab/step=z", "where": "after", "point": "/lab:lab/step=y", "value": step("z")},
            {"edit-id": "8", "operation": "move", "target": "/lab:lab/step=x", "where": "before", "point": "/lab:lab/step=y"},
        ]),
    );
    assert_eq!(done.status, 200, "{}", done.body);
    assert!(done.header("etag").is_some());
    assert_eq!(
        server.send("GET", &format!("{LAB}/item"), "").json(),
        json!({"lab:item": [{"name": "a", "value": 2, "note": "n"}]})
    );
    assert_eq!(server.order(), ["x", "y", "z"]);
    let done = patch(
        &server,
        &format!("{LAB}/item=a"),
        json!([{"edit-id": "1", "operation": "delete", "target": "/note"}]),
    );
    assert_eq!(done.status, 200, "{}", done.body);
}

#[test]
fn rfc8072_2_7_all_happens_or_nothing_and_the_failed_edit_is_named() {
    let server = Server::lab();
    server.send("PUT", &format!("{LAB}/item=old"), r#"{"lab:item":[{"name":"old"}]}"#);
    let before = server.state();
    let good =
        json!({"edit-id": "good", "operation": "merge", "target": "/title", "value": {"lab:title": "t"}});
    for (bad, status, tag) in [
        (
            json!({"operation": "create", "target": "/item=old", "value": {"lab:item": [{"name": "old"}]}}),
            409,
            "data-exists",
        ),
        (json!({"operation": "delete", "target": "/item=nothing"}), 404, "data-missing"),
        (json!({"operation": "move", "target": "/step=nothing", "where": "first"}), 404, "data-missing"),
        (
            json!({"operation": "merge", "target": "/item=new", "value": {"lab:item": [{"name": "other"}]}}),
            400,
            "invalid-value",
        ),
        (
            json!({"operation": "merge", "target": "/item=new", "value": {"lab:item": [{"name": "new", "value": "x"}]}}),
            400,
            "invalid-value",
        ),
        (
            json!({"operation": "merge", "target": "/nothing", "value": {"lab:nothing": 1}}),
            400,
            "unknown-element",
        ),
        (json!({"operation": "merge", "target": "item=new", "value": {}}), 400, "invalid-value"),
        (json!({"operation": "merge", "target": "/item=new"}), 400, "missing-element"),
        (json!({"operation": "delete", "target": "/item=old", "value": {}}), 400, "invalid-value"),
        (json!({"operation": "delete", "target": "/item=old", "where": "first"}), 400, "invalid-value"),
        (
            json!({"operation": "insert", "target": "/item=new", "value": {"lab:item": [{"name": "new"}]}}),
            400,
            "invalid-value",
        ),
        (
            json!({"operation": "insert", "target": "/step=new", "where": "after", "value": step("new")}),
            400,
            "missing-element",
        ),
        (
            json!({"operation": "insert", "target": "/step=new", "where": "after", "point": "/step=none", "value": step("new")}),
            400,
            "invalid-value",
        ),
        (json!({"operation": "improve", "target": "/title"}), 400, "invalid-value"),
        (
            json!({"operation": "replace", "target": "/extras", "value": {"lab:extras": {}}}),
            409,
            "data-missing",
        ),
        (
            json!({"operation": "merge", "target": "/unique=a", "value": {"lab:unique": [{"name": "a", "address": "forbidden"}]}}),
            412,
            "operation-failed",
        ),
    ] {
        let mut bad = bad.clone();
        bad["edit-id"] = json!("bad");
        let answer = patch(&server, LAB, json!([good, bad]));
        let told = &answer.json()["ietf-yang-patch:yang-patch-status"];
        let edits = &told["edit-status"]["edit"];
        assert_eq!(told["patch-id"], "p");
        assert_eq!(edits[0], json!({"edit-id": "good", "ok": [null]}), "{bad}: {}", answer.body);
        assert_eq!(edits[1]["errors"]["error"][0]["error-tag"], tag, "{bad}: {}", answer.body);
        assert_eq!(answer.status, status, "{bad}: {}", answer.body);
        assert_eq!(server.state(), before, "{bad}");
    }
}

#[test]
fn rfc8072_2_4_an_edit_id_stands_once_and_the_body_is_a_yang_patch() {
    let server = Server::lab();
    let title = |id: &str| json!({"edit-id": id, "operation": "merge", "target": "/title", "value": {"lab:title": "t"}});
    let before = server.state();
    assert_eq!(patch(&server, LAB, json!([title("1"), title("1")])).status, 400);
    let kind = "Content-Type: application/yang-patch+json\r\n";
    for body in [
        "",
        "{}",
        "[]",
        "null",
        "{",
        r#"{"yang-patch":{"patch-id":"p"}}"#,
        r#"{"ietf-yang-patch:yang-patch":{}}"#,
        r#"{"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":{}}}"#,
        r#"{"ietf-yang-patch:yang-patch":{"patch-id":"p","colour":"red"}}"#,
        r#"{"ietf-yang-patch:yang-patch":{"patch-id":"p","edit":[{"edit-id":"1"}]}}"#,
    ] {
        assert_eq!(server.with(kind, "PATCH", LAB, body).status, 400, "{body}");
    }
    assert_eq!(server.with(kind, "PUT", LAB, "{}").status, 415, "it is for PATCH only");
    assert_eq!(server.state(), before);
    assert!(
        server
            .send("OPTIONS", LAB, "")
            .header("accept-patch")
            .unwrap()
            .contains("application/yang-patch+json")
    );
}

#[test]
fn rfc8072_a_precondition_is_about_the_whole_patch() {
    let server = Server::lab();
    let first = server.send("PUT", LAB, r#"{"lab:lab":{"title":"1"}}"#);
    let tag = first.header("etag").unwrap().to_owned();
    server.send("PUT", LAB, r#"{"lab:lab":{"title":"2"}}"#);
    let body = json!({"ietf-yang-patch:yang-patch": {"patch-id": "p", "edit": [
        {"edit-id": "1", "operation": "merge", "target": "/title", "value": {"lab:title": "3"}}]}});
    let headers = format!("Content-Type: application/yang-patch+json\r\nIf-Match: {tag}\r\n");
    let answer = server.with(&headers, "PATCH", LAB, &body.to_string());
    assert_eq!(answer.status, 412);
    assert_eq!(
        answer.json()["ietf-yang-patch:yang-patch-status"]["errors"]["error"][0]["error-tag"],
        "operation-failed"
    );
}

#[test]
fn rfc8040_4_5_put_of_the_datastore_replaces_all_and_emptying_it_wants_a_precondition() {
    let server = Server::lab();
    let data = |title: &str| json!({"ietf-restconf:data": {"lab:lab": {"title": title}}}).to_string();
    server.send("PUT", &format!("{LAB}/item=old"), r#"{"lab:item":[{"name":"old"}]}"#);
    assert_eq!(server.send("PUT", "/rests/data", &data("new")).status, 204);
    assert_eq!(
        server.send("GET", "/rests/data?content=config", "").json(),
        serde_json::from_str::<Value>(&data("new")).unwrap()
    );
    let before = server.state();
    for wrong in ["{}", r#"{"lab:lab":{"title":"x"}}"#, r#"{"data":{}}"#, r#"{"ietf-restconf:data":[]}"#] {
        assert_eq!(server.send("PUT", "/rests/data", wrong).status, 400, "{wrong}");
    }
    let empty = r#"{"ietf-restconf:data":{}}"#;
    assert_eq!(server.send("PUT", "/rests/data", empty).status, 428);
    assert_eq!(server.send("PUT", "/restconf/config", empty).status, 428);
    assert_eq!(server.state(), before);
    let tag = server.send("GET", "/rests/data", "").header("etag").unwrap().to_owned();
    assert_eq!(server.with(&format!("If-Match: {tag}\r\n"), "PUT", "/rests/data", empty).status, 204);
    assert_eq!(server.send("GET", LAB, "").status, 404);
    assert_eq!(
        server.send("DELETE", "/rests/data", "").status,
        405,
        "RFC 8040 4.7: the datastore is not deleted"
    );
}

#[test]
fn rfc8040_4_6_1_patch_of_the_datastore_merges_and_post_creates_below_it() {
    let server = Server::lab();
    assert_eq!(server.send("POST", "/rests/data", r#"{"lab:lab":{"title":"t"}}"#).status, 201);
    assert_eq!(server.send("POST", "/rests/data", r#"{"lab:lab":{"title":"t"}}"#).status, 409);
    let merge = r#"{"ietf-restconf:data":{"lab:lab":{"item":[{"name":"a"}]},"pod:coe":{"pods":[{"uid":"ac092d9b-e9eb-bae2-eed8-74aca2b7fa9c"}]}}}"#;
    assert_eq!(server.send("PATCH", "/rests/data", merge).status, 204);
    let got = server.send("GET", LAB, "").json();
    assert_eq!((&got["lab:lab"]["title"], &got["lab:lab"]["item"][0]["name"]), (&json!("t"), &json!("a")));
    assert_eq!(server.send("GET", "/rests/data/pod:coe/pods", "").status, 200);
}
