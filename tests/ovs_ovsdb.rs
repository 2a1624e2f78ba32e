//! OVSDB sessions with real databases and switches: the bridge, the tunnel port, ports as facts, restarts, strange peers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/ovs.rs"]
mod ovs;

use std::io::{Read, Write};
use std::time::Duration;

use coeus::datastore::journal::MemoryJournal;
use coeus::datastore::{Handle, NullEngine, Store, actor, to_json};
use coeus::schema::builtin;
use coeus::southbound::ovsdb::{self, Settings};
use ovs::{Ovs, wait};
use serde_json::Value;

const TUNNEL_PORT: &str = "vxlan-coeus";

/// Datastore and OVSDB, nothing else.
struct Controller {
    runtime: tokio::runtime::Runtime,
    datastore: Handle,
    port: u16,
}

fn settings() -> Settings {
    Settings { datapath_type: "dummy".into(), probe: Duration::from_secs(1), ..Settings::default() }
}

impl Controller {
    fn start() -> Controller {
        let started =
            actor::start(builtin(), Box::new(MemoryJournal::default()), Box::new(NullEngine)).unwrap();
        Controller::with(started.handle, "127.0.0.1:0")
    }

    fn with(datastore: Handle, address: &str) -> Controller {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind(address)).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(ovsdb::serve(listener, settings(), datastore.clone(), std::future::pending()));
        Controller { runtime, datastore, port }
    }

    fn manage(&self, ovs: &Ovs) {
        ovs.vsctl(&[
            "set-manager",
            &format!("tcp:127.0.0.1:{}", self.port),
            "--",
            "set",
            "manager",
            ".",
            "max_backoff=1000",
        ]);
    }

    /// The operational store as a document.
    fn shown(&self) -> Value {
        let text = to_json(&self.datastore.snapshot(), Store::Operational);
        serde_json::from_slice::<Value>(&text).unwrap()["ietf-restconf:data"].take()
    }

    /// Revision of the last change of the facts.
    fn revision(&self) -> u64 {
        let topology = builtin().resolve("/network-topology:network-topology");
        let snapshot = self.datastore.snapshot();
        snapshot.operational.input.container(topology).map_or(0, |facts| facts.modified())
    }

    /// `ovsdb-connected` of the only switch.
    fn connected(&self) -> Option<bool> {
        self.shown()["coeus-status:switches"]["switch"][0]["ovsdb-connected"].as_bool()
    }

    fn node(&self, id: &str) -> Option<Value> {
        let shown = self.shown();
        let nodes = shown["network-topology:network-topology"]["topology"][0]["node"].as_array()?;
        nodes.iter().find(|node| node["node-id"] == id).cloned()
    }

    fn ports(&self, bridge: &str) -> Vec<Value> {
        self.node(bridge).and_then(|node| node["termination-point"].as_array().cloned()).unwrap_or_default()
    }

    fn port(&self, bridge: &str, name: &str) -> Option<Value> {
        self.ports(bridge).into_iter().find(|port| port["tp-id"] == name)
    }
}

fn leaf<'a>(node: &'a Value, name: &str) -> &'a Value {
    &node[format!("ovsdb:{name}")]
}

fn switch(ovs: &Ovs) -> String {
    format!("ovsdb://uuid/{}", ovs.get("open_vswitch", ".", "_uuid"))
}

fn bridge(ovs: &Ovs) -> String {
    format!("{}/bridge/br-int", switch(ovs))
}

/// The bridge is made and its facts are there.
fn ready(controller: &Controller, ovs: &Ovs) -> Value {
    let id = bridge(ovs);
    wait("the bridge is shown", || controller.node(&id))
}

/// Nothing moves any more: neither the database nor the datastore.
fn settled(controller: &Controller, ovs: &Ovs) -> (usize, u64) {
    let state = || (ovs.transactions(), controller.revision());
    let mut last = (state(), std::time::Instant::now());
    wait("peace", || {
        let now = state();
        if now != last.0 {
            last = (now, std::time::Instant::now());
        }
        (last.1.elapsed() > Duration::from_millis(400)).then_some(now)
    })
}

