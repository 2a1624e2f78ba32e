//! Entries of lists and leaf-lists: their keys, positions in place of keys, twins.

use std::cell::Cell;

use serde::de::Error;
use smallvec::SmallVec;

use super::{At, BodyErrorKind, Members, Reader};
use crate::schema::lexical::{parse_value, value_text};
use crate::schema::tree::leaf_list;
use crate::schema::{DataPath, Entries, Fields, Key, Kind, List, Node, Value};

/// Takes the key out of the members of an entry, or puts it in where it may be absent. `expected` is the key that the
/// URL names: lenient bodies may leave it out.
pub fn keyed_entry<E: Error>(
    reader: &Reader<'_>,
    at: &At<'_>,
    members: Members,
    expected: Option<&Key>,
) -> Result<Option<(Key, Fields)>, E> {
    keyed(reader, at, members, at.entry.map_or(1, Cell::get), expected)
}

/// The same for an entry among others, whose members have given faults from number `first_error` on: now that
/// its key is known, those faults name it.
pub fn next_entry<E: Error>(
    reader: &Reader<'_>,
    at: &At<'_>,
    members: Members,
    first_error: usize,
    expected: Option<&Key>,
) -> Result<Option<(Key, Fields)>, E> {
    let entry = keyed_entry(reader, at, members, expected)?;
    if let Some((key, _)) = &entry
        && reader.error_count() > first_error
        && !key.is_empty()
    {
        let by_position = reader.path(Some(at));
        let shown = DataPath::root().entry(at.node, key.clone()).display(reader.schema);
        let predicate = shown.find('[').map_or("", |at| &shown[at..]);
        let numbered = by_position.strip_suffix(']').and_then(|path| path.rsplit_once('['));
        let numbered = numbered.filter(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()));
        let bare = numbered.map_or(&*by_position, |(bare, _)| bare);
        reader.name_entry(first_error, &by_position, &format!("{bare}{predicate}"));
    }
    Ok(entry)
}

/// The list of these entries; two with one key are a fault.
pub fn gathered<E: Error>(
    reader: &Reader<'_>,
    at: &At<'_>,
    all: Vec<(Key, Fields)>,
) -> Result<Option<List>, E> {
    let Kind::List { keys, user_ordered, .. } = &reader.schema.node(at.node).kind else { return Ok(None) };
    if keys.is_empty() {
        let entries = all.into_iter().map(|(_, entry)| entry).collect();
        return Ok(Some(Entries::Keyless(entries).into()));
    }
    if !all.windows(2).all(|pair| pair[0].0 < pair[1].0) {
        refuse_twins(reader, at, &all)?;
    }
    if *user_ordered {
        return Ok(Some(Entries::User(all.into()).into()));
    }
    Ok(Some(List::of(reader.schema, at.node, all)))
}

/// The leaf-list of these values; `None` for none of them.
pub fn gathered_values<E: Error>(
    reader: &Reader<'_>,
    at: &At<'_>,
    values: Vec<Value>,
) -> Result<Option<Node>, E> {
    let node = reader.schema.node(at.node);
    // RFC 7950 section 7.7: the values of configuration are a set.
    if node.config {
        let mut sorted: Vec<&Value> = values.iter().collect();
        sorted.sort();
        if let Some(twins) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let message = format!("a value occurs twice in leaf-list {}; send each once", node.name);
            let twin = value_text(reader.schema, at.node, twins[0]);
            reader.value_fault(at, BodyErrorKind::Duplicate, &twin, message)?;
        }
    }
    Ok((!values.is_empty()).then(|| leaf_list(reader.schema, at.node, values)))
}

fn refuse_twins<E: Error>(reader: &Reader<'_>, at: &At<'_>, all: &[(Key, Fields)]) -> Result<(), E> {
    let mut keys: Vec<&Key> = all.iter().map(|(key, _)| key).collect();
    keys.sort();
    for pair in keys.windows(2).filter(|pair| pair[0] == pair[1]) {
        let name = &reader.schema.node(at.node).name;
        let shown = DataPath::root().entry(at.node, pair[0].clone()).display(reader.schema);
        let shown = shown.split_once('[').map_or("", |(_, key)| key.trim_end_matches(']'));
        let message = format!("two entries of {name} have the key {shown}; send each entry once");
        reader.fault(Some(at), BodyErrorKind::Duplicate, message)?;
    }
    Ok(())
}

fn keyed<E: Error>(
    reader: &Reader<'_>,
    at: &At<'_>,
    mut members: Members,
    position: usize,
    expected: Option<&Key>,
) -> Result<Option<(Key, Fields)>, E> {
    let schema = reader.schema;
    let Kind::List { keys, positional, .. } = &schema.node(at.node).kind else { return Ok(None) };
    let mut values: SmallVec<[Value; 1]> = SmallVec::new();
    let mut missing = Vec::new();
    for (nth, leaf) in keys.iter().enumerate() {
        let given = members.children.iter().find(|(id, _)| id == leaf).and_then(|(_, node)| node.as_leaf());
        if let Some(value) = given {
            values.push(value.clone());
            continue;
        }
        let stand_in = if members.seen.contains(leaf) {
            None
        } else if let Some(key) = expected.filter(|_| reader.lenient()) {
            key.values().get(nth).cloned()
        } else if *positional {
            parse_value(schema, *leaf, &position.to_string()).ok()
        } else {
            None
        };
        match stand_in {
            Some(value) => {
                values.push(value.clone());
                members.children.push((*leaf, Node::Leaf(value)));
            }
            None => missing.push(*leaf),
        }
    }
    for leaf in &missing {
        let name = &schema.node(*leaf).name;
        // A key that was sent, but with a wrong value, has been reported with its value.
        if !members.seen.contains(leaf) || reader.error_count() == 0 {
            let list = &schema.node(at.node).name;
            let message = format!("the entry of {list} has no key; send its leaf {name}");
            reader.fault(Some(at), BodyErrorKind::MissingElement, message)?;
        }
    }
    if !missing.is_empty() {
        return Ok(None);
    }
    if let Some(expected) = expected {
        for ((leaf, value), wanted) in keys.iter().zip(&values).zip(expected.values()) {
            if value != wanted {
                let name = &schema.node(*leaf).name;
                let (sent, wanted) = (value_text(schema, *leaf, value), value_text(schema, *leaf, wanted));
                let message =
                    format!("key {name} is {sent:?} in the body, but {wanted:?} in the URL; they must agree");
                reader.fault(Some(at), BodyErrorKind::InvalidValue, message)?;
            }
        }
    }
    Ok(Some((Key::from_iter(values), members.into_fields())))
}
