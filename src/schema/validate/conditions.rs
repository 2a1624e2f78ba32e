//! must and when: at their own nodes, and when something changed that they read.

use std::collections::{BTreeSet, HashSet};

use super::super::ir::{Choice, Kind, SchemaId};
use super::super::lexical::{key_text, parse_value};
use super::super::path::DataPath;
use super::super::rules::{Rule, RuleKind};
use super::super::tree::NodeRef;
use super::super::xpath::{By, Expr, Lookup, Place, Pointer, check};
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
            RuleKind::Reference => {
                if let NodeRef::Leaf(value) = place.node() {
                    self.reference(place, rule.node, value);
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
        let eval = self.eval(node.module, context);
        check(&eval, &rule.expr)
    }

    /// A condition of a choice, whose context is the node around it.
    pub(super) fn choice_when(&self, around: &Place<'a>, choice: &Choice, expr: &Expr) -> bool {
        let eval = self.eval(choice.module, around);
        check(&eval, expr)
    }

    /// Could this child exist here, as far as its whens go?
    pub(super) fn possible(&self, above: &Place<'a>, child: SchemaId) -> bool {
        let rules = self.rules.on.get(&child).into_iter().flatten().map(|number| &self.rules.all[*number]);
        let mut whens = rules.filter(|rule| matches!(rule.kind, RuleKind::When(_)));
        whens.all(|rule| self.holds(rule, &above.imagined(child)))
    }

    /// Runs the rules elsewhere that read what was touched; `changed` are the paths of that, where rules follow pointers.
    pub(super) fn readers(&mut self, path: &DataPath, touched: &HashSet<SchemaId>, changed: &[DataPath]) {
        let rules = self.rules;
        let reading = touched.iter().filter_map(|id| rules.readers.get(id)).flatten();
        // By how they come to it: it does not matter to what.
        let all: BTreeSet<(usize, usize, Option<By>)> =
            reading.chain(&rules.followers).map(|(number, read)| (*number, read.apex, read.by)).collect();
        for (number, apex, by) in all {
            let rule = &rules.all[number];
            let chain = self.schema.way_to(rule.node);
            let places = match by {
                Some(By::Key(lookup)) => self.looking_up(path, lookup),
                Some(By::Pointer(pointer)) => Some(self.pointing(changed, pointer)),
                None => None,
            };
            match places {
                Some(places) => {
                    for place in places {
                        self.run_below(number, &place, &chain);
                    }
                }
                None => {
                    let shared =
                        path.steps.iter().zip(&chain).take_while(|(step, id)| step.node == **id).count();
                    // The rule may look at other entries than the changed one: start where it may have come from.
                    let shared = shared.min(apex);
                    // Below the change with no list in between: visited already.
                    let is_list = |id: &SchemaId| matches!(self.schema.node(*id).kind, Kind::List { .. });
                    if shared == path.steps.len() && !chain[shared..].iter().any(is_list) {
                        continue;
                    }
                    let start = DataPath { steps: path.steps[..shared].iter().cloned().collect() };
                    self.run_below(number, &start, &chain);
                }
            }
        }
    }

    /// The places near which rules follow an instance-identifier to something near what changed.
    fn pointing(&mut self, changed: &[DataPath], pointer: Pointer) -> Vec<DataPath> {
        let Pointer { leaf, shared, climb } = pointer;
        let schema = self.schema;
        let index = self.index();
        let mut places = BTreeSet::new();
        let mut add = |held: &DataPath| {
            places.insert(DataPath { steps: held.steps.iter().take(shared).cloned().collect() });
        };
        for path in changed {
            let text = path.display(schema);
            index.pointing_into(&text).filter(|held| held.last_node() == Some(leaf)).for_each(&mut add);
            let mut above = path.clone();
            loop {
                index.naming_below(leaf, climb, &above).for_each(&mut add);
                if above.steps.pop().is_none() {
                    break;
                }
            }
        }
        places.into_iter().collect()
    }

    /// The places near which rules look an entry up that the path leads to or through, by the leaf that holds its key.
    /// `None`: the path does not tell the entry.
    fn looking_up(&mut self, path: &DataPath, lookup: Lookup) -> Option<Vec<DataPath>> {
        let step = path.steps.iter().find(|step| step.node == lookup.list)?;
        let key = step.key.as_ref()?.values().get(lookup.position)?;
        let text = key_text(self.schema, lookup.list, lookup.position, key);
        let Ok(value) = parse_value(self.schema, lookup.leaf, &text) else { return Some(Vec::new()) };
        let held = self.index().holders(lookup.leaf, &value);
        let places =
            held.map(|path| DataPath { steps: path.steps.iter().take(lookup.shared).cloned().collect() });
        let places: BTreeSet<DataPath> = places.collect();
        Some(places.into_iter().collect())
    }

    /// Runs a rule at all its instances below a place.
    fn run_below(&mut self, number: usize, start: &DataPath, chain: &[SchemaId]) {
        let rule = &self.rules.all[number];
        let place = Place::at(self.root, start);
        if place.frames.len() < start.steps.len() || !self.run.insert((number, start.clone())) {
            return;
        }
        let Some(below) = chain.get(start.steps.len()..) else { return };
        if below.is_empty() {
            return self.rule(rule, &place);
        }
        for place in self.instances(place.clone(), below) {
            self.rule(rule, &place);
        }
        // What is not there may be asked for now.
        let Some((node, above)) = below.split_last() else { return };
        for place in self.instances(place, above) {
            if let Some(fields) = place.fields().filter(|fields| fields.get(*node).is_none()) {
                self.absent(&place, fields, *node);
                if matches!(rule.kind, RuleKind::When(_)) && self.may_be_implied(*node) {
                    self.implied.push(place.path().child(*node));
                }
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
