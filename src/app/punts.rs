//! Packets that switches hand over, each to whom its flow names.

use tokio::sync::mpsc;
use tracing::debug;

use crate::observe::drops;
use crate::southbound::openflow::PacketIn;
use crate::{neighbours, ra, refusal};

/// Passes punted packets on until no switch can send any more. A consumer that is behind loses its own packets only: each
/// kind has a queue, and what does not fit is dropped.
pub async fn share(
    mut punts: mpsc::Receiver<PacketIn>,
    dhcp: mpsc::Sender<PacketIn>,
    solicitations: mpsc::Sender<PacketIn>,
    outside: mpsc::Sender<PacketIn>,
    next_hops: mpsc::Sender<PacketIn>,
    refused: mpsc::Sender<PacketIn>,
    stopped: mpsc::Sender<PacketIn>,
) {
    while let Some(packet) = punts.recv().await {
        let consumer = match &*packet.packet.userdata {
            ra::USERDATA => &solicitations,
            neighbours::USERDATA => &outside,
            neighbours::HOPS_USERDATA => &next_hops,
            refusal::USERDATA => &refused,
            drops::USERDATA => &stopped,
            _ => &dhcp,
        };
        if let Err(mpsc::error::TrySendError::Full(packet)) = consumer.try_send(packet) {
            debug!(switch = %packet.dpid, table = packet.packet.table, "a punted packet is dropped, its consumer is behind");
        }
    }
}
