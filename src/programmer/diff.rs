//! The difference between what a switch should hold and what it holds, as messages in a safe order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use openflow_rs::{FlowStats, GroupDesc, GroupType, MeterConfig};
use xxhash_rust::xxh3::Xxh3;

use crate::pipeline::{
    Delta, Flow, FlowChange, FlowKey, FlowSet, Group, Held, Meter, OwnerName, broadcast_groups, is_ours,
    route_groups, service_groups,
};

/// Meters of ours: a port's meter has the number of its logical port tag, of 17 bits, and its second one that number with the next
/// bit.
const METERS: std::ops::RangeInclusive<u32> = 1..=(1 << 18) - 1;

/// What a switch holds of ours, as far as it matters for the comparison.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Actual {
    pub flows: FlowSet,
    pub groups: BTreeMap<u32, (GroupType, Box<[u8]>)>,
    pub meters: BTreeMap<u32, MeterConfig>,
    /// Flows of others.
    pub foreign_flows: usize,
}

/// Flows as a number that tells whether they are the same ones, in whatever order they come. Each is forgotten once it is in it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Sum {
    number: usize,
    hash: u128,
}

impl Sum {
    pub fn add(&mut self, flow: &Flow) {
        let mut hash = Xxh3::new();
        let key = [&[flow.table][..], &flow.priority.to_be_bytes(), &flow.cookie.to_be_bytes()];
        for part in key {
            hash.update(part);
        }
        for part in [flow.match_fields(), flow.instructions()] {
            hash.update(&part.len().to_be_bytes());
            hash.update(part);
        }
        (self.number, self.hash) = (self.number + 1, self.hash.wrapping_add(hash.digest128()));
    }
}

/// What a look at a switch finds: its flows as a sum, groups and meters as they are.
#[derive(Debug, Default)]
pub struct Glance {
    pub flows: Sum,
    /// Without flows of ours.
    pub rest: Actual,
}

impl Glance {
    /// Whether the switch holds what it should.
    pub fn is(&self, desired: &Held) -> bool {
        let mut wanted = Sum::default();
        desired.flows().for_each(|flow| wanted.add(&flow));
        let (groups, meters) = (&self.rest.groups, &self.rest.meters);
        wanted == self.flows
            && desired.groups.len() == groups.len()
            && desired.groups.values().all(|group| self.rest.has_group(group))
            && desired.meters.len() == meters.len()
            && desired.meters.values().all(|meter| self.rest.has_meter(meter))
    }
}

/// One message to a switch.
#[derive(Debug, Clone)]
pub enum Item {
    MeterPut { meter: Arc<Meter>, exists: bool },
    GroupPut { group: Arc<Group>, exists: bool },
    FlowPut(Arc<Flow>),
    FlowGone(Arc<Flow>),
    GroupGone(u32),
    MeterGone(u32),
}

/// What an item is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemId {
    Flow(FlowKey),
    Group(u32),
    Meter(u32),
}

impl Item {
    pub fn id(&self) -> ItemId {
        match self {
            Item::MeterPut { meter, .. } => ItemId::Meter(meter.id),
            Item::GroupPut { group, .. } => ItemId::Group(group.id),
            Item::FlowPut(flow) | Item::FlowGone(flow) => ItemId::Flow(FlowKey(flow.clone())),
            Item::GroupGone(id) => ItemId::Group(*id),
            Item::MeterGone(id) => ItemId::Meter(*id),
        }
    }

    /// Who asked for it, and its text.
    pub fn describe(&self) -> (Option<&OwnerName>, String) {
        match self {
            Item::MeterPut { meter, .. } => (Some(&meter.owner), meter.to_string()),
            Item::GroupPut { group, .. } => (Some(&group.owner), group.to_string()),
            Item::FlowPut(flow) => (Some(&flow.owner), flow.to_string()),
            Item::FlowGone(flow) => {
                (None, format!("removal of a flow of table {}, priority {}", flow.table, flow.priority))
            }
            Item::GroupGone(id) => (None, format!("removal of group {id}")),
            Item::MeterGone(id) => (None, format!("removal of meter {id}")),
        }
    }

    /// Meters cannot be part of a bundle.
    pub fn is_meter(&self) -> bool {
        matches!(self, Item::MeterPut { .. } | Item::MeterGone(_))
    }
}

impl Actual {
    /// Takes flows that a switch reported; those that are not ours are counted only.
    pub fn add_flows(&mut self, reported: Vec<FlowStats>) {
        self.foreign_flows += each_of_ours(reported, |flow| drop(self.flows.insert(Arc::new(flow))));
    }

