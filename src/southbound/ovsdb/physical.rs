//! Physical networks: a pair of patch ports between the integration bridge and each bridge that leads to one.
//!
//! Which networks a node has is said where OpenDaylight and Neutron look for it: `other_config:provider_mappings` or
//! `external_ids:bridge-mappings` of the `Open_vSwitch` table, as `NETWORK:BRIDGE,NETWORK:BRIDGE`. The bridges are whoever's
//! they are; only the patch ports are ours.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::plan::{OURS, at, insert_port};
use crate::model::PHYSICAL_NETWORK;
use crate::ovsdb::{Cache, Row, map, set, uuid};

/// Operations that make the patch ports what the mappings ask for.
pub fn patches(cache: &Cache, integration: &str, open_vswitch: &Row, operations: &mut Vec<Value>) {
    let mut wanted: BTreeMap<(&str, String), Value> = BTreeMap::new();
    for (network, bridge) in mappings(open_vswitch) {
        // A bridge that is not there yet is no fault: it is looked for again when it comes.
        let Some((outer, _)) = cache.named("Bridge", &bridge).filter(|(id, _)| *id != integration) else {
            continue;
        };
        let (inside, outside) = (format!("patch-{network}"), format!("patch-{network}-int"));
        let interface = |peer: &String| {
            json!({"type": "patch", "options": map([("peer", peer.as_str())]),
                "external_ids": map([(PHYSICAL_NETWORK, network.as_str())])})
        };
        wanted.insert((integration, inside.clone()), interface(&outside));
        wanted.insert((outer, outside), interface(&inside));
    }
    for (bridge, row) in cache.rows("Bridge") {
        let gone = row.references("ports").filter(|port| {
            ours(cache, port).is_some_and(|name| !wanted.contains_key(&(bridge, name.to_owned())))
        });
        let gone: Vec<Value> = gone.map(uuid).collect();
        if !gone.is_empty() {
            operations.push(json!({"op": "mutate", "table": "Bridge", "where": at(bridge), "mutations": [["ports", "delete", set(gone)]]}));
        }
    }
    for ((bridge, name), interface) in wanted {
        let here = |port: &str| cache.row("Bridge", bridge).is_some_and(|row| row.refers("ports", port));
        match cache.named("Port", &name) {
            None => insert_port(bridge, &name, interface, operations),
            // A port of that name on another bridge stands in the way until it is gone.
            Some((port, _)) if !here(port) => {}
            Some(_) => {
                let Some((id, row)) = cache.named("Interface", &name) else { continue };
                let peer = interface["options"][1][0][1].as_str();
                let right = row.text("type") == Some("patch")
                    && row.map("options").get("peer").copied() == peer
                    && row.map("external_ids").contains_key(PHYSICAL_NETWORK);
                if !right {
                    operations.push(
                        json!({"op": "update", "table": "Interface", "where": at(id), "row": interface}),
                    );
                }
            }
        }
    }
}

/// The name of a patch port that we made.
fn ours<'a>(cache: &'a Cache, port: &str) -> Option<&'a str> {
    let row = cache.row("Port", port).filter(|row| row.map("external_ids").contains_key(OURS.0))?;
    let interface = cache.row("Interface", row.references("interfaces").next()?)?;
    interface.map("external_ids").contains_key(PHYSICAL_NETWORK).then(|| row.text("name"))?
}

/// Networks and their bridges. What is no mapping is passed over.
fn mappings(open_vswitch: &Row) -> BTreeMap<String, String> {
    let (configured, external) = (open_vswitch.map("other_config"), open_vswitch.map("external_ids"));
    let texts = [external.get("bridge-mappings"), configured.get("provider_mappings")];
    texts.into_iter().flatten().flat_map(|text| text.split(',')).filter_map(mapping).collect()
}

fn mapping(text: &str) -> Option<(String, String)> {
    let (network, bridge) = text.trim().split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let named =
        !network.is_empty() && network.len() <= 32 && network.chars().all(plain) && !bridge.is_empty();
    named.then(|| (network.to_owned(), bridge.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::southbound::ovsdb::TABLES;

    fn cache(mappings: &str) -> Cache {
        let mut cache = Cache::new(TABLES);
        let bridge = |name: &str| json!({"new": {"name": name, "ports": set([])}});
        let update = json!({
            "Open_vSwitch": {"root": {"new": {"other_config": map([("provider_mappings", mappings)])}}},
            "Bridge": {"int": bridge("br-int"), "ex": bridge("br-ex")},
        });
        cache.update(&update).unwrap();
        cache
    }

    fn planned(cache: &Cache) -> Vec<Value> {
        let mut operations = Vec::new();
        let (_, open_vswitch) = cache.rows("Open_vSwitch").next().unwrap();
        patches(cache, "int", open_vswitch, &mut operations);
        operations
    }

    /// The ports that the operations of [`planned`] make.
    fn with_ports(mappings: &str) -> Cache {
        let mut cache = cache(mappings);
        let interface = |name: &str, peer: &str| {
            json!({"new": {"name": name, "type": "patch", "options": map([("peer", peer)]),
                "external_ids": map([(PHYSICAL_NETWORK, "physnet")])}})
        };
        let port = |name: &str, interface: &str| json!({"new": {"name": name, "interfaces": uuid(interface), "external_ids": map([OURS])}});
        let bridge = |name: &str, port: &str| json!({"new": {"name": name, "ports": uuid(port)}});
        let update = json!({
            "Interface": {"i": interface("patch-physnet", "patch-physnet-int"), "o": interface("patch-physnet-int", "patch-physnet")},
            "Port": {"pi": port("patch-physnet", "i"), "po": port("patch-physnet-int", "o")},
            "Bridge": {"int": bridge("br-int", "pi"), "ex": bridge("br-ex", "po")},
        });
        cache.update(&update).unwrap();
        cache
    }

    #[test]
    fn each_mapping_to_a_bridge_gets_a_pair_of_ports() {
        let operations = planned(&cache("physnet:br-ex,other:br-none,bad"));
        let made: Vec<_> =
            operations.iter().filter_map(|operation| operation["row"]["options"][1][0][1].as_str()).collect();
        assert_eq!(made, ["patch-physnet", "patch-physnet-int"]);
        assert_eq!(operations.len(), 6);
        assert!(planned(&cache("physnet:br-int")).is_empty(), "no bridge leads to itself");
    }

    #[test]
    fn what_is_right_stays_and_what_is_not_mapped_goes() {
        assert_eq!(planned(&with_ports("physnet:br-ex")), Vec::<Value>::new());
        let gone = planned(&with_ports(""));
        assert_eq!(gone.len(), 2);
        assert!(gone.iter().all(|operation| operation["mutations"][0][1] == "delete"), "{gone:?}");
    }
}
