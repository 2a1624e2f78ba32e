//! Broadcast groups: full = local + remote switches, local = chunks, chunk = ports.

use super::super::recipes::{through_tunnel, through_uplink};
use crate::model::{Remote, Uplink};
use crate::net::{ElanTag, LportTag, Vni};
use crate::pipeline::actions::{group, resubmit, set_bucket_lport};
use crate::pipeline::{ELAN_FILTER_EQUALS, Group, Owner, broadcast_groups as ids, owners};

type Owned = Owner<owners::Elan>;

/// The ports of one chunk. Table 55 sorts out the sender.
pub(super) fn chunk(elan: ElanTag, first: LportTag, ports: &[LportTag], owner: &Owned) -> Group {
    let bucket = |port: &LportTag| [set_bucket_lport(*port), resubmit(ELAN_FILTER_EQUALS)];
    Group::all(ids::chunk(elan, first)).buckets(ports.iter().map(bucket)).owned_by(owner)
}

/// All ports of the ELAN on this switch, given the first port of each chunk.
pub(super) fn local(elan: ElanTag, chunks: &[LportTag], owner: &Owned) -> Group {
    let bucket = |first: &LportTag| [group(ids::chunk(elan, *first))];
    Group::all(ids::local(elan)).buckets(chunks.iter().map(bucket)).owned_by(owner)
}

/// All ports here, and a copy to each other switch of the ELAN or to the physical network.
pub(super) fn full(
    elan: ElanTag,
    remotes: &[(Remote, Vni)],
    uplink: Option<&Uplink>,
    owner: &Owned,
) -> Group {
    let here = Group::all(ids::full(elan)).bucket([group(ids::local(elan))]);
    here.buckets(uplink.into_iter().map(through_uplink))
        .buckets(remotes.iter().map(|(remote, vni)| through_tunnel(*vni, *remote)))
        .owned_by(owner)
}
