//! A sorted map whose copies share what is the same in both: a B-tree with all entries in its leaves.
//!
//! Arrays are as long as what is in them: there is no room for entries to come. One more moves at most [`MOST`] others.

mod diff;
#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::fmt;
use std::ops::RangeFrom;

use smallvec::SmallVec;
use triomphe::Arc;

pub use diff::DiffItem;

/// Entries of a leaf and branches of a fork at most. An edit of a copy touches as many things as are counted by references.
const MOST: usize = 16;

/// Keys and values in ascending order of the keys.
#[derive(Clone)]
pub struct Map<K, V> {
    len: usize,
    root: Branch<K, V>,
}

/// All leaves are equally deep.
#[derive(Clone)]
enum Branch<K, V> {
    Leaf(Arc<Vec<(K, V)>>),
    Fork(Arc<Vec<Child<K, V>>>),
}

#[derive(Clone)]
struct Child<K, V> {
    /// No key below is less.
    least: K,
    below: Branch<K, V>,
}

impl<K, V> Map<K, V> {
    pub fn new() -> Map<K, V> {
        Map { len: 0, root: Branch::Leaf(Arc::default()) }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The same entries in the same memory: true only if nothing can differ.
    pub fn ptr_eq(&self, other: &Map<K, V>) -> bool {
        self.root.ptr_eq(&other.root)
    }

    /// In ascending order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        let mut iter = Iter { above: SmallVec::new(), leaf: [].iter() };
        iter.enter(&self.root);
        iter
    }

    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> Map<K, V> {
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).map(|(_, value)| value)
    }

    /// With the key as it is held here.
    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let mut branch = &self.root;
        loop {
            match branch {
                Branch::Leaf(entries) => {
                    let at = place(entries, key).ok()?;
                    return entries.get(at).map(|(key, value)| (key, value));
                }
                Branch::Fork(children) => branch = &children.get(way(children, key))?.below,
            }
        }
    }

    /// From this key on.
    pub fn range(&self, from: RangeFrom<K>) -> Iter<'_, K, V> {
        let mut iter = Iter { above: SmallVec::new(), leaf: [].iter() };
        let mut branch = &self.root;
        loop {
            match branch {
                Branch::Leaf(entries) => {
                    let at = place(entries, &from.start).unwrap_or_else(|at| at);
                    iter.leaf = entries.get(at..).unwrap_or_default().iter();
                    return iter;
                }
                Branch::Fork(children) => {
                    let mut rest = children.get(way(children, &from.start)..).unwrap_or_default().iter();
                    let Some(child) = rest.next() else { return iter };
                    iter.above.push(rest);
                    branch = &child.below;
                }
            }
        }
    }

    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).is_some()
    }
}

impl<K: Ord + Clone, V: Clone> Map<K, V> {
    /// To be changed where it is.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let mut branch = &mut self.root;
        loop {
            match branch {
                Branch::Leaf(entries) => {
                    let at = place(entries, key).ok()?;
                    return Arc::make_mut(entries).get_mut(at).map(|(_, value)| value);
                }
                Branch::Fork(children) => {
                    let at = way(children, key);
                    branch = &mut Arc::make_mut(children).get_mut(at)?.below;
                }
            }
        }
    }

    /// The key is put there with its value; what was there before comes back.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let (old, split) = self.root.insert(key, value);
        if let Some(right) = split {
            let least = right.least.clone();
            let left = std::mem::replace(&mut self.root, Branch::Fork(Arc::default()));
            // Nobody asks for less than what stands first.
            let least = left.first().cloned().unwrap_or(least);
            self.root = Branch::Fork(Arc::new(vec![Child { least, below: left }, right]));
        }
        self.len += usize::from(old.is_none());
        old
    }

    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        if !self.contains_key(key) {
            return None;
        }
        let old = self.root.remove(key)?;
        self.len -= 1;
        while let Branch::Fork(children) = &mut self.root
            && children.len() == 1
            && let Some(only) = Arc::make_mut(children).pop()
        {
            self.root = only.below;
        }
        Some(old)
    }
}

