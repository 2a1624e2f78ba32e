//! A service: its addresses, its ports, how clients are spread.

use k8s_openapi::api::core::v1::{Service, ServicePort};
use serde_json::{Map, Value, json};

use super::{addresses, port_text, put, put_all, uid};
use crate::{List, Place};

/// A service's entry. `None`: it is another name for something (`ExternalName`), or has no uid that the datastore could name it by.
pub fn service(cluster: &str, service: &Service) -> Option<(Place, Value)> {
    let spec = service.spec.as_ref()?;
    if spec.type_.as_deref() == Some("ExternalName") {
        return None;
    }
    let uid = uid(&service.metadata)?;
    let given = spec.cluster_ips.iter().flatten().chain(&spec.cluster_ip);
    let is_headless = given.clone().any(|address| address == "None");
    let mut own = addresses(given).into_iter();
    let mut fields = Map::new();
    fields.insert("uid".into(), json!(uid));
    fields.insert(List::Services.owner().into(), json!(cluster));
    put(&mut fields, "name", service.metadata.name.clone());
    put(&mut fields, "network-NS", service.metadata.namespace.clone());
    put(&mut fields, "coeus-service:headless", is_headless.then_some(true));
    put(&mut fields, "cluster-ip-address", own.next());
    put_all(&mut fields, "coeus-service:secondary-cluster-ip-address", own.collect());
    put_all(&mut fields, "external-ip-address", addresses(spec.external_ips.iter().flatten()));
    let wished = addresses(spec.load_balancer_ip.iter());
    put(&mut fields, "load-balancer-IP", wished.into_iter().next());
    put_all(&mut fields, "ingress-ip-address", addresses(ingress(service)));
    // Of the default nothing is said: the entry stays as short as the object.
    let beside = |value: &Option<String>, default: &str| value.clone().filter(|value| value != default);
    let affinity = beside(&spec.session_affinity, "None");
    let configured = spec.session_affinity_config.as_ref().and_then(|config| config.client_ip.as_ref());
    let timeout = configured.and_then(|client| client.timeout_seconds).filter(|_| affinity.is_some());
    put(&mut fields, "coeus-service:session-affinity", affinity);
    // Longer than the model can say is as good as for ever: 65535 s are 18 hours, and Kubernetes allows a day.
    put(
        &mut fields,
        "coeus-service:session-affinity-timeout",
        timeout.map(|seconds| seconds.clamp(1, 65_535)),
    );
    put(
        &mut fields,
        "coeus-service:external-traffic-policy",
        beside(&spec.external_traffic_policy, "Cluster"),
    );
    put(
        &mut fields,
        "coeus-service:internal-traffic-policy",
        beside(&spec.internal_traffic_policy, "Cluster"),
    );
    put_all(&mut fields, "service-ports", spec.ports.iter().flatten().map(port).collect());
    Some((Place::new(List::Services, uid), Value::Object(fields)))
}

/// What outside is to lead here. An address that a proxy in front answers for (`ipMode: Proxy`) is not.
fn ingress(service: &Service) -> impl Iterator<Item = &String> {
    let all =
        service.status.iter().flat_map(|status| &status.load_balancer).flat_map(|balancer| &balancer.ingress);
    all.flatten().filter(|one| one.ip_mode.as_deref() != Some("Proxy")).filter_map(|one| one.ip.as_ref())
}

fn port(port: &ServicePort) -> Value {
    let mut fields = Map::new();
    put(&mut fields, "name", port.name.clone());
    fields.insert("port".into(), json!(port.port));
    put(&mut fields, "target-port", port.target_port.as_ref().map(port_text));
    put(&mut fields, "node-port", port.node_port.filter(|number| *number != 0));
    put(&mut fields, "coeus-service:protocol", port.protocol.clone().filter(|protocol| protocol != "TCP"));
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "bbbbbbbb-0000-4000-8000-000000000001";

    fn read(spec: Value, status: Value) -> Option<Value> {
        let read = json!({"metadata": {"name": "web", "namespace": "blue", "uid": UID}, "spec": spec, "status": status});
        service("c1", &serde_json::from_value(read).unwrap()).map(|(_, entry)| entry)
    }

    fn with(more: Value) -> Option<Value> {
        let mut entry = json!({"uid": UID, "cluster-id": "c1", "name": "web", "network-NS": "blue"});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Some(entry)
    }

    #[test]
    fn a_service_with_everything() {
        let spec = json!({
            "type": "LoadBalancer", "clusterIP": "10.96.0.10", "clusterIPs": ["10.96.0.10", "fd00::10"], "externalIPs": ["203.0.113.12"],
            "loadBalancerIP": "203.0.113.13", "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86400}},
            "externalTrafficPolicy": "Local", "internalTrafficPolicy": "Cluster",
            "ports": [{"name": "http", "port": 80, "targetPort": "web", "nodePort": 30080},
                      {"name": "dns", "port": 53, "targetPort": 5353, "protocol": "UDP"}]
        });
        let status = json!({"loadBalancer": {"ingress": [{"ip": "203.0.113.13"}, {"ip": "203.0.113.14", "ipMode": "Proxy"}, {"hostname": "lb"}]}});
        let ports = json!([{"name": "http", "port": 80, "target-port": "web", "node-port": 30080},
                           {"name": "dns", "port": 53, "target-port": "5353", "coeus-service:protocol": "UDP"}]);
        let wanted = with(json!({
            "cluster-ip-address": "10.96.0.10", "coeus-service:secondary-cluster-ip-address": ["fd00::10"], "external-ip-address": ["203.0.113.12"],
            "load-balancer-IP": "203.0.113.13", "ingress-ip-address": ["203.0.113.13"], "coeus-service:session-affinity": "ClientIP",
            "coeus-service:session-affinity-timeout": 65535, "coeus-service:external-traffic-policy": "Local", "service-ports": ports
        }));
        assert_eq!(read(spec, status), wanted);
    }

    #[test]
    fn a_headless_one_has_no_address() {
        let spec = json!({"clusterIP": "None", "clusterIPs": ["None"]});
        assert_eq!(read(spec, json!({})), with(json!({"coeus-service:headless": true})));
    }

    #[test]
    fn another_name_is_no_service() {
        assert_eq!(read(json!({"type": "ExternalName", "externalName": "db.example"}), json!({})), None);
    }

    #[test]
    fn what_is_no_address_is_left_out() {
        let read = read(
            json!({"clusterIP": "", "externalIPs": ["somewhere", "203.0.113.12", "203.0.113.12"]}),
            json!({}),
        );
        assert_eq!(read, with(json!({"external-ip-address": ["203.0.113.12"]})));
    }
}
