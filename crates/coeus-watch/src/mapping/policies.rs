//! A network policy.

use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort};
use serde_json::{Map, Value, json};

use super::{port_text, put, put_all, selector, uid};
use crate::{List, Place};

/// A policy's entry; `None`: it has no uid that the datastore could name it by.
pub fn policy(cluster: &str, policy: &NetworkPolicy) -> Option<(Place, Value)> {
    let uid = uid(&policy.metadata)?;
    let spec = policy.spec.clone().unwrap_or_default();
    let mut said = Map::new();
    let selected = selector(&spec.pod_selector.unwrap_or_default());
    put(&mut said, "pod-selector", Some(selected).filter(|selected| *selected != json!({})));
    let ingress = spec.ingress.iter().flatten().map(|rule| {
        rule_of(
            "network-policy-ingress-rule",
            ("from", rule.from.as_deref()),
            ("ingress-ports", rule.ports.as_deref()),
        )
    });
    put_all(&mut said, "ingress", ingress.collect());
    let egress = spec.egress.iter().flatten().map(|rule| {
        rule_of(
            "network-policy-egress-rule",
            ("to", rule.to.as_deref()),
            ("egress-ports", rule.ports.as_deref()),
        )
    });
    put_all(&mut said, "egress", egress.collect());
    let types = spec.policy_types.iter().flatten().map(|kind| json!(kind.to_ascii_lowercase()));
    put_all(&mut said, "policy-types", types.collect());
    let mut fields = Map::new();
    fields.insert("uuid".into(), json!(uid));
    fields.insert(List::Policies.owner().into(), json!(cluster));
    put(&mut fields, "name", policy.metadata.name.clone());
    put(&mut fields, "coeus-policy:namespace", policy.metadata.namespace.clone());
    fields.insert("network-policy-spec".into(), Value::Object(said));
    Some((Place::new(List::Policies, uid), Value::Object(fields)))
}

fn rule_of(
    name: &str,
    (peers_name, peers): (&str, Option<&[NetworkPolicyPeer]>),
    (ports_name, ports): (&str, Option<&[NetworkPolicyPort]>),
) -> Value {
    let mut fields = Map::new();
    put_all(&mut fields, peers_name, peers.into_iter().flatten().map(peer).collect());
    put_all(&mut fields, ports_name, ports.into_iter().flatten().map(port).collect());
    json!({name: fields})
}

fn peer(peer: &NetworkPolicyPeer) -> Value {
    let mut fields = Map::new();
    put(&mut fields, "peer-pod-selector", peer.pod_selector.as_ref().map(selector));
    put(&mut fields, "peer-namespace-selector", peer.namespace_selector.as_ref().map(selector));
    let block = peer.ip_block.as_ref().map(|block| {
        let mut fields = Map::new();
        fields.insert("cidr".into(), json!(block.cidr));
        let except = block.except.iter().flatten().map(|except| json!(except)).collect();
        put_all(&mut fields, "except", except);
        Value::Object(fields)
    });
    put(&mut fields, "ip-block", block);
    json!({"network-policy-peer": fields})
}

fn port(port: &NetworkPolicyPort) -> Value {
    let mut fields = Map::new();
    // Kubernetes: TCP, if nothing is said.
    fields.insert("protocol".into(), json!(port.protocol.as_deref().unwrap_or("TCP")));
    put(&mut fields, "port", port.port.as_ref().map(port_text));
    put(&mut fields, "coeus-policy:end-port", port.end_port);
    json!({"network-policy-port": fields})
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "dddddddd-0000-4000-8000-000000000001";

    fn read(spec: Value) -> Value {
        let read = json!({"metadata": {"name": "db", "namespace": "blue", "uid": UID}, "spec": spec});
        policy("c1", &serde_json::from_value(read).unwrap()).unwrap().1["network-policy-spec"].clone()
    }

    #[test]
    fn rules_have_peers_and_ports() {
        let spec = json!({
            "podSelector": {"matchLabels": {"app": "db"}},
            "ingress": [{
                "from": [{"podSelector": {}, "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}},
                         {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}],
                "ports": [{"port": 5432}, {"port": "web", "protocol": "UDP"}, {"port": 1000, "endPort": 2000, "protocol": "SCTP"}]}],
            "egress": [{}], "policyTypes": ["Ingress", "Egress"]
        });
        let peers = json!([
            {"network-policy-peer": {"peer-pod-selector": {}, "peer-namespace-selector": {"coeus-policy:match-expressions": [
                {"key": "team", "operator": "In", "values": ["a", "b"]}]}}},
            {"network-policy-peer": {"ip-block": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}}]);
        let ports = json!([
            {"network-policy-port": {"protocol": "TCP", "port": "5432"}},
            {"network-policy-port": {"protocol": "UDP", "port": "web"}},
            {"network-policy-port": {"protocol": "SCTP", "port": "1000", "coeus-policy:end-port": 2000}}]);
        let wanted = json!({
            "pod-selector": {"match-labels": [{"key": "app", "value": "db"}]},
            "ingress": [{"network-policy-ingress-rule": {"from": peers, "ingress-ports": ports}}],
            "egress": [{"network-policy-egress-rule": {}}], "policy-types": ["ingress", "egress"]
        });
        assert_eq!(read(spec), wanted);
    }

    #[test]
    fn all_pods_and_nothing_allowed() {
        assert_eq!(
            read(json!({"podSelector": {}, "policyTypes": ["Ingress"]})),
            json!({"policy-types": ["ingress"]})
        );
    }
}
