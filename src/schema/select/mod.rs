//! Which part of the data a reader wants, decided while the tree is walked: `depth`, `fields`, `with-defaults` and
//! `with-origin` of RFC 8040 section 4.8 and RFC 8527. Nothing is copied; a writer asks a [`View`] at every object.

mod defaults;
mod fields;
#[cfg(test)]
mod laws;
mod origin;
mod page;
mod selected;
#[cfg(test)]
mod tests;

pub(super) use defaults::case_chosen;
pub use defaults::default_in_use;
pub use fields::FieldTree;
pub use origin::{Origin, Origins};
pub use page::{Direction, Page, PageError};
pub use selected::{Selected, Selection, WithDefaults};

use super::data::{Fields, Key, Node};
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

/// What a writer asks about the object (container, list entry, datastore) that it stands at.
pub trait View: Sized {
    /// The children to write, in order, each with the view of what is below it.
    fn members(&self, schema: &Schema, fields: &Fields, each: impl FnMut(SchemaId, &Node, &Self));

    /// The view of one entry of the list that this view is of.
    fn entry(&self, schema: &Schema, key: &Key, each: impl FnOnce(&Self));

    /// What is said about the node itself.
    fn marks(&self) -> Marks;
}

/// Everything, as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Whole;

impl View for Whole {
    fn members(&self, _: &Schema, fields: &Fields, mut each: impl FnMut(SchemaId, &Node, &Whole)) {
        for (id, node) in &fields.children {
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