#[test]
fn a_bare_switch_gets_its_bridge_and_is_then_left_alone() {
    let (controller, ovs) = (Controller::start(), Ovs::start("bare"));
    controller.manage(&ovs);
    let node = ready(&controller, &ovs);
    assert_eq!(ovs.get("bridge", "br-int", "fail_mode"), "secure");
    assert!(ovs.get("bridge", "br-int", "protocols").contains("OpenFlow13"));
    assert_eq!(ovs.get("bridge", "br-int", "other_config:disable-in-band"), "true");
    assert_eq!(ovs.vsctl(&["get-controller", "br-int"]).trim(), "tcp:127.0.0.1:6653");
    let dpid = ovs.get("bridge", "br-int", "datapath_id");
    assert_eq!(leaf(&node, "datapath-id").as_str().map(|text| text.replace(':', "")), Some(dpid));
    assert_eq!(leaf(&node, "bridge-uuid"), &Value::from(ovs.get("bridge", "br-int", "_uuid")));
    assert_eq!(leaf(&node, "fail-mode"), "ovsdb-fail-mode-secure");
    let top = controller.node(&switch(&ovs)).unwrap();
    assert_eq!(leaf(&top, "ovs-version"), &Value::from(ovs.get("open_vswitch", ".", "ovs_version")));

    // The same data, another process: it looks and writes nothing, neither there nor here.
    let before = settled(&controller, &ovs);
    let Controller { runtime, datastore, port } = controller;
    drop(runtime);
    wait("the old session ends", || (ovs.get("manager", ".", "is_connected") == "false").then_some(()));
    let again = Controller::with(datastore, &format!("127.0.0.1:{port}"));
    wait("the new session", || (ovs.get("manager", ".", "is_connected") == "true").then_some(()));
    assert_eq!(settled(&again, &ovs).1, before.1, "the facts were right already");
    let log = ovs::run(
        std::process::Command::new("ovsdb-tool")
            .args(["show-log", &ovs.dir().join("conf.db").display().to_string()]),
    );
    assert_eq!(log.matches("coeus: ").count(), 1, "one transaction of ours in all: {log}");
}

#[test]
fn the_tunnel_port_follows_local_ip() {
    let (controller, ovs) = (Controller::start(), Ovs::start("tunnel"));
    controller.manage(&ovs);
    ready(&controller, &ovs);
    ovs.vsctl(&["set", "open_vswitch", ".", "other_config:local_ip=192.0.2.1"]);
    let option = |name: &str| {
        ovs.vsctl(&["--if-exists", "get", "interface", TUNNEL_PORT, &format!("options:{name}")])
            .trim()
            .trim_matches('"')
            .to_owned()
    };
    let ofport = wait("the tunnel port", || {
        controller.port(&bridge(&ovs), TUNNEL_PORT)?.get("ovsdb:ofport")?.as_u64()
    });
    assert_eq!(ovs.get("interface", TUNNEL_PORT, "ofport"), ofport.to_string());
    assert_eq!(
        (option("remote_ip"), option("key"), option("local_ip")),
        ("flow".into(), "flow".into(), "192.0.2.1".into())
    );
    ovs.vsctl(&["set", "open_vswitch", ".", "other_config:local_ip=192.0.2.2"]);
    wait("the new address", || (option("local_ip") == "192.0.2.2").then_some(()));
    ovs.vsctl(&["remove", "open_vswitch", ".", "other_config", "local_ip"]);
    wait("the port is gone", || controller.port(&bridge(&ovs), TUNNEL_PORT).is_none().then_some(()));
    assert!(!ovs.vsctl(&["list-ports", "br-int"]).contains(TUNNEL_PORT));
}

