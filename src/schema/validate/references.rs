//! leafref and instance-identifier, from both ends.

use std::collections::HashSet;

use super::super::data::Node;
use super::super::fields::Fields;
use super::super::ir::{Kind, SchemaId, Type};
use super::super::lexical::{self, Raw, Rigour, parse_raw};
use super::super::path::DataPath;
use super::super::rules::Reference;
use super::super::select::default_in_use;
use super::super::tree::get_ref;
use super::super::value::Value;
use super::super::xpath::{Path, Place};
use super::{MOST_ERRORS, ValidationErrorKind, Validator};

impl<'a> Validator<'a> {
    /// leafref and instance-identifier, also as members of a union: does the target exist?
    pub(super) fn reference(&mut self, place: &Place<'a>, id: SchemaId, value: &Value) {
        let rules = self.rules;
        let Some(reference) = rules.references.get(&id) else { return };
        if self.resolves(place, id, value, reference) {
            return;
        }
        let name = self.name(id);
        let text = lexical::value_text(self.schema, id, value);
        let message = match reference {
            Reference::Leaf(path) => {
                let target = self.target_path(path);
                format!("{name} refers to {text:?}, but no {target} has it; create that first")
            }
            Reference::Instance => format!("{name} refers to {text}, which does not exist; create it first"),
            Reference::Union(_) => {
                format!(
                    "{name} is {text:?}, which is nothing that exists of what it may refer to; create that first"
                )
            }
        };
        self.fault(place, ValidationErrorKind::LeafrefDangling, message);
    }

    fn resolves(&mut self, place: &Place<'a>, id: SchemaId, value: &Value, reference: &'a Reference) -> bool {
        match reference {
            Reference::Leaf(path) => self.leads_to(place, id, path, value),
            Reference::Instance => value.as_text().is_none_or(|text| self.exists(text)),
            Reference::Union(members) => {
                let schema = self.schema;
                let Some(Type::Union(types)) = lexical::type_of(schema, id) else { return true };
                let text = lexical::value_text(schema, id, value);
                types.iter().zip(members).any(|(type_, member)| {
                    let module = schema.node(id).module;
                    match (parse_raw(schema, module, type_, Raw::Text(&text), Rigour::Text), member) {
                        (Ok(value), Some(member)) => self.resolves(place, id, &value, member),
                        (read, _) => read.is_ok(),
                    }
                })
            }
        }
    }

    /// Without predicates every instance below the common ancestor is meant, and the index knows those with the value.
    fn leads_to(&mut self, place: &Place<'a>, id: SchemaId, path: &'a Path, value: &Value) -> bool {
        let module = self.schema.node(id).module;
        let target = path.target().filter(|target| self.rules.indexed.contains(target));
        let Some(target) = target.filter(|_| path.is_plain()) else {
            let eval = self.eval(module, place);
            return eval.leads_to(path, value);
        };
        let depth = usize::from(self.schema.node(id).depth) + 1;
        let apex = path.apex(depth, depth);
        let own = place.path();
        let found = self.index().holders(target, value).any(|held| {
            own.steps.len() >= apex && held.steps.len() >= apex && held.steps[..apex] == own.steps[..apex]
        });
        found || {
            let by_default = self.rules.is_default(target, value);
            let eval = self.eval(module, place);
            by_default && eval.leads_to(path, value)
        }
    }

    /// Is there something at the end of an instance-identifier? Defaults and non-presence containers are.
    fn exists(&self, text: &str) -> bool {
        let Ok(path) = DataPath::parse_instance_identifier(self.schema, text) else { return false };
        if get_ref(self.root, &path).is_some() || default_in_use(self.schema, self.root, &path).is_some() {
            return true;
        }
        let implied = |path: &DataPath| {
            let kind = path.last_node().map(|id| &self.schema.node(id).kind);
            matches!(kind, Some(Kind::Container { presence: false }))
        };
        let mut at = path;
        while implied(&at) {
            let Some(above) = at.parent() else { return true };
            if above.steps.is_empty() || get_ref(self.root, &above).is_some() {
                return true;
            }
            at = above;
        }
        false
    }

    fn target_path(&self, path: &Path) -> String {
        match path.target() {
            Some(target) => {
                let chain = self.schema.way_to(target).into_iter();
                chain.fold(DataPath::root(), DataPath::child).display(self.schema)
            }
            None => "target".into(),
        }
    }

    /// Remembers what leafrefs may have led to and is not there any more.
    pub(super) fn vanished(&mut self, old: &Fields, new: Option<&Fields>) {
        let rules = self.rules;
        if rules.referrers.is_empty() || new.is_some_and(|new| old.ptr_eq(new)) {
            return;
        }
        for (id, node) in old.iter() {
            let after = new.and_then(|new| new.get(*id));
            match node {
                Node::Leaf(value) if after != Some(node) && rules.referrers.contains_key(id) => {
                    self.gone.push((*id, value.clone()));
                }
                Node::LeafList(values) if after != Some(node) && rules.referrers.contains_key(id) => {
                    let kept =
                        |value: &Value| matches!(after, Some(Node::LeafList(new)) if new.contains(value));
                    let lost = values.iter().filter(|value| !kept(value));
                    self.gone.extend(lost.map(|value| (*id, value.clone())));
                }
                Node::Container(inner) => self.vanished(inner, after.and_then(Node::fields)),
                Node::List(list) if new.is_none() => {
                    list.iter().for_each(|(_, entry)| self.vanished(entry, None));
                }
                _ => {}
            }
        }
    }

    /// Checks whoever refers to something that vanished.
    pub(super) fn dangling(&mut self) {
        let rules = self.rules;
        let gone: HashSet<(SchemaId, Value)> = std::mem::take(&mut self.gone).into_iter().collect();
        let changed = std::mem::take(&mut self.changed);
        if gone.is_empty() && changed.is_empty() {
            return;
        }
        let mut referring: Vec<DataPath> = Vec::new();
        for (target, value) in &gone {
            for referrer in rules.referrers.get(target).into_iter().flatten() {
                referring.extend(self.index().holders(*referrer, value).cloned());
            }
        }
        for path in changed {
            let text = path.display(self.schema);
            referring.extend(self.index().pointing_into(&text).cloned());
        }
        referring.sort();
        referring.dedup();
        for path in referring {
            if self.errors.len() >= MOST_ERRORS {
                return;
            }
            let place = Place::at(self.root, &path);
            if let (Some(id), super::super::tree::NodeRef::Leaf(value)) = (place.id(), place.node()) {
                self.reference(&place, id, value);
            }
        }
    }
}
