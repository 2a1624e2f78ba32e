//! Elements to nodes, driven by the schema: no tree of elements in between.

use std::cell::Cell;

use super::anydata;
use super::names;
use super::pull::{Attribute, Pull, Step, Stop, Tag};
use super::values;
use super::write::{ORIGIN, WITH_DEFAULTS};
use crate::schema::body::{At, BodyErrorKind, Members, Reader, gathered, gathered_values, next_entry};
use crate::schema::lexical::type_of;
use crate::schema::names::{NameError, find_child, kind_name};
use crate::schema::{Fields, Key, Kind, Node, SchemaId, Value};

/// Attributes that say something about a node without being part of it; they are passed over.
const IGNORED: [&str; 4] = [
    WITH_DEFAULTS,
    ORIGIN,
    "urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults",
    "http://www.w3.org/XML/1998/namespace",
];

/// Entries of a list or values of a leaf-list, which may stand apart.
enum Several {
    Entries(Vec<(Key, Fields)>),
    Values(Vec<Value>),
}

/// Reads elements as nodes.
pub struct Elements<'r, 't> {
    pub reader: &'r Reader<'r>,
    pub pull: Pull<'t>,
}

impl<'t> Elements<'_, 't> {
    /// The schema node that an element means below `parent` (`None`: at the top level).
    pub fn find(&self, parent: Option<SchemaId>, tag: &Tag<'_>) -> Result<SchemaId, NameError> {
        let schema = self.reader.schema;
        let name = tag.local();
        let Some(namespace) = tag.namespace.as_deref() else {
            let hint = match find_child(schema, parent, name, true) {
                Ok(id) => format!("; write xmlns=\"{}\"", schema.module(schema.node(id).module).namespace),
                Err(_) => String::new(),
            };
            return Err(NameError::Namespace(format!("element {name} has no namespace{hint}")));
        };
        let all = match parent {
            Some(parent) => &schema.node(parent).children,
            None => &schema.roots,
        };
        let fits = |id: &&SchemaId| {
            let node = schema.node(**id);
            *node.name == *name && *schema.module(node.module).namespace == *namespace
        };
        if let Some(id) = all.iter().find(fits) {
            return Ok(*id);
        }
        match names::module(schema, namespace) {
            Some(module) => {
                let qualified = format!("{}:{name}", schema.module(module).name);
                find_child(schema, parent, &qualified, false)
            }
            None => Err(NameError::Namespace(format!("no module has the namespace {namespace:?}"))),
        }
    }

    /// The children of the element just entered, up to its end; `at` is that element, `parent` its node.
    pub fn members(&mut self, at: Option<&At<'_>>, parent: Option<SchemaId>) -> Result<Members, Stop> {
        let reader = self.reader;
        let mut members = Members::default();
        let mut several: Vec<(SchemaId, usize, Several)> = Vec::new();
        loop {
            let tag = match self.pull.step()? {
                Step::Start(tag) => tag,
                Step::Text(text) if text.trim_ascii().is_empty() => continue,
                Step::Text(_) => {
                    let (name, kind) = at.map_or(("the body".into(), "the datastore"), |at| {
                        let node = reader.schema.node(at.node);
                        (node.name.clone(), kind_name(&node.kind))
                    });
                    let message = format!("{name} is {kind}: send elements in it, not text");
                    reader.fault(at, BodyErrorKind::InvalidValue, message)?;
                    continue;
                }
                Step::End | Step::Finish => break,
            };
            let id = match self.find(parent, &tag) {
                Ok(id) => id,
                Err(error) => {
                    reader.unknown(at, &error)?;
                    self.pull.skip()?;
                    continue;
                }
            };
            let here = At { above: at, node: id, entry: None };
            let kind = &reader.schema.node(id).kind;
            if !matches!(kind, Kind::List { .. } | Kind::LeafList { .. }) {
                self.attributes(&here, &tag)?;
                if !members.see(reader, &here)? {
                    self.pull.skip()?;
                } else if let Some(node) = self.single(&here)? {
                    members.add(reader, &here, node)?;
                }
                continue;
            }
            let place = several.iter().position(|(known, ..)| *known == id).unwrap_or_else(|| {
                let empty = match kind {
                    Kind::List { .. } => Several::Entries(Vec::new()),
                    _ => Several::Values(Vec::new()),
                };
                several.push((id, 0, empty));
                members.seen.push(id);
                several.len() - 1
            });
            let (_, count, all) = &mut several[place];
            *count += 1;
            let number = Cell::new(*count);
            let entry_at = At { entry: Some(&number), ..here };
            match all {
                Several::Entries(entries) => {
                    let entry = self.entry(&entry_at, &tag)?;
                    entries.extend(entry);
                }
                Several::Values(values) => {
                    self.attributes(&entry_at, &tag)?;
                    values.extend(self.leaf(&entry_at)?);
                }
            }
        }
        for (id, _, all) in several {
            let here = At { above: at, node: id, entry: None };
            let node = match all {
                Several::Entries(entries) => {
                    gathered(reader, &here, entries)?.filter(|list| !list.is_empty()).map(Node::List)
                }
                Several::Values(values) => gathered_values(reader, &here, values)?,
            };
            if let Some(node) = node {
                members.add(reader, &here, node)?;
            }
        }
        Ok(members)
    }

    /// The list entry just entered.
    pub fn entry(&mut self, at: &At<'_>, tag: &Tag<'t>) -> Result<Option<(Key, Fields)>, Stop> {
        let first_error = self.reader.error_count();
        self.attributes(at, tag)?;
        let members = self.members(Some(at), Some(at.node))?;
        next_entry(self.reader, at, members, first_error, None)
    }

    /// The container, leaf or anydata just entered; `None` if it is absent, or its fault has been recorded.
    pub fn single(&mut self, at: &At<'_>) -> Result<Option<Node>, Stop> {
        match &self.reader.schema.node(at.node).kind {
            Kind::Container { presence } => {
                let fields = self.members(Some(at), Some(at.node))?.into_fields();
                Ok((*presence || !fields.is_empty()).then(|| Node::from(fields)))
            }
            Kind::Leaf { .. } => Ok(self.leaf(at)?.map(Node::Leaf)),
            Kind::Any { .. } => anydata::read(self.reader, &mut self.pull, at),
            kind => {
                let message = format!("{} cannot stand here", kind_name(kind));
                self.reader.fault(Some(at), BodyErrorKind::BadElement, message)?;
                self.pull.skip()?;
                Ok(None)
            }
        }
    }

    /// The leaf or leaf-list entry just entered.
    pub fn leaf(&mut self, at: &At<'_>) -> Result<Option<Value>, Stop> {
        let (reader, schema) = (self.reader, self.reader.schema);
        let node = schema.node(at.node);
        let Some(text) = self.pull.text()? else {
            let message = format!("{} is {}: send text, not elements", node.name, kind_name(&node.kind));
            reader.fault(Some(at), BodyErrorKind::InvalidValue, message)?;
            return Ok(None);
        };
        let Some(type_) = type_of(schema, at.node) else { return Ok(None) };
        match values::value(schema, node.module, type_, &text, &|prefix| self.pull.namespace(prefix)) {
            Ok(value) => Ok(Some(value)),
            Err(reason) => {
                let message = format!("{}: {reason}", node.name);
                reader.value_fault(at, BodyErrorKind::InvalidValue, &text, message)?;
                Ok(None)
            }
        }
    }

    /// Refuses attributes that ask for something; passes over those that only say something.
    pub fn attributes(&self, at: &At<'_>, tag: &Tag<'t>) -> Result<(), Stop> {
        for Attribute { namespace, name, .. } in self.pull.attributes(tag)? {
            let namespace = namespace.as_deref().unwrap_or_default();
            if IGNORED.contains(&namespace) {
                continue;
            }
            let node = &self.reader.schema.node(at.node).name;
            let message = match (namespace, &*name) {
                ("urn:ietf:params:xml:ns:netconf:base:1.0", _) => format!(
                    "attribute {name} on {node} is of NETCONF's edit-config; say what to do by the HTTP method, or in a YANG Patch"
                ),
                ("urn:ietf:params:xml:ns:yang:1", _) => format!(
                    "attribute {name} on {node} is of NETCONF; use the query parameters insert and point"
                ),
                _ => format!("attribute {name} on {node} means nothing here; leave it out"),
            };
            self.reader.fault(Some(at), BodyErrorKind::UnknownAttribute, message)?;
        }
        Ok(())
    }
}
