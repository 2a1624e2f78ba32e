//! Flows: a draft becomes a flow only with an owner.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use bytes::BytesMut;
use openflow_rs::flow::{RawFlow, SEND_FLOW_REMOVED};
use openflow_rs::{Action, FlowMod, Instruction, Match, MatchField, instruction, ports};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::owner::{COUNTED, Feature, Owner, OwnerName, owners};
use super::tables::{ROWS, Row, Table, row_named};
use super::{Metadata, actions};

/// A flow of one switch, encoded once in the form in which the switch will report it.
#[derive(Clone)]
pub struct Flow {
    /// Of what makes a flow that flow.
    hash: u64,
    pub cookie: u64,
    pub owner: OwnerName,
    pub table: u8,
    pub priority: u16,
    /// Bytes of the match at the front of `bytes`.
    matched: u16,
    /// Canonical match TLVs, then the instructions, as on the wire.
    bytes: Box<[u8]>,
}

/// A flow as the key of a map: table, priority and match. A second flow with the same key replaces the first.
#[derive(Clone, Debug)]
pub struct FlowKey(pub Arc<Flow>);

/// A flow that nobody answers for yet. Only [`Draft::owned_by`] makes it one.
#[must_use = "a draft is not sent; give it an owner"]
pub struct Draft<O> {
    row: &'static Row,
    table: Table<O>,
    priority: u16,
    tag: u32,
    counted: bool,
    conditions: Match,
    meter: Option<u32>,
    actions: Vec<Action>,
    write: Option<Metadata>,
    goto: Option<u8>,
}

impl Flow {
    /// Starts a flow of a table. Priority 0 is the table's miss and is made by [`base_flows`].
    pub fn table<O>(table: Table<O>) -> Draft<O> {
        Draft {
            row: table.row(),
            table,
            priority: 1,
            tag: 0,
            counted: false,
            conditions: Match::new(),
            meter: None,
            actions: Vec::new(),
            write: None,
            goto: None,
        }
    }

    /// A flow with these parts in canonical form.
    pub fn new(
        table: u8,
        priority: u16,
        cookie: u64,
        conditions: Match,
        instructions: Vec<Instruction>,
        owner: OwnerName,
    ) -> Flow {
        let mut bytes = BytesMut::with_capacity(256);
        conditions.canonical().encode_fields(&mut bytes);
        let matched = bytes.len();
        instruction::encode(&instruction::canonical(instructions), &mut bytes);
        Flow::of_encoded(table, priority, cookie, matched, bytes.as_ref().into(), owner)
    }

    /// A flow out of its bytes: so many of the match, then the instructions.
    pub(super) fn of_encoded(
        table: u8,
        priority: u16,
        cookie: u64,
        matched: usize,
        bytes: Box<[u8]>,
        owner: OwnerName,
    ) -> Flow {
        let hash = xxh3_64_with_seed(&bytes[..matched], u64::from(priority) << 8 | u64::from(table));
        // A match is at most some hundred bytes: each field comes once.
        Flow { hash, cookie, owner, table, priority, matched: matched as u16, bytes }
    }

    /// The number of bytes of the match, and all bytes.
    pub(super) fn encoded(&self) -> (usize, &[u8]) {
        (usize::from(self.matched), &self.bytes)
    }

    /// Canonical match TLVs.
    pub fn match_fields(&self) -> &[u8] {
        &self.bytes[..usize::from(self.matched)]
    }

    /// Instructions as on the wire.
    pub fn instructions(&self) -> &[u8] {
        &self.bytes[usize::from(self.matched)..]
    }

    /// Whether one of the two would replace the other.
    pub fn same_key(&self, other: &Flow) -> bool {
        self.hash == other.hash && self.key_order(other) == Ordering::Equal
    }

    /// The same for equal keys, and the same in every run.
    pub fn key_hash(&self) -> u64 {
        self.hash
    }

    /// By table, priority and match.
    pub fn key_order(&self, other: &Flow) -> Ordering {
        (self.table, self.priority, self.match_fields()).cmp(&(
            other.table,
            other.priority,
            other.match_fields(),
        ))
    }

    /// The flow as it goes on the wire.
    pub fn raw(&self) -> RawFlow<'_> {
        RawFlow {
            table: self.table,
            priority: self.priority,
            cookie: self.cookie,
            flags: if self.cookie & COUNTED == 0 { 0 } else { SEND_FLOW_REMOVED },
            match_fields: self.match_fields(),
            instructions: self.instructions(),
        }
    }

    /// Typed match and instructions, decoded again: for checks and for people.
    pub fn parts(&self) -> (Match, Vec<Instruction>) {
        let conditions = Match::decode_fields(self.match_fields()).unwrap_or_default();
        (conditions, instruction::decode(self.instructions()).unwrap_or_default())
    }
}

impl<O> Draft<O> {
    /// Higher beats lower.
    pub fn priority(mut self, priority: u16) -> Self {
        self.priority = priority;
        self
    }

    /// Adds a tag to the table's cookie number, as netvirt does.
    pub fn tagged(mut self, tag: u32) -> Self {
        self.tag = tag;
        self
    }