#[test]
fn ports_of_any_name_come_change_and_go() {
    let (controller, ovs) = (Controller::start(), Ovs::start("ports"));
    controller.manage(&ovs);
    ready(&controller, &ovs);
    let bridge = bridge(&ovs);
    for name in ["veth0a1b2c3d", "tap1", "vhu-2", "x"] {
        ovs.vsctl(&[
            "add-port",
            "br-int",
            name,
            "--",
            "set",
            "interface",
            name,
            &format!("external_ids:iface-id=\"blue:{name}\""),
            "external_ids:attached-mac=\"02:00:00:00:00:01\"",
        ]);
        let port = wait("the port", || {
            controller.port(&bridge, name).filter(|port| port.get("ovsdb:ofport").is_some())
        });
        assert_eq!(
            leaf(&port, "ofport"),
            &Value::from(ovs.get("interface", name, "ofport").parse::<u64>().unwrap())
        );
        assert_eq!(leaf(&port, "interface-uuid"), &Value::from(ovs.get("interface", name, "_uuid")));
        let ids = leaf(&port, "interface-external-ids").as_array().unwrap();
        assert!(ids.iter().any(
            |id| id["external-id-key"] == "iface-id" && id["external-id-value"] == format!("blue:{name}")
        ));
    }
    ovs.vsctl(&["set", "interface", "tap1", "ofport_request=77"]);
    wait("the new number", || (leaf(&controller.port(&bridge, "tap1")?, "ofport") == 77).then_some(()));
    ovs.vsctl(&["set", "interface", "x", "external_ids:iface-id=\"red:x\""]);
    wait("the new iface-id", || controller.port(&bridge, "x")?.to_string().contains("red:x").then_some(()));
    ovs.vsctl(&["del-port", "br-int", "tap1"]);
    wait("the port is gone", || controller.port(&bridge, "tap1").is_none().then_some(()));
    // A port whose device does not exist is shown without a number.
    ovs.vsctl(&[
        "--no-wait",
        "add-port",
        "br-int",
        "patch-x",
        "--",
        "set",
        "interface",
        "patch-x",
        "type=patch",
    ]);
    let lame = wait("the port", || controller.port(&bridge, "patch-x"));
    assert!(lame.get("ovsdb:ofport").is_none(), "{lame}");
}

