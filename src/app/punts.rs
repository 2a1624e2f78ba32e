//! Packets that switches hand over, each to whom its flow names.

use tokio::sync::mpsc;
use tracing::debug;

use crate::southbound::openflow::PacketIn;

/// Who gets the packets of a kind: what their flows send along.
pub type Consumer = (&'static [u8], mpsc::Sender<PacketIn>);

/// Passes punted packets on until no switch can send any more, those of no such kind to `rest`. A consumer that is behind loses its own
/// packets only: each has a queue, and what does not fit is dropped.
pub async fn share(
    mut punts: mpsc::Receiver<PacketIn>,
    consumers: Vec<Consumer>,
    rest: mpsc::Sender<PacketIn>,
) {
    while let Some(packet) = punts.recv().await {
        let of_kind = consumers.iter().find(|(kind, _)| **kind == *packet.packet.userdata);
        let consumer = of_kind.map_or(&rest, |(_, consumer)| consumer);
        if let Err(mpsc::error::TrySendError::Full(packet)) = consumer.try_send(packet) {
            debug!(switch = %packet.dpid, table = packet.packet.table, "a punted packet is dropped, its consumer is behind");
        }
    }
}
