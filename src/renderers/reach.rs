//! Packets as policies mean them: what the flows have to say of each is known before any flow is looked at.

use std::net::IpAddr;

use openflow_rs::Field;

use super::{Engine, Protocol, Start, TraceError, TraceQuery};
use crate::model::Model;
use crate::pipeline::evaluate::Packet;
use crate::policy::{self, End, PodFacts};
use crate::schema::Text;

impl Engine {
    /// The packets that queries mean, each with whether policies allow it.
    ///
    /// # Errors
    /// As [`Engine::trace_start`] has them, of the first query that means none.
    pub fn judged(&self, queries: &[TraceQuery]) -> Result<Vec<(Start, bool)>, TraceError> {
        let model = self.model();
        let world = model.policy_world();
        let judge = |query: &TraceQuery| {
            let start = self.trace_start(query)?;
            let (own, peer) =
                (facts(model, Some(&start.from)), facts(model, start.to.as_ref().map(|to| &to.0)));
            let [from, to] = addresses(&start.packet);
            let ends = [End { address: from, pod: own.as_ref() }, End { address: to, pod: peer.as_ref() }];
            let packet = policy::Packet { protocol: protocol(query.protocol, from), port: query.port };
            let allowed = world.allows(ends[0], ends[1], packet);
            Ok((start, allowed))
        };
        queries.iter().map(judge).collect()
    }
}

fn facts(model: &Model, interface: Option<&Text>) -> Option<PodFacts> {
    model.pod_facts(&model.interface_named(interface?)?.id)
}

fn protocol(protocol: Protocol, address: IpAddr) -> Option<policy::Protocol> {
    match protocol {
        Protocol::Tcp => Some(policy::Protocol::Tcp),
        Protocol::Udp => Some(policy::Protocol::Udp),
        Protocol::Sctp => Some(policy::Protocol::Sctp),
        // IANA, protocol numbers: ICMP and ICMPv6.
        Protocol::Icmp => Some(policy::Protocol::Other(if address.is_ipv4() { 1 } else { 58 })),
        _ => None,
    }
}

/// Source and destination.
fn addresses(packet: &Packet) -> [IpAddr; 2] {
    let v4 = |field| IpAddr::from((packet.get(field) as u32).to_be_bytes());
    let v6 = |field| IpAddr::from(packet.get(field).to_be_bytes());
    match packet.get(Field::EthType) {
        0x86dd => [v6(Field::Ipv6Src), v6(Field::Ipv6Dst)],
        _ => [v4(Field::Ipv4Src), v4(Field::Ipv4Dst)],
    }
}
