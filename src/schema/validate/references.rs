//! leafref and instance-identifier, from both ends.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::data::{Fields, Node};
use super::super::ir::{SchemaId, Type};
use super::super::lexical;
use super::super::path::DataPath;
use super::super::tree::{NodeRef, get_ref};
use super::super::value::Value;
use super::super::xpath::{Eval, Place};
use super::{ValidationErrorKind, Validator};

impl<'a> Validator<'a> {
    /// leafref and instance-identifier: does the target exist?
    pub(super) fn reference(&mut self, place: &Place<'a>, id: SchemaId, value: &Value) {
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
            let found = DataPath::parse_instance_identifier(self.schema, text);
            if !found.is_ok_and(|path| get_ref(self.root, &path).is_some()) {
                let message =
                    format!("{} refers to {text}, which does not exist; create it first", self.name(id));
                self.fault(place, ValidationErrorKind::LeafrefDangling, message);
            }
        }
    }

    pub(super) fn target_path(&self, leafref: SchemaId) -> String {
        match lexical::type_of(self.schema, leafref) {
            Some(Type::LeafRef { target: Some(target), .. }) => {
                let chain = self.chain(*target).into_iter();
                chain.fold(DataPath::root(), DataPath::child).display(self.schema)
            }
            _ => "target".into(),
        }
    }

    /// Remembers the values of leafref targets that are not there any more.
    pub(super) fn vanished(&mut self, old: &Arc<Fields>, new: Option<&Arc<Fields>>) {
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
    pub(super) fn dangling(&mut self) {
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
