//! Lines of watches of a Kubernetes API, one JSON document each: `{"type": …, "object": …}`. Whatever is told, the entries are those of a cluster that was told
//! only what is there in the end.

use std::collections::BTreeMap;

use coeus_watch::{Cluster, Kind, Name, Object};
use k8s_openapi::api::core::v1::{Endpoints, Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use serde_json::Value;

pub fn take(bytes: &[u8]) {
    let mut cluster = Cluster::new("c1");
    let mut there: BTreeMap<(Kind, Name), Object> = BTreeMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
        let Some(object) = line.get("object").and_then(object) else { continue };
        let id = (object.kind(), object.name());
        match line["type"].as_str() {
            Some("ADDED" | "MODIFIED") => cluster.put(object.clone()),
            Some("DELETED") => cluster.remove(id.0, id.1.clone(), object.version()),
            // As a list that begins anew.
            Some("LISTED") => cluster.replace(id.0, [object.clone()]),
            _ => continue,
        }
        match line["type"].as_str() {
            Some("DELETED") => drop(there.remove(&id)),
            Some("LISTED") => {
                there.retain(|(kind, _), _| *kind != id.0);
                there.insert(id, object);
            }
            _ => drop(there.insert(id, object)),
        }
    }
    // Versions say that what comes later may be older; without them the last word counts.
    if there.values().all(|object| object.version().is_none()) {
        let mut afresh = Cluster::new("c1");
        there.into_values().for_each(|object| afresh.put(object));
        if !had_versions(bytes) {
            assert_eq!(cluster.entries(), afresh.entries());
        }
    }
}

fn had_versions(bytes: &[u8]) -> bool {
    bytes.windows(b"resourceVersion".len()).any(|part| part == b"resourceVersion") || bytes.contains(&b'\\')
}

fn object(value: &Value) -> Option<Object> {
    let text = value.to_string();
    macro_rules! read {
        ($type:ty) => {
            serde_json::from_str::<$type>(&text).ok().map(Object::from)
        };
    }
    match value["kind"].as_str()? {
        "Namespace" => read!(Namespace),
        "Node" => read!(Node),
        "Pod" => read!(Pod),
        "Service" => read!(Service),
        "EndpointSlice" => read!(EndpointSlice),
        "Endpoints" => read!(Endpoints),
        "NetworkPolicy" => read!(NetworkPolicy),
        _ => None,
    }
}
