//! Plan, explain and time machine over HTTP, with the renderers behind the datastore.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use coeus::datastore::{Edit, Store, Transaction, to_json};
use coeus::schema::{DataPath, builtin, json as yang_json};
use serde_json::{Value, json};
use support::{Server, bridge, port};

const P1: &str = "11111111-1111-4111-8111-111111111111";
const P2: &str = "22222222-2222-4222-8222-222222222222";

fn pod(uid: &str, name: &str, address: &str) -> String {
    json!({"pod:pods": [{"uid": uid, "name": name, "network-NS": "blue", "host-ip-address": "192.168.56.11",
        "interface": [{"uid": uid, "ip-address": address}]}]})
    .to_string()
}

fn at(uid: &str) -> String {
    format!("/rests/data/pod:coe/pods={uid}")
}

/// One switch with ports for both pods.
fn bed() -> Server {
    let server = Server::network();
    server.observe(&bridge(&json!([port("blue:p1", 10), port("blue:p2", 11)])));
    server
}

fn call(server: &Server, rpc: &str, input: Value) -> Value {
    let module = rpc.split(':').next().unwrap();
    let body = json!({format!("{module}:input"): input}).to_string();
    let answer = server.send("POST", &format!("/rests/operations/{rpc}"), &body);
    assert_eq!(answer.status, 200, "{rpc}: {}", answer.body);
    answer.json()[format!("{module}:output")].clone()
}

fn refused(server: &Server, rpc: &str, input: Value) -> (u16, String) {
    let module = rpc.split(':').next().unwrap();
    let body = json!({format!("{module}:input"): input}).to_string();
    let answer = server.send("POST", &format!("/rests/operations/{rpc}"), &body);
    (answer.status, answer.body)
}

fn state(server: &Server) -> [Vec<u8>; 2] {
    [Store::Config, Store::Operational].map(|store| to_json(&server.datastore.snapshot(), store))
}

fn config(server: &Server) -> Value {
    let whole = server.send("GET", "/rests/ds/ietf-datastores:running", "").json();
    whole["ietf-restconf:data"]["pod:coe"].clone()
}

/// A revision as it stands in input and output: 64-bit numbers are strings.
fn now(server: &Server) -> String {
    server.datastore.snapshot().revision.0.to_string()
}

#[test]
fn a_dry_run_tells_everything_and_changes_nothing() {
    let server = bed();
    let before = state(&server);
    let plan = server.send("PUT", &format!("{}?dry-run=flows", at(P1)), &pod(P1, "p1", "10.0.0.10"));
    assert_eq!(plan.status, 200, "{}", plan.body);
    let plan = plan.json()["coeus-explain:plan"].clone();
    let flows = plan["switch"][0]["flow"].as_array().unwrap();
    assert!(flows.len() > 10 && flows.iter().all(|flow| flow["operation"] == "added"), "{plan}");
    assert!(plan["line"].to_string().contains("dl_dst=0a:00:00:00:01:10"), "{plan}");
    assert!(plan["node"].to_string().contains("/elan:elan-instances/elan-instance"), "{plan}");
    assert_eq!(state(&server), before);
    assert_eq!(server.send("GET", &at(P1), "").status, 404);

    // The deletion takes away exactly what the creation planned.
    assert_eq!(server.send("PUT", &at(P1), &pod(P1, "p1", "10.0.0.10")).status, 201);
    let impact = call(&server, "coeus-explain:impact", json!({"path": format!("pod:coe/pods={P1}")}));
    let lines = |plan: &Value, sign: &str| -> Vec<String> {
        let lines = plan["line"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned());
        let mut lines: Vec<_> =
            lines.filter(|line| line.contains(sign)).map(|line| line.replace(sign, "")).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&impact, " - "), lines(&plan, " + "));
    assert_eq!(server.send("GET", &at(P1), "").status, 200);

    let both = json!({"ietf-yang-patch:yang-patch": {"patch-id": "p", "edit": [
        {"edit-id": "1", "operation": "delete", "target": format!("/pods={P1}")}]}});
    let patch = "Content-Type: application/yang-patch+json\r\n";
    let planned = server.with(patch, "PATCH", "/rests/data/pod:coe?dry-run=flows", &both.to_string());
    assert_eq!(planned.status, 200, "{}", planned.body);
    assert_eq!(lines(&planned.json()["coeus-explain:plan"], " - "), lines(&plan, " + "));
    let planned = server.send("DELETE", &format!("{}?dry-run=flows", at(P1)), "");
    assert_eq!(lines(&planned.json()["coeus-explain:plan"], " - "), lines(&plan, " + "));
}

