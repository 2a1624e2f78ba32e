//! Tables 45 and 82.

use std::net::Ipv6Addr;

use ipnetwork::Ipv6Network;

use super::super::recipes::{NEIGHBOUR, NEXT_HOP};
use crate::model::{LINK_LOCAL_GATEWAY, Outlet};
use crate::net::{ElanTag, LportTag, MacAddr, VpnId};
use crate::pipeline::actions::{
    begin_advertisement, egress_to_sender, finish_advertisement, finish_advertisement_to_all, resubmit,
    tag_vlan,
};
use crate::pipeline::matches::{
    elan_tag, ipv6_dst, ipv6_src, lport, nd_target, nd_target_in, nd_target_link_local,
    neighbour_advertisement, neighbour_solicitation, router_solicitation, vpn_id,
};
use crate::pipeline::{EGRESS_DISPATCHER, Flow, IPV6, LPORT_DISPATCHER, ND_RESPONDER, Owner, owners};

/// A pod's question for its own address goes unanswered: beats all answers.
const OWN: u16 = 110;
/// An answer with the pod's own MAC, within its ELAN: beats the proxy.
const IN_ELAN: u16 = 105;
/// On a physical network all others are outside: beats [`ROUTED`].
const ON_THE_WIRE: u16 = 102;
/// An answer with the gateway's MAC, for the gateway or for a pod of another ELAN.
const ROUTED: u16 = 100;
/// An answer with the gateway's MAC, for whatever is at another switch.
const ROUTED_THERE: u16 = 90;
/// An answer with the gateway's MAC to an endpoint of a service, whoever it is that it asks for: below all that is known.
const TO_ENDPOINT: u16 = 80;
/// Router solicitations; their matches meet no other's.
const ROUTERS: u16 = 100;
/// An asker without an address: beats [`ANSWER`].
const TO_ALL: u16 = 20;
const ANSWER: u16 = 10;
/// Bytes of a solicitation that are sent to the controller: Ethernet, IPv6, the message, and an address option.
const SOLICITATION: u16 = 14 + 40 + 8 + 8;
/// What the punted packet carries back.
const USERDATA: &[u8] = b"rs";

type Owned = Owner<owners::Nd>;

/// Duplicate detection of a pod's own address is flooded like any other frame.
pub(super) fn own_address(port: LportTag, address: Ipv6Addr, owner: &Owned) -> Flow {
    Flow::table(IPV6)
        .priority(OWN)
        .matching([lport(port), nd_target(address)])
        .matching(neighbour_solicitation())
        .then([resubmit(LPORT_DISPATCHER)])
        .owned_by(owner)
}

/// Somebody of the same ELAN and VPN asks for this pod.
pub(super) fn answer_in_elan(
    (elan, vpn): (ElanTag, VpnId),
    address: Ipv6Addr,
    mac: MacAddr,
    owner: &Owned,
) -> Flow {
    Flow::table(IPV6)
        .priority(IN_ELAN)
        .matching([elan_tag(elan), vpn_id(vpn), nd_target(address)])
        .matching(neighbour_solicitation())
        .then(begin_advertisement(mac, false))
        .then([resubmit(ND_RESPONDER)])
        .owned_by(owner)
}

/// Somebody on a physical network asks for somebody who is not of the ELAN: the network answers.
pub(super) fn on_the_wire(elan: ElanTag, owner: &Owned) -> Flow {
    Flow::table(IPV6)
        .priority(ON_THE_WIRE)
        .matching([elan_tag(elan)])
        .matching(neighbour_solicitation())
        .then([resubmit(LPORT_DISPATCHER)])
        .owned_by(owner)
}

/// Somebody of the same VPN, but another ELAN, asks for this pod: the way leads through the gateway.
pub(super) fn answer_as_proxy(vpn: VpnId, address: Ipv6Addr, gateway: MacAddr, owner: &Owned) -> Flow {
    answer_routed(vpn, address, gateway, false, owner)
}

/// Somebody asks for an address whose place is another switch.
pub(super) fn answer_for_prefix(vpn: VpnId, prefix: Ipv6Network, gateway: MacAddr, owner: &Owned) -> Flow {
    Flow::table(IPV6)
        .priority(ROUTED_THERE)
        .matching([vpn_id(vpn), nd_target_in(prefix)])
        .matching(neighbour_solicitation())
        .then(begin_advertisement(gateway, false))
        .then([resubmit(ND_RESPONDER)])
        .owned_by(owner)
}

/// Somebody asks for the gateway; the solicitation never leaves the switch.
pub(super) fn answer_for_gateway(vpn: VpnId, address: Ipv6Addr, gateway: MacAddr, owner: &Owned) -> Flow {
    answer_routed(vpn, address, gateway, true, owner)
}

