//! Pods, services and nodes as people think of them: tables made from several parts of the datastore.

use serde_json::Value;

use super::output::{Format, show};
use super::table::plain;
use super::{Client, Failure, Table};

/// What to list.
#[derive(clap::Args, Debug, Clone)]
pub struct Listing {
    /// Only the one with this name
    pub name: Option<String>,
    /// Only this namespace
    #[arg(short, long)]
    pub namespace: Option<String>,
    #[arg(short, long, value_enum, default_value = "table")]
    pub output: Format,
}

/// `coeus pods`.
pub fn pods(client: &Client, listing: &Listing) -> Result<(), Failure> {
    let objects = client.data_if_any("coeus-status:objects")?;
    let switches = client.data_if_any("coeus-status:switches")?;
    let objects = entries(&objects, "coeus-status:objects", "object");
    let found = wanted(objects, listing, "pod-name", "namespace")?;
    show(&Value::Array(found), listing.output, |found| {
        pod_table(
            found.as_array().map(Vec::as_slice).unwrap_or_default(),
            &switches,
            listing.output == Format::Wide,
        )
    })
}

/// Interfaces of pods, each with how far its network is.
fn pod_table(objects: &[Value], switches: &Value, wide: bool) -> Table {
    let mut table = if wide {
        Table::new([
            "NAMESPACE",
            "POD",
            "ADDRESS",
            "STATE",
            "NODE",
            "PORT",
            "MAC",
            "GATEWAY",
            "INTERFACE",
            "REASON",
        ])
    } else {
        Table::new(["NAMESPACE", "POD", "ADDRESS", "STATE", "NODE", "REASON"])
    };
    for object in objects {
        let cell = |name: &str| object.get(name).map(plain).unwrap_or_default();
        let reason = match object.get("reason") {
            Some(Value::Array(reasons)) => reasons.iter().map(plain).collect::<Vec<_>>().join("; "),
            _ => String::new(),
        };
        let state = state(object, switches);
        let (namespace, pod, address, node) =
            (cell("namespace"), cell("pod-name"), cell("address"), cell("switch"));
        if wide {
            let (port, mac, gateway, name) =
                (cell("port"), cell("mac-address"), cell("gateway"), cell("name"));
            table.row([namespace, pod, address, state, node, port, mac, gateway, name, reason]);
        } else {
            table.row([namespace, pod, address, state, node, reason]);
        }
    }
    table
}

/// `pending`, `failed`, `programmed`, or `desired` while the switch has not confirmed it.
pub fn state(object: &Value, switches: &Value) -> String {
    let state = object.get("state").map(plain).unwrap_or_default();
    let revision = |value: Option<&Value>| value.map(plain).and_then(|text| text.parse::<u64>().ok());
    let told = entries(switches, "coeus-status:switches", "switch")
        .iter()
        .find(|switch| switch.get("dpid").is_some() && switch.get("dpid") == object.get("switch"))
        .and_then(|switch| revision(switch.get("programmed-revision")));
    match (state.as_str(), revision(object.get("desired-revision")), told) {
        ("desired", Some(desired), Some(programmed)) if programmed >= desired => "programmed".into(),
        _ => state,
    }
}

/// `coeus services`.
pub fn services(client: &Client, listing: &Listing) -> Result<(), Failure> {
    let data = client.data_if_any("service:service-information")?;
    let services = entries(&data, "service:service-information", "services");
    let found = wanted(services, listing, "name", "network-NS")?;
    show(&Value::Array(found), listing.output, |found| {
        let mut table =
            Table::new(["NAMESPACE", "SERVICE", "CLUSTER-IP", "EXTERNAL-IP", "PORTS", "ENDPOINTS"]);
        for service in found.as_array().into_iter().flatten() {
            let cell = |name: &str| service.get(name).map(plain).unwrap_or_default();
            let ports = service.get("service-ports").and_then(Value::as_array).cloned().unwrap_or_default();
            let port = |port: &Value| {
                let part = |name: &str| port.get(name).map(plain).unwrap_or_default();
                format!("{}/{}", part("port"), part("protocol")).trim_end_matches('/').to_owned()
            };
            let ports = ports.iter().map(port).collect::<Vec<_>>().join(",");
            let endpoints =
                service.get("endpoints").and_then(Value::as_array).map_or(0, Vec::len).to_string();
            let (cluster, external) = (cell("cluster-ip-address"), cell("external-ip-address"));
            table.row([cell("network-NS"), cell("name"), cluster, external, ports, endpoints]);
        }
        table
    })
}

