//! Sequences of actions that more than one feature needs.

use crate::model::Remote;
use crate::net::Vni;
use crate::pipeline::actions::{egress_to, resubmit, set_tun_dst, set_tun_id};
use crate::pipeline::{Action, EGRESS_DISPATCHER};

/// Through the tunnel to another switch, which knows by the VNI what it is about.
pub(super) fn through_tunnel(vni: Vni, remote: Remote) -> [Action; 4] {
    [set_tun_id(vni), set_tun_dst(remote.address), egress_to(remote.tunnel), resubmit(EGRESS_DISPATCHER)]
}
