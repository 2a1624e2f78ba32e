//! Writing.

use crate::schema::{DataPath, Fields, Node, Schema, SchemaId};

/// The children of `parent` (`None`: of the datastore) as one JSON object, appended to `out`.
pub fn write(schema: &Schema, parent: Option<SchemaId>, fields: &Fields, out: &mut Vec<u8>) {
    todo!("{schema:?} {parent:?} {fields:?} {out:?}")
}

/// A resource with the framing of RFC 8040: one qualified member; a list entry is an array of one. The empty path
/// is `{"ietf-restconf:data": {…}}`.
pub fn write_resource(schema: &Schema, path: &DataPath, node: &Node, out: &mut Vec<u8>) {
    todo!("{schema:?} {path:?} {node:?} {out:?}")
}
