//! What a list can do, whichever form its entries are kept in.

use std::sync::LazyLock;

use triomphe::Arc;

use super::data::{Entries, Key, List};
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
        let list = List::empty(schema, id);
        match list.entries() {
            Entries::Keyless(_) => {
                Entries::Keyless(entries.into_iter().map(|(_, entry)| entry).collect()).into()
            }
            Entries::User(_) => {
                let mut all: Vec<(Key, Fields)> = Vec::new();
                for (key, entry) in entries {
                    match all.iter_mut().find(|(other, _)| *other == key) {
                        Some(held) => *held = (key, entry),
                        None => all.push((key, entry)),
                    }
                }
                Entries::User(all.into()).into()
            }
            _ => List::system_ordered(entries.into_iter().collect()),
        }
    }

    /// A list that the system orders, of these entries; of two with one key the later wins.
    pub fn system_ordered(mut all: Vec<(Key, Fields)>) -> List {
        if !all.is_sorted_by(|(one, _), (other, _)| one < other) {
            all.sort_by(|(a, _), (b, _)| a.cmp(b));
            all.reverse();
            all.dedup_by(|(a, _), (b, _)| a == b);
            all.reverse();
        }
        sorted(all).into()
    }

    pub fn len(&self) -> usize {
        match &*self.0 {
            Entries::One(_) => 1,
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
        let found = match &*self.0 {
            Entries::One(only) => Some(only).filter(|(other, _)| other == key),
            Entries::Few(entries) => {
                let at = entries.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
                entries.get(at)
            }
            Entries::User(entries) => entries.iter().find(|(other, _)| other == key),
            Entries::Many(entries) => return entries.get_key_value(key),
            Entries::Keyless(_) => None,
        };
        found.map(|(key, entry)| (key, entry))
    }

    /// The entry with this key, to be changed where it is.
    pub(super) fn get_mut(&mut self, key: &Key) -> Option<&mut Fields> {
        let found = match Arc::make_mut(&mut self.0) {
            Entries::One(only) => Some(only).filter(|(other, _)| other == key),
            Entries::Few(entries) => {
                let at = entries.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
                entries.get_mut(at)
            }
            Entries::User(entries) => entries.iter_mut().find(|(other, _)| other == key),
            Entries::Many(entries) => return entries.get_mut(key),
            Entries::Keyless(_) => None,
        };
        found.map(|(_, entry)| entry)
    }

    /// Sets the entry with this key; a new one goes to the end where the user gives the order.
    pub fn insert(&mut self, key: Key, entry: Fields) {
        let entries = Arc::make_mut(&mut self.0);
        match entries {
            Entries::Many(many) => {
                many.insert(key, entry);
            }
            Entries::User(user) => match user.iter_mut().find(|(other, _)| *other == key) {
                Some(held) => *held = (key, entry),
                None => *user = with(user, user.len(), (key, entry)).into(),
            },
            Entries::Keyless(all) => *all = all.iter().cloned().chain([entry]).collect(),
            Entries::One(only) if only.0 == key => *only = (key, entry),
            Entries::One(only) => {
                let first = std::mem::replace(only, (key, entry));
                *entries = match std::mem::replace(entries, Entries::Few(Box::default())) {
                    Entries::One(second) if second.0 < first.0 => Entries::Few([second, first].into()),
                    Entries::One(second) => Entries::Few([first, second].into()),
                    other => other,
                };
            }
            Entries::Few(few) => match few.binary_search_by(|(other, _)| other.cmp(&key)) {
                Ok(at) => few[at] = (key, entry),
                Err(at) => *entries = sorted(with(few, at, (key, entry))),
            },
        }
    }

    /// Takes the entry with this key out; false if there was none.
    pub fn remove(&mut self, key: &Key) -> bool {
        let before = self.len();
        let entries = Arc::make_mut(&mut self.0);
        match entries {
            Entries::One(only) if only.0 == *key => *entries = Entries::Few(Box::default()),
            Entries::One(_) | Entries::Keyless(_) => {}
            Entries::Few(few) => *entries = sorted(without(few, key)),
            Entries::User(user) => *user = without(user, key).into(),
            Entries::Many(many) => {
                many.remove(key);
                if many.len() <= List::FEW {
                    *entries = sorted(many.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect());
                }
            }
        }
        self.len() < before
    }

    /// Keys and entries in list order. Keyless entries have an empty key.
    pub fn iter(&self) -> Iter<'_> {
        match &*self.0 {
            Entries::One(only) => Iter::Array(std::slice::from_ref(only).iter()),
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

/// The entries with one more at this place.
fn with(entries: &mut Box<[(Key, Fields)]>, at: usize, entry: (Key, Fields)) -> Vec<(Key, Fields)> {
    let mut all = std::mem::take(entries).into_vec();
    all.reserve_exact(1);
    all.insert(at, entry);
    all
}

/// The entries without that of this key.
fn without(entries: &mut Box<[(Key, Fields)]>, key: &Key) -> Vec<(Key, Fields)> {
    let mut all = std::mem::take(entries).into_vec();
    all.retain(|(other, _)| other != key);
    all
}

/// The right form for entries already in the order of their keys.
pub(super) fn sorted(mut all: Vec<(Key, Fields)>) -> Entries {
    match all.len() {
        1 => all.pop().map_or_else(|| Entries::Few(Box::default()), Entries::One),
        ..=List::FEW => Entries::Few(all.into()),
        _ => Entries::Many(Box::new(all.into_iter().collect())),
    }
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
