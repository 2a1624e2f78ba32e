//! The place of an entry in a list or leaf-list that the user orders (RFC 7950 sections 7.7.7 and 7.8.6).

use super::data::{Entries, Key, Node};
use super::fields::Fields;
use super::ir::{Kind, Schema, SchemaId};
use super::path::DataPath;
use super::tree::{self, Parents, TreeError, get_ref};
use super::value::Value;

/// Where an entry goes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Position {
    First,
    Last,
    Before(Key),
    After(Key),
}

/// Do clients give the order of this list or leaf-list?
pub fn user_ordered(schema: &Schema, id: SchemaId) -> bool {
    let node = schema.node(id);
    let ordered = matches!(
        node.kind,
        Kind::List { user_ordered: true, .. } | Kind::LeafList { user_ordered: true, .. }
    );
    ordered && node.config
}

/// Brings the entry at `path`, which is there, to a position.
///
/// # Errors
/// When the list is ordered by the system, or the entry to go before or behind is not there.
pub fn reposition(
    root: &mut Fields,
    schema: &Schema,
    path: &DataPath,
    position: &Position,
) -> Result<(), TreeError> {
    let unordered = || TreeError::Order {
        path: path.display(schema),
        reason: "its list is not ordered by the user, so it takes no position".into(),
    };
    let (Some(last), Some(parent)) = (path.steps.last(), path.parent()) else { return Err(unordered()) };
    let key = last.key.as_ref().filter(|_| user_ordered(schema, last.node)).ok_or_else(unordered)?;
    let list = parent.clone().child(last.node);
    let missing = |point: &Key| TreeError::Order {
        path: path.display(schema),
        reason: format!(
            "it cannot go next to {}, which is not there",
            parent.clone().entry(last.node, point.clone()).display(schema)
        ),
    };
    let node = match get_ref(root, &list).map(|node| node.to_node()) {
        Some(Node::List(list)) => {
            let Entries::User(entries) = list.entries() else { return Err(unordered()) };
            let all = moved(entries, |(other, _)| other == key, position, |(other, _), point| other == point);
            let all = all.map_err(missing)?;
            Node::List(Entries::User(all.into()).into())
        }
        Some(Node::LeafList(values)) => {
            let is = |value: &Value, key: &Key| key.values().first() == Some(value);
            let all: Vec<Value> = values.iter().cloned().collect();
            let all = moved(&all, |value| is(value, key), position, is).map_err(missing)?;
            Node::LeafList(all.into_iter().collect())
        }
        _ => return Err(unordered()),
    };
    tree::put(root, schema, &list, node, Parents::Require)
}

/// The items with one of them in another place. The error is the point that is not there.
fn moved<'p, T: Clone>(
    items: &[T],
    is_it: impl Fn(&T) -> bool,
    position: &'p Position,
    is_at: impl Fn(&T, &Key) -> bool,
) -> Result<Vec<T>, &'p Key> {
    let (it, mut rest): (Vec<T>, Vec<T>) = items.iter().cloned().partition(|item| is_it(item));
    let at = |rest: &[T], point: &'p Key| rest.iter().position(|item| is_at(item, point)).ok_or(point);
    let at = match position {
        Position::First => 0,
        Position::Last => rest.len(),
        Position::Before(point) => at(&rest, point)?,
        Position::After(point) => at(&rest, point)? + 1,
    };
    rest.splice(at..at, it);
    Ok(rest)
}
