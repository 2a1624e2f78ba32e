//! Tables 208, 209 and 210.

use std::net::{IpAddr, Ipv6Addr};

use ipnetwork::IpNetwork;

use super::classes::Class;
use crate::net::{LportTag, MacAddr};
use crate::pipeline::actions::resubmit;
use crate::pipeline::matches::{
    any_nd, arp, arp_request, arp_sha, arp_spa, dhcp_request, eth_dst_masked, eth_src, eth_type,
    hidden_protocols, hidden_transports, icmpv6, ip_src_prefix, ipv4, ipv4_src, ipv6, ipv6_src,
    ipv6_src_link_local, lport, nd_sll, nd_target, nd_tll, neighbour_advertisement, neighbour_solicitation,
    udp_to, udp_v6_to,
};
use crate::pipeline::{
    ANTISPOOF_ADDRESS, ANTISPOOF_MAC, ANTISPOOF_SENDER, Draft, Flow, Owner, SERVICE, owners,
};

/// What no pod may send, whatever its addresses say. A packet may be forbidden twice; then it counts by where it goes,
/// and before that by its Ethernet type.
const FORBIDDEN: u16 = 100;
const FORBIDDEN_TYPE: u16 = 101;
const FORBIDDEN_PLACE: u16 = 102;
/// What a pod may send.
const OWN: u16 = 20;
/// The rest of a protocol, by class: below [`OWN`].
const FOREIGN: u16 = 10;
/// Link-local addresses that are not its own: beats [`BEHIND`], which may hold all addresses.
const LINK_LOCAL: u16 = 7;
/// IPv6 from behind a port: below what neighbour messages must tell.
const BEHIND: u16 = 6;
/// The rest of the rest.
const OTHER: u16 = 5;
/// Frames of other protocols than IP, whose only source is the MAC address.
const NO_ADDRESS: u16 = 1;

const ROUTER_ADVERTISEMENT: u8 = 134;
const REDIRECT: u8 = 137;
/// What a host without an address may say: router solicitation, neighbour solicitation (duplicate detection), and the
/// reports of multicast listeners that go with it (RFC 2710, 3810).
const WITHOUT_ADDRESS: [u8; 4] = [133, 135, 131, 143];
const LLDP: u16 = 0x88cc;
/// Ports that only clients listen on (RFC 2131, RFC 8415).
const DHCP_CLIENT: u16 = 68;
const DHCPV6_CLIENT: u16 = 546;

type Owned = Owner<owners::Antispoof>;

/// A flow that drops and counts.
fn drops<O>(draft: Draft<O>, class: Class) -> Draft<O> {
    draft.tagged(class as u32)
}

fn owner(class: Class) -> Owned {
    Owner::new(class.name())
}

