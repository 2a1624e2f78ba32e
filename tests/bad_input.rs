//! What is wrong is refused with the right status, and the store stays as it was.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use serde_json::json;
use support::{Server, login};

const UID: &str = "ac092d9b-e9eb-bae2-eed8-74aca2b7fa9c";
const OTHER: &str = "7ba91a3a-f17e-2ebb-edec-3bbbea27dca7";

type Case = (&'static str, String, String, u16, &'static str);

/// Method, path, body, status, error-tag.
fn cases() -> Vec<Case> {
    let rests = format!("/rests/data/pod:coe/pods={UID}");
    let legacy = format!("/restconf/config/pod:coe/pods/{UID}");
    let pods = |entry: serde_json::Value| json!({"pod:pods": [entry]}).to_string();
    let good = pods(json!({"uid": UID, "name": "a"}));
    let mut cases: Vec<Case> = Vec::new();
    let mut add = |method, path: &str, body: &str, status, tag| {
        cases.push((method, path.to_owned(), body.to_owned(), status, tag))
    };
    // -- bodies that are no JSON, or not the JSON of this resource, on both roots
    for at in [&rests, &legacy] {
        for body in [
            "",
            " ",
            "{",
            "}",
            "[",
            "]",
            "null",
            "true",
            "1",
            "\"x\"",
            "{}",
            "[]",
            "{\"pod:pods\"",
            "{\"pod:pods\":",
            "{\"pod:pods\":[}",
            "{\"pod:pods\":[{]}",
            "{\"pod:pods\":[{}],}",
            "{'pod:pods':[]}",
            "{\"pod:pods\":[{\"uid\":}]}",
            "\u{feff}{}",
            "{\"a\u{0}\":1}",
            "<pods/>",
            "uid=1",
            "{\"pod:pods\":[]} trailing",
        ] {
            add("PUT", at, body, 400, "");
        }
    }
    // -- right JSON, wrong data
    for entry in [
        json!({"uid": UID, "nmae": "a"}),
        json!({"uid": UID, "other:name": "a"}),
        json!({"uid": UID, "name": {"a": 1}}),
        json!({"uid": UID, "name": ["a", "b"]}),
        json!({"uid": UID, "host-ip-address": "300.1.1.1"}),
        json!({"uid": UID, "host-ip-address": "10.0.0.1/24"}),
        json!({"uid": UID, "host-ip-address": "node1"}),
        json!({"uid": UID, "host-ip-address": 10}),
        json!({"uid": UID, "cluster-id": "not-a-uuid"}),
        json!({"uid": UID, "interface": {"uid": OTHER}}),
        json!({"uid": UID, "interface": "eth0"}),
        json!({"uid": UID, "interface": [{"ip-address": "10.0.0.1"}]}),
        json!({"uid": UID, "interface": [{"uid": OTHER, "ip-address": "10.0.0"}]}),
        json!({"uid": UID, "interface": [{"uid": OTHER, "ip-address": "::g"}]}),
        json!({"uid": UID, "interface": [{"uid": OTHER, "network-type": "TOKENRING"}]}),
        json!({"uid": UID, "interface": [{"uid": OTHER, "network-type": "vxlan"}]}),
        json!({"uid": UID, "interface": [{"uid": OTHER, "network-type": 3}]}),
        json!({"uid": UID, "interface": [{"uid": OTHER, "segmentation-id": -1}]}),
        json!({"uid": UID, "interface": [{"uid": OTHER, "segmentation-id": 4_294_967_296_u64}]}),
        json!({"uid": UID, "interface": [{"uid": OTHER, "segmentation-id": 1.5}]}),
        json!({"uid": UID, "interface": [{"uid": OTHER, "segmentation-id": "many"}]}),
        json!({"uid": UID, "interface": [{"uid": OTHER}, {"uid": OTHER}]}),
        json!({"uid": OTHER, "name": "a"}),
        json!({"uid": "x", "name": "a"}),
    ] {
        for at in [&rests, &legacy] {
            add("PUT", at, &pods(entry.clone()), 400, "");
        }
    }
    add("PUT", &rests, &pods(json!({"name": "a"})), 400, "");
    add("PUT", &rests, &json!({"pod:pods": [{"uid": UID}, {"uid": OTHER}]}).to_string(), 400, "");
    add("PUT", &rests, &json!({"pods": [{"uid": UID}]}).to_string(), 400, "");
    add("PUT", &rests, &json!({"coe:pods": [{"uid": UID}]}).to_string(), 400, "");
    add("PUT", &rests, &json!({"pod:pods": {"uid": UID}}).to_string(), 400, "");
    add(
        "PUT",
        &rests,
        &pods(json!({"uid": UID, "interface": [{"uid": OTHER, "segmentation-id": "0"}]})),
        400,
        "invalid-value",
    );
    add(
        "PUT",
        &rests,
        &format!("{{\"pod:pods\":[{{\"uid\":\"{UID}\",\"name\":\"a\",\"name\":\"b\"}}]}}"),
        400,
        "",
    );
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    add("PUT", &rests, &deep, 413, "too-big");
    add("PUT", &rests, &"{\"a\":".repeat(50_000), 413, "too-big");
    add("PUT", &legacy, &pods(json!({"uid": UID, "name": "x".repeat(2 << 20)})), 413, "too-big");
    // -- paths that lead nowhere
    for (path, status) in [
        ("/rests/data/pod:coe/pods=", 400),
        ("/rests/data/pod:coe/pods=x", 400),
        ("/rests/data/pod:coe/pods=a,b", 400),
        ("/rests/data/pod:coe/nothing", 400),
        ("/rests/data/pod:nothing", 400),
        ("/rests/data/nothing:coe", 400),
        ("/rests/data/coe", 400),
        ("/rests/data/:coe", 400),
        ("/rests/data/pod:", 400),
        ("/rests/data/pod:coe/pods/extra", 400),
        ("/rests/data/pod:coe//pods", 400),
        ("/rests/data/pod:coe/", 400),
        ("/rests/data//", 400),
        ("/rests/data/pod:coe/pods=%ZZ", 400),
        ("/rests/data/pod:coe/pods=%FF%FE", 400),
        ("/rests/data/pod:coe/pods=%00", 400),
        ("/rests/data/pod:coe=1", 400),
        ("/restconf/config/pod:coe/pods/x", 400),
        ("/restconf/config/pod:coe/pods/x/y/z", 400),
        ("/restconf/config/pod:nothing", 400),
        ("/restconf/config/nothing:coe", 400),
        ("/restconf/config/pod:coe/nothing/1", 400),
        ("/restconf/config/interface-service-bindings:service-bindings/services-info/only-one-key", 400),
        ("/rests", 200),
        ("/rests/nothing", 404),
        ("/restconf/nothing", 404),
        ("/restconf/nothing", 404),
        ("/nothing", 404),
        ("/", 404),
        ("/rests/data/pod:coe", 404),
        ("/restconf/config/pod:coe", 404),
        ("/restconf/operational/pod:coe", 404),
        ("/rests/data/pod:coe?content=some", 400),
        ("/rests/data/pod:coe?content=all&content=all", 400),
        ("/rests/data/pod:coe?depht=1", 400),
        ("/restconf/config/pod:coe?x=1", 400),
        ("/rests/operations/pod:nothing", 404),
        ("/restconf/operations/neutronvpn:createL3VPN", 404),
    ] {
        add("GET", path, "", status, "");
    }
    let long = format!("/rests/data/pod:coe/{}", "a".repeat(20_000));
    add("GET", &long, "", 414, "");
    // -- methods and targets that do not fit
    add("DELETE", "/rests/data", "", 405, "operation-not-supported");
    add("DELETE", "/restconf/config", "", 405, "operation-not-supported");
    add("DELETE", &rests, "", 404, "data-missing");
    add("DELETE", &legacy, "", 404, "data-missing");
    add("DELETE", &format!("{rests}/name"), "", 404, "data-missing");
    add("PATCH", &rests, &good, 404, "data-missing");
    add("PATCH", &legacy, &good, 404, "data-missing");
    add("TRACE", &rests, "", 405, "operation-not-supported");
    add("FROB", &rests, "", 405, "operation-not-supported");
    add("POST", "/rests", &good, 405, "operation-not-supported");
    add("PUT", "/rests/data", "{}", 400, "");
    add("PUT", "/rests/data", "{\"data\":{}}", 400, "");
    add("POST", "/rests/data", "{}", 400, "");
    add("POST", "/rests/data/pod:coe", "{}", 400, "");
    add("POST", "/rests/data/pod:coe", &json!({"pod:pods": []}).to_string(), 400, "");
    add("POST", "/rests/data/pod:coe", &json!({"pod:pods": [{"uid": UID}], "pod:x": 1}).to_string(), 400, "");
    add("POST", &rests, &json!({"pod:name": "a"}).to_string(), 404, "data-missing");
    add(
        "PUT",
        &format!("{rests}/interface={OTHER}"),
        &json!({"pod:interface": [{"uid": OTHER}]}).to_string(),
        409,
        "data-missing",
    );
    add("PUT", &format!("{rests}/uid"), &json!({"pod:uid": OTHER}).to_string(), 409, "data-missing");
    add("PUT", "/restconf/operational/pod:coe", &good, 405, "operation-not-supported");
    add(
        "PUT",
        "/rests/data/coeus-status:switches",
        &json!({"coeus-status:switches": {"switch": [{"dpid": "0000000000000001"}]}}).to_string(),
        405,
        "operation-not-supported",
    );
    add(
        "PUT",
        "/rests/data/elan:elan-interfaces/elan-interface=a",
        &json!({"elan:elan-interface": [{"name": "a"}]}).to_string(),
        409,
        "data-missing",
    );
    add(
        "PUT",
        "/rests/data/elan:elan-instances/elan-instance=a",
        &json!({"elan:elan-instance": [{"elan-instance-name": "a", "mac-timeout": 65536}]}).to_string(),
        400,
        "",
    );
    add(
        "PUT",
        "/rests/data/elan:elan-instances/elan-instance=a",
        &json!({"elan:elan-instance": [{"elan-instance-name": "a", "segment-type": "elan:nothing"}]})
            .to_string(),
        400,
        "",
    );
    add(
        "PUT",
        "/rests/data/elan:elan-instances/elan-instance=a",
        &json!({"elan:elan-instance": [{"elan-instance-name": "a", "external": "yes"}]}).to_string(),
        400,
        "",
    );
    cases
}

