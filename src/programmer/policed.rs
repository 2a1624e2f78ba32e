//! What is forgotten of pods that come under policies.
//!
//! Until the datapath has noticed that a pod's packets are tracked now, a datagram may still come by what it had cached, and the answer is
//! tracked already: then the answer is the beginning of a connection, and whoever sent the datagram goes on as the one who answers. So what
//! such a pod has of connections is forgotten once that is over. TCP needs none of it: what begins in the midst is not remembered
//! (table 216 and 246).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use openflow_rs::{Action, CtFlush, Field, Instruction, Match};

use crate::net::LportTag;
use crate::pipeline::{
    ANTISPOOF_ADDRESS, EGRESS_DISPATCHER, Flow, POLICY_FROM_ACCEPT, POLICY_FROM_RULES, POLICY_TO_ACCEPT,
    POLICY_TO_CLASS, POLICY_TO_RULES, came_by, goes_to,
};

/// Ports that come under policies.
pub type Ports = BTreeMap<LportTag, Port>;

/// What is to be known of such a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The zone of its ELAN.
    zone: u16,
    /// Policies are about what it gets, and about what it sends.
    closed: [bool; 2],
}

/// UDP, SCTP and ICMP. The userspace datapath of Open vSwitch 3.1.0 aborts when an ICMPv6 connection is flushed.
const OF_IPV4: &[u8] = &[17, 132, 1];
const OF_IPV6: &[u8] = &[17, 132];

/// The ports that come under policies with these flows and were there before: a port's own flow comes with the port.
pub fn newly_policed<'a>(puts: impl Iterator<Item = &'a Flow>) -> Ports {
    let (mut ports, mut new, mut open) = (Ports::new(), BTreeSet::new(), BTreeSet::new());
    for flow in puts {
        let of_egress = flow.table == EGRESS_DISPATCHER.id();
        let way = [&POLICY_TO_RULES, &POLICY_FROM_RULES].iter().position(|rules| rules.id() == flow.table);
        if !of_egress && way.is_none() {
            continue;
        }
        let (conditions, instructions) = flow.parts();
        let leads = |table| instructions.contains(&Instruction::Goto(table));
        match way {
            Some(0) if leads(POLICY_TO_ACCEPT.id()) => {
                open.extend(goes_to(&conditions).map(|port| (port, 0)))
            }
            Some(1) if leads(POLICY_FROM_ACCEPT.id()) => {
                open.extend(came_by(&conditions).map(|port| (port, 1)));
            }
            None => {
                let Some(port) = goes_to(&conditions) else { continue };
                match zone(&instructions) {
                    Some(zone) if leads(POLICY_TO_CLASS.id()) => {
                        ports.insert(port, Port { zone, closed: [true; 2] });
                    }
                    _ => drop(new.insert(port)),
                }
            }
            _ => {}
        }
    }
    for (port, way) in open {
        if let Some(port) = ports.get_mut(&port) {
            port.closed[way] = false;
        }
    }
    ports.retain(|port, _| !new.contains(port));
    ports
}

fn zone(instructions: &[Instruction]) -> Option<u16> {
    let actions = instructions.iter().flat_map(|instruction| match instruction {
        Instruction::Apply(actions) => actions.as_slice(),
        _ => &[],
    });
    actions.into_iter().find_map(|action| match action {
        Action::Load { dst, value } if dst.field == Field::Reg5 => u16::try_from(*value).ok(),
        _ => None,
    })
}

/// What is forgotten of these ports, given all flows of their switch: those against spoofing know the addresses.
pub fn flushes<'a>(held: impl Iterator<Item = &'a Flow>, ports: &Ports) -> BTreeSet<CtFlush> {
    let of_ports = held.filter(|flow| flow.table == ANTISPOOF_ADDRESS.id());
    let owned = of_ports.filter_map(|flow| {
        let conditions = Match::decode_fields(flow.match_fields()).ok()?;
        Some((ports.get(&came_by(&conditions)?)?, address(&conditions)?))
    });
    owned.flat_map(|(port, address)| of_address(*port, address)).collect()
}

/// The one source that such a flow is about.
fn address(conditions: &Match) -> Option<IpAddr> {
    conditions.fields.iter().find_map(|condition| match condition.field {
        Field::Ipv4Src if condition.mask == u128::from(u32::MAX) => {
            Some(IpAddr::from((condition.value as u32).to_be_bytes()))
        }
        Field::Ipv6Src if condition.mask == u128::MAX => Some(IpAddr::from(condition.value.to_be_bytes())),
        _ => None,
    })
}

