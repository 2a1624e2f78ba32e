//! Visitors that build nodes straight from the JSON text, driven by the schema: no tree of JSON values in between.
//! `None` stands for an absent node, or for one whose fault has been recorded.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::entries::ListVisitor;
use super::scalars::{LeafListVisitor, ScalarVisitor, anydata};
use crate::schema::body::{At, BodyErrorKind, Members, Reader};
use crate::schema::names::{NameError, find_child, kind_name};
use crate::schema::{Kind, Node, SchemaId};

/// Faults for every JSON type that a visitor has no use for. `self.wrong(what)` says it.
macro_rules! wrong {
    (@one scalars) => {
        fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<Self::Value, E> {
            self.wrong("a boolean")
        }
        fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<Self::Value, E> {
            self.wrong("a number")
        }
        fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<Self::Value, E> {
            self.wrong("a number")
        }
        fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Self::Value, E> {
            self.wrong("a number")
        }
        fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Self::Value, E> {
            self.wrong("a string")
        }
    };
    (@one object) => {
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
            self.wrong("an object")
        }
    };
    (@one array) => {
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<serde::de::IgnoredAny>()?.is_some() {}
            self.wrong("an array")
        }
    };
    ($($what:ident)*) => { $(wrong!(@one $what);)* };
}
pub(super) use wrong;

/// Reads the value of one member as the node it must be.
#[derive(Clone, Copy)]
pub struct NodeSeed<'a> {
    pub reader: &'a Reader<'a>,
    pub at: &'a At<'a>,
    pub depth: usize,
}

impl<'de> DeserializeSeed<'de> for NodeSeed<'_> {
    type Value = Option<Node>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Option<Node>, D::Error> {
        let NodeSeed { reader, at, depth } = self;
        match &reader.schema.node(at.node).kind {
            Kind::Container { presence } => {
                let fields = json.deserialize_any(FieldsVisitor { reader, at: Some(at), depth })?;
                let fields = fields.map(Members::into_fields);
                Ok(fields.filter(|fields| *presence || !fields.is_empty()).map(Node::from))
            }
            Kind::List { .. } => {
                let list = json.deserialize_any(ListVisitor { reader, at, depth, expected: None })?;
                Ok(list.filter(|list| !list.is_empty()).map(Node::List))
            }
            Kind::LeafList { type_, .. } => json.deserialize_any(LeafListVisitor { reader, at, type_ }),
            Kind::Leaf { type_, .. } => Ok(json
                .deserialize_any(ScalarVisitor { reader, at, type_, required: false })?
                .map(Node::Leaf)),
            Kind::Any { .. } => anydata(reader, at, json),
            Kind::Input | Kind::Output | Kind::Notification => {
                let read = json.deserialize_any(FieldsVisitor { reader, at: Some(at), depth })?;
                Ok(read.map(|read| Node::from(read.into_fields())))
            }
            Kind::Rpc => {
                json.deserialize_ignored_any(IgnoredAny)?;
                reader.fault(Some(at), BodyErrorKind::BadElement, "an operation holds no data".into())?;
                Ok(None)
            }
        }
    }
}

/// An object whose members are children of a node (`at`), or of the base of the reader.
pub struct FieldsVisitor<'a> {
    pub reader: &'a Reader<'a>,
    pub at: Option<&'a At<'a>>,
    pub depth: usize,
}

impl<'de> Visitor<'de> for FieldsVisitor<'_> {
    type Value = Option<Members>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<Members>, A::Error> {
        self.members(map, None).map(Some)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<Members>, E> {
        if self.reader.lenient() { Ok(None) } else { self.wrong("null") }
    }

    wrong!(scalars array);
}

impl FieldsVisitor<'_> {
    fn wrong<T, E: Error>(&self, found: &str) -> Result<Option<T>, E> {
        let message = match self.at {
            Some(at) => {
                let node = self.reader.schema.node(at.node);
                format!("{} is {}: send an object, not {found}", node.name, kind_name(&node.kind))
            }
            None => format!("the body must be a JSON object, not {found}"),
        };
        let kind =
            if self.at.is_some() { BodyErrorKind::InvalidValue } else { BodyErrorKind::MalformedMessage };
        self.reader.fault(self.at, kind, message)?;
        Ok(None)
    }

    /// Reads all members; the name of the first may have been read before.
    pub fn members<'de, A: MapAccess<'de>>(
        &self,
        mut map: A,
        mut first: Option<Result<SchemaId, NameError>>,
    ) -> Result<Members, A::Error> {
        let reader = self.reader;
        let parent = self.at.map(|at| at.node).or_else(|| reader.base.last_node());
        let mut members = Members::default();
        loop {
            let name = match first.take() {
                Some(name) => name,
                None => match map.next_key_seed(NameSeed { reader, parent })? {
                    Some(name) => name,
                    None => break,
                },
            };
            let id = match name {
                Ok(id) => id,
                Err(error) => {
                    map.next_value::<IgnoredAny>()?;
                    reader.unknown(self.at, &error)?;
                    continue;
                }
            };
            let at = At { above: self.at, node: id, entry: None };
            if !members.see(reader, &at)? {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let node = map.next_value_seed(NodeSeed { reader, at: &at, depth: self.depth + 1 })?;
            let Some(node) = node else { continue };
            members.add(reader, &at, node)?;
        }
        Ok(members)
    }
}

/// Reads a member name and finds what it means below `parent`.
pub struct NameSeed<'a> {
    pub reader: &'a Reader<'a>,
    pub parent: Option<SchemaId>,
}

impl<'de> DeserializeSeed<'de> for NameSeed<'_> {
    type Value = Result<SchemaId, NameError>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for NameSeed<'_> {
    type Value = Result<SchemaId, NameError>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(find_child(self.reader.schema, self.parent, name, self.reader.lenient()))
    }
}
