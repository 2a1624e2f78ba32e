//! The streams of RFC 8040.

use serde_json::{Value, json};

use super::client::{Event, Events, delete_pod, pod_path, put_pod, report};
use super::support::Server;

fn config_change(event: &Event) -> Value {
    event.told()["ietf-netconf-notifications:netconf-config-change"].clone()
}

#[test]
fn rfc8040_6_2_streams_are_listed_with_their_locations() {
    let server = Server::start();
    let answer = server.send("GET", "/rests/data/ietf-restconf-monitoring:restconf-state/streams", "");
    let streams = answer.json()["ietf-restconf-monitoring:streams"]["stream"].clone();
    let names: Vec<&str> = streams.as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["NETCONF", "coeus"]);
    for stream in streams.as_array().unwrap() {
        assert_eq!(stream["replay-support"], json!(true));
        assert_eq!(stream["access"].as_array().unwrap().len(), 2);
        for access in stream["access"].as_array().unwrap() {
            let mut events = Events::open(&server, access["location"].as_str().unwrap(), "");
            assert_eq!(events.status, 200, "{access}");
            assert!(
                events.head.to_lowercase().contains("content-type: text/event-stream"),
                "{}",
                events.head
            );
            put_pod(&server, 1, "web");
            delete_pod(&server, 1);
            if stream["name"] == "NETCONF" {
                let told = events.one().data;
                let is_xml = told
                    .starts_with("<notification xmlns=\"urn:ietf:params:xml:ns:netconf:notification:1.0\">");
                assert_eq!(is_xml, access["encoding"] == "xml", "{told}");
            }
        }
    }
}

#[test]
fn rfc6470_changed_configuration_is_told_with_who_and_what() {
    let server = Server::start();
    let mut events = Events::open(&server, "/streams/NETCONF-JSON", "");
    let revision = put_pod(&server, 1, "web");
    let event = events.one();
    assert_eq!(event.revision(), revision);
    let told = config_change(&event);
    assert_eq!(told["changed-by"], json!({"username": "admin", "session-id": 0}));
    assert_eq!(told["datastore"], json!("running"));
    assert_eq!(told["coeus-events:revision"], json!(revision.to_string()));
    let target = "/pod:coe/pods[uid='00000000-0000-4000-8000-000000000001']";
    assert_eq!(told["edit"], json!([{"target": target, "operation": "create"}]));
    put_pod(&server, 1, "db");
    assert_eq!(config_change(&events.one())["edit"][0]["operation"], json!("replace"));
    report(
        &server,
        "coeus-status:switches/switch=0000000000000001",
        &json!({"coeus-status:switch": [{"dpid": "0000000000000001"}]}),
    );
    delete_pod(&server, 1);
    // What is only reported is no configuration.
    assert_eq!(config_change(&events.one())["edit"][0]["operation"], json!("delete"));
}

#[test]
fn rfc8040_4_8_7_the_past_is_replayed_and_an_event_id_leads_on() {
    let server = Server::start();
    let revisions: Vec<u64> = (1..=4).map(|number| put_pod(&server, number, "web")).collect();
    let mut events = Events::open(&server, "/streams/NETCONF-JSON?start-time=2020-01-01T00:00:00Z", "");
    let ids: Vec<u64> = (0..4).map(|_| events.one().revision()).collect();
    assert_eq!(ids, revisions);
    let again = format!("Last-Event-ID: {}\r\n", revisions[1]);
    let mut events = Events::open(&server, "/streams/NETCONF-JSON", &again);
    assert_eq!([events.one().revision(), events.one().revision()], [revisions[2], revisions[3]]);
    // A replay that has an end ends.
    let ends = "/streams/NETCONF-JSON?start-time=2020-01-01T00:00:00Z&stop-time=2020-01-02T00:00:00Z";
    assert_eq!(Events::open(&server, ends, "").next(), None);
}

#[test]
fn rfc8040_4_8_4_a_filter_chooses() {
    let server = Server::start();
    let target = "/pod:coe/pods[uid='00000000-0000-4000-8000-000000000002']";
    let filter = format!("/ietf-netconf-notifications:netconf-config-change/edit[target=\"{target}\"]");
    let filter: String = filter.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let mut events = Events::open(&server, &format!("/streams/NETCONF-JSON?filter={filter}"), "");
    put_pod(&server, 1, "web");
    let revision = put_pod(&server, 2, "web");
    assert_eq!(events.one().revision(), revision);
}

