//! The figures of the README: each beside its limit, both taken in this run. `cargo bench --bench coeus`, or with the names
//! of questions behind it: `-- thousand-pods`.
//!
//! A private Open vSwitch (dummy datapath: flows are real, packets are not) takes the flows. Ports are facts put into the operational
//! datastore, as the OVSDB session would; the clock starts with the first byte of the PUT and stops at the switch's confirmation.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../crates/openflow-rs/tests/common/ovs.rs"]
mod ovs;

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use bytes::BytesMut;
use coeus::app::{self, Controller, Settings};
use coeus::datastore::journal::SledJournal;
use coeus::datastore::{Edit, NullEngine, Store, Transaction, actor};
use coeus::net::Dpid;
use coeus::observe::LogFormat;
use coeus::pipeline::SwitchTables;
use coeus::schema::{DataPath, builtin, json};
use openflow_rs::flow::encode_flow_mod;
use openflow_rs::group::encode_group_mod;
use openflow_rs::{FlowCommand, GroupCommand, Message, MeterCommand, MeterConfig, MeterMod, frame_len};
use ovs::Switch;

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    // As in the program.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let questions: [(&str, &dyn Fn()); 5] = [
        ("one-more-pod", &|| one_more_pod(&runtime)),
        ("thousand-pods", &|| thousand_pods(&runtime)),
        ("commits", &|| commits(&runtime)),
        ("encoding", &encoding),
        ("start-up", &|| start_up(&runtime)),
    ];
    println!("| what | Coeus | limit | ratio |\n|---|---|---|---|");
    for (name, ask) in questions {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            ask();
        }
    }
}

fn row(what: &str, ours: &str, limit: &str, ratio: Option<f64>) {
    println!(
        "| {what} | {ours} | {limit} | {} |",
        ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"))
    );
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

// -- the controller with one switch

struct Bed<'a> {
    runtime: &'a tokio::runtime::Runtime,
    controller: Controller,
    switch: Switch,
    dpid: Dpid,
    http: TcpStream,
    ports: u32,
    folder: tempfile::TempDir,
}

fn settings(folder: &Path) -> Settings {
    let any = || "127.0.0.1:0".to_owned();
    Settings {
        audits: Duration::from_secs(5),
        data_dir: folder.to_owned(),
        store: coeus::app::StoreAt::Sled(folder.to_owned()),
        store_credentials: Default::default(),
        restconf: any(),
        restconf_plain: Some(any()),
        tls: Default::default(),
        limits: Default::default(),
        openflow: any(),
        ovsdb: any(),
        switch_tls: None,
        ovsdb_connect: Vec::new(),
        bridge: "br-int".into(),
        datapath_type: "netdev".into(),
        overlay: Default::default(),
        gre: true,
        node_port: true,
        controller: None,
        admin_password: Some("secret".into()),
        admin_password_file: None,
        history: coeus::datastore::Limits::default(),
        statistics: std::time::Duration::from_secs(3),
        log: "error".into(),
        log_format: LogFormat::Text,
    }
}

const SWITCH: &str = "ovsdb://uuid/00000000-0000-4000-8000-00000000000a";

