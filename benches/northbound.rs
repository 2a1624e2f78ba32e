//! What a client of RESTCONF gets: each figure beside its limit, both taken in this run, with the same client.
//! `cargo bench --bench northbound`, or with the names of questions behind it: `-- put get`.
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::{Method, StatusCode, Uri};
use axum::routing::any;
use base64::Engine as _;
use coeus::app::{self, Controller, ServeOptions, Settings};
use coeus::schema::{DataPath, builtin, heap_size, json};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// In which servers that are compared have their turns.
const ROUNDS: u32 = 5;

fn main() {
    // As in the program.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let runtime = Runtime::new().unwrap();
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let questions: [(&str, &dyn Fn()); 3] =
        [("put", &|| put(&runtime)), ("get", &|| get(&runtime)), ("many", &|| many(&runtime))];
    println!("| what | Coeus | limit | ratio |\n|---|---|---|---|");
    for (name, ask) in questions {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            ask();
        }
    }
}

fn row(what: &str, ours: &str, limit: &str, ratio: Option<f64>) {
    let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
    println!("| {what} | {ours} | {limit} | {ratio} |");
}

// -- servers

fn controller(runtime: &Runtime, folder: &Path) -> (Controller, SocketAddr) {
    let any = || Some("127.0.0.1:0".to_owned());
    let options = ServeOptions {
        data_dir: Some(folder.to_owned()),
        restconf: any(),
        restconf_plain: any(),
        openflow: any(),
        ovsdb: any(),
        log: Some("error".into()),
        ..ServeOptions::default()
    };
    let settings = Settings::from(options, Some("secret".into())).unwrap();
    // The one before may still be closing its store.
    let end = Instant::now() + Duration::from_secs(20);
    let controller = loop {
        match runtime.block_on(app::start(&settings)) {
            Ok(controller) => break controller,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let address = controller.restconf_plain.unwrap();
    (controller, address)
}

/// HTTP and nothing behind it: takes every body, and answers every GET with one of this length.
fn floor(runtime: &Runtime, answer: Vec<u8>) -> SocketAddr {
    let answer = Bytes::from(answer);
    let handler = move |method: Method, body: Bytes| {
        let answer = answer.clone();
        async move {
            if method == Method::GET {
                return (StatusCode::OK, answer);
            }
            assert!(!body.is_empty());
            (StatusCode::CREATED, Bytes::new())
        }
    };
    serve(runtime, Router::new().route("/{*path}", any(handler)))
}

/// HTTP, every body read as JSON and kept in memory by its path.
fn keeper(runtime: &Runtime) -> SocketAddr {
    let kept: Arc<Mutex<HashMap<String, Value>>> = Arc::default();
    let handler = move |uri: Uri, body: Bytes| {
        let kept = kept.clone();
        async move {
            let body = serde_json::from_slice(&body).unwrap();
            kept.lock().unwrap().insert(uri.path().to_owned(), body);
            StatusCode::CREATED
        }
    };
    serve(runtime, Router::new().route("/{*path}", any(handler)))
}

fn serve(runtime: &Runtime, router: Router) -> SocketAddr {
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        address
    })
}

