//! Input, output and notifications: checked as a whole, in sight of the datastore (RFC 7950 section 6.4.1).

use std::sync::Arc;

use super::super::data::{List, Node};
use super::super::fields::Fields;
use super::super::ir::{Schema, SchemaId};
use super::super::path::{DataPath, Step};
use super::super::xpath::Place;
use super::{Index, ValidationError, Validator};

/// Checks the input of an RPC or action against its model. `root` is the datastore that must, when and leafref look at
/// (both layers merged), `operation` the path that ends in the RPC or action.
///
/// # Errors
/// Everything found, up to 20, with paths as in `/module:rpc/input/leaf`.
pub fn validate_input(
    schema: &Schema,
    root: &Fields,
    operation: &DataPath,
    input: &Fields,
) -> Result<(), Vec<ValidationError>> {
    let part = operation.last_node().and_then(|id| schema.input(id));
    validate_part(schema, root, operation, part, input)
}

/// Checks what an RPC or action is about to answer, as [`validate_input`] does for its input.
///
/// # Errors
/// Everything found, up to 20.
pub fn validate_output(
    schema: &Schema,
    root: &Fields,
    operation: &DataPath,
    output: &Fields,
) -> Result<(), Vec<ValidationError>> {
    let part = operation.last_node().and_then(|id| schema.output(id));
    validate_part(schema, root, operation, part, output)
}

/// Checks a notification; `path` ends in it.
///
/// # Errors
/// Everything found, up to 20.
pub fn validate_notification(
    schema: &Schema,
    root: &Fields,
    path: &DataPath,
    content: &Fields,
) -> Result<(), Vec<ValidationError>> {
    validate_part(schema, root, path, None, content)
}

fn validate_part(
    schema: &Schema,
    root: &Fields,
    path: &DataPath,
    part: Option<SchemaId>,
    content: &Fields,
) -> Result<(), Vec<ValidationError>> {
    let content_node = Node::Container(content.clone());
    let node = match part {
        Some(part) => Node::from(Fields::of(vec![(part, content_node)])),
        None => content_node,
    };
    let root = Arc::new(grafted(schema, root, &path.steps, node));
    let at = part.into_iter().fold(path.clone(), DataPath::child);
    let mut index = Index::default();
    let mut validator = Validator::new(schema, &root, &mut index)?;
    validator.operation = true;
    let place = Place::at(&root, &at);
    validator.node(&place);
    if let Some(fields) = place.fields() {
        validator.visit(&place, fields, true);
    }
    validator.finish()
}

/// The tree with an operation in its place.
fn grafted(schema: &Schema, fields: &Fields, steps: &[Step], node: Node) -> Fields {
    let Some((step, below)) = steps.split_first() else { return fields.clone() };
    if below.is_empty() {
        let mut fields = fields.clone();
        fields.set(step.node, Some(node));
        return fields;
    }
    let empty = Arc::default();
    let child = fields.get(step.node);
    let new = match &step.key {
        Some(key) => {
            let mut list =
                child.and_then(Node::as_list).cloned().unwrap_or_else(|| List::empty(schema, step.node));
            let entry = grafted(schema, list.get(key).unwrap_or(&empty), below, node);
            list.insert(key.clone(), entry);
            Node::List(list)
        }
        None => {
            let inner = child.and_then(Node::fields).unwrap_or(&empty);
            Node::from(grafted(schema, inner, below, node))
        }
    };
    let mut fields = fields.clone();
    fields.set(step.node, Some(new));
    fields
}
