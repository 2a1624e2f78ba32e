//! Tables 211 to 217, and 241 to 247 in the mirror.

use std::net::IpAddr;

use ipnetwork::IpNetwork;

use super::Part;
use super::side::Side;
use crate::net::LportTag;
use crate::pipeline::actions::{conjunction, remember_in_elan, track_in_elan};
use crate::pipeline::matches::{
    conjunction_holds, ct, ct_mark_bit, ct_state, icmpv6, ipv4, ipv6, later_fragment, tcp_without_syn,
    transport_to, udp, udp_v6,
};
use crate::pipeline::{Flow, Meter, Owner, owners};
use crate::policy::{PortMatch, Protocol};

/// What policy is not about: beats [`TRACKED`], which beats [`OTHER`].
const OUTSIDE: u16 = 30;
const TRACKED: u16 = 20;
const OTHER: u16 = 10;
/// Of table 213 and 243, each beats the next.
const INVALID: u16 = 100;
const RELATED: u16 = 90;
const ANSWER: u16 = 80;
const UNASKED: u16 = 70;
const KEPT: u16 = 60;
/// Of table 214 and 244: the node; and what is open, because no policy is about it, or by a rule that is about everything. These
/// look at nothing but the pod, so that the other rules need not be looked at.
const NODE: u16 = 40;
const OPEN: u16 = 30;
/// Parts of conjunctions, and conjunctions that hold.
const RULE: u16 = 20;
/// Of table 216 and 246, each beats the next.
const REMEMBERED: u16 = 20;
const MIDST: u16 = 15;
const NEW: u16 = 10;
/// Of table 215 and 245.
const CUT: u16 = 20;
/// Of table 217 and 247.
const DENIED: u16 = 10;
/// What the punting flows send along (`observe::drops`).
const DENIED_DATA: &[u8] = b"denied";
/// Bytes of a denied packet that are looked at: its headers.
const HEADERS: u16 = 128;
/// Packets a second and port that are logged, and at once.
const LOG_RATE: u32 = 10;
const LOG_BURST: u32 = 20;
/// Neighbour discovery (RFC 4861 section 4): router and neighbour solicitations and advertisements, redirects.
const NEIGHBOUR_MESSAGES: std::ops::RangeInclusive<u8> = 133..=137;

type Owned = Owner<owners::Policy>;

/// What all pods under policies share.
pub(super) fn of_switch<S: Side>(owner: &Owned) -> Vec<Flow> {
    let mut flows = Vec::new();
    let outside = || Flow::table(S::CLASS).priority(OUTSIDE).then(S::pass());
    for kind in NEIGHBOUR_MESSAGES {
        flows.push(outside().matching(icmpv6(kind)).owned_by(owner));
    }
    // RFC 2131 section 4.1 and RFC 8415 section 7.2; anti-spoofing leaves clients' requests alone.
    for (client, server) in [(udp(68, 67), udp(67, 68)), (udp_v6(546, 547), udp_v6(547, 546))] {
        let dhcp = if S::OF_EGRESS { server } else { client };
        flows.push(outside().matching(dhcp).owned_by(owner));
    }
    flows.push(Flow::table(S::CLASS).priority(OTHER).then(S::pass()).owned_by(owner));
    let known = |bit| [ct_state(0, 0), ct_mark_bit(bit)];
    let state = |priority| Flow::table(S::STATE).priority(priority);
    flows.push(state(INVALID).matching([ct_state(ct::INVALID, 0)]).owned_by(owner));
    for bit in [S::BIT, S::OTHER_BIT] {
        let related = [ct_state(ct::RELATED, 0), ct_mark_bit(bit)];
        flows.push(state(RELATED).matching(related).then(S::pass()).owned_by(owner));
    }
    let answer = [ct_state(ct::REPLY, 0), ct_mark_bit(S::OTHER_BIT)];
    flows.push(state(ANSWER).matching(answer).then(S::pass()).owned_by(owner));
    flows.push(state(UNASKED).matching([ct_state(ct::REPLY, 0)]).goto(S::DENY).owned_by(owner));
    for version in [ipv4(), ipv6()] {
        let class = Flow::table(S::CLASS).priority(TRACKED).matching([version]);
        flows.push(class.goto(S::TRACK).owned_by(owner));
        let track = Flow::table(S::TRACK).priority(TRACKED).matching([version]);
        flows.push(track.then([track_in_elan(S::OF_EGRESS, S::STATE)]).owned_by(owner));
        let midst = Flow::table(S::ACCEPT).priority(MIDST).matching([version]).matching(tcp_without_syn());
        flows.push(midst.matching([ct_state(ct::NEW, 0)]).then(S::pass()).owned_by(owner));
        let new = Flow::table(S::ACCEPT).priority(NEW).matching([version]);
        flows.push(new.then([remember_in_elan(S::OF_EGRESS, S::BIT, true)]).then(S::pass()).owned_by(owner));
        let cut = Flow::table(S::CUT).priority(CUT).matching([version, ct_mark_bit(S::BIT)]);
        let cut = cut.then([remember_in_elan(S::OF_EGRESS, S::BIT, false)]);
        flows.push(cut.goto(S::DENY).owned_by(owner));
    }
    flows.push(
        Flow::table(S::ACCEPT).priority(REMEMBERED).matching(known(S::BIT)).then(S::pass()).owned_by(owner),
    );
    flows
}

