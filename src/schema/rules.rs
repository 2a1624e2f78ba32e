//! What is checked across nodes, compiled from the models: must, when, leafref.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::data::Node;
use super::ir::{Kind, Schema, SchemaId, Type};
use super::lexical::{default_value, key_leafs};
use super::value::Value;
use super::xpath::{By, Expr, Path, Read, compile};

/// The compiled rules of a schema, with the reverse index from a schema node to the rules that read it.
#[derive(Debug, Default)]
pub struct Rules {
    pub(super) all: Vec<Rule>,
    /// Rules that stand on a node.
    pub(super) on: HashMap<SchemaId, Vec<usize>>,
    /// Rules that read a node, and from where.
    pub(super) readers: HashMap<SchemaId, Vec<(usize, Read)>>,
    /// Rules that read whatever an instance-identifier names.
    pub(super) followers: Vec<(usize, Read)>,
    /// Leafs with an instance-identifier that rules follow, and how many steps up from what it names they go then.
    pub(super) climbs: HashMap<SchemaId, BTreeSet<usize>>,
    /// What leafs refer to that must exist.
    pub(super) references: HashMap<SchemaId, Reference>,
    /// Leafs by the target of their leafrefs.
    pub(super) referrers: HashMap<SchemaId, Vec<SchemaId>>,
    /// Leafs whose values [`super::Index`] keeps: those that refer, and targets that no key leads to.
    pub(super) indexed: HashSet<SchemaId>,
    /// Nodes with something below them that the index is about: such a leaf, or a list with a `unique`.
    pub(super) leading: HashSet<SchemaId>,
    /// Is there a `unique` in any list?
    unique: bool,
    /// Are there instance-identifiers that must lead somewhere, or that rules follow?
    pub(super) pointers: bool,
    /// Mandatory choices, as indices into [`Schema::choices`], by the node around them.
    pub(super) mandatory_choices: HashMap<SchemaId, Vec<u32>>,
    /// Their conditions.
    pub(super) choice_whens: HashMap<u32, Vec<Expr>>,
    /// What leafs and leaf-lists are by their `default` statements.
    pub(super) defaults: HashMap<SchemaId, Node>,
}

/// What a value of a leaf must lead to.
#[derive(Debug)]
pub(super) enum Reference {
    /// leafref.
    Leaf(Path),
    /// instance-identifier.
    Instance,
    /// By member of the union; `None` for members that refer to nothing.
    Union(Vec<Option<Reference>>),
}