#[test]
fn a_dry_run_is_refused_as_the_write_would_be() {
    let server = bed();
    for (method, path, body, status) in [
        ("DELETE", format!("{}?dry-run=flows", at(P1)), String::new(), 404),
        ("PUT", format!("{}?dry-run=everything", at(P1)), pod(P1, "p1", "10.0.0.10"), 400),
        ("PUT", format!("{}?dry-run=flows&dry-run=flows", at(P1)), pod(P1, "p1", "10.0.0.10"), 400),
        ("PUT", format!("{}?dry-run=flows&other=1", at(P1)), pod(P1, "p1", "10.0.0.10"), 400),
        ("PUT", format!("{}?dry-run=flows", at(P1)), pod(P1, "p1", "10.0.0.999"), 400),
    ] {
        let answer = server.send(method, &path, &body);
        let status = if status == 404 && answer.status == 409 { 409 } else { status };
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
    }
    assert_eq!(server.send("PUT", &at(P1), &pod(P1, "p1", "10.0.0.10")).status, 201);
    let taken = server.send("PUT", &format!("{}?dry-run=flows", at(P2)), &pod(P2, "p2", "10.0.0.10"));
    assert_eq!(taken.status, 409, "{}", taken.body);
}

#[test]
fn a_rollback_is_one_transaction_and_can_be_taken_back() {
    let server = bed();
    let empty = now(&server);
    server.send("PUT", &at(P1), &pod(P1, "p1", "10.0.0.10"));
    let one = now(&server);
    server.send("PUT", &at(P1), &pod(P1, "p1", "10.0.0.12"));
    server.send("PUT", &at(P2), &pod(P2, "p2", "10.0.0.11"));
    let (two, both) = (now(&server), config(&server));

    let before = state(&server);
    let planned = call(&server, "coeus-history:rollback", json!({"to": one, "dry-run": true}));
    assert!(planned["plan"]["line"].to_string().contains("10.0.0.10"), "{planned}");
    assert_eq!(state(&server), before);

    let done = call(&server, "coeus-history:rollback", json!({"to": one}));
    assert_eq!(done["committed"], json!((two.parse::<u64>().unwrap() + 1).to_string()), "one transaction");
    assert_eq!(config(&server)["pods"].as_array().unwrap().len(), 1);
    assert_eq!(config(&server)["pods"][0]["interface"][0]["ip-address"], "10.0.0.10");
    call(&server, "coeus-history:rollback", json!({"to": two}));
    assert_eq!(config(&server), both);
    call(&server, "coeus-history:rollback", json!({"to": empty}));
    assert_eq!(server.send("GET", &at(P1), "").status, 404);

    let (status, body) = refused(&server, "coeus-history:rollback", json!({"to": "999999"}));
    assert!(status == 400 && body.contains("the newest is"), "{status} {body}");
    let list = call(&server, "coeus-history:list-revisions", json!({"clients-only": true}));
    let revisions = list["revision"].as_array().unwrap();
    assert_eq!(revisions.len(), 6);
    let newest = revisions.last().unwrap();
    assert_eq!((&newest["author"], &newest["number"]), (&json!("admin"), &json!(now(&server))));
}

