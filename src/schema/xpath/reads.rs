//! What an expression reads, and from how far: so that a change finds the instances whose conditions it may concern.

use std::collections::BTreeSet;

use super::{Expr, Leads, Path, PathStep, Start};
use crate::schema::lexical::{key_leafs, type_of};
use crate::schema::{Kind, Schema, SchemaId, Type};

/// What an expression reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Read {
    /// `None`: whatever an instance-identifier names.
    pub node: Option<SchemaId>,
    /// The instance of the rule and the node read have so many steps in common at least.
    pub apex: usize,
    /// A leaf near the rule tells which instance of the node is read.
    pub by: Option<By>,
}

/// How a leaf near the rule tells what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    Key(Lookup),
    Pointer(Pointer),
}

/// `list[key = current()/…/leaf]`, or a leafref to the key: a change of an entry concerns the rules whose leaf has the value of
/// its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lookup {
    pub list: SchemaId,
    /// Which of the keys of the list.
    pub position: usize,
    pub leaf: SchemaId,
    /// The instance of the rule and the leaf have so many steps in common.
    pub shared: usize,
}

/// `deref(…)` of an instance-identifier: a change concerns the rules whose leaf names something near it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pointer {
    pub leaf: SchemaId,
    /// The instance of the rule and the leaf have so many steps in common at least.
    pub shared: usize,
    /// What is read hangs at most so many steps above what is named.
    pub climb: usize,
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
    via: Option<Via>,
}

/// What led to the context.
#[derive(Clone, Copy)]
enum Via {
    /// The key of an entry, and the depth of that.
    Key(Lookup, usize),
    /// An instance-identifier, and how many steps below what it names the context is.
    Pointer(Pointer, isize),
}

impl Via {
    /// After another step, which ends at this depth or deeper.
    fn step(self, step: &PathStep, depth: usize) -> Option<Via> {
        match (self, step) {
            (Via::Key(_, entry), PathStep::Parent) => (depth >= entry).then_some(self),
            (Via::Key(..), PathStep::Child { .. } | PathStep::Filter(_)) => Some(self),
            (Via::Key(..), PathStep::Walk { .. }) => None,
            (Via::Pointer(pointer, below), step) => {
                let below = below + step.levels()?;
                let climb = pointer.climb.max(usize::try_from(-below).unwrap_or(0));
                Some(Via::Pointer(Pointer { climb, ..pointer }, below))
            }
        }
    }

    fn by(self) -> By {
        match self {
            Via::Key(lookup, _) => By::Key(lookup),
            Via::Pointer(pointer, _) => By::Pointer(pointer),
        }
    }
}

impl Expr {
    /// Calls `found` with everything that the expression reads, evaluated at the node `own` (`None`: the root).
    pub fn reads(&self, schema: &Schema, own: Option<SchemaId>, found: &mut dyn FnMut(Read)) {
        let depth = own.map_or(0, |id| usize::from(schema.node(id).depth) + 1);
        let around = Around { schema, own, context: depth, current: depth, apex: usize::MAX, via: None };
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
        let mut via = None;
        match &self.start {
            Start::Context => via = around.via,
            Start::Root | Start::Current => {}
            Start::Of(expr) => expr.walk(around, found),
            Start::Deref(expr, leads) => {
                expr.walk(around, found);
                let shared = expr.apex(around.context, around.current).min(around.apex);
                // The leafs may be anywhere.
                let around = Around { context: 0, current: 0, apex, via: None, ..around };
                via = follow(leads, shared, around, found);
                if let Some(Via::Key(_, entry)) = via {
                    depth = entry + 1;
                }
            }
        }
        for step in &self.steps {
            depth = step.depth(depth);
            via = via.and_then(|via| via.step(step, depth));
            match step {
                PathStep::Parent | PathStep::Filter(_) => {}
                PathStep::Child { node, keys, .. } => {
                    if let Some(keys) = keys {
                        via = lookup_of(*node, keys, &around).map(|lookup| Via::Key(lookup, depth)).or(via);
                    }
                    found(Read { node: Some(*node), apex, by: via.map(Via::by) });
                }
                PathStep::Walk { nodes, .. } => {
                    // What is between is read, too: with it goes what hangs there.
                    let ways = nodes.iter().flat_map(|node| around.schema.way_to(*node));
                    let ways: BTreeSet<SchemaId> = ways.collect();
                    ways.into_iter()
                        .for_each(|node| found(Read { node: Some(node), apex, by: via.map(Via::by) }));
                }
            }
            let inside = Around { context: depth, apex, via, ..around };
            step.predicates().iter().for_each(|predicate| predicate.walk(inside, found));
        }
    }
}

/// What is read where leafs lead that share so many steps with the rule; and what led there, if that is one leaf with one way.
fn follow(
    leads: &[(SchemaId, Leads)],
    shared: usize,
    around: Around<'_>,
    found: &mut dyn FnMut(Read),
) -> Option<Via> {
    let schema = around.schema;
    let (apex, alone) = (around.apex, leads.len() == 1);
    let mut via = None;
    for (leaf, way) in leads {
        match way {
            Leads::There => {
                let pointer = Pointer { leaf: *leaf, shared, climb: 0 };
                via = (alone && is_held(schema, *leaf)).then_some(Via::Pointer(pointer, 0));
                found(Read { node: None, apex, by: via.map(Via::by) });
            }
            Leads::Along(path) => match lookup_along(schema, *leaf, path, shared).filter(|_| alone) {
                Some((lookup, above, depth)) => {
                    above.walk(around, found);
                    via = Some(Via::Key(lookup, depth));
                    for node in [Some(lookup.list), path.target()] {
                        found(Read { node, apex, by: Some(By::Key(lookup)) });
                    }
                }
                None => path.walk(around, found),
            },
        }
    }
    via
}

/// A leafref to the key of a list, without conditions: it looks an entry up. With the path of the list's parent, and the depth
/// of entries.
fn lookup_along(
    schema: &Schema,
    leaf: SchemaId,
    path: &Path,
    shared: usize,
) -> Option<(Lookup, Path, usize)> {
    let [above @ .., PathStep::Child { node: list, .. }, PathStep::Child { node: key, .. }] = &path.steps[..]
    else {
        return None;
    };
    let position = key_leafs(schema, *list).iter().position(|leaf| leaf == key)?;
    let plain = path.is_plain() && is_held(schema, leaf);
    let alike = same_texts(type_of(schema, leaf)?, type_of(schema, *key)?);
    let lookup = Lookup { list: *list, position, leaf, shared };
    let above = Path { start: path.start.clone(), steps: above.to_vec() };
    let depth = usize::from(schema.node(*list).depth) + 1;
    (plain && alike).then_some((lookup, above, depth))
}

/// A default is held by no leaf.
fn is_held(schema: &Schema, leaf: SchemaId) -> bool {
    match &schema.node(leaf).kind {
        Kind::Leaf { default, .. } => default.is_none(),
        Kind::LeafList { defaults, .. } => defaults.is_empty(),
        _ => false,
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
        let alike = same_texts(type_of(schema, leaf)?, type_of(schema, *key_leaf)?);
        let shared = path.apex(around.current, around.current);
        (is_held(schema, leaf) && alike).then_some(Lookup { list, position, leaf, shared })
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
