use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Flow, FlowChange, FlowSet, FlowTable, Group, Meter, Rebound, Sheaves};

/// What changes on one switch. A later put or removal of the same thing takes the place of an earlier one.
#[derive(Clone, Debug, Default)]
pub struct Delta {
    pub flows: FlowTable<FlowChange>,
    /// `Some`: add or replace; `None`: remove.
    pub groups: BTreeMap<u32, Option<Arc<Group>>>,
    pub meters: BTreeMap<u32, Option<Arc<Meter>>>,
    /// Flows whose place another owner's took, as they were.
    pub replaced: Vec<Arc<Flow>>,
    /// The sheaves that the flows are held in; `None`: they come by themselves.
    pub sheaves: Option<Rebound>,
}

impl Delta {
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn put_flow(&mut self, flow: Arc<Flow>) {
        self.flows.insert(FlowChange::Put(flow));
    }

    pub fn remove_flow(&mut self, flow: Arc<Flow>) {
        self.flows.insert(FlowChange::Gone(flow));
    }

    pub fn put_group(&mut self, group: Arc<Group>) {
        self.groups.insert(group.id, Some(group));
    }

    pub fn put_meter(&mut self, meter: Arc<Meter>) {
        self.meters.insert(meter.id, Some(meter));
    }

    /// Adds what came after.
    pub fn merge(&mut self, later: Delta) {
        if self.is_empty() {
            *self = later;
            return;
        }
        self.flows.extend(later.flows);
        self.groups.extend(later.groups);
        self.meters.extend(later.meters);
        self.replaced.extend(later.replaced);
    }

    /// The same flows are held in other sheaves, and that is all.
    pub fn only_rebinds(&self) -> bool {
        self.is_empty() && self.sheaves.as_ref().is_some_and(|rebound| !rebound.anew)
    }

    /// Number of single changes.
    pub fn len(&self) -> usize {
        self.flows.len() + self.groups.len() + self.meters.len()
    }
}

/// Everything that one switch holds or should hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SwitchTables {
    pub flows: FlowSet,
    pub groups: BTreeMap<u32, Arc<Group>>,
    pub meters: BTreeMap<u32, Arc<Meter>>,
}

/// The same in the form in which it is kept.
#[derive(Debug, Default)]
pub struct Held {
    sheaves: Sheaves,
    /// Flows that came in no sheaf.
    loose: FlowSet,
    pub groups: BTreeMap<u32, Arc<Group>>,
    pub meters: BTreeMap<u32, Arc<Meter>>,
}

impl SwitchTables {
    pub fn apply(&mut self, delta: &Delta) {
        apply_flows(&mut self.flows, delta);
        apply_each(&mut self.groups, &delta.groups);
        apply_each(&mut self.meters, &delta.meters);
    }
}

impl Held {
    /// Takes in what changes. The sheaves of the delta stay here.
    pub fn apply(&mut self, delta: &mut Delta) {
        match delta.sheaves.take() {
            Some(rebound) => self.sheaves.rebind(rebound),
            None => apply_flows(&mut self.loose, delta),
        }
        apply_each(&mut self.groups, &delta.groups);
        apply_each(&mut self.meters, &delta.meters);
    }

    pub fn flow_count(&self) -> usize {
        self.sheaves.flow_count() + self.loose.len()
    }

    /// All flows, made anew, in no order that means anything.
    pub fn flows(&self) -> impl Iterator<Item = Arc<Flow>> + '_ {
        self.sheaves.flows().chain(self.loose.iter().cloned())
    }

    /// All of it, to be looked at.
    pub fn tables(&self) -> SwitchTables {
        SwitchTables {
            flows: self.flows().collect(),
            groups: self.groups.clone(),
            meters: self.meters.clone(),
        }
    }
}

fn apply_flows(flows: &mut FlowSet, delta: &Delta) {
    flows.reserve(delta.flows.len());
    for change in delta.flows.iter() {
        match change {
            FlowChange::Put(flow) => flows.insert(flow.clone()),
            FlowChange::Gone(flow) => flows.remove(flow),
        };
    }
}

fn apply_each<V: Clone>(held: &mut BTreeMap<u32, V>, changes: &BTreeMap<u32, Option<V>>) {
    for (key, value) in changes {
        match value {
            Some(value) => held.insert(*key, value.clone()),
            None => held.remove(key),
        };
    }
}
