//! Lists: arrays of entries.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};

use super::visit::{FieldsVisitor, wrong};
use crate::schema::body::{At, BodyErrorKind, Reader, gathered, next_entry};
use crate::schema::{Fields, Key, List};

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
        self.reader.fault(Some(self.at), BodyErrorKind::InvalidValue, message)?;
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
        let number = Cell::new(0);
        let at = At { entry: Some(&number), ..*self.at };
        let mut all: Vec<(Key, Fields)> = Vec::new();
        loop {
            number.set(number.get() + 1);
            let seed = EntrySeed { reader, at: &at, depth: self.depth + 1, expected: self.expected };
            let Some(entry) = seq.next_element_seed(seed)? else { break };
            all.extend(entry);
        }
        gathered(reader, self.at, all)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<List>, E> {
        if self.reader.lenient() { Ok(None) } else { self.wrong("null") }
    }

    wrong!(scalars object);
}

/// One entry of a list.
struct EntrySeed<'a> {
    reader: &'a Reader<'a>,
    at: &'a At<'a>,
    depth: usize,
    expected: Option<&'a Key>,
}

impl<'de> DeserializeSeed<'de> for EntrySeed<'_> {
    type Value = Option<(Key, Fields)>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        let EntrySeed { reader, at, depth, expected } = self;
        let first_error = reader.error_count();
        let read = json.deserialize_any(FieldsVisitor { reader, at: Some(at), depth })?;
        let Some(members) = read else { return Ok(None) };
        next_entry(reader, at, members, first_error, expected)
    }
}
