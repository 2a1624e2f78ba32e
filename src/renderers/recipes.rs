//! Sequences of actions that more than one feature needs.

use std::net::IpAddr;

use crate::model::{Remote, Uplink};
use crate::net::Vni;
use crate::pipeline::actions::{egress_to, resubmit, set_tun_dst, set_tun_id, tag_vlan};
use crate::pipeline::{Action, EGRESS_DISPATCHER, Feature, Owner};

/// Through the tunnel to another switch, which knows by the VNI what it is about.
pub(super) fn through_tunnel(vni: Vni, remote: Remote) -> [Action; 4] {
    [set_tun_id(vni), set_tun_dst(remote.address), egress_to(remote.tunnel), resubmit(EGRESS_DISPATCHER)]
}

/// Who answers for the flows of a floating address.
pub(super) fn floating_owner<F: Feature>(address: IpAddr) -> Owner<F> {
    Owner::new(format!("{FLOATING}{address}"))
}

/// What is punted of external networks carries this: ARP and neighbour messages for floating addresses, and packets for somebody on the link
/// whose MAC address is not known.
pub(super) const NEIGHBOUR: &[u8] = b"neighbour";

/// What next hops answer to questions whether they are there.
pub(super) const NEXT_HOP: &[u8] = b"next-hop";

/// What the keys of such owners begin with.
pub(super) const FLOATING: &str = "floating ";

/// Who answers for the flows of an external network.
pub(super) fn external_owner<F: Feature>(network: &str) -> Owner<F> {
    Owner::new(format!("external network {network}"))
}

/// Out to the physical network, under its VLAN.
pub(super) fn through_uplink(uplink: &Uplink) -> Vec<Action> {
    let tag = uplink.vlan.into_iter().flat_map(tag_vlan);
    tag.chain([egress_to(uplink.lport), resubmit(EGRESS_DISPATCHER)]).collect()
}
