//! What a commit would do: the exact changes on each switch and in the derived layers.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::difference::{Change, Changes};
use super::rendered::Item;
use crate::datastore::DerivedNode;
use crate::net::Dpid;
use crate::pipeline::{Delta, Flow, Group, Meter};

/// One thing before and after; at least one of the two is there, and they differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned<T> {
    pub before: Option<T>,
    pub after: Option<T>,
}

/// What happens on one switch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SwitchPlan {
    pub flows: Vec<Planned<Arc<Flow>>>,
    pub groups: Vec<Planned<Arc<Group>>>,
    pub meters: Vec<Planned<Arc<Meter>>>,
}

/// Everything that happens, ordered by place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub switches: BTreeMap<Dpid, SwitchPlan>,
    pub nodes: Vec<Planned<DerivedNode>>,
}

impl Plan {
    pub(super) fn new(changes: &Changes) -> Plan {
        let all: Vec<Change> = changes.entries().collect();
        let mut entries: Vec<(&Item, Option<&Item>, Option<&Item>)> = all
            .iter()
            .filter_map(|change| {
                let (before, after) = (change.before.as_ref(), change.after.as_ref());
                Some((after.or(before)?, before, after))
            })
            .collect();
        entries.sort_by(|(one, ..), (other, ..)| one.order(other));
        let mut plan = Plan::default();
        for (item, before, after) in entries {
            match item {
                Item::Flow(dpid, _) => {
                    let flow =
                        |item: &Item| if let Item::Flow(_, flow) = item { Some(flow.clone()) } else { None };
                    plan.switch(*dpid).flows.push(planned(before, after, flow));
                }
                Item::Group(dpid, _) => {
                    let group = |item: &Item| {
                        if let Item::Group(_, group) = item { Some(group.clone()) } else { None }
                    };
                    plan.switch(*dpid).groups.push(planned(before, after, group));
                }
                Item::Meter(dpid, _) => {
                    let meter = |item: &Item| {
                        if let Item::Meter(_, meter) = item { Some(meter.clone()) } else { None }
                    };
                    plan.switch(*dpid).meters.push(planned(before, after, meter));
                }
                Item::Node(_) => {
                    let node =
                        |item: &Item| if let Item::Node(node) = item { Some(node.clone()) } else { None };
                    plan.nodes.push(planned(before, after, node));
                }
            }
        }
        plan
    }

    fn switch(&mut self, dpid: Dpid) -> &mut SwitchPlan {
        self.switches.entry(dpid).or_default()
    }

    /// The same as the commit would hand to the programmers.
    pub fn deltas(&self) -> BTreeMap<Dpid, Delta> {
        let delta = |plan: &SwitchPlan| {
            let mut delta = Delta::default();
            for Planned { before, after } in &plan.flows {
                match (before, after) {
                    (_, Some(flow)) => delta.put_flow(flow.clone()),
                    (Some(flow), None) => delta.remove_flow(flow.clone()),
                    (None, None) => {}
                }
            }
            for Planned { before, after } in &plan.groups {
                if let Some(group) = after.as_ref().or(before.as_ref()) {
                    delta.groups.insert(group.id, after.clone());
                }
            }
            for Planned { before, after } in &plan.meters {
                if let Some(meter) = after.as_ref().or(before.as_ref()) {
                    delta.meters.insert(meter.id, after.clone());
                }
            }
            delta
        };
        self.switches.iter().map(|(dpid, plan)| (*dpid, delta(plan))).collect()
    }
}

fn planned<T>(before: Option<&Item>, after: Option<&Item>, of: impl Fn(&Item) -> Option<T>) -> Planned<T> {
    Planned { before: before.and_then(&of), after: after.and_then(&of) }
}
