//! A RESTCONF server in this process, and a client that sends exactly what it is told.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use coeus::accounts::Accounts;
use coeus::datastore::journal::MemoryJournal;
use coeus::datastore::{CandidateLimits, Edit, Handle, NullEngine, Store, Transaction, actor, to_json};
use coeus::northbound::events;
use coeus::northbound::restconf::{App, Call, Operations, Switches, announce, serve};
use coeus::schema::{DataPath, Fields, Node, Schema, SchemaId, Value, builtin, json, load_with};

pub struct Server {
    pub address: SocketAddr,
    pub datastore: Handle,
    pub readers: events::Registry,
    _runtime: tokio::runtime::Runtime,
}

pub struct Answer {
    pub status: u16,
    pub headers: String,
    pub body: String,
    /// Chunks that the body came in; 0 when it was cut off.
    pub chunks: usize,
}

impl Answer {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let find =
            |line: &'_ str| line.split_once(": ").is_some_and(|(found, _)| found.eq_ignore_ascii_case(name));
        self.headers
            .lines()
            .find(|line| find(line))
            .and_then(|line| line.split_once(": "))
            .map(|(_, value)| value)
    }

    /// error-tag of the first error, on either root.
    pub fn tag(&self) -> Option<String> {
        let body: serde_json::Value = serde_json::from_str(&self.body).ok()?;
        let errors = body.get("ietf-restconf:errors").or(body.get("errors"))?;
        Some(errors["error"][0]["error-tag"].as_str()?.to_owned())
    }
}

impl Server {
    pub fn start() -> Server {
        Server::of(builtin())
    }

    /// A server of the built-in models and the module `lab`, which has one of everything.
    pub fn lab() -> Server {
        static LAB: OnceLock<&'static Schema> = OnceLock::new();
        let text = include_str!("../../src/schema/testing/lab.yang");
        Server::of(LAB.get_or_init(|| load_with(&[("lab", text)]).unwrap()))
    }

    /// A server of the built-in models whose readers of events may cost so much.
    pub fn with_limits(limits: events::Limits) -> Server {
        Server::with_engine(builtin(), Box::new(NullEngine), operations(builtin()), limits)
    }

    /// A server with the renderers behind it.
    pub fn network() -> Server {
        Server::network_with(Box::new(|_, _| {}))
    }

    /// The same; `sink` hears what changes on the switches.
    pub fn network_with(sink: coeus::renderers::Sink) -> Server {
        Server::rendering(sink, CandidateLimits::default(), |_| {})
    }

    /// The same; writes may wait for these switches.
    pub fn programmed(sink: coeus::renderers::Sink, switches: Arc<dyn Switches>) -> Server {
        Server::rendering(sink, CandidateLimits::default(), |app| app.switches = Some(switches))
    }

    /// A server of the built-in models that differs in this.
    pub fn adjusted(adjust: impl FnOnce(&mut App)) -> Server {
        let (schema, limits) = (builtin(), events::Limits::default());
        let engine = Box::new(NullEngine);
        Server::with_bounds(schema, engine, operations(schema), limits, CandidateLimits::default(), adjust)
    }

    /// The same with other bounds on candidates.
    pub fn with_candidates(candidates: CandidateLimits) -> Server {
        Server::rendering(Box::new(|_, _| {}), candidates, |_| {})
    }

    fn rendering(
        sink: coeus::renderers::Sink,
        candidates: CandidateLimits,
        adjust: impl FnOnce(&mut App),
    ) -> Server {
        let engine = coeus::renderers::Engine::new(builtin(), sink);
        let mut operations = Operations::default();
        coeus::northbound::rpcs::register(builtin(), &mut operations);
        let limits = events::Limits::default();
        Server::with_bounds(builtin(), Box::new(engine), operations, limits, candidates, adjust)
    }

    fn of(schema: &'static Schema) -> Server {
        Server::with_engine(schema, Box::new(NullEngine), operations(schema), events::Limits::default())
    }

    fn with_engine(
        schema: &'static Schema,
        engine: Box<dyn coeus::datastore::Engine>,
        operations: Operations,
        limits: events::Limits,
    ) -> Server {
        Server::with_bounds(schema, engine, operations, limits, CandidateLimits::default(), |_| {})
    }

    fn with_bounds(
        schema: &'static Schema,
        engine: Box<dyn coeus::datastore::Engine>,
        mut operations: Operations,
        limits: events::Limits,
        candidates: CandidateLimits,
        adjust: impl FnOnce(&mut App),
    ) -> Server {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let started = actor::start(schema, Box::new(MemoryJournal::default()), engine).unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.block_on(announce(&started.handle)).unwrap();
        runtime.spawn(coeus::revisions::actor::run(started.handle.clone()));
        let datastore = started.handle.clone().with_candidates(candidates);
        let mut app = App::new(datastore, Accounts::admin("secret").unwrap());
        app.limits.body = 1 << 20;
        let readers = events::install(&mut app, &mut operations, limits);
        runtime.block_on(events::announce(&started.handle)).unwrap();
        app.operations = operations.into();
        adjust(&mut app);
        runtime.spawn(serve(listener, None, app, std::future::pending()));
        Server { address, datastore: started.handle, readers, _runtime: runtime }
    }

    /// What OVSDB sessions know: these nodes of the topology, and no others.
    pub fn observe(&self, nodes: &serde_json::Value) {
        observe(&self.datastore, nodes);
    }

    /// The names of the entries of `lab`'s list that the user orders, in their order.
    pub fn order(&self) -> Vec<String> {
        let body = self.send("GET", "/rests/data/lab:lab/step", "").json();
        let name = |entry: &serde_json::Value| entry["name"].as_str().unwrap().to_owned();
        body["lab:step"].as_array().unwrap().iter().map(name).collect()
    }

