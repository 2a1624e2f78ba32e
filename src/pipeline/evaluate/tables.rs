//! A switch's tables, made ready for looking packets up.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use openflow_rs::{Action, Field, GroupDesc, Instruction, Match, instruction};

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
    /// The parts of conjunctions that it is, if it is nothing else: number, part, and how many parts there are.
    parts: Box<[(u32, u8, u8)]>,
}

impl Tables {
    pub fn new(
        flows: impl IntoIterator<Item = Arc<Flow>>,
        groups: impl IntoIterator<Item = Arc<Group>>,
    ) -> Tables {
        let mut tables = Tables::default();
        for flow in flows {
            let conditions = Match::decode_fields(flow.match_fields()).unwrap_or_default();
            tables.flows.entry(flow.table).or_default().push(Row { conditions, parts: parts(&flow), flow });
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
        let found = |row: &&Row| seen.matches(&row.conditions);
        for level in rows.chunk_by(|one, other| one.flow.priority == other.flow.priority) {
            if let Some(row) = level.iter().filter(|row| row.parts.is_empty()).find(found) {
                return Some(&row.flow);
            }
            let parts = level.iter().filter(found).flat_map(|row| &row.parts);
            if let Some(id) = conjunction(parts) {
                let seen = seen.clone().with(Field::ConjId, id);
                let whole = rows.iter().filter(|row| row.parts.is_empty());
                let row = whole.into_iter().find(|row| seen.matches(&row.conditions));
                if row.is_some() {
                    return row.map(|row| &row.flow);
                }
            }
        }
        None
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

/// The parts of conjunctions that a flow is.
fn parts(flow: &Flow) -> Box<[(u32, u8, u8)]> {
    let actions = instructions(flow).into_iter().flat_map(|instruction| match instruction {
        Instruction::Apply(actions) => actions,
        _ => Vec::new(),
    });
    let part = |action| match action {
        Action::Conjunction { id, clause, clauses } => Some((id, clause, clauses)),
        _ => None,
    };
    actions.filter_map(part).collect()
}

/// A conjunction all of whose parts are there; of several, the lowest number.
fn conjunction<'a>(parts: impl Iterator<Item = &'a (u32, u8, u8)>) -> Option<u32> {
    let mut found: BTreeMap<u32, (u64, u8)> = BTreeMap::new();
    for (id, part, count) in parts {
        found.entry(*id).or_insert((0, *count)).0 |= 1 << (part & 63);
    }
    found.into_iter().find(|(_, (seen, count))| seen.count_ones() == u32::from(*count)).map(|(id, _)| id)
}

/// A flow's instructions, in the order of execution.
pub(super) fn instructions(flow: &Flow) -> Vec<Instruction> {
    instruction::canonical(instruction::decode(flow.instructions()).unwrap_or_default())
}
