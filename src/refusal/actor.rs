//! Takes punted packets of clients and sends refusals.

use openflow_rs::{Field, PacketOut, ports};
use tokio::sync::mpsc;
use tracing::debug;

use super::frame;
use crate::net::LportTag;
use crate::pipeline::{EGRESS_DISPATCHER, actions};
use crate::programmer::Programmers;
use crate::southbound::openflow::PacketIn;

/// What the punting flows send along (`renderers::service`).
pub const USERDATA: &[u8] = b"refuse";
/// Index of the egress services behind policy and translation: what a switch says itself is neither's business.
const SAID_BY_SWITCH: u8 = 2;

/// Serves until nobody punts any more.
pub async fn run(mut punts: mpsc::Receiver<PacketIn>, programmers: Programmers) {
    while let Some(punted) = punts.recv().await {
        let metadata = punted.packet.metadata.get(Field::Metadata).map_or(0, |field| field.value as u64);
        let tag = LportTag((metadata >> 40 & 0xf_ffff) as u32);
        let Some(frame) = frame::refusal(&punted.packet.frame) else {
            debug!(switch = %punted.dpid, lport = tag.0, "nothing that can be refused");
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
