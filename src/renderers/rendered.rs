//! What one key contributes.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smallvec::SmallVec;

use super::dated::Dated;
use super::places::Places;
use crate::datastore::{DerivedNode, Store};
use crate::net::Dpid;
use crate::pipeline::{Flow, Group, Meter, Sheaf, SwitchTables};
use crate::schema::{DataPath, Node, SchemaId, Value, stamp_fresh};

/// What one key of one renderer contributes, as it renders it.
#[derive(Debug)]
pub struct Rendered {
    flows: Vec<(Dpid, Arc<Flow>)>,
    others: Vec<Item>,
    /// What derived nodes are stamped with.
    revision: u64,
    dated: Option<Dated>,
    places: Arc<Places>,
}

/// What a key rendered last. Kept for every key, hence small: flows are in sheaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Output {
    pub sheaves: SmallVec<[Arc<Sheaf>; 1]>,
    /// All but flows.
    pub others: Box<[Item]>,
}

/// One thing on a switch or in a derived layer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Flow(Dpid, Arc<Flow>),
    Group(Dpid, Arc<Group>),
    Meter(Dpid, Arc<Meter>),
    Node(DerivedNode),
}

/// An item by its place alone: two things cannot be in one place.
#[derive(Clone, Debug)]
pub(super) struct AtPlace<T>(pub T);

impl Rendered {
    pub(super) fn new(revision: u64, places: &Arc<Places>) -> Rendered {
        let (flows, others) = (Vec::new(), Vec::new());
        Rendered { flows, others, revision, dated: None, places: places.clone() }
    }

    /// What there is, packed, and what of it shows a date.
    pub(super) fn finish(self) -> (Output, Option<Dated>) {
        (Output { sheaves: Sheaf::all_of(&self.flows), others: self.others.into() }, self.dated)
    }

    /// A flow of one switch.
    pub fn flow(&mut self, dpid: Dpid, flow: impl Into<Arc<Flow>>) {
        self.flows.push((dpid, flow.into()));
    }

    /// The same flow on several switches, kept once.
    pub fn shared_flow(&mut self, switches: impl IntoIterator<Item = Dpid>, flow: impl Into<Arc<Flow>>) {
        let flow = flow.into();
        self.flows.extend(switches.into_iter().map(|dpid| (dpid, flow.clone())));
    }

    pub fn group(&mut self, dpid: Dpid, group: Group) {
        self.others.push(Item::Group(dpid, Arc::new(group)));
    }

    /// The same group on several switches, kept once.
    pub fn shared_group(&mut self, switches: impl IntoIterator<Item = Dpid>, group: Group) {
        let group = Arc::new(group);
        self.others.extend(switches.into_iter().map(|dpid| Item::Group(dpid, group.clone())));
    }

    pub fn meter(&mut self, dpid: Dpid, meter: Meter) {
        self.others.push(Item::Meter(dpid, Arc::new(meter)));
    }

    /// The next node says in this leaf since when the switch holds what this key contributes.
    pub fn date_next(&mut self, leaf: SchemaId, switch: Dpid) -> Value {
        self.dated = Some(Dated { at: self.others.len(), leaf, switch });
        Value::Uint(self.revision)
    }

    /// A node of a derived layer.
    pub fn node(&mut self, store: Store, path: DataPath, mut node: Node) {
        stamp_fresh(&mut node, self.revision);
        let place = self.places.of(store, path, &node);
        self.others.push(Item::Node(DerivedNode::at(place, node)));
    }
}

impl Output {
    pub fn is_empty(&self) -> bool {
        self.sheaves.is_empty() && self.others.is_empty()
    }

    /// Everything, flows made anew.
    pub fn items(&self) -> impl Iterator<Item = Item> + '_ {
        self.sheaves.iter().flat_map(|sheaf| flows_of(sheaf)).chain(self.others.iter().cloned())
    }

    /// Everything on one switch, by place.
    pub fn on(&self, switch: Dpid) -> Vec<Item> {
        let sheaves = self.sheaves.iter().filter(|sheaf| sheaf.is_on(switch));
        let flows = sheaves.flat_map(|sheaf| sheaf.flows()).map(|flow| Item::Flow(switch, flow));
        let others = self.others.iter().filter(|item| item.switch() == Some(switch)).cloned();
        let mut items: Vec<Item> = flows.chain(others).collect();
        items.sort_by(Item::order);
        items
    }
}

/// The flows of a sheaf on each of its switches.
pub(super) fn flows_of(sheaf: &Sheaf) -> impl Iterator<Item = Item> + '_ {
    let on_each = |flow: Arc<Flow>| sheaf.switches().iter().map(move |dpid| Item::Flow(*dpid, flow.clone()));
    sheaf.flows().flat_map(on_each)
}

impl Item {
    /// The switch it is on; none for a derived node.
    pub fn switch(&self) -> Option<Dpid> {
        match self {
            Item::Flow(dpid, _) | Item::Group(dpid, _) | Item::Meter(dpid, _) => Some(*dpid),
            Item::Node(_) => None,
        }
    }

    /// By place: for whatever should be the same in every run.
    pub fn order(&self, other: &Item) -> Ordering {
        let rank = |item: &Item| match item {
            Item::Flow(dpid, _) => (0, dpid.0, 0),
            Item::Group(dpid, group) => (1, dpid.0, group.id),
            Item::Meter(dpid, meter) => (2, dpid.0, meter.id),
            Item::Node(_) => (3, 0, 0),
        };
        rank(self).cmp(&rank(other)).then_with(|| match (self, other) {
            (Item::Flow(_, one), Item::Flow(_, other)) => one.key_order(other),
            (Item::Node(one), Item::Node(other)) => one.path_order(other),
            _ => Ordering::Equal,
        })
    }
}

impl<T: Borrow<Item>> PartialEq for AtPlace<T> {
    fn eq(&self, other: &Self) -> bool {
        match (self.0.borrow(), other.0.borrow()) {
            (Item::Flow(at, one), Item::Flow(there, other)) => at == there && one.same_key(other),
            (Item::Group(at, one), Item::Group(there, other)) => at == there && one.id == other.id,
            (Item::Meter(at, one), Item::Meter(there, other)) => at == there && one.id == other.id,
            (Item::Node(one), Item::Node(other)) => one.same_path(other),
            _ => false,
        }
    }
}

impl<T: Borrow<Item>> Eq for AtPlace<T> {}

impl<T: Borrow<Item>> Hash for AtPlace<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0.borrow() {
            Item::Flow(dpid, flow) => (dpid, flow.key_hash()).hash(state),
            Item::Group(dpid, group) => (dpid, group.id).hash(state),
            Item::Meter(dpid, meter) => (dpid, meter.id).hash(state),
            Item::Node(derived) => (derived.place().node, derived.key()).hash(state),
        }
    }
}

/// Everything that stands on switches, by switch.
pub(super) fn tables(items: impl Iterator<Item = Item>) -> BTreeMap<Dpid, SwitchTables> {
    let mut switches: BTreeMap<Dpid, SwitchTables> = BTreeMap::new();
    for item in items {
        match item {
            Item::Flow(dpid, flow) => {
                switches.entry(dpid).or_default().flows.insert(flow);
            }
            Item::Group(dpid, group) => {
                switches.entry(dpid).or_default().groups.insert(group.id, group);
            }
            Item::Meter(dpid, meter) => {
                switches.entry(dpid).or_default().meters.insert(meter.id, meter);
            }
            Item::Node(_) => {}
        }
    }
    switches
}
