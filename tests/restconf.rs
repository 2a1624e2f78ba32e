//! RESTCONF on both roots: methods, statuses, framing, login.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use serde_json::json;
use support::{Server, login};

const POD: &str = "ac092d9b-e9eb-bae2-eed8-74aca2b7fa9c";

fn pod(name: &str) -> String {
    json!({"pod:pods": [{"uid": POD, "name": name}]}).to_string()
}

#[test]
fn the_rfc_8040_root_answers_as_the_rfc_says() {
    let server = Server::start();
    let at = format!("/rests/data/pod:coe/pods={POD}");
    assert_eq!(server.send("GET", &at, "").status, 404);
    let created = server.send("PUT", &at, &pod("a"));
    assert_eq!(created.status, 201, "{}", created.body);
    assert_eq!(created.header("location"), Some(at.as_str()));
    assert_eq!(server.send("PUT", &at, &pod("b")).status, 204);
    let got = server.send("GET", &at, "");
    assert_eq!((got.status, got.json()), (200, json!({"pod:pods": [{"uid": POD, "name": "b"}]})));
    assert_eq!(got.header("content-type"), Some("application/yang-data+json"));
    assert!(got.header("etag").is_some());
    assert_eq!(
        server
            .send(
                "PATCH",
                &at,
                &json!({"pod:pods": [{"uid": POD, "host-ip-address": "192.0.2.1"}]}).to_string()
            )
            .status,
        204
    );
    assert_eq!(server.send("GET", &format!("{at}/name"), "").json(), json!({"pod:name": "b"}));
    assert_eq!(server.send("POST", "/rests/data/pod:coe", &pod("c")).status, 409);
    assert_eq!(server.send("DELETE", &at, "").status, 204);
    assert_eq!(server.send("DELETE", &at, "").status, 404);
    let posted = server.send("POST", "/rests/data/pod:coe", &pod("c"));
    assert_eq!((posted.status, posted.header("location")), (201, Some(at.as_str())));
    let absent = format!("/rests/data/pod:coe/pods={}", POD.replace('a', "b"));
    let body = pod("x").replace(POD, &POD.replace('a', "b"));
    assert_eq!(server.send("PATCH", &absent, &body).status, 404, "PATCH never makes an entry");
}

#[test]
fn the_older_root_answers_as_opendaylight_does() {
    let server = Server::start();
    let at = format!("/restconf/config/pod:coe/pods/{POD}");
    assert_eq!(server.send("PUT", &at, &pod("a")).status, 201);
    assert_eq!(server.send("PUT", &at, &pod("b")).status, 200);
    assert_eq!(
        server.send("PUT", &format!("{at}/"), &pod("b")).status,
        200,
        "a trailing slash does not matter"
    );
    assert_eq!(
        server.send("GET", &at.replace(POD, &POD.to_uppercase()), "").status,
        200,
        "neither does the case of a uuid"
    );
    assert_eq!(server.send("DELETE", &at, "").status, 200);
    assert_eq!(server.send("GET", &at, "").status, 404);
    assert_eq!(server.send("POST", "/restconf/config/pod:coe", &pod("c")).status, 204);
    assert_eq!(server.send("PUT", "/restconf/operational/pod:coe", "{}").status, 405);
    assert!(server.send("GET", "/restconf/modules", "").body.contains("dhcp_allocation_pool"));
    let one = server.send("GET", "/restconf/modules/module/pod/2017-06-11", "").json();
    assert_eq!((&one["module"][0]["name"], one["module"].as_array().map(Vec::len)), (&"pod".into(), Some(1)));
    assert_eq!(server.send("GET", "/restconf/modules/module/pod/2000-01-01", "").status, 404);
}

#[test]
fn the_samples_of_the_specification_are_taken_as_they_stand() {
    let server = Server::start();
    let samples = [
        (
            "/restconf/config/dhcp_allocation_pool:dhcp_allocation_pool/",
            r#"{"dhcp_allocation_pool:network":[{"dhcp_allocation_pool:allocation-pool":[{"dhcp_allocation_pool:subnet":"192.168.10.0/24","dhcp_allocation_pool:allocate-to":"192.168.10.50","dhcp_allocation_pool:gateway":"192.168.10.2","dhcp_allocation_pool:allocate-from":"192.168.10.3"}],"dhcp_allocation_pool:network-id":"pod-namespace"}]}"#,
        ),
        (
            "/restconf/config/pod:coe",
            r#"{"pod:pods":[{"pod:version":"Some version","pod:uid":"AC092D9B-E9Eb-BAE2-eEd8-74Aca2B7Fa9C","pod:interface":[{"pod:uid":"7bA91A3A-f17E-2eBB-eDec-3BBBEa27DCa7","pod:ip-address":"0.147.0.7","pod:network-id":"fBAD80df-B0B4-0580-8D14-11FcaCED2ac6","pod:network-type":"FLAT","pod:segmentation-id":"0"}]}]}"#,
        ),
        (
            "/restconf/config/service:service-information",
            r#"{"service:service-information":{"service:services":[{"service:uid":"EeafFFB7-D9Fc-aAeD-FBc9-8Af8BFaacDD9","service:cluster-ip-address":"5.21.5.0","service:endpoints":["AFbcF0EB-Fc3f-acea-A438-5CFDfCEfbcb0"]}]}}"#,
        ),
    ];
    for (path, body) in samples {
        let answer = server.send("PUT", path, body);
        assert_eq!(answer.status, 201, "{path}: {}", answer.body);
        assert_eq!(server.send("PUT", path, body).status, 200);
    }
    let pods = server.send("GET", &format!("/restconf/config/pod:coe/pods/{POD}"), "").json();
    assert_eq!(pods["pod:pods"][0]["interface"][0]["segmentation-id"], 0, "a quoted number is stored as one");
    assert_eq!(pods["pod:pods"][0]["uid"], POD);
}

