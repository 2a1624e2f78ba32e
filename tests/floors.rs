//! Who may use whom: the table of ARCHITECTURE.md, read from the `use` lines.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Module, what it may use, and the files in which tokio may be named.
const FLOORS: &[(&str, &[&str], &[&str])] = &[
    ("net", &[], &[]),
    ("certificates", &[], &[]),
    ("ovsdb", &["net"], &[]),
    ("schema", &["net"], &[]),
    ("access", &["schema"], &[]),
    ("audit", &[], &[]),
    ("accounts", &["access"], &[]),
    // etcd's client is of tokio: the journal's plain thread waits for it in link.rs.
    (
        "datastore",
        &["net", "schema", "access", "audit"],
        &["actor.rs", "follow.rs", "handle.rs", "readers.rs", "link.rs"],
    ),
    ("pipeline", &["net"], &[]),
    ("policy", &["schema"], &[]),
    ("model", &["net", "schema", "datastore", "policy"], &[]),
    ("revisions", &["net", "schema", "datastore"], &["actor.rs"]),
    ("renderers", &["net", "schema", "datastore", "pipeline", "policy", "model"], &[]),
    (
        "southbound",
        &["net", "certificates", "schema", "datastore", "ovsdb", "model"],
        &["session.rs", "server.rs", "mod.rs", "outbox.rs", "questions.rs"],
    ),
    (
        "programmer",
        &["net", "schema", "datastore", "pipeline", "southbound"],
        &["actor.rs", "task.rs", "delivery.rs"],
    ),
    ("dhcp", &["net", "schema", "datastore", "model", "pipeline", "southbound", "programmer"], &["actor.rs"]),
    (
        "neighbours",
        &["net", "schema", "datastore", "pipeline", "model", "southbound", "programmer"],
        &["actor.rs"],
    ),
    ("refusal", &["net", "pipeline", "model", "southbound", "programmer"], &["actor.rs"]),
    ("ra", &["net", "schema", "datastore", "pipeline", "model", "southbound", "programmer"], &["actor.rs"]),
    (
        "northbound",
        &[
            "net",
            "certificates",
            "schema",
            "datastore",
            "pipeline",
            "model",
            "renderers",
            "revisions",
            "access",
            "accounts",
            "audit",
        ],
        &["actor.rs", "server.rs", "stream.rs", "takeover.rs", "relay.rs", "pinned.rs"],
    ),
    (
        "observe",
        &[
            "net",
            "schema",
            "datastore",
            "pipeline",
            "policy",
            "model",
            "renderers",
            "southbound",
            "programmer",
        ],
        &["actor.rs"],
    ),
    ("node", &["ovsdb"], &[]),
    ("cli", &["net", "node"], &[]),
    ("soak", &["net", "schema", "datastore", "pipeline", "renderers", "cli"], &[]),
    ("simulation", &["net", "schema", "datastore", "pipeline", "soak"], &["mod.rs", "fleet.rs", "peer.rs"]),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| {
        matches!(part.as_os_str().to_str(), Some("tests.rs" | "tests" | "testing.rs" | "testing"))
    })
}

/// The code without its `#[cfg(test)]` module and without comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn imports_point_down() {
    let modules: BTreeSet<&str> = FLOORS.iter().map(|(name, ..)| *name).collect();
    for (module, allowed, _) in FLOORS {
        let mut files = Vec::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(module), &mut files);
        for file in files.iter().filter(|file| !is_test(file)) {
            for part in code(file).split("crate::").skip(1) {
                let name: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let fine =
                    name == *module || allowed.contains(&name.as_str()) || !modules.contains(name.as_str());
                assert!(fine, "{}: {module} may use {allowed:?}, but uses {name}", file.display());
            }
        }
    }
}

#[test]
fn tokio_stays_at_the_edges() {
    for (module, _, edges) in FLOORS {
        let mut files = Vec::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(module), &mut files);
        for file in files.iter().filter(|file| !is_test(file)) {
            let edge = edges.iter().any(|edge| file.ends_with(edge));
            assert!(
                edge || !code(file).contains("tokio::"),
                "{}: tokio stands in {edges:?} only",
                file.display()
            );
        }
    }
}

#[test]
fn features_do_not_know_each_other() {
    const FEATURES: [&str; 10] =
        ["antispoof", "arp", "coe", "dhcp", "elan", "interface", "nd", "policy", "tunnel", "vpn"];
    for feature in FEATURES {
        let mut files = Vec::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/renderers").join(feature), &mut files);
        for file in files {
            for other in FEATURES.iter().filter(|other| **other != feature) {
                for way in [format!("renderers::{other}::"), format!("super::super::{other}::")] {
                    assert!(!code(&file).contains(&way), "{} uses the feature {other}", file.display());
                }
            }
        }
    }
}

#[test]
fn every_table_has_one_owner() {
    let mut ids = BTreeSet::new();
    for row in coeus::pipeline::ROWS {
        assert!(ids.insert(row.id), "table {} stands twice", row.id);
        assert!(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("src/renderers").join(row.owner).is_dir(),
            "{} is no feature",
            row.owner
        );
    }
}
