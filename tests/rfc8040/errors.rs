//! Errors: RFC 8040 section 7.

use serde_json::{Value, json};

use crate::support::{Answer, Server};

const LAB: &str = "/rests/data/lab:lab";

fn errors(answer: &Answer) -> Vec<Value> {
    answer.json()["ietf-restconf:errors"]["error"].as_array().unwrap().clone()
}

#[test]
fn rfc8040_7_each_error_tag_has_its_status() {
    let server = Server::lab();
    let item = json!({"lab:item": [{"name": "a"}]}).to_string();
    server.send("POST", LAB, &item);
    let long = json!({"lab:lab": {"title": "x".repeat(2 << 20)}}).to_string();
    for (method, path, body, status, tag) in [
        ("PUT", LAB, r#"{"lab:lab":{"speed":"x"}}"#, 400, "invalid-value"),
        ("PUT", LAB, "{", 400, "malformed-message"),
        ("PUT", LAB, r#"{"lab:lab":{"nothing":1}}"#, 400, "unknown-element"),
        ("PUT", LAB, r#"{"lab:lab":{"nothing:x":1}}"#, 400, "unknown-namespace"),
        ("PUT", LAB, r#"{"lab:lab":{"item":[{"value":1}]}}"#, 400, "missing-element"),
        ("PUT", LAB, r#"{"lab:lab":{"port":1,"key":"k"}}"#, 400, "bad-element"),
        ("GET", "/rests/data/lab:lab/pair=a", "", 400, "missing-attribute"),
        ("POST", LAB, &item, 409, "data-exists"),
        ("DELETE", "/rests/data/lab:lab/item=b", "", 404, "data-missing"),
        ("PUT", "/rests/data/lab:lab/item=b/part=1", r#"{"lab:part":[{"id":1}]}"#, 409, "data-missing"),
        ("PUT", LAB, r#"{"lab:lab":{"extras":{}}}"#, 409, "data-missing"),
        ("DELETE", "/rests/data", "", 405, "operation-not-supported"),
        ("PUT", LAB, &long, 413, "too-big"),
        (
            "PUT",
            LAB,
            r#"{"lab:lab":{"unique":[{"name":"a","address":"forbidden"}]}}"#,
            412,
            "operation-failed",
        ),
    ] {
        let answer = server.send(method, path, body);
        let told = &errors(&answer)[0];
        assert_eq!(
            (answer.status, &told["error-tag"]),
            (status, &json!(tag)),
            "{method} {path}: {}",
            answer.body
        );
        assert!(told["error-message"].as_str().is_some_and(|message| !message.is_empty()));
        assert!(matches!(told["error-type"].as_str(), Some("application" | "protocol")));
    }
}

#[test]
fn rfc8040_7_1_every_fault_of_a_body_is_told_with_its_path() {
    let server = Server::lab();
    let body = json!({"lab:lab": {"speed": "x", "nothing": 1, "item": [{"name": "a", "value": true}, {"note": "n"}]}});
    let answer = server.send("PUT", LAB, &body.to_string());
    let told = errors(&answer);
    let paths: Vec<&str> = told.iter().map(|error| error["error-path"].as_str().unwrap()).collect();
    assert_eq!(answer.status, 400);
    for path in ["/lab:lab/speed", "/lab:lab/item[name='a']/value", "/lab:lab/item[2]"] {
        assert!(paths.contains(&path), "{path} in {paths:?}");
    }
    assert!(told.len() >= 4, "{told:?}");
}

#[test]
fn rfc7950_7_5_4_a_must_speaks_with_the_words_of_its_model() {
    let server = Server::lab();
    let body = json!({"lab:unique": [{"name": "a", "address": "forbidden"}]}).to_string();
    let told = errors(&server.send("POST", LAB, &body));
    assert_eq!(told[0]["error-app-tag"], "lab-forbidden");
    assert!(told[0]["error-message"].as_str().unwrap().contains("this address is forbidden"), "{told:?}");
    assert_eq!(told[0]["error-path"], "/lab:lab/unique[name='a']");
}

#[test]
fn rfc8040_7_1_several_broken_conditions_are_told_together() {
    let server = Server::lab();
    let body = json!({"lab:lab": {"extras": {}, "unique": [
        {"name": "a", "address": "x"}, {"name": "b", "address": "x"}, {"name": "c", "peer": "nobody"}]}});
    let told = errors(&server.send("PUT", LAB, &body.to_string()));
    assert!(told.len() >= 3, "{told:?}");
}

#[test]
fn rfc8040_4_4_1_a_post_to_a_missing_parent_is_404() {
    let server = Server::lab();
    let part = json!({"lab:part": [{"id": 1}]}).to_string();
    assert_eq!(server.send("POST", "/rests/data/lab:lab/item=none", &part).status, 404);
}

#[test]
fn rfc7950_7_5_1_an_empty_container_without_presence_is_there_and_nothing_is_created() {
    let server = Server::lab();
    let empty = json!({"lab:lab": {}}).to_string();
    let revision = server.state().0;
    let refused = server.send("POST", "/rests/data", &empty);
    assert_eq!((refused.status, refused.tag().as_deref()), (409, Some("data-exists")));
    let edit = json!({"ietf-yang-patch:yang-patch": {"patch-id": "p", "edit": [
        {"edit-id": "e", "operation": "create", "target": "/lab:lab", "value": {"lab:lab": {}}}]}});
    let patched = server.with(
        "Content-Type: application/yang-patch+json\r\n",
        "PATCH",
        "/rests/data",
        &edit.to_string(),
    );
    assert_eq!(patched.status, 409, "{}", patched.body);
    let put = server.send("PUT", LAB, &empty);
    assert_eq!((put.status, put.header("location")), (204, None));
    assert_eq!(server.send("GET", LAB, "").status, 404, "it holds nothing");
    assert_eq!(server.state().0, revision, "nothing has changed");
    let server = Server::lab();
    let inner = json!({"lab:limits": {}}).to_string();
    assert_eq!(server.send("POST", LAB, &inner).status, 409, "the same further down");
}

#[test]
fn rfc8040_4_6_1_patch_never_creates_the_entry_it_names() {
    let server = Server::lab();
    let item = json!({"lab:item": [{"name": "a"}]}).to_string();
    assert_eq!(server.send("PATCH", "/rests/data/lab:lab/item=a", &item).status, 404);
}

#[test]
fn rfc8040_4_7_delete_takes_the_resource_and_nothing_beside_it() {
    let server = Server::lab();
    let body =
        json!({"lab:lab": {"title": "t", "item": [{"name": "a"}, {"name": "b"}], "limits": {"high": 3}}});
    server.send("PUT", LAB, &body.to_string());
    for gone in ["item=a", "limits/high", "title"] {
        assert_eq!(server.send("DELETE", &format!("{LAB}/{gone}"), "").status, 204, "{gone}");
    }
    assert_eq!(server.send("GET", LAB, "").json(), json!({"lab:lab": {"item": [{"name": "b"}]}}));
    assert_eq!(
        server.send("DELETE", &format!("{LAB}/item=b/name"), "").status,
        400,
        "a key stays with its entry"
    );
    assert_eq!(server.send("DELETE", LAB, "").status, 204);
    assert_eq!(server.send("GET", LAB, "").status, 404);
}

#[test]
fn rfc8040_4_5_put_creates_201_replaces_204_and_keeps_nothing_of_the_old() {
    let server = Server::lab();
    let at = format!("{LAB}/item=a");
    assert_eq!(server.send("PUT", &at, r#"{"lab:item":[{"name":"a","value":1}]}"#).status, 201);
    assert_eq!(server.send("PUT", &at, r#"{"lab:item":[{"name":"a","note":"n"}]}"#).status, 204);
    assert_eq!(server.send("GET", &at, "").json(), json!({"lab:item": [{"name": "a", "note": "n"}]}));
    assert_eq!(
        server.send("PUT", &at, r#"{"lab:item":[{"name":"b"}]}"#).status,
        400,
        "the key is that of the URL"
    );
}
