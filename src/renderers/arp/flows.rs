//! Table 81.

use std::net::Ipv4Addr;

use ipnetwork::Ipv4Network;

use super::super::recipes::{NEIGHBOUR, NEXT_HOP, through_uplink};
use crate::model::Outlet;
use crate::net::{ElanTag, LportTag, MacAddr, VpnId};
use crate::pipeline::actions::{answer_arp, answer_arp_for_any, egress_to_sender, resubmit};
use crate::pipeline::matches::{
    arp_reply, arp_request, arp_spa, arp_tpa, arp_tpa_in, elan_tag, eth_dst, lport, vpn_id,
};
use crate::pipeline::{ARP_CHECK, ARP_RESPONDER, EGRESS_DISPATCHER, ELAN_BASE, Flow, Owner, owners};

/// All flows of table 43: requests, and answers of next hops.
const REQUEST: u16 = 100;
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

type Owned = Owner<owners::Arp>;

/// Requests go to the responder; all else goes on to the ELAN by the miss.
pub(super) fn requests(owner: &Owned) -> Flow {
    Flow::table(ARP_CHECK).priority(REQUEST).matching(arp_request()).goto(ARP_RESPONDER).owned_by(owner)
}

/// What a next hop answers to the controller, which asks in the gateway's name whether he is there.
pub(super) fn next_hop_answers(port: LportTag, address: Ipv4Addr, gateway: MacAddr, owner: &Owned) -> Flow {
    Flow::table(ARP_CHECK)
        .priority(REQUEST)
        .matching([lport(port), eth_dst(gateway), arp_spa(address)])
        .matching(arp_reply())
        .punt_metered(port.0, MESSAGE, NEXT_HOP)
        .owned_by(owner)
}

/// Probes and announcements of a pod's own address are flooded like any other frame.
pub(super) fn own_address(port: LportTag, address: Ipv4Addr, owner: &Owned) -> Flow {
    Flow::table(ARP_RESPONDER)
        .priority(OWN)
        .tagged(tag(address))
        .matching([lport(port), arp_tpa(address)])
        .matching(arp_request())
        .then([resubmit(ELAN_BASE)])
        .owned_by(owner)
}

/// Somebody of the same ELAN and VPN asks for this pod.
pub(super) fn answer_in_elan(
    (elan, vpn): (ElanTag, VpnId),
    address: Ipv4Addr,
    mac: MacAddr,
    owner: &Owned,
) -> Flow {
    Flow::table(ARP_RESPONDER)
        .priority(IN_ELAN)
        .tagged(tag(address))
        .matching([elan_tag(elan), vpn_id(vpn), arp_tpa(address)])
        .matching(arp_request())
        .then(answer_arp(mac, address))
        .then([egress_to_sender(), resubmit(EGRESS_DISPATCHER)])
        .owned_by(owner)
}

/// Somebody on a physical network asks for somebody who is not of the ELAN: the network answers.
pub(super) fn on_the_wire(elan: ElanTag, owner: &Owned) -> Flow {
    Flow::table(ARP_RESPONDER)
        .priority(ON_THE_WIRE)
        .matching([elan_tag(elan)])
        .matching(arp_request())
        .then([resubmit(ELAN_BASE)])
        .owned_by(owner)
}

/// Somebody of the same VPN, but another ELAN, asks for this pod: the way leads through the gateway.
pub(super) fn answer_as_proxy(vpn: VpnId, address: Ipv4Addr, gateway: MacAddr, owner: &Owned) -> Flow {
    answer_for_gateway(vpn, address, gateway, owner)
}

/// Somebody asks for an address whose place is another switch.
pub(super) fn answer_for_prefix(vpn: VpnId, prefix: Ipv4Network, gateway: MacAddr, owner: &Owned) -> Flow {
    Flow::table(ARP_RESPONDER)
        .priority(ROUTED_THERE)
        .tagged(tag(prefix.network()))
        .matching([vpn_id(vpn), arp_tpa_in(prefix)])
        .matching(arp_request())
        .then(answer_arp_for_any(gateway))
        .then([egress_to_sender(), resubmit(EGRESS_DISPATCHER)])
        .owned_by(owner)
}

/// Somebody asks for the gateway; the request never leaves the switch.
pub(super) fn answer_for_gateway(vpn: VpnId, address: Ipv4Addr, gateway: MacAddr, owner: &Owned) -> Flow {
    Flow::table(ARP_RESPONDER)
        .priority(ROUTED)
        .tagged(tag(address))
        .matching([vpn_id(vpn), arp_tpa(address)])
        .matching(arp_request())
        .then(answer_arp(gateway, address))
        .then([egress_to_sender(), resubmit(EGRESS_DISPATCHER)])
        .owned_by(owner)
}

/// The node asks for whatever it routes to its pods: all of it is behind its gateway.
pub(super) fn answer_node(vpn: VpnId, gateway: MacAddr, owner: &Owned) -> Flow {
    Flow::table(ARP_RESPONDER)
        .priority(ROUTED_THERE)
        .matching([vpn_id(vpn)])
        .matching(arp_request())
        .then(answer_arp_for_any(gateway))
        .then([egress_to_sender(), resubmit(EGRESS_DISPATCHER)])
        .owned_by(owner)
}

/// Bytes of an ARP message of Ethernet and IPv4 that reach the controller: all of them (RFC 826).
const MESSAGE: u16 = 64;

/// On an external network: the switch answers for a floating address. Who asks, and who answers it, is told to the
/// controller, which asks for neighbours in its name.
pub(super) fn floating(floating: &Outlet, address: Ipv4Addr, owner: &Owned) -> [Flow; 2] {
    let meter = floating.uplink.lport.0;
    let about = || {
        let draft = Flow::table(ARP_RESPONDER).priority(ROUTED).tagged(tag(address));
        draft.matching([vpn_id(floating.outside), arp_tpa(address)])
    };
    let asked = about()
        .matching(arp_request())
        .copy_metered(meter, MESSAGE, NEIGHBOUR)
        .then(answer_arp(floating.mac, address))
        .then(through_uplink(&floating.uplink));
    let answered = about().matching(arp_reply()).punt_metered(meter, MESSAGE, NEIGHBOUR);
    [asked.owned_by(owner), answered.owned_by(owner)]
}

/// An endpoint of a service asks for a client, who may be in another namespace and yet seem to be on its link.
pub(super) fn answer_endpoint(port: LportTag, address: Ipv4Addr, gateway: MacAddr, owner: &Owned) -> Flow {
    Flow::table(ARP_RESPONDER)
        .priority(TO_ENDPOINT)
        .matching([lport(port), arp_spa(address)])
        .matching(arp_request())
        .then(answer_arp_for_any(gateway))
        .then([egress_to_sender(), resubmit(EGRESS_DISPATCHER)])
        .owned_by(owner)
}

/// 255 and the address as a number, as in netvirt; the lport is not part of it, since one flow serves all askers.
fn tag(address: Ipv4Addr) -> u32 {
    255_u32.wrapping_add(address.to_bits())
}