/// A pod and its node always reach each other.
pub(super) fn node<S: Side>(lport: LportTag, address: IpAddr, owner: &Owned) -> Flow {
    let rule = Flow::table(S::RULES).priority(NODE).matching(S::node(lport, address));
    rule.goto(S::ACCEPT).owned_by(owner)
}

/// No policy is about this direction.
pub(super) fn open<S: Side>(port: LportTag, owner: &Owned) -> Flow {
    Flow::table(S::RULES).priority(OPEN).matching([S::port(port)]).goto(S::ACCEPT).owned_by(owner)
}

/// A pod as the target of rules.
pub(super) fn target<S: Side>(port: LportTag, parts: &[Part], owner: &Owned) -> Flow {
    let flow = Flow::table(S::RULES).priority(RULE).matching([S::port(port)]);
    flow.then(parts.iter().map(|(id, part, of)| conjunction(*id, *part, *of))).owned_by(owner)
}

/// A pod as the target of rules about everything.
pub(super) fn opened<S: Side>(port: LportTag, parts: &[Part], owner: &Owned) -> Flow {
    let flow = Flow::table(S::RULES).priority(OPEN).matching([S::port(port)]);
    flow.then(parts.iter().map(|(id, part, of)| conjunction(*id, *part, *of))).owned_by(owner)
}

/// Everything, as what rules about everything allow: they are conjunctions too, so that each has its own counter.
pub(super) fn everything<S: Side>(parts: &[Part], owner: &Owned) -> Vec<Flow> {
    if parts.is_empty() {
        return Vec::new();
    }
    let flow = |version| {
        let flow = Flow::table(S::RULES).priority(OPEN).matching([version]);
        flow.then(parts.iter().map(|(id, part, of)| conjunction(*id, *part, *of))).owned_by(owner)
    };
    [ipv4(), ipv6()].map(flow).into()
}

/// Addresses as the peers of rules.
pub(super) fn peer<S: Side>(prefix: IpNetwork, parts: &[Part], owner: &Owned) -> Flow {
    let flow = Flow::table(S::RULES).priority(RULE).matching(S::peer(prefix));
    flow.then(parts.iter().map(|(id, part, of)| conjunction(*id, *part, *of))).owned_by(owner)
}

/// Ports of rules, for either version.
pub(super) fn port<S: Side>(port: PortMatch, parts: &[Part], owner: &Owned) -> Vec<Flow> {
    if parts.is_empty() {
        return Vec::new();
    }
    let flow = |version| {
        let flow = Flow::table(S::RULES).priority(RULE).matching([version]);
        let flow = flow.matching(transport_to(port.protocol.number(), port.value, port.mask));
        flow.then(parts.iter().map(|(id, part, of)| conjunction(*id, *part, *of))).owned_by(owner)
    };
    [ipv4(), ipv6()].map(flow).into()
}

/// Fragments behind the first have no ports: they pass for having one that some rule names. Without the first, which is
/// judged, nobody puts them together.
pub(super) fn fragments<S: Side>(protocol: Protocol, parts: &[Part], owner: &Owned) -> Vec<Flow> {
    if parts.is_empty() {
        return Vec::new();
    }
    let flow = |version| {
        let flow = Flow::table(S::RULES).priority(RULE).matching([version, later_fragment()]);
        let flow = flow.matching(transport_to(protocol.number(), 0, 0));
        flow.then(parts.iter().map(|(id, part, of)| conjunction(*id, *part, *of))).owned_by(owner)
    };
    [ipv4(), ipv6()].map(flow).into()
}

/// All parts of a rule's conjunction are there; its counter is the rule's.
pub(super) fn holds<S: Side>(id: u32, is_open: bool, owner: &Owned) -> Flow {
    let flow = Flow::table(S::RULES).priority(if is_open { OPEN } else { RULE });
    flow.matching([conjunction_holds(id)]).counted().goto(S::ACCEPT).owned_by(owner)
}

/// A connection that was allowed goes on, whatever policies say now.
pub(super) fn keep<S: Side>(port: LportTag, owner: &Owned) -> Flow {
    let established = [S::port(port), ct_state(0, ct::REPLY), ct_mark_bit(S::BIT)];
    Flow::table(S::STATE).priority(KEPT).matching(established).then(S::pass()).owned_by(owner)
}

/// What no rule allows; its counter is the pod's. Where somebody wants it logged, the controller gets to see the first bytes of it,
/// as often as the meter lets it.
pub(super) fn deny<S: Side>(port: LportTag, is_logged: bool, owner: &Owned) -> Flow {
    let flow = Flow::table(S::DENY).priority(DENIED).matching([S::port(port)]).counted();
    let flow = if is_logged { flow.punt_metered(log_meter(port), HEADERS, DENIED_DATA) } else { flow };
    flow.owned_by(owner)
}

/// What a pod's denied packets go by to the controller. Not the meter of what else it may have punted: anybody may send to it.
pub(super) fn logging(port: LportTag, owner: &Owned) -> Meter {
    Meter::packets_per_second(log_meter(port), LOG_RATE, LOG_BURST, owner)
}

/// Behind all tags of logical ports, which are numbers of meters, too.
fn log_meter(port: LportTag) -> u32 {
    1 << 17 | port.0
}
