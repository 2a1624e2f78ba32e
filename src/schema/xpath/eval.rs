//! Evaluation on a tree.

use std::cell::Cell;
use std::collections::HashMap;

use smallvec::SmallVec;

use super::super::data::{Key, Node};
use super::super::ir::{IdentityId, ModuleId, Schema, SchemaId};
use super::super::lexical::{key_leafs, parse_value, value_text};
use super::super::rules::RuleKind;
use super::super::select::case_chosen;
use super::super::tree::NodeRef;
use super::super::value::Value;
use super::compile::find_identity;
use super::place::{Frame, Place};
use super::{Comparison, Expr, Function, Path, PathStep, Start};

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

/// Conditions on defaults are followed so far.
const MOST_NESTED: u8 = 8;

/// A value of XPath.
enum Outcome<'a> {
    Nodes(Vec<Place<'a>>),
    Text(String),
    Number(f64),
    Bool(bool),
}

/// Does the condition hold at this place?
pub fn check(eval: &Eval<'_, '_>, expr: &Expr) -> bool {
    eval.value(expr, eval.current).truth()
}

impl Outcome<'_> {
    fn truth(&self) -> bool {
        match self {
            Outcome::Nodes(nodes) => !nodes.is_empty(),
            Outcome::Text(text) => !text.is_empty(),
            Outcome::Number(number) => *number != 0.0 && !number.is_nan(),
            Outcome::Bool(value) => *value,
        }
    }
}

fn number_of(text: &str) -> f64 {
    text.trim().parse().unwrap_or(f64::NAN)
}

