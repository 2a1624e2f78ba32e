//! Validation in proportion to the edit.
//!
//! Types were checked when the data were parsed. Here: keys, mandatory, min- and max-elements, unique, choices, must, when,
//! leafref. A change is looked at together with the rules elsewhere that read it (the reverse index of [`Rules`]); a
//! vanished leafref target costs one pass over the leafs that may refer to it, a `unique` one over its list.

use std::collections::HashSet;
use std::sync::Arc;

use super::data::{Fields, Key, List, Node};
use super::diff::{Difference, pairs};
use super::ir::{Kind, Schema, SchemaId};
use super::rules::{Rule, RuleKind, Rules};
use super::tree::{NodeRef, excludes, get_ref};
use super::uri::PathError;
use super::value::Value;
use super::xpath::{Eval, Frame, Place, check};
use super::{DataPath, lexical};

/// A rule of the models that the candidate breaks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{message}")]
pub struct ValidationError {
    /// The offending node, in the form of [`DataPath::display`].
    pub path: String,
    pub kind: ValidationErrorKind,
    /// The model's own error-app-tag of a must, where it has one.
    pub app_tag: Option<String>,
    /// Names the object, the reason, and the next step.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValidationErrorKind {
    /// config false data in the config store.
    NotConfig,
    MissingKey,
    Mandatory,
    TooFew,
    TooMany,
    NotUnique,
    LeafrefDangling,
    TwoCases,
    Must,
    When,
    /// The models themselves cannot be served (found at load; see [`super::RuleError`]).
    Rules,
}

impl ValidationErrorKind {
    /// error-tag (RFC 8040 section 7) and error-app-tag (RFC 7950 section 15).
    pub fn tags(self) -> (&'static str, Option<&'static str>) {
        match self {
            ValidationErrorKind::NotConfig => ("invalid-value", None),
            ValidationErrorKind::MissingKey => ("missing-element", None),
            ValidationErrorKind::Mandatory => ("data-missing", None),
            ValidationErrorKind::TooFew => ("operation-failed", Some("too-few-elements")),
            ValidationErrorKind::TooMany => ("operation-failed", Some("too-many-elements")),
            ValidationErrorKind::NotUnique => ("operation-failed", Some("data-not-unique")),
            ValidationErrorKind::LeafrefDangling => ("data-missing", Some("instance-required")),
            ValidationErrorKind::TwoCases => ("bad-element", None),
            ValidationErrorKind::Must => ("operation-failed", Some("must-violation")),
            ValidationErrorKind::When => ("unknown-element", None),
            ValidationErrorKind::Rules => ("operation-failed", None),
        }
    }
}

/// So many faults are collected.
const MOST_ERRORS: usize = 20;

/// Checks what `changes` (from [`super::diff`]) touch in `root`, the candidate with both layers merged, and what refers
/// to it. In the operational store nothing is refused (RFC 8342 section 5.3): its shape is right by construction.
pub fn validate(
    schema: &Schema,
    store_is_config: bool,
    root: &Arc<Fields>,
    changes: &[Difference],
) -> Result<(), Vec<ValidationError>> {
    if !store_is_config {
        return Ok(());
    }
    let rules = schema.rules().map_err(|error| {
        let message = error.to_string();
        vec![ValidationError { path: "/".into(), kind: ValidationErrorKind::Rules, app_tag: None, message }]
    })?;
    let mut validator = Validator { schema, rules, root, errors: Vec::new(), gone: Vec::new() };
    for change in changes {
        validator.change(change);
    }
    validator.dangling();
    let mut seen = HashSet::new();
    validator.errors.retain(|error| seen.insert(error.clone()));
    if validator.errors.is_empty() { Ok(()) } else { Err(validator.errors) }
}

struct Validator<'a> {
    schema: &'a Schema,
    rules: &'a Rules,
    root: &'a Arc<Fields>,
    errors: Vec<ValidationError>,
    /// Targets of leafrefs with values that were there before.
    gone: Vec<(SchemaId, Value)>,
}

