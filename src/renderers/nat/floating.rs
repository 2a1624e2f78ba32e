//! Tables 25, 27 and 26, 28: an address outside and that of its pod, one for one and without any state.

use super::super::recipes::floating_owner;
use super::super::zones::CLIENTS;
use crate::model::{Floating, Napt, Outlet};
use crate::net::{ElanTag, Transport};
use crate::pipeline::actions::{
    clear_in_port, load_from_outside, load_metadata, resubmit, set_eth_src, set_ip_dst, set_ip_src, track,
};
use crate::pipeline::matches::{ip_host, ip_src_host, port_to, vpn_id};
use crate::pipeline::{
    DNAT, FIB, Flow, INBOUND_NAPT, Metadata, NAPT_TO_FIB, PDNAT, PSNAT, SERVICE_CONNECTION, SNAT,
};

/// The only flows of their tables beside the misses, but in table 26. Source: netvirt.
const TRANSLATED: u16 = 10;
/// Of a pod that might go out by its node, too: its own address comes first.
const OWN: u16 = 11;
/// Back to the pods of a VPN: beats [`TRANSLATED`], by which those of a node get theirs.
const OF_VPN: u16 = 20;
/// A service's port: beats [`TRANSLATED`].
const SERVED: u16 = 20;
/// What comes from outside is in no ELAN.
const NO_ELAN: ElanTag = ElanTag(0);

/// In and out.
pub(super) fn flows(floating: &Floating) -> [Flow; 4] {
    let owner = floating_owner(floating.outlet.external);
    // Marked as what came from a tunnel is: it is for a pod of this switch, and for no other.
    let pods = Metadata::new().elan(NO_ELAN).vpn(floating.vpn).split_horizon(true);
    let to_pod = Flow::table(PDNAT)
        .priority(TRANSLATED)
        .matching([vpn_id(floating.outlet.outside)])
        .matching(ip_host(floating.outlet.external))
        .then([set_ip_dst(floating.internal)])
        .write_metadata(pods)
        .goto(DNAT);
    let routed = Flow::table(DNAT)
        .priority(TRANSLATED)
        .matching([vpn_id(floating.vpn)])
        .matching(ip_host(floating.internal))
        .then([clear_in_port(), resubmit(FIB)]);
    let from_pod = Flow::table(PSNAT)
        .priority(OWN)
        .matching([vpn_id(floating.vpn)])
        .matching(ip_src_host(floating.internal))
        .then([set_ip_src(floating.outlet.external)])
        .write_metadata(Metadata::new().vpn(floating.outlet.outside))
        .goto(SNAT);
    let outside = Flow::table(SNAT)
        .priority(TRANSLATED)
        .matching([vpn_id(floating.outlet.outside)])
        .matching(ip_src_host(floating.outlet.external))
        .then([set_eth_src(floating.outlet.mac), resubmit(FIB)]);
    [to_pod, routed, from_pod, outside].map(|draft| draft.owned_by(&owner))
}

/// What comes in for a port of a service, before what its address is besides.
pub(super) fn to_service(outlet: &Outlet, transport: Transport, port: u16) -> Flow {
    Flow::table(PDNAT)
        .priority(SERVED)
        .matching([vpn_id(outlet.outside)])
        .matching(ip_host(outlet.external))
        .matching(port_to(transport, port))
        .then(load_metadata(Metadata::new().split_horizon(false)))
        .then([load_from_outside(), track(CLIENTS, SERVICE_CONNECTION)])
        .owned_by(&floating_owner(outlet.external))
}

/// The same of an address that the pods of a VPN share: it is looked up as the VPN's, and marked as what comes from outside.
pub(super) fn back(napt: &Napt) -> Flow {
    let vpn = Metadata::new().vpn(napt.vpn).split_horizon(false);
    Flow::table(INBOUND_NAPT)
        .priority(OF_VPN)
        .matching([vpn_id(napt.outlet.outside)])
        .matching(ip_host(napt.outlet.external))
        .then(load_metadata(vpn))
        .then([load_from_outside(), track(napt.zone, NAPT_TO_FIB)])
        .owned_by(&floating_owner(napt.outlet.external))
}

/// What comes in for an address that the pods of a node or a VPN share: whose it is, connections tell.
pub(super) fn shared(outlet: &Outlet) -> Flow {
    Flow::table(PDNAT)
        .priority(TRANSLATED)
        .matching([vpn_id(outlet.outside)])
        .matching(ip_host(outlet.external))
        .goto(INBOUND_NAPT)
        .owned_by(&floating_owner(outlet.external))
}
