//! Takes punted requests, makes leases durable, sends replies; ends leases that run out or whose pod is gone.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use openflow_rs::{Field, PacketOut, ports};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::answer::{Count, LeaseEdit, answer};
use super::frame;
use super::view::Names;
use crate::datastore::{Edit, Handle, Transaction};
use crate::net::LportTag;
use crate::pipeline::{EGRESS_DISPATCHER, actions};
use crate::programmer::Programmers;
use crate::southbound::openflow::PacketIn;

/// Pause between looks at leases that have ended.
const SWEEP: Duration = Duration::from_secs(1);
/// What the punting flow sends along (`renderers::dhcp`).
const USERDATA: &[u8] = b"dhcp";

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Serves until nobody punts any more.
pub async fn run(mut punts: mpsc::Receiver<PacketIn>, datastore: Handle, programmers: Programmers) {
    let names = Names::new(datastore.snapshot().schema);
    let mut server = Server { names, datastore, programmers, counts: BTreeMap::new() };
    let mut sweep = tokio::time::interval(SWEEP);
    sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            punted = punts.recv() => match punted {
                Some(packet) => server.serve(&packet).await,
                None => return,
            },
            _ = sweep.tick() => server.sweep().await,
        }
    }
}

struct Server {
    names: Names,
    datastore: Handle,
    programmers: Programmers,
    counts: BTreeMap<Count, u64>,
}

impl Server {
    async fn serve(&mut self, punted: &PacketIn) {
        if punted.packet.userdata != USERDATA {
            debug!(switch = %punted.dpid, table = punted.packet.table, "a packet that nobody asked for");
            return;
        }
        let mut counts = Vec::new();
        let edits = self.answer(punted, &mut counts).await;
        for count in counts {
            *self.counts.entry(count).or_default() += 1;
        }
        if let Err(error) = edits {
            warn!(%error, "a DHCP request was not answered");
        }
        let shown = Transaction::passing("dhcp", vec![self.names.leases.counters(&self.counts)]);
        if let Err(error) = self.datastore.commit(shown).await {
            debug!(%error, "the DHCP counters could not be shown");
        }
    }

    async fn answer(
        &self,
        punted: &PacketIn,
        counts: &mut Vec<Count>,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let Some(request) = frame::read(&punted.packet.frame) else {
            counts.push(Count::Malformed);
            return Ok(());
        };
        let metadata = punted.packet.metadata.get(Field::Metadata).map_or(0, |field| field.value as u64);
        let tag = LportTag((metadata >> 40 & 0xf_ffff) as u32);
        let snapshot = self.datastore.snapshot();
        let now = now();
        let interface = self.names.interface(&snapshot, tag);
        let Some(port) = interface.and_then(|name| self.names.port(&snapshot, &name, now)) else {
            counts.push(Count::Foreign);
            return Ok(());
        };
        let answer = answer(&request, &port, now);
        info!(interface = port.interface, asked = ?request.kind, answered = ?answer.reply.as_ref().map(|reply| (reply.kind, reply.address)), "dhcp");
        counts.extend(&answer.counts);
        if !answer.edits.is_empty() {
            // Durable before the client hears of it.
            self.commit(&answer.edits).await?;
        }
        if let Some(reply) = &answer.reply {
            let frame = frame::write(&request, reply).ok_or("a reply that cannot be encoded")?;
            let way = vec![actions::egress_to(tag), actions::resubmit(EGRESS_DISPATCHER)];
            self.programmers
                .packet_out(punted.dpid, PacketOut { in_port: ports::CONTROLLER, actions: way, frame })
                .await?;
        }
        Ok(())
    }

    async fn commit(&self, edits: &[LeaseEdit]) -> Result<(), crate::datastore::DatastoreError> {
        let edits: Vec<Edit> = edits.iter().map(|edit| self.names.leases.edit(edit)).collect();
        self.datastore.commit(Transaction::new("dhcp", edits)).await.map(drop)
    }

    /// Ends leases that ran out or whose interface is gone, and the rest of declined addresses.
    async fn sweep(&self) {
        let snapshot = self.datastore.snapshot();
        let now = now();
        let leases = self.names.leases.leases(&snapshot);
        let declined = self.names.leases.declined(&snapshot);
        if leases.is_empty() && declined.is_empty() {
            return;
        }
        let interfaces = self.names.interfaces(&snapshot);
        let ended =
            leases.iter().filter(|lease| lease.expires <= now || !interfaces.contains(&lease.interface));
        let mut edits: Vec<Edit> = ended
            .map(|lease| self.names.leases.edit(&LeaseEdit::Drop { interface: lease.interface.clone() }))
            .collect();
        edits.extend(
            declined
                .iter()
                .filter(|(_, until)| *until <= now)
                .map(|(address, _)| self.names.leases.forget_declined(*address)),
        );
        if edits.is_empty() {
            return;
        }
        info!(leases = edits.len(), "leases ended");
        if let Err(error) = self.datastore.commit(Transaction::new("dhcp", edits)).await {
            warn!(%error, "leases could not be ended");
        }
    }
}
