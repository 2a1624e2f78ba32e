//! A node: its name, its addresses, the addresses of its pods.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::Node;
use serde_json::{Map, Value, json};

use super::{put, uid};
use crate::{List, Place};

/// A node's entry; `None`: it has no uid that the datastore could name it by.
pub fn node(cluster: &str, node: &Node) -> Option<(Place, Value)> {
    let uid = uid(&node.metadata)?;
    let mut fields = Map::new();
    fields.insert("uid".into(), json!(uid));
    fields.insert(List::Nodes.owner().into(), json!(cluster));
    put(&mut fields, "host-name", node.metadata.name.clone());
    put(&mut fields, "internal-ip-address", internal_address(node).map(|address| address.to_string()));
    put(&mut fields, "external-ip-address", address(node, "ExternalIP").map(|address| address.to_string()));
    put(&mut fields, "pod-cidr", node.spec.as_ref().and_then(|spec| spec.pod_cidr.clone()));
    Some((Place::new(List::Nodes, uid), Value::Object(fields)))
}

/// Where a node's switch has its tunnels.
pub fn internal_address(node: &Node) -> Option<IpAddr> {
    address(node, "InternalIP")
}

/// The first address of a kind that is one.
fn address(node: &Node, kind: &str) -> Option<IpAddr> {
    let all = node.status.as_ref()?.addresses.iter().flatten();
    all.filter(|address| address.type_ == kind).find_map(|address| address.address.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart() {
        let read = json!({
            "metadata": {"name": "n1", "uid": "aaaaaaaa-0000-4000-8000-000000000001"},
            "spec": {"podCIDR": "10.11.1.0/24", "podCIDRs": ["10.11.1.0/24"]},
            "status": {"addresses": [
                {"type": "Hostname", "address": "n1"}, {"type": "InternalIP", "address": "192.168.56.11"},
                {"type": "InternalIP", "address": "fd00::11"}, {"type": "ExternalIP", "address": "not yet"}]}
        });
        let (place, entry) = node("c1", &serde_json::from_value(read).unwrap()).unwrap();
        assert_eq!(
            place.to_string(),
            "/k8s-node:k8s-nodes-info/k8s-nodes=aaaaaaaa-0000-4000-8000-000000000001"
        );
        let wanted = json!({
            "uid": "aaaaaaaa-0000-4000-8000-000000000001", "cluster-id": "c1", "host-name": "n1",
            "internal-ip-address": "192.168.56.11", "pod-cidr": "10.11.1.0/24"
        });
        assert_eq!(entry, wanted);
    }
}
