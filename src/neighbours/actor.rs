//! Takes what is punted of external networks, asks, announces, and writes down who is there.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use openflow_rs::{PacketOut, ports};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::book::{Book, Place};
use super::frame::{self, Told};
use super::held::Held;
use super::lost::Lost;
use super::world::{At, World};
use crate::datastore::{Edit, Handle, Store, Transaction};
use crate::net::{Dpid, MacAddr};
use crate::pipeline::{EGRESS_DISPATCHER, actions, routed_in};
use crate::programmer::Programmers;
use crate::schema::{DataPath, Fields, Key, Node, Schema, SchemaId, Value};
use crate::southbound::openflow::PacketIn;

/// What the punting flows send along (`renderers::recipes`).
pub const USERDATA: &[u8] = b"neighbour";
/// Between two looks at what is due.
const TICK: Duration = Duration::from_millis(250);
/// Packets whose tidings are written down together at most.
const BATCH: usize = 64;
/// How often an address is announced, and the pause between (RFC 5227 section 2.3: twice, two seconds apart; a frame more,
/// since one may be lost. RFC 4861 section 7.2.6: three times, a second apart).
const ANNOUNCEMENTS: u8 = 3;
const BETWEEN: Duration = Duration::from_secs(1);
/// How long an announcement waits for its switch: one that is away must not hold it back for ever.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at whether a switch has confirmed that it answers for an address no more.
const SOON: Duration = Duration::from_millis(3);

/// Serves until nobody punts any more.
pub async fn run(mut punts: mpsc::Receiver<PacketIn>, datastore: Handle, programmers: Programmers) {
    let mut actor = Neighbours::new(datastore, programmers);
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut batch = Vec::with_capacity(BATCH);
    let mut revisions = actor.datastore.revisions();
    loop {
        let (has_addresses, waits) = (!actor.world.placed.is_empty(), actor.held.waits());
        tokio::select! {
            number = punts.recv_many(&mut batch, BATCH) => match number {
                0 => return,
                _ => actor.hear(std::mem::take(&mut batch)).await,
            },
            _ = ticks.tick() => actor.tick().await,
            Ok(()) = revisions.changed(), if has_addresses => actor.follow().await,
            () = tokio::time::sleep(SOON), if waits => actor.follow().await,
        }
    }
}

/// An announcement that is due.
struct Announcement {
    address: IpAddr,
    left: u8,
    next: Instant,
    since: Instant,
}

impl Announcement {
    /// Whether the address may be announced: its switch has to have its flows. `pending`: it has not confirmed them.
    fn is_due(&self, now: Instant, pending: bool) -> bool {
        self.next <= now && (!pending || self.since + PATIENCE <= now)
    }
}

struct Neighbours {
    neighbours: SchemaId,
    neighbour: SchemaId,
    leafs: [SchemaId; 3],
    /// The container of lost switches, its list and the list's key.
    lost_switches: [SchemaId; 3],
    lost: Lost,
    /// The container of held addresses, its list, the list's key and the switch.
    held_addresses: [SchemaId; 4],
    held: Held,
    world: World,
    book: Book,
    announcements: Vec<Announcement>,
    started: Instant,
    datastore: Handle,
    programmers: Programmers,
}

impl Neighbours {
    fn new(datastore: Handle, programmers: Programmers) -> Neighbours {
        let snapshot = datastore.snapshot();
        let schema: &Schema = snapshot.schema;
        let leaf = |name: &str| schema.resolve(&format!("/coeus-external:neighbours/neighbour/{name}"));
        let mut world = World::new(schema);
        let mut book = Book::default();
        for (place, mac) in world.reader().neighbours(&snapshot) {
            book.remember(place, mac);
        }
        // What is there already was announced when it came.
        world.follow(&snapshot);
        Neighbours {
            neighbours: schema.resolve("/coeus-external:neighbours"),
            neighbour: schema.resolve("/coeus-external:neighbours/neighbour"),
            leafs: [leaf("network-id"), leaf("address"), leaf("mac-address")],
            lost_switches: ["", "/lost-switch", "/lost-switch/switch"]
                .map(|name| schema.resolve(&format!("/coeus-external:lost-switches{name}"))),
            lost: Lost::new(world.reader().lost_switches(&snapshot)),
            held_addresses: ["", "/held-address", "/held-address/external-ip", "/held-address/switch"]
                .map(|name| schema.resolve(&format!("/coeus-external:held-addresses{name}"))),
            held: Held::new(world.reader().held_addresses(&snapshot)),
            world,
            book,
            announcements: Vec::new(),
            started: Instant::now(),
            datastore,
            programmers,
        }
    }

