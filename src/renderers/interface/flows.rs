//! Tables 0, 17 and 220.

use std::net::IpAddr;

use crate::model::{Attachment, Identity, Interface, Limit, Model, NODE_VPN, Outlet, Uplink};
use crate::net::{ElanTag, LportTag, OfPort, VpnId};
use crate::pipeline::actions::{
    clear_in_port, load_egress_zone, load_from_outside, output, pop_vlan, tag_vlan,
};
use crate::pipeline::matches::{
    arp, arp_tpa, egress_lport, egress_lport_after, eth_dst, in_port, ipv6_dst, lport, nd_target,
    neighbour_advertisement, neighbour_solicitation, service_index, tagged, untagged, vlan,
};
use crate::pipeline::{
    ANTISPOOF_MAC, ARP_CHECK, ARP_RESPONDER, DHCP, EGRESS_DISPATCHER, ELAN_DMAC, Flow, INTERNAL_TUNNEL, IPV6,
    L3_GATEWAY_MAC, LPORT_DISPATCHER, LPORT_INGRESS, Metadata, Meter, Owner, PDNAT, POLICY_FROM_CLASS,
    POLICY_TO_CLASS, SERVICE as SERVICES, owners,
};

/// Pod ports in table 0. Source: netvirt, VLAN ingress.
const POD_PORT: u16 = 4;
/// Below pod ports, which match untagged frames only.
const TAGGED: u16 = 3;
/// Sub-ports: frames of their VLAN. Source: netvirt, VLAN tagged ingress.
const SUB_PORT: u16 = 10;
/// Tunnel ports beat pod ports, should both have a number for a moment.
const TUNNEL_PORT: u16 = 5;
/// Ports to physical networks: the same.
const PHYSICAL_PORT: u16 = 5;
/// For floating addresses: beats [`PHYSICAL_PORT`], which is for an ELAN on the same wire.
const FLOATING: u16 = 6;
const FLOATING_ASKED: u16 = 7;
/// All services of the dispatcher: their matches never overlap.
pub(super) const SERVICE: u16 = 10;
/// The default egress service, for packets that all other services are done with. Source: genius, service index 9.
const DEFAULT_EGRESS: u16 = 9;
/// Policy of what a pod gets: the first egress service, beats all others.
const POLICY_EGRESS: u16 = 11;

/// What table 0 leaves for the first service.
const FIRST: u8 = 0;
/// Service indices of the dispatcher; whoever is the first matches 0 instead.
/// Source: netvirt stable/neon.
const POLICY_SERVICE: u8 = 2;
const DHCP_SERVICE: u8 = 5;
const IPV6_SERVICE: u8 = 7;
const L3VPN: u8 = 9;
const ELAN: u8 = 11;
/// Nobody's tag: the node is in no ELAN.
const NO_ELAN: ElanTag = ElanTag(0);
/// After the last service: no flow has it, so what falls through is dropped.
const NONE: u8 = ELAN + 1;

type Owned = Owner<owners::Interface>;

/// A frame from a pod gets its logical port, if its limit lets it; index and split horizon are cleared. That of a sub-port loses the tag by which it is known.
pub(super) fn ingress(attachment: &Attachment, port: LportTag, limit: Option<Limit>, owner: &Owned) -> Flow {
    let draft = Flow::table(LPORT_INGRESS).matching([in_port(attachment.ofport)]);
    let draft = match attachment.vlan {
        Some(id) => draft.priority(SUB_PORT).matching([vlan(id)]).then([pop_vlan()]),
        None => draft.priority(POD_PORT).matching([untagged()]),
    };
    draft
        .metered(limit.map(|limit| limit.meter))
        .write_metadata(Metadata::new().lport(port).split_horizon(false).service_index(0))
        .goto(ANTISPOOF_MAC)
        .owned_by(owner)
}

/// A pod's frame has no VLAN tag. The counter is that of all ports.
pub(in crate::renderers) fn tagged_frames() -> Flow {
    Flow::table(LPORT_INGRESS).priority(TAGGED).matching([tagged()]).owned_by(&Owner::new("drop vlan"))
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

/// Packets a second and port that reach the controller, of all kinds together: a client that retries sends one every few
/// seconds.
const RATE: u32 = 5;
/// Packets at once before the rate counts.
const BURST: u32 = 10;

/// What the node itself sends: no pod, so nothing that anti-spoofing would know of it.
pub(super) fn node_ingress(ofport: OfPort, port: LportTag, owner: &Owned) -> Flow {
    Flow::table(LPORT_INGRESS)
        .priority(POD_PORT)
        .matching([in_port(ofport), untagged()])
        .then([load_from_outside()])
        .write_metadata(Metadata::new().lport(port).split_horizon(false).service_index(0))
        .goto(SERVICES)
        .owned_by(owner)
}

/// The services of a node's port: its packets are routed in the VPN of nodes, and its questions for neighbours answered.
pub(super) fn node_dispatch(port: LportTag, owner: &Owned) -> Vec<Flow> {
    let extras = Extras { dhcp: false, ipv6: true, routed: true, policed: false };
    dispatch(port, NO_ELAN, Some(NODE_VPN), extras, owner)
}

/// What an interface takes part in beyond switching and routing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extras {
    pub dhcp: bool,
    pub ipv6: bool,
    /// It is in a VPN, not only in an ELAN.
    pub routed: bool,
    /// Policies select its pod.
    pub policed: bool,
}

