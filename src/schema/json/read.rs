//! Reading.

use std::sync::Arc;

use super::JsonErrors;
use crate::schema::{DataPath, Fields, Node, Schema, SchemaId};

/// How closely a body must follow RFC 7951.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// To the letter (a redundant module prefix is the one thing forgiven).
    Strict,
    /// As old clients of OpenDaylight send it: quoted numbers and booleans, any prefixes, empty optional values.
    Lenient,
}

/// A JSON object with the children of `parent` (`None`: of the datastore), without framing.
pub fn parse(
    schema: &Schema,
    parent: Option<SchemaId>,
    text: &[u8],
    mode: Mode,
) -> Result<Arc<Fields>, JsonErrors> {
    todo!("{schema:?} {parent:?} {text:?} {mode:?}")
}

/// The body of a PUT or plain PATCH on `target`: one member named as the target (a list entry in an array of one); in
/// lenient mode also the children of the target container alone. Key leafs must say what the URL says.
/// An empty target is the datastore: `{"ietf-restconf:data": {…}}`, lenient also without.
pub fn parse_resource(
    schema: &Schema,
    target: &DataPath,
    text: &[u8],
    mode: Mode,
) -> Result<Node, JsonErrors> {
    todo!("{schema:?} {target:?} {text:?} {mode:?}")
}

/// The body of a POST on `parent`: exactly one child. Its path, with keys for a list entry, and the child.
pub fn parse_child(
    schema: &Schema,
    parent: &DataPath,
    text: &[u8],
    mode: Mode,
) -> Result<(DataPath, Node), JsonErrors> {
    todo!("{schema:?} {parent:?} {text:?} {mode:?}")
}

/// The body of an RPC: `{"module:input": {…}}`; an empty body is an empty input.
pub fn parse_rpc_input(
    schema: &Schema,
    rpc: SchemaId,
    text: &[u8],
    mode: Mode,
) -> Result<Arc<Fields>, JsonErrors> {
    todo!("{schema:?} {rpc:?} {text:?} {mode:?}")
}
