//! What differs between two maps. Shared branches are skipped by pointer, so the cost follows the edit.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::{Branch, Map};

/// One key at which two maps differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffItem<'a, K, V> {
    Add(&'a K, &'a V),
    Remove(&'a K, &'a V),
    Update { old: (&'a K, &'a V), new: (&'a K, &'a V) },
}

/// Iterates over the differences of two maps in ascending order of the keys.
pub struct Diff<'a, K, V> {
    old: Cursor<'a, K, V>,
    new: Cursor<'a, K, V>,
}

/// What is left of one map.
struct Cursor<'a, K, V> {
    root: Option<&'a Branch<K, V>>,
    levels: SmallVec<[Level<'a, K, V>; 4]>,
}

#[derive(Clone, Copy)]
enum Level<'a, K, V> {
    /// What no key in them is less than, and the branches.
    Fork(&'a [K], &'a [Branch<K, V>]),
    Entries(&'a [(K, V)]),
}

/// What comes next.
enum Head<'a, K, V> {
    Entry(&'a (K, V)),
    /// With what no key in it is less than; the root has all.
    Branch(&'a Branch<K, V>, Option<&'a K>),
    End,
}

impl<K, V> Map<K, V> {
    /// From this to the other one.
    pub fn diff<'a>(&'a self, other: &'a Map<K, V>) -> Diff<'a, K, V> {
        let cursor = |map: &'a Map<K, V>| Cursor { root: Some(&map.root), levels: SmallVec::new() };
        Diff { old: cursor(self), new: cursor(other) }
    }
}

impl<'a, K, V> Cursor<'a, K, V> {
    fn head(&mut self) -> Head<'a, K, V> {
        if let Some(root) = self.root {
            return Head::Branch(root, None);
        }
        while let Some(level) = self.levels.last() {
            match level {
                Level::Fork([least, ..], [branch, ..]) => return Head::Branch(branch, Some(least)),
                Level::Entries([entry, ..]) => return Head::Entry(entry),
                Level::Fork(..) | Level::Entries([]) => drop(self.levels.pop()),
            }
        }
        Head::End
    }

    /// Past what comes next.
    fn skip(&mut self) {
        if self.root.take().is_some() {
            return;
        }
        match self.levels.last_mut() {
            Some(Level::Fork(least, branches)) => {
                *least = least.get(1..).unwrap_or_default();
                *branches = branches.get(1..).unwrap_or_default();
            }
            Some(Level::Entries(entries)) => *entries = entries.get(1..).unwrap_or_default(),
            None => {}
        }
    }

    /// Into the branch that comes next.
    fn open(&mut self) {
        let Head::Branch(branch, _) = self.head() else { return };
        self.skip();
        self.levels.push(match branch {
            Branch::Leaf(entries) => Level::Entries(entries),
            Branch::Fork(fork) => Level::Fork(&fork.least, &fork.below),
        });
    }
}

impl<'a, K: Ord, V: PartialEq> Iterator for Diff<'a, K, V> {
    type Item = DiffItem<'a, K, V>;

    fn next(&mut self) -> Option<DiffItem<'a, K, V>> {
        loop {
            match (self.old.head(), self.new.head()) {
                (Head::End, Head::End) => return None,
                (Head::Branch(old, _), Head::Branch(new, _)) if old.ptr_eq(new) => {
                    self.old.skip();
                    self.new.skip();
                }
                (Head::Branch(old, least), Head::Branch(new, other)) => {
                    let taller = || new.height().cmp(&old.height());
                    match least.cmp(&other).then_with(taller) {
                        Ordering::Less => self.old.open(),
                        Ordering::Greater => self.new.open(),
                        Ordering::Equal => {
                            self.old.open();
                            self.new.open();
                        }
                    }
                }
                (Head::Entry((key, value)), Head::Branch(_, Some(least))) if key < least => {
                    self.old.skip();
                    return Some(DiffItem::Remove(key, value));
                }
                (Head::Branch(_, Some(least)), Head::Entry((key, value))) if key < least => {
                    self.new.skip();
                    return Some(DiffItem::Add(key, value));
                }
                (Head::Branch(..), _) => self.old.open(),
                (_, Head::Branch(..)) => self.new.open(),
                (Head::Entry((key, value)), Head::End) => {
                    self.old.skip();
                    return Some(DiffItem::Remove(key, value));
                }
                (Head::End, Head::Entry((key, value))) => {
                    self.new.skip();
                    return Some(DiffItem::Add(key, value));
                }
                (Head::Entry((old_key, old)), Head::Entry((new_key, new))) => {
                    let order = old_key.cmp(new_key);
                    if order.is_le() {
                        self.old.skip();
                    }
                    if order.is_ge() {
                        self.new.skip();
                    }
                    match order {
                        Ordering::Less => return Some(DiffItem::Remove(old_key, old)),
                        Ordering::Greater => return Some(DiffItem::Add(new_key, new)),
                        Ordering::Equal if old != new => {
                            return Some(DiffItem::Update { old: (old_key, old), new: (new_key, new) });
                        }
                        Ordering::Equal => {}
                    }
                }
            }
        }
    }
}
