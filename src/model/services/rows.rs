//! Services and endpoints as they are written.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use hashbrown::HashSet;

use super::super::rows::usable;
use crate::net::Transport;
use crate::schema::{Fields, Schema, SchemaId, Text, Value};

/// `session-affinity`: ClientIP.
const CLIENT_IP: i32 = 1;
/// `external-traffic-policy` and `internal-traffic-policy`: Local.
const LOCAL: i32 = 1;
/// Node ports. Source: Kubernetes, `--service-node-port-range`.
const NODE_PORTS: RangeInclusive<u16> = 30_000..=32_767;
/// `session-affinity-timeout` where none is written: three hours. Source: Kubernetes.
const AFFINITY: u16 = 10_800;

/// `/service:service-information/services`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Service {
    pub uid: Text,
    pub name: Option<Text>,
    /// `network-NS`.
    pub namespace: Option<Text>,
    /// `cluster-ip-address`, then `coeus-service:secondary-cluster-ip-address`; each once.
    pub addresses: Vec<IpAddr>,
    /// `external-ip-address`, `ingress-ip-address` and `load-balancer-IP`, each once.
    pub outside: Vec<IpAddr>,
    /// Those of them that are in `ingress-ip-address` alone: somebody else may have given them.
    pub reported: Vec<IpAddr>,
    pub headless: bool,
    /// `external-traffic-policy` Local: who asks from outside gets endpoints of the node that he asked.
    pub external_local: bool,
    /// `internal-traffic-policy` Local: a pod gets endpoints of its own node.
    pub internal_local: bool,
    /// Seconds of `session-affinity` `ClientIP`.
    pub affinity: Option<u16>,
    pub ports: Vec<ServicePort>,
    /// `endpoints`: pods behind it, by uid.
    pub pods: Vec<Text>,
    /// What is wrong with it.
    pub faults: Vec<String>,
}

/// `service-ports`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServicePort {
    pub name: Option<Text>,
    pub transport: Transport,
    pub number: u16,
    pub target: Target,
    /// `node-port`: where every node serves it.
    pub node_port: Option<u16>,
}

/// `target-port`: where an endpoint listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// At the service's own number: nothing is written.
    Same,
    Number(u16),
    Named(Text),
}

/// `/service:endpoints-info/endpoints`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ServiceEndpoints {
    pub uid: Text,
    pub name: Option<Text>,
    pub namespace: Option<Text>,
    pub addresses: Vec<IpAddr>,
    pub ports: Vec<EndpointPort>,
    pub faults: Vec<String>,
}

/// `endpoint-ports`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointPort {
    pub name: Option<Text>,
    pub transport: Transport,
    pub number: u16,
}

/// Each field is the node of that name.
#[derive(Debug)]
pub struct ServiceNames {
    pub service_information: SchemaId,
    pub services: SchemaId,
    pub endpoints_info: SchemaId,
    pub endpoints: SchemaId,
    name: SchemaId,
    network_ns: SchemaId,
    cluster_ip_address: SchemaId,
    secondary_cluster_ip_address: SchemaId,
    outside: [SchemaId; 2],
    load_balancer: SchemaId,
    headless: SchemaId,
    external_traffic_policy: SchemaId,
    internal_traffic_policy: SchemaId,
    session_affinity: SchemaId,
    pub service_pool: SchemaId,
    pub(super) ipv4_prefix: SchemaId,
    pub(super) ipv6_prefix: SchemaId,
    session_affinity_timeout: SchemaId,
    pods: SchemaId,
    service_ports: SchemaId,
    port_name: SchemaId,
    port: SchemaId,
    protocol: SchemaId,
    target_port: SchemaId,
    node_port: SchemaId,
    of_endpoints: EndpointNames,
}

#[derive(Debug)]
struct EndpointNames {
    name: SchemaId,
    network_ns: SchemaId,
    addresses: SchemaId,
    ip_address: SchemaId,
    ports: SchemaId,
    port_name: SchemaId,
    port: SchemaId,
    protocol: SchemaId,
}

