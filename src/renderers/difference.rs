//! From what keys rendered before and render now to what has to change.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashSet;

use super::rendered::{AtPlace, Item, Output, flows_of};
use crate::datastore::DerivedEdit;
use crate::net::Dpid;
use crate::pipeline::{Delta, Flow, Rebound, Sheaf};

/// Gathers the changes of one commit. A thing that one key gives up and another takes up is one change.
#[derive(Debug, Default)]
pub(super) struct Difference {
    before: Vec<Item>,
    after: Vec<Item>,
    /// Sheaves of keys that rendered nothing before.
    new: Vec<Sheaf>,
    /// Their flows as they were rendered, unless they are too many.
    rendered: Vec<(Dpid, Arc<Flow>)>,
    /// The other sheaves that go and come.
    rebound: Rebound,
}

/// What happens at one place. At least one of the two is there, and they differ.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub before: Option<Item>,
    pub after: Option<Item>,
}

impl Change {
    fn came(item: Item) -> Change {
        Change { before: None, after: Some(item) }
    }
}

/// Changes of one commit: first what goes, then what comes, as it was rendered.
#[derive(Debug, Default)]
pub(super) struct Changes {
    entries: Vec<Change>,
    /// Sheaves whose flows are all new: they are no entries.
    new: Vec<Sheaf>,
    /// All their flows; none: they are made anew of the sheaves.
    rendered: Vec<(Dpid, Arc<Flow>)>,
    /// The other sheaves that go and come.
    rebound: Rebound,
    /// Switches that hear of the revision even if nothing changes there.
    told: Vec<Dpid>,
}

/// What stands where.
pub(super) type State = HashSet<AtPlace<Item>>;

impl Difference {
    /// What a key rendered before and renders now, and flows of the latter if they are at hand: of all keys or of none. What is as it
    /// was is the same thing as before afterwards.
    pub fn exchange(&mut self, before: &Output, after: &mut Output, flows: Vec<(Dpid, Arc<Flow>)>) {
        if before.is_empty() {
            self.new.extend(after.sheaves().cloned());
            self.rendered.extend(flows);
            self.after.extend(after.others());
            return;
        }
        after.edit_sheaves(|sheaf| {
            if let Some(same) = before.sheaves().find(|old| *old == sheaf) {
                *sheaf = same.clone();
            }
        });
        let held = |of: &Output, sheaf: &Sheaf| of.sheaves().any(|held| held.ptr_eq(sheaf));
        let gone = before.sheaves().filter(|old| !held(after, old));
        let came = after.sheaves().filter(|new| !held(before, new));
        self.rebound.gone.extend(gone.clone().cloned());
        self.rebound.came.extend(came.clone().cloned());
        let old: Vec<Item> = gone.flat_map(flows_of).collect();
        let mut items: Vec<Item> = came.flat_map(flows_of).collect();
        let flows = items.len();
        items.extend(after.others());
        self.compare(old.into_iter().chain(before.others()), &mut items);
        after.replace_others(items.into_iter().skip(flows));
    }

    /// Things that come.
    pub fn add(&mut self, after: impl Iterator<Item = Item>) {
        self.after.extend(after);
    }

    /// Everything is rendered anew, in place of this.
    pub fn replace(&mut self, before: impl IntoIterator<Item = Item>) {
        self.before.extend(before);
        self.rebound.anew = true;
    }

    fn compare(&mut self, before: impl Iterator<Item = Item>, after: &mut [Item]) {
        let mut old: State = before.map(AtPlace).collect();
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
    pub fn finish(mut self) -> Changes {
        if self.before.iter().any(|item| matches!(item, Item::Flow(..))) {
            self.after.extend(self.new.iter().flat_map(flows_of));
            self.rebound.came.append(&mut self.new);
            self.rendered.clear();
        }
        let Difference { new, rendered, rebound, .. } = self;
        if self.before.is_empty() {
            let entries = self.after.into_iter().map(Change::came).collect();
            return Changes { entries, new, rendered, rebound, told: Vec::new() };
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
        Changes { entries: gone.chain(put).collect(), new, rendered, rebound, told: Vec::new() }
    }
}

impl Changes {
    /// Nothing changes on any switch or derived layer.
    pub fn is_empty(&self) -> bool {
        let Rebound { anew, gone, came } = &self.rebound;
        let bound = self.new.is_empty() && gone.is_empty() && came.is_empty();
        self.entries.is_empty() && self.told.is_empty() && !anew && bound
    }

    /// All of them.
    pub fn entries(&self) -> impl Iterator<Item = Change> + '_ {
        let new = self.new.iter().flat_map(flows_of);
        self.entries.iter().cloned().chain(new.map(Change::came))
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
                (before, Some(Item::Flow(dpid, flow))) => {
                    let delta = deltas.entry(dpid).or_default();
                    if let Some(Item::Flow(_, before)) = before
                        && before.cookie != flow.cookie
                    {
                        delta.replaced.push(before);
                    }
                    delta.put_flow(flow);
                }
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
        let unpacked = if self.rendered.is_empty() { &self.new[..] } else { &[] };
        for (dpid, flow) in self.rendered {
            deltas.entry(dpid).or_default().put_flow(flow);
        }
        for sheaf in unpacked {
            for flow in sheaf.flows() {
                for dpid in sheaf.switches() {
                    deltas.entry(*dpid).or_default().put_flow(flow.clone());
                }
            }
        }
        let Rebound { anew, gone, mut came } = self.rebound;
        came.extend(self.new);
        for (sheaves, comes) in [(gone, false), (came, true)] {
            for sheaf in sheaves {
                for dpid in sheaf.switches() {
                    let rebound = deltas.entry(*dpid).or_default().sheaves.get_or_insert_default();
                    let list = if comes { &mut rebound.came } else { &mut rebound.gone };
                    list.push(sheaf.clone());
                }
            }
        }
        for delta in deltas.values_mut() {
            delta.sheaves.get_or_insert_default().anew = anew;
        }
        deltas
    }

    /// Goes back from the state after these changes to the state before.
    pub fn undo(self, state: &mut State) {
        let new = self.new.iter().flat_map(flows_of);
        for change in self.entries.into_iter().chain(new.map(Change::came)) {
            if let Some(item) = change.after {
                state.remove(&AtPlace(item));
            }
            if let Some(item) = change.before {
                state.replace(AtPlace(item));
            }
        }
    }
}
