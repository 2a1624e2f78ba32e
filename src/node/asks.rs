//! Ports of the node and limits that a runtime asks for: written to the pod's entry, where nobody has said them already.

use std::net::IpAddr;

use coeus_cni::{Bandwidth, Code, Error, PortMapping, Protocol, Request};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::Agent;
use super::add::Undo;
use super::entry::{Entry, Interface, list, text};
use super::target::Target;

const HOST_PORT: &str = "coeus-pod:host-port";
const BANDWIDTH: &str = "coeus-pod:bandwidth";

/// A port of the node that leads to a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    pub protocol: Protocol,
    pub port: u16,
    /// `None`: at each of the node's addresses.
    pub address: Option<IpAddr>,
}

/// The host ports that an entry has for an interface.
pub(super) fn said_ports<'a>(entry: &'a Entry, uid: &str) -> impl Iterator<Item = HostPort> + use<'a> {
    let said = interface(entry, uid).into_iter();
    said.flat_map(|one| list(&one.asks, HOST_PORT)).filter_map(said_port)
}

/// The host ports of an interface: those that its entry has, and those that the runtime asks for.
pub(super) fn host_ports(request: &Request, target: &Target) -> Vec<HostPort> {
    let said = said_ports(&target.entry, &target.interface);
    let asked = request.config.port_mappings.iter().map(|mapping| HostPort {
        protocol: mapping.protocol,
        port: mapping.host_port,
        address: mapping.host_ip,
    });
    said.chain(asked).collect()
}

fn said_port(entry: &Value) -> Option<HostPort> {
    let protocol = text(entry, "protocol")?;
    let protocol =
        [Protocol::Tcp, Protocol::Udp, Protocol::Sctp].into_iter().find(|one| one.name() == protocol)?;
    let at = text(entry, "address")?;
    let address = if at == "any" { None } else { Some(at.parse().ok()?) };
    Some(HostPort { protocol, port: entry.get("port")?.as_u64()?.try_into().ok()?, address })
}

/// The key of a host port.
fn key(mapping: &PortMapping) -> [String; 3] {
    let address = mapping.host_ip.map_or("any".to_owned(), |address| address.to_string());
    [mapping.protocol.name().to_owned(), mapping.host_port.to_string(), address]
}

/// Where it stands below its interface.
fn path(mapping: &PortMapping) -> String {
    let key = key(mapping).map(|part| utf8_percent_encode(&part, NON_ALPHANUMERIC).to_string());
    format!("{HOST_PORT}={}", key.join(","))
}

fn entry_of(mapping: &PortMapping) -> Value {
    let [protocol, _, address] = key(mapping);
    json!({"protocol": protocol, "port": mapping.host_port, "address": address, "container-port": mapping.container_port})
}

/// Whether an interface's entry has it, leading to the same port.
fn has(said: &Value, mapping: &PortMapping) -> bool {
    let is_it = |entry: &Value| {
        let number = |leaf: &str| entry.get(leaf).and_then(Value::as_u64);
        let port = number("port");
        let at = text(entry, "address").unwrap_or_default();
        let address = if at == "any" { Some(None) } else { at.parse().ok().map(Some) };
        text(entry, "protocol").as_deref() == Some(mapping.protocol.name())
            && port == Some(mapping.host_port.into())
            && address == Some(mapping.host_ip)
            && number("container-port").or(port) == Some(mapping.container_port.into())
    };
    list(said, HOST_PORT).any(is_it)
}

/// As the datastore has it; a burst without its rate is none.
fn limits(bandwidth: Bandwidth) -> Map<String, Value> {
    let mut fields = Map::new();
    let both = [
        ("ingress", bandwidth.ingress_rate, bandwidth.ingress_burst),
        ("egress", bandwidth.egress_rate, bandwidth.egress_burst),
    ];
    for (way, rate, burst) in both {
        let Some(rate) = rate else { continue };
        // Numbers of 64 bits are strings (RFC 7951 section 6.1).
        fields.insert(format!("{way}-rate"), json!(rate.to_string()));
        if let Some(burst) = burst {
            fields.insert(format!("{way}-burst"), json!(burst.to_string()));
        }
    }
    fields
}

