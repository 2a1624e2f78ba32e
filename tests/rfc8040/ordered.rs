//! `insert` and `point` (RFC 8040 sections 4.8.5 and 4.8.6), leaf-lists, and keys.

use proptest::prelude::*;
use serde_json::json;

use crate::support::Server;

const LAB: &str = "/rests/data/lab:lab";

fn step(name: &str) -> String {
    json!({"lab:step": [{"name": name}]}).to_string()
}

#[test]
fn rfc8040_4_8_5_insert_places_entries_of_a_user_ordered_list() {
    let server = Server::lab();
    let post = |query: &str, name: &str| server.send("POST", &format!("{LAB}{query}"), &step(name)).status;
    assert_eq!(post("", "b"), 201);
    assert_eq!(post("?insert=first", "a"), 201);
    assert_eq!(post("?insert=last", "e"), 201);
    assert_eq!(post("?insert=before&point=/lab:lab/step=e", "d"), 201);
    assert_eq!(post("?insert=after&point=%2Flab%3Alab%2Fstep%3Db", "c"), 201);
    assert_eq!(server.order(), ["a", "b", "c", "d", "e"]);
    let put = |query: &str, name: &str| {
        server.send("PUT", &format!("{LAB}/step={name}{query}"), &step(name)).status
    };
    assert_eq!(put("?insert=first", "e"), 204, "PUT moves what is there");
    assert_eq!(put("?insert=after&point=/lab:lab/step=e", "z"), 201);
    assert_eq!(server.order(), ["e", "z", "a", "b", "c", "d"]);
    assert_eq!(put("", "z"), 204);
    assert_eq!(server.order(), ["e", "z", "a", "b", "c", "d"], "without insert it stays where it is");
}

#[test]
fn rfc8040_4_8_6_wrong_points_are_400_and_change_nothing() {
    let server = Server::lab();
    server.send("POST", LAB, &step("a"));
    let before = server.state();
    for query in [
        "insert=before",
        "insert=after",
        "insert=middle",
        "insert=first&point=/lab:lab/step=a",
        "point=/lab:lab/step=a",
        "insert=after&point=/lab:lab/step=nothing",
        "insert=after&point=/lab:lab/item=a",
        "insert=after&point=/lab:lab/step",
        "insert=after&point=/lab:nothing",
        "insert=after&point=step=a",
        "insert=first&insert=last",
    ] {
        let answer = server.send("POST", &format!("{LAB}?{query}"), &step("b"));
        assert_eq!(answer.status, 400, "{query}: {}", answer.body);
    }
    let ordered_by_system = json!({"lab:item": [{"name": "x"}]}).to_string();
    assert_eq!(server.send("POST", &format!("{LAB}?insert=first"), &ordered_by_system).status, 400);
    assert_eq!(server.send("PUT", &format!("{LAB}/item=x?insert=first"), &ordered_by_system).status, 400);
    assert_eq!(
        server.send("PUT", &format!("{LAB}?insert=first"), r#"{"lab:lab":{"title":"t"}}"#).status,
        400
    );
    assert_eq!(server.state(), before);
}

#[test]
fn rfc8040_3_5_instances_of_a_leaf_list_are_resources() {
    let server = Server::lab();
    let at = |value: &str| format!("{LAB}/tag={value}");
    assert_eq!(server.send("PUT", &at("a%2Fb"), r#"{"lab:tag":["a/b"]}"#).status, 201);
    assert_eq!(server.send("POST", LAB, r#"{"lab:tag":["c,d"]}"#).status, 201);
    assert_eq!(server.send("POST", LAB, r#"{"lab:tag":["c,d"]}"#).status, 409);
    assert_eq!(server.send("GET", &at("a%2Fb"), "").json(), json!({"lab:tag": ["a/b"]}));
    assert_eq!(server.send("PUT", &at("a%2Fb"), r#"{"lab:tag":["other"]}"#).status, 400);
    assert_eq!(server.send("DELETE", &at("c%2Cd"), "").status, 204);
    assert_eq!(server.send("DELETE", &at("c%2Cd"), "").status, 404);
    assert_eq!(server.send("GET", &format!("{LAB}/tag"), "").json(), json!({"lab:tag": ["a/b"]}));
    let post = |query: &str, value: &str| {
        let body = json!({"lab:order": [value]}).to_string();
        server.send("POST", &format!("{LAB}?{query}"), &body).status
    };
    assert_eq!(post("insert=first", "m"), 201);
    assert_eq!(post("insert=before&point=/lab:lab/order=m", "z"), 201);
    assert_eq!(post("insert=after&point=/lab:lab/order=z", "a"), 201);
    assert_eq!(server.send("GET", &format!("{LAB}/order"), "").json(), json!({"lab:order": ["z", "a", "m"]}));
}

#[test]
fn rfc8040_3_5_3_an_empty_key_is_a_key_and_not_all_entries() {
    let server = Server::lab();
    for name in ["", "x"] {
        let body = json!({"lab:item": [{"name": name}]}).to_string();
        assert_eq!(server.send("PUT", &format!("{LAB}/item={name}"), &body).status, 201);
    }
    assert_eq!(server.send("GET", &format!("{LAB}/item="), "").json(), json!({"lab:item": [{"name": ""}]}));
    assert_eq!(server.send("GET", &format!("{LAB}/pair=,"), "").status, 404);
    assert_eq!(server.send("GET", &format!("{LAB}/pair=a"), "").status, 400, "two keys are needed");
    assert_eq!(server.send("GET", &format!("{LAB}/pair=a,b,c"), "").status, 400);
}

#[test]
fn rfc8040_4_4_1_location_names_the_new_resource_in_the_spelling_of_its_root() {
    let server = Server::lab();
    let body = json!({"lab:pair": [{"first": "a,b/c", "second": "d=e f"}]}).to_string();
    let created = server.send("POST", LAB, &body);
    assert_eq!(created.status, 201);
    let location = created.header("location").unwrap();
    assert_eq!(location, "/rests/data/lab:lab/pair=a%2Cb%2Fc,d%3De%20f");
    assert_eq!(server.send("GET", location, "").status, 200);
    assert_eq!(server.send("DELETE", location, "").status, 204);
    let created = server.send("PUT", "/restconf/config/lab:lab/pair/a%2Cb%2Fc/d%3De%20f", &body);
    let location = created.header("location").unwrap();
    assert_eq!((created.status, location), (201, "/restconf/config/lab:lab/pair/a%2Cb%2Fc/d%3De%20f"));
    assert_eq!(server.send("GET", location, "").status, 200);
}

/// Any two key values go through HTTP and back, on both roots, and name one entry.
#[test]
fn rfc8040_3_5_3_keys_of_any_characters_go_round() {
    let server = Server::lab();
    let key = "[ -~\u{a1}-\u{17f}\u{1f600}]{0,12}";
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(48));
    let outcome = runner.run(&(key, key), |(first, second)| {
        let body = json!({"lab:pair": [{"first": first, "second": second}]});
        let created = server.send("POST", LAB, &body.to_string());
        prop_assert_eq!(created.status, 201, "{}", created.body);
        let at = created.header("location").unwrap().to_owned();
        prop_assert_eq!(server.send("GET", &at, "").json(), body.clone());
        let older = at.replacen("/rests/data", "/restconf/config", 1);
        prop_assert_eq!(server.send("GET", &older, "").json(), body);
        prop_assert_eq!(server.send("DELETE", &at, "").status, 204);
        prop_assert_eq!(server.send("GET", &at, "").status, 404);
        Ok(())
    });
    outcome.unwrap();
}
