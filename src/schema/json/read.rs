//! Reading: the entry points, one for each way in which a body is framed.

use serde::Deserializer as _;
use serde::de::Visitor;

use super::frame::{ChildVisitor, ResourceVisitor};
use super::operation::{Part, PartVisitor};
use super::visit::FieldsVisitor;
use crate::schema::body::{BodyError, BodyErrorKind, BodyErrors, Members, Mode, Reader, STOP};
use crate::schema::{DataPath, Fields, Node, Schema, SchemaId};

/// A JSON object with the children of `parent` (`None`: of the datastore), without framing.
pub fn parse(
    schema: &Schema,
    parent: Option<SchemaId>,
    text: &[u8],
    mode: Mode,
) -> Result<Fields, BodyErrors> {
    let base = DataPath::of_node(schema, parent);
    let reader = Reader::new(schema, mode, &base);
    let read = drive(text, FieldsVisitor { reader: &reader, at: None, depth: 0 });
    finish(reader, read).map(Members::into_fields)
}

/// The body of a PUT or plain PATCH on `target`: one member named as the target (a list entry in an array of one); in
/// lenient mode also the children of the target alone. Key leafs must say what the URL says; lenient bodies may leave
/// them out. An empty target is the datastore: `{"ietf-restconf:data": {…}}`, lenient also without.
pub fn parse_resource(
    schema: &Schema,
    target: &DataPath,
    text: &[u8],
    mode: Mode,
) -> Result<Node, BodyErrors> {
    let base = target.parent().unwrap_or_default();
    let reader = Reader::new(schema, mode, &base);
    let read = drive(text, ResourceVisitor { reader: &reader, target });
    finish(reader, read)
}

/// The body of a POST on `parent`: exactly one child. Its path, with keys for a list entry, and the child.
pub fn parse_child(
    schema: &Schema,
    parent: &DataPath,
    text: &[u8],
    mode: Mode,
) -> Result<(DataPath, Node), BodyErrors> {
    let reader = Reader::new(schema, mode, parent);
    let read = drive(text, ChildVisitor { reader: &reader });
    finish(reader, read)
}

/// The body of an RPC or action (`operation` ends in it): `{"module:input": {…}}`, lenient also without the module; an
/// empty body is an empty input. Whether the input is complete is for [`crate::schema::validate_input`].
pub fn parse_input(
    schema: &Schema,
    operation: &DataPath,
    text: &[u8],
    mode: Mode,
) -> Result<Fields, BodyErrors> {
    parse_part(schema, operation, Part::Input, text, mode)
}

/// The reply of an RPC or action, `{"module:output": {…}}`, as a client reads it; an empty body is an empty output.
pub fn parse_output(
    schema: &Schema,
    operation: &DataPath,
    text: &[u8],
    mode: Mode,
) -> Result<Fields, BodyErrors> {
    parse_part(schema, operation, Part::Output, text, mode)
}

fn parse_part(
    schema: &Schema,
    operation: &DataPath,
    part: Part,
    text: &[u8],
    mode: Mode,
) -> Result<Fields, BodyErrors> {
    if text.iter().all(u8::is_ascii_whitespace) {
        return Ok(Fields::default());
    }
    let reader = Reader::new(schema, mode, operation);
    let read = drive(text, PartVisitor { reader: &reader, part });
    finish(reader, read).map(Members::into_fields)
}

/// The result of reading, with serde's own verdict on the syntax.
fn finish<T>(reader: Reader<'_>, outcome: Result<Option<T>, serde_json::Error>) -> Result<T, BodyErrors> {
    let error = match outcome {
        Ok(read) => return reader.finish(read, None),
        Err(error) => error.to_string(),
    };
    if error.starts_with(STOP) {
        return reader.finish(None, None);
    }
    let (kind, message) = if error.starts_with("recursion limit") {
        (BodyErrorKind::TooBig, format!("the body is nested too deeply ({error}); flatten it"))
    } else {
        let hint = "check that the whole body arrived and is UTF-8 JSON";
        (BodyErrorKind::MalformedMessage, format!("the body is not valid JSON: {error}; {hint}"))
    };
    reader.finish(None, Some(BodyError { kind, path: "/".into(), message }))
}

/// Runs the visitor over the whole text.
fn drive<'t, V, T>(text: &'t [u8], visitor: V) -> Result<Option<T>, serde_json::Error>
where
    V: Visitor<'t, Value = Option<T>>,
{
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = json.deserialize_any(visitor)?;
    json.end()?;
    Ok(value)
}
