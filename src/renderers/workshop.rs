//! The model, the renderers, and what each of their keys rendered last.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use hashbrown::HashMap;
use tracing::{debug, error};

use super::Renderer;
use super::difference::Difference;
use super::key::{Key, Keys};
use super::places::Places;
use super::rendered::{Fresh, Item, Output, Rendered, tables};
use crate::model::{Allocator, Model, Row};
use crate::net::Dpid;
use crate::pipeline::SwitchTables;
use crate::schema::{Map, Schema};

/// Keys of one commit that are worth a second thread.
const MANY: usize = 512;
/// Keys whose flows are made anew for the switches, rather than kept until they are told: an interface has some kilobytes of them.
const VERY_MANY: usize = 8192;
/// Keys that a thread takes at once.
const PORTION: usize = 64;

/// Rows in, differences out.
pub(super) struct Workshop {
    pub model: Model,
    renderers: Vec<Box<dyn Renderer>>,
    outputs: Map<Key, Output>,
    places: Arc<Places>,
    /// While planning: what the keys that changed rendered before.
    kept: Option<HashMap<Key, Option<Output>>>,
}

impl Workshop {
    pub fn new(schema: &'static Schema, renderers: Vec<Box<dyn Renderer>>) -> Workshop {
        let places = Arc::new(Places::new(schema));
        Workshop { model: Model::default(), renderers, outputs: Map::new(), places, kept: None }
    }

    /// Forgets everything but the renderers.
    pub fn clear(&mut self) {
        self.model = Model::default();
        self.outputs = Map::new();
    }

    /// Everything that is rendered now.
    pub fn items(&self) -> impl Iterator<Item = Item> + '_ {
        self.outputs.values().flat_map(Output::items)
    }

    /// What a key rendered last.
    pub fn output(&self, key: &Key) -> Option<&Output> {
        self.outputs.get(key)
    }

    /// Everything that is rendered now, by key.
    pub fn outputs(&self) -> impl Iterator<Item = (&Key, &Output)> {
        self.outputs.iter()
    }

    /// What every switch should hold.
    pub fn tables(&self) -> BTreeMap<Dpid, SwitchTables> {
        tables(self.items())
    }

    /// Starts to keep what keys rendered, so that [`Workshop::forget`] can bring it back.
    pub fn remember(&mut self) {
        self.kept = Some(HashMap::new());
    }

    /// Goes back to what was rendered when [`Workshop::remember`] was called; `rows` are those that the model had then.
    pub fn forget(&mut self, rows: impl IntoIterator<Item = Row>, ids: &mut dyn Allocator) {
        self.model.apply(rows, ids);
        for (key, output) in self.kept.take().into_iter().flatten() {
            match output {
                Some(output) => self.outputs.insert(key, output),
                None => self.outputs.remove(&key),
            };
        }
    }

    /// Takes in rows and renders the keys that look different for it.
    /// Derived nodes are stamped with the revision.
    pub fn apply(
        &mut self,
        rows: impl IntoIterator<Item = Row>,
        revision: u64,
        ids: &mut dyn Allocator,
    ) -> Difference {
        let keys = self.take(rows, ids);
        self.render(keys, revision)
    }

    /// Takes in rows. Returns the keys that look different for it, in order.
    pub fn take(&mut self, rows: impl IntoIterator<Item = Row>, ids: &mut dyn Allocator) -> Vec<Key> {
        let touched = self.model.apply(rows, ids);
        let mut keys = Keys::default();
        for renderer in &self.renderers {
            renderer.affected(&touched, &self.model, &mut keys);
        }
        let mut keys: Vec<Key> = keys.into_iter().collect();
        keys.sort_unstable();
        keys
    }

    /// Renders keys anew, which come in order.
    pub fn render(&mut self, keys: Vec<Key>, revision: u64) -> Difference {
        debug!(keys = keys.len(), "rendering");
        let rendered = self.render_all(&keys, revision);
        let mut difference = Difference::default();
        for (key, rendered) in keys.into_iter().zip(rendered.into_iter().flatten()) {
            let Some(Fresh { mut output, dated, flows }) = rendered else { continue };
            let nothing = Output::default();
            let before = self.outputs.get(&key).unwrap_or(&nothing);
            if let Some(dated) = dated {
                dated.settle(before, &mut output);
            }
            if *before == output {
                continue;
            }
            difference.exchange(before, &mut output, flows);
            let kept = self.kept.is_some().then(|| key.clone());
            let old =
                if output.is_empty() { self.outputs.remove(&key) } else { self.outputs.insert(key, output) };
            if let (Some(key), Some(kept)) = (kept, &mut self.kept) {
                kept.entry(key).or_insert(old);
            }
        }
        self.places.sweep();
        difference
    }

    /// What all renderers make of each key, in the order of the keys. Many keys are shared out, since each depends on the model alone,
    /// and the flows of very many are not kept beside the packed ones.
    fn render_all(&self, keys: &[Key], revision: u64) -> Vec<Vec<Option<Fresh>>> {
        if keys.len() < MANY {
            return vec![keys.iter().map(|key| self.render_key(key, revision)).collect()];
        }
        // Keys of one kind cost alike and follow each other: whoever is done with some takes the next.
        let fresh = |portion| (portion, OnceLock::<Vec<Option<Fresh>>>::new());
        let portions: Vec<(&[Key], _)> = keys.chunks(PORTION).map(fresh).collect();
        let (next, keeps) = (AtomicUsize::new(0), keys.len() < VERY_MANY);
        let work = || {
            while let Some((portion, rendered)) = portions.get(next.fetch_add(1, Ordering::Relaxed)) {
                let kept = |fresh: Fresh| if keeps { fresh } else { Fresh { flows: Vec::new(), ..fresh } };
                let all = portion.iter().map(|key| self.render_key(key, revision).map(kept));
                let _ = rendered.set(all.collect());
            }
        };
        thread::scope(|scope| {
            let threads = thread::available_parallelism().map_or(1, NonZero::get);
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            work();
            // What a thread that panicked had in hand stays as it was.
            others.into_iter().for_each(|other| drop(other.join()));
        });
        let rendered = |(portion, rendered): (&[Key], OnceLock<Vec<_>>)| {
            rendered.into_inner().unwrap_or_else(|| portion.iter().map(|_| None).collect())
        };
        portions.into_iter().map(rendered).collect()
    }

    /// What all renderers make of a key. Nothing if one has a fault: what the key rendered before then stays.
    fn render_key(&self, key: &Key, revision: u64) -> Option<Fresh> {
        let mut out = Rendered::new(revision, &self.places);
        for renderer in &self.renderers {
            let rendered = catch_unwind(AssertUnwindSafe(|| renderer.render(key, &self.model, &mut out)));
            if rendered.is_err() {
                let renderer = renderer.name();
                error!(renderer, %key, "the renderer has a fault with this object; it stays as it was");
                return None;
            }
        }
        Some(out.finish())
    }
}
