//! Paths as they stand in URLs and in instance-identifiers.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use smallvec::SmallVec;

use super::data::Key;
use super::ir::{Kind, Schema, SchemaId};
use super::lexical::{key_leafs, parse_value};
use super::names::{NameError, find_among, find_child, kind_name};
use super::path::{DataPath, Step};

/// Everything but the unreserved characters of RFC 3986 (RFC 8040 section 3.5.3 asks for the reserved ones).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Why a path in a URL names nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PathError {
    /// The segment as it was sent.
    pub segment: String,
    /// The instance path up to the segment.
    pub at: String,
    pub kind: PathErrorKind,
    /// Names the segment, what was expected, and the next step.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathErrorKind {
    /// Percent-encoding, empty segments, text that is not UTF-8.
    Malformed,
    UnknownElement,
    UnknownNamespace,
    /// Wrong number of keys, or keys where none belong.
    Keys,
    InvalidValue,
}

impl PathErrorKind {
    /// The error-tag of RFC 8040.
    pub fn error_tag(self) -> &'static str {
        match self {
            PathErrorKind::Malformed | PathErrorKind::InvalidValue => "invalid-value",
            PathErrorKind::UnknownElement => "unknown-element",
            PathErrorKind::UnknownNamespace => "unknown-namespace",
            PathErrorKind::Keys => "missing-attribute",
        }
    }
}

pub(super) fn percent_encode(text: &str, out: &mut String) {
    out.extend(utf8_percent_encode(text, ESCAPED));
}

impl DataPath {
    /// The resource identifier of RFC 8040 section 3.5.3, percent-encoded as it came: `pod:coe/pods=UID`.
    /// Without the `data/` before it. Empty: the datastore.
    pub fn parse_rfc8040(schema: &Schema, text: &str) -> Result<DataPath, PathError> {
        let mut walk = Walk::new(schema, false);
        let text = text.strip_prefix('/').unwrap_or(text);
        if text.is_empty() {
            return Ok(walk.path);
        }
        for segment in text.split('/') {
            let (name, keys) = match segment.split_once('=') {
                Some((name, keys)) => (name, Some(keys)),
                None => (segment, None),
            };
            walk.enter(segment, name)?;
            if let Some(keys) = keys {
                let keys: Vec<&str> = keys.split(',').collect();
                walk.keys(segment, &keys)?;
            }
        }
        Ok(walk.path)
    }

    /// The RPC that an operation resource names (RFC 8040 section 3.6), percent-encoded as it came: `module:name`, without
    /// the `operations/` before it. One step.
    pub fn parse_rpc(schema: &Schema, text: &str) -> Result<DataPath, PathError> {
        let mut walk = Walk::new(schema, false);
        walk.operation(&schema.rpcs, "operation", text)?;
        Ok(walk.path)
    }

    /// The action that a data resource's identifier ends in (RFC 8040 section 3.6): the path of the data node, then the
    /// action: `module:list=key/action`. Without the `data/` before it.
    pub fn parse_action(schema: &Schema, text: &str) -> Result<DataPath, PathError> {
        let (above, segment) = text.rsplit_once('/').unwrap_or(("", text));
        let mut walk = Walk::new(schema, false);
        walk.path = DataPath::parse_rfc8040(schema, above)?;
        let actions: Vec<SchemaId> = match walk.path.steps.last() {
            Some(Step { node, key })
                if key.is_some() || !matches!(schema.node(*node).kind, Kind::List { .. }) =>
            {
                schema.actions_of(*node).collect()
            }
            _ => Vec::new(),
        };
        walk.operation(&actions, "action", segment)?;
        Ok(walk.path)
    }

    /// The older form of OpenDaylight's `/restconf/config/`: keys are segments of their own, a slash may trail, names of
    /// augments may lack their module where they are unambiguous: `pod:coe/pods/UID/`. `list=key` will also do.
    pub fn parse_legacy(schema: &Schema, text: &str) -> Result<DataPath, PathError> {
        let mut walk = Walk::new(schema, true);
        let text = text.strip_prefix('/').unwrap_or(text);
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.is_empty() {
            return Ok(walk.path);
        }
        let segments: Vec<&str> = text.split('/').collect();
        let mut rest = &segments[..];
        while let [segment, after @ ..] = rest {
            rest = after;
            if let Some((name, keys)) = segment.split_once('=') {
                walk.enter(segment, name)?;
                let keys: Vec<&str> = keys.split(',').collect();
                walk.keys(segment, &keys)?;
                continue;
            }
            let id = walk.enter(segment, segment)?;
            let wanted = match &schema.node(id).kind {
                Kind::List { keys, .. } => keys.len(),
                Kind::LeafList { .. } => 1,
                _ => 0,
            };
            if wanted > 0 && !rest.is_empty() {
                let (keys, after) = rest.split_at(wanted.min(rest.len()));
                walk.keys(segment, keys)?;
                rest = after;
            }
        }
        Ok(walk.path)
    }

