//! Tables 19 and 21.

use std::net::IpAddr;

use ipnetwork::IpNetwork;

use super::super::recipes::through_tunnel;
use crate::model::Remote;
use crate::net::{LportTag, MacAddr, Vni, VpnId};
use crate::pipeline::actions::{
    answer_echo, answer_echo_v6, clear_in_port, dec_ttl, egress_to, egress_to_sender, load_metadata,
    resubmit, set_eth_dst, set_eth_src,
};
use crate::pipeline::matches::{
    arp, eth_dst, icmp_echo_request, icmpv6_echo_request, ip_host, ip_prefix, ip_ttl, ipv4, ipv6,
    ipv6_of_the_link, lport, service_way, split_horizon, vpn_id,
};
use crate::pipeline::{
    Action, EGRESS_DISPATCHER, FIB, Flow, L3_GATEWAY_MAC, LPORT_DISPATCHER, Metadata, Owner, SERVICE_FIB,
    ServiceWay, owners,
};

/// ARP, also for the gateway: beats [`GATEWAY_MAC`].
const ARP: u16 = 100;
/// What no route leads to, where it may go outside: below every route, the default route too.
pub(super) const OUTSIDE: u16 = 8;
/// The same of a pod with an address there: beats [`OUTSIDE`].
pub(super) const OWN_OUTSIDE: u16 = 9;
/// What no route of an interface's VPN leads to, where it has an Internet VPN: below every route, too.
const INTERNET: u16 = 9;
/// What came out of a switch and back into it by the node: beats every route.
pub(super) const HAIRPIN: u16 = 80;
pub(super) const HAIRPIN_V6: u16 = 144;
/// IPv6 of the link: beats every route, the default route too.
const OF_THE_LINK: u16 = 145;
/// What belongs to a service, whatever MAC it is for.
const OF_SERVICE: u16 = 110;
/// To the gateway.
const GATEWAY_MAC: u16 = 20;
/// A packet that must not be routed on beats every route.
const EXPIRED: u16 = 60;
const EXPIRED_V6: u16 = 150;
/// The gateway itself answers, also to a packet that could not be routed on.
const ECHO: u16 = 70;
const ECHO_V6: u16 = 160;

type Owned = Owner<owners::Vpn>;

/// 10 and the prefix length: the longest prefix wins. Source: netvirt.
pub(super) fn longest(prefix: IpNetwork) -> u16 {
    10 + u16::from(prefix.prefix())
}

/// ARP is never routed, whatever MAC it is for.
pub(super) fn arp_is_not_routed(owner: &Owned) -> Flow {
    Flow::table(L3_GATEWAY_MAC).priority(ARP).matching([arp()]).goto(LPORT_DISPATCHER).owned_by(owner)
}

/// Requests and answers of services have ways of their own.
pub(super) fn services_apart(owner: &Owned) -> [Flow; 2] {
    [ServiceWay::Request, ServiceWay::Answer].map(|way| {
        let draft = Flow::table(L3_GATEWAY_MAC).priority(OF_SERVICE).matching([service_way(way)]);
        draft.goto(SERVICE_FIB).owned_by(owner)
    })
}

/// What a pod sends to its gateway is routed.
pub(super) fn gateway_mac(vpn: VpnId, gateway: MacAddr, owner: &Owned) -> Flow {
    Flow::table(L3_GATEWAY_MAC)
        .priority(GATEWAY_MAC)
        .matching([vpn_id(vpn), eth_dst(gateway)])
        .goto(FIB)
        .owned_by(owner)
}

/// To a pod on this switch, or what is behind it. The port it came from is forgotten, so that it may go back there.
pub(super) fn route_local(
    vpn: VpnId,
    destination: IpNetwork,
    gateway: MacAddr,
    pod: MacAddr,
    lport: LportTag,
    owner: &Owned,
) -> Flow {
    Flow::table(FIB)
        .priority(longest(destination))
        .matching([vpn_id(vpn)])
        .matching(ip_prefix(destination))
        .then([dec_ttl(), set_eth_src(gateway), set_eth_dst(pod), clear_in_port(), egress_to(lport)])
        .then([resubmit(EGRESS_DISPATCHER)])
        .owned_by(owner)
}

