//! What a list can do, whichever form its entries are kept in.

use std::sync::{Arc, LazyLock};

use super::data::{Entries, Few, Key, List};
use super::fields::Fields;
use super::ir::{Kind, Schema, SchemaId};
use super::map;

/// What keyless entries show as their key.
static NO_KEY: LazyLock<Key> = LazyLock::new(|| Key::from_iter([]));

impl From<Entries> for List {
    fn from(entries: Entries) -> List {
        List(Arc::new(entries))
    }
}

impl List {
    /// The form its entries are kept in.
    pub fn entries(&self) -> &Entries {
        &self.0
    }

    /// Up to so many entries live in a sorted array; more become a persistent map.
    pub const FEW: usize = 16;

    /// An empty list of the form that its schema node asks for.
    pub fn empty(schema: &Schema, id: SchemaId) -> List {
        let entries = match &schema.node(id).kind {
            Kind::List { keys, .. } if keys.is_empty() => Entries::Keyless(Default::default()),
            Kind::List { user_ordered: true, .. } => Entries::User(Default::default()),
            _ => Entries::Few(Default::default()),
        };
        List::from(entries)
    }

    /// A list of these entries; of two with one key the later wins.
    pub fn of(schema: &Schema, id: SchemaId, entries: impl IntoIterator<Item = (Key, Fields)>) -> List {
        let mut list = List::empty(schema, id);
        match Arc::make_mut(&mut list.0) {
            Entries::Keyless(all) => *all = entries.into_iter().map(|(_, entry)| entry).collect(),
            Entries::User(_) => entries.into_iter().for_each(|(key, entry)| list.insert(key, entry)),
            _ => {
                let mut all: Vec<_> = entries.into_iter().collect();
                all.sort_by(|(a, _), (b, _)| a.cmp(b));
                all.reverse();
                all.dedup_by(|(a, _), (b, _)| a == b);
                all.reverse();
                list.0 = Arc::new(sorted(all));
            }
        }
        list
    }

    pub fn len(&self) -> usize {
        match &*self.0 {
            Entries::Few(entries) | Entries::User(entries) => entries.len(),
            Entries::Many(entries) => entries.len(),
            Entries::Keyless(entries) => entries.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry with this key; a keyless list has none to find.
    pub fn get(&self, key: &Key) -> Option<&Fields> {
        self.get_key_value(key).map(|(_, entry)| entry)
    }

    /// The entry with this key, and the key as the list holds it.
    pub fn get_key_value(&self, key: &Key) -> Option<(&Key, &Fields)> {
        match &*self.0 {
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
    pub(super) fn get_mut(&mut self, key: &Key) -> Option<&mut Fields> {
        match Arc::make_mut(&mut self.0) {
            Entries::Few(entries) => {
                let at = entries.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
                Some(&mut entries[at].1)
            }
            Entries::User(entries) => {
                let at = entries.iter().position(|(other, _)| other == key)?;
                Some(&mut entries[at].1)
            }
            Entries::Many(entries) => entries.get_mut(key),
            Entries::Keyless(_) => None,
        }
    }

    /// Sets the entry with this key; a new one goes to the end where the user gives the order.
    pub fn insert(&mut self, key: Key, entry: Fields) {
        match Arc::make_mut(&mut self.0) {
            Entries::Few(few) => match few.binary_search_by(|(other, _)| other.cmp(&key)) {
                Ok(at) => few[at] = (key, entry),
                Err(at) => {
                    few.insert(at, (key, entry));
                    if few.len() > List::FEW {
                        let all = std::mem::take(few);
                        self.0 = Arc::new(Entries::Many(all.into_iter().collect()));
                    }
                }
            },
            Entries::Many(many) => {
                many.insert(key, entry);
            }
            Entries::User(user) => match user.iter().position(|(other, _)| *other == key) {
                Some(at) => user[at] = (key, entry),
                None => user.push((key, entry)),
            },
            Entries::Keyless(all) => *all = all.iter().cloned().chain([entry]).collect(),
        }
    }

    /// Takes the entry with this key out; false if there was none.
    pub fn remove(&mut self, key: &Key) -> bool {
        let before = self.len();
        match Arc::make_mut(&mut self.0) {
            Entries::Few(entries) | Entries::User(entries) => {
                entries.retain(|(other, _)| other != key);
            }
            Entries::Many(entries) => {
                entries.remove(key);
                if entries.len() <= List::FEW {
                    let few = entries.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect();
                    self.0 = Arc::new(Entries::Few(few));
                }
            }
            Entries::Keyless(_) => {}
        }
        self.len() < before
    }

    /// Keys and entries in list order. Keyless entries have an empty key.
    pub fn iter(&self) -> Iter<'_> {
        match &*self.0 {
            Entries::Few(entries) | Entries::User(entries) => Iter::Array(entries.iter()),
            Entries::Many(entries) => Iter::Map(entries.iter()),
            Entries::Keyless(entries) => Iter::Keyless(entries.iter()),
        }
    }

    /// The same entries in the same memory: true only if nothing can differ.
    pub fn ptr_eq(&self, other: &List) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || matches!((&*self.0, &*other.0), (Entries::Many(a), Entries::Many(b)) if a.ptr_eq(b))
    }
}

/// An array without room to spare.
fn few(mut all: Vec<(Key, Fields)>) -> Few {
    if all.len() == 1 { all.drain(..).collect() } else { Few::from_vec(all) }
}

/// The right form for entries already in the order of their keys.
pub(super) fn sorted(all: Vec<(Key, Fields)>) -> Entries {
    if all.len() <= List::FEW { Entries::Few(few(all)) } else { Entries::Many(all.into_iter().collect()) }
}

/// Iterates over a [`List`].
pub enum Iter<'a> {
    Array(std::slice::Iter<'a, (Key, Fields)>),
    Map(map::Iter<'a, Key, Fields>),
    Keyless(std::slice::Iter<'a, Fields>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a Key, &'a Fields);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Iter::Array(entries) => entries.next().map(|(key, entry)| (key, entry)),
            Iter::Map(entries) => entries.next(),
            Iter::Keyless(entries) => entries.next().map(|entry| (&*NO_KEY, entry)),
        }
    }
}

impl<'a> IntoIterator for &'a List {
    type Item = (&'a Key, &'a Fields);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}
