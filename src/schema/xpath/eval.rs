//! Evaluation on a tree.

use std::cell::Cell;
use std::collections::HashMap;

use super::super::data::Node;
use super::super::ir::{IdentityId, ModuleId, Schema, SchemaId, Type};
use super::super::lexical::{type_of, value_text};
use super::super::tree::NodeRef;
use super::super::value::Value;
use super::compile::find_identity;
use super::functions::{Function, number_of, round, substring, text_of, translate};
use super::place::Place;
use super::walk::distinct;
use super::{Arithmetic, Expr};

/// What evaluation needs besides expression and place.
pub struct Eval<'e, 'a> {
    pub schema: &'a Schema,
    /// Defaults of leafs and leaf-lists: absent ones in use have them (RFC 7950 sections 7.6.1 and 7.7.2).
    pub defaults: &'a HashMap<SchemaId, Node>,
    /// The module whose prefixes the expression uses.
    pub module: ModuleId,
    pub current: &'e Place<'a>,
    /// How many conditions on defaults are being looked at around this one; 0 to start with.
    pub nested: u8,
    /// How much may still be looked at, where clients gave the expression; at 0 nothing is true any more.
    pub budget: Option<&'e Cell<usize>>,
}

/// The context of an expression (XPath 1.0 section 1): a node, and its place among those that are looked at with it, from 1.
#[derive(Clone, Copy)]
pub(super) struct Spot<'s, 'a> {
    pub place: &'s Place<'a>,
    pub position: usize,
    pub size: usize,
}

/// A value of XPath.
pub(super) enum Outcome<'a> {
    Nodes(Vec<Place<'a>>),
    Text(String),
    Number(f64),
    Bool(bool),
}

/// Does the condition hold at this place?
pub fn check(eval: &Eval<'_, '_>, expr: &Expr) -> bool {
    check_among(eval, expr, 1, 1)
}

/// Does the condition hold at this place, which is the `position`th of `size`?
pub fn check_among(eval: &Eval<'_, '_>, expr: &Expr, position: usize, size: usize) -> bool {
    eval.value(expr, Spot { place: eval.current, position, size }).truth()
}

impl Outcome<'_> {
    pub fn truth(&self) -> bool {
        match self {
            Outcome::Nodes(nodes) => !nodes.is_empty(),
            Outcome::Text(text) => !text.is_empty(),
            Outcome::Number(number) => *number != 0.0 && !number.is_nan(),
            Outcome::Bool(value) => *value,
        }
    }
}