    /// Milliseconds since the start; never zero, which means never.
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// Takes in where addresses are now, and writes down who has them.
    async fn follow(&mut self) {
        let now = Instant::now();
        for address in self.world.follow(&self.datastore.snapshot()) {
            self.announcements.retain(|known| known.address != address);
            self.announcements.push(Announcement { address, left: ANNOUNCEMENTS, next: now, since: now });
        }
        let (now, lost, programmers) = (self.now(), &self.lost, &self.programmers);
        let is_done = |dpid| lost.has(dpid) || !programmers.pending(dpid);
        let changes = self.held.look(now, &self.world.placed, is_done);
        let [all, list, key, switch] = self.held_addresses;
        let edit = |(address, holder): (IpAddr, Option<Dpid>)| {
            let name = Value::text(address.to_string());
            let path = DataPath::root().child(all).entry(list, Key::one(name.clone()));
            let Some(holder) = holder else { return Edit::remove(Store::Operational, path) };
            let holder = Value::text(holder.to_string());
            let fields = Fields::of(vec![(key, Node::Leaf(name)), (switch, Node::Leaf(holder))]);
            Edit::put(Store::Operational, path, Node::Container(fields))
        };
        self.commit(changes.into_iter().map(edit).collect()).await;
    }

    async fn hear(&mut self, batch: Vec<PacketIn>) {
        self.follow().await;
        let now = self.now();
        let mut edits = Vec::new();
        for punted in batch {
            let network = routed_in(&punted.packet.metadata).and_then(|vpn| self.world.network_of(vpn));
            let Some(network) = network.cloned() else { continue };
            let row = self.world.networks.get(&network);
            let on_link = |address| row.is_some_and(|row| row.is_on_link(address));
            match frame::read(&punted.packet.frame) {
                Some(Told::Here { address, mac })
                    if on_link(address) && !self.is_here(address, punted.dpid) =>
                {
                    let place = (network, address);
                    if self.book.heard(&place, mac, now) {
                        info!(network = %place.0, %address, %mac, "met on an external network");
                        edits.push(self.edit(&place, Some(mac)));
                    }
                }
                Some(Told::Wanted { source, target }) if on_link(target) => {
                    self.book.want((network, target), Some(source), now);
                }
                told => debug!(switch = %punted.dpid, ?told, "nothing about an external network"),
            }
        }
        self.commit(edits).await;
        self.ask().await;
    }

    /// Whether this is an address of the switch itself.
    fn is_here(&self, address: IpAddr, dpid: Dpid) -> bool {
        self.world.placed.get(&address).is_some_and(|at| at.dpid == dpid)
    }

    async fn tick(&mut self) {
        self.follow().await;
        let now = self.now();
        let gateways = self.world.networks.iter();
        let gateways = gateways.flat_map(|(id, row)| row.gateways().map(|gateway| (id.clone(), gateway)));
        // Without an address of its version there is nobody to ask for it, and nobody for whom.
        let wanted = gateways
            .filter(|place| !self.book.knows(place) && self.world.asker(&place.0, place.1, None).is_some());
        for place in wanted.collect::<Vec<Place>>() {
            self.book.want(place, None, now);
        }
        self.ask().await;
        self.look_for_lost().await;
        self.announce().await;
    }

