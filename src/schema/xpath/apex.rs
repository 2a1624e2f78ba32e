//! How far up an expression reaches: the part of a tree that its value depends on hangs there.

use super::{Axis, Expr, Path, PathStep, Start};

impl Expr {
    /// The least depth that evaluation reaches, given the depths of the context and of `current()`. It may reach less far.
    pub fn apex(&self, context: usize, current: usize) -> usize {
        match self {
            Expr::Or(a, b)
            | Expr::And(a, b)
            | Expr::Compare(_, a, b)
            | Expr::Arithmetic(_, a, b)
            | Expr::Union(a, b) => a.apex(context, current).min(b.apex(context, current)),
            Expr::Negative(inner) | Expr::Matches(inner, _) => inner.apex(context, current),
            Expr::Path(path) => path.apex(context, current),
            Expr::Call(_, arguments) => {
                arguments.iter().map(|argument| argument.apex(context, current)).min().unwrap_or(context)
            }
            Expr::Literal(_) | Expr::Number(_) => context,
        }
    }
}

impl Path {
    /// The least depth that the path reaches, given the depths of the context and of `current()`. It may reach less far.
    pub fn apex(&self, context: usize, current: usize) -> usize {
        let mut depth = self.start_depth(context, current);
        let mut apex = depth;
        for step in &self.steps {
            depth = step.depth(depth);
            let inner = step.predicates().iter().map(|predicate| predicate.apex(depth, current)).min();
            apex = apex.min(inner.unwrap_or(depth)).min(depth);
        }
        apex
    }

    /// Where it starts, at least so deep.
    pub(super) fn start_depth(&self, context: usize, current: usize) -> usize {
        match self.start {
            Start::Context => context,
            Start::Current => current,
            Start::Root | Start::Of(_) | Start::Deref(..) => 0,
        }
    }
}

impl PathStep {
    /// How deep it ends at least.
    pub(super) fn depth(&self, before: usize) -> usize {
        match self {
            PathStep::Child { .. } => before + 1,
            PathStep::Parent => before.saturating_sub(1),
            PathStep::Filter(_) => before,
            PathStep::Walk { axis, .. } => match axis {
                Axis::Child | Axis::Descendant => before + 1,
                Axis::Itself | Axis::DescendantOrSelf => before,
                Axis::Parent => before.saturating_sub(1),
                Axis::Ancestor | Axis::AncestorOrSelf => 0,
            },
        }
    }

    /// How many levels it goes down at least; `None`: it may go up to the root.
    pub(super) fn levels(&self) -> Option<isize> {
        Some(match self {
            PathStep::Child { .. } => 1,
            PathStep::Parent => -1,
            PathStep::Filter(_) => 0,
            PathStep::Walk { axis, .. } => match axis {
                Axis::Child | Axis::Descendant => 1,
                Axis::Itself | Axis::DescendantOrSelf => 0,
                Axis::Parent => -1,
                Axis::Ancestor | Axis::AncestorOrSelf => return None,
            },
        })
    }

    pub(super) fn predicates(&self) -> &[Expr] {
        match self {
            PathStep::Parent => &[],
            PathStep::Child { predicates, .. }
            | PathStep::Walk { predicates, .. }
            | PathStep::Filter(predicates) => predicates,
        }
    }
}
