//! Takes punted requests, makes leases durable, sends replies; ends leases that run out or whose pod is gone.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use openflow_rs::{PacketOut, ports};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::answer::Answer;
use super::book::{Book, Entry, Holder};
use super::count::Count;
use super::port::Port;
use super::status::{Level, State};
use super::view::View;
use super::{leases, status, v4, v6};
use crate::datastore::{DatastoreError, Edit, Handle, Transaction};
use crate::net::{Dpid, LportTag};
use crate::pipeline::{EGRESS_DISPATCHER, actions, came_by};
use crate::programmer::Programmers;
use crate::schema::Text;
use crate::southbound::openflow::PacketIn;

/// Pause between looks at what has ended and at how full the pools are.
const SWEEP: Duration = Duration::from_secs(1);
/// Requests whose leases are made durable together at most.
const BATCH: usize = 64;
/// What the punting flows send along (`renderers::dhcp`).
const USERDATA: &[u8] = b"dhcp";
const USERDATA_V6: &[u8] = b"dhcp6";

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Serves until nobody punts any more.
pub async fn run(mut punts: mpsc::Receiver<PacketIn>, datastore: Handle, programmers: Programmers) {
    let mut server = Server::new(datastore, programmers);
    server.load().await;
    let mut sweep = tokio::time::interval(SWEEP);
    sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        tokio::select! {
            number = punts.recv_many(&mut batch, BATCH) => match number {
                0 => return,
                _ => server.serve(std::mem::take(&mut batch)).await,
            },
            _ = sweep.tick() => server.sweep().await,
        }
    }
}

struct Server {
    leases: leases::Names,
    status: status::Names,
    view: View,
    book: Book,
    /// Who this server is in DHCPv6; the first who asks finds out.
    duid: Option<v6::Duid>,
    datastore: Handle,
    programmers: Programmers,
    /// Interfaces that may be gone; looked at by the next sweep.
    doubtful: Vec<Text>,
    counts: BTreeMap<Count, u64>,
    /// Counts and levels as they are shown.
    counts_shown: BTreeMap<Count, u64>,
    levels_shown: BTreeMap<(Text, Text), Level>,
}

/// A packet on its way to a switch.
type Sent = (Dpid, PacketOut);

impl Server {
    fn new(datastore: Handle, programmers: Programmers) -> Server {
        let schema = datastore.snapshot().schema;
        Server {
            leases: leases::Names::new(schema),
            status: status::Names::new(schema),
            view: View::new(schema),
            book: Book::default(),
            duid: None,
            datastore,
            programmers,
            doubtful: Vec::new(),
            counts: BTreeMap::new(),
            counts_shown: BTreeMap::new(),
            levels_shown: BTreeMap::new(),
        }
    }

    /// Reads everything anew.
    async fn load(&mut self) {
        let snapshot = self.datastore.snapshot();
        self.view = View::new(snapshot.schema);
        self.book = Book::default();
        let kept = self.leases.kept(&snapshot);
        kept.entries.iter().for_each(|entry| self.book.write(entry));
        self.duid = kept.duid;
        self.follow();
        self.doubtful = self.book.leases().map(|lease| lease.interface.clone()).collect();
        if !kept.obsolete.is_empty()
            && let Err(error) = self.datastore.commit(Transaction::new("dhcp", kept.obsolete)).await
        {
            warn!(%error, "leases of an earlier version could not be cleared away");
        }
    }

    fn follow(&mut self) {
        let gone = self.view.follow(self.datastore.snapshot(), &mut self.book);
        self.doubtful.extend(gone);
    }

    /// Writes entries into the book, and down as edits.
    fn write(&mut self, entries: &[Entry], edits: &mut Vec<Edit>) {
        for entry in entries {
            edits.extend(self.leases.edit(entry, &self.book));
            self.book.write(entry);
        }
    }

    async fn serve(&mut self, batch: Vec<PacketIn>) {
        self.follow();
        let now = now();
        let mut edits = Vec::new();
        self.write(&self.book.due(now), &mut edits);
        let replies: Vec<Sent> =
            batch.iter().filter_map(|punted| self.answer(punted, now, &mut edits)).collect();
        // Durable before the clients hear of it.
        if self.commit(edits).await.is_err() {
            return;
        }
        for (switch, packet) in replies {
            if let Err(error) = self.programmers.packet_out(switch, packet).await {
                debug!(%switch, %error, "a DHCP reply was not sent");
            }
        }
    }

    fn count(&mut self, count: Count) {
        *self.counts.entry(count).or_default() += 1;
    }

    fn answer(&mut self, punted: &PacketIn, now: u64, edits: &mut Vec<Edit>) -> Option<Sent> {
        let tag = came_by(&punted.packet.metadata)?;
        let frame = match &*punted.packet.userdata {
            USERDATA => self.answer_v4(tag, &punted.packet.frame, now, edits)?,
            USERDATA_V6 => self.answer_v6(tag, &punted.packet.frame, now, edits)?,
            _ => {
                debug!(switch = %punted.dpid, table = punted.packet.table, "a packet that nobody asked for");
                return None;
            }
        };
        Some((punted.dpid, out(tag, frame)))
    }

    /// The port that a packet came from, if what it says could be read.
    fn asker<Request>(&mut self, request: Option<Request>, tag: LportTag) -> Option<(Request, Port)> {
        let Some(request) = request else {
            self.count(Count::Malformed);
            return None;
        };
        let Some(port) = self.view.interface(tag).and_then(|name| self.view.port(&name)) else {
            self.count(Count::Foreign);
            return None;
        };
        Some((request, port))
    }

