//! The two sides of a pod: the same tables, in the mirror.

use std::net::IpAddr;

use ipnetwork::IpNetwork;
use openflow_rs::MatchField;

use crate::net::LportTag;
use crate::pipeline::actions::{load_egress_service, resubmit};
use crate::pipeline::matches::{egress_lport, ip_host, ip_prefix, ip_src_prefix, lport};
use crate::pipeline::{
    Action, EGRESS_DISPATCHER, LPORT_DISPATCHER, POLICY_FROM_ACCEPT, POLICY_FROM_CLASS, POLICY_FROM_CUT,
    POLICY_FROM_DENY, POLICY_FROM_RULES, POLICY_FROM_STATE, POLICY_FROM_TRACK, POLICY_TO_ACCEPT,
    POLICY_TO_CLASS, POLICY_TO_CUT, POLICY_TO_DENY, POLICY_TO_RULES, POLICY_TO_STATE, POLICY_TO_TRACK, Table,
    owners,
};
use crate::policy::Direction;

type Of = Table<owners::Policy>;

/// Index of policy among the services of table 220.
const EGRESS_SERVICE: u8 = 1;

/// What a pod sends, or what it gets.
pub(super) trait Side {
    const DIRECTION: Direction;
    /// The packet is on its way out of the switch.
    const OF_EGRESS: bool;
    /// Bit of `ct_mark`: connections that the policies of this direction allowed.
    const BIT: u16;
    /// That of the other direction: what answers go by.
    const OTHER_BIT: u16;
    const CLASS: Of;
    const TRACK: Of;
    const STATE: Of;
    const RULES: Of;
    const CUT: Of;
    const ACCEPT: Of;
    const DENY: Of;

    /// The pod's logical port.
    fn port(tag: LportTag) -> MatchField;

    /// The other end's addresses.
    fn peer(prefix: IpNetwork) -> Vec<MatchField>;

    /// The other end is the node: its own port, and this address of it.
    fn node(lport: LportTag, address: IpAddr) -> Vec<MatchField>;

    /// Policy is done with the packet.
    fn pass() -> Vec<Action>;
}

/// What a pod sends.
pub(super) struct From;

/// What a pod gets.
pub(super) struct To;

impl Side for From {
    const DIRECTION: Direction = Direction::Egress;
    const OF_EGRESS: bool = false;
    const BIT: u16 = 0;
    const OTHER_BIT: u16 = 1;
    const CLASS: Of = POLICY_FROM_CLASS;
    const TRACK: Of = POLICY_FROM_TRACK;
    const STATE: Of = POLICY_FROM_STATE;
    const RULES: Of = POLICY_FROM_RULES;
    const CUT: Of = POLICY_FROM_CUT;
    const ACCEPT: Of = POLICY_FROM_ACCEPT;
    const DENY: Of = POLICY_FROM_DENY;

    fn port(tag: LportTag) -> MatchField {
        lport(tag)
    }

    fn peer(prefix: IpNetwork) -> Vec<MatchField> {
        ip_prefix(prefix)
    }

    fn node(_: LportTag, address: IpAddr) -> Vec<MatchField> {
        ip_host(address).to_vec()
    }

    fn pass() -> Vec<Action> {
        vec![resubmit(LPORT_DISPATCHER)]
    }
}

impl Side for To {
    const DIRECTION: Direction = Direction::Ingress;
    const OF_EGRESS: bool = true;
    const BIT: u16 = 1;
    const OTHER_BIT: u16 = 0;
    const CLASS: Of = POLICY_TO_CLASS;
    const TRACK: Of = POLICY_TO_TRACK;
    const STATE: Of = POLICY_TO_STATE;
    const RULES: Of = POLICY_TO_RULES;
    const CUT: Of = POLICY_TO_CUT;
    const ACCEPT: Of = POLICY_TO_ACCEPT;
    const DENY: Of = POLICY_TO_DENY;

    fn port(tag: LportTag) -> MatchField {
        egress_lport(tag)
    }

    fn peer(prefix: IpNetwork) -> Vec<MatchField> {
        ip_src_prefix(prefix)
    }

    fn node(node: LportTag, address: IpAddr) -> Vec<MatchField> {
        [lport(node)].into_iter().chain(ip_src_prefix(address.into())).collect()
    }

    fn pass() -> Vec<Action> {
        vec![load_egress_service(EGRESS_SERVICE), resubmit(EGRESS_DISPATCHER)]
    }
}
