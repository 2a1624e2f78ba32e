//! The places of derived nodes: one for all entries of a list, however many there are; and the rows of places of keys that
//! derive nodes at the same ones.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::datastore::{Place, Store};
use crate::schema::{DataPath, Node, Schema, SchemaId, Step};

/// Each place once, as long as something stands there.
#[derive(Debug)]
pub(super) struct Places {
    schema: &'static Schema,
    hasher: DefaultHashBuilder,
    held: RwLock<Held>,
}

#[derive(Debug, Default)]
struct Held {
    places: HashTable<Arc<Place>>,
    rows: HashTable<Arc<Row>>,
    /// How many places and rows were left after the last sweep.
    swept: usize,
}

/// Places of the nodes of a key, in their order. Keys of one kind have the same, as a rule.
#[derive(Debug)]
pub(super) struct Row(Box<[Arc<Place>]>);

/// Rows at most. When there are more, keys that nobody shares a row with keep each node with its place.
const MOST: usize = 8_192;

impl Row {
    pub fn places(&self) -> &[Arc<Place>] {
        &self.0
    }

    fn is_of<'a>(&self, mut places: impl Iterator<Item = &'a Arc<Place>>) -> bool {
        self.0.iter().all(|own| places.next().is_some_and(|place| Arc::ptr_eq(own, place)))
            && places.next().is_none()
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        self.is_of(other.0.iter())
    }
}

impl Eq for Row {}

impl Places {
    pub fn new(schema: &'static Schema) -> Places {
        Places { schema, hasher: DefaultHashBuilder::default(), held: RwLock::default() }
    }

    /// The place of a node at this path.
    pub fn of(&self, store: Store, path: DataPath, node: &Node) -> Arc<Place> {
        let hash = match path.steps.split_last() {
            Some((last, above)) => self.hash(last.node, above),
            None => 0,
        };
        let same = |place: &Arc<Place>| place.is_of(self.schema, store, &path, node);
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = held.places.find(hash, same) {
            return place.clone();
        }
        drop(held);
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = held.places.find(hash, same) {
            return place.clone();
        }
        let place = Arc::new(Place::of(self.schema, store, path, node));
        held.places.insert_unique(hash, place.clone(), |place| self.hash(place.node, &place.above));
        place
    }

    /// The row of these places; none where there are too many to have one more.
    pub fn row<'a>(&self, places: impl Iterator<Item = &'a Arc<Place>> + Clone) -> Option<Arc<Row>> {
        let hash = self.row_hash(places.clone());
        let same = |row: &Arc<Row>| row.is_of(places.clone());
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = held.rows.find(hash, same) {
            return Some(row.clone());
        }
        drop(held);
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = held.rows.find(hash, same) {
            return Some(row.clone());
        }
        if held.rows.len() >= MOST {
            return None;
        }
        let row = Arc::new(Row(places.cloned().collect()));
        held.rows.insert_unique(hash, row.clone(), |row| self.row_hash(row.0.iter()));
        Some(row)
    }

    /// Forgets places where nothing stands and rows that no key has, once they may be half of all.
    pub fn sweep(&self) {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        if held.places.len() + held.rows.len() <= 2 * held.swept + 128 {
            return;
        }
        drop(held);
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        held.rows.retain(|row| Arc::strong_count(row) > 1);
        held.places.retain(|place| Arc::strong_count(place) > 1);
        held.swept = held.places.len() + held.rows.len();
    }

    fn row_hash<'a>(&self, places: impl Iterator<Item = &'a Arc<Place>>) -> u64 {
        let mut state = self.hasher.build_hasher();
        places.for_each(|place| Arc::as_ptr(place).hash(&mut state));
        state.finish()
    }

    fn hash(&self, node: SchemaId, above: &[Step]) -> u64 {
        self.hasher.hash_one((node, above))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Fields, builtin};

    #[test]
    fn the_same_places_are_one_row_and_there_are_only_so_many() {
        let places = Places::new(builtin());
        let of = |path: &str| {
            let path = DataPath::root().child(builtin().resolve(path));
            places.of(Store::Config, path, &Fields::default().into())
        };
        let (one, other) = (of("/pod:coe"), of("/elan:elan-instances"));
        assert!(Arc::ptr_eq(&one, &of("/pod:coe")) && !Arc::ptr_eq(&one, &other));
        let row = |number: usize| {
            let all: Vec<_> =
                (0..16).map(|bit| if number >> bit & 1 == 1 { &one } else { &other }).cloned().collect();
            places.row(all.iter())
        };
        let rows: Vec<_> = (0..MOST).map(|number| row(number).unwrap()).collect();
        assert!(Arc::ptr_eq(&rows[5], &row(5).unwrap()) && rows[5] != rows[6]);
        assert_eq!(row(MOST), None, "there are too many");
        drop(rows);
        places.sweep();
        assert!(row(MOST).is_some(), "those that no key has make room");
        assert!(Arc::ptr_eq(&one, &of("/pod:coe")), "places that somebody has stay");
    }
}
