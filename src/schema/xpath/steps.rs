//! Location paths from text, with their names resolved (XPath 1.0 section 2).

use super::super::ir::SchemaId;
use super::compile::Parser;
use super::tokens::Token;
use super::{Axis, Path, PathStep, Start};
use crate::schema::Schema;

/// The schema nodes that a place may be of; `None` is the root.
pub(super) type At = Vec<Option<SchemaId>>;

impl Parser<'_> {
    pub(super) fn path(&mut self) -> Result<(Path, At), String> {
        let mut path = Path { start: Start::Context, steps: Vec::new() };
        let at = match self.tokens.first() {
            Some(Token::Sign("//")) => {
                path.start = Start::Root;
                self.more_steps(vec![None], &mut path.steps)?
            }
            Some(Token::Sign("/")) => {
                path.start = Start::Root;
                self.sign("/");
                if self.starts_step() { self.steps(vec![None], &mut path.steps)? } else { vec![None] }
            }
            _ => self.steps(self.context.clone(), &mut path.steps)?,
        };
        Ok((path, at))
    }

    fn starts_step(&self) -> bool {
        matches!(self.tokens.first(), Some(Token::Name(_) | Token::Sign("." | ".." | "*")))
    }

    fn steps(&mut self, from: At, steps: &mut Vec<PathStep>) -> Result<At, String> {
        let at = self.step(from, steps)?;
        self.more_steps(at, steps)
    }

    /// What follows after `/` or `//`, as often as that comes.
    pub(super) fn more_steps(&mut self, mut at: At, steps: &mut Vec<PathStep>) -> Result<At, String> {
        loop {
            if self.sign("//") {
                at = reached(self.schema, &at, Axis::DescendantOrSelf);
                steps.push(walk(Axis::DescendantOrSelf, &at, Vec::new()));
            } else if !self.sign("/") {
                return Ok(at);
            }
            at = self.step(at, steps)?;
        }
    }

    fn step(&mut self, at: At, steps: &mut Vec<PathStep>) -> Result<At, String> {
        if self.sign("..") {
            let above = reached(self.schema, &at, Axis::Parent);
            if above.is_empty() {
                return Err("there is nothing above the root".into());
            }
            steps.push(PathStep::Parent);
            return Ok(above);
        }
        if self.sign(".") {
            return Ok(at);
        }
        let axis = self.axis()?;
        let reached = reached(self.schema, &at, axis);
        let found = match self.tokens {
            [Token::Sign("*"), rest @ ..] => {
                self.tokens = rest;
                reached.into_iter().filter(Option::is_some).collect()
            }
            [Token::Name(name), Token::Sign("("), Token::Sign(")"), rest @ ..] if name == "node" => {
                self.tokens = rest;
                reached
            }
            [Token::Name(name), rest @ ..] => {
                self.tokens = rest;
                self.named(&at, &reached, name)?
            }
            [token, ..] => return Err(format!("{token:?} stands where a name should")),
            [] => return Err("the expression ends too early".into()),
        };
        let predicates = self.predicates(&found)?;
        steps.push(match (axis, &at[..], &found[..]) {
            (Axis::Child, [_], [Some(node)]) => {
                PathStep::Child { node: *node, keys: self.keys(*node, &predicates), predicates }
            }
            _ => walk(axis, &found, predicates),
        });
        Ok(found)
    }

    fn axis(&mut self) -> Result<Axis, String> {
        let [Token::Name(name), Token::Sign("::"), rest @ ..] = self.tokens else { return Ok(Axis::Child) };
        self.tokens = rest;
        Ok(match name.as_str() {
            "self" => Axis::Itself,
            "child" => Axis::Child,
            "parent" => Axis::Parent,
            "descendant" => Axis::Descendant,
            "descendant-or-self" => Axis::DescendantOrSelf,
            "ancestor" => Axis::Ancestor,
            "ancestor-or-self" => Axis::AncestorOrSelf,
            _ => return Err(format!("the axis {name}:: is not supported")),
        })
    }

    /// Any number of predicates on what may be of these schema nodes.
    pub(super) fn predicates(&mut self, on: &At) -> Result<Vec<super::Expr>, String> {
        let mut predicates = Vec::new();
        while self.sign("[") {
            let outside = std::mem::replace(&mut self.context, on.clone());
            predicates.push(self.or()?);
            self.context = outside;
            self.expect("]")?;
        }
        Ok(predicates)
    }

    /// Those of the nodes that the name means: with a prefix those of that module; without one those of the expression's module,
    /// or else those of the module that the node above is of.
    fn named(&self, from: &At, reached: &At, name: &str) -> Result<At, String> {
        let schema = self.schema;
        let found: At = reached
            .iter()
            .copied()
            .filter(|id| id.is_some_and(|id| self.means(schema.node(id).parent, name).contains(&id)))
            .collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let place = match &from[..] {
            [Some(at)] => schema.node(*at).name.to_string(),
            [None] => "the top level".to_owned(),
            _ => "any of the places before it".to_owned(),
        };
        Err(format!("there is no node {name:?} in {place}"))
    }

    fn means(&self, parent: Option<SchemaId>, name: &str) -> Vec<SchemaId> {
        let schema = self.schema;
        let siblings = children(schema, parent).iter().copied();
        let module = |id: &SchemaId| schema.node(*id).module;
        if let Some((prefix, local)) = name.split_once(':') {
            let of_module = |id: &SchemaId| {
                let module = schema.module(module(id));
                *module.prefix == *prefix || *module.name == *prefix
            };
            return siblings
                .filter(|id| (local == "*" || *schema.node(*id).name == *local) && of_module(id))
                .collect();
        }
        let named: Vec<SchemaId> = siblings.filter(|id| *schema.node(*id).name == *name).collect();
        let own = named.iter().find(|id| module(id) == self.module);
        let like_parent =
            || named.iter().find(|id| parent.is_some_and(|parent| module(&parent) == module(id)));
        own.or_else(like_parent).copied().into_iter().collect()
    }
}

/// The children of a schema node, or of the root.
pub(super) fn children(schema: &Schema, parent: Option<SchemaId>) -> &[SchemaId] {
    parent.map_or(&schema.roots, |parent| &schema.node(parent).children)
}

fn walk(axis: Axis, found: &At, predicates: Vec<super::Expr>) -> PathStep {
    let mut nodes: Vec<SchemaId> = found.iter().copied().flatten().collect();
    nodes.sort_unstable();
    PathStep::Walk { axis, nodes, root: found.contains(&None), predicates }
}

/// All that an axis may lead to.
fn reached(schema: &Schema, at: &At, axis: Axis) -> At {
    let mut found = At::new();
    for place in at {
        match axis {
            Axis::Itself => found.push(*place),
            Axis::Parent => found.extend(place.map(|id| schema.node(id).parent)),
            Axis::Child => found.extend(children(schema, *place).iter().copied().map(Some)),
            Axis::Descendant => below(schema, *place, &mut found),
            Axis::DescendantOrSelf => {
                found.push(*place);
                below(schema, *place, &mut found);
            }
            Axis::Ancestor => above(schema, *place, &mut found),
            Axis::AncestorOrSelf => {
                found.push(*place);
                above(schema, *place, &mut found);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn below(schema: &Schema, place: Option<SchemaId>, found: &mut At) {
    for child in children(schema, place) {
        found.push(Some(*child));
        below(schema, Some(*child), found);
    }
}

fn above(schema: &Schema, mut place: Option<SchemaId>, found: &mut At) {
    while let Some(id) = place {
        place = schema.node(id).parent;
        found.push(place);
    }
}
