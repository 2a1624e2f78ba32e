//! The part of XPath 1.0 that YANG models use in must, when and leafref paths: location paths along child and parent
//! with predicates, `current()`, comparisons, `and`, `or`, and the functions of [`Function`]. Names are resolved
//! against the schema when an expression is compiled; what is not known then is an error then.

mod compile;
mod eval;
mod place;
mod reads;
mod tokens;

use super::ir::SchemaId;

pub(super) use compile::compile;
pub(super) use eval::{Eval, check};
pub(super) use place::{Frame, Place};
pub(super) use reads::{Lookup, Read};

/// A compiled expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Or(Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    Path(Path),
    Literal(String),
    Number(f64),
    Call(Function, Vec<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Not,
    Count,
    True,
    False,
    Boolean,
    Number,
    String,
    DerivedFrom,
    DerivedFromOrSelf,
    Contains,
    StartsWith,
    StringLength,
}

/// A location path.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    pub start: Start,
    pub steps: Vec<PathStep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    Root,
    /// The context node: inside a predicate, the node that is tested.
    Context,
    /// The node that carries the expression.
    Current,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PathStep {
    Parent,
    Child {
        node: SchemaId,
        predicates: Vec<Expr>,
        /// Where the predicates are one equation for each key of a list: their right sides in the order of the keys.
        keys: Option<Vec<Expr>>,
    },
}

impl Expr {
    /// Its value is a number whatever the data: in brackets that would be a position (XPath 1.0 section 2.4).
    pub fn is_number(&self) -> bool {
        match self {
            Expr::Number(_) => true,
            Expr::Call(function, _) => {
                matches!(function, Function::Count | Function::Number | Function::StringLength)
            }
            _ => false,
        }
    }

    /// The least depth that evaluation reaches, given the depths of the context and of `current()`.
    pub fn apex(&self, context: usize, current: usize) -> usize {
        match self {
            Expr::Or(a, b) | Expr::And(a, b) | Expr::Compare(_, a, b) => {
                a.apex(context, current).min(b.apex(context, current))
            }
            Expr::Path(path) => path.apex(context, current),
            Expr::Call(_, arguments) => {
                arguments.iter().map(|argument| argument.apex(context, current)).min().unwrap_or(context)
            }
            Expr::Literal(_) | Expr::Number(_) => context,
        }
    }
}

impl Path {
    /// The node at the end; `None` if the path ends in `..`.
    pub fn target(&self) -> Option<SchemaId> {
        match self.steps.last() {
            Some(PathStep::Child { node, .. }) => Some(*node),
            _ => None,
        }
    }

    /// No predicates.
    pub fn is_plain(&self) -> bool {
        self.steps.iter().all(|step| match step {
            PathStep::Parent => true,
            PathStep::Child { predicates, .. } => predicates.is_empty(),
        })
    }

    /// The least depth that the path reaches, given the depths of the context and of `current()`.
    pub fn apex(&self, context: usize, current: usize) -> usize {
        let mut depth = match self.start {
            Start::Root => 0,
            Start::Context => context,
            Start::Current => current,
        };
        let mut apex = depth;
        for step in &self.steps {
            match step {
                PathStep::Parent => depth = depth.saturating_sub(1),
                PathStep::Child { predicates, .. } => {
                    depth += 1;
                    let inner = predicates.iter().map(|predicate| predicate.apex(depth, current)).min();
                    apex = apex.min(inner.unwrap_or(depth));
                }
            }
            apex = apex.min(depth);
        }
        apex
    }
}
