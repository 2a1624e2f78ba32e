//! Asks next hops, hears their answers, and writes down who is silent.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use openflow_rs::{PacketOut, ports};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::super::frame::{self, Told};
use super::watch::{Hop, Watch};
use super::world::World;
use crate::datastore::{Edit, Handle, Store, Transaction};
use crate::model::Reader;
use crate::pipeline::{EGRESS_DISPATCHER, actions, came_by};
use crate::programmer::Programmers;
use crate::schema::{DataPath, Fields, Key, Node, SchemaId, Value};
use crate::southbound::openflow::PacketIn;

/// What the punting flows send along (`renderers::recipes`).
pub const USERDATA: &[u8] = b"next-hop";
/// Between two looks at what is due.
const TICK: Duration = Duration::from_millis(250);
/// Answers whose tidings are written down together at most.
const BATCH: usize = 64;

/// Serves until nobody punts any more.
pub async fn run(mut punts: mpsc::Receiver<PacketIn>, datastore: Handle, programmers: Programmers) {
    let mut actor = NextHops::new(datastore, programmers);
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        tokio::select! {
            biased;
            number = punts.recv_many(&mut batch, BATCH) => match number {
                0 => return,
                _ => actor.hear(std::mem::take(&mut batch)).await,
            },
            _ = ticks.tick() => actor.tick().await,
        }
    }
}

struct NextHops {
    /// The container of silent next hops, its list, and the list's keys.
    silent: [SchemaId; 4],
    world: World,
    watch: Watch,
    started: Instant,
    datastore: Handle,
    programmers: Programmers,
}

impl NextHops {
    fn new(datastore: Handle, programmers: Programmers) -> NextHops {
        let snapshot = datastore.snapshot();
        let schema = snapshot.schema;
        let names = ["", "/silent-next-hop", "/silent-next-hop/interface", "/silent-next-hop/address"];
        NextHops {
            silent: names.map(|name| schema.resolve(&format!("/coeus-next-hop:silent-next-hops{name}"))),
            world: World::new(schema),
            watch: Watch::new(Reader::new(schema).silent_next_hops(&snapshot)),
            started: Instant::now(),
            datastore,
            programmers,
        }
    }

    async fn hear(&mut self, batch: Vec<PacketIn>) {
        self.world.follow(&self.datastore.snapshot());
        let mut back = Vec::new();
        for punted in batch {
            let told = frame::read(&punted.packet.frame);
            let (Some(Told::Here { address, .. }), Some(lport)) = (&told, came_by(&punted.packet.metadata))
            else {
                debug!(switch = %punted.dpid, ?told, "nothing about a next hop");
                continue;
            };
            if let Some(hop) = self.world.answering(punted.dpid, lport, *address)
                && self.watch.heard(hop)
            {
                back.push((hop.clone(), false));
            }
        }
        self.write_down(back).await;
    }

    async fn tick(&mut self) {
        let snapshot = self.datastore.snapshot();
        self.world.follow(&snapshot);
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let due = self.watch.look(now, self.world.hops.keys(), self.world.pace(&snapshot));
        self.write_down(due.changed).await;
        for hop in due.ask {
            if self.ask(&hop).await {
                self.watch.sent(&hop);
            }
        }
    }

    /// Whether the question left. A switch that has not got the flow that hands over answers is not asked through.
    async fn ask(&self, hop: &Hop) -> bool {
        let Some(at) = self.world.hops.get(hop) else { return false };
        let Some(frame) = frame::question(at.mac, at.asker, hop.1) else { return false };
        if self.programmers.pending(at.dpid) {
            return false;
        }
        let way = vec![actions::egress_to(at.lport), actions::resubmit(EGRESS_DISPATCHER)];
        let packet = PacketOut { in_port: ports::CONTROLLER, actions: way, frame };
        let sent = self.programmers.packet_out(at.dpid, packet).await;
        if let Err(error) = &sent {
            debug!(switch = %at.dpid, %error, "a question to a next hop was not sent");
        }
        sent.is_ok()
    }

    async fn write_down(&mut self, changes: Vec<(Hop, bool)>) {
        if changes.is_empty() {
            return;
        }
        for ((interface, address), silent) in &changes {
            info!(%interface, %address, silent, "next hop");
        }
        let edits = changes.iter().map(|((interface, address), silent)| {
            self.edit(Value::Text(interface.clone()), *address, *silent)
        });
        let edits: Vec<Edit> = edits.collect();
        if let Err(error) = self.datastore.commit(Transaction::new("next hops", edits)).await {
            warn!(%error, "which next hops are silent could not be written down");
            // It is found out again.
            let snapshot = self.datastore.snapshot();
            self.watch = Watch::new(Reader::new(snapshot.schema).silent_next_hops(&snapshot));
        }
    }

    fn edit(&self, interface: Value, address: IpAddr, silent: bool) -> Edit {
        let [all, list, keys @ ..] = self.silent;
        let key = [interface, Value::text(address.to_string())];
        let path = DataPath::root().child(all).entry(list, Key::from_iter(key.clone()));
        if !silent {
            return Edit::remove(Store::Operational, path);
        }
        let fields = Fields::of(keys.into_iter().zip(key.map(Node::Leaf)).collect());
        Edit::put(Store::Operational, path, Node::Container(fields))
    }
}