#[test]
fn a_hundred_ports_at_once_come_in_few_commits() {
    let (controller, ovs) = (Controller::start(), Ovs::start("hundred"));
    controller.manage(&ovs);
    ready(&controller, &ovs);
    let (_, before) = settled(&controller, &ovs);
    let names: Vec<String> = (0..100).map(|number| format!("veth{number:08x}")).collect();
    let words: Vec<String> = names
        .iter()
        .flat_map(|name| {
            let id = format!("external_ids:iface-id=\"blue:{name}\"");
            ["--", "add-port", "br-int", name, "--", "set", "interface", name, &id].map(str::to_owned)
        })
        .collect();
    ovs.vsctl(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let numbered = |port: &Value| port.get("ovsdb:ofport").is_some();
    wait("all ports", || {
        (controller.ports(&bridge(&ovs)).iter().filter(|port| numbered(port)).count() == 101).then_some(())
    });
    let (_, after) = settled(&controller, &ovs);
    assert!(after - before <= 10, "{} commits for 100 ports", after - before);
    let words: Vec<String> = names
        .iter()
        .flat_map(|name| ["--".into(), "del-port".into(), "br-int".into(), name.clone()])
        .collect();
    ovs.vsctl(&words.iter().map(String::as_str).collect::<Vec<_>>());
    wait("no port but the bridge's own", || (controller.ports(&bridge(&ovs)).len() == 1).then_some(()));
}

#[test]
fn what_others_configured_stays_and_what_contradicts_is_mended() {
    let (controller, ovs) = (Controller::start(), Ovs::start("others"));
    ovs.vsctl(&[
        "add-br",
        "br-int",
        "--",
        "set",
        "bridge",
        "br-int",
        "datapath_type=dummy",
        "other-config:datapath-id=00000000000000ab",
        "fail_mode=standalone",
        "protocols=OpenFlow14",
        "external_ids:mine=yes",
        "--",
        "set-controller",
        "br-int",
        "tcp:127.0.0.1:1",
        "--",
        "add-port",
        "br-int",
        "veth00000001",
    ]);
    controller.manage(&ovs);
    ready(&controller, &ovs);
    wait("two controllers", || (ovs.vsctl(&["get-controller", "br-int"]).lines().count() == 2).then_some(()));
    assert!(ovs.vsctl(&["get-controller", "br-int"]).contains("tcp:127.0.0.1:1\n"));
    assert_eq!(ovs.get("bridge", "br-int", "fail_mode"), "secure");
    assert_eq!(ovs.get("bridge", "br-int", "datapath_id"), "00000000000000ab");
    assert_eq!(ovs.get("bridge", "br-int", "external_ids:mine"), "yes");
    let protocols = ovs.get("bridge", "br-int", "protocols");
    assert!(protocols.contains("OpenFlow13") && protocols.contains("OpenFlow14"), "{protocols}");
    // A bridge that somebody deletes comes back; what he spoils is mended.
    ovs.vsctl(&["del-br", "br-int"]);
    wait("the bridge is back", || ovs.vsctl(&["list-br"]).contains("br-int").then_some(()));
    wait("the port went with the old bridge", || (controller.ports(&bridge(&ovs)).len() == 1).then_some(()));
    ovs.vsctl(&["del-controller", "br-int"]);
    wait("the controller is back", || {
        ovs.vsctl(&["get-controller", "br-int"]).contains(":6653").then_some(())
    });
}

#[test]
fn facts_outlive_a_lost_connection_and_are_compared_when_it_is_back() {
    let (controller, ovs) = (Controller::start(), Ovs::start("lost"));
    controller.manage(&ovs);
    ready(&controller, &ovs);
    let bridge = bridge(&ovs);
    ovs.vsctl(&["add-port", "br-int", "veth1", "--", "add-port", "br-int", "veth2"]);
    wait("ports", || (controller.ports(&bridge).len() == 3).then_some(()));
    settled(&controller, &ovs);
    assert_eq!(controller.connected(), Some(true));
    ovs.kill("ovsdb");
    wait("the loss is shown", || (controller.connected() == Some(false)).then_some(()));
    assert_eq!(controller.ports(&bridge).len(), 3, "facts stay");
    ovs.start_database();
    ovs.vsctl(&["del-port", "br-int", "veth1", "--", "add-port", "br-int", "veth3"]);
    let names = || {
        controller
            .ports(&bridge)
            .iter()
            .map(|port| port["tp-id"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    wait("connected again", || (controller.connected() == Some(true)).then_some(()));
    wait("the new truth", || (names() == ["br-int", "veth2", "veth3"]).then_some(()));
}

/// The database forgets datapath ids with its server, and vswitchd, which forwards all the time, says them again when it has connected.
#[test]
fn a_database_that_was_started_again_takes_no_flow_away() {
    let (controller, ovs) = (Controller::start(), Ovs::start("forgot"));
    controller.manage(&ovs);
    ready(&controller, &ovs);
    let (switch, bridge) = (switch(&ovs), bridge(&ovs));
    ovs.vsctl(&["add-port", "br-int", "veth1"]);
    wait("ports", || (controller.ports(&bridge).len() == 2).then_some(()));
    settled(&controller, &ovs);
    let before = controller.node(&bridge);
    ovs.kill("vs");
    ovs.kill("ovsdb");
    wait("the loss is shown", || (controller.connected() == Some(false)).then_some(()));
    ovs.start_database();
    assert_eq!(ovs.get("bridge", "br-int", "datapath_id"), "[]", "it is forgotten");
    wait("connected again", || (controller.connected() == Some(true)).then_some(()));
    assert!(controller.node(&switch).is_some());
    assert_eq!(controller.node(&bridge), before);
}

#[test]
fn two_switches_are_two_nodes() {
    let controller = Controller::start();
    let both = [Ovs::start("first"), Ovs::start("second")];
    both.iter().for_each(|ovs| controller.manage(ovs));
    both.iter().for_each(|ovs| drop(ready(&controller, ovs)));
    both[0].vsctl(&["add-port", "br-int", "veth1"]);
    wait("the port", || controller.port(&bridge(&both[0]), "veth1"));
    assert!(controller.port(&bridge(&both[1]), "veth1").is_none());
    // A removed port of one leaves the other alone.
    both[1].vsctl(&["add-port", "br-int", "veth1"]);
    wait("the port", || controller.port(&bridge(&both[1]), "veth1"));
    both[0].vsctl(&["del-port", "veth1"]);
    wait("gone there", || controller.port(&bridge(&both[0]), "veth1").is_none().then_some(()));
    assert!(controller.port(&bridge(&both[1]), "veth1").is_some());
}

#[test]
fn a_switch_can_be_dialled_before_it_is_there_and_after_it_was_away() {
    let (controller, ovs) = (Controller::start(), Ovs::start("dialled"));
    ovs.kill("ovsdb");
    let target = format!("unix:{}", ovs.dir().join("db.sock").display());
    controller.runtime.spawn(ovsdb::connect(target, settings(), controller.datastore.clone()));
    ovs.start_database();
    ready(&controller, &ovs);
    ovs.kill("ovsdb");
    ovs.start_database();
    ovs.vsctl(&["add-port", "br-int", "veth1"]);
    wait("the port", || controller.port(&bridge(&ovs), "veth1"));
}

#[test]
fn strange_peers_are_hung_up_on_and_trouble_nobody() {
    let (controller, ovs) = (Controller::start(), Ovs::start("strange"));
    controller.manage(&ovs);
    ready(&controller, &ovs);
    let strange: [&[u8]; 6] = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"{\"id\":1,\"result\":null,\"error\":\"no\"}",
        b"{\"this is\": no json}",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"{\"id\":null,\"method\":7,\"params\":[]}",
        b"[[[[[[[[",
    ];
    for text in strange {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", controller.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(text).unwrap();
        let mut heard = Vec::new();
        // The end of the stream, or a reset because we still had something to say.
        let _ = stream.read_to_end(&mut heard);
        assert!(String::from_utf8_lossy(&heard).contains("monitor"), "the controller spoke first");
    }
    // One that is silent is asked and then given up; one that only talks and never listens is given up, too.
    let mut silent = std::net::TcpStream::connect(("127.0.0.1", controller.port)).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut heard = String::new();
    let _ = silent.read_to_string(&mut heard);
    assert!(heard.contains("echo"));
    let mut deaf = std::net::TcpStream::connect(("127.0.0.1", controller.port)).unwrap();
    deaf.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    let echo = format!(r#"{{"id":"echo","method":"echo","params":["{}"]}}"#, "x".repeat(60_000));
    let end = std::time::Instant::now() + Duration::from_secs(20);
    while deaf.write_all(echo.as_bytes()).is_ok() {
        assert!(std::time::Instant::now() < end, "a peer that never reads is given up");
    }
    let revision = controller.revision();
    ovs.vsctl(&["add-port", "br-int", "veth1"]);
    wait("the port", || controller.port(&bridge(&ovs), "veth1"));
    assert!(controller.revision() > revision);
}

#[test]
fn an_old_server_is_asked_in_its_own_words() {
    let controller = Controller::start();
    let mut server = std::net::TcpStream::connect(("127.0.0.1", controller.port)).unwrap();
    server.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let messages = std::io::BufReader::new(server.try_clone().unwrap());
    let mut messages = serde_json::Deserializer::from_reader(messages).into_iter::<Value>();
    let mut asked = |method: &str| {
        let message =
            messages.by_ref().map(Result::unwrap).find(|message| message["method"] != "echo").unwrap();
        assert_eq!(message["method"], method);
        message
    };
    for method in ["monitor_cond_since", "monitor_cond"] {
        let id = asked(method)["id"].clone();
        let refused = serde_json::json!({"id": id, "result": null, "error": "unknown method"});
        server.write_all(refused.to_string().as_bytes()).unwrap();
    }
    let id = asked("monitor")["id"].clone();
    let root = "7bd9a1ce-7a05-4d1b-8d77-b1e8ba2a8d22";
    let rows = serde_json::json!({"Open_vSwitch": {root: {"new": {"ovs_version": "2.5.0", "bridges": ["set", []]}}}});
    let answer = serde_json::json!({"id": id, "result": rows, "error": null});
    server.write_all(answer.to_string().as_bytes()).unwrap();
    let wanted = asked("transact");
    assert!(wanted.to_string().contains("br-int"), "{wanted}");
    wait("the switch is shown", || controller.node(&format!("ovsdb://uuid/{root}")));
}
