//! What one key contributes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::datastore::Store;
use crate::net::Dpid;
use crate::pipeline::{Flow, FlowKey, Group, Meter, SwitchTables};
use crate::schema::{DataPath, Node, Step};

/// What one key of one renderer contributes, as it renders it.
#[derive(Debug, Default)]
pub struct Rendered {
    pub(super) items: Vec<Item>,
}

/// One thing on a switch or in a derived layer. Kept for every key, hence small.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Flow(Dpid, Arc<Flow>),
    Group(Dpid, Arc<Group>),
    Meter(Dpid, Arc<Meter>),
    Node(Box<Derived>),
}

/// A node of a derived layer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Derived {
    pub store: Store,
    /// The steps of its path; a [`DataPath`] has room for more than most have.
    pub steps: Box<[Step]>,
    pub node: Node,
}

/// Where a thing is: two things cannot be in one place.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Place {
    Flow(Dpid, FlowKey),
    Group(Dpid, u32),
    Meter(Dpid, u32),
    Node(Store, DataPath),
}

impl Rendered {
    /// A flow of one switch.
    pub fn flow(&mut self, dpid: Dpid, flow: impl Into<Arc<Flow>>) {
        self.items.push(Item::Flow(dpid, flow.into()));
    }

    /// The same flow on several switches, kept once.
    pub fn shared_flow(&mut self, switches: impl IntoIterator<Item = Dpid>, flow: impl Into<Arc<Flow>>) {
        let flow = flow.into();
        self.items.extend(switches.into_iter().map(|dpid| Item::Flow(dpid, flow.clone())));
    }

    pub fn group(&mut self, dpid: Dpid, group: Group) {
        self.items.push(Item::Group(dpid, Arc::new(group)));
    }

    pub fn meter(&mut self, dpid: Dpid, meter: Meter) {
        self.items.push(Item::Meter(dpid, Arc::new(meter)));
    }

    /// A node of a derived layer.
    pub fn node(&mut self, store: Store, path: DataPath, node: Node) {
        self.items.push(Item::Node(Box::new(Derived { store, steps: path.steps.into_boxed_slice(), node })));
    }
}

impl Item {
    pub fn place(&self) -> Place {
        match self {
            Item::Flow(dpid, flow) => Place::Flow(*dpid, flow.key.clone()),
            Item::Group(dpid, group) => Place::Group(*dpid, group.id),
            Item::Meter(dpid, meter) => Place::Meter(*dpid, meter.id),
            Item::Node(derived) => {
                Place::Node(derived.store, DataPath { steps: derived.steps.iter().cloned().collect() })
            }
        }
    }
}

/// Everything that stands on switches, by switch.
pub(super) fn tables<'a>(items: impl Iterator<Item = &'a Item>) -> BTreeMap<Dpid, SwitchTables> {
    let mut switches: BTreeMap<Dpid, SwitchTables> = BTreeMap::new();
    for item in items {
        match item {
            Item::Flow(dpid, flow) => {
                switches.entry(*dpid).or_default().flows.insert(flow.key.clone(), Arc::clone(flow));
            }
            Item::Group(dpid, group) => {
                switches.entry(*dpid).or_default().groups.insert(group.id, Arc::clone(group));
            }
            Item::Meter(dpid, meter) => {
                switches.entry(*dpid).or_default().meters.insert(meter.id, Arc::clone(meter));
            }
            Item::Node(_) => {}
        }
    }
    switches
}