    /// Sends a request with login and JSON content type.
    pub fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        self.raw(method, path, &format!("{}{kind}", login("admin:secret")), body.as_bytes())
    }

    /// As [`Server::send`], with more header lines (each ended by CRLF).
    pub fn with(&self, headers: &str, method: &str, path: &str, body: &str) -> Answer {
        let kind = if body.is_empty() || headers.to_ascii_lowercase().contains("content-type") {
            ""
        } else {
            "Content-Type: application/yang-data+json\r\n"
        };
        self.raw(method, path, &format!("{}{kind}{headers}", login("admin:secret")), body.as_bytes())
    }

    pub fn raw(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let answer = self.exchange(method, path, headers, body);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        let (body, chunks) = if chunked { unchunked(body.as_bytes()) } else { (body.as_bytes().to_vec(), 1) };
        let body = String::from_utf8_lossy(&body).into_owned();
        Answer { status, headers: head.to_owned(), body, chunks }
    }

    /// Headers (in lower case) and body of an answer that is no text.
    pub fn bytes(&self, headers: &str, method: &str, path: &str) -> (String, Vec<u8>) {
        let answer = self.exchange(method, path, &format!("{}{headers}", login("admin:secret")), b"");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
        let body = &answer[end + 4..];
        let body =
            if head.contains("transfer-encoding: chunked") { unchunked(body).0 } else { body.to_vec() };
        (head, body)
    }

    fn exchange(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses early may close while the body is still on its way.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    /// Everything the store holds, with its revision.
    pub fn state(&self) -> (u64, Vec<u8>, Vec<u8>) {
        let snapshot = self.datastore.snapshot();
        (snapshot.revision.0, to_json(&snapshot, Store::Config), to_json(&snapshot, Store::Operational))
    }
}

pub fn login(credentials: &str) -> String {
    format!("Authorization: Basic {}\r\n", base64::engine::general_purpose::STANDARD.encode(credentials))
}

/// The body of a chunked answer (RFC 9112 section 7.1), and the number of its chunks; 0 if it was cut off.
fn unchunked(mut rest: &[u8]) -> (Vec<u8>, usize) {
    let (mut body, mut chunks) = (Vec::new(), 0);
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size =
            std::str::from_utf8(&rest[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let Some(chunk) = size.and_then(|size| rest.get(end + 2..end + 2 + size)) else { break };
        if chunk.is_empty() {
            return (body, chunks);
        }
        body.extend_from_slice(chunk);
        chunks += 1;
        rest = rest.get(end + 2 + chunk.len() + 2..).unwrap_or_default();
    }
    (body, 0)
}

/// The operations of the module `lab`.
fn operations(schema: &'static Schema) -> Operations {
    let mut operations = Operations::default();
    let (Some(echo), Some(ping)) = (schema.rpc("lab", "echo"), schema.rpc("lab", "ping")) else {
        return operations;
    };
    let child = |part: Option<SchemaId>, name: &str| schema.child_named(part, name, false).unwrap();
    let (from, to) = (child(schema.input(echo), "text"), child(schema.output(echo), "text"));
    let times = child(schema.input(echo), "times");
    operations.on(echo, move |call: Call| async move {
        let text = call.input.text(from).unwrap_or_default();
        let times = call.input.leaf(times).and_then(Value::as_uint).unwrap_or(1) as usize;
        Ok(Fields::of(vec![(to, Node::Leaf(Value::text(text.repeat(times))))]))
    });
    operations.on(ping, |_| async { Ok(Fields::default()) });
    let item = schema.resolve("/lab:lab/item");
    let reset = schema.actions_of(item).next().unwrap();
    let value = schema.resolve("/lab:lab/item/value");
    let (to, was) = (child(schema.input(reset), "to"), child(schema.output(reset), "was"));
    operations.on(reset, move |call: Call| async move {
        let at = call.path.parent().unwrap().child(value);
        let before = call.datastore.snapshot().read(Store::Config, &at);
        let node = Node::Leaf(call.input.leaf(to).unwrap().clone());
        call.datastore.commit(Transaction::new(&call.user, vec![Edit::put(Store::Config, at, node)])).await?;
        Ok(Fields::of(before.into_iter().map(|node| (was, node)).collect()))
    });
    operations
}

/// The same of any datastore.
pub fn observe(datastore: &Handle, nodes: &serde_json::Value) {
    let body = serde_json::json!({"network-topology:topology": [{"topology-id": "ovsdb:1", "node": nodes}]});
    let path =
        DataPath::parse_rfc8040(builtin(), "network-topology:network-topology/topology=ovsdb%3A1").unwrap();
    let text = body.to_string();
    let node = json::parse_resource(builtin(), &path, text.as_bytes(), json::Mode::Lenient).unwrap();
    let edit = Edit::put(Store::Operational, path, node);
    datastore.commit_blocking(Transaction::new("ovsdb", vec![edit])).unwrap();
}

/// The bridge of a first switch, with these ports.
pub fn bridge(ports: &serde_json::Value) -> serde_json::Value {
    serde_json::json!([{"node-id": "ovsdb://uuid/a/bridge/br-int", "ovsdb:bridge-name": "br-int",
        "ovsdb:datapath-id": "00:00:00:00:00:00:00:01", "termination-point": ports}])
}

/// A port for `iface`, with a MAC address that ends in its number.
pub fn port(iface: &str, number: u8) -> serde_json::Value {
    serde_json::json!({"tp-id": format!("veth{number}"), "ovsdb:ofport": number, "ovsdb:interface-external-ids": [
        {"external-id-key": "iface-id", "external-id-value": iface},
        {"external-id-key": "attached-mac", "external-id-value": format!("0a:00:00:00:01:{number}")}]})
}
