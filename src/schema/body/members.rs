//! The children of one node as they are read.

use serde::de::Error;
use smallvec::SmallVec;

use super::{At, BodyErrorKind, Reader};
use crate::schema::tree::excludes;
use crate::schema::{Fields, Node, SchemaId};

/// The children of one node, as read so far.
#[derive(Default)]
pub struct Members {
    pub children: Vec<(SchemaId, Node)>,
    /// Everything named, also what turned out absent or wrong.
    pub seen: SmallVec<[SchemaId; 24]>,
}

impl Members {
    /// Notes that a child was named; false, and a fault, if it was before.
    pub fn see<E: Error>(&mut self, reader: &Reader<'_>, at: &At<'_>) -> Result<bool, E> {
        if self.seen.contains(&at.node) {
            let message = format!("{} occurs twice; send it once", reader.schema.node(at.node).name);
            reader.fault(Some(at), BodyErrorKind::Duplicate, message)?;
            return Ok(false);
        }
        self.seen.push(at.node);
        Ok(true)
    }

    /// Adds a child; that it stands in another case of a choice than one before is a fault.
    pub fn add<E: Error>(&mut self, reader: &Reader<'_>, at: &At<'_>, node: Node) -> Result<(), E> {
        let schema = reader.schema;
        if !schema.node(at.node).cases.is_empty()
            && let Some((other, _)) =
                self.children.iter().find(|(other, _)| excludes(schema, at.node, *other))
        {
            let (one, other) = (&schema.node(at.node).name, &schema.node(*other).name);
            let message = format!("{one} and {other} are alternatives of one choice; send only one of them");
            reader.fault(Some(at), BodyErrorKind::BadElement, message)?;
        }
        self.children.push((at.node, node));
        Ok(())
    }

    /// Sorted into fields.
    pub fn into_fields(self) -> Fields {
        Fields::of(self.children)
    }
}
