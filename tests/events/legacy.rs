//! OpenDaylight's older way: RPC, stream, websocket.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, SystemTime};

use coeus::northbound::http::tls::{self, Files};
use coeus::northbound::restconf::{Active, App, Relay, serve};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use super::client::{delete_pod, put_pod};
use super::support::{Server, login};

/// For what happens at once.
const PATIENCE: Duration = Duration::from_secs(20);

fn create(server: &Server, root: &str, input: &Value) -> String {
    let path = format!("/{root}/operations/sal-remote:create-data-change-event-subscription");
    let answer = server.send("POST", &path, &json!({"sal-remote:input": input}).to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["sal-remote:output"]["stream-name"].as_str().unwrap().to_owned()
}

fn location(server: &Server, name: &str) -> String {
    let answer = server.send("GET", &format!("/restconf/streams/stream/{name}"), "");
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.header("location").unwrap().replace("ws://test/", &format!("ws://{}/", server.address))
}

fn connect(server: &Server, location: &str) -> WebSocket<TcpStream> {
    let stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut request = location.into_client_request().unwrap();
    let login = login("admin:secret");
    let login = login.trim().strip_prefix("Authorization: ").unwrap();
    request.headers_mut().insert("authorization", login.parse().unwrap());
    client::client(request, stream).unwrap().0
}

fn text(socket: &mut WebSocket<TcpStream>) -> String {
    loop {
        if let Message::Text(text) = socket.read().unwrap() {
            return text.to_string();
        }
    }
}

#[test]
fn changes_come_through_the_websocket_that_the_stream_names() {
    let server = Server::start();
    let input = json!({"path": "/pod:coe", "sal-remote-augment:datastore": "CONFIGURATION",
        "sal-remote-augment:scope": "SUBTREE", "sal-remote-augment:notification-output-type": "JSON"});
    let name = create(&server, "restconf", &input);
    assert_eq!(name, "data-change-event-subscription/pod:coe/datastore=CONFIGURATION/scope=SUBTREE/JSON");
    let location = location(&server, &name);
    // What happens between the two is not lost.
    put_pod(&server, 1, "web");
    let mut socket = connect(&server, &location);
    let event: Value = serde_json::from_str(&text(&mut socket)).unwrap();
    let event = &event["notification"]["data-changed-notification"]["data-change-event"][0];
    assert_eq!(event["operation"], json!("created"));
    assert_eq!(event["path"], json!("/pod:coe/pods[uid='00000000-0000-4000-8000-000000000001']"));
    assert_eq!(event["data"]["pod:pods"][0]["name"], json!("web"));
    assert_eq!(server.readers.count(), 1);
    delete_pod(&server, 1);
    assert!(text(&mut socket).contains("\"deleted\""));
    socket.close(None).unwrap();
    while socket.read().is_ok() {}
    // The place of the reader is given back when the server has seen the end.
    while server.readers.count() > 0 {
        put_pod(&server, 2, &server.datastore.snapshot().revision.0.to_string());
    }
}

struct Pair {
    active: Server,
    /// Where that is reached by TLS.
    address: String,
    follower: Server,
    /// What the follower serves.
    app: App,
}

/// A controller that is reached by TLS, and one that follows it.
fn active_and_follower() -> Pair {
    let mut app = None;
    let active = Server::adjusted(|whole| app = Some(whole.clone()));
    let folder = tempfile::tempdir().unwrap();
    let tls = tls::load(folder.path(), &Files::default(), &["localhost".into()], SystemTime::now()).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let there = address.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            serve(listener, Some(tls.config), app.unwrap(), std::future::pending()).await;
        });
    });
    let mut served = None;
    let follower = Server::adjusted(|app| {
        let relay = Relay::default();
        relay.follow(Some(Active {
            name: "other".into(),
            address,
            fingerprint: tls.fingerprint,
            secret: String::new(),
        }));
        app.relay = Some(relay);
        served = Some(app.clone());
    });
    Pair { active, address: there, follower, app: served.unwrap() }
}

