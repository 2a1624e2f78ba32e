//! What all visitors share: the schema, the mode, where they are, and the faults found so far.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;

use super::{BodyError, BodyErrorKind, BodyErrors};
use crate::schema::lexical::Rigour;
use crate::schema::names::NameError;
use crate::schema::{DataPath, ModuleId, Schema, SchemaId};

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
        let mut errors = self.errors.borrow_mut();
        errors.push(BodyError { kind, path: self.path(at), message });
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
