//! A pod: where it runs, its addresses, what policies know of it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Map, Value, json};

use super::quantity::quantity;
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
    put_all(&mut interface, "coeus-pod:host-port", host_ports(pod));
    put(&mut interface, "coeus-pod:bandwidth", bandwidth(pod));
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

/// Ports of its node that lead to its containers, those beside which others start included, as kubelet has it. Of two of one
/// place the first counts.
fn host_ports(pod: &Pod) -> Vec<Value> {
    let mut found = BTreeMap::new();
    let spec = pod.spec.iter();
    let beside = spec.clone().flat_map(|spec| spec.init_containers.iter().flatten());
    let beside = beside.filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let containers = spec.flat_map(|spec| &spec.containers).chain(beside);
    for port in containers.flat_map(|container| container.ports.iter().flatten()) {
        let Some(number) = port.host_port.filter(|number| *number != 0) else { continue };
        let protocol = port.protocol.as_deref().unwrap_or("TCP");
        let address = port.host_ip.as_deref().and_then(|text| text.parse::<IpAddr>().ok());
        found.entry((protocol, number, address)).or_insert(port.container_port);
    }
    let entry = |((protocol, port, address), target): ((&str, i32, Option<IpAddr>), i32)| {
        let address = address.map_or("any".to_owned(), |address| address.to_string());
        json!({"protocol": protocol, "port": port, "address": address, "container-port": target})
    };
    found.into_iter().map(entry).collect()
}

/// Bits a second that are no slip. Source: Kubernetes, pkg/util/bandwidth.
const REASONABLE: RangeInclusive<u64> = 1_000..=1_000_000_000_000_000;

/// How fast it may receive and send.
fn bandwidth(pod: &Pod) -> Option<Value> {
    let annotations = pod.metadata.annotations.as_ref()?;
    let mut fields = Map::new();
    for way in ["ingress", "egress"] {
        let written = annotations.get(&format!("kubernetes.io/{way}-bandwidth"));
        let rate = written.and_then(|text| quantity(text)).filter(|rate| REASONABLE.contains(rate));
        put(&mut fields, &format!("{way}-rate"), rate.map(|rate| rate.to_string()));
    }
    (!fields.is_empty()).then_some(Value::Object(fields))
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
    fn host_ports_are_those_of_containers_that_stay() {
        let entry = read(|pod| {
            pod["spec"]["containers"][0]["ports"] = json!([
                {"containerPort": 8080, "hostPort": 80}, {"containerPort": 9},
                {"containerPort": 8081, "hostPort": 80}, {"containerPort": 53, "hostPort": 53, "protocol": "UDP", "hostIP": "192.0.2.1"}]);
            let port = |number: u16| json!([{"containerPort": number, "hostPort": number}]);
            pod["spec"]["initContainers"] = json!([{"name": "once", "ports": port(1)}, {"name": "beside", "restartPolicy": "Always", "ports": port(2)}]);
        });
        let of = |protocol: &str, port: u16, address: &str, target: u16| json!({"protocol": protocol, "port": port, "address": address, "container-port": target});
        let wanted =
            json!([of("TCP", 2, "any", 2), of("TCP", 80, "any", 8080), of("UDP", 53, "192.0.2.1", 53)]);
        assert_eq!(entry.unwrap()["interface"][0]["coeus-pod:host-port"], wanted);
    }

    #[test]
    fn limits_are_annotations() {
        let limits = |ingress: &str, egress: &str| {
            let annotations =
                json!({"kubernetes.io/ingress-bandwidth": ingress, "kubernetes.io/egress-bandwidth": egress});
            let entry = read(|pod| pod["metadata"]["annotations"] = annotations.clone()).unwrap();
            entry["interface"][0]["coeus-pod:bandwidth"].clone()
        };
        assert_eq!(limits("10M", "1500k"), json!({"ingress-rate": "10000000", "egress-rate": "1500000"}));
        assert_eq!(limits("10M", "fast"), json!({"ingress-rate": "10000000"}));
        assert_eq!(limits("1", "1E"), Value::Null, "kubelet takes them for slips");
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
