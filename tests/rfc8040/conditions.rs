//! Entity-tags, dates and preconditions: RFC 8040 sections 3.4.1 and 3.5, RFC 9110 section 13.

use serde_json::json;

use crate::support::{Answer, Server};

const LAB: &str = "/rests/data/lab:lab";
const ONE: &str = "/rests/data/lab:lab/item=one";

fn item(name: &str, value: i32) -> String {
    json!({"lab:item": [{"name": name, "value": value}]}).to_string()
}

fn tag(answer: &Answer) -> String {
    answer.header("etag").unwrap_or_else(|| panic!("no ETag: {}", answer.headers)).to_owned()
}

#[test]
fn rfc8040_3_5_2_a_change_moves_the_tags_of_its_resource_and_of_all_above_it() {
    let server = Server::lab();
    server.send("PUT", ONE, &item("one", 1));
    server.send("PUT", "/rests/data/lab:lab/item=two", &item("two", 1));
    let tags = || {
        [ONE, "/rests/data/lab:lab/item=two", LAB, "/rests/data"].map(|at| tag(&server.send("GET", at, "")))
    };
    let before = tags();
    assert_eq!(tags(), before, "reading changes nothing");
    server.send("PATCH", ONE, &item("one", 2));
    let after = tags();
    assert_ne!(after[0], before[0]);
    assert_eq!(after[1], before[1], "the neighbour stays as it is");
    assert_ne!((&after[2], &after[3]), (&before[2], &before[3]));
    server.send("DELETE", ONE, "");
    assert_ne!(tag(&server.send("GET", LAB, "")), after[2], "what is taken away changes what held it");
}

#[test]
fn rfc8040_4_2_head_has_the_tag_and_the_date_of_get() {
    let server = Server::lab();
    server.send("PUT", ONE, &item("one", 1));
    let (head, get) = (server.send("HEAD", ONE, ""), server.send("GET", ONE, ""));
    for name in ["etag", "last-modified", "content-type", "content-length", "cache-control"] {
        assert!(head.header(name).is_some() && head.header(name) == get.header(name), "{name}");
    }
    assert_eq!(head.body, "");
}

#[test]
fn rfc8040_5_5_answers_are_not_to_be_cached_without_asking() {
    let server = Server::lab();
    assert_eq!(server.send("GET", "/rests/data", "").header("cache-control"), Some("no-cache"));
}

#[test]
fn rfc9110_13_1_1_if_match_writes_only_over_what_was_read() {
    let server = Server::lab();
    let created = server.send("PUT", ONE, &item("one", 1));
    let first = tag(&created);
    assert_eq!(first, tag(&server.send("GET", ONE, "")), "a write tells the tag of what it wrote");
    let when = |tag: &str| format!("If-Match: {tag}\r\n");
    let second = server.with(&when(&first), "PUT", ONE, &item("one", 2));
    assert_eq!(second.status, 204, "{}", second.body);
    for method in ["PUT", "PATCH"] {
        let late = server.with(&when(&first), method, ONE, &item("one", 3));
        assert_eq!((late.status, late.tag().as_deref()), (412, Some("operation-failed")), "{method}");
    }
    assert_eq!(server.with(&when(&first), "DELETE", ONE, "").status, 412);
    assert_eq!(
        server.with(&when(&first), "POST", LAB, &item("two", 1)).status,
        412,
        "POST: the parent's tag"
    );
    assert_eq!(
        server.with(&when("W/\"1\""), "PUT", ONE, &item("one", 3)).status,
        412,
        "weak tags never match"
    );
    assert_eq!(server.with(&when("\"x\", W/\"y\""), "PUT", ONE, &item("one", 3)).status, 412);
    assert_eq!(server.with(&when("nonsense"), "PUT", ONE, &item("one", 3)).status, 400);
    assert_eq!(server.send("GET", ONE, "").json()["lab:item"][0]["value"], 2);
    let any = format!("\"0\", {}", tag(&second));
    assert_eq!(server.with(&when(&any), "DELETE", ONE, "").status, 204);
    assert_eq!(server.with(&when("*"), "PUT", ONE, &item("one", 3)).status, 412, "there is nothing to match");
}

#[test]
fn rfc9110_13_1_2_if_none_match_star_creates_and_never_replaces() {
    let server = Server::lab();
    let absent = "If-None-Match: *\r\n";
    assert_eq!(server.with(absent, "PUT", ONE, &item("one", 1)).status, 201);
    assert_eq!(server.with(absent, "PUT", ONE, &item("one", 2)).status, 412);
    assert_eq!(server.send("GET", ONE, "").json()["lab:item"][0]["value"], 1);
}

