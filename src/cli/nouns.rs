//! Pods, services and nodes as people think of them: tables made from several parts of the datastore.

use serde_json::{Value, json};

use super::output::{Format, print, show};
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
    let states = client.data_if_any("coeus-service:service-states")?;
    let states = entries(&states, "coeus-service:service-states", "service");
    let found = wanted(services, listing, "name", "network-NS")?;
    show(&Value::Array(found), listing.output, |found| {
        service_table(found.as_array().map(Vec::as_slice).unwrap_or_default(), &states)
    })
}

/// Services, each with what became of it.
fn service_table(services: &[Value], states: &[Value]) -> Table {
    let mut table = Table::new([
        "NAMESPACE",
        "SERVICE",
        "CLUSTER-IP",
        "EXTERNAL-IP",
        "PORTS",
        "ENDPOINTS",
        "STATE",
        "REASON",
    ]);
    for service in services {
        let cell = |name: &str| service.get(name).map(plain).unwrap_or_default();
        let state = states.iter().find(|state| state.get("uid") == service.get("uid"));
        let of_state = |leaf: &str| state.and_then(|state| state.get(leaf));
        let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
        let texts = |value: Option<&Value>| list(value).iter().map(plain).collect::<Vec<_>>();
        let port = |port: &Value| {
            let part = |name: &str| port.get(name).map(plain).unwrap_or_default();
            format!("{}/{}", part("number"), part("protocol"))
        };
        let ports = list(of_state("port"));
        let endpoints: std::collections::BTreeSet<String> =
            ports.iter().flat_map(|port| texts(port.get("endpoint"))).collect();
        let ports = ports.iter().map(port).collect::<Vec<_>>().join(",");
        let reasons = texts(of_state("reason")).join("; ");
        let addresses = match texts(of_state("address")) {
            none if none.is_empty() => cell("cluster-ip-address"),
            some => some.join(","),
        };
        let (external, state) =
            (cell("external-ip-address"), of_state("state").map(plain).unwrap_or_default());
        let (namespace, name) = (cell("network-NS"), cell("name"));
        table.row([namespace, name, addresses, external, ports, endpoints.len().to_string(), state, reasons]);
    }
    table
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
        node_table(found.as_array().map(Vec::as_slice).unwrap_or_default(), listing.output == Format::Wide)
    })
}

/// Switches, each with whether both of its sessions are up, and if not, why.
fn node_table(switches: &[Value], wide: bool) -> Table {
    let mut table = if wide {
        Table::new([
            "SWITCH",
            "OPENFLOW",
            "OVSDB",
            "LAST-SEEN",
            "FROM",
            "PROGRAMMED",
            "FLOWS",
            "GROUPS",
            "FOREIGN",
            "ERRORS",
            "LOST",
        ])
    } else {
        Table::new(["SWITCH", "OPENFLOW", "OVSDB", "LAST-SEEN", "PROGRAMMED", "FLOWS", "ERRORS", "LOST"])
    };
    for switch in switches {
        let cell = |name: &str| switch.get(name).map(plain).unwrap_or_default();
        let of = |session: &str, leaf: &str| {
            switch.get(session).and_then(|session| session.get(leaf)).map(plain).unwrap_or_default()
        };
        let errors = switch.get("error").and_then(Value::as_array).map_or(0, Vec::len).to_string();
        let up = |session: &str| match of(session, "connected").as_str() {
            "true" => "up".to_owned(),
            "false" => "down".to_owned(),
            _ => "never".to_owned(),
        };
        let (openflow, ovsdb) = (up("openflow-session"), up("ovsdb-session"));
        let seen = of("openflow-session", "last-seen").max(of("ovsdb-session", "last-seen"));
        let lost = lost(switch);
        let (dpid, programmed, flows) = (cell("dpid"), cell("programmed-revision"), cell("desired-flows"));
        if wide {
            let (groups, foreign) = (cell("desired-groups"), cell("foreign-flows"));
            let from = cell("peer");
            table.row([dpid, openflow, ovsdb, seen, from, programmed, flows, groups, foreign, errors, lost]);
        } else {
            table.row([dpid, openflow, ovsdb, seen, programmed, flows, errors, lost]);
        }
    }
    table
}

