//! What an expression reads, and from how far: so that a change finds the instances whose conditions it may concern.

use std::collections::BTreeSet;

use super::{Expr, Path, PathStep, Start};
use crate::schema::lexical::{key_leafs, type_of};
use crate::schema::{Kind, Schema, SchemaId, Type};

/// A node that an expression reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Read {
    pub node: SchemaId,
    /// The instance of the rule and the node read have so many steps in common at least.
    pub apex: usize,
    /// The node is reached by the key of an entry, which a leaf near the rule holds.
    pub lookup: Option<Lookup>,
}

/// `list[key = current()/…/leaf]`: a change of an entry concerns the rules whose leaf has the value of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lookup {
    pub list: SchemaId,
    /// Which of the keys of the list.
    pub position: usize,
    pub leaf: SchemaId,
    /// The instance of the rule and the leaf have so many steps in common.
    pub shared: usize,
}

/// Where a walk over an expression stands: depths are in steps below the root.
#[derive(Clone, Copy)]
struct Around<'a> {
    schema: &'a Schema,
    /// The node of `current()`.
    own: Option<SchemaId>,
    context: usize,
    current: usize,
    apex: usize,
    /// The lookup that led here, and the depth of its entry.
    lookup: Option<(Lookup, usize)>,
}

impl Expr {
    /// Calls `found` with everything that the expression reads, evaluated at the node `own` (`None`: the root).
    pub fn reads(&self, schema: &Schema, own: Option<SchemaId>, found: &mut dyn FnMut(Read)) {
        let depth = own.map_or(0, |id| usize::from(schema.node(id).depth) + 1);
        let around = Around { schema, own, context: depth, current: depth, apex: usize::MAX, lookup: None };
        self.walk(around, found);
    }

    fn walk(&self, around: Around<'_>, found: &mut dyn FnMut(Read)) {
        match self {
            Expr::Or(a, b)
            | Expr::And(a, b)
            | Expr::Compare(_, a, b)
            | Expr::Arithmetic(_, a, b)
            | Expr::Union(a, b) => {
                a.walk(around, found);
                b.walk(around, found);
            }
            Expr::Negative(inner) | Expr::Matches(inner, _) => inner.walk(around, found),
            Expr::Path(path) => path.walk(around, found),
            Expr::Call(_, arguments) => arguments.iter().for_each(|argument| argument.walk(around, found)),
            Expr::Literal(_) | Expr::Number(_) => {}
        }
    }
}

impl Path {
    fn walk(&self, around: Around<'_>, found: &mut dyn FnMut(Read)) {
        let apex = self.apex(around.context, around.current).min(around.apex);
        let mut depth = self.start_depth(around.context, around.current);
        let mut lookup = None;
        match &self.start {
            Start::Context => lookup = around.lookup,
            Start::Root | Start::Current => {}
            Start::Of(expr) => expr.walk(around, found),
            Start::Deref(expr, paths) => {
                expr.walk(around, found);
                // The leafs may be anywhere.
                let around = Around { context: 0, current: 0, apex, lookup: None, ..around };
                paths.iter().for_each(|(_, path)| path.walk(around, found));
            }
        }
        for step in &self.steps {
            depth = step.depth(depth);
            match step {
                PathStep::Parent => lookup = lookup.filter(|(_, entry)| depth >= *entry),
                PathStep::Child { node, keys, .. } => {
                    if let Some(keys) = keys {
                        lookup = lookup_of(*node, keys, &around).map(|lookup| (lookup, depth)).or(lookup);
                    }
                    found(Read { node: *node, apex, lookup: lookup.map(|(lookup, _)| lookup) });
                }
                PathStep::Walk { nodes, .. } => {
                    lookup = None;
                    // What is between is read, too: with it goes what hangs there.
                    let ways = nodes.iter().flat_map(|node| around.schema.way_to(*node));
                    let ways: BTreeSet<SchemaId> = ways.collect();
                    ways.into_iter().for_each(|node| found(Read { node, apex, lookup: None }));
                }
                PathStep::Filter(_) => {}
            }
            let inside = Around { context: depth, apex, lookup, ..around };
            step.predicates().iter().for_each(|predicate| predicate.walk(inside, found));
        }
    }
}

/// The first key that a leaf near the rule gives.
fn lookup_of(list: SchemaId, keys: &[Expr], around: &Around<'_>) -> Option<Lookup> {
    let schema = around.schema;
    key_leafs(schema, list).iter().zip(keys).enumerate().find_map(|(position, (key_leaf, key))| {
        let Expr::Path(path) = key else { return None };
        if !matches!(path.start, Start::Current) || !path.is_plain() {
            return None;
        }
        let leaf = if path.steps.is_empty() { around.own } else { path.target() }?;
        // A default is held by no leaf.
        let held = !matches!(schema.node(leaf).kind, Kind::Leaf { default: Some(_), .. });
        let alike = same_texts(type_of(schema, leaf)?, type_of(schema, *key_leaf)?);
        let shared = path.apex(around.current, around.current);
        (held && alike).then_some(Lookup { list, position, leaf, shared })
    })
}

/// Do equal values of the two types have equal texts, and the other way round?
fn same_texts(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::LeafRef { real, .. }, other) | (other, Type::LeafRef { real, .. }) => same_texts(real, other),
        (Type::String { kind: one, .. }, Type::String { kind: other, .. }) => one == other,
        (Type::Union(_), _) | (_, Type::Union(_)) => false,
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}