/// What of an entry's interface is missing: its members, and their paths.
fn missing(said: &Value, request: &Request) -> (Map<String, Value>, Vec<String>) {
    let (mut members, mut paths) = (Map::new(), Vec::new());
    let lacking: Vec<&PortMapping> =
        request.config.port_mappings.iter().filter(|mapping| !has(said, mapping)).collect();
    if !lacking.is_empty() {
        paths.extend(lacking.iter().map(|mapping| path(mapping)));
        members.insert(HOST_PORT.into(), lacking.into_iter().map(entry_of).collect());
    }
    let limits = limits(request.config.bandwidth);
    // Who has written one may have changed it since the runtime was told.
    if !limits.is_empty() && said.get(BANDWIDTH).is_none() {
        paths.push(BANDWIDTH.into());
        members.insert(BANDWIDTH.into(), limits.into());
    }
    (members, paths)
}

fn interface<'a>(entry: &'a Entry, uid: &str) -> Option<&'a Interface> {
    entry.interfaces.iter().find(|one| one.uid == uid)
}

impl Agent {
    /// Has the datastore know what the runtime asks for. What ADD writes is noted first, so that DEL takes it away, and no more.
    pub(super) fn ask(&self, request: &Request, target: &Target, undo: &mut Undo<'_>) -> Result<(), Error> {
        let nothing = Value::Null;
        let said = interface(&target.entry, &target.interface).map_or(&nothing, |one| &one.asks);
        let (members, paths) = missing(said, request);
        if members.is_empty() {
            return Ok(());
        }
        undo.record.asked = paths;
        undo.save()?;
        Ok(self.datastore.ask(&target.entry.uid, &target.interface, members)?)
    }

    /// Whether an entry still says what the runtime asks for.
    pub(super) fn is_asked(request: &Request, entry: &Entry, uid: &str) -> Result<(), Error> {
        let nothing = Value::Null;
        let said = interface(entry, uid).map_or(&nothing, |one| &one.asks);
        match missing(said, request).1.first() {
            Some(path) => Err(Error::new(Code::Drift, format!("the pod's entry has no {path} any more"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use coeus_cni::Call;

    use super::*;

    fn request() -> Request {
        let input = json!({"cniVersion": "1.0.0", "name": "n", "type": "coeus-cni", "runtimeConfig": {
            "portMappings": [{"hostPort": 80, "containerPort": 8080, "protocol": "tcp"},
                             {"hostPort": 53, "containerPort": 53, "protocol": "udp", "hostIP": "fd00::1"}],
            "bandwidth": {"ingressRate": 10_000_000, "ingressBurst": 1000, "egressBurst": 5}}});
        let variables =
            [("CNI_COMMAND", "ADD"), ("CNI_CONTAINERID", "c"), ("CNI_NETNS", "/n"), ("CNI_IFNAME", "eth0")];
        let variables = variables.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Request::read(&Call::new(variables.into_iter(), input.to_string())).unwrap()
    }

    #[test]
    fn what_nobody_has_said_is_written() {
        let (members, paths) = missing(&Value::Null, &request());
        let ports = json!([{"protocol": "TCP", "port": 80, "address": "any", "container-port": 8080},
                           {"protocol": "UDP", "port": 53, "address": "fd00::1", "container-port": 53}]);
        let wanted =
            json!({HOST_PORT: ports, BANDWIDTH: {"ingress-rate": "10000000", "ingress-burst": "1000"}});
        assert_eq!(Value::Object(members), wanted);
        assert_eq!(
            paths,
            [
                "coeus-pod:host-port=TCP,80,any",
                "coeus-pod:host-port=UDP,53,fd00%3A%3A1",
                "coeus-pod:bandwidth"
            ]
        );
        assert!(missing(&wanted, &request()).1.is_empty());
    }

    #[test]
    fn host_ports_of_entries_are_read() {
        let of = |entry: Value| said_port(&entry).map(|port| (port.protocol, port.port, port.address));
        let said = |address: &str| json!({"protocol": "UDP", "port": 53, "address": address});
        assert_eq!(of(said("any")), Some((Protocol::Udp, 53, None)));
        assert_eq!(of(said("0.0.0.0")), Some((Protocol::Udp, 53, Some([0, 0, 0, 0].into()))));
        assert_eq!(of(said("somewhere")), None);
        assert_eq!(of(json!({"protocol": "ICMP", "port": 53, "address": "any"})), None);
    }

    #[test]
    fn what_the_cluster_says_stays() {
        let said = json!({HOST_PORT: [{"protocol": "TCP", "port": 80, "address": "any", "container-port": 8080},
                                      {"protocol": "UDP", "port": 53, "address": "FD00::1"}],
                          BANDWIDTH: {"ingress-rate": "5000000"}});
        assert!(missing(&said, &request()).1.is_empty());
        let other =
            json!({HOST_PORT: [{"protocol": "TCP", "port": 80, "address": "any", "container-port": 1}]});
        assert_eq!(missing(&other, &request()).1.len(), 3);
    }
}
