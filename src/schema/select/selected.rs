//! The view that carries out `depth`, `fields`, `with-defaults` and `with-origin`.

use std::rc::Rc;

use super::super::data::{Key, Node};
use super::super::fields::Fields;
use super::super::ir::{Kind, Schema, SchemaId};
use super::super::lexical::key_leafs;
use super::super::path::{DataPath, Step};
use super::defaults::{case_chosen, possible};
use super::{Beyond, Extent, FieldTree, Marks, Origin, Origins, View};

/// RFC 6243 section 3; the basic mode is `explicit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WithDefaults {
    ReportAll,
    Trim,
    #[default]
    Explicit,
    ReportAllTagged,
}

/// What a reader asks for.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Selection {
    /// Levels to return, the target (or what `fields` names) being the first; `None`: all.
    pub depth: Option<u16>,
    pub fields: Option<FieldTree>,
    pub defaults: WithDefaults,
    /// Most entries of lists and leaf-lists below the target.
    pub sublist_limit: Option<usize>,
}

impl Selection {
    /// Everything as it is stored: no view is needed.
    pub fn is_whole(&self) -> bool {
        *self == Selection::default()
    }
}

/// What became of the target, a list or leaf-list, when a page was cut out of it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Turned {
    /// Entries behind the page.
    pub remaining: usize,
    /// Cursors of the pages around this one.
    pub next: Option<String>,
    pub previous: Option<String>,
}

/// What is the same at every place of one walk.
#[derive(Debug)]
struct Walk<'a> {
    defaults: WithDefaults,
    /// Levels below what is asked for.
    below: u16,
    /// Most entries of lists below the target.
    most: usize,
    /// What conditions on defaults are about.
    root: &'a Fields,
}

/// The way from the root, kept where conditions may ask for it.
#[derive(Debug)]
struct Trail {
    above: Option<Rc<Trail>>,
    step: Step,
}

/// What is selected at one place.
#[derive(Debug)]
pub struct Selected<'a> {
    walk: Rc<Walk<'a>>,
    /// Schema node of the place; `None`: the datastore.
    at: Option<SchemaId>,
    in_list: bool,
    fields: Option<&'a FieldTree>,
    /// Levels left below this place.
    left: u16,
    trail: Option<Rc<Trail>>,
    origins: Option<Origins<'a>>,
    /// The origin that stands at the nearest node above.
    inherited: Option<Origin>,
    marks: Marks,
    /// What was asked for, as opposed to what is below it.
    is_target: bool,
    turned: Option<&'a Turned>,
}

impl<'a> Selected<'a> {
    /// The view at `path`. `root` is the whole tree, for conditions on defaults; `origins` stand at its root.
    pub fn new(
        schema: &Schema,
        selection: &'a Selection,
        path: &DataPath,
        root: &'a Fields,
        origins: Option<Origins<'a>>,
    ) -> Selected<'a> {
        let below = selection.depth.map_or(u16::MAX, |depth| depth.saturating_sub(1));
        let most = selection.sublist_limit.unwrap_or(usize::MAX);
        let walk = Rc::new(Walk { defaults: selection.defaults, below, most, root });
        let mut view = Selected {
            walk,
            at: None,
            in_list: false,
            fields: selection.fields.as_ref(),
            left: if selection.fields.is_some() { u16::MAX } else { below },
            trail: None,
            origins,
            inherited: None,
            marks: Marks::default(),
            is_target: true,
            turned: None,
        };
        for step in &path.steps {
            let (fields, left) = (view.fields, view.left);
            view = view.inside(schema, step.node);
            if let Some(key) = &step.key {
                view = view.keyed(schema, key);
            }
            (view.fields, view.left) = (fields, left);
        }
        view.is_target = true;
        view
    }

    /// The target is a page of a list.
    pub fn turned(mut self, turned: Option<&'a Turned>) -> Selected<'a> {
        self.turned = turned;
        self
    }

    /// Marks the place itself as holding a default.
    pub fn defaulted(mut self) -> Selected<'a> {
        self.marks.default = self.walk.defaults == WithDefaults::ReportAllTagged;
        self
    }

    fn fills(&self) -> bool {
        matches!(self.walk.defaults, WithDefaults::ReportAll | WithDefaults::ReportAllTagged)
    }

    /// The view of a child, with nothing decided about depth and fields.
    fn inside(&self, schema: &Schema, id: SchemaId) -> Selected<'a> {
        let step = |id| Rc::new(Trail { above: self.trail.clone(), step: Step { node: id, key: None } });
        let view = Selected {
            walk: self.walk.clone(),
            at: Some(id),
            in_list: false,
            fields: self.fields,
            left: self.left,
            trail: self.fills().then(|| step(id)),
            origins: self.origins.map(|origins| origins.child(id)),
            inherited: self.marks.origin.or(self.inherited),
            marks: Marks::default(),
            is_target: false,
            turned: None,
        };
        let node = schema.node(id);
        let bears_origin =
            node.config && !matches!(node.kind, Kind::List { .. } | Kind::Container { presence: false });
        if bears_origin { view.with_origin() } else { view }
    }

    fn keyed(&self, schema: &Schema, key: &Key) -> Selected<'a> {
        let step = |trail: &Rc<Trail>| {
            let step = Step { node: trail.step.node, key: Some(key.clone()) };
            Rc::new(Trail { above: trail.above.clone(), step })
        };
        let view = Selected {
            walk: self.walk.clone(),
            at: self.at,
            in_list: true,
            fields: self.fields,
            left: self.left,
            trail: self.trail.as_ref().map(step),
            origins: self.origins.map(|origins| origins.entry(key)),
            inherited: self.inherited,
            marks: Marks::default(),
            is_target: false,
            turned: None,
        };
        let config = self.at.is_some_and(|id| schema.node(id).config);
        if config { view.with_origin() } else { view }
    }

    /// Says the origin where it is not that of what is above.
    fn with_origin(mut self) -> Selected<'a> {
        let origin = self.origins.map(|origins| origins.origin());
        self.marks.origin = origin.filter(|origin| Some(*origin) != self.inherited);
        self
    }

    /// The view of a child that is asked for; `None` for one that is not.
    fn child(&self, schema: &Schema, id: SchemaId, is_key: bool) -> Option<Selected<'a>> {
        let (fields, left) = match self.fields {
            None if self.left == 0 && !is_key => return None,
            None => (None, self.left.saturating_sub(u16::from(self.left < u16::MAX))),
            Some(tree) => match tree.child(id) {
                None if is_key => (None, 0),
                None => return None,
                Some(Some(below)) => (Some(below), u16::MAX),
                Some(None) => (None, self.walk.below),
            },
        };
        let mut view = self.inside(schema, id);
        (view.fields, view.left) = (fields, left);
        Some(view)
    }

    fn path(&self) -> DataPath {
        let trail = std::iter::successors(self.trail.as_deref(), |trail| trail.above.as_deref());
        let mut path: DataPath = DataPath { steps: trail.map(|trail| trail.step.clone()).collect() };
        path.steps.reverse();
        path
    }

    /// What is absent from an object, but there by its default.
    fn implied(&self, schema: &Schema, fields: &Fields, id: SchemaId) -> Option<Node> {
        let node = match &schema.node(id).kind {
            Kind::Leaf { .. } | Kind::LeafList { .. } => schema.rules().ok()?.default_of(id)?.clone(),
            Kind::Container { presence: false } if has_default(schema, id) => {
                Node::Container(Fields::default())
            }
            _ => return None,
        };
        let in_use = case_chosen(schema, fields, id) && possible(schema, self.walk.root, &self.path(), id);
        in_use.then_some(node)
    }
}

