//! Reading: the entry points, one for each way in which a body is framed.

use super::elements::Elements;
use super::pull::{Fragment, Pull, RESTCONF, Step, Stop, Tag};
use crate::schema::body::{
    At, BodyError, BodyErrorKind, BodyErrors, Members, Mode, Reader, gathered, gathered_values, next_entry,
};
use crate::schema::{DataPath, Fields, Key, Kind, Node, Schema, SchemaId};

/// Elements that are the children of `parent` (`None`: of the datastore), side by side, without framing.
///
/// # Errors
/// All that was found, up to 20.
pub fn parse(schema: &Schema, parent: Option<SchemaId>, text: &[u8]) -> Result<Fields, BodyErrors> {
    let base = DataPath::of_node(schema, parent);
    let document = whole(text)?;
    read(schema, &base, document, |elements| {
        elements.members(None, parent).map(|members| Some(members.into_fields()))
    })
}

/// The body of a PUT or plain PATCH on `target`: the element of the target; for the datastore `data`. A list entry must
/// have the key that the URL has. A whole list can only have one entry in XML.
///
/// # Errors
/// All that was found, up to 20.
pub fn parse_resource(schema: &Schema, target: &DataPath, text: &[u8]) -> Result<Node, BodyErrors> {
    parse_resource_in(schema, target, whole(text)?)
}

/// The same, for an element inside of another document, as in a YANG Patch.
///
/// # Errors
/// All that was found, up to 20.
pub fn parse_resource_in(
    schema: &Schema,
    target: &DataPath,
    fragment: Fragment<'_>,
) -> Result<Node, BodyErrors> {
    let base = target.parent().unwrap_or_default();
    read(schema, &base, fragment, |elements| elements.resource(target))
}

/// The body of a POST on `parent`: the element of the one child to create. Its path, with keys for a list entry, and the
/// child.
///
/// # Errors
/// All that was found, up to 20.
pub fn parse_child(schema: &Schema, parent: &DataPath, text: &[u8]) -> Result<(DataPath, Node), BodyErrors> {
    read(schema, parent, whole(text)?, |elements| elements.new_child())
}

/// The body of an RPC or action (`operation` ends in it): `<input xmlns="…">…</input>`; an empty body is an empty input.
///
/// # Errors
/// All that was found, up to 20.
pub fn parse_input(schema: &Schema, operation: &DataPath, text: &[u8]) -> Result<Fields, BodyErrors> {
    let part = operation.last_node().and_then(|id| schema.input(id));
    parse_part(schema, operation, part, text)
}

/// The reply of an RPC or action, as a client reads it; an empty body is an empty output.
///
/// # Errors
/// All that was found, up to 20.
pub fn parse_output(schema: &Schema, operation: &DataPath, text: &[u8]) -> Result<Fields, BodyErrors> {
    let part = operation.last_node().and_then(|id| schema.output(id));
    parse_part(schema, operation, part, text)
}

fn parse_part(
    schema: &Schema,
    operation: &DataPath,
    part: Option<SchemaId>,
    text: &[u8],
) -> Result<Fields, BodyErrors> {
    let document = whole(text)?;
    match part {
        Some(part) if !document.is_blank() => {
            let fields = read(schema, operation, document, |elements| elements.part(part));
            fields.map(Members::into_fields)
        }
        _ => Ok(Fields::default()),
    }
}

fn whole(text: &[u8]) -> Result<Fragment<'_>, BodyErrors> {
    Fragment::document(text).map_err(|stop| BodyErrors(broken(stop).into_iter().collect()))
}

fn broken(stop: Stop) -> Option<BodyError> {
    match stop {
        Stop::Full => None,
        Stop::Broken(kind, message) => Some(BodyError { kind, path: "/".into(), message }),
    }
}

fn read<'t, T>(
    schema: &Schema,
    base: &DataPath,
    fragment: Fragment<'t>,
    with: impl FnOnce(&mut Elements<'_, 't>) -> Result<Option<T>, Stop>,
) -> Result<T, BodyErrors> {
    let reader = Reader::new(schema, Mode::Strict, base);
    let outcome = with(&mut Elements { reader: &reader, pull: Pull::new(fragment) });
    match outcome {
        Ok(read) => reader.finish(read, None),
        Err(stop) => reader.finish(None, broken(stop)),
    }
}

