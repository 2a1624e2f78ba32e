//! What a pod's interface asks for beside addresses: ports of its node, and how fast it may be.

use std::net::IpAddr;
use std::sync::Arc;

use super::services::transport;
use crate::net::Transport;
use crate::schema::{Fields, Schema, SchemaId, Value};

/// `coeus-pod:host-port` and `coeus-pod:bandwidth` of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Asks {
    pub host_ports: Vec<HostPort>,
    pub bandwidth: Bandwidth,
}

/// `host-port`: a port of the node that leads to the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPort {
    pub transport: Transport,
    pub port: u16,
    /// Where it is served; `None`: at all addresses of the node, 0.0.0.0 and ::: at those of their version.
    pub address: Option<IpAddr>,
    /// `container-port`.
    pub target: u16,
}

/// `bandwidth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Bandwidth {
    /// What the pod receives.
    pub ingress: Option<Rate>,
    /// What the pod sends.
    pub egress: Option<Rate>,
}

/// A rate, and what may come at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Bits a second.
    pub bits: u64,
    /// Bits, where it is said.
    pub burst: Option<u64>,
}

/// Each field is the node of that name.
#[derive(Debug)]
pub struct AskNames {
    host_port: SchemaId,
    protocol: SchemaId,
    port: SchemaId,
    address: SchemaId,
    container_port: SchemaId,
    bandwidth: SchemaId,
    ingress: [SchemaId; 2],
    egress: [SchemaId; 2],
}

impl HostPort {
    /// Whether it is to be served at this address of its node.
    pub fn covers(&self, address: IpAddr) -> bool {
        match self.address {
            None => true,
            Some(own) if own.is_unspecified() => own.is_ipv4() == address.is_ipv4(),
            Some(own) => own == address,
        }
    }

    /// Whether it is for whatever addresses its node has.
    pub fn is_everywhere(&self) -> bool {
        self.address.is_none_or(|address| address.is_unspecified())
    }

    /// Whether both cannot be had at one node.
    pub fn meets(&self, other: &HostPort) -> bool {
        (self.transport, self.port) == (other.transport, other.port)
            && match (self.address, other.address) {
                (None, _) | (_, None) => true,
                (Some(own), Some(others)) => self.covers(others) || other.covers(own),
            }
    }
}

impl AskNames {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn of(schema: &Schema) -> AskNames {
        let of = |leaf: &str| schema.resolve(&format!("/pod:coe/pods/interface/coeus-pod:{leaf}"));
        AskNames {
            host_port: of("host-port"),
            protocol: of("host-port/protocol"),
            port: of("host-port/port"),
            address: of("host-port/address"),
            container_port: of("host-port/container-port"),
            bandwidth: of("bandwidth"),
            ingress: [of("bandwidth/ingress-rate"), of("bandwidth/ingress-burst")],
            egress: [of("bandwidth/egress-rate"), of("bandwidth/egress-burst")],
        }
    }

    /// What an interface's entry asks for; `None`: nothing.
    pub fn read(&self, fields: &Fields) -> Option<Arc<Asks>> {
        let number = |fields: &Fields, leaf| {
            fields.leaf(leaf).and_then(Value::as_uint).and_then(|number| u16::try_from(number).ok())
        };
        let host_port = |fields: &Fields| {
            let port = number(fields, self.port)?;
            Some(HostPort {
                transport: transport(fields.leaf(self.protocol)),
                port,
                address: fields.text(self.address).and_then(|text| text.parse().ok()),
                target: number(fields, self.container_port).unwrap_or(port),
            })
        };
        let listed = fields.list(self.host_port).into_iter().flatten();
        let mut host_ports: Vec<HostPort> = listed.filter_map(|(_, fields)| host_port(fields)).collect();
        host_ports.sort_unstable();
        // One address may be written in several ways.
        host_ports.dedup_by_key(|port| (port.transport, port.port, port.address));
        let rate = |[rate, burst]: [SchemaId; 2]| {
            let fields = fields.container(self.bandwidth)?;
            let bits = fields.leaf(rate).and_then(Value::as_uint)?;
            Some(Rate { bits, burst: fields.leaf(burst).and_then(Value::as_uint) })
        };
        let bandwidth = Bandwidth { ingress: rate(self.ingress), egress: rate(self.egress) };
        let asks = Asks { host_ports, bandwidth };
        (asks != Asks::default()).then(|| Arc::new(asks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_meet_where_both_would_be_served() {
        let at = |address: Option<&str>| HostPort {
            transport: Transport::Tcp,
            port: 80,
            address: address.map(|address| address.parse().unwrap()),
            target: 8080,
        };
        let (any, four, six) = (at(None), at(Some("0.0.0.0")), at(Some("::")));
        let (one, two, one_v6) = (at(Some("192.0.2.1")), at(Some("192.0.2.2")), at(Some("2001:db8::1")));
        for (a, b, meet) in [
            (any, any, true),
            (any, six, true),
            (any, one, true),
            (four, six, false),
            (four, one, true),
            (six, one, false),
            (six, one_v6, true),
            (one, two, false),
            (one, one, true),
        ] {
            assert_eq!((a.meets(&b), b.meets(&a)), (meet, meet), "{a:?} {b:?}");
        }
        assert!(!any.meets(&HostPort { transport: Transport::Udp, ..any }));
        assert!(!any.meets(&HostPort { port: 81, ..any }));
    }
}