/// A must or when.
#[derive(Debug)]
pub(super) struct Rule {
    pub node: SchemaId,
    pub expr: Expr,
    pub kind: RuleKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleKind {
    /// Number of the must on its node.
    Must(usize),
    /// Number of the when on its node.
    When(usize),
    /// A leafref whose path has predicates: what those read decides too.
    Reference,
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

impl Reference {
    fn points(&self) -> bool {
        match self {
            Reference::Leaf(_) => false,
            Reference::Instance => true,
            Reference::Union(members) => members.iter().flatten().any(Reference::points),
        }
    }
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
                let expr = compile(schema, node.module, Some(node.id), &must.condition)
                    .map_err(|reason| fail(&must.condition, reason))?;
                rules.add(schema, node.id, Some(node.id), expr, RuleKind::Must(at));
            }
            for (at, when) in node.whens.iter().enumerate() {
                let context = if when.context_is_parent { node.parent } else { Some(node.id) };
                let expr = compile(schema, node.module, context, &when.condition)
                    .map_err(|reason| fail(&when.condition, reason))?;
                rules.add(schema, node.id, context, expr, RuleKind::When(at));
            }
            if let Some(value) = default_value(schema, node.id) {
                rules.defaults.insert(node.id, value);
            }
            match &node.kind {
                Kind::Leaf { type_, .. } | Kind::LeafList { type_, .. } => {
                    if let Some(reference) = rules.reference(schema, node.id, type_, operation, &fail)? {
                        if !operation {
                            rules.indexed.insert(node.id);
                        }
                        rules.pointers |= reference.points() && !operation;
                        rules.references.insert(node.id, reference);
                    }
                }
                Kind::List { unique, .. } => rules.unique |= !unique.is_empty(),
                _ => {}
            }
        }
        rules.pointers |= !rules.followers.is_empty();
        rules.choices(schema)?;
        rules.lead(schema);
        Ok(rules)
    }

    /// Marks the ways that lead to what the index is about.
    fn lead(&mut self, schema: &Schema) {
        let lists = schema.nodes.iter().filter_map(|node| match &node.kind {
            Kind::List { unique, .. } if !unique.is_empty() => Some(node.id),
            _ => None,
        });
        let ends: Vec<SchemaId> = self.indexed.iter().copied().chain(lists).collect();
        for end in ends {
            let mut at = Some(end);
            while let Some(id) = at.filter(|id| self.leading.insert(*id)) {
                at = schema.node(id).parent;
            }
        }
    }

    /// What a leaf of this type must lead to, if it must.
    fn reference(
        &mut self,
        schema: &Schema,
        leaf: SchemaId,
        type_: &Type,
        operation: bool,
        fail: &dyn Fn(&str, String) -> RuleError,
    ) -> Result<Option<Reference>, RuleError> {
        match type_ {
            Type::LeafRef { path: text, require_instance: true, .. } => {
                let expr = compile(schema, schema.node(leaf).module, Some(leaf), text)
                    .map_err(|reason| fail(text, reason))?;
                let Expr::Path(path) = expr else { return Err(fail(text, "not a path".into())) };
                if !path.is_plain() {
                    self.add(schema, leaf, Some(leaf), Expr::Path(path.clone()), RuleKind::Reference);
                }
                if let Some(target) = path.target().filter(|_| !operation) {
                    let referrers = self.referrers.entry(target).or_default();
                    if !referrers.contains(&leaf) {
                        referrers.push(leaf);
                    }
                    let list = schema.node(target).parent;
                    let only_key = list.is_some_and(|list| key_leafs(schema, list) == [target]);
                    if !only_key {
                        self.indexed.insert(target);
                    }
                }
                Ok(Some(Reference::Leaf(path)))
            }
            Type::InstanceIdentifier { require_instance: true } => Ok(Some(Reference::Instance)),
            Type::Union(members) => {
                let members: Result<Vec<_>, _> = members
                    .iter()
                    .map(|member| self.reference(schema, leaf, member, operation, fail))
                    .collect();
                let members = members?;
                Ok(members.iter().any(Option::is_some).then_some(Reference::Union(members)))
            }
            _ => Ok(None),
        }
    }

    fn choices(&mut self, schema: &Schema) -> Result<(), RuleError> {
        for (number, choice) in (0u32..).zip(&schema.choices) {
            let Some(parent) = choice.parent.filter(|_| choice.mandatory) else { continue };
            self.mandatory_choices.entry(parent).or_default().push(number);
            for when in &choice.whens {
                let expr =
                    compile(schema, choice.module, Some(parent), &when.condition).map_err(|reason| {
                        RuleError {
                            module: schema.module(choice.module).name.to_string(),
                            node: choice.name.to_string(),
                            expression: when.condition.to_string(),
                            reason,
                        }
                    })?;
                self.choice_whens.entry(number).or_default().push(expr);
            }
        }
        Ok(())
    }

    /// Is there anything that [`super::Index`] helps with?
    pub(super) fn needs_index(&self) -> bool {
        self.unique || !self.indexed.is_empty()
    }

    /// May this leaf hold an instance-identifier that must lead somewhere, or that rules follow?
    pub(super) fn points(&self, leaf: SchemaId) -> bool {
        self.climbs.contains_key(&leaf) || self.references.get(&leaf).is_some_and(Reference::points)
    }

    /// The default of a leaf or leaf-list.
    pub(super) fn default_of(&self, leaf: SchemaId) -> Option<&Node> {
        self.defaults.get(&leaf)
    }

    /// The default value of a leaf.
    pub(super) fn default_leaf(&self, leaf: SchemaId) -> Option<&Value> {
        self.defaults.get(&leaf).and_then(Node::as_leaf)
    }

    /// Is this the default of a leaf, or one of those of a leaf-list?
    pub(super) fn is_default(&self, leaf: SchemaId, value: &Value) -> bool {
        match self.defaults.get(&leaf) {
            Some(Node::Leaf(default)) => default == value,
            Some(Node::LeafList(defaults)) => defaults.contains(value),
            _ => false,
        }
    }

    /// The rules that stand on a node.
    pub(super) fn of(&self, node: SchemaId) -> impl Iterator<Item = &Rule> {
        self.on.get(&node).into_iter().flatten().map(|number| &self.all[*number])
    }

    /// A rule that stands on `node` and is evaluated at `context`.
    fn add(
        &mut self,
        schema: &Schema,
        node: SchemaId,
        context: Option<SchemaId>,
        expr: Expr,
        kind: RuleKind,
    ) {
        let number = self.all.len();
        if kind != RuleKind::Reference {
            self.on.entry(node).or_default().push(number);
        }
        // Operations are checked when they are called; no change of data concerns them.
        if schema.operation_of(node).is_none() {
            expr.reads(schema, context, &mut |read| {
                match read.by {
                    Some(By::Key(lookup)) => {
                        self.indexed.insert(lookup.leaf);
                    }
                    Some(By::Pointer(pointer)) => {
                        self.indexed.insert(pointer.leaf);
                        self.climbs.entry(pointer.leaf).or_default().insert(pointer.climb);
                    }
                    None => {}
                }
                let readers = match read.node {
                    Some(node) => self.readers.entry(node).or_default(),
                    None => &mut self.followers,
                };
                if !readers.contains(&(number, read)) {
                    readers.push((number, read));
                }
            });
        }
        self.all.push(Rule { node, expr, kind });
    }
}
