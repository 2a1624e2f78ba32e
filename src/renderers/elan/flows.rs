//! Tables 50, 51, 52 and 55.

use super::super::recipes::{through_tunnel, through_uplink};
use crate::model::{Remote, Uplink};
use crate::net::{ElanTag, LportTag, MacAddr, Vni};
use crate::pipeline::actions::{egress_to, group, resubmit};
use crate::pipeline::matches::{
    bucket_lport, elan_tag, eth_dst, eth_dst_masked, eth_src, lport, split_horizon,
};
use crate::pipeline::{
    EGRESS_DISPATCHER, ELAN_DMAC, ELAN_FILTER_EQUALS, ELAN_SMAC, ELAN_UNKNOWN_DMAC, Flow, Owner,
    broadcast_groups, owners,
};

/// A known source or destination address.
const KNOWN_MAC: u16 = 20;
/// Link-local multicast; no pod has such an address. Source: netvirt.
const RESERVED: u16 = 15;
/// Every ELAN has one flow a direction.
const FLOOD: u16 = 5;
/// One address that is nobody's here: beats [`FLOOD`].
const OUTSIDE: u16 = 6;
/// The bit that addresses of groups have (IEEE 802).
const GROUP_BIT: MacAddr = MacAddr([1, 0, 0, 0, 0, 0]);
/// Back to the sender: beats [`FLOODED`].
const SENDER: u16 = 10;
const FLOODED: u16 = 9;

type Owned = Owner<owners::Elan>;

/// Frames that a bridge must not forward (IEEE 802.1D, table 7-10), of any ELAN.
pub(super) fn reserved(owner: &Owned) -> Flow {
    let first = MacAddr([0x01, 0x80, 0xc2, 0, 0, 0]);
    let mask = MacAddr([0xff, 0xff, 0xff, 0xff, 0xff, 0xf0]);
    Flow::table(ELAN_DMAC).priority(RESERVED).matching([eth_dst_masked(first, mask)]).owned_by(owner)
}

/// A pod sends with its own address.
pub(super) fn smac(port: LportTag, elan: ElanTag, mac: MacAddr, owner: &Owned) -> Flow {
    Flow::table(ELAN_SMAC)
        .priority(KNOWN_MAC)
        .tagged(elan.0)
        .matching([lport(port), elan_tag(elan), eth_src(mac)])
        .goto(ELAN_DMAC)
        .owned_by(owner)
}

/// A frame for a MAC on this switch leaves through that pod's logical port.
pub(super) fn dmac_local(port: LportTag, elan: ElanTag, mac: MacAddr, owner: &Owned) -> Flow {
    Flow::table(ELAN_DMAC)
        .priority(KNOWN_MAC)
        .tagged(elan.0)
        .matching([elan_tag(elan), eth_dst(mac)])
        .then([egress_to(port), resubmit(EGRESS_DISPATCHER)])
        .owned_by(owner)
}

/// A frame for a MAC on another switch goes there, unless it came from a tunnel itself.
pub(super) fn dmac_remote(elan: ElanTag, mac: MacAddr, vni: Vni, remote: Remote, owner: &Owned) -> Flow {
    Flow::table(ELAN_DMAC)
        .priority(KNOWN_MAC)
        .tagged(elan.0)
        .matching([elan_tag(elan), split_horizon(false), eth_dst(mac)])
        .then(through_tunnel(vni, remote))
        .owned_by(owner)
}

/// From a pod: to all other ports of the ELAN, here and elsewhere.
pub(super) fn flood_everywhere(elan: ElanTag, owner: &Owned) -> Flow {
    Flow::table(ELAN_UNKNOWN_DMAC)
        .priority(FLOOD)
        .tagged(elan.0)
        .matching([elan_tag(elan), split_horizon(false)])
        .then([group(broadcast_groups::full(elan))])
        .owned_by(owner)
}

/// From another node: to the ports here.
pub(super) fn flood_here(elan: ElanTag, owner: &Owned) -> Flow {
    Flow::table(ELAN_UNKNOWN_DMAC)
        .priority(FLOOD)
        .tagged(elan.0)
        .matching([elan_tag(elan), split_horizon(true)])
        .then([group(broadcast_groups::local(elan))])
        .owned_by(owner)
}

/// From a physical network to the ports here: only what is for all, or for a group.
pub(super) fn flood_here_to_all(elan: ElanTag, owner: &Owned) -> Flow {
    Flow::table(ELAN_UNKNOWN_DMAC)
        .priority(FLOOD)
        .tagged(elan.0)
        .matching([elan_tag(elan), split_horizon(true), eth_dst_masked(GROUP_BIT, GROUP_BIT)])
        .then([group(broadcast_groups::local(elan))])
        .owned_by(owner)
}

/// From a pod, for one that nobody here is: out to the physical network.
pub(super) fn unknown_is_outside(elan: ElanTag, uplink: &Uplink, owner: &Owned) -> Flow {
    Flow::table(ELAN_UNKNOWN_DMAC)
        .priority(OUTSIDE)
        .tagged(elan.0)
        .matching([elan_tag(elan), split_horizon(false), eth_dst_masked(MacAddr([0; 6]), GROUP_BIT)])
        .then(through_uplink(uplink))
        .owned_by(owner)
}

/// A bucket's frame never returns to the port it came from.
pub(super) fn not_to_sender(port: LportTag, owner: &Owned) -> Flow {
    Flow::table(ELAN_FILTER_EQUALS)
        .priority(SENDER)
        .tagged(port.0)
        .matching([bucket_lport(port), lport(port)])
        .owned_by(owner)
}

/// A bucket's frame leaves by the port the bucket names.
pub(super) fn flooded(port: LportTag, owner: &Owned) -> Flow {
    Flow::table(ELAN_FILTER_EQUALS)
        .priority(FLOODED)
        .tagged(port.0)
        .matching([bucket_lport(port)])
        .then([egress_to(port), resubmit(EGRESS_DISPATCHER)])
        .owned_by(owner)
}