/// To one of several interfaces; `from_tunnel` where it matters whether it came from one.
pub(super) fn route_spread(
    vpn: VpnId,
    destination: IpNetwork,
    (from_tunnel, gateway, onwards): (Option<bool>, MacAddr, Vec<Action>),
    owner: &Owned,
) -> Flow {
    Flow::table(FIB)
        .priority(longest(destination))
        .matching([vpn_id(vpn)])
        .matching(from_tunnel.map(split_horizon))
        .matching(ip_prefix(destination))
        .then([dec_ttl(), set_eth_src(gateway)])
        .then(onwards)
        .owned_by(owner)
}

/// To a pod on another switch, or all pods of its prefix; it routes once more. Never from one tunnel into another.
pub(super) fn route_remote(
    vpn: VpnId,
    destination: IpNetwork,
    gateway: MacAddr,
    vni: Vni,
    remote: Remote,
    owner: &Owned,
) -> Flow {
    Flow::table(FIB)
        .priority(longest(destination))
        .matching([vpn_id(vpn), split_horizon(false)])
        .matching(ip_prefix(destination))
        .then([dec_ttl(), set_eth_src(gateway), set_eth_dst(gateway)])
        .then(through_tunnel(vni, remote))
        .owned_by(owner)
}

/// The switch answers a ping of the gateway with the gateway's addresses.
pub(super) fn echo(vpn: VpnId, address: IpAddr, owner: &Owned) -> Flow {
    let to_sender = vec![egress_to_sender(), resubmit(EGRESS_DISPATCHER)];
    echo_from(vpn, address, false, to_sender, owner)
}

/// The same to a pod of another switch: the answer is routed as if it came from here.
pub(super) fn echo_to_remote(vpn: VpnId, address: IpAddr, owner: &Owned) -> Flow {
    let mut onwards = load_metadata(Metadata::new().split_horizon(false));
    onwards.push(resubmit(FIB));
    echo_from(vpn, address, true, onwards, owner)
}

fn echo_from(vpn: VpnId, address: IpAddr, from_tunnel: bool, onwards: Vec<Action>, owner: &Owned) -> Flow {
    let draft =
        Flow::table(FIB).matching([vpn_id(vpn), split_horizon(from_tunnel)]).matching(ip_host(address));
    let draft = match address {
        IpAddr::V4(_) => draft.priority(ECHO).matching(icmp_echo_request()).then(answer_echo()),
        IpAddr::V6(_) => draft.priority(ECHO_V6).matching(icmpv6_echo_request()).then(answer_echo_v6()),
    };
    draft.then(onwards).owned_by(owner)
}

/// IPv6 that no route leads to goes on in the interface's Internet VPN.
pub(super) fn to_internet(vpn: VpnId, from: LportTag, internet: VpnId, owner: &Owned) -> Flow {
    Flow::table(FIB)
        .priority(INTERNET)
        .matching([vpn_id(vpn), lport(from), split_horizon(false), ipv6()])
        .then(load_metadata(Metadata::new().vpn(internet)))
        .then([resubmit(FIB)])
        .owned_by(owner)
}

/// Neither what is link-local nor what is for a group leaves its link.
pub(super) fn of_the_link(owner: &Owned) -> [Flow; 3] {
    ipv6_of_the_link().map(|packets| Flow::table(FIB).priority(OF_THE_LINK).matching(packets).owned_by(owner))
}

/// Packets whose TTL does not allow another hop are dropped. Left to dec_ttl, each would be punted.
pub(super) fn expired(owner: &Owned) -> Vec<Flow> {
    let drop = |(priority, version, ttl): (u16, _, u8)| {
        Flow::table(FIB).priority(priority).matching([version, ip_ttl(ttl)]).owned_by(owner)
    };
    let drops =
        [(EXPIRED, ipv4(), 0), (EXPIRED, ipv4(), 1), (EXPIRED_V6, ipv6(), 0), (EXPIRED_V6, ipv6(), 1)];
    drops.into_iter().map(drop).collect()
}