#[test]
fn a_diff_is_a_patch_that_leads_from_one_revision_to_the_other() {
    let server = bed();
    server.send("PUT", &at(P1), &pod(P1, "p1", "10.0.0.10"));
    let (one, first) = (now(&server), config(&server));
    server.send("PUT", &at(P1), &pod(P1, "p1", "10.0.0.12"));
    server.send("PUT", &at(P2), &pod(P2, "p2", "10.0.0.11"));
    let (two, second) = (now(&server), config(&server));
    let kind = "Content-Type: application/yang-patch+json\r\n";
    for (from, to, wanted) in [(&two, &one, &first), (&one, &two, &second)] {
        let diff = call(&server, "coeus-history:diff", json!({"from": from, "to": to}));
        assert_eq!(diff["edits"], 2, "{diff}");
        let patched = server.with(kind, "PATCH", "/rests/data", &diff["patch"].to_string());
        assert_eq!(patched.status, 200, "{}", patched.body);
        assert_eq!(config(&server), *wanted);
    }
}

#[test]
fn flows_lead_to_pods_and_pods_to_flows() {
    let server = bed();
    server.send("PUT", &at(P1), &pod(P1, "p1", "10.0.0.10"));
    let written = now(&server);
    server.send("PUT", &at(P2), &pod(P2, "p2", "10.0.0.11"));
    let found =
        call(&server, "coeus-explain:flow", json!({"table": 51, "match": "dl_dst=0a:00:00:00:01:10"}));
    assert_eq!(found["flows"], 1, "{found}");
    let flow = &found["flow"][0];
    assert_eq!((&flow["key"], &flow["objects"]), (&json!("blue:p1"), &json!(1)), "{flow}");
    let object = &flow["object"][0];
    assert_eq!(object["path"], format!("pod:coe/pods={P1}"));
    assert_eq!((&object["revision"], &object["author"]), (&json!(written), &json!("admin")));
    let cookie = flow["line"].as_str().unwrap().split(['=', ',']).nth(1).unwrap();
    let again = call(&server, "coeus-explain:flow", json!({"cookie": cookie, "table": 51}));
    assert_eq!(again["flow"][0]["line"], flow["line"]);

    let all = call(&server, "coeus-explain:list-flows", json!({"limit": 3}));
    assert!(all["flows"].as_u64().unwrap() > 30 && all["flow"].as_array().unwrap().len() == 3, "{all}");
    let some = call(&server, "coeus-explain:list-flows", json!({"table": 51, "dpid": "0000000000000001"}));
    let some = some["flow"].as_array().unwrap();
    assert!(some.len() > 1 && some.iter().all(|flow| flow["table"] == 51), "{some:?}");

    let caused = call(&server, "coeus-explain:object", json!({"path": format!("pod:coe/pods={P1}")}));
    assert!(caused["line"].to_string().contains("dl_dst=0a:00:00:00:01:10"), "{caused}");
    assert!(!caused["line"].to_string().contains("dl_dst=0a:00:00:00:01:11"), "{caused}");
    let as_in_errors = json!({"path": format!("/pod:coe/pods[uid='{P1}']")});
    assert_eq!(call(&server, "coeus-explain:object", as_in_errors), caused);
    // What is derived from several pods: an ELAN and a VPN with all that is in them.
    for (path, flow) in [
        ("elan:elan-instances/elan-instance=192.168.56.11%3Ablue", "table=51"),
        ("l3vpn:vpn-instances/vpn-instance=blue", "table=21"),
    ] {
        let caused = call(&server, "coeus-explain:object", json!({ "path": path }));
        let lines = caused["line"].to_string();
        assert!(lines.contains(flow) && lines.contains("0a:00:00:00:01:10"), "{path}: {caused}");
        assert!(lines.contains("0a:00:00:00:01:11"), "{path}: {caused}");
    }
    let (status, body) = refused(&server, "coeus-explain:flow", json!({}));
    assert!(status == 400 && body.contains("nothing to look for"), "{status} {body}");
}