    /// An instance-identifier in JSON form (RFC 7951 section 6.11), as [`DataPath::display`] writes it.
    pub fn parse_instance_identifier(schema: &Schema, text: &str) -> Result<DataPath, PathError> {
        let mut walk = Walk::new(schema, false);
        if !text.starts_with('/') {
            return Err(walk.error(
                text,
                PathErrorKind::Malformed,
                "an instance-identifier begins with a slash",
            ));
        }
        let mut rest = text;
        while let Some(segment) = rest.strip_prefix('/') {
            let end = segment.find(['/', '[']).unwrap_or(segment.len());
            let id = walk.enter(&segment[..end], &segment[..end])?;
            rest = &segment[end..];
            let mut found: Vec<(String, String)> = Vec::new();
            while rest.starts_with('[') {
                let Some((name, value, after)) = predicate(rest) else {
                    return Err(walk.error(rest, PathErrorKind::Malformed, "a predicate is [name='value']"));
                };
                found.push((name, value));
                rest = after;
            }
            if !found.is_empty() {
                let values = walk.by_name(segment, id, found)?;
                walk.set_key(segment, &values)?;
            }
        }
        if !rest.is_empty() {
            return Err(walk.error(rest, PathErrorKind::Malformed, "expected a slash or the end"));
        }
        if let Some(Step { node, key: None }) = walk.path.steps.last()
            && matches!(schema.node(*node).kind, Kind::List { .. } | Kind::LeafList { .. })
        {
            let message = "an instance-identifier names one instance: add the predicates of its keys";
            return Err(walk.error(text, PathErrorKind::Keys, message));
        }
        Ok(walk.path)
    }
}

/// Name, value and what follows of `[name='value']…`.
fn predicate(text: &str) -> Option<(String, String, &str)> {
    let inner = text.strip_prefix('[')?.trim_start();
    let (name, after) = inner.split_once('=')?;
    let after = after.trim_start();
    let quote = after.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (value, after) = after[1..].split_once(quote)?;
    let after = after.trim_start().strip_prefix(']')?;
    Some((name.trim().to_owned(), value.to_owned(), after))
}

/// A path as it grows, segment by segment.
struct Walk<'a> {
    schema: &'a Schema,
    lenient: bool,
    path: DataPath,
}

