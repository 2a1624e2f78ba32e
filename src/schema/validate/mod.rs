//! Validation in proportion to the edit.
//!
//! Types were checked when the data were parsed. Here: keys, mandatory, min- and max-elements, unique, choices, must, when,
//! leafref, instance-identifier. A change is looked at together with the rules elsewhere that read it (the reverse index of
//! [`Rules`]); `unique`, and who refers to what vanished, are looked up in an [`Index`].

mod choices;
mod conditions;
mod error;
mod index;
mod lists;
mod operation;
mod references;
mod touched;

use std::collections::HashSet;
use std::sync::Arc;

use super::data::{Key, Node};
use super::diff::Difference;
use super::fields::Fields;
use super::ir::{Kind, ModuleId, Schema, SchemaId};
use super::lexical;
use super::path::DataPath;
use super::rules::{RuleKind, Rules};
use super::tree::{NodeRef, excludes};
use super::value::Value;
use super::xpath::{Eval, Frame, Place};

pub use error::{ValidationError, ValidationErrorKind};
pub use index::Index;
pub use operation::{validate_input, validate_notification, validate_output};

/// So many faults are collected.
const MOST_ERRORS: usize = 20;

/// Checks what `changes` (from [`super::diff`]) touch in `root`, the candidate with both layers merged, and what refers
/// to it. In the operational store nothing is refused (RFC 8342 section 5.3): its shape is right by construction.
pub fn validate(
    schema: &Schema,
    store_is_config: bool,
    root: &Fields,
    changes: &[Difference],
) -> Result<(), Vec<ValidationError>> {
    if !store_is_config {
        return Ok(());
    }
    let mut index = Index::default();
    let mut validator = Validator::new(schema, root, &mut index)?;
    validator.all(changes);
    validator.finish()
}

/// The same for the config store, with an index that goes from one validation to the next: then `unique`, and who refers to
/// what vanished, cost what the edit costs, where [`validate`] looks through all of the tree for them. It does not matter
/// whether the state of the last validation was kept.
pub fn validate_with(
    index: &mut Index,
    schema: &Schema,
    root: &Fields,
    changes: &[Difference],
) -> Result<(), Vec<ValidationError>> {
    let mut validator = Validator::new(schema, root, index)?;
    validator.all(changes);
    if validator.rules.needs_index() {
        validator.index();
    }
    validator.finish()
}

struct Validator<'a> {
    schema: &'a Schema,
    rules: &'a Rules,
    root: &'a Fields,
    errors: Vec<ValidationError>,
    /// Targets of leafrefs with values that were there before.
    gone: Vec<(SchemaId, Value)>,
    /// Paths of what changed, where instance-identifiers may lead to it.
    changed: Vec<DataPath>,
    /// What is there by default may have come or gone here, as its condition reads what changed.
    implied: Vec<DataPath>,
    index: &'a mut Index,
    /// Rules run because of what they read, with the place below which they were run.
    run: HashSet<(usize, DataPath)>,
    /// Checking an operation or notification: nothing in it counts as configuration, and all of it is checked.
    operation: bool,
}

