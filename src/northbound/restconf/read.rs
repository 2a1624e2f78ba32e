//! GET and HEAD: what a resource holds, of one snapshot.

use std::sync::Arc;

use super::face::{Datastore, Face};
use super::media::Encoding;
use super::query::{Content, ReadQuery};
use super::{Problem, Problems, paging};
use crate::datastore::{Snapshot, Stamp, Store};
use crate::schema::json::Sink;
use crate::schema::select::{Origin, Origins, Selected, Turned, Whole, WithDefaults, default_in_use};
use crate::schema::{DataPath, Fields, Kind, Node, get_merged, merge_layers, xml};

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
    /// It is a page of a list.
    pub turned: Option<Turned>,
    /// Entries before what is behind the page.
    pub until: usize,
    /// Lists stand in an element of their own, in XML.
    pub in_list: bool,
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
    let (turned, until, in_list) = (None, 0, false);
    let mut found = Found { snapshot, path, node, query, defaulted, stamp, fresh, turned, until, in_list };
    found.turn_page(store)?;
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

fn whole(snapshot: &Snapshot, store: Store) -> Fields {
    let layers = snapshot.layers(store);
    merge_layers(&layers.input, &layers.derived)
}

fn everything(snapshot: &Snapshot) -> Fields {
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
            let alone = |node: Node| Fields::of(vec![(id, node)]);
            let at = DataPath::root().child(id);
            let kept = config.clone();
            get_merged(&alone(config), &alone(operational), &at).unwrap_or(kept)
        }
    }
}

/// The whole tree that an answer is a part of.
fn tree(snapshot: &Snapshot, source: Source) -> Fields {
    match source {
        Source::Written => snapshot.layers(Store::Config).input.clone(),
        Source::One(store) => whole(snapshot, store),
        Source::Both => everything(snapshot),
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

/// The default of an absent leaf or leaf-list; asked for trimmed or explicit data, it is not there.
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
    default_in_use(snapshot.schema, &whole(snapshot, store), path)
}

impl Found {
    fn turn_page(&mut self, source: Source) -> Result<(), Problems> {
        let (page, schema) = (&self.query.page, self.snapshot.schema);
        let (false, Some(id)) = (page.is_all(), self.path.last_node()) else { return Ok(()) };
        let root = match &page.condition {
            None => Fields::default(),
            Some(condition) => {
                if !condition.is_within(schema) {
                    // Other data decide too: the tag of the list would not tell of their changes.
                    self.stamp = None;
                }
                tree(&self.snapshot, source)
            }
        };
        let part = page.of(schema, &root, &self.path, &self.node);
        let part = part.map_err(|error| paging::refused(&error, self.path.display(schema)))?;
        let text = |key| {
            let text = DataPath::root().entry(id, key).to_rfc8040(schema);
            text.split_once('=').map_or(String::new(), |(_, key)| key.to_owned())
        };
        let shown = match &part.node {
            Node::List(list) => list.len(),
            Node::LeafList(values) => values.len(),
            Node::Container(_) | Node::Leaf(_) => 0,
        };
        let named = matches!(&schema.node(id).kind, Kind::List { keys, .. } if !keys.is_empty());
        let previous = (part.before > 0 && named).then(|| part.previous.map_or_else(String::new, text));
        self.until = part.before + shown;
        self.turned = Some(Turned { remaining: part.remaining, next: part.next.map(text), previous });
        self.node = part.node;
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
        if self.query.selection.is_whole() && !self.is_special() {
            return encoding.write(schema, &self.path, &self.node, &Whole, out, sink);
        }
        let root = match self.query.selection.defaults {
            WithDefaults::ReportAll | WithDefaults::ReportAllTagged => everything(&self.snapshot),
            WithDefaults::Explicit | WithDefaults::Trim => Fields::default(),
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
        let view = Selected::new(schema, &self.query.selection, &self.path, &root, origins);
        let mut view = view.turned(self.turned.as_ref());
        if self.defaulted {
            view = view.defaulted();
        }
        if self.in_list {
            return Ok(xml::write_list(schema, &self.path, &self.node, &view, out, sink));
        }
        encoding.write(schema, &self.path, &self.node, &view, out, sink)
    }

    /// It cannot be written as it is stored.
    fn is_special(&self) -> bool {
        self.query.with_origin || self.defaulted || self.turned.is_some() || self.in_list
    }
}
