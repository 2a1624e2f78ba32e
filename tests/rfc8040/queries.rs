//! Query parameters: RFC 8040 section 4.8, RFC 8527 section 3.2.

use serde_json::json;

use crate::support::Server;

const LAB: &str = "/rests/data/lab:lab";

fn filled() -> Server {
    let server = Server::lab();
    let body = json!({"lab:lab": {"title": "t", "mode": "fast", "item": [
        {"name": "one", "value": 7, "inner": {"deep": "d"}, "part": [{"id": 1, "text": "x"}]},
        {"name": "two", "value": 9}]}});
    assert_eq!(server.send("PUT", LAB, &body.to_string()).status, 201);
    server
}

#[test]
fn rfc8040_4_8_unknown_repeated_and_misplaced_parameters_are_400() {
    let server = filled();
    for (method, query, body) in [
        ("GET", "colour=red", ""),
        ("GET", "depth=1&depth=1", ""),
        ("GET", "insert=first", ""),
        ("GET", "point=/lab:lab", ""),
        ("GET", "start-time=2026-01-01T00:00:00Z", ""),
        ("HEAD", "colour=red", ""),
        ("OPTIONS", "depth=1", ""),
        ("PUT", "depth=1", r#"{"lab:lab":{"title":"u"}}"#),
        ("PUT", "content=config", r#"{"lab:lab":{"title":"u"}}"#),
        ("PATCH", "insert=first", r#"{"lab:lab":{"title":"u"}}"#),
        ("PATCH", "with-defaults=trim", r#"{"lab:lab":{"title":"u"}}"#),
        ("POST", "fields=title", r#"{"lab:pair":[{"first":"a","second":"b"}]}"#),
        ("DELETE", "depth=1", ""),
    ] {
        let before = server.state();
        let answer = server.send(method, &format!("{LAB}?{query}"), body);
        assert_eq!(answer.status, 400, "{method} {query}: {}", answer.body);
        assert!(method == "HEAD" || answer.tag().as_deref() == Some("invalid-value"));
        assert_eq!(server.state(), before);
    }
}

#[test]
fn rfc8040_4_8_1_content_chooses_between_configuration_and_state() {
    let server = filled();
    let get = |query: &str| server.send("GET", &format!("/rests/data?{query}"), "").json();
    assert_eq!(get("content=config")["ietf-restconf:data"]["lab:lab"]["title"], "t");
    assert_eq!(get("content=nonconfig")["ietf-restconf:data"]["lab:lab"], json!(null));
    assert_eq!(get("content=all"), get(""), "all is the default");
    assert_eq!(server.send("GET", &format!("{LAB}?content=nonconfig"), "").status, 404);
}

#[test]
fn rfc8040_4_8_2_depth_limits_the_levels() {
    let server = filled();
    let get = |query: &str| server.send("GET", &format!("{LAB}?{query}"), "").json();
    assert_eq!(get("depth=1"), json!({"lab:lab": {}}));
    assert_eq!(get("depth=2")["lab:lab"]["item"], json!([{"name": "one"}, {"name": "two"}]));
    assert_eq!(get("depth=unbounded"), get(""));
    for wrong in ["0", "65536", "x", "", "-1", "1.5"] {
        assert_eq!(server.send("GET", &format!("{LAB}?depth={wrong}"), "").status, 400, "{wrong}");
    }
}

#[test]
fn rfc8040_4_8_3_fields_selects_and_unknown_nodes_are_400() {
    let server = filled();
    let get = |query: &str| server.send("GET", &format!("{LAB}?fields={query}"), "");
    assert_eq!(get("title").json(), json!({"lab:lab": {"title": "t"}}));
    let nested = json!({"lab:lab": {"title": "t", "item": [{"name": "one", "inner": {"deep": "d"}}, {"name": "two"}]}});
    assert_eq!(get("title;item(inner(deep))").json(), nested);
    assert_eq!(get("title;item%28inner%2Fdeep%29").json(), nested, "encoded or not");
    for wrong in ["", "nothing", "item(", "item/nothing", "title/x", "x:title", "item(value"] {
        assert_eq!(get(wrong).status, 400, "{wrong}");
    }
}

#[test]
fn rfc8040_4_8_9_with_defaults_has_all_four_modes_and_explicit_is_basic() {
    let server = filled();
    let get =
        |mode: &str| server.send("GET", &format!("{LAB}?with-defaults={mode}"), "").json()["lab:lab"].clone();
    assert_eq!(get("explicit"), server.send("GET", LAB, "").json()["lab:lab"]);
    assert_eq!(get("explicit")["speed"], json!(null));
    assert_eq!(get("trim")["item"][0]["value"], json!(null));
    let all = get("report-all");
    assert_eq!(
        (&all["speed"], &all["boost"], &all["limits"]["low"], &all["port"]),
        (&json!(100), &json!(3), &json!(1), &json!(80))
    );
    assert_eq!((&all["extras"], &all["tls-port"]), (&json!(null), &json!(null)));
    let tagged = get("report-all-tagged");
    let default = json!({"ietf-netconf-with-defaults:default": true});
    assert_eq!((&tagged["speed"], &tagged["@speed"]), (&json!(100), &default));
    assert_eq!(tagged["item"][0]["@value"], json!(null), "what a client set is no default");
    assert_eq!(server.send("GET", &format!("{LAB}?with-defaults=some"), "").status, 400);
}

#[test]
fn rfc8040_3_5_4_an_absent_leaf_answers_with_its_default_in_use() {
    let server = filled();
    assert_eq!(server.send("GET", &format!("{LAB}/speed"), "").json(), json!({"lab:speed": 100}));
    assert_eq!(server.send("GET", &format!("{LAB}/limits/low"), "").json(), json!({"lab:low": 1}));
    let tagged = server.send("GET", &format!("{LAB}/speed?with-defaults=report-all-tagged"), "").json();
    assert_eq!(tagged, json!({"lab:speed": 100, "@lab:speed": {"ietf-netconf-with-defaults:default": true}}));
    assert_eq!(server.send("GET", &format!("{LAB}/tls-port"), "").status, 404, "its case is not chosen");
    assert_eq!(server.send("GET", &format!("{LAB}/speed?with-defaults=trim"), "").status, 404);
    assert_eq!(server.send("GET", &format!("{LAB}/item=three/value"), "").status, 404);
}

#[test]
fn rfc7950_7_7_2_an_absent_leaf_list_has_its_defaults() {
    let server = filled();
    let get = |at: &str| server.send("GET", &format!("{LAB}/{at}"), "");
    assert_eq!(get("colours").json(), json!({"lab:colours": ["green", "red"]}));
    assert_eq!(get("turns").json(), json!({"lab:turns": [2, 1]}));
    assert_eq!(get("colours=red").json(), json!({"lab:colours": ["red"]}));
    assert_eq!(get("colours=blue").status, 404);
    assert_eq!(get("colours?with-defaults=trim").status, 404);
    let default = json!({"ietf-netconf-with-defaults:default": true});
    let tagged = json!({"lab:colours": ["green", "red"], "@lab:colours": [default, default]});
    assert_eq!(get("colours?with-defaults=report-all-tagged").json(), tagged);
    assert_eq!(get("suite").status, 404, "its case is not chosen");
    let xml = server.with(
        "Accept: application/yang-data+xml\r\n",
        "GET",
        &format!("{LAB}?with-defaults=report-all"),
        "",
    );
    assert!(xml.body.contains("<turns>2</turns><turns>1</turns>"), "{}", xml.body);
    assert_eq!(server.send("PUT", &format!("{LAB}/colours=blue"), r#"{"lab:colours":["blue"]}"#).status, 201);
    assert_eq!(
        get("colours").json(),
        json!({"lab:colours": ["blue"]}),
        "one value is instead of all defaults"
    );
    assert_eq!(get("colours=red").status, 404);
    assert_eq!(server.send("DELETE", &format!("{LAB}/colours=blue"), "").status, 204);
    assert_eq!(get("colours").json(), json!({"lab:colours": ["green", "red"]}));
    let items =
        server.send("GET", &format!("{LAB}/item?where=../colours='red'%20and%20count(../turns)=2"), "");
    assert_eq!(items.json()["lab:item"].as_array().map(Vec::len), Some(2), "{}", items.body);
}

#[test]
fn the_older_root_takes_depth_and_fields_too() {
    let server = filled();
    let get = |query: &str| server.send("GET", &format!("/restconf/config/lab:lab?{query}"), "");
    assert_eq!(get("depth=1").json(), json!({"lab:lab": {}}));
    assert_eq!(get("fields=title").json(), json!({"lab:lab": {"title": "t"}}));
    assert_eq!(get("content=config").status, 400);
}

#[test]
fn what_opendaylights_clients_add_is_understood() {
    let server = filled();
    let plain = server.send("GET", LAB, "");
    for at in [format!("{LAB}?odl-pretty-print=true"), "/restconf/config/lab:lab?prettyPrint=true".to_owned()]
    {
        let pretty = server.send("GET", &at, "");
        assert_eq!((pretty.status, pretty.json()), (200, plain.json()), "{at}");
        assert!(pretty.body.lines().count() > 5, "{}", pretty.body);
        assert_eq!(pretty.header("content-length"), Some(pretty.body.len().to_string().as_str()));
    }
    assert_eq!(server.send("GET", &format!("{LAB}?odl-pretty-print=yes"), "").status, 400);
    let mount = "/restconf/config/network-topology:network-topology/topology/t/node/n/yang-ext:mount/lab:lab";
    assert_eq!(server.send("GET", mount, "").status, 501);
}
