//! Lists: arrays of entries, their keys, and positions in place of keys.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use smallvec::SmallVec;

use super::JsonErrorKind;
use super::reader::{At, Reader};
use super::visit::{FieldsVisitor, Members, wrong};
use crate::schema::lexical::{parse_value, value_text};
use crate::schema::{DataPath, Entries, Fields, Key, Kind, List, Node, SchemaId, Value};

/// The keys, and whether positions may stand in for them.
#[derive(Clone, Copy)]
struct Keys<'a> {
    leafs: &'a [SchemaId],
    positional: bool,
}

/// An array of list entries.
pub struct ListVisitor<'a> {
    pub reader: &'a Reader<'a>,
    pub at: &'a At<'a>,
    pub depth: usize,
    /// The key that the URL names: lenient bodies may leave it out.
    pub expected: Option<&'a Key>,
}

impl ListVisitor<'_> {
    fn wrong<E: Error>(&self, found: &str) -> Result<Option<List>, E> {
        let node = self.reader.schema.node(self.at.node);
        let message = format!("{} is a list: send an array of objects, not {found}", node.name);
        self.reader.fault(Some(self.at), JsonErrorKind::InvalidValue, message)?;
        Ok(None)
    }
}

impl<'de> Visitor<'de> for ListVisitor<'_> {
    type Value = Option<List>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Option<List>, A::Error> {
        let reader = self.reader;
        let Kind::List { keys, positional, user_ordered, .. } = &reader.schema.node(self.at.node).kind else {
            return Ok(None);
        };
        let keys = Keys { leafs: keys, positional: *positional };
        let number = Cell::new(0);
        let at = At { entry: Some(&number), ..*self.at };
        let mut all: Vec<(Key, Arc<Fields>)> = Vec::new();
        let mut sorted = true;
        loop {
            number.set(number.get() + 1);
            let seed = EntrySeed { reader, at: &at, depth: self.depth + 1, keys, expected: self.expected };
            let Some(entry) = seq.next_element_seed(seed)? else { break };
            let Some((key, fields)) = entry else { continue };
            sorted = sorted && all.last().is_none_or(|(last, _)| *last < key);
            all.push((key, Arc::new(fields)));
        }
        if keys.leafs.is_empty() {
            let entries = all.into_iter().map(|(_, entry)| entry).collect();
            return Ok(Some(List { entries: Entries::Keyless(entries) }));
        }
        if !sorted {
            self.refuse_twins(&all)?;
        }
        if *user_ordered {
            return Ok(Some(List { entries: Entries::User(all.into()) }));
        }
        Ok(Some(List::of(reader.schema, self.at.node, all)))
    }

    fn visit_unit<E: Error>(self) -> Result<Option<List>, E> {
        if self.reader.lenient() { Ok(None) } else { self.wrong("null") }
    }

    wrong!(scalars object);
}

impl ListVisitor<'_> {
    fn refuse_twins<E: Error>(&self, all: &[(Key, Arc<Fields>)]) -> Result<(), E> {
        let mut keys: Vec<&Key> = all.iter().map(|(key, _)| key).collect();
        keys.sort();
        for pair in keys.windows(2).filter(|pair| pair[0] == pair[1]) {
            let name = &self.reader.schema.node(self.at.node).name;
            let shown = DataPath::root().entry(self.at.node, pair[0].clone()).display(self.reader.schema);
            let shown = shown.split_once('[').map_or("", |(_, key)| key.trim_end_matches(']'));
            let message = format!("two entries of {name} have the key {shown}; send each entry once");
            self.reader.fault(Some(self.at), JsonErrorKind::Duplicate, message)?;
        }
        Ok(())
    }
}

/// One entry of a list.
struct EntrySeed<'a> {
    reader: &'a Reader<'a>,
    at: &'a At<'a>,
    depth: usize,
    keys: Keys<'a>,
    expected: Option<&'a Key>,
}

impl<'de> DeserializeSeed<'de> for EntrySeed<'_> {
    type Value = Option<(Key, Fields)>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        let EntrySeed { reader, at, depth, keys, expected } = self;
        let first_error = reader.error_count();
        let read = json.deserialize_any(FieldsVisitor { reader, at: Some(at), depth })?;
        let Some(members) = read else { return Ok(None) };
        let position = at.entry.map_or(0, Cell::get);
        let entry = keyed(reader, at, members, keys, position, expected)?;
        if let Some((key, _)) = &entry
            && reader.error_count() > first_error
            && !keys.leafs.is_empty()
        {
            let by_position = reader.path(Some(at));
            let shown = DataPath::root().entry(at.node, key.clone()).display(reader.schema);
            let predicate = shown.find('[').map_or("", |at| &shown[at..]);
            let bare = by_position.rsplit_once('[').map_or(&*by_position, |(bare, _)| bare);
            reader.name_entry(first_error, &by_position, &format!("{bare}{predicate}"));
        }
        Ok(entry)
    }
}

/// Takes the key out of the members of an entry, or puts it in where it may be absent.
pub fn keyed_entry<E: Error>(
    reader: &Reader<'_>,
    at: &At<'_>,
    members: Members,
    expected: Option<&Key>,
) -> Result<Option<(Key, Fields)>, E> {
    let Kind::List { keys, positional, .. } = &reader.schema.node(at.node).kind else { return Ok(None) };
    keyed(reader, at, members, Keys { leafs: keys, positional: *positional }, 1, expected)
}

fn keyed<E: Error>(
    reader: &Reader<'_>,
    at: &At<'_>,
    mut members: Members,
    keys: Keys<'_>,
    position: usize,
    expected: Option<&Key>,
) -> Result<Option<(Key, Fields)>, E> {
    let schema = reader.schema;
    let mut values: SmallVec<[Value; 1]> = SmallVec::new();
    let mut missing = Vec::new();
    for (nth, leaf) in keys.leafs.iter().enumerate() {
        let given = members.children.iter().find(|(id, _)| id == leaf).and_then(|(_, node)| node.as_leaf());
        if let Some(value) = given {
            values.push(value.clone());
            continue;
        }
        let stand_in = if members.seen.contains(leaf) {
            None
        } else if let Some(key) = expected.filter(|_| reader.lenient()) {
            key.0.get(nth).cloned()
        } else if keys.positional {
            parse_value(schema, *leaf, &position.to_string()).ok()
        } else {
            None
        };
        match stand_in {
            Some(value) => {
                values.push(value.clone());
                members.children.push((*leaf, Node::Leaf(value)));
            }
            None => missing.push(*leaf),
        }
    }
    for leaf in &missing {
        let name = &schema.node(*leaf).name;
        // A key that was sent, but with a wrong value, has been reported with its value.
        if !members.seen.contains(leaf) || reader.error_count() == 0 {
            let list = &schema.node(at.node).name;
            let message = format!("the entry of {list} has no key; send its leaf {name}");
            reader.fault(Some(at), JsonErrorKind::MissingElement, message)?;
        }
    }
    if !missing.is_empty() {
        return Ok(None);
    }
    if let Some(expected) = expected {
        for ((leaf, value), wanted) in keys.leafs.iter().zip(&values).zip(&expected.0) {
            if value != wanted {
                let name = &schema.node(*leaf).name;
                let (sent, wanted) = (value_text(schema, *leaf, value), value_text(schema, *leaf, wanted));
                let message =
                    format!("key {name} is {sent:?} in the body, but {wanted:?} in the URL; they must agree");
                reader.fault(Some(at), JsonErrorKind::InvalidValue, message)?;
            }
        }
    }
    Ok(Some((Key(values), members.into_fields())))
}
