//! The outermost object of the body of an operation (RFC 8040 section 3.6).

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};

use super::frame::{Seed, no_more};
use super::visit::{FieldsVisitor, wrong};
use crate::schema::body::{At, BodyErrorKind, Members, Reader};

/// Which side of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Input,
    Output,
}

impl Part {
    pub fn name(self) -> &'static str {
        match self {
            Part::Input => "input",
            Part::Output => "output",
        }
    }
}

/// One member, `module:input` or `module:output`; the base of the reader ends in the operation.
pub struct PartVisitor<'a> {
    pub reader: &'a Reader<'a>,
    pub part: Part,
}

impl<'de> Visitor<'de> for PartVisitor<'_> {
    type Value = Option<Members>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Members>, A::Error> {
        let (reader, schema, part) = (self.reader, self.reader.schema, self.part.name());
        let Some(name) = map.next_key::<String>()? else { return Ok(Some(Members::default())) };
        let Some(operation) = reader.base.last_node() else { return Ok(None) };
        let node = schema.node(operation);
        let module = &schema.module(node.module).name;
        let id = match self.part {
            Part::Input => schema.input(operation),
            Part::Output => schema.output(operation),
        };
        let named = match name.split_once(':') {
            Some((prefix, local)) => local == part && *prefix == **module,
            None => name == part && reader.lenient(),
        };
        let Some(id) = id.filter(|_| named) else {
            map.next_value::<IgnoredAny>()?;
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            let message =
                format!("member {name:?} is not the {part} of {}; send \"{module}:{part}\"", node.name);
            reader.fault(None, BodyErrorKind::UnknownElement, message)?;
            return Ok(None);
        };
        let at = At { above: None, node: id, entry: None };
        let members = map.next_value_seed(Seed(FieldsVisitor { reader, at: Some(&at), depth: 0 }))?;
        no_more(reader, &mut map)?;
        Ok(members)
    }

    wrong!(scalars array);

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        self.wrong("null")
    }
}

impl PartVisitor<'_> {
    fn wrong<T, E: Error>(&self, found: &str) -> Result<Option<T>, E> {
        let message = format!("the body is {found}; send an object with the member {}", self.part.name());
        self.reader.fault(None, BodyErrorKind::MalformedMessage, message)?;
        Ok(None)
    }
}
