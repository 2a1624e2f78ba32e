//! Table 36.

use crate::model::{NODE_VPN, SERVICE_ANSWERS, SERVICE_REQUESTS};
use crate::net::{ElanTag, LportTag, Vni, VpnId};
use crate::pipeline::actions::{load_metadata, load_service_way, resubmit};
use crate::pipeline::matches::tun_id;
use crate::pipeline::{
    ELAN_DMAC, FIB, Flow, INTERNAL_TUNNEL, Metadata, Owner, SERVICE_FIB, ServiceWay, owners,
};

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

/// A request of a service is for an endpoint here; an answer for a client here, in the VPN that has a route to every pod.
pub(super) fn into_services(owner: &Owner<owners::Tunnel>) -> [Flow; 2] {
    let request = Flow::table(INTERNAL_TUNNEL).priority(VNI).matching([tun_id(SERVICE_REQUESTS)]);
    let request = request.then([load_service_way(ServiceWay::Request), resubmit(SERVICE_FIB)]);
    let answer = Flow::table(INTERNAL_TUNNEL).priority(VNI).matching([tun_id(SERVICE_ANSWERS)]);
    let answer = answer.then(load_metadata(Metadata::new().vpn(NODE_VPN)));
    let answer = answer.then([load_service_way(ServiceWay::Answer), resubmit(FIB)]);
    [request.owned_by(owner), answer.owned_by(owner)]
}
