//! Takes punted solicitations and sends advertisements, asked and unasked.

use openflow_rs::{PacketOut, ports};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{debug, warn};

use super::frame::{self, ALL_NODES};
use super::said::Said;
use super::schedule::Schedule;
use super::view::Names;
use crate::datastore::Handle;
use crate::model::gateway_mac;
use crate::net::{Dpid, VpnId};
use crate::pipeline::{Action, EGRESS_DISPATCHER, actions, broadcast_groups, came_by, routed_in};
use crate::programmer::Programmers;
use crate::southbound::openflow::{PacketIn, SessionClosed};

/// What the punting flow sends along (`renderers::nd`).
pub const USERDATA: &[u8] = b"rs";

/// Takes frames to switches.
trait Switches {
    fn packet_out(
        &self,
        dpid: Dpid,
        packet: PacketOut,
    ) -> impl Future<Output = Result<(), SessionClosed>> + Send;
}

impl Switches for Programmers {
    async fn packet_out(&self, dpid: Dpid, packet: PacketOut) -> Result<(), SessionClosed> {
        Programmers::packet_out(self, dpid, packet).await
    }
}

/// Serves until nobody punts any more.
pub async fn run(punts: mpsc::Receiver<PacketIn>, datastore: Handle, programmers: Programmers) {
    serve(punts, datastore, programmers, Schedule::default()).await;
}

async fn serve(
    mut punts: mpsc::Receiver<PacketIn>,
    datastore: Handle,
    switches: impl Switches,
    mut schedule: Schedule,
) {
    let names = Names::new(datastore.snapshot().schema);
    let mut due = Instant::now() + schedule.pause();
    loop {
        tokio::select! {
            punted = punts.recv() => match punted {
                Some(packet) => answer(&packet, &names, &datastore, &switches).await,
                None => return,
            },
            () = tokio::time::sleep_until(due) => {
                for link in names.links(&datastore.snapshot()) {
                    let way = vec![actions::group(broadcast_groups::local(link.elan))];
                    send(link.dpid, ALL_NODES, link.vpn, &link.said, way, &switches).await;
                }
                // Counted from now: what was slept through is not made up for.
                due = Instant::now() + schedule.pause();
            }
        }
    }
}

async fn answer(punted: &PacketIn, names: &Names, datastore: &Handle, switches: &impl Switches) {
    let conditions = &punted.packet.metadata;
    let (Some(tag), Some(vpn)) = (came_by(conditions), routed_in(conditions)) else { return };
    let Some(asker) = frame::read(&punted.packet.frame) else {
        debug!(switch = %punted.dpid, lport = tag.0, "no router solicitation");
        return;
    };
    let way = vec![actions::egress_to(tag), actions::resubmit(EGRESS_DISPATCHER)];
    let said = names.said_to(&datastore.snapshot(), tag);
    send(punted.dpid, asker, vpn, &said, way, switches).await;
}

async fn send(
    dpid: Dpid,
    to: frame::Asker,
    vpn: VpnId,
    said: &Said,
    way: Vec<Action>,
    switches: &impl Switches,
) {
    let Some(frame) = frame::write(to, gateway_mac(vpn), said) else {
        warn!(switch = %dpid, "a router advertisement could not be encoded");
        return;
    };
    let packet = PacketOut { in_port: ports::CONTROLLER, actions: way, frame };
    // A switch that is away hears of its router when it asks, or next time.
    if let Err(error) = switches.packet_out(dpid, packet).await {
        debug!(switch = %dpid, %error, "a router advertisement was not sent");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::datastore::journal::MemoryJournal;
    use crate::datastore::{Edit, Store, Transaction, actor};
    use crate::renderers::Engine;
    use crate::schema::{DataPath, builtin, json};

    const TOPOLOGY: &str = r#"{"network-topology:topology":[{"topology-id":"ovsdb:1","node":[
        {"node-id":"ovsdb://uuid/a","ovsdb:openvswitch-other-configs":[
            {"other-config-key":"local_ip","other-config-value":"192.168.56.11"},
            {"other-config-key":"underlay_mtu","other-config-value":"9000"}]},
        {"node-id":"ovsdb://uuid/a/bridge/br-int","ovsdb:datapath-id":"00:00:00:00:00:00:00:07",
         "termination-point":[{"tp-id":"veth1","ovsdb:ofport":10,"ovsdb:interface-external-ids":[
            {"external-id-key":"iface-id","external-id-value":"blue:p1"},
            {"external-id-key":"attached-mac","external-id-value":"0a:00:00:00:01:10"}]}]}]}]}"#;
    const POD: &str = r#"{"pod:coe":{"pods":[{"uid":"11111111-1111-1111-1111-111111111111","name":"p1","network-NS":"blue",
        "host-ip-address":"192.168.56.11","interface":[
            {"uid":"11111111-1111-1111-1111-111111111111","ip-address":"fd00::10"}]}]}}"#;

    struct Wire(mpsc::Sender<(Dpid, PacketOut)>);

    impl Switches for Wire {
        async fn packet_out(&self, dpid: Dpid, packet: PacketOut) -> Result<(), SessionClosed> {
            self.0.send((dpid, packet)).await.map_err(|_| SessionClosed)
        }
    }

    /// A datastore with a switch that has a port of a pod with IPv6.
    async fn datastore() -> Handle {
        let engine = Engine::new(builtin(), Box::new(|_, _| {}));
        let journal = Box::<MemoryJournal>::default();
        let handle = actor::start(builtin(), journal, Box::new(engine)).unwrap().handle;
        let put = |store, path: &str, body: &str| {
            let path = DataPath::parse_rfc8040(builtin(), path).unwrap();
            let node = json::parse_resource(builtin(), &path, body.as_bytes(), json::Mode::Lenient).unwrap();
            Edit::put(store, path, node)
        };
        let topology = "network-topology:network-topology/topology=ovsdb%3A1";
        let edits = vec![put(Store::Operational, topology, TOPOLOGY), put(Store::Config, "pod:coe", POD)];
        handle.commit(Transaction::new("test", edits)).await.unwrap();
        handle
    }

    #[tokio::test]
    async fn links_hear_of_their_router_unasked_again_and_again() {
        let (wire, mut sent) = mpsc::channel(1);
        let (punts, punted) = mpsc::channel(1);
        let (initial, pause) = (Duration::from_millis(20), Duration::from_millis(60));
        let start = Instant::now();
        let schedule = Schedule::with(initial, pause);
        let server = tokio::spawn(serve(punted, datastore().await, Wire(wire), schedule));
        for number in 0..5 {
            let (dpid, packet) = sent.recv().await.unwrap();
            assert_eq!(dpid, Dpid(7), "the {number}th");
            assert!(matches!(packet.actions[..], [Action::Group(_)]), "{:?}", packet.actions);
            assert_eq!(packet.frame[..6], [0x33, 0x33, 0, 0, 0, 1], "to all of the link");
            assert!(packet.frame.ends_with(&[5, 1, 0, 0, 0, 0, 0x22, 0xf6]), "the MTU of the link is last");
        }
        assert!(start.elapsed() >= initial * 2 + pause * 2, "{:?}", start.elapsed());
        drop(punts);
        server.await.unwrap();
    }
}
