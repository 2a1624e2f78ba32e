//! What one user may do. For each node of the models it is worked out once what holds at all of its instances, so that most
//! requests ask a table, and only rules with keys look at instances.

use std::sync::Arc;

use super::policy::{About, Policy, Rule};
use super::{DefaultDeny, Denial, Operation};
use crate::schema::{DataPath, Fields, Kind, List, Node, Schema, SchemaId, Step, lexical};

/// What holds for a node of the models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fixed {
    Permit,
    /// The number of the rule, if it was one.
    Deny(Option<u16>),
    /// On the keys of the instance.
    Depends,
}

#[derive(Debug)]
pub struct Grants {
    rules: Vec<Arc<Rule>>,
    fixed: Vec<[Fixed; Operation::ALL.len()]>,
    /// By node, a bit for each operation: it is permitted everywhere at and below the node.
    open: Vec<u8>,
    /// It is permitted nowhere at and below the node.
    shut: Vec<u8>,
    /// What stands at the end of the search: for each operation, by node.
    fallback: Vec<u8>,
}

impl Grants {
    pub(super) fn new(schema: &Schema, policy: &Policy, rules: Vec<Arc<Rule>>) -> Grants {
        let count = schema.nodes.len();
        let mut denied: Vec<Option<DefaultDeny>> = Vec::with_capacity(count);
        let mut grants = Grants {
            rules,
            fixed: Vec::with_capacity(count),
            open: vec![0; count],
            shut: vec![0; count],
            fallback: Vec::with_capacity(count),
        };
        for node in &schema.nodes {
            // A node is pushed after its parent.
            let above = node.parent.and_then(|parent| denied[parent.0 as usize]);
            let own = schema.default_deny.get(&node.id).copied();
            let deny = own.max(above);
            denied.push(deny);
            let permits = |operation| match (operation, deny) {
                (_, Some(DefaultDeny::All)) => false,
                (Operation::Read, _) => policy.read,
                (Operation::Exec, _) => policy.exec,
                (_, Some(DefaultDeny::Write)) => false,
                _ => policy.write,
            };
            let fallback = Operation::ALL.into_iter().filter(|operation| permits(*operation));
            let fallback = fallback.map(Operation::bit).sum();
            let chain = schema.way_to(node.id);
            grants
                .fixed
                .push(Operation::ALL.map(|operation| grants.fix(schema, &chain, operation, fallback)));
            grants.fallback.push(fallback);
        }
        for node in schema.nodes.iter().rev() {
            for operation in Operation::ALL {
                let (at, bit) = (node.id.0 as usize, operation.bit());
                let below = |bits: &[u8]| node.children.iter().all(|child| bits[child.0 as usize] & bit != 0);
                let fixed = grants.fixed[at][operation as usize];
                if fixed == Fixed::Permit && below(&grants.open) {
                    grants.open[at] |= bit;
                }
                if matches!(fixed, Fixed::Deny(_)) && below(&grants.shut) {
                    grants.shut[at] |= bit;
                }
            }
        }
        grants
    }

    /// RFC 8341 section 3.4.5 for all instances of a node, as far as that is possible.
    fn fix(&self, schema: &Schema, chain: &[SchemaId], operation: Operation, fallback: u8) -> Fixed {
        let Some(id) = chain.last() else { return Fixed::Depends };
        for (number, rule) in self.rules.iter().enumerate() {
            if rule.operations & operation.bit() == 0 || !about_node(schema, rule, *id) {
                continue;
            }
            if let About::Data(steps) = &rule.about {
                if steps.len() > chain.len() || steps.iter().zip(chain).any(|(step, id)| step.node != *id) {
                    continue;
                }
                if steps.iter().any(|step| !step.keys.is_empty()) {
                    return Fixed::Depends;
                }
            }
            return if rule.permit { Fixed::Permit } else { Fixed::Deny(u16::try_from(number).ok()) };
        }
        if fallback & operation.bit() != 0 { Fixed::Permit } else { Fixed::Deny(None) }
    }

