//! More than 700 requests of which each is wrong in one way: every one is answered with 4xx and a well-formed error, and the
//! store stays as it was.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use support::Server;

const LAB: &str = "/rests/data/lab:lab";
const JSON: &str = "application/yang-data+json";
const XML: &str = "application/yang-data+xml";

struct Case {
    method: &'static str,
    path: String,
    headers: String,
    body: String,
}

fn case(method: &'static str, path: impl Into<String>, kind: &str, body: impl Into<String>) -> Case {
    let headers = if kind.is_empty() { String::new() } else { format!("Content-Type: {kind}\r\n") };
    Case { method, path: path.into(), headers, body: body.into() }
}

/// Where bodies go: method, path, and a body that would be right.
const TARGETS: [(&str, &str); 8] = [
    ("PUT", "/rests/data/lab:lab"),
    ("PUT", "/rests/data/lab:lab/item=a"),
    ("PATCH", "/rests/data/lab:lab"),
    ("PATCH", "/rests/data"),
    ("PUT", "/rests/data"),
    ("POST", "/rests/data/lab:lab"),
    ("POST", "/rests/operations/lab:echo"),
    ("PUT", "/restconf/config/lab:lab"),
];

fn broken_json() -> Vec<String> {
    let mut all: Vec<String> = [
        "{",
        "}",
        "[",
        "]",
        "[]",
        "null",
        "true",
        "1",
        "-",
        "\"x\"",
        "{\"",
        "{\"lab:lab\"",
        "{\"lab:lab\":",
        "{\"lab:lab\":{",
        "{\"lab:lab\":{\"title\":}}",
        "{\"lab:lab\":{\"title\":\"a\",}}",
        "{'lab:lab':{}}",
        "{\"lab:lab\":{}} x",
        "\u{feff}{}",
        "{\"a\u{0}b\":1}",
        "{\"lab:lab\":{\"title\":\"\u{1}\"}}",
        "<lab/>",
        "lab=1",
        "{\"lab:lab\":{\"title\":\"\\ud800\"}}",
        "{\"nothing:nothing\":1}",
        "{\"lab:nothing\":1}",
        "{\":\":1}",
        "{\"lab:\":1}",
    ]
    .map(str::to_owned)
    .to_vec();
    all.push("[".repeat(10_000));
    all.push("{\"a\":".repeat(10_000));
    all
}

fn broken_xml() -> Vec<String> {
    let lab = "xmlns=\"urn:coeus:test:lab\"";
    let mut all: Vec<String> = [
        "<",
        ">",
        "<lab",
        "<lab>",
        "</lab>",
        "<lab/>",
        "<lab></item>",
        "text",
        "<lab/><lab/>",
        "<!-- -->",
        "<a b=c/>",
        "<a b='1' b='2'/>",
        "<!DOCTYPE lab SYSTEM \"file:///etc/passwd\"><lab/>",
        "<!DOCTYPE a [<!ENTITY x \"y\">]><lab>&x;</lab>",
        "<lab>&nothing;</lab>",
        "<lab xmlns=\"urn:nothing\"/>",
        "<x:lab/>",
        "<?xml version=\"1.0\" encoding=\"UTF-16\"?><lab/>",
        "{}",
        "\u{0}",
    ]
    .map(str::to_owned)
    .to_vec();
    all.extend(
        [
            format!("<lab {lab}><nothing/></lab>"),
            format!("<lab {lab}>text</lab>"),
            format!("<lab {lab}><title><title/></title></lab>"),
            format!("<lab {lab}><title>a</title><title>b</title></lab>"),
            format!("<lab {lab}><item/></lab>"),
            format!("<nothing {lab}/>"),
            format!("<lab {lab} operation=\"delete\" xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" nc:operation=\"delete\"/>"),
            "<a>".repeat(5_000),
        ],
    );
    all
}

