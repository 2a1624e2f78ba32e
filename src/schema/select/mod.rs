//! Which part of the data a reader wants, decided while the tree is walked: `depth`, `fields`, `with-defaults` and
//! `with-origin` of RFC 8040 section 4.8 and RFC 8527, pages of lists. Nothing is copied; a writer asks a [`View`] at every object.

mod condition;
mod defaults;
mod fields;
#[cfg(test)]
mod laws;
mod origin;
mod page;
mod selected;
#[cfg(test)]
mod tests;

pub use condition::Condition;
pub(super) use defaults::case_chosen;
pub use defaults::default_in_use;
pub use fields::FieldTree;
pub use origin::{Origin, Origins};
pub use page::{Direction, Page, PageError, SortBy};
pub use selected::{Selected, Selection, Turned, WithDefaults};

use super::data::{Key, Node};
use super::fields::Fields;
use super::ir::{Schema, SchemaId};

/// Metadata of one node (RFC 7952).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marks {
    /// `ietf-netconf-with-defaults:default`.
    pub default: bool,
    /// `ietf-origin:origin`.
    pub origin: Option<Origin>,
}

impl Marks {
    pub fn is_empty(self) -> bool {
        self == Marks::default()
    }

    /// Qualified names and values, as JSON and XML show them.
    pub fn each(self, mut show: impl FnMut(&'static str, &'static str, &'static str)) {
        if self.default {
            show("ietf-netconf-with-defaults", "default", "true");
        }
        if let Some(origin) = self.origin {
            show("ietf-origin", "origin", origin.name());
        }
    }
}

/// What is said about a list or leaf-list of which not all is shown: metadata of its first entry that is
/// (draft-ietf-netconf-list-pagination sections 3.1.6 and 3.1.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Beyond<'a> {
    pub remaining: Option<usize>,
    pub next: Option<&'a str>,
    pub previous: Option<&'a str>,
}

impl Beyond<'_> {
    pub fn is_empty(self) -> bool {
        self == Beyond::default()
    }

    /// Names in `ietf-list-pagination` and values, the number without quotes.
    pub fn each(self, mut show: impl FnMut(&'static str, &str, bool)) {
        if let Some(remaining) = self.remaining {
            show("remaining", &remaining.to_string(), true);
        }
        for (name, cursor) in [("next", self.next), ("previous", self.previous)] {
            if let Some(cursor) = cursor {
                show(name, cursor, false);
            }
        }
    }
}

/// How much of a list or leaf-list is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent<'a> {
    /// From the first entry on.
    pub shown: usize,
    pub beyond: Beyond<'a>,
}

impl Extent<'_> {
    pub fn all() -> Extent<'static> {
        Extent { shown: usize::MAX, beyond: Beyond::default() }
    }
}

/// What a writer asks about the object (container, list entry, datastore) that it stands at.
pub trait View: Sized {
    /// The children to write, in order, each with the view of what is below it.
    fn members(&self, schema: &Schema, fields: &Fields, each: impl FnMut(SchemaId, &Node, &Self));

    /// The view of one entry of the list that this view is of.
    fn entry(&self, schema: &Schema, key: &Key, each: impl FnOnce(&Self));

    /// How much of the list or leaf-list that this view is of, and that has so many entries.
    fn extent(&self, _length: usize) -> Extent<'_> {
        Extent::all()
    }

    /// What is said about the node itself.
    fn marks(&self) -> Marks;
}

/// Everything, as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Whole;

impl View for Whole {
    fn members(&self, _: &Schema, fields: &Fields, mut each: impl FnMut(SchemaId, &Node, &Whole)) {
        for (id, node) in fields.iter() {
            each(*id, node, self);
        }
    }

    fn entry(&self, _: &Schema, _: &Key, each: impl FnOnce(&Whole)) {
        each(self);
    }

    fn marks(&self) -> Marks {
        Marks::default()
    }
}
