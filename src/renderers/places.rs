//! The places of derived nodes: one for all entries of a list, however many there are.

use std::hash::BuildHasher;
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
    /// How many were left after the last sweep.
    swept: usize,
}

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

    /// Forgets places where nothing stands, once they may be half of all.
    pub fn sweep(&self) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if held.places.len() <= 2 * held.swept + 64 {
            return;
        }
        held.places.retain(|place| Arc::strong_count(place) > 1);
        held.swept = held.places.len();
    }

    fn hash(&self, node: SchemaId, above: &[Step]) -> u64 {
        self.hasher.hash_one((node, above))
    }
}