impl Bed<'_> {
    fn new(runtime: &tokio::runtime::Runtime) -> Bed<'_> {
        let switch = Switch::start();
        let dpid: Dpid =
            switch.vsctl(&["get", "bridge", "br0", "datapath_id"]).trim().trim_matches('"').parse().unwrap();
        let folder = tempfile::tempdir_in(".").unwrap();
        let controller = runtime.block_on(app::start(&settings(folder.path()))).unwrap();
        switch.vsctl(&["set-controller", "br0", &format!("tcp:127.0.0.1:{}", controller.openflow.port())]);
        let http = TcpStream::connect(controller.restconf_plain.unwrap()).unwrap();
        http.set_nodelay(true).unwrap();
        let mut bed = Bed { runtime, controller, switch, dpid, http, ports: 0, folder };
        let colons: Vec<String> = dpid
            .to_string()
            .as_bytes()
            .chunks(2)
            .map(|pair| String::from_utf8_lossy(pair).into_owned())
            .collect();
        let nodes = format!(
            r#"{{"network-topology:network-topology":{{"topology":[{{"topology-id":"ovsdb:1","node":[
            {{"node-id":"{SWITCH}","ovsdb:openvswitch-other-configs":[{{"other-config-key":"local_ip","other-config-value":"192.0.2.1"}}]}},
            {{"node-id":"{SWITCH}/bridge/br-int","ovsdb:bridge-name":"br-int","ovsdb:datapath-id":"{}",
              "ovsdb:managed-by":"/network-topology:network-topology/topology[topology-id='ovsdb:1']/node[node-id='{SWITCH}']"}}]}}]}}}}"#,
            colons.join(":")
        );
        bed.fact("network-topology:network-topology", &nodes);
        bed.settle();
        bed
    }

    fn fact(&mut self, path: &str, text: &str) {
        let schema = builtin();
        let path = DataPath::parse_rfc8040(schema, path).unwrap();
        let node = json::parse_resource(schema, &path, text.as_bytes(), json::Mode::Lenient).unwrap();
        let edit = Edit::merge(Store::Operational, path, node);
        self.controller.datastore.commit_blocking(Transaction::new("ovsdb", vec![edit])).unwrap();
    }

    /// Ports for pods, by number.
    fn plug(&mut self, pods: std::ops::Range<u32>) {
        let mut points = String::new();
        for pod in pods {
            let comma = if points.is_empty() { "" } else { "," };
            self.ports += 1;
            let _ = write!(
                points,
                r#"{comma}{{"tp-id":"veth{pod:08x}","ovsdb:name":"veth{pod:08x}","ovsdb:ofport":{},"ovsdb:interface-external-ids":[
                {{"external-id-key":"iface-id","external-id-value":"blue:p{pod}"}},
                {{"external-id-key":"attached-mac","external-id-value":"0a:00:00:{:02x}:{:02x}:{:02x}"}}]}}"#,
                self.ports,
                pod >> 16 & 255,
                pod >> 8 & 255,
                pod & 255
            );
        }
        let node = SWITCH.replace(':', "%3A").replace('/', "%2F");
        let path =
            format!("network-topology:network-topology/topology=ovsdb%3A1/node={node}%2Fbridge%2Fbr-int");
        let text = format!(
            r#"{{"network-topology:node":[{{"node-id":"{SWITCH}/bridge/br-int","termination-point":[{points}]}}]}}"#
        );
        self.fact(&path, &text);
        self.settle();
    }

    /// Waits until the switch has confirmed everything.
    fn settle(&self) {
        let programmers = &self.controller.programmers;
        let mut confirmed = programmers.confirmed(self.dpid);
        let settled = async {
            while *confirmed.borrow_and_update() == 0 || programmers.pending(self.dpid) {
                confirmed.changed().await.unwrap();
            }
        };
        let in_time = async { tokio::time::timeout(Duration::from_secs(60), settled).await };
        self.runtime.block_on(in_time).expect("the switch was not programmed");
    }

    /// Brings one more pod; the flows it costs, encoded.
    fn one_more(&mut self, pod: u32) -> BytesMut {
        let before = self.controller.programmers.desired(self.dpid);
        let body = format!(r#"{{"pod:pods":[{}]}}"#, entry(pod));
        self.put(&format!("/restconf/config/pod:coe/pods/{}", uid(pod)), &body);
        self.settle();
        encoded(&only_new(&before, self.controller.programmers.desired(self.dpid)))
    }

    fn put(&mut self, path: &str, body: &str) {
        let status = put(&mut self.http, path, body);
        assert!(matches!(status, 200 | 201), "{path}: {status}");
    }
}