/// An etcd of our own, if there is one on this machine: its JSON gateway speaks HTTP too.
struct Etcd {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn etcd() -> Option<Etcd> {
    let folder = tempfile::tempdir_in(".").unwrap();
    let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (client, peer) = (free(), free());
    let child = Command::new("etcd")
        .args(["--data-dir", folder.path().to_str()?, "--log-level", "error"])
        .args(["--listen-client-urls", &format!("http://{client}")])
        .args(["--advertise-client-urls", &format!("http://{client}")])
        .args(["--listen-peer-urls", &format!("http://{peer}")])
        .args(["--initial-advertise-peer-urls", &format!("http://{peer}")])
        .args(["--initial-cluster", &format!("default=http://{peer}")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let etcd = Etcd { child, address: client, _folder: folder };
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if std::net::TcpStream::connect(client).is_ok() {
            std::thread::sleep(Duration::from_secs(2));
            return Some(etcd);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}

// -- the client

fn uid(pod: u32) -> String {
    format!("00000000-0000-4000-8000-{pod:012x}")
}

fn entry(pod: u32) -> String {
    let uid = uid(pod);
    format!(
        r#"{{"uid":"{uid}","name":"p{pod}","network-NS":"blue","host-ip-address":"192.0.2.1","interface":[{{"uid":"{uid}","ip-address":"10.{}.{}.{}","network-type":"VXLAN"}}]}}"#,
        pod / 62_500,
        pod / 250 % 250,
        pod % 250 + 2
    )
}

fn request(method: &str, path: &str, body: &str) -> Vec<u8> {
    let login = base64::engine::general_purpose::STANDARD.encode("admin:secret");
    format!(
        "{method} {path} HTTP/1.1\r\nHost: b\r\nAuthorization: Basic {login}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn put_pod(pod: u32) -> Vec<u8> {
    request(
        "PUT",
        &format!("/rests/data/pod:coe/pods={}", uid(pod)),
        &format!(r#"{{"pod:pods":[{}]}}"#, entry(pod)),
    )
}

fn put_key(pod: u32) -> Vec<u8> {
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let body = format!(r#"{{"key":"{}","value":"{}"}}"#, encode(&uid(pod)), encode(&entry(pod)));
    // Without a login: etcd takes a wrong one for an error even where it wants none.
    let text = String::from_utf8(request("POST", "/v3/kv/put", &body)).unwrap();
    let (before, rest) = text.split_once("Authorization").unwrap();
    let (_, after) = rest.split_once("\r\n").unwrap();
    format!("{before}{after}").into_bytes()
}

/// One request on a connection that stays open; returns the length of the answer's body.
async fn ask(stream: &mut TcpStream, request: &[u8]) -> usize {
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::with_capacity(64 << 10);
    let head = loop {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0, "the server closed the connection");
        if let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8_lossy(&answer[..head]).to_ascii_lowercase();
    assert!(text.starts_with("http/1.1 2"), "{text}");
    if text.contains("transfer-encoding: chunked") {
        while !answer.ends_with(b"\r\n0\r\n\r\n") {
            assert!(stream.read_buf(&mut answer).await.unwrap() > 0);
        }
        return answer.len() - head;
    }
    let length = text.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    while answer.len() < head + length {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0);
    }
    length
}

/// Time for requests shared out over so many connections.
fn load(runtime: &Runtime, address: SocketAddr, connections: usize, requests: Vec<Vec<u8>>) -> Duration {
    let shares: Vec<Vec<Vec<u8>>> =
        requests.chunks(requests.len().div_ceil(connections)).map(<[_]>::to_vec).collect();
    runtime.block_on(async {
        let mut streams = Vec::new();
        for _ in &shares {
            let stream = TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            streams.push(stream);
        }
        let begin = Instant::now();
        let mut clients = tokio::task::JoinSet::new();
        for (share, mut stream) in shares.into_iter().zip(streams) {
            clients.spawn(async move {
                for request in share {
                    ask(&mut stream, &request).await;
                }
            });
        }
        while let Some(done) = clients.join_next().await {
            done.unwrap();
        }
        begin.elapsed()
    })
}

/// A 400-byte append and its fdatasync.
fn append(file: &mut std::fs::File) -> Duration {
    let begin = Instant::now();
    file.write_all(&[7; 400]).unwrap();
    file.sync_data().unwrap();
    begin.elapsed()
}

fn median<T: Copy + PartialOrd>(mut of: Vec<T>) -> T {
    of.sort_by(|one, other| one.partial_cmp(other).unwrap());
    of[of.len() / 2]
}

/// Requests a second that each of these servers answers, over 64 connections: the medians of rounds in which they have their turns, since a
/// machine is not the same in one second and in the next. `requests`: those of a server, by its place among them, in a round.
fn rates(
    runtime: &Runtime,
    servers: &[SocketAddr],
    requests: impl Fn(usize, u32) -> Vec<Vec<u8>>,
) -> Vec<f64> {
    let mut rates = vec![Vec::new(); servers.len()];
    for round in 0..ROUNDS {
        for (place, address) in servers.iter().enumerate() {
            let requests = requests(place, round);
            let count = requests.len() as f64;
            rates[place].push(count / load(runtime, *address, 64, requests).as_secs_f64());
        }
    }
    rates.into_iter().map(median).collect()
}

// -- questions

fn put(runtime: &Runtime) {
    let folder = tempfile::tempdir_in(".").unwrap();
    let (controller, address) = controller(runtime, folder.path());
    let bare = floor(runtime, Vec::new());
    one_by_one(runtime, folder.path(), address, bare);
    let etcd = etcd();
    let mut servers = vec![address, bare, keeper(runtime)];
    servers.extend(etcd.as_ref().map(|etcd| etcd.address));
    let rates = rates(runtime, &servers, |place, round| {
        let first = 1000 + 3200 * round;
        (first..first + 3200).map(if place == 3 { put_key } else { put_pod }).collect()
    });
    let what = [
        "bare axum, nothing stored",
        "bare axum, the body read as JSON and kept in memory",
        "etcd, one member, its JSON gateway",
    ];
    let ours = rates[0];
    for (limit, what) in rates[1..].iter().zip(what) {
        row(
            "durable PUTs a second, 64 connections",
            &format!("{ours:.0}"),
            &format!("{limit:.0} ({what})"),
            Some(ours / limit),
        );
    }
    if etcd.is_none() {
        eprintln!("etcd is not installed; no comparison with it");
    }
    runtime.block_on(controller.stop());
}

/// One PUT after the other; in turn with each a PUT that is not stored, and an append.
fn one_by_one(runtime: &Runtime, folder: &Path, address: SocketAddr, bare: SocketAddr) {
    let mut file = std::fs::File::create(folder.join("limit")).unwrap();
    let mut times: [Vec<f64>; 3] = Default::default();
    runtime.block_on(async {
        let mut streams = Vec::new();
        for address in [address, bare] {
            let stream = TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            streams.push(stream);
        }
        for pod in 0..550 {
            let request = put_pod(pod);
            for (stream, times) in streams.iter_mut().zip(&mut times) {
                let begin = Instant::now();
                ask(stream, &request).await;
                times.push(begin.elapsed().as_secs_f64());
            }
            times[2].push(append(&mut file).as_secs_f64());
        }
    });
    // The first ones are slower.
    let [ours, http, disk] = times.map(|times| median(times[50..].to_vec()));
    row(
        "one durable PUT after the other",
        &format!("{:.3} ms", ours * 1e3),
        &format!(
            "{:.3} ms (the same without a store, {:.3}, and one fdatasync)",
            (http + disk) * 1e3,
            http * 1e3
        ),
        Some(ours / (http + disk)),
    );
}

fn fill(runtime: &Runtime, address: SocketAddr, pods: u32) {
    let mut body = String::from(r#"{"pod:coe":{"pods":["#);
    for pod in 0..pods {
        let _ = write!(body, "{}{}", if pod == 0 { "" } else { "," }, entry(pod));
    }
    body.push_str("]}}");
    load(runtime, address, 1, vec![request("PUT", "/rests/data/pod:coe", &body)]);
}

fn get(runtime: &Runtime) {
    let folder = tempfile::tempdir_in(".").unwrap();
    let (controller, address) = controller(runtime, folder.path());
    fill(runtime, address, 10_000);
    let one = request("GET", &format!("/rests/data/pod:coe/pods={}?content=config", uid(77)), "");
    let length = |request: &[u8]| {
        runtime.block_on(async { ask(&mut TcpStream::connect(address).await.unwrap(), request).await })
    };
    let bare = floor(runtime, vec![b'x'; length(&one)]);
    let rates = rates(runtime, &[address, bare], |_, _| vec![one.clone(); 32_000]);
    row(
        "GETs of one pod a second, 64 connections",
        &format!("{:.0}", rates[0]),
        &format!("{:.0} (bare axum, the same bytes)", rates[1]),
        Some(rates[0] / rates[1]),
    );
    let all = request("GET", "/rests/data/pod:coe?content=config", "");
    let size = length(&all) as f64;
    let ours = load(runtime, address, 1, vec![all; 20]).as_secs_f64() / 20.0;
    let at = DataPath::root().child(builtin().resolve("/pod:coe"));
    let node = controller.datastore.snapshot().read(coeus::datastore::Store::Config, &at).unwrap();
    let mut text = Vec::new();
    json::write_resource(builtin(), &at, &node, &mut text);
    let value: Value = serde_json::from_slice(&text).unwrap();
    let begin = Instant::now();
    for _ in 0..20 {
        assert!(!serde_json::to_vec(&value).unwrap().is_empty());
    }
    let limit = begin.elapsed().as_secs_f64() / 20.0;
    row(
        "GET of 10,000 pods",
        &format!("{:.0} MB/s", size / ours / 1e6),
        &format!("{:.0} MB/s (serde_json writes the same value to memory)", text.len() as f64 / limit / 1e6),
        Some(size / ours / (text.len() as f64 / limit)),
    );
    let bytes = heap_size(&node) as f64 / 10_000.0;
    row(
        "memory of a stored pod, in the datastore's tree",
        &format!("{:.2} KiB", bytes / 1024.0),
        "2 KiB (aim)",
        Some(bytes / 2048.0),
    );
    runtime.block_on(controller.stop());
}

fn many(runtime: &Runtime) {
    let mut rates = Vec::new();
    for present in [1_000, 100_000] {
        let folder = tempfile::tempdir_in(".").unwrap();
        let (running, address) = controller(runtime, folder.path());
        fill(runtime, address, present);
        let pods: Vec<_> = (present..present + 3200).map(put_pod).collect();
        rates.push(3200.0 / load(runtime, address, 64, pods).as_secs_f64());
        runtime.block_on(running.stop());
        if present == 100_000 {
            // By then the store of before is closed.
            std::thread::sleep(Duration::from_secs(3));
            let begin = Instant::now();
            let (running, _) = controller(runtime, folder.path());
            row(
                "start with 100,000 pods, to ready",
                &format!("{:.2} s", begin.elapsed().as_secs_f64()),
                "",
                None,
            );
            runtime.block_on(running.stop());
        }
    }
    row(
        "durable PUTs a second among 100,000 pods against among 1,000",
        &format!("{:.0}", rates[1]),
        &format!("{:.0}", rates[0]),
        Some(rates[1] / rates[0]),
    );
}
