//! The `where` parameter: draft-ietf-netconf-list-pagination section 3.1.1, on our own XPath.

use std::cell::Cell;
use std::sync::Arc;

use super::super::data::Node;
use super::super::fields::Fields;
use super::super::ir::{Schema, SchemaId};
use super::super::path::DataPath;
use super::super::tree::NodeRef;
use super::super::xpath::{Eval, Expr, Frame, Place, check_among, compile};
use super::PageError;

/// Nodes that one condition may look at over all entries.
const MOST: usize = 5_000_000;

/// What entries of a list, or values of a leaf-list, must fulfil.
#[derive(Clone, Debug)]
pub struct Condition {
    list: SchemaId,
    text: String,
    expr: Arc<Expr>,
}

impl PartialEq for Condition {
    fn eq(&self, other: &Condition) -> bool {
        self.list == other.list && self.text == other.text
    }
}

impl Eq for Condition {}

impl Condition {
    /// Compiles an expression whose context is an entry of `list`. Names may have the module's name before them.
    ///
    /// # Errors
    /// Says what is not understood.
    pub fn parse(schema: &Schema, list: SchemaId, text: &str) -> Result<Condition, String> {
        let expr = compile(schema, schema.node(list).module, Some(list), text)?;
        if expr.is_number() {
            return Err("a number chooses no entries; use offset and limit".into());
        }
        Ok(Condition { list, text: text.to_owned(), expr: Arc::new(expr) })
    }

    /// It asks about nothing but the entry and what is below it.
    pub fn is_within(&self, schema: &Schema) -> bool {
        let entry = usize::from(schema.node(self.list).depth) + 1;
        self.expr.apex(entry, entry) >= entry
    }

    /// Which of the entries, in their order, fulfil it.
    ///
    /// # Errors
    /// When that costs too much.
    pub(super) fn choose(
        &self,
        schema: &Schema,
        root: &Fields,
        path: &DataPath,
        node: &Node,
    ) -> Result<Vec<bool>, PageError> {
        let Ok(rules) = schema.rules() else { return Ok(Vec::new()) };
        let above = Place::at(root, &path.parent().unwrap_or_default());
        let left = Cell::new(MOST);
        let size = match node {
            Node::List(list) => list.len(),
            Node::LeafList(values) => values.len(),
            Node::Container(_) | Node::Leaf(_) => 0,
        };
        let mut position = 0;
        let mut holds = |frame| {
            position += 1;
            let current = above.with(frame);
            let module = schema.node(self.list).module;
            let defaults = &rules.defaults;
            let eval = Eval { schema, defaults, module, current: &current, nested: 0, budget: Some(&left) };
            check_among(&eval, &self.expr, position, size)
        };
        let id = self.list;
        let chosen = match node {
            Node::List(list) => list
                .iter()
                .map(|(key, entry)| holds(Frame { id, key: Some(key), node: NodeRef::Fields(entry) }))
                .collect(),
            Node::LeafList(values) => values
                .iter()
                .map(|value| holds(Frame { id, key: None, node: NodeRef::Leaf(value) }))
                .collect(),
            Node::Container(_) | Node::Leaf(_) => Vec::new(),
        };
        if left.get() == 0 { Err(PageError::TooMuch { most: MOST }) } else { Ok(chosen) }
    }
}
