//! Comparisons (XPath 1.0 section 3.4): a set of nodes compares true if one of its nodes does.

use super::super::lexical::{parse_value, value_text};
use super::super::tree::NodeRef;
use super::Comparison;
use super::eval::{Eval, Outcome};
use super::functions::number_of;
use super::place::Place;

impl<'a> Eval<'_, 'a> {
    pub(super) fn compare(&self, comparison: Comparison, a: &Outcome<'a>, b: &Outcome<'a>) -> bool {
        let equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        match (a, b) {
            (Outcome::Bool(_), _) | (_, Outcome::Bool(_)) if equality => {
                (a.truth() == b.truth()) == (comparison == Comparison::Equal)
            }
            (Outcome::Bool(_), _) | (_, Outcome::Bool(_)) => {
                let number = |value: &Outcome<'a>| match value {
                    Outcome::Nodes(_) => Outcome::Bool(value.truth()),
                    Outcome::Text(text) => Outcome::Text(text.clone()),
                    Outcome::Number(number) => Outcome::Number(*number),
                    Outcome::Bool(value) => Outcome::Bool(*value),
                };
                self.numbers(comparison, &number(a), &number(b))
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
    pub(super) fn equals(&self, place: &Place<'a>, text: &str) -> bool {
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