/// Where the entry with this key is, or would be.
fn place<K: Ord + Borrow<Q>, V, Q: Ord + ?Sized>(entries: &[(K, V)], key: &Q) -> Result<usize, usize> {
    entries.binary_search_by(|(other, _)| other.borrow().cmp(key))
}

/// The child that has this key, if any has.
fn way<K: Ord + Borrow<Q>, V, Q: Ord + ?Sized>(children: &[Child<K, V>], key: &Q) -> usize {
    children.partition_point(|child| child.least.borrow() <= key).saturating_sub(1)
}

impl<K, V> Branch<K, V> {
    fn ptr_eq(&self, other: &Branch<K, V>) -> bool {
        match (self, other) {
            (Branch::Leaf(one), Branch::Leaf(other)) => Arc::ptr_eq(one, other),
            (Branch::Fork(one), Branch::Fork(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    fn len(&self) -> usize {
        match self {
            Branch::Leaf(entries) => entries.len(),
            Branch::Fork(children) => children.len(),
        }
    }

    /// Forks above the leaves.
    fn height(&self) -> usize {
        match self {
            Branch::Leaf(_) => 0,
            Branch::Fork(children) => 1 + children.first().map_or(0, |child| child.below.height()),
        }
    }

    /// No key in it is less.
    fn first(&self) -> Option<&K> {
        match self {
            Branch::Leaf(entries) => entries.first().map(|(key, _)| key),
            Branch::Fork(children) => children.first().map(|child| &child.least),
        }
    }
}

impl<K: Ord + Clone, V: Clone> Branch<K, V> {
    /// What was there; and what has to stand to the right of this from now on.
    fn insert(&mut self, key: K, value: V) -> (Option<V>, Option<Child<K, V>>) {
        match self {
            Branch::Leaf(entries) => {
                let at = match place(entries, &key) {
                    Ok(at) => {
                        let held = Arc::make_mut(entries).get_mut(at);
                        return (held.map(|held| std::mem::replace(held, (key, value)).1), None);
                    }
                    Err(at) => at,
                };
                let right = insert_at(own(entries), at, (key, value));
                let least = right.first().map(|(key, _)| key.clone());
                (None, least.map(|least| Child { least, below: Branch::Leaf(Arc::new(right)) }))
            }
            Branch::Fork(children) => {
                let at = way(children, &key);
                let children = Arc::make_mut(children);
                let Some(child) = children.get_mut(at) else { return (None, None) };
                if key < child.least {
                    child.least = key.clone();
                }
                let (old, split) = child.below.insert(key, value);
                let Some(split) = split else { return (old, None) };
                let right = insert_at(children, at + 1, split);
                let least = right.first().map(|child| child.least.clone());
                (old, least.map(|least| Child { least, below: Branch::Fork(Arc::new(right)) }))
            }
        }
    }

    /// The entry with this key, taken out.
    fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        match self {
            Branch::Leaf(entries) => {
                let at = place(entries, key).ok()?;
                let entries = Arc::make_mut(entries);
                let (_, value) = entries.remove(at);
                entries.shrink_to_fit();
                Some(value)
            }
            Branch::Fork(children) => {
                let at = way(children, key);
                let children = Arc::make_mut(children);
                let child = children.get_mut(at)?;
                let value = child.below.remove(key)?;
                if child.below.len() < MOST / 4 {
                    unite(children, at);
                }
                Some(value)
            }
        }
    }
}

/// An array that nobody else has, with room for one item more where it had to be copied.
fn own<T: Clone>(items: &mut Arc<Vec<T>>) -> &mut Vec<T> {
    if Arc::get_mut(items).is_none() {
        let mut copy = Vec::with_capacity(items.len() + 1);
        copy.extend_from_slice(items);
        *items = Arc::new(copy);
    }
    Arc::make_mut(items)
}

/// Puts an item in its place; of too many the right part comes back. Items that come in ascending order leave full arrays behind.
fn insert_at<T>(items: &mut Vec<T>, at: usize, item: T) -> Vec<T> {
    let comes_last = at == items.len();
    items.reserve_exact(1);
    items.insert(at, item);
    if items.len() <= MOST {
        return Vec::new();
    }
    let right = items.split_off(if comes_last { items.len() - 1 } else { items.len() / 2 });
    items.shrink_to_fit();
    right
}

/// A child of which little is left goes into one beside it that has the room.
fn unite<K: Clone, V: Clone>(children: &mut Vec<Child<K, V>>, at: usize) {
    let fits = |left: usize| match (children.get(left), children.get(left + 1)) {
        (Some(left), Some(right)) => left.below.len() + right.below.len() <= MOST,
        _ => false,
    };
    let Some(left) = [at.checked_sub(1), Some(at)].into_iter().flatten().find(|left| fits(*left)) else {
        return;
    };
    let right = children.remove(left + 1);
    children.shrink_to_fit();
    match (children.get_mut(left).map(|child| &mut child.below), right.below) {
        (Some(Branch::Leaf(left)), Branch::Leaf(right)) => append(left, right),
        (Some(Branch::Fork(left)), Branch::Fork(right)) => append(left, right),
        _ => {}
    }
}

fn append<T: Clone>(left: &mut Arc<Vec<T>>, right: Arc<Vec<T>>) {
    let left = Arc::make_mut(left);
    left.reserve_exact(right.len());
    left.extend(Arc::unwrap_or_clone(right));
}

impl<K: Ord + Clone, V> FromIterator<(K, V)> for Map<K, V> {
    /// Of two with one key the later stays.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Map<K, V> {
        let mut all: Vec<(K, V)> = entries.into_iter().collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                std::mem::swap(later, kept);
            }
            same
        });
        let len = all.len();
        let mut branches: Vec<Branch<K, V>> =
            parts(all).into_iter().map(|part| Branch::Leaf(Arc::new(part))).collect();
        while branches.len() > 1 {
            let child = |below: Branch<K, V>| Some(Child { least: below.first()?.clone(), below });
            let children: Vec<_> = branches.into_iter().filter_map(child).collect();
            branches = parts(children).into_iter().map(|part| Branch::Fork(Arc::new(part))).collect();
        }
        branches.pop().map_or_else(Map::new, |root| Map { len, root })
    }
}

