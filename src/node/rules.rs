//! Rules by which the node's kernel hands host ports over to the switch (docs/guide/services.md, ip-rule(8)).
//!
//! Which ports they are follows from the pods that are there, so nobody can write the rules beforehand; the table that they lead to is
//! written once, by whoever set the node up. While it is empty, or the local table comes first, the rules do nothing.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use coeus_cni::{Code, Error, Protocol};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL};
use netlink_packet_route::route::{RouteMessage, RouteProtocol};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage, RulePortRange};
use netlink_packet_route::{AddressFamily, IpProtocol, RouteNetlinkMessage};
use serde::{Deserialize, Serialize};

use super::Agent;
use super::add::away;
use super::asks::{HostPort, said_ports};
use super::entry::Entry;
use super::netlink::Netlink;
use super::record::Record;

/// The table that leads to the switch, and where its rules stand: before the local table, which the guide moves to 100.
const TABLE: u8 = 77;
const LOCAL: u8 = 255;
const PRIORITY: u32 = 50;
/// Marks rules as the agent's (`proto`); none that rt_protos names.
const OURS: RouteProtocol = RouteProtocol::Other(77);
const NO_SUCH: i32 = 2;
const EXISTS: i32 = 17;

/// What the node has for one of its pods: address, protocol by its number, port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Led {
    pub address: IpAddr,
    pub protocol: u8,
    pub port: u16,
}

fn number(protocol: Protocol) -> u8 {
    u8::from(match protocol {
        Protocol::Tcp => IpProtocol::Tcp,
        Protocol::Udp => IpProtocol::Udp,
        Protocol::Sctp => IpProtocol::Sctp,
    })
}

/// What leads to a pod: its ports at those of the node's addresses at which they are asked for.
pub fn led(ports: &[HostPort], node: &BTreeSet<IpAddr>) -> Vec<Led> {
    let at = |port: &HostPort| {
        let asked = port.address;
        let is_meant = move |address: &&IpAddr| match asked {
            None => true,
            Some(all) if all.is_unspecified() => all.is_ipv4() == address.is_ipv4(),
            Some(one) => one == **address,
        };
        let (protocol, port) = (number(port.protocol), port.port);
        node.iter().filter(is_meant).map(move |address| Led { address: *address, protocol, port })
    };
    let all: BTreeSet<Led> = ports.iter().flat_map(at).collect();
    all.into_iter().collect()
}

impl Agent {
    /// Has the kernel hand over what the pods that are there have of the node's ports, and nothing else any more.
    pub(super) fn keep_rules(&self) {
        // One after the other: who comes second sees what the first has done.
        let _alone = self.ruling.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let records = self.records.all();
        let wanted = records.iter().filter(|record| !record.is_ended).flat_map(|record| record.led.clone());
        if let Err(error) = Netlink::open().and_then(|mut kernel| keep(&mut kernel, &wanted.collect())) {
            tracing::warn!("the rules of host ports (table {TABLE}): {error}");
        }
    }
}

impl Agent {
    /// Has the records say which host ports their entries have now: not only ADD writes them.
    ///
    /// # Errors
    /// When the controller or the switch is away.
    pub(super) fn follow_host_ports(&self) -> Result<(), Error> {
        let records = self.records.all();
        if records.is_empty() {
            return Ok(());
        }
        let node = match self.settings.address {
            Some(address) => Some(address),
            None => self.switch.bridge(&self.settings.bridge).map_err(|error| away(&error))?.local_ip,
        };
        let entries = self.datastore.pods_with_host_ports()?;
        for record in records.iter().filter(|record| !record.is_ended && !record.interface.is_empty()) {
            let led = led_of(entries.iter().find(|entry| entry.uid == record.pod), &record.interface, node);
            if led == record.led {
                continue;
            }
            // Who works on it knows better, and so does who has just done so.
            let Some(_turn) = self.busy.turn(&record.container, Duration::ZERO) else { continue };
            if self.records.find(&record.container, &record.ifname).as_ref() == Some(record) {
                let failed = |error| Error::new(Code::Io, format!("the record of {}: {error}", record.name));
                self.records.put(&Record { led, ..record.clone() }).map_err(failed)?;
            }
        }
        Ok(())
    }
}