#[test]
fn rfc9110_13_1_2_if_none_match_answers_304_while_nothing_changed() {
    let server = Server::lab();
    server.send("PUT", ONE, &item("one", 1));
    let known = tag(&server.send("GET", ONE, ""));
    let when = format!("If-None-Match: W/\"0\", {known}\r\n");
    for method in ["GET", "HEAD"] {
        let same = server.with(&when, method, ONE, "");
        assert_eq!((same.status, same.body.as_str(), same.header("etag")), (304, "", Some(known.as_str())));
    }
    server.send("PATCH", ONE, &item("one", 2));
    assert_eq!(server.with(&when, "GET", ONE, "").status, 200);
    assert_eq!(server.with(&format!("If-Match: {known}\r\n"), "GET", ONE, "").status, 412);
}

#[test]
fn rfc9110_13_1_3_dates_are_conditions_too() {
    let server = Server::lab();
    server.send("PUT", ONE, &item("one", 1));
    let modified = server.send("GET", ONE, "").header("last-modified").unwrap().to_owned();
    let long_ago = "Sun, 06 Nov 1994 08:49:37 GMT";
    let when = |name: &str, date: &str| format!("{name}: {date}\r\n");
    assert_eq!(server.with(&when("If-Modified-Since", &modified), "GET", ONE, "").status, 304);
    assert_eq!(server.with(&when("If-Modified-Since", long_ago), "GET", ONE, "").status, 200);
    assert_eq!(server.with(&when("If-Modified-Since", "yesterday"), "GET", ONE, "").status, 200);
    assert_eq!(server.with(&when("If-Unmodified-Since", long_ago), "PUT", ONE, &item("one", 2)).status, 412);
    assert_eq!(server.with(&when("If-Unmodified-Since", long_ago), "GET", ONE, "").status, 412);
    assert_eq!(server.with(&when("If-Unmodified-Since", &modified), "PUT", ONE, &item("one", 2)).status, 204);
}

#[test]
fn rfc8040_3_5_2_operational_data_do_not_move_a_tag_and_are_never_called_unmodified() {
    use coeus::datastore::{Edit, Store, Transaction};
    use coeus::schema::{DataPath, json};
    let server = Server::lab();
    server.send("PUT", ONE, &item("one", 1));
    let schema = server.datastore.snapshot().schema;
    let seen = |count: u64| {
        let path = DataPath::parse_rfc8040(schema, "lab:lab/item=one/seen").unwrap();
        let body = format!(r#"{{"lab:seen":"{count}"}}"#);
        let node = json::parse_resource(schema, &path, body.as_bytes(), json::Mode::Strict).unwrap();
        let edit = Edit::put(Store::Operational, path, node);
        server.datastore.commit_blocking(Transaction::new("test", vec![edit])).unwrap();
    };
    seen(1);
    let known = tag(&server.send("GET", ONE, ""));
    seen(2);
    assert_eq!(tag(&server.send("GET", ONE, "")), known);
    let when = format!("If-None-Match: {known}\r\n");
    let answer = server.with(&when, "GET", ONE, "");
    assert_eq!((answer.status, &answer.json()["lab:item"][0]["seen"]), (200, &json!("2")));
    assert_eq!(server.with(&when, "GET", &format!("{ONE}?content=config"), "").status, 304);
    assert_eq!(server.with(&format!("If-Match: {known}\r\n"), "PUT", ONE, &item("one", 2)).status, 204);
}

#[test]
fn preconditions_are_judged_inside_the_transaction() {
    let server = Server::lab();
    server.send("PUT", ONE, &item("one", 0));
    let wins: usize = std::thread::scope(|scope| {
        let counters: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut wins = 0;
                    while wins < 5 {
                        let read = server.send("GET", ONE, "");
                        let value = read.json()["lab:item"][0]["value"].as_i64().unwrap() as i32;
                        let when = format!("If-Match: {}\r\n", tag(&read));
                        let answer = server.with(&when, "PUT", ONE, &item("one", value + 1));
                        assert!(matches!(answer.status, 204 | 412), "{}", answer.body);
                        wins += usize::from(answer.status == 204);
                    }
                    wins
                })
            })
            .collect();
        counters.into_iter().map(|counter| counter.join().unwrap()).sum()
    });
    assert_eq!(server.send("GET", ONE, "").json()["lab:item"][0]["value"], wins, "no increment was lost");
}