/// What every switch has: what is forbidden to all, and where what is nobody's own ends.
pub(super) fn of_switch() -> Vec<Flow> {
    let bridges = [
        // IEEE 802.1D and 802.1Q, table 8-1: never forwarded by a bridge. And Cisco's discovery and spanning tree.
        eth_dst_masked(MacAddr([0x01, 0x80, 0xc2, 0, 0, 0]), MacAddr([0xff, 0xff, 0xff, 0xff, 0xff, 0xf0])),
        eth_dst_masked(
            MacAddr([0x01, 0x00, 0x0c, 0xcc, 0xcc, 0xcc]),
            MacAddr([0xff, 0xff, 0xff, 0xff, 0xff, 0xfe]),
        ),
    ];
    let by = |priority: u16, class, conditions: Vec<_>| {
        let draft = Flow::table(ANTISPOOF_MAC).priority(priority).matching(conditions);
        drops(draft, class).owned_by(&owner(class))
    };
    let mut flows: Vec<Flow> =
        bridges.into_iter().map(|bridge| by(FORBIDDEN_PLACE, Class::LinkProtocol, vec![bridge])).collect();
    flows.push(by(FORBIDDEN_TYPE, Class::LinkProtocol, vec![eth_type(LLDP)]));
    let forbidden = |class, conditions| by(FORBIDDEN, class, conditions);
    flows.push(forbidden(Class::Router, icmpv6(ROUTER_ADVERTISEMENT).to_vec()));
    flows.push(forbidden(Class::Router, icmpv6(REDIRECT).to_vec()));
    flows.push(forbidden(Class::DhcpServer, udp_to(DHCP_CLIENT).to_vec()));
    flows.push(forbidden(Class::DhcpServer, udp_v6_to(DHCPV6_CLIENT).to_vec()));
    let hidden = hidden_protocols().into_iter().chain(hidden_transports());
    flows.extend(hidden.map(|conditions| forbidden(Class::HiddenHeader, conditions)));
    let foreign_mac = Flow::table(ANTISPOOF_MAC).priority(NO_ADDRESS);
    flows.push(drops(foreign_mac, Class::SourceMac).owned_by(&owner(Class::SourceMac)));

    let shared = Owned::new("switch");
    // A neighbour message without the option that could lie passes here; one that has it needs the port's own flow.
    for message in [
        neighbour_solicitation().into_iter().chain([nd_sll(MacAddr([0; 6]))]).collect::<Vec<_>>(),
        neighbour_advertisement().into_iter().chain([nd_tll(MacAddr([0; 6]))]).collect(),
    ] {
        let draft = Flow::table(ANTISPOOF_SENDER).priority(OWN).matching(message);
        flows.push(draft.goto(ANTISPOOF_ADDRESS).owned_by(&shared));
    }
    for message in any_nd() {
        let draft = Flow::table(ANTISPOOF_SENDER).priority(FOREIGN).matching(message);
        flows.push(drops(draft, Class::NdSender).owned_by(&owner(Class::NdSender)));
    }
    let arp_sender = Flow::table(ANTISPOOF_SENDER).priority(FOREIGN).matching([arp()]);
    flows.push(drops(arp_sender, Class::ArpSender).owned_by(&owner(Class::ArpSender)));

    // A probe claims nothing (RFC 5227 section 2.1.1).
    let probe = Flow::table(ANTISPOOF_ADDRESS)
        .priority(OWN)
        .matching(arp_request())
        .matching([arp_spa([0, 0, 0, 0].into())]);
    flows.push(probe.then([resubmit(SERVICE)]).owned_by(&shared));
    for kind in WITHOUT_ADDRESS {
        let draft = Flow::table(ANTISPOOF_ADDRESS)
            .priority(OWN)
            .matching(icmpv6(kind))
            .matching([ipv6_src(Ipv6Addr::UNSPECIFIED)]);
        flows.push(draft.then([resubmit(SERVICE)]).owned_by(&shared));
    }
    let last = |priority: u16, conditions: Vec<_>, class: Class| {
        let draft = Flow::table(ANTISPOOF_ADDRESS).priority(priority).matching(conditions);
        drops(draft, class).owned_by(&owner(class))
    };
    flows.push(last(OTHER, vec![arp()], Class::ArpSender));
    flows.push(last(OTHER, vec![ipv4()], Class::Ipv4Source));
    flows.push(last(FOREIGN, neighbour_advertisement().to_vec(), Class::NdSender));
    flows.push(last(LINK_LOCAL, ipv6_src_link_local().to_vec(), Class::LinkLocal));
    flows.push(last(OTHER, vec![ipv6()], Class::Ipv6Source));
    let other = Flow::table(ANTISPOOF_ADDRESS).priority(NO_ADDRESS);
    flows.push(other.then([resubmit(SERVICE)]).owned_by(&shared));
    flows
}

