//! Subscriptions of RFC 8639 and 8641, read as RFC 8650 says.

use coeus::northbound::events::Limits;
use serde_json::{Value, json};

use super::client::{Events, pod_path, put_pod};
use super::support::{Answer, Server};

const SHOWN: &str = "/rests/data/ietf-subscribed-notifications:subscriptions";

fn call(server: &Server, rpc: &str, input: &Value) -> Answer {
    let (module, _) = rpc.split_once(':').unwrap();
    let body = json!({format!("{module}:input"): input}).to_string();
    server.with("", "POST", &format!("/rests/operations/{rpc}"), &body)
}

fn establish(server: &Server, input: &Value) -> (u64, String) {
    let answer = call(server, "ietf-subscribed-notifications:establish-subscription", input);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let output = answer.json()["ietf-subscribed-notifications:output"].clone();
    let uri = output["ietf-restconf-subscribed-notifications:uri"].as_str().unwrap().to_owned();
    (output["id"].as_u64().unwrap(), uri)
}

fn pods() -> Value {
    json!({
        "ietf-yang-push:datastore": "ietf-datastores:running",
        "ietf-yang-push:datastore-xpath-filter": "/pod:coe",
        "ietf-yang-push:on-change": {},
    })
}

#[test]
fn rfc8641_a_subscription_begins_with_the_state_and_goes_on_with_changes() {
    let server = Server::start();
    put_pod(&server, 1, "web");
    let (id, uri) = establish(&server, &pods());
    let mut events = Events::open(&server, &uri, "");
    assert_eq!(events.status, 200);
    let present = events.one().update();
    assert_eq!(present["id"], json!(id));
    assert_eq!(present["datastore-contents"]["pod:coe"]["pods"][0]["name"], json!("web"));
    let revision = put_pod(&server, 2, "db");
    let change = events.one().change();
    assert_eq!((&change["id"], &change["coeus-events:revision"]), (&json!(id), &json!(revision.to_string())));

    // One reader at a time.
    assert_eq!(Events::open(&server, &uri, "").status, 409);
    let shown = server.send("GET", SHOWN, "").json();
    let shown = &shown["ietf-subscribed-notifications:subscriptions"]["subscription"][0];
    assert_eq!(shown["ietf-yang-push:datastore"], json!("ietf-datastores:running"));
    assert_eq!(shown["receivers"]["receiver"], json!([{"name": "admin", "state": "active"}]));

    // The state once more.
    assert_eq!(call(&server, "ietf-yang-push:resync-subscription", &json!({"id": id})).status, 204);
    assert_eq!(events.one().update()["datastore-contents"]["pod:coe"]["pods"].as_array().unwrap().len(), 2);

    // Another filter.
    let filter = "/pod:coe/pods[uid='00000000-0000-4000-8000-000000000002']";
    let input = json!({"id": id, "ietf-yang-push:datastore-xpath-filter": filter});
    let answer = call(&server, "ietf-subscribed-notifications:modify-subscription", &input);
    assert_eq!(answer.status, 204, "{}", answer.body);
    let modified = &events.one().told()["ietf-subscribed-notifications:subscription-modified"];
    assert_eq!(modified["ietf-yang-push:datastore-xpath-filter"], json!(filter));
    assert_eq!(events.one().update()["datastore-contents"]["pod:coe"]["pods"].as_array().unwrap().len(), 1);

    let end = "ietf-subscribed-notifications:delete-subscription";
    assert_eq!(call(&server, end, &json!({"id": id})).status, 204);
    assert_eq!(events.next(), None);
    assert_eq!(call(&server, end, &json!({"id": id})).status, 404);
    assert_eq!(server.send("GET", SHOWN, "").status, 404);
    assert_eq!(server.readers.count(), 0);
}

#[test]
fn a_reader_that_comes_back_goes_on_where_it_was() {
    let server = Server::start();
    let (_, uri) = establish(&server, &pods());
    let mut events = Events::open(&server, &uri, "");
    let first = events.one().id;
    drop(events);
    let missed: Vec<u64> = (1..=3).map(|number| put_pod(&server, number, "web")).collect();
    let again = format!("Last-Event-ID: {first}\r\n");
    // The server sees that the reader has gone with its next heartbeat or event.
    let mut events = Events::open(&server, &uri, &again);
    while events.status == 409 {
        put_pod(&server, 9, &format!("{}", server.datastore.snapshot().revision.0));
        events = Events::open(&server, &uri, &again);
    }
    let told: Vec<u64> = (0..3).map(|_| events.one().revision()).collect();
    assert_eq!(told, missed);
}