impl<'a> Eval<'_, 'a> {
    /// Takes something off the budget; false: there is not so much left.
    pub(super) fn afford(&self, cost: usize) -> bool {
        let Some(left) = self.budget else { return true };
        left.set(left.get().saturating_sub(cost));
        left.get() > 0
    }

    pub(super) fn value(&self, expr: &Expr, spot: Spot<'_, 'a>) -> Outcome<'a> {
        if !self.afford(1) {
            return Outcome::Bool(false);
        }
        match expr {
            Expr::Or(a, b) => Outcome::Bool(self.value(a, spot).truth() || self.value(b, spot).truth()),
            Expr::And(a, b) => Outcome::Bool(self.value(a, spot).truth() && self.value(b, spot).truth()),
            Expr::Compare(comparison, a, b) => {
                Outcome::Bool(self.compare(*comparison, &self.value(a, spot), &self.value(b, spot)))
            }
            Expr::Arithmetic(operation, a, b) => {
                let (a, b) = (self.number(&self.value(a, spot)), self.number(&self.value(b, spot)));
                Outcome::Number(match operation {
                    Arithmetic::Plus => a + b,
                    Arithmetic::Minus => a - b,
                    Arithmetic::Times => a * b,
                    Arithmetic::Div => a / b,
                    Arithmetic::Mod => a % b,
                })
            }
            Expr::Negative(inner) => Outcome::Number(-self.number(&self.value(inner, spot))),
            Expr::Union(a, b) => {
                let mut nodes = self.set(a, spot);
                nodes.extend(self.set(b, spot));
                Outcome::Nodes(distinct(nodes))
            }
            Expr::Path(path) => Outcome::Nodes(self.nodes_from(path, spot)),
            Expr::Literal(text) => Outcome::Text(text.clone()),
            Expr::Number(number) => Outcome::Number(*number),
            Expr::Call(function, arguments) => self.call(*function, arguments, spot),
            Expr::Matches(text, pattern) => {
                Outcome::Bool(pattern.is_match(&self.first_text(&self.value(text, spot))))
            }
        }
    }

    /// The nodes that an expression gives.
    pub(super) fn set(&self, expr: &Expr, spot: Spot<'_, 'a>) -> Vec<Place<'a>> {
        if let Outcome::Nodes(nodes) = self.value(expr, spot) { nodes } else { Vec::new() }
    }

    /// The string values.
    pub(super) fn texts(&self, value: &Outcome<'a>) -> Vec<String> {
        match value {
            Outcome::Nodes(nodes) => nodes.iter().map(|place| self.text(place)).collect(),
            Outcome::Text(text) => vec![text.clone()],
            Outcome::Number(number) => vec![text_of(*number)],
            Outcome::Bool(value) => vec![value.to_string()],
        }
    }

    fn first_text(&self, value: &Outcome<'a>) -> String {
        match value {
            Outcome::Nodes(nodes) => nodes.first().map(|place| self.text(place)).unwrap_or_default(),
            other => self.texts(other).pop().unwrap_or_default(),
        }
    }

    /// XPath 1.0 section 4.4, `number()`.
    fn number(&self, value: &Outcome<'a>) -> f64 {
        match value {
            Outcome::Number(number) => *number,
            Outcome::Bool(value) => f64::from(u8::from(*value)),
            other => number_of(&self.first_text(other)),
        }
    }

    fn text(&self, place: &Place<'a>) -> String {
        match (place.node(), place.id()) {
            (NodeRef::Leaf(value), Some(id)) => value_text(self.schema, id, value),
            _ => String::new(),
        }
    }

    fn call(&self, function: Function, arguments: &[Expr], spot: Spot<'_, 'a>) -> Outcome<'a> {
        let value = |at: usize| match arguments.get(at) {
            Some(argument) => self.value(argument, spot),
            None => Outcome::Text(String::new()),
        };
        let text = |at: usize| self.first_text(&value(at));
        let number = |at: usize| self.number(&value(at));
        let nodes = || arguments.first().map(|nodes| self.set(nodes, spot)).unwrap_or_default();
        match function {
            Function::Not => Outcome::Bool(!value(0).truth()),
            Function::True => Outcome::Bool(true),
            Function::False => Outcome::Bool(false),
            Function::Boolean => Outcome::Bool(value(0).truth()),
            Function::Count => Outcome::Number(nodes().len() as f64),
            Function::Sum => {
                Outcome::Number(nodes().iter().map(|place| number_of(&self.text(place))).sum::<f64>() + 0.0)
            }
            Function::Last => Outcome::Number(spot.size as f64),
            Function::Position => Outcome::Number(spot.position as f64),
            Function::Number => Outcome::Number(number(0)),
            Function::Floor => Outcome::Number(number(0).floor()),
            Function::Ceiling => Outcome::Number(number(0).ceil()),
            Function::Round => Outcome::Number(round(number(0))),
            Function::StringLength => Outcome::Number(text(0).chars().count() as f64),
            Function::EnumValue => Outcome::Number(match nodes().first().map(Place::node) {
                Some(NodeRef::Leaf(Value::Enum(value))) => f64::from(*value),
                _ => f64::NAN,
            }),
            Function::String => Outcome::Text(text(0)),
            Function::Concat => Outcome::Text((0..arguments.len()).map(text).collect()),
            Function::Contains => Outcome::Bool(text(0).contains(&text(1))),
            Function::StartsWith => Outcome::Bool(text(0).starts_with(&text(1))),
            Function::Substring => {
                let count = arguments.get(2).map(|_| number(2));
                Outcome::Text(substring(&text(0), number(1), count))
            }
            Function::SubstringBefore => {
                let (whole, part) = (text(0), text(1));
                Outcome::Text(whole.split_once(&*part).map_or("", |(before, _)| before).to_owned())
            }
            Function::SubstringAfter => {
                let (whole, part) = (text(0), text(1));
                Outcome::Text(whole.split_once(&*part).map_or("", |(_, after)| after).to_owned())
            }
            Function::NormalizeSpace => {
                Outcome::Text(text(0).split_ascii_whitespace().collect::<Vec<_>>().join(" "))
            }
            Function::Translate => Outcome::Text(translate(&text(0), &text(1), &text(2))),
            Function::LocalName | Function::Name | Function::NamespaceUri => {
                let id = nodes().first().and_then(Place::id);
                Outcome::Text(id.map(|id| self.name(function, id)).unwrap_or_default())
            }
            Function::DerivedFrom => Outcome::Bool(self.derived(&nodes(), &text(1), false)),
            Function::DerivedFromOrSelf => Outcome::Bool(self.derived(&nodes(), &text(1), true)),
            Function::BitIsSet => Outcome::Bool(self.bit_is_set(&nodes(), &text(1))),
        }
    }

    /// A name as RFC 7951 writes it, or a part of it.
    fn name(&self, function: Function, id: SchemaId) -> String {
        let node = self.schema.node(id);
        let module = self.schema.module(node.module);
        match function {
            Function::LocalName => node.name.to_string(),
            Function::NamespaceUri => module.namespace.to_string(),
            _ => format!("{}:{}", module.name, node.name),
        }
    }

    fn derived(&self, nodes: &[Place<'a>], base: &str, or_self: bool) -> bool {
        let Some(base) = find_identity(self.schema, self.module, base) else { return false };
        let base = IdentityId(base as u16);
        nodes.iter().any(|place| match place.node() {
            NodeRef::Leaf(Value::Identity(id)) => {
                let bases = self.schema.identities.get(usize::from(id.0)).map(|identity| &identity.bases);
                bases.is_some_and(|bases| bases.contains(&base)) || or_self && *id == base
            }
            _ => false,
        })
    }

    /// RFC 7950 section 10.6.1: of the first node.
    fn bit_is_set(&self, nodes: &[Place<'a>], name: &str) -> bool {
        let Some(first) = nodes.first() else { return false };
        let (NodeRef::Leaf(Value::Bits(mask)), Some(id)) = (first.node(), first.id()) else { return false };
        let Some(Type::Bits(bits)) = type_of(self.schema, id).map(real) else { return false };
        let position = bits.iter().find(|(known, _)| **known == *name).map(|(_, position)| *position);
        position.and_then(|position| mask.checked_shr(position)).is_some_and(|shifted| shifted & 1 == 1)
    }
}

/// The type behind leafrefs.
fn real(type_: &Type) -> &Type {
    if let Type::LeafRef { real: inner, .. } = type_ { real(inner) } else { type_ }
}