#[test]
fn the_watchers_bodies_are_taken() {
    let server = Server::start();
    let service = "eeafffb7-d9fc-aaed-fbc9-8af8bfaacdd9";
    let headless = json!({"services": [{"uid": service, "name": "db", "cluster-ip-address": "", "service-ports": [{"port": 80}, {"port": 81}]}]});
    assert_eq!(
        server
            .send(
                "PUT",
                &format!("/restconf/config/service:service-information/services/{service}"),
                &headless.to_string()
            )
            .status,
        201
    );
    let got = server
        .send("GET", &format!("/restconf/config/service:service-information/services/{service}"), "")
        .json();
    assert_eq!(got["service:services"][0]["cluster-ip-address"], json!(null), "an empty address is none");
    assert_eq!(got["service:services"][0]["service-ports"][1], json!({"index": 2, "port": 81}));
    let endpoints = json!({"endpoints": [{"uid": service, "cluster-id": "00000000-0000-0000-0000-000000000001",
        "endpoint-addresses": [{"ip-address": "10.0.0.1", "node-name": null}]}]});
    let answer = server.send(
        "PUT",
        &format!("/restconf/config/service:endpoints-info/endpoints/{service}"),
        &endpoints.to_string(),
    );
    assert_eq!(answer.status, 201, "{}", answer.body);
}

#[test]
fn awkward_keys_are_kept_apart() {
    let server = Server::start();
    for (encoded, plain) in
        [("a%2Fb", "a/b"), ("a%2Cb", "a,b"), ("a%3Db", "a=b"), ("%C3%A4%20b", "ä b"), ("a%25b", "a%b")]
    {
        let at = format!("/rests/data/l3vpn:vpn-instances/vpn-instance={encoded}");
        let body = json!({"l3vpn:vpn-instance": [{"vpn-instance-name": plain}]}).to_string();
        let answer = server.send("PUT", &at, &body);
        assert_eq!(answer.status, 201, "{plain}: {}", answer.body);
        assert_eq!(server.send("GET", &at, "").json()["l3vpn:vpn-instance"][0]["vpn-instance-name"], plain);
        assert_eq!(server.send("DELETE", &at, "").status, 204);
    }
}

#[test]
fn head_options_and_discovery() {
    let server = Server::start();
    server.send("PUT", &format!("/rests/data/pod:coe/pods={POD}"), &pod("a"));
    let head = server.send("HEAD", "/rests/data/pod:coe", "");
    let get = server.send("GET", "/rests/data/pod:coe", "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(head.header("content-length"), get.header("content-length"));
    assert_eq!(head.header("etag"), get.header("etag"));
    let options = server.send("OPTIONS", "/rests/data/pod:coe", "");
    assert!(options.header("allow").is_some_and(|allow| allow.contains("PATCH")));
    assert!(options.header("accept-patch").is_some());
    let open = server.raw("GET", "/.well-known/host-meta", "", b"");
    assert!(open.status == 200 && open.body.contains("/rests"));
    assert_eq!(server.raw("GET", "/livez", "", b"").status, 200);
    assert_eq!(server.raw("GET", "/readyz", "", b"").status, 200);
    assert_eq!(server.send("GET", "/rests/yang-library-version", "").status, 200);
    assert_eq!(server.send("GET", "/rests/operations", "").status, 200);
}

#[test]
fn nobody_reads_without_the_password() {
    let server = Server::start();
    for headers in
        [String::new(), login("admin:admin"), login("root:secret"), "Authorization: Bearer x\r\n".to_owned()]
    {
        let answer = server.raw("GET", "/rests/data/pod:coe", &headers, b"");
        assert_eq!(answer.status, 401);
        assert!(answer.header("www-authenticate").is_some_and(|challenge| challenge.starts_with("Basic")));
    }
}
