//! From what keys rendered before and render now to what has to change.

use std::collections::{BTreeMap, HashMap};

use super::rendered::{Item, Place};
use crate::datastore::DerivedEdit;
use crate::net::Dpid;
use crate::pipeline::Delta;

/// Gathers the changes of one commit. A thing that one key gives up and another takes up is one change.
#[derive(Debug, Default)]
pub(super) struct Difference {
    slots: HashMap<Place, Slot>,
}

/// One place before and after.
#[derive(Debug, Default)]
struct Slot {
    before: Option<Item>,
    after: Option<Item>,
}

/// Changes of one commit in the order of their places.
#[derive(Debug, Default)]
pub(super) struct Changes {
    entries: Vec<(Place, Slot)>,
}

impl Difference {
    /// What a key rendered before and renders now.
    pub fn exchange(&mut self, before: &[Item], after: &[Item]) {
        for item in before {
            let slot = self.slots.entry(item.place()).or_default();
            slot.before.get_or_insert_with(|| item.clone());
        }
        for item in after {
            self.slots.entry(item.place()).or_default().after = Some(item.clone());
        }
    }

    /// What really differs.
    pub fn finish(self) -> Changes {
        let mut entries: Vec<_> =
            self.slots.into_iter().filter(|(_, slot)| slot.before != slot.after).collect();
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        Changes { entries }
    }
}

impl Changes {
    /// Nothing changes on any switch or derived layer.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The changes of derived layers, taken out: what stays concerns switches.
    pub fn take_edits(&mut self) -> Vec<DerivedEdit> {
        let nodes = self.entries.extract_if(.., |(place, _)| matches!(place, Place::Node(..)));
        let edits = nodes.filter_map(|(place, slot)| {
            let Place::Node(store, path) = place else { return None };
            let node = slot.after.and_then(|item| match item {
                Item::Node(derived) => Some(derived.node),
                _ => None,
            });
            Some(DerivedEdit { store, path, node })
        });
        // What goes, goes first.
        let (mut gone, put): (Vec<_>, Vec<_>) = edits.partition(|edit| edit.node.is_none());
        gone.extend(put);
        gone
    }

    /// The changes by switch.
    pub fn deltas(&self) -> BTreeMap<Dpid, Delta> {
        let mut deltas: BTreeMap<Dpid, Delta> = BTreeMap::new();
        for (place, slot) in &self.entries {
            match (place, &slot.after) {
                (Place::Flow(dpid, key), Some(Item::Flow(_, flow))) => {
                    deltas.entry(*dpid).or_default().flows.insert(key.clone(), Some(flow.clone()));
                }
                (Place::Flow(dpid, key), _) => {
                    deltas.entry(*dpid).or_default().flows.insert(key.clone(), None);
                }
                (Place::Group(dpid, id), Some(Item::Group(_, group))) => {
                    deltas.entry(*dpid).or_default().groups.insert(*id, Some(group.clone()));
                }
                (Place::Group(dpid, id), _) => {
                    deltas.entry(*dpid).or_default().groups.insert(*id, None);
                }
                (Place::Meter(dpid, id), Some(Item::Meter(_, meter))) => {
                    deltas.entry(*dpid).or_default().meters.insert(*id, Some(meter.clone()));
                }
                (Place::Meter(dpid, id), _) => {
                    deltas.entry(*dpid).or_default().meters.insert(*id, None);
                }
                (Place::Node(..), _) => {}
            }
        }
        deltas
    }

    /// Goes back from the state after these changes to the state before.
    pub fn undo(self, state: &mut HashMap<Place, Item>) {
        for (place, slot) in self.entries {
            match slot.before {
                Some(item) => state.insert(place, item),
                None => state.remove(&place),
            };
        }
    }
}
