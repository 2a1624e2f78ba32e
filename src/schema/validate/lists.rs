//! Lists as a whole: counts and `unique`.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::data::{Fields, Key, List};
use super::super::ir::{Kind, SchemaId};
use super::super::path::DataPath;
use super::super::tree::NodeRef;
use super::super::value::Value;
use super::super::xpath::{Frame, Place};
use super::{ValidationErrorKind, Validator};

impl<'a> Validator<'a> {
    pub(super) fn counts(&mut self, above: &Place<'a>, id: SchemaId, count: usize) {
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
    pub(super) fn list_around(&mut self, above: &Place<'a>, id: SchemaId, key: &'a Key) {
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
    pub(super) fn unique(&mut self, above: &Place<'a>, id: SchemaId, list: &'a List, only: Option<&'a Key>) {
        let Kind::List { unique, .. } = &self.schema.node(id).kind else { return };
        for paths in unique {
            let row = |entry: &'a Arc<Fields>| -> Option<Vec<&'a Value>> {
                paths.iter().map(|path| self.at_chain(entry, path)).collect()
            };
            let mut seen: HashMap<Vec<&Value>, &Key> = HashMap::new();
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
    pub(super) fn at_chain(&self, entry: &'a Arc<Fields>, chain: &[SchemaId]) -> Option<&'a Value> {
        let (leaf, above) = chain.split_last()?;
        let mut fields = Some(entry);
        for step in above {
            fields = fields.and_then(|fields| fields.container(*step));
        }
        fields.and_then(|fields| fields.leaf(*leaf)).or_else(|| self.rules.defaults.get(leaf))
    }
}