/// `coeus nodes`: switches, and what they were told.
pub fn nodes(client: &Client, listing: &Listing) -> Result<(), Failure> {
    let data = client.data_if_any("coeus-status:switches")?;
    let switches = entries(&data, "coeus-status:switches", "switch");
    let found: Vec<Value> = switches
        .into_iter()
        .filter(|switch| {
            listing.name.as_ref().is_none_or(|name| switch.get("dpid").map(plain).as_ref() == Some(name))
        })
        .collect();
    if let (Some(name), true) = (&listing.name, found.is_empty()) {
        return Err(Failure::NotFound(format!("there is no switch {name}; `coeus nodes` lists all")));
    }
    show(&Value::Array(found), listing.output, |found| {
        let mut table =
            Table::new(["SWITCH", "CONNECTED", "FROM", "PROGRAMMED", "FLOWS", "GROUPS", "FOREIGN", "ERRORS"]);
        for switch in found.as_array().into_iter().flatten() {
            let cell = |name: &str| switch.get(name).map(plain).unwrap_or_default();
            let errors = switch.get("error").and_then(Value::as_array).map_or(0, Vec::len).to_string();
            table.row([
                cell("dpid"),
                cell("connected"),
                cell("peer"),
                cell("programmed-revision"),
                cell("desired-flows"),
                cell("desired-groups"),
                cell("foreign-flows"),
                errors,
            ]);
        }
        table
    })
}

/// The entries of a list in a container.
pub fn entries(data: &Value, container: &str, list: &str) -> Vec<Value> {
    let found = data.get(container).and_then(|inside| inside.get(list)).and_then(Value::as_array);
    found.cloned().unwrap_or_default()
}

fn wanted(
    entries: Vec<Value>,
    listing: &Listing,
    name: &str,
    namespace: &str,
) -> Result<Vec<Value>, Failure> {
    let is = |entry: &Value, leaf: &str, wanted: &Option<String>| {
        wanted.as_ref().is_none_or(|wanted| entry.get(leaf).map(plain).as_ref() == Some(wanted))
    };
    let found: Vec<Value> = entries
        .into_iter()
        .filter(|entry| is(entry, name, &listing.name) && is(entry, namespace, &listing.namespace))
        .collect();
    match &listing.name {
        Some(name) if found.is_empty() => Err(Failure::NotFound(format!("there is no {name:?}"))),
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_is_programmed_once_its_switch_is_as_far() {
        let switches = |revision: &str| json!({"coeus-status:switches": {"switch": [{"dpid": "000a", "programmed-revision": revision}]}});
        let pod = json!({"pod-name": "web", "namespace": "blue", "state": "desired", "switch": "000a",
                         "desired-revision": "7", "address": "10.0.0.2"});
        assert_eq!(state(&pod, &switches("7")), "programmed");
        assert_eq!(state(&pod, &switches("6")), "desired");
        assert_eq!(state(&pod, &Value::Null), "desired");
        let waits = json!({"pod-name": "db", "namespace": "blue", "state": "pending", "reason": ["no port", "no ip"]});
        let table = pod_table(&[pod, waits], &switches("9"), false);
        assert_eq!(table.rows[0][3], "programmed");
        assert_eq!(table.rows[1][5], "no port; no ip");
        assert_eq!(pod_table(&[], &Value::Null, true).header.len(), 10);
    }
}
