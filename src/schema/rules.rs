//! What is checked across nodes, compiled from the models: must, when, leafref.

use std::collections::HashMap;

use super::ir::{Kind, Schema, SchemaId, Type};
use super::lexical::default_value;
use super::value::Value;
use super::xpath::{Expr, Path, compile};

/// The compiled rules of a schema, with the reverse index from a schema node to the rules that read it.
#[derive(Debug, Default)]
pub struct Rules {
    pub(super) all: Vec<Rule>,
    /// Rules that stand on a node.
    pub(super) on: HashMap<SchemaId, Vec<usize>>,
    /// Rules that read a node.
    pub(super) readers: HashMap<SchemaId, Vec<usize>>,
    /// Leafs whose leafref must have its target, with the path to it.
    pub(super) leafrefs: HashMap<SchemaId, Path>,
    /// The same by target.
    pub(super) referrers: HashMap<SchemaId, Vec<SchemaId>>,
    /// Leafs whose instance-identifier must lead somewhere.
    pub(super) instances: Vec<SchemaId>,
    /// Default values of leafs.
    pub(super) defaults: HashMap<SchemaId, Value>,
}

/// A must or when.
#[derive(Debug)]
pub(super) struct Rule {
    pub node: SchemaId,
    pub expr: Expr,
    pub kind: RuleKind,
    /// How many steps below the root the highest node is that the expression climbs to.
    pub apex: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleKind {
    /// Number of the must on its node.
    Must(usize),
    /// Number of the when on its node.
    When(usize),
}

/// An expression of a model that we cannot serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "module {module}, node {node}: {reason} in {expression:?}; rewrite it in the part of XPath that we know"
)]
pub struct RuleError {
    pub module: String,
    pub node: String,
    pub expression: String,
    pub reason: String,
}

impl Schema {
    /// The compiled rules (compiled once). Called at load, so that an expression we do not know is found at start.
    pub fn rules(&self) -> Result<&Rules, RuleError> {
        if let Some(rules) = self.rules.get() {
            return Ok(rules);
        }
        let rules = Rules::compile(self)?;
        Ok(self.rules.get_or_init(|| rules))
    }
}

impl Rules {
    fn compile(schema: &Schema) -> Result<Rules, RuleError> {
        let mut rules = Rules::default();
        for node in &schema.nodes {
            let fail = |expression: &str, reason: String| RuleError {
                module: schema.module(node.module).name.to_string(),
                node: node.name.to_string(),
                expression: expression.to_owned(),
                reason,
            };
            let operation = schema.operation_of(node.id).is_some();
            for (at, must) in node.musts.iter().enumerate() {
                let expr = compile(schema, node.id, Some(node.id), &must.condition)
                    .map_err(|reason| fail(&must.condition, reason))?;
                rules.add(node.id, expr, usize::from(node.depth) + 1, RuleKind::Must(at), operation);
            }
            for (at, when) in node.whens.iter().enumerate() {
                let context = if when.context_is_parent { node.parent } else { Some(node.id) };
                let expr = compile(schema, node.id, context, &when.condition)
                    .map_err(|reason| fail(&when.condition, reason))?;
                let depth = context.map_or(0, |id| usize::from(schema.node(id).depth) + 1);
                rules.add(node.id, expr, depth, RuleKind::When(at), operation);
            }
            if let Some(value) = default_value(schema, node.id) {
                rules.defaults.insert(node.id, value);
            }
            let (Kind::Leaf { type_, .. } | Kind::LeafList { type_, .. }) = &node.kind else { continue };
            match type_ {
                Type::LeafRef { path, require_instance: true, target: Some(target), .. } => {
                    match compile(schema, node.id, Some(node.id), path)
                        .map_err(|reason| fail(path, reason))?
                    {
                        Expr::Path(path) => {
                            rules.leafrefs.insert(node.id, path);
                            if !operation {
                                rules.referrers.entry(*target).or_default().push(node.id);
                            }
                        }
                        _ => return Err(fail(path, "not a path".into())),
                    }
                }
                Type::InstanceIdentifier { require_instance: true } => rules.instances.push(node.id),
                _ => {}
            }
        }
        Ok(rules)
    }

    /// The default value of a leaf.
    pub(super) fn default_of(&self, leaf: SchemaId) -> Option<&Value> {
        self.defaults.get(&leaf)
    }

    /// The rules that stand on a node.
    pub(super) fn of(&self, node: SchemaId) -> impl Iterator<Item = &Rule> {
        self.on.get(&node).into_iter().flatten().map(|number| &self.all[*number])
    }

    /// `depth` is that of the context, in steps below the root.
    fn add(&mut self, node: SchemaId, expr: Expr, depth: usize, kind: RuleKind, operation: bool) {
        let number = self.all.len();
        let apex = expr.apex(depth, depth);
        self.on.entry(node).or_default().push(number);
        // Operations are checked when they are called; no change of data concerns them.
        if !operation {
            expr.reads(&mut |read| {
                let readers = self.readers.entry(read).or_default();
                if readers.last() != Some(&number) {
                    readers.push(number);
                }
            });
        }
        self.all.push(Rule { node, expr, kind, apex });
    }
}