    fn take<Reply>(&mut self, answer: &Answer<Reply>, edits: &mut Vec<Edit>) {
        answer.counts.iter().for_each(|count| self.count(*count));
        self.write(&answer.entries, edits);
    }

    fn answer_v4(&mut self, tag: LportTag, frame: &[u8], now: u64, edits: &mut Vec<Edit>) -> Option<Vec<u8>> {
        let (request, port) = self.asker(v4::read(frame), tag)?;
        let answer = v4::answer(&request, &port, &self.book, now);
        let answered = answer.reply.as_ref().map(|reply| (reply.kind, reply.address));
        info!(interface = %port.interface, asked = ?request.kind, ?answered, counted = ?answer.counts, "dhcp");
        self.take(&answer, edits);
        v4::write(&request, answer.reply.as_ref()?)
    }

    fn answer_v6(&mut self, tag: LportTag, frame: &[u8], now: u64, edits: &mut Vec<Edit>) -> Option<Vec<u8>> {
        let (request, port) = self.asker(v6::read(frame), tag)?;
        let duid = self.duid(edits)?;
        let answer = v6::answer(&request, &port, &duid, &self.book, now);
        let answered = answer.reply.as_ref().map(|reply| (reply.kind, reply.status, &reply.ias));
        info!(interface = %port.interface, asked = ?request.kind, ?answered, counted = ?answer.counts, "dhcp6");
        self.take(&answer, edits);
        v6::write(&request, answer.reply.as_ref()?)
    }

    /// Our own identifier: drawn once, then durable before anybody hears it.
    fn duid(&mut self, edits: &mut Vec<Edit>) -> Option<v6::Duid> {
        if self.duid.is_none() {
            let mut random = [0; 16];
            if SystemRandom::new().fill(&mut random).is_err() {
                warn!(
                    "the system gives no random numbers, so this DHCPv6 server has no identifier: it answers nobody"
                );
                return None;
            }
            let duid = v6::Duid::of_uuid(random);
            edits.push(self.leases.named(&duid));
            self.duid = Some(duid);
        }
        self.duid.clone()
    }

    /// What could not be made durable did not happen: everything is read anew.
    async fn commit(&mut self, edits: Vec<Edit>) -> Result<(), DatastoreError> {
        if edits.is_empty() {
            return Ok(());
        }
        let outcome = self.datastore.commit(Transaction::new("dhcp", edits)).await.map(drop);
        if let Err(error) = &outcome {
            warn!(%error, "leases could not be written down; no request was answered");
            self.load().await;
        }
        outcome
    }

    /// Ends leases that ran out or whose interface is gone, and the rest of declined addresses; shows how things are.
    async fn sweep(&mut self) {
        self.follow();
        let mut edits = Vec::new();
        self.write(&self.book.due(now()), &mut edits);
        for interface in std::mem::take(&mut self.doubtful) {
            if !self.view.exists(&interface) {
                for holder in [Holder::Port(interface.clone()), Holder::PortV6(interface)] {
                    self.write(&[Entry::End(holder.clone()), Entry::Withdraw(holder.clone())], &mut edits);
                    self.book.forget(&holder);
                }
            }
        }
        if !edits.is_empty() {
            info!(changes = edits.len(), "leases ended");
        }
        if self.commit(edits).await.is_ok() {
            self.show().await;
        }
    }

    async fn show(&mut self) {
        let mut edits = Vec::new();
        if self.counts != self.counts_shown {
            edits.push(self.status.counters(&self.counts));
        }
        let mut levels = BTreeMap::new();
        for pool in self.view.pools() {
            let level = Level::of(pool, &self.book);
            let key = (pool.network.clone(), pool.key.clone());
            let before = self.levels_shown.get(&key);
            if before != Some(&level) {
                edits.push(self.status.level(&key.0, &key.1, Some(&level)));
                tell(&key.0, &key.1, before, &level);
            }
            levels.insert(key, level);
        }
        for (network, subnet) in self.levels_shown.keys().filter(|key| !levels.contains_key(key)) {
            edits.push(self.status.level(network, subnet, None));
        }
        if edits.is_empty() {
            return;
        }
        match self.datastore.commit(Transaction::passing("dhcp", edits)).await {
            Ok(_) => {
                self.counts_shown = self.counts.clone();
                self.levels_shown = levels;
            }
            Err(error) => debug!(%error, "the state of DHCP could not be shown"),
        }
    }
}

/// Says in the log when a pool runs out, or has recovered.
fn tell(network: &str, subnet: &str, before: Option<&Level>, level: &Level) {
    let Level { size, free, .. } = level;
    match (before.map_or(State::Normal, |before| before.state), level.state) {
        (was, is) if was == is => {}
        (_, State::Exhausted) => {
            warn!(network, subnet, size, "pool exhausted: new clients get no answer; widen its range");
        }
        (_, State::Low) => warn!(network, subnet, size, free, "pool is low on addresses"),
        (_, State::Normal) => info!(network, subnet, size, free, "pool has addresses again"),
    }
}

/// A frame out of a logical port.
fn out(tag: LportTag, frame: Vec<u8>) -> PacketOut {
    let way = vec![actions::egress_to(tag), actions::resubmit(EGRESS_DISPATCHER)];
    PacketOut { in_port: ports::CONTROLLER, actions: way, frame }
}