fn wrong_values() -> Vec<Case> {
    let mut cases = Vec::new();
    for (leaf, values) in [
        ("title", &["1", "true", "null", "{}", "[]", "[null]", "[\"a\"]"][..]),
        (
            "speed",
            &[
                "-1",
                "65536",
                "1.5",
                "\"1\"",
                "\"x\"",
                "true",
                "null",
                "{}",
                "[1]",
                "1e400",
                "99999999999999999999999",
            ],
        ),
        ("mode", &["1", "\"medium\"", "\"SLOW\"", "\"\"", "null", "[\"slow\"]", "\"slow \""]),
        ("limits", &["1", "\"x\"", "[]", "[{}]", "null", "{\"low\":256}", "{\"low\":-1}", "{\"nothing\":1}"]),
        ("extras", &["1", "null", "{\"colour\":1}", "{\"size\":\"1\"}", "{}"]),
        ("tag", &["\"a\"", "{}", "null", "[1]", "[[\"a\"]]", "[null]", "[\"a\",\"a\"]"]),
        ("order", &["\"a\"", "{}", "[1]", "[{}]", "[\"a\",\"a\"]"]),
        (
            "item",
            &[
                "{}",
                "\"a\"",
                "[1]",
                "[{}]",
                "[{\"name\":1}]",
                "[{\"name\":\"a\"},{\"name\":\"a\"}]",
                "[{\"name\":\"a\",\"value\":2147483648}]",
                "[{\"name\":\"a\",\"seen\":\"1\"}]",
                "[{\"name\":\"a\",\"part\":[{}]}]",
                "[{\"name\":\"a\",\"part\":[{\"id\":\"1\"}]}]",
                "[{\"name\":\"a\",\"inner\":[]}]",
            ],
        ),
        ("pair", &["[{\"first\":\"a\"}]", "[{\"second\":\"a\"}]", "[{\"first\":\"a\",\"second\":1}]"]),
        (
            "unique",
            &[
                "[{\"name\":\"a\",\"address\":\"x\"},{\"name\":\"b\",\"address\":\"x\"}]",
                "[{\"name\":\"a\",\"peer\":\"nobody\"}]",
                "[{\"name\":\"a\",\"address\":\"forbidden\"}]",
            ],
        ),
        ("boost", &["1", "256"]),
        ("status", &["{}"]),
        ("reset", &["{}"]),
        ("lab:lab", &["{}"]),
        ("pod:coe", &["{}"]),
    ] {
        for value in values {
            let body = format!("{{\"lab:lab\":{{\"{leaf}\":{value}}}}}");
            cases.push(case("PUT", LAB, JSON, body.clone()));
            cases.push(case("PATCH", LAB, JSON, body));
        }
    }
    for both in [
        "\"port\":1,\"key\":\"k\"",
        "\"host\":\"h\",\"tls-port\":1",
        "\"title\":\"a\",\"title\":\"b\"",
        "\"title\":\"a\",\"lab:title\":\"b\"",
    ] {
        cases.push(case("PUT", LAB, JSON, format!("{{\"lab:lab\":{{{both}}}}}")));
    }
    cases
}

