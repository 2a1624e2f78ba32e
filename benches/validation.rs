//! What validating one edit costs with 10, 1,000 and 100,000 entries: `cargo bench --bench validation`. Each row is measured in
//! one run; the last column is the cost at 100,000 entries over that at 10, so 1.00 means that the lists do not matter.
//! The pods are those of the built-in models; the hosts have `unique`, leafrefs both ways, must, when and a mandatory choice.
//! Rows say which index they were checked with: the one that the datastore keeps, or none.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use coeus::schema::json::{self, Mode};
use coeus::schema::{
    DataPath, Difference, Fields, Index, Parents, Schema, builtin, diff, load_with, tree, validate,
    validate_with,
};

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HOSTS: &str = r#"
module hosts {
  yang-version 1.1;
  namespace "urn:coeus:bench:hosts";
  prefix h;
  container hosts {
    list host {
      key "name";
      unique "address";
      leaf name { type string; }
      leaf address { type string; must "not(starts-with(., 'x'))"; }
      leaf peer { type leafref { path "/hosts/host/name"; } }
      leaf peer-address { type leafref { path "../../host/address"; } }
      leaf gateway { type leafref { path "/hosts/host/name"; } must "/hosts/host[name = current()]/address"; }
      leaf watches { type instance-identifier; must "deref(.)/h:address"; }
      leaf watches-tag { type instance-identifier; must "deref(.)/../h:real"; }
      leaf tagged { type boolean; }
      leaf tag { when "../tagged = 'true'"; type uint16; mandatory true; }
      choice kind { mandatory true; leaf real { type empty; } leaf virtual { type empty; } }
    }
  }
}
"#;

/// A list with an edit that is made again and again.
struct Case {
    name: &'static str,
    schema: &'static Schema,
    /// Path and body of entry number n.
    entry: fn(usize) -> (String, String),
    /// Path and body (nothing: it is removed) of the edit, among so many entries.
    edit: fn(usize) -> (String, Option<String>),
}

fn uid(number: usize) -> String {
    format!("00000000-0000-0000-0000-{number:012x}")
}

fn pod(number: usize) -> (String, String) {
    let uid = uid(number);
    let body = format!(
        r#"{{"pod:pods":[{{"uid":"{uid}","name":"pod-{number}","host-ip-address":"192.168.0.1","network-NS":"ns","interface":[{{"uid":"{uid}","ip-address":"10.0.0.1","network-type":"VXLAN","segmentation-id":7}}]}}]}}"#
    );
    (format!("pod:coe/pods={uid}"), body)
}

/// Host n refers to host n-1 by name and by address; every tenth is referred to by none.
fn host(number: usize) -> (String, String) {
    let refers = if number.is_multiple_of(10) {
        String::new()
    } else {
        let peer = number - 1;
        let peer_path = format!("/hosts:hosts/host[name='h{peer}']");
        format!(
            r#","peer":"h{peer}","peer-address":"a{peer}","gateway":"h{peer}","watches":"{peer_path}","watches-tag":"{peer_path}/tag""#
        )
    };
    let body = format!(
        r#"{{"hosts:host":[{{"name":"h{number}","address":"a{number}","tagged":true,"tag":1,"real":[null]{refers}}}]}}"#
    );
    (format!("hosts:hosts/host=h{number}"), body)
}

fn main() {
    let hosts = load_with(&[("hosts", HOSTS)]).unwrap();
    let cases = [
        Case {
            name: "pod: another name",
            schema: builtin(),
            entry: pod,
            edit: |count| {
                let uid = uid(count / 2);
                (format!("pod:coe/pods={uid}/name"), Some(r#"{"pod:name":"renamed"}"#.into()))
            },
        },
        Case {
            name: "pod: one more",
            schema: builtin(),
            entry: pod,
            edit: |count| {
                let (path, body) = pod(count);
                (path, Some(body))
            },
        },
        Case {
            name: "host: another unique address, not referred to",
            schema: hosts,
            entry: host,
            edit: |count| {
                (
                    format!("hosts:hosts/host=h{}/address", count - 1),
                    Some(r#"{"hosts:address":"other"}"#.into()),
                )
            },
        },
        Case {
            name: "host: a leaf that another one's condition points at",
            schema: hosts,
            entry: host,
            edit: |count| (format!("hosts:hosts/host=h{}/tag", count / 2), Some(r#"{"hosts:tag":2}"#.into())),
        },
        Case {
            name: "host: one more",
            schema: hosts,
            entry: host,
            edit: |count| {
                let (path, body) = host(count + 1);
                (
                    path,
                    Some(
                        body.replace(&format!("h{count}\""), &format!("h{}\"", count - 1))
                            .replace(&format!("\"a{count}\""), &format!("\"a{}\"", count - 1))
                            .replace(&format!("'h{count}'"), &format!("'h{}'", count - 1)),
                    ),
                )
            },
        },
        Case {
            name: "host: one less, not referred to",
            schema: hosts,
            entry: host,
            edit: |count| (format!("hosts:hosts/host=h{}", count - 1), None),
        },
    ];
    println!("| one edit, microseconds | index | 10 | 1,000 | 100,000 | ratio |\n|---|---|---|---|---|---|");
    for case in &cases {
        for kept in [true, false] {
            let costs: Vec<Duration> =
                [10, 1_000, 100_000].iter().map(|count| cost(case, *count, kept)).collect();
            let micros = |cost: &Duration| cost.as_secs_f64() * 1e6;
            println!(
                "| {} | {} | {:.1} | {:.1} | {:.1} | {:.2} |",
                case.name,
                if kept { "kept" } else { "none" },
                micros(&costs[0]),
                micros(&costs[1]),
                micros(&costs[2]),
                costs[2].as_secs_f64() / costs[0].as_secs_f64()
            );
        }
    }
}

fn put(root: &mut Fields, schema: &Schema, path: &str, body: Option<&str>) {
    let path = DataPath::parse_rfc8040(schema, path).unwrap();
    match body {
        Some(body) => {
            let node = json::parse_resource(schema, &path, body.as_bytes(), Mode::Strict).unwrap();
            tree::put(root, schema, &path, node, Parents::Create).unwrap();
        }
        None => {
            tree::remove(root, schema, &path).unwrap();
        }
    }
}

/// The least of several rounds of going there and back, by one edit.
fn cost(case: &Case, count: usize, kept: bool) -> Duration {
    let schema = case.schema;
    let mut before = Fields::default();
    for number in 0..count {
        let (path, body) = (case.entry)(number);
        put(&mut before, schema, &path, Some(&body));
    }
    let (path, body) = (case.edit)(count);
    let mut after = before.clone();
    put(&mut after, schema, &path, body.as_deref());
    let mut index = Index::default();
    let mut check = |root: &Fields, changes: &[Difference]| {
        let outcome = if kept {
            validate_with(&mut index, schema, root, changes)
        } else {
            validate(schema, true, root, changes)
        };
        outcome.unwrap();
    };
    check(&before, &diff(schema, &after, &before));
    let rounds = if count > 10_000 && !kept { 2 } else { 100 };
    let mut least = Duration::MAX;
    for _ in 0..rounds {
        let start = Instant::now();
        check(black_box(&after), &diff(schema, &before, &after));
        check(black_box(&before), &diff(schema, &after, &before));
        least = least.min(start.elapsed() / 2);
    }
    least
}