/// Why the sessions that are down were lost.
fn lost(switch: &Value) -> String {
    let of = |(session, name): (&str, &str)| {
        let session = switch.get(session)?;
        if session.get("connected")?.as_bool()? {
            return None;
        }
        Some(format!("{name}: {}", plain(session.get("last-loss")?.get("reason")?)))
    };
    let both = [("openflow-session", "OpenFlow"), ("ovsdb-session", "OVSDB")];
    both.into_iter().filter_map(of).collect::<Vec<_>>().join("; ")
}

/// A node that leaves.
#[derive(clap::Args, Debug, Clone)]
pub struct Leave {
    /// The node by any of its names: datapath id, openflow:N, tunnel address, Kubernetes uid or host name
    pub node: String,
    /// Keep the configuration of its pods
    #[arg(long)]
    pub keep_pods: bool,
    /// Only say what would go
    #[arg(long)]
    pub dry_run: bool,
    #[arg(short, long, value_enum, default_value = "table")]
    pub output: Format,
}

/// `coeus leave`.
pub fn leave(client: &Client, leave: &Leave) -> Result<(), Failure> {
    let input = json!({ "node": leave.node, "keep-pods": leave.keep_pods, "dry-run": leave.dry_run });
    let gone = client.call("coeus-node", "leave", input)?;
    show(&gone, leave.output, |gone| {
        let mut table = Table::new(["GONE", "NAME"]);
        for (what, list) in
            [("switch", "switch"), ("kubernetes node", "kubernetes-node"), ("pod", "pod"), ("lease", "lease")]
        {
            for name in gone.get(list).and_then(Value::as_array).into_iter().flatten() {
                table.row([what.to_owned(), plain(name)]);
            }
        }
        table
    })
}

/// `coeus join`.
pub fn join(client: &Client, node: &str) -> Result<(), Failure> {
    client.call("coeus-node", "join", json!({ "node": node }))?;
    print(format!("{node} may come back; it is set up as soon as it is connected\n"))
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
    use super::*;

    #[test]
    fn a_node_that_is_away_says_why_and_since_when() {
        let switch = json!({"dpid": "000a", "ovsdb-session": {"connected": true, "last-seen": "2026-01-01T00:00:09Z"},
            "openflow-session": {"connected": false, "last-seen": "2026-01-01T00:00:01Z",
                "last-loss": {"time": "2026-01-01T00:00:02Z", "reason": "no answer to an echo request"}}});
        let table = node_table(&[switch, json!({"dpid": "000b"})], false);
        assert_eq!(table.rows[0][1..4], ["down", "up", "2026-01-01T00:00:09Z"]);
        assert_eq!(table.rows[0][7], "OpenFlow: no answer to an echo request");
        assert_eq!(table.rows[1][1..3], ["never", "never"]);
        assert_eq!(node_table(&[], true).header.len(), 11);
    }

    #[test]
    fn a_service_shows_what_became_of_it() {
        let service =
            json!({"uid": "1", "name": "web", "network-NS": "blue", "cluster-ip-address": "10.96.0.1"});
        let state = json!({"uid": "1", "state": "waiting", "address": ["10.96.0.1", "fd96::1"], "reason": ["no endpoint"],
            "port": [{"protocol": "TCP", "number": 80, "endpoint": ["10.0.0.1:80", "10.0.0.2:80"]}, {"protocol": "UDP", "number": 53}]});
        let table = service_table(std::slice::from_ref(&service), &[state]);
        let row = ["blue", "web", "10.96.0.1,fd96::1", "", "80/TCP,53/UDP", "2", "waiting", "no endpoint"];
        assert_eq!(table.rows[0], row);
        assert_eq!(service_table(&[service], &[]).rows[0][2..], ["10.96.0.1", "", "", "0", "", ""]);
    }

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
