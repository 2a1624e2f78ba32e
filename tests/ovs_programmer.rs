//! The programmer against a real switch: what is right stays, what is wrong is mended, what others did is left alone.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../crates/openflow-rs/tests/common/ovs.rs"]
mod ovs;
#[path = "support/sessions.rs"]
mod sessions;

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use coeus::datastore::{Snapshot, Store};
use coeus::net::{Dpid, ElanTag, LportTag, MacAddr};
use coeus::observe::statistics::Statistics;
use coeus::pipeline::{
    Delta, EGRESS_DISPATCHER, ELAN_DMAC, Flow, Group, Meter, Owner, actions, base_flows, broadcast_groups,
    matches, owners,
};
use coeus::programmer::{Mandate, Programmers, Status};
use coeus::schema::{DataPath, Parents, builtin, json, tree};
use openflow_rs::{ErrorMessage, Features, Message, MultipartReply, MultipartRequest, frame_len};
use ovs::Switch;
use prometheus_client::registry::Registry;
use sessions::Sessions;

type Owned = Owner<owners::Elan>;

/// Soon enough for a test.
const AUDITS: Duration = Duration::from_millis(300);

fn flow(number: u32, owner: &Owned) -> Arc<Flow> {
    let bytes = number.to_be_bytes();
    let mac = MacAddr([2, 0, bytes[0], bytes[1], bytes[2], bytes[3]]);
    let draft = Flow::table(ELAN_DMAC)
        .priority(20)
        .matching([matches::elan_tag(ElanTag(5001)), matches::eth_dst(mac)]);
    Arc::new(
        draft.then([actions::egress_to(LportTag(3)), actions::resubmit(EGRESS_DISPATCHER)]).owned_by(owner),
    )
}

fn delta(flows: u32) -> Delta {
    let owner = Owned::new("test");
    let mut delta = Delta::default();
    base_flows().into_iter().for_each(|flow| delta.put_flow(flow));
    (0..flows).for_each(|number| delta.put_flow(flow(number, &owner)));
    let chunk = broadcast_groups::chunk(ElanTag(5001), LportTag(3));
    delta.put_group(Arc::new(
        Group::all(broadcast_groups::local(ElanTag(5001))).bucket([actions::group(chunk)]).owned_by(&owner),
    ));
    delta.put_group(Arc::new(
        Group::all(chunk).bucket([actions::set_bucket_lport(LportTag(3))]).owned_by(&owner),
    ));
    delta.put_meter(Arc::new(Meter::packets_per_second(3, 5, 10, &Owner::<owners::Dhcp>::new("test"))));
    delta
}

/// A controller for one switch: the session server and the programmer, nothing else.
struct Controller {
    programmers: Programmers,
    runtime: tokio::runtime::Runtime,
    port: u16,
}

impl Controller {
    fn start(desired: BTreeMap<Dpid, Delta>) -> Controller {
        Controller::start_by(Mandate::Alone, desired)
    }

    fn start_by(mandate: Mandate, desired: BTreeMap<Dpid, Delta>) -> Controller {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let Sessions { programmers, runtime, port } = Sessions::start(runtime, AUDITS, mandate, desired);
        Controller { programmers, runtime, port }
    }