#[test]
fn malformed_requests_are_refused_and_change_nothing() {
    let server = Server::start();
    server.send("PUT", "/rests/data/k8s-node:k8s-nodes-info", r#"{"k8s-node:k8s-nodes-info":{"id":"kept"}}"#);
    let before = server.state();
    let cases = cases();
    assert!(cases.len() >= 120, "{}", cases.len());
    let mut wrong = Vec::new();
    for (method, path, body, status, tag) in &cases {
        let answer = server.send(method, path, body);
        let shown: String = format!("{method} {path} {body}").chars().take(200).collect();
        let tag_right = tag.is_empty() || answer.tag().as_deref() == Some(tag);
        if answer.status != *status || !tag_right {
            wrong.push(format!(
                "{shown}\n   wanted {status} {tag}, got {} {}",
                answer.status,
                answer.body.chars().take(300).collect::<String>()
            ));
        } else if *status >= 400 && (answer.tag().is_none() || !answer.body.contains("error-message")) {
            wrong.push(format!("{shown}\n   no errors body: {}", answer.body));
        }
        assert!(server.state() == before, "{shown} changed the store");
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn wrong_media_types_and_accepts_are_told_apart() {
    let server = Server::start();
    let before = server.state();
    let at = format!("/rests/data/pod:coe/pods={UID}");
    let login = login("admin:secret");
    for kind in [
        "text/plain",
        "application/yaml",
        "application/yang-data+cbor",
        "application/x-www-form-urlencoded",
        "x",
    ] {
        let answer = server.raw("PUT", &at, &format!("{login}Content-Type: {kind}\r\n"), b"{}");
        assert_eq!((answer.status, answer.tag().as_deref()), (415, Some("invalid-value")), "{kind}");
    }
    for accept in ["text/html", "application/yang-data+cbor", "application/json;q=0"] {
        assert_eq!(
            server.raw("GET", "/rests/data", &format!("{login}Accept: {accept}\r\n"), b"").status,
            406,
            "{accept}"
        );
    }
    assert!(server.state() == before);
}

#[test]
fn mutated_requests_never_fail_inside() {
    let server = Server::start();
    let body = json!({"pod:pods": [{"uid": UID, "name": "a", "host-ip-address": "192.0.2.1",
        "interface": [{"uid": OTHER, "ip-address": "10.0.0.1", "network-type": "VXLAN", "segmentation-id": 7}]}]})
    .to_string();
    let paths = [format!("/rests/data/pod:coe/pods={UID}"), format!("/restconf/config/pod:coe/pods/{UID}")];
    let mut state = 7_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let login = login("admin:secret");
    for round in 0..1500 {
        let mut bytes = body.clone().into_bytes();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = random(256) as u8,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"{}[]\",:0x\\"[random(10)]),
            }
        }
        let mut path = paths[round % 2].clone();
        if random(4) == 0 {
            let at = 6 + random(path.len() - 6);
            path.replace_range(at..=at, ["/", "=", ":", "%", "%2", "%41", ",", "?", "."][random(9)]);
        }
        let method = ["PUT", "PATCH", "POST", "DELETE", "GET"][random(5)];
        let answer = server.raw(method, &path, &format!("{login}Content-Type: application/json\r\n"), &bytes);
        assert!(
            (200..500).contains(&answer.status),
            "{method} {path} {}: {}",
            String::from_utf8_lossy(&bytes),
            answer.status
        );
    }
}
