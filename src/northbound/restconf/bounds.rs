//! What is refused for its size: requests that are too long or nested too deeply, keys and lists that are too long.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use axum::http::request::Parts;

use super::{Problem, Problems};
use crate::datastore::{Edit, Snapshot, Store};
use crate::northbound::http::Limits;
use crate::schema::{DataPath, Fields, Key, Node, NodeRef, Schema, Step, Value, tree};

/// # Errors
/// 414 for the path and query, 431 for the header section (RFC 9110 section 15.5.15, RFC 6585 section 5).
pub fn head(parts: &Parts, limits: &Limits) -> Result<(), Problems> {
    let uri = parts.uri.path_and_query().map_or(0, |uri| uri.as_str().len());
    if uri > limits.uri {
        let message = format!(
            "path and query are longer than {} bytes; ask for less, or raise the limit uri",
            limits.uri
        );
        return Err(Problem::new("too-big", message).with_status(StatusCode::URI_TOO_LONG).into());
    }
    let header: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if header > limits.header {
        let message = format!(
            "the header section is longer than {} bytes; send less, or raise the limit header",
            limits.header
        );
        let problem = Problem::new("too-big", message);
        return Err(problem.with_status(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE).into());
    }
    Ok(())
}

/// # Errors
/// 413 when JSON or XML is nested too deeply.
pub fn nesting(body: &[u8], limits: &Limits) -> Result<(), Problems> {
    let depth = match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'<') => xml_depth(body),
        _ => json_depth(body),
    };
    if depth <= limits.depth {
        return Ok(());
    }
    let message = format!(
        "the body is nested deeper than {} levels; flatten it, or raise the limit depth",
        limits.depth
    );
    Err(Problem::new("too-big", message).into())
}

/// # Errors
/// 400 for a key that is too long, 409 for a list that would have too many entries.
pub fn edits(snapshot: &Snapshot, limits: &Limits, edits: &[Edit]) -> Result<(), Problems> {
    let schema = snapshot.schema;
    // Entries that each list gets besides those it has.
    let mut more: BTreeMap<DataPath, usize> = BTreeMap::new();
    for edit in edits {
        for (at, step) in edit.path.steps.iter().enumerate() {
            let to = || DataPath { steps: edit.path.steps[..at].into() }.child(step.node).display(schema);
            step.key.iter().try_for_each(|key| short(key, limits, to))?;
        }
        let Some(node) = &edit.node else { continue };
        lists(schema, node, &mut edit.path.clone(), limits)?;
        if let Some(Step { node: list, key: Some(_) }) = edit.path.steps.last()
            && snapshot.stamp(Store::Config, &edit.path).is_none()
        {
            *more.entry(edit.path.parent().unwrap_or_default().child(*list)).or_default() += 1;
        }
    }
    for (list, more) in more {
        let layers = snapshot.layers(Store::Config);
        let held = match tree::get_ref(&layers.input, &list) {
            Some(NodeRef::List(list)) => list.len(),
            _ => 0,
        };
        room(held + more, limits, || list.display(schema))?;
    }
    Ok(())
}

/// Keys and lists within a body.
fn lists(schema: &Schema, node: &Node, at: &mut DataPath, limits: &Limits) -> Result<(), Problems> {
    match node {
        Node::Container(fields) => lists_below(schema, fields, at, limits),
        Node::List(list) => {
            room(list.len(), limits, || at.display(schema))?;
            list.iter().try_for_each(|(key, entry)| {
                short(key, limits, || at.display(schema))?;
                lists_below(schema, entry, at, limits)
            })
        }
        Node::Leaf(_) | Node::LeafList(_) => Ok(()),
    }
}

/// The path is the same again afterwards: most bodies are in order, and need none of their own.
fn lists_below(schema: &Schema, fields: &Fields, at: &mut DataPath, limits: &Limits) -> Result<(), Problems> {
    fields.iter().try_for_each(|(id, child)| match child {
        Node::Container(_) | Node::List(_) => {
            at.steps.push(Step { node: *id, key: None });
            let found = lists(schema, child, at, limits);
            at.steps.pop();
            found
        }
        Node::Leaf(_) | Node::LeafList(_) => Ok(()),
    })
}

