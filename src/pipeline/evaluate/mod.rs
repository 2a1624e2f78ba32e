//! What becomes of a packet: the pipeline walked as Open vSwitch walks it, as a pure function of a packet and a switch's tables.
//!
//! ```text
//! Packet + Tables ─► evaluate ─► Walk { steps: table by table, outcomes: copies that leave, are handed up or end }
//! ```
//! A field is a number with a width, and an action reads and writes fields: nothing here knows what a field means, but
//! for its prerequisites (`packet.rs`). `tests/differential.rs` of the renderers holds it against `ofproto/trace`.

mod actions;
mod packet;
mod tables;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use openflow_rs::{Action, GroupType};

pub use packet::Packet;
pub use tables::Tables;

use super::Flow;

/// The way of one packet through one switch.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    pub steps: Vec<Step>,
    /// What became of each copy, in the order in which the switch acts.
    pub outcomes: Vec<Outcome>,
}

/// One thing that happens on the way.
#[derive(Clone, Debug)]
pub struct Step {
    /// Resubmits, gotos, groups and buckets that are around it.
    pub depth: u16,
    pub what: What,
}

#[derive(Clone, Debug)]
pub enum What {
    /// The packet, as it is now, is looked up in a table. `None`: no flow matches, not even a miss.
    Lookup { table: u8, flow: Option<Arc<Flow>>, packet: Packet },
    /// An action that acts, or would if it could; those that lead on or out are told by what follows them.
    Action(Action),
    /// A group, and how many buckets it has.
    Group { id: u32, kind: GroupType, buckets: usize },
    /// A bucket begins with its own copy of the packet; counted from 0.
    Bucket { number: usize },
    /// An entry of [`Walk::outcomes`].
    Outcome(usize),
    /// Something that the walk assumes or leaves out.
    Note(String),
}

/// What becomes of one copy.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It leaves through a port as it is here. The tunnel fields say where to, if the port is a tunnel.
    Output { port: u32, packet: Packet },
    /// It is handed to the controller.
    Punt { max_len: u16, userdata: Vec<u8>, meter: Option<u32>, packet: Packet },
    /// It ends in this table.
    Drop { table: u8, cause: Cause },
}

/// Why a copy ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    #[error("the flow drops it")]
    Flow,
    #[error("no flow wants it: the table's miss drops it")]
    Miss,
    #[error("the table has no flow for it, not even a miss")]
    NoFlow,
    #[error("it would leave by the port it came in through")]
    InPort,
    #[error("its TTL has run out")]
    Ttl,
    #[error("there is no group {0}")]
    NoGroup(u32),
    #[error("group {0} has no bucket")]
    NoBucket(u32),
    #[error("it was resubmitted too often")]
    TooDeep,
}

impl Walk {
    /// Tables and flows in the order in which they were hit.
    pub fn hits(&self) -> impl Iterator<Item = (u8, Option<&Arc<Flow>>)> {
        self.steps.iter().filter_map(|step| match &step.what {
            What::Lookup { table, flow, .. } => Some((*table, flow.as_ref())),
            _ => None,
        })
    }

    /// Copies that leave or are handed up.
    pub fn is_dropped(&self) -> bool {
        self.outcomes.iter().all(|outcome| matches!(outcome, Outcome::Drop { .. }))
    }
}

/// Walks a packet from table 0 on.
pub fn evaluate(packet: Packet, tables: &Tables) -> Walk {
    actions::walk(packet, tables)
}