impl ServiceNames {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn of(schema: &Schema) -> ServiceNames {
        let service = |leaf: &str| schema.resolve(&format!("/service:service-information/services{leaf}"));
        let endpoints = |leaf: &str| schema.resolve(&format!("/service:endpoints-info/endpoints{leaf}"));
        ServiceNames {
            service_information: schema.resolve("/service:service-information"),
            services: service(""),
            endpoints_info: schema.resolve("/service:endpoints-info"),
            endpoints: endpoints(""),
            name: service("/name"),
            network_ns: service("/network-NS"),
            cluster_ip_address: service("/cluster-ip-address"),
            secondary_cluster_ip_address: service("/coeus-service:secondary-cluster-ip-address"),
            outside: [service("/external-ip-address"), service("/ingress-ip-address")],
            load_balancer: service("/load-balancer-IP"),
            headless: service("/coeus-service:headless"),
            external_traffic_policy: service("/coeus-service:external-traffic-policy"),
            internal_traffic_policy: service("/coeus-service:internal-traffic-policy"),
            session_affinity: service("/coeus-service:session-affinity"),
            session_affinity_timeout: service("/coeus-service:session-affinity-timeout"),
            service_pool: schema.resolve("/coeus-service:service-pool"),
            ipv4_prefix: schema.resolve("/coeus-service:service-pool/ipv4-prefix"),
            ipv6_prefix: schema.resolve("/coeus-service:service-pool/ipv6-prefix"),
            pods: service("/endpoints"),
            service_ports: service("/service-ports"),
            port_name: service("/service-ports/name"),
            port: service("/service-ports/port"),
            protocol: service("/service-ports/coeus-service:protocol"),
            target_port: service("/service-ports/target-port"),
            node_port: service("/service-ports/node-port"),
            of_endpoints: EndpointNames {
                name: endpoints("/name"),
                network_ns: endpoints("/network-NS"),
                addresses: endpoints("/endpoint-addresses"),
                ip_address: endpoints("/endpoint-addresses/ip-address"),
                ports: endpoints("/endpoint-ports"),
                port_name: endpoints("/endpoint-ports/name"),
                port: endpoints("/endpoint-ports/port"),
                protocol: endpoints("/endpoint-ports/coeus-service:protocol"),
            },
        }
    }