fn short(key: &Key, limits: &Limits, list: impl Fn() -> String) -> Result<(), Problems> {
    let longest = key.values().iter().filter_map(Value::as_text).map(str::len).max().unwrap_or(0);
    if longest <= limits.key {
        return Ok(());
    }
    let message = format!("a key is longer than {} bytes; shorten it, or raise the limit key", limits.key);
    Err(Problem::new("invalid-value", message).at(list()).into())
}

fn room(entries: usize, limits: &Limits, list: impl Fn() -> String) -> Result<(), Problems> {
    if entries <= limits.entries {
        return Ok(());
    }
    let message = format!(
        "the list would have {entries} entries, more than {}; delete some, or raise the limit entries",
        limits.entries
    );
    Err(Problem::new("resource-denied", message).at(list()).into())
}

/// Most braces and brackets that are open at a time, outside of strings.
fn json_depth(text: &[u8]) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                most = most.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'\\' => drop(bytes.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    most
}

/// Most elements that are open at a time; comments, CDATA and instructions do not count.
fn xml_depth(text: &[u8]) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'<') {
        rest = &rest[at + 1..];
        let end: &[u8] = match rest {
            [b'!', b'-', b'-', ..] => b"-->",
            [b'!', b'[', ..] => b"]]>",
            _ => b">",
        };
        let Some(length) = rest.windows(end.len()).position(|part| part == end) else { break };
        match (rest.first(), rest[..length].last()) {
            (Some(b'!' | b'?'), _) => {}
            (Some(b'/'), _) => depth = depth.saturating_sub(1),
            (_, Some(b'/')) => most = most.max(depth + 1),
            _ => {
                depth += 1;
                most = most.max(depth);
            }
        }
        rest = &rest[length + end.len()..];
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_keys_and_long_lists_are_refused() {
        let schema = crate::schema::builtin();
        let snapshot = Snapshot::empty(schema);
        let limits = Limits { key: 8, entries: 2, ..Limits::default() };
        let tag = |path: &str, body: &str| {
            let path = DataPath::parse_rfc8040(schema, path).unwrap();
            let mode = crate::schema::json::Mode::Strict;
            let node = crate::schema::json::parse_resource(schema, &path, body.as_bytes(), mode).unwrap();
            let found = edits(&snapshot, &limits, &[Edit::put(Store::Config, path, node)]);
            found.err().map(|problems| problems.status())
        };
        let pools = |names: &[&str]| {
            let entries: Vec<_> = names.iter().map(|name| format!(r#"{{"network-id":"{name}"}}"#)).collect();
            format!(
                r#"{{"dhcp_allocation_pool:dhcp_allocation_pool":{{"network":[{}]}}}}"#,
                entries.join(",")
            )
        };
        let all = "dhcp_allocation_pool:dhcp_allocation_pool";
        assert_eq!(tag(all, &pools(&["a", "b"])), None);
        assert_eq!(tag(all, &pools(&["a", "b", "c"])), Some(StatusCode::CONFLICT));
        assert_eq!(tag(all, &pools(&["123456789"])), Some(StatusCode::BAD_REQUEST));
        let one = |name: &str| {
            let body = format!(r#"{{"dhcp_allocation_pool:network":[{{"network-id":"{name}"}}]}}"#);
            tag(&format!("{all}/network={name}"), &body)
        };
        assert_eq!(one("12345678"), None);
        assert_eq!(one("123456789"), Some(StatusCode::BAD_REQUEST));
    }

    #[test]
    fn nesting_is_counted_outside_of_texts() {
        for (text, depth) in [
            ("", 0),
            ("1", 0),
            ("{}", 1),
            (r#"{"a":[{"b":1}]}"#, 3),
            (r#"{"a":"[[[["}"#, 1),
            (r#"{"a":"\"[["}"#, 1),
            (r#"{"a":"\\","b":[]}"#, 2),
            ("[[[[", 4),
            ("]]]]", 0),
        ] {
            assert_eq!(json_depth(text.as_bytes()), depth, "{text}");
        }
        for (text, depth) in [
            ("<a/>", 1),
            ("<a><b/></a>", 2),
            ("<a><b>x</b><c>y</c></a>", 2),
            ("<?xml version='1.0'?><a/>", 1),
            ("<a><!-- <b><c><d> --></a>", 1),
            ("<a><![CDATA[<b><c><d>]]></a>", 1),
            ("<a><b><c>", 3),
            ("<a", 0),
        ] {
            assert_eq!(xml_depth(text.as_bytes()), depth, "{text}");
        }
    }
}
