//! The outermost object of a body (RFC 8040 section 4): one member, named as the resource.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};

use super::entries::ListVisitor;
use super::scalars::LeafListVisitor;
use super::visit::{FieldsVisitor, NodeSeed, wrong};
use crate::schema::body::{At, BodyErrorKind, Members, Reader, keyed_entry};
use crate::schema::names::{NameError, find_child};
use crate::schema::{DataPath, Key, Kind, Node, Schema, SchemaId};

/// Body of PUT and PATCH.
pub struct ResourceVisitor<'a> {
    pub reader: &'a Reader<'a>,
    pub target: &'a DataPath,
}

/// Body of POST.
pub struct ChildVisitor<'a> {
    pub reader: &'a Reader<'a>,
}

/// Finds a member's node below the base, at the top of a body: there, strict names are always qualified.
fn find_top(
    schema: &Schema,
    parent: Option<SchemaId>,
    name: &str,
    lenient: bool,
) -> Result<SchemaId, NameError> {
    let found = find_child(schema, parent, name, lenient)?;
    if lenient || name.contains(':') {
        return Ok(found);
    }
    let module = &schema.module(schema.node(found).module).name;
    Err(NameError::Unknown(format!("the outermost member must carry its module: send \"{module}:{name}\"")))
}

impl<'de> Visitor<'de> for ResourceVisitor<'_> {
    type Value = Option<Node>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Node>, A::Error> {
        let (reader, lenient) = (self.reader, self.reader.lenient());
        let Some(name) = map.next_key::<String>()? else {
            let message = format!("the body is an empty object; send {{\"{}\": …}}", self.own_name());
            reader.fault(None, BodyErrorKind::MissingElement, message)?;
            return Ok(None);
        };
        let Some(id) = self.target.last_node() else { return self.datastore(&name, map) };
        let parent = reader.base.last_node();
        let found = find_top(reader.schema, parent, &name, lenient);
        if found.as_ref() == Ok(&id) {
            let node = self.framed(id, &mut map)?;
            no_more(reader, &mut map)?;
            return Ok(node);
        }
        let child = find_child(reader.schema, Some(id), &name, true);
        if lenient && self.is_fields(id) && child.is_ok() {
            return self.bare(id, child, map);
        }
        map.next_value::<IgnoredAny>()?;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        let kind = if matches!(found, Err(NameError::Namespace(_))) {
            BodyErrorKind::UnknownNamespace
        } else {
            BodyErrorKind::UnknownElement
        };
        let message = format!(
            "member {name:?} is not the resource that the URL names; send one member \"{}\"",
            self.own_name()
        );
        reader.fault(None, kind, message)?;
        Ok(None)
    }

    wrong!(scalars array);

    fn visit_unit<E: Error>(self) -> Result<Option<Node>, E> {
        self.wrong("null")
    }
}

impl ResourceVisitor<'_> {
    fn wrong<E: Error>(&self, found: &str) -> Result<Option<Node>, E> {
        let message = format!("the body is {found}; send an object with the member \"{}\"", self.own_name());
        self.reader.fault(None, BodyErrorKind::MalformedMessage, message)?;
        Ok(None)
    }

    fn own_name(&self) -> String {
        match self.target.last_node() {
            Some(id) => {
                let node = self.reader.schema.node(id);
                format!("{}:{}", self.reader.schema.module(node.module).name, node.name)
            }
            None => "ietf-restconf:data".into(),
        }
    }

    fn key(&self) -> Option<&Key> {
        self.target.steps.last().and_then(|step| step.key.as_ref())
    }

    /// Container or list entry: something whose children may stand alone in a lenient body.
    fn is_fields(&self, id: SchemaId) -> bool {
        match &self.reader.schema.node(id).kind {
            Kind::Container { .. } => true,
            Kind::List { .. } => self.key().is_some(),
            _ => false,
        }
    }

    /// The value of the member that is named as the target.
    fn framed<'de, A: MapAccess<'de>>(&self, id: SchemaId, map: &mut A) -> Result<Option<Node>, A::Error> {
        let reader = self.reader;
        let at = At { above: None, node: id, entry: None };
        match (&reader.schema.node(id).kind, self.key()) {
            (Kind::List { .. }, Some(key)) => {
                let list = map.next_value_seed(Seed(ListVisitor {
                    reader,
                    at: &at,
                    depth: 0,
                    expected: Some(key),
                }))?;
                let Some(list) = list else { return Ok(None) };
                let mut entries = list.iter();
                match (entries.next(), entries.next()) {
                    (Some((_, entry)), None) => Ok(Some(Node::Container(entry.clone()))),
                    (first, _) if first.is_some() || reader.error_count() == 0 => {
                        let message =
                            format!("the URL names one entry, the body has {}; send one", list.len());
                        reader.fault(Some(&at), BodyErrorKind::BadElement, message)?;
                        Ok(None)
                    }
                    _ => Ok(None),
                }
            }
            (Kind::LeafList { type_, .. }, Some(key)) => {
                let node = map.next_value_seed(Seed(LeafListVisitor { reader, at: &at, type_ }))?;
                match node {
                    Some(Node::LeafList(values)) if values.iter().eq(key.values()) => {
                        Ok(values.iter().next().cloned().map(Node::Leaf))
                    }
                    _ => {
                        reader.other_value(&at, key)?;
                        Ok(None)
                    }
                }
            }
            (Kind::Container { .. }, _) => {
                let read = map.next_value_seed(Seed(FieldsVisitor { reader, at: Some(&at), depth: 0 }))?;
                Ok(read.map(|members| Node::from(members.into_fields())))
            }
            _ => map.next_value_seed(NodeSeed { reader, at: &at, depth: 0 }),
        }
    }

    /// The children of the target without the target around them.
    fn bare<'de, A: MapAccess<'de>>(
        &self,
        id: SchemaId,
        first: Result<SchemaId, NameError>,
        map: A,
    ) -> Result<Option<Node>, A::Error> {
        let inner = Reader::new(self.reader.schema, self.reader.mode, self.target);
        let read = FieldsVisitor { reader: &inner, at: None, depth: 0 }.members(map, Some(first));
        self.reader.errors.borrow_mut().append(&mut inner.errors.borrow_mut());
        let members = read?;
        let Some(key) = self.key() else { return Ok(Some(Node::from(members.into_fields()))) };
        let at = At { above: None, node: id, entry: None };
        let entry = keyed_entry(self.reader, &at, members, Some(key))?;
        Ok(entry.map(|(_, fields)| Node::from(fields)))
    }

    fn datastore<'de, A: MapAccess<'de>>(&self, name: &str, mut map: A) -> Result<Option<Node>, A::Error> {
        let reader = self.reader;
        let fields = FieldsVisitor { reader, at: None, depth: 0 };
        if name == "ietf-restconf:data" || reader.lenient() && name == "data" {
            let members: Option<Members> = map.next_value_seed(Seed(fields))?;
            no_more(reader, &mut map)?;
            return Ok(members.map(|members| Node::from(members.into_fields())));
        }
        if reader.lenient() {
            let first = find_child(reader.schema, None, name, true);
            return fields.members(map, Some(first)).map(|members| Some(Node::from(members.into_fields())));
        }
        map.next_value::<IgnoredAny>()?;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        let message = format!("member {name:?} is not the datastore; send one member \"ietf-restconf:data\"");
        reader.fault(None, BodyErrorKind::UnknownElement, message)?;
        Ok(None)
    }
}

