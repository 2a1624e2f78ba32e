//! RPCs, actions, and what can be found out: RFC 8040 sections 3.1 to 3.6 and 4.1.

use serde_json::json;

use crate::support::Server;

const ECHO: &str = "/rests/operations/lab:echo";

fn echo(text: &str) -> String {
    json!({"lab:input": {"text": text}}).to_string()
}

#[test]
fn rfc8040_3_6_an_rpc_with_output_is_200_and_one_without_is_204() {
    let server = Server::lab();
    let answer = server.send("POST", ECHO, &echo("hello"));
    assert_eq!((answer.status, answer.json()), (200, json!({"lab:output": {"text": "hello"}})));
    let answer = server.send("POST", ECHO, r#"{"lab:input":{"text":"ab","times":3}}"#);
    assert_eq!(answer.json(), json!({"lab:output": {"text": "ababab"}}));
    let ping = server.send("POST", "/rests/operations/lab:ping", "");
    assert_eq!((ping.status, ping.body.as_str()), (204, ""));
    let older = server.send("POST", "/restconf/operations/lab:echo", r#"{"input":{"text":"x","times":"2"}}"#);
    assert_eq!((older.status, older.json()), (200, json!({"lab:output": {"text": "xx"}})), "{}", older.body);
}

#[test]
fn rfc8040_3_6_1_wrong_input_is_refused_and_names_the_leaf() {
    let server = Server::lab();
    for (body, path) in [
        ("", "text"),
        ("{}", "text"),
        (r#"{"lab:input":{}}"#, "text"),
        (r#"{"lab:input":{"text":1}}"#, "text"),
        (r#"{"lab:input":{"text":"x","times":4}}"#, "times"),
        (r#"{"lab:input":{"text":"x","colour":"red"}}"#, ""),
        (r#"{"input":{"text":"x"}}"#, ""),
        (r#"{"lab:output":{"text":"x"}}"#, ""),
        ("[]", ""),
        ("{", ""),
    ] {
        let answer = server.send("POST", ECHO, body);
        assert!((400..500).contains(&answer.status), "{body}: {}", answer.body);
        let at = answer.json()["ietf-restconf:errors"]["error"][0]["error-path"].clone();
        assert!(at.as_str().unwrap_or_default().contains(path), "{body}: {}", answer.body);
    }
}

#[test]
fn rfc8040_4_operation_resources_take_post_and_options_only() {
    let server = Server::lab();
    for method in ["GET", "HEAD", "PUT", "PATCH", "DELETE"] {
        let answer = server.send(method, ECHO, "");
        assert_eq!((answer.status, answer.header("allow")), (405, Some("OPTIONS, POST")), "{method}");
    }
    let options = server.send("OPTIONS", ECHO, "");
    assert_eq!((options.status, options.header("allow")), (200, Some("OPTIONS, POST")));
    assert_eq!(server.send("POST", "/rests/operations/lab:nothing", "").status, 404);
    assert_eq!(server.send("POST", "/rests/operations/echo", "").status, 404);
    assert_eq!(server.send("POST", &format!("{ECHO}/more"), "").status, 404);
    assert_eq!(server.send("POST", &format!("{ECHO}?depth=1"), &echo("x")).status, 400);
}

#[test]
fn rfc8040_3_6_an_action_is_about_the_data_resource_above_it() {
    let server = Server::lab();
    let at = "/rests/data/lab:lab/item=a%2Fb";
    let to = |value: i32| json!({"lab:input": {"to": value}}).to_string();
    assert_eq!(server.send("POST", &format!("{at}/reset"), &to(1)).status, 404, "there is no such item");
    server.send("PUT", at, r#"{"lab:item":[{"name":"a/b","value":41}]}"#);
    let answer = server.send("POST", &format!("{at}/reset"), &to(42));
    assert_eq!((answer.status, answer.json()), (200, json!({"lab:output": {"was": 41}})));
    assert_eq!(server.send("GET", &format!("{at}/value"), "").json(), json!({"lab:value": 42}));
    let without = server.send("POST", &format!("{at}/reset"), "");
    assert_eq!(
        (without.status, without.tag().as_deref()),
        (400, Some("missing-element")),
        "the mandatory input"
    );
    assert_eq!(server.send("OPTIONS", &format!("{at}/reset"), "").header("allow"), Some("OPTIONS, POST"));
    assert_eq!(server.send("PUT", &format!("{at}/reset"), &to(1)).status, 405);
    assert_eq!(server.send("GET", &format!("{at}/reset"), "").status, 400, "an action is no data");
}

#[test]
fn rfc8040_3_3_the_root_resource_and_its_children() {
    let server = Server::lab();
    let known = server.send("GET", "/rests/operations", "").json()["ietf-restconf:operations"].clone();
    for operation in ["lab:echo", "lab:ping", "ietf-subscribed-notifications:establish-subscription"] {
        assert_eq!(known[operation], json!([null]), "{known}");
    }
    let version = "2019-01-04";
    let root =
        json!({"ietf-restconf:restconf": {"data": {}, "operations": known, "yang-library-version": version}});
    assert_eq!(server.send("GET", "/rests", "").json(), root);
    let library = json!({"ietf-restconf:yang-library-version": version});
    assert_eq!(server.send("GET", "/rests/yang-library-version", "").json(), library);
    for at in ["/rests", "/rests/operations", "/rests/yang-library-version"] {
        let head = server.send("HEAD", at, "");
        let get = server.send("GET", at, "");
        assert_eq!((head.status, head.header("content-length")), (200, get.header("content-length")), "{at}");
        assert_eq!(server.send("OPTIONS", at, "").header("allow"), Some("GET, HEAD, OPTIONS"), "{at}");
        assert_eq!(server.send("POST", at, "{}").status, 405, "{at}");
        assert_eq!(server.send("GET", &format!("{at}?depth=1"), "").status, 400, "{at}");
    }
}

#[test]
fn rfc8040_4_1_options_tells_what_each_resource_allows() {
    let server = Server::lab();
    for (at, wanted) in [
        ("/rests/data", "GET, HEAD, OPTIONS, POST, PUT, PATCH"),
        ("/rests/data/lab:lab", "GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE"),
        ("/rests/ds/ietf-datastores:running/lab:lab", "GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE"),
        ("/rests/ds/ietf-datastores:intended", "GET, HEAD, OPTIONS"),
        ("/rests/ds/ietf-datastores:operational/lab:lab", "GET, HEAD, OPTIONS"),
        ("/restconf/operational/lab:lab", "GET, HEAD, OPTIONS"),
    ] {
        let answer = server.send("OPTIONS", at, "");
        assert_eq!((answer.status, answer.header("allow")), (200, Some(wanted)), "{at}");
        assert_eq!(answer.header("accept-patch").is_some(), wanted.contains("PATCH"), "{at}");
        let refused = server.send("BREW", at, "");
        assert_eq!((refused.status, refused.header("allow")), (405, Some(wanted)), "{at}");
    }
}

#[test]
fn rfc8040_4_1_options_leaves_out_what_the_kind_of_resource_does_not_have() {
    let server = Server::lab();
    assert_eq!(
        server.send("PUT", "/rests/data/lab:lab/item=a", r#"{"lab:item":[{"name":"a"}]}"#).status,
        201
    );
    for (at, wanted) in [
        ("lab:lab/item=a", "GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE"),
        ("lab:lab/item=a/value", "GET, HEAD, OPTIONS, PUT, PATCH, DELETE"),
        ("lab:lab/item=a/name", "GET, HEAD, OPTIONS, PUT, PATCH"),
        ("lab:lab/tag=x", "GET, HEAD, OPTIONS, PUT, PATCH, DELETE"),
        ("lab:lab/item=a/seen", "GET, HEAD, OPTIONS"),
        ("lab:status", "GET, HEAD, OPTIONS"),
    ] {
        let answer = server.send("OPTIONS", &format!("/rests/data/{at}"), "");
        assert_eq!((answer.status, answer.header("allow")), (200, Some(wanted)), "{at}");
    }
}

#[test]
fn rfc8527_3_1_each_datastore_is_a_resource() {
    use coeus::datastore::{Edit, Store, Transaction};
    use coeus::schema::{DataPath, json as yang_json};
    let server = Server::lab();
    let at = |name: &str, rest: &str| format!("/rests/ds/ietf-datastores:{name}{rest}");
    let put =
        server.send("PUT", &at("running", "/lab:lab"), r#"{"lab:lab":{"title":"t","item":[{"name":"a"}]}}"#);
    assert_eq!(
        (put.status, put.header("location")),
        (201, Some("/rests/ds/ietf-datastores:running/lab:lab"))
    );
    let schema = server.datastore.snapshot().schema;
    for (path, body) in [
        ("lab:lab/item=a/seen", r#"{"lab:seen":"7"}"#),
        ("lab:status", r#"{"lab:status":{"uptime":5}}"#),
        ("lab:lab/item=learned", r#"{"lab:item":[{"name":"learned"}]}"#),
    ] {
        let path = DataPath::parse_rfc8040(schema, path).unwrap();
        let node =
            yang_json::parse_resource(schema, &path, body.as_bytes(), yang_json::Mode::Strict).unwrap();
        let edit = Edit::put(Store::Operational, path, node);
        server.datastore.commit_blocking(Transaction::new("test", vec![edit])).unwrap();
    }
    for name in ["running", "candidate", "intended"] {
        assert_eq!(server.send("GET", &at(name, "/lab:status"), "").status, 404, "{name}");
        assert_eq!(
            server.send("GET", &at(name, "/lab:lab/item"), "").json(),
            json!({"lab:item": [{"name": "a"}]})
        );
        assert_eq!(
            server.send("GET", &at(name, "?content=config"), "").status,
            400,
            "RFC 8527 3.2: no content here"
        );
        assert_eq!(server.send("GET", &at(name, "?with-origin"), "").status, 400);
    }
    let with_origin = server.send("GET", &at("operational", "/lab:lab?with-origin"), "").json();
    let origin = |name: &str| json!({"ietf-origin:origin": format!("ietf-origin:{name}")});
    assert_eq!(
        with_origin,
        json!({"lab:lab": {
            "title": "t", "@title": origin("intended"),
            "item": [{"@": origin("intended"), "name": "a", "seen": "7"}, {"@": origin("learned"), "name": "learned"}]}})
    );
    assert_eq!(
        server.send("GET", &at("operational", "/lab:status"), "").json(),
        json!({"lab:status": {"uptime": 5}})
    );
    for method in ["PUT", "PATCH", "POST", "DELETE"] {
        for name in ["intended", "operational"] {
            assert_eq!(server.send(method, &at(name, "/lab:lab"), "{}").status, 405, "{method} {name}");
        }
    }
    assert_eq!(server.send("GET", &at("startup", ""), "").status, 404);
    assert_eq!(server.send("GET", "/rests/ds/running", "").status, 404);
    assert_eq!(server.send("GET", "/rests/ds", "").status, 404);
}

#[test]
fn rfc8040_9_1_the_capabilities_are_told() {
    let server = Server::lab();
    let at = "/rests/data/ietf-restconf-monitoring:restconf-state/capabilities";
    let told = server.send("GET", at, "").json();
    let told: Vec<&str> = told["ietf-restconf-monitoring:capabilities"]["capability"]
        .as_array()
        .unwrap()
        .iter()
        .map(|uri| uri.as_str().unwrap())
        .collect();
    let queries =
        ["depth", "fields", "filter", "replay", "with-defaults", "limit", "offset", "cursor", "direction"];
    let queries = queries.into_iter().chain(["sort-by", "where", "sublist-limit"]);
    // RFC 8527 sections 3.2.1 and 3.2.2.
    let queries = queries.chain(["with-operational-defaults", "with-origin"]);
    let queries = queries.map(|query| format!("{query}:1.0"));
    for capability in queries.chain(["defaults:1.0?basic-mode=explicit".to_owned()]) {
        let uri = format!("urn:ietf:params:restconf:capability:{capability}");
        assert!(told.contains(&uri.as_str()), "{uri} in {told:?}");
    }
    // RFC 8040 section 4.8.9, and RFC 7952 section 3: who reads metadata looks for its module.
    let library = server
        .send("GET", "/rests/data/ietf-yang-library:yang-library?fields=module-set(module(name))", "")
        .body;
    for module in [
        "ietf-netconf-with-defaults",
        "ietf-origin",
        "ietf-list-pagination",
        "ietf-restconf",
        "ietf-yang-patch",
    ] {
        assert!(library.contains(&format!("\"{module}\"")), "{module} in {library}");
    }
    let older = "/restconf/operational/ietf-restconf-monitoring:restconf-state";
    assert!(server.send("GET", older, "").body.contains("urn:ietf:params:restconf:capability:depth:1.0"));
}

#[test]
fn rfc8040_3_7_the_text_of_each_module_can_be_had() {
    let server = Server::lab();
    let library = server.send(
        "GET",
        "/rests/data/ietf-yang-library:yang-library?fields=module-set/module(name;revision)",
        "",
    );
    let library = library.json();
    let modules = library["ietf-yang-library:yang-library"]["module-set"][0]["module"].as_array().unwrap();
    assert!(modules.len() > 40, "{library}");
    for module in modules {
        let (name, revision) = (module["name"].as_str().unwrap(), module["revision"].as_str());
        let file = revision.map_or(name.to_owned(), |revision| format!("{name}@{revision}"));
        let text = server.send("GET", &format!("/rests/modules/{file}"), "");
        assert_eq!(text.status, 200, "{file}: {}", text.body);
        assert!(text.body.contains(&format!("module {name}")), "{file}");
    }
    for wrong in ["nobody", "pod@1999-01-01", ""] {
        assert_eq!(server.send("GET", &format!("/rests/modules/{wrong}"), "").status, 404, "{wrong}");
    }
}