/// What leads to an interface by its pod's entry, if it has one that says so.
fn led_of(entry: Option<&Entry>, interface: &str, node: Option<IpAddr>) -> Vec<Led> {
    let Some(entry) = entry else { return Vec::new() };
    let ports: Vec<HostPort> = said_ports(entry, interface).collect();
    led(&ports, &entry.host.into_iter().chain(node).collect())
}

/// Makes the rules of this namespace that are ours those that are wanted.
fn keep(kernel: &mut Netlink, wanted: &BTreeSet<Led>) -> io::Result<()> {
    let there = ours(kernel)?;
    for gone in there.difference(wanted) {
        match kernel.ask(RouteNetlinkMessage::DelRule(rule(*gone)), 0) {
            Err(error) if error.raw_os_error() == Some(NO_SUCH) => {}
            done => drop(done?),
        }
    }
    for new in wanted.difference(&there) {
        match kernel.ask(RouteNetlinkMessage::NewRule(rule(*new)), NLM_F_CREATE | NLM_F_EXCL) {
            // Somebody wrote the same.
            Err(error) if error.raw_os_error() == Some(EXISTS) => {}
            done => drop(done?),
        }
    }
    Ok(())
}

fn ours(kernel: &mut Netlink) -> io::Result<BTreeSet<Led>> {
    Ok(rules(kernel)?.iter().filter_map(read).collect())
}

/// All rules of this thread's namespace.
fn rules(kernel: &mut Netlink) -> io::Result<Vec<RuleMessage>> {
    let found = kernel.ask(RouteNetlinkMessage::GetRule(RuleMessage::default()), NLM_F_DUMP)?;
    let rule = |message| match message {
        RouteNetlinkMessage::NewRule(rule) => Some(rule),
        _ => None,
    };
    Ok(found.into_iter().filter_map(rule).collect())
}

/// What there is for host ports in this thread's namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Rules of ours.
    pub rules: usize,
    /// What is for the node is taken in before the rules are looked at.
    pub is_local_first: bool,
    /// The table leads somewhere.
    pub has_way: bool,
}

/// # Errors
/// What the kernel says.
pub fn standing(kernel: &mut Netlink) -> io::Result<Standing> {
    let all = rules(kernel)?;
    let priority = |rule: &RuleMessage| {
        let said = rule.attributes.iter().find_map(|attribute| match attribute {
            RuleAttribute::Priority(priority) => Some(*priority),
            _ => None,
        });
        said.unwrap_or_default()
    };
    let is_first = |rule: &RuleMessage| {
        rule.header.family == AddressFamily::Inet && rule.header.table == LOCAL && priority(rule) <= PRIORITY
    };
    let mut asked = RouteMessage::default();
    asked.header.address_family = AddressFamily::Inet;
    let routes = kernel.ask(RouteNetlinkMessage::GetRoute(asked), NLM_F_DUMP)?;
    let has_way = routes.iter().any(
        |message| matches!(message, RouteNetlinkMessage::NewRoute(route) if route.header.table == TABLE),
    );
    Ok(Standing {
        rules: all.iter().filter_map(read).count(),
        is_local_first: all.iter().any(is_first),
        has_way,
    })
}

fn rule(led: Led) -> RuleMessage {
    let mut message = RuleMessage::default();
    (message.header.family, message.header.dst_len) =
        if led.address.is_ipv4() { (AddressFamily::Inet, 32) } else { (AddressFamily::Inet6, 128) };
    message.header.table = TABLE;
    message.header.action = RuleAction::ToTable;
    message.attributes.extend([
        RuleAttribute::Destination(led.address),
        RuleAttribute::Priority(PRIORITY),
        RuleAttribute::Protocol(OURS),
        RuleAttribute::IpProtocol(IpProtocol::from(led.protocol)),
        RuleAttribute::DestinationPortRange(RulePortRange { start: led.port, end: led.port }),
    ]);
    message
}

