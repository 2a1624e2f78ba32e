//! Endpoints of a service whose slices do not exist: an entry a subset, as each has its own ports.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints};
use serde_json::{Map, Value, json};

use super::{put, put_all, uid};
use crate::{List, Place};

/// The entries of endpoints; those that are not ready are left out. None: they have no uid that the datastore could name them by.
pub fn endpoints(cluster: &str, endpoints: &Endpoints) -> Vec<(Place, Value)> {
    let Some(uid) = uid(&endpoints.metadata) else { return Vec::new() };
    let entry = |(number, subset): (usize, &EndpointSubset)| {
        let uid = numbered(&uid, number)?;
        let mut fields = Map::new();
        fields.insert("uid".into(), json!(uid));
        fields.insert(List::Endpoints.owner().into(), json!(cluster));
        put(&mut fields, "name", endpoints.metadata.name.clone());
        put(&mut fields, "network-NS", endpoints.metadata.namespace.clone());
        put_all(
            &mut fields,
            "endpoint-addresses",
            subset.addresses.iter().flatten().filter_map(address).collect(),
        );
        put_all(&mut fields, "endpoint-ports", subset.ports.iter().flatten().map(port).collect());
        Some((Place::new(List::Endpoints, uid), Value::Object(fields)))
    };
    endpoints.subsets.iter().flatten().enumerate().filter_map(entry).collect()
}

/// The first subset has the uid of its endpoints. Each further one has one of version 8 (RFC 9562 section 5.8), which Kubernetes makes none of: their
/// number is added to the first 32 bits.
fn numbered(uid: &str, number: usize) -> Option<String> {
    if number == 0 {
        return Some(uid.to_owned());
    }
    let first = u32::from_str_radix(uid.get(..8)?, 16).ok()?.wrapping_add(u32::try_from(number).ok()?);
    Some(format!("{first:08x}{}8{}", uid.get(8..14)?, uid.get(15..)?))
}

fn address(address: &EndpointAddress) -> Option<Value> {
    let ip: IpAddr = address.ip.parse().ok()?;
    let mut fields = Map::new();
    fields.insert("ip-address".into(), json!(ip.to_string()));
    put(&mut fields, "host-name", address.hostname.clone().filter(|name| !name.is_empty()));
    put(&mut fields, "node-name", address.node_name.clone());
    Some(Value::Object(fields))
}

fn port(port: &EndpointPort) -> Value {
    let mut fields = Map::new();
    put(&mut fields, "name", port.name.clone().filter(|name| !name.is_empty()));
    fields.insert("port".into(), json!(port.port));
    put(&mut fields, "coeus-service:protocol", port.protocol.clone().filter(|protocol| protocol != "TCP"));
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subset_counts() {
        let read = json!({
            "metadata": {"name": "dns", "namespace": "blue", "uid": "cccccccc-0000-4000-8000-000000000001"},
            "subsets": [
                {"addresses": [{"ip": "10.11.1.5", "nodeName": "n1"}, {"ip": "FD00::5"}], "notReadyAddresses": [{"ip": "10.11.1.6"}],
                 "ports": [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "tcp", "port": 53}]},
                {"addresses": [{"ip": "10.11.1.7"}], "ports": [{"port": 9153, "protocol": "TCP"}]}]
        });
        let made = endpoints("c1", &serde_json::from_value(read).unwrap());
        let entry = |uid: &str, addresses: Value, ports: Value| {
            let value = json!({"uid": uid, "cluster-id": "c1", "name": "dns", "network-NS": "blue", "endpoint-addresses": addresses, "endpoint-ports": ports});
            (Place::new(List::Endpoints, uid), value)
        };
        let first = entry(
            "cccccccc-0000-4000-8000-000000000001",
            json!([{"ip-address": "10.11.1.5", "node-name": "n1"}, {"ip-address": "fd00::5"}]),
            json!([{"name": "dns", "port": 53, "coeus-service:protocol": "UDP"}, {"name": "tcp", "port": 53}]),
        );
        let second = entry(
            "cccccccd-0000-8000-8000-000000000001",
            json!([{"ip-address": "10.11.1.7"}]),
            json!([{"port": 9153}]),
        );
        assert_eq!(made, [first, second]);
    }

    #[test]
    fn what_has_no_uuid_is_left_out() {
        let read = json!({"metadata": {"name": "dns", "uid": "x"}, "subsets": [{"addresses": [{"ip": "10.0.0.1"}]}]});
        assert_eq!(endpoints("c1", &serde_json::from_value(read).unwrap()), []);
    }
}