impl<'a> Eval<'_, 'a> {
    /// Takes something off the budget; false: there is not so much left.
    fn afford(&self, cost: usize) -> bool {
        let Some(left) = self.budget else { return true };
        left.set(left.get().saturating_sub(cost));
        left.get() > 0
    }

    fn value(&self, expr: &Expr, context: &Place<'a>) -> Outcome<'a> {
        if !self.afford(1) {
            return Outcome::Bool(false);
        }
        match expr {
            Expr::Or(a, b) => Outcome::Bool(self.value(a, context).truth() || self.value(b, context).truth()),
            Expr::And(a, b) => {
                Outcome::Bool(self.value(a, context).truth() && self.value(b, context).truth())
            }
            Expr::Compare(comparison, a, b) => {
                Outcome::Bool(self.compare(*comparison, &self.value(a, context), &self.value(b, context)))
            }
            Expr::Path(path) => Outcome::Nodes(self.nodes(path, context)),
            Expr::Literal(text) => Outcome::Text(text.clone()),
            Expr::Number(number) => Outcome::Number(*number),
            Expr::Call(function, arguments) => self.call(*function, arguments, context),
        }
    }

    /// All nodes that a path leads to.
    pub fn nodes(&self, path: &Path, context: &Place<'a>) -> Vec<Place<'a>> {
        let start = match path.start {
            Start::Root => Place::root(context.root),
            Start::Context => context.clone(),
            Start::Current => self.current.clone(),
        };
        let mut nodes = vec![start];
        for step in &path.steps {
            nodes = match step {
                PathStep::Parent => {
                    let mut above: Vec<Place<'a>> = nodes.iter().filter_map(Place::parent).collect();
                    above.dedup_by(|a, b| same(a, b));
                    above
                }
                PathStep::Child { node, keys: Some(keys), .. } => {
                    nodes.iter().flat_map(|place| self.entries(place, *node, keys, context)).collect()
                }
                PathStep::Child { node, predicates, .. } => {
                    let children = nodes.iter().flat_map(|place| self.children(place, *node));
                    let holds = |place: &Place<'a>| {
                        predicates.iter().all(|predicate| self.value(predicate, place).truth())
                    };
                    children.filter(holds).collect()
                }
            };
        }
        nodes
    }

    /// Does one of the nodes have this value? A target that is the only key of its list is looked up.
    pub fn leads_to(&self, path: &Path, value: &Value) -> bool {
        if let [
            above @ ..,
            PathStep::Child { node: list, predicates, .. },
            PathStep::Child { node: leaf, .. },
        ] = &path.steps[..]
            && predicates.is_empty()
            && key_leafs(self.schema, *list) == [*leaf]
        {
            let above = Path { start: path.start, steps: above.to_vec() };
            let key = Key::one(value.clone());
            let lists = self.nodes(&above, self.current);
            let mut lists = lists.iter().filter_map(|place| place.fields()?.list(*list));
            return lists.any(|list| list.get(&key).is_some());
        }
        self.nodes(path, self.current).iter().any(|place| place.node() == NodeRef::Leaf(value))
    }

    /// The instances of a child. Defaults and non-presence containers are there where their case is chosen and their
    /// conditions hold (RFC 7950 sections 7.5.1, 7.6.1 and 7.7.2).
    fn children(&self, place: &Place<'a>, id: SchemaId) -> Vec<Place<'a>> {
        let present = place.present(id);
        if !self.afford(present.len()) {
            return Vec::new();
        }
        let Some(fields) = place.fields().filter(|_| present.is_empty()) else { return present };
        let implied = place.implied(self.schema, id, self.defaults);
        let Some(first) = implied.first() else { return present };
        let there = case_chosen(self.schema, fields, id) && self.possible(place, id, first);
        if there { implied } else { present }
    }

    fn possible(&self, parent: &Place<'a>, id: SchemaId, place: &Place<'a>) -> bool {
        let node = self.schema.node(id);
        // Conditions on defaults that ask for one another end somewhere.
        if node.whens.is_empty() || self.nested >= MOST_NESTED {
            return true;
        }
        let Ok(rules) = self.schema.rules() else { return true };
        rules.of(id).all(|rule| {
            let RuleKind::When(number) = rule.kind else { return true };
            let current = if node.whens[number].context_is_parent { parent } else { place };
            let nested = self.nested + 1;
            check(&Eval { module: node.module, current, nested, ..*self }, &rule.expr)
        })
    }

    /// The entries whose keys equal any of what the expressions give.
    fn entries(
        &self,
        place: &Place<'a>,
        list: SchemaId,
        keys: &[Expr],
        context: &Place<'a>,
    ) -> Vec<Place<'a>> {
        let Some(Node::List(entries)) = place.fields().and_then(|fields| fields.get(list)) else {
            return Vec::new();
        };
        let mut wanted: Vec<SmallVec<[Value; 1]>> = vec![SmallVec::new()];
        for (leaf, expr) in key_leafs(self.schema, list).iter().zip(keys) {
            let texts = self.texts(&self.value(expr, context));
            let values: Vec<Value> =
                texts.iter().filter_map(|text| parse_value(self.schema, *leaf, text).ok()).collect();
            if !self.afford(wanted.len().saturating_mul(values.len())) {
                return Vec::new();
            }
            wanted = wanted
                .iter()
                .flat_map(|key| {
                    values.iter().map(|value| key.iter().cloned().chain([value.clone()]).collect())
                })
                .collect();
        }
        let found = wanted.into_iter().filter_map(|key| entries.get_key_value(&Key::from_iter(key)));
        found
            .map(|(key, entry)| place.with(Frame { id: list, key: Some(key), node: NodeRef::Fields(entry) }))
            .collect()
    }

    /// The string values.
    fn texts(&self, value: &Outcome<'a>) -> Vec<String> {
        match value {
            Outcome::Nodes(nodes) => nodes.iter().map(|place| self.text(place)).collect(),
            Outcome::Text(text) => vec![text.clone()],
            Outcome::Number(number) => vec![number.to_string()],
            Outcome::Bool(value) => vec![value.to_string()],
        }
    }

    fn first_text(&self, value: &Outcome<'a>) -> String {
        self.texts(value).into_iter().next().unwrap_or_default()
    }

    fn text(&self, place: &Place<'a>) -> String {
        match (place.node(), place.id()) {
            (NodeRef::Leaf(value), Some(id)) => value_text(self.schema, id, value),
            _ => String::new(),
        }
    }

    fn call(&self, function: Function, arguments: &[Expr], context: &Place<'a>) -> Outcome<'a> {
        let argument = |at: usize| self.value(&arguments[at], context);
        let text = |at: usize| self.first_text(&argument(at));
        match function {
            Function::Not => Outcome::Bool(!argument(0).truth()),
            Function::True => Outcome::Bool(true),
            Function::False => Outcome::Bool(false),
            Function::Boolean => Outcome::Bool(argument(0).truth()),
            Function::Count => match argument(0) {
                Outcome::Nodes(nodes) => Outcome::Number(nodes.len() as f64),
                _ => Outcome::Number(0.0),
            },
            Function::Number => Outcome::Number(number_of(&text(0))),
            Function::String => Outcome::Text(text(0)),
            Function::Contains => Outcome::Bool(text(0).contains(&text(1))),
            Function::StartsWith => Outcome::Bool(text(0).starts_with(&text(1))),
            Function::StringLength => Outcome::Number(text(0).chars().count() as f64),
            Function::DerivedFrom | Function::DerivedFromOrSelf => {
                let or_self = function == Function::DerivedFromOrSelf;
                Outcome::Bool(self.derived(&argument(0), &text(1), or_self))
            }
        }
    }

    fn derived(&self, nodes: &Outcome<'a>, base: &str, or_self: bool) -> bool {
        let Outcome::Nodes(nodes) = nodes else { return false };
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

    /// XPath 1.0 section 3.4: a set of nodes compares true if one of its nodes does.
    fn compare(&self, comparison: Comparison, a: &Outcome<'a>, b: &Outcome<'a>) -> bool {
        let equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        match (a, b) {
            (Outcome::Bool(_), _) | (_, Outcome::Bool(_)) if equality => {
                (a.truth() == b.truth()) == (comparison == Comparison::Equal)
            }
            (Outcome::Nodes(nodes), Outcome::Text(text)) | (Outcome::Text(text), Outcome::Nodes(nodes))
                if equality =>
            {
                nodes.iter().any(|place| self.equals(place, text) == (comparison == Comparison::Equal))
            }
            (Outcome::Number(_), _) | (_, Outcome::Number(_)) => self.numbers(comparison, a, b),
            _ if equality => {
                let (left, right) = (self.texts(a), self.texts(b));
                if !self.afford(left.len().saturating_mul(right.len())) {
                    return false;
                }
                let wanted = comparison == Comparison::Equal;
                left.iter().any(|x| right.iter().any(|y| (x == y) == wanted))
            }
            _ => self.numbers(comparison, a, b),
        }
    }

    /// The literal is brought to the canonical form of the leaf first, so that prefixes of identities do not matter.
    fn equals(&self, place: &Place<'a>, text: &str) -> bool {
        match (place.node(), place.id()) {
            (NodeRef::Leaf(value), Some(id)) => match parse_value(self.schema, id, text) {
                Ok(literal) => literal == *value,
                Err(_) => value_text(self.schema, id, value) == text,
            },
            _ => text.is_empty(),
        }
    }

    fn numbers(&self, comparison: Comparison, a: &Outcome<'a>, b: &Outcome<'a>) -> bool {
        let numbers = |value: &Outcome<'a>| match value {
            Outcome::Number(number) => vec![*number],
            Outcome::Bool(value) => vec![f64::from(u8::from(*value))],
            other => self.texts(other).iter().map(|text| number_of(text)).collect(),
        };
        let (left, right) = (numbers(a), numbers(b));
        if !self.afford(left.len().saturating_mul(right.len())) {
            return false;
        }
        let holds = |x: f64, y: f64| match comparison {
            Comparison::Equal => x == y,
            Comparison::NotEqual => x != y,
            Comparison::Less => x < y,
            Comparison::LessOrEqual => x <= y,
            Comparison::Greater => x > y,
            Comparison::GreaterOrEqual => x >= y,
        };
        left.iter().any(|x| right.iter().any(|y| holds(*x, *y)))
    }
}

/// The same node reached by two ways.
fn same(a: &Place<'_>, b: &Place<'_>) -> bool {
    let pointer = |frame: &Frame<'_>| match frame.node {
        NodeRef::Fields(fields) => std::sync::Arc::as_ptr(fields).cast::<u8>(),
        NodeRef::List(list) => std::ptr::from_ref(list).cast(),
        NodeRef::Leaf(value) => std::ptr::from_ref(value).cast(),
        NodeRef::LeafList(values) => std::ptr::from_ref(values).cast(),
    };
    a.frames.len() == b.frames.len() && a.frames.last().map(pointer) == b.frames.last().map(pointer)
}