impl Extras {
    pub fn of(interface: &Interface, model: &Model) -> Extras {
        let routed = interface.identity.as_ref().is_some_and(|identity| identity.vpn.is_some());
        let dhcp = interface.dhcp || interface.dhcp_v6;
        let on = interface.attachment.as_ref().map(|attachment| attachment.dpid);
        let policed = on.is_some_and(|dpid| model.is_policed(&interface.id, dpid));
        Extras { dhcp, ipv6: routed && interface.has_ipv6(), routed, policed }
    }

    /// All there are, each at its number.
    pub fn all() -> [Extras; 16] {
        let bit = |number: usize, bit: usize| number >> bit & 1 == 1;
        std::array::from_fn(|at| Extras {
            dhcp: bit(at, 0),
            ipv6: bit(at, 1),
            routed: bit(at, 2),
            policed: bit(at, 3),
        })
    }

    pub fn number(self) -> usize {
        let bits = [self.dhcp, self.ipv6, self.routed, self.policed];
        bits.into_iter().enumerate().map(|(at, bit)| usize::from(bit) << at).sum()
    }

    /// Whether any of it hands packets to the controller.
    pub fn punts(self) -> bool {
        self.dhcp || self.ipv6
    }
}

/// One meter a port for everything that its packets may have punted: nobody uses up another's rate. Its number is
/// the lport tag.
pub(super) fn punts(port: LportTag, owner: &Owned) -> Meter {
    Meter::packets_per_second(port.0, RATE, BURST, owner)
}

/// A frame of a physical network belongs to the ELAN of its VLAN. It is marked, so that it never goes back out.
pub(super) fn from_outside(elan: ElanTag, uplink: &Uplink, owner: &Owned) -> Flow {
    let flow = Flow::table(LPORT_INGRESS).priority(PHYSICAL_PORT).tagged(elan.0);
    let flow = match uplink.vlan {
        Some(id) => flow.matching([in_port(uplink.ofport), vlan(id)]).then([pop_vlan()]),
        None => flow.matching([in_port(uplink.ofport), untagged()]),
    };
    flow.write_metadata(Metadata::new().lport(uplink.lport).elan(elan).split_horizon(true))
        .goto(ELAN_DMAC)
        .owned_by(owner)
}

/// Packets a second that reach the controller from one port to a physical network: who is there, and who is looked for.
const OUTSIDE_RATE: u32 = 50;
const OUTSIDE_BURST: u32 = 100;

/// One meter a port to a physical network. Its number is the lport tag.
pub(super) fn outside_punts(port: LportTag, owner: &Owned) -> Meter {
    Meter::packets_per_second(port.0, OUTSIDE_RATE, OUTSIDE_BURST, owner)
}

/// What comes in for a floating address, by its MAC address, and who asks for it or answers it. Whose VLAN it is besides does not
/// matter.
pub(super) fn for_floating(floating: &Outlet, owner: &Owned) -> Vec<Flow> {
    let Uplink { lport, ofport, vlan: id } = floating.uplink;
    let draft = |priority| {
        let draft = Flow::table(LPORT_INGRESS).priority(priority).matching([in_port(ofport)]);
        let draft = match id {
            Some(id) => draft.matching([vlan(id)]).then([pop_vlan()]),
            None => draft.matching([untagged()]),
        };
        let place = Metadata::new().lport(lport).elan(NO_ELAN).vpn(floating.outside);
        draft.write_metadata(place.split_horizon(true))
    };
    let frames = draft(FLOATING).matching([eth_dst(floating.mac)]).goto(PDNAT);
    let about = || draft(FLOATING_ASKED);
    let asked = match floating.external {
        IpAddr::V4(address) => vec![about().matching([arp(), arp_tpa(address)]).goto(ARP_RESPONDER)],
        IpAddr::V6(address) => vec![
            about().matching([nd_target(address)]).matching(neighbour_solicitation()).goto(IPV6),
            about().matching([ipv6_dst(address)]).matching(neighbour_advertisement()).goto(IPV6),
        ],
    };
    [frames].into_iter().chain(asked).map(|draft| draft.owned_by(owner)).collect()
}