    /// What it counts is added up, see [`COUNTED`].
    pub fn counted(mut self) -> Self {
        self.counted = true;
        self
    }

    /// All of these must hold. Conditions on parts of one field are joined.
    pub fn matching(mut self, conditions: impl IntoIterator<Item = MatchField>) -> Self {
        for condition in conditions {
            match self.conditions.fields.iter_mut().find(|present| present.field == condition.field) {
                Some(present) => {
                    present.value |= condition.value;
                    present.mask |= condition.mask;
                }
                None => self.conditions.fields.push(condition),
            }
        }
        self
    }

    /// Does these at once, in this order.
    ///
    /// # Panics
    /// When one of them hands the packet to the controller: that is a fault of the program, see [`Draft::punt_metered`].
    pub fn then(mut self, actions: impl IntoIterator<Item = Action>) -> Self {
        self.actions.extend(actions.into_iter().inspect(|action| {
            let punts =
                matches!(action, Action::Controller { .. } | Action::Output { port: ports::CONTROLLER, .. });
            assert!(!punts, "a packet goes to the controller by punt_metered only");
        }));
        self
    }

    /// Sets parts of the metadata on the way to the next table.
    pub fn write_metadata(mut self, part: Metadata) -> Self {
        self.write = Some(part);
        self
    }

    /// Goes on in another table: at once if it comes later in the pipeline, else by resubmit.
    pub fn goto<N>(mut self, table: Table<N>) -> Self {
        if table.id() > self.table.id() {
            self.goto = Some(table.id());
        } else {
            self.actions.push(actions::resubmit(table));
        }
        self
    }

    /// What is above the rate of the meter is dropped, and nothing else of it done; without one, nothing is.
    pub fn metered(mut self, meter: Option<u32>) -> Self {
        self.meter = meter;
        self
    }

    /// Hands the packet to the controller, at most `max_len` bytes of it, at the rate that the meter allows. [`Draft::copy_metered`] does so beside
    /// other things. There is no other way to punt.
    pub fn punt_metered(mut self, meter: u32, max_len: u16, userdata: &[u8]) -> Self {
        self.meter = Some(meter);
        self.actions.push(Action::Controller {
            max_len,
            controller_id: 0,
            reason: 1,
            userdata: userdata.to_vec(),
            pause: false,
            meter_id: 0,
        });
        self
    }

    /// Hands a copy to the controller, at the rate that the meter allows; what else the flow does is not metered.
    pub fn copy_metered(mut self, meter_id: u32, max_len: u16, userdata: &[u8]) -> Self {
        let userdata = userdata.to_vec();
        self.actions.push(Action::Controller {
            max_len,
            controller_id: 0,
            reason: 1,
            userdata,
            pause: false,
            meter_id,
        });
        self
    }

    fn build<F>(self, owner: &Owner<F>) -> Flow {
        let mut instructions = Vec::new();
        instructions.extend(self.meter.map(Instruction::Meter));
        if !self.actions.is_empty() {
            instructions.push(Instruction::Apply(self.actions));
        }
        instructions
            .extend(self.write.map(|part| Instruction::WriteMetadata { value: part.value, mask: part.mask }));
        instructions.extend(self.goto.map(Instruction::Goto));
        let mut cookie = owner.cookie(self.row.cookie.wrapping_add(self.tag));
        if self.counted {
            cookie |= COUNTED;
        }
        Flow::new(self.row.id, self.priority, cookie, self.conditions, instructions, owner.name().clone())
    }
}

impl<O: Feature> Draft<O> {
    pub fn owned_by(self, owner: &Owner<O>) -> Flow {
        self.build(owner)
    }
}

impl PartialEq for Flow {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && self.cookie == other.cookie
            && (self.table, self.priority, self.matched) == (other.table, other.priority, other.matched)
            && self.bytes == other.bytes
            && self.owner == other.owner
    }
}

impl Eq for Flow {}

impl PartialEq for FlowKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.same_key(&other.0)
    }
}

impl Eq for FlowKey {}

impl PartialOrd for FlowKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for FlowKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key_order(&other.0)
    }
}

/// What every switch holds before anything is configured: one explicit miss a table, so that counters show where packets die.
pub fn base_flows() -> Vec<Arc<Flow>> {
    let owner = Owner::<owners::Pipeline>::new("miss");
    let miss = |row: &'static Row| {
        let mut draft = Draft {
            row,
            table: Table::of_pipeline(row.id),
            priority: 0,
            tag: 0,
            counted: false,
            conditions: Match::new(),
            meter: None,
            actions: Vec::new(),
            write: None,
            goto: None,
        };
        if let Some(next) = row_named(row.miss) {
            draft = draft.goto(Table::of_pipeline(next.id));
        }
        Arc::new(draft.owned_by(&owner))
    };
    ROWS.iter().map(miss).collect()
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (conditions, instructions) = self.parts();
        let mut flow = FlowMod::add(self.table, self.priority, conditions);
        flow.cookie = self.cookie;
        flow.flags = self.raw().flags;
        flow.instructions = instructions;
        flow.fmt(f)
    }
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} # {}", self.owner)
    }
}
