//! Filters: subtrees of a datastore, and the part of XPath that chooses among notifications.

use super::source::covers;
use crate::schema::{DataPath, Fields, Kind, Node, Schema, SchemaId, lexical};

/// Subtrees that one filter names at most.
const MOST: usize = 64;

/// Why a filter is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{filter:?} is no filter that is served: {reason}")]
pub struct FilterError {
    pub filter: String,
    pub reason: String,
}

fn wrong(filter: &str, reason: impl Into<String>) -> FilterError {
    FilterError { filter: filter.chars().take(120).collect(), reason: reason.into() }
}

/// The subtrees that absolute paths name, joined by `|`; each once, and none inside of another.
///
/// # Errors
/// As [`subtree`]; too many of them.
pub fn subtrees(schema: &Schema, xpath: &str) -> Result<Vec<DataPath>, FilterError> {
    let paths: Result<Vec<DataPath>, FilterError> =
        outside_quotes(xpath, '|').into_iter().map(|path| subtree(schema, path)).collect();
    disjoint(paths?).map_err(|reason| wrong(xpath, reason))
}

/// Without those that are inside of others.
pub fn disjoint(mut paths: Vec<DataPath>) -> Result<Vec<DataPath>, String> {
    paths.sort();
    paths.dedup();
    let inside = |path: &DataPath| paths.iter().any(|other| other != path && covers(other, path));
    let kept: Vec<DataPath> = paths.iter().filter(|path| !inside(path)).cloned().collect();
    if kept.len() > MOST {
        return Err(format!(
            "it names {} subtrees, and {MOST} are served; watch what is around them",
            kept.len()
        ));
    }
    Ok(kept)
}

/// The subtree that an absolute path names; `/` is the datastore.
///
/// # Errors
/// What is no path, or leads through a list without naming an entry.
pub fn subtree(schema: &Schema, xpath: &str) -> Result<DataPath, FilterError> {
    let text = xpath.trim();
    if text == "/" {
        return Ok(DataPath::root());
    }
    let path = DataPath::parse_instance_identifier(schema, text).map_err(|error| {
        let next = "give an absolute path with the keys of entries, as in /pod:coe/pods[uid='…']";
        wrong(xpath, format!("{error}; {next}"))
    })?;
    complete(schema, &path).map_err(|reason| wrong(xpath, reason))?;
    Ok(path)
}

/// Only the last step may be a list without a key.
pub fn complete(schema: &Schema, path: &DataPath) -> Result<(), String> {
    let Some((_, above)) = path.steps.split_last() else { return Ok(()) };
    let open = above
        .iter()
        .find(|step| step.key.is_none() && matches!(schema.node(step.node).kind, Kind::List { .. }));
    match open {
        Some(step) => {
            Err(format!("it leads through all entries of {}; name one", schema.node(step.node).name))
        }
        None => Ok(()),
    }
}

/// The same given as a tree of nodes (RFC 6241 section 6.2), as the JSON of an anydata node: what has no children is chosen
/// with all below it, and an entry is named by its keys.
///
/// # Errors
/// What is no such tree, and conditions on other leafs than keys.
pub fn branches(schema: &Schema, json: &str) -> Result<Vec<DataPath>, FilterError> {
    let value: serde_json::Value =
        serde_json::from_str(json).map_err(|error| wrong(json, format!("it is not JSON: {error}")))?;
    let mut found = Vec::new();
    branch(schema, &value, DataPath::root(), &mut found).map_err(|reason| wrong(json, reason))?;
    disjoint(found).map_err(|reason| wrong(json, reason))
}

fn branch(
    schema: &Schema,
    value: &serde_json::Value,
    mut path: DataPath,
    found: &mut Vec<DataPath>,
) -> Result<(), String> {
    use serde_json::Value;
    let members = match value {
        Value::Object(members) => members,
        Value::Array(entries) if entries.iter().any(Value::is_object) => {
            return entries.iter().try_for_each(|entry| branch(schema, entry, path.clone(), found));
        }
        // A node that is only named.
        Value::Null | Value::Array(_) => return chosen(schema, path, found),
        Value::String(text) if text.is_empty() => return chosen(schema, path, found),
        _ => {
            let name = path.last_node().map_or("", |id| &schema.node(id).name);
            return Err(format!("it asks for a value of {name}; only keys may be given"));
        }
    };
    let parent = path.last_node();
    let key_leafs = parent.map_or(&[][..], |id| lexical::key_leafs(schema, id));
    let (mut keys, mut inner) = (Vec::new(), Vec::new());
    for (name, value) in members {
        let id = schema.child_named(parent, name, parent.is_some())?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => String::new(),
        };
        if key_leafs.contains(&id) && !text.is_empty() {
            keys.push((id, lexical::parse_value(schema, id, &text)?));
        } else {
            inner.push((id, value));
        }
    }
    if !keys.is_empty()
        && let Some(step) = path.steps.last_mut()
    {
        let ordered = key_leafs.iter().filter_map(|leaf| keys.iter().find(|(id, _)| id == leaf));
        let key: smallvec::SmallVec<[_; 1]> = ordered.map(|(_, value)| value.clone()).collect();
        if key.len() != key_leafs.len() {
            return Err("an entry is named by all of its keys".into());
        }
        step.key = Some(crate::schema::Key::from_iter(key));
    }
    if inner.is_empty() {
        return chosen(schema, path, found);
    }
    inner.into_iter().try_for_each(|(id, value)| branch(schema, value, path.clone().child(id), found))
}

