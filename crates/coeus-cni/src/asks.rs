//! What a runtime asks for beside an interface: `portMappings` and `bandwidth` of `runtimeConfig` (CNI conventions).

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Map, Value};

use crate::error::{Code, Error};

/// A protocol that has ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    Tcp,
    Udp,
    Sctp,
}

impl Protocol {
    /// As Kubernetes and the datastore write it.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "TCP",
            Protocol::Udp => "UDP",
            Protocol::Sctp => "SCTP",
        }
    }
}

/// A port of the host that leads to the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortMapping {
    pub protocol: Protocol,
    pub host_port: u16,
    /// `None`: any address of the host.
    pub host_ip: Option<IpAddr>,
    pub container_port: u16,
}

/// Limits, as seen by the container: it receives by ingress and sends by egress. Bits a second, and bits at once; absent: none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bandwidth {
    pub ingress_rate: Option<u64>,
    pub ingress_burst: Option<u64>,
    pub egress_rate: Option<u64>,
    pub egress_burst: Option<u64>,
}

/// Reads `portMappings`.
///
/// # Errors
/// Code 7, naming the entry.
pub(crate) fn port_mappings(runtime: &Map<String, Value>) -> Result<Vec<PortMapping>, Error> {
    const KEY: &str = "runtimeConfig.portMappings";
    let list = match runtime.get("portMappings") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(other) => return Err(invalid(KEY, other, "a list")),
    };
    let mut taken = BTreeSet::new();
    let mut mappings = Vec::with_capacity(list.len());
    for value in list {
        let port = |key: &str| {
            let number = value.get(key).and_then(Value::as_u64).and_then(|number| u16::try_from(number).ok());
            let wanted = "an object with a port from 1 to 65535 as";
            number.filter(|port| *port != 0).ok_or_else(|| invalid(KEY, value, &format!("{wanted} {key}")))
        };
        let said = |key: &str| match value.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            Some(_) => Err(invalid(KEY, value, &format!("an object with a string as {key}"))),
        };
        let protocol = match said("protocol")?.map(str::to_ascii_lowercase).as_deref() {
            None | Some("tcp") => Protocol::Tcp,
            Some("udp") => Protocol::Udp,
            Some("sctp") => Protocol::Sctp,
            Some(_) => return Err(invalid(KEY, value, "of protocol tcp, udp or sctp")),
        };
        let host_ip = match said("hostIP")?.map(str::parse) {
            None => None,
            Some(Ok(address)) => Some(address),
            Some(Err(_)) => return Err(invalid(KEY, value, "an object with an address as hostIP")),
        };
        let mapping = PortMapping {
            protocol,
            host_port: port("hostPort")?,
            host_ip,
            container_port: port("containerPort")?,
        };
        if !taken.insert((protocol, mapping.host_port, host_ip)) {
            return Err(invalid(KEY, value, "there once"));
        }
        mappings.push(mapping);
    }
    mappings.sort_unstable();
    Ok(mappings)
}

/// Reads `bandwidth`. A rate of 0 is none (conventions: "unlimited").
///
/// # Errors
/// Code 7, naming the key.
pub(crate) fn bandwidth(runtime: &Map<String, Value>) -> Result<Bandwidth, Error> {
    const KEY: &str = "runtimeConfig.bandwidth";
    let fields = match runtime.get("bandwidth") {
        None | Some(Value::Null) => return Ok(Bandwidth::default()),
        Some(Value::Object(fields)) => fields,
        Some(other) => return Err(invalid(KEY, other, "an object")),
    };
    let number = |key: &str| match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) => Ok(Some(number).filter(|number| *number != 0)),
            None => Err(invalid(&format!("{KEY}.{key}"), value, "a number of bits")),
        },
    };
    Ok(Bandwidth {
        ingress_rate: number("ingressRate")?,
        ingress_burst: number("ingressBurst")?,
        egress_rate: number("egressRate")?,
        egress_burst: number("egressBurst")?,
    })
}

fn invalid(key: &str, value: &Value, wanted: &str) -> Error {
    Error::new(Code::Config, format!("{key}: {value} is not {wanted}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mapped(list: Value) -> Result<Vec<PortMapping>, Error> {
        port_mappings(json!({"portMappings": list}).as_object().unwrap())
    }

    #[test]
    fn mappings_are_read_as_runtimes_write_them() {
        let found = mapped(json!([
            {"hostPort": 8080, "containerPort": 80, "protocol": "tcp", "hostIP": ""},
            {"hostPort": 53, "containerPort": 53, "protocol": "UDP", "hostIP": "192.0.2.1"},
            {"hostPort": 80, "containerPort": 8080}
        ]));
        let of = |protocol, host_port, host_ip: Option<&str>, container_port| PortMapping {
            protocol,
            host_port,
            host_ip: host_ip.map(|address| address.parse().unwrap()),
            container_port,
        };
        let wanted = [
            of(Protocol::Tcp, 80, None, 8080),
            of(Protocol::Tcp, 8080, None, 80),
            of(Protocol::Udp, 53, Some("192.0.2.1"), 53),
        ];
        assert_eq!(found.unwrap(), wanted);
        assert_eq!(mapped(Value::Null).unwrap(), []);
    }

    #[test]
    fn what_is_wrong_with_a_mapping_is_said() {
        for (list, named) in [
            (json!({}), "a list"),
            (json!([{"containerPort": 80}]), "hostPort"),
            (json!([{"hostPort": 0, "containerPort": 80}]), "hostPort"),
            (json!([{"hostPort": 80, "containerPort": 65536}]), "containerPort"),
            (json!([{"hostPort": 80, "containerPort": 80, "protocol": "icmp"}]), "protocol"),
            (json!([{"hostPort": 80, "containerPort": 80, "protocol": 6}]), "protocol"),
            (json!([{"hostPort": 80, "containerPort": 80, "hostIP": "node"}]), "hostIP"),
            (json!([{"hostPort": 80, "containerPort": 80}, {"hostPort": 80, "containerPort": 81}]), "once"),
        ] {
            let error = mapped(list.clone()).unwrap_err();
            assert!(error.code == Code::Config && error.message.contains(named), "{list}: {error}");
        }
    }

    #[test]
    fn a_rate_of_nothing_is_no_limit() {
        let read = |value: Value| bandwidth(json!({"bandwidth": value}).as_object().unwrap());
        let all = json!({"ingressRate": 1000, "ingressBurst": 2147483647, "egressRate": 0, "egressBurst": 0});
        let wanted =
            Bandwidth { ingress_rate: Some(1000), ingress_burst: Some(0x7fff_ffff), ..Bandwidth::default() };
        assert_eq!(read(all).unwrap(), wanted);
        assert_eq!(read(json!({})).unwrap(), Bandwidth::default());
        for wrong in [json!([]), json!({"ingressRate": "10M"}), json!({"egressRate": -1})] {
            assert_eq!(read(wrong.clone()).unwrap_err().code, Code::Config, "{wrong}");
        }
    }
}