fn is_default(schema: &Schema, id: SchemaId, node: &Node) -> bool {
    schema.rules().is_ok_and(|rules| rules.default_of(id) == Some(node))
}

/// Does a non-presence container hold defaults while it is empty?
fn has_default(schema: &Schema, id: SchemaId) -> bool {
    schema.node(id).children.iter().any(|child| match &schema.node(*child).kind {
        Kind::Leaf { default, .. } => default.is_some(),
        Kind::LeafList { defaults, .. } => !defaults.is_empty(),
        Kind::Container { presence: false } => has_default(schema, *child),
        _ => false,
    })
}

impl View for Selected<'_> {
    fn members(&self, schema: &Schema, fields: &Fields, mut each: impl FnMut(SchemaId, &Node, &Self)) {
        let keys = match self.at {
            Some(id) if self.in_list => key_leafs(schema, id),
            _ => &[],
        };
        let trim = self.walk.defaults == WithDefaults::Trim;
        let mut show = |id: SchemaId, node: &Node, default: bool| {
            let is_key = keys.contains(&id);
            if trim && !is_key && is_default(schema, id, node) {
                return;
            }
            if let Some(mut view) = self.child(schema, id, is_key) {
                view.marks.default = default && self.walk.defaults == WithDefaults::ReportAllTagged;
                each(id, node, &view);
            }
        };
        if !self.fills() {
            return fields.iter().for_each(|(id, node)| show(*id, node, false));
        }
        let possible = match self.at {
            Some(id) => &schema.node(id).children,
            None => &schema.roots,
        };
        for id in possible {
            match fields.get(*id) {
                Some(node) => show(*id, node, false),
                None => {
                    if let Some(node) = self.implied(schema, fields, *id) {
                        show(*id, &node, !matches!(node, Node::Container(_)));
                    }
                }
            }
        }
    }

    fn entry(&self, schema: &Schema, key: &Key, each: impl FnOnce(&Self)) {
        each(&self.keyed(schema, key));
    }

    fn extent(&self, length: usize) -> Extent<'_> {
        let most = if self.is_target { usize::MAX } else { self.walk.most };
        let remaining = length.saturating_sub(most);
        let beyond = match self.turned.filter(|_| self.is_target) {
            Some(turned) => Beyond {
                remaining: Some(turned.remaining).filter(|remaining| *remaining > 0),
                next: turned.next.as_deref(),
                previous: turned.previous.as_deref(),
            },
            None => {
                Beyond { remaining: Some(remaining).filter(|remaining| *remaining > 0), ..Beyond::default() }
            }
        };
        Extent { shown: most, beyond }
    }

    fn marks(&self) -> Marks {
        self.marks
    }
}
