//! What clients may ask of us: each bound with its own error.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use coeus::app::ServeOptions;

use super::client::{Answer, Lab, basic, exchange, plain, request};

const POD: &str = "/rests/data/pod:coe/pods=00000000-0000-4000-8000-000000000001";

fn limited(limits: &[&str]) -> ServeOptions {
    let limits = limits.iter().map(|limit| (*limit).to_owned()).collect();
    ServeOptions { limits, ..ServeOptions::default() }
}

fn pod(name: &str) -> String {
    format!(r#"{{"pod:pods":[{{"uid":"00000000-0000-4000-8000-000000000001","name":"{name}"}}]}}"#)
}

#[test]
fn sizes() {
    let lab = Lab::with(|_| limited(&["body=400", "uri=200", "header=1000", "depth=6"]));
    let send = |method: &str, path: &str, headers: &str, body: &str| {
        let answer = lab.raw(&format!("{}{headers}", basic("admin:secret")), method, path, body);
        (answer.status, answer.body)
    };
    assert_eq!(send("PUT", POD, "", &pod("a")).0, 201);
    let fits = |answer: (u16, String), status: u16, words: &str| {
        assert_eq!(answer.0, status, "{}", answer.1);
        assert!(answer.1.contains(words) && answer.1.contains("too-big"), "{}", answer.1);
    };
    fits(send("PUT", POD, "", &pod(&"x".repeat(400))), 413, "longer than 400 bytes");
    fits(send("GET", &format!("{POD}?fields={}", "x".repeat(200)), "", ""), 414, "longer than 200 bytes");
    fits(send("GET", POD, &format!("X-Long: {}\r\n", "x".repeat(1000)), ""), 431, "longer than 1000 bytes");
    fits(send("PUT", POD, "", &"[".repeat(7)), 413, "deeper than 6 levels");
    assert_eq!(send("PUT", POD, "", &"[".repeat(6)).0, 400, "that is only no JSON");
    // Far beyond the limits the request is not even read to its end, so the client may not hear why.
    let beyond = |path: &str, headers: &str| {
        let headers = format!("{}{headers}", basic("admin:secret"));
        let answer = lab.as_client(None, &headers, "GET", path, "");
        assert!(answer.as_ref().map_or(true, |answer| matches!(answer.status, 0 | 414 | 431)), "{answer:?}");
    };
    beyond(&format!("/{}", "x".repeat(70_000)), "");
    beyond(POD, &format!("X-Long: {}\r\n", "x".repeat(700_000)));
    beyond(POD, &(0..200).map(|n| format!("X-{n}: 1\r\n")).collect::<String>());
    assert_eq!(send("GET", POD, "", "").0, 200, "and the next request is served");
}

#[test]
fn slow_clients_are_given_up() {
    let lab = Lab::with(|_| limited(&["header-seconds=1", "body-seconds=1"]));
    let begun = Instant::now();
    let half_a_header = exchange(&mut plain(lab.plain()), "GET /rests HTTP/1.1\r\nHost: x\r\nX-").unwrap();
    assert_eq!(half_a_header.status, 408, "{}", half_a_header.head);
    let mut idle = plain(lab.plain());
    assert_eq!(idle.read(&mut [0; 100]).unwrap(), 0, "who says nothing is told nothing");
    let whole = request("PUT", POD, &basic("admin:secret"), &pod("a"));
    let half_a_body = exchange(&mut plain(lab.plain()), &whole[..whole.len() - 20]).unwrap();
    assert_eq!(half_a_body.status, 408, "{}", half_a_body.body);
    assert!(half_a_body.body.contains("stopped for 1 s"), "{}", half_a_body.body);
    let mut no_handshake = plain(lab.tls());
    assert_eq!(no_handshake.read(&mut [0; 100]).unwrap(), 0, "a handshake has to begin in time");
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert_eq!(lab.send("admin:secret", "GET", POD, "").status, 404, "nothing of it was stored");
}

/// RFC 9113 section 3.3: who knows that this is HTTP/2 begins with its preface, in as many pieces as it likes.
#[test]
fn http_2_is_spoken_without_tls_to_who_begins_with_it() {
    let lab = Lab::with(|_| limited(&["header-seconds=2"]));
    let mut stream = plain(lab.plain());
    // The preface and an empty SETTINGS frame (sections 3.4 and 6.5).
    for part in [&b"P"[..], b"RI", b" * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[0, 0, 0, 4, 0, 0, 0, 0, 0]] {
        stream.write_all(part).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut head = [0; 9];
    stream.read_exact(&mut head).unwrap();
    assert_eq!((head[3], &head[5..]), (4, &[0; 4][..]), "its settings come first: {head:?}");
    let mut slow = plain(lab.plain());
    let begun = exchange(&mut slow, "PR").unwrap();
    assert_eq!(begun.status, 408, "{}", begun.head);
}

#[test]
fn connections_are_counted() {
    let lab = Lab::with(|_| limited(&["connections=3"]));
    let get = request("GET", POD, &basic("admin:secret"), "");
    let mut held: Vec<_> = (0..3).map(|_| plain(lab.plain())).collect();
    for stream in &mut held {
        stream.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert!(stream.read(&mut [0; 500]).unwrap() > 0);
    }
    let refused = exchange(&mut plain(lab.plain()), &get).unwrap();
    assert_eq!((refused.status, refused.head.contains("retry-after: 1")), (503, true), "{}", refused.head);
    held.pop();
    let until = Instant::now() + Duration::from_secs(10);
    let mut last = None;
    while last.as_ref().is_none_or(|answer: &Answer| answer.status != 404) {
        assert!(Instant::now() < until, "{last:?}");
        last = exchange(&mut plain(lab.plain()), &get).ok();
    }
}
#[test]
fn wrong_passwords_are_counted_by_address() {
    let lab = Lab::with(|_| limited(&["logins=3"]));
    for _ in 0..3 {
        assert_eq!(lab.send("admin:wrong", "GET", POD, "").status, 401);
    }
    let refused = lab.send("admin:secret", "GET", POD, "");
    assert_eq!(refused.status, 429);
    assert!(refused.head.contains("retry-after: "), "{}", refused.head);
}
