//! A client that reads server-sent events one by one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use coeus::datastore::{Edit, Store, Transaction};
use coeus::schema::{DataPath, builtin, json};
use serde_json::{Value, json};

use super::support::{Server, login};

pub struct Events {
    pub status: u16,
    pub head: String,
    stream: BufReader<TcpStream>,
    /// What came of the body and is in no event yet.
    text: String,
    pub ended: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub id: String,
    pub data: String,
}

impl Event {
    /// What stands in the envelope.
    pub fn told(&self) -> Value {
        let value: Value = serde_json::from_str(&self.data).unwrap_or_else(|e| panic!("{e}: {}", self.data));
        let told = value["ietf-restconf:notification"].clone();
        assert!(told["eventTime"].as_str().unwrap().ends_with('Z'), "{told}");
        told
    }

    pub fn update(&self) -> Value {
        self.told()["ietf-yang-push:push-update"].clone()
    }

    pub fn change(&self) -> Value {
        self.told()["ietf-yang-push:push-change-update"].clone()
    }

    pub fn edits(&self) -> Vec<Value> {
        let edits = self.change()["datastore-changes"]["yang-patch"]["edit"].clone();
        edits.as_array().unwrap_or_else(|| panic!("no change: {}", self.data)).clone()
    }

    pub fn revision(&self) -> u64 {
        self.id.parse().unwrap()
    }

    pub fn terminated(&self) -> Value {
        self.told()["ietf-subscribed-notifications:subscription-terminated"].clone()
    }
}

impl Events {
    pub fn open(server: &Server, path: &str, headers: &str) -> Events {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let login = login("admin:secret");
        let accept = if headers.contains("Accept:") { "" } else { "Accept: text/event-stream\r\n" };
        let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\n{login}{accept}{headers}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(stream.read_line(&mut head).unwrap() > 0, "the head ended: {head}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let ended = status != 200;
        Events { status, head, stream, text: String::new(), ended }
    }

    fn more(&mut self) -> bool {
        let mut size = String::new();
        if self.stream.read_line(&mut size).unwrap_or(0) == 0 {
            self.ended = true;
            return false;
        }
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        self.stream.read_exact(&mut chunk).unwrap();
        self.text.push_str(std::str::from_utf8(&chunk[..size]).unwrap());
        self.ended = size == 0;
        !self.ended
    }

    /// The next event; comments and hints are passed over. `None`: the stream has ended.
    pub fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(at) = self.text.find("\n\n") {
                let block: String = self.text.drain(..at + 2).collect();
                let lines: Vec<&str> = block.lines().collect();
                let field = |name: &str| -> Vec<String> {
                    lines.iter().filter_map(|line| line.strip_prefix(name)).map(str::to_owned).collect()
                };
                let data = field("data: ");
                if !data.is_empty() && field("event: ").is_empty() {
                    return Some(Event { id: field("id: ").concat(), data: data.join("\n") });
                }
            }
            if self.ended || !self.more() {
                return None;
            }
        }
    }

    pub fn one(&mut self) -> Event {
        self.next().expect("one more event")
    }
}

pub fn pod_path(number: u32) -> String {
    format!("pod:coe/pods=00000000-0000-4000-8000-{number:012}")
}

pub fn pod(number: u32, name: &str) -> Value {
    json!({"pod:pods": [{"uid": format!("00000000-0000-4000-8000-{number:012}"), "name": name}]})
}

/// Puts a pod and gives the revision of that.
pub fn put_pod(server: &Server, number: u32, name: &str) -> u64 {
    let path = format!("/rests/data/{}", pod_path(number));
    let answer = server.send("PUT", &path, &pod(number, name).to_string());
    assert!(matches!(answer.status, 201 | 204), "{} {}", answer.status, answer.body);
    let tag = answer.header("etag").unwrap().trim_matches('"').to_owned();
    u64::from_str_radix(tag.split('.').next().unwrap(), 16).unwrap()
}

pub fn delete_pod(server: &Server, number: u32) -> u64 {
    let answer = server.send("DELETE", &format!("/rests/data/{}", pod_path(number)), "");
    assert_eq!(answer.status, 204, "{}", answer.body);
    server.datastore.snapshot().revision.0
}

/// Reports something operational, as a programmer does.
pub fn report(server: &Server, path: &str, value: &Value) -> u64 {
    let schema = builtin();
    let path = DataPath::parse_rfc8040(schema, path).unwrap();
    let text = value.to_string();
    let node = json::parse_resource(schema, &path, text.as_bytes(), json::Mode::Strict).unwrap();
    let edit = Edit::put(Store::Operational, path, node);
    server.datastore.commit_blocking(Transaction::passing("test", vec![edit])).unwrap().revision.0
}
