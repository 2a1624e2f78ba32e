//! Lists as a whole: counts and `unique`.

use std::collections::HashMap;

use super::super::data::{Key, List};
use super::super::ir::{Kind, SchemaId};
use super::super::path::DataPath;
use super::super::tree::NodeRef;
use super::super::value::Value;
use super::super::xpath::{Frame, Place};
use super::index::{Row, row};
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
                self.unique_entry(above, id, list, key);
            }
            None => self.absent(above, fields, id),
        }
    }

    /// `unique` statements, of one entry against all others.
    fn unique_entry(&mut self, above: &Place<'a>, id: SchemaId, list: &'a List, key: &Key) {
        let Kind::List { unique, .. } = &self.schema.node(id).kind else { return };
        let Some((key, entry)) = list.get_key_value(key) else { return };
        for (number, paths) in unique.iter().enumerate() {
            let Some(values) = row(self.rules, entry, paths) else { continue };
            let wanted = Row { list: above.path().child(id), number, values };
            if let Some(twin) = self.index().twin(&wanted, key).cloned() {
                self.not_unique(above, id, list, paths, key, &twin);
            }
        }
    }

    /// `unique` statements, of all entries of a list that is new as a whole.
    pub(super) fn unique(&mut self, above: &Place<'a>, id: SchemaId, list: &'a List) {
        let Kind::List { unique, .. } = &self.schema.node(id).kind else { return };
        for paths in unique {
            let mut seen: HashMap<Vec<Value>, &Key> = HashMap::new();
            for (key, entry) in list {
                let Some(values) = row(self.rules, entry, paths) else { continue };
                if let Some(first) = seen.get(&values) {
                    self.not_unique(above, id, list, paths, key, first);
                } else {
                    seen.insert(values, key);
                }
            }
        }
    }

    fn not_unique(
        &mut self,
        above: &Place<'a>,
        id: SchemaId,
        list: &'a List,
        paths: &[Vec<SchemaId>],
        key: &'a Key,
        twin: &Key,
    ) {
        let leafs: Vec<&str> = paths.iter().filter_map(|path| path.last()).map(|id| self.name(*id)).collect();
        let other = DataPath::root().entry(id, twin.clone()).display(self.schema);
        let message = format!(
            "{} must be unique, but entry {} has the same; change one of them",
            leafs.join(", "),
            other.rsplit('/').next().unwrap_or_default()
        );
        let place = above.with(Frame { id, key: Some(key), node: NodeRef::List(list) });
        self.fault(&place, ValidationErrorKind::NotUnique, message);
    }
}
