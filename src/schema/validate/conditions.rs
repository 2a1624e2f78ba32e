//! must and when: at their own nodes, and when something changed that they read.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::data::{Fields, Node};
use super::super::diff::pairs;
use super::super::ir::{Kind, SchemaId};
use super::super::path::DataPath;
use super::super::rules::{Rule, RuleKind};
use super::super::xpath::{Eval, Place, check};
use super::{ValidationErrorKind, Validator};

impl<'a> Validator<'a> {
    /// A rule at an instance of its node.
    pub(super) fn rule(&mut self, rule: &'a Rule, place: &Place<'a>) {
        let node = self.schema.node(rule.node);
        match rule.kind {
            RuleKind::Must(at) => {
                let must = &node.musts[at];
                if !self.holds(rule, place) {
                    let message = match &must.error_message {
                        Some(message) => format!("{}: {message}", node.name),
                        None => format!("{}: the condition \"{}\" does not hold", node.name, must.condition),
                    };
                    let tag = must.error_app_tag.as_ref().map(|tag| tag.to_string());
                    self.fault_tagged(place, ValidationErrorKind::Must, tag, message);
                }
            }
            RuleKind::When(at) => {
                if !self.holds(rule, place) {
                    let condition = &node.whens[at].condition;
                    let message =
                        format!("{} may be present only when \"{condition}\"; leave it out", node.name);
                    self.fault(place, ValidationErrorKind::When, message);
                }
            }
        }
    }

    pub(super) fn holds(&self, rule: &Rule, place: &Place<'a>) -> bool {
        let node = self.schema.node(rule.node);
        let parent;
        let context = match rule.kind {
            RuleKind::When(at) if node.whens[at].context_is_parent => {
                parent = place.parent().unwrap_or_else(|| Place::root(self.root));
                &parent
            }
            _ => place,
        };
        let eval = Eval {
            schema: self.schema,
            defaults: &self.rules.defaults,
            module: node.module,
            current: context,
        };
        check(&eval, &rule.expr)
    }

    /// Could this child exist here, as far as its whens go?
    pub(super) fn possible(&self, above: &Place<'a>, child: SchemaId) -> bool {
        let rules = self.rules.on.get(&child).into_iter().flatten().map(|number| &self.rules.all[*number]);
        let mut whens = rules.filter(|rule| matches!(rule.kind, RuleKind::When(_)));
        whens.all(|rule| self.holds(rule, &above.imagined(child)))
    }

    /// The schema nodes from the top level down to this one.
    pub(super) fn chain(&self, id: SchemaId) -> Vec<SchemaId> {
        let mut chain: Vec<SchemaId> =
            std::iter::successors(Some(id), |id| self.schema.node(*id).parent).collect();
        chain.reverse();
        chain
    }

    /// The schema nodes in which two states of one context differ (`whole`: lists in it are new or gone too).
    pub(super) fn touched(
        &self,
        a: &Arc<Fields>,
        b: &Arc<Fields>,
        whole: bool,
        found: &mut HashSet<SchemaId>,
    ) {
        if self.rules.readers.is_empty() || Arc::ptr_eq(a, b) {
            return;
        }
        let empty = Arc::default();
        for (id, x, y) in pairs(a, b) {
            match (x, y) {
                (Some(Node::Container(x)), Some(Node::Container(y))) => self.touched(x, y, whole, found),
                (Some(Node::Container(one)), None) | (None, Some(Node::Container(one))) => {
                    found.insert(id);
                    self.touched(one, &empty, whole, found);
                }
                (Some(Node::List(one)), None) | (None, Some(Node::List(one))) if whole => {
                    found.insert(id);
                    one.iter().for_each(|(_, entry)| self.touched(entry, &empty, true, found));
                }
                (Some(Node::List(_)), _) | (_, Some(Node::List(_))) => {}
                (x, y) if x != y => {
                    found.insert(id);
                }
                _ => {}
            }
        }
    }

    /// Runs the rules elsewhere that read what was touched.
    pub(super) fn readers(&mut self, path: &'a DataPath, touched: &HashSet<SchemaId>) {
        let rules = self.rules;
        let mut numbers: Vec<usize> =
            touched.iter().filter_map(|id| rules.readers.get(id)).flatten().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            let rule = &rules.all[number];
            let chain = self.chain(rule.node);
            let shared = path.steps.iter().zip(&chain).take_while(|(step, id)| step.node == **id).count();
            // The rule may look at other entries than the changed one: start from the highest node that it climbs to.
            let shared = shared.min(rule.apex);
            // Below the change with no list in between: visited already.
            let lists =
                chain[shared..].iter().any(|id| matches!(self.schema.node(*id).kind, Kind::List { .. }));
            if shared == path.steps.len() && !lists {
                continue;
            }
            let start = Place::at(self.root, path);
            if start.frames.len() < shared {
                continue;
            }
            let start = Place { root: self.root, frames: start.frames[..shared].iter().copied().collect() };
            if !self.run.insert((number, start.path())) {
                continue;
            }
            for place in self.instances(start, &chain[shared..]) {
                self.rule(rule, &place);
            }
        }
    }

    /// All instances at the end of a chain of schema nodes.
    pub(super) fn instances(&self, start: Place<'a>, chain: &[SchemaId]) -> Vec<Place<'a>> {
        let mut places = vec![start];
        for id in chain {
            places = places.iter().flat_map(|place| place.present(*id)).collect();
        }
        places
    }
}