    /// Whether an operation on one node is permitted. The empty path, a datastore, always is: what is in it is asked for.
    ///
    /// # Errors
    /// When it is not; names the rule.
    pub fn decide(&self, schema: &Schema, path: &[Step], operation: Operation) -> Result<(), Denial> {
        let Some(id) = path.last().map(|step| step.node) else { return Ok(()) };
        let at = id.0 as usize;
        let rule = match self.fixed[at][operation as usize] {
            Fixed::Permit => return Ok(()),
            Fixed::Deny(number) => number.and_then(|number| self.rules.get(usize::from(number))),
            Fixed::Depends => {
                let fits = |rule: &&Arc<Rule>| {
                    rule.operations & operation.bit() != 0
                        && about_node(schema, rule, id)
                        && match &rule.about {
                            About::Data(steps) => {
                                steps.len() <= path.len()
                                    && steps.iter().zip(path).all(|(rule, step)| rule.fits(step))
                            }
                            _ => true,
                        }
                };
                match self.rules.iter().find(fits) {
                    Some(rule) if rule.permit => return Ok(()),
                    None if self.fallback[at] & operation.bit() != 0 => return Ok(()),
                    rule => rule,
                }
            }
        };
        let path = DataPath { steps: path.iter().cloned().collect() };
        Err(Denial { path: path.display(schema), operation, rule: rule.map(|rule| rule.name.clone()) })
    }

    fn is(&self, bits: &[u8], id: SchemaId, operation: Operation) -> bool {
        bits[id.0 as usize] & operation.bit() != 0
    }

    /// A tree without what may not be read; the same tree when that is all of it.
    pub fn readable(&self, schema: &Schema, root: &Fields) -> Fields {
        self.fields(schema, &mut Vec::new(), root).unwrap_or_default()
    }

    /// The readable children; `None` when none is left.
    fn fields(&self, schema: &Schema, path: &mut Vec<Step>, fields: &Fields) -> Option<Fields> {
        let all_open = fields.iter().all(|(id, _)| self.is(&self.open, *id, Operation::Read));
        if all_open {
            return Some(fields.clone());
        }
        let mut children = Vec::with_capacity(fields.len());
        for (id, node) in fields {
            if self.is(&self.open, *id, Operation::Read) {
                children.push((*id, node.clone()));
                continue;
            }
            path.push(Step { node: *id, key: None });
            children.extend(self.node(schema, path, node).map(|node| (*id, node)));
            path.pop();
        }
        if children.is_empty() {
            return None;
        }
        Some(Fields::of(children).dated(fields.modified()))
    }

    fn node(&self, schema: &Schema, path: &mut Vec<Step>, node: &Node) -> Option<Node> {
        let readable = |path: &[Step]| self.decide(schema, path, Operation::Read).is_ok();
        let id = path.last()?.node;
        match node {
            Node::List(list) => self.list(schema, path, id, list).map(Node::List),
            Node::LeafList(values) => {
                let of = |value| DataPath::root().entry(id, crate::schema::Key::one(value)).steps[0].clone();
                let above = path.len() - 1;
                let mut values = values.clone();
                let all: Vec<_> = values.iter().cloned().collect();
                for value in all {
                    path[above] = of(value.clone());
                    if !readable(path) {
                        values = values.without(&value);
                    }
                }
                path[above] = Step { node: id, key: None };
                (!values.is_empty()).then_some(Node::LeafList(values))
            }
            _ if !readable(path) => None,
            Node::Leaf(_) => Some(node.clone()),
            Node::Container(fields) => {
                let presence = matches!(schema.node(id).kind, Kind::Container { presence: true });
                match self.fields(schema, path, fields) {
                    Some(fields) => Some(Node::Container(fields)),
                    None => presence.then(|| Node::Container(Fields::default())),
                }
            }
        }
    }

    /// An entry without its keys would be no entry: where a key may not be read, the entry may not.
    fn list(&self, schema: &Schema, path: &mut Vec<Step>, id: SchemaId, list: &List) -> Option<List> {
        let at = path.len() - 1;
        let keys = lexical::key_leafs(schema, id);
        let mut kept = Vec::new();
        for (key, entry) in list {
            path[at].key = (!key.is_empty()).then(|| key.clone());
            if self.decide(schema, path, Operation::Read).is_err() {
                continue;
            }
            let Some(fields) = self.fields(schema, path, entry) else { continue };
            if keys.iter().all(|leaf| fields.get(*leaf).is_some()) {
                kept.push((key.clone(), fields));
            }
        }
        path[at].key = None;
        (!kept.is_empty()).then(|| List::of(schema, id, kept))
    }