#[test]
fn a_follower_passes_the_websocket_on_to_the_active_controller() {
    let Pair { active, follower, .. } = active_and_follower();
    let input = json!({"path": "/pod:coe", "sal-remote-augment:scope": "SUBTREE"});
    let name = create(&follower, "restconf", &input);
    // As the client has come to the follower, not as that one goes on.
    let location = location(&follower, &name);
    assert!(location.starts_with("ws://"), "{location}");
    let mut socket = connect(&follower, &location);
    for pod in ["web", "db"] {
        put_pod(&active, 1, pod);
        assert!(text(&mut socket).contains(&format!(">{pod}</name>")));
    }
    assert_eq!((active.readers.count(), follower.readers.count()), (1, 0));
    socket.close(None).unwrap();
    while socket.read().is_ok() {}
    while active.readers.count() > 0 {
        put_pod(&active, 2, &active.datastore.snapshot().revision.0.to_string());
    }
    // Who is nobody gets no websocket of the active one either.
    let path = format!("/restconf/streams/websocket/{name}");
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    assert_eq!(follower.raw("GET", &path, upgrade, b"").status, 401);
}

/// Over HTTP/2 nothing is taken over, and the host stands in the target: what is told leads to the same server all the same.
#[test]
fn over_http2_and_tls_the_location_is_that_of_a_websocket_over_tls() {
    let pair = active_and_follower();
    let address = &pair.address;
    let name = "data-change-event-subscription/pod:coe/datastore=CONFIGURATION/scope=BASE";
    let url = format!("https://{address}/restconf/streams/stream/{name}");
    for version in ["--http1.1", "--http2"] {
        let output = std::process::Command::new("curl")
            .args(["-sk", version, "-u", "admin:secret", "-i", &url])
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&output.stdout).to_lowercase();
        assert!(
            output.contains(&format!("location: wss://{address}/restconf/streams/websocket/")),
            "{output}"
        );
    }
}

#[test]
fn a_follower_that_stops_ends_the_streams_that_it_passes_on() {
    let Pair { active, app, follower, .. } = active_and_follower();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let stopped = async move { drop(stopped.await) };
            tokio::time::timeout(PATIENCE, serve(listener, None, app, stopped)).await.is_ok()
        })
    });
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("GET /streams/coeus-JSON HTTP/1.1\r\nHost: test\r\n{}\r\n", login("admin:secret"));
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    while !text.contains("retry: 2000") {
        let mut some = [0; 4096];
        let count = stream.read(&mut some).unwrap();
        assert_ne!(count, 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&some[..count]));
    }
    assert_eq!((active.readers.count(), follower.readers.count()), (1, 0));
    stop.send(()).unwrap();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.ends_with("0\r\n\r\n"), "the body has its end: {text}");
    assert!(server.join().unwrap(), "the server has stopped by itself");
}

#[test]
fn xml_is_what_clients_get_who_do_not_ask() {
    let server = Server::start();
    put_pod(&server, 1, "web");
    let path = "/pod:coe/pod:pods[pod:uid='00000000-0000-4000-8000-000000000001']";
    let input = json!({"path": path, "sal-remote-augment:scope": "ONE"});
    let name = create(&server, "rests", &input);
    let mut socket = connect(&server, &location(&server, &name));
    put_pod(&server, 2, "elsewhere");
    put_pod(&server, 1, "db");
    let text = text(&mut socket);
    assert!(
        text.starts_with(
            "<notification xmlns=\"urn:ietf:params:xml:ns:netconf:notification:1.0\"><eventTime>"
        ),
        "{text}"
    );
    assert!(text.contains("<operation>updated</operation>") && text.contains(">db</name>"), "{text}");
    assert!(!text.contains("elsewhere"));
}

#[test]
fn names_and_requests_that_lead_nowhere_are_refused() {
    let server = Server::start();
    let name = "data-change-event-subscription/pod:coe/datastore=CONFIGURATION/scope=BASE";
    for (method, path, status) in [
        ("GET", "/restconf/streams/stream/nothing".to_owned(), 404),
        ("GET", format!("/restconf/streams/stream/{name}X"), 404),
        ("POST", format!("/restconf/streams/stream/{name}"), 405),
        ("GET", format!("/restconf/streams/websocket/{name}"), 426),
    ] {
        assert_eq!(server.send(method, &path, "").status, status, "{path}");
    }
    let path = "/rests/operations/sal-remote:create-data-change-event-subscription";
    for input in [json!({}), json!({"path": "pod:coe"}), json!({"path": "/pod:coe/pods/name"})] {
        let answer = server.send("POST", path, &json!({"sal-remote:input": input}).to_string());
        assert_eq!(answer.status, 400, "{}", answer.body);
    }
}