#[test]
fn rfc8641_without_sync_or_from_a_revision_only_changes_come() {
    let server = Server::start();
    let known = put_pod(&server, 1, "web");
    let next = put_pod(&server, 2, "web");
    let mut from = pods();
    from["coeus-events:start-revision"] = json!(known.to_string());
    let (_, uri) = establish(&server, &from);
    assert_eq!(Events::open(&server, &uri, "").one().revision(), next);
    let mut silent = pods();
    silent["ietf-yang-push:on-change"] = json!({"sync-on-start": false});
    let (_, uri) = establish(&server, &silent);
    let mut events = Events::open(&server, &uri, "");
    let next = put_pod(&server, 3, "web");
    let event = events.one();
    assert_eq!((event.revision(), event.edits().len()), (next, 1));
}

#[test]
fn rfc8639_a_stream_can_be_subscribed_to_and_killed() {
    let server = Server::start();
    put_pod(&server, 1, "web");
    let input = json!({"stream": "NETCONF", "replay-start-time": "2020-01-01T00:00:00Z",
        "encoding": "ietf-subscribed-notifications:encode-xml"});
    let (id, uri) = establish(&server, &input);
    let mut events = Events::open(&server, &uri, "");
    assert!(events.one().data.contains("<netconf-config-change"));
    let answer = call(&server, "ietf-subscribed-notifications:kill-subscription", &json!({"id": id}));
    assert_eq!(answer.status, 204, "{}", answer.body);
    assert!(events.one().data.contains("<subscription-terminated"));
    assert_eq!(events.next(), None);
}

#[test]
fn what_cannot_be_served_is_refused_when_it_is_asked_for() {
    let server = Server::start();
    let change = json!({});
    for (input, status, tag) in [
        (json!({}), 400, ""),
        (json!({"stream": "nothing"}), 400, ""),
        (json!({"ietf-yang-push:datastore": "ietf-datastores:running"}), 400, ""),
        (
            json!({"ietf-yang-push:datastore": "ietf-datastores:dynamic", "ietf-yang-push:on-change": change}),
            400,
            "datastore-not-subscribable",
        ),
        (
            json!({"ietf-yang-push:datastore": "ietf-datastores:running", "ietf-yang-push:on-change": change,
            "ietf-yang-push:datastore-xpath-filter": "/pod:coe/pods/name"}),
            400,
            "filter-unsupported",
        ),
        (
            json!({"ietf-yang-push:datastore": "ietf-datastores:running", "ietf-yang-push:on-change": change,
            "ietf-yang-push:datastore-xpath-filter": "count(/pod:coe)"}),
            400,
            "filter-unsupported",
        ),
        (
            json!({"ietf-yang-push:datastore": "ietf-datastores:running", "ietf-yang-push:on-change": change,
            "coeus-events:start-revision": "99999"}),
            400,
            "",
        ),
    ] {
        let answer = call(&server, "ietf-subscribed-notifications:establish-subscription", &input);
        assert_eq!(answer.status, status, "{input}: {}", answer.body);
        assert!(answer.body.contains(tag), "{input}: {}", answer.body);
    }
    assert_eq!(server.readers.count(), 0);
}

#[test]
fn a_user_has_so_many_and_no_more() {
    let server = Server::with_limits(Limits { per_user: 2, ..Limits::default() });
    let (id, _) = establish(&server, &pods());
    let events = Events::open(&server, "/streams/NETCONF", "");
    assert_eq!(events.status, 200);
    let answer = call(&server, "ietf-subscribed-notifications:establish-subscription", &pods());
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert!(answer.body.contains("insufficient-resources"), "{}", answer.body);
    assert_eq!(Events::open(&server, "/streams/NETCONF", "").status, 503);
    call(&server, "ietf-subscribed-notifications:delete-subscription", &json!({"id": id}));
    assert_eq!(Events::open(&server, "/streams/NETCONF", "").status, 200);
}

