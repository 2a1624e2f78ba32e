//! Flows of one switch, each key once. A word and a byte a flow: the keys are in the flows themselves.

use std::fmt;
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::Flow;

/// A set of things that are each about one flow; two about the same flow cannot both be in it.
#[derive(Clone)]
pub struct FlowTable<T> {
    entries: HashTable<T>,
}

/// What a switch holds or should hold.
pub type FlowSet = FlowTable<Arc<Flow>>;

/// What happens to one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowChange {
    /// It is added, or takes the place of the flow with the same key.
    Put(Arc<Flow>),
    /// The flow with the key of this one goes.
    Gone(Arc<Flow>),
}

impl FlowChange {
    pub fn flow(&self) -> &Arc<Flow> {
        match self {
            FlowChange::Put(flow) | FlowChange::Gone(flow) => flow,
        }
    }

    /// The flow that is wanted.
    pub fn put(&self) -> Option<&Arc<Flow>> {
        if let FlowChange::Put(flow) = self { Some(flow) } else { None }
    }
}

/// What a thing in a [`FlowTable`] is about.
pub trait AboutFlow {
    fn about(&self) -> &Flow;
}

impl AboutFlow for Arc<Flow> {
    fn about(&self) -> &Flow {
        self
    }
}

impl AboutFlow for FlowChange {
    fn about(&self) -> &Flow {
        self.flow()
    }
}

impl<T> Default for FlowTable<T> {
    fn default() -> Self {
        FlowTable { entries: HashTable::new() }
    }
}

impl<T: AboutFlow> FlowTable<T> {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What is there about the flow with the key of `flow`.
    pub fn get(&self, flow: &Flow) -> Option<&T> {
        self.entries.find(flow.key_hash(), |other| other.about().same_key(flow))
    }

    pub fn contains(&self, flow: &Flow) -> bool {
        self.get(flow).is_some()
    }

    /// Puts something in and returns what it displaced.
    pub fn insert(&mut self, thing: T) -> Option<T> {
        let flow = thing.about();
        let entry = self.entries.entry(
            flow.key_hash(),
            |other| other.about().same_key(flow),
            |other| other.about().key_hash(),
        );
        match entry {
            Entry::Occupied(mut entry) => Some(std::mem::replace(entry.get_mut(), thing)),
            Entry::Vacant(entry) => {
                entry.insert(thing);
                None
            }
        }
    }

    /// Takes out what is about the flow with the key of `flow`.
    pub fn remove(&mut self, flow: &Flow) -> Option<T> {
        let found = self.entries.find_entry(flow.key_hash(), |other| other.about().same_key(flow));
        let (thing, rest) = found.ok()?.remove();
        let empty = rest.into_table();
        // A table that once was full gives its memory back.
        if empty.capacity() > 64 && empty.len() * 8 < empty.capacity() {
            empty.shrink_to(empty.len() * 2, |other| other.about().key_hash());
        }
        Some(thing)
    }

    /// In no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter()
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.entries.retain(|thing| keep(thing));
    }

    pub fn reserve(&mut self, more: usize) {
        self.entries.reserve(more, |other| other.about().key_hash());
    }
}

impl<T: AboutFlow> Extend<T> for FlowTable<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, things: I) {
        let things = things.into_iter();
        self.reserve(things.size_hint().0);
        things.for_each(|thing| drop(self.insert(thing)));
    }
}

impl<T: AboutFlow> FromIterator<T> for FlowTable<T> {
    fn from_iter<I: IntoIterator<Item = T>>(things: I) -> Self {
        let mut table = FlowTable::default();
        table.extend(things);
        table
    }
}

impl<T: AboutFlow> IntoIterator for FlowTable<T> {
    type Item = T;
    type IntoIter = hashbrown::hash_table::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<T: AboutFlow + PartialEq> PartialEq for FlowTable<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|thing| other.get(thing.about()) == Some(thing))
    }
}

impl<T: AboutFlow + fmt::Debug> fmt::Debug for FlowTable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted: Vec<&T> = self.iter().collect();
        sorted.sort_by(|a, b| a.about().key_order(b.about()));
        f.debug_set().entries(sorted).finish()
    }
}
