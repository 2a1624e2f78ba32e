//! Default values in use: RFC 7950 sections 7.6.1 and 7.7.2.

use super::super::data::Node;
use super::super::fields::Fields;
use super::super::ir::{Kind, Schema, SchemaId};
use super::super::path::{DataPath, Step};
use super::super::rules::RuleKind;
use super::super::tree::get_ref;
use super::super::xpath::{Eval, Place, check};

/// The default that is in use at the path of a leaf, a leaf-list or one of its values that is not there: its parent exists, its
/// case is chosen, its `when` holds.
pub fn default_in_use(schema: &Schema, root: &Fields, path: &DataPath) -> Option<Node> {
    let step = path.steps.last()?;
    let leaf = step.node;
    let default = schema.rules().ok()?.default_of(leaf)?;
    let node = match (&step.key, default) {
        (None, _) => default.clone(),
        (Some(key), Node::LeafList(values)) => {
            let value = key.values().first().filter(|value| values.contains(value))?;
            Node::Leaf(value.clone())
        }
        (Some(_), _) => return None,
    };
    let parent = path.parent()?;
    if get_ref(root, &parent.clone().child(leaf)).is_some() {
        return None;
    }
    let empty = Fields::default();
    let fields = match get_ref(root, &parent).map(|node| node.to_node()) {
        Some(Node::Container(fields)) => fields,
        Some(_) => return None,
        None if implied(schema, root, &parent) => empty,
        None => return None,
    };
    (case_chosen(schema, &fields, leaf) && possible(schema, root, &parent, leaf)).then_some(node)
}

/// Non-presence containers below something that exists are always there.
fn implied(schema: &Schema, root: &Fields, path: &DataPath) -> bool {
    let Some(Step { node, key }) = path.steps.last() else { return true };
    if key.is_some() || !matches!(schema.node(*node).kind, Kind::Container { presence: false }) {
        return false;
    }
    let Some(above) = path.parent() else { return true };
    let there = get_ref(root, &above).is_some() || implied(schema, root, &above);
    there && possible(schema, root, &above, *node)
}

/// A node in a case has its default while something of that case is there, or while nothing of the choice is there and
/// it is the default case.
pub(in crate::schema) fn case_chosen(schema: &Schema, fields: &Fields, id: SchemaId) -> bool {
    let there = || fields.iter().flat_map(|(other, _)| &schema.node(*other).cases);
    schema.node(id).cases.iter().all(|case| {
        let by_default = schema.choices[case.choice as usize].default == Some(case.case as usize);
        there().any(|other| other == case) || by_default && !there().any(|other| other.choice == case.choice)
    })
}

/// Do the `when` conditions of a child hold, with its parent at `above`?
pub(super) fn possible(schema: &Schema, root: &Fields, above: &DataPath, child: SchemaId) -> bool {
    let node = schema.node(child);
    if node.whens.is_empty() {
        return true;
    }
    let Ok(rules) = schema.rules() else { return true };
    let there = Place::at(root, above);
    let missing = above.steps.iter().skip(there.frames.len());
    let parent = missing.fold(there, |place, step| place.imagined(step.node));
    let place = parent.imagined(child);
    rules.of(child).all(|rule| {
        let RuleKind::When(number) = rule.kind else { return true };
        let current = if node.whens[number].context_is_parent { &parent } else { &place };
        check(
            &Eval {
                schema,
                defaults: &rules.defaults,
                module: node.module,
                current,
                nested: 0,
                budget: None,
            },
            &rule.expr,
        )
    })
}
