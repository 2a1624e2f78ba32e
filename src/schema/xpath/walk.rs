//! Walking along location paths.

use std::collections::HashSet;

use smallvec::SmallVec;

use super::super::data::{Key, Node};
use super::super::fields::Fields;
use super::super::ir::SchemaId;
use super::super::lexical::{key_leafs, parse_value, value_text};
use super::super::path::{DataPath, Step};
use super::super::rules::RuleKind;
use super::super::select::case_chosen;
use super::super::tree::NodeRef;
use super::super::value::Value;
use super::eval::{Eval, Outcome, Spot, check};
use super::place::{Frame, Place};
use super::steps::children;
use super::{Axis, Expr, Leads, Path, PathStep, Start};

/// Conditions on defaults are followed so far.
const MOST_NESTED: u8 = 8;

/// What it costs to find a place on an axis that may find all there are: they are held until the next step.
const HELD: usize = 16;

/// Where a step may lead.
#[derive(Clone, Copy)]
struct Wanted<'w> {
    nodes: &'w [SchemaId],
    root: bool,
}

impl Wanted<'_> {
    fn has(self, place: &Place<'_>) -> bool {
        place.id().map_or(self.root, |id| self.nodes.binary_search(&id).is_ok())
    }
}

impl<'a> Eval<'_, 'a> {
    /// All nodes that a path leads to from a place.
    pub fn nodes(&self, path: &Path, context: &Place<'a>) -> Vec<Place<'a>> {
        self.nodes_from(path, Spot { place: context, position: 1, size: 1 })
    }

    pub(super) fn nodes_from(&self, path: &Path, spot: Spot<'_, 'a>) -> Vec<Place<'a>> {
        let mut nodes = match &path.start {
            Start::Root => vec![Place::root(spot.place.root)],
            Start::Context => vec![spot.place.clone()],
            Start::Current => vec![self.current.clone()],
            Start::Of(expr) => self.set(expr, spot),
            Start::Deref(expr, paths) => self.referred(&self.set(expr, spot), paths),
        };
        for step in &path.steps {
            nodes = match step {
                PathStep::Parent => distinct(nodes.iter().filter_map(Place::parent).collect()),
                PathStep::Child { node, keys: Some(keys), .. } => {
                    nodes.iter().flat_map(|place| self.entries(place, *node, keys, spot)).collect()
                }
                PathStep::Child { node, predicates, .. } => {
                    let children = nodes.iter().map(|place| self.children(place, *node));
                    children.flat_map(|children| self.filtered(children, predicates)).collect()
                }
                PathStep::Walk { axis, nodes: wanted, root, predicates } => {
                    let wanted = Wanted { nodes: wanted, root: *root };
                    let reached = nodes.iter().map(|place| self.along(place, *axis, wanted));
                    distinct(reached.flat_map(|reached| self.filtered(reached, predicates)).collect())
                }
                PathStep::Filter(predicates) => self.filtered(nodes, predicates),
            };
        }
        nodes
    }

    /// Those for which all predicates hold; a number is a position among what the predicate before it left.
    fn filtered(&self, mut nodes: Vec<Place<'a>>, predicates: &[Expr]) -> Vec<Place<'a>> {
        for predicate in predicates {
            let (mut position, size) = (0, nodes.len());
            nodes.retain(|place| {
                position += 1;
                match self.value(predicate, Spot { place, position, size }) {
                    Outcome::Number(number) => number == position as f64,
                    other => other.truth(),
                }
            });
        }
        nodes
    }

    /// Where an axis leads, the nearest first.
    fn along(&self, place: &Place<'a>, axis: Axis, wanted: Wanted<'_>) -> Vec<Place<'a>> {
        let mut found = Vec::new();
        match axis {
            Axis::Itself => found.push(place.clone()),
            Axis::Parent => found.extend(place.parent()),
            Axis::Ancestor => found.extend(std::iter::successors(place.parent(), Place::parent)),
            Axis::AncestorOrSelf => {
                found.extend(std::iter::successors(Some(place.clone()), Place::parent));
            }
            Axis::Child => {
                for id in children(self.schema, place.id()) {
                    if wanted.nodes.binary_search(id).is_ok() {
                        found.extend(self.children(place, *id));
                    }
                }
                return found;
            }
            Axis::Descendant => self.descend(place, wanted, &mut found),
            Axis::DescendantOrSelf => {
                found.push(place.clone());
                self.descend(place, wanted, &mut found);
            }
        }
        found.retain(|place| wanted.has(place));
        found
    }

    fn descend(&self, place: &Place<'a>, wanted: Wanted<'_>, found: &mut Vec<Place<'a>>) {
        for id in children(self.schema, place.id()) {
            if !self.afford(1) {
                return;
            }
            for child in self.children(place, *id) {
                if wanted.has(&child) && self.afford(HELD) {
                    found.push(child.clone());
                }
                self.descend(&child, wanted, found);
            }
        }
    }

    /// What the first of some leafs refers to.
    fn referred(&self, leafs: &[Place<'a>], leads: &[(SchemaId, Leads)]) -> Vec<Place<'a>> {
        let Some(leaf) = leafs.first() else { return Vec::new() };
        let (NodeRef::Leaf(value), Some(id)) = (leaf.node(), leaf.id()) else { return Vec::new() };
        let text = value_text(self.schema, id, value);
        let eval = Eval { module: self.schema.node(id).module, current: leaf, ..*self };
        let ways = leads.iter().filter(|(of, _)| *of == id).map(|(_, way)| way);
        let mut ends = ways.map(|way| match way {
            Leads::Along(path) => {
                let mut targets = eval.nodes(path, leaf);
                targets.retain(|target| self.equals(target, &text));
                targets
            }
            Leads::There => self.named(leaf.root, &text),
        });
        ends.find(|nodes| !nodes.is_empty()).unwrap_or_default()
    }

    /// What an instance-identifier names, if it is there.
    fn named(&self, root: &'a Fields, text: &str) -> Vec<Place<'a>> {
        let Ok(path) = DataPath::parse_instance_identifier(self.schema, text) else { return Vec::new() };
        let mut place = Place::root(root);
        for Step { node, key } in &path.steps {
            let list = place.fields().and_then(|fields| fields.list(*node));
            let next = match (key, list) {
                (Some(key), Some(list)) => list.get_key_value(key).map(|(key, entry)| {
                    place.with(Frame { id: *node, key: Some(key), node: NodeRef::Fields(entry) })
                }),
                (Some(key), None) => {
                    let wanted = key.values().first().map(NodeRef::Leaf);
                    self.children(&place, *node).into_iter().find(|value| Some(value.node()) == wanted)
                }
                (None, _) => self.children(&place, *node).pop(),
            };
            let Some(next) = next else { return Vec::new() };
            place = next;
        }
        vec![place]
    }

    /// Does one of the nodes have this value? A target that is the only key of its list is looked up.
    pub fn leads_to(&self, path: &Path, value: &Value) -> bool {
        if let [
            above @ ..,
            PathStep::Child { node: list, predicates, .. },
            PathStep::Child { node: leaf, .. },
        ] = &path.steps[..]
            && predicates.is_empty()
            && key_leafs(self.schema, *list) == [*leaf]
        {
            let above = Path { start: path.start.clone(), steps: above.to_vec() };
            let key = Key::one(value.clone());
            let lists = self.nodes(&above, self.current);
            let mut lists = lists.iter().filter_map(|place| place.fields()?.list(*list));
            return lists.any(|list| list.get(&key).is_some());
        }
        self.nodes(path, self.current).iter().any(|place| place.node() == NodeRef::Leaf(value))
    }

    /// The instances of a child. Defaults and non-presence containers are there where their case is chosen and their
    /// conditions hold (RFC 7950 sections 7.5.1, 7.6.1 and 7.7.2).
    fn children(&self, place: &Place<'a>, id: SchemaId) -> Vec<Place<'a>> {
        let present = place.present(id);
        if !self.afford(present.len()) {
            return Vec::new();
        }
        let Some(fields) = place.fields().filter(|_| present.is_empty()) else { return present };
        let implied = place.implied(self.schema, id, self.defaults);
        let Some(first) = implied.first() else { return present };
        let there = case_chosen(self.schema, fields, id) && self.possible(place, id, first);
        if there { implied } else { present }
    }

    fn possible(&self, parent: &Place<'a>, id: SchemaId, place: &Place<'a>) -> bool {
        let node = self.schema.node(id);
        // Conditions on defaults that ask for one another end somewhere.
        if node.whens.is_empty() || self.nested >= MOST_NESTED {
            return true;
        }
        let Ok(rules) = self.schema.rules() else { return true };
        rules.of(id).all(|rule| {
            let RuleKind::When(number) = rule.kind else { return true };
            let current = if node.whens[number].context_is_parent { parent } else { place };
            let nested = self.nested + 1;
            check(&Eval { module: node.module, current, nested, ..*self }, &rule.expr)
        })
    }

    /// The entries whose keys equal any of what the expressions give.
    fn entries(
        &self,
        place: &Place<'a>,
        list: SchemaId,
        keys: &[Expr],
        context: Spot<'_, 'a>,
    ) -> Vec<Place<'a>> {
        let Some(Node::List(entries)) = place.fields().and_then(|fields| fields.get(list)) else {
            return Vec::new();
        };
        let mut wanted: Vec<SmallVec<[Value; 1]>> = vec![SmallVec::new()];
        for (leaf, expr) in key_leafs(self.schema, list).iter().zip(keys) {
            let texts = self.texts(&self.value(expr, context));
            let values: Vec<Value> =
                texts.iter().filter_map(|text| parse_value(self.schema, *leaf, text).ok()).collect();
            if !self.afford(wanted.len().saturating_mul(values.len())) {
                return Vec::new();
            }
            wanted = wanted
                .iter()
                .flat_map(|key| {
                    values.iter().map(|value| key.iter().cloned().chain([value.clone()]).collect())
                })
                .collect();
        }
        let found = wanted.into_iter().filter_map(|key| entries.get_key_value(&Key::from_iter(key)));
        found
            .map(|(key, entry)| place.with(Frame { id: list, key: Some(key), node: NodeRef::Fields(entry) }))
            .collect()
    }
}

/// Each node once, where it came first.
pub(super) fn distinct(mut nodes: Vec<Place<'_>>) -> Vec<Place<'_>> {
    if nodes.len() > 1 {
        let mut seen = HashSet::with_capacity(nodes.len());
        nodes.retain(|place| seen.insert(identity(place)));
    }
    nodes
}

/// What tells a place from all others: its names, and for entries and values which one.
fn identity(place: &Place<'_>) -> SmallVec<[(SchemaId, usize); 6]> {
    let instance = |frame: &Frame<'_>| match (frame.key, frame.node) {
        (Some(key), _) => std::ptr::from_ref(key).addr(),
        (None, NodeRef::Leaf(value)) => std::ptr::from_ref(value).addr(),
        (None, _) => 0,
    };
    place.frames.iter().map(|frame| (frame.id, instance(frame))).collect()
}