/// What one port may send: its MAC address as the frame's source and in what ARP and neighbour discovery tell.
pub(super) fn of_mac(port: LportTag, mac: MacAddr, ipv6: bool, owner: &Owned) -> Vec<Flow> {
    let source = Flow::table(ANTISPOOF_MAC).priority(OWN).matching([lport(port), eth_src(mac)]);
    let mut flows = vec![source.goto(ANTISPOOF_SENDER).owned_by(owner)];
    let mut sender = |conditions: Vec<_>| {
        let draft = Flow::table(ANTISPOOF_SENDER).priority(OWN).matching([lport(port)]).matching(conditions);
        flows.push(draft.goto(ANTISPOOF_ADDRESS).owned_by(owner));
    };
    sender(vec![arp(), arp_sha(mac)]);
    if ipv6 {
        sender(neighbour_solicitation().into_iter().chain([nd_sll(mac)]).collect());
        sender(neighbour_advertisement().into_iter().chain([nd_tll(mac)]).collect());
    }
    flows
}

/// What one port may send with this address.
pub(super) fn of_address(port: LportTag, address: IpAddr, owner: &Owned) -> Vec<Flow> {
    let own = |priority: u16, conditions: Vec<_>| {
        Flow::table(ANTISPOOF_ADDRESS)
            .priority(priority)
            .matching([lport(port)])
            .matching(conditions)
            .then([resubmit(SERVICE)])
            .owned_by(owner)
    };
    match address {
        IpAddr::V4(address) => {
            vec![own(OWN, vec![arp(), arp_spa(address)]), own(OWN, ipv4_src(address).to_vec())]
        }
        IpAddr::V6(address) => {
            // What is told of an address in an advertisement must be told by itself, and beats the class's drop;
            // all else of the address stays below that.
            let told = neighbour_advertisement().into_iter().chain([nd_target(address), ipv6_src(address)]);
            vec![own(OWN, told.collect()), own(FOREIGN - 1, vec![ipv6(), ipv6_src(address)])]
        }
    }
}

/// What one port may send from behind it. It is routed there, so nobody asks for an address of it but one that stands alone.
pub(super) fn of_route(port: LportTag, prefix: IpNetwork, owner: &Owned) -> Vec<Flow> {
    let bits = if prefix.is_ipv4() { 32 } else { 128 };
    if prefix.prefix() == bits {
        return of_address(port, prefix.ip(), owner);
    }
    let priority = if prefix.is_ipv4() { OWN } else { BEHIND };
    let from = Flow::table(ANTISPOOF_ADDRESS).priority(priority).matching([lport(port)]);
    vec![from.matching(ip_src_prefix(prefix)).then([resubmit(SERVICE)]).owned_by(owner)]
}

/// What is switched only and has no addresses that anybody knows: its MAC address is all that can be held against it.
pub(super) fn of_any_address(port: LportTag, owner: &Owned) -> Vec<Flow> {
    let any = |protocol| {
        Flow::table(ANTISPOOF_ADDRESS)
            .priority(OWN)
            .matching([lport(port), protocol])
            .then([resubmit(SERVICE)])
            .owned_by(owner)
    };
    [arp(), ipv4(), ipv6()].map(any).into()
}

/// A client without an address asks for one.
pub(super) fn of_dhcp(port: LportTag, owner: &Owned) -> Flow {
    Flow::table(ANTISPOOF_ADDRESS)
        .priority(OWN)
        .matching([lport(port)])
        .matching(dhcp_request())
        .then([resubmit(SERVICE)])
        .owned_by(owner)
}

/// The link-local address that a host makes of its MAC address (RFC 4291 appendix A): the only one a pod may use.
pub(super) fn link_local(MacAddr([a, b, c, d, e, f]): MacAddr) -> Ipv6Addr {
    let word = |high: u8, low: u8| u16::from_be_bytes([high, low]);
    Ipv6Addr::new(0xfe80, 0, 0, 0, word(a ^ 2, b), word(c, 0xff), word(0xfe, d), word(e, f))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_local_address_is_made_of_the_mac() {
        let made = link_local(MacAddr([0x0a, 0, 0, 0, 0, 1]));
        assert_eq!(made.to_string(), "fe80::800:ff:fe00:1");
    }
}