    pub fn add_groups(&mut self, reported: Vec<GroupDesc>) {
        let ours = |id: u32| {
            broadcast_groups::is_ours(id) || service_groups::is_ours(id) || route_groups::is_ours(id)
        };
        for group in reported.into_iter().filter(|group| ours(group.group)) {
            self.groups.insert(group.group, (group.kind, Group::bucket_bytes(&group.buckets)));
        }
    }

    /// Whether the switch has this group, and just so.
    fn has_group(&self, group: &Group) -> bool {
        let found = self.groups.get(&group.id);
        found.is_some_and(|(kind, buckets)| *kind == group.kind && *buckets == group.buckets)
    }

    fn has_meter(&self, meter: &Meter) -> bool {
        self.meters.get(&meter.id) == Some(&meter.config())
    }

    pub fn add_meters(&mut self, reported: Vec<MeterConfig>) {
        self.meters.extend(
            reported
                .into_iter()
                .filter(|meter| METERS.contains(&meter.meter))
                .map(|meter| (meter.meter, meter)),
        );
    }
}

/// Hands on what is ours of what a switch reported; how many are not.
pub fn each_of_ours(reported: Vec<FlowStats>, mut take: impl FnMut(Flow)) -> usize {
    let mut foreign = 0;
    for flow in reported {
        if is_ours(flow.cookie) {
            let (conditions, owner) = (flow.match_, OwnerName::nobody());
            take(Flow::new(flow.table, flow.priority, flow.cookie, conditions, flow.instructions, owner));
        } else {
            foreign += 1;
        }
    }
    foreign
}

/// Everything that must be sent so that a switch holds what it should, in order: meters, groups (those that others name first),
/// flows, then the removals the other way round. Nothing that is right already is sent.
pub fn plan(desired: &Held, actual: &Actual) -> Vec<Item> {
    let mut delta = Delta::default();
    let mut left_over = actual.flows.clone();
    for flow in desired.flows() {
        let right = left_over
            .remove(&flow)
            .is_some_and(|held| held.cookie == flow.cookie && held.instructions() == flow.instructions());
        if !right {
            delta.put_flow(flow);
        }
    }
    for group in desired.groups.values().filter(|group| !actual.has_group(group)) {
        delta.put_group(group.clone());
    }
    for meter in desired.meters.values().filter(|meter| !actual.has_meter(meter)) {
        delta.put_meter(meter.clone());
    }
    delta.flows.extend(left_over.into_iter().map(FlowChange::Gone));
    delta
        .groups
        .extend(actual.groups.keys().filter(|id| !desired.groups.contains_key(id)).map(|id| (*id, None)));
    delta
        .meters
        .extend(actual.meters.keys().filter(|id| !desired.meters.contains_key(id)).map(|id| (*id, None)));
    let groups = actual.groups.keys().copied().collect();
    let meters = actual.meters.keys().copied().collect();
    plan_delta(&delta, &groups, &meters)
}

/// The messages for a change, when the switch holds these groups and meters already.
pub fn plan_delta(delta: &Delta, groups: &BTreeSet<u32>, meters: &BTreeSet<u32>) -> Vec<Item> {
    let mut items = Vec::with_capacity(delta.len());
    for (id, meter) in &delta.meters {
        if let Some(meter) = meter {
            items.push(Item::MeterPut { meter: meter.clone(), exists: meters.contains(id) });
        }
    }
    let mut placed = BTreeSet::new();
    for id in delta.groups.keys() {
        place_group(*id, &delta.groups, groups, &mut placed, &mut items);
    }
    items.extend(delta.flows.iter().filter_map(FlowChange::put).cloned().map(Item::FlowPut));
    let gone = delta.flows.iter().filter(|change| change.put().is_none());
    items.extend(gone.map(|change| Item::FlowGone(change.flow().clone())));
    let gone = |id: &u32| groups.contains(id);
    items.extend(
        delta
            .groups
            .iter()
            .rev()
            .filter(|(id, group)| group.is_none() && gone(id))
            .map(|(id, _)| Item::GroupGone(*id)),
    );
    let gone = |id: &u32| meters.contains(id);
    items.extend(
        delta
            .meters
            .iter()
            .filter(|(id, meter)| meter.is_none() && gone(id))
            .map(|(id, _)| Item::MeterGone(*id)),
    );
    items
}

