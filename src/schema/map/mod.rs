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
    Fork(Arc<Fork<K, V>>),
}

#[derive(Clone)]
struct Fork<K, V> {
    /// For each branch a key that none in it is less than. Copies share them until a branch comes or goes: else an edit of a copy
    /// would count each of them, in memory of its own.
    least: Arc<[K]>,
    below: Vec<Branch<K, V>>,
}

/// A branch that comes into a fork.
type Part<K, V> = (K, Branch<K, V>);

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
                Branch::Fork(fork) => branch = fork.below.get(fork.way(key))?,
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
                Branch::Fork(fork) => {
                    let mut rest = fork.below.get(fork.way(&from.start)..).unwrap_or_default().iter();
                    let Some(below) = rest.next() else { return iter };
                    iter.above.push(rest);
                    branch = below;
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
                Branch::Fork(fork) => {
                    let at = fork.way(key);
                    branch = Arc::make_mut(fork).below.get_mut(at)?;
                }
            }
        }
    }

    /// The key is put there with its value; what was there before comes back.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let (old, split) = self.root.insert(key, value);
        if let Some((middle, right)) = split {
            let left = std::mem::take(&mut self.root);
            // Nobody asks for less than what stands first.
            let least = left.first().unwrap_or(&middle).clone();
            self.root = Branch::fork(vec![least, middle], vec![left, right]);
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
        while let Branch::Fork(fork) = &self.root
            && let [only] = &fork.below[..]
        {
            self.root = only.clone();
        }
        Some(old)
    }
}

/// Where the entry with this key is, or would be.
fn place<K: Ord + Borrow<Q>, V, Q: Ord + ?Sized>(entries: &[(K, V)], key: &Q) -> Result<usize, usize> {
    entries.binary_search_by(|(other, _)| other.borrow().cmp(key))
}

impl<K, V> Fork<K, V> {
    /// The branch that has this key, if any has.
    fn way<Q: Ord + ?Sized>(&self, key: &Q) -> usize
    where
        K: Ord + Borrow<Q>,
    {
        self.least.partition_point(|least| least.borrow() <= key).saturating_sub(1)
    }
}

impl<K: Clone, V: Clone> Fork<K, V> {
    fn edit_least<R>(&mut self, edit: impl FnOnce(&mut Vec<K>) -> R) -> R {
        let mut least = Vec::with_capacity(self.least.len() + 1);
        least.extend_from_slice(&self.least);
        let edited = edit(&mut least);
        self.least = least.into();
        edited
    }

    /// Puts a branch in its place; of too many the right part comes back.
    fn insert(&mut self, at: usize, (least, branch): Part<K, V>) -> Option<Part<K, V>> {
        let right = insert_at(&mut self.below, at, branch);
        let stay = self.below.len();
        let keys = self.edit_least(|all| {
            all.insert(at, least);
            all.split_off(stay)
        });
        Some((keys.first()?.clone(), Branch::fork(keys, right)))
    }

    /// A branch of which little is left goes into one beside it that has the room.
    fn unite(&mut self, at: usize) {
        let fits = |left: usize| match (self.below.get(left), self.below.get(left + 1)) {
            (Some(left), Some(right)) => left.len() + right.len() <= MOST,
            _ => false,
        };
        let Some(left) = [at.checked_sub(1), Some(at)].into_iter().flatten().find(|left| fits(*left)) else {
            return;
        };
        let right = self.below.remove(left + 1);
        self.below.shrink_to_fit();
        self.edit_least(|all| all.remove(left + 1));
        match (self.below.get_mut(left), right) {
            (Some(Branch::Leaf(left)), Branch::Leaf(right)) => append(Arc::make_mut(left), right),
            (Some(Branch::Fork(left)), Branch::Fork(right)) => {
                let (left, Fork { least, below }) = (Arc::make_mut(left), Arc::unwrap_or_clone(right));
                left.edit_least(|all| all.extend_from_slice(&least));
                append(&mut left.below, Arc::new(below));
            }
            _ => {}
        }
    }
}

impl<K, V> Default for Branch<K, V> {
    fn default() -> Branch<K, V> {
        Branch::Leaf(Arc::default())
    }
}

impl<K, V> Branch<K, V> {
    fn fork(least: Vec<K>, below: Vec<Branch<K, V>>) -> Branch<K, V> {
        Branch::Fork(Arc::new(Fork { least: least.into(), below }))
    }

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
            Branch::Fork(fork) => fork.below.len(),
        }
    }

    /// Forks above the leaves.
    fn height(&self) -> usize {
        match self {
            Branch::Leaf(_) => 0,
            Branch::Fork(fork) => 1 + fork.below.first().map_or(0, Branch::height),
        }
    }

    /// No key in it is less.
    fn first(&self) -> Option<&K> {
        match self {
            Branch::Leaf(entries) => entries.first().map(|(key, _)| key),
            Branch::Fork(fork) => fork.least.first(),
        }
    }
}

impl<K: Ord + Clone, V: Clone> Branch<K, V> {
    /// What was there; and what has to stand to the right of this from now on.
    fn insert(&mut self, key: K, value: V) -> (Option<V>, Option<Part<K, V>>) {
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
                (None, least.map(|least| (least, Branch::Leaf(Arc::new(right)))))
            }
            Branch::Fork(fork) => {
                let at = fork.way(&key);
                let fork = Arc::make_mut(fork);
                if at == 0 && fork.least.first().is_some_and(|least| key < *least) {
                    fork.edit_least(|all| all[0] = key.clone());
                }
                let Some(below) = fork.below.get_mut(at) else { return (None, None) };
                let (old, split) = below.insert(key, value);
                (old, split.and_then(|split| fork.insert(at + 1, split)))
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
            Branch::Fork(fork) => {
                let at = fork.way(key);
                let fork = Arc::make_mut(fork);
                let below = fork.below.get_mut(at)?;
                let value = below.remove(key)?;
                if below.len() < MOST / 4 {
                    fork.unite(at);
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

fn append<T: Clone>(left: &mut Vec<T>, right: Arc<Vec<T>>) {
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
            let part = |below: Branch<K, V>| Some((below.first()?.clone(), below));
            let all: Vec<Part<K, V>> = branches.into_iter().filter_map(part).collect();
            let fork = |part: Vec<Part<K, V>>| {
                let (least, below) = part.into_iter().unzip();
                Branch::fork(least, below)
            };
            branches = parts(all).into_iter().map(fork).collect();
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
    above: SmallVec<[std::slice::Iter<'a, Branch<K, V>>; 3]>,
    leaf: std::slice::Iter<'a, (K, V)>,
}

impl<'a, K, V> Iter<'a, K, V> {
    fn enter(&mut self, branch: &'a Branch<K, V>) {
        match branch {
            Branch::Leaf(entries) => self.leaf = entries.iter(),
            Branch::Fork(fork) => self.above.push(fork.below.iter()),
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
                Some(below) => self.enter(below),
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
