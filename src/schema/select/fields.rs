//! The `fields` parameter: RFC 8040 section 4.8.3.

use super::super::ir::{Kind, Schema, SchemaId};
use super::super::names::find_child;

/// Parentheses and slashes may lead this deep.
const DEEPEST: usize = 64;

/// The nodes asked for, as a tree of schema nodes.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FieldTree {
    /// Sorted by schema node; `None`: with everything below it.
    nodes: Vec<(SchemaId, Option<FieldTree>)>,
}

impl FieldTree {
    /// Reads an (already percent-decoded) expression about children of `target` (`None`: of the datastore).
    ///
    /// # Errors
    /// Says which name or character is wrong.
    pub fn parse(
        schema: &Schema,
        target: Option<SchemaId>,
        text: &str,
        lenient: bool,
    ) -> Result<FieldTree, String> {
        let mut parser = Parser { schema, lenient, text, rest: text };
        let tree = parser.list(target, 0)?;
        if parser.rest.is_empty() { Ok(tree) } else { Err(parser.expected("';', '/', '(' or the end")) }
    }

    /// What is asked for below a child: `None` if the child was not asked for.
    pub fn child(&self, id: SchemaId) -> Option<Option<&FieldTree>> {
        let at = self.nodes.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.nodes[at].1.as_ref())
    }

    /// Asking twice is asking for both.
    fn add(&mut self, id: SchemaId, below: Option<FieldTree>) {
        match self.nodes.binary_search_by_key(&id, |(id, _)| *id) {
            Err(at) => self.nodes.insert(at, (id, below)),
            Ok(at) => match (&mut self.nodes[at].1, below) {
                (Some(here), Some(below)) => {
                    below.nodes.into_iter().for_each(|(id, below)| here.add(id, below));
                }
                (here, _) => *here = None,
            },
        }
    }
}

struct Parser<'a> {
    schema: &'a Schema,
    lenient: bool,
    text: &'a str,
    rest: &'a str,
}

impl Parser<'_> {
    /// `path [ "(" list ")" ] *( ";" … )`
    fn list(&mut self, parent: Option<SchemaId>, depth: usize) -> Result<FieldTree, String> {
        let mut tree = FieldTree::default();
        loop {
            self.path(parent, depth, &mut tree)?;
            if !self.take(';') {
                return Ok(tree);
            }
        }
    }

    fn path(&mut self, parent: Option<SchemaId>, depth: usize, tree: &mut FieldTree) -> Result<(), String> {
        if depth >= DEEPEST {
            return Err(format!("fields is nested more than {DEEPEST} levels deep"));
        }
        let id = self.name(parent)?;
        let below = if self.take('/') {
            let mut below = FieldTree::default();
            self.path(Some(id), depth + 1, &mut below)?;
            Some(below)
        } else if self.take('(') {
            let below = self.list(Some(id), depth + 1)?;
            if !self.take(')') {
                return Err(self.expected("')'"));
            }
            Some(below)
        } else {
            None
        };
        tree.add(id, below);
        Ok(())
    }

    fn name(&mut self, parent: Option<SchemaId>) -> Result<SchemaId, String> {
        let end = self.rest.find(['/', '(', ')', ';']).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() {
            return Err(self.expected("the name of a node"));
        }
        if let Some(parent) = parent
            && !matches!(self.schema.node(parent).kind, Kind::Container { .. } | Kind::List { .. })
        {
            let above = &self.schema.node(parent).name;
            return Err(format!("fields asks for {name:?} below {above}, which has no children"));
        }
        let id = find_child(self.schema, parent, name, self.lenient)
            .map_err(|error| format!("fields: {}", error.message()))?;
        self.rest = rest;
        Ok(id)
    }

    fn take(&mut self, wanted: char) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expected(&self, what: &str) -> String {
        let at = self.text.len() - self.rest.len();
        format!("fields: expected {what} at character {at} of {:?}", shortened(self.text))
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}