/// One PUT on a connection that stays open; the answer's status.
fn put(http: &mut TcpStream, path: &str, body: &str) -> u16 {
    let login = base64::engine::general_purpose::STANDARD.encode("admin:secret");
    let request = format!(
        "PUT {path} HTTP/1.1\r\nHost: b\r\nAuthorization: Basic {login}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    http.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    while !answer.windows(4).any(|four| four == b"\r\n\r\n") {
        let count = http.read(&mut chunk).unwrap();
        assert!(count > 0, "the server closed the connection");
        answer.extend_from_slice(&chunk[..count]);
    }
    String::from_utf8_lossy(&answer).split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

fn uid(pod: u32) -> String {
    format!("00000000-0000-4000-8000-{pod:012x}")
}

fn entry(pod: u32) -> String {
    let (uid, high, low) = (uid(pod), pod / 250, pod % 250 + 2);
    format!(
        r#"{{"uid":"{uid}","name":"p{pod}","network-NS":"blue","host-ip-address":"192.0.2.1","interface":[{{"uid":"{uid}","ip-address":"10.{}.{}.{low}","network-type":"VXLAN"}}]}}"#,
        high / 250,
        high % 250
    )
}

/// All pods up to this one.
fn pods(count: u32) -> String {
    format!(r#"{{"pod:coe":{{"pods":[{}]}}}}"#, (0..count).map(entry).collect::<Vec<_>>().join(","))
}

fn put_pods(bed: &mut Bed<'_>, body: &str) {
    bed.put("/restconf/config/pod:coe", body);
}

// -- limits

/// A session of our own with a switch, for raw pushes.
struct Raw {
    stream: UnixStream,
}

impl Raw {
    fn new(switch: &Switch) -> Raw {
        let mut raw = Raw { stream: UnixStream::connect(switch.path().join("br0.mgmt")).unwrap() };
        let mut hello = BytesMut::new();
        Message::Hello { versions: 16 }.encode(1, &mut hello);
        raw.push(&hello);
        raw
    }

    /// Sends bytes and a barrier; returns when the barrier is answered.
    fn push(&mut self, bytes: &[u8]) {
        let mut barrier = BytesMut::new();
        Message::BarrierRequest.encode(77, &mut barrier);
        self.stream.write_all(bytes).unwrap();
        self.stream.write_all(&barrier).unwrap();
        let (mut buffer, mut chunk) = (Vec::new(), [0; 4096]);
        loop {
            while let Some(length) = frame_len(&buffer).unwrap().filter(|length| *length <= buffer.len()) {
                let done = matches!(Message::decode(&buffer), Ok((header, Message::BarrierReply)) if header.xid == 77);
                buffer.drain(..length);
                if done {
                    return;
                }
            }
            let count = self.stream.read(&mut chunk).unwrap();
            buffer.extend_from_slice(&chunk[..count]);
        }
    }
}

/// What came since.
fn only_new(before: &SwitchTables, mut after: SwitchTables) -> SwitchTables {
    after.flows.retain(|flow| !before.flows.contains(flow));
    after.groups.retain(|id, _| !before.groups.contains_key(id));
    after.meters.retain(|id, _| !before.meters.contains_key(id));
    after
}

/// What a switch is told to hold these, not bundled.
fn encoded(tables: &SwitchTables) -> BytesMut {
    let mut bytes = BytesMut::new();
    for meter in tables.meters.values() {
        let MeterConfig { flags, meter, bands } = meter.config();
        let meter = MeterMod { command: MeterCommand::Add, flags, meter, bands };
        Message::MeterMod(meter).encode(1, &mut bytes);
    }
    // Groups that name others come last: their ids are the smaller ones.
    for group in tables.groups.values().rev() {
        encode_group_mod(GroupCommand::Add, group.kind, group.id, &group.buckets, 1, &mut bytes);
    }
    for flow in tables.flows.iter() {
        encode_flow_mod(FlowCommand::Add, flow.raw(), 1, &mut bytes);
    }
    bytes
}

/// Appends of 300 bytes to a file of the same file system, each with its fdatasync.
struct Disk {
    file: std::fs::File,
}

impl Disk {
    fn new(folder: &Path) -> Disk {
        Disk { file: std::fs::File::create(folder.join("limit")).unwrap() }
    }

    fn append(&mut self) {
        self.file.write_all(&[7; 300]).unwrap();
        self.file.sync_data().unwrap();
    }
}

fn time(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

// -- questions

/// How often one more pod comes, and how often each part of its limit is taken, in turn with it.
const ROUNDS: u32 = 60;

fn one_more_pod(runtime: &tokio::runtime::Runtime) {
    let mut first = None;
    for present in [10, 1_000, 10_000] {
        let mut bed = Bed::new(runtime);
        let before = resident();
        bed.plug(0..present + 2 * ROUNDS);
        put_pods(&mut bed, &pods(present));
        bed.settle();
        let pods =
            if present == 10_000 { Some((settled_resident() - before) / f64::from(present)) } else { None };
        let other = Switch::start();
        let mut raw = Raw::new(&other);
        raw.push(&encoded(&bed.controller.programmers.desired(bed.dpid)));
        let pods_before: Vec<BytesMut> = (present..present + ROUNDS).map(|pod| bed.one_more(pod)).collect();
        let mut disk = Disk::new(bed.folder.path());
        let (mut syncs, mut barriers, mut times) = (Vec::new(), Vec::new(), Vec::new());
        for (pod, bytes) in (present + ROUNDS..).zip(&pods_before) {
            syncs.push(time(|| disk.append()));
            barriers.push(time(|| raw.push(bytes)));
            let path = format!("/restconf/config/pod:coe/pods/{}", uid(pod));
            let body = format!(r#"{{"pod:pods":[{}]}}"#, entry(pod));
            times.push(time(|| {
                bed.put(&path, &body);
                bed.settle();
            }));
        }
        let ours = median(times);
        let limit = median(syncs) + median(barriers);
        row(
            &format!("one more pod among {present}, PUT to confirmation (p50)"),
            &ms(ours),
            &format!("{} (one fdatasync + its 17 flows, their meter and a barrier)", ms(limit)),
            Some(ours.as_secs_f64() / limit.as_secs_f64()),
        );
        let first = *first.get_or_insert(ours);
        if present > 10 {
            row(
                &format!("the same among {present} against among 10"),
                &ms(ours),
                &ms(first),
                Some(ours.as_secs_f64() / first.as_secs_f64()),
            );
        }
        if let Some(bytes) = pods {
            row(
                "memory per pod, all in (resident, 10,000 pods)",
                &format!("{:.1} KiB", bytes / 1024.0),
                "6 KiB (aim)",
                Some(bytes / 6144.0),
            );
        }
        runtime.block_on(bed.controller.stop());
    }
}

fn thousand_pods(runtime: &tokio::runtime::Runtime) {
    let (mut ours, mut limits, mut flows) = (Vec::new(), Vec::new(), 0);
    for _ in 0..3 {
        let mut bed = Bed::new(runtime);
        bed.plug(0..1000);
        let before = bed.controller.programmers.desired(bed.dpid);
        let body = pods(1000);
        let begin = Instant::now();
        put_pods(&mut bed, &body);
        bed.settle();
        ours.push(begin.elapsed());
        let tables = only_new(&before, bed.controller.programmers.desired(bed.dpid));
        flows = tables.flows.len();
        let bytes = encoded(&tables);
        let other = Switch::start();
        let mut raw = Raw::new(&other);
        let begin = Instant::now();
        raw.push(&bytes);
        limits.push(begin.elapsed());
        runtime.block_on(bed.controller.stop());
    }
    let (ours, limit) = (median(ours), median(limits));
    row(
        &format!("1,000 pods in one PUT, to the last confirmation ({flows} flows)"),
        &ms(ours),
        &format!("{} (the same flows, groups and meters, encoded before, on a raw socket)", ms(limit)),
        Some(ours.as_secs_f64() / limit.as_secs_f64()),
    );
}

fn commits(runtime: &tokio::runtime::Runtime) {
    let folder = tempfile::tempdir_in(".").unwrap();
    let path = folder.path().join("limit");
    let sled = sled::Config::new().path(&path).flush_every_ms(None).open().unwrap();
    let file = std::fs::File::open(path.join("db")).unwrap();
    // One value a group: that is the fastest way to give them to sled. Its flush alone would not outlive a power cut.
    let append = |number: u32, records: usize| {
        sled.insert(number.to_be_bytes(), vec![7; records * 400]).unwrap();
        sled.flush().unwrap();
        file.sync_data().unwrap();
    };
    let begin = Instant::now();
    (0..500).for_each(|number| append(number, 1));
    let alone = 500.0 / begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    (1000..1100).for_each(|group| append(group, 64));
    let grouped = 6400.0 / begin.elapsed().as_secs_f64();
    let started =
        actor::start(builtin(), Box::new(SledJournal::open(folder.path()).unwrap()), Box::new(NullEngine))
            .unwrap();
    let handle = started.handle;
    let commit = |pod: u32, name: &str| {
        let schema = builtin();
        let path = DataPath::parse_rfc8040(schema, &format!("pod:coe/pods={}", uid(pod))).unwrap();
        let text = format!(r#"{{"pod:pods":[{}]}}"#, entry(pod).replace("\"blue\"", &format!("\"{name}\"")));
        let node = json::parse_resource(schema, &path, text.as_bytes(), json::Mode::Strict).unwrap();
        Transaction::new("bench", vec![Edit::put(Store::Config, path, node)])
    };
    let begin = Instant::now();
    for number in 0..500 {
        handle.commit_blocking(commit(number, "a")).unwrap();
    }
    let ours = 500.0 / begin.elapsed().as_secs_f64();
    row(
        "commits a second, one writer",
        &format!("{ours:.0}"),
        &format!("{alone:.0} (sled append + fdatasync)"),
        Some(ours / alone),
    );
    let begin = Instant::now();
    runtime.block_on(async {
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..64_u32 {
            let transactions: Vec<_> =
                (0..100).map(|number| commit(1000 + writer * 100 + number, "a")).collect();
            let handle = handle.clone();
            writers.spawn(async move {
                for transaction in transactions {
                    handle.commit(transaction).await.unwrap();
                }
            });
        }
        while writers.join_next().await.is_some() {}
    });
    let ours = 6400.0 / begin.elapsed().as_secs_f64();
    row(
        "commits a second, 64 writers",
        &format!("{ours:.0}"),
        &format!("{grouped:.0} (sled, 64 records an append)"),
        Some(ours / grouped),
    );
    runtime.block_on(handle.stop());
}

fn encoding() {
    let owner = coeus::pipeline::Owner::<coeus::pipeline::owners::Elan>::new("bench");
    let mac = coeus::net::MacAddr([2, 0, 0, 0, 0, 1]);
    let flow = coeus::pipeline::Flow::table(coeus::pipeline::ELAN_DMAC)
        .priority(20)
        .matching([
            coeus::pipeline::matches::elan_tag(coeus::net::ElanTag(1)),
            coeus::pipeline::matches::eth_dst(mac),
        ])
        .then([
            coeus::pipeline::actions::egress_to(coeus::net::LportTag(3)),
            coeus::pipeline::actions::resubmit(coeus::pipeline::EGRESS_DISPATCHER),
        ])
        .owned_by(&owner);
    let mut bytes = BytesMut::with_capacity(1 << 20);
    let begin = Instant::now();
    let count = 2_000_000;
    for xid in 0..count {
        encode_flow_mod(FlowCommand::Add, flow.raw(), xid, &mut bytes);
        if bytes.len() > 1 << 19 {
            bytes.clear();
        }
    }
    let each = begin.elapsed().as_secs_f64() / f64::from(count);
    row(
        "encoding one flow-mod",
        &format!("{:.0} ns", each * 1e9),
        "9,500 ns (the switch's time for it)",
        Some(each * 1e9 / 9500.0),
    );
}

fn start_up(runtime: &tokio::runtime::Runtime) {
    let mut bed = Bed::new(runtime);
    bed.plug(0..1000);
    put_pods(&mut bed, &pods(1000));
    bed.settle();
    let Bed { controller, switch, dpid, folder, .. } = bed;
    let port = controller.openflow.port();
    runtime.block_on(controller.stop());
    std::thread::sleep(Duration::from_millis(200));
    let mut settings = settings(folder.path());
    settings.openflow = format!("127.0.0.1:{port}");
    let begin = Instant::now();
    let controller = runtime.block_on(app::start(&settings)).unwrap();
    let ready = begin.elapsed();
    row("start with 1,000 pods, to ready", &ms(ready), "", None);
    let mut raw = Raw::new(&switch);
    let begin = Instant::now();
    let mut dump = BytesMut::new();
    Message::MultipartRequest(openflow_rs::MultipartRequest::all_flows()).encode(5, &mut dump);
    raw.push(&dump);
    let limit = begin.elapsed();
    let end = Instant::now() + Duration::from_secs(30);
    while !controller.programmers.status(dpid).connected {
        assert!(Instant::now() < end, "the switch did not come back");
        std::thread::sleep(Duration::from_micros(50));
    }
    let begin = Instant::now();
    while controller.programmers.status(dpid).programmed == 0 {
        assert!(Instant::now() < end, "the switch was not read back");
        std::thread::sleep(Duration::from_micros(50));
    }
    let ours = begin.elapsed();
    let sent = controller.programmers.status(dpid).flow_mods;
    row(
        &format!("the switch reconnects: read back and compared, {sent} flow-mods sent"),
        &ms(ours),
        &format!("{} (a bare dump of the same flows)", ms(limit)),
        Some(ours.as_secs_f64() / limit.as_secs_f64()),
    );
    runtime.block_on(controller.stop());
}

/// Resident memory once what is free has been given back.
fn settled_resident() -> f64 {
    std::thread::sleep(Duration::from_millis(2500));
    resident()
}

/// Resident memory of this process in bytes.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(0.0) * 4096.0
}
