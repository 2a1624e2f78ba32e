//! A switch's tables, made ready for looking packets up.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use openflow_rs::{Field, GroupDesc, Instruction, Match, instruction};

use super::Packet;
use crate::pipeline::{Flow, Group, SwitchTables};

/// What a switch holds: its flows by table and falling priority, and its groups.
#[derive(Default)]
pub struct Tables {
    flows: BTreeMap<u8, Vec<Row>>,
    groups: BTreeMap<u32, GroupDesc>,
}

/// A flow and what it matches.
struct Row {
    conditions: Match,
    flow: Arc<Flow>,
}

impl Tables {
    pub fn new(
        flows: impl IntoIterator<Item = Arc<Flow>>,
        groups: impl IntoIterator<Item = Arc<Group>>,
    ) -> Tables {
        let mut tables = Tables::default();
        for flow in flows {
            let conditions = Match::decode_fields(flow.match_fields()).unwrap_or_default();
            tables.flows.entry(flow.table).or_default().push(Row { conditions, flow });
        }
        for rows in tables.flows.values_mut() {
            rows.sort_by_key(|row| Reverse(row.flow.priority));
        }
        tables.groups = groups.into_iter().map(|group| (group.id, group.description())).collect();
        tables
    }

    /// The flow that a packet hits, as if it came in through `in_port`: of those that match, one with the highest priority.
    pub(super) fn hit(&self, table: u8, packet: &Packet, in_port: u32) -> Option<&Arc<Flow>> {
        let rows = self.flows.get(&table)?;
        let seen = (packet.get(Field::InPort) != u128::from(in_port))
            .then(|| packet.clone().with(Field::InPort, in_port));
        let seen = seen.as_ref().unwrap_or(packet);
        rows.iter().find(|row| seen.matches(&row.conditions)).map(|row| &row.flow)
    }

    pub(super) fn group(&self, id: u32) -> Option<&GroupDesc> {
        self.groups.get(&id)
    }
}

impl From<&SwitchTables> for Tables {
    fn from(held: &SwitchTables) -> Tables {
        Tables::new(held.flows.iter().cloned(), held.groups.values().cloned())
    }
}

/// A flow's instructions, in the order of execution.
pub(super) fn instructions(flow: &Flow) -> Vec<Instruction> {
    instruction::canonical(instruction::decode(flow.instructions()).unwrap_or_default())
}
