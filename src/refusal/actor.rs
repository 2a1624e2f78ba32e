//! Takes punted packets of clients and sends refusals.

use openflow_rs::{Action, Match, PacketOut, ports};
use tokio::sync::mpsc;
use tracing::debug;

use super::frame;
use crate::model::NODE_VPN;
use crate::pipeline::{EGRESS_DISPATCHER, FIB, Metadata, actions, came_by, came_from_outside, routed_in};
use crate::programmer::Programmers;
use crate::southbound::openflow::PacketIn;

/// What the punting flows send along (`renderers::service`).
pub const USERDATA: &[u8] = b"refuse";
/// Index of the egress services behind policy and translation: what a switch says itself is neither's business.
const SAID_BY_SWITCH: u8 = 2;

/// Serves until nobody punts any more.
pub async fn run(mut punts: mpsc::Receiver<PacketIn>, programmers: Programmers) {
    while let Some(punted) = punts.recv().await {
        let packet = &punted.packet;
        let (Some(way), Some(frame)) = (way_back(&packet.metadata), frame::refusal(&packet.frame)) else {
            debug!(switch = %punted.dpid, packet = ?packet.metadata, "nothing that can be refused");
            continue;
        };
        let packet = PacketOut { in_port: ports::CONTROLLER, actions: way, frame };
        // A switch that is away takes its clients along.
        if let Err(error) = programmers.packet_out(punted.dpid, packet).await {
            debug!(switch = %punted.dpid, %error, "a refusal was not sent");
        }
    }
}

/// How whoever asked is answered: out of the port that he asked by, or, if he is on an external network, as that one's routes lead
/// to him, under its VLAN. `None`: nothing is said of where he asked.
fn way_back(asked: &Match) -> Option<Vec<Action>> {
    let network = routed_in(asked).filter(|vpn| came_from_outside(asked) && *vpn != NODE_VPN && vpn.0 != 0);
    if let Some(network) = network {
        let mut way = actions::load_metadata(Metadata::new().vpn(network));
        way.push(actions::resubmit(FIB));
        return Some(way);
    }
    Some(vec![
        actions::egress_to(came_by(asked)?),
        actions::load_egress_service(SAID_BY_SWITCH),
        actions::resubmit(EGRESS_DISPATCHER),
    ])
}

#[cfg(test)]
mod tests {
    use openflow_rs::Field;

    use super::*;
    use crate::net::{LportTag, VpnId};

    #[test]
    fn who_asks_on_an_external_network_is_answered_by_its_routes() {
        let at = |vpn: u32, reg7: u32| {
            let metadata = Metadata::new().lport(LportTag(4)).vpn(VpnId(vpn));
            let asked = Match::new().with(Field::Metadata, metadata.value).with(Field::Reg7, reg7);
            way_back(&asked)
        };
        let by_port = at(100_000, 0);
        assert_eq!(by_port.as_ref().map(Vec::len), Some(3), "a pod: {by_port:?}");
        assert_eq!(at(NODE_VPN.0, 1 << 2), by_port, "by the node");
        assert_eq!(at(0, 1 << 2), by_port);
        let mut routed = actions::load_metadata(Metadata::new().vpn(VpnId(100_000)));
        routed.push(actions::resubmit(FIB));
        assert_eq!(at(100_000, 1 << 2), Some(routed));
        assert_eq!(way_back(&Match::new()), None);
    }
}
