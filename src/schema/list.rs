//! What a list can do, whichever form its entries are kept in.

use std::sync::{Arc, LazyLock};

use smallvec::SmallVec;

use super::data::{Entries, Fields, Key, List};
use super::ir::{Kind, Schema, SchemaId};

/// What keyless entries show as their key.
static NO_KEY: LazyLock<Key> = LazyLock::new(|| Key(SmallVec::new()));

impl List {
    /// Up to so many entries live in a sorted array; more become a persistent map (over a kilobyte a node).
    pub const FEW: usize = 16;

    /// An empty list of the form that its schema node asks for.
    pub fn empty(schema: &Schema, id: SchemaId) -> List {
        let entries = match &schema.node(id).kind {
            Kind::List { keys, .. } if keys.is_empty() => Entries::Keyless(Arc::from([])),
            Kind::List { user_ordered: true, .. } => Entries::User(Arc::from([])),
            _ => Entries::Few(Arc::from([])),
        };
        List { entries }
    }

    /// A list of these entries; of two with one key the later wins.
    pub fn of(schema: &Schema, id: SchemaId, entries: impl IntoIterator<Item = (Key, Arc<Fields>)>) -> List {
        let mut list = List::empty(schema, id);
        match &mut list.entries {
            Entries::Keyless(all) => *all = entries.into_iter().map(|(_, entry)| entry).collect(),
            Entries::User(_) => entries.into_iter().for_each(|(key, entry)| list.insert(key, entry)),
            _ => {
                let mut all: Vec<_> = entries.into_iter().collect();
                all.sort_by(|(a, _), (b, _)| a.cmp(b));
                all.reverse();
                all.dedup_by(|(a, _), (b, _)| a == b);
                all.reverse();
                list.entries = sorted(all);
            }
        }
        list
    }

    pub fn len(&self) -> usize {
        match &self.entries {
            Entries::Few(entries) | Entries::User(entries) => entries.len(),
            Entries::Many(entries) => entries.len(),
            Entries::Keyless(entries) => entries.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry with this key; a keyless list has none to find.
    pub fn get(&self, key: &Key) -> Option<&Arc<Fields>> {
        self.get_key_value(key).map(|(_, entry)| entry)
    }

    /// The entry with this key, and the key as the list holds it.
    pub fn get_key_value(&self, key: &Key) -> Option<(&Key, &Arc<Fields>)> {
        match &self.entries {
            Entries::Few(entries) => {
                let at = entries.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
                Some((&entries[at].0, &entries[at].1))
            }
            Entries::Many(entries) => entries.get_key_value(key),
            Entries::User(entries) => {
                entries.iter().find(|(other, _)| other == key).map(|(key, entry)| (key, entry))
            }
            Entries::Keyless(_) => None,
        }
    }

    /// The entry with this key, to be changed where it is.
    pub(super) fn get_mut(&mut self, key: &Key) -> Option<&mut Arc<Fields>> {
        match &mut self.entries {
            Entries::Few(entries) => {
                let at = entries.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
                Some(&mut Arc::make_mut(entries)[at].1)
            }
            Entries::User(entries) => {
                let at = entries.iter().position(|(other, _)| other == key)?;
                Some(&mut Arc::make_mut(entries)[at].1)
            }
            Entries::Many(entries) => entries.get_mut(key),
            Entries::Keyless(_) => None,
        }
    }

    /// Sets the entry with this key; a new one goes to the end where the user gives the order.
    pub fn insert(&mut self, key: Key, entry: Arc<Fields>) {
        match &mut self.entries {
            Entries::Few(few) => match few.binary_search_by(|(other, _)| other.cmp(&key)) {
                Ok(at) => *few = replaced(few, at, (key, entry)),
                Err(at) => {
                    let mut all = Vec::with_capacity(few.len() + 1);
                    all.extend_from_slice(&few[..at]);
                    all.push((key, entry));
                    all.extend_from_slice(&few[at..]);
                    self.entries = sorted(all);
                }
            },
            Entries::Many(many) => {
                many.insert(key, entry);
            }
            Entries::User(user) => match user.iter().position(|(other, _)| *other == key) {
                Some(at) => *user = replaced(user, at, (key, entry)),
                None => *user = user.iter().cloned().chain([(key, entry)]).collect(),
            },
            Entries::Keyless(all) => *all = all.iter().cloned().chain([entry]).collect(),
        }
    }

    /// Takes the entry with this key out; false if there was none.
    pub fn remove(&mut self, key: &Key) -> bool {
        let before = self.len();
        match &mut self.entries {
            Entries::Few(entries) | Entries::User(entries) => {
                if entries.iter().any(|(other, _)| other == key) {
                    *entries = entries.iter().filter(|(other, _)| other != key).cloned().collect();
                }
            }
            Entries::Many(entries) => {
                entries.remove(key);
                if entries.len() <= List::FEW {
                    let few = entries.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect();
                    self.entries = Entries::Few(few);
                }
            }
            Entries::Keyless(_) => {}
        }
        self.len() < before
    }

    /// Keys and entries in list order. Keyless entries have an empty key.
    pub fn iter(&self) -> Iter<'_> {
        match &self.entries {
            Entries::Few(entries) | Entries::User(entries) => Iter::Array(entries.iter()),
            Entries::Many(entries) => Iter::Map(entries.iter()),
            Entries::Keyless(entries) => Iter::Keyless(entries.iter()),
        }
    }

    /// The same entries in the same memory: true only if nothing can differ.
    pub fn ptr_eq(&self, other: &List) -> bool {
        match (&self.entries, &other.entries) {
            (Entries::Few(a), Entries::Few(b)) | (Entries::User(a), Entries::User(b)) => Arc::ptr_eq(a, b),
            (Entries::Many(a), Entries::Many(b)) => a.ptr_eq(b),
            (Entries::Keyless(a), Entries::Keyless(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

fn replaced(entries: &[(Key, Arc<Fields>)], at: usize, new: (Key, Arc<Fields>)) -> Arc<[(Key, Arc<Fields>)]> {
    let mut all: Vec<_> = entries.to_vec();
    all[at] = new;
    all.into()
}

/// The right form for entries already in the order of their keys.
pub(super) fn sorted(all: Vec<(Key, Arc<Fields>)>) -> Entries {
    if all.len() <= List::FEW { Entries::Few(all.into()) } else { Entries::Many(all.into_iter().collect()) }
}

/// Iterates over a [`List`].
pub enum Iter<'a> {
    Array(std::slice::Iter<'a, (Key, Arc<Fields>)>),
    Map(imbl::ordmap::Iter<'a, Key, Arc<Fields>, imbl::shared_ptr::DefaultSharedPtr>),
    Keyless(std::slice::Iter<'a, Arc<Fields>>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a Key, &'a Arc<Fields>);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Iter::Array(entries) => entries.next().map(|(key, entry)| (key, entry)),
            Iter::Map(entries) => entries.next(),
            Iter::Keyless(entries) => entries.next().map(|entry| (&*NO_KEY, entry)),
        }
    }
}

impl<'a> IntoIterator for &'a List {
    type Item = (&'a Key, &'a Arc<Fields>);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}
