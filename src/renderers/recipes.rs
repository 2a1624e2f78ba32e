//! Sequences of actions that more than one feature needs.

use crate::model::{Remote, Uplink};
use crate::net::Vni;
use crate::pipeline::actions::{egress_to, resubmit, set_tun_dst, set_tun_id, tag_vlan};
use crate::pipeline::{Action, EGRESS_DISPATCHER};

/// Through the tunnel to another switch, which knows by the VNI what it is about.
pub(super) fn through_tunnel(vni: Vni, remote: Remote) -> [Action; 4] {
    [set_tun_id(vni), set_tun_dst(remote.address), egress_to(remote.tunnel), resubmit(EGRESS_DISPATCHER)]
}

/// Out to the physical network, under its VLAN.
pub(super) fn through_uplink(uplink: &Uplink) -> Vec<Action> {
    let tag = uplink.vlan.into_iter().flat_map(tag_vlan);
    tag.chain([egress_to(uplink.lport), resubmit(EGRESS_DISPATCHER)]).collect()
}