    fn wait(&self, dpid: Dpid, what: &str, done: impl Fn(&Status) -> bool) -> Status {
        let end = std::time::Instant::now() + Duration::from_secs(30);
        loop {
            let status = self.programmers.status(dpid);
            if done(&status) {
                return status;
            }
            assert!(std::time::Instant::now() < end, "not within 30 s: {what}; {status:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// How often it was measured how long a switch took.
    fn timed(&self) -> u64 {
        let (mut registry, mut text) = (Registry::default(), String::new());
        self.programmers.timings().register(&mut registry);
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let count = text
            .lines()
            .find_map(|line| line.strip_prefix("coeus_switch_programming_duration_seconds_count "));
        count.unwrap().parse().unwrap()
    }

    fn take(&self, switch: &Switch) {
        switch.vsctl(&[
            "set-controller",
            "br0",
            &format!("tcp:127.0.0.1:{}", self.port),
            "--",
            "set",
            "controller",
            "br0",
            "max_backoff=1000",
        ]);
    }
}

fn dpid(switch: &Switch) -> Dpid {
    switch.vsctl(&["get", "bridge", "br0", "datapath_id"]).trim().trim_matches('"').parse().unwrap()
}

fn count(switch: &Switch) -> usize {
    switch.ofctl(&["dump-flows"]).lines().filter(|line| line.contains("actions=")).count()
}

#[test]
fn a_switch_is_made_right_and_then_left_alone() {
    let switch = Switch::start();
    let dpid = dpid(&switch);
    // A bridge forgets its flows when it gets its first controller.
    switch.vsctl(&["set-controller", "br0", "tcp:127.0.0.1:1"]);
    switch.ofctl(&["add-flow", "table=100,priority=7,cookie=0x1,actions=drop"]);
    let wanted = BTreeMap::from([(dpid, delta(25_000))]);
    let flows = 25_000 + base_flows().len();

    let first = Controller::start(wanted.clone());
    first.take(&switch);
    let status = first.wait(dpid, "programmed", |status| status.programmed == 1);
    assert_eq!(
        (status.flow_mods as usize, status.group_mods, status.meter_mods, status.foreign_flows),
        (flows, 2, 1, 1)
    );
    assert!(status.bundles >= 3, "no bundle is larger than the switch likes");
    assert!(switch.ofctl(&["get-frags"]).contains("nx-match"), "first fragments show their ports");
    assert!(status.failures.is_empty(), "{:?}", status.failures);
    assert_eq!(count(&switch), flows + 1, "the flow of others is still there");
    drop(first.runtime);

    let second = Controller::start(wanted.clone());
    second.take(&switch);
    let status = second.wait(dpid, "read back", |status| status.programmed == 1);
    assert_eq!(
        (status.flow_mods, status.group_mods, status.meter_mods),
        (0, 0, 0),
        "nothing was wrong, so nothing is sent"
    );
    drop(second.runtime);

    switch.ofctl(&["set-frags", "normal"]);
    switch.ofctl(&["del-flows", "table=51,dl_dst=02:00:00:00:00:07"]);
    switch.ofctl(&["mod-flows", "table=220,priority=0,actions=NORMAL"]);
    switch.ofctl(&["add-flow", "table=60,priority=9,cookie=0xc000000000000001,actions=drop"]);
    let third = Controller::start(wanted);
    third.take(&switch);
    let status = third.wait(dpid, "mended", |status| status.programmed == 1);
    assert!(switch.ofctl(&["get-frags"]).contains("nx-match"), "each session says it again");
    assert_eq!(status.flow_mods, 3, "one flow was gone, one changed, one left over from us");
    assert_eq!(count(&switch), flows + 1);
    assert!(switch.ofctl(&["dump-flows", "table=220"]).contains("actions=drop"));
}

#[test]
fn what_somebody_changes_is_put_right_while_the_switch_is_connected() {
    let switch = Switch::start();
    let dpid = dpid(&switch);
    let controller = Controller::start(BTreeMap::from([(dpid, delta(300))]));
    controller.take(&switch);
    let before = controller.wait(dpid, "programmed", |status| status.programmed == 1);
    let flows = count(&switch);
    let groups = switch.ofctl(&["dump-groups", "br0"]).lines().count();
    for (change, mended) in [
        (&["del-flows", "table=51,dl_dst=02:00:00:00:00:07"][..], 1),
        (&["mod-flows", "table=220,priority=0,actions=NORMAL"], 1),
        (&["add-flow", "table=60,priority=9,cookie=0xc000000000000001,actions=drop"], 1),
        (&["del-groups"], 2),
        (&["del-meters"], 1),
        (&["del-flows"], flows as u64),
    ] {
        let was = controller.programmers.status(dpid).drift.mended;
        switch.ofctl(change);
        let status = controller.wait(dpid, change[0], |status| status.drift.mended >= was + mended);
        assert!(status.drift.last.is_some() && !status.drift.subjects.is_empty());
        assert_eq!(count(&switch), flows, "{change:?}");
        assert_eq!(switch.ofctl(&["dump-groups", "br0"]).lines().count(), groups, "{change:?}");
    }
    assert!(switch.ofctl(&["dump-flows", "table=220"]).contains("actions=drop"));
    // Flows of others are seen, and stay.
    switch.ofctl(&["add-flow", "table=100,priority=7,cookie=0x1,actions=drop"]);
    controller.wait(dpid, "foreign", |status| status.foreign_flows == before.foreign_flows + 1);
    // What is right is left alone.
    let rest = controller.programmers.status(dpid);
    std::thread::sleep(AUDITS * 5);
    let status = controller.programmers.status(dpid);
    assert_eq!((status.flow_mods, status.drift), (rest.flow_mods, rest.drift));
    assert!(switch.ofctl(&["dump-flows", "table=100,cookie=0x1/-1"]).contains("priority=7"));
}

#[test]
fn one_flow_that_the_switch_refuses_does_not_stop_the_others() {
    let switch = Switch::start();
    let dpid = dpid(&switch);
    let owner = Owned::new("broken");
    let mut wanted = delta(10);
    let bad = Flow::table(ELAN_DMAC)
        .priority(30)
        .matching([matches::elan_tag(ElanTag(1))])
        .then([actions::group(300_999)])
        .owned_by(&owner);
    wanted.put_flow(Arc::new(bad));
    let controller = Controller::start(BTreeMap::from([(dpid, wanted)]));
    controller.take(&switch);
    let status = controller.wait(dpid, "programmed", |status| status.programmed == 1);
    assert_eq!(status.failures.len(), 1, "{:?}", status.failures);
    assert_eq!(status.failures[0].owner, "elan broken");
    assert!(status.failures[0].message.contains("OFPBAC_BAD_OUT_GROUP"), "{:?}", status.failures);
    assert_eq!(count(&switch), 10 + base_flows().len());
    assert_eq!(controller.timed(), 0, "what a switch lacked when it came was committed at any time");

    // The missing group appears: the flow follows by itself.
    let mut mended = Delta::default();
    mended.put_group(Arc::new(
        Group::all(300_999).bucket([actions::resubmit(EGRESS_DISPATCHER)]).owned_by(&owner),
    ));
    controller.programmers.apply(2, BTreeMap::from([(dpid, mended)]));
    controller.wait(dpid, "mended", |status| status.programmed == 2 && status.failures.is_empty());
    assert_eq!(count(&switch), 11 + base_flows().len());
    assert_eq!(controller.timed(), 1);
}

#[test]
fn what_a_bundle_does_not_take_is_reported_and_the_rest_of_it_counts_as_done() {
    let switch = Switch::start();
    let dpid = dpid(&switch);
    let owner = Owned::new("broken");
    let mut wanted = delta(10);
    // No ethertype: the switch refuses the flow when it enters the bundle, and commits the others.
    let bad = Flow::table(ELAN_DMAC).priority(30).matching([matches::ip_ttl(1)]).owned_by(&owner);
    wanted.put_flow(Arc::new(bad));
    let controller = Controller::start(BTreeMap::from([(dpid, wanted)]));
    controller.take(&switch);
    let status = controller.wait(dpid, "programmed", |status| status.programmed == 1);
    assert_eq!(status.failures.len(), 1, "groups are not asked for twice: {:?}", status.failures);
    assert_eq!(status.failures[0].owner, "elan broken");
    assert!(status.failures[0].message.contains("OFPBMC_BAD_PREREQ"), "{:?}", status.failures);
    assert_eq!(count(&switch), 10 + base_flows().len());
}

/// A session that looks like `dpid`, holds nothing, and falls silent once it has been read back.
fn ghost(controller: &Controller, dpid: Dpid) -> TcpStream {
    let mut stream = stranger(controller);
    let mut read_back = 0;
    while read_back < 3 {
        let (xid, message) = hear(&mut stream).unwrap();
        match message {
            Message::FeaturesRequest => {
                let (dpid, tables) = (dpid.0, 254);
                let features = Features { dpid, buffers: 0, tables, auxiliary_id: 0, capabilities: 0 };
                say(&mut stream, xid, Message::FeaturesReply(features));
            }
            Message::MultipartRequest(request) => {
                let body = match request {
                    MultipartRequest::GroupDesc => MultipartReply::GroupDesc(Vec::new()),
                    MultipartRequest::MeterConfig => MultipartReply::MeterConfig(Vec::new()),
                    _ => MultipartReply::Flow(Vec::new()),
                };
                say(&mut stream, xid, Message::MultipartReply { more: false, body });
                read_back += 1;
            }
            _ => {}
        }
    }
    stream
}

/// A connection that says hello.
fn stranger(controller: &Controller) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", controller.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    say(&mut stream, 1, Message::Hello { versions: 1 << 4 });
    stream
}

fn say(stream: &mut TcpStream, xid: u32, message: Message) {
    let mut bytes = bytes::BytesMut::new();
    message.encode(xid, &mut bytes);
    stream.write_all(&bytes).unwrap();
}

/// The next message and its transaction id, or why there is none.
fn hear(stream: &mut TcpStream) -> std::io::Result<(u32, Message)> {
    let mut frame = vec![0; 8];
    stream.read_exact(&mut frame)?;
    let length = frame_len(&frame).unwrap().unwrap();
    frame.resize(length, 0);
    stream.read_exact(&mut frame[8..])?;
    let (header, message) = Message::decode(&frame).unwrap();
    Ok((header.xid, message))
}

#[test]
fn a_switch_that_hides_first_fragments_is_sent_away() {
    let controller = Controller::start(BTreeMap::new());
    let mut stream = stranger(&controller);
    let (mut refused, mut asked_after) = (0, Vec::new());
    let end = loop {
        match hear(&mut stream) {
            Ok((xid, Message::SetConfig { flags: 3, .. })) => {
                // OFPET_SWITCH_CONFIG_FAILED, OFPSCFC_BAD_FLAGS.
                let error = ErrorMessage { kind: 10, code: 0, data: Vec::new() };
                say(&mut stream, xid, Message::Error(error));
                refused += 1;
            }
            Ok((_, message)) if refused > 0 => asked_after.push(message),
            Ok(_) => {}
            Err(error) => break error.kind(),
        }
    };
    assert_eq!(refused, 1);
    assert_eq!(asked_after, [Message::FeaturesRequest], "which is on its way by then");
    let timed_out = matches!(end, ErrorKind::WouldBlock | ErrorKind::TimedOut);
    assert!(!timed_out, "the controller ends the session: {end:?}");
}

#[test]
fn a_session_that_was_replaced_takes_no_changes_from_the_new_one() {
    let switch = Switch::start();
    let dpid = dpid(&switch);
    let controller = Controller::start(BTreeMap::from([(dpid, Delta::default())]));
    let silent = ghost(&controller, dpid);
    controller.wait(dpid, "the first session is read back", |status| status.programmed == 1);
    controller.take(&switch);
    controller.wait(dpid, "the second session", |status| status.connects == 2);
    controller.programmers.apply(2, BTreeMap::from([(dpid, delta(10))]));
    let status = controller.wait(dpid, "programmed", |status| status.programmed == 2);
    assert!(status.connected && status.failures.is_empty(), "{status:?}");
    assert_eq!(count(&switch), 10 + base_flows().len());
    controller.programmers.apply(3, BTreeMap::from([(dpid, delta(20))]));
    controller.wait(dpid, "the next change", |status| status.programmed == 3);
    assert_eq!(count(&switch), 20 + base_flows().len());
    drop(silent);
}

/// What a read of this path sees once the switches have been asked.
fn read(controller: &Controller, statistics: &Statistics, dpid: Dpid, path: &str) -> serde_json::Value {
    let mut snapshot = Snapshot::empty(builtin());
    let at = |path: &str| DataPath::parse_rfc8040(builtin(), path).unwrap();
    let node = at(&format!("opendaylight-inventory:nodes/node={}", dpid.node_id().replace(':', "%3A")));
    let body = serde_json::json!({"opendaylight-inventory:node": [{"id": dpid.node_id()}]}).to_string();
    let known = json::parse_resource(builtin(), &node, body.as_bytes(), json::Mode::Strict).unwrap();
    tree::put(&mut snapshot.operational.derived, builtin(), &node, known, Parents::Create).unwrap();
    let path = at(path);
    let filled = controller.runtime.block_on(statistics.fill(Arc::new(snapshot), &path)).unwrap();
    let found = filled.read(Store::Operational, &path).unwrap();
    let mut text = Vec::new();
    json::write_resource(builtin(), &path, &found, &mut text);
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn counters_are_asked_for_when_read_and_no_more_often_than_they_age() {
    let switch = Switch::start();
    let dpid = dpid(&switch);
    let controller = Controller::start(BTreeMap::from([(dpid, delta(3))]));
    controller.take(&switch);
    controller.wait(dpid, "programmed", |status| status.programmed == 1);
    let node = format!("opendaylight-inventory:nodes/node={}", dpid.node_id().replace(':', "%3A"));
    switch.ofctl(&["packet-out", "in_port=LOCAL,packet=0200000000020211223344550800,actions=resubmit(,51)"]);

    let long = Statistics::new(controller.programmers.clone(), Duration::from_secs(3600));
    let found = read(&controller, &long, dpid, &node);
    let node_of = |found: &serde_json::Value| found["opendaylight-inventory:node"][0].clone();
    let found = node_of(&found);
    let table = |found: &serde_json::Value, id: u8| {
        let tables = found["flow-node-inventory:table"].as_array().unwrap();
        tables.iter().find(|table| table["id"] == id).unwrap().clone()
    };
    let dmac = table(&found, 51);
    let counters = &dmac["opendaylight-flow-table-statistics:flow-table-statistics"];
    assert_eq!(
        (&counters["active-flows"], &counters["packets-looked-up"]),
        (&4.into(), &"1".into()),
        "{counters}"
    );
    let flows = dmac["flow"].as_array().unwrap();
    assert_eq!(flows.len(), 4, "{flows:?}");
    let missed = flows.iter().find(|flow| flow["priority"] == 0).unwrap();
    assert_eq!(missed["opendaylight-flow-statistics:flow-statistics"]["packet-count"], "1", "{missed}");
    // It went on to table 52, whose miss drops.
    let drops = found["coeus-statistics:drop"].as_array().unwrap();
    let dropped = drops.iter().find(|drop| drop["table"] == 52).unwrap();
    assert_eq!((&dropped["miss"], &dropped["packet-count"]), (&true.into(), &"1".into()), "{dropped}");
    let groups = found["flow-node-inventory:group"].as_array().unwrap();
    assert!(
        groups
            .iter()
            .all(|group| group["opendaylight-group-statistics:group-statistics"]["buckets"].is_object()),
        "{groups:?}"
    );
    assert_eq!(
        found["flow-node-inventory:meter"][0]["opendaylight-meter-statistics:meter-statistics"]["flow-count"],
        0
    );
    assert!(found["node-connector"][0]["opendaylight-port-statistics:flow-capable-node-connector-statistics"]["bytes"].is_object());

    switch.ofctl(&["add-flow", "table=51,priority=7,cookie=0x1,actions=drop"]);
    assert_eq!(node_of(&read(&controller, &long, dpid, &node)), found, "asked again too early");
    let fresh = Statistics::new(controller.programmers.clone(), Duration::ZERO);
    assert_eq!(
        table(&node_of(&read(&controller, &fresh, dpid, &node)), 51)["flow"].as_array().unwrap().len(),
        5
    );
    // All nodes: no flows. Another path: nothing is asked.
    let all = read(&controller, &fresh, dpid, "opendaylight-inventory:nodes");
    assert!(
        all.to_string().contains("packets-matched") && !all.to_string().contains("coeus-statistics:line")
    );
    let other = DataPath::parse_rfc8040(builtin(), "pod:coe").unwrap();
    let nothing = controller.runtime.block_on(fresh.fill(Arc::new(Snapshot::empty(builtin())), &other));
    assert!(nothing.is_none());
}

/// Whether the switch says that one of its controllers has a role.
fn has_role(switch: &Switch, role: &str) -> bool {
    switch.vsctl(&["--columns=role", "list", "controller"]).contains(role)
}

#[test]
fn who_stands_by_sends_nothing_and_goes_on_without_a_new_session() {
    let switch = Switch::start();
    let dpid = dpid(&switch);
    let start = |flows| Controller::start_by(Mandate::Waiting, BTreeMap::from([(dpid, delta(flows))]));
    let (first, second) = (start(10), start(20));
    let both = [&first, &second].map(|one| format!("tcp:127.0.0.1:{}", one.port));
    switch.vsctl(&["set-controller", "br0", &both[0], &both[1]]);
    let share = |ours: &Controller, others: &Controller, election| {
        ours.programmers.share(&BTreeMap::from([(dpid, Mandate::Elected(election))]));
        others.programmers.share(&BTreeMap::from([(dpid, Mandate::Other(election))]));
    };
    let all = || {
        let connected = |one: &Controller| one.programmers.sessions() == [dpid];
        connected(&first) && connected(&second)
    };
    let end = std::time::Instant::now() + Duration::from_secs(30);
    while !all() {
        assert!(std::time::Instant::now() < end, "the switch does not connect to both");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(count(&switch), 0, "nobody owns it yet");
    let came = second.programmers.came_or_went();
    share(&first, &second, 7);
    first.wait(dpid, "programmed by its owner", |status| status.programmed == 1);
    assert_eq!(count(&switch), 10 + base_flows().len());
    let status = second.programmers.status(dpid);
    assert_eq!((status.connected, status.flow_mods, status.bundles), (false, 0, 0));

    // What comes meanwhile is not sent twice, nor lost.
    second.programmers.apply(2, BTreeMap::from([(dpid, delta(30))]));
    share(&second, &first, 9);
    second.wait(dpid, "programmed by the next owner", |status| status.programmed == 2);
    assert_eq!(count(&switch), 30 + base_flows().len());
    first.programmers.apply(2, BTreeMap::from([(dpid, delta(1000))]));
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(count(&switch), 30 + base_flows().len(), "it is not the first one's any more");
    assert!(!came.has_changed().unwrap(), "the session is the same");
    while !(has_role(&switch, "master") && has_role(&switch, "slave") && !has_role(&switch, "other")) {
        assert!(std::time::Instant::now() < end, "one is master, one is slave");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_switch_follows_who_was_elected_last() {
    let switch = Switch::start();
    let dpid = dpid(&switch);
    let first = Controller::start_by(Mandate::Elected(7), BTreeMap::from([(dpid, delta(10))]));
    first.take(&switch);
    first.wait(dpid, "programmed", |status| status.programmed == 1);
    let second = Controller::start_by(Mandate::Elected(9), BTreeMap::from([(dpid, delta(20))]));
    let both = [&first, &second].map(|one| format!("tcp:127.0.0.1:{}", one.port));
    switch.vsctl(&["set-controller", "br0", &both[0], &both[1]]);
    second.wait(dpid, "programmed by the second", |status| status.programmed == 1);
    let flows = 20 + base_flows().len();
    assert_eq!(count(&switch), flows);

    // The first finds changes of somebody else when it looks again, and learns whose.
    let is_stale = |status: &Status| {
        let reason = status.lost.as_ref().map(|(_, reason)| reason.as_str()).unwrap_or_default();
        reason.contains("OFPBRC_IS_SLAVE") || reason.contains("OFPRRFC_STALE")
    };
    first.wait(dpid, "the first one knows", is_stale);
    first.programmers.apply(2, BTreeMap::from([(dpid, delta(1000))]));
    let refused = first.wait(dpid, "it is refused when it comes again", |status| {
        status.lost.as_ref().is_some_and(|(_, reason)| reason.contains("OFPRRFC_STALE"))
    });
    assert_eq!(refused.programmed, 1);
    second.programmers.apply(2, BTreeMap::from([(dpid, delta(30))]));
    let status = second.wait(dpid, "the second goes on", |status| status.programmed == 2);
    assert!(status.failures.is_empty(), "{status:?}");
    assert_eq!((count(&switch), status.drift.mended), (10 + flows, 0));
}