fn wrong_paths() -> Vec<Case> {
    let mut cases = Vec::new();
    for path in [
        "/rests/data/lab",
        "/rests/data/:lab",
        "/rests/data/lab:",
        "/rests/data/lab:nothing",
        "/rests/data/nothing:lab",
        "/rests/data/lab:lab/",
        "/rests/data//lab:lab",
        "/rests/data/lab:lab//item",
        "/rests/data/lab:lab/nothing",
        "/rests/data/lab:lab/item=",
        "/rests/data/lab:lab/item=a,b",
        "/rests/data/lab:lab/item=absent",
        "/rests/data/lab:lab/item=absent/value",
        "/rests/data/lab:lab/item/value",
        "/rests/data/lab:lab/title/x",
        "/rests/data/lab:lab/title=x",
        "/rests/data/lab:lab=x",
        "/rests/data/lab:lab/pair=a",
        "/rests/data/lab:lab/pair=a,b,c",
        "/rests/data/lab:lab/item=%",
        "/rests/data/lab:lab/item=%F",
        "/rests/data/lab:lab/item=%GG",
        "/rests/data/lab:lab/item=%FF",
        "/rests/data/lab:lab/item=%C3%28",
        "/rests/data/lab:lab/item=a/part=x",
        "/rests/data/lab:lab/item=a/part=-1",
        "/rests/data/lab:lab/item=a/part=4294967296",
        "/rests/data/lab:lab/speed=1",
        "/rests/data/..",
        "/rests/data/lab:lab/item=a/..",
        "/rests/data/lab:echo",
        "/rests/data/lab:echo/input",
        "/rests/data/lab:lab/transport",
        "/rests/data/%6cab",
        "/rests/nothing",
        "/rests/data2",
        "/rest",
        "/",
        "/restconf/data/lab:lab",
        "/restconf/config/lab:lab/nothing",
        "/restconf/config/lab:lab/item/absent",
        "/restconf/config/nothing:x",
        "/restconf/streams",
        "/rests/ds",
        "/rests/ds/",
        "/rests/ds/running",
        "/rests/ds/ietf-datastores:startup",
        "/rests/ds/ietf-datastores:running/lab:nothing",
        "/rests/ds/ietf-datastores:operational/x",
        "/rests/operations/lab:nothing",
        "/rests/operations/nothing:echo",
        "/rests/operations/echo",
        "/rests/operations/lab:lab",
        "/rests/operations/lab:echo/input",
    ] {
        for method in ["GET", "PUT", "DELETE", "HEAD"] {
            let absent = path.contains("=absent") || path.contains("/absent") || path.ends_with("item=");
            if !(absent && method == "PUT") {
                cases.push(case(
                    method,
                    path,
                    if method == "PUT" { JSON } else { "" },
                    if method == "PUT" { "{\"lab:x\":1}" } else { "" },
                ));
            }
        }
    }
    cases
}

