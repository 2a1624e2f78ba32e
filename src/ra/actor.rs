//! Takes punted solicitations and sends advertisements, asked and unasked.

use std::time::Duration;

use openflow_rs::{Field, PacketOut, ports};
use tokio::sync::mpsc;
use tracing::{debug, warn};

use super::frame::{self, ALL_NODES};
use super::said::Said;
use super::view::Names;
use crate::datastore::Handle;
use crate::model::gateway_mac;
use crate::net::{LportTag, VpnId};
use crate::pipeline::{Action, EGRESS_DISPATCHER, actions, broadcast_groups};
use crate::programmer::Programmers;
use crate::southbound::openflow::PacketIn;

/// Between two unasked advertisements: the default of RFC 4861 section 6.2.1, and a fifteenth of what one holds.
const INTERVAL: Duration = Duration::from_secs(600);
/// What the punting flow sends along (`renderers::nd`).
pub const USERDATA: &[u8] = b"rs";

/// Serves until nobody punts any more.
pub async fn run(mut punts: mpsc::Receiver<PacketIn>, datastore: Handle, programmers: Programmers) {
    let names = Names::new(datastore.snapshot().schema);
    let mut unasked = tokio::time::interval(INTERVAL);
    unasked.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            punted = punts.recv() => match punted {
                Some(packet) => answer(&packet, &names, &datastore, &programmers).await,
                None => return,
            },
            _ = unasked.tick() => {
                for link in names.links(&datastore.snapshot()) {
                    let way = vec![actions::group(broadcast_groups::local(link.elan))];
                    send(link.dpid, ALL_NODES, link.vpn, &link.said, way, &programmers).await;
                }
            }
        }
    }
}

async fn answer(punted: &PacketIn, names: &Names, datastore: &Handle, programmers: &Programmers) {
    let metadata = punted.packet.metadata.get(Field::Metadata).map_or(0, |field| field.value as u64);
    let tag = LportTag((metadata >> 40 & 0xf_ffff) as u32);
    let vpn = VpnId((metadata >> 1 & 0x7f_ffff) as u32);
    let Some(asker) = frame::read(&punted.packet.frame) else {
        debug!(switch = %punted.dpid, lport = tag.0, "no router solicitation");
        return;
    };
    let way = vec![actions::egress_to(tag), actions::resubmit(EGRESS_DISPATCHER)];
    let said = names.said_to(&datastore.snapshot(), tag);
    send(punted.dpid, asker, vpn, &said, way, programmers).await;
}

async fn send(
    dpid: crate::net::Dpid,
    to: frame::Asker,
    vpn: VpnId,
    said: &Said,
    way: Vec<Action>,
    programmers: &Programmers,
) {
    let Some(frame) = frame::write(to, gateway_mac(vpn), said) else {
        warn!(switch = %dpid, "a router advertisement could not be encoded");
        return;
    };
    let packet = PacketOut { in_port: ports::CONTROLLER, actions: way, frame };
    // A switch that is away hears of its router when it asks, or next time.
    if let Err(error) = programmers.packet_out(dpid, packet).await {
        debug!(switch = %dpid, %error, "a router advertisement was not sent");
    }
}
