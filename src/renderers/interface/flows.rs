//! Tables 0, 17 and 220.

use crate::net::{ElanTag, LportTag, OfPort, VpnId};
use crate::pipeline::actions::output;
use crate::pipeline::matches::{egress_lport, in_port, lport, service_index, untagged};
use crate::pipeline::{
    ARP_CHECK, DHCP, EGRESS_DISPATCHER, Flow, INTERNAL_TUNNEL, L3_GATEWAY_MAC, LPORT_DISPATCHER,
    LPORT_INGRESS, Metadata, Owner, owners,
};

/// Pod ports in table 0. Source: netvirt, VLAN ingress.
const POD_PORT: u16 = 4;
/// Tunnel ports beat pod ports, should both have a number for a moment.
const TUNNEL_PORT: u16 = 5;
/// All services of the dispatcher: their matches never overlap.
pub(super) const SERVICE: u16 = 10;
/// The default egress service; an egress policy in front of it comes at 6. Source: genius, service index 9.
const DEFAULT_EGRESS: u16 = 9;

/// What table 0 leaves for the first service.
const FIRST: u8 = 0;
/// Service indices of the dispatcher; that of DHCP is never met, since it is always the first and so matches 0.
/// Source: netvirt stable/neon.
const DHCP_SERVICE: u8 = 5;
const L3VPN: u8 = 9;
const ELAN: u8 = 11;
/// After the last service: no flow has it, so what falls through is dropped.
const NONE: u8 = ELAN + 1;

type Owned = Owner<owners::Interface>;

/// A frame from a pod gets its logical port; index and split horizon are cleared.
pub(super) fn ingress(ofport: OfPort, port: LportTag, owner: &Owned) -> Flow {
    Flow::table(LPORT_INGRESS)
        .priority(POD_PORT)
        .matching([in_port(ofport), untagged()])
        .write_metadata(Metadata::new().lport(port).split_horizon(false).service_index(0))
        .goto(LPORT_DISPATCHER)
        .owned_by(owner)
}

/// A packet from another node is marked, so that it never goes back into a tunnel.
pub(super) fn tunnel_ingress(ofport: OfPort, port: LportTag, owner: &Owned) -> Flow {
    Flow::table(LPORT_INGRESS)
        .priority(TUNNEL_PORT)
        .tagged(1)
        .matching([in_port(ofport)])
        .write_metadata(Metadata::new().lport(port).split_horizon(true))
        .goto(INTERNAL_TUNNEL)
        .owned_by(owner)
}

/// The services of [`dispatch`] by priority.
pub(super) fn services(dhcp: bool) -> Vec<(u8, &'static str)> {
    let dhcp = dhcp.then_some((DHCP_SERVICE, "dhcp"));
    dhcp.into_iter().chain([(L3VPN, "l3vpn"), (ELAN, "elan")]).collect()
}

/// The chain of services of a pod: the first one matches index 0, each writes the index of the next.
/// The ELAN service keeps the VPN id, by which the ARP responder answers for pods of other ELANs.
pub(super) fn dispatch(port: LportTag, elan: ElanTag, vpn: VpnId, dhcp: bool, owner: &Owned) -> Vec<Flow> {
    let service = |index: u8| {
        Flow::table(LPORT_DISPATCHER).priority(SERVICE).matching([service_index(index), lport(port)])
    };
    let next = |index: u8| Metadata::new().service_index(index).lport(port).no_service();
    let l3vpn = if dhcp { L3VPN } else { FIRST };
    let mut flows = Vec::new();
    if dhcp {
        flows.push(service(FIRST).write_metadata(next(L3VPN)).goto(DHCP).owned_by(owner));
    }
    flows.push(service(l3vpn).write_metadata(next(ELAN).vpn(vpn)).goto(L3_GATEWAY_MAC).owned_by(owner));
    flows.push(service(ELAN).write_metadata(next(NONE).elan(elan).vpn(vpn)).goto(ARP_CHECK).owned_by(owner));
    flows
}

/// What is for this logical port leaves by that port.
pub(super) fn egress(port: LportTag, ofport: OfPort, owner: &Owned) -> Flow {
    Flow::table(EGRESS_DISPATCHER)
        .priority(DEFAULT_EGRESS)
        .matching([egress_lport(port)])
        .then([output(ofport)])
        .owned_by(owner)
}