fn wrong_queries() -> Vec<Case> {
    let mut cases = Vec::new();
    for query in [
        "x",
        "x=1",
        "=1",
        "=",
        "depth",
        "depth=",
        "depth=0",
        "depth=65536",
        "depth=-1",
        "depth=1.0",
        "depth=one",
        "depth=1&depth=1",
        "DEPTH=1",
        "content",
        "content=",
        "content=some",
        "content=Config",
        "content=all&content=all",
        "fields",
        "fields=",
        "fields=x",
        "fields=title;",
        "fields=;title",
        "fields=(title)",
        "fields=item(",
        "fields=item)",
        "fields=item(name",
        "fields=item()",
        "fields=item(name)(note)",
        "fields=title/x",
        "fields=item//name",
        "fields=lab:nothing",
        "fields=nothing:title",
        "fields=%",
        "fields=%zz",
        "fields=%ff",
        "with-defaults",
        "with-defaults=x",
        "with-defaults=trim&with-defaults=trim",
        "with-origin",
        "with-origin=1",
        "limit=1",
        "offset=1",
        "cursor=a",
        "direction=forwards",
        "sort-by=name",
        "where=name='a'",
        "sublist-limit=x",
        "insert=first",
        "point=/lab:lab",
        "filter=x",
        "start-time=now",
        "stop-time=now",
        "depth=1&x=2",
        "a&b",
        "depth=1;x=2",
    ] {
        for (method, path) in [
            ("GET", LAB),
            ("HEAD", LAB),
            ("GET", "/rests/data"),
            ("PATCH", LAB),
            ("DELETE", "/rests/data/lab:lab/title"),
        ] {
            let fits_the_datastore = path == "/rests/data" && query.starts_with("fields=lab:lab");
            if !fits_the_datastore {
                let (kind, body) = if method == "PATCH" {
                    (JSON, "{\"lab:lab\":{\"title\":\"changed\"}}")
                } else {
                    ("", "")
                };
                cases.push(case(method, format!("{path}?{query}"), kind, body));
            }
        }
    }
    for query in [
        "limit=0",
        "limit=-1",
        "limit=x",
        "offset=999",
        "offset=x",
        "cursor=absent",
        "cursor=%",
        "cursor=a,b",
        "direction=x",
        "sort-by=",
        "sort-by=inner",
        "sort-by=nothing",
        "sort-by=part/id",
        "limit=1&limit=1",
        "limit=4294967296",
        "sublist-limit=0",
        "sublist-limit=-1",
        "locale=C",
        "where",
        "where=",
        "where=nothing",
        "where=name=",
        "where=name='a",
        "where=(name",
        "where=name[",
        "where=part[1",
        "where=1",
        "where=count(part)",
        "where=//nobody",
        "where=id('a')",
        "where=x:name",
        "where=%ff",
        "where=name='a'&where=name='a'",
    ] {
        cases.push(case("GET", format!("{LAB}/item?{query}"), "", ""));
    }
    for query in [
        "insert",
        "insert=",
        "insert=x",
        "insert=before",
        "insert=after",
        "insert=first&point=/lab:lab/step=a",
        "point=/lab:lab/step=a",
        "insert=after&point=",
        "insert=after&point=x",
        "insert=after&point=/lab:lab/step=absent",
        "insert=after&point=/lab:lab/item=a",
        "insert=after&point=/lab:lab",
        "insert=after&point=/lab:lab/step",
        "insert=first&insert=last",
        "depth=1",
    ] {
        cases.push(case("POST", format!("{LAB}?{query}"), JSON, "{\"lab:step\":[{\"name\":\"new\"}]}"));
        cases.push(case(
            "PUT",
            format!("{LAB}/step=new?{query}"),
            JSON,
            "{\"lab:step\":[{\"name\":\"new\"}]}",
        ));
        cases.push(case("POST", format!("{LAB}?{query}"), JSON, "{\"lab:item\":[{\"name\":\"new\"}]}"));
    }
    cases
}

