use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Flow, FlowChange, FlowSet, FlowTable, Group, Meter};

/// What changes on one switch. A later put or removal of the same thing takes the place of an earlier one.
#[derive(Clone, Debug, Default)]
pub struct Delta {
    pub flows: FlowTable<FlowChange>,
    /// `Some`: add or replace; `None`: remove.
    pub groups: BTreeMap<u32, Option<Arc<Group>>>,
    pub meters: BTreeMap<u32, Option<Arc<Meter>>>,
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

impl SwitchTables {
    pub fn apply(&mut self, delta: &Delta) {
        fn each<K: Ord + Copy, V: Clone>(held: &mut BTreeMap<K, V>, changes: &BTreeMap<K, Option<V>>) {
            for (key, value) in changes {
                match value {
                    Some(value) => held.insert(*key, value.clone()),
                    None => held.remove(key),
                };
            }
        }
        self.flows.reserve(delta.flows.len());
        for change in delta.flows.iter() {
            match change {
                FlowChange::Put(flow) => self.flows.insert(flow.clone()),
                FlowChange::Gone(flow) => self.flows.remove(flow),
            };
        }
        each(&mut self.groups, &delta.groups);
        each(&mut self.meters, &delta.meters);
    }
}
