//! The one place where an encoding is chosen: bodies in, resources out.

use super::media::Encoding;
use super::{Problem, Problems};
use crate::schema::json::{self, Mode, Sink};
use crate::schema::select::View;
use crate::schema::{DataPath, Fields, Node, Schema, SchemaId, xml};

impl Encoding {
    /// The body of a PUT or PATCH on `target`. XML is always read to the letter.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn resource(
        self,
        schema: &Schema,
        target: &DataPath,
        body: &[u8],
        mode: Mode,
    ) -> Result<Node, Problems> {
        Ok(match self {
            Encoding::Json => json::parse_resource(schema, target, body, mode)?,
            Encoding::Xml => xml::parse_resource(schema, target, body)?,
        })
    }

    /// The body of a POST on `parent`.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn child(
        self,
        schema: &Schema,
        parent: &DataPath,
        body: &[u8],
        mode: Mode,
    ) -> Result<(DataPath, Node), Problems> {
        Ok(match self {
            Encoding::Json => json::parse_child(schema, parent, body, mode)?,
            Encoding::Xml => xml::parse_child(schema, parent, body)?,
        })
    }

    /// The body with which an operation is called.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn input(
        self,
        schema: &Schema,
        operation: &DataPath,
        body: &[u8],
        mode: Mode,
    ) -> Result<Fields, Problems> {
        Ok(match self {
            Encoding::Json => json::parse_input(schema, operation, body, mode)?,
            Encoding::Xml => xml::parse_input(schema, operation, body)?,
        })
    }

    /// What an operation answers.
    pub fn output(self, schema: &Schema, operation: SchemaId, output: &Fields) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Encoding::Json => json::write_output(schema, operation, output, &mut out),
            Encoding::Xml => xml::write_output(schema, operation, output, &mut out),
        }
        out
    }

    /// Writes what a view shows of a resource, piece by piece; false: the sink has seen enough.
    ///
    /// # Errors
    /// A list that is not one element, in XML; before anything is written.
    pub fn write<V: View>(
        self,
        schema: &Schema,
        path: &DataPath,
        node: &Node,
        view: &V,
        out: &mut Vec<u8>,
        sink: &mut Sink<'_>,
    ) -> Result<bool, Problems> {
        match self {
            Encoding::Json => Ok(json::write_view(schema, path, node, view, out, Some(sink))),
            Encoding::Xml => xml::write_view(schema, path, node, view, out, Some(sink)).map_err(|error| {
                Problem::new("invalid-value", error.to_string()).at(path.display(schema)).into()
            }),
        }
    }
}