/// What comes in by a port to a physical network and is in table 17 is a request of a service, translated.
pub(super) fn requests_from_outside(uplink: LportTag, owner: &Owned) -> Flow {
    Flow::table(LPORT_DISPATCHER)
        .priority(SERVICE)
        .matching([service_index(FIRST), lport(uplink)])
        .write_metadata(Metadata::new().service_index(NONE))
        .goto(L3_GATEWAY_MAC)
        .owned_by(owner)
}

/// The services of [`dispatch`] by priority.
pub(super) fn services(extras: Extras) -> Vec<(u8, &'static str)> {
    let policy = extras.policed.then_some((POLICY_SERVICE, "acl"));
    let dhcp = extras.dhcp.then_some((DHCP_SERVICE, "dhcp"));
    let ipv6 = extras.ipv6.then_some((IPV6_SERVICE, "ipv6"));
    let l3vpn = extras.routed.then_some((L3VPN, "l3vpn"));
    policy.into_iter().chain(dhcp).chain(ipv6).chain(l3vpn).chain([(ELAN, "elan")]).collect()
}

/// The VPN that an interface is in, if it is in one; `None`: that has no id yet, so nothing can be said of it.
#[expect(clippy::option_option, reason = "to be in no VPN is another thing than to wait for one")]
pub(super) fn routing(identity: &Identity, model: &Model) -> Option<Option<VpnId>> {
    if identity.vpn.is_none() { Some(None) } else { Some(Some(model.vpn_of(identity)?.id?)) }
}

/// The chain of services of a pod: the first one matches index 0, each writes the index of the next.
/// The ELAN and IPv6 services keep the VPN id, by which the responders answer for pods of other ELANs.
pub(super) fn dispatch(
    port: LportTag,
    elan: ElanTag,
    vpn: Option<VpnId>,
    extras: Extras,
    owner: &Owned,
) -> Vec<Flow> {
    let services = services(extras);
    let after = services.iter().skip(1).map(|(index, _)| *index).chain([NONE]);
    let flow = |(at, ((index, _), next)): (usize, (&(u8, &str), u8))| {
        let index = if at == 0 { FIRST } else { *index };
        let draft =
            Flow::table(LPORT_DISPATCHER).priority(SERVICE).matching([service_index(index), lport(port)]);
        let next = Metadata::new().service_index(next).lport(port).no_service();
        let routed = |metadata: Metadata| vpn.map_or(metadata, |vpn| metadata.vpn(vpn));
        match services[at].0 {
            POLICY_SERVICE => draft.write_metadata(next.elan(elan)).goto(POLICY_FROM_CLASS),
            DHCP_SERVICE => draft.write_metadata(next).goto(DHCP),
            IPV6_SERVICE => draft.write_metadata(routed(next.elan(elan))).goto(IPV6),
            L3VPN => draft.write_metadata(routed(next)).goto(L3_GATEWAY_MAC),
            _ => draft.write_metadata(routed(next.elan(elan))).goto(ARP_CHECK),
        }
        .owned_by(owner)
    };
    services.iter().zip(after).enumerate().map(flow).collect()
}

/// The meter of a limit.
pub(super) fn meter(limit: Limit, owner: &Owned) -> Meter {
    Meter::kilobits_per_second(limit.meter, limit.rate, limit.burst, owner)
}

/// What is for this logical port leaves by that port, if its limit lets it.
pub(super) fn egress(port: LportTag, ofport: OfPort, limit: Option<Limit>, owner: &Owned) -> Flow {
    Flow::table(EGRESS_DISPATCHER)
        .priority(DEFAULT_EGRESS)
        .matching([egress_lport(port)])
        .metered(limit.map(|limit| limit.meter))
        .then([output(ofport)])
        .owned_by(owner)
}

/// What is for a sub-port leaves by the port that it shares, with its tag: also what came in by that port, from another one there. Table 55
/// keeps from it what it sent itself.
pub(super) fn egress_tagged(
    port: LportTag,
    ofport: OfPort,
    vlan: u16,
    limit: Option<Limit>,
    owner: &Owned,
) -> Flow {
    Flow::table(EGRESS_DISPATCHER)
        .priority(DEFAULT_EGRESS)
        .matching([egress_lport(port)])
        .metered(limit.map(|limit| limit.meter))
        .then([clear_in_port()])
        .then(tag_vlan(vlan))
        .then([output(ofport)])
        .owned_by(owner)
}

/// What is for this logical port goes by its policies first.
pub(super) fn egress_policy(port: LportTag, elan: ElanTag, owner: &Owned) -> Flow {
    Flow::table(EGRESS_DISPATCHER)
        .priority(POLICY_EGRESS)
        .matching([egress_lport_after(0, port)])
        .then([load_egress_zone(elan)])
        .goto(POLICY_TO_CLASS)
        .owned_by(owner)
}