    /// Switches that are away for long lose their addresses of services, and their endpoints are asked no more, while there are others.
    async fn look_for_lost(&mut self) {
        let matters = self.world.has_services || !self.world.placed.is_empty();
        let known = if matters { self.programmers.wanted() } else { Vec::new() };
        let known: BTreeSet<Dpid> = known.into_iter().collect();
        let connected = self.programmers.live().into_iter().collect();
        let now = self.now();
        let programmers = &self.programmers;
        let changes = self.lost.look(now, &known, &connected, |dpid| !programmers.pending(dpid));
        let [all, list, key] = self.lost_switches;
        let edit = |(dpid, lost): (Dpid, bool)| {
            info!(switch = %dpid, lost, "addresses and endpoints of services");
            let name = Value::text(dpid.to_string());
            let path = DataPath::root().child(all).entry(list, Key::one(name.clone()));
            if !lost {
                return Edit::remove(Store::Operational, path);
            }
            let fields = Fields::of(vec![(key, Node::Leaf(name))]);
            Edit::put(Store::Operational, path, Node::Container(fields))
        };
        self.commit(changes.into_iter().map(edit).collect()).await;
    }

    async fn ask(&mut self) {
        let networks = &self.world.networks;
        let (questions, gone) = self.book.due(self.now(), |network| networks.contains_key(network));
        let edits = gone.iter().map(|place| self.edit(place, None)).collect();
        self.commit(edits).await;
        for question in questions {
            let (network, target) = &question.place;
            let Some((source, at)) = self.world.asker(network, *target, question.by) else { continue };
            if let Some(frame) = frame::question(at.mac, source, *target) {
                self.send(frame, at).await;
            }
        }
    }

    /// An address is announced when its switch has its flows. The one before has them no more, or the address would not be here.
    async fn announce(&mut self) {
        let now = Instant::now();
        let mut later = Vec::new();
        for mut due in std::mem::take(&mut self.announcements) {
            let Some(at) = self.world.placed.get(&due.address) else { continue };
            if !due.is_due(now, self.programmers.pending(at.dpid)) {
                later.push(due);
                continue;
            }
            let address = due.address;
            self.send(frame::announcement(at.mac, address), at).await;
            due.left -= 1;
            due.next = now + BETWEEN;
            if due.left > 0 {
                later.push(due);
            }
        }
        self.announcements = later;
    }

    /// Says something in the name of a floating address, out of its switch's port to the network.
    async fn send(&self, frame: Vec<u8>, at: &At) {
        let mut way: Vec<_> = at.vlan.into_iter().flat_map(actions::tag_vlan).collect();
        way.extend([actions::egress_to(at.lport), actions::resubmit(EGRESS_DISPATCHER)]);
        let packet = PacketOut { in_port: ports::CONTROLLER, actions: way, frame };
        if let Err(error) = self.programmers.packet_out(at.dpid, packet).await {
            debug!(switch = %at.dpid, %error, "a message about a neighbour was not sent");
        }
    }

    fn edit(&self, place: &Place, mac: Option<MacAddr>) -> Edit {
        let (network, address) = (Value::Text(place.0.clone()), Value::text(place.1.to_string()));
        let key = Key::from_iter([network.clone(), address.clone()]);
        let path = DataPath::root().child(self.neighbours).entry(self.neighbour, key);
        let Some(mac) = mac else { return Edit::remove(Store::Operational, path) };
        let values = [network, address, Value::text(mac.to_string())].map(Node::Leaf);
        let fields = Fields::of(self.leafs.into_iter().zip(values).collect());
        Edit::put(Store::Operational, path, Node::Container(fields))
    }

    /// What could not be written down is met again.
    async fn commit(&self, edits: Vec<Edit>) {
        if edits.is_empty() {
            return;
        }
        if let Err(error) = self.datastore.commit(Transaction::new("neighbours", edits)).await {
            warn!(%error, "neighbours on external networks could not be written down");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_announced_once_its_switch_has_it() {
        let start = Instant::now();
        let address = IpAddr::from([203, 0, 113, 7]);
        let due = Announcement { address, left: ANNOUNCEMENTS, next: start, since: start };
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert!(due.is_due(start, false));
        assert!(!due.is_due(at(4), true));
        assert!(due.is_due(at(5), true), "that is long enough");
        let later = Announcement { next: at(1), ..due };
        assert!(!later.is_due(start, false));
    }
}
