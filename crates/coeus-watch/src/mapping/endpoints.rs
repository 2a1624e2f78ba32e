//! Endpoints of a service, a slice at a time.

use std::net::IpAddr;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointSlice};
use serde_json::{Map, Value, json};

use super::{put, put_all, uid};
use crate::{List, Place};

/// Which endpoints of a slice serve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Serving {
    /// Those that are ready.
    Ready,
    /// No endpoint of the service is ready: those that are on their way out, and still serve.
    Leaving,
}

/// The entry of a slice; `None`: it belongs to no service, holds names instead of addresses, or has no uid that the datastore could name it by.
pub fn slice(cluster: &str, slice: &EndpointSlice, serving: Serving) -> Option<(Place, Value)> {
    let service = service_of(slice)?;
    if slice.address_type == "FQDN" {
        return None;
    }
    let uid = uid(&slice.metadata)?;
    let serving = slice.endpoints.iter().filter(|endpoint| serves(endpoint, serving));
    let mut fields = Map::new();
    fields.insert("uid".into(), json!(uid));
    fields.insert(List::Endpoints.owner().into(), json!(cluster));
    fields.insert("name".into(), json!(service));
    put(&mut fields, "network-NS", slice.metadata.namespace.clone());
    put_all(&mut fields, "endpoint-addresses", serving.flat_map(addresses).collect());
    put_all(&mut fields, "endpoint-ports", ports(slice));
    Some((Place::new(List::Endpoints, uid), Value::Object(fields)))
}

/// The service of a slice.
pub fn service_of(slice: &EndpointSlice) -> Option<&String> {
    slice.metadata.labels.as_ref()?.get("kubernetes.io/service-name").filter(|name| !name.is_empty())
}

/// Whether an endpoint is asked. What is not said of its conditions is taken to be well.
pub fn serves(endpoint: &Endpoint, serving: Serving) -> bool {
    let EndpointConditions { ready, serving: serves, terminating } =
        endpoint.conditions.clone().unwrap_or_default();
    match serving {
        Serving::Ready => ready.unwrap_or(true),
        Serving::Leaving => serves.unwrap_or(true) && terminating.unwrap_or(false),
    }
}

/// All addresses of an endpoint are the same one's; the first is to be used.
fn addresses(endpoint: &Endpoint) -> Option<Value> {
    let address: IpAddr = endpoint.addresses.first()?.parse().ok()?;
    let mut fields = Map::new();
    fields.insert("ip-address".into(), json!(address.to_string()));
    put(&mut fields, "host-name", endpoint.hostname.clone());
    put(&mut fields, "node-name", endpoint.node_name.clone());
    Some(Value::Object(fields))
}

fn ports(slice: &EndpointSlice) -> Vec<Value> {
    let ports = slice.ports.iter().flatten().filter_map(|port| {
        let mut fields = Map::new();
        put(&mut fields, "name", port.name.clone().filter(|name| !name.is_empty()));
        fields.insert("port".into(), json!(port.port?));
        put(
            &mut fields,
            "coeus-service:protocol",
            port.protocol.clone().filter(|protocol| protocol != "TCP"),
        );
        Some(Value::Object(fields))
    });
    ports.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "cccccccc-0000-4000-8000-000000000001";

    fn read(serving: Serving, change: impl Fn(&mut Value)) -> Option<Value> {
        let mut read = json!({
            "metadata": {"name": "web-x", "namespace": "blue", "uid": UID, "labels": {"kubernetes.io/service-name": "web"}},
            "addressType": "IPv4",
            "endpoints": [
                {"addresses": ["10.11.1.5"], "nodeName": "n1", "hostname": "web-0", "conditions": {"ready": true}},
                {"addresses": ["10.11.1.6"]},
                {"addresses": ["10.11.1.7"], "conditions": {"ready": false, "serving": true, "terminating": true}},
                {"addresses": ["10.11.1.8"], "conditions": {"ready": false, "serving": false, "terminating": true}}],
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}, {"name": "", "port": 53, "protocol": "UDP"}, {"name": "all"}]
        });
        change(&mut read);
        slice("c1", &serde_json::from_value(read).unwrap(), serving).map(|(_, entry)| entry)
    }

    #[test]
    fn who_is_ready_serves() {
        let addresses = json!([{"ip-address": "10.11.1.5", "host-name": "web-0", "node-name": "n1"}, {"ip-address": "10.11.1.6"}]);
        let ports = json!([{"name": "http", "port": 8080}, {"port": 53, "coeus-service:protocol": "UDP"}]);
        let wanted = json!({
            "uid": UID, "cluster-id": "c1", "name": "web", "network-NS": "blue", "endpoint-addresses": addresses, "endpoint-ports": ports
        });
        assert_eq!(read(Serving::Ready, |_| ()), Some(wanted));
    }

    #[test]
    fn who_leaves_serves_when_nobody_is_ready() {
        let entry = read(Serving::Leaving, |_| ()).unwrap();
        assert_eq!(entry["endpoint-addresses"], json!([{"ip-address": "10.11.1.7"}]));
    }

    #[test]
    fn names_and_strays_are_left_out() {
        assert_eq!(read(Serving::Ready, |slice| slice["addressType"] = json!("FQDN")), None);
        assert_eq!(read(Serving::Ready, |slice| slice["metadata"]["labels"] = json!({})), None);
    }
}