fn wrong_patches() -> Vec<Case> {
    let kind = "application/yang-patch+json";
    let mut edits: Vec<String> = Vec::new();
    for operation in ["create", "delete", "insert", "merge", "move", "replace", "remove", "improve", ""] {
        for target in ["", "x", "//", "/nothing", "/item", "/item=", "/item=a,b", "/title/x", "/step=absent"]
        {
            let value = "{\"lab:nothing\":1}";
            edits.push(format!(
                r#"{{"edit-id":"1","operation":"{operation}","target":"{target}","value":{value}}}"#
            ));
        }
    }
    for edit in [
        "{}",
        "1",
        "null",
        "[]",
        r#"{"edit-id":"1"}"#,
        r#"{"edit-id":1,"operation":"merge","target":"/"}"#,
        r#"{"edit-id":"1","operation":"merge","target":"/title","value":1}"#,
        r#"{"edit-id":"1","operation":"merge","target":"/title"}"#,
        r#"{"edit-id":"1","operation":"move","target":"/step=a","where":"after"}"#,
        r#"{"edit-id":"1","operation":"move","target":"/step=a","where":"after","point":"/step=absent"}"#,
        r#"{"edit-id":"1","operation":"move","target":"/step=a","where":"beside"}"#,
        r#"{"edit-id":"1","operation":"delete","target":"/title","point":"/step=a"}"#,
        r#"{"edit-id":"1","operation":"delete","target":"/title","colour":"red"}"#,
    ] {
        edits.push(edit.to_owned());
    }
    let mut cases: Vec<Case> = edits
        .iter()
        .map(|edit| {
            case(
                "PATCH",
                LAB,
                kind,
                format!(r#"{{"ietf-yang-patch:yang-patch":{{"patch-id":"p","edit":[{edit}]}}}}"#),
            )
        })
        .collect();
    for body in broken_json() {
        cases.push(case("PATCH", LAB, kind, body));
    }
    for body in broken_xml() {
        cases.push(case("PATCH", LAB, "application/yang-patch+xml", body));
    }
    cases
}

fn wrong_headers() -> Vec<Case> {
    let title = "{\"lab:lab\":{\"title\":\"changed\"}}";
    let with = |method, header: &str| Case {
        method,
        path: LAB.into(),
        headers: format!(
            "{header}\r\n{}",
            if method == "GET" { String::new() } else { format!("Content-Type: {JSON}\r\n") }
        ),
        body: if method == "GET" { String::new() } else { title.into() },
    };
    let mut cases = Vec::new();
    for header in [
        "If-Match: x",
        "If-Match: \"",
        "If-Match: \"x",
        "If-Match: \"a\" \"b\"",
        "If-Match: \"0\"",
        "If-Match: W/\"1\"",
        "If-None-Match: x",
        "If-None-Match: *, \"a\"",
        "If-Match: \u{e4}",
        "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
    ] {
        cases.push(with("PUT", header));
        cases.push(with("PATCH", header));
        cases.push(with("GET", header));
    }
    cases.push(with("PUT", "If-None-Match: *"));
    for accept in ["text/html", "application/json;q=0", "x", "*/*;q=0", "application/json;q=x"] {
        cases.push(with("GET", &format!("Accept: {accept}")));
    }
    for kind in
        ["text/plain", "x", "application/yaml", "multipart/form-data", "application/yang-data+cbor", "\u{e4}"]
    {
        cases.push(case("PUT", LAB, kind, title));
        cases.push(case("POST", "/rests/operations/lab:echo", kind, title));
    }
    cases
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (method, path) in TARGETS {
        for body in broken_json() {
            cases.push(case(method, path, JSON, body));
        }
        for body in broken_xml() {
            let fine = body == "<lab xmlns=\"urn:coeus:test:lab\"/>";
            if !fine {
                cases.push(case(method, path, XML, body));
            }
        }
    }
    for part in [wrong_values(), wrong_paths(), wrong_queries(), wrong_patches(), wrong_headers()] {
        cases.extend(part);
    }
    for method in ["TRACE", "CONNECT", "BREW", "put", "PROPFIND"] {
        for path in ["/rests", "/rests/data", LAB, "/rests/operations/lab:echo", "/restconf/config/lab:lab"] {
            cases.push(case(method, path, "", ""));
        }
    }
    cases
}

#[test]
fn each_of_seven_hundred_wrong_requests_is_refused_and_changes_nothing() {
    let server = Server::lab();
    let filled = "{\"lab:lab\":{\"title\":\"t\",\"item\":[{\"name\":\"a\"}],\"step\":[{\"name\":\"a\"}]}}";
    assert_eq!(server.send("PUT", LAB, filled).status, 201);
    let before = server.state();
    let cases = cases();
    let distinct: BTreeSet<_> =
        cases.iter().map(|case| (case.method, &case.path, &case.headers, &case.body)).collect();
    assert!(distinct.len() >= 700, "{} cases", distinct.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let headers = format!("{}{}", support::login("admin:secret"), case.headers);
        let answer = server.raw(case.method, &case.path, &headers, case.body.as_bytes());
        let told = case.method == "HEAD"
            || answer.body.contains("error-tag")
            || answer.status == 400 && answer.body.is_empty();
        if !(400..500).contains(&answer.status) || !told || server.state() != before {
            let body: String = case.body.chars().take(120).collect();
            wrong.push(format!(
                "{} {} {:?} {body}\n   got {} {}",
                case.method, case.path, case.headers, answer.status, answer.body
            ));
            if server.state() != before {
                server.send("PUT", "/rests/data", &format!("{{\"ietf-restconf:data\":{filled}}}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