    /// Reads a service from its list entry.
    pub fn service(&self, uid: &Text, fields: &Fields) -> Service {
        let mut faults = Vec::new();
        let mut addresses: Vec<IpAddr> = Vec::new();
        let all = fields.leaf(self.cluster_ip_address).into_iter();
        for value in all.chain(fields.leaf_list(self.secondary_cluster_ip_address)) {
            let Some(address) = value.as_text().and_then(|text| text.parse().ok()) else { continue };
            if !usable(address) {
                faults.push(format!("address {address} can be nobody's; choose a unicast address"));
            } else if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        let mut ports: Vec<ServicePort> = Vec::new();
        for (_, entry) in fields.list(self.service_ports).into_iter().flatten() {
            let Some(number) = number(entry, self.port, "port", &mut faults) else { continue };
            let transport = transport(entry.leaf(self.protocol));
            if ports.iter().any(|other| (other.transport, other.number) == (transport, number)) {
                faults.push(format!("it has {transport} port {number} twice; remove one of the two"));
                continue;
            }
            let target = target(filled(entry, self.target_port), &mut faults);
            let node_port = self.node_port(entry, &mut faults);
            let is_twice = |other: &ServicePort| {
                node_port.is_some() && (other.transport, other.node_port) == (transport, node_port)
            };
            if let Some(port) = node_port.filter(|_| ports.iter().any(is_twice)) {
                faults.push(format!("it has {transport} node-port {port} twice; change one of the two"));
            }
            let name = filled(entry, self.port_name);
            ports.push(ServicePort { name, transport, number, target, node_port });
        }
        let headless = fields.is_true(self.headless);
        if headless && let Some(address) = addresses.first() {
            faults.push(format!("it is headless and has address {address}; remove one of the two"));
        }
        let pods = fields.leaf_list(self.pods).filter_map(|value| match value {
            Value::Text(uid) => Some(uid.clone()),
            _ => None,
        });
        let timeout = || {
            let seconds = fields.leaf(self.session_affinity_timeout).and_then(Value::as_uint);
            seconds.and_then(|seconds| u16::try_from(seconds).ok()).unwrap_or(AFFINITY)
        };
        let affinity = (fields.leaf(self.session_affinity) == Some(&Value::Enum(CLIENT_IP))).then(timeout);
        let is_local = |leaf| fields.leaf(leaf) == Some(&Value::Enum(LOCAL));
        Service {
            uid: uid.clone(),
            affinity,
            name: filled(fields, self.name),
            namespace: filled(fields, self.network_ns),
            addresses,
            reported: self.reported(fields),
            outside: self.outside(fields),
            headless,
            external_local: is_local(self.external_traffic_policy),
            internal_local: is_local(self.internal_traffic_policy),
            ports,
            pods: pods.collect(),
            faults,
        }
    }

    /// Zero, as clients write it, is none.
    fn node_port(&self, entry: &Fields, faults: &mut Vec<String>) -> Option<u16> {
        let written = match entry.leaf(self.node_port)? {
            Value::Int(number) => *number,
            Value::Uint(number) => i64::try_from(*number).unwrap_or(i64::MAX),
            _ => return None,
        };
        let number = u16::try_from(written).ok().filter(|number| NODE_PORTS.contains(number));
        if number.is_none() && written != 0 {
            let (first, last) = (NODE_PORTS.start(), NODE_PORTS.end());
            faults.push(format!("node-port {written} is out of range; choose one of {first} to {last}"));
        }
        number
    }

    /// What nobody asks for.
    fn reported(&self, fields: &Fields) -> Vec<IpAddr> {
        let [asked, reported] = self.outside.map(|leafs| {
            let texts = fields.leaf_list(leafs).filter_map(Value::as_text);
            texts.filter_map(|text| text.parse().ok()).collect::<Vec<IpAddr>>()
        });
        let asked_too = |address: &IpAddr| {
            let balancer = fields.text(self.load_balancer).and_then(|text| text.parse().ok());
            asked.contains(address) || balancer == Some(*address)
        };
        reported.into_iter().filter(|address| !asked_too(address)).collect()
    }

    fn outside(&self, fields: &Fields) -> Vec<IpAddr> {
        let lists = self.outside.into_iter().flat_map(|leafs| fields.leaf_list(leafs));
        let texts = lists.filter_map(Value::as_text).chain(fields.text(self.load_balancer));
        let mut addresses = Vec::new();
        for address in texts.filter_map(|text| text.parse().ok()) {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        addresses
    }

    /// Reads endpoints from their list entry.
    pub fn endpoints(&self, uid: &Text, fields: &Fields) -> ServiceEndpoints {
        let names = &self.of_endpoints;
        let mut faults = Vec::new();
        let mut addresses: Vec<IpAddr> = Vec::new();
        let mut known = HashSet::new();
        for (_, entry) in fields.list(names.addresses).into_iter().flatten() {
            let Some(address) = entry.text(names.ip_address).and_then(|text| text.parse().ok()) else {
                continue;
            };
            if !usable(address) {
                faults.push(format!("address {address} can be no endpoint's; choose a unicast address"));
            } else if known.insert(address) {
                addresses.push(address);
            }
        }
        let mut ports = Vec::new();
        for (_, entry) in fields.list(names.ports).into_iter().flatten() {
            let Some(number) = number(entry, names.port, "port", &mut faults) else { continue };
            let transport = transport(entry.leaf(names.protocol));
            ports.push(EndpointPort { name: filled(entry, names.port_name), transport, number });
        }
        ServiceEndpoints {
            uid: uid.clone(),
            name: filled(fields, names.name),
            namespace: filled(fields, names.network_ns),
            addresses,
            ports,
            faults,
        }
    }
}

/// A text that is there; what is empty counts as absent.
fn filled(fields: &Fields, leaf: SchemaId) -> Option<Text> {
    fields.shared_text(leaf).filter(|text| !text.is_empty()).cloned()
}

fn number(fields: &Fields, leaf: SchemaId, what: &str, faults: &mut Vec<String>) -> Option<u16> {
    let written = match fields.leaf(leaf)? {
        Value::Int(number) => *number,
        Value::Uint(number) => i64::try_from(*number).unwrap_or(i64::MAX),
        _ => return None,
    };
    let number = u16::try_from(written).ok().filter(|number| *number != 0);
    if number.is_none() {
        faults.push(format!("{what} {written} is out of range; choose one of 1 to 65535"));
    }
    number
}

/// A protocol as it is written; without one TCP.
pub fn transport(value: Option<&Value>) -> Transport {
    match value {
        Some(Value::Enum(1)) => Transport::Udp,
        Some(Value::Enum(2)) => Transport::Sctp,
        _ => Transport::Tcp,
    }
}

/// A number, or the name of a port of the endpoints (IANA service names, RFC 6335 section 5.1, as Kubernetes has them).
fn target(text: Option<Text>, faults: &mut Vec<String>) -> Target {
    let Some(text) = text else { return Target::Same };
    if let Ok(written) = text.parse::<i64>() {
        return match u16::try_from(written).ok().filter(|number| *number != 0) {
            Some(number) => Target::Number(number),
            None => {
                faults.push(format!("target-port {written} is out of range; choose one of 1 to 65535"));
                Target::Same
            }
        };
    }
    let is_name = text.len() <= 63
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && text.bytes().any(|byte| byte.is_ascii_alphabetic());
    if !is_name {
        faults.push(format!("target-port {text:?} is neither a number nor a port's name"));
    }
    Target::Named(text)
}

impl ServiceEndpoints {
    /// The addresses that came or went since. `None`: something else is not as it was either.
    pub(super) fn addresses_moved(&self, before: &ServiceEndpoints) -> Option<Vec<IpAddr>> {
        let ServiceEndpoints { uid, name, namespace, addresses, ports, faults } = before;
        let is_same = (uid, name, namespace, ports, faults)
            == (&self.uid, &self.name, &self.namespace, &self.ports, &self.faults);
        if !is_same {
            return None;
        }
        let was: HashSet<IpAddr> = addresses.iter().copied().collect();
        let is: HashSet<IpAddr> = self.addresses.iter().copied().collect();
        Some(was.symmetric_difference(&is).copied().collect())
    }

    /// The port of these endpoints that a port of a service leads to.
    ///
    /// Kubernetes gives both one name; others name it by the target. Where they tell no ports, the number counts.
    pub fn port_for(&self, port: &ServicePort) -> Option<u16> {
        if self.ports.is_empty() {
            return port.number_of_target();
        }
        let of_kind = || self.ports.iter().filter(|own| own.transport == port.transport);
        let named = |name: &Text| of_kind().find(|own| own.name.as_ref() == Some(name));
        let by_name = port.name.as_ref().and_then(named);
        let by_target = || match &port.target {
            Target::Named(name) => named(name),
            Target::Number(_) | Target::Same => {
                of_kind().find(|own| Some(own.number) == port.number_of_target() && may_be(own, port))
            }
        };
        let only = || {
            let mut all = of_kind();
            all.next().filter(|own| all.next().is_none() && may_be(own, port))
        };
        by_name.or_else(by_target).or_else(only).map(|own| own.number)
    }
}

/// Two names that differ are two ports.
fn may_be(own: &EndpointPort, port: &ServicePort) -> bool {
    own.name.is_none() || port.name.is_none() || own.name == port.name
}

impl ServicePort {
    /// The number that the target has without anybody's help.
    pub fn number_of_target(&self) -> Option<u16> {
        match self.target {
            Target::Same => Some(self.number),
            Target::Number(number) => Some(number),
            Target::Named(_) => None,
        }
    }
}