#[test]
fn a_pool_that_runs_low_is_told_once() {
    let server = Server::start();
    let mut events = Events::open(&server, "/streams/coeus-JSON", "");
    let at = "coeus-dhcp:pools/pool=blue,192.168.10.0%2F24";
    let mut last = "normal";
    for (state, free) in [("normal", "9"), ("low", "2"), ("low", "1"), ("exhausted", "0"), ("normal", "9")] {
        let pool = json!({"network-id": "blue", "subnet": "192.168.10.0/24", "state": state, "free": free});
        report(&server, at, &json!({"coeus-dhcp:pool": [pool]}));
        if state == last {
            continue;
        }
        let told = events.one().told()["coeus-events:pool-state-changed"].clone();
        let wanted = json!({"network-id": "blue", "subnet": "192.168.10.0/24", "old-state": last, "state": state, "free": free});
        for (name, value) in wanted.as_object().unwrap() {
            assert_eq!(&told[name], value, "{name} of {told}");
        }
        last = state;
    }
}

#[test]
fn states_of_pods_and_switches_are_told_once_each() {
    let server = Server::start();
    let mut events = Events::open(&server, "/streams/coeus-JSON", "");
    let object = |more: Value| {
        let mut object = json!({"name": "blue:web", "namespace": "blue", "pod-name": "web"});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"coeus-status:object": [object]})
    };
    let switch = |more: Value| {
        let mut switch = json!({"dpid": "00000000000000aa"});
        switch.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"coeus-status:switch": [switch]})
    };
    let (object_at, switch_at) =
        ("coeus-status:objects/object=blue%3Aweb", "coeus-status:switches/switch=00000000000000aa");
    let mut told = |wanted: Value| {
        let event = events.one().told();
        let found = &event["coeus-events:object-state-changed"];
        let found = if found.is_null() { &event["coeus-events:switch-state-changed"] } else { found };
        for (name, value) in wanted.as_object().unwrap() {
            assert_eq!(&found[name], value, "{name} of {event}");
        }
    };
    report(&server, object_at, &object(json!({"state": "pending", "reason": ["no port"]})));
    told(json!({"name": "blue:web", "old-state": "absent", "state": "pending", "reason": ["no port"]}));
    report(
        &server,
        switch_at,
        &switch(json!({"connected": true, "peer": "10.0.0.1:1", "programmed-revision": "5"})),
    );
    told(json!({"dpid": "00000000000000aa", "connected": true, "peer": "10.0.0.1:1"}));
    let wanted = json!({"state": "desired", "switch": "00000000000000aa", "desired-revision": "7"});
    report(&server, object_at, &object(wanted.clone()));
    told(json!({"old-state": "pending", "state": "desired", "switch": "00000000000000aa"}));
    // Counters and revisions below the one that is waited for say nothing.
    report(&server, switch_at, &switch(json!({"connected": true, "programmed-revision": "6"})));
    report(&server, switch_at, &switch(json!({"connected": true, "programmed-revision": "9"})));
    told(json!({"old-state": "desired", "state": "programmed"}));
    let mut failed = wanted;
    failed["state"] = json!("failed");
    report(&server, object_at, &object(failed));
    told(json!({"old-state": "programmed", "state": "failed"}));
    report(&server, switch_at, &switch(json!({"connected": false, "programmed-revision": "9"})));
    told(json!({"connected": false}));
}

#[test]
fn wrong_requests_are_refused_with_what_is_possible() {
    let server = Server::start();
    put_pod(&server, 1, "web");
    for (path, headers, status) in [
        ("/streams/nothing", "", 404),
        ("/streams/NETCONF?start-time=yesterday", "", 400),
        ("/streams/NETCONF?start-time=2199-01-01T00:00:00Z", "", 400),
        ("/streams/NETCONF?stop-time=2199-01-01T00:00:00Z", "", 400),
        ("/streams/NETCONF?filter=", "", 400),
        ("/streams/NETCONF?filter=/nothing:here", "", 400),
        ("/streams/NETCONF?depth=1", "", 400),
        ("/streams/NETCONF", "Accept: application/json\r\n", 406),
        ("/streams/NETCONF", "Last-Event-ID: x\r\n", 400),
        ("/streams/NETCONF", "Last-Event-ID: 99999\r\n", 400),
        ("/rests/subscriptions/1", "", 404),
        ("/rests/subscriptions/x", "", 404),
        ("/rests/data/pod:nothing", "", 400),
        ("/rests/data/pod:coe?start-revision=x", "", 400),
        ("/rests/data/pod:coe?start-revision=99999", "", 400),
        ("/rests/data/pod:coe?depth=1", "", 400),
    ] {
        let answer = Events::open(&server, path, headers);
        assert_eq!(answer.status, status, "{path} {headers}: {}", answer.head);
    }
    assert_eq!(server.send("POST", "/streams/NETCONF", "").status, 405);
    assert_eq!(server.send("GET", &format!("/rests/data/{}", pod_path(1)), "").status, 200);
}