    /// Whether an edit may be tried at all. It is asked before anything is looked at, so that a refusal does not tell what is
    /// there.
    ///
    /// # Errors
    /// When nothing that the edit could do is permitted.
    pub fn may_try(&self, schema: &Schema, path: &DataPath, operations: &[Operation]) -> Result<(), Denial> {
        let Some(id) = path.last_node() else { return Ok(()) };
        let implicit = matches!(schema.node(id).kind, Kind::Container { presence: false });
        let mut refusal = None;
        for operation in operations {
            let whole_list = matches!(schema.node(id).kind, Kind::List { .. })
                && path.steps.last().is_some_and(|step| step.key.is_none());
            if (implicit || whole_list || operations.len() > 1) && !self.is(&self.shut, id, *operation) {
                return Ok(());
            }
            match self.decide(schema, &path.steps, *operation) {
                Ok(()) => return Ok(()),
                Err(denial) => refusal = refusal.or(Some(denial)),
            }
        }
        refusal.map_or(Ok(()), Err)
    }

    /// Whether a change that was worked out is permitted, with everything in it.
    ///
    /// # Errors
    /// Names the first node that may not be created, changed or deleted.
    pub fn may_change(
        &self,
        schema: &Schema,
        path: &DataPath,
        before: Option<&Node>,
        after: Option<&Node>,
    ) -> Result<(), Denial> {
        let mut steps: Vec<Step> = path.steps.to_vec();
        match (before, after) {
            (None, Some(node)) => self.all(schema, &mut steps, node, Operation::Create),
            (Some(node), None) => self.all(schema, &mut steps, node, Operation::Delete),
            _ => self.decide(schema, &steps, Operation::Update),
        }
    }

    fn all(
        &self,
        schema: &Schema,
        path: &mut Vec<Step>,
        node: &Node,
        operation: Operation,
    ) -> Result<(), Denial> {
        let Some(Step { node: id, key }) = path.last().cloned() else { return Ok(()) };
        if self.is(&self.open, id, operation) {
            return Ok(());
        }
        match node {
            Node::List(list) => {
                let at = path.len() - 1;
                for (key, entry) in list {
                    path[at].key = (!key.is_empty()).then(|| key.clone());
                    self.all(schema, path, &Node::Container(entry.clone()), operation)?;
                }
                path[at].key = None;
                Ok(())
            }
            Node::LeafList(values) => {
                let at = path.len() - 1;
                for value in values {
                    path[at].key = Some(crate::schema::Key::one(value.clone()));
                    self.decide(schema, path, operation)?;
                }
                path[at].key = None;
                Ok(())
            }
            Node::Leaf(_) => self.decide(schema, path, operation),
            Node::Container(fields) => {
                // Containers without presence come and go by themselves.
                if key.is_some() || !matches!(schema.node(id).kind, Kind::Container { presence: false }) {
                    self.decide(schema, path, operation)?;
                }
                let keys = lexical::key_leafs(schema, id);
                for (child, node) in fields.iter().filter(|(child, _)| !keys.contains(child)) {
                    path.push(Step { node: *child, key: None });
                    self.all(schema, path, node, operation)?;
                    path.pop();
                }
                Ok(())
            }
        }
    }
}

/// The module of a rule, and whether it is about operations, notifications or data as the node is.
fn about_node(schema: &Schema, rule: &Rule, id: SchemaId) -> bool {
    let node = schema.node(id);
    let named = |wanted: &Option<Arc<str>>| wanted.as_ref().is_none_or(|wanted| *wanted == node.name);
    let of_module = rule.module.as_ref().is_none_or(|module| *module == schema.module(node.module).name);
    of_module
        && match (&rule.about, &node.kind) {
            (About::Everything | About::Data(_), _) => true,
            (About::Rpc(name), Kind::Rpc) => node.parent.is_none() && named(name),
            (About::Notification(name), Kind::Notification) => node.parent.is_none() && named(name),
            _ => false,
        }
}