#[test]
fn rfc8641_a_filter_may_name_several_subtrees() {
    let server = Server::start();
    put_pod(&server, 1, "web");
    put_pod(&server, 2, "db");
    let name = |number: u32| format!("/pod:coe/pods[uid='00000000-0000-4000-8000-{number:012}']/name");
    let mut input = pods();
    let union = format!("{} | {}|/k8s-node:k8s-nodes-info", name(1), name(3));
    input["ietf-yang-push:datastore-xpath-filter"] = json!(union);
    let (id, uri) = establish(&server, &input);
    let mut events = Events::open(&server, &uri, "");
    let contents = events.one().update()["datastore-contents"].clone();
    let entry = json!({"uid": "00000000-0000-4000-8000-000000000001", "name": "web"});
    assert_eq!(contents, json!({"pod:coe": {"pods": [entry]}}), "the key that leads there, and the leaf");
    // Pod 2 and other leafs of pod 1 are not asked for; pod 3 comes.
    put_pod(&server, 2, "cache");
    server.send(
        "PATCH",
        &format!("/rests/data/{}", pod_path(1)),
        &json!({"pod:pods": [{"uid": "00000000-0000-4000-8000-000000000001", "network-NS": "blue"}]})
            .to_string(),
    );
    let third = put_pod(&server, 3, "new");
    let event = events.one();
    assert_eq!(event.revision(), third);
    assert_eq!(event.edits()[0]["target"], format!("/{}/name", pod_path(3)));
    let node = json!({"k8s-node:k8s-nodes-info": {"id": "n"}});
    assert_eq!(server.send("PUT", "/rests/data/k8s-node:k8s-nodes-info", &node.to_string()).status, 201);
    assert_eq!(events.one().edits()[0]["target"], "/k8s-node:k8s-nodes-info/id");
    // One commit that concerns two of them is one event.
    let both = json!({"ietf-restconf:data": {"pod:coe": {"pods": [
        {"uid": "00000000-0000-4000-8000-000000000001", "name": "w"}]}, "k8s-node:k8s-nodes-info": {"id": "m"}}});
    assert_eq!(server.send("PATCH", "/rests/data", &both.to_string()).status, 204);
    let targets: Vec<Value> = events.one().edits().iter().map(|edit| edit["target"].clone()).collect();
    assert_eq!(targets.len(), 2, "{targets:?}");
    let all = server.send("GET", "/rests/data/ietf-subscribed-notifications:subscriptions", "").json();
    let shown = &all["ietf-subscribed-notifications:subscriptions"]["subscription"][0];
    assert_eq!(shown["id"], id);
    let filter = shown["ietf-yang-push:datastore-xpath-filter"].as_str().unwrap();
    assert_eq!(filter.split(" | ").count(), 3, "{filter}");
    // What is inside of another is asked for already.
    input["ietf-yang-push:datastore-xpath-filter"] = json!(format!("/pod:coe | {}", name(1)));
    let (_, uri) = establish(&server, &input);
    let mut events = Events::open(&server, &uri, "");
    events.one();
    put_pod(&server, 1, "once");
    let edits = events.one().edits();
    let names = edits.iter().filter(|edit| edit["target"].as_str().unwrap().ends_with("/name"));
    assert_eq!(names.count(), 1, "{edits:?}");
}

#[test]
fn rfc6241_6_2_a_subtree_filter_may_have_branches() {
    let server = Server::start();
    for number in 1..=3 {
        put_pod(&server, number, "web");
    }
    let node = json!({"k8s-node:k8s-nodes-info": {"id": "n"}});
    assert_eq!(server.send("PUT", "/rests/data/k8s-node:k8s-nodes-info", &node.to_string()).status, 201);
    let mut input = pods();
    input.as_object_mut().unwrap().remove("ietf-yang-push:datastore-xpath-filter");
    let uid = |number: u32| format!("00000000-0000-4000-8000-{number:012}");
    input["ietf-yang-push:datastore-subtree-filter"] = json!({
        "pod:coe": {"pods": [{"uid": uid(1), "name": null}, {"uid": uid(3)}]}, "k8s-node:k8s-nodes-info": {},
    });
    let (_, uri) = establish(&server, &input);
    let contents = Events::open(&server, &uri, "").one().update()["datastore-contents"].clone();
    let uids: Vec<&str> = contents["pod:coe"]["pods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pod| pod["uid"].as_str().unwrap())
        .collect();
    assert_eq!(uids, [uid(1), uid(3)]);
    assert_eq!(contents["k8s-node:k8s-nodes-info"]["id"], "n");
    for wrong in [
        json!({"pod:coe": {"pods": [{"name": "web"}]}}),
        json!({"pod:coe": {"nothing": {}}}),
        json!({"pod:coe": {"pods": {"name": null}}}),
    ] {
        input["ietf-yang-push:datastore-subtree-filter"] = wrong;
        let answer = call(&server, "ietf-subscribed-notifications:establish-subscription", &input);
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(answer.body.contains("filter-unsupported"), "{}", answer.body);
    }
}

#[test]
fn a_subtree_filter_is_a_chain() {
    let server = Server::start();
    put_pod(&server, 1, "web");
    put_pod(&server, 2, "db");
    let mut input = pods();
    input.as_object_mut().unwrap().remove("ietf-yang-push:datastore-xpath-filter");
    input["ietf-yang-push:datastore-subtree-filter"] =
        json!({"pod:coe": {"pods": [{"uid": "00000000-0000-4000-8000-000000000002"}]}});
    let (_, uri) = establish(&server, &input);
    let contents = Events::open(&server, &uri, "").one().update()["datastore-contents"].clone();
    assert_eq!(contents["pod:coe"]["pods"].as_array().unwrap().len(), 1);
    assert_eq!(contents["pod:coe"]["pods"][0]["name"], json!("db"));
}
