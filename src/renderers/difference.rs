//! From what keys rendered before and render now to what has to change.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::rendered::{AtPlace, Item};
use crate::datastore::DerivedEdit;
use crate::net::Dpid;
use crate::pipeline::Delta;
use crate::schema::DataPath;

/// Gathers the changes of one commit. A thing that one key gives up and another takes up is one change.
#[derive(Debug, Default)]
pub(super) struct Difference {
    before: Vec<Item>,
    after: Vec<Item>,
}

/// What happens at one place. At least one of the two is there, and they differ.
#[derive(Debug)]
struct Change {
    before: Option<Item>,
    after: Option<Item>,
}

/// Changes of one commit: first what goes, then what comes, as it was rendered.
#[derive(Debug, Default)]
pub(super) struct Changes {
    entries: Vec<Change>,
}

/// What stands where.
pub(super) type State = HashMap<AtPlace<Item>, ()>;

impl Difference {
    /// What a key rendered before and renders now.
    pub fn exchange(&mut self, before: &[Item], after: &[Item]) {
        self.before.extend_from_slice(before);
        self.after.extend_from_slice(after);
    }

    /// What really differs.
    pub fn finish(self) -> Changes {
        if self.before.is_empty() {
            let came = |item| Change { before: None, after: Some(item) };
            return Changes { entries: self.after.into_iter().map(came).collect() };
        }
        let mut before: HashMap<AtPlace<Item>, ()> =
            self.before.into_iter().map(|item| (AtPlace(item), ())).collect();
        let mut put = Vec::new();
        for item in self.after {
            let item = AtPlace(item);
            let old = before.remove_entry(&item).map(|(AtPlace(old), ())| old);
            let AtPlace(item) = item;
            if old.as_ref() != Some(&item) {
                put.push(Change { before: old, after: Some(item) });
            }
        }
        let mut gone: Vec<Item> = before.into_keys().map(|AtPlace(item)| item).collect();
        gone.sort_by(Item::order);
        let gone = gone.into_iter().map(|item| Change { before: Some(item), after: None });
        Changes { entries: gone.chain(put).collect() }
    }
}

impl Changes {
    /// Nothing changes on any switch or derived layer.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The changes of derived layers, taken out: what stays concerns switches.
    pub fn take_edits(&mut self) -> Vec<DerivedEdit> {
        let is_node = |change: &mut Change| {
            matches!(change.before.as_ref().or(change.after.as_ref()), Some(Item::Node(_)))
        };
        let edit = |change: Change| {
            let (Item::Node(derived), node) = (match (change.before, change.after) {
                (_, Some(Item::Node(after))) => {
                    let node = after.node.clone();
                    (Item::Node(after), Some(node))
                }
                (Some(before), _) => (before, None),
                _ => return None,
            }) else {
                return None;
            };
            let path = DataPath { steps: derived.steps.iter().cloned().collect() };
            Some(DerivedEdit { store: derived.store, path, node })
        };
        let mut edits: Vec<_> = self.entries.extract_if(.., is_node).filter_map(edit).collect();
        // What goes, goes first; what comes takes its place before what is below it.
        edits.sort_by_key(|edit| if edit.node.is_some() { edit.path.steps.len() } else { 0 });
        edits
    }

    /// The changes by switch.
    pub fn deltas(self) -> BTreeMap<Dpid, Delta> {
        let mut deltas: BTreeMap<Dpid, Delta> = BTreeMap::new();
        for change in self.entries {
            match (change.before, change.after) {
                (_, Some(Item::Flow(dpid, flow))) => deltas.entry(dpid).or_default().put_flow(flow),
                (_, Some(Item::Group(dpid, group))) => deltas.entry(dpid).or_default().put_group(group),
                (_, Some(Item::Meter(dpid, meter))) => deltas.entry(dpid).or_default().put_meter(meter),
                (Some(Item::Flow(dpid, flow)), _) => deltas.entry(dpid).or_default().remove_flow(flow),
                (Some(Item::Group(dpid, group)), _) => {
                    deltas.entry(dpid).or_default().groups.insert(group.id, None);
                }
                (Some(Item::Meter(dpid, meter)), _) => {
                    deltas.entry(dpid).or_default().meters.insert(meter.id, None);
                }
                (_, Some(Item::Node(_)) | None) => {}
            }
        }
        deltas
    }

    /// Goes back from the state after these changes to the state before.
    pub fn undo(self, state: &mut State) {
        for change in self.entries {
            if let Some(item) = change.after {
                state.remove(&AtPlace(item));
            }
            if let Some(item) = change.before {
                state.insert(AtPlace(item), ());
            }
        }
    }
}
