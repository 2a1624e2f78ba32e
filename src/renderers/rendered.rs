//! What one key contributes.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smallvec::SmallVec;
use triomphe::ThinArc;

use super::dated::Dated;
use super::places::{Places, Row};
use crate::datastore::{DerivedNode, Place, Store};
use crate::net::Dpid;
use crate::pipeline::{Flow, Group, Meter, Sheaf, SwitchTables};
use crate::schema::{DataPath, Fields, Node, SchemaId, Value, stamp_fresh};

/// What one key of one renderer contributes, as it renders it.
#[derive(Debug)]
pub struct Rendered {
    flows: Vec<(Dpid, Arc<Flow>)>,
    nodes: Vec<(Arc<Place>, Fields)>,
    others: Vec<Item>,
    /// What derived nodes are stamped with.
    revision: u64,
    dated: Option<Dated>,
    places: Arc<Places>,
}

/// What a key has just rendered.
pub(super) struct Fresh {
    pub output: Output,
    /// What of it shows a date.
    pub dated: Option<Dated>,
    /// The flows that are packed in it.
    pub flows: Vec<(Dpid, Arc<Flow>)>,
}

/// What a key rendered last. Kept for every key, hence small: flows are in sheaves, and places of nodes in rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Output {
    /// As a rule there is one.
    sheaf: Option<Sheaf>,
    /// Derived nodes that are containers or list entries.
    nodes: Option<ThinArc<Arc<Row>, Fields>>,
    rest: Option<Box<Rest>>,
}

/// What few keys render.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rest {
    sheaves: Box<[Sheaf]>,
    others: Box<[Item]>,
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
        let (flows, nodes, others) = (Vec::new(), Vec::new(), Vec::new());
        Rendered { flows, nodes, others, revision, dated: None, places: places.clone() }
    }

    /// What there is, packed.
    pub(super) fn finish(self) -> Fresh {
        let Rendered { flows, mut nodes, mut others, dated, places, .. } = self;
        let mut sheaves = Sheaf::all_of(&flows).into_iter();
        let sheaf = sheaves.next();
        let row = if nodes.is_empty() { None } else { places.row(nodes.iter().map(|(place, _)| place)) };
        if row.is_none() {
            let apart =
                nodes.drain(..).map(|(place, fields)| Item::Node(DerivedNode::at(place, fields.into())));
            others = apart.chain(others).collect();
        }
        let nodes =
            row.map(|row| ThinArc::from_header_and_iter(row, nodes.into_iter().map(|(_, fields)| fields)));
        let rest = Rest { sheaves: sheaves.collect(), others: others.into() };
        let rest = Some(rest).filter(|rest| *rest != Rest::default()).map(Box::new);
        Fresh { output: Output { sheaf, nodes, rest }, dated, flows }
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
        self.dated = Some(Dated { at: self.nodes.len(), leaf, switch });
        Value::Uint(self.revision)
    }

    /// A node of a derived layer.
    pub fn node(&mut self, store: Store, path: DataPath, mut node: Node) {
        stamp_fresh(&mut node, self.revision);
        let place = self.places.of(store, path, &node);
        match node {
            Node::Container(fields) => self.nodes.push((place, fields)),
            other => self.others.push(Item::Node(DerivedNode::at(place, other))),
        }
    }
}

impl Output {
    pub fn is_empty(&self) -> bool {
        self.sheaf.is_none() && self.nodes.is_none() && self.rest.is_none()
    }

    /// All flows.
    pub fn sheaves(&self) -> impl Iterator<Item = &Sheaf> + Clone {
        self.sheaf.iter().chain(self.rest.iter().flat_map(|rest| &rest.sheaves))
    }

    /// All but flows.
    pub fn others(&self) -> impl Iterator<Item = Item> + '_ {
        let nodes = self.nodes.iter().flat_map(|nodes| {
            let (row, fields) = (&nodes.header.header, &nodes.slice);
            row.places().iter().zip(fields).map(|(place, fields)| (place.clone(), fields.clone()))
        });
        let nodes = nodes.map(|(place, fields)| Item::Node(DerivedNode::at(place, fields.into())));
        nodes.chain(self.rest.iter().flat_map(|rest| rest.others.iter().cloned()))
    }

    /// Everything, flows made anew.
    pub fn items(&self) -> impl Iterator<Item = Item> + '_ {
        self.sheaves().flat_map(flows_of).chain(self.others())
    }

    /// Everything on one switch, by place.
    pub fn on(&self, switch: Dpid) -> Vec<Item> {
        let sheaves = self.sheaves().filter(|sheaf| sheaf.is_on(switch));
        let flows = sheaves.flat_map(|sheaf| sheaf.flows()).map(|flow| Item::Flow(switch, flow));
        let others = self.rest.iter().flat_map(|rest| &rest.others);
        let others = others.filter(|item| item.switch() == Some(switch)).cloned();
        let mut items: Vec<Item> = flows.chain(others).collect();
        items.sort_by(Item::order);
        items
    }

    /// A node by its number among those that were rendered.
    pub fn node(&self, number: usize) -> Option<DerivedNode> {
        match self.others().nth(number)? {
            Item::Node(node) => Some(node),
            _ => None,
        }
    }

    /// Changes the fields of a node.
    pub fn edit_node(&mut self, number: usize, edit: impl FnOnce(&mut Fields)) {
        let mut others: Vec<Item> = self.others().collect();
        if let Some(Item::Node(node)) = others.get_mut(number)
            && let Some(fields) = node.fields_mut()
        {
            edit(fields);
        }
        self.replace_others(others.into_iter());
    }

    pub fn edit_sheaves(&mut self, edit: impl FnMut(&mut Sheaf)) {
        let rest = self.rest.iter_mut().flat_map(|rest| &mut rest.sheaves);
        self.sheaf.iter_mut().chain(rest).for_each(edit);
    }

    /// Other things at the places of all but flows, in their order.
    pub fn replace_others(&mut self, mut others: impl Iterator<Item = Item>) {
        if let Some(nodes) = &mut self.nodes {
            let fields = nodes.slice.iter().zip(&mut others).map(|(old, item)| match item {
                Item::Node(node) => node.fields().unwrap_or(old).clone(),
                _ => old.clone(),
            });
            let fields: SmallVec<[Fields; 16]> = fields.collect();
            *nodes = ThinArc::from_header_and_iter(nodes.header.header.clone(), fields.into_iter());
        }
        if let Some(rest) = &mut self.rest {
            rest.others = others.collect();
        }
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
