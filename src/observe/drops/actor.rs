//! Takes packets that policies stopped, and says so.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use tokio::sync::mpsc;
use tracing::{debug, info};

use super::packet::{Headers, Reason};
use super::ring::{DropLog, Stopped};
use crate::datastore::Handle;
use crate::model::Lookup;
use crate::policy::Direction;
use crate::renderers::{Engine, denied_at};
use crate::schema::Text;
use crate::southbound::openflow::PacketIn;

/// What the flows of denied packets send along (`renderers::policy`).
pub const USERDATA: &[u8] = b"denied";
/// Packets that are looked into together.
const TOGETHER: usize = 64;

/// Serves until nobody punts any more.
pub async fn run(mut punts: mpsc::Receiver<PacketIn>, datastore: Handle, log: DropLog) {
    let lookup = Lookup::new(datastore.snapshot().schema);
    let mut punted = Vec::with_capacity(TOGETHER);
    while punts.recv_many(&mut punted, TOGETHER).await > 0 {
        let mut stopped: Vec<Stopped> =
            punted.drain(..).filter_map(|punted| read(&lookup, &datastore, &punted)).collect();
        let ports: BTreeSet<(Text, Direction)> =
            stopped.iter().map(|stopped| (stopped.interface.clone(), stopped.direction)).collect();
        let selecting = move |engine: &Engine| -> BTreeMap<(Text, Direction), Vec<Text>> {
            ports.into_iter().map(|port| (port.clone(), engine.policies_about(&port.0, port.1))).collect()
        };
        let policies = datastore.ask(selecting).await.unwrap_or_default();
        for stopped in &mut stopped {
            let port = (stopped.interface.clone(), stopped.direction);
            stopped.policies = policies.get(&port).cloned().unwrap_or_default();
        }
        for stopped in stopped {
            say(&stopped);
            log.push(stopped);
        }
    }
}

fn read(lookup: &Lookup, datastore: &Handle, punted: &PacketIn) -> Option<Stopped> {
    let (packet, switch) = (&punted.packet, punted.dpid);
    let (direction, lport) = denied_at(packet.table, &packet.metadata)?;
    let Some(interface) = lookup.interface(&datastore.snapshot(), lport) else {
        debug!(%switch, lport = lport.0, "a packet was stopped at a port that is gone");
        return None;
    };
    Some(Stopped {
        time: SystemTime::now(),
        switch,
        interface,
        direction,
        headers: Headers::of(&packet.frame)?,
        length: packet.full_len,
        reason: Reason::of(&packet.metadata),
        policies: Vec::new(),
    })
}

/// The line of the log.
fn say(stopped: &Stopped) {
    let Stopped { switch, interface, direction, headers, length, reason, policies, .. } = stopped;
    let (source_port, destination_port) = headers.ports.unzip();
    info!(
        %interface,
        %direction,
        protocol = headers.protocol_name(),
        source = %headers.source,
        source_port,
        destination = %headers.destination,
        destination_port,
        %reason,
        policies = policies.iter().map(|id| &**id).collect::<Vec<_>>().join(" "),
        length,
        %switch,
        "a policy stopped a packet"
    );
}
