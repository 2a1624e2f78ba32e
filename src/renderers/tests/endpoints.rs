//! Endpoints that come and go one by one: what follows is what would follow from all of them at once.

use proptest::prelude::*;

use super::super::testing::*;
use crate::model::{Model, Row};
use crate::pipeline::golden;
use crate::schema::{builtin, diff};

/// Of p1, p2 and p4, which is not always there, of nobody within a node's range, of two hosts outside, and what can be no one's.
const ADDRESSES: [&str; 8] = [
    "10.11.1.10",
    "10.11.2.10",
    "10.11.1.40",
    "10.11.2.77",
    "198.51.100.7",
    "198.51.100.8",
    "2001:db8::7",
    "fd00:1::10",
];

const TOLD: [&str; 2] = ["http:TCP:8080", "dns:UDP:53"];

/// Two ports lead to one target.
fn web() -> Row {
    service("web", "blue", &["10.96.0.10", "fd96::10"], &["http:TCP:80:", "http:TCP:81:", "dns:UDP:53:"])
}

/// Two services that have an endpoint in common at times.
fn world() -> World {
    let other = service("other", "blue", &["10.96.0.11"], &[":TCP:80:8080"]);
    two_pods().on_two_nodes().with([
        web(),
        other,
        endpoints("other", "blue", &["10.11.1.10", "198.51.100.7"], &[]),
    ])
}

fn any_step() -> impl Strategy<Value = Vec<Row>> {
    let addresses = prop::sample::subsequence(&ADDRESSES[..], 0..=8).prop_shuffle();
    // Those of which nothing is to be said.
    let plain =
        prop::sample::subsequence(&["10.11.1.10", "10.11.2.10", "198.51.100.7", "198.51.100.8"][..], 0..=4);
    prop_oneof![
        8 => plain.prop_map(|told| vec![endpoints("web", "blue", &told, &TOLD)]),
        4 => (addresses, 1..=2_usize).prop_map(|(told, ports)| vec![endpoints("web", "blue", &told, &TOLD[..ports])]),
        1 => any::<bool>().prop_map(|there| vec![
            pod("p4", "blue", 1, Some("10.11.1.40")),
            if there { port(1, "blue:p4", 14) } else { no_port(1, "blue:p4") },
        ]),
        1 => any::<bool>().prop_map(|there| vec![
            if there { port(2, "blue:p2", 10) } else { no_port(2, "blue:p2") },
            endpoints("web", "blue", &["10.11.2.10", "198.51.100.7"], &TOLD),
        ]),
        1 => any::<bool>().prop_map(|wide| vec![k8s_node(2, Some(if wide { "10.11.0.0/16" } else { "10.11.2.0/24" }))]),
        1 => any::<bool>().prop_map(|there| vec![if there { web() } else { Row::Service("web".into(), None) }]),
        1 => any::<bool>().prop_map(|there| vec![second(there)]),
    ]
}

/// Another object that tells endpoints of the same service.
fn second(there: bool) -> Row {
    let Row::ServiceEndpoints(_, row) = endpoints("web", "blue", &["10.11.1.10", "198.51.100.8"], &TOLD)
    else {
        unreachable!()
    };
    let row = row.map(|row| crate::model::ServiceEndpoints { uid: "second".into(), ..row });
    Row::ServiceEndpoints("second".into(), row.filter(|_| there))
}

fn shown(world: &World) -> Vec<String> {
    let switches = [1, 2].map(|switch| golden::print(&world.tables(switch, "")));
    let states = ["web", "other"].map(|uid| {
        world.read(
            crate::datastore::Store::Operational,
            &format!("coeus-service:service-states/service={uid}"),
        )
    });
    switches.into_iter().chain(states).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn endpoints_one_by_one_are_endpoints_at_once(steps in prop::collection::vec(any_step(), 1..16)) {
        let mut world = world();
        for rows in steps {
            world.put(rows);
            let rebuilt = world.rebuilt(false);
            prop_assert_eq!(shown(&world), shown(&rebuilt));
            for (left, right) in world.derived.iter().zip(&rebuilt.derived) {
                prop_assert_eq!(diff(builtin(), left, right), vec![]);
            }
        }
        // Nothing of who came and went is left, neither what serves nor who looks for it.
        let gone = ["p1", "p2", "p3", "p4"].map(no_pod);
        let services = ["web", "other"].map(|uid| Row::Service(uid.into(), None));
        let told = ["web", "other", "second"].map(|uid| Row::ServiceEndpoints(uid.into(), None));
        world.put(services.into_iter().chain(told).chain(gone));
        world.put([no_port(1, "blue:p1"), no_port(2, "blue:p2"), no_port(2, "red:p3"), no_port(1, "blue:p4")]);
        world.put([k8s_node(1, None), k8s_node(2, None)]);
        let bare = World::default().with(switch(1)).with(switch(2)).with([k8s_node(1, None), k8s_node(2, None)]);
        prop_assert_eq!(model(&world), model(&bare));
    }
}

fn model(world: &World) -> String {
    let model: &Model = &world.workshop.model;
    format!("{model:?}")
}