fn read(rule: &RuleMessage) -> Option<Led> {
    let (mut address, mut protocol, mut port, mut is_ours) = (None, None, None, false);
    for attribute in &rule.attributes {
        match attribute {
            RuleAttribute::Destination(to) => address = Some(*to),
            RuleAttribute::IpProtocol(number) => protocol = Some(u8::from(*number)),
            RuleAttribute::DestinationPortRange(range) => port = Some(range.start),
            RuleAttribute::Protocol(by) => is_ours = *by == OURS,
            _ => {}
        }
    }
    Some(Led { address: address?, protocol: protocol?, port: port? }).filter(|_| is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::namespace::Namespace;

    fn port(protocol: Protocol, port: u16, address: Option<&str>) -> HostPort {
        HostPort { protocol, port, address: address.map(|text| text.parse().unwrap()) }
    }

    #[test]
    fn a_port_is_led_at_the_addresses_at_which_it_is_asked_for() {
        let node: BTreeSet<IpAddr> =
            ["192.0.2.1", "198.51.100.1", "fd00::1"].iter().map(|text| text.parse().unwrap()).collect();
        let of = |address| -> Vec<String> {
            led(&[port(Protocol::Tcp, 80, address)], &node)
                .iter()
                .map(|led| led.address.to_string())
                .collect()
        };
        assert_eq!(of(None), ["192.0.2.1", "198.51.100.1", "fd00::1"]);
        assert_eq!(of(Some("0.0.0.0")), ["192.0.2.1", "198.51.100.1"]);
        assert_eq!(of(Some("::")), ["fd00::1"]);
        assert_eq!(of(Some("198.51.100.1")), ["198.51.100.1"]);
        assert!(of(Some("127.0.0.1")).is_empty());
        let numbers = [Protocol::Tcp, Protocol::Udp, Protocol::Sctp]
            .map(|one| led(&[port(one, 1, None)], &node)[0].protocol);
        assert_eq!(numbers, [6, 17, 132]);
    }

    #[test]
    fn an_entry_says_what_leads_to_its_interfaces() {
        let said = serde_json::json!({"uid": "p", "host-ip-address": "198.51.100.1", "interface": [
            {"uid": "i", "coeus-pod:host-port": [{"protocol": "TCP", "port": 80, "address": "any"}]}, {"uid": "j"}]});
        let entry = Entry::parse(&said).unwrap();
        let addresses = |entry: Option<&Entry>, interface: &str, node: Option<&str>| -> Vec<String> {
            let led = led_of(entry, interface, node.map(|text| text.parse().unwrap()));
            led.iter().map(|led| led.address.to_string()).collect()
        };
        assert_eq!(addresses(Some(&entry), "i", Some("192.0.2.1")), ["192.0.2.1", "198.51.100.1"]);
        assert_eq!(addresses(Some(&entry), "i", None), ["198.51.100.1"]);
        assert!(addresses(Some(&entry), "j", None).is_empty() && addresses(None, "i", None).is_empty());
    }

    #[test]
    fn the_kernel_has_what_is_wanted_and_keeps_what_is_others() {
        let Ok(namespace) = Namespace::fresh() else { return };
        let led = |text: &str, port| Led { address: text.parse().unwrap(), protocol: 6, port };
        let all = BTreeSet::from([led("192.0.2.1", 80), led("fd00::1", 80), led("192.0.2.1", 81)]);
        let fewer = BTreeSet::from([led("192.0.2.1", 81)]);
        let work = || -> io::Result<[BTreeSet<Led>; 4]> {
            let mut kernel = Netlink::open()?;
            let standing = standing(&mut kernel)?;
            assert_eq!(standing, Standing { rules: 0, is_local_first: true, has_way: false });
            let mut other = rule(led("192.0.2.1", 82));
            other.attributes.retain(|one| !matches!(one, RuleAttribute::Protocol(_)));
            kernel.ask(RouteNetlinkMessage::NewRule(other), NLM_F_CREATE | NLM_F_EXCL)?;
            let mut seen = Vec::new();
            for wanted in [&all, &all, &fewer, &BTreeSet::new()] {
                keep(&mut kernel, wanted)?;
                seen.push(ours(&mut kernel)?);
            }
            // That of somebody else is there still: it cannot be made again.
            let mut again = rule(led("192.0.2.1", 82));
            again.attributes.retain(|one| !matches!(one, RuleAttribute::Protocol(_)));
            let made = kernel.ask(RouteNetlinkMessage::NewRule(again), NLM_F_CREATE | NLM_F_EXCL);
            assert_eq!(made.unwrap_err().raw_os_error(), Some(EXISTS));
            Ok(seen.try_into().unwrap())
        };
        let seen = namespace.run(work).unwrap().unwrap();
        assert_eq!(seen, [all.clone(), all.clone(), fewer.clone(), BTreeSet::new()]);
    }
}