impl<'t> Elements<'_, 't> {
    /// The root element, if it is this one.
    fn root(&mut self, namespace: &str, name: &str) -> Result<Option<Tag<'t>>, Stop> {
        let Some(tag) = self.pull.child()? else {
            let message = format!("the body is empty; send the element <{name} xmlns=\"{namespace}\">");
            self.reader.fault(None, BodyErrorKind::MalformedMessage, message)?;
            return Ok(None);
        };
        if tag.is(namespace, name) {
            return Ok(Some(tag));
        }
        let kind = if tag.namespace.as_deref() == Some(namespace) {
            BodyErrorKind::UnknownElement
        } else {
            BodyErrorKind::UnknownNamespace
        };
        let message = format!(
            "element {:?} of namespace {:?} is not what the URL names; send <{name} xmlns=\"{namespace}\">",
            tag.local(),
            tag.namespace.as_deref().unwrap_or_default()
        );
        self.reader.fault(None, kind, message)?;
        self.pull.skip()?;
        Ok(None)
    }

    /// There is one root element.
    fn no_more(&mut self) -> Result<(), Stop> {
        loop {
            match self.pull.step()? {
                Step::Finish => return Ok(()),
                Step::Text(text) if text.trim_ascii().is_empty() => {}
                _ => {
                    let message = "something follows the root element; one request is about one resource";
                    return self.reader.fault(None, BodyErrorKind::BadElement, message.into());
                }
            }
        }
    }

    fn resource(&mut self, target: &DataPath) -> Result<Option<Node>, Stop> {
        let schema = self.reader.schema;
        let Some(last) = target.steps.last() else {
            if self.root(RESTCONF, "data")?.is_none() {
                return Ok(None);
            }
            let members = self.members(None, None)?;
            self.no_more()?;
            return Ok(Some(Node::from(members.into_fields())));
        };
        let node = schema.node(last.node);
        let Some(tag) = self.root(&schema.module(node.module).namespace, &node.name)? else {
            return Ok(None);
        };
        let at = At { above: None, node: last.node, entry: None };
        let read = self.framed(&at, &tag, last.key.as_ref())?;
        self.no_more()?;
        Ok(read)
    }

    /// The element just entered, as the target of a request: kept also where it is empty.
    fn framed(&mut self, at: &At<'_>, tag: &Tag<'t>, key: Option<&Key>) -> Result<Option<Node>, Stop> {
        if key.is_none()
            && matches!(self.reader.schema.node(at.node).kind, Kind::List { .. } | Kind::LeafList { .. })
        {
            return Ok(self.several(at, tag)?.map(|(_, node)| node));
        }
        self.attributes(at, tag)?;
        match (&self.reader.schema.node(at.node).kind, key) {
            (Kind::Container { .. }, _) => {
                let members = self.members(Some(at), Some(at.node))?;
                Ok(Some(Node::from(members.into_fields())))
            }
            (Kind::List { .. }, Some(key)) => {
                let first_error = self.reader.error_count();
                let members = self.members(Some(at), Some(at.node))?;
                let entry = next_entry(self.reader, at, members, first_error, Some(key))?;
                Ok(entry.map(|(_, fields)| Node::from(fields)))
            }
            (Kind::LeafList { .. }, Some(key)) => {
                let value = self.leaf(at)?;
                if value.is_some() && value.as_ref() != key.values().first() {
                    self.reader.other_value(at, key)?;
                }
                Ok(value.map(Node::Leaf))
            }
            _ => self.single(at),
        }
    }

    /// The one entry just entered of a list or leaf-list: its key, and the list of it.
    fn several(&mut self, at: &At<'_>, tag: &Tag<'t>) -> Result<Option<(Option<Key>, Node)>, Stop> {
        if let Kind::LeafList { .. } = self.reader.schema.node(at.node).kind {
            self.attributes(at, tag)?;
            let Some(value) = self.leaf(at)? else { return Ok(None) };
            let key = Key::one(value.clone());
            return Ok(gathered_values(self.reader, at, vec![value])?.map(|node| (Some(key), node)));
        }
        let Some((key, fields)) = self.entry(at, tag)? else { return Ok(None) };
        let own = (!key.is_empty()).then(|| key.clone());
        let list = gathered(self.reader, at, vec![(key, fields)])?;
        Ok(list.map(|list| (own, Node::List(list))))
    }

    fn new_child(&mut self) -> Result<Option<(DataPath, Node)>, Stop> {
        let (reader, schema) = (self.reader, self.reader.schema);
        let Some(tag) = self.pull.child()? else {
            let message = "the body is empty; send the element of the one child to create".to_owned();
            reader.fault(None, BodyErrorKind::MalformedMessage, message)?;
            return Ok(None);
        };
        let id = match self.find(reader.base.last_node(), &tag) {
            Ok(id) => id,
            Err(error) => {
                reader.unknown(None, &error)?;
                self.pull.skip()?;
                return Ok(None);
            }
        };
        let at = At { above: None, node: id, entry: None };
        let base = reader.base.clone();
        let created = match &schema.node(id).kind {
            Kind::List { .. } | Kind::LeafList { .. } => {
                self.several(&at, &tag)?.map(|(key, node)| match (key, node) {
                    (Some(key), Node::List(list)) => {
                        let entry = list.get(&key).cloned().unwrap_or_default();
                        (base.entry(id, key), Node::Container(entry))
                    }
                    (Some(key), node) => {
                        let value = key.values().first().cloned().map(Node::Leaf);
                        (base.entry(id, key), value.unwrap_or(node))
                    }
                    (None, node) => (base.child(id), node),
                })
            }
            _ => self.framed(&at, &tag, None)?.map(|node| (base.child(id), node)),
        };
        self.no_more()?;
        Ok(created)
    }

    fn part(&mut self, part: SchemaId) -> Result<Option<Members>, Stop> {
        let schema = self.reader.schema;
        let node = schema.node(part);
        if self.root(&schema.module(node.module).namespace, &node.name)?.is_none() {
            return Ok(None);
        }
        let at = At { above: None, node: part, entry: None };
        let members = self.members(Some(&at), Some(part))?;
        self.no_more()?;
        Ok(Some(members))
    }
}