impl<'a> Walk<'a> {
    fn new(schema: &'a Schema, lenient: bool) -> Walk<'a> {
        Walk { schema, lenient, path: DataPath::root() }
    }

    /// Goes down into the child of this (percent-encoded) name.
    fn enter(&mut self, segment: &str, name: &str) -> Result<SchemaId, PathError> {
        let name = self.decoded(segment, name)?;
        if name.is_empty() {
            return Err(self.error(
                segment,
                PathErrorKind::Malformed,
                "the path has an empty segment: write single slashes, none at the end",
            ));
        }
        if let Some(above) = self.path.steps.last() {
            let kind = &self.schema.node(above.node).kind;
            match (kind, &above.key) {
                (Kind::Container { .. }, _) | (Kind::List { .. }, Some(_)) => {}
                (Kind::List { keys, .. }, None) => {
                    let expected = self.key_names(keys);
                    let message = format!(
                        "list {} must be followed by its key ({expected}) before {name:?}",
                        self.schema.node(above.node).name
                    );
                    return Err(self.error(segment, PathErrorKind::Keys, &message));
                }
                _ => {
                    let message = format!(
                        "{} is {}, nothing lies below it: end the path there",
                        self.schema.node(above.node).name,
                        kind_name(kind)
                    );
                    return Err(self.error(segment, PathErrorKind::UnknownElement, &message));
                }
            }
        }
        let id = find_child(self.schema, self.path.last_node(), &name, self.lenient)
            .map_err(|error| self.unknown(segment, &error))?;
        self.path.steps.push(Step { node: id, key: None });
        Ok(id)
    }

    /// Goes to one of these operations.
    fn operation(&mut self, all: &[SchemaId], what: &str, segment: &str) -> Result<(), PathError> {
        let name = self.decoded(segment, segment)?;
        let id = find_among(self.schema, self.path.last_node(), all, what, &name, self.lenient)
            .map_err(|error| self.unknown(segment, &error))?;
        self.path.steps.push(Step { node: id, key: None });
        Ok(())
    }

    fn unknown(&self, segment: &str, error: &NameError) -> PathError {
        let kind = match error {
            NameError::Namespace(_) => PathErrorKind::UnknownNamespace,
            NameError::Unknown(_) => PathErrorKind::UnknownElement,
        };
        self.error(segment, kind, error.message())
    }

    /// Percent-encoded key values for the last step.
    fn keys(&mut self, segment: &str, encoded: &[&str]) -> Result<(), PathError> {
        let decoded = encoded.iter().map(|key| self.decoded(segment, key).map(Cow::into_owned));
        let decoded: Vec<String> = decoded.collect::<Result<_, _>>()?;
        self.set_key(segment, &decoded)
    }

    fn set_key(&mut self, segment: &str, texts: &[String]) -> Result<(), PathError> {
        let Some(id) = self.path.last_node() else { return Ok(()) };
        let node = self.schema.node(id);
        let leaf_list = [id];
        let leafs: &[SchemaId] = match &node.kind {
            Kind::List { keys, .. } if keys.is_empty() => {
                let message = format!("list {} has no keys: only the whole list can be named", node.name);
                return Err(self.error(segment, PathErrorKind::Keys, &message));
            }
            Kind::List { keys, .. } => keys,
            Kind::LeafList { .. } => &leaf_list,
            kind => {
                let message = format!("{} is {} and takes no key", node.name, kind_name(kind));
                return Err(self.error(segment, PathErrorKind::Keys, &message));
            }
        };
        if leafs.len() != texts.len() {
            let message = format!(
                "{} takes {} key value(s) ({}), {} given; a comma inside a value is written %2C, a slash %2F",
                node.name,
                leafs.len(),
                self.key_names(leafs),
                texts.len()
            );
            return Err(self.error(segment, PathErrorKind::Keys, &message));
        }
        let mut values = SmallVec::<[_; 1]>::new();
        for (leaf, text) in leafs.iter().zip(texts) {
            values.push(parse_value(self.schema, *leaf, text).map_err(|reason| {
                let message = format!("key {}: {reason}", self.schema.node(*leaf).name);
                self.error(segment, PathErrorKind::InvalidValue, &message)
            })?);
        }
        if let Some(step) = self.path.steps.last_mut() {
            step.key = Some(Key::from_iter(values));
        }
        Ok(())
    }

    /// The values of `[name='value']` predicates in the order of the keys.
    fn by_name(
        &self,
        segment: &str,
        id: SchemaId,
        mut found: Vec<(String, String)>,
    ) -> Result<Vec<String>, PathError> {
        let leafs = key_leafs(self.schema, id);
        if leafs.is_empty() || found.len() != leafs.len() {
            if let [(name, value)] = &found[..]
                && name == "."
            {
                return Ok(vec![value.clone()]);
            }
            let message = format!("expected one predicate for each of {}", self.key_names(leafs));
            return Err(self.error(segment, PathErrorKind::Keys, &message));
        }
        let mut values = Vec::new();
        for leaf in leafs {
            let name = &self.schema.node(*leaf).name;
            let local = |given: &str| given.rsplit(':').next() == Some(&**name);
            let Some(at) = found.iter().position(|(given, _)| local(given)) else {
                let message = format!("there is no predicate for key {name}");
                return Err(self.error(segment, PathErrorKind::Keys, &message));
            };
            values.push(found.swap_remove(at).1);
        }
        Ok(values)
    }

    fn key_names(&self, leafs: &[SchemaId]) -> String {
        let names: Vec<&str> = leafs.iter().map(|leaf| &*self.schema.node(*leaf).name).collect();
        names.join(", ")
    }

    fn decoded<'t>(&self, segment: &str, text: &'t str) -> Result<Cow<'t, str>, PathError> {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once('%') {
            if !after.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                let message =
                    "a percent sign stands before two hexadecimal digits; for itself it is written %25";
                return Err(self.error(segment, PathErrorKind::Malformed, message));
            }
            rest = after;
        }
        percent_decode_str(text).decode_utf8().map_err(|_| {
            self.error(segment, PathErrorKind::Malformed, "the percent-encoded bytes are not UTF-8")
        })
    }

    fn error(&self, segment: &str, kind: PathErrorKind, message: &str) -> PathError {
        let shown: String = segment.chars().take(80).collect();
        PathError {
            at: self.path.display(self.schema),
            kind,
            message: format!("in {shown:?}: {message}"),
            segment: segment.to_owned(),
        }
    }
}