fn chosen(schema: &Schema, path: DataPath, found: &mut Vec<DataPath>) -> Result<(), String> {
    complete(schema, &path)?;
    found.push(path);
    Ok(())
}

/// Chooses notifications: paths joined by `|`, each to a node that must be there, with `[name='value']` or `[.='value']`.
#[derive(Debug, Clone, PartialEq)]
pub struct Chooser(Vec<Vec<Test>>);

#[derive(Debug, Clone, PartialEq)]
struct Test {
    id: SchemaId,
    /// A child, or the node itself, and the text of its value.
    equals: Vec<(Option<SchemaId>, String)>,
}

impl Chooser {
    /// # Errors
    /// Names what is not understood.
    pub fn parse(schema: &Schema, text: &str) -> Result<Chooser, FilterError> {
        let fail = |reason: String| wrong(text, reason);
        let mut ways = Vec::new();
        for way in outside_quotes(text, '|') {
            let way = way.trim();
            let steps = way.strip_prefix('/').ok_or_else(|| {
                fail("give absolute paths, as in /coeus-events:object-state-changed[state='failed']".into())
            })?;
            let mut tests: Vec<Test> = Vec::new();
            for step in outside_quotes(steps, '/') {
                let (name, predicates) = step.split_at(step.find('[').unwrap_or(step.len()));
                let id = match tests.last() {
                    Some(above) => schema.child_named(Some(above.id), name, true).map_err(fail)?,
                    None => {
                        let (module, local) = name.split_once(':').unwrap_or(("", name));
                        let found = schema.notification(module, local);
                        found.ok_or_else(|| {
                            fail(format!("{name:?} is no notification; name it with its module"))
                        })?
                    }
                };
                tests.push(Test { id, equals: equations(schema, id, predicates).map_err(fail)? });
            }
            ways.push(tests);
        }
        Ok(Chooser(ways))
    }

    /// Is the notification among those that are chosen?
    pub fn takes(&self, schema: &Schema, notification: &Fields) -> bool {
        self.0.iter().any(|tests| reaches(schema, notification, tests))
    }
}

fn equations(
    schema: &Schema,
    id: SchemaId,
    mut text: &str,
) -> Result<Vec<(Option<SchemaId>, String)>, String> {
    let mut found = Vec::new();
    while !text.is_empty() {
        let odd = || format!("{text:?}: write [name='value']");
        let inner = text.strip_prefix('[').ok_or_else(odd)?;
        let (name, rest) = inner.split_once('=').ok_or_else(odd)?;
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"')).ok_or_else(odd)?;
        let (value, rest) = rest[1..].split_once(quote).ok_or_else(odd)?;
        let child = match name.trim() {
            "." => None,
            name => Some(schema.child_named(Some(id), name, true)?),
        };
        found.push((child, value.to_owned()));
        text = rest.trim_start().strip_prefix(']').ok_or_else(odd)?;
    }
    Ok(found)
}

fn reaches(schema: &Schema, fields: &Fields, tests: &[Test]) -> bool {
    let Some((test, rest)) = tests.split_first() else { return true };
    let deeper = |fields: &Fields| {
        let holds = |(child, text): &(Option<SchemaId>, String)| match child {
            Some(id) => fields.get(*id).is_some_and(|node| is(schema, *id, node, text)),
            None => false,
        };
        test.equals.iter().all(holds) && reaches(schema, fields, rest)
    };
    match fields.get(test.id) {
        Some(Node::Container(inner)) => deeper(inner),
        Some(Node::List(list)) => list.iter().any(|(_, entry)| deeper(entry)),
        Some(node) => {
            rest.is_empty()
                && test.equals.iter().all(|(child, text)| child.is_none() && is(schema, test.id, node, text))
        }
        None => false,
    }
}

fn is(schema: &Schema, id: SchemaId, node: &Node, text: &str) -> bool {
    match node {
        Node::Leaf(value) => lexical::value_text(schema, id, value) == text,
        Node::LeafList(values) => values.iter().any(|value| lexical::value_text(schema, id, value) == text),
        Node::Container(_) | Node::List(_) => false,
    }
}

/// The parts of a text between a character that stands outside of quotes and brackets.
fn outside_quotes(text: &str, at: char) -> Vec<&str> {
    let (mut parts, mut start, mut quote, mut depth) = (Vec::new(), 0, None, 0u32);
    for (place, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') => depth = depth.saturating_sub(1),
            (None, c) if c == at && depth == 0 => {
                parts.push(&text[start..place]);
                start = place + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}