/// Cut into arrays of about the same length.
fn parts<T>(items: Vec<T>) -> Vec<Vec<T>> {
    let count = items.len().div_ceil(MOST);
    let (len, mut rest) = (items.len(), items.into_iter());
    let part = |number: usize| {
        let size = (number + 1) * len / count - number * len / count;
        rest.by_ref().take(size).collect()
    };
    (0..count).map(part).collect()
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Map<K, V> {
        Map::new()
    }
}

impl<K: Ord, V: PartialEq> PartialEq for Map<K, V> {
    fn eq(&self, other: &Map<K, V>) -> bool {
        self.len == other.len && self.diff(other).next().is_none()
    }
}

impl<K: Ord, V: Eq> Eq for Map<K, V> {}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

/// Iterates over a [`Map`].
#[derive(Clone)]
pub struct Iter<'a, K, V> {
    /// What is left of the forks above.
    above: SmallVec<[std::slice::Iter<'a, Child<K, V>>; 3]>,
    leaf: std::slice::Iter<'a, (K, V)>,
}

impl<'a, K, V> Iter<'a, K, V> {
    fn enter(&mut self, branch: &'a Branch<K, V>) {
        match branch {
            Branch::Leaf(entries) => self.leaf = entries.iter(),
            Branch::Fork(children) => self.above.push(children.iter()),
        }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.leaf.next() {
                return Some((key, value));
            }
            match self.above.last_mut()?.next() {
                Some(child) => self.enter(&child.below),
                None => drop(self.above.pop()),
            }
        }
    }
}

impl<'a, K, V> IntoIterator for &'a Map<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}