impl<'de> Visitor<'de> for ChildVisitor<'_> {
    type Value = Option<(DataPath, Node)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let reader = self.reader;
        let Some(name) = map.next_key::<String>()? else {
            let message = "the body is an empty object; send the one child to create".to_owned();
            reader.fault(None, BodyErrorKind::MissingElement, message)?;
            return Ok(None);
        };
        let id = match find_top(reader.schema, reader.base.last_node(), &name, reader.lenient()) {
            Ok(id) => id,
            Err(error) => {
                map.next_value::<IgnoredAny>()?;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                reader.unknown(None, &error)?;
                return Ok(None);
            }
        };
        let at = At { above: None, node: id, entry: None };
        let child = match &reader.schema.node(id).kind {
            Kind::Container { .. } => {
                let read = map.next_value_seed(Seed(FieldsVisitor { reader, at: Some(&at), depth: 0 }))?;
                read.map(|members| Node::from(members.into_fields()))
            }
            _ => map.next_value_seed(NodeSeed { reader, at: &at, depth: 0 })?,
        };
        no_more(reader, &mut map)?;
        let Some(child) = child else { return Ok(None) };
        let one = match &child {
            Node::List(list) if !list.iter().any(|(key, _)| key.is_empty()) => {
                let mut entries = list.iter().map(|(key, entry)| (key.clone(), entry.clone()));
                entries.next().filter(|_| list.len() == 1).map(|(key, entry)| (key, Node::Container(entry)))
            }
            Node::LeafList(values) => {
                let only = values.iter().next().filter(|_| values.len() == 1);
                only.map(|value| (Key::one(value.clone()), Node::Leaf(value.clone())))
            }
            _ => return Ok(Some((reader.base.clone().child(id), child))),
        };
        match one {
            Some((key, node)) => Ok(Some((reader.base.clone().entry(id, key), node))),
            None => {
                let message = "a POST creates one entry; send an array of one, or PUT the parent".to_owned();
                reader.fault(Some(&at), BodyErrorKind::BadElement, message)?;
                Ok(None)
            }
        }
    }

    wrong!(scalars array);

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        self.wrong("null")
    }
}

impl ChildVisitor<'_> {
    fn wrong<T, E: Error>(&self, found: &str) -> Result<Option<T>, E> {
        let message = format!("the body is {found}; send an object with the one child to create");
        self.reader.fault(None, BodyErrorKind::MalformedMessage, message)?;
        Ok(None)
    }
}

/// The body has one member only.
pub fn no_more<'de, A: MapAccess<'de>>(reader: &Reader<'_>, map: &mut A) -> Result<(), A::Error> {
    let mut more = None;
    while let Some((name, _)) = map.next_entry::<String, IgnoredAny>()? {
        more = Some(name);
    }
    match more {
        Some(name) => {
            let message = format!("the body has a second member {name:?}; one request is about one resource");
            reader.fault(None, BodyErrorKind::BadElement, message)
        }
        None => Ok(()),
    }
}

/// Lets a visitor read the value of a member.
pub struct Seed<V>(pub V);

impl<'de, V: Visitor<'de>> serde::de::DeserializeSeed<'de> for Seed<V> {
    type Value = V::Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<V::Value, D::Error> {
        json.deserialize_any(self.0)
    }
}
