//! What services do in table 220, in front of the output and behind policy.

use std::net::IpAddr;

use super::super::zones::{CLIENTS, HAIRPIN_V4, HAIRPIN_V6, HAIRPINS};
use crate::pipeline::actions::{track, translate_source};
use crate::pipeline::matches::{egress_service, ipv4, ipv6, service_way};
use crate::pipeline::{EGRESS_DISPATCHER, Flow, Owner, SERVICE_EGRESS, ServiceWay};

/// Beats the output (9), and policy (11) beats it.
const TRANSLATE: u16 = 10;
/// Indices of what may still be translated: nothing was done yet, or policy was.
const BEFORE: [u8; 2] = [0, 1];

/// An answer gets the service's address back; an endpoint that asks itself is asked by somebody else.
pub(super) fn services_egress() -> Vec<Flow> {
    let owner = Owner::new("services");
    let mut flows = Vec::new();
    for index in BEFORE {
        let draft = |way| {
            Flow::table(EGRESS_DISPATCHER)
                .priority(TRANSLATE)
                .matching([service_way(way), egress_service(index)])
        };
        for (version, source) in [(ipv4(), IpAddr::V4(HAIRPIN_V4)), (ipv6(), IpAddr::V6(HAIRPIN_V6))] {
            let answer = draft(ServiceWay::Answer).matching([version]);
            flows.push(answer.then([track(CLIENTS, SERVICE_EGRESS)]).owned_by(&owner));
            let draft = draft(ServiceWay::Hairpin).matching([version]);
            let flow = draft.then([translate_source(HAIRPINS, source, SERVICE_EGRESS)]);
            flows.push(flow.owned_by(&owner));
        }
    }
    flows
}
