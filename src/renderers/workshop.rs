//! The model, the renderers, and what each of their keys rendered last.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tracing::{debug, error};

use super::Renderer;
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
    outputs: HashMap<(usize, Key), Box<[Item]>>,
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
    pub fn apply(&mut self, rows: impl IntoIterator<Item = Row>, ids: &mut dyn Allocator) -> Difference {
        let touched = self.model.apply(rows, ids);
        let mut difference = Difference::default();
        let mut count = 0;
        for (number, renderer) in self.renderers.iter().enumerate() {
            let mut keys = Vec::new();
            renderer.affected(&touched, &self.model, &mut keys);
            for key in keys.into_iter().collect::<BTreeSet<_>>() {
                count += 1;
                let Some(items) = render(renderer.as_ref(), &key, &self.model) else { continue };
                let slot = (number, key);
                let before = self.outputs.get(&slot).map(|items| &items[..]).unwrap_or_default();
                if *before == *items {
                    continue;
                }
                difference.exchange(before, &items);
                if items.is_empty() {
                    self.outputs.remove(&slot);
                } else {
                    self.outputs.insert(slot, items);
                }
            }
        }
        debug!(keys = count, "rendered");
        difference
    }
}

/// One key, or nothing if the renderer has a fault: what the key rendered before then stays.
fn render(renderer: &dyn Renderer, key: &Key, model: &Model) -> Option<Box<[Item]>> {
    let mut out = Rendered::default();
    if catch_unwind(AssertUnwindSafe(|| renderer.render(key, model, &mut out))).is_err() {
        error!(renderer = renderer.name(), %key, "the renderer has a fault with this object; it stays as it was");
        return None;
    }
    Some(out.items.into_boxed_slice())
}
