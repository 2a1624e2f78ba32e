//! From what keys rendered before and render now to what has to change.

use std::collections::BTreeMap;

use hashbrown::HashSet;

use super::rendered::{AtPlace, Item};
use crate::datastore::DerivedEdit;
use crate::net::Dpid;
use crate::pipeline::Delta;

/// Gathers the changes of one commit. A thing that one key gives up and another takes up is one change.
#[derive(Debug, Default)]
pub(super) struct Difference {
    before: Vec<Item>,
    after: Vec<Item>,
}

/// What happens at one place. At least one of the two is there, and they differ.
#[derive(Debug)]
pub(super) struct Change {
    pub before: Option<Item>,
    pub after: Option<Item>,
}

/// Changes of one commit: first what goes, then what comes, as it was rendered.
#[derive(Debug, Default)]
pub(super) struct Changes {
    entries: Vec<Change>,
    /// Switches that hear of the revision even if nothing changes there.
    told: Vec<Dpid>,
}

/// What stands where.
pub(super) type State = HashSet<AtPlace<Item>>;

impl Difference {
    /// What a key rendered before and renders now. What is as it was is the same thing as before afterwards.
    pub fn exchange(&mut self, before: &[Item], after: &mut [Item]) {
        if before.is_empty() {
            self.after.extend_from_slice(after);
            return;
        }
        let mut old: State = before.iter().cloned().map(AtPlace).collect();
        for item in after {
            let found = old.take(&AtPlace(item.clone())).map(|AtPlace(found)| found);
            match found {
                Some(same) if same == *item => *item = same,
                other => {
                    self.before.extend(other);
                    self.after.push(item.clone());
                }
            }
        }
        self.before.extend(old.into_iter().map(|AtPlace(item)| item));
    }

    /// What really differs.
    pub fn finish(self) -> Changes {
        if self.before.is_empty() {
            let came = |item| Change { before: None, after: Some(item) };
            return Changes { entries: self.after.into_iter().map(came).collect(), told: Vec::new() };
        }
        let mut before: State = self.before.into_iter().map(AtPlace).collect();
        let mut put = Vec::new();
        for item in self.after {
            let item = AtPlace(item);
            let old = before.take(&item).map(|AtPlace(old)| old);
            let AtPlace(item) = item;
            if old.as_ref() != Some(&item) {
                put.push(Change { before: old, after: Some(item) });
            }
        }
        let mut gone: Vec<Item> = before.into_iter().map(|AtPlace(item)| item).collect();
        gone.sort_by(Item::order);
        let gone = gone.into_iter().map(|item| Change { before: Some(item), after: None });
        Changes { entries: gone.chain(put).collect(), told: Vec::new() }
    }
}

impl Changes {
    /// Nothing changes on any switch or derived layer.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.told.is_empty()
    }

    /// All of them.
    pub fn entries(&self) -> &[Change] {
        &self.entries
    }

    /// The changes of derived layers, taken out: what stays concerns switches.
    pub fn take_edits(&mut self) -> Vec<DerivedEdit> {
        let is_node = |change: &mut Change| {
            matches!(change.before.as_ref().or(change.after.as_ref()), Some(Item::Node(_)))
        };
        let edit = |change: Change| match (change.before, change.after) {
            (_, Some(Item::Node(node))) => Some(DerivedEdit::Put(node)),
            (Some(Item::Node(node)), _) => Some(DerivedEdit::Gone(node)),
            _ => None,
        };
        let mut edits: Vec<_> = self.entries.extract_if(.., is_node).filter_map(edit).collect();
        // What goes, goes first; what comes takes its place before what is below it.
        edits.sort_by_key(|edit| if let DerivedEdit::Put(put) = edit { put.place().depth() } else { 0 });
        edits
    }

    /// These switches hear of the revision, too.
    pub fn tell(&mut self, switches: impl Iterator<Item = Dpid>) {
        self.told.extend(switches);
    }

    /// The changes by switch.
    pub fn deltas(self) -> BTreeMap<Dpid, Delta> {
        let mut deltas: BTreeMap<Dpid, Delta> =
            self.told.into_iter().map(|dpid| (dpid, Delta::default())).collect();
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
                state.replace(AtPlace(item));
            }
        }
    }
}
