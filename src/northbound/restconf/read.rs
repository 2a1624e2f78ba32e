//! GET and HEAD: what a resource holds, of one snapshot.

use std::sync::Arc;

use super::face::{Datastore, Face};
use super::media::Encoding;
use super::query::{Content, ReadQuery};
use super::{Problem, Problems};
use crate::datastore::{Snapshot, Stamp, Store};
use crate::schema::json::Sink;
use crate::schema::select::{Origin, Origins, Selected, Whole, WithDefaults, default_in_use};
use crate::schema::{DataPath, Fields, Node, get_merged, merge_layers};

/// A resource, and how it is to be shown.
pub struct Found {
    snapshot: Arc<Snapshot>,
    path: DataPath,
    node: Node,
    query: ReadQuery,
    /// The leaf is not there and has its default (RFC 8040 section 3.5.4).
    defaulted: bool,
    /// When it last changed; none for a default.
    pub stamp: Option<Stamp>,
    /// The stamp covers all of it: there are no operational data in it.
    pub fresh: bool,
    /// Where the next page begins.
    pub next: Option<String>,
    /// Entries behind this page.
    pub remaining: Option<usize>,
}

/// Finds what the path names.
///
/// # Errors
/// 404 when there is nothing; a page that is beyond the list.
pub fn read(
    snapshot: Arc<Snapshot>,
    face: Face,
    path: DataPath,
    query: ReadQuery,
) -> Result<Found, Problems> {
    let schema = snapshot.schema;
    let store = source(face, query.content);
    let found = match store {
        Source::Written => snapshot.written(Store::Config, &path),
        Source::One(store) => snapshot.read(store, &path),
        Source::Both => both(&snapshot, &path),
    };
    let (node, defaulted) = match found {
        Some(node) => (node, false),
        None => match default_of(&snapshot, store, &path, &query) {
            Some(node) => (node, true),
            None => return Err(Problem::missing(path.display(schema)).into()),
        },
    };
    let (stamp, fresh) = stamp(&snapshot, store, &path);
    let mut found =
        Found { snapshot, path, node, query, defaulted, stamp, fresh, next: None, remaining: None };
    found.turn_page()?;
    Ok(found)
}

/// Whether operational data are among what is read.
pub fn shows_state(face: Face, query: &ReadQuery) -> bool {
    matches!(source(face, query.content), Source::One(Store::Operational) | Source::Both)
}

/// The trees that an answer is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The input layer of the configuration alone.
    Written,
    One(Store),
    Both,
}

fn source(face: Face, content: Content) -> Source {
    match (face, content) {
        (Face::Legacy(store), _) => Source::One(store),
        (Face::Ds(Datastore::Running | Datastore::Candidate), _) => Source::Written,
        (Face::Ds(Datastore::Intended), _) | (Face::Rests, Content::Config) => Source::One(Store::Config),
        (Face::Rests, Content::NonConfig) => Source::One(Store::Operational),
        (Face::Ds(Datastore::Operational), _) | (Face::Rests, Content::All) => Source::Both,
    }
}

fn whole(snapshot: &Snapshot, store: Store) -> Arc<Fields> {
    let layers = snapshot.layers(store);
    merge_layers(&layers.input, &layers.derived)
}

fn everything(snapshot: &Snapshot) -> Arc<Fields> {
    merge_layers(&whole(snapshot, Store::Config), &whole(snapshot, Store::Operational))
}

fn both(snapshot: &Snapshot, path: &DataPath) -> Option<Node> {
    if path.steps.is_empty() {
        return Some(Node::Container(everything(snapshot)));
    }
    match (snapshot.read(Store::Config, path), snapshot.read(Store::Operational, path)) {
        (Some(config), Some(operational)) => Some(unite(path, config, operational)),
        (one, other) => one.or(other),
    }
}

