//! Table 36.

use crate::net::{ElanTag, LportTag, Vni, VpnId};
use crate::pipeline::actions::{load_metadata, resubmit};
use crate::pipeline::matches::tun_id;
use crate::pipeline::{ELAN_DMAC, FIB, Flow, INTERNAL_TUNNEL, Metadata, Owner, owners};

/// VNIs of ELANs and VPNs come from one pool, so no two flows meet.
const VNI: u16 = 5;
/// No logical port: a copy for any port of the ELAN is for somebody else than the sender.
const NOWHERE: LportTag = LportTag(0);

/// A frame of an ELAN goes to its destination MAC.
pub(super) fn into_elan(vni: Vni, elan: ElanTag, owner: &Owner<owners::Tunnel>) -> Flow {
    Flow::table(INTERNAL_TUNNEL)
        .priority(VNI)
        .tagged(elan.0)
        .matching([tun_id(vni)])
        .write_metadata(Metadata::new().lport(NOWHERE).elan(elan))
        .goto(ELAN_DMAC)
        .owned_by(owner)
}

/// A routed packet goes to its address. The action must precede the resubmit, so it is no write_metadata.
pub(super) fn into_vpn(vni: Vni, vpn: VpnId, owner: &Owner<owners::Tunnel>) -> Flow {
    Flow::table(INTERNAL_TUNNEL)
        .priority(VNI)
        .tagged(vpn.0)
        .matching([tun_id(vni)])
        .then(load_metadata(Metadata::new().vpn(vpn)))
        .then([resubmit(FIB)])
        .owned_by(owner)
}
