//! A pod: where it runs, its addresses, what policies know of it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Map, Value, json};

use super::{labels, put, put_all, uid};
use crate::{List, Place};

/// A pod's entry. `None`: it has no network of its own (now): it runs in its node's, has ended, was not given to a node, or has no uid that the
/// datastore could name it by. `node`: the address of its node, if that is known.
pub fn pod(cluster: &str, pod: &Pod, node: Option<IpAddr>) -> Option<(Place, Value)> {
    let (spec, status) = (pod.spec.as_ref()?, pod.status.clone().unwrap_or_default());
    let has_ended = matches!(status.phase.as_deref(), Some("Succeeded" | "Failed"));
    if spec.host_network == Some(true) || has_ended || spec.node_name.is_none() {
        return None;
    }
    let uid = uid(&pod.metadata)?;
    let addresses =
        status.pod_ips.iter().flatten().map(|one| one.ip.as_str()).chain(status.pod_ip.as_deref());
    let mut addresses = super::addresses(addresses).into_iter();
    let mut interface = Map::new();
    interface.insert("uid".into(), json!(uid));
    interface.insert("network-type".into(), json!("VXLAN"));
    put(&mut interface, "ip-address", addresses.next());
    put_all(&mut interface, "coeus-pod:secondary-ip-address", addresses.collect());
    let mut fields = Map::new();
    fields.insert("uid".into(), json!(uid));
    fields.insert(List::Pods.owner().into(), json!(cluster));
    put(&mut fields, "name", pod.metadata.name.clone());
    put(&mut fields, "network-NS", pod.metadata.namespace.clone());
    let host = node.or_else(|| status.host_ip.as_deref()?.parse().ok());
    put(&mut fields, "host-ip-address", host.map(|address| address.to_string()));
    fields.insert("interface".into(), json!([interface]));
    put_all(&mut fields, "coeus-policy:label", labels(pod.metadata.labels.as_ref()));
    put_all(&mut fields, "coeus-policy:named-port", named_ports(pod));
    Some((Place::new(List::Pods, uid), Value::Object(fields)))
}

/// Names of ports of its containers. Of two of one name and protocol the first counts.
fn named_ports(pod: &Pod) -> Vec<Value> {
    let mut found = BTreeMap::new();
    let containers =
        pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten().chain(&spec.containers));
    for port in containers.flat_map(|container| container.ports.iter().flatten()) {
        if let Some(name) = &port.name {
            let protocol = port.protocol.as_deref().unwrap_or("TCP");
            found.entry((name, protocol)).or_insert(port.container_port);
        }
    }
    let entry = |((name, protocol), port)| json!({"name": name, "protocol": protocol, "port": port});
    found.into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "aaaaaaaa-0000-4000-8000-000000000001";

    fn read(change: impl Fn(&mut Value)) -> Option<Value> {
        let mut read = json!({
            "metadata": {"name": "web-0", "namespace": "blue", "uid": UID, "labels": {"app": "web"}},
            "spec": {"nodeName": "n1", "containers": [
                {"name": "a", "ports": [{"name": "http", "containerPort": 8080}, {"containerPort": 9}]},
                {"name": "b", "ports": [{"name": "http", "containerPort": 8081}, {"name": "dns", "containerPort": 53, "protocol": "UDP"}]}]},
            "status": {"phase": "Running", "hostIP": "192.168.56.99", "podIP": "10.11.1.5",
                       "podIPs": [{"ip": "10.11.1.5"}, {"ip": "FD00:1::5"}]}
        });
        change(&mut read);
        let node = "192.168.56.11".parse().ok();
        pod("c1", &serde_json::from_value(read).unwrap(), node).map(|(_, entry)| entry)
    }

    #[test]
    fn a_pod_has_one_interface_with_all_addresses() {
        let interface = json!([{"uid": UID, "network-type": "VXLAN", "ip-address": "10.11.1.5", "coeus-pod:secondary-ip-address": ["fd00:1::5"]}]);
        let ports = json!([{"name": "dns", "protocol": "UDP", "port": 53}, {"name": "http", "protocol": "TCP", "port": 8080}]);
        let wanted = json!({
            "uid": UID, "cluster-id": "c1", "name": "web-0", "network-NS": "blue", "host-ip-address": "192.168.56.11", "interface": interface,
            "coeus-policy:label": [{"key": "app", "value": "web"}], "coeus-policy:named-port": ports
        });
        assert_eq!(read(|_| ()), Some(wanted));
    }

    #[test]
    fn who_has_no_network_of_his_own_is_not_there() {
        assert_eq!(read(|pod| pod["spec"]["hostNetwork"] = json!(true)), None);
        assert_eq!(read(|pod| pod["status"]["phase"] = json!("Succeeded")), None);
        assert_eq!(read(|pod| pod["status"]["phase"] = json!("Failed")), None);
        assert_eq!(read(|pod| pod["spec"]["nodeName"] = Value::Null), None);
    }

    #[test]
    fn a_pod_may_still_lack_its_address() {
        let entry = read(|pod| pod["status"] = Value::Null).unwrap();
        assert_eq!(entry["interface"], json!([{"uid": UID, "network-type": "VXLAN"}]));
        assert_eq!(entry["host-ip-address"], "192.168.56.11");
    }
}
