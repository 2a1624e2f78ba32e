//! Long answers are sent while they are made.

use coeus::datastore::{Edit, Store, Transaction};
use coeus::schema::json::CHUNK;
use coeus::schema::{DataPath, json};
use serde_json::json;

use crate::support::Server;

fn with_items(count: usize) -> Server {
    let server = Server::lab();
    let schema = server.datastore.snapshot().schema;
    let items: Vec<_> =
        (0..count).map(|at| json!({"name": format!("item-{at:06}"), "note": "n".repeat(40)})).collect();
    let body = json!({"lab:lab": {"item": items}}).to_string();
    let path = DataPath::parse_rfc8040(schema, "lab:lab").unwrap();
    let node = json::parse_resource(schema, &path, body.as_bytes(), json::Mode::Strict).unwrap();
    let edit = Edit::put(Store::Config, path, node);
    server.datastore.commit_blocking(Transaction::new("test", vec![edit])).unwrap();
    server
}

#[test]
fn few_entries_come_in_one_piece_with_their_length() {
    let server = with_items(100);
    let answer = server.send("GET", "/rests/data/lab:lab/item", "");
    assert_eq!(answer.header("content-length"), Some(answer.body.len().to_string().as_str()));
}

#[test]
fn many_entries_come_in_pieces_of_bounded_size_and_are_the_same() {
    let server = with_items(20_000);
    let schema = server.datastore.snapshot().schema;
    let path = DataPath::parse_rfc8040(schema, "lab:lab/item").unwrap();
    let node = server.datastore.snapshot().read(Store::Config, &path).unwrap();
    let mut whole = Vec::new();
    json::write_resource(schema, &path, &node, &mut whole);
    let answer = server.send("GET", "/rests/data/lab:lab/item", "");
    assert_eq!(answer.status, 200);
    assert!(answer.body.as_bytes() == whole, "{} bytes, not {}", answer.body.len(), whole.len());
    assert!(answer.header("content-length").is_none());
    assert!(answer.chunks >= whole.len() / (2 * CHUNK), "{} chunks for {} bytes", answer.chunks, whole.len());
    let selected = server.send("GET", "/rests/data/lab:lab/item?fields=note", "");
    assert!(selected.body.as_bytes() == whole, "a selection of everything is everything");
    let head = server.send("HEAD", "/rests/data/lab:lab/item", "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[test]
fn a_client_that_goes_away_costs_nothing_more() {
    let server = with_items(20_000);
    for _ in 0..20 {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(server.address).unwrap();
        let login = crate::support::login("admin:secret");
        write!(stream, "GET /rests/data/lab:lab/item HTTP/1.1\r\nHost: test\r\n{login}\r\n").unwrap();
        let mut first = [0; 1024];
        assert!(stream.read(&mut first).unwrap() > 0);
    }
    assert_eq!(server.send("GET", "/rests/data/lab:lab/item=item-000000", "").status, 200);
}

#[test]
fn rfc9110_8_4_answers_are_compressed_for_those_who_ask() {
    use std::io::Read;
    for count in [100, 20_000] {
        let server = with_items(count);
        let at = "/rests/data/lab:lab/item";
        let plain = server.send("GET", at, "");
        let (headers, body) = server.bytes("Accept-Encoding: gzip\r\n", "GET", at);
        assert!(headers.contains("content-encoding: gzip"), "{headers}");
        let mut text = String::new();
        flate2::read::GzDecoder::new(&body[..]).read_to_string(&mut text).unwrap();
        assert!(text == plain.body && body.len() * 5 < text.len(), "{} of {} bytes", body.len(), text.len());
        let tag = plain.header("etag").unwrap();
        let gzip = format!("{}-gzip\"", tag.trim_end_matches('"'));
        assert!(headers.contains(&gzip), "{gzip} in {headers}");
        assert_eq!(server.with(&format!("If-None-Match: {gzip}\r\n"), "GET", at, "").status, 304);
        let update = r#"{"lab:lab":{"title":"t"}}"#;
        let when = format!("If-Match: {gzip}\r\n");
        assert_eq!(server.with(&when, "PATCH", "/rests/data/lab:lab", update).status, 204);
    }
    let server = with_items(1);
    let (headers, _) = server.bytes("Accept-Encoding: gzip\r\n", "GET", "/rests/data/lab:lab/item");
    assert!(!headers.contains("content-encoding"), "short answers are not worth it: {headers}");
}
