//! GET and HEAD: one snapshot, written straight into the body.

use axum::http::StatusCode;

use super::face::Face;
use super::{Problem, Problems};
use crate::datastore::{Snapshot, Store};
use crate::schema::{DataPath, Node, get_merged, json, merge_layers};

/// Which data a GET wants (RFC 8040 section 4.8.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Content {
    Config,
    NonConfig,
    #[default]
    All,
}

/// Reads the query of a GET.
///
/// # Errors
/// Names an unknown, repeated or wrong parameter.
pub fn content(face: Face, query: Option<&str>) -> Result<Content, Problems> {
    let mut content = None;
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let known = match (face, name, value) {
            (Face::Rests, "content", "config") => Content::Config,
            (Face::Rests, "content", "nonconfig") => Content::NonConfig,
            (Face::Rests, "content", "all") => Content::All,
            (Face::Rests, "content", _) => {
                return Err(Problem::new(
                    "invalid-value",
                    format!("content={value}: say config, nonconfig or all"),
                )
                .into());
            }
            _ => return Err(unknown_parameter(name)),
        };
        if content.replace(known).is_some() {
            return Err(Problem::new("invalid-value", "the query parameter content is given twice").into());
        }
    }
    Ok(content.unwrap_or_default())
}

/// Writes take no query parameters yet.
///
/// # Errors
/// Names the first parameter.
pub fn no_parameters(query: Option<&str>) -> Result<(), Problems> {
    match query.filter(|query| !query.is_empty()) {
        None => Ok(()),
        Some(query) => Err(unknown_parameter(query.split(['=', '&']).next().unwrap_or_default())),
    }
}

fn unknown_parameter(name: &str) -> Problems {
    let name: String = name.chars().take(64).collect();
    Problem::new("invalid-value", format!("query parameter {name:?} is not known here")).into()
}

/// What a resource holds.
pub struct Found {
    pub body: Vec<u8>,
    pub etag: String,
}

/// # Errors
/// 404 when there is nothing.
pub fn read(snapshot: &Snapshot, face: Face, path: &DataPath, content: Content) -> Result<Found, Problems> {
    let node = match (face, content) {
        (Face::Legacy(store), _) => snapshot.read(store, path),
        (Face::Rests, Content::Config) => snapshot.read(Store::Config, path),
        (Face::Rests, Content::NonConfig) => snapshot.read(Store::Operational, path),
        (Face::Rests, Content::All) => both(snapshot, path),
    };
    let node = node
        .ok_or_else(|| Problem::missing(path.display(snapshot.schema)).with_status(StatusCode::NOT_FOUND))?;
    let mut body = Vec::new();
    json::write_resource(snapshot.schema, path, &node, &mut body);
    Ok(Found { body, etag: etag(snapshot, path, &node) })
}

fn both(snapshot: &Snapshot, path: &DataPath) -> Option<Node> {
    let whole = |store| {
        let layers = snapshot.layers(store);
        merge_layers(&layers.input, &layers.derived)
    };
    let (config, operational) = (whole(Store::Config), whole(Store::Operational));
    if path.steps.is_empty() {
        return Some(Node::Container(merge_layers(&config, &operational)));
    }
    get_merged(&config, &operational, path)
}

/// The revision of the last change in the resource; leafs and lists have that of what holds them.
fn etag(snapshot: &Snapshot, path: &DataPath, node: &Node) -> String {
    let modified =
        |node: &Node| if let Node::Container(fields) = node { Some(fields.modified) } else { None };
    let own = modified(node);
    let above = || {
        let parent = path.parent()?;
        [Store::Config, Store::Operational]
            .iter()
            .filter_map(|store| modified(&snapshot.read(*store, &parent)?))
            .max()
    };
    format!("\"{:x}\"", own.or_else(above).unwrap_or(snapshot.revision.0))
}
