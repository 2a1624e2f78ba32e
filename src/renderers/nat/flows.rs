//! Tables 26, 44, 46 and 47.

use std::net::IpAddr;

use super::super::recipes::floating_owner;
use crate::model::{NODE_VPN, Napt, NodeSources, Outlet, gateway_mac};
use crate::net::{LportTag, MacAddr, VpnId};
use crate::pipeline::actions::{
    clear_in_port, egress_to, load_metadata, resubmit, set_eth_dst, set_eth_src, track, translate_source,
};
use crate::pipeline::matches::{ct_known, ct_new, ip_src_host, ip_version_of, is_from_outside, vpn_id};
use crate::pipeline::{
    Action, EGRESS_DISPATCHER, FIB, Flow, INBOUND_NAPT, Metadata, NAPT_TO_FIB, OUTBOUND_NAPT, Owner, PSNAT,
    owners,
};

/// The only flows of tables 26 and 44 beside their misses. Source: netvirt.
const TRANSLATED: u16 = 10;
/// Known connections; their matches and that of new ones may meet, where a new one is about another. Source: netvirt.
const KNOWN: u16 = 6;
const NEW: u16 = 5;
/// From outside, to a connection that is known: beats [`UNASKED`].
const BACK: u16 = 10;
/// From outside, to none: beats [`OUT`].
const UNASKED: u16 = 7;
const OUT: u16 = 5;
/// Zone of connection tracking that all source NAT of a switch shares: the highest but a few, to be met by nobody.
pub(super) const ZONE: u16 = 65_520;

type Owned = Owner<owners::Nat>;

/// Of one VPN: beats those of all.
const OF_VPN: u16 = 20;
/// From outside, to a connection of the VPN that is known: beats [`UNASKED_OF_VPN`].
const BACK_TO_VPN: u16 = 22;
/// From outside, to none: beats [`OF_VPN`].
const UNASKED_OF_VPN: u16 = 21;

/// What the pods of a VPN share at its switch: out by the external network, and back in the VPN, to whatever switch has the pod.
pub(super) fn of_vpn(napt: &Napt) -> Vec<Flow> {
    let (vpn, source) = (napt.vpn, napt.outlet.external);
    let owner = &floating_owner(source);
    let version = || ip_version_of(source);
    let mut flows = Vec::new();
    for known in ct_known() {
        let out = Flow::table(OUTBOUND_NAPT).priority(OF_VPN + 1).matching([vpn_id(vpn), version(), known]);
        flows.push(out.goto(NAPT_TO_FIB).owned_by(owner));
        let back = Flow::table(NAPT_TO_FIB).priority(BACK_TO_VPN);
        let back = back.matching([vpn_id(vpn), is_from_outside(true), version(), known]);
        flows.push(back.then([clear_in_port(), resubmit(FIB)]).owned_by(owner));
    }
    let new = Flow::table(OUTBOUND_NAPT).priority(OF_VPN).matching([vpn_id(vpn), version(), ct_new()]);
    flows.push(new.then([translate_source(napt.zone, source, NAPT_TO_FIB)]).owned_by(owner));
    let unasked = Flow::table(NAPT_TO_FIB).priority(UNASKED_OF_VPN);
    flows.push(unasked.matching([vpn_id(vpn), is_from_outside(true), version()]).owned_by(owner));
    let mut out = load_metadata(Metadata::new().vpn(napt.outlet.outside));
    out.extend([set_eth_src(napt.outlet.mac), resubmit(FIB)]);
    let leaves = Flow::table(NAPT_TO_FIB).priority(OF_VPN).matching([vpn_id(vpn), version()]);
    flows.push(leaves.then(out).owned_by(owner));
    flows
}

/// A pod's packets to outside.
pub(super) fn of_pod(vpn: VpnId, source: IpAddr, zone: u16, owner: &Owned) -> Flow {
    Flow::table(PSNAT)
        .priority(TRANSLATED)
        .matching([vpn_id(vpn)])
        .matching(ip_src_host(source))
        .then([track(zone, OUTBOUND_NAPT)])
        .owned_by(owner)
}

/// What all pods of a switch share: by its node.
pub(super) fn of_switch(sources: NodeSources, lport: LportTag, node: MacAddr, owner: &Owned) -> Vec<Flow> {
    let out = [set_eth_src(gateway_mac(NODE_VPN)), set_eth_dst(node), egress_to(lport)];
    let out: Vec<Action> = out.into_iter().chain([resubmit(EGRESS_DISPATCHER)]).collect();
    let back = Metadata::new().split_horizon(true);
    let each = |source: IpAddr| translated(source, NODE_VPN, back, &out, owner);
    let mut flows: Vec<Flow> = sources.both().into_iter().flat_map(each).collect();
    flows.push(unasked(NODE_VPN, owner));
    flows
}

/// The same by an external network: its VPN leads on, and answers go to pods by that of nodes.
pub(super) fn by_network(outlets: &[Outlet], owner: &Owned) -> Vec<Flow> {
    let back = Metadata::new().vpn(NODE_VPN).split_horizon(true);
    let each = |outlet: &Outlet| {
        let mut out = load_metadata(Metadata::new().vpn(outlet.outside));
        out.extend([set_eth_src(outlet.mac), resubmit(FIB)]);
        translated(outlet.external, outlet.outside, back, &out, owner)
    };
    let mut flows: Vec<Flow> = outlets.iter().flat_map(each).collect();
    // Both versions are of one network.
    flows.extend(outlets.first().map(|outlet| unasked(outlet.outside, owner)));
    flows
}

/// Nobody comes from there unasked.
fn unasked(outside: VpnId, owner: &Owned) -> Flow {
    Flow::table(NAPT_TO_FIB).priority(UNASKED).matching([vpn_id(outside)]).owned_by(owner)
}

/// Out with this address, and what comes back in this VPN, marked so.
fn translated(source: IpAddr, outside: VpnId, marked: Metadata, out: &[Action], owner: &Owned) -> Vec<Flow> {
    let version = || ip_version_of(source);
    let back = Flow::table(INBOUND_NAPT).priority(TRANSLATED).matching([version()]);
    let mut flows = vec![back.then([track(ZONE, NAPT_TO_FIB)]).owned_by(owner)];
    for known in ct_known() {
        let out = Flow::table(OUTBOUND_NAPT).priority(KNOWN).matching([version(), known]);
        flows.push(out.goto(NAPT_TO_FIB).owned_by(owner));
        // Marked as what came from a tunnel is, so that it never comes here again.
        let back = Flow::table(NAPT_TO_FIB).priority(BACK).matching([vpn_id(outside), version(), known]);
        let back = back.then(load_metadata(marked));
        flows.push(back.then([clear_in_port(), resubmit(FIB)]).owned_by(owner));
    }
    let new = Flow::table(OUTBOUND_NAPT).priority(NEW).matching([version(), ct_new()]);
    flows.push(new.then([translate_source(ZONE, source, NAPT_TO_FIB)]).owned_by(owner));
    let leaves = Flow::table(NAPT_TO_FIB).priority(OUT).matching([version()]).then(out.iter().cloned());
    flows.push(leaves.owned_by(owner));
    flows
}
