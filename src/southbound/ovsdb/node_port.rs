//! The node's own port on the integration bridge: by it the node reaches its pods, and they reach the node.
//!
//! An internal port, so the node sees a network device of that name. Its MAC address is the same everywhere: no frame of it
//! leaves the node. What addresses and routes the node has is the node's business.

use serde_json::{Value, json};

use super::NODE_PORT;
use super::plan::{OURS, at, insert_port};
use crate::model::NODE_PORT_MARK;
use crate::ovsdb::{Cache, Row, map, set, uuid};

/// Locally administered, beside the gateways' addresses.
const MAC: &str = "02:c0:e5:00:00:02";

/// Operations that make the port what it should be, if there should be one.
pub fn node_port(cache: &Cache, bridge: &str, row: &Row, wanted: bool, operations: &mut Vec<Value>) {
    let marks = [(NODE_PORT_MARK, "true"), ("attached-mac", MAC)];
    match cache.named("Port", NODE_PORT) {
        None if wanted => {
            let interface = json!({"type": "internal", "mac": MAC, "external_ids": map(marks)});
            insert_port(bridge, NODE_PORT, interface, operations);
        }
        // A port of that name on another bridge is somebody else's.
        Some((port, _)) if !row.refers("ports", port) => {}
        Some((port, found)) if !wanted && found.map("external_ids").contains_key(OURS.0) => {
            operations.push(json!({"op": "mutate", "table": "Bridge", "where": at(bridge), "mutations": [["ports", "delete", set([uuid(port)])]]}));
        }
        Some(_) if wanted => {
            let Some((interface, found)) = cache.named("Interface", NODE_PORT) else { return };
            let mut ids = found.map("external_ids");
            let held = ids.clone();
            ids.entry(NODE_PORT_MARK).or_insert("true");
            ids.entry("attached-mac").or_insert(MAC);
            if ids != held || found.text("type") != Some("internal") {
                operations.push(json!({"op": "update", "table": "Interface", "where": at(interface),
                    "row": {"type": "internal", "external_ids": map(ids)}}));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::southbound::ovsdb::TABLES;

    fn planned(cache: &Cache, wanted: bool) -> Vec<Value> {
        let mut operations = Vec::new();
        let (id, row) = cache.named("Bridge", "br-int").unwrap();
        node_port(cache, id, row, wanted, &mut operations);
        operations
    }

    /// A bridge with the port, whose interface has these external_ids.
    fn cache(ids: Value) -> Cache {
        let mut cache = Cache::new(TABLES);
        let update = json!({
            "Interface": {"i": {"new": {"name": NODE_PORT, "type": "internal", "external_ids": ids}}},
            "Port": {"p": {"new": {"name": NODE_PORT, "interfaces": uuid("i"), "external_ids": map([OURS])}}},
            "Bridge": {"int": {"new": {"name": "br-int", "ports": uuid("p")}}},
        });
        cache.update(&update).unwrap();
        cache
    }

    #[test]
    fn a_node_gets_its_port_once_and_loses_it_when_it_should() {
        let mut bare = Cache::new(TABLES);
        bare.update(&json!({"Bridge": {"int": {"new": {"name": "br-int", "ports": set([])}}}})).unwrap();
        let made = planned(&bare, true);
        assert_eq!(made[0]["row"]["type"], "internal");
        assert_eq!(made[0]["row"]["mac"], MAC);
        assert!(planned(&bare, false).is_empty());
        let right = map([(NODE_PORT_MARK, "true"), ("attached-mac", "02:00:00:00:00:09"), ("other", "x")]);
        assert_eq!(
            planned(&cache(right.clone()), true),
            Vec::<Value>::new(),
            "an address of the operator's stays"
        );
        assert_eq!(planned(&cache(right), false)[0]["mutations"][0][1], "delete");
        let mended = planned(&cache(map([("other", "x")])), true);
        let text = mended[0]["row"]["external_ids"].to_string();
        assert!(text.contains(NODE_PORT_MARK) && text.contains(MAC) && text.contains("other"), "{text}");
    }

    #[test]
    fn a_port_of_that_name_elsewhere_is_left_alone() {
        let mut cache = cache(map([]));
        let update = json!({"Bridge": {"int": {"new": {"name": "br-int", "ports": set([])}},
            "ex": {"new": {"name": "br-ex", "ports": uuid("p")}}}});
        cache.update(&update).unwrap();
        for wanted in [true, false] {
            assert_eq!(planned(&cache, wanted), Vec::<Value>::new());
        }
    }
}
