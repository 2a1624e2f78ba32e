//! The model, the renderers, and what each of their keys rendered last.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tracing::{debug, error};

use super::Renderer;
use super::dated::Dated;
use super::difference::Difference;
use super::key::Key;
use super::rendered::{Item, Rendered, tables};
use crate::model::{Allocator, Model, Row};
use crate::net::Dpid;
use crate::pipeline::SwitchTables;

/// Rows in, differences out.
pub(super) struct Workshop {
    pub model: Model,
    renderers: Vec<Box<dyn Renderer>>,
    outputs: HashMap<Key, Box<[Item]>>,
}

impl Workshop {
    pub fn new(renderers: Vec<Box<dyn Renderer>>) -> Workshop {
        Workshop { model: Model::default(), renderers, outputs: HashMap::new() }
    }

    /// Forgets everything but the renderers.
    pub fn clear(&mut self) {
        self.model = Model::default();
        self.outputs.clear();
    }

    /// Everything that is rendered now.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.outputs.values().flat_map(|items| items.iter())
    }

    /// What every switch should hold.
    pub fn tables(&self) -> BTreeMap<Dpid, SwitchTables> {
        tables(self.items())
    }

    /// Takes in rows and renders the keys that look different for it.
    /// Derived nodes are stamped with the revision.
    pub fn apply(
        &mut self,
        rows: impl IntoIterator<Item = Row>,
        revision: u64,
        ids: &mut dyn Allocator,
    ) -> Difference {
        let touched = self.model.apply(rows, ids);
        let mut keys = Vec::new();
        for renderer in &self.renderers {
            renderer.affected(&touched, &self.model, &mut keys);
        }
        let keys: BTreeSet<Key> = keys.into_iter().collect();
        debug!(keys = keys.len(), "rendering");
        let mut difference = Difference::default();
        for key in keys {
            let Some((mut items, dated)) = self.render(&key, revision) else { continue };
            let before = self.outputs.get(&key).map(|items| &items[..]).unwrap_or_default();
            if let Some(dated) = dated {
                dated.settle(before, &mut items);
            }
            if *before == *items {
                continue;
            }
            difference.exchange(before, &mut items);
            if items.is_empty() {
                self.outputs.remove(&key);
            } else {
                self.outputs.insert(key, items);
            }
        }
        difference
    }

    /// What all renderers make of a key. Nothing if one has a fault: what the key rendered before then stays.
    fn render(&self, key: &Key, revision: u64) -> Option<(Box<[Item]>, Option<Dated>)> {
        let mut out = Rendered { revision, ..Rendered::default() };
        for renderer in &self.renderers {
            let rendered = catch_unwind(AssertUnwindSafe(|| renderer.render(key, &self.model, &mut out)));
            if rendered.is_err() {
                let renderer = renderer.name();
                error!(renderer, %key, "the renderer has a fault with this object; it stays as it was");
                return None;
            }
        }
        Some((out.items.into_boxed_slice(), out.dated))
    }
}
