//! The program is killed while clients write: what was acknowledged is there, and nothing is there by half.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;

const WRITERS: u64 = 50;
const ROUNDS: u64 = 100;

struct Running {
    child: Child,
    address: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(folder: &std::path::Path) -> Running {
    let any = "127.0.0.1:0";
    let mut child = Command::new(env!("CARGO_BIN_EXE_coeus"))
        .args(["serve", "--restconf", any, "--restconf-plain", any, "--openflow", any, "--ovsdb", any])
        .args(["--log", "error", "--data-dir"])
        .arg(folder)
        .env("COEUS_ADMIN_PASSWORD", "secret")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address =
        line.split_once(" and http://").and_then(|(_, rest)| rest.split(',').next()).map(str::to_owned);
    Running { child, address: address.unwrap_or_else(|| panic!("not ready: {line:?}")) }
}

/// Status and body, or nothing when the server is gone.
fn send(address: &str, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    let login = base64::engine::general_purpose::STANDARD.encode("admin:secret");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: t\r\nConnection: close\r\nAuthorization: Basic {login}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

fn path(writer: u64) -> String {
    format!("/restconf/config/pod:coe/pods/00000000-0000-4000-8000-{writer:012}")
}

/// The number stands in two places, so that half a transaction would show.
fn body(writer: u64, number: u64) -> String {
    let uid = format!("00000000-0000-4000-8000-{writer:012}");
    format!(
        r#"{{"pod:pods":[{{"uid":"{uid}","name":"{number}","interface":[{{"uid":"{uid}","segmentation-id":{number}}}]}}]}}"#
    )
}

#[test]
fn acknowledged_writes_survive_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let acknowledged: Arc<Vec<AtomicU64>> = Arc::new((0..WRITERS).map(|_| AtomicU64::new(0)).collect());
    let attempted: Arc<Vec<AtomicU64>> = Arc::new((0..WRITERS).map(|_| AtomicU64::new(0)).collect());
    let mut total = 0;
    for round in 0..ROUNDS {
        let mut running = start(folder.path());
        for writer in 0..WRITERS {
            let (low, high) = (
                acknowledged[writer as usize].load(Ordering::SeqCst),
                attempted[writer as usize].load(Ordering::SeqCst),
            );
            if low == 0 {
                continue;
            }
            let (status, text) = send(&running.address, "GET", &path(writer), "").unwrap();
            assert_eq!(status, 200, "round {round}: pod {writer} was acknowledged and is gone");
            let pod: serde_json::Value = serde_json::from_str(&text).unwrap();
            let name: u64 = pod["pod:pods"][0]["name"].as_str().unwrap().parse().unwrap();
            let inner = pod["pod:pods"][0]["interface"][0]["segmentation-id"].as_u64().unwrap();
            assert_eq!(name, inner, "round {round}: half a transaction");
            assert!(
                (low..=high).contains(&name),
                "round {round}: acknowledged {low}, attempted {high}, found {name}"
            );
        }
        let stop = Arc::new(AtomicBool::new(false));
        let threads: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (stop, address) = (stop.clone(), running.address.clone());
                let (acknowledged, attempted) = (acknowledged.clone(), attempted.clone());
                std::thread::spawn(move || {
                    while !stop.load(Ordering::SeqCst) {
                        let number = attempted[writer as usize].fetch_add(1, Ordering::SeqCst) + 1;
                        match send(&address, "PUT", &path(writer), &body(writer, number)) {
                            Some((200 | 201, _)) => {
                                acknowledged[writer as usize].store(number, Ordering::SeqCst)
                            }
                            Some((status, text)) => panic!("{status} {text}"),
                            None => return,
                        }
                    }
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(20 + round * 37 % 150));
        running.child.kill().unwrap(); // SIGKILL
        running.child.wait().unwrap();
        stop.store(true, Ordering::SeqCst);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        total = acknowledged.iter().map(|count| count.load(Ordering::SeqCst)).sum();
    }
    assert!(total > ROUNDS, "only {total} writes were acknowledged: the test proves nothing");
}