impl<'a> Validator<'a> {
    fn change(&mut self, (path, before, after): &'a Difference) {
        let place = Place::at(self.root, path);
        let reached = place.frames.len() == path.steps.len();
        let Some(last) = path.steps.last() else { return };
        let old = before.as_ref().and_then(Node::fields);
        if after.is_some() && reached {
            if let Some(fields) = place.fields() {
                let whole = old.is_none() && last.key.is_some();
                self.node(&place);
                if self.schema.node(last.node).config {
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
        self.readers(path, &touched);
        if let Some(old) = old {
            self.vanished(old, new);
        }
    }

    fn fault(&mut self, place: &Place<'_>, kind: ValidationErrorKind, message: String) {
        if self.errors.len() < MOST_ERRORS {
            let path = place.path().display(self.schema);
            self.errors.push(ValidationError { path, kind, app_tag: None, message });
        }
    }

    fn name(&self, id: SchemaId) -> &'a str {
        &self.schema.node(id).name
    }

    /// The checks of a node by itself: config, when, must, leafref.
    fn node(&mut self, place: &Place<'a>) {
        let Some(id) = place.id() else { return };
        if !self.schema.node(id).config {
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

    /// A rule at an instance of its node.
    fn rule(&mut self, rule: &'a Rule, place: &Place<'a>) {
        let node = self.schema.node(rule.node);
        match rule.kind {
            RuleKind::Must(at) => {
                let must = &node.musts[at];
                if !self.holds(rule, place) {
                    let message = match &must.error_message {
                        Some(message) => format!("{}: {message}", node.name),
                        None => format!("{}: the condition \"{}\" does not hold", node.name, must.condition),
                    };
                    self.fault(place, ValidationErrorKind::Must, message);
                    if let (Some(error), Some(tag)) = (self.errors.last_mut(), &must.error_app_tag) {
                        error.app_tag = Some(tag.to_string());
                    }
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

    fn holds(&self, rule: &Rule, place: &Place<'a>) -> bool {
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
    fn possible(&self, above: &Place<'a>, child: SchemaId) -> bool {
        let rules = self.rules.on.get(&child).into_iter().flatten().map(|number| &self.rules.all[*number]);
        let mut whens = rules.filter(|rule| matches!(rule.kind, RuleKind::When(_)));
        whens.all(|rule| self.holds(rule, &above.imagined(child)))
    }

    /// The children of a container or entry. Lists in it are entered only where the whole of it is new: the
    /// entries of others are changes of their own.
    fn visit(&mut self, place: &Place<'a>, fields: &'a Arc<Fields>, whole: bool) {
        let Some(id) = place.id() else { return };
        let schema = self.schema;
        for (child, node) in &fields.children {
            if let Some((other, _)) =
                fields.children.iter().find(|(other, _)| other > child && excludes(schema, *child, *other))
            {
                let (one, other) = (self.name(*child), self.name(*other));
                let message =
                    format!("{one} and {other} are alternatives of one choice; keep only one of them");
                self.fault(place, ValidationErrorKind::TwoCases, message);
            }
            let frame = |key, node| place.with(Frame { id: *child, key, node });
            if !schema.node(*child).config {
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
                    self.unique(place, *child, list, None);
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
        if !node.config || !self.case_in_use(siblings, child) {
            return;
        }
        match &node.kind {
            Kind::Leaf { mandatory: true, .. } if self.possible(above, child) => {
                let message = format!("mandatory leaf {} is missing; send it", node.name);
                self.fault(&above.imagined(child), ValidationErrorKind::Mandatory, message);
            }
            Kind::Leaf { default: Some(_), .. } if !node.musts.is_empty() && self.possible(above, child) => {
                if let Some(value) = self.rules.defaults.get(&child) {
                    self.node(&above.with(Frame { id: child, key: None, node: NodeRef::Leaf(value) }));
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
            }
            _ => {}
        }
    }

    /// RFC 7950 section 7.6.5: inside a case things are missing only if something of that case is there.
    fn case_in_use(&self, siblings: &Fields, child: SchemaId) -> bool {
        let cases = &self.schema.node(child).cases;
        cases.iter().all(|case| {
            siblings.children.iter().any(|(other, _)| self.schema.node(*other).cases.contains(case))
        })
    }

    fn counts(&mut self, above: &Place<'a>, id: SchemaId, count: usize) {
        let node = self.schema.node(id);
        let (Kind::List { min, max, .. } | Kind::LeafList { min, max, .. }) = &node.kind else { return };
        if count < *min as usize {
            let message = format!("{} has {count} of at least {min} entries; add some", node.name);
            self.fault(&above.imagined(id), ValidationErrorKind::TooFew, message);
        } else if count > *max as usize {
            let message = format!("{} has {count} of at most {max} entries; remove some", node.name);
            self.fault(&above.imagined(id), ValidationErrorKind::TooMany, message);
        }
    }

    /// The list that an entry was put into or taken out of.
    fn list_around(&mut self, above: &Place<'a>, id: SchemaId, key: &'a Key) {
        let Some(fields) = above.fields() else { return };
        match fields.list(id) {
            Some(list) => {
                self.counts(above, id, list.len());
                self.unique(above, id, list, Some(key));
            }
            None => self.absent(above, fields, id),
        }
    }

    /// `unique` statements: of one entry against all others, or of all.
    fn unique(&mut self, above: &Place<'a>, id: SchemaId, list: &'a List, only: Option<&'a Key>) {
        let Kind::List { unique, .. } = &self.schema.node(id).kind else { return };
        for paths in unique {
            let row = |entry: &'a Arc<Fields>| -> Option<Vec<&'a Value>> {
                paths.iter().map(|path| self.at_chain(entry, path)).collect()
            };
            let mut seen: std::collections::HashMap<Vec<&Value>, &Key> = std::collections::HashMap::new();
            let wanted = only.and_then(|key| list.get(key)).and_then(&row);
            if only.is_some() && wanted.is_none() {
                continue;
            }
            let mut twins = Vec::new();
            for (key, entry) in list {
                let Some(values) = row(entry) else { continue };
                if wanted.as_ref().is_some_and(|wanted| *wanted != values) {
                    continue;
                }
                if let Some(first) = seen.get(&values) {
                    twins.push((key, *first));
                } else {
                    seen.insert(values, key);
                }
            }
            for (key, first) in twins {
                let leafs: Vec<&str> =
                    paths.iter().filter_map(|path| path.last()).map(|id| self.name(*id)).collect();
                let other = DataPath::root().entry(id, first.clone()).display(self.schema);
                let message = format!(
                    "{} must be unique, but entry {} has the same; change one of them",
                    leafs.join(", "),
                    other.rsplit('/').next().unwrap_or_default()
                );
                let node = NodeRef::List(list);
                self.fault(
                    &above.with(Frame { id, key: Some(key), node }),
                    ValidationErrorKind::NotUnique,
                    message,
                );
            }
        }
    }

    /// The leaf at the end of a chain of schema ids, or its default.
    fn at_chain(&self, entry: &'a Arc<Fields>, chain: &[SchemaId]) -> Option<&'a Value> {
        let (leaf, above) = chain.split_last()?;
        let mut fields = Some(entry);
        for step in above {
            fields = fields.and_then(|fields| fields.container(*step));
        }
        fields.and_then(|fields| fields.leaf(*leaf)).or_else(|| self.rules.defaults.get(leaf))
    }

    /// leafref and instance-identifier: does the target exist?
    fn reference(&mut self, place: &Place<'a>, id: SchemaId, value: &Value) {
        if let Some(path) = self.rules.leafrefs.get(&id) {
            let module = self.schema.node(id).module;
            let eval = Eval { schema: self.schema, defaults: &self.rules.defaults, module, current: place };
            if !eval.leads_to(path, value) {
                let text = lexical::value_text(self.schema, id, value);
                let target = self.target_path(id);
                let message = format!(
                    "{} refers to {text:?}, but no {target} has it; create that first",
                    self.name(id)
                );
                self.fault(place, ValidationErrorKind::LeafrefDangling, message);
            }
        }
        if self.rules.instances.contains(&id)
            && let Some(text) = value.as_text()
        {
            let found: Result<DataPath, PathError> = DataPath::parse_instance_identifier(self.schema, text);
            if !found.is_ok_and(|path| get_ref(self.root, &path).is_some()) {
                let message =
                    format!("{} refers to {text}, which does not exist; create it first", self.name(id));
                self.fault(place, ValidationErrorKind::LeafrefDangling, message);
            }
        }
    }

    fn target_path(&self, leafref: SchemaId) -> String {
        match lexical::type_of(self.schema, leafref) {
            Some(super::Type::LeafRef { target: Some(target), .. }) => {
                let chain = self.chain(*target).into_iter();
                chain.fold(DataPath::root(), DataPath::child).display(self.schema)
            }
            _ => "target".into(),
        }
    }

    /// The schema nodes from the top level down to this one.
    fn chain(&self, id: SchemaId) -> Vec<SchemaId> {
        let mut chain: Vec<SchemaId> =
            std::iter::successors(Some(id), |id| self.schema.node(*id).parent).collect();
        chain.reverse();
        chain
    }

    /// The schema nodes in which two states of one context differ (`whole`: lists in it are new or gone too).
    fn touched(&self, a: &Arc<Fields>, b: &Arc<Fields>, whole: bool, found: &mut HashSet<SchemaId>) {
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
    fn readers(&mut self, path: &'a DataPath, touched: &HashSet<SchemaId>) {
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
            for place in self.instances(start, &chain[shared..]) {
                self.rule(rule, &place);
            }
        }
    }

    /// All instances at the end of a chain of schema nodes.
    fn instances(&self, start: Place<'a>, chain: &[SchemaId]) -> Vec<Place<'a>> {
        let mut places = vec![start];
        for id in chain {
            places = places.iter().flat_map(|place| place.present(*id)).collect();
        }
        places
    }

    /// Remembers the values of leafref targets that are not there any more.
    fn vanished(&mut self, old: &Arc<Fields>, new: Option<&Arc<Fields>>) {
        if self.rules.referrers.is_empty() || new.is_some_and(|new| Arc::ptr_eq(old, new)) {
            return;
        }
        for (id, node) in &old.children {
            let after = new.and_then(|new| new.get(*id));
            match node {
                Node::Leaf(value) if after != Some(node) && self.rules.referrers.contains_key(id) => {
                    self.gone.push((*id, value.clone()));
                }
                Node::LeafList(values) if after != Some(node) && self.rules.referrers.contains_key(id) => {
                    self.gone.extend(values.iter().map(|value| (*id, value.clone())));
                }
                Node::Container(inner) => self.vanished(inner, after.and_then(Node::fields)),
                Node::List(list) if new.is_none() => {
                    list.iter().for_each(|(_, entry)| self.vanished(entry, None));
                }
                _ => {}
            }
        }
    }

    /// Checks whoever refers to a vanished value.
    fn dangling(&mut self) {
        let gone = std::mem::take(&mut self.gone);
        let targets: HashSet<SchemaId> = gone.iter().map(|(id, _)| *id).collect();
        let values: HashSet<&Value> = gone.iter().map(|(_, value)| value).collect();
        let rules = self.rules;
        for referrer in targets.iter().filter_map(|target| rules.referrers.get(target)).flatten() {
            let chain = self.chain(*referrer);
            for place in self.instances(Place::root(self.root), &chain) {
                if let NodeRef::Leaf(value) = place.node()
                    && values.contains(value)
                {
                    self.reference(&place, *referrer, value);
                }
            }
        }
    }
}
