//! Takes punted packets of clients and sends refusals.

use openflow_rs::{PacketOut, ports};
use tokio::sync::mpsc;
use tracing::debug;

use super::frame;
use crate::pipeline::{EGRESS_DISPATCHER, actions, came_by};
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
        let (Some(tag), Some(frame)) = (came_by(&packet.metadata), frame::refusal(&packet.frame)) else {
            debug!(switch = %punted.dpid, packet = ?packet.metadata, "nothing that can be refused");
            continue;
        };
        let way = vec![
            actions::egress_to(tag),
            actions::load_egress_service(SAID_BY_SWITCH),
            actions::resubmit(EGRESS_DISPATCHER),
        ];
        let packet = PacketOut { in_port: ports::CONTROLLER, actions: way, frame };
        // A switch that is away takes its clients along.
        if let Err(error) = programmers.packet_out(punted.dpid, packet).await {
            debug!(switch = %punted.dpid, %error, "a refusal was not sent");
        }
    }
}