/// Two nodes of one place as one: each alone in a tree, and these united.
fn unite(path: &DataPath, config: Node, operational: Node) -> Node {
    match (&config, &operational) {
        (Node::Container(a), Node::Container(b)) => Node::Container(merge_layers(a, b)),
        _ => {
            let Some(id) = path.last_node() else { return config };
            let alone = |node: Node| Arc::new(Fields::of(vec![(id, node)]));
            let at = DataPath::root().child(id);
            let kept = config.clone();
            get_merged(&alone(config), &alone(operational), &at).unwrap_or(kept)
        }
    }
}

/// When the answer last changed, as far as tags go, and whether that is all of it.
fn stamp(snapshot: &Snapshot, source: Source, path: &DataPath) -> (Option<Stamp>, bool) {
    match source {
        Source::Written => (snapshot.stamp_of_written(Store::Config, path), true),
        Source::One(store) => (snapshot.stamp(store, path), true),
        Source::Both => {
            let operational = snapshot.stamp(Store::Operational, path).filter(|stamp| stamp.latest().0 > 0);
            match snapshot.stamp(Store::Config, path) {
                Some(stamp) => (Some(stamp), operational.is_none()),
                None => (operational, true),
            }
        }
    }
}

/// The default of an absent leaf; asked for trimmed or explicit data, it is not there.
fn default_of(snapshot: &Snapshot, source: Source, path: &DataPath, query: &ReadQuery) -> Option<Node> {
    if query.no_defaults {
        return None;
    }
    let id = path.last_node()?;
    let config = snapshot.schema.node(id).config;
    let store = match source {
        Source::One(store) => store,
        Source::Both if !config => Store::Operational,
        Source::Written | Source::Both => Store::Config,
    };
    if config != (store == Store::Config) {
        return None;
    }
    default_in_use(snapshot.schema, &whole(snapshot, store), path).map(Node::Leaf)
}

impl Found {
    fn turn_page(&mut self) -> Result<(), Problems> {
        let (false, Some(id)) = (self.query.page.is_all(), self.path.last_node()) else { return Ok(()) };
        let schema = self.snapshot.schema;
        let part = self.query.page.of(schema, id, &self.node).map_err(|error| {
            Problem::new("invalid-value", error.to_string()).at(self.path.display(schema))
        })?;
        self.node = part.node;
        self.remaining = Some(part.remaining);
        self.next = part.next.map(|key| {
            let text = DataPath::root().entry(id, key).to_rfc8040(schema);
            text.split_once('=').map_or(String::new(), |(_, key)| key.to_owned())
        });
        Ok(())
    }

    /// Asked for with lines and indentation.
    pub fn pretty(&self) -> bool {
        self.query.pretty
    }

    /// Writes the answer piece by piece; false: the sink has seen enough.
    ///
    /// # Errors
    /// A list that is not one element, in XML; before anything is written.
    pub fn write(
        &self,
        encoding: Encoding,
        out: &mut Vec<u8>,
        sink: &mut Sink<'_>,
    ) -> Result<bool, Problems> {
        let schema = self.snapshot.schema;
        if self.query.selection.is_whole() && !self.query.with_origin && !self.defaulted {
            return encoding.write(schema, &self.path, &self.node, &Whole, out, sink);
        }
        let root = match self.query.selection.defaults {
            WithDefaults::ReportAll | WithDefaults::ReportAllTagged => everything(&self.snapshot),
            WithDefaults::Explicit | WithDefaults::Trim => Arc::default(),
        };
        let layers = [Store::Config, Store::Operational].map(|store| self.snapshot.layers(store));
        let origins = self.query.with_origin.then(|| {
            Origins::new([
                (Origin::Intended, &layers[0].input),
                (Origin::System, &layers[0].derived),
                (Origin::Learned, &layers[1].input),
                (Origin::System, &layers[1].derived),
            ])
        });
        let mut view = Selected::new(schema, &self.query.selection, &self.path, &root, origins);
        if self.defaulted {
            view = view.defaulted();
        }
        encoding.write(schema, &self.path, &self.node, &view, out, sink)
    }
}