#[test]
fn pools_tell_whom_they_serve_and_services_what_they_cause() {
    let server = bed();
    server.send("PUT", &at(P1), &pod(P1, "p1", "10.0.0.10"));
    server.send("PUT", &at(P2), &pod(P2, "p2", "10.0.1.11"));
    let pools = json!({"dhcp_allocation_pool:dhcp_allocation_pool": {"network": [{"network-id": "blue", "allocation-pool": [
        {"subnet": "10.0.0.0/24", "allocate-from": "10.0.0.50", "allocate-to": "10.0.0.60", "gateway": "10.0.0.1"},
        {"subnet": "10.0.1.0/24", "allocate-from": "10.0.1.50", "allocate-to": "10.0.1.60"},
        {"subnet": "2001:db8::/64", "allocate-from": "2001:db8::50", "allocate-to": "2001:db8::60"}]}]}});
    let path = "/rests/data/dhcp_allocation_pool:dhcp_allocation_pool";
    let answer = server.send("PUT", path, &pools.to_string());
    assert_eq!(answer.status, 201, "{}", answer.body);
    let lease = |name: &str, address: &str, subnet: &str| json!({"interface": name, "address": address, "network-id": "blue", "subnet": subnet, "state": "bound"});
    let leases = json!({"coeus-dhcp:leases": {"lease": [
        lease("blue:p1", "10.0.0.50", "10.0.0.0/24"), lease("blue:p2", "10.0.1.50", "10.0.1.0/24")]}});
    let schema = server.datastore.snapshot().schema;
    let path = DataPath::root().child(schema.resolve("/coeus-dhcp:leases"));
    let text = leases.to_string();
    let node = yang_json::parse_resource(schema, &path, text.as_bytes(), yang_json::Mode::Strict).unwrap();
    let edit = Edit::put(Store::Operational, path, node);
    server.datastore.commit_blocking(Transaction::new("dhcp", vec![edit])).unwrap();

    let of = |path: &str| call(&server, "coeus-explain:object", json!({ "path": path }));
    let network = "dhcp_allocation_pool:dhcp_allocation_pool/network=blue";
    let both = of(network);
    assert_eq!(both["line"].as_array().map(Vec::len), Some(4), "two pods, each with both versions: {both}");
    let v6 = of(&format!("{network}/allocation-pool=2001%3Adb8%3A%3A%2F64"));
    assert_eq!(v6["line"].as_array().map(Vec::len), Some(2), "{v6}");
    assert!(v6["line"].as_array().unwrap().iter().all(|line| line.to_string().contains("udp6")), "{v6}");
    assert!(
        both["line"].as_array().unwrap().iter().all(|line| line.to_string().contains("table=60")),
        "{both}"
    );
    let one = of(&format!("{network}/allocation-pool=10.0.0.0%2F24"));
    assert_eq!(one["line"].as_array().map(Vec::len), Some(1), "{one}");
    assert!(one["switch"][0]["flow"][0]["owner"].to_string().contains("blue:p1"), "{one}");
    let wanted = json!([format!("pod:coe/pods={P1}"), "coeus-dhcp:leases/lease=blue%3Ap1"]);
    assert_eq!(one["concerns"], wanted, "{one}");
    let service = json!({"uid": P1, "name": "web", "network-NS": "blue", "cluster-ip-address": "10.96.0.10",
        "service-ports": [{"port": 80}]});
    let endpoints = json!({"uid": P1, "name": "web", "network-NS": "blue",
        "endpoint-addresses": [{"ip-address": "10.0.0.10"}]});
    for (path, body) in [
        ("service:service-information", json!({"service:service-information": {"services": [service]}})),
        ("service:endpoints-info", json!({"service:endpoints-info": {"endpoints": [endpoints]}})),
    ] {
        let answer = server.send("PUT", &format!("/rests/data/{path}"), &body.to_string());
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
    for path in ["service:service-information", &format!("service:endpoints-info/endpoints={P1}")] {
        let said = of(path);
        assert!(said["line"].to_string().contains("nw_dst=10.96.0.10,tp_dst=80"), "{path}: {said}");
    }
    let (status, _) = refused(
        &server,
        "coeus-explain:object",
        json!({"path": "service:service-information/services=00000000-0000-4000-8000-000000000077"}),
    );
    assert_eq!(status, 404);
}

#[test]
fn an_unconfirmed_commit_goes_back_by_itself() {
    let server = bed();
    server.send("PUT", &at(P1), &pod(P1, "p1", "10.0.0.10"));
    let before = config(&server);
    let answer = server.send("PUT", &format!("{}?confirm=1s", at(P1)), &pod(P1, "p1", "10.0.0.12"));
    assert_eq!(answer.status, 204, "{}", answer.body);
    let id = answer.header("coeus-confirm").unwrap().to_owned();
    // Somebody else's write stays.
    server.send("PUT", &at(P2), &pod(P2, "p2", "10.0.0.11"));
    assert_eq!(config(&server)["pods"][0]["interface"][0]["ip-address"], "10.0.0.12");
    let waiting = server.send("GET", "/rests/data/coeus-history:confirmed-commits", "").body;
    assert!(waiting.contains(&id), "{waiting}");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while config(&server)["pods"][0] != before["pods"][0] {
        assert!(std::time::Instant::now() < deadline, "it does not go back");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(config(&server)["pods"].as_array().unwrap().len(), 2);
    assert_eq!(server.send("GET", "/rests/data/coeus-history:confirmed-commits", "").status, 404);
    let (status, _) = refused(&server, "coeus-history:confirm-commit", json!({"id": id}));
    assert_eq!(status, 404);
}

#[test]
fn a_commit_is_confirmed_or_cancelled_by_rpc() {
    let server = bed();
    let put = |address: &str| {
        server
            .send("PUT", &format!("{}?confirm=60s", at(P1)), &pod(P1, "p1", address))
            .header("coeus-confirm")
            .map(str::to_owned)
    };
    let first = put("10.0.0.10").unwrap();
    call(&server, "coeus-history:confirm-commit", json!({"id": first}));
    let kept = config(&server);
    assert_eq!(put("10.0.0.10"), None, "nothing changes, nothing waits");
    put("10.0.0.12").unwrap();
    call(&server, "coeus-history:cancel-commit", json!({}));
    assert_eq!(config(&server), kept);
    for wrong in
        ["confirm=", "confirm=0s", "confirm=2000h", "confirm=9s&dry-run=flows", "confirm=1s&confirm=1s"]
    {
        let answer = server.send("DELETE", &format!("{}?{wrong}", at(P1)), "");
        assert_eq!(answer.status, 400, "{wrong}: {}", answer.body);
    }
    assert_eq!(config(&server), kept);
}

#[test]
fn a_commit_that_ran_out_while_nobody_was_there_is_taken_back_at_the_start() {
    use coeus::datastore::journal::MemoryJournal;
    use coeus::datastore::{NullEngine, actor};
    use coeus::revisions::confirm;
    let journal = MemoryJournal::default();
    let start = || actor::start(builtin(), Box::new(journal.clone()), Box::new(NullEngine)).unwrap().handle;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let path = DataPath::parse_rfc8040(builtin(), &format!("pod:coe/pods={P1}")).unwrap();
    let body = pod(P1, "p1", "10.0.0.10");
    let node = yang_json::parse_resource(builtin(), &path, body.as_bytes(), yang_json::Mode::Strict).unwrap();
    let there = |handle: &coeus::datastore::Handle| handle.snapshot().written(Store::Config, &path).is_some();

    let handle = start();
    let transaction = Transaction::new("admin", vec![Edit::put(Store::Config, path.clone(), node)]);
    let until = std::time::SystemTime::now();
    let guarded = confirm::guarded(&handle.snapshot(), transaction, "c1", until).unwrap().unwrap();
    handle.commit_blocking(guarded).unwrap();
    assert!(there(&handle));
    runtime.block_on(handle.stop());

    let handle = start();
    assert!(there(&handle) && confirm::pending(&handle.snapshot()).len() == 1);
    runtime.spawn(coeus::revisions::actor::run(handle.clone()));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while there(&handle) {
        assert!(std::time::Instant::now() < deadline, "it is not taken back");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(confirm::pending(&handle.snapshot()).is_empty());
}
