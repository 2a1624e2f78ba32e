//! Host ports: at addresses of its node a pod is asked as the only endpoint of a service.
//!
//! All switches know them, so that a pod is asked at its own; where a node hands over what it got from others, that node's alone.

use std::net::IpAddr;

use super::super::Rendered;
use super::super::zones::{CLIENTS, NODE_PORTS_V4, NODE_PORTS_V6};
use super::{flows, parts};
use crate::model::{Model, ServedHostPort};
use crate::net::Dpid;
use crate::pipeline::{Owner, owners, service_groups};

/// What the host ports of this name have on the switches.
pub(super) fn host_ports(name: &str, model: &Model, out: &mut Rendered) {
    let plugged = model.interface_of_host_ports(name).and_then(|interface| interface.plugged());
    let Some((identity, _, attachment)) = plugged else { return };
    let owner = Owner::new(&identity.name);
    for served in model.served_host_ports(name) {
        host_port(&served, attachment.dpid, model, &owner, out);
    }
}

fn host_port(
    served: &ServedHostPort,
    on: Dpid,
    model: &Model,
    owner: &Owner<owners::Service>,
    out: &mut Rendered,
) {
    let Some(number) = served.number else { return };
    let switches = || model.switches().map(|(dpid, _)| dpid);
    let (transport, port) = (served.transport, served.port);
    let is_v6 = served.endpoint.0.is_ipv6();
    let group = service_groups::of_port(number, is_v6);
    let handed = if is_v6 { IpAddr::V6(NODE_PORTS_V6) } else { IpAddr::V4(NODE_PORTS_V4) };
    let asked_at = |place: &IpAddr| if place.is_unspecified() { handed } else { *place };
    for place in &served.places {
        let asked = (asked_at(place), transport, port);
        let both = [flows::to_host_port(asked, owner), flows::new_at_host_port(asked, group, owner)];
        for flow in both {
            if place.is_unspecified() {
                out.flow(on, flow);
            } else {
                out.shared_flow(switches(), flow);
            }
        }
    }
    let endpoints = [served.endpoint];
    let destinations = served.places.iter().map(|place| (asked_at(place), port));
    let (parts, whole) = parts::groups(group, flows::translations(&endpoints));
    let whole = whole.balancing(CLIENTS, transport, destinations, endpoints);
    for draft in parts.into_iter().chain([whole]) {
        out.shared_group(switches(), draft.owned_by(owner));
    }
}
