//! What all visitors share: the schema, the mode, where they are, and the faults found so far.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;

use super::{BodyError, BodyErrorKind, BodyErrors};
use crate::schema::lexical::{Rigour, value_text};
use crate::schema::names::NameError;
use crate::schema::{DataPath, Key, Kind, ModuleId, Schema, SchemaId};

/// How closely a body must follow RFC 7951 or RFC 7950.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// To the letter (a redundant module prefix is the one thing forgiven).
    Strict,
    /// As old clients of OpenDaylight send it: quoted numbers and booleans, any prefixes, empty optional values.
    Lenient,
}

/// So many faults are collected before reading stops.
const MOST_ERRORS: usize = 20;

/// Bytes of a value that a path repeats; longer ones are told by their position.
const LONGEST_VALUE: usize = 256;

/// What serde is told when reading stops early; the faults themselves are in [`Reader::errors`].
pub const STOP: &str = "too many faults";

pub struct Reader<'a> {
    pub schema: &'a Schema,
    pub mode: Mode,
    /// The resource that the body is about.
    pub base: &'a DataPath,
    pub errors: RefCell<Vec<BodyError>>,
}

/// A place in the body, as a chain to the base of the reader.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub above: Option<&'a At<'a>>,
    pub node: SchemaId,
    /// The number of the entry (from 1) for a list.
    pub entry: Option<&'a Cell<usize>>,
}

impl<'a> Reader<'a> {
    pub fn new(schema: &'a Schema, mode: Mode, base: &'a DataPath) -> Reader<'a> {
        Reader { schema, mode, base, errors: RefCell::new(Vec::new()) }
    }

    pub fn lenient(&self) -> bool {
        self.mode == Mode::Lenient
    }

    pub fn rigour(&self) -> Rigour {
        if self.lenient() { Rigour::Lenient } else { Rigour::Strict }
    }

    /// Records a fault; an error stops the reading.
    pub fn fault<E: serde::de::Error>(
        &self,
        at: Option<&At<'_>>,
        kind: BodyErrorKind,
        message: String,
    ) -> Result<(), E> {
        self.fault_at(self.path(at), kind, message)
    }

    /// Records a fault of a value. An entry of a leaf-list is named by what was sent (RFC 7950 section 9.13), or by its position
    /// where that cannot be quoted.
    pub fn value_fault<E: serde::de::Error>(
        &self,
        at: &At<'_>,
        kind: BodyErrorKind,
        sent: &str,
        message: String,
    ) -> Result<(), E> {
        let is_entry = matches!(self.schema.node(at.node).kind, Kind::LeafList { .. });
        let path = match quoted(sent).filter(|_| is_entry) {
            Some(quoted) => format!("{}[.={quoted}]", self.path(Some(&At { entry: None, ..*at }))),
            None => self.path(Some(at)),
        };
        self.fault_at(path, kind, message)
    }

    /// Records that a body is about another entry of a leaf-list than its URL.
    pub fn other_value<E: serde::de::Error>(&self, at: &At<'_>, named: &Key) -> Result<(), E> {
        let message = "the body must hold just the value that the URL names".to_owned();
        let named = named.values().first().map(|value| value_text(self.schema, at.node, value));
        self.value_fault(at, BodyErrorKind::InvalidValue, &named.unwrap_or_default(), message)
    }

    fn fault_at<E: serde::de::Error>(
        &self,
        path: String,
        kind: BodyErrorKind,
        message: String,
    ) -> Result<(), E> {
        let mut errors = self.errors.borrow_mut();
        errors.push(BodyError { kind, path, message });
        if errors.len() < MOST_ERRORS { Ok(()) } else { Err(E::custom(STOP)) }
    }

    pub fn error_count(&self) -> usize {
        self.errors.borrow().len()
    }

    /// Faults from number `first` on name entries by position; now that the key is known they name it.
    pub fn name_entry(&self, first: usize, by_position: &str, by_key: &str) {
        for error in &mut self.errors.borrow_mut()[first..] {
            if let Some(rest) = error.path.strip_prefix(by_position)
                && (rest.is_empty() || rest.starts_with('/'))
            {
                error.path = format!("{by_key}{rest}");
            }
        }
    }

    /// The instance path of a place.
    pub fn path(&self, at: Option<&At<'_>>) -> String {
        let mut chain = Vec::new();
        let mut next = at;
        while let Some(at) = next {
            chain.push(at);
            next = at.above;
        }
        let mut text =
            if self.base.steps.is_empty() { String::new() } else { self.base.display(self.schema) };
        let mut module: Option<ModuleId> = self.base.last_node().map(|id| self.schema.node(id).module);
        for at in chain.iter().rev() {
            let node = self.schema.node(at.node);
            text.push('/');
            if module != Some(node.module) {
                text.push_str(&self.schema.module(node.module).name);
                text.push(':');
            }
            module = Some(node.module);
            text.push_str(&node.name);
            if let Some(number) = at.entry.map(Cell::get).filter(|number| *number > 0) {
                let _ = write!(text, "[{number}]");
            }
        }
        if text.is_empty() { "/".into() } else { text }
    }

    /// Records a name that is no child.
    pub fn unknown<E: serde::de::Error>(&self, at: Option<&At<'_>>, error: &NameError) -> Result<(), E> {
        let kind = match error {
            NameError::Namespace(_) => BodyErrorKind::UnknownNamespace,
            NameError::Unknown(_) => BodyErrorKind::UnknownElement,
        };
        self.fault(at, kind, error.message().to_owned())
    }

    /// The result of reading, with what is wrong with the syntax put first.
    pub fn finish<T>(self, read: Option<T>, broken: Option<BodyError>) -> Result<T, BodyErrors> {
        let mut errors = self.errors.into_inner();
        match (read, broken) {
            (Some(value), None) if errors.is_empty() => return Ok(value),
            (_, Some(broken)) => errors.insert(0, broken),
            _ => {}
        }
        if errors.is_empty() {
            let message = "the body holds no data for this resource; send the resource".into();
            errors.push(BodyError { kind: BodyErrorKind::MissingElement, path: "/".into(), message });
        }
        Err(BodyErrors(errors))
    }
}

/// As a literal of XPath, which knows no escapes. `None`: it has both quotes, or is too long.
fn quoted(text: &str) -> Option<String> {
    let quote = ['\'', '"'].into_iter().find(|quote| !text.contains(*quote))?;
    (text.len() <= LONGEST_VALUE).then(|| format!("{quote}{text}{quote}"))
}
