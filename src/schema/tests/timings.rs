//! What one pod costs among ten thousand. Run with `--ignored --nocapture` and optimisation; asserts nothing about time.

use std::time::{Duration, Instant};

use super::super::json::{self, Mode};
use super::super::testing::sample;
use super::super::{DataPath, Fields, Node, Parents, diff, heap_size, stamp_since, tree, validate};

const ROUNDS: u32 = 10_000;

fn timed(what: &str, mut work: impl FnMut(u32)) -> Duration {
    for round in 0..ROUNDS / 10 {
        work(round);
    }
    let start = Instant::now();
    for round in 0..ROUNDS {
        work(round);
    }
    let each = start.elapsed() / ROUNDS;
    println!("{what:24} {each:?}");
    each
}

fn body(number: u32) -> (DataPath, String) {
    let uid = format!("{number:08x}-2222-3333-4444-555555555555");
    let body = format!(
        r#"{{"test:pods":[{{"uid":"{uid}","name":"pod-number-{number}","host-ip-address":"192.168.100.100",
        "port-mac-address":"02:00:00:00:00:01","network-type":"VXLAN","segmentation-id":4711,"dpn-id":"123456789",
        "short":"abc","aug:extra":"the namespace of it","v4":"192.168.1.1",
        "interface":[{{"uid":"{uid}","ip-address":"10.11.12.13"}}]}}]}}"#
    );
    let path = DataPath::parse_rfc8040(sample(), &format!("test:coe/pods={uid}")).unwrap();
    (path, body)
}

#[test]
#[ignore = "measures; says nothing about right and wrong"]
fn one_pod_among_ten_thousand() {
    let schema = sample();
    let mut root = Fields::default();
    for number in 0..10_000 {
        let (path, body) = body(number);
        let node = json::parse_resource(schema, &path, body.as_bytes(), Mode::Strict).unwrap();
        tree::put(&mut root, schema, &path, node, Parents::Require).unwrap();
    }
    println!("heap per pod             {} bytes", heap_size(&Node::Container(root.clone())) / 10_000);
    let (path, text) = body(20_000);
    let node = json::parse_resource(schema, &path, text.as_bytes(), Mode::Strict).unwrap();
    let mut after = root.clone();
    tree::put(&mut after, schema, &path, node.clone(), Parents::Require).unwrap();
    let changes = diff(schema, &root, &after);
    assert_eq!(changes.len(), 1);
    timed("path of a URL", |_| {
        DataPath::parse_rfc8040(schema, "test:coe/pods=00000001-2222-3333-4444-555555555555").unwrap();
    });
    for mode in [Mode::Strict, Mode::Lenient] {
        timed(&format!("parse {mode:?} {} B", text.len()), |_| {
            json::parse_resource(schema, &path, text.as_bytes(), mode).unwrap();
        });
    }
    timed("put", |_| {
        tree::put(&mut root.clone(), schema, &path, node.clone(), Parents::Require).unwrap();
    });
    timed("get", |_| {
        tree::get(&after, &path).unwrap();
    });
    timed("diff", |_| assert_eq!(diff(schema, &root, &after).len(), 1));
    timed("stamp", |round| {
        stamp_since(&root, &after, u64::from(round));
    });
    timed("validate", |_| validate(schema, true, &after, &changes).unwrap());
    let mut out = Vec::new();
    timed("write", |_| {
        out.clear();
        json::write_resource(schema, &path, &node, &mut out);
    });
}