/// A group after the groups that its buckets name.
fn place_group(
    id: u32,
    changes: &BTreeMap<u32, Option<Arc<Group>>>,
    held: &BTreeSet<u32>,
    placed: &mut BTreeSet<u32>,
    items: &mut Vec<Item>,
) {
    let Some(Some(group)) = changes.get(&id) else { return };
    if !placed.insert(id) {
        return;
    }
    for named in &group.names {
        place_group(*named, changes, held, placed, items);
    }
    items.push(Item::GroupPut { group: group.clone(), exists: held.contains(&id) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{ElanTag, LportTag};
    use crate::pipeline::{ELAN_DMAC, Owner, actions, matches, owners};
    use proptest::prelude::*;

    fn flow(mac: u8, port: u32) -> Arc<Flow> {
        let owner = Owner::<owners::Elan>::new("e");
        let mac = crate::net::MacAddr([2, 0, 0, 0, 0, mac]);
        let draft = Flow::table(ELAN_DMAC)
            .priority(20)
            .matching([matches::elan_tag(ElanTag(1)), matches::eth_dst(mac)]);
        Arc::new(draft.then([actions::egress_to(LportTag(port))]).owned_by(&owner))
    }

    fn group(id: u32, names: &[u32]) -> Arc<Group> {
        let owner = Owner::<owners::Elan>::new("e");
        Arc::new(Group::all(id).buckets(names.iter().map(|name| [actions::group(*name)])).owned_by(&owner))
    }

    /// A switch that does what it is told, in order, and insists on the rules of OpenFlow.
    fn obey(actual: &mut Actual, items: &[Item]) {
        for item in items {
            match item {
                Item::FlowPut(flow) => {
                    actual.flows.insert(flow.clone());
                }
                Item::FlowGone(flow) => assert!(actual.flows.remove(flow).is_some()),
                Item::GroupPut { group, exists } => {
                    assert!(
                        group.names.iter().all(|name| actual.groups.contains_key(name)),
                        "a bucket names a missing group"
                    );
                    let old = actual.groups.insert(group.id, (group.kind, group.buckets.clone()));
                    assert_eq!(old.is_some(), *exists);
                }
                Item::GroupGone(id) => assert!(actual.groups.remove(id).is_some()),
                Item::MeterPut { meter, exists } => {
                    assert_eq!(actual.meters.insert(meter.id, meter.config()).is_some(), *exists);
                }
                Item::MeterGone(id) => assert!(actual.meters.remove(id).is_some()),
            }
        }
    }

    fn tables(flows: &[(u8, u32)], chain: u32) -> Held {
        let mut delta = Delta::default();
        for (mac, port) in flows {
            delta.put_flow(flow(*mac, *port));
        }
        let mut tables = Held::default();
        tables.apply(&mut delta);
        for id in 0..chain {
            let names: Vec<u32> = if id + 1 < chain { vec![200_001 + id] } else { vec![] };
            tables.groups.insert(200_000 + id, group(200_000 + id, &names));
        }
        tables
    }

    proptest! {
        /// Desired minus actual, applied to the switch, gives desired; what is right is not sent, what is wrong is sent once.
        #[test]
        fn the_plan_leads_from_one_state_to_the_other(
            a in prop::collection::btree_map(0_u8..12, 1_u32..4, 0..12), ac in 0_u32..4,
            b in prop::collection::btree_map(0_u8..12, 1_u32..4, 0..12), bc in 0_u32..4,
        ) {
            let list = |map: &BTreeMap<u8, u32>| map.iter().map(|(mac, port)| (*mac, *port)).collect::<Vec<_>>();
            let (first, second) = (tables(&list(&a), ac), tables(&list(&b), bc));
            let mut actual = Actual::default();
            let items = plan(&first, &actual);
            obey(&mut actual, &items);
            let items = plan(&second, &actual);
            let keys: BTreeSet<u8> = a.keys().chain(b.keys()).copied().collect();
            let differ = keys.iter().filter(|key| a.get(key) != b.get(key)).count();
            let sent = items.iter().filter(|item| matches!(item, Item::FlowPut(_) | Item::FlowGone(_))).count();
            prop_assert_eq!(sent, differ, "messages are the symmetric difference");
            obey(&mut actual, &items);
            prop_assert!(plan(&second, &actual).is_empty());
            // A look comes to the same, whatever the order.
            let glance = |held: &Held| {
                let mut flows: Vec<_> = held.flows().collect();
                flows.reverse();
                let mut sum = Sum::default();
                flows.iter().for_each(|flow| sum.add(flow));
                let groups = held.groups.iter().map(|(id, group)| (*id, (group.kind, group.buckets.clone())));
                Glance { flows: sum, rest: Actual { groups: groups.collect(), ..Actual::default() } }
            };
            prop_assert!(glance(&second).is(&second));
            prop_assert_eq!(glance(&first).is(&second), (&a, ac) == (&b, bc));
            prop_assert_eq!(actual.flows.len(), b.len());
        }
    }
}
