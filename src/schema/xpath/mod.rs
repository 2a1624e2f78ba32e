//! XPath 1.0 on data trees, for must, when, leafref paths and conditions of clients: all expressions but variables, the axes of
//! [`Axis`], and the functions of [`functions`], those of YANG (RFC 7950 section 10) among them. Names are resolved against
//! the schema when an expression is compiled; what is not known then is an error then.
//!
//! Siblings of different names stand in no order that YANG would know: in sets of nodes they come as the schema or the
//! expression has them.

mod apex;
mod compare;
mod compile;
mod eval;
mod functions;
mod place;
mod reads;
mod steps;
mod tokens;
mod walk;

use super::ir::SchemaId;
use functions::Function;

pub(super) use compile::compile;
pub(super) use eval::{Eval, check, check_among};
pub(super) use place::{Frame, Place};
pub(super) use reads::{By, Lookup, Pointer, Read};

/// A compiled expression.
#[derive(Debug, Clone)]
pub enum Expr {
    Or(Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>),
    Negative(Box<Expr>),
    /// Of two sets of nodes.
    Union(Box<Expr>, Box<Expr>),
    Path(Path),
    Literal(String),
    Number(f64),
    Call(Function, Vec<Expr>),
    /// `re-match()` (RFC 7950 section 10.2.1); the pattern is anchored.
    Matches(Box<Expr>, regex::Regex),
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
pub enum Arithmetic {
    Plus,
    Minus,
    Times,
    Div,
    Mod,
}

/// A location path.
#[derive(Debug, Clone)]
pub struct Path {
    pub start: Start,
    pub steps: Vec<PathStep>,
}

#[derive(Debug, Clone)]
pub enum Start {
    Root,
    /// The context node: inside a predicate, the node that is tested.
    Context,
    /// The node that carries the expression.
    Current,
    /// A set of nodes in parentheses.
    Of(Box<Expr>),
    /// What the first of some leafs refers to (RFC 7950 section 10.3.1): the leafs, and where each of those that may be among
    /// them leads. A union has several; the first counts that leads somewhere.
    Deref(Box<Expr>, Vec<(SchemaId, Leads)>),
}

/// Where the value of a leaf leads.
#[derive(Debug, Clone)]
pub enum Leads {
    /// Along the path of a leafref.
    Along(Path),
    /// To the node that an instance-identifier names.
    There,
}

#[derive(Debug, Clone)]
pub enum PathStep {
    Parent,
    /// Children of one name below what is itself of one kind: nearly all that there is.
    Child {
        node: SchemaId,
        predicates: Vec<Expr>,
        /// Where the predicates are one equation for each key of a list: their right sides in the order of the keys.
        keys: Option<Vec<Expr>>,
    },
    /// Any other step.
    Walk {
        axis: Axis,
        /// What it may lead to, in order.
        nodes: Vec<SchemaId>,
        /// It may lead to the root, too.
        root: bool,
        predicates: Vec<Expr>,
    },
    /// Predicates on all nodes so far, as after parentheses.
    Filter(Vec<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    Itself,
    Child,
    Parent,
    Descendant,
    DescendantOrSelf,
    Ancestor,
    AncestorOrSelf,
}

impl Expr {
    /// Its value is a number whatever the data: in brackets that is a position (XPath 1.0 section 2.4).
    pub fn is_number(&self) -> bool {
        match self {
            Expr::Number(_) | Expr::Arithmetic(..) | Expr::Negative(_) => true,
            Expr::Call(function, _) => function.gives_number(),
            _ => false,
        }
    }

    /// Its value is a set of nodes.
    fn is_nodes(&self) -> bool {
        matches!(self, Expr::Path(_) | Expr::Union(..))
    }
}

impl Path {
    /// The node at the end; `None` if the path ends in `..` or in several.
    pub fn target(&self) -> Option<SchemaId> {
        match self.steps.last() {
            Some(PathStep::Child { node, .. }) => Some(*node),
            _ => None,
        }
    }

    /// Names and `..` only, no predicates.
    pub fn is_plain(&self) -> bool {
        let plain = |step: &PathStep| match step {
            PathStep::Parent => true,
            PathStep::Child { predicates, .. } => predicates.is_empty(),
            PathStep::Walk { .. } | PathStep::Filter(_) => false,
        };
        self.steps.iter().all(plain) && matches!(self.start, Start::Root | Start::Context | Start::Current)
    }
}