/// Connections that it began, where policies are about what it gets, since its answers look like that; where they are about what it sends, those
/// that were begun with it.
fn of_address(Port { zone, closed: [gets, sends] }: Port, address: IpAddr) -> impl Iterator<Item = CtFlush> {
    let protocols = if address.is_ipv4() { OF_IPV4 } else { OF_IPV6 };
    protocols.iter().flat_map(move |protocol| {
        let any = CtFlush { zone, protocol: *protocol, source: None, destination: None, answered_by: None };
        let began = gets.then_some(CtFlush { source: Some(address), ..any });
        began.into_iter().chain(sends.then_some(CtFlush { destination: Some((address, 0)), ..any }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{ElanTag, OfPort};
    use crate::pipeline::actions::{load_egress_zone, output, resubmit};
    use crate::pipeline::matches::{egress_lport, ip_src_host, lport};
    use crate::pipeline::{Owner, SERVICE, owners};

    fn under_policy(port: u32) -> Flow {
        let flow = Flow::table(EGRESS_DISPATCHER).priority(20).matching([egress_lport(LportTag(port))]);
        let flow = flow.then([load_egress_zone(ElanTag(5_000))]).goto(POLICY_TO_CLASS);
        flow.owned_by(&Owner::<owners::Interface>::new("p"))
    }

    fn plugged(port: u32) -> Flow {
        let flow = Flow::table(EGRESS_DISPATCHER).priority(10).matching([egress_lport(LportTag(port))]);
        flow.then([output(OfPort(3))]).owned_by(&Owner::<owners::Interface>::new("p"))
    }

    fn own(port: u32, address: &str) -> Flow {
        let flow = Flow::table(ANTISPOOF_ADDRESS).priority(20).matching([lport(LportTag(port))]);
        let flow = flow.matching(ip_src_host(address.parse().unwrap())).then([resubmit(SERVICE)]);
        flow.owned_by(&Owner::<owners::Antispoof>::new("p"))
    }

    fn open(port: u32) -> Flow {
        let flow = Flow::table(POLICY_FROM_RULES).priority(30).matching([lport(LportTag(port))]);
        flow.goto(POLICY_FROM_ACCEPT).owned_by(&Owner::<owners::Policy>::new("p"))
    }

    fn port(closed: [bool; 2]) -> Port {
        Port { zone: 5_000, closed }
    }

    #[test]
    fn a_port_that_was_there_comes_under_policies() {
        let (one, two) = (under_policy(7), under_policy(8));
        let found = newly_policed([&one, &two, &plugged(8)].into_iter());
        assert_eq!(found, [(LportTag(7), port([true; 2]))].into());
        assert_eq!(newly_policed([&plugged(7), &open(9)].into_iter()), Ports::new());
        let found = newly_policed([&open(7), &one, &open(9)].into_iter());
        assert_eq!(found, [(LportTag(7), port([true, false]))].into(), "what it sends is open");
    }

    #[test]
    fn its_connections_are_forgotten_as_far_as_policies_are_about_it_and_nobody_elses() {
        let held = [own(7, "10.0.0.7"), own(7, "fd00::7"), own(8, "10.0.0.8"), plugged(7)];
        let of = |closed| flushes(held.iter(), &[(LportTag(7), port(closed))].into());
        let own: [IpAddr; 2] = ["10.0.0.7".parse().unwrap(), "fd00::7".parse().unwrap()];
        let gets = of([true, false]);
        assert!(gets.iter().all(|flush| flush.zone == 5_000 && flush.destination.is_none()));
        let protocols = |address| -> Vec<u8> {
            gets.iter().filter(|flush| flush.source == Some(address)).map(|flush| flush.protocol).collect()
        };
        assert_eq!((protocols(own[0]), protocols(own[1])), (vec![1, 17, 132], vec![17, 132]), "never ICMPv6");
        assert_eq!(gets.len(), 5);
        let sends = of([false, true]);
        assert!(sends.iter().all(|flush| flush.source.is_none() && flush.destination.is_some()));
        assert_eq!((sends.len(), of([true; 2]).len(), of([false; 2]).len()), (5, 10, 0));
    }
}