fn answer_routed(vpn: VpnId, address: Ipv6Addr, mac: MacAddr, router: bool, owner: &Owned) -> Flow {
    Flow::table(IPV6)
        .priority(ROUTED)
        .matching([vpn_id(vpn), nd_target(address)])
        .matching(neighbour_solicitation())
        .then(begin_advertisement(mac, router))
        .then([resubmit(ND_RESPONDER)])
        .owned_by(owner)
}

/// The node asks for whatever it routes to its pods: all of it is behind its gateway. Its link-local addresses are its own.
pub(super) fn answer_node(vpn: VpnId, gateway: MacAddr, owner: &Owned) -> [Flow; 2] {
    let asked = |priority: u16| {
        Flow::table(IPV6).priority(priority).matching([vpn_id(vpn)]).matching(neighbour_solicitation())
    };
    let own = asked(OWN).matching([nd_target_link_local()]).then([resubmit(LPORT_DISPATCHER)]);
    let routed = asked(ROUTED_THERE).then(begin_advertisement(gateway, false)).then([resubmit(ND_RESPONDER)]);
    [own.owned_by(owner), routed.owned_by(owner)]
}

/// An endpoint of a service asks for a client, who may be in another namespace and yet seem to be on its link.
pub(super) fn answer_endpoint(port: LportTag, address: Ipv6Addr, gateway: MacAddr, owner: &Owned) -> Flow {
    Flow::table(IPV6)
        .priority(TO_ENDPOINT)
        .matching([lport(port), ipv6_src(address)])
        .matching(neighbour_solicitation())
        .then(begin_advertisement(gateway, false))
        .then([resubmit(ND_RESPONDER)])
        .owned_by(owner)
}

/// Bytes of a neighbour message that reach the controller: Ethernet, IPv6, the message, an address option, and a nonce beside it.
const MESSAGE: u16 = 14 + 40 + 24 + 8 + 8;

/// On an external network: the switch answers for a floating address. Who asks, and who answers it, is told to the
/// controller, which asks for neighbours in its name.
pub(super) fn floating(floating: &Outlet, address: Ipv6Addr, owner: &Owned) -> [Flow; 2] {
    let meter = floating.uplink.lport.0;
    let about = || Flow::table(IPV6).priority(ROUTED).matching([vpn_id(floating.outside)]);
    let asked = about()
        .matching([nd_target(address)])
        .matching(neighbour_solicitation())
        .copy_metered(meter, MESSAGE, NEIGHBOUR)
        .then(begin_advertisement(floating.mac, false))
        .then(floating.uplink.vlan.into_iter().flat_map(tag_vlan))
        .then([resubmit(ND_RESPONDER)]);
    let answered = about()
        .matching(neighbour_advertisement())
        .matching([ipv6_dst(address)])
        .punt_metered(meter, MESSAGE, NEIGHBOUR);
    [asked.owned_by(owner), answered.owned_by(owner)]
}

/// What a next hop answers to the controller, which asks in the router's name whether he is there.
pub(super) fn next_hop_answers(port: LportTag, address: Ipv6Addr, owner: &Owned) -> Flow {
    Flow::table(IPV6)
        .priority(ROUTED)
        .matching([lport(port), ipv6_dst(LINK_LOCAL_GATEWAY), nd_target(address)])
        .matching(neighbour_advertisement())
        .punt_metered(port.0, MESSAGE, NEXT_HOP)
        .owned_by(owner)
}

/// A router solicitation is answered by the controller: an advertisement has bytes that no flow can add.
pub(super) fn solicitation(port: LportTag, owner: &Owned) -> Flow {
    Flow::table(IPV6)
        .priority(ROUTERS)
        .matching([lport(port)])
        .matching(router_solicitation())
        .punt_metered(port.0, SOLICITATION, USERDATA)
        .owned_by(owner)
}

/// The second half of all answers.
pub(super) fn responder(owner: &Owned) -> [Flow; 2] {
    let answer = |priority: u16, actions: Vec<_>| {
        Flow::table(ND_RESPONDER)
            .priority(priority)
            .matching(neighbour_advertisement())
            .then(actions)
            .then([egress_to_sender(), resubmit(EGRESS_DISPATCHER)])
    };
    [
        answer(TO_ALL, finish_advertisement_to_all())
            .matching([ipv6_src(Ipv6Addr::UNSPECIFIED)])
            .owned_by(owner),
        answer(ANSWER, finish_advertisement()).owned_by(owner),
    ]
}
