//! How full the pools are and what has happened, as nodes of `coeus-dhcp:pools` and `counters`.

use std::collections::BTreeMap;

use super::book::{Book, Tally};
use super::count::Count;
use crate::datastore::{Edit, Store};
use crate::model::AllocationPool;
use crate::schema::{DataPath, Fields, Key, Node, Schema, SchemaId, Text, Value, lexical};

/// How full a pool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    pub state: State,
    pub size: u128,
    pub free: u128,
    pub tally: Tally,
}

/// As the leaf `state` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Normal,
    Low,
    Exhausted,
}

impl Level {
    /// Pools without a range have nobody to run out on.
    pub fn of(pool: &AllocationPool, book: &Book) -> Level {
        let (size, free) = book.room(pool);
        let low = free * 100 <= size * u128::from(pool.low_water);
        let state = match free {
            _ if pool.range().is_none() => State::Normal,
            0 => State::Exhausted,
            _ if low && pool.low_water > 0 => State::Low,
            _ => State::Normal,
        };
        Level { state, size, free, tally: book.tally(pool) }
    }
}

/// The schema nodes.
pub struct Names {
    schema: &'static Schema,
    pools: SchemaId,
    pool: SchemaId,
    counters: SchemaId,
}

impl Names {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &'static Schema) -> Names {
        Names {
            schema,
            pools: schema.resolve("/coeus-dhcp:pools"),
            pool: schema.resolve("/coeus-dhcp:pools/pool"),
            counters: schema.resolve("/coeus-dhcp:counters"),
        }
    }

    pub fn level(&self, network: &Text, subnet: &Text, level: Option<&Level>) -> Edit {
        let key: Key = [network, subnet].into_iter().map(|text| Value::Text(text.clone())).collect();
        let path = DataPath::root().child(self.pools).entry(self.pool, key);
        let Some(level) = level else { return Edit::remove(Store::Operational, path) };
        let number = |number: u128| u64::try_from(number).unwrap_or(u64::MAX).to_string();
        let fields = [
            ("network-id", network.to_string()),
            ("subnet", subnet.to_string()),
            ("state", format!("{:?}", level.state).to_lowercase()),
            ("size", number(level.size)),
            ("free", number(level.free)),
            ("leases", level.tally.leases.to_string()),
            ("offers", level.tally.offers.to_string()),
        ];
        Edit::put(Store::Operational, path, self.fields(self.pool, fields))
    }

    /// The counters; they are not kept across restarts.
    pub fn counters(&self, counts: &BTreeMap<Count, u64>) -> Edit {
        let fields = counts
            .iter()
            .map(|(count, number)| (format!("{count:?}").to_lowercase(), number.to_string()))
            .collect::<Vec<_>>();
        let fields = fields.iter().map(|(name, number)| (&**name, number.clone()));
        let path = DataPath::root().child(self.counters);
        Edit::put(Store::Operational, path, self.fields(self.counters, fields))
    }

    fn fields<'a>(&self, parent: SchemaId, leafs: impl IntoIterator<Item = (&'a str, String)>) -> Node {
        let leaf = |(name, text): (&str, String)| {
            let id = self.schema.child(Some(parent), None, name)?;
            Some((id, Node::Leaf(lexical::parse_value(self.schema, id, &text).ok()?)))
        };
        Fields::of(leafs.into_iter().filter_map(leaf).collect()).into()
    }
}
