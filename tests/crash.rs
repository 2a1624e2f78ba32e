//! The program is killed while clients write: what was acknowledged is there, and nothing is there by half.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/program.rs"]
mod program;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use program::Program;

const WRITERS: u64 = 50;
const ROUNDS: u64 = 100;

/// The program on a folder, and where it speaks plain HTTP.
fn start(folder: &std::path::Path) -> (Program, String) {
    let program = Program::start(folder, &["--restconf-plain", "127.0.0.1:0"]);
    let address = program.address(" and http://").to_owned();
    (program, address)
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
        let (mut program, address) = start(folder.path());
        for writer in 0..WRITERS {
            let (low, high) = (
                acknowledged[writer as usize].load(Ordering::SeqCst),
                attempted[writer as usize].load(Ordering::SeqCst),
            );
            if low == 0 {
                continue;
            }
            let (status, text) = send(&address, "GET", &path(writer), "").unwrap();
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
                let (stop, address) = (stop.clone(), address.clone());
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
        program.child.kill().unwrap(); // SIGKILL
        program.child.wait().unwrap();
        stop.store(true, Ordering::SeqCst);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        total = acknowledged.iter().map(|count| count.load(Ordering::SeqCst)).sum();
    }
    assert!(total > ROUNDS, "only {total} writes were acknowledged: the test proves nothing");
}
