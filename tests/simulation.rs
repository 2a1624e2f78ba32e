//! The simulation of `coeus sim`, scaled down: a network of many nodes, one of them a real Open vSwitch.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use coeus::simulation::{Options, run};

#[test]
fn one_more_pod_is_for_one_switch_among_thirty() {
    let options = Options {
        switches: 30,
        pods: 600,
        namespaces: Some(12),
        spread: 10,
        witnesses: 1,
        batch: 100,
        more: 20,
        idle: 1,
        patience: 120,
    };
    let report = run(&options).unwrap();
    println!("{report}");
    assert!(report.held > 600 * 18 && report.compared_lines > 300, "{report}");
    for (_, switches, flows, groups) in &report.single {
        // The real switch is not counted, so a pod there is nobody's here.
        assert!(*switches <= 1 && *flows <= 40 && *groups <= 2, "{report}");
    }
    assert!(report.single.iter().any(|one| one.1 == 1), "{report}");
    // What it has itself, and its part of the ways between the nodes of its namespace.
    assert!(report.flow_mods < 600 * 60, "{report}");
}