impl<'a> Validator<'a> {
    /// An expression of a module, in a context.
    fn eval<'e>(&self, module: ModuleId, current: &'e Place<'a>) -> Eval<'e, 'a> {
        Eval { schema: self.schema, defaults: &self.rules.defaults, module, current, nested: 0, budget: None }
    }

    fn new(
        schema: &'a Schema,
        root: &'a Fields,
        index: &'a mut Index,
    ) -> Result<Validator<'a>, Vec<ValidationError>> {
        let rules = schema.rules().map_err(|error| {
            let (kind, message) = (ValidationErrorKind::Rules, error.to_string());
            vec![ValidationError { path: "/".into(), kind, app_tag: None, message }]
        })?;
        Ok(Validator {
            schema,
            rules,
            root,
            errors: Vec::new(),
            gone: Vec::new(),
            changed: Vec::new(),
            implied: Vec::new(),
            index,
            run: HashSet::new(),
            operation: false,
        })
    }

    fn all(&mut self, changes: &'a [Difference]) {
        for change in changes {
            self.change(change);
        }
        while let Some(path) = self.implied.pop() {
            self.come_or_gone(&path);
        }
        self.dangling();
    }

    /// The index, of the candidate.
    fn index(&mut self) -> &Index {
        self.index.advance(self.schema, self.rules, self.root);
        self.index
    }

    fn finish(self) -> Result<(), Vec<ValidationError>> {
        if self.errors.is_empty() { Ok(()) } else { Err(self.errors) }
    }

    /// Do the rules hold for this node at all?
    fn checked(&self, id: SchemaId) -> bool {
        self.operation || self.schema.node(id).config
    }

    fn change(&mut self, change: &'a Difference) {
        let (path, before, after) = change;
        let place = Place::at(self.root, path);
        let reached = place.frames.len() == path.steps.len();
        let Some(last) = path.steps.last() else { return };
        let old = before.as_ref().and_then(Node::fields);
        if after.is_some() && reached {
            if let Some(fields) = place.fields() {
                let whole = old.is_none() && last.key.is_some();
                self.node(&place);
                if self.checked(last.node) {
                    self.visit(&place, fields, whole);
                }
            } else {
                self.node(&place);
            }
        }
        if let (Kind::List { .. }, Some(key)) = (&self.schema.node(last.node).kind, &last.key) {
            let above = if reached { place.parent() } else { Some(place.clone()) };
            let there = reached || place.frames.len() + 1 == path.steps.len();
            if let Some(above) = above.filter(|_| there) {
                self.list_around(&above, last.node, key);
            }
        }
        let mut touched = HashSet::new();
        touched.insert(last.node);
        let empty = Arc::default();
        let new = after.as_ref().and_then(Node::fields);
        self.touched(
            old.unwrap_or(&empty),
            new.unwrap_or(&empty),
            before.is_none() || after.is_none(),
            &mut touched,
        );
        let changed = self.changed_paths(change);
        self.readers(path, &touched, &changed);
        self.changed.extend(changed);
        match before {
            Some(Node::Container(old)) => self.vanished(old, new),
            // A leaf or leaf-list of the top level.
            Some(Node::Leaf(_) | Node::LeafList(_)) => {
                let fields = |node: &Option<Node>| {
                    Fields::of(node.iter().map(|node| (last.node, node.clone())).collect())
                };
                self.vanished(&fields(before), Some(&fields(after)));
            }
            _ => {}
        }
    }

    fn fault(&mut self, place: &Place<'_>, kind: ValidationErrorKind, message: String) {
        self.fault_tagged(place, kind, None, message);
    }

    fn fault_tagged(
        &mut self,
        place: &Place<'_>,
        kind: ValidationErrorKind,
        app_tag: Option<String>,
        message: String,
    ) {
        let mut path = place.path();
        // An entry of a leaf-list is named by its value.
        if let (Some(step), NodeRef::Leaf(value)) = (path.steps.last_mut(), place.node())
            && matches!(self.schema.node(step.node).kind, Kind::LeafList { .. })
        {
            step.key = Some(Key::from_iter([value.clone()]));
        }
        let path = path.display(self.schema);
        let error = ValidationError { path, kind, app_tag, message };
        if self.errors.len() < MOST_ERRORS && !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    fn name(&self, id: SchemaId) -> &'a str {
        &self.schema.node(id).name
    }

    /// The checks of a node by itself: config, when, must, leafref.
    fn node(&mut self, place: &Place<'a>) {
        let Some(id) = place.id() else { return };
        if !self.checked(id) {
            let message = format!(
                "{} is state (config false) and cannot be configured; leave it out, or write to the operational store",
                self.name(id)
            );
            self.fault(place, ValidationErrorKind::NotConfig, message);
            return;
        }
        let rules = self.rules;
        for number in rules.on.get(&id).into_iter().flatten() {
            self.rule(&rules.all[*number], place);
        }
        if let NodeRef::Leaf(value) = place.node() {
            self.reference(place, id, value);
        }
    }

    /// The children of a container or entry. Lists in it are entered only where the whole of it is new: the
    /// entries of others are changes of their own.
    fn visit(&mut self, place: &Place<'a>, fields: &'a Fields, whole: bool) {
        let Some(id) = place.id() else { return };
        let schema = self.schema;
        for (child, node) in fields.iter() {
            if let Some((other, _)) =
                fields.iter().find(|(other, _)| *other > child && excludes(schema, *child, **other))
            {
                let (one, other) = (self.name(*child), self.name(*other));
                let message =
                    format!("{one} and {other} are alternatives of one choice; keep only one of them");
                self.fault(place, ValidationErrorKind::TwoCases, message);
            }
            let frame = |key, node| place.with(Frame { id: *child, key, node });
            if !self.checked(*child) {
                self.node(&frame(None, node.into()));
                continue;
            }
            match node {
                Node::Container(inner) => {
                    let at = frame(None, NodeRef::Fields(inner));
                    self.node(&at);
                    self.visit(&at, inner, whole);
                }
                Node::Leaf(value) => self.node(&frame(None, NodeRef::Leaf(value))),
                Node::LeafList(values) => {
                    self.counts(place, *child, values.len());
                    values.iter().for_each(|value| self.node(&frame(None, NodeRef::Leaf(value))));
                }
                Node::List(list) if whole => {
                    self.counts(place, *child, list.len());
                    self.unique(place, *child, list);
                    for (key, entry) in list {
                        let at = frame(Some(key), NodeRef::Fields(entry));
                        self.node(&at);
                        self.visit(&at, entry, true);
                    }
                }
                Node::List(list) => self.counts(place, *child, list.len()),
            }
        }
        for child in &schema.node(id).children {
            if fields.get(*child).is_none() {
                self.absent(place, fields, *child);
            }
        }
        self.choices(place, fields, id);
        for key in lexical::key_leafs(schema, id) {
            if fields.get(*key).is_none() {
                let message = format!("the entry lacks its key {}; send it", self.name(*key));
                self.fault(place, ValidationErrorKind::MissingKey, message);
            }
        }
    }

    /// A child that is not there: may it be missing?
    fn absent(&mut self, above: &Place<'a>, siblings: &Fields, child: SchemaId) {
        let node = self.schema.node(child);
        if !self.checked(child) || !self.case_in_use(siblings, child) {
            return;
        }
        match &node.kind {
            Kind::Leaf { mandatory: true, .. } | Kind::Any { mandatory: true }
                if self.possible(above, child) =>
            {
                let message = format!("mandatory {} is missing; send it", node.name);
                // RFC 6241 appendix A: an expected element of a message, and not of the datastore, is missing.
                let kind = if self.operation {
                    ValidationErrorKind::MandatoryInOperation
                } else {
                    ValidationErrorKind::Mandatory
                };
                self.fault(&above.imagined(child), kind, message);
            }
            Kind::Leaf { .. } | Kind::LeafList { .. }
                if !node.musts.is_empty()
                    && self.rules.defaults.contains_key(&child)
                    && self.possible(above, child) =>
            {
                let rules = self.rules;
                for place in above.implied(self.schema, child, &rules.defaults) {
                    self.node(&place);
                }
            }
            Kind::List { min, .. } | Kind::LeafList { min, .. }
                if *min > 0 && self.possible(above, child) =>
            {
                self.counts(above, child, 0);
            }
            Kind::Container { presence: false } if self.possible(above, child) => {
                let at = above.imagined(child);
                let rules = self.rules;
                for number in rules.on.get(&child).into_iter().flatten() {
                    if matches!(rules.all[*number].kind, RuleKind::Must(_)) {
                        self.rule(&rules.all[*number], &at);
                    }
                }
                for inner in &node.children {
                    self.absent(&at, &Fields::default(), *inner);
                }
                self.choices(&at, &Fields::default(), child);
            }
            _ => {}
        }
    }

    /// RFC 7950 section 7.6.5: inside a case things are missing only if something of that case is there.
    fn case_in_use(&self, siblings: &Fields, child: SchemaId) -> bool {
        let cases = &self.schema.node(child).cases;
        cases
            .iter()
            .all(|case| siblings.iter().any(|(other, _)| self.schema.node(*other).cases.contains(case)))
    }
}
